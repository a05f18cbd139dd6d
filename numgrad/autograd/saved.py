"""Hooks on saved tensors: what is kept in the place of a tensor that a node saved, and how the tensor comes back."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from ..kernels.array import Array
from ..kernels.unbroadcast import cloned
from . import grad_mode, watch
from .variable import CLASSES, wrap

_MODIFIED = (
    "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook cannot be modified "
    "by in-place operations as this can lead to unexpected side-effects. Please open an issue if you need to perform "
    "in-place operations on the input to a pack hook."
)
_ALREADY_SET = (
    "Calling register_hooks on a saved tensor whose hooks have already been set. Hint: only one pair of hooks is allowed "
    "at a time."
)

Pack = Callable[[Any], Any]
Unpack = Callable[[Any], Any]


class _Pairs(threading.local):
    """The hooks that are in force in this thread, and why there may be none."""

    def __init__(self) -> None:
        self.stack: list[tuple[Pack, Unpack]] = []
        self.disabled: str | None = None


pairs = _Pairs()


def push_hooks(pack: Pack, unpack: Unpack) -> None:
    """Let a pair of hooks have what nodes save from now on. Raises RuntimeError where hooks are disabled."""
    if pairs.disabled is not None:
        raise RuntimeError(pairs.disabled)
    pairs.stack.append((pack, unpack))
    watch.enter()


def pop_hooks() -> None:
    """Take back the last `push_hooks`."""
    pairs.stack.pop()
    watch.leave()


class PackedArray:
    """A saved array in the keeping of a pair of hooks."""

    __slots__ = ("dtype", "flat", "packed", "shape", "unpack")

    def __init__(self, array: Array, where: Any, pack: Pack, unpack: Unpack) -> None:
        version = array.version
        with grad_mode.no_grad():
            self.packed = pack(wrap(array, where))
        if array.version != version:
            raise RuntimeError(_MODIFIED)
        self.unpack = unpack
        self.shape = array.shape
        self.dtype = array.dtype
        self.flat = array.flat is not None

    def open(self) -> Array:
        """The array again. Raises TypeError and RuntimeError when the hook gives something else."""
        found = unpacked_tensor(self.unpack, self.packed)
        array: Array = found._array
        if array.shape != self.shape or array.dtype != self.dtype:
            raise RuntimeError(
                f"the unpack hook of a saved tensor returned shape {list(array.shape)} and dtype {array.dtype.name}, but "
                f"shape {list(self.shape)} and dtype {self.dtype.name} were saved: return what the pack hook was given"
            )
        return cloned(array) if self.flat and array.flat is None else array


def unpacked_tensor(unpack: Unpack, packed: Any) -> Any:
    """What an unpack hook returns. Raises TypeError when it is no tensor."""
    found = unpack(packed)
    if found.__class__ not in CLASSES:
        raise TypeError(
            f"Output of saved tensor unpack_hook expected to be a Tensor but got result of type {type(found).__name__}"
        )
    return found


class PackedSaves:
    """All that a node saved, some of it in the keeping of hooks. `values` is a list, or a dict by name."""

    def __init__(self, saved: Any) -> None:
        self.values: Any = dict(saved) if isinstance(saved, dict) else list(saved)

    def pack(self, key: Any, where: Any, pack: Pack, unpack: Unpack) -> None:
        """Give one array to a pair of hooks."""
        value = self.values[key]
        if isinstance(value, PackedArray):
            raise RuntimeError(_ALREADY_SET)
        self.values[key] = PackedArray(value, where, pack, unpack)

    def open(self) -> Any:
        """What the node saved."""
        if isinstance(self.values, dict):
            return {key: _opened(value) for key, value in self.values.items()}
        return [_opened(value) for value in self.values]


def _opened(value: Any) -> Any:
    return value.open() if isinstance(value, PackedArray) else value


def pack_node(node: Any) -> None:
    """Give what a new node saved to the hooks that are in force."""
    if not pairs.stack or not node.saved:
        return
    pack, unpack = pairs.stack[-1]
    saved = node.saved
    keys = [k for k, v in (saved.items() if isinstance(saved, dict) else enumerate(saved)) if isinstance(v, Array)]
    for key in keys:
        pack_one(node, key, pack, unpack)


def pack_one(node: Any, key: Any, pack: Pack, unpack: Unpack) -> None:
    """Give one array that a node saved to a pair of hooks."""
    packed = node.packed or PackedSaves(node.saved)
    packed.pack(key, node.device, pack, unpack)
    node.packed, node.saved = packed, None
