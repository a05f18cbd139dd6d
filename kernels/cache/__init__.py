"""Compiled kernels, kept on disk: `compiled(text, name, signature)` is the one way from source text to machine code.

An entry is named by the hash of the kernel's own text and signature, so a change of a helper, a constant, a dtype or an
order of derivative is another entry, and stale code cannot come back. What else decides the machine code (the sources
of this package, the versions of Python, Numba and llvmlite, the CPU, Numba's settings) names the directory: `place.py`.
Where there is none to read or to write, kernels are compiled anew in each process, with one warning.

`python -m numgrad.kernels.cache` shows what is there, clears it, and compiles ahead of need.

(Numba's own disk cache was used first. It needs a source file for each kernel, which can be damaged as well, and an index
beside the data; it takes a file with the code of another kernel for the right one; and it reads nothing from a directory
that cannot be written.)
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import linecache
import logging  # noqa: F401  # Numba's compiler logs. Its hook for forks must stand before ours, to take its lock after ours
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from time import perf_counter_ns
from types import FrameType, ModuleType
from typing import Any, NamedTuple

from . import entries, place

__all__ = ["compiled", "load_module", "machine_code"]

listeners: list[
    Callable[[str, int, int], None]
] = []  # told of kernels: what was done, and when it began and ended (ns)

_compiled: dict[str, Callable[..., Any]] = {}
_machine_code: dict[Callable[..., Any], MachineCode] = {}
_warned: set[str] = set()
_serial = itertools.count()


class MachineCode(NamedTuple):
    """A compiled function as other machine code calls it, by Numba's convention."""

    library: Any  # Numba's, which holds it
    name: str
    signature: Any

    @property
    def address(self) -> int:
        """Where it is in memory."""
        return self.library.get_pointer_to_function(self.name)


def compiled(
    text: str, name: str, signature: tuple[Any, ...], bound: Mapping[str, Any] | None = None
) -> Callable[..., Any]:
    """The function `name` of a module with this source text, compiled for one signature: its C entry point.

    It is read from disk where an earlier process has left it. A damaged entry is compiled again and replaced.

    Args:
        text: a whole module, in which `name` is what Numba's `njit` makes of a function, without `cache=True`.
        name: the function.
        signature: Numba types of the arguments.
        bound: given if the text leaves names open: what they stand for. Then it is compiled for this process alone.

    Raises:
        numba.core.errors.NumbaError: what the compiler has to say about the text.
    """
    if bound is not None:
        with _interrupts_deferred(), _compiler_lock():
            start = perf_counter_ns()
            entry_point = _entry_point(getattr(load_module(text, bound), name), signature)
            _tell("compile", text, start)
            return entry_point
    key = hashlib.sha256(f"{text}\0{name}\0{signature}".encode()).hexdigest()[:32]
    with _interrupts_deferred(), _compiler_lock():
        found = _compiled.get(key)
        if found is None:
            found = _compiled[key] = _read_or_compile(key, text, name, signature)
    return found


def machine_code(entry_point: Callable[..., Any]) -> MachineCode | None:
    """The machine code behind a function that `compiled` gave; None if it is plain Python (NUMBA_DISABLE_JIT)."""
    return _machine_code.get(entry_point)


def _entry_point(dispatcher: Any, signature: tuple[Any, ...]) -> Callable[..., Any]:
    if not hasattr(dispatcher, "compile"):
        return dispatcher  # NUMBA_DISABLE_JIT: plain Python, to step through
    dispatcher.compile(signature)
    return _noted(dispatcher.overloads[signature])


def _noted(result: Any) -> Callable[..., Any]:
    """The entry point of a `CompileResult`, whose machine code can be found from it from now on."""
    _machine_code[result.entry_point] = MachineCode(result.library, result.fndesc.llvm_func_name, result.signature)
    return result.entry_point


def load_module(text: str, bound: Mapping[str, Any] | None = None) -> ModuleType:
    """The module with this source text, run once. Debuggers and tracebacks find its text.

    Where `bound` gives what names that the text leaves open stand for, every call makes a module of its own.
    """
    if bound is not None:
        return _run(_module_name(f"bound_{next(_serial)}"), text, bound)
    name = _module_name(hashlib.sha256(text.encode()).hexdigest()[:32])
    # A module is in sys.modules before its text has run: another thread must not see it half made.
    with _compiler_lock():
        return sys.modules.get(name) or _run(name, text)


def _module_name(key: str) -> str:
    return f"_numgrad_kernel_{key}"  # never the same for two kernels: Numba makes the symbols of machine code from it


def _run(name: str, text: str, bound: Mapping[str, Any] | None = None) -> ModuleType:
    file = f"<{name}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    module = sys.modules[name] = ModuleType(name)
    vars(module).update(bound or {})
    try:
        exec(compile(text, file, "exec"), module.__dict__)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _read_or_compile(key: str, text: str, name: str, signature: tuple[Any, ...]) -> Callable[..., Any]:
    from numba import config

    module = _module_name(key)
    if config.DISABLE_JIT:  # type: ignore[attr-defined]  # set when Numba reads its environment
        return getattr(_run(module, text), name)  # plain Python, to step through
    directory = place.directory()
    damage: Exception | None = None
    if directory is not None:
        start = perf_counter_ns()
        sys.modules[module] = ModuleType(module)  # machine code that is read back looks up the module that it came from
        try:
            found = entries.read(directory, key)
        except entries.DamagedEntry as error:
            found, damage = None, error
        if found is not None:
            _tell("load", text, start)
            return _noted(found)
    start = perf_counter_ns()
    dispatcher = getattr(_run(module, text), name)
    dispatcher.compile(signature)
    _tell("compile", text, start)
    result = dispatcher.overloads[signature]
    if directory is not None:
        _write(directory, key, result)
    if damage is not None:
        _warn_once(
            "damage", f"a damaged entry of the kernel cache was compiled again ({damage}); so are others, if any"
        )
    return _noted(result)


def _tell(done: str, text: str, start: int) -> None:
    """Tell the listeners of a kernel, by the title that its text begins with."""
    if listeners:
        title = text.partition("\n")[0].strip("\"'.").removeprefix("Generated by numgrad: ")
        for listener in listeners:
            listener(f"{done} {title}", start, perf_counter_ns())


def _write(directory: Path, key: str, result: Any) -> None:
    try:
        try:
            entries.write(directory, key, result)
        except FileNotFoundError:  # the directory was deleted while this process ran
            entries.write(place.opened(directory), key, result)
    except OSError as error:
        _warn_once(
            "write",
            f"compiled kernels cannot be kept on disk, so the next process compiles them again ({error}); "
            "set NUMGRAD_CACHE_DIR to a writable directory of your own",
        )


def _warn_once(about: str, text: str) -> None:
    if about not in _warned:
        _warned.add(about)
        warnings.warn(f"numgrad: {text}", RuntimeWarning, stacklevel=2)


@contextlib.contextmanager
def _interrupts_deferred() -> Iterator[None]:
    """Let Ctrl-C wait for the end of a compilation.

    Within it, an interrupt is swallowed where LLVM calls back into Python (1 in 30 of those sent at random times), which
    leaves a kernel that cannot be kept.
    """
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return
    received: list[tuple[int, FrameType | None]] = []
    signal.signal(signal.SIGINT, lambda number, frame: received.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if received:
            handler(*received[-1])


def _compiler_lock() -> Any:
    """Numba's lock around its compiler, re-entrant."""
    from numba.core.compiler_lock import global_compiler_lock

    return global_compiler_lock


_held_for_fork: list[Any] = []


def _before_fork() -> None:
    """Wait until no other thread imports Numba or compiles: in the child it would never come to its end."""
    if "numba" in sys.modules:
        import numba  # noqa: F401

        lock = _compiler_lock()
        lock.acquire()
        _held_for_fork.append(lock)


def _after_fork() -> None:
    while _held_for_fork:
        _held_for_fork.pop().release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)
