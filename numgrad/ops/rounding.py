"""round, copysign, heaviside, and divisions with whole quotients: div, floor_divide, remainder, fmod."""

from __future__ import annotations

from typing import Any

from ..autograd.variable import CLASSES
from ..dispatch import dispatch
from ..dtype import promote_types
from ..kernels import arithmetic, rounding
from ..operands import broadcast_shapes
from .checks import check_tensor


def round(input: Any, *, decimals: int = 0, out: Any = None) -> Any:
    """The nearest whole numbers, or the nearest with `decimals` digits after the point (before it, if negative).

    Of two that are equally near the even one. Raises NotImplementedError for bools, and for integers with `decimals`.

    Example:
        >>> import numgrad as ng
        >>> ng.round(ng.tensor([0.5, 1.5, -2.7]))
        tensor([ 0.,  2., -3.])
    """
    check_tensor("round", input)
    if not decimals:
        return dispatch(rounding.round_, (input,), (), out)
    scale = 10.0**decimals if decimals > 0 else -(10.0**-decimals)
    return dispatch(rounding.round_decimals, (input, scale), (), out)


def copysign(input: Any, other: Any, *, out: Any = None) -> Any:
    """Magnitudes of `input` with the signs of `other`, a number or a tensor."""
    check_tensor("copysign", input)
    op = rounding.copysign_tensor if other.__class__ in CLASSES else rounding.copysign
    return dispatch(op, (input, other), (), out)


def heaviside(input: Any, values: Any, *, out: Any = None) -> Any:
    """0 where `input` is below 0, 1 where above, and the items of `values` where it is 0.

    Raises RuntimeError for two dtypes. Its gradient is 0, and that of `values` the incoming one where `input` is 0.
    """
    check_tensor("heaviside", input)
    check_tensor("heaviside", values, "values", 2)
    if input.dtype is not values.dtype:
        raise RuntimeError("heaviside is not yet implemented for tensors with different dtypes.")
    return dispatch(rounding.heaviside, (input, values), (), out)


def nextafter(input: Any, other: Any, *, out: Any = None) -> Any:
    """The next number after each item of `input` in the direction of `other`. Raises NotImplementedError for integers."""
    check_tensor("nextafter", input)
    check_tensor("nextafter", other, "other", 2)
    common = promote_types(input.dtype, other.dtype)
    if not common.is_floating_point:
        raise NotImplementedError(f"\"nextafter_cpu\" not implemented for '{common.scalar_name}'")
    shape = broadcast_shapes(tuple(input.shape), tuple(other.shape))
    return dispatch(rounding.nextafter, (input.to(common).expand(shape), other.to(common).expand(shape)), (), out)


# ---------------------------------------------------------------------------------------------------- division
_QUOTIENTS = {None: arithmetic.div, "floor": rounding.div_floor, "trunc": rounding.div_trunc}


def div(input: Any, other: Any, *, rounding_mode: str | None = None, out: Any = None) -> Any:
    """The quotient of two tensors, or of a tensor and a number.

    Args:
        input, other: tensors; either may be a number.
        rounding_mode: None for a true quotient (integers give floats), "floor" to round down, "trunc" towards 0.
        out: a tensor for the result.

    Raises:
        RuntimeError: another rounding mode; integers divided by 0 with one.

    Example:
        >>> import numgrad as ng
        >>> ng.div(ng.tensor([-7, 7]), 2, rounding_mode="floor")
        tensor([-4,  3])
    """
    if rounding_mode is None:
        return dispatch(arithmetic.div, (input, other), (), out)
    op = _QUOTIENTS.get(rounding_mode)
    if op is None:
        raise RuntimeError(
            f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'"
        )
    check_divisor(input, other)
    return dispatch(op, (input, other), (), out)


def floor_divide(input: Any, other: Any, *, out: Any = None) -> Any:
    """The quotient rounded down, `input // other`. Raises RuntimeError for integers divided by 0."""
    check_divisor(input, other)
    return dispatch(rounding.div_floor, (input, other), (), out)


def remainder(input: Any, other: Any, *, out: Any = None) -> Any:
    """What a division that rounds down leaves, with the sign of `other`: `input % other`.

    Raises RuntimeError for integers divided by 0.
    """
    check_divisor(input, other)
    both = input.__class__ not in CLASSES or other.__class__ in CLASSES
    return dispatch(rounding.remainder_tensor if both else rounding.remainder, (input, other), (), out)


def fmod(input: Any, other: Any, *, out: Any = None) -> Any:
    """What a division that rounds towards 0 leaves, with the sign of `input`, as C's fmod.

    Raises RuntimeError for integers divided by 0.
    """
    check_tensor("fmod", input)
    check_divisor(input, other)
    return dispatch(rounding.fmod_tensor if other.__class__ in CLASSES else rounding.fmod, (input, other), (), out)


def check_divisor(input: Any, other: Any) -> None:
    """Raise RuntimeError, with PyTorch's text, when integers are divided by 0 (on the CPU: a GPU is not asked)."""
    if not _has_whole_items(input) or (_is_bool(input) and _is_bool(other)):  # there is no division of bools
        return
    if other.__class__ in CLASSES:
        if other._array.dtype.kind not in "iub" or other._device.type != "cpu":
            return
        zero = bool((other == 0).any())
    else:
        zero = isinstance(other, int) and other == 0
    if zero:
        raise RuntimeError("ZeroDivisionError")


def _has_whole_items(x: Any) -> bool:
    return (x._array.dtype.kind in "iub" and x._array.size > 0) if x.__class__ in CLASSES else isinstance(x, int)


def _is_bool(x: Any) -> bool:
    return x._array.dtype.kind == "b" if x.__class__ in CLASSES else isinstance(x, bool)
