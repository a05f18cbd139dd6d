"""Arithmetic on items: add, sub, mul, div, pow, extrema, selection."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .registry import Uniform, elementwise

POSITIVE = Uniform(0.2, 3.0)
_NO_BOOL_POW = NotImplementedError("\"pow\" not implemented for 'Bool'")


@elementwise(samples=Uniform(), reference=np.add, public=(), tensors=())
def add(input, other):
    """Sum of two tensors, `input + other`."""
    return input + other


@add.grad("input", composite=True)
def _(g):
    return g


@add.grad("other", composite=True)
def _(g):
    return g


@elementwise(
    samples=Uniform(), reference=lambda x, y, a: x + a * y, node="AddBackward0", public=(), plain=("alpha",), tensors=()
)
def add_scaled(input, other, alpha):
    """`input + alpha * other`, the form of `add` with a factor."""
    return input + alpha * other


@add_scaled.grad("input", composite=True)
def _(g):
    return g


@add_scaled.grad("other", composite=True)
def _(g, alpha):
    return g * alpha


@elementwise(
    samples=Uniform(), reference=lambda x, y, a: x - a * y, node="SubBackward0", public=(), plain=("alpha",), tensors=()
)
def sub_scaled(input, other, alpha):
    """`input - alpha * other`, the form of `sub` with a factor."""
    return input - alpha * other


@sub_scaled.grad("input", composite=True)
def _(g):
    return g


@sub_scaled.grad("other", composite=True)
def _(g, alpha):
    return -(g * alpha)


_NO_BOOL_SUB = RuntimeError(
    "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, use the "
    "`~` or `logical_not()` operator instead.",
    "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` operator "
    "instead.",
)


@elementwise(samples=Uniform(), reference=np.subtract, bool_error=_NO_BOOL_SUB, public=(), tensors=())
def sub(input, other):
    """Difference of two tensors, `input - other`."""
    return input - other


@sub.grad("input", composite=True)
def _(g):
    return g


@sub.grad("other", composite=True)
def _(g):
    return -g


def _reflected(input, other):
    """Reflected difference, `other - input`."""
    return other - input


_REFLECTED: dict[str, Any] = {
    "samples": Uniform(),
    "reference": lambda x, y: y - x,
    "bool_error": _NO_BOOL_SUB,
    "public": (),
    "backward_name": "rsub_backward",
}
rsub = elementwise(name="rsub", node="RsubBackward1", plain=("other",), **_REFLECTED)(_reflected)
rsub_tensor = elementwise(name="rsub.Tensor", node="RsubBackward0", **_REFLECTED)(_reflected)
for _op in (rsub, rsub_tensor):

    @_op.grad("input", composite=True)
    def _(g):
        return -g

    @_op.grad("other", composite=True)
    def _(g):
        return g


@elementwise(samples=Uniform(), reference=np.multiply, tensors=(), aliases=("multiply",))
def mul(input, other):
    """Product of two tensors, item by item."""
    return input * other


@mul.grad("input", composite=True)
def _(g, other):
    return g * other


@mul.grad("other", composite=True)
def _(g, input):
    return g * input


@elementwise(samples=(Uniform(), POSITIVE), reference=np.divide, result="float", tensors=(), public=())
def div(input, other):
    """Quotient of two tensors, item by item; integers divide to the default float dtype."""
    return input / other


@div.grad("input", composite=True)
def _(g, other):
    return g / other


@div.grad("other", composite=True)
def _(g, input, other):
    return -g * ((input / other) / other)


@elementwise(samples=POSITIVE, reference=np.reciprocal, result="float")
def reciprocal(input):
    """`1 / input`."""
    return 1 / input


@reciprocal.grad("input", composite=True)
def _(g, out):
    return -g * (out * out)


@elementwise(
    samples=Uniform(),
    reference=np.negative,
    aliases=("negative",),
    bool_error=RuntimeError(
        "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use the `~` or "
        "`logical_not()` operator instead."
    ),
)
def neg(input):
    """`-input`."""
    return -input


@neg.grad("input", composite=True)
def _(g):
    return -g


@elementwise(
    samples=Uniform(away_from=(0.0,)),
    reference=np.abs,
    name="abs",
    aliases=("absolute",),
    bool_error=NotImplementedError("\"abs_cpu\" not implemented for 'Bool'"),
)
def absolute(input):
    """Absolute value. Its gradient at 0 is 0."""
    return abs(input)


@absolute.grad("input")
def _(g, input):
    return g if input > 0 else -g if input < 0 else 0


@absolute.vjp("input")
def _(g, input):
    return g * sign(input)


@elementwise(samples=Uniform(away_from=(0.0,)), reference=lambda x: np.where(np.isnan(x), 0, np.sign(x)))
def sign(input):
    """-1, 0 or 1. Its gradient is 0; NaN has sign 0, as in PyTorch."""
    return 1 if input > 0 else -1 if input < 0 else 0


sign.constant_in("input")


@elementwise(
    samples=POSITIVE,
    reference=np.power,
    name="pow",
    node="PowBackward0",
    public=(),
    plain=("exponent",),
)
def power(input, exponent):
    """`input` to the power `exponent`, item by item.

    The gradient for the exponent is 0 where the base is 0 and the exponent is not negative.
    """
    if exponent == 2:  # loop-invariant for a number, so squares need no call of pow
        return input * input
    return input**exponent


@power.grad("input")
def _(g, input, exponent):
    if exponent == 2:
        return g * (2 * input)
    return 0 if exponent == 0 else g * (exponent * input ** (exponent - 1))


@power.vjp("input")
def _(g, input, exponent):
    if isinstance(exponent, (int, float)):
        return g.new_zeros(g.shape) if exponent == 0 else g * (exponent * power(input, exponent - 1))
    return where(exponent == 0, 0, g * (exponent * power_tensor(input, exponent - 1)))


@power.grad("exponent")
def _(g, input, exponent, out):
    return 0 if input == 0 and exponent >= 0 else g * (out * math.log(input))


@elementwise(
    samples=POSITIVE, reference=np.power, name="pow.Tensor", bool_error=_NO_BOOL_POW, node="PowBackward1", public=()
)
def power_tensor(input, exponent):
    """`pow` with a tensor exponent (its nodes are PyTorch's `PowBackward1`)."""
    return input**exponent


@power_tensor.grad("input")
def _(g, input, exponent):
    return 0 if exponent == 0 else g * (exponent * input ** (exponent - 1))


@power_tensor.vjp("input")
def _(g, input, exponent):
    return where(exponent == 0, 0, g * (exponent * power_tensor(input, exponent - 1)))


@power_tensor.grad("exponent")
def _(g, input, exponent, out):
    return 0 if input == 0 and exponent >= 0 else g * (out * math.log(input))


@power_tensor.vjp("exponent")
def _(g, input, exponent, out):
    return g * where((input == 0) * (exponent >= 0), 0, out * input.log())  # masked inside: linear in g also at 0


@elementwise(
    samples=POSITIVE,
    reference=np.power,
    name="pow.Scalar",
    bool_error=_NO_BOOL_POW,
    node="PowBackward2",
    public=(),
    plain=("input",),
    tensors=("exponent",),
)
def power_scalar(input, exponent):
    """`pow` of a number with a tensor exponent, `2 ** x` (its nodes are PyTorch's `PowBackward2`)."""
    return input**exponent


@power_scalar.grad("input")
def _(g, input, exponent):
    return 0 if exponent == 0 else g * (exponent * input ** (exponent - 1))


@power_scalar.grad("exponent")
def _(g, input, exponent, out):
    return 0 if input == 0 and exponent >= 0 else g * (out * math.log(input))


@power_scalar.vjp("exponent")
def _(g, input, exponent, out):
    if isinstance(input, (int, float)):
        log = math.log(input) if input > 0 else -math.inf if input == 0 else math.nan
        return g * where(exponent >= 0, 0, out * log) if input == 0 else g * (out * log)
    return g * where((input == 0) * (exponent >= 0), 0, out * input.log())  # masked inside: linear in g also at 0


@elementwise(samples=Uniform(), reference=np.maximum, public=("function", "method"), tensors=("input", "other"))
def maximum(input, other):
    """The larger of two items; NaN if either is. Equal items share the gradient."""
    return input if input >= other or input != input else other


@maximum.grad("input")
def _(g, input, other):
    return g * 0.5 if input == other else 0 if input < other else g


@maximum.vjp("input")
def _(g, input, other):
    return where(input < other, 0, where(input == other, g / 2, g))


@maximum.grad("other")
def _(g, input, other):
    return g * 0.5 if input == other else 0 if other < input else g


@maximum.vjp("other")
def _(g, input, other):
    return where(other < input, 0, where(input == other, g / 2, g))


@elementwise(samples=Uniform(), reference=np.minimum, public=("function", "method"), tensors=("input", "other"))
def minimum(input, other):
    """The smaller of two items; NaN if either is. Equal items share the gradient."""
    return input if input <= other or input != input else other


@minimum.grad("input")
def _(g, input, other):
    return g * 0.5 if input == other else 0 if input > other else g


@minimum.vjp("input")
def _(g, input, other):
    return where(input > other, 0, where(input == other, g / 2, g))


@minimum.grad("other")
def _(g, input, other):
    return g * 0.5 if input == other else 0 if other > input else g


@minimum.vjp("other")
def _(g, input, other):
    return where(other > input, 0, where(input == other, g / 2, g))


@elementwise(samples=Uniform(), reference=lambda c, x, y: np.where(c != 0, x, y), public=())
def where(condition: bool, input, other):
    """Items of `input` where `condition` holds, of `other` elsewhere."""
    return input if condition else other


@where.grad("input")
def _(g, condition):
    return g if condition else 0


@where.vjp("input")
def _(g, condition):
    return where(condition, g, 0)


@where.grad("other")
def _(g, condition):
    return 0 if condition else g


@where.vjp("other")
def _(g, condition):
    return where(condition, 0, g)
