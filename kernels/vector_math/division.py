"""Division with a whole quotient, for quotients up to `LIMITS`: beyond, one step does not find it (see kernels/guards.py).

A trunc of the rounded a / b is the whole quotient q, or one more: rounding is monotone, and q is a number of the format.
What remains, a - q * b, is a number of the format as well, so it comes out exact where the product is not rounded before
the subtraction. What is done with it is what Python does (Objects/floatobject.c, float_divmod).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .formats import inlined, multiply_add


@inlined
def _rest_float32(a: Any, b: Any) -> Any:
    """C's fmodf. In float64 the product of a 24-bit number and a quotient of 25 bits is exact, and so is the difference."""
    x, y = np.float64(a), np.float64(b)
    rest = np.float32(x - np.trunc(x / y) * y)
    return a if abs(a) < abs(b) else rest  # also where b is infinite


@inlined
def _rest_float64(a: Any, b: Any) -> Any:
    """C's fmod. The quotient may be rounded up to the next whole number: then the rest has the sign that it must not."""
    rest = multiply_add(-np.trunc(a / b), b, a)
    rest = rest + math.copysign(b, a) if rest * a < 0 else rest
    return a if abs(a) < abs(b) else rest


def _make_remainder(fmod: Any, real: Any) -> Any:
    zero = real(0)

    @inlined
    def remainder(a: Any, b: Any) -> Any:
        rest = fmod(a, b)
        moved = rest + b if (rest < zero) != (b < zero) else rest
        return math.copysign(zero, b) if rest == zero else moved

    return remainder


def _make_floor_divide(fmod: Any, real: Any) -> Any:
    zero, half, one = real(0), real(0.5), real(1)

    @inlined
    def floor_divide(a: Any, b: Any) -> Any:
        rest = fmod(a, b)
        quotient = (a - rest) / b
        quotient = quotient - one if rest != zero and (rest < zero) != (b < zero) else quotient
        whole = np.floor(quotient)
        whole = whole + one if quotient - whole > half else whole
        return math.copysign(zero, a / b) if quotient == zero else whole

    return floor_divide


remainder_float32, remainder_float64 = (
    _make_remainder(_rest_float32, np.float32),
    _make_remainder(_rest_float64, np.float64),
)
floor_divide_float32 = _make_floor_divide(_rest_float32, np.float32)
floor_divide_float64 = _make_floor_divide(_rest_float64, np.float64)
