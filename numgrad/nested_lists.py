"""Nested lists of numbers as an ndarray: what `tensor([[1, 2], [3, 4]])` reads. One of the few files that name NumPy."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import dtype as dtypes
from .autograd.variable import CLASSES
from .dtype import FROM_NUMPY


def as_array(data: Any, wanted: dtypes.dtype | None) -> np.ndarray:
    """Numbers in nested lists as an ndarray, of the wanted dtype at once: on the way through another, digits are lost.

    Without one, the items decide together: Python's numbers by their kind, NumPy's and tensors by their own dtypes.
    """
    if wanted is None and (plain := _of_one_kind(data)) is not None:
        return plain
    if isinstance(data, (np.ndarray, np.generic)):
        if wanted is not None and isinstance(data, np.generic):
            _check_range([data.item()], wanted)
        return np.asarray(data)
    if isinstance(data, (list, tuple)) and any(isinstance(item, np.ndarray) and item.ndim for item in data):
        stacked = _stacked(data)
        if stacked is not None:
            return stacked
    shape = _shape_of(data)
    flat: list[Any] = []
    found: set[dtypes.dtype] = set()
    _flatten(data, shape, 0, flat, found)
    if wanted is None:
        wanted = functools.reduce(dtypes.common, found) if found else dtypes.get_default_dtype()
    _check_range(flat, wanted)
    _refuse_complex(flat, wanted)
    try:
        with np.errstate(over="ignore"):
            # Integers through int64, by which -1 becomes the largest uint8.
            through = np.dtype(np.int64) if wanted.category == "int" else wanted.numpy
            return np.array(flat, dtype=through).astype(wanted.numpy, copy=False).reshape(shape)
    except OverflowError:
        raise ValueError("Overflow when unpacking long long") from None


def _of_one_kind(data: Any) -> np.ndarray | None:
    """A float, int or bool, or a list of only such; None for anything else."""
    kind = data.__class__
    if kind is list or kind is tuple:
        kinds = set(map(type, data))
        if len(kinds) != 1:
            return None
        (kind,) = kinds
    if kind is not float and kind is not int and kind is not bool:
        return None
    try:
        if kind is not float:
            return np.array(data, np.int64 if kind is int else np.bool_)
        with np.errstate(over="ignore"):
            return np.array(data, dtypes.get_default_dtype().numpy)
    except OverflowError:
        raise ValueError("Overflow when unpacking long long") from None


def _refuse_complex(flat: list[Any], wanted: dtypes.dtype) -> None:
    """Raise TypeError, with Python's text, for complex numbers among what is to be real."""
    if wanted.is_complex or wanted is dtypes.bool_:
        return
    if any(issubclass(kind, (complex, np.complexfloating)) for kind in set(map(type, flat))):
        raise TypeError("must be real number, not complex")


def _stacked(arrays: Sequence[Any]) -> np.ndarray | None:
    """Arrays of one shape and dtype as one, without a look at every item."""
    first = arrays[0]
    if all(isinstance(a, np.ndarray) and (a.shape, a.dtype) == (first.shape, first.dtype) for a in arrays):
        return np.stack(arrays)
    return None


def _check_range(flat: list[Any], wanted: dtypes.dtype) -> None:
    """Raise RuntimeError, with PyTorch's text, for a number that an integer dtype does not hold."""
    if wanted.category != "int":
        return
    limits = np.iinfo(wanted.numpy)
    lowest = limits.min if wanted.is_signed else -limits.max  # PyTorch lets -1 be the largest
    numbers = flat if not set(map(type, flat)) <= {bool, int} else [min(flat), max(flat)] if flat else []
    for number in numbers:
        if isinstance(number, complex):
            continue
        if isinstance(number, int) and not -(2**63) <= number < 2**63:
            raise ValueError("Overflow when unpacking long long")
        if not lowest <= number <= limits.max:
            raise RuntimeError(f"value cannot be converted to type {wanted.name} without overflow")


def _is_sequence(data: Any) -> bool:
    """Whether `data` has a length and items by number, as all that PyTorch takes apart: lists, arrays, own classes."""
    if isinstance(data, (list, tuple, range)):
        return True
    if isinstance(data, (str, bytes, dict)) or data.__class__ in CLASSES:
        return False
    if isinstance(data, np.ndarray):
        return data.ndim > 0
    return hasattr(data, "__len__") and hasattr(data, "__getitem__")


_PLAIN: set[type] = {bool, int, float, complex}
_MOST_DIMENSIONS = 64  # NumPy's limit


def _shape_of(data: Any) -> tuple[int, ...]:
    shape: list[int] = []
    while _is_sequence(data):
        if len(shape) == _MOST_DIMENSIONS:
            raise ValueError(f"too many dimensions '{type(data).__name__}'")
        shape.append(len(data))
        if not len(data):
            break
        data = data[0]
        if isinstance(data, str):
            raise ValueError("too many dimensions 'str'")
    return tuple(shape)


def _flatten(data: Any, shape: tuple[int, ...], depth: int, out: list[Any], found: set[dtypes.dtype]) -> None:
    """Append the numbers of nested lists to `out`, and their dtypes to `found`.

    Raises, with PyTorch's texts, where they do not fill `shape`.
    """
    if depth == len(shape):
        number = _number(data)
        out.append(number)
        own: Any = getattr(data, "dtype", None)
        if data.__class__ in CLASSES:
            found.add(own)
        else:
            found.add(FROM_NUMPY[own] if own in FROM_NUMPY else dtypes.of_number(number))
        return
    if not _is_sequence(data):
        _number(data)  # what is not even a number is the worse mistake
        raise TypeError("not a sequence")
    if len(data) != shape[depth]:
        raise ValueError(f"expected sequence of length {shape[depth]} at dim {depth} (got {len(data)})")
    if depth == len(shape) - 1 and (kinds := set(map(type, data))) <= _PLAIN:  # the many items of most lists
        out.extend(data)
        found.update(dtypes.of_number(kind()) for kind in kinds)
        return
    for item in data:
        _flatten(item, shape, depth + 1, out, found)


def _number(value: Any) -> Any:
    if isinstance(value, (bool, int, float, complex, np.generic)):
        return value
    if _is_sequence(value):
        raise TypeError(f"'{type(value).__name__}' object cannot be interpreted as an integer")
    if value.__class__ in CLASSES:
        return _number_of_tensor(value)
    if isinstance(value, np.ndarray):
        return value.item()
    if isinstance(value, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(value).__name__}'")
    raise RuntimeError(f"Could not infer dtype of {type_name(value)}")


def _number_of_tensor(x: Any) -> Any:
    """The number that a tensor among others in a list is; its dtype stays with it."""
    if x.dtype.is_complex:
        return complex(x)
    return float(x) if x.dtype.is_floating_point else bool(x) if x.dtype is dtypes.bool_ else operator.index(x)


def type_name(value: Any) -> str:
    """How PyTorch's messages call a type: those of extension modules with their module."""
    kind = type(value)
    is_written_in_python = bool(kind.__flags__ & _HEAP_TYPE)
    return (
        kind.__name__ if is_written_in_python or kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
    )


_HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE
