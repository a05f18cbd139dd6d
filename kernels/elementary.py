"""Elementary functions: exp, log, sqrt."""

from __future__ import annotations

import math

import numpy as np

from .registry import Uniform, elementwise


@elementwise(samples=Uniform(-4, 4), reference=np.exp, result="float")
def exp(input):
    """e to the power `input`, item by item."""
    return math.exp(input)


@exp.grad("input", composite=True)
def _(g, out):
    return g * out


@elementwise(samples=Uniform(0.1, 5), reference=np.log, result="float")
def log(input):
    """Natural logarithm; -inf at 0, NaN below."""
    return math.log(input)


@log.grad("input", composite=True)
def _(g, input):
    return g / input


@elementwise(samples=Uniform(0.1, 5), reference=np.sqrt, result="float")
def sqrt(input):
    """Square root; NaN below 0. Its gradient at 0 is inf."""
    return math.sqrt(input)


@sqrt.grad("input", composite=True)
def _(g, out):
    return g / (2 * out)
