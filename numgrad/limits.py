"""`finfo` and `iinfo`: the limits of dtypes, as PyTorch states them."""

from __future__ import annotations

import math
from typing import Any

from . import dtype as dtypes

_FORMATS = {"float16": (10, 15), "bfloat16": (7, 127), "float32": (23, 127), "float64": (52, 1023)}  # IEEE 754
_DIGITS = {"float16": 3, "bfloat16": 2, "float32": 6, "float64": 15}


class _Limits:
    """What both kinds have: the number of bits, and equality."""

    bits: int
    dtype: str

    def __eq__(self, other: object) -> bool:
        return other.__class__ is self.__class__ and other.dtype == self.dtype

    __hash__ = None  # type: ignore[assignment]


class finfo(_Limits):
    """Limits of a float dtype, or of the parts of a complex one; of the default dtype without an argument.

    Attributes:
        bits: of a number (of a part).
        min, max: the lowest and the largest finite number.
        eps: the distance from 1 to the next larger number.
        smallest_normal, tiny: the smallest positive number of full precision.
        resolution: 10 to the minus number of decimal digits that are always kept.
        dtype: the dtype's name.

    Raises:
        TypeError: an integer dtype, or no dtype.

    Example:
        >>> import numgrad as ng
        >>> ng.finfo(ng.float16).max
        65504.0
    """

    def __init__(self, type: Any = None) -> None:
        given = dtypes.get_default_dtype() if type is None else _dtype_of("finfo", type)
        if not (given.is_floating_point or given.is_complex):
            raise TypeError(
                "torch.finfo() requires a floating point input type. Use torch.iinfo to handle 'torch.finfo'"
            )
        real = given.to_real()
        digits, exponent = _FORMATS[real.name]
        self.dtype = real.name
        self.bits = 8 * real.itemsize
        self.eps = math.ldexp(1.0, -digits)
        self.max = math.ldexp(2.0 - self.eps, exponent)
        self.min = -self.max
        self.smallest_normal = self.tiny = math.ldexp(1.0, 1 - exponent)
        self.resolution = 10.0 ** -_DIGITS[real.name]

    def __repr__(self) -> str:
        names = ("resolution", "min", "max", "eps", "smallest_normal", "tiny")
        return f"finfo({', '.join(f'{n}={getattr(self, n):g}' for n in names)}, dtype={self.dtype})"


class iinfo(_Limits):
    """Limits of an integer dtype.

    Attributes:
        bits: of a number.
        min, max: the lowest and the largest number.
        dtype: the dtype's name.

    Raises:
        TypeError: any other dtype, or no dtype.

    Example:
        >>> import numgrad as ng
        >>> ng.iinfo(ng.int8).max
        127
    """

    def __init__(self, type: Any) -> None:
        given = _dtype_of("iinfo", type)
        if given.is_floating_point or given.is_complex:
            raise TypeError("torch.iinfo() requires an integer input type. Use torch.finfo to handle 'torch.iinfo'")
        if given is dtypes.bool_:
            raise TypeError("torch.bool is not supported by torch.iinfo")
        self.dtype = given.name
        self.bits = 8 * given.itemsize
        self.max = 2 ** (self.bits - given.is_signed) - 1
        self.min = -self.max - 1 if given.is_signed else 0

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"


def _dtype_of(name: str, given: Any) -> dtypes.dtype:
    if not isinstance(given, dtypes.dtype):
        raise TypeError(f"{name}(): argument 'type' (position 1) must be torch.dtype, not {type(given).__name__}")
    return given
