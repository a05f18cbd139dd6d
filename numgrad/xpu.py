"""Intel's GPUs, which numgrad has no kernels for: scripts that ask are told so."""

from __future__ import annotations


def is_available() -> bool:
    """False."""
    return False


def device_count() -> int:
    """0."""
    return 0


def manual_seed(seed: int) -> None:
    """Do nothing: there is no such device."""


def empty_cache() -> None:
    """Do nothing: there is no such device."""
