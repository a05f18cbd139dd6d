"""gather and scatter: items picked or written along one dimension, at an index of their own for each.

`index` has the rank of `input`; along the other dimensions it may be shorter, never longer.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .array import Shape, around
from .blocks import as_bits, first_outside, is_compiled
from .cpu import SPLIT, loop
from .prepared import Operand, Prepared
from .registry import Sample, op


# Indices are known to be in range. As unsigned numbers they are not asked whether they count from the end, and with one
# item inside, the innermost loop is not entered: gather takes 0.6, scatter_add 0.3 of the time.
@loop
def _gather(x, index, out, start, stop):
    if index.shape[2] == 1:
        for o in range(start, stop):
            for i in range(index.shape[1]):
                out[o, i, 0] = x[o, np.uint64(index[o, i, 0]), 0]
        return
    for o in range(start, stop):
        for i in range(index.shape[1]):
            for k in range(index.shape[2]):
                out[o, i, k] = x[o, np.uint64(index[o, i, k]), k]


@loop
def _put(target, index, source, start, stop):
    if index.shape[2] == 1:
        for o in range(start, stop):
            for i in range(index.shape[1]):
                target[o, np.uint64(index[o, i, 0]), 0] = source[o, i, 0]
        return
    for o in range(start, stop):
        for i in range(index.shape[1]):
            for k in range(index.shape[2]):
                target[o, np.uint64(index[o, i, k]), k] = source[o, i, k]


@loop
def _add(target, index, source, start, stop):
    if index.shape[2] == 1:
        for o in range(start, stop):
            for i in range(index.shape[1]):
                target[o, np.uint64(index[o, i, 0]), 0] += source[o, i, 0]
        return
    for o in range(start, stop):
        for i in range(index.shape[1]):
            for k in range(index.shape[2]):
                target[o, np.uint64(index[o, i, k]), k] += source[o, i, k]


def _checked(index: np.ndarray, dim: int, size: int) -> np.ndarray:
    """The index as contiguous int64. Raises RuntimeError, with PyTorch's text, for one that is not in [0, size)."""
    index = np.ascontiguousarray(index, np.int64)
    found = first_outside(index.reshape(-1), 0, size)
    if found >= 0:
        raise RuntimeError(f"index {index.reshape(-1)[found]} is out of bounds for dimension {dim} with size {size}")
    return index


def _blocks(x: np.ndarray, dim: int) -> np.ndarray:
    """A contiguous array as (before, dimension, after)."""
    return x.reshape(math.prod(x.shape[:dim]), x.shape[dim], math.prod(x.shape[dim + 1 :]))


def _cropped(x: np.ndarray, index: np.ndarray, dim: int) -> np.ndarray:
    """`x` without the items that no index reaches."""
    return x[tuple(slice(None) if d == dim else slice(n) for d, n in enumerate(index.shape))]


def _movable(x: np.ndarray) -> np.ndarray:
    """The same items in a dtype that loops are compiled for."""
    return x if x.itemsize > 8 else as_bits(x)  # the bits of larger items would be two items


def _with_dims(*arrays: np.ndarray) -> list[np.ndarray]:
    """0-d arrays as vectors of one item."""
    return [x if x.shape else x.reshape(1) for x in arrays]


def _key(index: np.ndarray, dim: int) -> tuple[np.ndarray, ...]:
    """The index for NumPy."""
    where: list[np.ndarray] = list(np.indices(index.shape, sparse=True))
    where[dim] = index
    return tuple(where)


# ---------------------------------------------------------------------------------------------------- gather
@op(
    samples=[
        Sample(((3, 4), [[0, 2, 1, 0], [2, 2, 0, 1]]), {"dim": 0}),
        Sample(((3, 4), [[3, 0], [1, 1]]), {"dim": 1}),
    ],
    reference=lambda x, index, dim: np.take_along_axis(_cropped(x, index, dim), index, dim),
    plain=("index",),
    moves=True,
)
def gather(input, index, *, dim):
    """`input[..., index[..., i, ...], ...]`: items along `dim`, in the shape of `index`."""


@gather.kernel("cpu")
def _(input: np.ndarray, index: np.ndarray, dim: int) -> np.ndarray:
    out = np.empty(index.shape, input.dtype)
    if out.size:
        x, where, result = _with_dims(input, index, out)
        where = _checked(where, dim, x.shape[dim])
        source = np.ascontiguousarray(_cropped(x, where, dim))
        operands = _blocks(_movable(source), dim), _blocks(where, dim), _blocks(_movable(result), dim)
        gather_blocks = _gather if out.size < SPLIT else _gather.in_units
        gather_blocks(*operands, 0, len(operands[0]))
    return out


@gather.prepared
def _(x: Operand, index: Operand, dim: int) -> Prepared | None:
    rest = [n for d, n in enumerate(x.shape) if d != dim]
    if index.dtype != np.int64 or x.dtype.itemsize > 8 or rest != [n for d, n in enumerate(index.shape) if d != dim]:
        return None
    blocks, at = around(x.shape, dim), around(index.shape, dim)
    bits, size, n = np.dtype(f"u{x.dtype.itemsize}"), math.prod(at), blocks[1]
    outside = first_outside.compiled(index.dtype)
    gather_blocks = _gather.compiled(bits) if size < SPLIT else _gather.in_units

    def run(items: np.ndarray, where: np.ndarray) -> np.ndarray:
        if outside(where, 0, n) >= 0:
            _checked(where, dim, n)
        out = np.empty(at, bits)
        gather_blocks(items.view(bits).reshape(blocks), where.reshape(at), out, 0, at[0])
        return out.view(x.dtype).reshape(size)

    return Prepared(run, (Operand(index.shape, x.dtype),))


@gather.grad("input")
def _(g, index, input_shape, dim):
    return scatter_add(g.new_zeros(input_shape), index, g, dim=dim)


@gather.fused_backward("cpu")
def _(g: np.ndarray, index: np.ndarray, input_shape: Shape, dim: int, needs: tuple[bool, ...]) -> tuple[Any, ...]:
    out = np.zeros(input_shape, g.dtype)
    _write(out, index, g, dim, _add_along)
    return out, None


# ---------------------------------------------------------------------------------------------------- scatter
def _write(target: np.ndarray, index: np.ndarray, source: Any, dim: int, write: Any) -> None:
    """`write(target, index, source)` on contiguous blocks of what the index reaches."""
    if not index.size:
        return
    target, index, source = _with_dims(target, index, np.asarray(source))
    index = _checked(index, dim, target.shape[dim])
    part = _cropped(target, index, dim)
    work = np.ascontiguousarray(part)
    source = np.ascontiguousarray(np.broadcast_to(source, index.shape), target.dtype)
    write(work, index, source, dim)
    if not np.shares_memory(work, part):
        part[...] = work


def _put_along(work: np.ndarray, index: np.ndarray, source: np.ndarray, dim: int) -> None:
    put = _put if index.size < SPLIT else _put.in_units
    put(
        _blocks(_movable(work), dim),
        _blocks(index, dim),
        _blocks(_movable(source), dim),
        0,
        math.prod(work.shape[:dim]),
    )


def _add_along(work: np.ndarray, index: np.ndarray, source: np.ndarray, dim: int) -> None:
    if is_compiled(work.dtype):
        add = _add if index.size < SPLIT else _add.in_units
        add(_blocks(work, dim), _blocks(index, dim), _blocks(source, dim), 0, math.prod(work.shape[:dim]))
    else:
        np.add.at(work, _key(index, dim), source)


def _along(ufunc: np.ufunc) -> Any:
    def write(work: np.ndarray, index: np.ndarray, source: np.ndarray, dim: int) -> None:
        ufunc.at(work, _key(index, dim), source)

    return write


_REDUCTIONS: dict[str, Any] = {
    "sum": _add_along,
    "mean": _add_along,
    "prod": _along(np.multiply),
    "amax": _along(np.maximum),
    "amin": _along(np.minimum),
}


def _scattered(x: Any, index: Any, src: Any, dim: int) -> np.ndarray:
    out = x.copy()
    np.put_along_axis(_cropped(out, index, dim), index, src, dim)
    return out


def _last_writes(index: np.ndarray, dim: int, extent: int) -> np.ndarray:
    (index,) = _with_dims(index)
    if not index.size:
        return np.ones(index.shape, bool)
    index = np.where(index < 0, index + extent, index).astype(np.int64)
    if first_outside(index.reshape(-1), 0, extent) >= 0:  # of a write of nothing, which nobody checked
        return np.ones(index.shape, bool)
    order = np.arange(index.size).reshape(index.shape)
    winners = np.empty((*index.shape[:dim], extent, *index.shape[dim + 1 :]), np.int64)
    _put_along(winners, np.ascontiguousarray(index), order, dim)
    return np.take_along_axis(winners, index, dim) == order


@op(
    samples=[
        Sample(([[0, 2, 1], [0, 0, 1]],), {"dim": 0, "extent": 3}),
        Sample(([2, -1, 0],), {"dim": 0, "extent": 3}),
    ],
    reference=lambda index, dim, extent: np.flip(
        np.apply_along_axis(
            lambda row: [x not in row[:i] for i, x in enumerate(row)], dim, np.flip(index % extent, dim)
        ),
        dim,
    ).astype(bool),
    differentiable=False,
)
def last_writes(index, *, dim, extent):
    """Whether what is written along `dim` at each index stays: nothing later goes to the same place."""


@last_writes.kernel("cpu")
def _(index: np.ndarray, dim: int, extent: int) -> np.ndarray:
    return _last_writes(index, dim, extent).reshape(index.shape)


def of_last_writes(g: Any, index: Any, extent: int, axis: int = 0) -> Any:
    """The gradient of items that were written at positions counted as one dimension: 0 where a later item stands.

    `g` has the dimensions of `index` from `axis` on. PyTorch gives all of them the gradient, which is wrong.
    """
    stays = last_writes(index.reshape(-1), dim=0, extent=extent)
    rest = g.dim() - axis - index.dim()
    stays = stays.reshape((1,) * axis + tuple(index.shape) + (1,) * rest)
    return g.masked_fill(stays.logical_not(), 0)


@op(
    samples=[Sample(((3, 4), [[0, 2, 1], [2, 0, 0]], (2, 3)), {"dim": 0})],
    reference=_scattered,
    updates=True,
    plain=("index",),
    moves=True,
)
def scatter(input, index, src, *, dim):
    """`input` with `src` written along `dim`, each item at its own index."""


@scatter.kernel("cpu")
def _(input: np.ndarray, index: np.ndarray, src: np.ndarray, dim: int) -> None:
    _write(input, index, src, dim, _put_along)


@scatter.grad("input")
def _(g, index, dim):
    return scatter_value(g, index, dim=dim, value=0)


@scatter.grad("src")
def _(g, index, dim):
    found = gather(g, index, dim=dim)
    extent = g.shape[dim] if g.dim() else 1
    return found.masked_fill(last_writes(index, dim=dim, extent=extent).logical_not(), 0)


@op(
    samples=[Sample(((3, 4), [[0, 2, 1], [2, 0, 0]]), {"dim": 0, "value": 1.5})],
    reference=lambda x, index, dim, value: _scattered(x, index, value, dim),
    name="scatter.value",
    node="ScatterBackward1",
    updates=True,
    plain=("index",),
    moves=True,
)
def scatter_value(input, index, *, dim, value):
    """`input` with a number written along `dim`."""


@scatter_value.kernel("cpu")
def _(input: np.ndarray, index: np.ndarray, dim: int, value: float) -> None:
    with np.errstate(all="ignore"):
        _write(input, index, np.asarray(value).astype(input.dtype), dim, _put_along)


@scatter_value.grad("input")
def _(g, index, dim):
    return scatter_value(g, index, dim=dim, value=0)


def _reduced_reference(x: Any, index: Any, src: Any, dim: int, reduce: str = "sum", include_self: bool = True) -> Any:
    groups: dict[tuple[int, ...], list[Any]] = {}
    for at in np.ndindex(index.shape):
        place = (*at[:dim], int(index[at]), *at[dim + 1 :])
        groups.setdefault(place, [x[place]] if include_self else []).append(src[at])
    out = x.copy()
    one: Any = {"sum": np.sum, "mean": np.mean, "prod": np.prod, "amax": np.max, "amin": np.min}[reduce]
    for place, items in groups.items():
        out[place] = one(np.array(items, x.dtype))
    return out


@op(
    samples=[Sample(((3, 4), [[0, 2, 1], [0, 0, 1]], (2, 3)), {"dim": 0})],
    reference=_reduced_reference,
    updates=True,
    plain=("index",),
    takes_complex=True,
)
def scatter_add(input, index, src, *, dim):
    """`input` with `src` added along `dim`, each item at its own index; at equal ones all of them."""


@scatter_add.kernel("cpu")
def _(input: np.ndarray, index: np.ndarray, src: np.ndarray, dim: int) -> None:
    _write(input, index, src, dim, _add_along)


@scatter_add.prepared
def _(x: Operand, index: Operand, src: Operand, dim: int) -> Prepared | None:
    rest = [n for d, n in enumerate(x.shape) if d != dim]
    fits = src.shape == index.shape and rest == [n for d, n in enumerate(index.shape) if d != dim]
    if not fits or index.dtype != np.int64 or not is_compiled(x.dtype):
        return None
    blocks, at = around(x.shape, dim), around(index.shape, dim)
    n = blocks[1]
    outside = first_outside.compiled(index.dtype)
    add = _add.compiled(x.dtype) if math.prod(at) < SPLIT else _add.in_units

    def run(items: np.ndarray, where: np.ndarray, source: np.ndarray) -> np.ndarray:
        if outside(where, 0, n) >= 0:
            _checked(where, dim, n)
        out = items.copy()
        add(out.reshape(blocks), where.reshape(at), source.reshape(at), 0, at[0])
        return out

    return Prepared(run, (x,))


@scatter_add.grad("input")
def _(g):
    return g


@scatter_add.grad("src")
def _(g, index, dim):
    return gather(g, index, dim=dim)


# ---------------------------------------------------------------------------------------------------- scatter_reduce
@op(
    samples=[
        Sample(
            ((3, 4), [[0, 2, 1, 1], [0, 0, 1, 1]], (2, 4)),
            {"dim": 0, "reduce": reduce, "include_self": include_self},
        )
        for reduce in ("sum", "mean", "prod", "amax", "amin")
        for include_self in (True, False)
    ],
    reference=_reduced_reference,
    updates=True,
    plain=("index",),
    takes_complex=True,
)
def scatter_reduce(input, index, src, *, dim, reduce, include_self=True):
    """`input` with `src` combined into it along `dim` by sum, mean, prod, amax or amin; maybe without its own items."""


@scatter_reduce.kernel("cpu")
def _(input: np.ndarray, index: np.ndarray, src: np.ndarray, dim: int, reduce: str, include_self: bool) -> None:
    if not include_self:
        _write(input, index, _identity(reduce, input.dtype), dim, _put_along)
    write: Any = _REDUCTIONS[reduce]
    _write(input, index, src, dim, write)
    if reduce == "mean":
        counts = np.full(input.shape, int(include_self), np.int64)
        _write(counts, index, np.asarray(1), dim, _add_along)
        counts[counts == 0] = 1
        divide: Any = np.floor_divide if input.dtype.kind in "iu" else np.true_divide
        input[...] = divide(input, counts)


def _identity(reduce: str, dtype: np.dtype) -> Any:
    if reduce in ("amax", "amin"):
        low = reduce == "amax"
        if dtype.kind == "b":
            return np.asarray(not low)
        if dtype.kind in "iu":
            return np.asarray(np.iinfo(dtype).min if low else np.iinfo(dtype).max, dtype)
        return np.asarray(-np.inf if low else np.inf, dtype)
    return np.asarray(reduce == "prod", dtype)


@scatter_reduce.grad("input")
def _(g, input, index, src, out, dim, reduce, include_self):
    if not include_self:  # every item that an index reaches was left out, the others stay as they are
        return scatter_value(g, index, dim=dim, value=0)
    if reduce == "sum":
        return g
    if reduce == "mean":
        return g / _counts(g, index, src, dim, include_self)
    if reduce == "prod":  # the product of the others, also where the item itself is 0
        ones = input.masked_fill(input == 0, 1)
        found = scatter_reduce(ones, index, src, dim=dim, reduce="prod", include_self=True)
        return g * found / ones
    own = (input == out).to(g.dtype)
    return own * _shared(g, input, index, src, out, dim)


@scatter_reduce.grad("src")
def _(g, input, index, src, out, dim, reduce, include_self):
    if reduce == "sum":
        return gather(g, index, dim=dim)
    if reduce == "mean":
        return gather(g / _counts(g, index, src, dim, include_self), index, dim=dim)
    if reduce == "prod":
        return _product_gradient(g, input, index, src, out, dim, include_self)
    own = (src == gather(out, index, dim=dim)).to(g.dtype)
    if not include_self:
        input = scatter_value(input, index, dim=dim, value=math.nan)
    return own * gather(_shared(g, input, index, src, out, dim), index, dim=dim)


def _counts(g: Any, index: Any, src: Any, dim: int, include_self: bool) -> Any:
    """How many items each mean is of, at least 1."""
    start = g.new_ones(g.shape) if include_self else g.new_zeros(g.shape)
    found = scatter_add(start, index, src.new_ones(src.shape), dim=dim)
    return found.masked_fill(found == 0, 1)


def _shared(g: Any, input: Any, index: Any, src: Any, out: Any, dim: int) -> Any:
    """The gradient of an extreme, divided by how many items are equal to it."""
    own = (src == gather(out, index, dim=dim)).to(g.dtype)
    return g / scatter_add((input == out).to(g.dtype), index, own, dim=dim)


def _product_gradient(g: Any, input: Any, index: Any, src: Any, out: Any, dim: int, include_self: bool) -> Any:
    """The product of the others: `out / src`, and for the only 0 of a product that with the 0 left out."""
    zero = src == 0
    zeros = gather(scatter_add(g.new_zeros(g.shape), index, zero.to(g.dtype), dim=dim), index, dim=dim)
    only = zero.to(g.dtype) * zeros == 1
    without = scatter_reduce(input, index, src.masked_fill(only, 1), dim=dim, reduce="prod", include_self=include_self)
    usual = gather(g * out, index, dim=dim) / src.masked_fill(zero, 1)
    return gather(g * without, index, dim=dim).where(only, usual)
