"""Activation functions: sigmoid, relu, silu, softplus, gelu. (`tanh` is among the elementary functions.)"""

from __future__ import annotations

import math

import numpy as np

from . import special_functions
from .registry import Uniform, elementwise

_SQRT_HALF = math.sqrt(0.5)
_SQRT_2_OVER_PI = math.sqrt(2 / math.pi)
_ONE_OVER_SQRT_2PI = 1 / math.sqrt(2 * math.pi)
_KINK = Uniform(away_from=(0.0,))


@elementwise(samples=Uniform(-4, 4), reference=lambda x: 1 / (1 + np.exp(-x)), result="float")
def sigmoid(input):
    """Logistic function, 1 / (1 + exp(-input))."""
    return special_functions.sigmoid(input)


@sigmoid.grad("input")
def _(g, out):
    return g * (out * (1 - out))


@elementwise(samples=_KINK, reference=lambda x: np.maximum(x, 0), backward_name="threshold_backward",
             bool_error=RuntimeError("Boolean inputs not supported for relu"))  # fmt: skip
def relu(input):
    """The positive part, max(input, 0). Its gradient at 0 is 0; NaN stays NaN."""
    return 0 if input < 0 else input


@relu.grad("input")
def _(g, out):
    return 0 if out <= 0 else g


@elementwise(samples=Uniform(-4, 4), reference=lambda x: x / (1 + np.exp(-x)), public=(), floating_only="silu_cpu")
def silu(input):
    """`input * sigmoid(input)`, also called swish (Elfwing et al., 2017)."""
    return input / (1 + math.exp(-input))


@silu.grad("input")
def _(g, input):
    s = 1 / (1 + math.exp(-input))
    return g * (s * (1 + input * (1 - s)))


@silu.vjp("input")
def _(g, input):
    s = sigmoid(input)
    return g * s * (1 + input * (1 - s))


@elementwise(
    samples=(Uniform(-4, 4), Uniform(0.5, 2), Uniform(19, 21)),
    reference=lambda x, beta, threshold: np.where(x * beta > threshold, x, np.log1p(np.exp(x * beta)) / beta),
    public=(),
    plain=("beta", "threshold"),
    floating_only="softplus_cpu",
)
def softplus(input, beta, threshold):
    """log(1 + exp(beta * input)) / beta, a smooth relu; `input` itself where `beta * input` is above the threshold."""
    z = input * beta
    return input if z > threshold else special_functions.softplus(z) / beta


@softplus.grad("input")
def _(g, input, beta, threshold):
    z = input * beta
    return g if z > threshold else g * special_functions.sigmoid(z)


@elementwise(
    samples=Uniform(-4, 4),
    reference=lambda x: 0.5 * x * (1 + np.vectorize(math.erf, otypes=[x.dtype])(x * _SQRT_HALF)),
    public=(),
    floating_only="GeluKernelImpl",
)
def gelu(input):
    """`input` times the normal distribution function of it (Hendrycks and Gimpel, 2016)."""
    return special_functions.gelu(input)


@gelu.grad("input")
def _(g, input):
    distribution = 0.5 * (1 + math.erf(input * _SQRT_HALF))
    density = _ONE_OVER_SQRT_2PI * math.exp(-0.5 * input * input)
    return g * (distribution + input * density)


@elementwise(
    samples=Uniform(-4, 4),
    reference=lambda x: 0.5 * x * (1 + np.tanh(_SQRT_2_OVER_PI * (x + 0.044715 * x**3))),
    name="gelu.tanh",
    node="GeluBackward0",
    backward_name="gelu_backward",
    public=(),
    floating_only="GeluKernelImpl",
)
def gelu_tanh(input):
    """The approximation of `gelu` by tanh."""
    return 0.5 * input * (1 + math.tanh(_SQRT_2_OVER_PI * (input + 0.044715 * input**3)))
