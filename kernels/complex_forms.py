"""What elementwise ops do with complex numbers: a NumPy function forward, the gradient as Python over tensors.

No kernels are compiled for complex dtypes. Gradients follow PyTorch's convention: of a real loss L with respect to
z = x + iy it is dL/dx + i dL/dy, the direction of steepest ascent. For a holomorphic f it is `g * conj(f'(z))`, which is
the conjugate of what the real rule makes of `conj(g)`: so those ops need no rule of their own. Others declare one.

An input that is real beside complex ones gets the real part of its gradient; the graph layer takes it.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import (
    activations,
    arithmetic,
    combined,
    comparison,
    draws,
    elementary,
    logic,
    movement,
    scalar_ir,
    selecting,
)
from .arithmetic import where
from .array import Array
from .complex_numbers import angle, conj, conj_physical, sgn
from .registry import ElementwiseOp, Rule, make_rule


class ComplexForm:
    """How an op computes with complex numbers.

    Attributes:
        kernel: takes ndarrays of the dtype computed in (bools where the op takes them) and returns one.
        result: "same", "real" (the dtype of the real part) or "bool".
        rules: the gradient for each input that has one.
    """

    def __init__(self, kernel: Callable[..., np.ndarray], result: str, rules: dict[str, Rule]) -> None:
        self.kernel = kernel
        self.result = result
        self.rules = rules
        self.node_class: Any = None  # made by the graph layer at first use

    def run(self, op: ElementwiseOp, dtype: np.dtype, inputs: Sequence[Any], out: Array) -> None:
        """Write the results to `out`; inputs are arrays that broadcast to it, or numbers."""
        values = []
        for name, x in zip(op.inputs, inputs, strict=True):
            items = x.ndarray if isinstance(x, Array) else np.asarray(x)
            is_real = op.scalar.kinds.get(name, "real") == "real"
            values.append(items.astype(dtype, copy=False) if is_real else items.astype(np.bool_))
        with np.errstate(all="ignore"):
            out.ndarray[...] = self.kernel(*values)


def holomorphic(op: ElementwiseOp, kernel: Callable[..., np.ndarray], **rules: Callable[..., Any]) -> None:
    """Give an op a complex form whose gradient follows from its real one; `rules` are real ones over tensors."""
    declared = op.tensor_rules | _as_rules(op, rules)
    _declare(op, kernel, "same", {name: _conjugated(rule) for name, rule in declared.items()})


def real_linear(op: ElementwiseOp, kernel: Callable[..., np.ndarray]) -> None:
    """Give an op a complex form that is linear with real factors: its gradient is the real one."""
    _declare(op, kernel, "same", op.tensor_rules)


def complex_form(
    op: ElementwiseOp, kernel: Callable[..., np.ndarray], result: str = "same", **rules: Callable[..., Any]
) -> None:
    """Give an op a complex form with gradients of its own."""
    _declare(op, kernel, result, _as_rules(op, rules))


def _as_rules(op: ElementwiseOp, functions: dict[str, Callable[..., Any]]) -> dict[str, Rule]:
    return {name: make_rule(op, function, True, op.readable) for name, function in functions.items()}


def _declare(op: ElementwiseOp, kernel: Callable[..., np.ndarray], result: str, rules: dict[str, Rule]) -> None:
    if op.complex_form is not None:
        raise ValueError(f"op {op.name!r} has two complex forms")
    if op.differentiable and (missing := [name for name in _real_inputs(op) if name not in rules]):
        raise ValueError(f"the complex form of op {op.name!r} has no gradient of {missing[0]!r}")
    op.complex_form = ComplexForm(kernel, result, rules)


def _real_inputs(op: ElementwiseOp) -> list[str]:
    """The inputs that are no bools or integers, as the source says: to lower it would cost an import 20 ms."""
    if isinstance(op.python, scalar_ir.Function):
        return [name for name in op.inputs if op.python.kinds.get(name, "real") == "real"]
    parameters = inspect.signature(op.python).parameters
    return [name for name in op.inputs if parameters[name].annotation is inspect.Parameter.empty]


def _conjugated(rule: Rule) -> Rule:
    """The gradient of a holomorphic function from its real rule."""

    def function(*values: Any) -> Any:
        given = [conj(x) if name == "g" else x for name, x in zip(rule.reads, values, strict=True)]
        return conj(rule.function(*given))

    return Rule(function, rule.reads, True)


# ---------------------------------------------------------------------------------------------------- arithmetic
def _conjugate(x: Any) -> Any:
    return x.conjugate() if isinstance(x, (int, float, complex)) else conj(x)


def _is_zero_power(input: Any, exponent: Any) -> Any:
    """Where 0 is raised to a power that is real and not negative: the exponent then has no influence."""
    if isinstance(exponent, (int, float, complex)):
        return (input == 0) if exponent.imag == 0 and exponent.real >= 0 else (input != input)
    real, imaginary = (exponent.real, exponent.imag) if exponent.is_complex() else (exponent, None)
    found = (input == 0) * (real >= 0)
    return found if imaginary is None else found * (imaginary == 0)


def _power_by_base(g: Any, input: Any, exponent: Any) -> Any:
    if isinstance(exponent, (int, float, complex)):
        return g.new_zeros(g.shape) if exponent == 0 else g * (exponent * input ** (exponent - 1))
    return where(exponent == 0, 0, g * (exponent * input ** (exponent - 1)))


def _power_by_exponent(g: Any, input: Any, exponent: Any, out: Any) -> Any:
    if isinstance(input, (int, float, complex)):
        base = input + g.new_zeros(())
        return g * where(_is_zero_power(base, exponent), 0, out * base.log())
    return g * where(_is_zero_power(input, exponent), 0, out * (input + g.new_zeros(())).log())


def _masked(input: np.ndarray, mask: np.ndarray, value: np.ndarray) -> np.ndarray:
    return np.where(mask, value, input)


def _lerp(input: np.ndarray, end: np.ndarray, weight: np.ndarray) -> np.ndarray:
    step = end - input
    return np.where(np.abs(weight) < 0.5, input + weight * step, end - step * (1 - weight))


def _isclose(x: np.ndarray, y: np.ndarray, rtol: np.ndarray, atol: np.ndarray, equal_nan: np.ndarray) -> np.ndarray:
    near = np.isfinite(x) & np.isfinite(y) & (np.abs(x - y) <= atol.real + np.abs(rtol.real * y))
    return near | (x == y) | (equal_nan & np.isnan(x) & np.isnan(y))


_op: ElementwiseOp
_kernel: Any
for _op, _kernel in (
    (arithmetic.add, np.add),
    (arithmetic.sub, np.subtract),
    (arithmetic.rsub, lambda input, other: other - input),
    (arithmetic.rsub_tensor, lambda input, other: other - input),
    (arithmetic.neg, np.negative),
    (arithmetic.where, np.where),
    (movement.clone, np.positive),
    (movement.copy, lambda input, src: src),
    (movement.fill, lambda input, value: value),
    (movement.fill_tensor, lambda input, value: value),
    (movement.zero, np.zeros_like),
    (draws.uniform_, lambda input, values: values),
    (draws.normal_, lambda input, values: values),
    (draws.normal_mean, lambda input, values: values),
    (draws.normal_both, lambda input, other, values: values),
):
    real_linear(_op, _kernel)

# The most frequent ones without the detour over the conjugate of `g`.
complex_form(
    arithmetic.mul,
    np.multiply,
    input=lambda g, other: g * _conjugate(other),
    other=lambda g, input: g * _conjugate(input),
)
complex_form(
    arithmetic.div,
    np.divide,
    input=lambda g, other: g / _conjugate(other),
    other=lambda g, input, other: -g * _conjugate((input / other) / other),
)
holomorphic(arithmetic.reciprocal, lambda x: 1 / x)
holomorphic(arithmetic.add_scaled, lambda input, other, alpha: input + alpha * other, alpha=lambda g, other: g * other)
holomorphic(arithmetic.sub_scaled, lambda input, other, alpha: input - alpha * other, alpha=lambda g, other: -g * other)
for _op in (arithmetic.power, arithmetic.power_tensor, arithmetic.power_scalar):
    holomorphic(_op, np.power, input=_power_by_base, exponent=_power_by_exponent)

for _op in (selecting.masked_fill, selecting.masked_fill_tensor):
    complex_form(
        _op,
        _masked,
        input=lambda g, mask: g.masked_fill(mask, 0),
        value=lambda g, mask: g.masked_fill(mask.logical_not(), 0),
    )
for _op in (combined.lerp, combined.lerp_tensor):
    holomorphic(_op, _lerp)
holomorphic(combined.addcmul, lambda input, first, second, value: input + value * first * second)
holomorphic(combined.addcdiv, lambda input, first, second, value: input + value * (first / second))
holomorphic(combined.ldexp, lambda input, other: input * np.power(2, other), input=lambda g, other: g * 2**other)

complex_form(arithmetic.absolute, np.abs, "real", input=lambda g, input: g * sgn(input))
complex_form(comparison.eq, np.equal, "bool")
complex_form(comparison.ne, np.not_equal, "bool")
for _op, _kernel in (
    (logic.isnan, np.isnan),
    (logic.isinf, np.isinf),
    (logic.isfinite, np.isfinite),
    (logic.isclose, _isclose),
    (logic.logical_and, np.logical_and),
    (logic.logical_or, np.logical_or),
    (logic.logical_xor, np.logical_xor),
    (logic.logical_not, np.logical_not),
):
    complex_form(_op, _kernel, "bool")

# ---------------------------------------------------------------------------------------------------- complex numbers
complex_form(conj, np.conjugate, input=lambda g: conj(g))
complex_form(conj_physical, np.conjugate, input=lambda g: conj_physical(g))


def _angle_gradient(g: Any, input: Any) -> Any:
    at_zero = input == 0
    return g * where(at_zero, 0, 1j / conj(where(at_zero, 1, input)))


def _sgn_gradient(g: Any, input: Any, out: Any) -> Any:
    at_zero = input == 0
    size = where(at_zero, 1, input).abs()
    return where(at_zero, 0, (g - (g * conj(out)).real * out) / size)


def _sign_of(x: np.ndarray) -> np.ndarray:
    size = np.abs(x)
    return np.where(size == 0, 0, x / np.where(size == 0, 1, size)).astype(x.dtype)


complex_form(angle, np.angle, "real", input=_angle_gradient)
complex_form(sgn, _sign_of, input=_sgn_gradient)


# ---------------------------------------------------------------------------------------------------- functions
def _sinc_gradient(g: Any, input: Any) -> Any:
    at_zero = input == 0
    safe = where(at_zero, 1, input)
    x = safe * math.pi
    return where(at_zero, 0, g * ((x * x.cos() - x.sin()) / (x * safe)))


def _logaddexp(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    larger, smaller = np.where(x.real >= y.real, x, y), np.where(x.real >= y.real, y, x)
    found = larger + np.log1p(np.exp(smaller - larger))
    return np.where((x == y) & np.isinf(x.real), x, found)


for _op, _kernel in (
    (elementary.exp, np.exp),
    (elementary.exp2, lambda x: np.exp(x * x.dtype.type(math.log(2)))),
    (elementary.expm1, np.expm1),
    (elementary.log, np.log),
    (elementary.log2, np.log2),
    (elementary.log10, np.log10),
    (elementary.log1p, np.log1p),
    (elementary.sqrt, np.sqrt),
    (elementary.rsqrt, lambda x: 1 / np.sqrt(x)),
    (elementary.sin, np.sin),
    (elementary.cos, np.cos),
    (elementary.tan, np.tan),
    (elementary.asin, np.arcsin),
    (elementary.acos, np.arccos),
    (elementary.atan, np.arctan),
    (elementary.sinh, np.sinh),
    (elementary.cosh, np.cosh),
    (elementary.tanh, np.tanh),
    (elementary.asinh, np.arcsinh),
    (elementary.acosh, np.arccosh),
    (elementary.atanh, np.arctanh),
    (activations.sigmoid, lambda x: 1 / (1 + np.exp(-x))),
):
    # A rule in terms of the result is written for scalars, but of operators that tensors have as well.
    _given = {} if "input" in _op.tensor_rules else {"input": _op.rules["input"].function}
    holomorphic(_op, _kernel, **_given)

holomorphic(activations.silu, lambda x: x / (1 + np.exp(-x)), input=activations.silu.tensor_rules["input"].function)
holomorphic(elementary.sinc, np.sinc, input=_sinc_gradient)
holomorphic(combined.logaddexp, _logaddexp)
