"""`autograd.graph`: the graph as users see it, and hooks on it."""

from __future__ import annotations

import abc
import contextlib
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .edges import GradientEdge, get_gradient_edge
from .engine import current_pass
from .hooks import RemovableHandle
from .mutation import allow_mutation_on_saved_tensors
from .node import Node as _EngineNode
from .node import gradient_edge
from .saved import pairs, pop_hooks, push_hooks
from .variable import CLASSES, is_inference

__all__ = [
    "GradientEdge",
    "Node",
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
]


class Node(abc.ABC):
    """A step of the graph; every `grad_fn` is an instance, though not of a subclass."""

    @abc.abstractmethod
    def name(self) -> str:
        """The node's name, such as `MulBackward0`."""

    @property
    @abc.abstractmethod
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """For each input the node that its gradient goes to, and which of that node's outputs it was."""

    @abc.abstractmethod
    def metadata(self) -> dict[Any, Any]:
        """A dict for the user's own notes."""

    @abc.abstractmethod
    def _sequence_nr(self) -> int: ...

    @property
    @abc.abstractmethod
    def _input_metadata(self) -> list[Any]: ...

    @abc.abstractmethod
    def _register_hook_dict(self, tensor: Any) -> None: ...

    @abc.abstractmethod
    def register_hook(self, fn: Callable[..., Any]) -> RemovableHandle:
        """Call `fn(grad_inputs, grad_outputs)` after the node's formula; a tuple that it returns replaces `grad_inputs`."""

    @abc.abstractmethod
    def register_prehook(self, fn: Callable[..., Any]) -> RemovableHandle:
        """Call `fn(grad_outputs)` before the node's formula; a tuple that it returns replaces them."""

    @classmethod
    def __subclasshook__(cls, subclass: type) -> Any:
        return True if cls is Node and issubclass(subclass, _EngineNode) else NotImplemented


def increment_version(tensor: Any) -> None:
    """Count a write that autograd could not see: of a tensor or of several.

    Raises RuntimeError for inference tensors, which count none.
    """
    for t in (tensor,) if tensor.__class__ in CLASSES else tensor:
        if is_inference(t):
            raise RuntimeError("increment_version expects each element of the iterable to be a tensor")
        t._array.storage.version += 1


# ---------------------------------------------------------------------------------------------------- saved tensors
class saved_tensors_hooks:
    """A pair of hooks for all that is saved for backward inside a `with` block.

    `pack_hook(tensor)` is called when a tensor is saved; what it returns is kept instead. `unpack_hook` makes the tensor
    of it again when backward reads it.

    Example:
        >>> import numgrad as ng
        >>> x = ng.tensor([2.0], requires_grad=True)
        >>> with ng.autograd.graph.saved_tensors_hooks(lambda t: t.tolist(), ng.tensor):
        ...     y = x * x
        >>> y.backward()
        >>> x.grad
        tensor([4.])
    """

    def __init__(self, pack_hook: Callable[[Any], Any], unpack_hook: Callable[[Any], Any]) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def __enter__(self) -> None:
        push_hooks(self.pack_hook, self.unpack_hook)

    def __exit__(self, *error: object) -> None:
        pop_hooks()


class save_on_cpu(saved_tensors_hooks):
    """Keep what is saved for backward in host memory inside a `with` block; `pin_memory` is taken for PyTorch's sake."""

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        def pack(tensor: Any) -> tuple[Any, Any]:
            return tensor.device, tensor.cpu()

        def unpack(packed: tuple[Any, Any]) -> Any:
            device, tensor = packed
            return tensor.to(device)

        super().__init__(pack, unpack)


@contextlib.contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """Make `saved_tensors_hooks` raise RuntimeError with a message inside a `with` block.

    Raises RuntimeError where such hooks are in force already.
    """
    if pairs.stack:
        raise RuntimeError(error_message)
    previous, pairs.disabled = pairs.disabled, error_message
    try:
        yield
    finally:
        pairs.disabled = previous


# ---------------------------------------------------------------------------------------------------- several gradients
class _MultiHandle(RemovableHandle):
    """Removes several hooks at once."""

    def __init__(self, handles: tuple[RemovableHandle, ...]) -> None:
        self.handles = handles

    def remove(self) -> None:
        """Remove all of them."""
        for handle in self.handles:
            handle.remove()

    def __getstate__(self) -> Any:
        return self.handles

    def __setstate__(self, state: Any) -> None:
        self.handles = state


def register_multi_grad_hook(tensors: Sequence[Any], fn: Callable[..., Any], *, mode: str = "all") -> RemovableHandle:
    """Call a hook once in a backward for several tensors.

    Args:
        tensors: tensors that require gradients.
        fn: with mode 'all' called with the list of their gradients, None for those that none reaches; with mode 'any' with
            the first gradient.
        mode: 'all' or 'any'.

    Raises:
        ValueError: another mode.
    """
    modes = ("all", "any")
    if mode not in modes:
        raise ValueError(f"Expects mode to be one of {modes} but got {mode}")
    if mode == "any":
        hook = _first_of(fn)
        return _MultiHandle(tuple(t.register_hook(hook) for t in tensors if t.requires_grad))
    gathering = _Gathering(tensors, fn)
    handles = tuple(t.register_hook(functools.partial(gathering.arrived, i)) for i, t in enumerate(tensors))
    return _MultiHandle(handles)


def _first_of(fn: Callable[[Any], Any]) -> Callable[[Any], None]:
    """`fn` for the first gradient of each backward."""

    @functools.wraps(fn)
    def first(g: Any) -> None:
        notes = current_pass().notes
        if first not in notes:
            notes[first] = True
            fn(g)

    return first


class _Gathering:
    """The gradients of several tensors in a backward, handed over when all that come are there."""

    def __init__(self, tensors: Sequence[Any], fn: Callable[[list[Any]], Any]) -> None:
        self.fn = fn
        self.nodes = [_node_of(t) for t in tensors]

    def arrived(self, index: int, g: Any) -> None:
        running = current_pass()
        if self not in running.notes:
            expected = sum(running.will_execute(node) for node in self.nodes)
            running.notes[self] = [expected, [None] * len(self.nodes)]
        note = running.notes[self]
        note[1][index] = g
        note[0] -= 1
        if not note[0]:
            del running.notes[self]
            self.fn(note[1])


def _node_of(tensor: Any) -> Any:
    edge = gradient_edge(tensor)
    if edge is None:
        raise AssertionError("Expected gradient function to be set")
    return edge[0]
