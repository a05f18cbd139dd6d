"""What a profile notes while ops run: when each op, node and labelled block began and ended, what it was given and made.

The recorder of a thread stands behind the same switch as anomaly mode (`watch`), so that ops ask nothing more while no
profile is taken. `profiler.py` starts it and makes events of its notes.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from time import perf_counter_ns
from typing import Any

from ..kernels import cache
from ..kernels.array import Array
from . import watch
from .variable import CLASSES

_PACKAGE = __name__.partition(".")[0]


class Note:
    """One op, node, labelled block or kernel: times are those of `time.perf_counter_ns`."""

    __slots__ = ("category", "end", "flops", "memory", "name", "parent", "sequence", "shapes", "stack", "start")

    def __init__(self, name: str, category: str, parent: Note | None, start: int) -> None:
        self.name = name
        self.category = category  # "cpu_op", "user_annotation" or "kernel"
        self.parent = parent
        self.start = start
        self.end = start
        self.shapes: list[list[int]] = []
        self.stack: list[str] = []
        self.memory = 0  # bytes of the tensors that it made
        self.flops = 0
        self.sequence = -1  # of the node


class Recorder:
    """The notes of one profile, of the thread that started it."""

    def __init__(self, *, shapes: bool = False, memory: bool = False, stack: bool = False, flops: bool = False) -> None:
        self.notes: list[Note] = []
        self.thread = threading.get_native_id()
        self.began = perf_counter_ns()
        self.ended = self.began
        self._shapes, self._memory, self._stack, self._flops = shapes, memory, stack, flops
        self._open: Note | None = None
        self._outer: Recorder | None = None

    # ------------------------------------------------------------------------------------------ on and off
    def start(self) -> None:
        """Note what this thread does from now on."""
        self._outer, _state.recorder = _state.recorder, self
        cache.listeners.append(self._note_kernel)
        watch.enter()
        self.began = perf_counter_ns()

    def stop(self) -> None:
        """End the profile; blocks that are still open end with it."""
        self.ended = perf_counter_ns()
        watch.leave()
        cache.listeners.remove(self._note_kernel)
        _state.recorder = self._outer
        while self._open is not None:
            self.end(self._open)

    # ------------------------------------------------------------------------------------------ notes
    def begin(self, name: str, category: str) -> Note:
        """A note of something that begins now, within what is open."""
        note = self._open = Note(name, category, self._open, perf_counter_ns())
        self.notes.append(note)
        return note

    def end(self, note: Note) -> None:
        """Something has ended, and with it what began later and was left open."""
        now = perf_counter_ns()
        opened = self._open
        while opened is not None and opened is not note:
            opened = opened.parent
        if opened is None:
            return  # it ended before
        while self._open is not None:
            ending, self._open = self._open, self._open.parent
            ending.end = now
            if ending is note:
                return

    def op(self, run: Callable[..., Any], op: Any, inputs: Any, attributes: Any, out: Any) -> Any:
        """Run an op, and note it."""
        name = op.name.partition(".")[0]
        in_place = bool(inputs) and out is inputs[0]
        note = self.begin(f"aten::{name}_" if in_place and not name.endswith("_") else f"aten::{name}", "cpu_op")
        if self._shapes:
            note.shapes = [list(x._array.shape) if x.__class__ in CLASSES else [] for x in inputs]
        if self._stack:
            note.stack = _stack()
        try:
            result = run(op, inputs, attributes, out)
            if self._memory and out is None and not op.is_view:
                note.memory = _bytes(result)
            if self._flops:
                note.flops = _count_flops(name, inputs, result)
            return result
        finally:
            self.end(note)

    def node(self, apply: Callable[[Any, Any, bool], Sequence[Any]] | None, node: Any, g: Any, graph: bool) -> Any:
        """Run a node's backward (through `apply`, where that is given), and note it."""
        note = self.begin(node.name(), "cpu_op")
        note.sequence = node.sequence
        if self._shapes:
            gradients = g if isinstance(g, list | tuple) else [g]
            note.shapes = [[] if x is None else list(x.shape) for x in gradients]
        try:
            results = node.apply(g, graph) if apply is None else apply(node, g, graph)
            if self._memory:
                note.memory = _bytes([x for x in results if x is not g])
            return results
        finally:
            self.end(note)

    def _note_kernel(self, what: str, start: int, end: int) -> None:
        """A kernel was compiled, or read from disk."""
        if threading.get_native_id() == self.thread:
            note = Note(what, "kernel", self._open, start)
            note.end = end
            self.notes.append(note)


class _State(threading.local):
    recorder: Recorder | None = None


_state = _State()


def current() -> Recorder | None:
    """The recorder of this thread, while it is profiled."""
    return _state.recorder


def _bytes(results: Any) -> int:
    """The bytes of new tensors or arrays."""
    total = 0
    for x in results if isinstance(results, list | tuple) else (results,):
        array = x._array if x.__class__ in CLASSES else x
        if array.__class__ is Array:
            total += array.size * array.dtype.itemsize
    return total


def _count_flops(name: str, inputs: Any, result: Any) -> int:
    """Floating point operations of products of matrices, of `mul` and of `add`; 0 for other ops, as in PyTorch."""
    if result.__class__ not in CLASSES:
        return 0
    if name in ("add", "mul"):
        return int(result.numel())
    if name in ("matmul", "mm", "bmm", "linear", "addmm"):
        first = inputs[1] if name == "addmm" else inputs[0]
        return int(2 * result.numel() * (first.shape[-1] if first.dim() else 1))
    return 0


def _stack() -> list[str]:
    """Where the user called from: lines of files outside of this package, the innermost first."""
    found = []
    frame: Any = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        module = frame.f_globals.get("__name__") or ""
        if module.partition(".")[0] != _PACKAGE and not code.co_filename.startswith(f"<{_PACKAGE}"):
            found.append(f"{code.co_filename}({frame.f_lineno}): {code.co_name}")
        frame = frame.f_back
    return found
