"""exp, exp2, expm1 and sigmoid."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .formats import (
    FLOAT32,
    FLOAT64,
    Format,
    clamped_to,
    exponent_lowered_by,
    inlined,
    polynomial_of,
    power_of_two_of,
    two_powers_of,
)

POLYNOMIALS = {
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

EXP2_POLYNOMIALS = {
    FLOAT32: (0.0001535335791, 0.001339887448, 0.009618437372, 0.05550332471, 0.2402264791, 0.6931472029),
    FLOAT64: (
        4.43477289959337077e-10,
        7.07378341166456642e-9,
        1.0178199560931408e-7,
        1.3215435281266406e-6,
        0.0000152527334931545941,
        0.000154035304571144415,
        0.00133335581467745907,
        0.0096181291075941179,
        0.0555041086648200834,
        0.240226506959101313,
        0.693147180559945326,
    ),
}
"""(2**r - 1) / r for abs(r) <= 1 / 2."""

_COTH_POLYNOMIALS = {
    FLOAT32: (-0.0051639484899695062, 0.20512805759839696, 1.625),
    FLOAT64: (
        2.6851737773542165e-7,
        -7.0731986682210724e-6,
        0.00018678042150769224,
        -0.0051787791432357962,
        0.20512820512820506,
        1.625,
    ),
}
"""r / tanh(8 / 13 * r) as a function of r**2, for abs(r) <= 13 / 16 * ln(2) / 2."""


def rounder_of(form: Format, offset: int) -> Any:
    """The number that rounds by being added: 1.5 * 2**mantissa_bits, and an offset.

    `t = x + rounder` is x + offset rounded to an integer, ties to even (if the rounder is even), and leaves that
    integer in the lowest bits of t; `t - rounder` is round(x). No float is converted to an integer, so NaN is nothing
    special.
    """
    return form.real(1.5 * 2**form.mantissa_bits + offset)


def make_exp(form: Format, halvings: int = 0) -> Any:
    """exp(x) / 2**halvings, by exp(x) = 2**n * exp(r) with n = round(x / ln 2) and r = x - n * ln 2.

    ln 2 is in two parts (W. J. Cody and W. Waite, Software Manual for the Elementary Functions, 1980). The division
    by 2**halvings costs nothing and overflows as late as its result. Largest error seen: 0.95 ulp in float32 (of all
    numbers), 1.00 in float64 (of 150,000).
    """
    real, info = form.real, np.finfo(form.real)  # type: ignore[call-overload]
    polynomial, two_powers = polynomial_of((*POLYNOMIALS[form], 1.0, 1.0)), two_powers_of(form)
    # Beyond these bounds the result is exactly 0 or inf, and the scaling below says so: exp(lowest) is under half the
    # smallest subnormal, exp(highest) above the largest number.
    lowest = real(math.log(2.0) * (info.minexp - form.mantissa_bits - 2 + halvings))
    highest = real(math.log(2.0) * (info.maxexp + 0.5 + halvings))
    clamped = clamped_to(lowest, highest)
    log2_e, rounder = real(1.4426950408889634), rounder_of(form, 2 * form.exponent_bias - halvings)
    ln2_high, ln2_low = real(form.ln2_high), real(form.ln2_low)

    @inlined
    def exp(x: Any) -> Any:
        x = clamped(x)
        t = x * log2_e + rounder
        n = t - rounder
        r = (x - n * ln2_high) - n * ln2_low
        first, second = two_powers(t)
        return polynomial(r) * first * second

    return exp


def _make_exp2(form: Format) -> Any:
    """2**x = 2**n * 2**r with n = round(x). Integers are exact. Largest error seen: 0.95 ulp in float32, 1.00 in float64."""
    info = np.finfo(form.real)  # type: ignore[call-overload]
    polynomial, two_powers = polynomial_of((*EXP2_POLYNOMIALS[form], 1.0)), two_powers_of(form)
    clamped = clamped_to(info.minexp - form.mantissa_bits - 2, info.maxexp + 0.5)
    rounder = rounder_of(form, 2 * form.exponent_bias)

    @inlined
    def exp2(x: Any) -> Any:
        x = clamped(x)
        t = x + rounder
        first, second = two_powers(t)
        return polynomial(x - (t - rounder)) * first * second

    return exp2


def make_expm1_part(form: Format, halvings: int) -> Any:
    """expm1(x) / 2**halvings where 2**(round(x / ln 2) - halvings) is a normal number; -0 becomes 0.

    2**n * exp(r) - 1 = 2**n * (exp(r) - 1) + (2**n - 1), reduced as in `make_exp`. The difference in parentheses is
    exact up to n = mantissa_bits; beyond, it loses less than the sum does.
    """
    real = form.real
    polynomial, power_of_two = polynomial_of(POLYNOMIALS[form]), power_of_two_of(form.mantissa_bits)
    log2_e, rounder = real(1.4426950408889634), rounder_of(form, form.exponent_bias - halvings)
    ln2_high, ln2_low, one = real(form.ln2_high), real(form.ln2_low), real(2.0**-halvings)

    @inlined
    def expm1_part(x: Any) -> Any:
        t = x * log2_e + rounder
        n = t - rounder
        r = (x - n * ln2_high) - n * ln2_low
        scale = power_of_two(t)
        return scale * (r + r * r * polynomial(r)) + (scale - one)

    return expm1_part


def _make_expm1(form: Format) -> Any:
    """exp(x) - 1: `make_expm1_part`, halved so that it does not overflow early.

    Largest error seen: 1.63 ulp in float32, 1.74 in float64.
    """
    real, info = form.real, np.finfo(form.real)  # type: ignore[call-overload]
    half_expm1 = make_expm1_part(form, halvings=1)
    lowest = real(-math.log(2.0) * (form.mantissa_bits + 3))  # the result is -1 from here down
    clamped, two = clamped_to(lowest, real(math.log(2.0) * (info.maxexp + 0.25))), real(2.0)
    smallest = real(info.epsneg / 2)  # below, expm1(x) is x

    @inlined
    def expm1(x: Any) -> Any:
        y = two * half_expm1(clamped(x))
        return x if abs(x) < smallest else y

    return expm1


def _make_sigmoid(form: Format) -> Any:
    """1 / (1 + exp(-x)) = a / (a + k * b), with exp(-x) = k * b / a, k = 2**n and b / a = exp(-r) = (c - r) / (c + r).

    c = r / tanh(r / 2) is even, so that its polynomial has a third of exp's terms, and there is a division anyway
    (fdlibm's e_exp.c has this quotient). a, b, c and r are 13/16 as large as said so far, which keeps a and b clear of 2,
    where the last place grows; and b is made from a, so that both have the rounding of a. Without the one or the other
    errors reach 2.4 ulp.

    Before the division a and k are 2**-shift as large: k does not overflow, and the result is rounded once where it is
    subnormal. Largest error seen: 1.94 ulp in float32 (of all numbers), 1.69 in float64 (of 60,000).
    """
    real, info = form.real, np.finfo(form.real)  # type: ignore[call-overload]
    lowest = real(math.log(2.0) * (info.minexp - form.mantissa_bits - 2))  # the result rounds to 0
    highest = real(math.log(2.0) * (form.mantissa_bits + 3))  # and to 1
    clamped = clamped_to(lowest, highest)
    shift = (form.exponent_bias + 1) // 2
    log2_e, rounder = real(1.4426950408889634), rounder_of(form, form.exponent_bias - shift)
    scale, ln2_high, scaled_ln2_low = real(0.8125), real(form.ln2_high), real(0.8125 * form.ln2_low)
    polynomial, power_of_two = polynomial_of(_COTH_POLYNOMIALS[form]), power_of_two_of(form.mantissa_bits)
    lowered = exponent_lowered_by(form, shift)

    @inlined
    def sigmoid(x: Any) -> Any:
        x = clamped(x)
        t = rounder - x * log2_e
        n = t - rounder
        r = scale * (x + n * ln2_high) + n * scaled_ln2_low
        a = polynomial(r * r) + r
        b = a - (r + r)
        a = lowered(a)
        return a / (a + power_of_two(t) * b)

    return sigmoid


exp_float32, exp_float64 = make_exp(FLOAT32), make_exp(FLOAT64)
exp2_float32, exp2_float64 = _make_exp2(FLOAT32), _make_exp2(FLOAT64)
expm1_float32, expm1_float64 = _make_expm1(FLOAT32), _make_expm1(FLOAT64)
sigmoid_float32, sigmoid_float64 = _make_sigmoid(FLOAT32), _make_sigmoid(FLOAT64)
