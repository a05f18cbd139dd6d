"""What a node saved, as its attributes show it: `grad_fn._saved_self`, and `grad_fn._raw_saved_self` that takes hooks.

The names are PyTorch's: `self` for the first operand, `result` for what the op returned, the others as the op's
arguments are called.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

from ..kernels.array import Array
from .saved import PackedSaves, pairs

_SAVED, _RAW = "_saved_", "_raw_saved_"
_FREED_RAW = (
    "Calling register_hooks on a saved tensor after it has been freed. Saved intermediate values of the graph are freed "
    "when you call .backward() or autograd.grad(). Specify retain_graph=True if you need to backward through the graph a "
    "second time or if you need to access saved variables after calling backward."
)
NOTHING_SAVED = "Calling register_hooks on a saved tensor with value None is forbidden"


class SavedTensor:
    """One tensor that a node saved."""

    def __init__(self, register: Callable[..., None]) -> None:
        self._register = register

    def register_hooks(self, pack_hook: Callable[[Any], Any], unpack_hook: Callable[[Any], Any]) -> None:
        """Give the tensor to a pair of hooks; backward reads what `unpack_hook` makes of what `pack_hook` returned.

        Raises RuntimeError when it was freed, when nothing was saved, and when it has hooks already.
        """
        self._register(pack_hook, unpack_hook)


class SavedAttributes:
    """The attributes of a node that show what it saved."""

    __slots__ = ()

    saved: Any
    packed: Any

    def saved_names(self) -> Iterable[str]:
        """What nodes of this kind may save, under the names of the op's inputs and outputs, and its plain facts."""
        return ()

    def saved_value(self, name: str) -> Any:
        """A tensor with its place in the graph, or a number; None for what this node does not need."""
        raise NotImplementedError

    def saved_key(self, name: str) -> Any:
        """Where an array lies in `saved`; None when this node does not need it."""
        return None

    def tensor_to_pack(self, key: Any) -> Any:
        """A saved array as the tensor that a pack hook is given."""
        raise NotImplementedError

    def __dir__(self) -> list[str]:
        shown = []
        for name in self.saved_names():
            public = public_name(name)
            shown += [f"{_SAVED}{public}"] if self.is_fact(name) else [f"{_SAVED}{public}", f"{_RAW}{public}"]
        names = super().__dir__()
        return [n for n in names if not n.startswith((_SAVED, _RAW))] + [n for n in shown if n in names]

    def is_fact(self, name: str) -> bool:
        """Whether a name stands for a plain value rather than for a tensor."""
        return False

    def _register(self, name: str, pack: Callable[[Any], Any], unpack: Callable[[Any], Any]) -> None:
        if self.saved is None and self.packed is None:
            raise RuntimeError(_FREED_RAW)
        key = self.saved_key(name)
        if key is None:
            raise RuntimeError(NOTHING_SAVED)
        pack_one(self, key, pack, unpack)


def saved_properties(op: Any) -> dict[str, property]:
    """Properties for the nodes of an op: for all that they might save. (`__getattr__` would slow every attribute down.)"""
    outputs = getattr(op, "outputs", 1)
    results = ["out"] if outputs == 1 else [f"out{k}" for k in range(outputs)]
    names = [*op.inputs, *results, *op.attributes, *(f"{name}_shape" for name in op.inputs)]
    found = {}
    for name in names:
        found[f"{_SAVED}{public_name(name)}"] = property(functools.partial(_value, name=name))
        found[f"{_RAW}{public_name(name)}"] = property(functools.partial(_raw, name=name))
    return found


def _value(node: Any, name: str) -> Any:
    if name not in node.saved_names():
        raise AttributeError(f"'{type(node).__name__}' object has no attribute '{_SAVED}{public_name(name)}'")
    return node.saved_value(name)


def _raw(node: Any, name: str) -> SavedTensor:
    if name not in node.saved_names() or node.is_fact(name):
        raise AttributeError(f"'{type(node).__name__}' object has no attribute '{_RAW}{public_name(name)}'")
    return SavedTensor(lambda pack, unpack: node._register(name, pack, unpack))


def public_name(name: str) -> str:
    """PyTorch's name of what a gradient reads."""
    if name == "input":
        return "self"
    if name.endswith("_shape"):
        return f"{public_name(name.removesuffix('_shape'))}_sym_sizes"
    return {"out": "result", "out0": "result0", "out1": "indices"}.get(name, name)


def pack_one(node: Any, key: Any, pack: Callable[[Any], Any], unpack: Callable[[Any], Any]) -> None:
    """Give one array that a node saved to a pair of hooks."""
    packed = node.packed or PackedSaves(node.saved)
    packed.check_free(key)
    packed.pack(key, node.tensor_to_pack(key), pack, unpack)
    node.packed, node.saved = packed, None


def pack_node(node: Any) -> None:
    """Give what a new node saved to the hooks that are in force."""
    if not pairs.stack or not node.saved:
        return
    pack, unpack = pairs.stack[-1]
    saved = node.saved
    keys = [k for k, v in (saved.items() if isinstance(saved, dict) else enumerate(saved)) if isinstance(v, Array)]
    for key in keys:
        pack_one(node, key, pack, unpack)
