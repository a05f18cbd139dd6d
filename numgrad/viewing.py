"""Running view ops: new tensors over the storage of another."""

from __future__ import annotations

from typing import Any

from .autograd.checkpointing import checkpoint
from .autograd.grad_mode import mode
from .autograd.node import gradient_edge, node_class, save_plan
from .autograd.variable import NO_GRAD, SEVERAL, ViewInfo, wrap
from .autograd.view_rules import inherited
from .device import BALANCED
from .kernels.array import Array
from .kernels.registry import SeveralViewsOp, ViewOp


def view(op: ViewOp, x: Any, attributes: tuple[Any, ...]) -> Any:
    """Run a view op: a new tensor, or a tuple of them, over the same storage."""
    if isinstance(op, SeveralViewsOp):
        return _several_views(op, x, attributes)
    array = x._array
    result = array.view(*op.layout(array.shape, array.strides, array.offset, *attributes))
    node = _node(op, x, attributes, 1)
    if node is not None and x._device.context is BALANCED:
        checkpoint(node, op, (array,), attributes, (result,))
    return _view_of(x, result, node, 0, "")


def _several_views(op: SeveralViewsOp, x: Any, attributes: tuple[Any, ...]) -> tuple[Any, ...]:
    array = x._array
    made = op.layouts(array.shape, array.strides, array.offset, *attributes)
    node = _node(op, x, attributes, len(made))
    return tuple(_view_of(x, array.view(*layout), node, k, SEVERAL) for k, layout in enumerate(made))


def _view_of(x: Any, result: Array, node: Any, number: int, creation: str) -> Any:
    out = wrap(result, x._device, None if node is None else (node, number))
    base = x if x._view is None else x._view.base
    out._view = ViewInfo(base, result.version, inherited(x._view, creation if mode.enabled else NO_GRAD))
    return out


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
