"""Items in order: sort, topk, kthvalue, median, mode; items picked along a dimension and added back; unique.

NaN counts as the largest item, as in PyTorch. Of equal items those that came first stay first.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .array import Shape
from .cpu import loop
from .extrema import value_selecting_reduction_backward
from .registry import KernelOp, Sample, op

_FEW = 8  # from this many times k on, topk puts only the k largest in order


# ---------------------------------------------------------------------------------------------------- picking
@op(
    samples=[Sample(((2, 3), [[2, 0, 2], [1, 1, 0]]), {"dim": 1}), Sample(((3, 2), [[2, 0]]), {"dim": 0})],
    reference=lambda x, indices, dim: np.take_along_axis(x, indices, dim),
)
def pick_along(input, indices, *, dim):
    """The items of `input` at `indices` along `dim`, as many as there are indices; one may be picked several times."""


@pick_along.kernel("cpu")
def _(input: np.ndarray, indices: np.ndarray, dim: int) -> np.ndarray:
    return input.copy() if not input.shape else np.take_along_axis(input, indices, dim)


@pick_along.grad("input")
def _(g, indices, input_shape, dim):
    return add_along(g, indices, dim=dim, shape=input_shape)


def _added(g: np.ndarray, indices: np.ndarray, dim: int, shape: Shape) -> np.ndarray:
    out = np.zeros(shape, g.dtype)
    if not shape:
        out[...] = g
        return out
    where: list[Any] = list(np.indices(indices.shape, sparse=True))
    where[dim] = indices
    np.add.at(out, tuple(where), g)
    return out


@op(
    samples=[Sample(((2, 3), [[2, 0, 2], [1, 1, 0]]), {"dim": 1, "shape": (2, 4)})],
    reference=_added,
)
def add_along(g, indices, *, dim, shape):
    """Zeros of `shape` with the items of `g` added at `indices` along `dim`."""


add_along.kernel("cpu")(_added)


@add_along.grad("g")
def _(g, indices, dim):
    return pick_along(g, indices, dim=dim)


# ---------------------------------------------------------------------------------------------------- sort
def _order(x: np.ndarray, dim: int, descending: bool) -> np.ndarray:
    """The indices that put a dimension in order; those of equal items keep theirs."""
    if not descending:
        return np.argsort(x, dim, kind="stable")
    backwards = np.flip(np.argsort(np.flip(x, dim), dim, kind="stable"), dim)
    return x.shape[dim] - 1 - backwards


def _sorted(x: np.ndarray, dim: int, descending: bool) -> tuple[np.ndarray, np.ndarray]:
    if not x.shape:
        return x.copy(), np.zeros((), np.int64)
    order = np.ascontiguousarray(_order(x, dim, descending))
    return np.take_along_axis(x, order, dim), order


def _declared(
    function: Callable[..., Any], samples: list[Sample], kernel: Callable[..., Any], **options: Any
) -> KernelOp:
    """An op whose results are items and their indices along a dimension; the gradient goes back to where they were."""
    made: KernelOp = op(samples=samples, reference=kernel, outputs=2, **options)(function)
    made.kernel("cpu")(kernel)
    made.non_differentiable_outputs = (1,)
    return made


def _back(g0, out1, input_shape, dim):
    return value_selecting_reduction_backward(g0, out1, dim=dim, shape=input_shape, keepdim=True)


def _sort(input, *, dim, descending):
    """The items of a dimension in order, and where they were."""


_SORTS = [
    Sample(((3, 4),), {"dim": 1, "descending": False}),
    Sample(((2, 3, 2),), {"dim": 1, "descending": True}),
    Sample(((),), {"dim": 0, "descending": False}),
]

sort = _declared(_sort, _SORTS, _sorted, name="sort")
stable_sort = _declared(_sort, _SORTS, _sorted, name="sort.stable", node="SortBackward1")
for _one in (sort, stable_sort):
    _one.grad("input")(_back)


@op(
    samples=[Sample(((3, 4),), {"dim": 1, "descending": True})],
    reference=lambda x, dim, descending: np.flip(np.argsort(x, dim), dim),
    differentiable=False,
)
def argsort(input, *, dim, descending):
    """Where the items of a dimension were that `sort` puts in order."""


@argsort.kernel("cpu")
def _(input: np.ndarray, dim: int, descending: bool) -> np.ndarray:
    return np.ascontiguousarray(_order(input, dim, descending)) if input.shape else np.zeros((), np.int64)


# ---------------------------------------------------------------------------------------------------- topk, kthvalue
def _top(x: np.ndarray, k: int, dim: int, largest: bool) -> tuple[np.ndarray, np.ndarray]:
    if not x.shape:
        return _sorted(x, dim, False) if k else (x[None][:0], np.zeros(0, np.int64))
    n = x.shape[dim]
    rows = np.moveaxis(x, dim, -1)
    if k * _FEW <= n and k:
        chosen = np.argpartition(rows, n - k if largest else k - 1, -1)
        chosen = np.sort(chosen[..., n - k :] if largest else chosen[..., :k], -1)
        order = _order(np.take_along_axis(rows, chosen, -1), rows.ndim - 1, largest)
        indices = np.take_along_axis(chosen, order, -1)
    else:
        indices = _order(rows, rows.ndim - 1, largest)[..., :k]
    values = np.take_along_axis(rows, indices, -1)
    return (
        np.ascontiguousarray(np.moveaxis(values, -1, dim)),
        np.ascontiguousarray(np.moveaxis(indices, -1, dim), np.int64),
    )


def _topk(input, *, k, dim, largest):
    """The `k` largest (or smallest) items of a dimension in order, and where they are."""


topk = _declared(
    _topk,
    [
        Sample(((3, 4),), {"k": 2, "dim": 1, "largest": True}),
        Sample(((20, 2),), {"k": 2, "dim": 0, "largest": False}),
        Sample(((20, 2),), {"k": 2, "dim": 0, "largest": True}),
    ],
    _top,
    name="topk",
)
topk.grad("input")(_back)


def _one_of_each(pick: Callable[[np.ndarray, np.ndarray, Any], np.ndarray]) -> Callable[..., Any]:
    """The kernel of an op that takes one item of each row of a dimension, by its place in the order of the row."""

    def kernel(x: np.ndarray, *, dim: int, keepdim: bool, k: int = 0) -> tuple[np.ndarray, np.ndarray]:
        if not x.shape:
            return x.copy(), np.zeros((), np.int64)
        values, order = _sorted(x, dim, False)
        place = np.expand_dims(pick(np.moveaxis(values, dim, -1), np.moveaxis(order, dim, -1), k), dim)
        indices = np.take_along_axis(order, place, dim)
        found = np.take_along_axis(values, place, dim)
        return (found, indices) if keepdim else (found.squeeze(dim), indices.squeeze(dim))

    return kernel


def _kth(values: np.ndarray, order: np.ndarray, k: int) -> np.ndarray:
    return np.full(values.shape[:-1], k - 1)


def _middle(values: np.ndarray, order: np.ndarray, k: int) -> np.ndarray:
    """The lower of two middle items; the first NaN where there is one."""
    numbers = _numbers(values)
    n = values.shape[-1]
    return np.where(numbers < n, numbers, (n - 1) // 2)


def _middle_of_numbers(values: np.ndarray, order: np.ndarray, k: int) -> np.ndarray:
    return np.maximum(_numbers(values) - 1, 0) // 2


def _numbers(values: np.ndarray) -> np.ndarray:
    """How many items of each row are not NaN."""
    return np.count_nonzero(values == values, -1)


@loop
def _longest_runs(values, places):
    """The last item of the longest run of equal items in each row, the first of several such runs."""
    for r in range(values.shape[0]):
        best = 0
        length = 0
        for i in range(values.shape[1]):
            length = length + 1 if i > 0 and values[r, i] == values[r, i - 1] else 1
            if length > best:
                best = length
                places[r] = i


def _most_common(values: np.ndarray, order: np.ndarray, k: int) -> np.ndarray:
    rows = np.ascontiguousarray(values).reshape(-1, values.shape[-1])
    places = np.zeros(len(rows), np.int64)
    _longest_runs(rows, places)
    return places.reshape(values.shape[:-1])


_REDUCED = [Sample(((3, 5),), {"dim": 1, "keepdim": False}), Sample(((4, 2),), {"dim": 0, "keepdim": True})]


def _selecting(name: str, doc: str, pick: Any, node: str | None = None, with_k: bool = False) -> KernelOp:
    kernel = _one_of_each(pick)
    if with_k:

        def function(input, *, k, dim, keepdim):
            pass

        def on_cpu(x: np.ndarray, k: int, dim: int, keepdim: bool) -> Any:
            return kernel(x, dim=dim, keepdim=keepdim, k=k)

        samples = [Sample(s.inputs, {"k": 2, **s.attributes}) for s in _REDUCED]
    else:

        def function(input, *, dim, keepdim):  # type: ignore[misc]
            pass

        def on_cpu(x: np.ndarray, dim: int, keepdim: bool) -> Any:  # type: ignore[misc]
            return kernel(x, dim=dim, keepdim=keepdim)

        samples = _REDUCED
    function.__doc__ = doc
    made = _declared(function, samples, on_cpu, name=name, node=node)

    @made.grad("input")
    def _(g0, out1, input_shape, dim, keepdim):
        return value_selecting_reduction_backward(g0, out1, dim=dim, shape=input_shape, keepdim=keepdim)

    return made


kthvalue = _selecting("kthvalue", "The k-th smallest item along a dimension, and where it is.", _kth, with_k=True)
median_dim = _selecting(
    "median.dim", "The lower median along a dimension, and where it is.", _middle, "MedianBackward1"
)
nanmedian_dim = _selecting(
    "nanmedian.dim", "`median` of the items that are not NaN.", _middle_of_numbers, "NanmedianBackward1"
)
mode = _selecting("mode", "The most common item along a dimension, the smallest of several, and its last index.",
                  _most_common)  # fmt: skip


@op(
    samples=[Sample(((3, 3),)), Sample(((),))],
    reference=lambda x: np.where(np.isnan(x).any(), math.nan, np.sort(x, None)[(x.size - 1) // 2]).astype(x.dtype),
    name="median",
)
def median_all(input):
    """The lower median of all items, NaN where one is. The gradient goes to the item it is, in parts to equal ones."""


@median_all.kernel("cpu")
def _(input: np.ndarray) -> np.ndarray:
    return _median(input.reshape(-1), _middle)


@op(
    samples=[Sample(((3, 3),)), Sample(((),))],
    reference=lambda x: np.sort(x, None)[(int(np.sum(x == x)) - 1) // 2],
    name="nanmedian",
)
def nanmedian_all(input):
    """`median` of the items that are not NaN."""


@nanmedian_all.kernel("cpu")
def _(input: np.ndarray) -> np.ndarray:
    return _median(input.reshape(-1), _middle_of_numbers)


def _median(items: np.ndarray, pick: Callable[..., np.ndarray]) -> np.ndarray:
    if not items.size:
        return np.asarray(math.nan if items.dtype.kind == "f" else np.iinfo(items.dtype).min, items.dtype)
    values = np.sort(items)
    return np.asarray(values[int(pick(values, values, 0))])


def _evenly(g, input, out):
    mask = (input == out) + (input != input) * (out != out)
    return g / mask.sum() * mask


for _whole in (median_all, nanmedian_all):
    _whole.grad("input")(_evenly)


# ---------------------------------------------------------------------------------------------------- unique
def _unique_of_all(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    values, inverse, counts = np.unique(x.reshape(-1), return_inverse=True, return_counts=True, equal_nan=False)
    return values, inverse.reshape(x.shape).astype(np.int64), counts.astype(np.int64)


@op(samples=[Sample(([2.0, 1.0, 2.0],))], reference=_unique_of_all, outputs=3, differentiable=False)
def unique(input):
    """The different items in order; for each item which of them it is; how many there are of each."""


unique.kernel("cpu")(_unique_of_all)


def _unique_along(x: np.ndarray, dim: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    values, inverse, counts = np.unique(x, return_inverse=True, return_counts=True, axis=dim)
    return np.ascontiguousarray(values), inverse.reshape(-1).astype(np.int64), counts.astype(np.int64)


@op(
    samples=[Sample(([[2.0, 1.0], [0.0, 1.0], [2.0, 1.0]],), {"dim": 0})],
    reference=_unique_along,
    outputs=3,
    differentiable=False,
)
def unique_dim(input, *, dim):
    """The different slices of a dimension in order; for each slice which it is; how many there are of each."""


unique_dim.kernel("cpu")(_unique_along)


def _runs(x: np.ndarray, dim: int | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    slices = x.reshape(x.size, 1) if dim is None else np.moveaxis(x, dim, 0)
    n = len(slices)
    starts = np.ones(n, bool)
    if n > 1:
        starts[1:] = (slices[1:] != slices[:-1]).any(tuple(range(1, slices.ndim)))
    first = np.flatnonzero(starts)
    inverse = np.cumsum(starts) - 1
    values = x.reshape(-1)[first] if dim is None else np.ascontiguousarray(np.moveaxis(slices[first], 0, dim))
    shape = x.shape if dim is None else (n,)
    return values, inverse.reshape(shape).astype(np.int64), np.diff(np.append(first, n)).astype(np.int64)


@op(
    samples=[Sample(([2.0, 2.0, 1.0, 2.0],), {"dim": None}), Sample(([[1.0, 1.0, 2.0]],), {"dim": 1})],
    reference=_runs,
    outputs=3,
    differentiable=False,
)
def unique_consecutive(input, *, dim):
    """The first of each run of equal items (slices of a dimension); which run each one is in; how long they are."""


unique_consecutive.kernel("cpu")(_runs)
