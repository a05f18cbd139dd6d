"""log, log2, log10, log1p and softplus."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .exponential import exp_float32, exp_float64
from .formats import FLOAT32, FLOAT64, Format, inlined, polynomial_of, power_of_two_of, split_of

_POLYNOMIALS = {
    FLOAT32: (0.2987174211, 0.3997754093, 0.6666677639),
    FLOAT64: (
        0.147959476877068602,
        0.153140507149017637,
        0.181835643219197128,
        0.222221985732058078,
        0.285714287423882627,
        0.399999999994146694,
        0.666666666666673442,
    ),
}
"""(2 * atanh(s) / s - 2) / s**2 as a function of s**2, for abs(s) <= (sqrt(2) - 1) / (sqrt(2) + 1)."""

_WIDE_POLYNOMIALS = {
    FLOAT32: (0.2685149802, 0.2823661981, 0.4000756064, 0.6666664034),
    FLOAT64: (
        0.161640456119435322,
        0.0880073848614467388,
        0.120010728095907125,
        0.133141442096549362,
        0.153855700649586231,
        0.181817894361328582,
        0.22222222717427863,
        0.285714285671087572,
        0.400000000000145827,
        0.666666666666666586,
    ),
}
"""The same for abs(s) <= 1/3."""

_LOG10_2 = {FLOAT32: (0.301025390625, 4.605038981195214e-6), FLOAT64: (0.3010299956640665, -8.532344317057107e-14)}
"""log10(2) in two parts, the first with enough trailing zero bits that its product with any exponent is exact."""


def make_tail(form: Format, polynomials: dict[Format, tuple[float, ...]] = _POLYNOMIALS) -> Any:
    """f - log(1 + f) for 1 + f in [sqrt(1/2), sqrt(2)), by the atanh series in s = f / (2 + f), as fdlibm's e_log.c.

    With `_WIDE_POLYNOMIALS` it is for 1 + f in [1/2, 2].

    log(1 + f) = 2 * s + ... and 2 * s = f - s * f, which keeps the rounding of the division out of the leading term.
    """
    polynomial, two = polynomial_of(polynomials[form]), form.real(2.0)

    @inlined
    def tail(f: Any) -> Any:
        s = f / (two + f)
        z = s * s
        return s * (f - z * polynomial(z))

    return tail


def _make_ending(form: Format, edge: float) -> Any:
    """What x makes of a logarithm y with its pole at `edge`: -inf there, NaN to the left, inf and NaN as x is."""
    edge, infinity, nan = form.real(edge), form.real(np.inf), form.real(np.nan)

    @inlined
    def ending(x: Any, y: Any) -> Any:
        special = x if x > edge else -infinity if x == edge else nan
        return y if (x > edge) & (x < infinity) else special

    return ending


def make_split(form: Format) -> Any:
    """m and e of x = m * 2**e as `split_of` gives them, for subnormals too."""
    real, split = form.real, split_of(form)
    smallest_normal = np.finfo(real).smallest_normal  # type: ignore[call-overload]
    rescale, rescaled_exponent = real(2.0 ** (form.mantissa_bits + 1)), real(form.mantissa_bits + 1)

    @inlined
    def split_any(x: Any) -> Any:
        is_subnormal = x < smallest_normal
        m, e = split(x * rescale if is_subnormal else x)
        return m, e - rescaled_exponent if is_subnormal else e

    return split_any


def _make_log(form: Format) -> Any:
    """log(2**e * (1 + f)) = e * ln 2 + f - tail(f). Largest error seen: 0.96 ulp in float32, 0.89 in float64."""
    split, tail, ending = make_split(form), make_tail(form), _make_ending(form, 0.0)
    ln2_high, ln2_low, one = form.real(form.ln2_high), form.real(form.ln2_low), form.real(1.0)

    @inlined
    def log(x: Any) -> Any:
        m, e = split(x)
        f = m - one
        return ending(x, e * ln2_high - ((tail(f) - e * ln2_low) - f))

    return log


def _make_log2(form: Format) -> Any:
    """log2(2**e * (1 + f)) = e + (f - tail(f)) / ln 2; powers of 2 are exact.

    Largest error seen: 1.45 ulp in float32, 1.31 in float64.
    """
    split, tail, ending = make_split(form), make_tail(form), _make_ending(form, 0.0)
    log2_e, log2_e_less_one, one = form.real(1.4426950408889634), form.real(0.44269504088896341), form.real(1.0)

    @inlined
    def log2(x: Any) -> Any:
        m, e = split(x)
        f = m - one
        # f / ln 2 is f and a smaller part, so that its rounding is small as well
        return ending(x, e - ((tail(f) * log2_e - f * log2_e_less_one) - f))

    return log2


def _make_log10(form: Format) -> Any:
    """log10(2**e * (1 + f)) = e * log10(2) + (f - tail(f)) / ln 10.

    Largest error seen: 1.16 ulp in float32, 0.95 in float64.
    """
    split, tail, ending = make_split(form), make_tail(form), _make_ending(form, 0.0)
    log10_e, half_less_log10_e, half = form.real(0.43429448190325183), form.real(0.065705518096748172), form.real(0.5)
    (log10_2_high, log10_2_low), one = map(form.real, _LOG10_2[form]), form.real(1.0)

    @inlined
    def log10(x: Any) -> Any:
        m, e = split(x)
        f = m - one
        # f / ln 10 is half of f and a much smaller part, so that its rounding is small as well
        low = tail(f) * log10_e + (f * half_less_log10_e - e * log10_2_low)
        return ending(x, e * log10_2_high - (low - f * half))

    return log10


def make_log_of_sum(form: Format) -> Any:
    """log(w + c) for a positive normal w and a correction c below its last place.

    The correction joins f = w / 2**e - 1, where the leading 1 has left room for it (fdlibm's s_log1p.c adds c / w to
    the result, which is one more division).
    """
    real, split, tail = form.real, split_of(form), make_tail(form)
    power_of_two = power_of_two_of(form.mantissa_bits)
    ln2_high, ln2_low, one = real(form.ln2_high), real(form.ln2_low), real(1.0)
    # 2**-e is subnormal for the largest w, so it is made 2**64 times as large.
    rounder, unscale = real(1.5 * 2**form.mantissa_bits + form.exponent_bias + 64), real(2.0**-64)

    @inlined
    def log_of_sum(w: Any, c: Any) -> Any:
        m, e = split(w)
        c = c * power_of_two(rounder - e) * unscale
        f = (m - one) + c
        lost = c - (f - (m - one))  # counts where f is not small, beside ln 2
        return e * ln2_high - ((tail(f) - (e * ln2_low + lost)) - f)

    return log_of_sum


def _make_log1p(form: Format) -> Any:
    """log(1 + x), where what rounding took from 1 + x is the correction.

    Largest error seen: 1.01 ulp in float32, 0.92 in float64.
    """
    log_of_sum, ending = make_log_of_sum(form), _make_ending(form, -1.0)
    one = form.real(1.0)

    @inlined
    def log1p(x: Any) -> Any:
        w = one + x
        c = x - (w - one)  # what rounding took from w, for abs(x) < 1; for larger x near it, and it matters less
        return math.copysign(ending(x, log_of_sum(w, c)), x)  # -0 gives -0

    return log1p


def _make_softplus(form: Format, exp: Any) -> Any:
    """log(1 + exp(x)) = max(x, 0) + log(1 + e) with e = exp(-abs(x)), by log(1 + e) = e - tail(e).

    1 + e is in [1, 2]: there is no exponent to take apart, and nothing special.
    Largest error seen: 1.86 ulp in float32, 1.45 in float64; 2.1 where multiply-adds are not fused.
    """
    tail, zero = make_tail(form, _WIDE_POLYNOMIALS), form.real(0.0)

    @inlined
    def softplus(x: Any) -> Any:
        e = exp(-abs(x))
        return (x if x > zero else zero) + (e - tail(e))

    return softplus


log_float32, log_float64 = _make_log(FLOAT32), _make_log(FLOAT64)
log2_float32, log2_float64 = _make_log2(FLOAT32), _make_log2(FLOAT64)
log10_float32, log10_float64 = _make_log10(FLOAT32), _make_log10(FLOAT64)
log1p_float32, log1p_float64 = _make_log1p(FLOAT32), _make_log1p(FLOAT64)
softplus_float32, softplus_float64 = _make_softplus(FLOAT32, exp_float32), _make_softplus(FLOAT64, exp_float64)
