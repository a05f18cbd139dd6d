"""Matrix products by BLAS, through NumPy.

OpenBLAS starts its threads for products from about 64x64x64 on. At that size a second thread gains 3 %, and when another
process holds the core it costs tenfold (a training step of 0.5 ms took 9 ms on average, 72 at worst): OpenBLAS's threads
wait for each other by spinning. So products of moderate size run on one thread, and only large ones on several.

A fork while another Python thread is within a product on several threads hangs parent or child (OpenBLAS stops its
threads at a fork, but not those at work; NumPy alone hangs as well). So a fork waits until such products are done.
"""

from __future__ import annotations

import ctypes
import functools
import os
import threading
from pathlib import Path
from typing import Any

import numpy as np

from .locks import fork_safe_lock

ALWAYS_SINGLE = 1 << 18  # multiply-adds below which OpenBLAS itself uses one thread
WORTH_THREADS = 1 << 22  # a product of 160x160x160: 0.1 ms on one thread

_lock = fork_safe_lock()
_changed = threading.Condition(_lock)
_limited = 0  # products on one thread that are running, in all Python threads
_previous = 0  # not known yet
_running: list[int] = []  # the Python threads that are within a product on several threads
_forks = 0  # forks that wait for these to end, or are under way


# Infinities and NaNs are results like others. NumPy would warn of them, and asking it not to costs 0.6 us a product.
_quiet = np.errstate(invalid="ignore", over="ignore")
_dot, _matmul, vdot = _quiet(np.dot), _quiet(np.matmul), _quiet(np.vdot)
vector_dot = _dot  # of a vector with a vector, or of a matrix with one


def dot(a: np.ndarray, b: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """Product of two matrices, written to `out` where that is given: C-contiguous, of the product's shape and dtype."""
    work = a.size * b.shape[-1]
    if work <= ALWAYS_SINGLE:
        return _dot(a, b, out)
    return (_on_one_thread if work < WORTH_THREADS else _on_several_threads)(_dot, a, b, out)


def matmul(a: np.ndarray, b: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """Products of the matrices of two batches, written to `out` where that is given."""
    work = a.shape[-2] * a.shape[-1] * b.shape[-1]
    if work <= ALWAYS_SINGLE:
        return _matmul(a, b, out)
    return (_on_one_thread if work < WORTH_THREADS else _on_several_threads)(_matmul, a, b, out)


def _on_several_threads(product: Any, *operands: Any) -> np.ndarray:
    me = threading.get_ident()
    try:
        with _lock:
            while _forks:
                _changed.wait()
            _running.append(me)
        return product(*operands)
    finally:
        with _lock:
            if me in _running:  # not when an interrupt came first
                _running.remove(me)
            _changed.notify_all()


def _on_one_thread(product: Any, *operands: Any) -> np.ndarray:
    global _limited, _previous
    control = _thread_control()
    if control is None:
        return product(*operands)
    get_threads, set_threads = control
    entered = False
    try:  # an interrupt may come between any two lines: the count is taken back by whoever took it
        with _lock:  # the number is the process's: the first in notes it, the last out restores it
            entered = True
            _limited += 1
            if _limited == 1:
                _previous = get_threads()
                set_threads(1)
        return product(*operands)
    finally:
        if entered:
            with _lock:
                _limited -= 1
                if not _limited and _previous:
                    set_threads(_previous)


@functools.cache
def _thread_control() -> tuple[Any, Any] | None:
    """OpenBLAS's getter and setter of its number of threads, where NumPy brings its own OpenBLAS; else None."""
    for path in Path(np.__file__).parent.parent.glob("numpy.libs/*openblas*"):
        library = ctypes.CDLL(str(path))
        for name in ("scipy_openblas_{}_num_threads64_", "scipy_openblas_{}_num_threads", "openblas_{}_num_threads64_"):
            get_threads = getattr(library, name.format("get"), None)
            set_threads = getattr(library, name.format("set"), None)
            if get_threads is not None and set_threads is not None:
                set_threads.argtypes = [ctypes.c_int]
                return get_threads, set_threads
    return None


def _before_fork() -> None:
    global _forks
    _lock.acquire()
    _forks += 1
    me = threading.get_ident()
    while any(thread != me for thread in _running):  # its own: a signal handler may fork right after a product
        _changed.wait()


def _after_fork_in_parent() -> None:
    global _forks
    _forks -= 1
    _changed.notify_all()
    _lock.release()


def _after_fork_in_child() -> None:
    global _forks, _limited
    _forks = 0
    _running.clear()
    if _limited:  # forked while a product ran in another thread: that thread is not here to restore the number
        _limited = 0
        control = _thread_control()
        if control is not None:
            control[1](_previous)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)
