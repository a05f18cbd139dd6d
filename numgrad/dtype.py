"""Data types and their promotion, PyTorch's rules. One of the few files that name NumPy."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np


class dtype:
    """A data type such as `numgrad.float32`.

    Its repr is PyTorch's (`torch.float32`), so that what scripts print stays the same.

    Attributes:
        name: `"float32"`.
        itemsize: bytes for an item.
        is_floating_point, is_complex, is_signed: what it holds.
        scalar_name, tensor_name, c_name: how PyTorch's messages call it: "Float", "FloatTensor", "float".
    """

    __slots__ = (
        "c_name",
        "is_complex",
        "is_floating_point",
        "is_signed",
        "itemsize",
        "name",
        "numpy",
        "scalar_name",
        "tensor_name",
    )

    def __init__(self, name: str, numpy_dtype: Any, scalar_name: str, tensor_name: str, c_name: str) -> None:
        self.name = name
        self.numpy = np.dtype(numpy_dtype)
        self.itemsize = self.numpy.itemsize
        self.is_floating_point = self.numpy.kind == "f"
        self.is_complex = self.numpy.kind == "c"
        self.is_signed = self.numpy.kind in "ifc"
        self.scalar_name = scalar_name
        self.tensor_name = tensor_name
        self.c_name = c_name

    def holds(self, number: float) -> bool:
        """Whether an integer dtype reaches to a number (cut to an integer); the others take any."""
        if self.numpy.kind not in "iu":
            return True
        limits = np.iinfo(self.numpy)
        low = limits.min or -limits.max  # a negative number wraps round in an unsigned dtype
        return bool(low - 1 < number < limits.max + 1)

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> tuple[Any, ...]:
        return (_named, (self.name,))


float32 = float_ = dtype("float32", np.float32, "Float", "FloatTensor", "float")
float64 = double = dtype("float64", np.float64, "Double", "DoubleTensor", "double")
int8 = dtype("int8", np.int8, "Char", "CharTensor", "signed char")
int16 = short = dtype("int16", np.int16, "Short", "ShortTensor", "short int")
int32 = int_ = dtype("int32", np.int32, "Int", "IntTensor", "int")
int64 = long = dtype("int64", np.int64, "Long", "LongTensor", "long int")
uint8 = dtype("uint8", np.uint8, "Byte", "ByteTensor", "unsigned char")
bool_ = dtype("bool", np.bool_, "Bool", "BoolTensor", "bool")

ALL = (float32, float64, int8, int16, int32, int64, uint8, bool_)
FROM_NUMPY: dict[Any, dtype] = {d.numpy: d for d in ALL}


def _named(name: str) -> dtype:
    """The dtype of a name, for pickles and copies: there is one object of each."""
    return next(d for d in ALL if d.name == name)


_default = float32


def get_default_dtype() -> dtype:
    """The dtype of tensors made from Python floats."""
    return _default


def set_default_dtype(d: dtype, /) -> None:
    """Set the dtype of tensors made from Python floats: float32 or float64. Raises TypeError for others."""
    global _default
    if not isinstance(d, dtype):
        raise TypeError("invalid dtype object: only floating-point types are supported as the default type")
    if not d.is_floating_point:
        raise TypeError(f"only floating-point types are supported as the default type, but got {d!r}")
    _default = d


def of_number(value: Any) -> dtype:
    """The dtype of a Python number: bool, int64, or the default float dtype."""
    if isinstance(value, bool):
        return bool_
    return int64 if isinstance(value, int) else _default


def as_dtype(value: Any) -> dtype | None:
    """The dtype that a Python type (`float`, `int`, `bool`) or a dtype names, None for anything else."""
    if isinstance(value, dtype):
        return value
    # Python's float means float64, as in PyTorch.
    return {float: float64, int: int64, bool: bool_}.get(value)


@functools.cache
def promote_types(type1: dtype, type2: dtype) -> dtype:
    """The smallest dtype that both promote to. Integers never widen a float dtype: `int64` with `float32` is `float32`."""
    if type1 is type2:
        return type1
    if type1.is_floating_point != type2.is_floating_point:
        return type1 if type1.is_floating_point else type2
    return FROM_NUMPY[np.promote_types(type1.numpy, type2.numpy)]


def _combine(higher: dtype | None, lower: dtype | None) -> dtype | None:
    if higher is None or lower is None:
        return higher or lower
    if higher.is_floating_point:
        return higher
    if higher is bool_ or lower.is_floating_point:
        return promote_types(higher, lower)
    return higher


def promote(dims: list[dtype], zeros: list[dtype], numbers: list[dtype]) -> dtype:
    """The dtype of an op on tensors with dimensions, 0-d tensors and Python numbers.

    A kind of operand decides only when it is of a higher category (bool < integer < float) than those before it.
    """
    parts = [functools.reduce(promote_types, group) if group else None for group in (dims, zeros, numbers)]
    result = _combine(parts[0], _combine(parts[1], parts[2]))
    assert result is not None, "an op without operands has no dtype"
    return result


def can_cast(from_: dtype, to: dtype) -> bool:
    """Whether a result of dtype `from_` may be written to a tensor of dtype `to` (no category is lost)."""
    if from_.is_floating_point and not to.is_floating_point:
        return False
    return not (to is bool_ and from_ is not bool_)
