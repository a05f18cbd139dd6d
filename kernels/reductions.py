"""Reductions: sum, mean, max, argmax.

An array is first seen as (outer, n, inner) around the reduced axes; other orders of axes are copied into that form.
Sums of float32 are kept in float64: along rows in blocks of float32 lanes first, where they vectorise, along columns item
by item.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .arithmetic import where
from .array import Array, Shape, broadcast_axes
from .cpu import loop
from .registry import Sample, op

Axes = tuple[int, ...]


# ---------------------------------------------------------------------------------------------------- loops
@loop(reassoc=True)
def sum_rows(x, out):
    """Sum of each row of (rows, n)."""
    for r in range(x.shape[0]):
        row = x[r]
        n = row.shape[0]
        total = _A(0)  # noqa: F821
        for start in range(0, n, 1024):
            block = row[start : min(start + 1024, n)]
            partial = _T(0)  # noqa: F821
            for i in range(block.shape[0]):
                partial += block[i]
            total += partial
        out[r] = total


@loop
def sum_columns(x, out):
    """Sums over the middle axis of (outer, n, inner)."""
    outer, n, inner = x.shape
    total = np.empty(inner, _A)  # noqa: F821
    for o in range(outer):
        total[:] = 0
        for k in range(n):
            row = x[o, k]
            for i in range(inner):
                total[i] += row[i]
        target = out[o]
        for i in range(inner):
            target[i] = total[i]


@loop
def max_axis(x, values, indices):
    """Largest items along the middle axis of (outer, n, inner), and their first indices."""
    outer, n, inner = x.shape
    for o in range(outer):
        for i in range(inner):
            best = x[o, 0, i]
            where = 0
            for k in range(1, n):
                if best != best:  # the first NaN wins
                    break
                item = x[o, k, i]
                if item > best or item != item:
                    best = item
                    where = k
            values[o, i] = best
            indices[o, i] = where


def as_outer_axis_inner(x: np.ndarray, axes: Axes) -> tuple[np.ndarray, Shape]:
    """`x` as a contiguous (outer, n, inner) array with the reduced axes in the middle, and the shape of the result."""
    kept = [d for d in range(x.ndim) if d not in axes]
    shape = tuple(x.shape[d] for d in kept)
    ordered = sorted(axes)
    n = math.prod(x.shape[d] for d in ordered)
    if ordered == list(range(ordered[0], ordered[0] + len(ordered))):
        outer = math.prod(x.shape[: ordered[0]])
        inner = math.prod(x.shape[ordered[-1] + 1 :])
    else:
        x = x.transpose([*kept, *ordered])
        outer, inner = math.prod(shape), 1
    return np.ascontiguousarray(x).reshape(outer, n, inner), shape


def sum_axes(x: np.ndarray, axes: Axes) -> np.ndarray:
    """Sum over axes; integers and bools sum to int64."""
    if x.dtype.kind in "iub" and x.dtype != np.int64:
        x = x.astype(np.int64)
    if not axes:
        return x.copy()
    blocks, shape = as_outer_axis_inner(x, axes)
    outer, n, inner = blocks.shape
    out = np.empty((outer, inner), blocks.dtype)
    if out.size:
        if inner == 1:
            sum_rows(blocks.reshape(outer, n), out.reshape(-1))
        else:
            sum_columns(blocks, out)
    return out.reshape(shape)


def sum_all(x: np.ndarray) -> np.ndarray:
    """Sum of all items, as a 0-d array."""
    if x.dtype.kind != "f" or not x.flags.c_contiguous:
        return sum_axes(x, tuple(range(x.ndim)))
    out = np.empty(1, x.dtype)
    sum_rows(x.reshape(1, -1), out)
    return out.reshape(())


def sum_to_shape(x: np.ndarray, shape: Shape) -> np.ndarray:
    """Sum the axes along which `shape` was broadcast to `x.shape`."""
    if x.shape == shape:
        return x
    if x.ndim == 2 and shape == x.shape[1:] and x.flags.c_contiguous and x.dtype.kind == "f":
        out = np.empty((1, *shape), x.dtype)  # a bias under its rows, the case that every layer meets
        sum_columns(x[None], out)
        return out[0]
    return sum_axes(x, broadcast_axes(x.shape, shape)).reshape(shape)


def _result_dtype(x: np.ndarray | Array) -> np.dtype:
    return x.dtype if x.dtype.kind == "f" else np.dtype(np.int64)


# ---------------------------------------------------------------------------------------------------- sum and mean
@op(samples=[Sample(((3, 4),)), Sample(((),)), Sample(((0, 2),))], reference=np.sum)
def sum(input):
    """Sum of all items. Integers and bools sum to int64."""


@sum.kernel("cpu")
def _(input: np.ndarray) -> np.ndarray:
    return sum_all(input)


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
    node="SumBackward1",
)
def sum_dim(input, *, dim, keepdim=False):
    """Sum over some dimensions, `dim` a tuple of non-negative ones."""


@sum_dim.kernel("cpu")
def _(input: np.ndarray, dim: Axes, keepdim: bool) -> np.ndarray:
    return _keep(sum_axes(input, dim), input.shape, dim, keepdim)


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


def _keep(out: np.ndarray, shape: Shape, dim: Axes, keepdim: bool) -> np.ndarray:
    if not keepdim:
        return out
    return out.reshape(tuple(1 if d in dim else n for d, n in enumerate(shape)))


def restore_dims(g: Any, dim: Axes, keepdim: bool) -> Any:
    """Put back the reduced dimensions of a gradient, with extent 1."""
    if not keepdim:
        for d in sorted(dim):
            g = g.unsqueeze(d)
    return g


@op(samples=[Sample(((3, 4),)), Sample(((),))], reference=np.mean)
def mean(input):
    """Mean of all items; NaN of none."""


@mean.kernel("cpu")
def _(input: np.ndarray) -> np.ndarray:
    total = sum_all(input)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(total / total.dtype.type(input.size))


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
    node="MeanBackward1",
)
def mean_dim(input, *, dim, keepdim=False):
    """Mean over some dimensions, `dim` a tuple of non-negative ones."""


@mean_dim.kernel("cpu")
def _(input: np.ndarray, dim: Axes, keepdim: bool) -> np.ndarray:
    count = math.prod(input.shape[d] for d in dim)
    total = sum_axes(input, dim)
    with np.errstate(invalid="ignore", divide="ignore"):
        return _keep(np.asarray(total / total.dtype.type(count)), input.shape, dim, keepdim)


@mean_dim.grad("input")
def _(g, input_shape, dim, keepdim):
    count = math.prod(input_shape[d] for d in dim)
    return restore_dims(g, dim, keepdim).expand(input_shape) / count


# ---------------------------------------------------------------------------------------------------- max
@op(samples=[Sample(((3, 4),))], reference=np.max, node="MaxBackward1")
def max(input):
    """The largest item, NaN if any is. Equal ones share the gradient. Raises RuntimeError for an empty tensor."""


@max.kernel("cpu")
def _(input: np.ndarray) -> np.ndarray:
    if not input.size:
        raise RuntimeError(
            "max(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the "
            "'dim' argument."
        )
    values, _ = _max(input, tuple(range(input.ndim)))
    return values


@max.grad("input")
def _(g, input, out):
    mask = (input == out) + (input != input)  # a NaN among the items is the result, and equals nothing
    return where(mask, g / mask.sum(), 0)


@op(
    samples=[Sample(((3, 4),), {"dim": 1}), Sample(((2, 3, 4),), {"dim": 1, "keepdim": True})],
    reference=lambda x, dim, keepdim: (np.max(x, dim, keepdims=keepdim), np.argmax(x, dim, keepdims=keepdim)),
    name="max.dim",
    node="MaxBackward0",
    outputs=2,
)
def max_dim(input, *, dim, keepdim=False):
    """Largest items along a dimension, and their first indices (int64)."""


max_dim.non_differentiable_outputs = (1,)


@max_dim.kernel("cpu")
def _(input: np.ndarray, dim: int, keepdim: bool) -> tuple[np.ndarray, np.ndarray]:
    axes = (dim,) if input.ndim else ()
    values, indices = _max(input, axes)
    return _keep(values, input.shape, axes, keepdim), _keep(indices, input.shape, axes, keepdim)


@max_dim.grad("input")
def _(g0, out1, input_shape, dim, keepdim):
    return value_selecting_reduction_backward(g0, out1, dim=dim, shape=input_shape, keepdim=keepdim)


def _max(x: np.ndarray, axes: Axes) -> tuple[np.ndarray, np.ndarray]:
    if not axes:
        return x.copy(), np.zeros(x.shape, np.int64)
    blocks, shape = as_outer_axis_inner(x, axes)
    outer, _, inner = blocks.shape
    values = np.empty((outer, inner), x.dtype)
    indices = np.empty((outer, inner), np.int64)
    max_axis(blocks, values, indices)
    return values.reshape(shape), indices.reshape(shape)


@op(
    samples=[Sample(((2,), [2, 0]), {"dim": 1, "shape": (2, 3), "keepdim": False})],
    reference=lambda g, index, dim, shape, keepdim: _scatter_along(g, index, dim, shape, keepdim),
)
def value_selecting_reduction_backward(g, indices, *, dim, shape, keepdim):
    """Zeros of `shape` with the items of `g` at `indices` along `dim`: the gradient of `max` over a dimension."""


@value_selecting_reduction_backward.kernel("cpu")
def _(g: np.ndarray, indices: np.ndarray, dim: int, shape: Shape, keepdim: bool) -> np.ndarray:
    return _scatter_along(g, indices, dim, shape, keepdim)


def _scatter_along(g: np.ndarray, indices: np.ndarray, dim: int, shape: Shape, keepdim: bool) -> np.ndarray:
    out = np.zeros(shape, g.dtype)
    if not shape:
        out[...] = g
        return out
    if not keepdim:
        g, indices = np.expand_dims(g, dim), np.expand_dims(indices, dim)
    np.put_along_axis(out, indices.astype(np.int64), g, dim)
    return out


@value_selecting_reduction_backward.grad("g")
def _(g, indices, dim, shape, keepdim):
    return select_along(g, indices, dim=dim, keepdim=keepdim)


@op(
    samples=[Sample(((2, 3), [2, 0]), {"dim": 1, "keepdim": False})],
    reference=lambda x, index, dim, keepdim: np.take_along_axis(x, index[:, None], dim)[:, 0],
)
def select_along(input, indices, *, dim, keepdim):
    """The items of `input` at `indices` along `dim`, one for each remaining position."""


@select_along.kernel("cpu")
def _(input: np.ndarray, indices: np.ndarray, dim: int, keepdim: bool) -> np.ndarray:
    if not input.shape:
        return input.copy()
    index = indices if keepdim else np.expand_dims(indices, dim)
    found = np.take_along_axis(input, index.astype(np.int64), dim)
    return found if keepdim else np.squeeze(found, dim)


@select_along.grad("input")
def _(g, indices, input_shape, dim, keepdim):
    return value_selecting_reduction_backward(g, indices, dim=dim, shape=input_shape, keepdim=keepdim)


@op(
    samples=[Sample(((3, 4),), {"dim": 1}), Sample(((3, 4),), {"dim": 0, "keepdim": True})],
    reference=lambda x, dim, keepdim: np.argmax(x, dim, keepdims=keepdim),
    differentiable=False,
)
def argmax(input, *, dim, keepdim=False):
    """First index (int64) of the largest item along a dimension; NaN counts as the largest."""


@argmax.kernel("cpu")
def _(input: np.ndarray, dim: int, keepdim: bool) -> np.ndarray:
    axes = (dim,) if input.ndim else ()
    return _keep(_max(input, axes)[1], input.shape, axes, keepdim)
