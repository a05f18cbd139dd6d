"""Prepared calls of kernels: what an op does on contiguous operands of given shapes and dtypes, worked out once.

What a kernel asks of its operands (layout, extents, loop to take) takes longer than the loop itself on small arrays.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .array import Shape

_MOST_PLACES = 4096  # a plan keeps 8 bytes for each; and a copy of as many items takes longer than finding out how


class Operand(NamedTuple):
    """What is known of a contiguous operand, or result."""

    shape: Shape
    dtype: np.dtype


class Prepared(NamedTuple):
    """A call that was prepared.

    Attributes:
        run: takes the items of each operand as a 1-d ndarray and returns those of each result, which are new memory.
        results: the results' shapes and dtypes.
    """

    run: Callable[..., Any]
    results: tuple[Operand, ...]


def of_places(kernel: Callable[..., np.ndarray]) -> Callable[..., Prepared | None]:
    """The prepared call of an op whose result is items of its input in other places: they are read where the kernel puts
    their numbers.
    """

    def prepare(x: Operand, *attributes: Any) -> Prepared | None:
        size = math.prod(x.shape)
        if size > _MOST_PLACES:
            return None
        found = kernel(np.arange(size).reshape(x.shape), *attributes)
        places = np.ascontiguousarray(found).reshape(-1)
        if places.size > _MOST_PLACES:
            return None
        return Prepared(lambda items: items.take(places), (Operand(found.shape, x.dtype),))

    return prepare
