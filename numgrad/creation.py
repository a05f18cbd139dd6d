"""Factories: zeros, ones, full, empty, arange, and their `*_like` forms."""

from __future__ import annotations

import math
from typing import Any

from . import dtype as dtypes
from .device import CPU, device
from .dispatch import dispatch
from .kernels import movement
from .ops.dims import as_sizes


def _filled(size: tuple[int, ...], value: Any, dtype: Any, where: Any, requires_grad: bool) -> Any:
    if any(n < 0 for n in size):
        raise RuntimeError(
            f"Trying to create tensor with negative dimension {min(size)}: {list(size)}"
        )
    wanted = dtypes.get_default_dtype() if dtype is None else as_dtype(dtype)
    target = CPU if where is None else device(where).concrete()
    result = dispatch(movement.full, (), (size, value, wanted.name, target))
    return result.requires_grad_leaf(requires_grad)


def as_dtype(dtype: Any) -> dtypes.dtype:
    """The dtype that an argument names. Raises TypeError when it names none."""
    found = dtypes.as_dtype(dtype)
    if found is None:
        raise TypeError(f"dtype must be a numgrad dtype such as numgrad.float32, not {dtype!r}")
    return found


def zeros(*size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Any:
    """A tensor of zeros: `zeros(2, 3)` or `zeros((2, 3))`."""
    return _filled(as_sizes(size), 0, dtype, device, requires_grad)


def ones(*size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Any:
    """A tensor of ones: `ones(2, 3)` or `ones((2, 3))`."""
    return _filled(as_sizes(size), 1, dtype, device, requires_grad)


def empty(*size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Any:
    """A tensor with undefined items."""
    return _filled(as_sizes(size), None, dtype, device, requires_grad)


def full(size: Any, fill_value: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Any:
    """A tensor with every item `fill_value`, of its dtype unless one is given."""
    if dtype is None:
        dtype = dtypes.of_number(fill_value)
    return _filled(as_sizes((size,)), fill_value, dtype, device, requires_grad)


def _like(x: Any, value: Any, dtype: Any, where: Any, requires_grad: bool) -> Any:
    return _filled(
        x._array.shape, value, x.dtype if dtype is None else dtype, x._device if where is None else where, requires_grad
    )


def zeros_like(input: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Any:
    """Zeros with the shape, dtype and device of `input`; it never inherits `requires_grad`."""
    return _like(input, 0, dtype, device, requires_grad)


def ones_like(input: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Any:
    """Ones with the shape, dtype and device of `input`."""
    return _like(input, 1, dtype, device, requires_grad)


def empty_like(input: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Any:
    """Undefined items with the shape, dtype and device of `input`."""
    return _like(input, None, dtype, device, requires_grad)


def full_like(
    input: Any, fill_value: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Any:
    """`fill_value` with the shape, dtype and device of `input`."""
    return _like(input, fill_value, dtype, device, requires_grad)


def arange(
    start: Any, end: Any = None, step: Any = 1, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Any:
    """Numbers from `start` (0 when only one is given) up to but not including `end`.

    Ints give int64, floats the default dtype. Raises RuntimeError for a step of 0 or of the wrong sign.

    Example:
        >>> import numgrad as ng
        >>> ng.arange(1, 4)
        tensor([1, 2, 3])
    """
    if end is None:
        start, end = 0, start
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if not (math.isfinite(start) and math.isfinite(end)):
        raise RuntimeError(f"unsupported range: {start} -> {end}")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    if dtype is None:
        integers = all(isinstance(v, int) for v in (start, end, step))
        wanted = dtypes.int64 if integers else dtypes.get_default_dtype()
    else:
        wanted = as_dtype(dtype)
    target = CPU if device is None else _device(device).concrete()
    result = dispatch(movement.arange, (), (start, end, step, wanted.name, target))
    return result.requires_grad_leaf(requires_grad)


_device = device
