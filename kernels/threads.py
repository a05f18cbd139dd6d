"""The pool that runs chunks of flat kernels on several threads.

A flat kernel releases the interpreter lock and works on whatever slices it is given, so a large one is split into as many
chunks as there are threads: no second compiled form is needed. The pool is made at first use, and anew in a forked child,
where the parent's threads do not exist.

Handing over a chunk costs some 25 us, so only arrays of `THRESHOLD` items or more are split: an addition of 2^18 float32
takes 36 us on one thread and is faster there; one of 2^19 takes 71 us, an exp of as many 150
(benchmarks/thread_thresholds.py). One threshold for all kernels is simple, and the cheap ones decide it: an exp of 2^18
loses some 10 of its 78 us.

(Numba's own `parallel=True` was tried: its OpenMP layer takes 2-4 us to start but stalls when a core is busy and kills
a forked child; its workqueue layer aborts the process when two Python threads use it.)
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from .locks import fork_safe_lock

THRESHOLD = 1 << 19

_lock = fork_safe_lock()
_pool: ThreadPoolExecutor | None = None
_threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def get_num_threads() -> int:
    """The number of threads that elementwise kernels use for large tensors. BLAS keeps its own."""
    return _threads


def set_num_threads(num: int) -> None:
    """Set the number of threads that elementwise kernels use for large tensors.

    Raises RuntimeError for less than 1, TypeError for anything but an int.
    """
    global _threads
    if isinstance(num, bool) or not isinstance(num, int):
        raise TypeError(f"set_num_threads expects an int, but got {type(num).__name__}")
    if num < 1:
        raise RuntimeError("set_num_threads expects a positive integer")
    if num != _threads:
        _threads = num
        _forget_pool()


def run(kernel: Callable[..., None], operands: Sequence[Any], size: int) -> None:
    """Call `kernel(*operands)` in chunks: 1-D arrays of `size` items are sliced, numbers are passed on."""
    count = _threads
    if count == 1:
        kernel(*operands)
        return
    step = -(-size // count)
    chunks = [
        [x[start : start + step] if x.__class__ is np.ndarray else x for x in operands]
        for start in range(0, size, step)
    ]
    pool = _get_pool()
    futures = []
    here = chunks[:1]
    for chunk in chunks[1:]:
        try:
            futures.append(pool.submit(kernel, *chunk))
        except RuntimeError:  # the pool was closed: by another thread's set_num_threads, or at the interpreter's exit
            here.append(chunk)
    for chunk in here:
        kernel(*chunk)
    for future in futures:
        future.result()


def split(kernel: Callable[[int, int], None], units: int) -> None:
    """Call `kernel(start, stop)` for parts of `range(units)`, one for each thread."""
    step = -(-units // _threads)
    starts = np.arange(0, units, step)

    def part(starts: np.ndarray) -> None:
        for start in starts.tolist():
            kernel(start, min(start + step, units))

    run(part, (starts,), len(starts))


def _get_pool() -> ThreadPoolExecutor:
    global _pool
    with _lock:
        if _pool is None:
            _pool = ThreadPoolExecutor(max(_threads - 1, 1), "numgrad")
        return _pool


def _forget_pool() -> None:
    global _pool
    with _lock:
        pool, _pool = _pool, None
    if pool is not None:
        pool.shutdown(wait=False)


def _after_fork() -> None:
    global _pool
    _pool = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
