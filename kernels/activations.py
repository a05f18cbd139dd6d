"""Activation functions. (`tanh` is among the elementary functions.)"""

from __future__ import annotations

import math

import numpy as np

from . import special_functions
from .registry import ElementwiseOp, Uniform, elementwise

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


@elementwise(samples=_KINK, reference=lambda x: np.maximum(x, 0), backward_name="threshold_backward", takes_out=False,
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


@elementwise(
    samples=Uniform(-4, 4),
    reference=lambda x: np.minimum(x, 0) - np.log1p(np.exp(-abs(x))),
    name="log_sigmoid",
    public=(),
    floating_only="log_sigmoid_cpu",
)
def log_sigmoid(input):
    """log(sigmoid(input)), without overflow."""
    return min(input, 0) - math.log1p(math.exp(-abs(input)))


@log_sigmoid.grad("input")
def _(g, input):
    return g * special_functions.sigmoid(-input)


@log_sigmoid.vjp("input")
def _(g, input):
    return g * sigmoid(-input)


@elementwise(
    samples=Uniform(-4, 4),
    reference=lambda x: x * np.tanh(np.log1p(np.exp(x))),
    public=(),
    floating_only="mish_cpu",
)
def mish(input):
    """`input * tanh(softplus(input))` (Misra, 2019)."""
    return input * math.tanh(special_functions.softplus(input))


@elementwise(
    samples=(Uniform(-2, 2, away_from=(-1.0, 1.0)), Uniform(-1, -1), Uniform(1, 1)),
    reference=lambda x, low, high: np.where(x < low, low, np.where(x > high, high, x)),
    public=(),
    plain=("min_val", "max_val"),
    bool_error=RuntimeError("Bool inputs not supported for hardtanh"),
)
def hardtanh(input, min_val, max_val):
    """`input` between two bounds. Its gradient at a bound is 0."""
    return min_val if input < min_val else max_val if input > max_val else input


@hardtanh.grad("input")
def _(g, input, min_val, max_val):
    return 0 if input <= min_val or input >= max_val else g


@elementwise(
    samples=(_KINK, Uniform(0, 1)),
    reference=lambda x, slope: np.where(x > 0, x, x * slope),
    public=(),
    plain=("negative_slope",),
    floating_only="leaky_relu_cpu",
)
def leaky_relu(input, negative_slope):
    """`input` where it is positive, `negative_slope` times it elsewhere (Maas et al., 2013)."""
    return input if input > 0 else input * negative_slope


@leaky_relu.grad("input")
def _(g, input, negative_slope):
    return g if input > 0 else g * negative_slope


def _elu(input, alpha, scale, input_scale):
    """`scale * input` where it is positive, `scale * alpha * (exp(input_scale * input) - 1)` elsewhere."""
    return input * scale if input > 0 else math.expm1(input * input_scale) * (alpha * scale)


def _elu_reference(x: np.ndarray, alpha: np.ndarray, scale: np.ndarray, input_scale: np.ndarray) -> np.ndarray:
    return np.where(x > 0, x * scale, np.expm1(np.minimum(x, 0) * input_scale) * alpha * scale)


def _as_elu(name: str) -> ElementwiseOp:
    made: ElementwiseOp = elementwise(
        samples=(_KINK, Uniform(0.5, 2), Uniform(0.5, 2), Uniform(0.5, 2)),
        reference=_elu_reference,
        name=name,
        public=(),
        plain=("alpha", "scale", "input_scale"),
        floating_only="elu_cpu",
    )(_elu)

    @made.grad("input")
    def _(g, input, alpha, scale, input_scale):
        return g * scale if input > 0 else g * (input_scale * alpha * scale) * math.exp(input * input_scale)

    return made


elu = _as_elu("elu")  # Clevert et al. (2016); with other constants selu (Klambauer et al., 2017)
celu = _as_elu("celu")  # Barron (2017)


@elementwise(
    samples=(Uniform(-2, 2, away_from=(1.0,)), Uniform(1, 1), Uniform(-1, 1)),
    reference=lambda x, threshold, value: np.where(x <= threshold, value, x),
    public=(),
    plain=("threshold", "value"),
)
def threshold(input, threshold, value):
    """`input` where it is above the threshold, `value` elsewhere; NaN stays NaN."""
    return value if input <= threshold else input


@threshold.grad("input")
def _(g, input, threshold):
    return 0 if input <= threshold else g


@elementwise(
    samples=Uniform(-5, 5, away_from=(-3.0, 3.0)),
    reference=lambda x: x * np.clip(x + 3, 0, 6) / 6,
    public=(),
    floating_only="hardswish_cpu",
)
def hardswish(input):
    """`input * relu6(input + 3) / 6` (Howard et al., 2019)."""
    return input * min(max(input + 3, 0), 6) / 6


@hardswish.grad("input")
def _(g, input):
    if input <= -3:
        return 0
    return g * (input / 3 + 0.5) if input < 3 else g


@elementwise(
    samples=Uniform(-5, 5, away_from=(-3.0, 3.0)),
    reference=lambda x: np.clip(x + 3, 0, 6) / 6,
    public=(),
    floating_only="hardsigmoid_cpu",
)
def hardsigmoid(input):
    """`relu6(input + 3) / 6`."""
    return min(max(input + 3, 0), 6) / 6


@hardsigmoid.grad("input")
def _(g, input):
    return g / 6 if input > -3 and input < 3 else 0


@elementwise(
    samples=(Uniform(-2, 2, away_from=(-1.0, 1.0)), Uniform(1, 1)),
    reference=lambda x, lambd: np.where((x >= -lambd) & (x <= lambd), 0, x),
    public=(),
    plain=("lambd",),
    floating_only="hardshrink_cpu",
)
def hardshrink(input, lambd):
    """0 between `-lambd` and `lambd`, `input` elsewhere."""
    return 0 if input >= -lambd and input <= lambd else input


@hardshrink.grad("input")
def _(g, input, lambd):
    return 0 if input >= -lambd and input <= lambd else g


@elementwise(
    samples=(Uniform(-2, 2, away_from=(-1.0, 1.0)), Uniform(1, 1)),
    reference=lambda x, lambd: np.where(x > lambd, x - lambd, np.where(x < -lambd, x + lambd, x * 0)),
    public=(),
    plain=("lambd",),
    floating_only="softshrink_check",
)
def softshrink(input, lambd):
    """0 between `-lambd` and `lambd`, nearer to 0 by `lambd` elsewhere; NaN stays NaN."""
    if input > lambd:
        return input - lambd
    return input + lambd if input < -lambd else input * 0


@softshrink.grad("input")
def _(g, input, lambd):
    return 0 if input >= -lambd and input <= lambd else g


@elementwise(
    samples=(_KINK, Uniform(0, 1)),
    reference=lambda x, w: np.where(x > 0, x, w * x),
    name="_prelu_kernel",
    node="PreluKernelBackward0",
    tensors=("input", "weight"),
    public=(),
)
def prelu(input, weight):
    """`input` where it is positive, `weight * input` elsewhere (He et al., 2015)."""
    return input if input > 0 else weight * input


@prelu.grad("input")
def _(g, input, weight):
    return g if input > 0 else weight * g


@prelu.grad("weight")
def _(g, input):
    return 0 if input > 0 else input * g
