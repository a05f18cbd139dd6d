"""Undo broadcasting and casting of a gradient, on whichever device it is."""

from __future__ import annotations

import functools
import math

import numpy as np

from . import cpu
from .arithmetic import add
from .array import Array, Shape, contiguous_strides
from .movement import backend
from .reductions import sum_to_shape


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


def _sum_to(g: Array, shape: Shape) -> Array:
    if g.device == cpu.DEVICE:
        return cpu.from_host(sum_to_shape(g.ndarray, shape))
    from . import cuda

    lead = len(g.shape) - len(shape)
    axes = (*range(lead), *(lead + d for d, n in enumerate(shape) if n == 1 and g.shape[lead + d] != 1))
    kept = tuple(n for d, n in enumerate(g.shape) if d not in axes)
    out = cuda.empty(kept, g.dtype, g.device)
    cuda.reduce_sum(g, axes, out)
    return out.view(shape, contiguous_strides(shape), out.offset)


@functools.cache
def _adding(dtype: np.dtype) -> cpu.FlatPlan:
    return cpu.flat_plan(add.scalar, dtype, (dtype,), "vv")


def accumulate(target: Array, g: Array, owned: bool) -> Array:
    """`target + g`, written into `target` when the caller owns it."""
    if target.flat is not None and g.flat is not None and target.dtype is g.dtype:
        plan = _adding(g.dtype)
        if not owned:
            return plan.binary(target, g)
        plan.kernel(target.flat, g.flat, target.flat)
        return target
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
