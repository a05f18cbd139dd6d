"""index_select, index_add, index_copy, index_fill, masked_*, take, put, nonzero: public functions."""

from __future__ import annotations

import warnings
from typing import Any

from ..autograd.inplace import shows_items_twice
from ..autograd.variable import CLASSES
from ..call_plans import Call, run_call, with_plans
from ..dispatch import dispatch
from ..kernels import selecting as kernels
from ..kernels.array import contiguous_strides
from ..memory_format import lay_out
from ..operands import broadcast_shapes
from ..out import check_out_apart
from .checks import check_tensor, written
from .dims import wrap_dim
from .shaping import expand
from .splitting import unbind


def _warn_of_expanded(name: str, target: Any) -> None:
    if target is not None and shows_items_twice(target._array):
        warnings.warn(
            f"Use of {name} on expanded tensors is deprecated. Please clone() the tensor before performing this operation. "
            "This also applies to advanced indexing e.g. tensor[mask] = scalar",
            stacklevel=4,
        )


# ---------------------------------------------------------------------------------------------------- one dimension
@with_plans
def index_select(input: Any, dim: int, index: Any, *, out: Any = None) -> Any:
    """Slices of dimension `dim` at the indices of a vector (int64 or int32), as a copy.

    Raises:
        IndexError: an index out of range or negative, an index that is no vector.

    Example:
        >>> import numgrad as ng
        >>> ng.tensor([[1, 2], [3, 4]]).index_select(1, ng.tensor([1, 1]))
        tensor([[2, 2],
                [4, 4]])
    """
    check_tensor("index_select", input)
    check_tensor("index_select", index, "index", 3)
    if index.dtype.name not in ("int64", "int32"):
        raise RuntimeError("index_select(): Expected dtype int32 or int64 for index")
    if index.dim() > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    d = wrap_dim(dim, input.dim())
    if not input.dim() and index.numel() != 1:
        raise RuntimeError(f"index_select(): Index to scalar can have only 1 value, got {index.numel()} value(s)")
    check_out_apart(out, (input, index))
    return Call(kernels.index_select, (input, index), (d,), out=out)


def nonzero_static(input: Any, *, size: int, fill_value: int = -1, out: Any = None) -> Any:
    """`nonzero` with `size` rows: cut off, or filled up with rows of `fill_value`."""
    check_tensor("nonzero_static", input)
    if size < 0:
        raise RuntimeError("nonzero_static: 'size' must be an non-negative integer")
    found = nonzero(input)[:size]
    filled = found.new_full((size, input.dim()), fill_value)
    filled[: found.shape[0]] = found
    return written("nonzero_static", filled, out)


@with_plans
def index_add(input: Any, dim: int, index: Any, source: Any, *, alpha: float = 1, out: Any = None) -> Any:
    """`input` with `alpha` times the slices of `source` added at the indices of a vector; at equal ones all of them.

    Raises:
        RuntimeError: an index out of range or negative, a source of another dtype or shape.

    Example:
        >>> import numgrad as ng
        >>> ng.zeros(3).index_add(0, ng.tensor([0, 0, 2]), ng.ones(3))
        tensor([2., 0., 1.])
    """
    return _index_add("index_add", input, dim, index, source, alpha, out)


def index_add_(input: Any, dim: int, index: Any, source: Any, *, alpha: float = 1) -> Any:
    """`index_add` in place."""
    return run_call(_index_add("index_add_", input, dim, index, source, alpha, input))


def check_slices(name: str, method: str, input: Any, dim: int, index: Any, source: Any) -> int:
    """Check that `source` has a slice along `dim` for each index of a vector; returns the dimension, wrapped."""
    check_tensor(name, input)
    check_tensor(name, index, "index", 3)
    check_tensor(name, source, "source", 3)
    d = wrap_dim(dim, input.dim())
    count, kind = index.numel(), index.dtype
    if index.dim() > 1:
        raise IndexError(
            f"{method}(): Index is supposed to be a vector, but got dim: {index.dim()} with type: {kind.scalar_name} "
            f"and size: {list(index.shape)}"
        )
    if kind.name not in ("int64", "int32"):
        raise RuntimeError(f"{method}(): Expected dtype int32/int64 for index but got: {kind.scalar_name}")
    if source.dtype is not input.dtype:
        raise RuntimeError(
            f"{method}(): self ({input.dtype.scalar_name}) and source ({source.dtype.scalar_name}) must have the same "
            "scalar type"
        )
    given = source._array.shape[d] if source.dim() > d else source.numel()
    if count != given:
        raise RuntimeError(
            f"{method}(): Number of indices ({count}) should be equal to source.size(dim): ({given}), for dim: {d}"
        )
    own, other = list(input._array.shape), list(source._array.shape)
    if own[:d] + own[d + 1 :] != other[:d] + other[d + 1 :]:
        raise RuntimeError(
            "source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = "
            f"{own} source.shape = {other}"
        )
    return d


def _index_add(name: str, input: Any, dim: int, index: Any, source: Any, alpha: Any, out: Any) -> Any:
    d = check_slices(name, "index_add_", input, dim, index, source)
    input._check_number(alpha)
    return Call(kernels.index_add, (input, index, source), (d, alpha), out=out)


def index_copy(input: Any, dim: int, index: Any, source: Any, *, out: Any = None) -> Any:
    """`input` with the slices of `source` written at the indices of a vector; at equal ones the last stands.

    Raises:
        IndexError: an index out of range or negative.
        RuntimeError: a source of another dtype or shape.
    """
    return _index_copy(input, dim, index, source, out)


def index_copy_(input: Any, dim: int, index: Any, source: Any) -> Any:
    """`index_copy` in place."""
    return _index_copy(input, dim, index, source, input)


def _index_copy(input: Any, dim: int, index: Any, source: Any, out: Any) -> Any:
    check_tensor("index_copy", input)
    d = wrap_dim(dim, input.dim())
    if index.dim() >= 2:
        raise IndexError(f"index_copy_(): Index should have dimension 1 or 0 (got {index.dim()})")
    if not source.dim() and index.numel() != 1:
        raise IndexError(f"index_copy_(): When source is scalar, index should have one element (got {index.numel()})")
    if source.dim() != input.dim() and source.dim() and input.dim():
        raise IndexError(
            "index_copy_(): When source and destination are not scalars, their dimensionality must match. Source "
            f"dimensionality ({source.dim()}), destination dimensionality ({input.dim()})"
        )
    if index.dtype.name != "int64":
        raise RuntimeError(f"index_copy_(): Expected a long tensor for index, but got {index.dtype.scalar_name}")
    if source.dtype is not input.dtype:
        raise RuntimeError(
            "index_copy_(): self and source expected to have the same dtype, but got (self) "
            f"{input.dtype.scalar_name} and (source) {source.dtype.scalar_name}"
        )
    own, other = list(input._array.shape), list(source._array.shape)
    kept, given = own[:d] + own[d + 1 :], other[:d] + other[d + 1 :]
    if kept != given:
        raise RuntimeError(
            "index_copy_(): Source/destination tensor must have same slice shapes. Destination slice shape: "
            f"{' '.join(map(str, kept))} at dimension {d} and source slice shape: {' '.join(map(str, given))} at "
            "dimension 0."
        )
    if source.dim() and other[d] != index.numel():
        raise IndexError(
            f"index_copy_(): Number of indices ({index.numel()}) should be equal to source.size(dim) ({other[d]})"
        )
    return dispatch(kernels.index_copy, (input, index, source), (d,), out)


def index_fill(input: Any, dim: int, index: Any, value: Any) -> Any:
    """`input` with a number, or the item of a 0-d tensor, written in the slices at the indices of a vector."""
    return _index_fill("index_fill", input, dim, index, value, None)


def index_fill_(input: Any, dim: int, index: Any, value: Any) -> Any:
    """`index_fill` in place."""
    return _index_fill("index_fill_", input, dim, index, value, input)


def _index_fill(name: str, input: Any, dim: int, index: Any, value: Any, out: Any) -> Any:
    check_tensor(name, input)
    check_tensor(name, index, "index", 3)
    if value.__class__ in CLASSES and value.dim():
        raise RuntimeError(
            f"index_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.dim()} dimension(s)."
        )
    is_complex = value.is_complex() if value.__class__ in CLASSES else isinstance(value, complex)
    if is_complex and not input.is_complex():
        raise RuntimeError("index_fill_(): Converting complex Scalar to non-complex type is not supported")
    if index.dtype.name != "int64":
        raise IndexError("index_fill_(): Expected dtype int64 for index.")
    if index.dim() > 1:
        raise RuntimeError("Index has to be a vector/scalar")
    d = wrap_dim(dim, input.dim())
    _warn_of_expanded("index_fill_", out)
    if value.__class__ in CLASSES:
        return dispatch(kernels.index_fill_tensor, (input, index, value), (d,), out)
    input.dtype.check_holds(value)
    return dispatch(kernels.index_fill, (input, index), (d, value), out)


# ---------------------------------------------------------------------------------------------------- masks
def masked_fill(input: Any, mask: Any, value: Any) -> Any:
    """`input` with a number, or the item of a 0-d tensor, where `mask` (bool) holds; both are broadcast.

    Example:
        >>> import numgrad as ng
        >>> ng.tensor([1.0, -2.0]).masked_fill(ng.tensor([False, True]), 0)
        tensor([1., 0.])
    """
    return _masked_fill("masked_fill", input, mask, value, None)


def masked_fill_(input: Any, mask: Any, value: Any) -> Any:
    """`masked_fill` in place."""
    return _masked_fill("masked_fill_", input, mask, value, input)


def _masked_fill(name: str, input: Any, mask: Any, value: Any, out: Any) -> Any:
    check_tensor(name, input)
    check_tensor(name, mask, "mask", 2)
    if value.__class__ in CLASSES and value.dim():
        raise RuntimeError(
            f"masked_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.dim()} dimension(s)."
        )
    if mask.dtype.name != "bool":
        raise RuntimeError(f"masked_fill_ only supports boolean masks, but got mask with dtype {mask.dtype.c_name}")
    shape = broadcast_shapes(mask._array.shape, input._array.shape)
    if out is not None and shape != input._array.shape:
        raise RuntimeError(f"output with shape {list(input.shape)} doesn't match the broadcast shape {list(shape)}")
    _warn_of_expanded("masked_fill_", out)
    if value.__class__ in CLASSES:
        if value.is_complex() and not input.is_complex():
            input._check_number(value.item())
        found = dispatch(kernels.masked_fill_tensor, (input, mask, value), (), out)
    else:
        input._check_number(value)
        found = dispatch(kernels.masked_fill, (input, mask, value), (), out)
    return found if out is not None else lay_out(found, contiguous_strides(shape))


def masked_select(input: Any, mask: Any, *, out: Any = None) -> Any:
    """The items where `mask` (bool) holds, in order, as a vector; both are broadcast."""
    check_tensor("masked_select", input)
    check_tensor("masked_select", mask, "mask", 2)
    if mask.dtype.name != "bool":
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    broadcast_shapes(mask._array.shape, input._array.shape)
    check_out_apart(out, (input, mask))
    return dispatch(kernels.masked_select, (input, mask), (), out)


def masked_scatter(input: Any, mask: Any, source: Any) -> Any:
    """`input` with the first items of `source`, in order, where `mask` (bool) holds; `input` and `mask` are broadcast.

    Raises RuntimeError when `source` has fewer items than the mask holds.
    """
    shape = broadcast_shapes(mask._array.shape, input._array.shape)
    return _masked_scatter(input if input._array.shape == shape else expand(input, shape), mask, source, None)


def masked_scatter_(input: Any, mask: Any, source: Any) -> Any:
    """`masked_scatter` in place."""
    return _masked_scatter(input, mask, source, input)


def _masked_scatter(input: Any, mask: Any, source: Any, out: Any) -> Any:
    if mask.dtype.name != "bool":
        raise RuntimeError(
            f"masked_scatter_ only supports boolean masks, but got mask with dtype {mask.dtype.scalar_name}"
        )
    if source.dtype is not input.dtype:
        raise RuntimeError(
            f"masked_scatter: expected self and source to have same dtypes but got{input.dtype.scalar_name} and "
            f"{source.dtype.scalar_name}"
        )
    if mask._array.shape != input._array.shape:
        mask = expand(mask, tuple(input.shape))
    return dispatch(kernels.masked_scatter, (input, mask, source), (), out)


# ---------------------------------------------------------------------------------------------------- flattened
@with_plans
def take(input: Any, index: Any, *, out: Any = None) -> Any:
    """Items at positions (int64) of the flattened input, in the shape of `index`.

    Raises IndexError for a position out of range.
    """
    check_tensor("take", input)
    check_tensor("take", index, "index", 2)
    if index.dtype.name != "int64":
        raise RuntimeError(f"take(): Expected a long tensor for index, but got {index.dtype.scalar_name}")
    if not input.numel() and index.numel():
        raise IndexError("take(): tried to take from an empty tensor")
    check_out_apart(out, (input, index))
    return Call(kernels.take, (input, index), out=out)


def put(input: Any, index: Any, source: Any, accumulate: bool = False) -> Any:
    """`input` with the items of `source` written, or added, at positions (int64) of the flattened input."""
    return _put(input, index, source, accumulate, None)


def put_(input: Any, index: Any, source: Any, accumulate: bool = False) -> Any:
    """`put` in place."""
    return _put(input, index, source, accumulate, input)


def _put(input: Any, index: Any, source: Any, accumulate: bool, out: Any) -> Any:
    if index.dtype.name != "int64":
        raise RuntimeError(f"put_(): Expected a long tensor for index, but got {index.dtype.scalar_name}")
    if source.dtype is not input.dtype:
        raise RuntimeError(
            f"put_(): self and source expected to have the same dtype, but got self.dtype = {input.dtype.scalar_name} "
            f"and source.dtype = {source.dtype.scalar_name}"
        )
    if source.numel() != index.numel():
        raise IndexError(
            "put_(): Expected source and index to have the same number of elements, but got source.numel() = "
            f"{source.numel()}, index.numel() = {index.numel()}"
        )
    if not input.numel() and index.numel():
        raise IndexError("put_(): Tried to put elements into an empty tensor")
    return dispatch(kernels.put, (input, index, source), (accumulate,), out)


@with_plans
def nonzero(input: Any, *, out: Any = None, as_tuple: bool = False) -> Any:
    """Indices (int64) of the items that are not 0: one row for each, or with `as_tuple` one vector for each dimension.

    Example:
        >>> import numgrad as ng
        >>> ng.tensor([[0, 1], [2, 0]]).nonzero()
        tensor([[0, 1],
                [1, 0]])
    """
    check_tensor("nonzero", input)
    if as_tuple:
        return unbind(dispatch(kernels.nonzero, (input if input.dim() else input.reshape(1),)), 1)
    if out is not None and out.dtype.name != "int64":
        raise RuntimeError(
            f"nonzero: Expected out tensor to have scalar type Long but got scalar type{out.dtype.scalar_name}"
        )
    return Call(kernels.nonzero, (input,), out=out)


def argwhere(input: Any) -> Any:
    """Indices (int64) of the items that are not 0, a row for each."""
    check_tensor("argwhere", input)
    return nonzero(input)
