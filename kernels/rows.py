"""Plans of calls whose two operands repeat along rows or columns of the result, such as the sum with a bias.

How the operands are seen as rows and columns follows from their shapes, and is found once for each pair of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from . import cpu, scalar_ir
from .array import Array, Shape, contiguous_strides, dense_array

MOST = 4096  # plans that are kept for an op: shapes that never come again must not pile up


class RowsPlan:
    """A compiled rows kernel for operands of two shapes, contiguous and of one dtype.

    `meta` is each operand's shape and dtype, what the gradients are summed to.
    """

    __slots__ = ("_height", "_is_full", "_kernel", "_letters", "_shape", "_strides", "_width", "dtype", "meta")

    def __init__(
        self, kernel: Callable[..., None], letters: str, shape: Shape, split: int, dtype: np.dtype, meta: Any
    ) -> None:
        self._kernel = kernel
        self._letters = letters + "f"
        self._is_full = tuple(letter == "f" for letter in letters)
        self._shape, self._strides = shape, contiguous_strides(shape)
        self._height, self._width = math.prod(shape[:split]), math.prod(shape[split:])
        self.dtype = dtype
        self.meta = meta

    def run(self, x: np.ndarray, y: np.ndarray) -> Array:
        """The result, from the items of both operands."""
        height, width = self._height, self._width
        if self._is_full[0]:
            x = x.reshape(height, width)
        if self._is_full[1]:
            y = y.reshape(height, width)
        flat = cpu.empty_flat(height * width, self.dtype)
        cpu.call_rows(self._kernel, (x, y, flat.reshape(height, width)), self._letters, height, width)
        return dense_array(flat, self.dtype, self._shape, self._strides)


def rows_plan(function: scalar_ir.Function, first: Array, second: Array, result: Array) -> RowsPlan | None:
    """The plan for operands like these, which have given this result; None where another kernel serves them."""
    shape, dtype = result.shape, first.dtype
    if min(first.size, second.size) < 2 or first.flat is None or second.flat is None or result.flat is None:
        return None
    for split in range(len(shape), -1, -1):
        letters = [cpu.row_letter(x.shape, shape, split) for x in (first, second)]
        if letters[0] is not None and letters[1] is not None:
            pattern = letters[0] + letters[1]
            kernel = cpu.rows_kernel(function, dtype, result.dtype, pattern)
            meta = [(x.shape, x.dtype) for x in (first, second)]
            return RowsPlan(kernel, pattern, shape, split, result.dtype, meta)
    return None
