"""Optimizer steps in place: one call of a kernel for all parameters, where their arrays are plain ones.

A step is an elementwise op whose results replace some of its operands. It is not recorded here: a step that is
differentiated through goes the way of any other op.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .autograd import profiling
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
        recorder = profiling.current()
        if recorder is None:
            _observed(op, rows, numbers)
        else:
            inputs = [x for row in rows for x in row]
            recorder.op(lambda *_: _observed(op, rows, numbers), op, inputs, numbers, inputs[0])
    else:
        _step(op, rows, numbers)


def _observed(op: ElementwiseOp, rows: Rows, numbers: tuple[float, ...]) -> None:
    """A step, shown to the observers."""
    for row in rows:
        for i in op.targets:
            before_write(row[i])
    _step(op, rows, numbers)
    for row in rows:
        observe(op, (*row, *numbers), tuple(row[i] for i in op.targets), True)


def _step(op: ElementwiseOp, rows: Rows, numbers: tuple[float, ...]) -> None:
    targets = op.targets
    plain, others = _sorted_out(rows)
    for row in others:
        _check_row(op, row)
    for row in rows:
        for i in targets:
            storage = row[i]._array.storage
            if storage.version < 0:
                check_counted(row[i])
            storage.version += 1
    for dtype, flats in plain.items():
        map_many(op.scalar, dtype, targets, len(rows[0]), flats, numbers)
    for row in others:
        _step_alone(op, row, numbers)


def _sorted_out(rows: Rows) -> tuple[dict[Any, list[Any]], list[tuple[Any, ...]]]:
    """The items of plain rows, by dtype, and rows with a tensor of another layout, dtype or device than the CPU."""
    plain: dict[Any, list[Any]] = {}
    others = []
    for row in rows:
        array = row[0]._array
        dtype, shape = array.dtype, array.shape
        flats = []
        for x in row:
            array = x._array
            flat = array.flat
            if flat is None or array.dtype is not dtype or array.shape != shape:
                break
            flats.append(flat)
        if len(flats) < len(row) or dtype.num > LAST_COMPILED:
            others.append(row)
        elif dtype in plain:
            plain[dtype] += flats
        else:
            plain[dtype] = flats
    return plain, others


def _step_alone(op: ElementwiseOp, row: tuple[Any, ...], numbers: tuple[float, ...]) -> None:
    """The step of one parameter, of any layout, dtype and device. Complex numbers are pairs of real ones."""
    arrays = [_real_view(x._array) for x in row]
    dtype = computed_together([array.dtype for array in arrays])
    row[0]._device.kernels().map(op.scalar, dtype, [*arrays, *numbers], [arrays[i] for i in op.targets])


def _check_row(op: ElementwiseOp, row: tuple[Any, ...]) -> None:
    """Raise RuntimeError unless gradient and state are like the parameter, and what is written shows no item twice."""
    param, *others = row
    for name, other in zip(op.inputs[1:], others, strict=False):
        if other.shape != param.shape or other.is_complex() != param.is_complex():
            raise RuntimeError(
                f"{op.name}(): a parameter of shape {list(param.shape)} and dtype {param.dtype} has {name} of shape "
                f"{list(other.shape)} and dtype {other.dtype}: after changing a parameter's shape or dtype, clear its "
                "gradient and make a new optimizer"
            )
    for i in op.targets:
        check_self_overlap(row[i])


def _real_view(array: Array) -> Array:
    if array.dtype.kind != "c":
        return array
    layout = view_as_real.layout(*array.layout)
    return array.view(*layout, view_as_real.dtype(array.dtype))
