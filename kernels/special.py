"""Special functions: erf, erfc, erfinv, lgamma, digamma."""

from __future__ import annotations

import math

import numpy as np

from . import special_functions
from .elementary import exp
from .registry import Uniform, elementwise


def _lgamma(x: float) -> float:
    """`math.lgamma`, but infinite where that raises."""
    return math.lgamma(x) if x > 0 or x % 1 else math.inf


def _digamma(x: float) -> float:
    """`special_functions.digamma`, but NaN at -inf, where round() raises."""
    return special_functions.digamma(x) if x > -math.inf else math.nan


def _on_arrays(function):
    return np.vectorize(function, otypes=[float])


@elementwise(samples=Uniform(-3, 3), reference=_on_arrays(math.erf), result="float")
def erf(input):
    """Error function, 2 / sqrt(pi) times the integral of exp(-t**2) from 0 to `input`."""
    return math.erf(input)


@erf.grad("input", composite=True)
def _(g, input):
    return 1.1283791670955126 * exp(-(input**2)) * g


@elementwise(samples=Uniform(-3, 3), reference=_on_arrays(math.erfc), result="float")
def erfc(input):
    """1 - erf(input), without the cancellation that computing it so would bring for large inputs."""
    return math.erfc(input)


@erfc.grad("input", composite=True)
def _(g, input):
    return -1.1283791670955126 * exp(-(input**2)) * g


@elementwise(samples=Uniform(-0.9, 0.9), reference=_on_arrays(special_functions.erfinv), result="float")
def erfinv(input):
    """Inverse of erf: infinite at -1 and 1, NaN beyond."""
    return special_functions.erfinv(input)


@erfinv.grad("input", composite=True)
def _(g, out):
    return 0.886226925452758 * exp(out**2) * g


@elementwise(samples=Uniform(0.1, 5), reference=_on_arrays(_lgamma), result="float")
def lgamma(input):
    """Natural logarithm of abs(gamma(input)); inf at 0, at negative integers, and at both infinities."""
    return math.lgamma(input)


@lgamma.grad("input", composite=True)
def _(g, input):
    return g * digamma(input)


@elementwise(samples=Uniform(0.1, 5), reference=_on_arrays(_digamma), result="float")
def digamma(input):
    """Logarithmic derivative of gamma. At 0 it is infinite with the opposite sign, at negative integers NaN."""
    return special_functions.digamma(input)
