"""Views: ops that only change the layout. Each is a pure function of (shape, strides, offset), shared by all devices.

Dimensions arrive wrapped to non-negative numbers: `numgrad` checks and wraps them before it comes here.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import cpu
from .array import Array, Layout, Shape, contiguous_strides
from .backends import backend
from .movement import as_strided_backward, cat, scatter_view, stack
from .registry import Sample, op
from .view_ops import view as view_op


def view_strides(shape: Shape, strides: Shape, size: Shape) -> Shape | None:
    """Strides that show an array as `size` without moving data, or None when there are none.

    Axes of the old shape are joined into runs that are contiguous among themselves; each run must be filled exactly by
    consecutive new axes. (The rule of PyTorch's `Tensor.view`.)
    """
    if 0 in shape:
        return strides if shape == size else contiguous_strides(size)
    runs: list[tuple[int, int]] = []  # (items, stride of the last axis) of each run, from the right
    items, inner = 1, 1
    for extent, stride in zip(reversed(shape), reversed(strides), strict=True):
        if extent == 1:
            continue
        if items == 1:
            items, inner = extent, stride
        elif stride == items * inner:
            items *= extent
        else:
            runs.append((items, inner))
            items, inner = extent, stride
    runs.append((items, inner))
    result: list[int] = []
    remaining = iter(runs)
    left, step = next(remaining)
    for extent in reversed(size):
        if extent == 1:
            result.append(step)
            continue
        while left == 1:
            following = next(remaining, None)
            if following is None:
                return None
            left, step = following
        if left % extent:
            return None
        result.append(step)
        step *= extent
        left //= extent
    if left != 1 or next(remaining, None) is not None:
        return None
    return tuple(reversed(result))


@view_op(samples=[Sample(((2, 6),), {"size": (3, 4)}), Sample(((4,),), {"size": (2, 1, 2)})], reference=np.reshape)
def view(shape: Shape, strides: Shape, offset: int, size: Shape) -> Layout:
    """The same items under another shape, without a copy.

    Raises RuntimeError when the layout does not allow it.
    """
    found = view_strides(shape, strides, size)
    if found is None:
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
            "contiguous subspaces). Use .reshape(...) instead."
        )
    return size, found, offset


@view.grad
def _(g: Any, input_shape: Shape) -> Any:
    return g.reshape(input_shape)


@view_op(samples=[Sample(((2, 6),), {"size": (3, 4)})], reference=np.reshape)
def reshape_alias(shape: Shape, strides: Shape, offset: int, size: Shape) -> Layout:
    """`view` as `reshape` does it for an input that is not contiguous."""
    return view.layout(shape, strides, offset, size)


@reshape_alias.grad
def _(g: Any, input_shape: Shape) -> Any:
    return g.reshape(input_shape)


@view_op(samples=[Sample(((2, 6),), {"size": (3, 4)})], reference=np.reshape)
def unsafe_view(shape: Shape, strides: Shape, offset: int, size: Shape) -> Layout:
    """`view` of a result that nobody else holds: to the graph it is a new tensor, no view of another."""
    return view.layout(shape, strides, offset, size)


@unsafe_view.grad
def _(g: Any, input_shape: Shape) -> Any:
    return g.reshape(input_shape)


@view_op(
    samples=[Sample(((3, 1),), {"size": (2, 3, 4)}), Sample(((),), {"size": (2,)})],
    reference=lambda x, size: np.broadcast_to(x, size),
)
def expand(shape: Shape, strides: Shape, offset: int, size: Shape) -> Layout:
    """Repeat dimensions of extent 1 without a copy."""
    lead = len(size) - len(shape)
    out = [0] * lead
    for old, stride, new in zip(shape, strides, size[lead:], strict=True):
        out.append(stride if old == new else 0)
    return size, tuple(out), offset


@expand.grad
def _(g: Any, input_shape: Shape) -> Any:
    return g.sum_to_size(input_shape)


@view_op(samples=[Sample(((2, 3, 4),), {"dims": (2, 0, 1)})], reference=np.transpose)
def permute(shape: Shape, strides: Shape, offset: int, dims: Shape) -> Layout:
    """Dimensions in another order."""
    return tuple(shape[d] for d in dims), tuple(strides[d] for d in dims), offset


@permute.inverse
def _(dims: Shape) -> Any:
    return permute, (tuple(dims.index(d) for d in range(len(dims))),)


@view_op(samples=[Sample(((2, 3, 4),), {"dim0": 0, "dim1": 2})], reference=np.swapaxes)
def transpose(shape: Shape, strides: Shape, offset: int, dim0: int, dim1: int) -> Layout:
    """Two dimensions exchanged."""
    order = list(range(len(shape)))
    if order:
        order[dim0], order[dim1] = order[dim1], order[dim0]
    return tuple(shape[d] for d in order), tuple(strides[d] for d in order), offset


@transpose.inverse
def _(dim0: int, dim1: int) -> Any:
    return transpose, (dim0, dim1)


@view_op(samples=[Sample(((2, 3),)), Sample(((2,),)), Sample(((),))], reference=np.transpose)
def t(shape: Shape, strides: Shape, offset: int) -> Layout:
    """Transpose of a matrix; a vector or a number stays as it is."""
    return shape[::-1], strides[::-1], offset


@t.inverse
def _() -> Any:
    return t, ()


def _squeezed(shape: Shape, strides: Shape, dims: Shape) -> tuple[Shape, Shape]:
    kept = [d for d in range(len(shape)) if not (d in dims and shape[d] == 1)]
    return tuple(shape[d] for d in kept), tuple(strides[d] for d in kept)


@view_op(samples=[Sample(((1, 3, 1),))], reference=np.squeeze)
def squeeze(shape: Shape, strides: Shape, offset: int) -> Layout:
    """Without the dimensions of extent 1."""
    return (*_squeezed(shape, strides, tuple(range(len(shape)))), offset)


@squeeze.grad
def _(g: Any, input_shape: Shape) -> Any:
    return g.reshape(input_shape)


@view_op(
    samples=[Sample(((1, 3, 1),), {"dim": 2})],
    reference=lambda x, dim: np.squeeze(x, dim),
    name="squeeze.dim",
    node="SqueezeBackward1",
)
def squeeze_dim(shape: Shape, strides: Shape, offset: int, dim: int) -> Layout:
    """Without dimension `dim`, if its extent is 1."""
    return (*_squeezed(shape, strides, (dim,)), offset)


@squeeze_dim.inverse
def _(input_shape: Shape, dim: int) -> Any:
    return (unsqueeze, (dim,)) if input_shape and input_shape[dim] == 1 else (alias, ())


@view_op(
    samples=[Sample(((1, 3, 1),), {"dim": 2})],
    reference=lambda x, dim: np.squeeze(x, dim),
    name="squeeze_.dim",
    node="SqueezeBackward4",
)
def squeeze_fresh_dim(shape: Shape, strides: Shape, offset: int, dim: int) -> Layout:
    """`squeeze_dim` of a result that nobody else holds, which PyTorch does in place."""
    return squeeze_dim.layout(shape, strides, offset, dim)


@squeeze_fresh_dim.inverse
def _(dim: int) -> Any:
    return unsqueeze, (dim,)


@view_op(
    samples=[Sample(((1, 3, 1),), {"dim": (0, 1, 2)})],
    reference=lambda x, dim: np.squeeze(x),
    name="squeeze.dims",
    node="SqueezeBackward2",
)
def squeeze_dims(shape: Shape, strides: Shape, offset: int, dim: Shape) -> Layout:
    """Without those of the dimensions `dim` that have extent 1."""
    return (*_squeezed(shape, strides, dim), offset)


@squeeze_dims.grad
def _(g: Any, input_shape: Shape) -> Any:
    return g.reshape(input_shape)


@view_op(samples=[Sample(((2, 3),), {"dim": 1}), Sample(((),), {"dim": 0})], reference=np.expand_dims)
def unsqueeze(shape: Shape, strides: Shape, offset: int, dim: int) -> Layout:
    """With a new dimension of extent 1 at `dim`."""
    step = shape[dim] * strides[dim] if dim < len(shape) else 1
    return (*shape[:dim], 1, *shape[dim:]), (*strides[:dim], step, *strides[dim:]), offset


@unsqueeze.inverse
def _(dim: int) -> Any:
    return squeeze_dim, (dim,)


@view_op(samples=[Sample(((3, 4),), {"dim": 1, "index": 2})], reference=lambda x, dim, index: np.take(x, index, dim))
def select(shape: Shape, strides: Shape, offset: int, dim: int, index: int) -> Layout:
    """The slice at `index` (non-negative) of dimension `dim`, without that dimension."""
    rest = shape[:dim] + shape[dim + 1 :], strides[:dim] + strides[dim + 1 :]
    return (*rest, offset + index * strides[dim])


@select.grad
def _(g: Any, input_shape: Shape, dim: int, index: int) -> Any:
    return select_backward(g, shape=input_shape, dim=dim, index=index)


@select.grad_of_arrays
def _(g: Array, input_shape: Shape, dim: int, index: int) -> list[Array]:
    return [scatter_view(g, input_shape, select.layout(*_dense(input_shape), dim, index))]


@op(
    samples=[Sample(((3,),), {"shape": (3, 4), "dim": 1, "index": 2})],
    reference=lambda g, shape, dim, index: _placed(g, shape, (*[slice(None)] * dim, index)),
    node="SelectBackwardBackward0",
    moves=True,
)
def select_backward(g, *, shape, dim, index):
    """Zeros of `shape` with `g` at `index` of dimension `dim`: the gradient of `select`."""


@select_backward.kernel("cpu")
@select_backward.kernel("cuda")
def _(g: Any, shape: Shape, dim: int, index: int) -> Any:
    return scatter_view(g, shape, select.layout(*_dense(shape), dim, index))


@select_backward.grad("g")
def _(g, dim, index):
    return select(g, dim=dim, index=index)


@view_op(
    samples=[
        Sample(((5, 4),), {"dim": 0, "start": 1, "end": 5, "step": 2}),
        Sample(((5, 4),), {"dim": 1, "start": 2, "end": 2, "step": 1}),
    ],
    reference=lambda x, dim, start, end, step: x[(slice(None),) * dim + (slice(start, end, step),)],
    name="slice",
)
def slice_(shape: Shape, strides: Shape, offset: int, dim: int, start: int, end: int, step: int) -> Layout:
    """Every `step`-th item of dimension `dim` from `start` up to `end`; 0 <= start <= end <= extent."""
    extent = max(0, -(-(end - start) // step))
    return (
        (*shape[:dim], extent, *shape[dim + 1 :]),
        (*strides[:dim], strides[dim] * step, *strides[dim + 1 :]),
        offset + start * strides[dim],
    )


@slice_.grad
def _(g: Any, input_shape: Shape, dim: int, start: int, end: int, step: int) -> Any:
    return slice_backward(g, shape=input_shape, dim=dim, start=start, end=end, step=step)


@slice_.grad_of_arrays
def _(g: Array, input_shape: Shape, dim: int, start: int, end: int, step: int) -> list[Array]:
    return [scatter_view(g, input_shape, slice_.layout(*_dense(input_shape), dim, start, end, step))]


@op(
    samples=[Sample(((2, 4),), {"shape": (5, 4), "dim": 0, "start": 1, "end": 5, "step": 2})],
    reference=lambda g, shape, dim, start, end, step: _placed(
        g, shape, (*[slice(None)] * dim, slice(start, end, step))
    ),
    node="SliceBackwardBackward0",
    moves=True,
)
def slice_backward(g, *, shape, dim, start, end, step):
    """Zeros of `shape` with `g` where `slice` read it."""


@slice_backward.kernel("cpu")
@slice_backward.kernel("cuda")
def _(g: Any, shape: Shape, dim: int, start: int, end: int, step: int) -> Any:
    return scatter_view(g, shape, slice_.layout(*_dense(shape), dim, start, end, step))


@slice_backward.grad("g")
def _(g, dim, start, end, step):
    return slice_(g, dim=dim, start=start, end=end, step=step)


@view_op(
    samples=[
        Sample(((3, 4),), {"offset_of": 1, "dim1": 0, "dim2": 1}),
        Sample(((2, 3, 4),), {"offset_of": -1, "dim1": 2, "dim2": 0}),
    ],
    reference=np.diagonal,
)
def diagonal(shape: Shape, strides: Shape, offset: int, offset_of: int, dim1: int, dim2: int) -> Layout:
    """The diagonal of two dimensions, `offset_of` columns to the right, as the last dimension."""
    down, right = max(-offset_of, 0), max(offset_of, 0)
    extent = max(min(shape[dim1] - down, shape[dim2] - right), 0)
    start = offset + down * strides[dim1] + right * strides[dim2] if extent else offset
    rest = [d for d in range(len(shape)) if d not in (dim1, dim2)]
    return (
        (*(shape[d] for d in rest), extent),
        (*(strides[d] for d in rest), strides[dim1] + strides[dim2]),
        start,
    )


@diagonal.grad
def _(g: Any, input_shape: Shape, offset_of: int, dim1: int, dim2: int) -> Any:
    return diag_embed(g, shape=input_shape, offset_of=offset_of, dim1=dim1, dim2=dim2)


@op(
    samples=[Sample(((3,),), {"shape": (3, 4), "offset_of": 1, "dim1": 0, "dim2": 1})],
    reference=lambda g, shape, **_: _placed(g, shape, (np.arange(3), np.arange(3) + 1)),
    moves=True,
)
def diag_embed(g, *, shape, offset_of, dim1, dim2):
    """Zeros of `shape` with the last dimension of `g` on the diagonals of two others: also the gradient of `diagonal`."""


@diag_embed.kernel("cpu")
@diag_embed.kernel("cuda")
def _(g: Any, shape: Shape, offset_of: int, dim1: int, dim2: int) -> Any:
    return scatter_view(g, shape, diagonal.layout(*_dense(shape), offset_of, dim1, dim2))


@diag_embed.grad("g")
def _(g, offset_of, dim1, dim2):
    return diagonal(g, offset_of=offset_of, dim1=dim1, dim2=dim2)


@view_op(
    samples=[
        Sample(((2, 5),), {"dimension": 1, "size": 3, "step": 1}),
        Sample(((),), {"dimension": 0, "size": 1, "step": 1}),
    ],
    reference=lambda x, dimension, size, step: (
        np.lib.stride_tricks.sliding_window_view(x, size, dimension)[
            (*[slice(None)] * dimension, slice(None, None, step))
        ]
        if x.ndim
        else x.reshape(1)
    ),
)
def unfold(shape: Shape, strides: Shape, offset: int, dimension: int, size: int, step: int) -> Layout:
    """Windows of `size` items along a dimension, one every `step` items, their items as the last dimension."""
    if not shape:
        return (size,), (1,), offset
    count = (shape[dimension] - size) // step + 1
    return (
        (*shape[:dimension], count, *shape[dimension + 1 :], size),
        (*strides[:dimension], strides[dimension] * step, *strides[dimension + 1 :], strides[dimension]),
        offset,
    )


@unfold.grad
def _(g: Any, input_shape: Shape, dimension: int, size: int, step: int) -> Any:
    return unfold_backward(g, input_sizes=input_shape, dim=dimension, size=size, step=step)


@op(
    samples=[Sample(((2, 3),), {"input_sizes": (4,), "dim": 0, "size": 3, "step": 1})],
    reference=lambda g, **_: np.array([g[0, 0], g[0, 1] + g[1, 0], g[0, 2] + g[1, 1], g[1, 2]]),
    node="UnfoldBackwardBackward0",
    takes_complex=True,
)
def unfold_backward(g, *, input_sizes, dim, size, step):
    """Zeros of `input_sizes` with the windows `g` added where `unfold` read them."""


@unfold_backward.kernel("cpu")
def _(g: np.ndarray, input_sizes: Shape, dim: int, size: int, step: int) -> np.ndarray:
    out = np.zeros(input_sizes, g.dtype)
    if not input_sizes:
        return g.reshape(())
    for i in range(size):  # of each window the i-th item
        stop = i + (g.shape[dim] - 1) * step + 1
        out[(*[slice(None)] * dim, slice(i, stop, step))] += g[..., i]
    return out


@unfold_backward.grad("g")
def _(g, dim, size, step):
    return unfold(g, dimension=dim, size=size, step=step)


@view_op(
    samples=[Sample(((2, 3),), {"size": (2, 2), "stride": (1, 2), "storage_offset": 1})],
    reference=lambda x, size, stride, storage_offset: np.lib.stride_tricks.as_strided(
        x.reshape(-1)[storage_offset:], size, [s * x.itemsize for s in stride]
    ).copy(),
)
def as_strided(shape: Shape, strides: Shape, offset: int, size: Shape, stride: Shape, storage_offset: int) -> Layout:
    """Any layout over the input's storage; `storage_offset` counts from the start of the storage."""
    return size, stride, storage_offset


@as_strided.grad
def _(g: Any, input_shape: Shape, input_strides: Shape, input_offset: int, size: Shape, stride: Shape,
      storage_offset: int) -> Any:  # fmt: skip
    layout = (size, stride, storage_offset - input_offset)
    return as_strided_backward(g, shape=input_shape, strides=input_strides, layout=layout)


@view_op(samples=[Sample(((2, 3),), {"dim": 1})], reference=lambda x, dim: tuple(np.moveaxis(x, dim, 0)), several=True)
def unbind(shape: Shape, strides: Shape, offset: int, dim: int) -> list[Layout]:
    """All slices of dimension `dim`, without that dimension."""
    rest, kept, step = shape[:dim] + shape[dim + 1 :], strides[:dim] + strides[dim + 1 :], strides[dim]
    return [(rest, kept, offset + i * step) for i in range(shape[dim])]


@unbind.grad
def _(gs: Any, input_shape: Shape, dim: int) -> Any:
    rest = input_shape[:dim] + input_shape[dim + 1 :]
    return stack(*_filled(gs, [rest] * len(gs)), dim=dim)


@unbind.grad_of_arrays
def _(gs: Sequence[Array | None], input_shape: Shape, dim: int) -> list[Array]:
    given = [g for g in gs if g is not None]
    like = given[0]
    if like.device == cpu.DEVICE and len(given) == len(gs):
        return [cpu.from_host(stack.kernels["cpu"]([g.ndarray for g in given], dim))]
    loops = backend(like.device)
    out = loops.empty(input_shape, like.dtype, like.device)
    for g, layout in zip(gs, unbind.layout(*_dense(input_shape), dim), strict=True):
        part = out.view(*layout)
        if g is None:
            loops.fill(part, 0)
        elif g.size:
            loops.copy(g, part)
    return [out]


@view_op(
    samples=[Sample(((2, 5),), {"split_size": 2, "dim": 1})],
    reference=lambda x, size, dim: tuple(np.split(x, range(size, x.shape[dim], size), dim)),
    several=True,
)
def split(shape: Shape, strides: Shape, offset: int, split_size: int, dim: int) -> list[Layout]:
    """Parts of `split_size` along dimension `dim`; the last may be smaller. At least one, be it empty."""
    extent = shape[dim]
    starts = range(0, extent, split_size) if extent else (0,)
    return [slice_.layout(shape, strides, offset, dim, i, min(i + split_size, extent), 1) for i in starts]


@split.grad
def _(gs: Any, input_shape: Shape, split_size: int, dim: int) -> Any:
    extent = input_shape[dim]
    starts = range(0, extent, split_size) if extent else (0,)
    return _joined(gs, input_shape, dim, [min(split_size, extent - i) for i in starts])


@view_op(
    samples=[Sample(((2, 5),), {"split_sizes": (2, 3), "dim": 1})],
    reference=lambda x, sizes, dim: tuple(np.split(x, np.cumsum(sizes)[:-1], dim)),
    several=True,
)
def split_with_sizes(shape: Shape, strides: Shape, offset: int, split_sizes: Shape, dim: int) -> list[Layout]:
    """Parts of the given extents along dimension `dim`."""
    ends = list(itertools.accumulate(split_sizes))
    return [slice_.layout(shape, strides, offset, dim, e - n, e, 1) for n, e in zip(split_sizes, ends, strict=True)]


@split_with_sizes.grad
def _(gs: Any, input_shape: Shape, split_sizes: Shape, dim: int) -> Any:
    return _joined(gs, input_shape, dim, split_sizes)


def _joined(gs: Any, shape: Shape, dim: int, extents: Any) -> Any:
    """Gradients of parts along a dimension as one."""
    return cat(*_filled(gs, [(*shape[:dim], n, *shape[dim + 1 :]) for n in extents]), dim=dim)


def _filled(gs: Any, shapes: Any) -> Any:
    """Gradients of several views, with zeros for those that are not used."""
    given = next(g for g in gs if g is not None)
    return [given.new_zeros(shape) if g is None else g for g, shape in zip(gs, shapes, strict=True)]


@view_op(samples=[Sample(((2, 3),))], reference=lambda x: x)
def alias(shape: Shape, strides: Shape, offset: int) -> Layout:
    """The same view again, as a new tensor."""
    return shape, strides, offset


@alias.inverse
def _() -> Any:
    return alias, ()


def _in_place(source: Any, name: str, node: str) -> Any:
    """The op of a view that a tensor itself becomes: it differs in the name of its node."""
    declare = view_op(samples=source.samples, reference=source.reference, name=name, node=node)
    made: Any = declare(source.layout)
    made.rules, made.inverse_view = source.rules, source.inverse_view
    return made


squeeze_in_place = _in_place(squeeze, "squeeze_", "SqueezeBackward3")
squeeze_dims_in_place = _in_place(squeeze_dims, "squeeze_.dims", "SqueezeBackward5")
unsqueeze_in_place = _in_place(unsqueeze, "unsqueeze_", "UnsqueezeBackward1")
transpose_in_place = _in_place(transpose, "transpose_", "TransposeBackward1")
t_in_place = _in_place(t, "t_", "TBackward1")
as_strided_in_place = _in_place(as_strided, "as_strided_", "AsStridedBackward1")


def _dense(shape: Shape) -> Layout:
    return shape, contiguous_strides(shape), 0


def _placed(g: np.ndarray, shape: Shape, key: Any) -> np.ndarray:
    out = np.zeros(shape, g.dtype)
    out[key] = g
    return out
