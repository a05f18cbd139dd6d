"""Nodes of elementwise ops on complex numbers: their gradients are rules over tensors, whether a graph is built or not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..kernels.registry import OUT, ElementwiseOp
from . import grad_mode
from .elementwise_node import ElementwiseNode, index_of
from .saved_attributes import saved_properties
from .variable import wrap


class ComplexRecorder:
    """How an elementwise op on complex numbers is recorded for one choice of wanted gradients.

    Attributes:
        saves: indices of what a node keeps: inputs, or `OUT`.
        rules: for each input the gradient, None for one that is not wanted.
    """

    def __init__(self, op: ElementwiseOp, mask: int) -> None:
        self.op = op
        self.rules = [op.complex_form.rules.get(name) if mask >> i & 1 else None for i, name in enumerate(op.inputs)]
        self.routes = self.rules  # what is None has no gradient
        read = {index_of(op, name) for rule in self.rules if rule is not None for name in rule.reads if name != "g"}
        self.saves = tuple(sorted(read, key=lambda i: (i == OUT, i)))


class ComplexNode(ElementwiseNode):
    """A node of an elementwise op on complex numbers."""

    __slots__ = ()

    recorder: Any

    def apply(self, g: Any, graph: bool) -> Sequence[Any]:
        """Gradients for each input; see `Node.apply`."""
        if graph or g is None:
            return super().apply(g, graph)
        with grad_mode.no_grad():
            results = self._apply_tensors(wrap(g, self.device))
        found = [None if r is None else r._array for r in results]
        for result in found:
            if result is not None:
                result.shared = True  # a rule may hand on what was saved, or `g` itself
        return found


def complex_node_class(op: ElementwiseOp) -> type[Any]:
    """The node class of an elementwise op on complex numbers, named as PyTorch's."""
    form = op.complex_form
    if form.node_class is None:
        doc = f"Node of `{op.name}` on complex numbers."
        members = {"op": op, "__slots__": (), "__doc__": doc}
        form.node_class = type(op.node_name, (ComplexNode,), members | saved_properties(op))
    return form.node_class
