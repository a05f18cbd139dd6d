"""Data types and their promotion, PyTorch's rules. One of the few files that name NumPy."""

from __future__ import annotations

import functools
import math
from typing import Any

import ml_dtypes
import numpy as np

from .kernels.halves import BFLOAT16

_CATEGORIES = {"b": "bool", "i": "int", "u": "int", "c": "complex"}
_ORDER = {"bool": 0, "int": 1, "float": 2, "complex": 3}


class dtype:
    """A data type such as `numgrad.float32`.

    Its repr is PyTorch's (`torch.float32`), so that what scripts print stays the same.

    Attributes:
        name: `"float32"`.
        itemsize: bytes for an item.
        is_floating_point, is_complex, is_signed: what it holds.
        is_differentiable: whether tensors of it may require gradients: floats and complex numbers.
        category: "bool", "int", "float" or "complex".
        scalar_name, tensor_name, c_name: how PyTorch's messages call it: "Float", "FloatTensor", "float".
    """

    __slots__ = (
        "c_name",
        "category",
        "is_complex",
        "is_differentiable",
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
        self.category = _CATEGORIES.get(self.numpy.kind, "float")  # NumPy calls the kind of bfloat16 "V"
        self.is_floating_point = self.category == "float"
        self.is_complex = self.category == "complex"
        self.is_differentiable = self.is_floating_point or self.is_complex
        self.is_signed = self.numpy.kind not in "bu"
        self.scalar_name = scalar_name
        self.tensor_name = tensor_name
        self.c_name = c_name

    def to_real(self) -> dtype:
        """The dtype of the real part of a complex one; any other is its own."""
        return _REAL_PARTS.get(self, self)

    def to_complex(self) -> dtype:
        """The complex dtype whose parts are of this one (of the halves, whose parts hold them: complex64).

        Raises RuntimeError for integers and bools.
        """
        if not (self.is_floating_point or self.is_complex):
            raise RuntimeError(f"Unknown Complex ScalarType for {self.scalar_name}")
        return complex128 if self.to_real() is float64 else complex64

    def check_holds(self, number: complex) -> None:
        """Raise RuntimeError, with PyTorch's text, for a number that the dtype does not reach to."""
        if number.__class__ is float and self.category == "float" and -60000.0 < number < 60000.0:
            return  # as every float dtype does
        if number.__class__ is int and -128 <= number < 128:
            return
        if not self._holds(number):
            name = f"{self.name}_t" if self.category == "int" and self.name != "int32" else self.c_name
            raise RuntimeError(f"value cannot be converted to type {name} without overflow")

    def _holds(self, number: Any) -> bool:
        if self.category == "bool":
            return True
        if isinstance(number, complex):
            if not self.is_complex:
                return number.imag == 0 and self._holds(number.real)
            return self.to_real()._holds(number.real) and self.to_real()._holds(number.imag)
        if self.category == "int":
            limits = np.iinfo(self.numpy)
            wraps = isinstance(number, int) and not self.is_signed  # -1 is 255
            return bool((-limits.max if wraps else limits.min) - 1 < number < limits.max + 1)
        largest = float(ml_dtypes.finfo(self.to_real().numpy).max)
        return not math.isfinite(number) or abs(number) <= largest

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> tuple[Any, ...]:
        return (_named, (self.name,))


float16 = half = dtype("float16", np.float16, "Half", "HalfTensor", "c10::Half")
bfloat16 = dtype("bfloat16", BFLOAT16, "BFloat16", "BFloat16Tensor", "c10::BFloat16")
float32 = float_ = dtype("float32", np.float32, "Float", "FloatTensor", "float")
float64 = double = dtype("float64", np.float64, "Double", "DoubleTensor", "double")
complex64 = cfloat = dtype("complex64", np.complex64, "ComplexFloat", "ComplexFloatTensor", "c10::complex<float>")
complex128 = cdouble = dtype(
    "complex128", np.complex128, "ComplexDouble", "ComplexDoubleTensor", "c10::complex<double>"
)
int8 = dtype("int8", np.int8, "Char", "CharTensor", "signed char")
int16 = short = dtype("int16", np.int16, "Short", "ShortTensor", "short int")
int32 = int_ = dtype("int32", np.int32, "Int", "IntTensor", "int")
int64 = long = dtype("int64", np.int64, "Long", "LongTensor", "long int")
uint8 = dtype("uint8", np.uint8, "Byte", "ByteTensor", "unsigned char")
bool_ = dtype("bool", np.bool_, "Bool", "BoolTensor", "bool")

ALL = (float16, bfloat16, float32, float64, complex64, complex128, int8, int16, int32, int64, uint8, bool_)
FROM_NUMPY: dict[Any, dtype] = {d.numpy: d for d in ALL}
_REAL_PARTS = {complex64: float32, complex128: float64}


def _named(name: str) -> dtype:
    """The dtype of a name, for pickles and copies: there is one object of each."""
    return next(d for d in ALL if d.name == name)


_default = float32


def get_default_dtype() -> dtype:
    """The dtype of tensors made from Python floats."""
    return _default


def set_default_dtype(d: dtype, /) -> None:
    """Set the dtype of tensors made from Python floats, a float dtype; complex numbers follow it.

    Raises TypeError for any other.
    """
    global _default
    if not isinstance(d, dtype):
        raise TypeError("invalid dtype object: only floating-point types are supported as the default type")
    if not d.is_floating_point:
        raise TypeError("only floating-point types are supported as the default type")
    _default = d


def of_number(value: Any) -> dtype:
    """The dtype of a Python number: bool, int64, or the default float dtype or its complex one."""
    if isinstance(value, bool):
        return bool_
    if isinstance(value, complex):
        return _default_complex()
    return int64 if isinstance(value, int) else _default


def _default_complex() -> dtype:
    if _default is bfloat16:
        raise RuntimeError("invalid default scalar type for complex")
    return _default.to_complex()


def as_dtype(value: Any) -> dtype | None:
    """The dtype that a Python type (`float`, `int`, `bool`, `complex`) or a dtype names, None for anything else."""
    if isinstance(value, dtype):
        return value
    # Python's types are double precision, as in PyTorch.
    return _OF_PYTHON.get(value) if isinstance(value, type) else None


_OF_PYTHON: dict[type, dtype] = {float: float64, int: int64, bool: bool_, complex: complex128}


def promote_types(type1: dtype, type2: dtype) -> dtype:
    """The smallest dtype that both promote to. Integers never widen a float dtype: `int64` with `float32` is `float32`.

    Raises TypeError for what is no dtype.
    """
    for position, (name, given) in enumerate((("type1", type1), ("type2", type2)), 1):
        _check_dtype("promote_types", name, position, given)
    return common(type1, type2)


def _check_dtype(function: str, name: str, position: int, given: Any) -> None:
    if not isinstance(given, dtype):
        raise TypeError(
            f"{function}(): argument '{name}' (position {position}) must be torch.dtype, not {type(given).__name__}"
        )


@functools.cache
def common(first: dtype, second: dtype) -> dtype:
    """`promote_types` of what is known to be dtypes."""
    if first is second:
        return first
    ranks = _rank(first), _rank(second)
    higher, lower = (first, second) if ranks[0] >= ranks[1] else (second, first)
    if min(ranks) < _FLOATING:
        return higher if ranks[0] != ranks[1] else FROM_NUMPY[np.promote_types(first.numpy, second.numpy)]
    real, other = higher.to_real(), lower.to_real()
    if real.itemsize == other.itemsize and real is not other:
        wider = float32  # neither float16 nor bfloat16 holds the other
    else:
        wider = max(real, other, key=lambda d: d.itemsize)
    return wider.to_complex() if higher.is_complex else wider


_FLOATING = _ORDER["float"]


def _rank(d: dtype) -> int:
    return _ORDER[d.category]


def _combine(higher: dtype | None, lower: dtype | None) -> dtype | None:
    if higher is None or lower is None:
        return higher or lower
    if _rank(higher) >= _FLOATING:
        return higher.to_complex() if lower.is_complex else higher
    return common(higher, lower) if higher is bool_ or _rank(lower) >= _FLOATING else higher


def promote(dims: list[dtype], zeros: list[dtype], numbers: list[dtype]) -> dtype:
    """The dtype of an op on tensors with dimensions, 0-d tensors and Python numbers.

    A kind of operand decides only when it is of a higher category (bool < integer < float < complex) than those before it.
    """
    parts = [functools.reduce(common, group) if group else None for group in (dims, zeros, numbers)]
    result = _combine(parts[0], _combine(parts[1], parts[2]))
    assert result is not None, "an op without operands has no dtype"
    return result


def can_cast(from_: dtype, to: dtype) -> bool:
    """Whether a result of dtype `from_` may be written to a tensor of dtype `to`: no category is lost.

    Raises TypeError for what is no dtype.
    """
    _check_dtype("can_cast", "from_", 1, from_)
    _check_dtype("can_cast", "to", 2, to)
    # An integer beyond the range, and a negative one as uint8, may be cast: their category stays.
    return _rank(to) >= _rank(from_)
