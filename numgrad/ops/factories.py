"""The factories that are methods of a tensor: new tensors with its dtype and device."""

from __future__ import annotations

from typing import Any

from .. import creation
from ..interop import tensor


def _own(self: Any, dtype: Any, device: Any) -> dict[str, Any]:
    return {
        "dtype": self.dtype if dtype is None else dtype,
        "device": self._device if device is None else device,
    }


def new_zeros(
    self: Any,
    *size: Any,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """Zeros of a shape, with this tensor's dtype and device."""
    return creation.new_filled("zeros", self, size, 0, dtype, device, requires_grad)


def new_ones(
    self: Any,
    *size: Any,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """Ones of a shape, with this tensor's dtype and device."""
    return creation.new_filled("ones", self, size, 1, dtype, device, requires_grad)


def new_empty(
    self: Any,
    *size: Any,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """Undefined items of a shape, with this tensor's dtype and device."""
    return creation.empty(*size, **_own(self, dtype, device), requires_grad=requires_grad)


def new_full(
    self: Any,
    size: Any,
    fill_value: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """`fill_value` everywhere in a shape, with this tensor's dtype and device."""
    return creation.full(size, fill_value, **_own(self, dtype, device), requires_grad=requires_grad)


def new_tensor(
    self: Any,
    data: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """A copy of `data` (a list, an array, a tensor), with this tensor's dtype and device."""
    return tensor(data, **_own(self, dtype, device), requires_grad=requires_grad)
