"""What handles compute, by Burn's names: functions of the engine's tensors, for `methods` to lift.

Where Burn and PyTorch give one name two meanings (`select`, `equal`, `transpose`, `argmax`), it is Burn's here. Reductions
of the whole give one item; reductions along a dimension keep it, with extent 1. What is elementwise and means the same in
both comes from the op table and is not repeated.
"""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

from .. import creation, ops
from ..dtype import dtype as DType

RENAMED: dict[str, str] = {  # Burn's name: the method of the engine's tensor that means the same
    "add": "__add__",
    "add_scalar": "__add__",
    "sub": "__sub__",
    "sub_scalar": "__sub__",
    "mul": "__mul__",
    "mul_scalar": "__mul__",
    "recip": "reciprocal",
    "powf": "__pow__",
    "powf_scalar": "__pow__",
    "powi_scalar": "__pow__",
    "remainder": "__mod__",
    "remainder_scalar": "__mod__",
    "fmod_scalar": "fmod",
    "matmul": "__matmul__",
    "equal": "__eq__",
    "equal_elem": "__eq__",
    "not_equal": "__ne__",
    "not_equal_elem": "__ne__",
    "greater_elem": "__gt__",
    "greater_equal_elem": "__ge__",
    "lower": "__lt__",
    "lower_elem": "__lt__",
    "lower_equal": "__le__",
    "lower_equal_elem": "__le__",
    "max_pair": "maximum",
    "min_pair": "minimum",
    "is_nan": "isnan",
    "is_inf": "isinf",
    "is_finite": "isfinite",
    "is_close": "isclose",
    "bool_not": "logical_not",
    "bool_and": "logical_and",
    "bool_or": "logical_or",
    "bool_xor": "logical_xor",
    "bitwise_and_scalar": "bitwise_and",
    "bitwise_or_scalar": "bitwise_or",
    "bitwise_xor_scalar": "bitwise_xor",
    "bitwise_left_shift_scalar": "bitwise_left_shift",
    "bitwise_right_shift_scalar": "bitwise_right_shift",
    "swap_dims": "transpose",
    "int": "long",
    "float": "float",
    "bool": "bool",
    "squeeze_dim": "squeeze",
    "squeeze_dims": "squeeze",
    "unsqueeze_dim": "unsqueeze",
} | {
    name: name
    for name in (
        "sum", "prod", "any", "all", "count_nonzero", "square", "lerp", "addcmul", "addcdiv", "xlogy", "round", "copysign",
        "fmod", "nan_to_num", "clamp", "clamp_min", "clamp_max", "dot", "logsumexp", "norm", "permute", "reshape", "expand",
        "flatten", "squeeze", "narrow", "split", "split_with_sizes", "t",
    )
}  # fmt: skip


# ---------------------------------------------------------------------------------------------------- arithmetic
def div(x: Any, other: Any) -> Any:
    """The quotient; that of integers without its fraction."""
    return ops.div(x, other, rounding_mode=None if x.is_floating_point() else "trunc")


div_scalar = div


def all_close(x: Any, other: Any, rtol: float = 1e-5, atol: float = 1e-8) -> bool:
    """Whether all items are within `atol + rtol * |other|` of each other."""
    return ops.allclose(x, other, rtol, atol)


def contains_nan(x: Any) -> Any:
    """Whether any item is NaN."""
    return ops.any(ops.isnan(x))


# ---------------------------------------------------------------------------------------------------- reductions
def sum_dim(x: Any, dim: int) -> Any:
    """The sum along a dimension."""
    return ops.sum(x, dim, keepdim=True)


def sum_dims(x: Any, dims: Sequence[int]) -> Any:
    """The sum along several dimensions."""
    return ops.sum(x, tuple(dims), keepdim=True)


def mean(x: Any) -> Any:
    """The mean of all items; that of integers without its fraction."""
    return ops.mean(x) if x.is_floating_point() else div(ops.sum(x), x.numel())


def mean_dim(x: Any, dim: int) -> Any:
    """The mean along a dimension; that of integers without its fraction."""
    return ops.mean(x, dim, keepdim=True) if x.is_floating_point() else div(sum_dim(x, dim), x.size(dim))


def mean_dims(x: Any, dims: Sequence[int]) -> Any:
    """The mean along several dimensions."""
    return ops.mean(x, tuple(dims), keepdim=True)


def prod_dim(x: Any, dim: int) -> Any:
    """The product along a dimension."""
    return ops.prod(x, dim, keepdim=True)


def any_dim(x: Any, dim: int) -> Any:
    """Whether any item along a dimension is nonzero."""
    return ops.any(x, dim, keepdim=True)


def all_dim(x: Any, dim: int) -> Any:
    """Whether all items along a dimension are nonzero."""
    return ops.all(x, dim, keepdim=True)


def max(x: Any) -> Any:
    """The largest item."""
    return ops.max(x)


def max_dim(x: Any, dim: int) -> Any:
    """The largest item along a dimension."""
    return ops.max(x, dim, keepdim=True)[0]


def max_dim_with_indices(x: Any, dim: int) -> tuple[Any, Any]:
    """The largest item along a dimension, and where it is."""
    return tuple(ops.max(x, dim, keepdim=True))


def max_abs(x: Any) -> Any:
    """The largest absolute value."""
    return ops.max(ops.abs(x))


def max_abs_dim(x: Any, dim: int) -> Any:
    """The largest absolute value along a dimension."""
    return max_dim(ops.abs(x), dim)


def min(x: Any) -> Any:
    """The smallest item."""
    return ops.min(x)


def min_dim(x: Any, dim: int) -> Any:
    """The smallest item along a dimension."""
    return ops.min(x, dim, keepdim=True)[0]


def min_dim_with_indices(x: Any, dim: int) -> tuple[Any, Any]:
    """The smallest item along a dimension, and where it is."""
    return tuple(ops.min(x, dim, keepdim=True))


def argmax(x: Any, dim: int) -> Any:
    """Where along a dimension the largest item is."""
    return ops.argmax(x, dim, keepdim=True)


def argmin(x: Any, dim: int) -> Any:
    """Where along a dimension the smallest item is."""
    return ops.argmin(x, dim, keepdim=True)


def var(x: Any, dim: int) -> Any:
    """The variance along a dimension, of a sample."""
    return ops.var(x, dim, correction=1, keepdim=True)


def var_bias(x: Any, dim: int) -> Any:
    """The variance along a dimension, of the whole population."""
    return ops.var(x, dim, correction=0, keepdim=True)


def var_mean(x: Any, dim: int) -> tuple[Any, Any]:
    """The variance along a dimension, of a sample, and the mean."""
    return ops.var_mean(x, dim, correction=1, keepdim=True)


def var_mean_bias(x: Any, dim: int) -> tuple[Any, Any]:
    """The variance along a dimension, of the whole population, and the mean."""
    return ops.var_mean(x, dim, correction=0, keepdim=True)


# ---------------------------------------------------------------------------------------------------- shapes
def transpose(x: Any) -> Any:
    """The last two dimensions exchanged."""
    return ops.transpose(x, -2, -1)


def movedim(x: Any, source: int, destination: int) -> Any:
    """A dimension moved to another place."""
    return ops.movedim(x, source, destination)


def unsqueeze_dims(x: Any, dims: Sequence[int]) -> Any:
    """New dimensions of extent 1, at these places of the result."""
    rank = x.dim() + len(dims)
    for d in sorted(d % rank for d in dims):
        x = ops.unsqueeze(x, d)
    return x


def flip(x: Any, dims: Sequence[int]) -> Any:
    """The order along the given dimensions reversed."""
    return ops.flip(x, tuple(dims))


def repeat_dim(x: Any, dim: int, times: int) -> Any:
    """The tensor laid end to end with itself along a dimension."""
    return x.repeat([times if d == dim % x.dim() else 1 for d in range(x.dim())])


def repeat(x: Any, sizes: Sequence[int]) -> Any:
    """The tensor laid end to end with itself, so often along each dimension."""
    return x.repeat(tuple(sizes))


def chunk(x: Any, chunks: int, dim: int) -> tuple[Any, ...]:
    """At most so many pieces of equal extent along a dimension; the last may be smaller."""
    return ops.chunk(x, chunks, dim)


def iter_dim(x: Any, dim: int) -> tuple[Any, ...]:
    """The slices of extent 1 along a dimension."""
    return ops.split(x, 1, dim)


def slice(x: Any, ranges: Sequence[Any]) -> Any:
    """A part: for each dimension a slice, a pair `(start, end)`, or an index, which keeps its dimension."""
    return x[_ranges(x, ranges)]


def slice_assign(x: Any, ranges: Sequence[Any], values: Any) -> Any:
    """The tensor with a part replaced by `values`."""
    copy = x.clone()
    copy[_ranges(x, ranges)] = values
    return copy


slice_fill = slice_assign


def _ranges(x: Any, ranges: Any) -> tuple[builtins.slice, ...]:
    found = []
    for n, item in zip(x.shape, ranges if isinstance(ranges, (list, tuple)) else [ranges], strict=False):
        if isinstance(item, builtins.slice):
            found.append(item)
        elif isinstance(item, int):
            start = item + n if item < 0 else item
            found.append(builtins.slice(start, start + 1))
        elif isinstance(item, range):
            found.append(builtins.slice(item.start, item.stop, item.step))
        else:
            found.append(builtins.slice(*item))
    return tuple(found)


# ---------------------------------------------------------------------------------------------------- choosing
def mask_where(x: Any, mask: Any, value: Any) -> Any:
    """The items of `value` where the mask holds, the tensor's own elsewhere."""
    return ops.where(mask, value, x)


def mask_fill(x: Any, mask: Any, value: Any) -> Any:
    """A number where the mask holds, the tensor's items elsewhere."""
    return ops.where(mask, value, x)


def select(x: Any, dim: int, indices: Any) -> Any:
    """The slices along a dimension that the indices name."""
    return ops.index_select(x, dim, indices)


def select_assign(x: Any, dim: int, indices: Any, values: Any) -> Any:
    """The tensor with `values` added to the slices that the indices name."""
    return ops.index_add(x, dim, indices, values)


def gather(x: Any, dim: int, indices: Any) -> Any:
    """For each index the item at that place along the dimension."""
    return ops.gather(x, dim, indices)


def scatter(x: Any, dim: int, indices: Any, values: Any) -> Any:
    """The tensor with each of `values` added at its index along the dimension."""
    return ops.scatter_add(x, dim, indices, values)


# ---------------------------------------------------------------------------------------------------- order
def sort(x: Any, dim: int) -> Any:
    """The items along a dimension from the smallest up."""
    return ops.sort(x, dim)[0]


def sort_descending(x: Any, dim: int) -> Any:
    """The items along a dimension from the largest down."""
    return ops.sort(x, dim, descending=True)[0]


def sort_with_indices(x: Any, dim: int) -> tuple[Any, Any]:
    """`sort`, and where the items were."""
    return tuple(ops.sort(x, dim))


def sort_descending_with_indices(x: Any, dim: int) -> tuple[Any, Any]:
    """`sort_descending`, and where the items were."""
    return tuple(ops.sort(x, dim, descending=True))


def argsort(x: Any, dim: int) -> Any:
    """Where the items along a dimension are, from the smallest up."""
    return ops.argsort(x, dim)


def argsort_descending(x: Any, dim: int) -> Any:
    """Where the items along a dimension are, from the largest down."""
    return ops.argsort(x, dim, descending=True)


def topk(x: Any, k: int, dim: int) -> Any:
    """The `k` largest items along a dimension, from the largest down."""
    return ops.topk(x, k, dim)[0]


def topk_with_indices(x: Any, k: int, dim: int) -> tuple[Any, Any]:
    """`topk`, and where the items were."""
    return tuple(ops.topk(x, k, dim))


def cumsum(x: Any, dim: int) -> Any:
    """Sums of the items up to each one along a dimension."""
    return ops.cumsum(x, dim)


def cumprod(x: Any, dim: int) -> Any:
    """Products of the items up to each one along a dimension."""
    return ops.cumprod(x, dim)


def cummax(x: Any, dim: int) -> Any:
    """The largest of the items up to each one along a dimension."""
    return ops.cummax(x, dim)[0]


def cummin(x: Any, dim: int) -> Any:
    """The smallest of the items up to each one along a dimension."""
    return ops.cummin(x, dim)[0]


def roll(x: Any, shifts: Sequence[int], dims: Sequence[int]) -> Any:
    """The items moved on along dimensions, those at the end to the front."""
    return ops.roll(x, tuple(shifts), tuple(dims))


def roll_dim(x: Any, shift: int, dim: int) -> Any:
    """`roll` along one dimension."""
    return ops.roll(x, shift, dim)


def triu(x: Any, diagonal: int = 0) -> Any:
    """The upper triangle of matrices, from a diagonal up; 0 below."""
    return ops.triu(x, diagonal)


def tril(x: Any, diagonal: int = 0) -> Any:
    """The lower triangle of matrices, from a diagonal down; 0 above."""
    return ops.tril(x, diagonal)


def nonzero(x: Any) -> tuple[Any, ...]:
    """For each dimension the indices of the items that are not 0."""
    return ops.nonzero(x, as_tuple=True)


def argwhere(x: Any) -> Any:
    """The indices of the items that are not 0, a row for each."""
    return ops.argwhere(x)


# ---------------------------------------------------------------------------------------------------- kinds
def cast(x: Any, dtype: DType) -> Any:
    """The numbers in another dtype."""
    return x.to(dtype)


def one_hot(x: Any, classes: int) -> Any:
    """For each integer a row with 1 at its place, and 0 elsewhere."""
    return (ops.unsqueeze(x, -1) == creation.arange(classes, device=x.device)).to(x.dtype)


# ---------------------------------------------------------------------------------------------------- filled alike
def zeros_like(x: Any) -> Any:
    """Zeros of the same shape, dtype, device and context."""
    return creation.zeros_like(x)


def ones_like(x: Any) -> Any:
    """Ones of the same shape, dtype, device and context."""
    return creation.ones_like(x)


def full_like(x: Any, value: Any) -> Any:
    """One number, in the same shape, dtype, device and context."""
    return creation.full_like(x, value)
