"""exp."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .formats import FLOAT32, FLOAT64, Format, inlined, polynomial_of, power_of_two_of

_POLYNOMIALS = {
    FLOAT32: (0.001392617612, 0.008363173075, 0.04166655466, 0.1666657703, 0.5),
    FLOAT64: (
        2.5100375832561234e-8,
        2.7620075879983367e-7,
        2.7557268480310026e-6,
        2.4801521322368693e-5,
        0.00019841269863040545,
        0.0013888888917196719,
        0.0083333333333300644,
        0.041666666666624162,
        0.16666666666666667,
        0.5,
    ),
}
"""(exp(r) - 1 - r) / r**2 for abs(r) <= ln(2) / 2, highest power first."""


def _make_exp(form: Format) -> Any:
    """exp(x) = 2**n * exp(r), where n = round(x / ln 2) and r = x - n * ln 2."""
    real, info = form.real, np.finfo(form.real)  # type: ignore[call-overload]
    polynomial, power_of_two = polynomial_of(_POLYNOMIALS[form]), power_of_two_of(form.mantissa_bits)
    # Beyond these bounds the result is exactly 0 or inf, and the scaling below says so: exp(lowest) is under half the
    # smallest subnormal, exp(highest) above the largest number.
    lowest = real(math.log(2.0) * (info.minexp - form.mantissa_bits - 2))
    highest = real(math.log(2.0) * (info.maxexp + 0.5))
    one, half, log2_e = real(1.0), real(0.5), real(1.4426950408889634)
    ln2_high, ln2_low = real(form.ln2_high), real(form.ln2_low)
    # Adding 1.5 * 2**mantissa_bits rounds to an integer, ties to even, and leaves that integer in the lowest bits.
    # With the bias added as well, those bits are the exponent field of 2**n. NaN needs no float-to-int conversion.
    rounder = real(1.5 * 2**form.mantissa_bits)
    biased_rounder = real(1.5 * 2**form.mantissa_bits + form.exponent_bias)

    @inlined
    def exp(x: Any) -> Any:
        x = lowest if x < lowest else x
        x = highest if x > highest else x
        n = (x * log2_e + rounder) - rounder
        r = (x - n * ln2_high) - n * ln2_low
        y = one + (r + r * r * polynomial(r))
        # 2**n in two factors: n may be too large or too small for one, and only the last product may round.
        first = n * half + biased_rounder
        second = (n - (first - biased_rounder)) + biased_rounder
        return y * power_of_two(first) * power_of_two(second)

    return exp


exp_float32 = _make_exp(FLOAT32)
exp_float64 = _make_exp(FLOAT64)
