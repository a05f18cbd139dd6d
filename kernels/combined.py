"""Several operations in one kernel: lerp, addcmul, addcdiv, xlogy, logaddexp, logaddexp2, ldexp."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .arithmetic import where
from .elementary import exp, exp2, log
from .registry import ElementwiseOp, Uniform, elementwise

_POSITIVE = Uniform(0.5, 2.0)
_LN2 = math.log(2)


# ---------------------------------------------------------------------------------------------------- lerp
def _lerp(input, end, weight):
    """`input + weight * (end - input)`: from `input` at weight 0 to `end` at 1, exactly."""
    if abs(weight) < 0.5:
        return input + weight * (end - input)
    return end - (end - input) * (1 - weight)


def _as_lerp(name: str, **options: Any) -> ElementwiseOp:
    made: ElementwiseOp = elementwise(
        samples=Uniform(),
        reference=lambda x, y, w: np.where(abs(w) < 0.5, x + w * (y - x), y - (y - x) * (1 - w)),
        name=name,
        tensors=("input", "end"),
        backward_name="lerp_backward",
        public=(),
        **options,
    )(_lerp)

    @made.grad("input", composite=True)
    def _(g, weight):
        return g * (1 - weight)

    @made.grad("end", composite=True)
    def _(g, weight):
        return g * weight

    @made.grad("weight", composite=True)
    def _(g, input, end):
        return g * (end - input)

    return made


lerp = _as_lerp("lerp", node="LerpBackward0", plain=("weight",))
lerp_tensor = _as_lerp("lerp.Tensor", node="LerpBackward1")


# ---------------------------------------------------------------------------------------------------- addcmul, addcdiv
@elementwise(
    samples=Uniform(),
    reference=lambda x, a, b, value: x + value * a * b,
    tensors=("input", "tensor1", "tensor2"),
    plain=("value",),
    public=(),
)
def addcmul(input, tensor1, tensor2, value):
    """`input + value * tensor1 * tensor2`."""
    return input + value * tensor1 * tensor2


@addcmul.grad("input", composite=True)
def _(g):
    return g


@addcmul.grad("tensor1", composite=True)
def _(g, tensor2, value):
    return g * (tensor2 * value)


@addcmul.grad("tensor2", composite=True)
def _(g, tensor1, value):
    return g * (tensor1 * value)


@addcmul.grad("value", composite=True)
def _(g, tensor1, tensor2):
    return g * (tensor1 * tensor2)


@elementwise(
    samples=(Uniform(), Uniform(), _POSITIVE, Uniform()),
    reference=lambda x, a, b, value: x + value * (a / b),
    result="float",
    tensors=("input", "tensor1", "tensor2"),
    plain=("value",),
    public=(),
)
def addcdiv(input, tensor1, tensor2, value):
    """`input + value * tensor1 / tensor2`."""
    return input + value * (tensor1 / tensor2)


@addcdiv.grad("input", composite=True)
def _(g):
    return g


@addcdiv.grad("tensor1", composite=True)
def _(g, tensor2, value):
    return g * (value / tensor2)


@addcdiv.grad("tensor2", composite=True)
def _(g, tensor1, tensor2, value):
    return -g * ((value * tensor1) / (tensor2 * tensor2))


@addcdiv.grad("value", composite=True)
def _(g, tensor1, tensor2):
    return g * (tensor1 / tensor2)


# ---------------------------------------------------------------------------------------------------- logarithms
def _xlogy(input, other):
    """`input * log(other)`, 0 where `input` is 0, NaN where `other` is."""
    if other != other:
        return other
    return 0 if input == 0 else input * math.log(other)


def _xlogy_by_input(g, input, other):  # a scalar function
    if other != other:
        return g * other
    return 0 if (input == 0 and other <= 0) or g == 0 else g * math.log(other)


def _xlogy_reference(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.where(np.isnan(y), y, np.where(x == 0, 0, x * np.log(y)))


def _as_xlogy(name: str, **options: Any) -> ElementwiseOp:
    made: ElementwiseOp = elementwise(
        samples=(Uniform(), _POSITIVE),
        reference=_xlogy_reference,
        name=name,
        result="float",
        backward_name="xlogy_backward",
        public=(),
        **options,
    )(_xlogy)
    made.grad("input")(_xlogy_by_input)

    @made.vjp("input")
    def _(g, input, other):
        masked = (input == 0) * (other <= 0)
        logarithm = log(other) if not isinstance(other, (int, float)) else _log_of_number(other)
        return where(masked, 0, g * logarithm)

    @made.grad("other", composite=True)
    def _(g, input, other):
        return g * (input / other)

    return made


def _log_of_number(x: float) -> float:
    return math.log(x) if x > 0 else -math.inf if x == 0 else math.nan


xlogy = _as_xlogy("xlogy", node="XlogyBackward0", tensors=("input", "other"))
xlogy_of_number = _as_xlogy("xlogy.Scalar_Self", node="XlogyBackward1", plain=("input",), tensors=("other",))
xlogy_by_number = _as_xlogy("xlogy.Scalar_Other", node="XlogyBackward2", plain=("other",))


_SUM_OF_POWERS: dict[str, Any] = {
    "samples": Uniform(-3, 3),
    "public": ("function", "method"),
    "tensors": ("input", "other"),
}


@elementwise(reference=np.logaddexp, floating_only="logaddexp_cpu", **_SUM_OF_POWERS)
def logaddexp(input, other):
    """`log(exp(input) + exp(other))`, without overflow."""
    if input == other and abs(input) == math.inf:
        return input
    return max(input, other) + math.log1p(math.exp(-abs(input - other)))


@logaddexp.grad("input")
def _(g, input, other):
    return g / (1 + math.exp(other - input))


@logaddexp.vjp("input")
def _(g, input, other):
    return g / (1 + exp(other - input))


@logaddexp.grad("other")
def _(g, input, other):
    return g / (1 + math.exp(input - other))


@logaddexp.vjp("other")
def _(g, input, other):
    return g / (1 + exp(input - other))


@elementwise(reference=np.logaddexp2, floating_only="logaddexp2_cpu", **_SUM_OF_POWERS)
def logaddexp2(input, other):
    """`log2(2**input + 2**other)`, without overflow."""
    if input == other and abs(input) == math.inf:
        return input
    return max(input, other) + math.log1p(math.exp2(-abs(input - other))) / _LN2


@logaddexp2.grad("input")
def _(g, input, other):
    return g / (1 + math.exp2(other - input))


@logaddexp2.vjp("input")
def _(g, input, other):
    return g / (1 + exp2(other - input))


@logaddexp2.grad("other")
def _(g, input, other):
    return g / (1 + math.exp2(input - other))


@logaddexp2.vjp("other")
def _(g, input, other):
    return g / (1 + exp2(input - other))


@elementwise(
    samples=Uniform(),
    reference=lambda x, y: x * np.exp2(y),
    result="float",
    tensors=("input", "other"),
)
def ldexp(input, other):
    """`input * 2**other`."""
    return input * math.exp2(other)


@ldexp.grad("input")
def _(g, other):
    return g * math.exp2(other)


@ldexp.vjp("input")
def _(g, other):
    return g * exp2(other)


@ldexp.grad("other", composite=True)
def _(g, out):
    return g * (out * _LN2)
