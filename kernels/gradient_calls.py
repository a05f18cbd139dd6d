"""Calls of compiled gradient kernels, spelled out for the common forms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import scalar_ir, threads
from .array import Array, dense_array
from .cpu import SPLIT, call, elementwise_kernel, empty_flat, empty_small


def gradient_runner(
    function: scalar_ir.Function, dtype: np.dtype, pattern: str, routes: tuple[int | None, ...]
) -> Callable[[Array, Sequence[Any]], Sequence[Array | None]]:
    """The compiled flat gradient kernel as a function `(g, saved) -> a gradient or None for each input`.

    `pattern` starts with `v` for `g`, then a letter for each saved value; `routes` names the kernel's output for each
    input. The common forms are spelled out: lists and loops over operands would cost more than the kernel.
    """
    kernel = elementwise_kernel(function, dtype, (dtype,) * function.outputs, pattern, "flat")
    empty = empty_small

    def one_of_one(g: Array, saved: Sequence[Any]) -> Sequence[Array | None]:
        x = g.flat
        if len(x) < SPLIT:
            flat = empty(len(x), dtype)
            kernel(x, saved[0].flat, flat)
        else:
            flat = empty_flat(len(x), dtype)
            threads.run(kernel, (x, saved[0].flat, flat), len(x))
        return (dense_array(flat, dtype, g.shape, g.strides),)

    def first_of_two(g: Array, saved: Sequence[Any]) -> Sequence[Array | None]:
        x = g.flat
        if len(x) < SPLIT:
            flat = empty(len(x), dtype)
            kernel(x, saved[0].flat, flat)
        else:
            flat = empty_flat(len(x), dtype)
            threads.run(kernel, (x, saved[0].flat, flat), len(x))
        return (dense_array(flat, dtype, g.shape, g.strides), None)

    def second_of_none(g: Array, saved: Sequence[Any]) -> Sequence[Array | None]:
        x = g.flat
        flat = empty_flat(len(x), dtype)
        if len(x) < SPLIT:
            kernel(x, flat)
        else:
            threads.run(kernel, (x, flat), len(x))
        return (None, dense_array(flat, dtype, g.shape, g.strides))

    def second_of_two(g: Array, saved: Sequence[Any]) -> Sequence[Array | None]:
        return (None, *one_of_one(g, saved))

    def two_of_two(g: Array, saved: Sequence[Any]) -> Sequence[Array | None]:
        x, shape, strides = g.flat, g.shape, g.strides
        if len(x) < SPLIT:
            first, second = empty(len(x), dtype), empty(len(x), dtype)
            kernel(x, saved[0].flat, saved[1].flat, first, second)
        else:
            first, second = empty_flat(len(x), dtype), empty_flat(len(x), dtype)
            threads.run(kernel, (x, saved[0].flat, saved[1].flat, first, second), len(x))
        return (dense_array(first, dtype, shape, strides), dense_array(second, dtype, shape, strides))

    def one_of_number(g: Array, saved: Sequence[Any]) -> Sequence[Array | None]:
        x = g.flat
        if len(x) < SPLIT:
            out = empty(len(x), dtype)
            kernel(x, saved[0], out)
        else:
            out = empty_flat(len(x), dtype)
            threads.run(kernel, (x, saved[0], out), len(x))
        return (dense_array(out, dtype, g.shape, g.strides), None)

    def any_form(g: Array, saved: Sequence[Any]) -> Sequence[Array | None]:
        size, shape, strides = len(g.flat), g.shape, g.strides
        outputs = [empty_flat(size, dtype) for _ in range(function.outputs)]
        call(kernel, [g.flat, *[x.flat if x.__class__ is Array else x for x in saved], *outputs], size)
        return [None if r is None else dense_array(outputs[r], dtype, shape, strides) for r in routes]

    spelled_out = {
        ("vv", (0,)): one_of_one,
        ("vv", (0, None)): first_of_two,
        ("vv", (None, 0)): second_of_two,
        ("vn", (0, None)): one_of_number,
        ("v", (None, 0)): second_of_none,
        ("vvv", (0, 1)): two_of_two,
    }
    return spelled_out.get((pattern, routes), any_form)
