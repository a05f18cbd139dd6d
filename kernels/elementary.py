"""Elementary functions: exponentials, logarithms, roots, trigonometric and hyperbolic functions and their inverses.

Their gradients are derived from their sources. What is declared beside some is the formula by which PyTorch builds the
graph of a second derivative (so that its nodes have PyTorch's names), or a better formula in terms of the result.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .arithmetic import reciprocal, where
from .registry import Uniform, elementwise

_LN2, _LN10 = math.log(2), math.log(10)
_RADIANS, _DEGREES = math.pi / 180, 180 / math.pi


# ---------------------------------------------------------------------------------------------------- exponentials
@elementwise(samples=Uniform(-4, 4), reference=np.exp, result="float")
def exp(input):
    """e to the power `input`, item by item."""
    return math.exp(input)


@exp.grad("input", composite=True)
def _(g, out):
    return g * out


@elementwise(samples=Uniform(-4, 4), reference=np.exp2, result="float")
def exp2(input):
    """2 to the power `input`, item by item."""
    return math.exp2(input)


@exp2.grad("input", composite=True)
def _(g, out):
    return g * (out * _LN2)


@elementwise(samples=Uniform(-3, 3), reference=np.expm1, result="float")
def expm1(input):
    """`exp(input) - 1`, accurate for small items, too."""
    return math.expm1(input)


@expm1.grad("input", composite=True)
def _(g, out):
    return g * (out + 1)


# ---------------------------------------------------------------------------------------------------- logarithms
@elementwise(samples=Uniform(0.1, 5), reference=np.log, result="float")
def log(input):
    """Natural logarithm; -inf at 0, NaN below."""
    return math.log(input)


@log.grad("input", composite=True)
def _(g, input):
    return g / input


@elementwise(samples=Uniform(0.1, 5), reference=np.log2, result="float")
def log2(input):
    """Logarithm to base 2; -inf at 0, NaN below."""
    return math.log2(input)


@log2.grad("input", composite=True)
def _(g, input):
    return g / (input * _LN2)


@elementwise(samples=Uniform(0.1, 5), reference=np.log10, result="float")
def log10(input):
    """Logarithm to base 10; -inf at 0, NaN below."""
    return math.log10(input)


@log10.grad("input", composite=True)
def _(g, input):
    return g / (input * _LN10)


@elementwise(samples=Uniform(-0.8, 4), reference=np.log1p, result="float", node="Log1PBackward0")
def log1p(input):
    """`log(1 + input)`, accurate for small items, too; -inf at -1, NaN below."""
    return math.log1p(input)


@log1p.grad("input", composite=True)
def _(g, input):
    return g / (input + 1)


# ---------------------------------------------------------------------------------------------------- roots
@elementwise(samples=Uniform(0.1, 5), reference=np.sqrt, result="float")
def sqrt(input):
    """Square root; NaN below 0. Its gradient at 0 is inf."""
    return math.sqrt(input)


@sqrt.grad("input", composite=True)
def _(g, out):
    return g / (2 * out)


@elementwise(samples=Uniform(0.1, 5), reference=lambda x: 1 / np.sqrt(x), result="float")
def rsqrt(input):
    """`1 / sqrt(input)`; inf at 0, NaN below."""
    return 1 / math.sqrt(input)


@rsqrt.grad("input", composite=True)
def _(g, out):
    return -0.5 * g * out**3


@elementwise(samples=Uniform(), reference=np.hypot, floating_only="hypot_cpu", tensors=("input", "other"))
def hypot(input, other):
    """`sqrt(input**2 + other**2)`, without overflow."""
    return math.hypot(input, other)


@hypot.grad("input", composite=True)
def _(g, input, out):
    return g * (input / out)


@hypot.grad("other", composite=True)
def _(g, other, out):
    return g * (other / out)


# ---------------------------------------------------------------------------------------------------- trigonometric
@elementwise(samples=Uniform(-4, 4), reference=np.sin, result="float")
def sin(input):
    """Sine of an angle in radians; NaN of infinity."""
    return math.sin(input)


@sin.vjp("input")
def _(g, input):
    return g * cos(input)


@elementwise(samples=Uniform(-4, 4), reference=np.cos, result="float")
def cos(input):
    """Cosine of an angle in radians; NaN of infinity."""
    return math.cos(input)


@cos.vjp("input")
def _(g, input):
    return g * -sin(input)


@elementwise(samples=Uniform(-1.3, 1.3), reference=np.tan, result="float")
def tan(input):
    """Tangent of an angle in radians; NaN of infinity."""
    return math.tan(input)


@tan.grad("input", composite=True)
def _(g, out):
    return g * (1 + out**2)


@elementwise(samples=Uniform(-0.9, 0.9), reference=np.arcsin, result="float", aliases=("arcsin",))
def asin(input):
    """Angle in [-pi/2, pi/2] whose sine is `input`; NaN outside of [-1, 1]."""
    return math.asin(input)


@asin.vjp("input")
def _(g, input):
    return g * rsqrt(-input * input + 1)


@elementwise(samples=Uniform(-0.9, 0.9), reference=np.arccos, result="float", aliases=("arccos",))
def acos(input):
    """Angle in [0, pi] whose cosine is `input`; NaN outside of [-1, 1]."""
    return math.acos(input)


@acos.vjp("input")
def _(g, input):
    return g * -rsqrt(-input * input + 1)


@elementwise(samples=Uniform(-4, 4), reference=np.arctan, result="float", aliases=("arctan",))
def atan(input):
    """Angle in [-pi/2, pi/2] whose tangent is `input`."""
    return math.atan(input)


@atan.grad("input", composite=True)
def _(g, input):
    return g / (input * input + 1)


@elementwise(
    samples=(Uniform(-2, 2), Uniform(0.3, 2)),
    reference=np.arctan2,
    result="float",
    aliases=("arctan2",),
    tensors=("input", "other"),
)
def atan2(input, other):
    """Angle in [-pi, pi] of the point with ordinate `input` and abscissa `other`. Its gradient at the origin is 0."""
    return math.atan2(input, other)


@atan2.grad("input")
def _(g, input, other):
    square = input * input + other * other
    return 0 if square == 0 else g * (other / square)


@atan2.vjp("input")
def _(g, input, other):
    return g * other * _reciprocal_or_zero(input * input + other * other)


@atan2.grad("other")
def _(g, input, other):
    square = input * input + other * other
    return 0 if square == 0 else g * (-input / square)


@atan2.vjp("other")
def _(g, input, other):
    return g * -input * _reciprocal_or_zero(input * input + other * other)


def _reciprocal_or_zero(square: Any) -> Any:
    return where(square == 0, 0, reciprocal(square))


@elementwise(samples=Uniform(-4, 4), reference=np.deg2rad, result="float", node="Deg2RadBackward0")
def deg2rad(input):
    """An angle in degrees as one in radians."""
    return input * _RADIANS


@deg2rad.grad("input", composite=True)
def _(g):
    return g * _RADIANS


@elementwise(samples=Uniform(-4, 4), reference=np.rad2deg, result="float", node="Rad2DegBackward0")
def rad2deg(input):
    """An angle in radians as one in degrees."""
    return input * _DEGREES


@rad2deg.grad("input", composite=True)
def _(g):
    return g * _DEGREES


@elementwise(samples=Uniform(-3, 3), reference=np.sinc, result="float")
def sinc(input):
    """`sin(pi * input) / (pi * input)`, 1 at 0."""
    if input == 0:
        return 1
    y = math.pi * input
    return math.sin(y) / y


@sinc.grad("input")
def _(g, input):
    y = math.pi * input
    if abs(y) < 0.5:  # the series, where the quotient below would cancel; exact at 0 for derivatives of any order
        z = y * y
        series = 1 - z * (1 / 10 - z * (1 / 280 - z * (1 / 15120 - z * (1 / 1330560 - z / 172972800))))
        return g * (-math.pi / 3 * y * series)
    return g * (math.pi * (y * math.cos(y) - math.sin(y)) / (y * y))


# ---------------------------------------------------------------------------------------------------- hyperbolic
@elementwise(samples=Uniform(-3, 3), reference=np.sinh, result="float")
def sinh(input):
    """Hyperbolic sine."""
    return math.sinh(input)


@sinh.vjp("input")
def _(g, input):
    return g * cosh(input)


@elementwise(samples=Uniform(-3, 3), reference=np.cosh, result="float")
def cosh(input):
    """Hyperbolic cosine."""
    return math.cosh(input)


@cosh.vjp("input")
def _(g, input):
    return g * sinh(input)


@elementwise(samples=Uniform(-3, 3), reference=np.tanh, result="float")
def tanh(input):
    """Hyperbolic tangent."""
    return math.tanh(input)


@tanh.grad("input")
def _(g, out):
    return g * (1 - out * out)


@elementwise(samples=Uniform(-3, 3), reference=np.arcsinh, result="float", aliases=("arcsinh",))
def asinh(input):
    """The number whose hyperbolic sine is `input`."""
    return math.asinh(input)


@asinh.vjp("input")
def _(g, input):
    return g * rsqrt(input**2 + 1)


@elementwise(samples=Uniform(1.2, 4), reference=np.arccosh, result="float", aliases=("arccosh",))
def acosh(input):
    """The number, at least 0, whose hyperbolic cosine is `input`; NaN below 1."""
    return math.acosh(input)


@acosh.vjp("input")
def _(g, input):
    return g * rsqrt(input * input - 1)


@elementwise(samples=Uniform(-0.9, 0.9), reference=np.arctanh, result="float", aliases=("arctanh",))
def atanh(input):
    """The number whose hyperbolic tangent is `input`; infinite at -1 and 1, NaN beyond."""
    return math.atanh(input)


@atanh.grad("input", composite=True)
def _(g, input):
    return g * 1 / (1 - input**2)
