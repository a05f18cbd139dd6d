"""Hooks on gradients: where nodes keep them, how what they return is checked, and the handles that remove them again."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, ClassVar

from ..dtype import FROM_NUMPY
from .variable import CLASSES

__all__ = ["Hooks", "RemovableHandle", "unserializable_hook"]

HookTable = OrderedDict[int, Callable[..., Any]]


class RemovableHandle:
    """Removes one hook: `handle.remove()`, or at the end of `with module.register_forward_hook(hook):`.

    The handle refers weakly to the table of hooks, so keeping it does not keep the module. `extra_dict` is a table of
    options with the same keys, or a list of them, cleared together with the hook.
    """

    next_id: ClassVar[int] = 0

    def __init__(self, hooks_dict: Any, *, extra_dict: Any = None) -> None:
        self.id = RemovableHandle.next_id
        RemovableHandle.next_id += 1
        extra = [] if extra_dict is None else extra_dict if isinstance(extra_dict, list) else [extra_dict]
        self._tables = [weakref.ref(table) for table in (hooks_dict, *extra)]

    def remove(self) -> None:
        """Remove the hook; removing it twice does nothing."""
        for reference in self._tables:
            table = reference()
            if table is not None:
                table.pop(self.id, None)

    def __getstate__(self) -> tuple[int, list[Any]]:
        return self.id, [reference() for reference in self._tables]

    def __setstate__(self, state: tuple[int, list[Any]]) -> None:
        self.id, tables = state
        # A table that is gone had nothing to remove any more.
        self._tables = [weakref.ref(OrderedDict() if table is None else table) for table in tables]
        RemovableHandle.next_id = max(RemovableHandle.next_id, self.id + 1)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *error: object) -> None:
        self.remove()


def unserializable_hook(f: Any) -> Any:
    """Mark a hook as one that a pickle may leave out without a warning."""
    f.__torch_unserializable__ = True
    return f


def add_hook(table: HookTable, hook: Callable[..., Any]) -> RemovableHandle:
    """Put a hook at the end of a table. Raises TypeError for what cannot be called."""
    if not callable(hook):
        raise TypeError(f"a hook must be callable, got {type(hook).__name__}")
    handle = RemovableHandle(table)
    table[handle.id] = hook
    return handle


class Hooks:
    """Hooks of a node.

    Attributes:
        tensor: the user's hooks on the gradient of an output, by the output's number.
        retaining: tensors that keep their gradient, by the output's number.
        before: hooks on the gradients of all outputs, before the node's formula (`register_prehook`).
        after: hooks on the gradients of its inputs, after the formula (`register_hook`).
        accumulated: hooks on a leaf, after its `.grad` was written.
    """

    __slots__ = ("accumulated", "after", "before", "retaining", "tensor")

    def __init__(self) -> None:
        self.tensor: dict[int, HookTable] = {}
        self.retaining: dict[int, weakref.ref[Any]] = {}
        self.before: HookTable = OrderedDict()
        self.after: HookTable = OrderedDict()
        self.accumulated: HookTable = OrderedDict()


def run_tensor_hooks(hooks: HookTable, g: Any) -> Any:
    """The gradient after each hook has seen, and perhaps replaced, it."""
    for hook in list(hooks.values()):
        result = hook(g)
        if result is not None:
            _check_replacement(hook, result, g)
            g = result
    return g


def run_node_hooks(hooks: HookTable, gradients: tuple[Any, ...], *others: Any) -> tuple[Any, ...]:
    """A node's gradients after each hook, called with them and `others`, has seen and perhaps replaced them."""
    for hook in list(hooks.values()):
        result = hook(gradients, *others)
        if result is None:
            continue
        if not isinstance(result, tuple):
            raise TypeError(f"expected tuple, but hook returned '{type(result).__name__}'")
        if len(result) != len(gradients):
            raise RuntimeError(
                f"hook '{_name(hook)}' has returned an incorrect number of values (got {len(result)}, but expected "
                f"{len(gradients)})"
            )
        for given, g in zip(result, gradients, strict=True):
            if given is not None:
                _check_replacement(hook, given, g)
        gradients = result
    return gradients


def run_accumulated_hooks(hooks: HookTable, leaf: Any) -> None:
    """Tell a leaf's hooks that its `.grad` was written. Raises TypeError, as PyTorch, for one that returns a number."""
    for hook in list(hooks.values()):
        result = hook(leaf)
        if result is not None and result.__class__ not in CLASSES:
            raise TypeError(f"expected Variable, but hook returned '{type(result).__name__}'")


def _name(hook: Any) -> str:
    return str(getattr(hook, "__name__", type(hook).__name__))


def _check_replacement(hook: Any, result: Any, tensor: Any) -> None:
    """Raise, with PyTorch's texts, when what a hook returned cannot stand for the gradient it was given."""
    if tensor is None:
        raise RuntimeError("can't replace a None gradient with a non-None value")
    if result.__class__ not in CLASSES:
        raise TypeError(f"expected Variable, but hook returned '{type(result).__name__}'")
    given, returned = tensor._array, result._array
    if returned.dtype is not given.dtype:
        types = [f"torch.{FROM_NUMPY[a.dtype].tensor_name}" for a in (given, returned)]
        raise RuntimeError(f"hook '{_name(hook)}' has changed the type of value (was {types[0]} got {types[1]})")
    if returned.shape != given.shape:
        raise RuntimeError(f"hook '{_name(hook)}' has changed the size of value")
