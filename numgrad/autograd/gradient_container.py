"""`Gradients`: what one backward gave each leaf, in a container of its own. Nothing adds up, and no `.grad` is touched."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from .differentiate import check_inputs, input_edges, make_gradients, root_edges
from .engine import run_backward
from .variable import CLASSES


class Gradients:
    """The gradients of one backward pass, by leaf.

    `g[x]`, `g.get(x)`, `g.pop(x)`, `g.replace(x, t)`, `x in g`, `len(g)`; iteration gives `(leaf, gradient)`. Leaves are
    told apart by identity, never by their values.

    Example:
        >>> import numgrad as ng
        >>> w = ng.tensor([3.0], requires_grad=True)
        >>> g = ng.autograd.gradients((w * w).sum())
        >>> g[w]
        tensor([6.])
        >>> w.grad is None
        True
    """

    __slots__ = ("_entries",)

    def __init__(self, pairs: Sequence[tuple[Any, Any]]) -> None:
        self._entries = {self._key(leaf): (leaf, g) for leaf, g in pairs}

    def get(self, x: Any, default: Any = None) -> Any:
        """The gradient of `x`, or `default`."""
        entry = self._entries.get(self._key(x))
        return default if entry is None else entry[1]

    def pop(self, x: Any, *default: Any) -> Any:
        """Remove the gradient of `x` and return it. Raises KeyError when there is none and no default."""
        entry = self._entries.pop(self._key(x), None)
        if entry is not None:
            return entry[1]
        if not default:
            raise self._missing(x)
        return default[0]

    def replace(self, x: Any, gradient: Any) -> None:
        """Set the gradient of `x`. Raises RuntimeError for another shape."""
        given, own = self._shape(gradient), self._shape(x)
        if given != own:
            raise RuntimeError(f"Gradients.replace(): the gradient has shape {given}, its tensor {own}")
        self._entries[self._key(x)] = (x, gradient)

    def __getitem__(self, x: Any) -> Any:
        entry = self._entries.get(self._key(x))
        if entry is None:
            raise self._missing(x)
        return entry[1]

    def __contains__(self, x: Any) -> bool:
        return self._key(x) in self._entries

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        return iter(list(self._entries.values()))

    def __repr__(self) -> str:
        return f"Gradients({', '.join(str(list(self._shape(leaf))) for leaf, _ in self)})"

    def _key(self, x: Any) -> int:
        """What stands for `x` in the container. Raises TypeError for something that has no gradients."""
        if x.__class__ not in CLASSES:
            raise TypeError(f"gradients are found by the tensor they belong to, not by {type(x).__name__}")
        return id(x)

    def _shape(self, x: Any) -> tuple[int, ...]:
        return tuple(x.shape)

    def _missing(self, x: Any) -> KeyError:
        return KeyError(
            f"no gradient for this {type(x).__name__} of shape {list(self._shape(x))}: the outputs do not depend on it, "
            "it is no leaf, or it was taken out"
        )


def gradients(
    loss: Any,
    *,
    gradient: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Any = None,
) -> Gradients:
    """The gradients of `loss` for the leaves it depends on, in a container. No `.grad` is touched.

    Args:
        loss: the tensor to differentiate.
        gradient: its gradient; None for a tensor of one item means 1.
        retain_graph: keep saved tensors for another backward; defaults to `create_graph`.
        create_graph: record the backward, for higher derivatives.
        inputs: tensors, leaves or results; if given, only their gradients are computed.

    Raises:
        RuntimeError: as `autograd.grad`.
    """
    roots = (loss,)
    edges = root_edges(roots)
    starts = make_gradients(roots, (gradient,))
    keep = create_graph if retain_graph is None else bool(retain_graph)
    wanted = None
    if inputs is not None:
        wanted = (inputs,) if inputs.__class__ in CLASSES else tuple(inputs)
        check_inputs(wanted)
    targets = None if wanted is None else input_edges(wanted)
    found = run_backward(
        edges, starts, keep_graph=keep, create_graph=bool(create_graph), inputs=targets, accumulate_grad=False
    )
    if wanted is None:
        return Gradients(found)
    return Gradients([(x, g) for x, g in zip(wanted, found, strict=True) if g is not None])
