"""Questions about tensors and dtypes: `is_tensor`, `is_complex`, `is_nonzero`, `numel`, `result_type` and such."""

from __future__ import annotations

from typing import Any

from .. import dtype as dtypes
from ..autograd.variable import CLASSES
from .checks import check_tensor


def is_tensor(obj: object) -> bool:
    """Whether an object is a tensor."""
    return obj.__class__ in CLASSES


def is_floating_point(input: Any) -> bool:
    """Whether a tensor's dtype is a float; complex ones are not."""
    check_tensor("is_floating_point", input)
    return bool(input.dtype.is_floating_point)


def is_complex(input: Any) -> bool:
    """Whether a tensor's dtype is complex."""
    check_tensor("is_complex", input)
    return bool(input.dtype.is_complex)


def is_signed(input: Any) -> bool:
    """Whether a tensor's dtype has negative numbers."""
    check_tensor("is_signed", input)
    return bool(input.dtype.is_signed)


def is_nonzero(input: Any) -> bool:
    """Whether the only item of a tensor is not 0. Raises RuntimeError when there are several, or none."""
    check_tensor("is_nonzero", input)
    return bool(input)


def numel(input: Any) -> int:
    """Number of items of a tensor."""
    check_tensor("numel", input)
    return int(input._array.size)


def result_type(*args: Any, **named: Any) -> dtypes.dtype:
    """The dtype of arithmetic on two operands, each a tensor or a number: `result_type(tensor, other)`.

    Raises TypeError for anything else.

    Example:
        >>> import numgrad as ng
        >>> ng.result_type(ng.tensor([1, 2]), 1.0)
        torch.float32
    """
    operands = (*args, *named.values())
    allowed = {"tensor", "other", "scalar", "scalar1", "scalar2"}
    dims: list[dtypes.dtype] = []
    zeros: list[dtypes.dtype] = []
    numbers: list[dtypes.dtype] = []
    for x in operands:
        if x.__class__ in CLASSES:
            (dims if x.dim() else zeros).append(x.dtype)
        elif isinstance(x, (bool, int, float, complex)):
            numbers.append(dtypes.of_number(x))
    if len(dims) + len(zeros) + len(numbers) != 2 or len(operands) != 2 or named.keys() - allowed:
        given = ", ".join(type(x).__name__ for x in operands)
        raise TypeError(f"result_type() received an invalid combination of arguments - got ({given})")
    return dtypes.promote(dims, zeros, numbers)
