"""Unit vectors, by which Jacobians are taken apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def basis(tensors: Sequence[Any]) -> tuple[Any, ...]:
    """Unit vectors of the space of all items: for each tensor its part, of shape (all items, its items)."""
    total = sum(x.numel() for x in tensors)
    parts = []
    start = 0
    for x in tensors:
        size = x.numel()
        part = x.detach().new_zeros((total, size))
        part.as_strided((size,), (size + 1,), start * size).fill_(1)
        parts.append(part)
        start += size
    return tuple(parts)
