"""softmax and log_softmax along a dimension: without overflow, in one pass over memory, forward and backward."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .array import around
from .cpu import SPLIT, Loop
from .prepared import Operand, Prepared
from .registry import Sample, op

_TILE = 512  # columns of a unit: their largest items and sums stay in the first-level cache


# ---------------------------------------------------------------------------------------------------- loops
ORDERED_BITS = """
_Signed = np.int32 if np.dtype(_T).itemsize == 4 else np.int64
_HIGHEST = np.iinfo(_Signed).max
_SIGN = 8 * np.dtype(_T).itemsize - 1

@_jit
def _ordered(bits):
    return bits ^ ((bits >> _SIGN) & _HIGHEST)

"""
_SOFTMAX = """
@_jit
def _constant(total):
    return _T(1 / total)

@_jit
def _result(x, top, exponential, constant):
    return exponential * constant

@_jit
def _term(g, out):
    return g * out

@_jit
def _gradient(g, out, total):
    return out * (g - total)

"""
_LOG_SOFTMAX = """
@_jit
def _constant(total):
    return _T(math.log(total))

@_jit
def _result(x, top, exponential, constant):
    return (x - top) - constant

@_jit
def _term(g, out):
    return g

@_jit
def _gradient(g, out, total):
    return g - _exp(out) * total

"""


def forward_rows(x, out, start, stop):
    """The result of each row, by its largest item and the sum of its exponentials."""
    n = x.shape[1]
    for r in range(start, stop):
        row = x[r]
        target = out[r]
        # Comparisons of floats do not vectorise as a reduction, those of integers do. What they miss of NaNs, the sum shows.
        highest = _Signed(-_HIGHEST)  # noqa: F821
        for i in range(n):
            item = _Signed(_ordered(_T(row[i]).view(_Signed)))  # noqa: F821
            highest = item if item > highest else highest
        top = _Signed(_ordered(highest)).view(_T)  # noqa: F821
        total = _A(0)  # noqa: F821
        for first in range(0, n, 1024):
            items = row[
                first : first + 1024
            ]  # slices, since indices that begin elsewhere than at 0 would not vectorise
            exponentials = target[first : first + 1024]
            part = _T(0)  # noqa: F821
            for i in range(items.shape[0]):
                exponential = _exp(items[i] - top)  # noqa: F821
                exponentials[i] = exponential
                part += exponential
            total += part
        constant = _constant(total)  # noqa: F821
        for i in range(n):
            target[i] = _result(row[i], top, target[i], constant)  # noqa: F821


def forward_columns(x, out, start, stop, tile):
    """`forward_rows` along the middle of (before, n, after), a tile of columns a unit."""
    n = x.shape[1]
    tiles = (x.shape[2] + tile - 1) // tile
    tops = np.empty(tile, _T)  # noqa: F821
    totals = np.empty(tile, _A)  # noqa: F821
    constants = np.empty(tile, _T)  # noqa: F821
    for unit in range(start, stop):
        b = unit // tiles
        left = (unit - b * tiles) * tile
        right = min(left + tile, x.shape[2])
        width = right - left
        tops[:width] = x[b, 0, left:right]
        totals[:width] = 0
        for i in range(1, n):
            row = x[b, i, left:right]
            for j in range(width):
                tops[j] = row[j] if row[j] > tops[j] else tops[j]
        for i in range(n):
            row = x[b, i, left:right]
            target = out[b, i, left:right]
            for j in range(width):
                target[j] = _exp(row[j] - tops[j])  # noqa: F821
            for j in range(width):
                totals[j] += target[j]
        for j in range(width):
            constants[j] = _constant(totals[j])  # noqa: F821
        for i in range(n):
            row = x[b, i, left:right]
            target = out[b, i, left:right]
            for j in range(width):
                target[j] = _result(row[j], tops[j], target[j], constants[j])  # noqa: F821


def backward_rows(g, out, result, start, stop):
    """The gradient of each row, by the sum of a term of each item."""
    n = g.shape[1]
    for r in range(start, stop):
        incoming = g[r]
        row = out[r]
        target = result[r]
        total = _A(0)  # noqa: F821
        for first in range(0, n, 1024):
            gradients = incoming[first : first + 1024]
            items = row[first : first + 1024]
            part = _T(0)  # noqa: F821
            for i in range(items.shape[0]):
                part += _term(gradients[i], items[i])  # noqa: F821
            total += part
        shift = _T(total)  # noqa: F821
        for i in range(n):
            target[i] = _gradient(incoming[i], row[i], shift)  # noqa: F821


def backward_columns(g, out, result, start, stop, tile):
    """`backward_rows` along the middle of (before, n, after), a tile of columns a unit."""
    tiles = (g.shape[2] + tile - 1) // tile
    totals = np.empty(tile, _A)  # noqa: F821
    shifts = np.empty(tile, _T)  # noqa: F821
    for unit in range(start, stop):
        b = unit // tiles
        left = (unit - b * tiles) * tile
        right = min(left + tile, g.shape[2])
        width = right - left
        totals[:width] = 0
        for i in range(g.shape[1]):
            incoming = g[b, i, left:right]
            row = out[b, i, left:right]
            for j in range(width):
                totals[j] += _term(incoming[j], row[j])  # noqa: F821
        for j in range(width):
            shifts[j] = totals[j]
        for i in range(g.shape[1]):
            incoming = g[b, i, left:right]
            row = out[b, i, left:right]
            target = result[b, i, left:right]
            for j in range(width):
                target[j] = _gradient(incoming[j], row[j], shifts[j])  # noqa: F821


class _Loops:
    """The loops of one of the two functions, and how they go over arrays."""

    def __init__(self, given: str) -> None:
        self.forward_rows = Loop(forward_rows, reassoc=True, given=ORDERED_BITS + given)
        self.backward_rows = Loop(backward_rows, reassoc=True, given=given)
        self.forward_columns = Loop(forward_columns, given=given)
        self.backward_columns = Loop(backward_columns, given=given)

    def forward(self, x: np.ndarray, dim: int) -> np.ndarray:
        """The function along a dimension."""
        return _along(self.forward_rows, self.forward_columns, (x,), dim)

    def prepared(self, x: Operand, dim: int) -> Prepared:
        """`forward` of a contiguous array."""
        return _prepared(self.forward_rows, self.forward_columns, x, dim)

    def backward(self, g: np.ndarray, out: np.ndarray, dim: int) -> np.ndarray:
        """Its gradient, from its result."""
        return _along(self.backward_rows, self.backward_columns, (g, out), dim)


def _prepared(rows: Loop, columns: Loop, x: Operand, dim: int) -> Prepared:
    """`_along` for a contiguous array."""
    blocks = around(x.shape, dim)
    size = math.prod(blocks)
    loop, form, numbers = columns, blocks, (0, blocks[0] * -(-blocks[2] // _TILE), _TILE)
    if blocks[2] == 1:
        loop, form, numbers = rows, blocks[:2], (0, blocks[0])  # type: ignore[assignment]
    run_loop = loop.compiled(x.dtype) if size < SPLIT else loop.in_units

    def run(items: np.ndarray) -> np.ndarray:
        result = np.empty(form, x.dtype)
        run_loop(items.reshape(form), result, *numbers)
        return result.reshape(size)

    return Prepared(run, (x,))


def _along(rows: Loop, columns: Loop, arrays: tuple[np.ndarray, ...], dim: int) -> np.ndarray:
    """What a loop makes of arrays of one shape: along rows if `dim` is the last dimension, else along columns."""
    shape = arrays[0].shape
    result = np.empty(shape, arrays[0].dtype)
    if not result.size:
        return result
    operands = [np.ascontiguousarray(a) for a in (*arrays, result)]
    if dim >= len(shape) - 1:
        n = shape[-1] if shape else 1
        units = result.size // n
        run = rows if result.size < SPLIT else rows.in_units
        run(*[a.reshape(units, n) for a in operands], 0, units)
        return result
    form = (math.prod(shape[:dim]), shape[dim], math.prod(shape[dim + 1 :]))
    units = form[0] * -(-form[2] // _TILE)
    run = columns if result.size < SPLIT else columns.in_units
    run(*[a.reshape(form) for a in operands], 0, units, _TILE)
    return result


_softmax_loops, _log_softmax_loops = _Loops(_SOFTMAX), _Loops(_LOG_SOFTMAX)


# ---------------------------------------------------------------------------------------------------- ops
_SAMPLES = [Sample(((3, 4),), {"dim": 1}), Sample(((2, 3, 4),), {"dim": 1})]


def _softmax_reference(x: np.ndarray, dim: int) -> np.ndarray:
    exponentials = np.exp(x - x.max(dim, keepdims=True))
    return exponentials / exponentials.sum(dim, keepdims=True)


def _log_softmax_reference(x: np.ndarray, dim: int) -> np.ndarray:
    shifted = x - x.max(dim, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(dim, keepdims=True))


@op(samples=_SAMPLES, reference=_softmax_reference)
def softmax(input, *, dim):
    """Exponentials of the items divided by their sum along a dimension, without overflow."""


@softmax.kernel("cpu")
def _(input: np.ndarray, dim: int) -> np.ndarray:
    return _softmax_loops.forward(input, dim)


softmax.prepared(_softmax_loops.prepared)


@softmax.grad("input")
def _(g, out, dim):
    weighted = g * out
    return weighted - out * weighted.sum(dim, keepdim=True)


@softmax.fused_backward("cpu")
def _(g: np.ndarray, out: np.ndarray, dim: int, needs: tuple[bool, ...]) -> tuple[Any, ...]:
    return (_softmax_loops.backward(g, out, dim),)


@op(samples=_SAMPLES, reference=_log_softmax_reference)
def log_softmax(input, *, dim):
    """Logarithm of softmax along a dimension, without overflow."""


@log_softmax.kernel("cpu")
def _(input: np.ndarray, dim: int) -> np.ndarray:
    return _log_softmax_loops.forward(input, dim)


log_softmax.prepared(_log_softmax_loops.prepared)


@log_softmax.grad("input")
def _(g, out, dim):
    return g - out.exp() * g.sum(dim, keepdim=True)


@log_softmax.fused_backward("cpu")
def _(g: np.ndarray, out: np.ndarray, dim: int, needs: tuple[bool, ...]) -> tuple[Any, ...]:
    return (_log_softmax_loops.backward(g, out, dim),)
