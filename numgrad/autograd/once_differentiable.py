"""`once_differentiable`: a backward of the user's own whose derivative is not known."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from . import grad_mode
from .node import Node, gradient_edge
from .variable import CLASSES, Edge, wrap

_TWICE = "trying to differentiate twice a function that was marked with @once_differentiable"


class _TwiceNode(Node):
    """Stands behind the gradients of a function that can be differentiated once, and raises.

    Its edges lead to all that these gradients may depend on, so that no pass goes round it.
    """

    __slots__ = ()

    def __init__(self, edges: Sequence[Edge | None], outputs: int, device: Any) -> None:
        super().__init__(tuple(edges), (), device, outputs)

    def name(self) -> str:
        """See `Node.name`."""
        return "torch::autograd::DelayedError"

    def apply(self, g: Any, graph: bool) -> Sequence[Any]:
        """Raises RuntimeError."""
        raise RuntimeError(_TWICE)


def once_differentiable(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a `backward` whose own derivative is not known: differentiating its result raises RuntimeError.

    Example:
        >>> import numgrad as ng
        >>> class Double(ng.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         return x * 2
        ...
        ...     @staticmethod
        ...     @ng.autograd.function.once_differentiable
        ...     def backward(ctx, g):
        ...         return g * 2
    """

    @functools.wraps(fn)
    def wrapper(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        with grad_mode.no_grad():
            outputs = fn(ctx, *args, **kwargs)
        if not grad_mode.mode.enabled or not any(a.__class__ in CLASSES and a.requires_grad for a in args):
            return outputs
        several = outputs if isinstance(outputs, tuple) else (outputs,)
        tensors = [x for x in several if x is not None]
        if not tensors:
            return outputs
        edges = [gradient_edge(a) for a in args if a.__class__ in CLASSES]
        owner = getattr(ctx, "_owner", None)  # the node, of a context that a graph holds
        if owner is not None:
            edges += owner().edges
        node = _TwiceNode(edges, len(tensors), tensors[0]._device)
        numbers = iter(range(len(tensors)))
        found = tuple(None if x is None else wrap(x._array, x._device, (node, next(numbers))) for x in several)
        return found if isinstance(outputs, tuple) else found[0]

    return wrapper
