"""Elementwise ops on contiguous operands of several shapes, by plans that were kept: the second path of the dispatcher.

The general way asks device, dtype, shape and layout of every operand anew, in some 15 us; most calls of a program are
like an earlier one.
"""

from __future__ import annotations

from typing import Any

from .autograd.checkpointing import checkpoint
from .autograd.elementwise_node import Recorder, elementwise_node
from .autograd.grad_mode import mode
from .autograd.node import gradient_edge, saved_versions
from .autograd.op_node import node_class
from .autograd.variable import CLASSES, wrap, wrap_new
from .device import AUTODIFF, BALANCED
from .kernels.array import Array, dense_array
from .kernels.broadcast_plans import BroadcastPlan, broadcast_plan
from .kernels.cpu import empty_flat
from .kernels.registry import OUT, ElementwiseOp

_MOST = 4096  # plans of one op, after which all are forgotten: a program with ever new shapes must not grow


def planned(op: ElementwiseOp, inputs: tuple[Any, ...], out: Any) -> Any:
    """The result of an op for which there is a plan; None where there is none, or more has to be asked."""
    where: Any = None
    key: list[Any] = []
    recorded = False
    for x in inputs:
        if x.__class__ in CLASSES:
            array = x._array
            if array.__class__ is not Array or array.flat is None:
                return None
            if where is None:
                where = x._device
            elif x._device is not where:
                return None
            key.append(array.dtype)
            key.append(array.shape)
            recorded = recorded or x._requires_grad or (x._view is not None and _is_tracked(x))
        else:
            key.append(x.__class__)
    plan = None if where is None else op.broadcast_plans.get(tuple(key))
    if plan is None:
        return None
    if out is None:
        return by_plan(op, plan, inputs, where)
    if where.context is not AUTODIFF or (recorded and mode.enabled):
        return None
    return _in_place(plan, inputs, out)


def _is_tracked(view: Any) -> bool:
    """Whether the graph asks about a write to a view, or through it: it or its base requires a gradient."""
    return bool(view.requires_grad or view._view.base._requires_grad)


def by_plan(op: ElementwiseOp, plan: BroadcastPlan, inputs: tuple[Any, ...], where: Any) -> Any:
    """The result of an op on contiguous operands of one device, by their plan."""
    operands = [x._array if x.__class__ in CLASSES else x for x in inputs]
    flat = empty_flat(plan.size, plan.dtype)
    plan.run(operands, flat)
    target = dense_array(flat, plan.dtype, plan.shape, plan.strides)
    if not mode.enabled or not where.context.enabled or not op.differentiable or not plan.is_differentiable:
        return wrap_new(target, where)
    return _recorded(op, plan, inputs, operands, target, where)


def _in_place(plan: BroadcastPlan, inputs: tuple[Any, ...], out: Any) -> Any:
    """Write to the first input, which no graph knows; None where something could forbid it."""
    if out is not inputs[0]:
        return None
    array = out._array
    storage = array.storage
    if storage.version < 0 or plan.shape != array.shape or plan.dtype is not array.dtype:
        return None
    for x in inputs[1:]:
        if x.__class__ in CLASSES and x is not out and x._array._storage is storage:
            return None  # another view of the memory that is written
    plan.run([x._array if x.__class__ in CLASSES else x for x in inputs], array.flat)
    storage.version += 1
    return out


def _recorded(
    op: ElementwiseOp, plan: BroadcastPlan, inputs: tuple[Any, ...], operands: list[Any], target: Array, where: Any
) -> Any:
    """The result with its node."""
    edges = tuple([gradient_edge(x) if x.__class__ in CLASSES else None for x in inputs])
    mask = 0
    for i, edge in enumerate(edges):
        if edge is not None:
            mask |= 1 << i
    if not mask:
        return wrap_new(target, where)
    key = (plan.compute, plan.pattern, mask)
    recorder = op.recorders.get(key)
    if recorder is None:
        recorder = op.recorders[key] = Recorder(op, mask, plan.compute, plan.pattern)
    saved = [target if i == OUT else operands[i] for i in recorder.saves]
    node = elementwise_node(node_class(op), recorder, edges, saved, where)
    node.meta = plan.meta
    versions = saved_versions(saved)
    if any(versions):
        node.versions = versions
    if where.context is BALANCED:
        checkpoint(node, op, operands, (), [target])
    return wrap(target, where, (node, 0))


def keep_plan(
    op: ElementwiseOp, inputs: tuple[Any, ...], operands: list[Any], compute: Any, target: Array, meta: Any
) -> None:
    """Keep how a call was made, if one like it can be made so again."""
    parts: list[Any] = []
    for x in inputs:
        parts += [x._array.dtype, x._array.shape] if x.__class__ in CLASSES else [x.__class__]
    key, plans = tuple(parts), op.broadcast_plans
    if key in plans:
        return
    plan = broadcast_plan(op.scalar, compute, operands, target, meta)
    if plan is None:
        return
    if len(plans) >= _MOST:
        plans.clear()
    plans[key] = plan
