"""Optimizer steps in place: one call of a kernel for all parameters, where their arrays are plain ones.

A step is an elementwise op whose results replace some of its operands. It is not recorded here: a step that is
differentiated through goes the way of any other op.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .autograd.inplace import check_counted, check_self_overlap
from .autograd.observers import before_write, observe
from .autograd.watch import watching
from .kernels.array import Array
from .kernels.complex_numbers import view_as_real
from .kernels.cpu import LAST_COMPILED
from .kernels.halves import computed_together
from .kernels.many import map_many
from .kernels.registry import ElementwiseOp

Rows = Sequence[tuple[Any, ...]]


def step(op: ElementwiseOp, rows: Rows, numbers: tuple[float, ...]) -> None:
    """Run an optimizer's step in place.

    Args:
        op: an op with `targets`.
        rows: for each parameter the tensors that the op takes: itself, its gradient, its state.
        numbers: what the op takes after them.

    Raises:
        RuntimeError: tensors of one row differ in shape, or a target may not be written.
    """
    if watching:
        for row in rows:
            for i in op.targets:
                before_write(row[i])
    targets = op.targets
    for row in rows:
        for i in targets:
            storage = row[i]._array.storage
            if storage.version < 0:
                check_counted(row[i])
            storage.version += 1
    dtype = rows[0][0]._array.dtype
    flats = _flats(rows, dtype)
    if flats is None:
        for row in rows:
            _step_alone(op, row, numbers)
    else:
        map_many(op.scalar, dtype, targets, len(rows[0]), flats, numbers)
    if watching:
        for row in rows:
            observe(op, (*row, *numbers), tuple(row[i] for i in targets), True)


def _flats(rows: Rows, dtype: Any) -> list[Any] | None:
    """The items of all tensors, row by row, unless one is laid out otherwise, of another dtype, or on another device."""
    if dtype.num > LAST_COMPILED:
        return None
    flats = []
    for row in rows:
        shape = row[0]._array.shape
        for x in row:
            array = x._array
            flat = array.flat
            if flat is None or array.dtype is not dtype or array.shape != shape:
                return None
            flats.append(flat)
    return flats


def _step_alone(op: ElementwiseOp, row: tuple[Any, ...], numbers: tuple[float, ...]) -> None:
    """The step of one parameter, of any layout, dtype and device. Complex numbers are pairs of real ones."""
    _check_shapes(op, row)
    for i in op.targets:
        check_self_overlap(row[i])
    arrays = [_real_view(x._array) for x in row]
    dtype = computed_together([array.dtype for array in arrays])
    row[0]._device.kernels().map(op.scalar, dtype, [*arrays, *numbers], [arrays[i] for i in op.targets])


def _check_shapes(op: ElementwiseOp, row: tuple[Any, ...]) -> None:
    """Raise RuntimeError unless gradient and state are like the parameter: a step reads them side by side."""
    param, *others = row
    for name, other in zip(op.inputs[1:], others, strict=False):
        if other.shape != param.shape or other.is_complex() != param.is_complex():
            raise RuntimeError(
                f"{op.name}(): a parameter of shape {list(param.shape)} and dtype {param.dtype} has {name} of shape "
                f"{list(other.shape)} and dtype {other.dtype}: after changing a parameter's shape or dtype, clear its "
                "gradient and make a new optimizer"
            )


def _real_view(array: Array) -> Array:
    if array.dtype.kind != "c":
        return array
    layout = view_as_real.layout(*array.layout)
    return array.view(*layout, view_as_real.dtype(array.dtype))
