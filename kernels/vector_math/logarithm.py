"""log."""

from __future__ import annotations

from typing import Any

import numpy as np

from .formats import FLOAT32, FLOAT64, Format, inlined, polynomial_of, split_of

_POLYNOMIALS = {
    FLOAT32: (0.2957994939, 0.3998878057, 0.6666668504),
    FLOAT64: (
        0.14616449685043406,
        0.15331721600556041,
        0.18182889125261722,
        0.2222221113479508,
        0.28571428625975485,
        0.39999999999899504,
        0.66666666666666697,
    ),
}
"""(2 * atanh(s) / s - 2) / s**2 as a function of s**2, for abs(s) <= (sqrt(2) - 1) / (sqrt(2) + 1)."""


def _make_log(form: Format) -> Any:
    """log(m * 2**e) = e * ln 2 + log(1 + f), f = m - 1, by the atanh series in s = f / (2 + f), as fdlibm's e_log.c."""
    real, info = form.real, np.finfo(form.real)  # type: ignore[call-overload]
    polynomial, split = polynomial_of(_POLYNOMIALS[form]), split_of(form)
    smallest_normal = info.smallest_normal
    rescale_bits = form.mantissa_bits + 1
    rescale, rescaled_exponent = real(2.0**rescale_bits), real(rescale_bits)
    zero, half, one, two = real(0.0), real(0.5), real(1.0), real(2.0)
    infinity, nan = real(np.inf), real(np.nan)
    ln2_high, ln2_low = real(form.ln2_high), real(form.ln2_low)

    @inlined
    def log(x: Any) -> Any:
        is_subnormal = x < smallest_normal
        m, e = split(x * rescale if is_subnormal else x)
        e = e - rescaled_exponent if is_subnormal else e
        f = m - one
        s = f / (two + f)
        z = s * s
        half_square = half * f * f
        # 2 * s = f - s * f keeps the rounding of the division out of the leading term.
        y = e * ln2_high - ((half_square - (s * (half_square + z * polynomial(z)) + e * ln2_low)) - f)
        y = y if x < infinity else x  # inf and NaN
        y = -infinity if x == zero else y
        return nan if x < zero else y

    return log


log_float32 = _make_log(FLOAT32)
log_float64 = _make_log(FLOAT64)
