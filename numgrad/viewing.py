"""Running view ops: new tensors over the storage of another."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import repeat
from typing import Any

from .autograd.checkpointing import checkpoint
from .autograd.grad_mode import mode
from .autograd.history import move_retained
from .autograd.inplace import check_writable
from .autograd.node import gradient_edge
from .autograd.op_node import node_class, save_plan
from .autograd.tracing import run_at
from .autograd.variable import INFERENCE, NO_GRAD, SEVERAL, ViewInfo, wrap
from .autograd.view_rules import inherited
from .autograd.watch import watching
from .device import BALANCED
from .kernels.array import Array
from .kernels.view_ops import SeveralViewsOp, ViewOp


def view(op: ViewOp, x: Any, attributes: tuple[Any, ...]) -> Any:
    """Run a view op: a new tensor, or a tuple of them, over the same storage."""
    if mode.levels and x._array.__class__ is not Array:
        return run_at(x._array.level, op, (x,), attributes)
    if isinstance(op, SeveralViewsOp):
        return _several_views(op, x, attributes)
    array = x._array
    made = op.layout(array.shape, array.strides, array.offset, *attributes)
    dtype = None if op.dtype is None else op.dtype(array.dtype)
    node = _node(op, x, attributes, 1)
    result = array.view(*made, dtype)
    if node is not None and x._device.context is BALANCED:
        checkpoint(node, op, (array,), attributes, (result,))
    out = wrap(result, x._device, None if node is None else (node, 0))
    base = x if x._view is None else x._view.base
    out._view = ViewInfo(base, array.version, inherited(x._view, "" if mode.enabled else _unrecorded()))
    return out


def view_in_place(op: ViewOp, x: Any, attributes: tuple[Any, ...]) -> Any:
    """Give a tensor itself the layout of a view. No item is written, yet PyTorch counts it as an in-place write."""
    check_writable(x)
    node = _node(op, x, attributes, 1)
    array = x._array
    made = op.layout(array.shape, array.strides, array.offset, *attributes)
    array.storage.version += 1
    x._array = array.view(*made)
    if x._view is not None:
        x._view.version = array.version
    if node is not None:
        move_retained(x, (node, 0))
        x._edge = (node, 0)
        x._requires_grad = True
    return x


def _several_views(op: SeveralViewsOp, x: Any, attributes: tuple[Any, ...]) -> tuple[Any, ...]:
    array = x._array
    made = op.layouts(array.shape, array.strides, array.offset, *attributes)
    node = _node(op, x, attributes, len(made))
    where, version = x._device, array.version
    base = x if x._view is None else x._view.base
    creation = inherited(x._view, SEVERAL if mode.enabled else _unrecorded())
    found = []
    for k, layout in enumerate(made):
        out = wrap(array.view(*layout), where, None if node is None else (node, k))
        out._view = ViewInfo(base, version, creation)
        found.append(out)
    return tuple(found)


def is_unrecorded(x: Any) -> bool:
    """Whether views of a tensor are seen by nobody: no node is made of them, no level or observer looks on."""
    return not (watching or mode.levels or (mode.enabled and x.requires_grad))


def row(x: Any, index: int) -> Any:
    """`select(x, 0, index)` of what `is_unrecorded`, in 1.6 us instead of 2.7: data are taken row by row."""
    array = x._array
    shape, strides = array.shape[1:], array.strides[1:]
    offset, flat = array.offset + index * array.strides[0], array.flat
    if flat is None:
        made = array.view(shape, strides, offset)
    else:
        size = math.prod(shape)
        made = Array(array.storage, array.dtype, shape, strides, offset, flat[index * size : (index + 1) * size])
    out = wrap(made, x._device)
    base = x if x._view is None else x._view.base
    out._view = ViewInfo(base, made.version, inherited(x._view, "" if mode.enabled else _unrecorded()))
    return out


def rows(x: Any) -> Iterator[Any]:
    """The slices of the first dimension, as an unrecorded `unbind` gives them, each made when it is asked for.

    20,000 rows at once would be 100,000 objects for Python's garbage collector to look at, again and again.
    """
    array, where = x._array, x._device
    storage, dtype, shape, strides = array.storage, array.dtype, array.shape[1:], array.strides[1:]
    base = x if x._view is None else x._view.base
    creation = inherited(x._view, SEVERAL if mode.enabled else _unrecorded())
    step = array.strides[0]
    offsets = (
        range(array.offset, array.offset + array.shape[0] * step, step)
        if step
        else repeat(array.offset, array.shape[0])
    )
    # The 1-d memory of a row is a row of the whole as a matrix.
    flats = repeat(None) if array.flat is None else array.flat.reshape(array.shape[0], math.prod(shape))
    for offset, flat in zip(offsets, flats, strict=False):
        row = Array(storage, dtype, shape, strides, offset, flat)
        if flat is None:
            row = row.view(shape, strides, offset)
        out = wrap(row, where)
        out._view = ViewInfo(base, storage.version, creation)
        yield out


def _unrecorded() -> str:
    return INFERENCE if mode.inference else NO_GRAD


def _node(op: ViewOp, x: Any, attributes: tuple[Any, ...], outputs: int) -> Any:
    """The node of a view, None if it is not recorded."""
    if not mode.enabled or not x._device.context.enabled or not (x._requires_grad or x._view is not None):
        return None
    edge = gradient_edge(x)
    if edge is None:
        return None
    array = x._array
    plan = save_plan(op, 1)
    facts = {name: attributes[j] for name, j in plan.attributes}
    for name, _ in plan.shapes:
        facts[name] = array.shape
    for name, _ in plan.strides:
        facts[name] = array.strides
    for name, _ in plan.offsets:
        facts[name] = array.offset
    for name, _ in plan.metas:
        facts[name] = (array.dtype.name, array.device)
    return node_class(op)((edge,), {}, facts, x._device, outputs, (True,))
