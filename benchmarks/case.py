"""What a case of compare.py is. Each is written once, against the interface that numgrad and torch share."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Step = Callable[[], object]


@dataclass(frozen=True)
class Case:
    """Something to time in both libraries."""

    name: str
    make: Callable[[Any], Step]  # is given numgrad or torch
    at_most: float | None = None  # the ratio that must be met
    on_threads: tuple[int, ...] = (1, 2)  # where it must be met
