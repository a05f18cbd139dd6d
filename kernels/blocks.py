"""Blocks of an array read, written or added to at positions: the loops behind indexing and embedding lookups.

An array is seen as (outer, n, inner); a position names one of the n blocks of `inner` items in each of the outer parts.
Loops that only move items work on unsigned integers of the items' size, so that few forms are compiled.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .array import Shape
from .cpu import SPLIT, loop
from .prepared import Operand, Prepared


@loop
def first_outside(positions, low, high):
    """The number of the first position that is not in [low, high); -1 if there is none."""
    # A block at a time, which is vectorised: 0.25 of the time. The counters are unsigned so that LLVM sees that they never
    # count from the end.
    size, step = np.uint64(positions.shape[0]), np.uint64(1024)
    for start in range(np.uint64(0), size, step):
        stop = min(start + step, size)
        outside = False
        for i in range(start, stop):
            outside |= (positions[i] < low) | (positions[i] >= high)
        if outside:
            for i in range(start, stop):
                if positions[i] < low or positions[i] >= high:
                    return np.int64(i)
    return np.int64(-1)


def check_bounds(positions: np.ndarray, size: int, what: str) -> None:
    """Raise IndexError, with PyTorch's text, for a position that is not in [-size, size)."""
    flat = np.ascontiguousarray(positions, np.int64).reshape(-1)
    found = first_outside(flat, -size, size)
    if found >= 0:
        raise IndexError(f"index {flat[found]} is out of bounds for {what} with size {size}")


@loop
def _take(x, positions, out, start, stop):
    n = x.shape[1]
    width = x.shape[2]
    for o in range(x.shape[0]):
        for i in range(start, stop):
            p = positions[i]
            if p < 0:
                p += n
            if width == 1:
                out[o, i, 0] = x[o, p, 0]
            else:
                for k in range(width):
                    out[o, i, k] = x[o, p, k]


@loop
def _put(target, positions, source):
    n = target.shape[1]
    for o in range(target.shape[0]):
        for i in range(positions.shape[0]):
            p = positions[i]
            if p < 0:
                p += n
            for k in range(target.shape[2]):
                target[o, p, k] = source[o, i, k]


@loop
def _add(target, positions, source):
    n = target.shape[1]
    for o in range(target.shape[0]):
        for i in range(positions.shape[0]):
            p = positions[i]
            if p < 0:
                p += n
            for k in range(target.shape[2]):
                target[o, p, k] += source[o, i, k]


def as_bits(x: np.ndarray) -> np.ndarray:
    """The same memory as unsigned integers of the items' size (twice as many of 16-byte items)."""
    return x.view(f"u{min(x.itemsize, 8)}")


def take_blocks(x: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """`x[:, positions]` of a contiguous (outer, n, inner) array; positions are in range."""
    out = np.empty((len(x), len(positions), x.shape[2]), x.dtype)
    take = _take if out.size < SPLIT else _take.in_units
    take(as_bits(x), positions, as_bits(out), 0, len(positions))
    return out


def prepared_take(
    x: Operand, blocks: Shape, positions: Operand, low: int, refuse: Callable[[np.ndarray], Any], shape: Shape
) -> Prepared | None:
    """A call that reads `x`, seen as (outer, n, inner), at int64 positions in [low, n), to a result of a shape.

    `refuse(positions)` raises for others.
    """
    if positions.dtype != np.int64 or x.dtype.itemsize > 8:
        return None
    outer, n, inner = blocks
    count = math.prod(positions.shape)
    result = (Operand(shape, x.dtype),)
    if outer * count * inner < SPLIT:
        return Prepared(_small_take(blocks, low, refuse), result)
    bits = np.dtype(f"u{x.dtype.itemsize}")

    def run(items: np.ndarray, where: np.ndarray) -> np.ndarray:
        if first_outside(where, low, n) >= 0:
            refuse(where)
        out = np.empty((outer, count, inner), bits)
        _take.in_units(items.view(bits).reshape(blocks), where, out, 0, count)
        return out.view(x.dtype).reshape(-1)

    return Prepared(run, result)


def _small_take(blocks: Shape, low: int, refuse: Callable[[np.ndarray], Any]) -> Callable[..., np.ndarray]:
    """`prepared_take` for few items, by NumPy, which finds positions outside by itself, but for negative ones."""
    outside = first_outside.compiled(np.dtype(np.int64))
    size, is_flat = blocks[1], blocks[0] == blocks[2] == 1

    def run(items: np.ndarray, where: np.ndarray) -> Any:
        if not low and outside(where, low, size) >= 0:
            refuse(where)
        try:
            return items.take(where) if is_flat else items.reshape(blocks).take(where, 1).reshape(-1)
        except IndexError:
            pass
        return refuse(where)

    return run


def put_blocks(target: np.ndarray, positions: np.ndarray, source: np.ndarray) -> None:
    """`target[:, positions] = source`, the last of equal positions standing."""
    _put(as_bits(target), positions, as_bits(source))


def add_blocks(target: np.ndarray, positions: np.ndarray, source: Any) -> None:
    """`target[:, positions] += source`, every one of equal positions counting."""
    if is_compiled(target.dtype):
        _add(target, positions, source)
    else:
        np.add.at(target, (slice(None), positions), source)  # type: ignore[arg-type]  # the stubs know no tuples


def is_compiled(dtype: np.dtype) -> bool:
    """Whether kernels that compute in a dtype are compiled; for bools and half types NumPy's loops serve."""
    return dtype.kind in "iufc" and dtype.itemsize > (2 if dtype.kind == "f" else 0) and dtype.isbuiltin == 1
