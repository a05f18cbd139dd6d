"""Functions of several items in one: square, lerp, addcmul, addcdiv, xlogy, float_power; isclose, allclose, equal."""

from __future__ import annotations

from typing import Any

from ..autograd.variable import CLASSES
from ..dispatch import dispatch
from ..dtype import complex128, dtype, float64, promote
from ..kernels import arithmetic, combined, logic
from .arithmetic import pow
from .checks import check_tensor

_FEW = 4096  # items that NumPy compares in less time than two ops take


def positive(input: Any) -> Any:
    """The tensor itself, `+input`. Raises RuntimeError for bools."""
    check_tensor("positive", input)
    if input._array.dtype.kind == "b":
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input


def square(input: Any, *, out: Any = None) -> Any:
    """`input * input`, as its power 2."""
    check_tensor("square", input)
    if input._array.dtype.kind == "b" and out is None:
        return input.long()
    return dispatch(arithmetic.power, (input, 2), (), out)


def lerp(input: Any, end: Any, weight: Any, *, out: Any = None) -> Any:
    """`input + weight * (end - input)`, with a number or a tensor as weight.

    Raises:
        RuntimeError: tensors of different dtypes.
        NotImplementedError: integers.

    Example:
        >>> import numgrad as ng
        >>> ng.lerp(ng.tensor([0.0, 10.0]), ng.tensor([1.0, 20.0]), 0.5)
        tensor([ 0.5000, 15.0000])
    """
    check_tensor("lerp", input)
    check_tensor("lerp", end, "end", 2)
    is_tensor = weight.__class__ in CLASSES
    for name, other in (("end", end), *((("weight", weight),) if is_tensor and weight.dim() else ())):
        if other.dtype is not input.dtype:
            raise RuntimeError(f"expected dtype {input.dtype.c_name} for `{name}` but got dtype {other.dtype.c_name}")
    if not is_tensor:
        input._check_number(weight)
    if not input.dtype.is_differentiable:
        kernel = "lerp_kernel_tensor" if is_tensor else "lerp_kernel_scalar"
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{input.dtype.scalar_name}'")
    return dispatch(combined.lerp_tensor if is_tensor else combined.lerp, (input, end, weight), (), out)


def addcmul(input: Any, tensor1: Any, tensor2: Any, *, value: float = 1, out: Any = None) -> Any:
    """`input + value * tensor1 * tensor2`, broadcast."""
    operands = (input, tensor1, tensor2)
    _check_three("addcmul", operands)
    promoted = _promoted(operands)
    if not isinstance(value, float):
        promoted.check_holds(value)
    if not promoted.is_differentiable:
        value = int(value)
        if all(x._array.dtype.kind == "b" for x in operands):
            raise NotImplementedError("\"addcmul_cpu_out\" not implemented for 'Bool'")
    return dispatch(combined.addcmul, (*operands, value), (), out)


def addcdiv(input: Any, tensor1: Any, tensor2: Any, *, value: float = 1, out: Any = None) -> Any:
    """`input + value * tensor1 / tensor2`, broadcast. Raises RuntimeError for integers divided by integers."""
    _check_three("addcdiv", (input, tensor1, tensor2))
    if not tensor1.dtype.is_differentiable and not tensor2.dtype.is_differentiable:
        raise RuntimeError(
            "Integer division with addcdiv is no longer supported, and in a future  release addcdiv will perform a true "
            "division of tensor1 and tensor2. The historic addcdiv behavior can be implemented as (input + value * "
            "torch.trunc(tensor1 / tensor2)).to(input.dtype) for integer inputs and as (input + value * tensor1 / "
            "tensor2) for float inputs. The future addcdiv behavior is just the latter implementation: (input + value * "
            "tensor1 / tensor2), for all dtypes."
        )
    _promoted((input, tensor1, tensor2)).check_holds(value)
    return dispatch(combined.addcdiv, (input, tensor1, tensor2, value), (), out)


def _promoted(tensors: tuple[Any, ...]) -> dtype:
    return promote([x.dtype for x in tensors if x.dim()], [x.dtype for x in tensors if not x.dim()], [])


def _check_three(name: str, operands: tuple[Any, ...]) -> None:
    for position, (argument, x) in enumerate(zip(("input", "tensor1", "tensor2"), operands, strict=True), 1):
        check_tensor(name, x, argument, position)


def xlogy(input: Any, other: Any, *, out: Any = None) -> Any:
    """`input * log(other)`, 0 where `input` is 0 and `other` not NaN; either may be a number."""
    if input.__class__ not in CLASSES:
        return dispatch(combined.xlogy_of_number, (input, other), (), out)
    op = combined.xlogy if other.__class__ in CLASSES else combined.xlogy_by_number
    return dispatch(op, (input, other), (), out)


def float_power(input: Any, exponent: Any, *, out: Any = None) -> Any:
    """`pow` in float64, or in complex128 if one is complex; either may be a number."""
    wide = _widest(input, exponent)
    base, exponent = (x.to(wide) if x.__class__ in CLASSES else x for x in (input, exponent))
    return pow(base, exponent, out=out)


def _widest(*values: Any) -> Any:
    is_complex = any(x.is_complex() if x.__class__ in CLASSES else isinstance(x, complex) for x in values)
    return complex128 if is_complex else float64


def float_power_(input: Any, exponent: Any) -> Any:
    """`float_power`, in place. Raises RuntimeError for a tensor that is not of the dtype that the result has."""
    wide = _widest(input, exponent)
    if input.dtype is not wide:
        raise RuntimeError(
            f"the base given to float_power_ has dtype {input.dtype.scalar_name} but the operation's result requires "
            f"dtype {wide.scalar_name}"
        )
    return input.pow_(exponent.to(wide) if exponent.__class__ in CLASSES else exponent)


# ---------------------------------------------------------------------------------------------------- comparisons
def isclose(input: Any, other: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Any:
    """Whether items are equal up to a tolerance: `abs(input - other) <= atol + rtol * abs(other)`.

    Infinities are close to themselves alone, NaN to NaN if `equal_nan`.

    Raises:
        RuntimeError: two dtypes; a negative tolerance.
    """
    check_tensor("isclose", input)
    check_tensor("isclose", other, "other", 2)
    if input.dtype is not other.dtype:
        raise RuntimeError(f"{input.dtype.scalar_name} did not match {other.dtype.scalar_name}")
    for name, value in (("rtol", rtol), ("atol", atol)):
        if value < 0:
            raise RuntimeError(f"{name} must be greater than or equal to zero, but got {value:g}")
    if not (input.is_floating_point() or input.is_complex()):
        input, other = input.to(float64), other.to(float64)  # exact below 2**53
    return dispatch(logic.isclose, (input, other, float(rtol), float(atol), bool(equal_nan)))


def allclose(input: Any, other: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """Whether all items are close, see `isclose`."""
    return bool(isclose(input, other, rtol, atol, equal_nan).all())


def equal(input: Any, other: Any) -> bool:
    """Whether two tensors have equal shapes and items; NaN equals nothing."""
    check_tensor("equal", input)
    check_tensor("equal", other, "other", 2)
    a, b = input._array, other._array
    if a.shape != b.shape:
        return False
    if a.flat is not None and b.flat is not None and a.dtype is b.dtype and len(a.flat) <= _FEW:
        return bool((a.flat == b.flat).all())
    return bool((input == other).all())
