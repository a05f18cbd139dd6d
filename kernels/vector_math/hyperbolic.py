"""tanh, sinh and cosh; asinh, acosh and atanh."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .exponential import make_exp, make_expm1_part
from .formats import FLOAT32, FLOAT64, Format, inlined, polynomial_of, two_sum
from .logarithm import make_log_of_sum

_SINH_POLYNOMIALS = {
    FLOAT32: (0.0002037220611, 0.008330283562, 0.1666671603),
    FLOAT64: (
        7.75874813410701244e-13,
        1.60572597938153386e-10,
        2.50521231363549833e-8,
        2.75573191570745243e-6,
        0.000198412698414318629,
        0.00833333333333314776,
        0.166666666666666674,
    ),
}
"""(sinh(x) / x - 1) / x**2 as a function of x**2, for abs(x) <= 1."""


def _make_tanh(form: Format) -> Any:
    """tanh(x) = y / (y + 2) with y = expm1(2 * x). Largest error seen: 1.77 ulp in float32, 1.59 in float64.

    Near 0, where the roundings of y, of y + 2 and of the quotient would add up, it is x + (y - 2 * x - x * y) / (y + 2).
    """
    real, expm1 = form.real, make_expm1_part(form, halvings=0)
    highest = real(math.log(2.0) * (form.mantissa_bits + 4))  # of 2 * x; from there on y + 2 is y, and the result 1
    small = real(1.0)  # of 2 * x
    zero, two = real(0.0), real(2.0)

    @inlined
    def tanh(x: Any) -> Any:
        a = abs(x)
        twice = a + a
        twice = highest if twice > highest else twice
        y = expm1(twice)
        is_small = twice < small
        top = (y - twice) - a * y if is_small else y
        return math.copysign((a if is_small else zero) + top / (y + two), x)

    return tanh


def _make_sinh(form: Format) -> Any:
    """sinh(x) = y - 1 / (4 * y) with y = exp(abs(x)) / 2; below 1 a polynomial.

    Largest error seen: 1.59 ulp in float32, 1.41 in float64.
    """
    real, half_exp, polynomial = form.real, make_exp(form, halvings=1), polynomial_of(_SINH_POLYNOMIALS[form])
    quarter, one = real(0.25), real(1.0)

    @inlined
    def sinh(x: Any) -> Any:
        a = abs(x)
        z = a * a
        y = half_exp(a)
        return math.copysign(a + a * z * polynomial(z) if a < one else y - quarter / y, x)

    return sinh


def _make_cosh(form: Format) -> Any:
    """cosh(x) = y + 1 / (4 * y) with y = exp(abs(x)) / 2.

    Largest error seen: 1.36 ulp in float32, 1.32 in float64.
    """
    half_exp, quarter = make_exp(form, halvings=1), form.real(0.25)

    @inlined
    def cosh(x: Any) -> Any:
        y = half_exp(abs(x))
        return y + quarter / y

    return cosh


def _make_asinh(form: Format) -> Any:
    """asinh(x) = log(1 + (a + a**2 / (1 + sqrt(1 + a**2)))) with a = abs(x), as fdlibm's s_asinh.c.

    For large a that is log(2 * a). Largest error seen: 1.22 ulp in float32, 1.02 in float64.
    """
    real, log_of_sum = form.real, make_log_of_sum(form)
    zero, one, infinity, ln2 = real(0.0), real(1.0), real(np.inf), real(math.log(2.0))
    large = real(2.0 ** (form.mantissa_bits // 2 + 2))

    @inlined
    def asinh(x: Any) -> Any:
        a = abs(x)
        square = a * a
        total, rest = two_sum(a, square / (one + math.sqrt(one + square)))
        w, c = two_sum(one, total)
        is_large = a > large
        y = log_of_sum(a if is_large else w, zero if is_large else c + rest) + (ln2 if is_large else zero)
        return math.copysign(y if a < infinity else a, x)

    return asinh


def _make_acosh(form: Format) -> Any:
    """acosh(x) = log(x + sqrt(t**2 + 2 * t)) with t = x - 1, for large x log(2 * x).

    Largest error seen: 1.60 ulp in float32, 1.51 in float64.
    """
    real, log_of_sum = form.real, make_log_of_sum(form)
    zero, one, infinity, nan, ln2 = real(0.0), real(1.0), real(np.inf), real(np.nan), real(math.log(2.0))
    large = real(2.0 ** (form.mantissa_bits // 2 + 2))

    @inlined
    def acosh(x: Any) -> Any:
        t = x - one
        w, c = two_sum(x, math.sqrt(t * t + (t + t)))
        is_large = x > large
        y = log_of_sum(x if is_large else w, zero if is_large else c) + (ln2 if is_large else zero)
        return y if (x >= one) & (x < infinity) else x if x > one else nan

    return acosh


def _make_atanh(form: Format) -> Any:
    """atanh(x) = log(1 + 2 * a / (1 - a)) / 2 with a = abs(x), as fdlibm's e_atanh.c.

    Largest error seen: 1.59 ulp in float32, 1.34 in float64.
    """
    real, log_of_sum = form.real, make_log_of_sum(form)
    half, one, infinity, nan = real(0.5), real(1.0), real(np.inf), real(np.nan)

    @inlined
    def atanh(x: Any) -> Any:
        a = abs(x)
        below_one = one - a
        lost = (one - below_one) - a
        u = (a + a) / below_one
        w, c = two_sum(one, u)
        y = half * log_of_sum(w, c - u * lost)
        return math.copysign(y if a < one else infinity if a == one else nan, x)

    return atanh


tanh_float32, tanh_float64 = _make_tanh(FLOAT32), _make_tanh(FLOAT64)
sinh_float32, sinh_float64 = _make_sinh(FLOAT32), _make_sinh(FLOAT64)
cosh_float32, cosh_float64 = _make_cosh(FLOAT32), _make_cosh(FLOAT64)
asinh_float32, asinh_float64 = _make_asinh(FLOAT32), _make_asinh(FLOAT64)
acosh_float32, acosh_float64 = _make_acosh(FLOAT32), _make_acosh(FLOAT64)
atanh_float32, atanh_float64 = _make_atanh(FLOAT32), _make_atanh(FLOAT64)
