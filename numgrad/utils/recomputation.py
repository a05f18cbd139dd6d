"""How a checkpointed function's saved tensors are let go of, and come back by calling it again."""

from __future__ import annotations

import contextlib
import traceback
import weakref
from collections.abc import Callable
from typing import Any

from ..autograd.engine import pass_token
from ..autograd.grad_mode import enable_grad, no_grad
from ..autograd.graph import saved_tensors_hooks
from ..autograd.node import gradient_edge, raise_modified
from ..autograd.saved import PackedArray, pairs
from ..autograd.variable import CLASSES, wrap

_TIP = """
Tip: To see a more detailed error message, either pass `debug=True` to
`torch.utils.checkpoint.checkpoint(...)` or wrap the code block
with `with torch.utils.checkpoint.set_checkpoint_debug_enabled(True):` to
enable checkpoint\u2011debug mode globally.

If this error occurs under torch.compile with automatic_dynamic_shapes enabled,
it may be because the recomputation selected a different compiled graph than the
forward pass (e.g., a dynamic graph instead of the original static graph).
To fix this, either:
  - Use torch._dynamo.mark_dynamic() to explicitly mark varying dimensions as
    dynamic upfront, avoiding the static-to-dynamic transition.
  - Call torch._C._dynamo.eval_frame._set_lru_cache(False) to disable LRU cache
    reordering, which can change which graph is checked first between forward
    and recompute.
See https://github.com/pytorch/pytorch/issues/166926 for more details and
workaround examples.
"""
_OPENED_TWICE = (
    "torch.utils.checkpoint: Unpack is being triggered for a tensor that was already unpacked once. If you are calling "
    "ctx.saved_tensors in backward, make sure to do so only once. Otherwise please open an issue with details on your use "
    "case."
)


class CheckpointError(RuntimeError):
    """The second call of a checkpointed function saved other tensors than the first."""


class _EnoughSaved(Exception):
    """Ends the second call: all that the first one saved is there again."""


def metadata(x: Any) -> dict[str, Any]:
    """What must be the same of a tensor that is saved in both calls."""
    return {"shape": x.shape, "dtype": x.dtype, "device": x.device}


class _Slot:
    """Stands for one saved tensor. A node keeps it; when the node lets go of it, the tensor need not come back."""

    __slots__ = ("__weakref__", "values")

    def __init__(self) -> None:
        self.values: dict[Any, Any] = {}  # for each backward pass the tensor, None once it was read


class _SavedInput:
    """An argument of the function. Where saved tensors have hooks, as inside another checkpoint, they have it too."""

    def __init__(self, x: Any) -> None:
        self.value = x
        if x.__class__ not in CLASSES:
            return
        self.version = x._version
        self.packed: PackedArray | None = None
        if pairs.stack:
            self.edge = gradient_edge(x)
            self.device = x._device
            self.packed = PackedArray(x, *pairs.stack[-1])
            self.value = None

    def open(self) -> Any:
        """The argument, at its place in the graph. Raises RuntimeError when it was written in place since."""
        if self.value.__class__ in CLASSES and self.value._version != self.version:
            node = self.value.grad_fn
            raise_modified(self.value._array, self.version, None if node is None else node.name(), False)
        if self.value is None and getattr(self, "packed", None) is not None:
            return wrap(self.packed.open(), self.device, self.edge)  # type: ignore[union-attr]
        return self.value


class Frame:
    """One call of a checkpointed function: its arguments, and what its nodes saved."""

    def __init__(
        self,
        recompute: Callable[..., None],
        args: tuple[Any, ...],
        describe: Callable[[Any], Any],
        early_stop: bool,
        debug: bool,
    ) -> None:
        self.recompute = recompute
        self.arguments = [_SavedInput(x) for x in args]
        self.describe = describe
        self.early_stop = early_stop
        self.log = _Log() if debug else None
        self.slots: list[weakref.ref[_Slot]] = []
        self.described: list[Any] = []
        self.is_complete = False  # whether the first call has returned
        self.passes: dict[Any, _Recomputation] = {}

    def saving(self) -> saved_tensors_hooks:
        """The context of the first call."""
        return saved_tensors_hooks(self._pack, self._unpack)

    def _pack(self, x: Any) -> _Slot:
        slot = _Slot()
        self.slots.append(weakref.ref(slot))
        with no_grad():
            self.described.append(self.describe(x))
        if self.log is not None:
            self.log.note(self.log.first, x)
        return slot

    def _unpack(self, slot: _Slot) -> Any:
        try:
            return self._opened(slot)
        except CheckpointError as error:
            if self.log is None:
                raise
            raise CheckpointError(self.log.text()) from error

    def _opened(self, slot: _Slot) -> Any:
        key = pass_token() or object()  # outside of a backward pass each reading is one of its own
        if key not in self.passes:
            self._compute_again(key)
        if key not in slot.values:
            raise CheckpointError("torch.utils.checkpoint: a tensor was not saved again")
        value = slot.values[key]
        if value is None:
            raise CheckpointError(_OPENED_TWICE)
        slot.values[key] = None
        return value

    def _compute_again(self, key: Any) -> None:
        run = _Recomputation(self, key)
        with contextlib.suppress(_EnoughSaved), run.saving(), enable_grad():
            self.recompute(*[x.open() for x in self.arguments])
        run.check()
        self.passes[key] = run


class _Recomputation:
    """One second call, for one backward pass."""

    def __init__(self, frame: Frame, key: Any) -> None:
        self.frame = weakref.ref(frame)
        self.key = key
        self.count = 0
        self.described: list[Any] = []
        self.is_partial = False  # the first call had not returned, so that more is saved now

    def saving(self) -> saved_tensors_hooks:
        """The context of the second call."""
        return saved_tensors_hooks(self._pack, lambda x: x)

    def _pack(self, x: Any) -> Any:
        frame = self.frame()
        assert frame is not None
        x = x.detach() if x.requires_grad else x
        if frame.log is not None:
            frame.log.note(frame.log.again, x)
        number, self.count = self.count, self.count + 1
        if number >= len(frame.slots):
            if frame.is_complete:
                raise CheckpointError(
                    "torch.utils.checkpoint: trying to save more tensors during recomputation than during the original "
                    f"forward pass.\n{_TIP}"
                )
            self.is_partial = True
            return x
        self.described.append(frame.describe(x))
        slot = frame.slots[number]()
        if slot is not None:
            slot.values[self.key] = x
        if frame.early_stop and self.count == len(frame.slots):
            raise _EnoughSaved
        return x

    def check(self) -> None:
        """Raise CheckpointError, with PyTorch's texts, when the second call saved other tensors than the first."""
        frame = self.frame()
        assert frame is not None
        if self.is_partial:
            return
        if self.count != len(frame.slots):
            raise CheckpointError(
                "torch.utils.checkpoint: A different number of tensors was saved during the original forward and "
                f"recomputation.\nNumber of tensors saved during forward: {len(frame.slots)}\nNumber of tensors saved "
                f"during recomputation: {self.count}.\n{_TIP}"
            )
        different = "".join(
            f"tensor at position {i}:\nsaved metadata: {before}\nrecomputed metadata: {after}\n"
            for i, (before, after, slot) in enumerate(zip(frame.described, self.described, frame.slots, strict=True))
            if before != after and slot() is not None
        )
        if different:
            raise CheckpointError(
                "torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than during "
                f"the forward pass.\n{different}.\n{_TIP}"
            )


class _Log:
    """What both calls saved, and on which lines of the user's code: for `debug=True`."""

    def __init__(self) -> None:
        self.first: list[str] = []
        self.again: list[str] = []

    def note(self, log: list[str], x: Any) -> None:
        """Note a tensor that is being saved."""
        stack = [frame for frame in traceback.extract_stack() if "/numgrad/" not in frame.filename]
        lines = "".join(f"{frame.filename}:{frame.lineno}:{frame.name}\n" for frame in reversed(stack[-8:]))
        log.append(f"{x.dtype}{list(x.shape)}\n{lines}")

    def text(self) -> str:
        """The text of the error."""
        parts = []
        for title, label, log in (
            ("the original forward", "original", self.first),
            ("recomputation", "recompute", self.again),
        ):
            parts.append(f"Tensors saved during {title}:\n")
            parts += [f"({i} of {len(log)} in {label}) {entry}" for i, entry in enumerate(log, 1)]
        listed = "\n".join(parts)
        return (
            " An error happened while unpacking tensors; dumping logs of latest computation\nbecause you passed "
            f"`debug=True` to `torch.utils.checkpoint.checkpoint()`.\n\n{listed}\n ERROR: Detected non-determinism while "
            "running activation checkpointing\n\n Compare the tensors saved in both calls to see where they differ."
        )
