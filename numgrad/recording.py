"""The node of an op that brings its own kernels: what it saves of the operands, and what it notes of their layout."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .autograd.checkpointing import checkpoint
from .autograd.op_node import node_class, save_plan
from .device import BALANCED, device
from .kernels.array import Array
from .kernels.registry import KernelOp


def arrays_of(inputs: Sequence[Any]) -> list[Array]:
    """The arrays of tensors."""
    return [x._array for x in inputs]


def record(
    op: KernelOp,
    mask: int,
    arrays: Sequence[Array],
    found: Sequence[Array],
    attributes: tuple[Any, ...],
    edges: Sequence[Any],
    where: device,
    facts: dict[str, Any] | None = None,
) -> Any:
    """The node of an op.

    Args:
        op: the op.
        mask: the bits of the inputs that need gradients.
        arrays: its inputs.
        found: its results.
        attributes: its plain arguments.
        edges: where the inputs' gradients go.
        where: the device.
        facts: what `facts_of` gives, where that is known.
    """
    plan = save_plan(op, mask)
    saved = {}
    for name, i in plan.inputs:
        saved[name] = arrays[i]
    for name, k in plan.outputs:
        saved[name] = found[k]
    if facts is None:
        facts = facts_of(op, mask, arrays, attributes)
    needs = tuple([e is not None for e in edges])
    node = node_class(op)(tuple(edges), saved, facts, where, op.outputs, needs)
    if where.context is BALANCED:
        checkpoint(node, op, arrays, attributes, found)
    return node


def facts_of(op: KernelOp, mask: int, arrays: Sequence[Array], attributes: tuple[Any, ...]) -> dict[str, Any]:
    """What a node keeps of the operands' layout and of the attributes."""
    plan = save_plan(op, mask)
    facts = {name: attributes[j] for name, j in plan.attributes}
    for name, i in plan.shapes:
        facts[name] = [a.shape for a in arrays] if op.variadic else arrays[i].shape
    for name, i in plan.strides:
        facts[name] = arrays[i].strides
    for name, i in plan.metas:
        facts[name] = (arrays[i].dtype.name, arrays[i].device)
    return facts
