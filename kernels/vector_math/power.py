"""pow and cbrt. (rsqrt is `1 / math.sqrt(x)`: the square root has packed instructions of its own.)"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba.extending import intrinsic

from .exponential import EXP2_POLYNOMIALS, rounder_of
from .formats import (
    FLOAT32,
    FLOAT64,
    Format,
    clamped_to,
    inlined,
    integer_type,
    polynomial_of,
    power_of_two_of,
    split_of,
    two_powers_of,
)
from .logarithm import make_split

_LOG2_POLYNOMIAL = (
    0.34073835510509646,
    0.41167221829441748,
    0.57708359445213742,
    0.96179667328435028,
    2.8853900817901404,
)
"""2 * atanh(s) / (s * ln 2) as a function of s**2, abs(s) <= (sqrt(2) - 1) / (sqrt(2) + 1), to 2**-37 of its value."""

_CUBIC_REST = (
    0.19794328576716491,
    0.198852433192576211,
    0.230801353284691145,
    0.272726765640080211,
    0.333333337797473926,
    0.428571428551500315,
    0.600000000000033829,
)
"""(3 * atanh(s) / s - 3 - s**2) / s**4 as a function of s**2, in the same range."""

_RECIPROCAL_CUBE_ROOT = {
    FLOAT32: (0.1283683093, -0.7023823098, 1.561299968, -1.861827827, 1.87451844),
    FLOAT64: (-0.1080639472, 0.7007370383, -1.898127353, 2.792204406, -2.485916139, 1.999169842),
}
"""m**(-1/3) for m in [sqrt(1/2), sqrt(2)), to 2**-14 and 2**-17 of its value."""


def _high_half_of(form: Format) -> Any:
    """Intrinsic that cuts a number to half of its bits, so that the product of two such is exact."""

    @intrinsic
    def high_half(typingctx: Any, x: Any) -> Any:
        def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
            (value,) = args
            bits = builder.bitcast(value, integer_type(value))
            kept = ir.Constant(bits.type, -(1 << (form.mantissa_bits // 2 + 1)))
            return builder.bitcast(builder.and_(bits, kept), value.type)

        return x(x), codegen

    return high_half


def _signed_if_odd_of() -> Any:
    """Intrinsic that gives a magnitude the sign of the second argument if the lowest bit of the third is set."""

    @intrinsic
    def signed_if_odd(typingctx: Any, magnitude: Any, sign: Any, holder: Any) -> Any:
        def codegen(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
            integer = integer_type(args[0])
            magnitude_bits, sign_bits, holder_bits = (builder.bitcast(arg, integer) for arg in args)
            parity = builder.shl(holder_bits, ir.Constant(integer, integer.width - 1))
            signed = builder.or_(magnitude_bits, builder.and_(parity, sign_bits))
            return builder.bitcast(signed, args[0].type)

        return magnitude(magnitude, sign, holder), codegen

    return signed_if_odd


def _make_ending(form: Format) -> Any:
    """x**y from abs(x)**y as it is for abs(x) not 0, infinite or NaN: Annex F.9.4.4 of C99."""
    real = form.real
    zero, one, infinity, nan = real(0.0), real(1.0), real(np.inf), real(np.nan)
    signed_if_odd = _signed_if_odd_of()
    holder, even = real(2.0**form.mantissa_bits), real(2.0 ** (form.mantissa_bits + 1))

    @inlined
    def ending(x: Any, y: Any, power: Any) -> Any:
        a, b = abs(x), abs(y)
        grows = (a > one) == (y > zero)
        power = (infinity if grows else zero) if (a == zero) | (a == infinity) else power
        # Adding 2**mantissa_bits rounds to an integer and leaves that integer in the lowest bits. Numbers from there on
        # are integers, from twice that on even ones.
        b = even if b > even else b
        b = b - holder if b >= holder else b
        held = b + holder
        is_integer = held - holder == b
        power = signed_if_odd(power, x, held if is_integer else zero)
        is_complex = (x < zero) & (a < infinity) & (not is_integer)
        power = nan if is_complex | (x != x) | (y != y) else power
        return one if (x == one) | (y == zero) else power

    return ending


def _make_pow_float32() -> Any:
    """x**y = 2**(y * log2(abs(x))) in float64, which has the 8 more bits that log2 needs and any exponent as normal.

    Largest error seen: 0.54 ulp (of 8 million pairs).
    """
    split, power_of_two = split_of(FLOAT64), power_of_two_of(FLOAT64.mantissa_bits)
    log2, exp2 = polynomial_of(_LOG2_POLYNOMIAL), polynomial_of((*EXP2_POLYNOMIALS[FLOAT32], 1.0))
    ending, rounder, one = _make_ending(FLOAT32), rounder_of(FLOAT64, FLOAT64.exponent_bias), 1.0
    largest = float(np.finfo(np.float32).max)  # does for infinity, and 0 times it is 0
    limited = clamped_to(-largest, largest)
    clamped = clamped_to(-151.0, 129.0)  # from there on the result rounds to 0 or inf

    @inlined
    def pow(x: Any, y: Any) -> Any:
        m, e = split(np.float64(abs(x)))
        s = (m - one) / (m + one)
        factor = limited(y)
        exponent = clamped(np.float64(factor) * (e + s * log2(s * s)))
        t = exponent + rounder
        return ending(x, y, np.float32(exp2(exponent - (t - rounder)) * power_of_two(t)))

    return pow


def _make_pow_float64() -> Any:
    """x**y = 2**(y * log2(abs(x))), the logarithm as a sum of two float64, as in fdlibm's e_pow.c.

    Every product of two cut numbers is exact, so it does not matter whether it is fused with the sum it goes into.
    Largest error seen: 1.03 ulp (of 50,000 pairs); up to 4 are allowed.
    """
    split, two_powers, ending = make_split(FLOAT64), two_powers_of(FLOAT64), _make_ending(FLOAT64)
    rest, exp2 = polynomial_of(_CUBIC_REST), polynomial_of((*EXP2_POLYNOMIALS[FLOAT64], 1.0))
    rounder, one, three = rounder_of(FLOAT64, 2 * FLOAT64.exponent_bias), 1.0, 3.0
    scale = 0.96179669392597560491  # 2 / (3 ln 2), the sum of the next two
    scale_high, scale_low = 0.96179668605327606201, 7.872699542894897704e-9
    high_half = _high_half_of(FLOAT64)
    clamped = clamped_to(-1080.0, 1026.0)  # from there on the result rounds to 0 or inf
    limited = clamped_to(-(2.0**80), 2.0**80)  # that decides by far: abs(log2(x)) is 0 or at least 2**-53
    remainder = clamped_to(-1.0, 1.0)  # for where the exponent had to be limited

    @inlined
    def log2(a: Any) -> Any:
        m, e = split(a)
        f = m - one
        inverse = one / (m + one)
        s = f * inverse
        s_high, bottom_high = high_half(s), high_half(m + one)
        s_low = inverse * ((f - s_high * bottom_high) - s_high * (m - (bottom_high - one)))
        # log2(m) = scale * s * (3 + s**2 + s**4 * rest)
        square = s_high * s_high
        z = s * s
        small = z * z * rest(z) + s_low * (s_high + s)
        cubic_high = high_half(three + square + small)
        cubic_low = small - ((cubic_high - three) - square)
        first = s_high * cubic_high
        second = s_low * cubic_high + cubic_low * s
        product_high = high_half(first + second)
        product_low = second - (product_high - first)
        first = scale_high * product_high
        second = scale_low * product_high + product_low * scale
        high = high_half((first + second) + e)
        return high, second - ((high - e) - first)

    @inlined
    def pow(x: Any, y: Any) -> Any:
        log_high, log_low = log2(abs(x))
        factor = limited(y)
        factor_high = high_half(factor)
        exponent_high = factor_high * log_high
        exponent_low = (factor - factor_high) * log_high + factor * log_low
        exponent = clamped(exponent_high + exponent_low)
        t = exponent + rounder
        r = remainder((exponent_high - (t - rounder)) + exponent_low)
        first, second = two_powers(t)
        return ending(x, y, exp2(r) * first * second)

    return pow


def _make_cbrt(form: Format) -> Any:
    """cbrt(x) from a polynomial for x**(-1/3), by a Newton step for that in float64, and one for the result.

    x is 2**(3 * n) * m with m in [sqrt(1/2) / 2, 2 * sqrt(2)). No step divides.
    Largest error seen: 0.87 ulp in float32, 0.73 in float64.
    """
    real, split, power_of_two = form.real, make_split(form), power_of_two_of(form.mantissa_bits)
    reciprocal_cube_root, rounder = polynomial_of(_RECIPROCAL_CUBE_ROOT[form]), rounder_of(form, form.exponent_bias)
    zero, half, one, three, infinity = real(0.0), real(0.5), real(1.0), real(3.0), real(np.inf)
    refines = form is FLOAT64
    third, root, reciprocal_root = real(1 / 3), real(2 ** (1 / 3)), real(2 ** (-1 / 3))

    @inlined
    def cbrt(x: Any) -> Any:
        a = abs(x)
        m, e = split(a)
        t = e * third + rounder
        rest = e - (t - rounder) * three  # -1, 0 or 1
        r = reciprocal_cube_root(m)
        m = m * power_of_two(rest + rounder)
        r = r * (reciprocal_root if rest > half else root if rest < -half else one)
        if refines:
            r = r + r * third * (one - m * r * r * r)
        y = m * r * r
        y = (y + third * r * r * (m - y * y * y)) * power_of_two(t)
        return math.copysign(y if (a > zero) & (a < infinity) else a, x)

    return cbrt


pow_float32, pow_float64 = _make_pow_float32(), _make_pow_float64()
cbrt_float32, cbrt_float64 = _make_cbrt(FLOAT32), _make_cbrt(FLOAT64)
