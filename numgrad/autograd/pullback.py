"""Gradients through wrappings: `autograd.grad` for tensors that `vmap` or forward mode have wrapped.

Graphs are recorded where plain tensors are computed. So a gradient of wrapped tensors is taken by unwrapping them, level
by level from the inside out: a batch's gradient is that of all its members at once, and a dual number's follows from the
gradients of its two parts. That needs one thing: what is differentiated under a running `vmap` must have a member for
each of the batch, or their gradients would be summed. `variables` sees to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .edges import GradientEdge
from .engine import run_backward
from .grad_mode import mode
from .node import Node, gradient_edge
from .tracing import innermost, is_traced, level_of
from .variable import Edge, wrap


class Identity(Node):
    """Passes the gradient on: a place of its own in the graph for what is the same tensor."""

    __slots__ = ()

    def name(self) -> str:
        """See `Node.name`."""
        return "Identity"

    def apply(self, g: Any, graph: bool) -> Sequence[Any]:
        """The gradient itself; see `Node.apply`."""
        if g is not None and not graph:
            g.shared = True
        return (g,)


def variables(tensors: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Tensors to differentiate by: for each a new one to compute with, and its twin to ask for the gradient of.

    The twin keeps its place in the graph when a function writes to its argument. Each is a leaf, which functions cannot
    write to, unless the tensor given is itself being differentiated further out.
    """
    sources = [_variable(_for_each_member(x)) for x in tensors]
    return [_twin(x) for x in sources], sources


def _variable(x: Any) -> Any:
    level = level_of(x)
    if level is not None:
        return level.like(x, _variable(level.inside(x)))
    edge = gradient_edge(x) if mode.enabled else None
    if edge is not None:
        return wrap(x._array, x._device, (Identity((edge,), (), x._device), 0))
    made = wrap(x._array, x._device)
    made._requires_grad = True
    return made


def _twin(x: Any) -> Any:
    level = level_of(x)
    if level is not None:
        return level.like(x, _twin(level.inside(x)))
    return x if x._edge is None else wrap(x._array, x._device, x._edge)


def _for_each_member(x: Any) -> Any:
    """`x` with a member for each of every batch that is being mapped over at present."""
    for level in mode.levels:
        x = level.with_members(x)
    return x


def pull(
    outputs: Sequence[Any], inputs: Sequence[Any], vectors: Sequence[Any], create_graph: bool, keep_graph: bool
) -> list[Any]:
    """Products of vectors with the Jacobian of outputs by inputs; None for an input that the outputs do not depend on.

    Args:
        outputs, inputs: tensors, wrapped or not.
        vectors: a tensor for each output. They may be wrapped by levels that the outputs know nothing of, such as a
            `vmap` over many vectors.
        create_graph, keep_graph: as for `autograd.grad`.
    """
    level = innermost((*outputs, *inputs))
    if level is not None:
        return level.pull(list(outputs), list(inputs), list(vectors), create_graph, keep_graph)
    edges = [(_edge(y), v) for y, v in zip(outputs, vectors, strict=True)]
    pairs = [(edge, v) for edge, v in edges if edge is not None]
    targets = [_edge(x) for x in inputs]
    wanted = [edge for edge in targets if edge is not None]
    if not pairs or not wanted:
        return [None] * len(inputs)
    found = run_backward(
        [edge for edge, _ in pairs],
        [v for _, v in pairs],
        keep_graph=keep_graph,
        create_graph=create_graph,
        inputs=wanted,
        accumulate_grad=False,
        on_tensors=any(is_traced(v) for _, v in pairs),
    )
    remaining = iter(found)
    return [None if edge is None else next(remaining) for edge in targets]


def _edge(x: Any) -> Edge | None:
    return (x.node, x.output_nr) if isinstance(x, GradientEdge) else gradient_edge(x)
