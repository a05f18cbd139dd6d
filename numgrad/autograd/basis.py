"""Unit vectors, by which Jacobians are taken apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..kernels.movement import full


def basis(tensors: Sequence[Any]) -> tuple[Any, ...]:
    """Unit vectors of the space of all items: for each tensor its part, of shape (all items, its items)."""
    total = sum(x.numel() for x in tensors)
    parts = []
    start = 0
    for x in tensors:
        size = x.numel()
        dtype, device = x._array.dtype.name, x.device.concrete()
        part = full(size=(total, size), fill_value=0, dtype=dtype, device=device)  # not of `x`: it may be batched
        part.as_strided((size,), (size + 1,), start * size).fill_(1)
        parts.append(part)
        start += size
    return tuple(parts)
