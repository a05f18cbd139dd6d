"""Undo broadcasting and casting of a gradient, on whichever device it is."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from . import cpu, threads
from .arithmetic import add
from .array import Array, Shape, broadcast_axes, contiguous_strides, dense_array
from .backends import backend
from .halves import in_float32
from .reductions import sum_to_shape

_REAL = frozenset((np.dtype(np.float32), np.dtype(np.float64)))


def unbroadcast(g: Array, shape: Shape, dtype: np.dtype) -> Array:
    """`g` summed to `shape`, from which it was broadcast, and cast to `dtype`."""
    if g.shape != shape:
        g = _sum_to(g, shape)
    if g.dtype != dtype:
        loops = backend(g.device)
        out = loops.empty(shape, dtype, g.device)
        loops.copy(g, out)
        g = out
    return g


@cpu.loop
def sum_of_rows(rows, totals, out):
    """The sum of all rows, in float64 on the way."""
    for j in range(totals.shape[0]):
        totals[j] = 0
    for i in range(rows.shape[0]):
        row = rows[i]
        for j in range(totals.shape[0]):
            totals[j] += row[j]
    for j in range(totals.shape[0]):
        out[j] = totals[j]


def _sum_to(g: Array, shape: Shape) -> Array:
    flat = g.flat
    if flat is not None and 0 < len(flat) < cpu.SPLIT and g.dtype in _REAL and g.shape[-len(shape) :] == shape:
        width = math.prod(shape)  # a bias: that shorter way saves 10 us
        total = np.empty(width, g.dtype)
        sum_of_rows(flat.reshape(-1, width), np.empty(width), total)
        return dense_array(total, g.dtype, shape, contiguous_strides(shape))
    if g.device == cpu.DEVICE:
        return cpu.from_host(in_float32(sum_to_shape, (g.ndarray, shape)))
    from . import cuda

    axes = broadcast_axes(g.shape, shape)
    kept = tuple(n for d, n in enumerate(g.shape) if d not in axes)
    out = cuda.empty(kept, g.dtype, g.device)
    cuda.reduce_sum(g, axes, out)
    return out.view(shape, contiguous_strides(shape), out.offset)


_adding: dict[np.dtype, Any] = {}  # `out = x + y` of each dtype


def accumulate(target: Array, g: Array, owned: bool) -> Array:
    """`target + g`, written into `target` when the caller owns it."""
    x, y, dtype = target.flat, g.flat, target.dtype
    if x is not None and y is not None and dtype is g.dtype:
        kernel = _adding.get(dtype)
        if kernel is None:
            is_compiled = dtype in cpu.COMPILED
            kernel = cpu.flat_plan(add.scalar, dtype, (dtype,), "vv").kernel if is_compiled else np.add
            _adding[dtype] = kernel
        out = target if owned else cpu.empty(target.shape, dtype)
        if len(x) < cpu.SPLIT:
            kernel(x, y, out.flat)
        else:
            threads.run(kernel, (x, y, out.flat), len(x))
        return out
    loops = backend(g.device)
    out = target if owned else loops.empty(target.shape, target.dtype, target.device)
    if loops is cpu:
        np.add(target.ndarray, g.ndarray, out=out.ndarray)  # NumPy walks unlike layouts without setting up an iterator
        return out
    loops.map(add.scalar, target.dtype, [target, g], [out])
    return out


def cloned(g: Array) -> Array:
    """A contiguous copy."""
    loops = backend(g.device)
    out = loops.empty(g.shape, g.dtype, g.device)
    if math.prod(g.shape):
        loops.copy(g, out)
    return out
