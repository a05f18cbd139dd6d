"""sin, cos, tan, for arguments up to `LIMITS`: beyond, the range reduction loses the angle (see kernels/guards.py).

The float32 functions compute in float64: the reduction is then one product with a two-part pi and nothing downstream
rounds, so that shorter polynomials do. In float32 itself a reduction in five parts took 0.72 of the time, but it gave
2.1 ulp and no more than arguments of 1e4.

Measured errors, in ulp: float32, all arguments up to the limit, sin and cos 0.61, tan 1.51; float64, samples of 15
million, sin 1.38, cos 1.33, tan 1.51. The same without fused multiply-adds.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .formats import FLOAT64, bit_of, inlined, negated_by, polynomial_of

_sine_float32 = polynomial_of(
    (2.6051076353347873e-06, -0.00019809017408678003, 0.008333050170671773, -0.16666657947846011, 0.999999995698809)
)
"""sin(r) / r as a function of r**2, for abs(r) <= pi / 2."""

_tangent_float32 = polynomial_of(
    (
        0.004414800342979514,
        7.475014549384914e-10,
        0.010919043870478174,
        0.02124280352741798,
        0.05406988295086836,
        0.13332534349039984,
        0.33333357038369554,
        0.9999999988553849,
    )
)
"""tan(r) / r as a function of r**2, for abs(r) <= pi / 4."""

_sine_float64 = polynomial_of(
    (
        1.5918129294866605e-10,
        -2.5051131845003624e-08,
        2.755731610255244e-06,
        -0.00019841269836758574,
        0.008333333333330948,
        -0.16666666666666666,
    )
)
"""(sin(r) / r - 1) / r**2 as a function of r**2, for abs(r) <= pi / 4."""

_cosine_float64 = polynomial_of(
    (
        1.1367998654022492e-11,
        -2.0875886738047052e-09,
        2.7557315566341895e-07,
        -2.480158729369346e-05,
        0.0013888888888880775,
        -0.04166666666666664,
        0.5,
    )
)
"""(1 - cos(r)) / r**2 as a function of r**2, for abs(r) <= pi / 4."""

_tangent_float64 = polynomial_of(
    (
        1.8221415484259672e-05,
        -3.37196554607873e-05,
        6.846659670620756e-05,
        -3.2076181526143752e-06,
        0.00011984048753516886,
        0.0002305942005597223,
        0.0005922412902876637,
        0.0014554372912719403,
        0.0035921761055165897,
        0.008863231777079048,
        0.021869488711020534,
        0.053968253964015424,
        0.1333333333333737,
        0.33333333333333326,
    )
)
"""(tan(r) / r - 1) / r**2 as a function of r**2, for abs(r) <= pi / 4."""

# Adding this rounds to an integer, ties to even, and leaves that integer in the lowest bits.
_ROUNDER = 1.5 * 2**FLOAT64.mantissa_bits
_is_odd, _negated_if_odd, _negated_if_half = bit_of(0), negated_by(0), negated_by(1)
_negated_if_negative = negated_by(63)

# The constants in parts (Cody and Waite, 1980). Each but the last is short enough that its products here are exact.
_PI_1, _PI_2 = float.fromhex("0x1.921fb54p+1"), float.fromhex("0x1.10b4611a62633p-29")
_HALF_PI_1, _HALF_PI_2, _HALF_PI_3, _HALF_PI_4 = map(
    float.fromhex, ("0x1.921fb54p+0", "0x1.10b46p-30", "0x1.1a62633p-54", "0x1.45c06e0e68948p-86")
)


# ---------------------------------------------------------------------------------------------------- float32
@inlined
def sin_float32(x: Any) -> Any:
    """sin(n * pi + r) = (-1)**n * sin(r)."""
    x = np.float64(x)
    rounded = x * (1 / math.pi) + _ROUNDER
    n = rounded - _ROUNDER
    r = (x - n * _PI_1) - n * _PI_2
    return np.float32(_negated_if_odd(r * _sine_float32(r * r), rounded))


@inlined
def cos_float32(x: Any) -> Any:
    """cos((n + 1/2) * pi - r) = (-1)**n * sin(r): small results come from small r."""
    x = np.float64(x)
    rounded = (x * (1 / math.pi) - 0.5) + _ROUNDER
    n = (rounded - _ROUNDER) + 0.5
    r = (n * _PI_1 - x) + n * _PI_2
    return np.float32(_negated_if_odd(r * _sine_float32(r * r), rounded))


@inlined
def tan_float32(x: Any) -> Any:
    """tan(n * pi / 2 + r) = tan(r) for even n, -1 / tan(r) for odd n. The quotient is float32's, at half the cost."""
    x = np.float64(x)
    rounded = x * (2 / math.pi) + _ROUNDER
    n = rounded - _ROUNDER
    r = (x - n * _HALF_PI_1) - n * (_HALF_PI_2 + _HALF_PI_3)
    y = np.float32(r * _tangent_float32(r * r))
    return np.float32(-1.0) / y if _is_odd(rounded) else y


# ---------------------------------------------------------------------------------------------------- float64
@inlined
def _reduced(x: Any) -> Any:
    """(head, tail, rounded): x = n * pi / 2 + head + tail, with the integer n in the lowest bits of `rounded`."""
    rounded = x * (2 / math.pi) + _ROUNDER
    n = rounded - _ROUNDER
    near = (x - n * _HALF_PI_1) - n * _HALF_PI_2  # exact: all three are multiples of 2**-53
    step = n * _HALF_PI_3
    head = near - step
    return head, ((near - head) - step) - n * _HALF_PI_4, rounded


def _make_quarter_turns(quarters: float) -> Any:
    """sin(x + quarters * pi / 2), from the sine or the cosine of what remains."""

    @inlined
    def sine(x: Any) -> Any:
        head, tail, rounded = _reduced(x)
        quadrant = rounded + quarters
        z = head * head
        sine = head + (head * (z * _sine_float64(z)) + tail * (1.0 - 0.5 * z))
        cosine = 1.0 - (z * _cosine_float64(z) + head * tail)
        return _negated_if_half(cosine if _is_odd(quadrant) else sine, quadrant)

    return sine


_sine = _make_quarter_turns(0.0)
cos_float64 = _make_quarter_turns(1.0)


@inlined
def sin_float64(x: Any) -> Any:
    """The sign goes round the computation, for -0."""
    return _negated_if_negative(_sine(abs(x)), x)


@inlined
def tan_float64(x: Any) -> Any:
    """As tan_float32, with what the rounding of tan(r) dropped as a correction to its reciprocal."""
    head, tail, rounded = _reduced(abs(x))
    z = head * head
    rest = head * (z * _tangent_float64(z)) + tail * (1.0 + 1.5 * z)
    y = head + rest
    inverse = -1.0 / y
    y = inverse + inverse * inverse * ((head - y) + rest) if _is_odd(rounded) else y
    return _negated_if_negative(y, x)
