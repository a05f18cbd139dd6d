"""What a node saved, as its attributes show it: `grad_fn._saved_self`, and `grad_fn._raw_saved_self` that takes hooks.

The names are PyTorch's: `self` for the first operand, `result` for what the op returned, the others as the op's
arguments are called.
"""

from __future__ import annotations

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

    def _attributes(self) -> dict[str, str]:
        return {public_name(name): name for name in self.saved_names()}

    def __getattr__(self, name: str) -> Any:
        if name.startswith(_SAVED) and name.removeprefix(_SAVED) in (attributes := self._attributes()):
            return self.saved_value(attributes[name.removeprefix(_SAVED)])
        if name.startswith(_RAW) and name.removeprefix(_RAW) in (attributes := self._attributes()):
            own = attributes[name.removeprefix(_RAW)]
            return SavedTensor(lambda pack, unpack: self._register(own, pack, unpack))
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __dir__(self) -> list[str]:
        names = []
        for public, own in self._attributes().items():
            names += [f"{_SAVED}{public}"] if self.is_fact(own) else [f"{_SAVED}{public}", f"{_RAW}{public}"]
        return [*super().__dir__(), *names]

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
