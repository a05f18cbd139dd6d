"""Numbers that modules take once for all spatial dimensions, or for each one."""

from __future__ import annotations

from collections.abc import Iterable


def each(value: int | Iterable[int], rank: int) -> tuple[int, ...]:
    """A number for each of `rank` dimensions. Several that are given are not checked: the functions do."""
    return tuple(value) if isinstance(value, Iterable) else (value,) * rank
