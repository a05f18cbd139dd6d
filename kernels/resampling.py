"""Images of another size: means of windows (avg_pool, adaptive_avg_pool) and interpolation between pixels.

All of these take each item of a result from a few items along each spatial dimension, by weights that depend on the
place in that dimension alone. So they are done one dimension after another, by one pair of loops over tables of taps.
The gradient is the same with the tables transposed, and the gradient of that is the op itself.
"""

from __future__ import annotations

import functools
import itertools
import math
from typing import Any, NamedTuple

import numpy as np

from .array import Shape
from .cpu import SPLIT, loop
from .pooling import adaptive_bounds, pooled_size
from .registry import KernelOp, Sample, op, run


# ---------------------------------------------------------------------------------------------------- loops
@loop
def weigh_rows(x, out, starts, items, weights, start, stop):
    """`out[i, j]` as the weighted sum of `x[i, items[t]]`, t from `starts[j]` to `starts[j + 1]`; a unit is one i."""
    for unit in range(start, stop):
        row = x[unit]
        for j in range(out.shape[1]):
            total = _T(0)  # noqa: F821
            for t in range(starts[j], starts[j + 1]):
                total += weights[t] * row[items[t]]
            out[unit, j] = total


@loop
def weigh_columns(x, out, starts, items, weights, start, stop, extent, count):
    """`weigh_rows` along the middle of (outer, extent, inner) to (outer, count, inner); a unit is one row of items."""
    for unit in range(start, stop):
        outer = unit // count
        j = unit - outer * count
        target = out[unit]
        target[:] = 0
        for t in range(starts[j], starts[j + 1]):
            source = x[outer * extent + items[t]]
            weight = weights[t]
            for i in range(target.shape[0]):
                target[i] += weight * source[i]


class Taps(NamedTuple):
    """For each item along a dimension of the result, the items of the input that it is made of, and their weights."""

    extent: int  # of the input
    starts: np.ndarray  # of each item's taps; one more than there are items
    items: np.ndarray
    weights: np.ndarray

    @property
    def length(self) -> int:
        """Items of the result."""
        return len(self.starts) - 1

    def transposed(self) -> Taps:
        """The table that takes gradients back."""
        order = np.argsort(self.items, kind="stable")
        starts = np.searchsorted(self.items[order], np.arange(self.extent + 1))
        owners = np.repeat(np.arange(self.length), np.diff(self.starts))
        return Taps(self.length, starts, owners[order], self.weights[order])

    def along(self, x: np.ndarray, dim: int) -> np.ndarray:
        """The weighted sums along a dimension."""
        shape = (*x.shape[:dim], self.length, *x.shape[dim + 1 :])
        outer, inner = math.prod(shape[:dim]), math.prod(shape[dim + 1 :])
        tables = (self.starts, self.items, self.weights.astype(x.dtype))
        if not math.prod(shape) or not x.size:
            return np.zeros(shape, x.dtype)
        call: Any
        if inner == 1:
            out = np.empty((outer, self.length), x.dtype)
            call = weigh_rows.in_units if x.size >= SPLIT else weigh_rows
            call(np.ascontiguousarray(x).reshape(outer, -1), out, *tables, 0, outer)
        else:
            out = np.empty((outer * self.length, inner), x.dtype)
            call = weigh_columns.in_units if x.size >= SPLIT else weigh_columns
            rows = np.ascontiguousarray(x).reshape(outer * self.extent, inner)
            call(rows, out, *tables, 0, outer * self.length, self.extent, self.length)
        return out.reshape(shape)


def _windows_as_taps(extent: int, bounds: np.ndarray) -> Taps:
    """Windows from first to last (excluded), each item with weight 1."""
    sizes = bounds[:, 1] - bounds[:, 0]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    items = np.arange(starts[-1]) + np.repeat(bounds[:, 0] - starts[:-1], sizes)
    return Taps(extent, starts, items, np.ones(len(items)))


def _equally_many(extent: int, items: np.ndarray, weights: np.ndarray) -> Taps:
    """Tables of (count, taps)."""
    starts = np.arange(len(items) + 1) * items.shape[1]
    return Taps(extent, starts, items.reshape(-1), weights.reshape(-1))


# ---------------------------------------------------------------------------------------------------- ways
class Windows(NamedTuple):
    """Means over windows that move by a stride; see `numgrad.nn.functional.avg_pool2d`."""

    kernel_size: Shape
    stride: Shape
    padding: Shape
    ceil_mode: bool = False
    count_include_pad: bool = True
    divisor_override: int | None = None

    def taps(self, sizes: Shape, dtype: np.dtype) -> list[Taps]:
        """The tables for an image of these sizes."""
        return [_windows_as_taps(n, self._bounds(d, n)) for d, n in enumerate(sizes)]

    def divisors(self, sizes: Shape) -> list[np.ndarray]:
        """What sums are divided by, along each dimension."""
        found = []
        for d, n in enumerate(sizes):
            bounds = self._bounds(d, n)
            if self.divisor_override is not None:
                found.append(np.full(len(bounds), self.divisor_override if d == 0 else 1))
            elif self.count_include_pad:
                first = np.arange(len(bounds)) * self.stride[d] - self.padding[d]
                found.append(np.minimum(first + self.kernel_size[d], n + self.padding[d]) - first)
            else:
                found.append(bounds[:, 1] - bounds[:, 0])
        return found

    def _bounds(self, d: int, n: int) -> np.ndarray:
        count = pooled_size(n, self.kernel_size[d], self.stride[d], self.padding[d], 1, self.ceil_mode)
        first = np.arange(count) * self.stride[d] - self.padding[d]
        return np.stack([np.maximum(first, 0), np.minimum(first + self.kernel_size[d], n)], 1)

    def reference(self, x: np.ndarray) -> np.ndarray:
        """Each window by itself."""
        rank, sizes = len(self.kernel_size), x.shape[-len(self.kernel_size) :]
        bounds = [self._bounds(d, n) for d, n in enumerate(sizes)]
        divisors = functools.reduce(np.multiply.outer, self.divisors(sizes))
        return _window_sums(x, bounds, rank) / divisors


class Shares(NamedTuple):
    """Means over so many windows that share an image as evenly as integers allow."""

    output_size: Shape

    def taps(self, sizes: Shape, dtype: np.dtype) -> list[Taps]:
        """The tables for an image of these sizes."""
        return [_windows_as_taps(n, adaptive_bounds(n, m)) for n, m in zip(sizes, self.output_size, strict=True)]

    def divisors(self, sizes: Shape) -> list[np.ndarray]:
        """What sums are divided by, along each dimension."""
        bounds = [adaptive_bounds(n, m) for n, m in zip(sizes, self.output_size, strict=True)]
        return [b[:, 1] - b[:, 0] for b in bounds]

    def reference(self, x: np.ndarray) -> np.ndarray:
        """Each window by itself."""
        rank = len(self.output_size)
        bounds = [adaptive_bounds(n, m) for n, m in zip(x.shape[-rank:], self.output_size, strict=True)]
        return _window_sums(x, bounds, rank) / functools.reduce(np.multiply.outer, self.divisors(x.shape[-rank:]))


def _window_sums(x: np.ndarray, bounds: list[np.ndarray], rank: int) -> np.ndarray:
    out = np.empty((*x.shape[:-rank], *map(len, bounds)), x.dtype)
    place: Any
    for place in itertools.product(*[range(len(b)) for b in bounds]):
        window: Any = tuple(slice(b[i, 0], b[i, 1]) for b, i in zip(bounds, place, strict=True))
        out[(..., *place)] = x[(..., *window)].sum(tuple(range(-rank, 0)))
    return out


class Interpolation(NamedTuple):
    """Values between pixels; see `numgrad.nn.functional.interpolate`.

    `scales` are the factors that a user gave, by which places are found; None where sizes decide.
    """

    mode: str
    output_size: Shape
    align_corners: bool = False
    scales: tuple[float | None, ...] = ()

    def taps(self, sizes: Shape, dtype: np.dtype) -> list[Taps]:
        """The tables for an image of these sizes. Places are computed in `dtype`, as PyTorch does."""
        tables = {"nearest": _nearest, "nearest-exact": _nearest, "linear": _linear, "cubic": _cubic}
        scales = self.scales or (None,) * len(sizes)
        number = np.float64 if dtype == np.float64 else np.float32
        rows = zip(sizes, self.output_size, scales, strict=True)
        return [tables[self.mode](n, m, self, scale, number) for n, m, scale in rows]

    def divisors(self, sizes: Shape) -> None:
        """The weights are in the tables."""

    def reference(self, x: np.ndarray) -> np.ndarray:
        """Each dimension by itself; the cubic one by Keys' convolution kernel, a place at a time."""
        for d, m in enumerate(self.output_size, -len(self.output_size)):
            n = x.shape[d]
            step = ((n - 1) / (m - 1) if m > 1 else 0.0) if self.align_corners else n / m
            places = np.arange(m) * step if self.align_corners else (np.arange(m) + 0.5) * step - 0.5
            if self.mode == "linear":
                x = np.apply_along_axis(_between, d, x, places)
            elif self.mode == "cubic":
                x = np.apply_along_axis(_keys, d, x, places)
            else:
                shift = 0.5 if self.mode == "nearest-exact" else 0.0
                x = np.take(x, np.floor((np.arange(m) + shift) * step).astype(int), d)
        return x


def _between(row: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Linear interpolation with two taps everywhere: a NaN with the weight 0 counts, unlike in np.interp."""
    places = np.clip(places, 0, len(row) - 1)
    first = places.astype(int)
    part = places - first
    return row[first] * (1 - part) + row[np.minimum(first + 1, len(row) - 1)] * part


def _keys(row: np.ndarray, places: np.ndarray) -> np.ndarray:
    """R. Keys, Cubic Convolution Interpolation for Digital Image Processing (1981), with a = -0.75."""
    out = np.zeros(len(places), row.dtype)
    for j, place in enumerate(places):
        for item in range(math.floor(place) - 1, math.floor(place) + 3):
            far = abs(place - item)
            near, outer = 1.25 * far**3 - 2.25 * far**2 + 1, -0.75 * (far**3 - 5 * far**2 + 8 * far - 4)
            out[j] += (near if far <= 1 else outer) * row[min(max(item, 0), len(row) - 1)]
    return out


def _places(n: int, m: int, way: Interpolation, scale: float | None, number: Any) -> np.ndarray:
    """Where the items of a result lie between those of the input."""
    places = np.arange(m, dtype=number)
    if way.align_corners:
        return places * (number(n - 1) / number(m - 1) if m > 1 else number(0))
    step = number(1 / scale) if scale else number(n) / number(m)
    return step * (places + number(0.5)) - number(0.5)


def _nearest(n: int, m: int, way: Interpolation, scale: float | None, number: Any) -> Taps:
    step = np.float32(1 / scale) if scale else np.float32(n) / np.float32(m)
    shift = np.float32(0.5 if way.mode == "nearest-exact" else 0)
    items = np.floor((np.arange(m, dtype=np.float32) + shift) * step).astype(np.int64)
    return _equally_many(n, np.minimum(items, n - 1)[:, None], np.ones((m, 1)))


def _linear(n: int, m: int, way: Interpolation, scale: float | None, number: Any) -> Taps:
    if n == m:
        return _equally_many(n, np.arange(n)[:, None], np.ones((n, 1)))
    places = np.maximum(_places(n, m, way, scale, number), 0)
    first = np.minimum(places.astype(np.int64), n - 1)
    last = np.minimum(first + 1, n - 1)
    part = np.clip(places - first, 0, 1)
    return _equally_many(n, np.stack([first, last], 1), np.stack([1 - part, part], 1))


def _cubic(n: int, m: int, way: Interpolation, scale: float | None, number: Any) -> Taps:
    places = _places(n, m, way, scale, number)
    first = np.floor(places).astype(np.int64)
    part = places - first
    items = np.clip(first[:, None] + np.arange(-1, 3), 0, n - 1)
    far = abs(part[:, None] - np.arange(-1, 3))
    near = (1.25 * far - 2.25) * far * far + 1
    outer = -0.75 * (((far - 5) * far + 8) * far - 4)
    return _equally_many(n, items, np.where(far <= 1, near, outer))


Way = Windows | Shares | Interpolation


@functools.lru_cache(maxsize=256)
def _tables(way: Way, sizes: Shape, dtype: np.dtype, transposed: bool) -> list[Taps]:
    taps = way.taps(sizes, dtype)
    return [t.transposed() for t in taps] if transposed else taps


def _resampled(x: np.ndarray, way: Way, sizes: Shape, transposed: bool) -> np.ndarray:
    """The dimensions one after another, first those that make the image smaller."""
    lead = x.ndim - len(sizes)
    tables = _tables(way, sizes, x.dtype, transposed)
    for d in sorted(range(len(sizes)), key=lambda d: tables[d].length / max(tables[d].extent, 1)):
        x = tables[d].along(x, lead + d)
    return x


def _divided(x: np.ndarray, divisors: list[np.ndarray] | None) -> np.ndarray:
    if divisors is None:
        return x
    product = functools.reduce(np.multiply.outer, divisors)
    if x.dtype.kind in "iu":  # towards 0
        return np.asarray(np.sign(x) * np.sign(product) * (abs(x) // abs(product)), x.dtype)
    return x / product.astype(x.dtype)


# ---------------------------------------------------------------------------------------------------- ops
def _declare(name: str, node: str, rank: int, ways: list[Any]) -> KernelOp:
    sizes = (5, 4, 3)[3 - rank :]

    @op(
        samples=[Sample(((2, 2, *sizes),), {"way": way}) for way in ways],
        reference=lambda x, way: np.asarray(way.reference(x), x.dtype),
        name=name,
        node=node,
        linear="jointly",
    )
    def resample(input, *, way):
        """An image of another size."""

    @resample.kernel("cpu")
    def _(input: np.ndarray, way: Way) -> np.ndarray:
        own = input.shape[-rank:]
        return _divided(_resampled(input, way, own, False), way.divisors(own))

    @resample.grad("input")
    def _(g, input_shape, way):
        return run(backward, (g,), (tuple(input_shape), way))

    @op(
        samples=[Sample(((2, 2, *_result_size(way, sizes)),), {"sizes": (2, 2, *sizes), "way": way}) for way in ways],
        reference=lambda g, sizes, way: _transposed_reference(g, sizes, way),
        name=f"{name}_backward",
        node=f"{node.removesuffix('Backward0')}BackwardBackward0",
        linear="jointly",
    )
    def backward(input, *, sizes, way):
        """The gradient of a change of an image's size."""

    @backward.kernel("cpu")
    def _(input: np.ndarray, sizes: Shape, way: Way) -> np.ndarray:
        own = sizes[-rank:]
        return _resampled(_divided(input, way.divisors(own)), way, own, True)

    @backward.grad("input")
    def _(g, way):
        return run(resample, (g,), (way,))

    return resample


def _result_size(way: Way, sizes: Shape) -> Shape:
    return tuple(t.length for t in way.taps(sizes, np.dtype(np.float64)))


def _transposed_reference(g: np.ndarray, sizes: Shape, way: Way) -> np.ndarray:
    """By the reference of the op itself: of an image with a single one, and with a single NaN, which shows the taps."""
    rank = len(way.kernel_size if isinstance(way, Windows) else way.output_size)
    items = math.prod(sizes[-rank:])
    out = np.zeros((*sizes[:-rank], items), g.dtype)
    rows = g.reshape(*sizes[:-rank], -1)
    for i in range(items):
        weights, shown = np.zeros((2, *sizes[-rank:]))
        weights.flat[i], shown.flat[i] = 1, np.nan
        touched = np.isnan(way.reference(shown)).ravel()
        out[..., i] = rows[..., touched] @ way.reference(weights).ravel()[touched]
    return out.reshape(sizes)


def _some_windows(rank: int) -> list[Windows]:
    two, one, zero = (2,) * rank, (1,) * rank, (0,) * rank
    return [
        Windows(two, two, one, ceil_mode=True),
        Windows(two, one, one, count_include_pad=False),
        Windows(two, one, zero, divisor_override=3),
    ]


AVG_POOL = {n: _declare(f"avg_pool{n}d", f"AvgPool{n}DBackward0", n, _some_windows(n)) for n in (2, 3)}
ADAPTIVE_AVG_POOL = {
    n: _declare(f"adaptive_avg_pool{n}d", f"AdaptiveAvgPool{n}DBackward0", n, [Shares((3, 2, 5)[3 - n :])])
    for n in (2, 3)
}
_LARGER = (3, 9, 4)


def _some_interpolations(mode: str, rank: int) -> list[Interpolation]:
    larger = _LARGER[3 - rank :]
    both = (False, True) if mode in ("linear", "cubic") else (False,)
    return [Interpolation(mode, larger, corners) for corners in both]


_SPELLED = {
    "nearest": ("Nearest",) * 3,
    "nearest-exact": ("NearestExact",) * 3,
    "linear": ("Linear", "Bilinear", "Trilinear"),
    "cubic": ("", "Bicubic"),
}


_SNAKE = {"NearestExact": "nearest_exact"}


def _upsample(mode: str, rank: int) -> KernelOp:
    spelled = _SPELLED[mode][rank - 1]
    name = f"upsample_{_SNAKE.get(spelled, spelled.lower())}{rank}d"
    return _declare(name, f"Upsample{spelled}{rank}DBackward0", rank, _some_interpolations(mode, rank))


UPSAMPLE = {(mode, n): _upsample(mode, n) for mode, names in _SPELLED.items() for n, s in enumerate(names, 1) if s}
