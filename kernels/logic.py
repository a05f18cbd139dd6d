"""Logic, bits, and questions about items: their results are bools or integers, and have no gradient."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .registry import ElementwiseOp, Uniform, elementwise

_SMALL = Uniform(-1.2, 1.2)


# ---------------------------------------------------------------------------------------------------- truth
def _truth(name: str, function: Any, reference: Any) -> ElementwiseOp:
    return elementwise(
        samples=_SMALL,
        reference=reference,
        name=name,
        result="bool",
        differentiable=False,
        tensors=("input", "other"),
    )(function)


def _and(input, other):
    """Whether both items are not 0."""
    return input != 0 and other != 0


def _or(input, other):
    """Whether an item, or both, are not 0."""
    return input != 0 or other != 0


def _xor(input, other):
    """Whether exactly one of two items is not 0."""
    return (input != 0) != (other != 0)


logical_and = _truth("logical_and", _and, np.logical_and)
logical_or = _truth("logical_or", _or, np.logical_or)
logical_xor = _truth("logical_xor", _xor, np.logical_xor)


@elementwise(samples=_SMALL, reference=np.logical_not, result="bool", differentiable=False)
def logical_not(input):
    """Whether an item is 0."""
    return input == 0


# ---------------------------------------------------------------------------------------------------- questions
_QUESTION = {
    "samples": _SMALL,
    "result": "bool",
    "differentiable": False,
    "public": ("function", "method"),
}


@elementwise(reference=np.isnan, takes_out=False, **_QUESTION)
def isnan(input):
    """Whether an item is NaN."""
    return input != input


@elementwise(reference=np.isinf, takes_out=False, **_QUESTION)
def isinf(input):
    """Whether an item is infinite."""
    return input == math.inf or input == -math.inf


@elementwise(reference=np.isposinf, **_QUESTION)
def isposinf(input):
    """Whether an item is inf."""
    return input == math.inf


@elementwise(reference=np.isneginf, **_QUESTION)
def isneginf(input):
    """Whether an item is -inf."""
    return input == -math.inf


@elementwise(reference=np.isfinite, takes_out=False, **_QUESTION)
def isfinite(input):
    """Whether an item is neither infinite nor NaN."""
    return input - input == 0


def _isclose_reference(x: np.ndarray, y: np.ndarray, rtol: float, atol: float, equal_nan: bool) -> np.ndarray:
    near = np.isfinite(x) & np.isfinite(y) & (abs(x - y) <= atol + abs(rtol * y))
    return near | (x == y) | (np.isnan(x) & np.isnan(y) & equal_nan)


@elementwise(
    samples=(_SMALL, _SMALL, Uniform(0, 0.5), Uniform(0, 0.5), _SMALL),
    reference=_isclose_reference,
    result="bool",
    differentiable=False,
    plain=("rtol", "atol", "equal_nan"),
    tensors=("input", "other"),
    public=(),
)
def isclose(input, other, rtol, atol, equal_nan: bool):
    """Whether `abs(input - other) <= atol + rtol * abs(other)`; infinities are close to themselves alone.

    NaN is close to NaN where `equal_nan` says so, and to nothing else.
    """
    if input == other:
        return True
    if input != input or other != other:
        return equal_nan and input != input and other != other
    distance = abs(input - other)
    return distance < math.inf and distance <= atol + abs(rtol * other)


# ---------------------------------------------------------------------------------------------------- bits
def _bitwise(name: str, kernel: str, function: Any, reference: Any, **options: Any) -> ElementwiseOp:
    return elementwise(
        samples=Uniform(0, 5),
        reference=reference,
        name=name,
        differentiable=False,
        integers_only=kernel,
        tensors=(),
        **options,
    )(function)


def _bits_and(input, other):
    """Bits that are set in both items."""
    return input & other


def _bits_or(input, other):
    """Bits that are set in an item, or in both."""
    return input | other


def _bits_xor(input, other):
    """Bits that are set in exactly one of two items."""
    return input ^ other


def _bits_not(input):
    """All bits turned round; of bools their negation."""
    return ~input


def _left_shift(input, other):
    """`input` with its bits `other` places to the left; 0 for a negative number of places, or a large one."""
    return 0 if other < 0 or other > 63 else input << other


def _right_shift(input, other):
    """`input` with its bits `other` places to the right; all places for a negative number of them, or a large one."""
    return input >> (63 if other < 0 or other > 63 else other)


def _no_bool(kernel: str) -> NotImplementedError:
    return NotImplementedError(f"\"{kernel}\" not implemented for 'Bool'")


bitwise_and = _bitwise("bitwise_and", "bitwise_and_cpu", _bits_and, np.bitwise_and)
bitwise_or = _bitwise("bitwise_or", "bitwise_or_cpu", _bits_or, np.bitwise_or)
bitwise_xor = _bitwise("bitwise_xor", "bitwise_xor_cpu", _bits_xor, np.bitwise_xor)
bitwise_not = _bitwise("bitwise_not", "bitwise_not_cpu", _bits_not, np.bitwise_not)
bitwise_left_shift = _bitwise(
    "bitwise_left_shift", "lshift_cpu", _left_shift, np.left_shift, bool_error=_no_bool("lshift_cpu")
)
bitwise_right_shift = _bitwise(
    "bitwise_right_shift", "rshift_cpu", _right_shift, np.right_shift, bool_error=_no_bool("rshift_cpu")
)
