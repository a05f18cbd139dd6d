"""Indexing by integer and bool tensors: `x[index]` and `x[index] = values`, with their gradients.

Several index tensors are first joined to *positions* (`join_indices`): int64 numbers that count the indexed dimensions as
one. The ops below then know a single index only. It takes the place of the dimensions `dims`, where they stand side by side;
else its own dimensions come first. (The rule of NumPy and PyTorch.)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import cpu
from .array import Array, Shape, around, contiguous_strides, elementwise_strides
from .blocks import add_blocks, check_bounds, prepared_take, put_blocks, take_blocks
from .cpu import loop
from .prepared import Operand, Prepared
from .registry import Sample, op
from .scatter import of_last_writes


# ---------------------------------------------------------------------------------------------------- several indices
@op(
    samples=[
        Sample(([1, 0, -1], [[0], [2]]), {"sizes": (2, 3)}),
        Sample(([[True, False], [False, True]],), {"sizes": (2, 2)}),
    ],
    reference=lambda *indices, sizes, checked: _joined_reference(indices, sizes),
    differentiable=False,
)
def join_indices(*indices, sizes, checked=True):
    """Positions in an array of shape `sizes` that index tensors name together.

    Integers are broadcast and may be negative; a mask of k dimensions stands for the k indices of where it is not 0.
    `checked=False` is for a result without items, for which PyTorch allows any index.
    """


def _joined_reference(indices: Sequence[np.ndarray], sizes: Shape) -> np.ndarray:
    return np.arange(math.prod(sizes)).reshape(sizes)[tuple(indices)]


@loop
def _count_on(positions, index, size):
    """One dimension more: `positions * size + index`, in place; an index may be negative."""
    for i in range(positions.shape[0]):
        at = index[i]
        positions[i] = positions[i] * size + (at + size if at < 0 else at)


@join_indices.kernel("cpu")
def _(indices: Sequence[np.ndarray], sizes: Shape, checked: bool) -> np.ndarray:
    if len(indices) == 1 and indices[0].dtype.kind in "bu":
        return np.flatnonzero(indices[0])
    integers: list[np.ndarray] = []
    for index in indices:
        integers.extend(np.nonzero(index) if index.dtype.kind in "bu" else (index,))
    try:
        shape = np.broadcast_shapes(*(index.shape for index in integers))
    except ValueError:
        shapes = ", ".join(str(list(index.shape)) for index in integers)
        raise IndexError(
            f"shape mismatch: indexing tensors could not be broadcast together with shapes {shapes}"
        ) from None
    if not checked:
        return np.zeros(shape, np.int64)
    if 0 in sizes and 0 not in shape:
        raise IndexError("index is out of bounds for dimension with size 0")
    result = np.zeros(shape, np.int64)
    if 0 not in shape:
        for number, (index, size) in enumerate(zip(integers, sizes, strict=True)):
            check_bounds(index, size, f"dimension {number}")
            each = np.ascontiguousarray(np.broadcast_to(index, shape), np.int64)
            _count_on(result.reshape(-1), each.reshape(-1), size)
    return result


# ---------------------------------------------------------------------------------------------------- layout
def axis_of(dims: Shape) -> int:
    """The dimension of a result from which on the index's dimensions are: where they were if side by side, else first."""
    first = dims[0]
    return first if dims == tuple(range(first, first + len(dims))) else 0


class _Joined:
    """An array whose indexed dimensions stand side by side: `moved`, of shape `before + sizes + after`."""

    def __init__(self, x: np.ndarray, dims: Shape) -> None:
        lead = axis_of(dims)
        if dims != tuple(range(lead, lead + len(dims))):
            x = x.transpose((*dims, *(d for d in range(x.ndim) if d not in dims)))
        self.moved = x
        self.lead = lead
        self.before, self.after = x.shape[:lead], x.shape[lead + len(dims) :]
        self.sizes = x.shape[lead : lead + len(dims)]

    def blocks(self) -> np.ndarray | None:
        """The array as (before, positions, after), if that needs no copy."""
        if not self.moved.flags.c_contiguous:
            return None
        return self.moved.reshape(math.prod(self.before), math.prod(self.sizes), math.prod(self.after))

    def key(self, positions: np.ndarray) -> tuple[Any, ...]:
        """The same index for NumPy; positions are non-negative where several dimensions are joined."""
        where = (positions,) if len(self.sizes) == 1 else np.unravel_index(positions, self.sizes)
        return (*[slice(None)] * self.lead, *where)

    def strides(self, positions: np.ndarray) -> Shape:
        """Strides of what is read, as PyTorch lays it out: by the array's own dimensions, then by the index's."""
        x, rank = self.moved, positions.ndim
        steps = [s // x.itemsize for s in x.strides]
        kept = (*steps[: self.lead], *(0,) * rank, *steps[self.lead + len(self.sizes) :])
        shape = (*self.before, *positions.shape, *self.after)
        own = tuple(s // positions.itemsize for s in positions.strides)
        outer = own[0] * positions.shape[0] if own else 1
        ones = (*(1,) * self.lead, *positions.shape, *(1,) * len(self.after))
        steps = [*(outer,) * self.lead, *own, *(1,) * len(self.after)]
        return elementwise_strides(shape, [(shape, kept), (ones, tuple(steps))])


def indexed_shape(shape: Shape, dims: Shape, index: Shape) -> Shape:
    """The shape of `x[...]` for an `x` of a shape, and an index of the shape `index` on the dimensions `dims`."""
    lead = axis_of(dims)
    rest = tuple(n for d, n in enumerate(shape) if d not in dims)
    return (*rest[:lead], *index, *rest[lead:])


def _check(positions: np.ndarray, shape: Shape, dims: Shape) -> None:
    if positions.size and (0 not in shape or 0 not in indexed_shape(shape, dims, positions.shape)):
        count = shape[dims[0]] if len(dims) == 1 else math.prod(shape[d] for d in dims)
        if not count:
            raise IndexError("index is out of bounds for dimension with size 0")
        check_bounds(positions, count, "dimension 0")


# ---------------------------------------------------------------------------------------------------- reading
def _index_reference(x: np.ndarray, positions: np.ndarray, dims: Shape) -> np.ndarray:
    key: list[Any] = [slice(None)] * x.ndim
    for d, where in zip(dims, np.unravel_index(positions % math.prod(x.shape[d] for d in dims),
                                               [x.shape[d] for d in dims]), strict=True):  # fmt: skip
        key[d] = where
    return x[tuple(key)]


@op(
    samples=[
        Sample(((4, 3), [[1, 3], [0, -1]]), {"dims": (0,)}),
        Sample(((2, 3, 2), [5, 0, 5]), {"dims": (0, 1)}),
        Sample(((2, 3, 2), [3, 1]), {"dims": (0, 2)}),
    ],
    reference=_index_reference,
    plain=("positions",),
    moves=True,
)
def index(input, positions, *, dims):
    """Items at `positions` of the dimensions `dims`, counted as one."""


@index.kernel("cpu")
def _(input: np.ndarray, positions: np.ndarray, dims: Shape) -> Array:
    _check(positions, input.shape, dims)
    joined = _Joined(input, dims)
    shape = (*joined.before, *positions.shape, *joined.after)
    if 0 in shape:
        return cpu.empty(shape, input.dtype)
    blocks = joined.blocks()
    dense = tuple(n * positions.itemsize for n in contiguous_strides(positions.shape))
    if blocks is not None and positions.strides == dense:
        return cpu.from_host(take_blocks(blocks, positions.reshape(-1)).reshape(shape))
    strides = joined.strides(positions)
    out = cpu.empty_strided(shape, strides, input.dtype)
    out.ndarray[...] = joined.moved[joined.key(positions)]
    return out


@index.prepared
def _(x: Operand, positions: Operand, dims: Shape) -> Prepared | None:
    if len(dims) > 1:
        return None
    blocks = around(x.shape, dims[0])
    shape = indexed_shape(x.shape, dims, positions.shape)
    return prepared_take(x, blocks, positions, -blocks[1], lambda at: check_bounds(at, blocks[1], "dimension 0"), shape)


@index.grad("input")
def _(g, positions, input_shape, dims):
    return index_backward(g, positions, shape=input_shape, dims=dims)


# ---------------------------------------------------------------------------------------------------- writing
def _write(target: np.ndarray, positions: np.ndarray, values: np.ndarray, dims: Shape, accumulate: bool) -> None:
    joined = _Joined(target, dims)
    values = np.broadcast_to(values, (*joined.before, *positions.shape, *joined.after))
    if 0 in values.shape:
        return
    blocks = joined.blocks()
    if blocks is not None and target.flags.writeable:
        source = np.ascontiguousarray(values).reshape(len(blocks), positions.size, blocks.shape[2])
        (add_blocks if accumulate else put_blocks)(blocks, np.ascontiguousarray(positions).reshape(-1), source)
    elif accumulate:
        np.add.at(joined.moved, joined.key(positions), values)
    else:
        joined.moved[joined.key(positions)] = values


def _put_reference(x: Any, positions: Any, values: Any, dims: Shape, accumulate: bool) -> np.ndarray:
    where = _index_reference(np.arange(x.size).reshape(x.shape), positions, dims)
    out = x.copy().reshape(-1)
    for place, value in zip(where.reshape(-1), np.broadcast_to(values, where.shape).reshape(-1), strict=True):
        out[place] = out[place] + value if accumulate else value
    return out.reshape(x.shape)


@op(
    samples=[
        Sample(((4, 3), [1, 3], (2, 3)), {"dims": (0,)}),
        Sample(((4, 3), [[1, 1], [0, -1]], (3,)), {"dims": (0,), "accumulate": True}),
        Sample(((2, 3, 2), [5, 0], (2, 1)), {"dims": (0, 1)}),
        Sample(((2, 3, 2), [3, 1], (3,)), {"dims": (0, 2)}),
    ],
    reference=_put_reference,
    updates=True,
    keeps_layout=True,
    takes_expanded=True,
    plain=("positions",),
    takes_complex=True,
)
def index_put(input, positions, values, *, dims, accumulate=False):
    """`input` with `values` (broadcast) written, or added, at `positions` of the dimensions `dims`."""


@index_put.kernel("cpu")
def _(input: np.ndarray, positions: np.ndarray, values: np.ndarray, dims: Shape, accumulate: bool) -> None:
    _check(positions, input.shape, dims)
    _write(input, positions, values, dims, accumulate)


@index_put.grad("input")
def _(g, positions, values_shape, dims, accumulate):
    return g if accumulate else index_put(g, positions, g.new_zeros(values_shape), dims=dims)


@index_put.grad("values")
def _(g, positions, values_shape, dims, accumulate):
    found = index(g, positions, dims=dims)
    if not accumulate and positions.numel() > 1:
        found = of_last_writes(found, positions, math.prod(g.shape[d] for d in dims), axis_of(dims))
    return found.sum_to_size(values_shape)


@op(
    samples=[Sample(((2, 2, 3), [[1, 3], [1, -1]]), {"shape": (4, 3), "dims": (0,)})],
    reference=lambda g, positions, shape, dims: _put_reference(np.zeros(shape, g.dtype), positions, g, dims, True),
    node="IndexPutImplBackward0",
    plain=("positions",),
    takes_complex=True,
)
def index_backward(g, positions, *, shape, dims):
    """Zeros of `shape` with `g` added at positions: the gradient of `index`."""


@index_backward.kernel("cpu")
def _(g: np.ndarray, positions: np.ndarray, shape: Shape, dims: Shape) -> np.ndarray:
    out = np.zeros(shape, g.dtype)
    _write(out, positions, g, dims, True)
    return out


@index_backward.grad("g")
def _(g, positions, dims):
    return index(g, positions, dims=dims)
