"""Checks of dimension arguments, with PyTorch's texts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any


def wrap_dim(dim: Any, rank: int) -> int:
    """`dim` as a number in [0, rank); a 0-d tensor has the dimensions -1 and 0.

    Raises IndexError when it is out of range, TypeError when it is no int.
    """
    if not isinstance(dim, int):
        dim = _index(dim)
    size = max(rank, 1)
    if not -size <= dim < size:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-size}, {size - 1}], but got {dim})")
    return dim + size if dim < 0 else dim


def _index(value: Any) -> int:
    try:
        return int(value.__index__())
    except AttributeError:
        raise TypeError(f"dimension must be an int, not {type(value).__name__}") from None


def wrap_dims(dim: Any, rank: int) -> tuple[int, ...]:
    """One dimension or several, wrapped. Raises RuntimeError when one appears twice."""
    dims = (dim,) if not isinstance(dim, (tuple, list)) else tuple(dim)
    wrapped = tuple(wrap_dim(d, rank) for d in dims)
    for d in wrapped:
        if wrapped.count(d) > 1:
            raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
    return wrapped


def as_sizes(sizes: Sequence[Any]) -> tuple[int, ...]:
    """The ints of `f(2, 3)` or `f((2, 3))`. Raises TypeError for anything else."""
    if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)):
        sizes = sizes[0]
    return tuple(s if s.__class__ is int else _index(s) for s in sizes)


def infer_size(sizes: tuple[int, ...], numel: int) -> tuple[int, ...]:
    """`sizes` with its -1, if any, replaced. Raises RuntimeError when the number of items does not fit."""
    if -1 not in sizes:
        if any(s < 0 for s in sizes):
            raise RuntimeError(f"invalid shape dimension {min(sizes)}")
        if math.prod(sizes) != numel:
            raise RuntimeError(f"shape '{list(sizes)}' is invalid for input of size {numel}")
        return sizes
    if sizes.count(-1) > 1:
        raise RuntimeError("only one dimension can be inferred")
    known = math.prod(s for s in sizes if s != -1)
    if known == 0:
        raise RuntimeError(
            f"cannot reshape tensor of 0 elements into shape {list(sizes)} because the unspecified dimension size -1 "
            "can be any value and is ambiguous"
        )
    if numel % known:
        raise RuntimeError(f"shape '{list(sizes)}' is invalid for input of size {numel}")
    return tuple(numel // known if s == -1 else s for s in sizes)
