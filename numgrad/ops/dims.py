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


def reduced_dims(name: str, dim: Any, rank: int) -> tuple[int, ...]:
    """The dimensions that the function `name` reduces: all for None and (), none of a 0-d tensor.

    Raises TypeError for what is no int and no sequence of ints, else as `wrap_dims`.
    """
    if dim.__class__ is int and -rank <= dim < rank:
        return (dim if dim >= 0 else dim + rank,)
    if dim is None or (isinstance(dim, (tuple, list)) and not dim):
        return tuple(range(rank))
    if not isinstance(dim, (tuple, list)) and (isinstance(dim, bool) or not hasattr(dim, "__index__")):
        raise TypeError(f"{name}(): argument 'dim' (position 1) must be tuple of ints, not {type(dim).__name__}")
    for position, one in enumerate(dim if isinstance(dim, (tuple, list)) else ()):
        if not hasattr(one, "__index__"):
            raise TypeError(
                f"{name}(): argument 'dim' failed to unpack the object at pos {position + 1} with error \"type must be "
                f'tuple of ints,but got {type(one).__name__}"'
            )
    wrapped = wrap_dims(dim, rank)
    return wrapped if rank else ()


def wrap_dims(dim: Any, rank: int) -> tuple[int, ...]:
    """One dimension or several, wrapped. Raises RuntimeError when one appears twice."""
    dims = (dim,) if not isinstance(dim, (tuple, list)) else tuple(dim)
    wrapped = tuple(wrap_dim(d, rank) for d in dims)
    for d in wrapped:
        if wrapped.count(d) > 1:
            raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
    return wrapped


def as_sizes(sizes: Sequence[Any], name: str, argument: str = "size") -> tuple[int, ...]:
    """The ints of `f(2, 3)` or `f((2, 3))`. Raises TypeError for anything else, in the name of the function `name`."""
    nested = len(sizes) == 1 and isinstance(sizes[0], (tuple, list))
    found = sizes[0] if nested else sizes
    are_ints = True
    for position, size in enumerate(found):
        if size.__class__ is not int:
            are_ints = False
            if not hasattr(size, "__index__"):
                raise TypeError(_not_ints(name, argument, position, type(size).__name__, nested))
    return tuple(found) if are_ints else tuple(int(s.__index__()) for s in found)


def _not_ints(name: str, argument: str, position: int, kind: str, nested: bool) -> str:
    if position:
        return (
            f"{name}(): argument '{argument}' failed to unpack the object at pos {position + 1} with error \"type must be "
            f'tuple of ints,but got {kind}"'
        )
    found = f"but found element of type {kind} at pos 0" if nested else f"not {kind}"
    return f"{name}(): argument '{argument}' (position 1) must be tuple of ints, {found}"


def infer_size(sizes: tuple[int, ...], numel: int) -> tuple[int, ...]:
    """`sizes` with its -1, if any, replaced. Raises RuntimeError when the number of items does not fit."""
    if -1 not in sizes:
        for index, size in enumerate(sizes):
            if size < 0:
                raise RuntimeError(f"invalid shape dimension {size} at index {index} of shape {list(sizes)}")
        if math.prod(sizes) != numel:
            raise RuntimeError(f"shape '{list(sizes)}' is invalid for input of size {numel}")
        return sizes
    if sizes.count(-1) > 1:
        raise RuntimeError("only one dimension can be inferred")
    known = math.prod(s for s in sizes if s != -1)
    if known == 0 and not numel:
        raise RuntimeError(
            f"cannot reshape tensor of 0 elements into shape {list(sizes)} because the unspecified dimension size -1 "
            "can be any value and is ambiguous"
        )
    if not known or numel % known:
        raise RuntimeError(f"shape '{list(sizes)}' is invalid for input of size {numel}")
    return tuple(numel // known if s == -1 else s for s in sizes)
