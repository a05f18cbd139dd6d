"""asin, acos, atan, atan2.

Measured errors, in ulp: float32, all arguments, asin 1.31, acos 1.12, atan 1.52, and atan2 1.61 in samples of 6 million;
float64, samples of 6 to 18 million, asin 1.31, acos 1.13, atan 1.62, atan2 1.60. With and without fused multiply-adds.
"""

from __future__ import annotations

import math
from typing import Any

from .formats import FLOAT32, FLOAT64, Format, inlined, polynomial_of

_ARCSINES = {
    FLOAT32: (0.0336908472, 0.01714923836, 0.03110066274, 0.04459940153, 0.07500094543, 0.1666666634),
    FLOAT64: (
        0.028757851367423374,
        -0.014851887071250021,
        0.017400879442695954,
        0.005457506718639592,
        0.010322814350185974,
        0.011479177415184873,
        0.013971212973552936,
        0.017352392720869973,
        0.02237217294214989,
        0.030381944138531247,
        0.04464285714635543,
        0.07499999999998433,
        0.16666666666666669,
    ),
}
"""(asin(s) / s - 1) / s**2 as a function of s**2, for abs(s) <= 1/2."""

_ARCTANGENTS = {
    FLOAT32: (
        -0.002386997317,
        0.01350777143,
        -0.03587153898,
        0.06250169445,
        -0.0865688043,
        0.1103376412,
        -0.1427856875,
        0.1999973933,
        -0.3333333173,
    ),
    FLOAT64: (
        1.8061954618610735e-05,
        -0.00019996189377899997,
        0.0010496035084967888,
        -0.0034958859739161363,
        0.008368931178449834,
        -0.015535152475413724,
        0.023696731580048157,
        -0.03127718906699602,
        0.03749486812535225,
        -0.04260356632601642,
        0.04737749579527775,
        -0.0525797333428411,
        0.05881506877793656,
        -0.06666564699289104,
        0.07692298971033217,
        -0.09090908590891934,
        0.11111111093490827,
        -0.14285714285384132,
        0.1999999999999753,
        -0.3333333333333333,
    ),
}
"""(atan(t) / t - 1) / t**2 as a function of t**2, for abs(t) <= 1."""

_HALF_PI_LOW = 6.123233995736766e-17
"""pi / 2 - math.pi / 2."""


def _half_pi_of(form: Format) -> tuple[Any, Any]:
    """pi / 2 as a number of the format and what that lacks."""
    high = form.real(math.pi / 2)
    return high, form.real((math.pi / 2 - float(high)) + _HALF_PI_LOW)


def _make_arcsine(form: Format) -> tuple[Any, Any]:
    """Up to 1/2 a polynomial; above, asin(a) = pi / 2 - 2 * asin(sqrt((1 - a) / 2)), and acos from the same parts."""
    real, polynomial = form.real, polynomial_of(_ARCSINES[form])
    half_pi, half_pi_low = _half_pi_of(form)
    zero, half, one, two = real(0.0), real(0.5), real(1.0), real(2.0)
    quarter_pi = half * half_pi

    @inlined
    def parts(x: Any) -> Any:
        """(is_near, s, rest): s + rest is asin(abs(x)) if is_near, else asin(sqrt((1 - abs(x)) / 2))."""
        a = abs(x)
        is_near = a <= half
        z = a * a if is_near else (one - a) * half
        s = a if is_near else math.sqrt(z)
        return is_near, s, s * (z * polynomial(z))

    @inlined
    def asin(x: Any) -> Any:
        is_near, s, rest = parts(x)
        # pi / 2 in two halves: the first difference is exact where the result is small. At 1 their sum would not be.
        far = quarter_pi + ((quarter_pi - two * s) - (two * rest - half_pi_low))
        y = s + rest if is_near else (half_pi if s == zero else far)
        return math.copysign(y, x)

    @inlined
    def acos(x: Any) -> Any:
        is_near, s, rest = parts(x)
        twice = two * (s + rest)
        outer = (two * half_pi) - (twice - two * half_pi_low) if x < zero else twice
        y = math.copysign(s + rest, x)
        return half_pi - (y - half_pi_low) if is_near else outer

    return asin, acos


def _make_arctangent(form: Format) -> tuple[Any, Any]:
    """atan(t) = pi / 2 - atan(1 / t) brings abs(t) below 1; one polynomial serves there."""
    real, polynomial = form.real, polynomial_of(_ARCTANGENTS[form])
    half_pi, half_pi_low = _half_pi_of(form)
    zero, one, two = real(0.0), real(1.0), real(2.0)

    @inlined
    def atan(x: Any) -> Any:
        a = abs(x)
        is_steep = a > one
        t = -one / a if is_steep else a
        z = t * t
        rest = t * (z * polynomial(z))
        y = (half_pi + t) + (rest + half_pi_low) if is_steep else t + rest
        return math.copysign(y, x)

    @inlined
    def atan2(y: Any, x: Any) -> Any:
        a, b = abs(x), abs(y)
        is_left, is_steep = math.copysign(one, x) < zero, b > a
        top, bottom = (a, b) if is_steep else (b, a)
        t = top / bottom
        t = one if top == bottom else t  # inf / inf
        t = top if bottom == zero else t  # 0 / 0, or NaN
        t = -t if is_left != is_steep else t
        turns = one if is_steep else (two if is_left else zero)
        z = t * t
        rest = t * (z * polynomial(z))
        return math.copysign((turns * half_pi + t) + (rest + turns * half_pi_low), y)

    return atan, atan2


asin_float32, acos_float32 = _make_arcsine(FLOAT32)
asin_float64, acos_float64 = _make_arcsine(FLOAT64)
atan_float32, atan2_float32 = _make_arctangent(FLOAT32)
atan_float64, atan2_float64 = _make_arctangent(FLOAT64)
