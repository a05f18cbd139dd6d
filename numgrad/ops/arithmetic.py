"""add, sub, pow, where: public functions whose arguments choose among several ops of the table."""

from __future__ import annotations

from typing import Any

from .. import dtype as dtypes
from ..autograd.variable import CLASSES
from ..dispatch import dispatch
from ..kernels import arithmetic as kernels
from ..operands import NUMBERS
from .checks import check_held
from .selecting import nonzero


def check_alpha(input: Any, other: Any, alpha: Any) -> None:
    """Raise RuntimeError, with PyTorch's text, for a float factor of integer tensors."""
    given = [dtypes.of_number(x) if isinstance(x, NUMBERS) else x.dtype for x in (input, other)]
    if isinstance(alpha, float) and not any(d.is_differentiable for d in given):
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")
    if isinstance(alpha, complex) and not any(d.is_complex for d in given):
        raise RuntimeError("For non-complex input tensors, argument alpha must not be a complex number.")
    if not isinstance(alpha, complex):
        tensors = [x.dtype for x in (input, other) if not isinstance(x, NUMBERS)]
        dtypes.promote(tensors, [], [d for d in given if d not in tensors]).check_holds(alpha)


def add(input: Any, other: Any, *, alpha: float = 1, out: Any = None) -> Any:
    """`input + alpha * other`, broadcast.

    Example:
        >>> import numgrad as ng
        >>> ng.add(ng.tensor([1.0, 2.0]), 10)
        tensor([11., 12.])
    """
    if alpha.__class__ is int and alpha == 1:
        return dispatch(kernels.add, (input, other), (), out)
    check_alpha(input, other, alpha)
    return dispatch(kernels.add_scaled, (input, other, alpha), (), out)


def sub(input: Any, other: Any, *, alpha: float = 1, out: Any = None) -> Any:
    """`input - alpha * other`, broadcast."""
    if alpha.__class__ is int and alpha == 1:
        return dispatch(kernels.sub, (input, other), (), out)
    check_alpha(input, other, alpha)
    return dispatch(kernels.sub_scaled, (input, other, alpha), (), out)


def rsub(input: Any, other: Any, *, alpha: float = 1) -> Any:
    """`other - alpha * input`."""
    op = kernels.rsub_tensor if other.__class__ in CLASSES else kernels.rsub
    return dispatch(op, (input if alpha == 1 else input * alpha, other))


def pow(input: Any, exponent: Any, *, out: Any = None) -> Any:
    """`input` to the power `exponent`; either may be a Python number.

    Raises RuntimeError for an integer tensor and a negative integer exponent.
    """
    if input.__class__ not in CLASSES:
        return dispatch(kernels.power_scalar, (input, exponent), (), out)
    if exponent.__class__ in CLASSES:
        if out is None and input._array.dtype.kind in "iu" and exponent._array.dtype.kind == "i":
            return _integer_power(input, exponent)
        return dispatch(kernels.power_tensor, (input, exponent), (), out)
    check_exponent(input, exponent)
    if exponent.__class__ is int:
        check_held(input, exponent)
    return dispatch(kernels.power, (input, exponent), (), out)


def _integer_power(input: Any, exponent: Any) -> Any:
    """A power of integers. Negative ones are 0, but of 1 and -1, as integer division would give them."""
    power = dispatch(kernels.power_tensor, (input, exponent))
    negative = exponent < 0
    if not bool(negative.any()):
        return power
    sign = dispatch(kernels.power_tensor, (input, -exponent))  # 1 and -1 are their own inverses
    unit = (input == 1) | (input == -1)
    return dispatch(kernels.where, (negative, sign * unit, power))


def check_exponent(input: Any, exponent: Any) -> None:
    """Raise RuntimeError, with PyTorch's text, for a negative number as the exponent of integers."""
    if isinstance(exponent, int) and exponent < 0 and not input.dtype.is_differentiable:
        raise RuntimeError("Integers to negative integer powers are not allowed.")


def where(condition: Any, input: Any = None, other: Any = None, *, out: Any = None) -> Any:
    """Items of `input` where `condition` (a bool tensor) holds, of `other` elsewhere; all three broadcast.

    With a condition alone: the indices of where it is not 0, a vector for each dimension.

    The gradient of the side that is not taken is 0, also where that side is NaN.
    """
    if condition.__class__ not in CLASSES:
        raise TypeError(f"where(): argument 'condition' (position 1) must be Tensor, not {type(condition).__name__}")
    if input is None and other is None:
        return nonzero(condition, as_tuple=True)
    if condition.dtype.name not in ("bool", "uint8"):
        raise RuntimeError(
            f"where expected condition to be a boolean tensor, but got a tensor with dtype {condition.dtype.scalar_name}"
        )
    if input.__class__ in CLASSES:
        _check_side(input, other)
    elif other.__class__ in CLASSES:
        _check_side(other, input)
    return dispatch(kernels.where, (condition, input, other), (), out)


def _check_side(tensor: Any, other: Any) -> None:
    """`check_held` for a number beside a tensor; in halves one that is too large is infinite."""
    if other.__class__ not in CLASSES and tensor.dtype not in (dtypes.float16, dtypes.bfloat16):
        check_held(tensor, other)
