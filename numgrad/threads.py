"""How many threads the kernels may use."""

from __future__ import annotations

import os

_threads = os.cpu_count() or 1


def get_num_threads() -> int:
    """The number of threads that kernels may use."""
    return _threads


def set_num_threads(num: int) -> None:
    """Set the number of threads that kernels may use. Raises RuntimeError for less than 1."""
    global _threads
    if not isinstance(num, int) or num < 1:
        raise RuntimeError("set_num_threads expects a positive integer")
    _threads = num
