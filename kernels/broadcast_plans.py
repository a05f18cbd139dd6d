"""How an elementwise kernel is called on contiguous operands of given shapes, found once and kept.

Finding it out takes longer than the kernel: 10-15 us for a bias added to 32 x 16 items, which take 0.4.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import cpu, scalar_ir
from .array import Array, Shape

Letters = str  # for each operand `f` whole, `r` one row, `c` one column, `s` one item, `n` a Python number


class BroadcastPlan:
    """The kernel for operands of known shapes and dtypes, and how each is handed to it.

    Attributes:
        letters: the form of each operand, see `Letters`.
        shape: the result's.
        dtype: the result's, and whether it can have a gradient.
        compute: the dtype that operands have, and numbers are taken in.
        pattern: the operands as `v` (arrays) and `n` (numbers), by which gradients are recorded.
        meta: what the graph keeps about the operands.
    """

    __slots__ = (
        "_kernel",
        "_rows",
        "compute",
        "dtype",
        "is_differentiable",
        "letters",
        "meta",
        "pattern",
        "shape",
        "size",
        "strides",
    )

    def __init__(
        self,
        kernel: Any,
        letters: Letters,
        rows: tuple[int, int] | None,
        target: Array,
        compute: np.dtype,
        pattern: str,
        meta: Any,
    ) -> None:
        self._kernel = kernel
        self._rows = rows
        self.letters = letters
        self.shape, self.strides, self.size, self.dtype = target.shape, target.strides, target.size, target.dtype
        self.is_differentiable = target.dtype.kind == "f"
        self.compute = compute
        self.pattern = pattern
        self.meta = meta

    def run(self, operands: Sequence[Any], target: np.ndarray) -> None:
        """Write the result of arrays and numbers to a 1-D ndarray."""
        values: list[Any] = []
        rows = self._rows
        for x, letter in zip(operands, self.letters, strict=True):
            if letter == "n":
                values.append(x)
            elif letter == "s":
                values.append(cpu.fitting(x.flat.item(), self.compute))
            elif letter == "f" and rows is not None:
                values.append(x.flat.reshape(rows))
            else:
                values.append(x.flat)
        if rows is None:
            values.append(target)
            cpu.call(self._kernel, values, self.size)
        else:
            values.append(target.reshape(rows))
            cpu.call_rows(self._kernel, values, self.letters + "f", *rows)


def broadcast_plan(
    function: scalar_ir.Function, compute: np.dtype, operands: Sequence[Any], target: Array, meta: Any
) -> BroadcastPlan | None:
    """The plan for such operands and such a contiguous result; None where something has to be cast or gathered."""
    if compute not in cpu.COMPILED or target.flat is None or not target.size:
        return None
    single = target.size == 1
    letters: list[str | None] = []
    for x, parameter in zip(operands, function.parameters, strict=True):
        if not isinstance(x, Array):
            letters.append("n")
            if compute.kind != "f":  # a number may not fit, or is cut
                return None
        elif x.flat is None:
            return None
        elif x.size == 1 and not single:
            letters.append("s")
        elif x.dtype is not cpu.operand_dtype(function.kinds.get(parameter, "real"), compute):
            return None
        else:
            letters.append("f" if single or x.shape == target.shape else None)
    pattern = "".join("v" if isinstance(x, Array) else "n" for x in operands)
    rows = None
    if None in letters:
        found = _rows(target.shape, operands, letters)
        if found is None:
            return None
        letters, rows = found
    spelled = "".join(map(str, letters))
    form = spelled.replace("s", "n") if rows else "".join("n" if letter in "sn" else "v" for letter in spelled)
    kernel = cpu.elementwise_kernel(function, compute, (target.dtype,), form, "rows" if rows else "flat")
    return BroadcastPlan(kernel, spelled, rows, target, compute, pattern, meta)


def _rows(
    shape: Shape, operands: Sequence[Any], letters: Sequence[str | None]
) -> tuple[list[str | None], tuple[int, int]] | None:
    """The letters and the extents by which every operand repeats along the rows or along the columns; None if none do."""
    for split in range(len(shape), -1, -1):
        found = [
            letter if letter in ("s", "n") else cpu.row_letter(x.shape, shape, split)
            for x, letter in zip(operands, letters, strict=True)
        ]
        if None not in found:
            return found, (math.prod(shape[:split]), math.prod(shape[split:]))
    return None
