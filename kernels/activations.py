"""Activation functions: sigmoid, tanh, relu."""

from __future__ import annotations

import math

import numpy as np

from .registry import Uniform, elementwise


@elementwise(samples=Uniform(-4, 4), reference=lambda x: 1 / (1 + np.exp(-x)), result="float")
def sigmoid(input):
    """Logistic function, 1 / (1 + exp(-input))."""
    e = math.exp(-abs(input))  # never overflows
    return 1 / (1 + e) if input >= 0 else e / (1 + e)


@sigmoid.grad("input")
def _(g, out):
    return g * (out * (1 - out))


@elementwise(samples=Uniform(-3, 3), reference=np.tanh, result="float")
def tanh(input):
    """Hyperbolic tangent."""
    return math.tanh(input)


@tanh.grad("input")
def _(g, out):
    return g * (1 - out * out)


@elementwise(samples=Uniform(away_from=(0.0,)), reference=lambda x: np.maximum(x, 0), backward_name="threshold_backward",
             bool_error=RuntimeError("Boolean inputs not supported for relu"))  # fmt: skip
def relu(input):
    """The positive part, max(input, 0). Its gradient at 0 is 0; NaN stays NaN."""
    return 0 if input < 0 else input


@relu.grad("input")
def _(g, out):
    return 0 if out <= 0 else g
