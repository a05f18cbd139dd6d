"""Items in order: sort, topk, kthvalue, median, mode; unique.

NaN counts as the largest item, as in PyTorch. Of equal items those that came first stay first.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .cpu import loop
from .extrema import value_selecting_reduction_backward
from .prepared import Operand, Prepared
from .registry import KernelOp, Sample, op
from .scatter import gather

_PACKED = 512  # items from which short keys are sorted together with their indices
_FEW = 64  # up to so many items topk keeps in order while it walks a row


# ---------------------------------------------------------------------------------------------------- sort
def _order(x: np.ndarray, dim: int, descending: bool) -> np.ndarray:
    """The indices that put a dimension in order; those of equal items keep theirs."""
    keys = _short_keys(x) if x.size >= _PACKED else None
    if keys is not None:
        return _order_of_keys(keys, dim, descending)
    if not descending:
        return np.argsort(x, dim, kind="stable")
    backwards = np.flip(np.argsort(np.flip(x, dim), dim, kind="stable"), dim)
    return x.shape[dim] - 1 - backwards


def _short_keys(x: np.ndarray) -> np.ndarray | None:
    """Whole numbers of at most 32 bits that are in order as the items are; None for items that need more."""
    if x.dtype == np.float32:
        bits = (x + np.float32(0)).view(np.int32)  # -0 becomes 0: they are equal
        keys = bits ^ ((bits >> 31) & 0x7FFFFFFF)
        keys[x != x] = 0x7FFFFFFF
        return keys
    if x.dtype.kind in "iub" and x.itemsize <= 4:
        return x
    if x.dtype == np.int64:
        low, high = int(x.min()), int(x.max())
        return x - low if high - low < 1 << 31 else None
    return None


def _order_of_keys(keys: np.ndarray, dim: int, descending: bool) -> np.ndarray:
    """`_order` of short whole numbers: NumPy sorts key and index as one number of 64 bits.

    That is its vectorised sort, which argsort with a stable order is not: 0.3 of the time for (1024, 1024) float32.
    """
    rows = np.ascontiguousarray(np.moveaxis(keys, dim, -1)).astype(np.int64)
    if descending:
        np.invert(rows, out=rows)
    rows <<= 32
    rows |= np.arange(rows.shape[-1])
    rows.sort(-1)
    rows &= 0xFFFFFFFF
    return np.moveaxis(rows, -1, dim)


def _sorted(x: np.ndarray, dim: int, descending: bool) -> tuple[np.ndarray, np.ndarray]:
    if not x.shape:
        return x.copy(), np.zeros((), np.int64)
    order = np.ascontiguousarray(_order(x, dim, descending))
    return gather.kernels["cpu"](x, order, dim), order


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


@sort.prepared
@stable_sort.prepared
def _(x: Operand, dim: int, descending: bool) -> Prepared | None:
    """Of a short vector."""
    if len(x.shape) != 1 or x.shape[0] >= _PACKED:
        return None

    def run(items: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        order = np.ascontiguousarray(_order(items, 0, descending))
        return items.take(order), order

    return Prepared(run, (x, Operand(x.shape, np.dtype(np.int64))))


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
@loop
def _top_rows(x, values, indices, largest):
    """The best items of each row in order, kept sorted while the row is walked once; the first of equal ones."""
    k = values.shape[1]
    for r in range(x.shape[0]):
        kept = 0
        for i in range(x.shape[1]):
            item = x[r, i]
            if kept == k:
                worst = values[r, k - 1]
                if largest:
                    better = item > worst or (item != item and worst == worst)
                else:
                    better = item < worst or (worst != worst and item == item)
                if not better:
                    continue
                kept -= 1
            place = kept
            while place > 0:
                above = values[r, place - 1]
                if largest:
                    passes = item > above or (item != item and above == above)
                else:
                    passes = item < above or (above != above and item == item)
                if not passes:
                    break
                values[r, place] = above
                indices[r, place] = indices[r, place - 1]
                place -= 1
            values[r, place] = item
            indices[r, place] = i
            kept += 1


def _order_of_best(rows: np.ndarray, k: int, largest: bool) -> np.ndarray:
    """Where the `k` best items of each row are, in order; the others are put in order only if they are the fewer."""
    n, last = rows.shape[-1], rows.ndim - 1
    if not 0 < k <= n // 2:
        return _order(rows, last, largest)[..., :k]
    chosen = np.argpartition(rows, n - k if largest else k - 1, -1)
    chosen = np.sort(chosen[..., n - k :] if largest else chosen[..., :k], -1)
    return np.take_along_axis(chosen, _order(np.take_along_axis(rows, chosen, -1), last, largest), -1)


def _top(x: np.ndarray, k: int, dim: int, largest: bool) -> tuple[np.ndarray, np.ndarray]:
    if not x.shape:
        return _sorted(x, dim, False) if k else (x[None][:0], np.zeros(0, np.int64))
    rows = np.ascontiguousarray(np.moveaxis(x, dim, -1))
    shape = (*rows.shape[:-1], k)
    if 0 < k <= _FEW:
        values, indices = np.empty(shape, x.dtype), np.empty(shape, np.int64)
        flat = rows.reshape(-1, rows.shape[-1])
        _top_rows(flat, values.reshape(-1, k), indices.reshape(-1, k), largest)
    else:
        indices = _order_of_best(rows, k, largest)
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
        Sample(([float(7 * i % 150) for i in range(150)],), {"k": 70, "dim": 0, "largest": True}),
    ],
    _top,
    name="topk",
)
topk.grad("input")(_back)


@topk.prepared
def _(x: Operand, k: int, dim: int, largest: bool) -> Prepared | None:
    """Along the last dimension, for few items."""
    if dim != len(x.shape) - 1 or not 0 < k <= _FEW:
        return None
    form = math.prod(x.shape[:-1]), x.shape[-1]
    shape, run_loop = (form[0], k), _top_rows.compiled(x.dtype)

    def run(items: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        values, indices = np.empty(shape, x.dtype), np.empty(shape, np.int64)
        run_loop(items.reshape(form), values, indices, largest)
        return values.reshape(-1), indices.reshape(-1)

    result = (*x.shape[:-1], k)
    return Prepared(run, (Operand(result, x.dtype), Operand(result, np.dtype(np.int64))))


@loop
def _find_rows(x, values, k, indices):
    """Where the k-th smallest item of each row is, given its value: of equal ones the one that a stable sort puts there."""
    for r in range(x.shape[0]):
        smaller = 0
        for i in range(x.shape[1]):
            smaller += x[r, i] < values[r]
        for i in range(x.shape[1]):
            if x[r, i] == values[r]:
                if smaller == k:
                    indices[r] = i
                    break
                smaller += 1


def _ranked(rows: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The k-th smallest item (from 0) of each row of numbers, and where it is."""
    values = np.ascontiguousarray(np.partition(rows, k, -1)[:, k])
    indices = np.zeros(len(rows), np.int64)
    _find_rows(rows, values, k, indices)
    return values, indices


def _one_of_each(pick: Callable[..., np.ndarray]) -> Callable[..., Any]:
    """The kernel of an op that takes one item of each row of a dimension, by its place in the order of the row.

    Rows without NaN need not be put in order when all take the same place.
    """

    def kernel(x: np.ndarray, *, dim: int, keepdim: bool, k: int = 0) -> tuple[np.ndarray, np.ndarray]:
        if not x.shape:
            return x.copy(), np.zeros((), np.int64)
        rows = np.ascontiguousarray(np.moveaxis(x, dim, -1))
        shape, rows = rows.shape[:-1], rows.reshape(-1, rows.shape[-1])
        if pick is not _most_common and rows.size and x.dtype.kind != "b" and not (rows != rows).any():
            values, indices = _ranked(rows, int(pick(rows[:1], k)[0]))
        else:
            ordered, order = _sorted(rows, 1, False)
            place = pick(ordered, k)[:, None]
            values, indices = np.take_along_axis(ordered, place, 1), np.take_along_axis(order, place, 1)
        values, indices = values.reshape(shape), indices.reshape(shape)
        return (np.expand_dims(values, dim), np.expand_dims(indices, dim)) if keepdim else (values, indices)

    return kernel


def _kth(values: np.ndarray, k: int) -> np.ndarray:
    return np.full(values.shape[:-1], k - 1)


def _middle(values: np.ndarray, k: int) -> np.ndarray:
    """The lower of two middle items; the first NaN where there is one."""
    numbers = _numbers(values)
    n = values.shape[-1]
    return np.where(numbers < n, numbers, (n - 1) // 2)


def _middle_of_numbers(values: np.ndarray, k: int) -> np.ndarray:
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


def _most_common(values: np.ndarray, k: int) -> np.ndarray:
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
    if (items != items).any():
        values = np.sort(items)
        return np.asarray(values[int(pick(values, 0))])
    middle = (items.size - 1) // 2
    return np.asarray(np.partition(items, middle)[middle])


def _evenly(g, input, out):
    mask = (input == out) + (input != input) * (out != out)
    return g / mask.sum() * mask


for _whole in (median_all, nanmedian_all):
    _whole.grad("input")(_evenly)


# ---------------------------------------------------------------------------------------------------- unique
def _unique_of_all(x: np.ndarray, values_only: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    flat = np.ascontiguousarray(x).reshape(-1)
    low = _least_of_few(flat)
    if low is not None:
        values, inverse, counts = _counted(flat, low)
    elif values_only:
        nothing = np.empty(0, np.int64)
        return np.unique(flat, equal_nan=False), nothing, nothing
    else:
        values, inverse, counts = _unique_by_order(flat)
    return values, inverse.reshape(x.shape), counts


def _unique_reference(x: np.ndarray, values_only: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    values, inverse, counts = np.unique(x, return_inverse=True, return_counts=True, equal_nan=False)
    return (values, inverse[:0], counts[:0]) if values_only else (values, inverse, counts)


def _least_of_few(flat: np.ndarray) -> int | None:
    """The least of whole numbers, if they lie so close that counting all in between is less work than sorting."""
    if flat.dtype.kind not in "iu" or not flat.size:
        return None
    low = int(flat.min())
    return low if int(flat.max()) - low <= flat.size else None


def _counted(flat: np.ndarray, low: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    places = flat.astype(np.int64) - low
    counts = np.bincount(places)
    found = np.flatnonzero(counts)
    ranks = np.zeros(len(counts), np.int64)
    ranks[found] = np.arange(len(found))
    return (found + low).astype(flat.dtype), ranks[places], counts[found].astype(np.int64)


def _unique_by_order(flat: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    order = _order(flat, 0, False)
    items = flat[order]
    starts = np.ones(len(items), bool)
    starts[1:] = items[1:] != items[:-1]
    inverse = np.empty(len(items), np.int64)
    inverse[order] = np.cumsum(starts) - 1
    first = np.flatnonzero(starts)
    return items[first], inverse, np.diff(np.append(first, len(items))).astype(np.int64)


@op(
    samples=[
        Sample(([2.0, 1.0, 2.0],), {"values_only": False}),
        Sample(([2.0, 1.0, 2.0],), {"values_only": True}),
        Sample(([7, 3, 7, 5],), {"values_only": False}),
    ],
    reference=_unique_reference,
    outputs=3,
    differentiable=False,
)
def unique(input, *, values_only):
    """The different items in order; for each item which of them it is; how many there are of each.

    With `values_only` the last two are empty.
    """


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
