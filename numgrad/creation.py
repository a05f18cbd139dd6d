"""Factories: zeros, ones, full, empty, arange, and their `*_like` forms."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from . import dtype as dtypes
from .autograd.batching import made_like
from .autograd.variable import CLASSES
from .device import CPU, device
from .dispatch import dispatch
from .kernels import movement, views
from .kernels.array import Array, dense_order
from .ops.dims import as_sizes


def _filled(name: str, size: tuple[int, ...], value: Any, dtype: Any, where: Any, requires_grad: bool) -> Any:
    wanted = dtypes.get_default_dtype() if dtype is None else as_dtype(dtype, name)
    target = CPU if where is None else device(where).concrete()
    if isinstance(value, complex) and not wanted.is_complex:
        value = value.real
    result = dispatch(movement.full, (), (size, value, wanted.name, target))
    return result._mark_leaf(requires_grad)


def as_dtype(dtype: Any, name: str) -> dtypes.dtype:
    """The dtype that an argument of the function `name` gives. Raises TypeError when it is none."""
    found = dtypes.as_dtype(dtype)
    if found is None:
        raise TypeError(f"{name}(): argument 'dtype' must be torch.dtype, not {type(dtype).__name__}")
    return found


def sizes(name: str, size: tuple[Any, ...]) -> tuple[int, ...]:
    """The shape that a factory is asked for. Raises with PyTorch's texts: TypeError for no ints, RuntimeError below 0."""
    found = as_sizes(size, name)
    if any(n < 0 for n in found):
        if name == "zeros":
            raise RuntimeError("zeros: Dimension size must be non-negative.")
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(found)}: {list(found)}")
    return found


def zeros(*size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Any:
    """A tensor of zeros: `zeros(2, 3)` or `zeros((2, 3))`."""
    return _filled("zeros", sizes("zeros", size), 0, dtype, device, requires_grad)


def ones(*size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Any:
    """A tensor of ones: `ones(2, 3)` or `ones((2, 3))`."""
    return _filled("ones", sizes("ones", size), 1, dtype, device, requires_grad)


def empty(*size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Any:
    """A tensor with undefined items."""
    return _filled("empty", sizes("empty", size), None, dtype, device, requires_grad)


def full(size: Any, fill_value: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Any:
    """A tensor with every item `fill_value`, of its dtype unless one is given."""
    if not isinstance(size, (tuple, list)):
        raise TypeError(f"full(): argument 'size' (position 1) must be tuple of ints, not {type(size).__name__}")
    fill_value = _fill_number("full", fill_value)
    if dtype is None:
        dtype = dtypes.of_number(fill_value)
    else:
        as_dtype(dtype, "full").check_holds(fill_value)
    return _filled("full", sizes("full", (size,)), fill_value, dtype, device, requires_grad)


def _fill_number(name: str, value: Any) -> Any:
    """A number, given as one or as a tensor of one item. Raises TypeError for anything else."""
    if value.__class__ in CLASSES:
        return value.item()
    if not hasattr(value, "__float__") and not isinstance(value, complex):
        raise TypeError(f"{name}(): argument 'fill_value' (position 2) must be Number, not {type(value).__name__}")
    return value


def in_layout_of(x: Any, make: Callable[[tuple[int, ...]], Any]) -> Any:
    """A tensor of the shape and, as PyTorch's `*_like`, in the layout of `x`, from `make(shape)`, a contiguous one."""
    array = x._array
    order = None if array.is_contiguous() else dense_order(array.shape, array.strides)
    if order is None:
        return make(array.shape)
    # Made in the memory order of x, then seen in its order of dimensions.
    made = make(tuple(array.shape[d] for d in order))
    inverse = tuple(order.index(d) for d in range(len(order)))
    return dispatch(views.permute, (made,), (inverse,)).detach()


def _like(name: str, x: Any, value: Any, dtype: Any, where: Any, requires_grad: bool) -> Any:
    if x.__class__ not in CLASSES:
        raise TypeError(f"{name}(): argument 'input' (position 1) must be Tensor, not {type(x).__name__}")
    dtype = x.dtype if dtype is None else dtype
    where = x._device if where is None else where
    if x._array.__class__ is not Array:
        made = made_like(x, lambda shape: _filled(name, shape, value, dtype, where, False), x._array.shape)
        return made._mark_leaf(requires_grad)
    return in_layout_of(x, lambda shape: _filled(name, shape, value, dtype, where, False))._mark_leaf(requires_grad)


def new_filled(
    name: str, x: Any, size: tuple[Any, ...], value: Any, dtype: Any, where: Any, requires_grad: bool
) -> Any:
    """What `x.new_zeros(*size)` and `x.new_ones(*size)` return: a tensor of the dtype and on the device of `x`."""
    where = x._device if where is None else where

    def make(shape: tuple[int, ...]) -> Any:
        return _filled(name, shape, value, dtype or x.dtype, where, False)

    shape = sizes(name, size)
    made = make(shape) if x._array.__class__ is Array else made_like(x, make, shape)
    return made._mark_leaf(requires_grad)


def zeros_like(input: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Any:
    """Zeros with the shape, dtype and device of `input`; it never inherits `requires_grad`."""
    return _like("zeros_like", input, 0, dtype, device, requires_grad)


def ones_like(input: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Any:
    """Ones with the shape, dtype and device of `input`."""
    return _like("ones_like", input, 1, dtype, device, requires_grad)


def empty_like(input: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Any:
    """Undefined items with the shape, dtype and device of `input`."""
    return _like("empty_like", input, None, dtype, device, requires_grad)


def full_like(
    input: Any, fill_value: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Any:
    """`fill_value` with the shape, dtype and device of `input`."""
    return _like("full_like", input, _fill_number("full_like", fill_value), dtype, device, requires_grad)


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
    for name, value in (("start", start), ("end", end), ("step", step)):
        if not hasattr(value, "__float__"):
            raise TypeError(f"arange(): argument '{name}' (position 1) must be Number, not {type(value).__name__}")
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
        wanted = as_dtype(dtype, "arange")
        if not wanted.is_differentiable:
            start, end, step = int(start), int(end), int(step)
    target = CPU if device is None else _device(device).concrete()
    result = dispatch(movement.arange, (), (start, end, step, wanted.name, target))
    return result._mark_leaf(requires_grad)


_device = device
