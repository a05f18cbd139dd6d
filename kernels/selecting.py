"""Items picked or written at a vector of indices along one dimension, at a mask, or at positions of the flattened array."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from . import cpu
from .array import Array, Shape, around
from .blocks import add_blocks, check_bounds, first_outside, is_compiled, prepared_take, put_blocks, take_blocks
from .movement import cat
from .prepared import Operand, Prepared
from .registry import Sample, Uniform, elementwise, op
from .scatter import of_last_writes


def _blocks(x: np.ndarray, dim: int) -> np.ndarray:
    """An array as (before, dimension, after), copied if need be."""
    shape = x.shape or (1,)
    return np.ascontiguousarray(x).reshape(math.prod(shape[:dim]), shape[dim], math.prod(shape[dim + 1 :]))


def _flat(index: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(index, np.int64).reshape(-1)


def _write(target: np.ndarray, dim: int, index: np.ndarray, source: Any, accumulate: bool) -> None:
    """Write, or add, slices of `source` at indices of a dimension; a target that is not contiguous through a copy."""
    work = _blocks(target, dim)
    shape = (len(work), index.size, work.shape[2])
    if math.prod(shape):
        source = np.asarray(source, target.dtype)
        source = np.broadcast_to(source.reshape(shape) if source.size > 1 else source.reshape(()), shape)
        (add_blocks if accumulate else put_blocks)(work, _flat(index), np.ascontiguousarray(source))
        if not np.shares_memory(work, target):
            target[...] = work.reshape(target.shape)


# ---------------------------------------------------------------------------------------------------- one dimension
@op(
    samples=[Sample(((3, 4), [2, 0, 2]), {"dim": 0}), Sample(((3, 4), [1]), {"dim": 1})],
    reference=lambda x, index, dim: np.take(x, index, dim),
    plain=("index",),
    moves=True,
)
def index_select(input, index, *, dim):
    """Slices of dimension `dim` at the indices of a vector."""


@index_select.kernel("cpu")
def _(input: np.ndarray, index: np.ndarray, dim: int) -> np.ndarray:
    flat = _flat(index)
    shape = (*input.shape[:dim], len(flat), *input.shape[dim + 1 :]) if input.shape else ()
    if first_outside(flat, 0, input.shape[dim] if input.shape else 1) >= 0:
        refuse(flat)
    return take_blocks(_blocks(input, dim), flat).reshape(shape)


def refuse(index: np.ndarray) -> None:
    """Raise IndexError, with PyTorch's text, for an index that has one out of range."""
    raise IndexError("index out of range in self")


@index_select.prepared
def _(x: Operand, index: Operand, dim: int) -> Prepared | None:
    shape = (*x.shape[:dim], math.prod(index.shape), *x.shape[dim + 1 :]) if x.shape else ()
    return prepared_take(x, around(x.shape, dim), index, 0, refuse, shape)


@index_select.grad("input")
def _(g, index, input_shape, dim):
    return index_add(g.new_zeros(input_shape), index, g, dim=dim, alpha=1)


@index_select.fused_backward("cpu")
def _(g: np.ndarray, index: np.ndarray, input_shape: Shape, dim: int, needs: tuple[bool, ...]) -> tuple[Any, ...]:
    out = np.zeros(input_shape, g.dtype)
    _write(out, dim, index, g, True)
    return out, None


def _added_reference(x: Any, index: Any, source: Any, dim: int, alpha: float) -> np.ndarray:
    out = x.copy()
    np.add.at(out, (*[slice(None)] * dim, index), (source * alpha).astype(x.dtype))
    return out


@op(
    samples=[
        Sample(((3, 4), [2, 0, 2], (3, 4)), {"dim": 0}),
        Sample(((3, 4), [1, 1], (3, 2)), {"dim": 1, "alpha": 2}),
    ],
    reference=_added_reference,
    updates=True,
    plain=("index",),
    takes_complex=True,
)
def index_add(input, index, source, *, dim, alpha=1):
    """`input` with `alpha` times the slices of `source` added at the indices of a vector."""


@index_add.kernel("cpu")
def _(input: np.ndarray, index: np.ndarray, source: np.ndarray, dim: int, alpha: float) -> None:
    size = input.shape[dim] if input.shape else 1
    _check_added(_flat(index), size)
    scaled = source if alpha == 1 else source * np.asarray(alpha).astype(source.dtype)
    _write(input, dim, index, scaled, True)


def _check_added(index: np.ndarray, size: int) -> None:
    found = first_outside(index, 0, size)
    if found >= 0:
        raise RuntimeError(f"index {index[found]} is out of bounds for dimension 0 with size {size}")


@index_add.prepared
def _(x: Operand, index: Operand, source: Operand, dim: int, alpha: float) -> Prepared | None:
    blocks = around(x.shape, dim)
    outer, n, inner = blocks
    form = outer, math.prod(index.shape), inner
    if alpha != 1 or index.dtype != np.int64 or not is_compiled(x.dtype) or math.prod(source.shape) != math.prod(form):
        return None

    def run(items: np.ndarray, where: np.ndarray, values: np.ndarray) -> np.ndarray:
        _check_added(where, n)
        out = items.copy()
        add_blocks(out.reshape(blocks), where, values.reshape(form))
        return out

    return Prepared(run, (x,))


@index_add.grad("input")
def _(g):
    return g


@index_add.grad("source")
def _(g, index, source_shape, dim, alpha):
    found = index_select(g, index, dim=dim).reshape(source_shape)
    return found if alpha == 1 else found * alpha


def _copied_reference(x: Any, index: Any, source: Any, dim: int) -> np.ndarray:
    out = x.copy()
    out[(*[slice(None)] * dim, index)] = source
    return out


def _check_copied(index: np.ndarray, size: int, what: str) -> None:
    found = first_outside(_flat(index), 0, size)
    if found >= 0:
        raise IndexError(f"{what}index {_flat(index)[found]} is out of bounds for dimension 0 with size {size}")


@op(
    samples=[Sample(((3, 4), [2, 0], (2, 4)), {"dim": 0}), Sample(((3, 4), [1], (3, 1)), {"dim": 1})],
    reference=_copied_reference,
    updates=True,
    plain=("index",),
    moves=True,
)
def index_copy(input, index, source, *, dim):
    """`input` with the slices of `source` written at the indices of a vector."""


@index_copy.kernel("cpu")
def _(input: np.ndarray, index: np.ndarray, source: np.ndarray, dim: int) -> None:
    _check_copied(index, input.shape[dim] if input.shape else 1, "index_copy_(): ")
    _write(input, dim, index, source, False)


@index_copy.grad("input")
def _(g, index, dim):
    return index_fill(g, index, dim=dim, value=0)


@index_copy.grad("source")
def _(g, index, source_shape, dim):
    found = index_select(g, index, dim=dim)
    if index.numel() > 1:
        found = of_last_writes(found, index.reshape(-1), g.shape[dim], dim)
    return found.reshape(source_shape)


@op(
    samples=[Sample(((3, 4), [2, 0]), {"dim": 0, "value": 1.5})],
    reference=lambda x, index, dim, value: _copied_reference(x, index, np.asarray(value).astype(x.dtype), dim),
    updates=True,
    keeps_layout=True,
    takes_expanded=True,
    plain=("index",),
    moves=True,
)
def index_fill(input, index, *, dim, value):
    """`input` with a number written in the slices at the indices of a vector."""


@index_fill.kernel("cpu")
def _(input: np.ndarray, index: np.ndarray, dim: int, value: float) -> None:
    _fill(input, dim, index, np.asarray(value))


def _fill(target: np.ndarray, dim: int, index: np.ndarray, value: np.ndarray) -> None:
    size = target.shape[dim] if target.shape else 1
    check_bounds(index, size, "dimension 0")
    with np.errstate(all="ignore"):
        value = value.astype(target.dtype)
    if target.shape:  # no other items are touched: the target may show elements several times
        key: Any = (*[slice(None)] * dim, _flat(index))
        target[key] = value
    elif index.size:
        target[...] = value


@index_fill.grad("input")
def _(g, index, dim):
    return index_fill(g, index, dim=dim, value=0)


@op(
    samples=[Sample(((3, 4), [2, 0], ()), {"dim": 0})],
    reference=lambda x, index, value, dim: _copied_reference(x, index, value, dim),
    name="index_fill.Tensor",
    node="IndexFillBackward1",
    updates=True,
    keeps_layout=True,
    takes_expanded=True,
    plain=("index",),
    moves=True,
)
def index_fill_tensor(input, index, value, *, dim):
    """`index_fill` with the item of a 0-d tensor."""


@index_fill_tensor.kernel("cpu")
def _(input: np.ndarray, index: np.ndarray, value: np.ndarray, dim: int) -> None:
    _fill(input, dim, index, value)


@index_fill_tensor.grad("input")
def _(g, index, dim):
    return index_fill(g, index, dim=dim, value=0)


@index_fill_tensor.grad("value")
def _(g, index, dim):
    others = index_fill(g.new_ones(g.shape), index, dim=dim, value=0)  # an item that is named twice is filled once
    return g.masked_fill(others != 0, 0).sum()


# ---------------------------------------------------------------------------------------------------- masks
@elementwise(
    samples=Uniform(), reference=lambda x, mask, y: np.where(mask, y, x), result="first", public=(),
    name="masked_fill.Scalar", node="MaskedFillBackward0", plain=("mask", "value"), takes_expanded=True,
)  # fmt: skip
def masked_fill(input, mask: bool, value):
    """`input` with a number where `mask` holds."""
    return value if mask else input


@masked_fill.grad("input")
def _(g, mask):
    return 0 if mask else g


@masked_fill.vjp("input")
def _(g, mask):
    return g.masked_fill(mask, 0)


@masked_fill.grad("value")
def _(g, mask):
    return g if mask else 0


@elementwise(
    samples=Uniform(), reference=lambda x, mask, y: np.where(mask, y, x), result="first", public=(),
    name="masked_fill.Tensor", node="MaskedFillBackward1", plain=("mask",), takes_expanded=True,
)  # fmt: skip
def masked_fill_tensor(input, mask: bool, value):
    """`input` with the item of a 0-d tensor where `mask` holds."""
    return value if mask else input


@masked_fill_tensor.grad("input")
def _(g, mask):
    return 0 if mask else g


@masked_fill_tensor.vjp("input")
def _(g, mask):
    return g.masked_fill(mask, 0)


@masked_fill_tensor.grad("value")
def _(g, mask):
    return g if mask else 0


@op(
    samples=[Sample(((2, 3), [[True, False, True], [False, True, True]])), Sample(((3,), [[True], [False]]))],
    reference=lambda x, mask: np.broadcast_arrays(x, mask)[0][np.broadcast_arrays(x, mask)[1]],
    plain=("mask",),
    moves=True,
)
def masked_select(input, mask):
    """The items where `mask` holds, in order, as a vector; both are broadcast."""


@masked_select.kernel("cpu")
def _(input: np.ndarray, mask: np.ndarray) -> np.ndarray:
    if input.shape == mask.shape and input.flags.c_contiguous:
        flat = input.reshape(1, -1, 1)
        return take_blocks(flat, np.flatnonzero(mask)).reshape(-1)
    values, where = np.broadcast_arrays(input, mask)
    return values[where]


@masked_select.grad("input")
def _(g, mask, input_shape):
    shape = np.broadcast_shapes(input_shape, tuple(mask.shape))
    return masked_scatter(g.new_zeros(shape), mask.expand(shape), g).sum_to_size(input_shape)


def _scattered_reference(x: Any, mask: Any, source: Any) -> np.ndarray:
    out = x.copy()
    out[mask] = source.reshape(-1)[: mask.sum()]
    return out


@op(
    samples=[Sample(((2, 3), [[True, False, True], [False, True, False]], (4,)))],
    reference=_scattered_reference,
    updates=True,
    plain=("mask",),
    moves=True,
)
def masked_scatter(input, mask, source):
    """`input` with the first items of `source` where `mask`, of its shape, holds."""


@masked_scatter.kernel("cpu")
def _(input: np.ndarray, mask: np.ndarray, source: np.ndarray) -> None:
    mask = np.broadcast_to(mask, input.shape)
    count = int(np.count_nonzero(mask))
    if count > source.size:
        raise RuntimeError("Number of elements of source < number of ones in mask")
    input[mask] = source.reshape(-1)[:count]


@masked_scatter.grad("input")
def _(g, mask):
    return g.masked_fill(mask, 0)


@masked_scatter.grad("source")
def _(g, mask, source_shape):
    found = masked_select(g, mask)
    rest = math.prod(source_shape) - found.numel()
    if rest:
        found = cat(found, found.new_zeros((rest,)), dim=0)
    return found.reshape(source_shape)


# ---------------------------------------------------------------------------------------------------- flattened
def _check_flat(index: np.ndarray, size: int) -> np.ndarray:
    """The positions. Raises IndexError, with PyTorch's text, for one outside."""
    flat = _flat(index)
    found = first_outside(flat, -size, size)
    if found >= 0:
        raise IndexError(f"out of range: tried to access index {flat[found]} on a tensor of {size} elements.")
    return flat


@op(
    samples=[Sample(((2, 3), [[0, 5], [-1, 2]]))],
    reference=lambda x, index: x.reshape(-1)[index],
    plain=("index",),
    moves=True,
)
def take(input, index):
    """Items at positions of the flattened input, in the shape of `index`."""


@take.kernel("cpu")
def _(input: np.ndarray, index: np.ndarray) -> np.ndarray:
    flat = _check_flat(index, input.size)
    return take_blocks(np.ascontiguousarray(input).reshape(1, -1, 1), flat).reshape(index.shape)


@take.prepared
def _(x: Operand, index: Operand) -> Prepared | None:
    size = math.prod(x.shape)
    return prepared_take(x, (1, size, 1), index, -size, lambda at: _check_flat(at, size), index.shape)


@take.grad("input")
def _(g, index, input_shape):
    return put(g.new_zeros(input_shape), index, g, accumulate=True)


def _put_reference(x: Any, index: Any, source: Any, accumulate: bool) -> np.ndarray:
    out = x.copy().reshape(-1)
    if accumulate:
        np.add.at(out, index, source)
    else:
        out[index] = source
    return out.reshape(x.shape)


@op(
    samples=[
        Sample(((2, 3), [0, -1], (2,)), {}),
        Sample(((2, 3), [[0, 5], [0, 2]], (2, 2)), {"accumulate": True}),
    ],
    reference=_put_reference,
    updates=True,
    keeps_layout=True,
    plain=("index",),
    takes_complex=True,
)
def put(input, index, source, *, accumulate=False):
    """`input` with `source` written, or added, at positions of the flattened input."""


@put.kernel("cpu")
def _(input: np.ndarray, index: np.ndarray, source: np.ndarray, accumulate: bool) -> None:
    flat = _check_flat(index, input.size)
    work = np.ascontiguousarray(input).reshape(1, -1, 1)
    (add_blocks if accumulate else put_blocks)(work, flat, np.ascontiguousarray(source).reshape(1, -1, 1))
    if not np.shares_memory(work, input):
        input[...] = work.reshape(input.shape)


@put.grad("input")
def _(g, index, source_shape, accumulate):
    return g if accumulate else put(g, index, g.new_zeros(source_shape), accumulate=False)


@put.grad("source")
def _(g, index, source_shape, accumulate):
    found = take(g, index)
    if not accumulate:
        found = of_last_writes(found, index, g.numel())
    return found.reshape(source_shape)


@op(
    samples=[Sample(([[0.0, 1.0], [2.0, 0.0]],))],
    reference=lambda x: np.argwhere(x),
    differentiable=False,
    moves=True,
)
def nonzero(input):
    """Indices of the items that are not 0: a row of int64 for each."""


@nonzero.kernel("cpu")
def _(input: np.ndarray) -> Array:
    if not input.shape:
        return cpu.empty((int(input != 0), 0), np.dtype(np.int64))
    # Found in the flat array and taken apart by dimensions, which divides by numbers that NumPy knows: 0.3 of the time of
    # `np.nonzero`, which counts in all dimensions.
    rest = np.flatnonzero(input if input.dtype.kind == "b" else input != 0)
    columns = np.empty((input.ndim, len(rest)), np.int64)  # laid out by columns, as PyTorch does
    for d in range(input.ndim - 1, 0, -1):
        quotient = rest // input.shape[d]
        np.subtract(rest, quotient * input.shape[d], out=columns[d])
        rest = quotient
    columns[0] = rest
    return cpu.from_host(columns.T)
