"""Counting and searching, and factories of numbers in order: bincount, histc, searchsorted; eye, linspace."""

from __future__ import annotations

from typing import Any

import numpy as np

from .array import Array, Shape
from .backends import backend
from .cpu import loop
from .registry import Sample, op


# ---------------------------------------------------------------------------------------------------- counting
@op(
    samples=[Sample(([1, 3, 1],), {"minlength": 0}), Sample(([1, 3, 1],), {"minlength": 6})],
    reference=lambda x, minlength: np.bincount(x, minlength=minlength),
    differentiable=False,
)
def bincount(input, *, minlength):
    """How often each number from 0 on is among the items (int64)."""


@loop
def _count(x, counts):
    for i in range(x.shape[0]):
        counts[np.uint64(x[i])] += 1


@bincount.kernel("cpu")
def _(input: np.ndarray, minlength: int) -> np.ndarray:
    highest = -1
    if input.size:
        _check_counted(input)
        highest = int(input.max())
    counts = np.zeros(max(highest + 1, minlength), np.int64)
    _count(np.ascontiguousarray(input, np.int64), counts)
    return counts


def _check_counted(input: np.ndarray) -> None:
    """Raise RuntimeError, with PyTorch's text, for negative numbers."""
    if input.size and input.min() < 0:
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")


@op(
    samples=[Sample(([1, 3, 1], (3,)), {"minlength": 0})],
    reference=lambda x, weights, minlength: np.bincount(x, weights, minlength).astype(weights.dtype),
    differentiable=False,
    name="bincount.weights",
)
def weighted_bincount(input, weights, *, minlength):
    """The sum of the weights of each number from 0 on."""


@weighted_bincount.kernel("cpu")
def _(input: np.ndarray, weights: np.ndarray, minlength: int) -> np.ndarray:
    _check_counted(input)
    kept = weights.dtype if weights.dtype == np.float32 else np.float64
    return np.bincount(input, weights, minlength).astype(kept, copy=False)


@op(
    samples=[
        Sample(([[1.0, 2.0], [3.0, 4.0]], [2.0, 5.0]), {"invert": False}),
        Sample(([1, 2], [[2]]), {"invert": True}),
    ],
    reference=lambda x, given, invert: np.array([(item in given) != invert for item in x.reshape(-1)]).reshape(x.shape),
    differentiable=False,
)
def isin(elements, test_elements, *, invert):
    """Which items are among the test elements, as bools; with `invert`, which are not."""


@isin.kernel("cpu")
def _(elements: np.ndarray, test_elements: np.ndarray, invert: bool) -> np.ndarray:
    return np.isin(elements, test_elements, invert=invert)


@op(
    samples=[Sample(((20,),), {"bins": 5, "low": -2.0, "high": 2.0})],
    reference=lambda x, bins, low, high: np.histogram(x, bins, (low, high))[0].astype(x.dtype),
    differentiable=False,
)
def histc(input, *, bins, low, high):
    """How many items are in each of `bins` intervals of equal width from `low` to `high`, in the input's dtype."""


@histc.kernel("cpu")
def _(input: np.ndarray, bins: int, low: float, high: float) -> np.ndarray:
    items = input.reshape(-1).astype(np.float64)
    items = items[(items >= low) & (items <= high)]
    places = ((items - low) / (high - low) * bins).astype(np.int64)
    return np.bincount(np.minimum(places, bins - 1), minlength=bins).astype(input.dtype)


def _search(boundaries: np.ndarray, values: np.ndarray, right: bool) -> np.ndarray:
    side: Any = "right" if right else "left"
    if not values.size:
        return np.zeros(values.shape, np.int64)
    if boundaries.ndim == 1:
        return np.asarray(np.searchsorted(boundaries, values, side)).astype(np.int64)
    rows = boundaries.reshape(-1, boundaries.shape[-1])
    wanted = values.reshape(len(rows), values.shape[-1])
    found = [np.searchsorted(row, one, side) for row, one in zip(rows, wanted, strict=True)]
    return np.asarray(found, np.int64).reshape(values.shape)


@op(
    samples=[
        Sample(([0.0, 1.0, 2.0], (2, 3)), {"right": False}),
        Sample(([[0.0, 1.0], [0.5, 2.0]], (2, 3)), {"right": True}),
    ],
    reference=_search,
    differentiable=False,
)
def searchsorted(boundaries, values, *, right):
    """Where values would be put in sorted rows (int64): before equal ones, or with `right` after them."""


searchsorted.kernel("cpu")(_search)


# ---------------------------------------------------------------------------------------------------- factories
@op(
    samples=[Sample((), {"size": (2, 3), "dtype": "float32", "device": "cpu"})],
    reference=lambda size, dtype, device: np.eye(*size, dtype=dtype),
    differentiable=False,
)
def eye(*, size, dtype, device):
    """Ones on the diagonal of a matrix, zeros elsewhere."""


@eye.kernel("cpu")
@eye.kernel("cuda")
def _(size: Shape, dtype: str, device: str) -> Array:
    rows, columns = size
    out = np.zeros(size, np.dtype(dtype))
    out.reshape(-1)[: min(rows, columns) * (columns + 1) : columns + 1] = 1
    return backend(device).from_host(out, device)


@op(
    samples=[Sample((), {"start": 0.0, "end": 1.0, "steps": 5, "dtype": "float64", "device": "cpu"})],
    reference=lambda start, end, steps, dtype, device: np.linspace(start, end, steps, dtype=dtype),
    differentiable=False,
)
def linspace(*, start, end, steps, dtype, device):
    """`steps` numbers from `start` to `end`, both included, at equal distances."""


@linspace.kernel("cpu")
@linspace.kernel("cuda")
def _(start: float, end: float, steps: int, dtype: str, device: str) -> Array:
    return backend(device).from_host(_spaced(start, end, steps, np.dtype(dtype)), device)


def _spaced(start: float, end: float, steps: int, dtype: np.dtype) -> np.ndarray:
    """Counted from both ends to the middle, as PyTorch does, so that both are exact."""
    whole = dtype.kind in "iub"
    if whole:
        start, end = int(start), int(end)
    if steps == 1:
        return np.asarray([start]).astype(dtype)
    exact = np.dtype(np.float64) if whole else dtype
    index = np.arange(steps)
    step = exact.type((end - start) / max(steps - 1, 1))
    forth = exact.type(start) + step * index.astype(exact)
    back = exact.type(end) - step * (steps - 1 - index).astype(exact)
    return np.where(index < steps // 2, forth, back).astype(dtype)


@op(
    samples=[Sample((), {"start": 0.0, "end": 2.0, "steps": 3, "base": 10.0, "dtype": "float64", "device": "cpu"})],
    reference=lambda start, end, steps, base, dtype, device: np.logspace(start, end, steps, base=base, dtype=dtype),
    differentiable=False,
)
def logspace(*, start, end, steps, base, dtype, device):
    """`base` to the powers that `linspace` gives."""


@logspace.kernel("cpu")
@logspace.kernel("cuda")
def _(start: float, end: float, steps: int, base: float, dtype: str, device: str) -> Array:
    kind = np.dtype(dtype).kind
    if kind in "iub":
        start, end = int(start), int(end)
    exponents = _spaced(start, end, steps, np.dtype(np.complex128 if kind == "c" else np.float64))
    with np.errstate(all="ignore"):
        values = (base**exponents).astype(dtype)
    return backend(device).from_host(values, device)


@op(
    samples=[Sample((), {"row": 3, "col": 2, "offset": 1, "lower": True, "dtype": "int64", "device": "cpu"})],
    reference=lambda row, col, offset, lower, dtype, device: np.stack(
        (np.tril_indices if lower else np.triu_indices)(row, offset, col)
    ),
    differentiable=False,
)
def triangle_indices(*, row, col, offset, lower, dtype, device):
    """Rows and columns, (2, n), of the items of a matrix on and below (or above) a diagonal."""


@triangle_indices.kernel("cpu")
@triangle_indices.kernel("cuda")
def _(row: int, col: int, offset: int, lower: bool, dtype: str, device: str) -> Array:
    found = (np.tril_indices if lower else np.triu_indices)(row, offset, col)
    return backend(device).from_host(np.stack(found).astype(dtype), device)
