"""The device beside the CPU, whichever it is: here CUDA, or none."""

from __future__ import annotations

from typing import Any

from . import cuda
from .device import device

__all__ = ["current_accelerator", "current_device_index", "device_count", "is_available", "synchronize"]


def is_available() -> bool:
    """Whether there is one."""
    return cuda.is_available()


def current_accelerator(check_available: bool = False) -> device | None:
    """The device, or None."""
    return device("cuda") if is_available() else None


def device_count() -> int:
    """How many there are."""
    return cuda.device_count()


def current_device_index() -> int:
    """The number of the one in use, 0. Raises RuntimeError where there is none."""
    if not is_available():
        raise RuntimeError("Cannot access accelerator device when none is available.")
    return 0


def synchronize(device: Any = None) -> None:
    """Wait for everything that was started on the device."""
    if not is_available():
        raise RuntimeError("Cannot access accelerator device when none is available.")
    getattr(cuda, "synchronize", lambda: None)()
