"""Folds: reductions of any axes of any layout, each declared by a few scalar expressions.

A fold has a start value, an expression that makes an item into what is joined, and one that joins two. Two loops are
compiled from them when first needed: along *rows* (the reduced items lie side by side) and along *columns* (the kept
ones do). Every layout that is a strided (outer, n, inner) in memory order is folded where it lies: transposed, sliced
and expanded arrays too. What is not is folded twice, or copied first.

Work is cut into units by the shape alone: rows or columns of a tile, in segments where they are long. Threads take
units, and the parts of segments are joined in order, so a result does not depend on the number of threads, to the bit.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from . import cpu, lower
from .array import Shape
from .cpu import Loop
from .prepared import Operand, Prepared

Axes = tuple[int, ...]

SEGMENT = 1 << 16  # items of a unit of long rows or columns, in arrays large enough for threads
THRESHOLD = 1 << 17  # items from which threads are used
TILE = 4096  # columns of a unit: their totals stay in the first-level cache
NARROW = 64  # fewer columns than this are folded as several rows side by side
WIDENED = 256  # columns that several narrow rows are taken together to


# ---------------------------------------------------------------------------------------------------- loops
def fold_rows(x, out, centers, parameter, start, stop, segments, segment, outer_stride, n):
    """Fold units of rows of n items: lanes of up to 1024 items first, which vectorise, then their results."""
    for unit in range(start, stop):
        r = unit if segments == 1 else unit // segments
        first = (unit - r * segments) * segment
        begin = r * outer_stride + first
        end = begin + min(segment, n - first)
        center = centers[r]
        total = _Total(_START)  # noqa: F821
        # Whole blocks apart from the rest: 45 us for 2^20 float32, 53 with blocks of any length.
        while begin + 1024 <= end:
            block = x[begin : begin + 1024]
            lanes = _Lane(_START)  # noqa: F821
            for i in range(1024):
                lanes = _Lane(_join(lanes, _item(block[i], center, parameter)))  # noqa: F821
            total = _Total(_join(total, lanes))  # noqa: F821
            begin += 1024
        if begin < end:
            block = x[begin:end]
            lanes = _Lane(_START)  # noqa: F821
            for i in range(block.shape[0]):
                lanes = _Lane(_join(lanes, _item(block[i], center, parameter)))  # noqa: F821
            total = _Total(_join(total, lanes))  # noqa: F821
        out[unit] = total


def fold_columns(x, out, centers, parameter, start, stop, segments, segment, outer_stride, n, stride, inner, tile):
    """Fold units of columns: four rows at a time, so that the totals are read and written once for them."""
    totals = np.empty(min(tile, inner), _Total)  # noqa: F821
    tiles = (inner + tile - 1) // tile
    for unit in range(start, stop):
        part = unit // tiles
        left = (unit - part * tiles) * tile
        o = part // segments
        k = (part - o * segments) * segment
        last = min(k + segment, n)
        width = min(tile, inner - left)
        total = totals[:width]
        center = centers[o * inner + left : o * inner + left + width]
        for i in range(width):
            total[i] = _START  # noqa: F821
        while k + 4 <= last:  # slices, since an index computed from the stride would not vectorise
            begin = o * outer_stride + k * stride + left
            row0 = x[begin : begin + width]
            row1 = x[begin + stride : begin + stride + width]
            row2 = x[begin + 2 * stride : begin + 2 * stride + width]
            row3 = x[begin + 3 * stride : begin + 3 * stride + width]
            for i in range(width):
                item0 = _item(row0[i], center[i], parameter)  # noqa: F821
                item1 = _item(row1[i], center[i], parameter)  # noqa: F821
                item2 = _item(row2[i], center[i], parameter)  # noqa: F821
                item3 = _item(row3[i], center[i], parameter)  # noqa: F821
                lanes = _Lane(_join(_Lane(_join(_Lane(item0), item1)), _Lane(_join(_Lane(item2), item3))))  # noqa: F821
                total[i] = _join(total[i], lanes)  # noqa: F821
            k += 4
        while k < last:
            begin = o * outer_stride + k * stride + left
            row = x[begin : begin + width]
            for i in range(width):
                total[i] = _join(total[i], _Lane(_item(row[i], center[i], parameter)))  # noqa: F821
            k += 1
        target = out[part * inner + left : part * inner + left + width]
        for i in range(width):
            target[i] = total[i]


# ---------------------------------------------------------------------------------------------------- layouts
class Form(NamedTuple):
    """A strided (outer, n, inner) in memory, the middle one reduced; the last stride is 1."""

    outer: int
    outer_stride: int
    n: int
    stride: int
    inner: int  # 1 for rows, whose items lie side by side


class Walk(NamedTuple):
    """How the loops go over an array."""

    buffer: np.ndarray  # 1-D, from the first item to the last
    form: Form
    shape: Shape  # of the result, without the reduced axes
    kept: Axes | None = None  # the kept axes in memory order, where that is not their own order
    sizes: Shape = ()  # their extents


_LOOPS = {"r": ".r.", "kr": "kr.", "k": "..k", "rk": ".rk", "krk": "krk"}  # groups of axes as (outer, n, inner)


def walk(x: np.ndarray, axes: Axes) -> Walk | None:
    """How the loops go over `x` where it lies, with `axes` reduced; None where they cannot."""
    if x.flags.c_contiguous:
        form, shape = _contiguous_form(x.shape, axes)
        if form is not None:
            return Walk(x.reshape(-1), form, shape)
    groups = _groups(x, axes)
    loops = _LOOPS.get("".join(group.kind for group in groups))
    if loops is None or groups[-1].stride != 1 or not x.size:
        return None
    given = iter(groups)
    outer, middle, inner = (_Group(1, 0, kind, []) if kind == "." else next(given) for kind in loops)
    form = Form(outer.extent, outer.stride, middle.extent, middle.stride, inner.extent)
    order = tuple(axis for group in groups if group.kind == "k" for axis in group.axes)
    kept = None if order == tuple(sorted(order)) else order
    return Walk(_memory(x), form, kept_shape(x.shape, axes), kept, tuple(x.shape[d] for d in order))


@functools.lru_cache(4096)
def _contiguous_form(shape: Shape, axes: Axes) -> tuple[Form | None, Shape]:
    """The form of a contiguous array, if its reduced axes are neighbours, and the shape of the result."""
    first, last = (min(axes), max(axes) + 1) if axes else (0, 0)
    if last - first != len(axes):
        return None, ()
    n, columns = math.prod(shape[first:last]), math.prod(shape[last:])
    return Form(math.prod(shape[:first]), n * columns, n, columns, columns), kept_shape(shape, axes)


def walk_copy(x: np.ndarray, axes: Axes) -> Walk:
    """The walk along the rows of a copy with the reduced axes last."""
    kept = [d for d in range(x.ndim) if d not in axes]
    copy = np.ascontiguousarray(x.transpose([*kept, *sorted(axes)]))
    shape, n = copy.shape[: len(kept)], math.prod(copy.shape[len(kept) :])
    return Walk(copy.reshape(-1), Form(math.prod(shape), n, n, 1, 1), shape)


class _Group(NamedTuple):
    """Neighbouring axes that one loop goes over."""

    extent: int
    stride: int  # in items
    kind: str  # "r" for reduced, "k" for kept
    axes: list[int]


def _groups(x: np.ndarray, axes: Axes) -> list[_Group]:
    """The axes of an array from the slowest to the fastest, those that merge merged.

    Repeated items (stride 0) count as slowest: the rest is then walked as it lies.
    """
    found: list[_Group] = []
    for axis in sorted(range(x.ndim), key=lambda d: -x.strides[d] if x.strides[d] else -math.inf):
        extent, stride, kind = x.shape[axis], x.strides[axis] // x.itemsize, "r" if axis in axes else "k"
        if extent == 1:
            continue
        if found and found[-1].kind == kind and found[-1].stride == stride * extent:
            outer = found.pop()
            found.append(_Group(outer.extent * extent, stride, kind, [*outer.axes, axis]))
        else:
            found.append(_Group(extent, stride, kind, [axis]))
    return found


def _memory(x: np.ndarray) -> np.ndarray:
    """The memory of an array with non-negative strides, from its first item to its last."""
    if x.flags.f_contiguous:
        return x.T.reshape(-1)
    extent = 1 + sum((n - 1) * (s // x.itemsize) for n, s in zip(x.shape, x.strides, strict=True))
    return np.lib.stride_tricks.as_strided(x, (extent,), (x.itemsize,))


def kept_shape(shape: Shape, axes: Axes) -> Shape:
    """The shape of a reduction without `keepdim`."""
    return tuple(n for d, n in enumerate(shape) if d not in axes)


def shaped(flat: np.ndarray, way: Walk) -> np.ndarray:
    """The items of a result, in the order of the walk, as an array of its shape."""
    if way.kept is not None:
        flat = np.ascontiguousarray(flat.reshape(way.sizes).transpose([way.kept.index(d) for d in sorted(way.kept)]))
    return flat.reshape(way.shape)


def in_walk_order(values: np.ndarray, way: Walk) -> np.ndarray:
    """An array of a result's shape as its items in the order of the walk."""
    if way.kept is not None:
        ranked = sorted(way.kept)
        values = values.reshape([way.sizes[way.kept.index(d)] for d in ranked])
        values = values.transpose([ranked.index(d) for d in way.kept])
    return np.ascontiguousarray(values).reshape(-1)


def keep(out: np.ndarray, shape: Shape, dim: Axes, keepdim: bool) -> np.ndarray:
    """A result with its reduced dimensions put back, with extent 1, if `keepdim`."""
    if not keepdim:
        return out
    return out.reshape(tuple(1 if d in dim else n for d, n in enumerate(shape)))


def restore_dims(g: Any, dim: Axes, keepdim: bool) -> Any:
    """Put back the reduced dimensions of a tensor, with extent 1, for a gradient."""
    if not keepdim:
        for d in sorted(dim):
            g = g.unsqueeze(d)
    return g


def all_axes(x: np.ndarray) -> Axes:
    """Every axis of an array."""
    return tuple(range(x.ndim))


def mapped(function: Callable[..., Any], first: np.ndarray, *rest: Any) -> np.ndarray:
    """A scalar function of arrays that broadcast and of numbers, in the dtype of the first: for fused gradients."""
    arrays = [x for x in (first, *rest) if isinstance(x, np.ndarray)]
    out = cpu.empty(np.broadcast_shapes(*(x.shape for x in arrays)), first.dtype)
    if out.size:
        operands = [cpu.from_host(x) if isinstance(x, np.ndarray) else x for x in (first, *rest)]
        cpu.map(lower.lower(function), out.dtype, operands, [out])
    return out.ndarray


# ---------------------------------------------------------------------------------------------------- folds
class Fold:
    """A reduction given by scalar expressions (Numba source).

    Args:
        start: what the fold of nothing is.
        item: what an item `x` brings. `center` is the number given for the result that the item belongs to,
            `parameter` one for all.
        join: two joined, `a` and `b`.
        merge: the NumPy ufunc that joins, for the parts of long rows.
        lane: type of partial results within a block of at most 1024 items.
        total: type of results: `_T`, the items' dtype, `_A`, its accumulator (float64 or int64), or a NumPy type.
        center: type of centers, `_A` or `_T`.
        float_rows: another loop along rows for floats, with the signature of `fold_rows`.
        given: source of what that loop leaves open.
    """

    def __init__(
        self,
        start: str,
        item: str,
        join: str,
        merge: np.ufunc,
        *,
        lane: str,
        total: str,
        center: str = "_A",
        float_rows: Callable[..., None] = fold_rows,
        given: str = "",
    ) -> None:
        self.given = given + (
            f"_START = {start}\n_Lane = {lane}\n_Total = {total}\n\n"
            f"@_inline\ndef _item(x, center, parameter):\n    return {item}\n\n"
            f"@_inline\ndef _join(a, b):\n    return {join}\n\n"
        )
        self.merge = merge
        self.total = total
        self.center = center
        self._loops = {
            (form, wide): Loop(function, reassoc=True, given=self.given)
            for form, function in (("rows", fold_rows), ("float rows", float_rows), ("columns", fold_columns))
            for wide in (False, True)  # a loop is known by the dtype of its items alone: two kinds of results take two
        }

    def total_dtype(self, dtype: np.dtype) -> np.dtype:
        """The dtype in which the fold of items of a dtype is kept."""
        return _named_dtype(self.total, dtype)

    def over(
        self,
        x: np.ndarray,
        axes: Axes,
        centers: np.ndarray | None = None,
        parameter: float = 0.0,
        dtype: np.dtype | None = None,
    ) -> np.ndarray:
        """Fold `x` over `axes`.

        Args:
            x: an array of any layout.
            axes: the axes to reduce, non-negative.
            centers: an array of the result's shape, for folds whose item reads `center`.
            parameter: a number, for folds whose item reads it.
            dtype: dtype of the result: the one that totals are kept in (if not given), or the items'.
        """
        dtype = dtype or self.total_dtype(x.dtype)
        way = walk(x, axes)
        if way is None:
            groups = _groups(x, axes)
            several = sum(group.kind == "r" for group in groups) > 1
            if centers is None and x.size and several and groups[-1].kind == "r" and groups[-1].stride == 1:
                return self._twice(x, axes, tuple(groups[-1].axes), parameter, dtype)
            way = walk_copy(x, axes)
        if centers is not None:
            centers = in_walk_order(centers, way).astype(_named_dtype(self.center, x.dtype), copy=False)
        return shaped(self.walked(way, centers, parameter, dtype), way)

    def prepared(self, x: Operand, dtype: np.dtype, axes: Axes | None = None, keepdim: bool = False) -> Prepared | None:
        """The fold of a contiguous array over everything or some axes; None for axes that are no neighbours.

        What `over` does, with nothing around the loop where it is one.
        """
        axes = tuple(range(len(x.shape))) if axes is None else axes
        form, shape = _contiguous_form(x.shape, axes)
        if form is None:
            return None
        if keepdim:
            shape = tuple(1 if d in axes else n for d, n in enumerate(x.shape))
        result = (Operand(shape, dtype),)
        plan = _plan(form)
        if plan.is_narrow or plan.items >= THRESHOLD:
            return Prepared(lambda flat: self.walked(Walk(flat, form, ()), None, 0.0, dtype), result)
        loop = self._loop(plan, x.dtype, dtype).compiled(x.dtype)

        def run(flat: np.ndarray) -> np.ndarray:
            results = np.empty(plan.results, dtype)
            loop(flat, results, results, 0.0, 0, plan.units, *plan.numbers)
            return results

        return Prepared(run, result)

    def _loop(self, plan: _Plan, items: np.dtype, total: np.dtype) -> Loop:
        kind = "float rows" if plan.kind == "rows" and items.kind == "f" else plan.kind
        return self._loops[kind, total != items]

    def _twice(self, x: np.ndarray, axes: Axes, first: Axes, parameter: float, dtype: np.dtype) -> np.ndarray:
        """Fold the axes `first`, whose items lie side by side, then the others."""
        parts = self.over(x, first, parameter=parameter)
        kept = [d for d in range(x.ndim) if d not in first]
        rest = tuple(kept.index(d) for d in axes if d not in first)
        return np.asarray(self.merge.reduce(parts, rest)).astype(dtype, copy=False)

    def walked(self, way: Walk, centers: np.ndarray | None, parameter: float, dtype: np.dtype) -> np.ndarray:
        """The flat results of a walk."""
        buffer, form = way.buffer, way.form
        plan = _plan(form)
        if plan.is_narrow:
            return self._widened(way, centers, parameter).astype(dtype, copy=False)
        total = dtype if plan.segments == 1 else self.total_dtype(buffer.dtype)
        loop = self._loop(plan, buffer.dtype, total)
        results = np.empty(plan.results, total)
        read = results if centers is None else centers  # nothing reads missing centers, but memory has to be there
        call = loop if plan.items < THRESHOLD else loop.in_units
        call(buffer, results, read, parameter, 0, plan.units, *plan.numbers)
        if plan.segments == 1:
            return results
        if plan.segments == plan.results:
            merged = self.merge.reduce(results, keepdims=True)  # 2 us less than the general way
        else:
            merged = self.merge.reduce(results.reshape(form.outer, plan.segments, form.inner), 1).reshape(-1)
        return merged.astype(dtype, copy=False)

    def _widened(self, way: Walk, centers: np.ndarray | None, parameter: float) -> np.ndarray:
        """Fold few columns as more of them: several rows side by side, then these."""
        outer, outer_stride, n, stride, inner = way.form
        together = WIDENED // inner
        n, rest = divmod(n, together)
        wide = Form(outer, outer_stride, n, stride * together, inner * together)
        last = Form(outer, outer_stride, rest, stride, inner)
        total = self.total_dtype(way.buffer.dtype)
        repeated = None if centers is None else np.tile(centers.reshape(outer, inner), together).reshape(-1)
        parts = [self.walked(Walk(way.buffer, wide, ()), repeated, parameter, total).reshape(outer, together, inner)]
        if rest:
            after = Walk(way.buffer[n * together * stride :], last, ())
            parts.append(self.walked(after, centers, parameter, total).reshape(outer, 1, inner))
        return self.merge.reduce(np.concatenate(parts, 1), 1).reshape(-1)


def _named_dtype(name: str, items: np.dtype) -> np.dtype:
    """The dtype that a name in a fold's source stands for, where the items are of dtype `items`."""
    if name == "_T":
        return items
    if name == "_A":
        return np.dtype(np.float64 if items.kind == "f" else np.int64)
    return np.dtype(name.removeprefix("np."))


class _Plan(NamedTuple):
    """How a loop goes over a form: the parts of the work, and the numbers that the loop takes."""

    kind: str  # of the loop, "rows" or "columns"
    is_narrow: bool  # columns so few that several rows are taken as one
    units: int
    segments: int
    results: int
    items: int
    numbers: tuple[int, ...]


@functools.lru_cache(4096)
def _plan(form: Form) -> _Plan:
    outer, outer_stride, n, stride, inner = form
    tile = min(inner, TILE) or 1
    items = outer * n * inner
    segments = 1 if items < THRESHOLD else max(1, min(-(-n * tile // SEGMENT), n // 4))
    numbers: tuple[int, ...] = (segments, -(-n // segments), outer_stride, n)
    tiles = 1
    if inner != 1:
        tiles = -(-inner // tile)
        numbers += (stride, inner, tile)
    return _Plan(
        "rows" if inner == 1 else "columns",
        inner < NARROW and stride == inner > 1 and n * inner >= 64 * WIDENED,
        outer * segments * tiles,
        segments,
        outer * segments * inner,
        items,
        numbers,
    )
