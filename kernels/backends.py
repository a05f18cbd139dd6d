"""Which module has the loops of a device."""

from __future__ import annotations

from types import ModuleType

from . import cpu


def backend(device: str) -> ModuleType:
    """The module with a device's loops: `cpu`, or `cuda` (imported when first asked for)."""
    if device == cpu.DEVICE:
        return cpu
    from . import cuda

    return cuda
