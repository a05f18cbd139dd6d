"""Reductions of squares, powers and exponentials: var, std, var_mean, std_mean, norms, logsumexp. All are of floats.

Squares, magnitudes and powers are summed in float64 from the items on, so that those of float32 neither overflow nor lose
digits.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .arithmetic import absolute, power, sign, where
from .array import Shape
from .cpu import loop
from .extrema import MAXIMUM, MINIMUM
from .folds import THRESHOLD, Axes, Fold, keep, kept_shape, mapped, restore_dims
from .prepared import Operand, Prepared
from .reductions import COUNT, mean_axes, mean_dim
from .registry import Sample, op

DEVIATIONS = Fold("0", "x - center", "a + b", np.add, lane="_A", total="_A")
SQUARED_DEVIATIONS = Fold("0", "(x - center) * (x - center)", "a + b", np.add, lane="_A", total="_A")
SQUARES = Fold("0", "_A(x) * _A(x)", "a + b", np.add, lane="_A", total="_A")
MAGNITUDES = Fold("0", "abs(x)", "a + b", np.add, lane="_A", total="_A")
POWERS = Fold("0", "_A(abs(x)) ** parameter", "a + b", np.add, lane="_A", total="_A")
EXPONENTIALS = Fold("0", "_exp(x - center)", "a + b", np.add, lane="_T", total="_A", center="_T")


def _ones_at(shape: Shape, dim: Axes) -> Shape:
    return tuple(1 if d in dim else n for d, n in enumerate(shape))


def _reciprocal_or_zero(x):
    """`1 / x`, 0 where x is 0, as are then its derivatives."""
    return where(x == 0, 0, 1 / where(x == 0, 1, x))


# ---------------------------------------------------------------------------------------------------- var, std
_MOMENTS = [
    Sample(((3, 4),), {"dim": (0,), "correction": 1}),
    Sample(((2, 3, 4),), {"dim": (0, 2), "correction": 0, "keepdim": True}),
    Sample(((2, 3, 4),), {"dim": (1,), "correction": 0.5}),
]


@loop(reassoc=True)
def moments_rows(x, variances, means, freedom, start, stop):
    """The variance and the mean of each row, as `_variance` finds them."""
    n = x.shape[1]
    for r in range(start, stop):
        row = x[r]
        first = _A(row[0])  # noqa: F821
        if first - first != 0:
            first = _A(0)  # noqa: F821
        total = _A(0)  # noqa: F821
        for i in range(n):
            total += _A(row[i]) - first  # noqa: F821
        mean = first + total / n
        squares = _A(0)  # noqa: F821
        for i in range(n):
            deviation = _A(row[i]) - mean  # noqa: F821
            squares += deviation * deviation
        variances[r] = squares / freedom
        means[r] = mean


def _rows(shape: Shape, axes: Axes) -> tuple[int, int] | None:
    """A contiguous array as (rows, items of each), if one loop over its rows is all there is to do."""
    size, kept = math.prod(shape), len(shape) - len(axes)
    if not axes or min(axes) != kept or not 0 < size < THRESHOLD:
        return None
    rows = math.prod(shape[:kept])
    return rows, size // rows


def _variance(x: np.ndarray, axes: Axes, correction: float) -> tuple[np.ndarray, np.ndarray]:
    """Variance and mean in float64, in two passes. Without degrees of freedom the variance is inf or NaN."""
    form = _rows(x.shape, axes) if x.flags.c_contiguous else None
    if form is not None:
        variances, means = np.empty(form[0]), np.empty(form[0])
        moments_rows(x.reshape(form), variances, means, float(_freedom(x.shape, axes, correction)), 0, form[0])
        shape = kept_shape(x.shape, axes)
        return variances.reshape(shape), means.reshape(shape)
    mean = _exact_mean(x, axes)
    freedom = _freedom(x.shape, axes, correction)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(SQUARED_DEVIATIONS.over(x, axes, mean) / np.float64(freedom)), mean


def _exact_mean(x: np.ndarray, axes: Axes) -> np.ndarray:
    """The mean in float64, counted from the first item: of equal items it is exactly that, and their variance exactly 0."""
    count = math.prod(x.shape[d] for d in axes)
    if not count:
        return np.full(kept_shape(x.shape, axes), math.nan)
    first = x[tuple(0 if d in axes else slice(None) for d in range(x.ndim))].astype(np.float64)
    first = np.where(np.isfinite(first), first, 0)
    with np.errstate(invalid="ignore"):
        return np.asarray(first + DEVIATIONS.over(x, axes, first) / count)


def _freedom(shape: Shape, dim: Axes, correction: float) -> float:
    return max(math.prod(shape[d] for d in dim) - correction, 0.0)


def _prepared(
    x: Operand, dim: Axes, correction: float, keepdim: bool, is_root: bool, has_mean: bool
) -> Prepared | None:
    """`_variance` of a contiguous array, or its root, maybe with the mean."""
    form = _rows(x.shape, dim)
    if form is None:
        return None
    rows, freedom, loop_ = form[0], float(_freedom(x.shape, dim, correction)), moments_rows.compiled(x.dtype)
    result = Operand(_ones_at(x.shape, dim) if keepdim else kept_shape(x.shape, dim), x.dtype)

    def run(items: np.ndarray) -> Any:
        variances, means = np.empty(rows), np.empty(rows)
        loop_(items.reshape(form), variances, means, freedom, 0, rows)
        if is_root:
            np.sqrt(variances, variances)
        found = variances.astype(x.dtype, copy=False)
        return (found, means.astype(x.dtype, copy=False)) if has_mean else found

    return Prepared(run, (result, result) if has_mean else (result,))


def _results(x: np.ndarray, dim: Axes, keepdim: bool, *found: np.ndarray) -> tuple[np.ndarray, ...]:
    return tuple(keep(f.astype(x.dtype, copy=False), x.shape, dim, keepdim) for f in found)


def _var_gradient(g, input, dim, correction):
    """The gradient of a variance; `g` has the reduced dimensions. Infinite or NaN without degrees of freedom."""
    freedom = _freedom(tuple(input.shape), dim, correction)
    return (2 / freedom if freedom else math.inf) * g * (input - mean_dim(input, dim=dim, keepdim=True))


@op(
    samples=_MOMENTS,
    reference=lambda x, dim, correction, keepdim: np.var(x, dim, ddof=correction, keepdims=keepdim),
)
def var(input, *, dim, correction, keepdim=False):
    """Variance over some dimensions: the sum of squared deviations from the mean, divided by their number less `correction`.

    inf or NaN where that divisor is not positive.
    """


@var.kernel("cpu")
def _(input: np.ndarray, dim: Axes, correction: float, keepdim: bool) -> np.ndarray:
    variance, _ = _variance(input, dim, correction)
    return _results(input, dim, keepdim, variance)[0]


@var.prepared
def _(x: Operand, dim: Axes, correction: float, keepdim: bool) -> Prepared | None:
    return _prepared(x, dim, correction, keepdim, is_root=False, has_mean=False)


@var.grad("input")
def _(g, input, dim, correction, keepdim):
    return _var_gradient(restore_dims(g, dim, keepdim), input, dim, correction)


def _scaled_deviation(g, input, mean, scale):  # a scalar function
    return scale * g * (input - mean)


@var.fused_backward("cpu")
def _(
    g: np.ndarray, input: np.ndarray, dim: Axes, correction: float, keepdim: bool, needs: tuple[bool, ...]
) -> tuple[np.ndarray]:
    return (_var_gradient_fused(g.reshape(_ones_at(input.shape, dim)), input, dim, correction),)


def _var_gradient_fused(g: np.ndarray, input: np.ndarray, dim: Axes, correction: float) -> np.ndarray:
    freedom = _freedom(input.shape, dim, correction)
    mean = mean_axes(input, dim).astype(input.dtype).reshape(_ones_at(input.shape, dim))
    return mapped(_scaled_deviation, g, input, mean, 2 / freedom if freedom else math.inf)


@op(
    samples=_MOMENTS,
    reference=lambda x, dim, correction, keepdim: np.std(x, dim, ddof=correction, keepdims=keepdim),
)
def std(input, *, dim, correction, keepdim=False):
    """Standard deviation over some dimensions, the root of `var`. Its gradient is 0 where it is 0."""


@std.kernel("cpu")
def _(input: np.ndarray, dim: Axes, correction: float, keepdim: bool) -> np.ndarray:
    variance, _ = _variance(input, dim, correction)
    return _results(input, dim, keepdim, np.sqrt(variance))[0]


@std.prepared
def _(x: Operand, dim: Axes, correction: float, keepdim: bool) -> Prepared | None:
    return _prepared(x, dim, correction, keepdim, is_root=True, has_mean=False)


@std.grad("input")
def _(g, input, out, dim, correction, keepdim):
    return _std_gradient(restore_dims(g, dim, keepdim), input, restore_dims(out, dim, keepdim), dim, correction)


def _std_gradient(g, input, out, dim, correction):
    return _var_gradient(g * (_reciprocal_or_zero(out) / 2), input, dim, correction)


@std.fused_backward("cpu")
def _(
    g: np.ndarray,
    input: np.ndarray,
    out: np.ndarray,
    dim: Axes,
    correction: float,
    keepdim: bool,
    needs: tuple[bool, ...],
) -> tuple[np.ndarray]:
    shape = _ones_at(input.shape, dim)
    g, out = g.reshape(shape), out.reshape(shape)
    half = np.divide(g, 2 * out, out=np.zeros_like(g), where=out != 0)
    return (_var_gradient_fused(half, input, dim, correction),)


@op(
    samples=_MOMENTS,
    reference=lambda x, dim, correction, keepdim: (
        np.var(x, dim, ddof=correction, keepdims=keepdim),
        np.mean(x, dim, keepdims=keepdim),
    ),
    outputs=2,
)
def var_mean(input, *, dim, correction, keepdim=False):
    """Variance and mean over some dimensions."""


@var_mean.kernel("cpu")
def _(input: np.ndarray, dim: Axes, correction: float, keepdim: bool) -> tuple[np.ndarray, ...]:
    return _results(input, dim, keepdim, *_variance(input, dim, correction))


@var_mean.prepared
def _(x: Operand, dim: Axes, correction: float, keepdim: bool) -> Prepared | None:
    return _prepared(x, dim, correction, keepdim, is_root=False, has_mean=True)


@var_mean.grad("input")
def _(g0, g1, input, dim, correction, keepdim):
    of_var = None if g0 is None else _var_gradient(restore_dims(g0, dim, keepdim), input, dim, correction)
    return _with_mean_gradient(of_var, g1, tuple(input.shape), dim, keepdim)


def _with_mean_gradient(found, g, shape, dim, keepdim):
    """The gradient of a first output (or None), and that of the mean, whose incoming gradient is `g` (or None)."""
    if g is None:
        return found
    count = math.prod(shape[d] for d in dim)
    of_mean = restore_dims(g, dim, keepdim).expand(shape) / count
    return of_mean if found is None else found + of_mean


@op(
    samples=_MOMENTS,
    reference=lambda x, dim, correction, keepdim: (
        np.std(x, dim, ddof=correction, keepdims=keepdim),
        np.mean(x, dim, keepdims=keepdim),
    ),
    outputs=2,
)
def std_mean(input, *, dim, correction, keepdim=False):
    """Standard deviation and mean over some dimensions."""


@std_mean.kernel("cpu")
def _(input: np.ndarray, dim: Axes, correction: float, keepdim: bool) -> tuple[np.ndarray, ...]:
    variance, mean = _variance(input, dim, correction)
    return _results(input, dim, keepdim, np.sqrt(variance), mean)


@std_mean.prepared
def _(x: Operand, dim: Axes, correction: float, keepdim: bool) -> Prepared | None:
    return _prepared(x, dim, correction, keepdim, is_root=True, has_mean=True)


@std_mean.grad("input")
def _(g0, g1, input, out0, dim, correction, keepdim):
    of_std = None
    if g0 is not None:
        of_std = _std_gradient(restore_dims(g0, dim, keepdim), input, restore_dims(out0, dim, keepdim), dim, correction)
    return _with_mean_gradient(of_std, g1, tuple(input.shape), dim, keepdim)


# ---------------------------------------------------------------------------------------------------- norms
@op(
    samples=[
        Sample(((3, 4),), {"ord": 2.0, "dim": (1,)}),
        Sample(((2, 3, 4),), {"ord": 3.0, "dim": (0, 2), "keepdim": True}),
        Sample(((3, 4),), {"ord": 1.0, "dim": (0, 1)}),
        Sample(((3, 4),), {"ord": 0.5, "dim": (0,)}),
        Sample(((3, 4),), {"ord": -1.5, "dim": (0,)}),
        Sample(((3, 4),), {"ord": math.inf, "dim": (1,), "keepdim": True}),
        Sample(((3, 4),), {"ord": -math.inf, "dim": (1,)}),
    ],
    reference=lambda x, ord, dim, keepdim: _norm_reference(x, ord, dim, keepdim),
    name="linalg_vector_norm",
)
def vector_norm(input, *, ord, dim, keepdim=False):
    """`sum(abs(x) ** ord) ** (1 / ord)` over some dimensions; the number of items that are not 0 for `ord` 0.

    For inf the largest magnitude, for -inf the smallest. The gradient is 0 where the norm is 0, and at items that are 0;
    equal largest (or smallest) ones share it.
    """


def _norm_reference(x: np.ndarray, ord: float, dim: Axes, keepdim: bool) -> np.ndarray:
    if math.isinf(ord):
        return (np.max if ord > 0 else np.min)(np.abs(x), dim, keepdims=keepdim)
    return np.sum(np.abs(x) ** ord, dim, keepdims=keepdim) ** (1 / ord)


@vector_norm.kernel("cpu")
def _(input: np.ndarray, ord: float, dim: Axes, keepdim: bool) -> np.ndarray:
    with np.errstate(divide="ignore", over="ignore"):
        return _results(input, dim, keepdim, np.asarray(_norm(input, ord, dim)))[0]


def _norm(x: np.ndarray, ord: float, dim: Axes) -> np.ndarray:
    if ord == 2:
        return np.sqrt(SQUARES.over(x, dim))
    if ord == 1:
        return MAGNITUDES.over(x, dim)
    if ord == 0:
        return COUNT.over(x, dim)
    if ord == math.inf:
        return np.maximum(MAXIMUM.values(x, dim), -MINIMUM.values(x, dim))
    if ord == -math.inf:
        return MINIMUM.values(np.abs(x), dim)
    return POWERS.over(x, dim, parameter=float(ord)) ** (1 / ord)


@vector_norm.prepared
def _(x: Operand, ord: float, dim: Axes, keepdim: bool) -> Prepared | None:
    squares = SQUARES.prepared(x, np.dtype(np.float64), dim, keepdim) if ord == 2 else None
    if squares is None:
        return None
    fold, (result,) = squares

    def run(items: np.ndarray) -> np.ndarray:
        total = fold(items)
        np.sqrt(total, total)
        found: np.ndarray = total.astype(x.dtype, copy=False)
        return found

    return Prepared(run, (Operand(result.shape, x.dtype),))


@vector_norm.grad("input")
def _(g, input, out, ord, dim, keepdim):
    if ord == 0:
        return None  # piecewise constant: PyTorch leaves `.grad` undefined
    g, out = restore_dims(g, dim, keepdim), restore_dims(out, dim, keepdim)
    if ord == 1:
        return g * sign(input)
    if math.isinf(ord):
        size = absolute(input)
        mask = (size == out) + (size != size)
        return sign(input) * (g / mask.sum(dim or None, keepdim=True) * mask)
    ratio = input * _reciprocal_or_zero(out)
    if ord == 2:
        return g * ratio
    zero = input == 0
    return g * (sign(input) * where(zero, 0, power(where(zero, 1, absolute(ratio)), ord - 1)))


def _gradient_of_1(g, input, out):  # scalar functions
    return g if input > 0 else -g if input < 0 else 0


def _gradient_of_2(g, input, out):
    return g * (input / out) if out != 0 else 0


def _gradient_of_power(g, input, out, ord):
    if input == 0 or out == 0:
        return 0
    ratio = input / out
    return g * abs(ratio) ** (ord - 1) * (1 if ratio >= 0 else -1)


@vector_norm.fused_backward("cpu")
def _(
    g: np.ndarray, input: np.ndarray, out: np.ndarray, ord: float, dim: Axes, keepdim: bool, needs: tuple[bool, ...]
) -> tuple[np.ndarray | None]:
    if ord == 0:
        return (None,)
    shape = _ones_at(input.shape, dim)
    g, out = g.reshape(shape), out.reshape(shape)
    if math.isinf(ord):
        size = np.abs(input)
        mask = (size == out) | (size != size)
        share = g / COUNT.over(mask, dim).reshape(shape).astype(g.dtype)
        return (mapped(_signed, share, input, mask.astype(g.dtype)),)
    if ord in (1, 2):
        return (mapped(_gradient_of_1 if ord == 1 else _gradient_of_2, g, input, out),)
    return (mapped(_gradient_of_power, g, input, out, float(ord)),)


def _signed(g, input, mask):  # a scalar function
    return (g if input > 0 else -g if input < 0 else 0) * mask


# ---------------------------------------------------------------------------------------------------- logsumexp
@op(
    samples=[Sample(((3, 4),), {"dim": (1,)}), Sample(((2, 3, 4),), {"dim": (0, 2), "keepdim": True})],
    reference=lambda x, dim, keepdim: np.log(np.sum(np.exp(x), dim, keepdims=keepdim)),
)
def logsumexp(input, *, dim, keepdim=False):
    """Logarithm of the sum of exponentials over some dimensions, without overflow.

    Of -inf alone, and of nothing, it is -inf; its gradient is then 0 (in PyTorch NaN).
    """


@logsumexp.kernel("cpu")
def _(input: np.ndarray, dim: Axes, keepdim: bool) -> np.ndarray:
    return keep(_log_sum_exp(input, dim), input.shape, dim, keepdim)


def _log_sum_exp(x: np.ndarray, axes: Axes) -> np.ndarray:
    largest = MAXIMUM.values(x, axes)
    shift = np.where(np.isfinite(largest), largest, x.dtype.type(0))
    with np.errstate(divide="ignore"):
        return (np.log(EXPONENTIALS.over(x, axes, shift)) + shift).astype(x.dtype, copy=False)


@logsumexp.grad("input")
def _(g, input, out, dim, keepdim):
    out = restore_dims(out, dim, keepdim)
    return restore_dims(g, dim, keepdim) * (input - where(out == -math.inf, 0, out)).exp()


def _weighted(g, input, out):  # a scalar function
    return 0 if out == -math.inf else g * math.exp(input - out)


@logsumexp.fused_backward("cpu")
def _(
    g: np.ndarray, input: np.ndarray, out: np.ndarray, dim: Axes, keepdim: bool, needs: tuple[bool, ...]
) -> tuple[np.ndarray]:
    shape = _ones_at(input.shape, dim)
    return (mapped(_weighted, g.reshape(shape), input, out.reshape(shape)),)
