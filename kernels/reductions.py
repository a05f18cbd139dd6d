"""Reductions that add, multiply or combine truth values: sum, mean, nansum, prod, any, all, count_nonzero.

Sums of float32 are kept in float64: in blocks of float32 lanes first, where they vectorise. Products are kept in float64
throughout, so that they overflow only where their result does. Both go for the whole, one dimension or several.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .array import Array, Shape, broadcast_axes
from .cpu import loop
from .folds import Axes, Fold, all_axes, keep, mapped, restore_dims
from .movement import cat
from .prepared import Operand, Prepared
from .registry import Sample, op

_FLOAT_LANES = "_T if np.dtype(_T).kind == 'f' else _A"

SUM = Fold("0", "x", "a + b", np.add, lane=_FLOAT_LANES, total="_A")
NANSUM = Fold("0", "x if x == x else _T(0)", "a + b", np.add, lane="_T", total="_A")
PRODUCT = Fold("1", "x", "a * b", np.multiply, lane="_A", total="_A")
ANY = Fold("False", "x != _T(0)", "a | b", np.logical_or, lane="np.bool_", total="np.bool_")
ALL = Fold("True", "x != _T(0)", "a & b", np.logical_and, lane="np.bool_", total="np.bool_")
COUNT = Fold("0", "x != _T(0)", "a + b", np.add, lane="np.int32", total="np.int64")


def sum_axes(x: np.ndarray, axes: Axes) -> np.ndarray:
    """Sum over axes; integers and bools sum to int64."""
    if x.dtype.kind == "c":
        return np.asarray(np.sum(x, axes, dtype=np.complex128)).astype(x.dtype)
    return SUM.over(x, axes, dtype=x.dtype if x.dtype.kind == "f" else None)


def sum_all(x: np.ndarray) -> np.ndarray:
    """Sum of all items, as a 0-d array."""
    return sum_axes(x, all_axes(x))


def sum_to_shape(x: np.ndarray, shape: Shape) -> np.ndarray:
    """Sum the axes along which `shape` was broadcast to `x.shape`."""
    if x.shape == shape:
        return x
    return sum_axes(x, broadcast_axes(x.shape, shape)).reshape(shape)


def mean_axes(x: np.ndarray, axes: Axes) -> np.ndarray:
    """Mean over axes, in the accumulator's dtype: float64, of complex numbers complex128. NaN of nothing."""
    count = math.prod(x.shape[d] for d in axes)
    with np.errstate(invalid="ignore", divide="ignore"):
        total = np.sum(x, axes, dtype=np.complex128) if x.dtype.kind == "c" else SUM.over(x, axes)
        return np.asarray(total / np.float64(count))


_F64, _I64, _BOOL = np.dtype(np.float64), np.dtype(np.int64), np.dtype(np.bool_)


def _result_dtype(x: np.ndarray | Array | Operand) -> np.dtype:
    return _I64 if x.dtype.kind in "iub" else x.dtype


# ---------------------------------------------------------------------------------------------------- sum and mean
@op(
    samples=[Sample(((3, 4),)), Sample(((),)), Sample(((0, 2),))],
    reference=np.sum,
    takes_complex=True,
    linear="jointly",
)
def sum(input):
    """Sum of all items. Integers and bools sum to int64."""


@sum.kernel("cpu")
def _(input: np.ndarray) -> np.ndarray:
    return sum_all(input)


@sum.prepared
def _(x: Operand) -> Prepared | None:
    return SUM.prepared(x, _result_dtype(x))


@sum.kernel("cuda")
def _(input: Array) -> Array:
    from . import cuda

    out = cuda.empty((), _result_dtype(input), input.device)
    cuda.reduce_sum(input, tuple(range(len(input.shape))), out)
    return out


@sum.grad("input")
def _(g, input_shape):
    return g.expand(input_shape)


@sum.fused_backward("cpu")
def _(g: np.ndarray, input_shape: Shape, needs: tuple[bool, ...]) -> tuple[np.ndarray]:
    return (np.full(input_shape, g, g.dtype),)  # dense, so the node before runs its flat kernel: 25 us against 67


@op(
    samples=[
        Sample(((3, 4),), {"dim": (0,)}),
        Sample(((2, 3, 4),), {"dim": (1,), "keepdim": True}),
        Sample(((2, 3, 4),), {"dim": (0, 2)}),
    ],
    reference=lambda x, dim, keepdim: np.sum(x, dim, keepdims=keepdim),
    name="sum.dim",
    takes_complex=True,
    node="SumBackward1",
    linear="jointly",
)
def sum_dim(input, *, dim, keepdim=False):
    """Sum over some dimensions, `dim` a tuple of non-negative ones."""


@sum_dim.kernel("cpu")
def _(input: np.ndarray, dim: Axes, keepdim: bool) -> np.ndarray:
    return keep(sum_axes(input, dim), input.shape, dim, keepdim)


@sum_dim.prepared
def _(x: Operand, dim: Axes, keepdim: bool) -> Prepared | None:
    return SUM.prepared(x, _result_dtype(x), dim, keepdim)


@sum_dim.kernel("cuda")
def _(input: Array, dim: Axes, keepdim: bool) -> Array:
    from . import cuda

    kept = tuple(n for d, n in enumerate(input.shape) if d not in dim)
    out = cuda.empty(kept, _result_dtype(input), input.device)
    cuda.reduce_sum(input, dim, out)
    if not keepdim:
        return out
    ones = tuple(1 if d in dim else n for d, n in enumerate(input.shape))
    return cuda.reshaped(out, ones)


@sum_dim.grad("input")
def _(g, input_shape, dim, keepdim):
    return restore_dims(g, dim, keepdim).expand(input_shape)


@op(samples=[Sample(((3, 4),)), Sample(((),))], reference=np.mean, takes_complex=True, linear="jointly")
def mean(input):
    """Mean of all items; NaN of none."""


@mean.kernel("cpu")
def _(input: np.ndarray) -> np.ndarray:
    return mean_axes(input, all_axes(input)).astype(input.dtype)


@mean.prepared
def _(x: Operand) -> Prepared | None:
    return _prepared_mean(x, None, False)


def _prepared_mean(x: Operand, dim: Axes | None, keepdim: bool) -> Prepared | None:
    """Sums in float64, divided by their count, in the dtype of the items."""
    total = SUM.prepared(x, _F64, dim, keepdim)
    if total is None:
        return None
    fold, (result,) = total
    count = np.array(math.prod(x.shape) / math.prod(result.shape))

    def run(flat: np.ndarray) -> np.ndarray:
        mean = fold(flat)
        np.divide(mean, count, mean)
        return mean if mean.dtype is x.dtype else mean.astype(x.dtype)

    return Prepared(run, (Operand(result.shape, x.dtype),))


@mean.grad("input")
def _(g, input_shape):
    return g.expand(input_shape) / math.prod(input_shape)


@mean.fused_backward("cpu")
def _(g: np.ndarray, input_shape: Shape, needs: tuple[bool, ...]) -> tuple[np.ndarray]:
    count = math.prod(input_shape)
    return (np.full(input_shape, g / g.dtype.type(count) if count else g, g.dtype),)


@op(
    samples=[Sample(((3, 4),), {"dim": (0,)}), Sample(((2, 3, 4),), {"dim": (0, 2), "keepdim": True})],
    reference=lambda x, dim, keepdim: np.mean(x, dim, keepdims=keepdim),
    name="mean.dim",
    takes_complex=True,
    node="MeanBackward1",
    linear="jointly",
)
def mean_dim(input, *, dim, keepdim=False):
    """Mean over some dimensions, `dim` a tuple of non-negative ones."""


@mean_dim.kernel("cpu")
def _(input: np.ndarray, dim: Axes, keepdim: bool) -> np.ndarray:
    return keep(mean_axes(input, dim).astype(input.dtype), input.shape, dim, keepdim)


@mean_dim.prepared
def _(x: Operand, dim: Axes, keepdim: bool) -> Prepared | None:
    return _prepared_mean(x, dim, keepdim)


@mean_dim.grad("input")
def _(g, input_shape, dim, keepdim):
    count = math.prod(input_shape[d] for d in dim)
    return restore_dims(g, dim, keepdim).expand(input_shape) / count


@op(
    samples=[Sample(((2, 3, 4),), {"dim": (0, 2)}), Sample(((3, 4),), {"dim": (1,), "keepdim": True})],
    reference=lambda x, dim, keepdim: np.nansum(x, dim, keepdims=keepdim),
)
def nansum(input, *, dim, keepdim=False):
    """Sum over some dimensions of the items that are not NaN."""


@nansum.kernel("cpu")
def _(input: np.ndarray, dim: Axes, keepdim: bool) -> np.ndarray:
    fold, dtype = (NANSUM, input.dtype) if input.dtype.kind == "f" else (SUM, None)
    return keep(fold.over(input, dim, dtype=dtype), input.shape, dim, keepdim)


@nansum.grad("input")
def _(g, input, dim, keepdim):
    return restore_dims(g, dim, keepdim).expand(tuple(input.shape)) * (input == input)


# ---------------------------------------------------------------------------------------------------- prod
@op(
    samples=[Sample(((3, 4),)), Sample(((),)), Sample(((0, 2),)), Sample(([1.0, 0.0, 3.0],))],
    reference=np.prod,
    takes_complex=True,
)
def prod(input):
    """Product of all items. Integers and bools multiply to int64."""


@prod.kernel("cpu")
def _(input: np.ndarray) -> np.ndarray:
    return _product(input, all_axes(input))


@prod.prepared
def _(x: Operand) -> Prepared | None:
    return PRODUCT.prepared(x, _result_dtype(x))


@prod.grad("input")
def _(g, input):
    return g * products_of_others(input.reshape(-1), 0).reshape(tuple(input.shape))


@prod.fused_backward("cpu")
def _(g: np.ndarray, input: np.ndarray, out: np.ndarray, needs: tuple[bool, ...]) -> tuple[np.ndarray]:
    flat = np.ascontiguousarray(input).reshape(-1)
    return (_product_gradient(g, flat, out, 0).reshape(input.shape),)


@op(
    samples=[
        Sample(((3, 4),), {"dim": 0}),
        Sample(((2, 3, 4),), {"dim": 1, "keepdim": True}),
        Sample(([[1.0, 0.0, 3.0], [0.0, 2.0, 0.0]],), {"dim": 1}),
    ],
    reference=lambda x, dim, keepdim: np.prod(x, dim, keepdims=keepdim),
    name="prod.dim_int",
    takes_complex=True,
    node="ProdBackward1",
)
def prod_dim(input, *, dim, keepdim=False):
    """Product over a dimension. Integers and bools multiply to int64."""


@prod_dim.kernel("cpu")
def _(input: np.ndarray, dim: int, keepdim: bool) -> np.ndarray:
    axes = (dim,) if input.ndim else ()
    return keep(_product(input, axes), input.shape, axes, keepdim)


@prod_dim.prepared
def _(x: Operand, dim: int, keepdim: bool) -> Prepared | None:
    return PRODUCT.prepared(x, _result_dtype(x), (dim,) if x.shape else (), keepdim)


@prod_dim.grad("input")
def _(g, input, dim, keepdim):
    if not input.dim():
        return g
    return restore_dims(g, (dim,), keepdim) * products_of_others(input, dim)


@prod_dim.fused_backward("cpu")
def _(
    g: np.ndarray, input: np.ndarray, out: np.ndarray, dim: int, keepdim: bool, needs: tuple[bool, ...]
) -> tuple[np.ndarray]:
    if not input.ndim:
        return (g,)
    if not keepdim:
        g, out = np.expand_dims(g, dim), np.expand_dims(out, dim)
    return (_product_gradient(g, input, out, dim),)


def _product(x: np.ndarray, axes: Axes) -> np.ndarray:
    if x.dtype.kind == "c":
        return np.asarray(np.prod(x, axes, dtype=np.complex128)).astype(x.dtype)
    return PRODUCT.over(x, axes, dtype=x.dtype if x.dtype.kind == "f" else None)


def products_of_others(x: Any, dim: int) -> Any:
    """For each item of a tensor the product of all others along `dim`, differentiable any number of times.

    Products of halves go up a tree, and down it to each half the product of what the other half and the rest of the tree
    hold. Nothing is divided, so zeros need no care: this is all multiplications, as are its derivatives.
    """
    levels = [x]
    while (n := x.shape[dim]) > 1:
        half = n // 2
        paired = x.narrow(dim, 0, half) * x.narrow(dim, half, half)
        x = cat(paired, x.narrow(dim, n - 1, 1), dim=dim) if n % 2 else paired
        levels.append(x)
    others = x.new_ones(x.shape)
    for level in reversed(levels[:-1]):
        n = level.shape[dim]
        half = n // 2
        above = others.narrow(dim, 0, half)
        parts = [level.narrow(dim, half, half) * above, level.narrow(dim, 0, half) * above]
        others = cat(*parts, *([others.narrow(dim, half, 1)] if n % 2 else []), dim=dim)
    return others


@loop
def multiply_others(x, g, out):
    """`g` times the product of the other items along the middle axis of (outer, n, inner)."""
    outer, n, inner = x.shape
    running = np.empty(inner, _A)  # noqa: F821
    for o in range(outer):
        running[:] = 1
        for k in range(n):
            for i in range(inner):
                out[o, k, i] = running[i]
                running[i] *= x[o, k, i]
        for i in range(inner):
            running[i] = g[o, i]
        for k in range(n - 1, -1, -1):
            for i in range(inner):
                out[o, k, i] *= running[i]
                running[i] *= x[o, k, i]


def _divided(g, out, x):  # a scalar function
    return g * out / x


def _product_gradient(g: np.ndarray, x: np.ndarray, out: np.ndarray, dim: int) -> np.ndarray:
    """The gradient of a product along `dim` (whose extent is 1 in `g` and `out`), by division where that is safe."""
    size = np.abs(out)
    if np.all((size >= np.finfo(x.dtype).tiny) & (size < math.inf)):
        return mapped(_divided, g, out, x)
    outer, inner = math.prod(x.shape[:dim]), math.prod(x.shape[dim + 1 :])
    result = np.empty(x.shape, x.dtype)
    blocks = np.ascontiguousarray(x).reshape(outer, x.shape[dim], inner)
    multiply_others(blocks, np.ascontiguousarray(g).reshape(outer, inner), result.reshape(blocks.shape))
    return result


# ---------------------------------------------------------------------------------------------------- any, all, counts
@op(
    samples=[Sample(((3, 4),), {"dim": (0,)}), Sample(([[1.0, 0.0], [0.0, 0.0]],), {"dim": (1,), "keepdim": True})],
    reference=lambda x, dim, keepdim: np.any(x, dim, keepdims=keepdim),
    name="any.dims",
    takes_complex=True,
    differentiable=False,
)
def any_dims(input, *, dim, keepdim=False):
    """Whether any item over some dimensions is not 0; NaN is not. Of uint8 it is a uint8, as in PyTorch, else a bool."""


@any_dims.kernel("cpu")
def _(input: np.ndarray, dim: Axes, keepdim: bool) -> np.ndarray:
    return _truth(ANY, input, dim, keepdim)


@any_dims.prepared
def _(x: Operand, dim: Axes, keepdim: bool) -> Prepared | None:
    return None if x.dtype == np.uint8 else ANY.prepared(x, _BOOL, dim, keepdim)


@op(
    samples=[Sample(((3, 4),), {"dim": (0,)}), Sample(([[1.0, 0.0], [2.0, 3.0]],), {"dim": (1,), "keepdim": True})],
    reference=lambda x, dim, keepdim: np.all(x, dim, keepdims=keepdim),
    name="all.dims",
    takes_complex=True,
    differentiable=False,
)
def all_dims(input, *, dim, keepdim=False):
    """Whether every item over some dimensions is not 0; of none it is. Of uint8 it is a uint8, else a bool."""


@all_dims.kernel("cpu")
def _(input: np.ndarray, dim: Axes, keepdim: bool) -> np.ndarray:
    return _truth(ALL, input, dim, keepdim)


@all_dims.prepared
def _(x: Operand, dim: Axes, keepdim: bool) -> Prepared | None:
    return None if x.dtype == np.uint8 else ALL.prepared(x, _BOOL, dim, keepdim)


def _truth(fold: Fold, x: np.ndarray, dim: Axes, keepdim: bool) -> np.ndarray:
    items = x != 0 if x.dtype.kind == "c" else x
    found = keep(fold.over(items, dim), x.shape, dim, keepdim)
    return found.view(np.uint8) if x.dtype == np.uint8 else found


@op(
    samples=[Sample(((3, 4),), {"dim": (0,)}), Sample(([[1.0, 0.0], [0.0, 0.0]],), {"dim": (0, 1)})],
    reference=lambda x, dim: np.count_nonzero(x, dim),
    takes_complex=True,
    differentiable=False,
)
def count_nonzero(input, *, dim):
    """The number (int64) of items that are not 0 over some dimensions; NaN is not."""


@count_nonzero.kernel("cpu")
def _(input: np.ndarray, dim: Axes) -> np.ndarray:
    return COUNT.over(input != 0 if input.dtype.kind == "c" else input, dim)
