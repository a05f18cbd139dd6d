"""The largest and the smallest items, and where they are: max, min, amax, amin, aminmax, argmax, argmin.

A NaN among the items is the result. Equal ones share the gradient of `max()`, `amax()` and `aminmax()`; `max(dim)` gives
it to the first, whose index it returns.
"""

from __future__ import annotations

import math

import numpy as np

from .arithmetic import where
from .array import Shape, around
from .cpu import Loop
from .folds import (
    THRESHOLD,
    TILE,
    Axes,
    Fold,
    all_axes,
    keep,
    kept_shape,
    mapped,
    restore_dims,
    shaped,
    walk,
    walk_copy,
)
from .prepared import Operand, Prepared
from .reductions import COUNT
from .registry import Sample, op
from .scatter import gather, scatter

# ---------------------------------------------------------------------------------------------------- loops
_BITS = """
_Signed = np.int32 if np.dtype(_T).itemsize == 4 else np.int64
_Unsigned = np.uint32 if np.dtype(_T).itemsize == 4 else np.uint64
_LOWEST = np.iinfo(_Signed).min
_HIGHEST = np.iinfo(_Unsigned).max

"""


def extreme_rows(x, out, centers, parameter, start, stop, segments, segment, outer_stride, n):
    """`fold_rows` for the largest or smallest of floats, on their bits.

    Comparisons that must see NaN do not vectorise as a reduction, those of integers do: 57 us against 1430 for 2^20
    float32. Among floats without sign bit the order is that of the bits as integers, among the others the reverse: so the
    extremes of the bits, as signed and as unsigned integers, tell those of the floats, and show any NaN.
    """
    for unit in range(start, stop):
        r = unit if segments == 1 else unit // segments
        first = (unit - r * segments) * segment
        row = x[r * outer_stride + first : r * outer_stride + min(first + segment, n)]
        top = _Signed(_LOWEST)  # noqa: F821
        low = _Unsigned(_HIGHEST)  # noqa: F821
        high = _Unsigned(0)  # noqa: F821
        for i in range(row.shape[0]):
            signed = _T(row[i]).view(_Signed)  # noqa: F821
            unsigned = _T(row[i]).view(_Unsigned)  # noqa: F821
            top = signed if signed > top else top
            low = unsigned if unsigned < low else low
            high = unsigned if unsigned > high else high
        largest_positive = _Signed(top).view(_T)  # noqa: F821
        smallest_bits = _Unsigned(low).view(_T)  # noqa: F821
        largest_bits = _Unsigned(high).view(_T)  # noqa: F821
        if largest_positive != largest_positive:
            out[unit] = largest_positive
        elif largest_bits != largest_bits:
            out[unit] = largest_bits
        else:
            out[unit] = _pick(top >= 0, _Signed(high) < 0, largest_positive, smallest_bits, largest_bits)  # noqa: F821


def find_rows(x, values, indices, start, stop, outer_stride, n):
    """The first index of each row's extreme value, or of a NaN: its row has one only if the value is NaN.

    The value becomes the one found: of 0 and -0 the first.
    """
    for r in range(start, stop):
        row = x[r * outer_stride : r * outer_stride + n]
        value = values[r]
        k = 0
        found = False
        while not found:
            block = row[k : min(k + 256, n)]
            for i in range(block.shape[0]):
                found |= (block[i] == value) | (block[i] != block[i])
            k += 256
        k -= 256
        while not (row[k] == value or row[k] != row[k]):
            k += 1
        values[r] = row[k]
        indices[r] = k


def index_columns(x, values, indices, start, stop, outer_stride, n, stride, inner, tile):
    """The extreme values and their first indices along the middle axis of (outer, n, inner), a tile of columns a unit."""
    best = np.empty(min(tile, inner), _T)  # noqa: F821
    where = np.empty(min(tile, inner), np.int32)
    tiles = (inner + tile - 1) // tile
    for unit in range(start, stop):
        o = unit // tiles
        left = (unit - o * tiles) * tile
        width = min(tile, inner - left)
        row = x[o * outer_stride + left : o * outer_stride + left + width]
        for i in range(width):
            best[i] = row[i]
            where[i] = 0
        for k in range(1, n):
            begin = o * outer_stride + k * stride + left
            row = x[begin : begin + width]
            index = np.int32(k)
            for i in range(width):
                better = _better(row[i], best[i]) | ((row[i] != row[i]) & (best[i] == best[i]))  # noqa: F821
                best[i] = row[i] if better else best[i]
                where[i] = index if better else where[i]
        begin = o * inner + left
        for i in range(width):
            values[begin + i] = best[i]
            indices[begin + i] = where[i]


class Extremum:
    """The largest or the smallest items.

    Args:
        sign: the comparison of a better item with the best so far, ">" or "<".
        worst: what every item is better than, or equal to: of floats, and of integers.
        merge: NumPy's maximum or minimum.
        pick: the float that it is, of three candidates and two facts about them (see `extreme_rows`).
    """

    def __init__(self, sign: str, worst: tuple[str, str], merge: np.ufunc, pick: str) -> None:
        pick = (
            "@_inline\ndef _pick(any_positive, any_negative, largest_positive, smallest_bits, largest_bits):\n"
            f"    return {pick}\n\n"
        )
        self._fold = Fold(
            f"{worst[0]} if np.dtype(_T).kind == 'f' else {worst[1]}",
            "x",
            f"b if (b {sign} a) | (b != b) else a",
            merge,
            lane="_T",
            total="_T",
            float_rows=extreme_rows,
            given=f"{_BITS}{pick}",
        )
        self._find = Loop(find_rows)
        self._columns = Loop(index_columns, given=f"@_inline\ndef _better(a, b):\n    return a {sign} b\n\n")

    def values(self, x: np.ndarray, axes: Axes) -> np.ndarray:
        """The extreme items over `axes`."""
        if x.dtype == np.bool_:
            return self.values(x.view(np.uint8), axes).view(np.bool_)
        return self._fold.over(x, axes)

    def prepared(self, x: Operand, axes: Axes | None = None, keepdim: bool = False) -> Prepared | None:
        """The extreme items of a contiguous array: see `Fold.prepared`."""
        return None if x.dtype == np.bool_ else self._fold.prepared(x, x.dtype, axes, keepdim)

    def prepared_with_indices(self, x: Operand, dim: int, keepdim: bool) -> Prepared | None:
        """`with_indices` of a contiguous array."""
        size = math.prod(x.shape)
        if x.dtype == np.bool_ or not x.shape or size >= THRESHOLD:
            return None
        outer, n, inner = around(x.shape, dim)
        shape = (*x.shape[:dim], *(1,) * keepdim, *x.shape[dim + 1 :])
        results = (Operand(shape, x.dtype), Operand(shape, np.dtype(np.int64)))
        rows = self._fold.prepared(x, x.dtype, (dim,))
        if inner == 1 and rows is not None:
            find, fold = self._find.compiled(x.dtype), rows.run

            def along_rows(items: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
                values, indices = fold(items), np.empty(outer, np.int64)
                find(items, values, indices, 0, outer, n, n)
                return values, indices

            return Prepared(along_rows, results)
        tile = min(inner, TILE)
        loop, numbers = (
            self._columns.compiled(x.dtype),
            (0, outer * -(-inner // tile), n * inner, n, inner, inner, tile),
        )

        def along_columns(items: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            values, indices = np.empty(outer * inner, x.dtype), np.empty(outer * inner, np.int64)
            loop(items, values, indices, *numbers)
            return values, indices

        return Prepared(along_columns, results)

    def prepared_index(self, x: Operand, dim: int | None, keepdim: bool) -> Prepared | None:
        """The indices alone, along a dimension or, for None, of all items."""
        if dim is None:
            made = self.prepared_with_indices(Operand((math.prod(x.shape),), x.dtype), 0, False)
            shape = (1,) * len(x.shape) if keepdim else ()
        else:
            made = self.prepared_with_indices(x, dim, keepdim)
            shape = () if made is None else made.results[1].shape
        if made is None:
            return None
        run = made.run
        return Prepared(lambda items: run(items)[1], (Operand(shape, np.dtype(np.int64)),))

    def with_indices(self, x: np.ndarray, dim: int) -> tuple[np.ndarray, np.ndarray]:
        """The extreme items along a dimension, and their first indices (int64)."""
        if x.dtype == np.bool_:
            values, indices = self.with_indices(x.view(np.uint8), dim)
            return values.view(np.bool_), indices
        axes = (dim,) if x.ndim else ()
        if not x.size or not axes:
            return self.values(x, axes), np.zeros(kept_shape(x.shape, axes), np.int64)
        way = walk(x, axes) or walk_copy(x, axes)
        form = way.form
        indices = np.empty(form.outer * form.inner, np.int64)
        numbers: tuple[int, ...] = (form.outer_stride, form.n)
        if form.inner == 1:
            values = self._fold.walked(way, None, 0.0, x.dtype)
            loop, units = self._find, form.outer
        else:
            values = np.empty(indices.shape, x.dtype)
            tile = min(form.inner, TILE)
            loop, units = self._columns, form.outer * -(-form.inner // tile)
            numbers += (form.stride, form.inner, tile)
        call = loop if x.size < THRESHOLD else loop.in_units
        call(way.buffer, values, indices, 0, units, *numbers)
        return shaped(values, way), shaped(indices, way)


MAXIMUM = Extremum(
    ">",
    ("-np.inf", "np.iinfo(_T).min"),
    np.maximum,
    "largest_positive if any_positive else smallest_bits",
)
MINIMUM = Extremum(
    "<",
    ("np.inf", "np.iinfo(_T).max"),
    np.minimum,
    "largest_bits if any_negative else smallest_bits",
)


# ---------------------------------------------------------------------------------------------------- over everything
@op(samples=[Sample(((3, 4),)), Sample(((),))], reference=np.max, name="max", node="MaxBackward1")
def max_all(input):
    """The largest item, NaN if any is. Equal ones share the gradient. Raises RuntimeError for an empty tensor."""


@max_all.kernel("cpu")
def _(input: np.ndarray) -> np.ndarray:
    return MAXIMUM.values(_not_empty("max", input), all_axes(input))


@op(samples=[Sample(((3, 4),)), Sample(((),))], reference=np.min, name="min", node="MinBackward1")
def min_all(input):
    """The smallest item, NaN if any is. Equal ones share the gradient. Raises RuntimeError for an empty tensor."""


@min_all.kernel("cpu")
def _(input: np.ndarray) -> np.ndarray:
    return MINIMUM.values(_not_empty("min", input), all_axes(input))


max_all.prepared(MAXIMUM.prepared)
min_all.prepared(MINIMUM.prepared)


def _not_empty(name: str, x: np.ndarray) -> np.ndarray:
    if not x.size:
        raise RuntimeError(
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the "
            "'dim' argument."
        )
    return x


def _evenly(g, input, out):
    mask = (input == out) + (input != input)  # a NaN among the items is the result, and equals nothing
    return where(mask, g / mask.sum(), 0)


def _evenly_fused(g: np.ndarray, input: np.ndarray, out: np.ndarray, needs: tuple[bool, ...]) -> tuple[np.ndarray]:
    chosen = input == out if out == out else input != input
    share = g / g.dtype.type(np.count_nonzero(chosen))
    return (np.where(chosen, share, g.dtype.type(0)),)


for whole in (max_all, min_all):
    whole.grad("input")(_evenly)
    whole.fused_backward("cpu")(_evenly_fused)


# ---------------------------------------------------------------------------------------------------- over dimensions
_OVER_DIMS = [
    Sample(((3, 4),), {"dim": (0,)}),
    Sample(((2, 3, 4),), {"dim": (0, 2), "keepdim": True}),
]


@op(samples=_OVER_DIMS, reference=lambda x, dim, keepdim: np.max(x, dim, keepdims=keepdim))
def amax(input, *, dim, keepdim=False):
    """The largest items over some dimensions, NaN where any is. Equal ones share the gradient."""


@amax.kernel("cpu")
def _(input: np.ndarray, dim: Axes, keepdim: bool) -> np.ndarray:
    return keep(MAXIMUM.values(input, dim), input.shape, dim, keepdim)


@op(samples=_OVER_DIMS, reference=lambda x, dim, keepdim: np.min(x, dim, keepdims=keepdim))
def amin(input, *, dim, keepdim=False):
    """The smallest items over some dimensions, NaN where any is. Equal ones share the gradient."""


@amin.kernel("cpu")
def _(input: np.ndarray, dim: Axes, keepdim: bool) -> np.ndarray:
    return keep(MINIMUM.values(input, dim), input.shape, dim, keepdim)


amax.prepared(MAXIMUM.prepared)
amin.prepared(MINIMUM.prepared)


def _shared(g, input, out, dim, keepdim):
    mask = input == restore_dims(out, dim, keepdim)
    return restore_dims(g, dim, keepdim) * mask / mask.sum(dim or None, keepdim=True)


def _share(g, input, out, count):  # a scalar function
    return (g if input == out else 0) / count


def _shared_fused(
    g: np.ndarray, input: np.ndarray, out: np.ndarray, dim: Axes, keepdim: bool, needs: tuple[bool, ...]
) -> tuple[np.ndarray]:
    shape = tuple(1 if d in dim else n for d, n in enumerate(input.shape))
    g, out = g.reshape(shape), out.reshape(shape)
    count = COUNT.over(input == out, dim).reshape(shape).astype(g.dtype)
    return (mapped(_share, g, input, out, count),)


for several in (amax, amin):
    several.grad("input")(_shared)
    several.fused_backward("cpu")(_shared_fused)


@op(
    samples=[Sample(((3, 4),), {"dim": (0,)}), Sample(((2, 3),), {"dim": (0, 1), "keepdim": True})],
    reference=lambda x, dim, keepdim: (np.min(x, dim, keepdims=keepdim), np.max(x, dim, keepdims=keepdim)),
    outputs=2,
)
def aminmax(input, *, dim, keepdim=False):
    """The smallest and the largest items over some dimensions, NaN where any is. Equal ones share the gradient."""


@aminmax.kernel("cpu")
def _(input: np.ndarray, dim: Axes, keepdim: bool) -> tuple[np.ndarray, np.ndarray]:
    smallest, largest = MINIMUM.values(input, dim), MAXIMUM.values(input, dim)
    return keep(smallest, input.shape, dim, keepdim), keep(largest, input.shape, dim, keepdim)


@aminmax.grad("input")
def _(g0, g1, input, out0, out1, dim, keepdim):
    parts = [_shared(g, input, out, dim, keepdim) for g, out in ((g0, out0), (g1, out1)) if g is not None]
    return parts[0] + parts[1] if len(parts) == 2 else parts[0]


# ---------------------------------------------------------------------------------------------------- with indices
@op(
    samples=[Sample(((3, 4),), {"dim": 1}), Sample(((2, 3, 4),), {"dim": 1, "keepdim": True})],
    reference=lambda x, dim, keepdim: (np.max(x, dim, keepdims=keepdim), np.argmax(x, dim, keepdims=keepdim)),
    name="max.dim",
    node="MaxBackward0",
    outputs=2,
)
def max_dim(input, *, dim, keepdim=False):
    """Largest items along a dimension, and their first indices (int64)."""


@max_dim.kernel("cpu")
def _(input: np.ndarray, dim: int, keepdim: bool) -> tuple[np.ndarray, np.ndarray]:
    return _with_indices(MAXIMUM, input, dim, keepdim)


@op(
    samples=[Sample(((3, 4),), {"dim": 1}), Sample(((2, 3, 4),), {"dim": 1, "keepdim": True})],
    reference=lambda x, dim, keepdim: (np.min(x, dim, keepdims=keepdim), np.argmin(x, dim, keepdims=keepdim)),
    name="min.dim",
    node="MinBackward0",
    outputs=2,
)
def min_dim(input, *, dim, keepdim=False):
    """Smallest items along a dimension, and their first indices (int64)."""


@min_dim.kernel("cpu")
def _(input: np.ndarray, dim: int, keepdim: bool) -> tuple[np.ndarray, np.ndarray]:
    return _with_indices(MINIMUM, input, dim, keepdim)


def _with_indices(extremum: Extremum, x: np.ndarray, dim: int, keepdim: bool) -> tuple[np.ndarray, np.ndarray]:
    axes = (dim,) if x.ndim else ()
    values, indices = extremum.with_indices(x, dim)
    return keep(values, x.shape, axes, keepdim), keep(indices, x.shape, axes, keepdim)


def _index(extremum: Extremum, x: np.ndarray, dim: int | None, keepdim: bool) -> np.ndarray:
    if dim is not None:
        return _with_indices(extremum, x, dim, keepdim)[1]
    _, index = extremum.with_indices(x.reshape(-1), 0)
    return index.reshape((1,) * x.ndim) if keepdim else index


def _to_the_first(g0, out1, input_shape, dim, keepdim):
    return value_selecting_reduction_backward(g0, out1, dim=dim, shape=input_shape, keepdim=keepdim)


def _to_the_first_fused(
    g0: np.ndarray, out1: np.ndarray, input_shape: Shape, dim: int, keepdim: bool, needs: tuple[bool, ...]
) -> tuple[np.ndarray]:
    return (_scatter_along(g0, out1, dim, input_shape, keepdim),)


for one in (max_dim, min_dim):
    one.grad("input")(_to_the_first)
    one.fused_backward("cpu")(_to_the_first_fused)
    one.non_differentiable_outputs = (1,)


max_dim.prepared(MAXIMUM.prepared_with_indices)
min_dim.prepared(MINIMUM.prepared_with_indices)


@op(
    samples=[Sample(((2,), [2, 0]), {"dim": 1, "shape": (2, 3), "keepdim": False})],
    reference=lambda g, index, dim, shape, keepdim: _scatter_along(g, index, dim, shape, keepdim),
    linear="jointly",
)
def value_selecting_reduction_backward(g, indices, *, dim, shape, keepdim):
    """Zeros of `shape` with the items of `g` at `indices` along `dim`: the gradient of `max` and `min` over a dimension."""


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
    scatter.kernels["cpu"](out, indices, g, dim)
    return out


@value_selecting_reduction_backward.grad("g")
def _(g, indices, dim, keepdim):
    if keepdim or not g.dim():
        return gather(g, indices, dim=dim)
    return gather(g, indices.unsqueeze(dim), dim=dim).squeeze(dim)


@op(
    samples=[Sample(((3, 4),), {"dim": 1}), Sample(((3, 4),), {"dim": 0, "keepdim": True})],
    reference=lambda x, dim, keepdim: np.argmax(x, dim, keepdims=keepdim),
    differentiable=False,
)
def argmax(input, *, dim, keepdim=False):
    """First index (int64) of the largest item along a dimension, or of all for None; NaN counts as the largest."""


@argmax.kernel("cpu")
def _(input: np.ndarray, dim: int | None, keepdim: bool) -> np.ndarray:
    return _index(MAXIMUM, input, dim, keepdim)


@op(
    samples=[Sample(((3, 4),), {"dim": 1}), Sample(((3, 4),), {"dim": 0, "keepdim": True})],
    reference=lambda x, dim, keepdim: np.argmin(x, dim, keepdims=keepdim),
    differentiable=False,
)
def argmin(input, *, dim, keepdim=False):
    """First index (int64) of the smallest item along a dimension, or of all for None; NaN counts as the smallest."""


@argmin.kernel("cpu")
def _(input: np.ndarray, dim: int | None, keepdim: bool) -> np.ndarray:
    return _index(MINIMUM, input, dim, keepdim)


argmax.prepared(MAXIMUM.prepared_index)
argmin.prepared(MINIMUM.prepared_index)
