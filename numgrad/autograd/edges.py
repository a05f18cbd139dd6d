"""`GradientEdge`: a place in the graph where a gradient arrives, by which tensors can be let go of."""

from __future__ import annotations

from typing import Any, NamedTuple

from .node import Node, gradient_edge


class OutputMeta(NamedTuple):
    """What the gradient that arrives at an edge looks like."""

    shape: tuple[int, ...]
    dtype: Any  # NumPy's
    device: Any


class GradientEdge(NamedTuple):
    """The gradient of output `output_nr` of a node. It keeps the node, not the tensor, alive.

    `ownership_token` is what else must be kept alive, or known, for the edge.
    """

    node: Node
    output_nr: int
    ownership_token: Any = None

    @property
    def meta(self) -> OutputMeta | None:
        """What the gradient looks like, where that is known."""
        return self.ownership_token if isinstance(self.ownership_token, OutputMeta) else None


def get_gradient_edge(tensor: Any) -> GradientEdge:
    """The place in the graph where the gradient of a tensor arrives. Raises RuntimeError when it requires none.

    Example:
        >>> import numgrad as ng
        >>> x = ng.tensor([1.0, 2.0], requires_grad=True)
        >>> y = x * 2
        >>> edge = ng.autograd.graph.get_gradient_edge(y)
        >>> ng.autograd.grad(y.sum(), edge)
        (tensor([1., 1.]),)
    """
    edge = gradient_edge(tensor)
    if edge is None:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    return GradientEdge(*edge, OutputMeta(tensor._array.shape, tensor._array.dtype, tensor._device))
