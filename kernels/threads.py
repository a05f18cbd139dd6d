"""The pool that runs chunks of kernels on several threads.

A kernel releases the interpreter lock and works on whatever slices it is given, so a large one is split into chunks: no
second compiled form is needed. The chunks of a job lie in the open, and the calling thread takes one after another as
the workers do; so a worker that wakes late, because another process has its core, costs nothing but its help.

A worker that has just finished polls for the next job for some 50 us before it sleeps (`waiting`), and the caller polls for
the last chunk: handing over takes 5-10 us instead of 30. Two threads add 2^20 float32 in 0.55 of the time of one.

On Linux workers keep off the CPU that the caller is on. The scheduler wakes a thread where its waker runs, even with
the other core idle, and the two would take turns: exp of 2^20 float32 every 3 ms took 350 us, one thread 290, now 220.

(Numba's own `parallel=True` was tried: its OpenMP layer takes 2-4 us to start but stalls when a core is busy and kills
a forked child; its workqueue layer aborts the process when two Python threads use it. So was `ThreadPoolExecutor`,
which needs 30 us to hand over.)
"""

from __future__ import annotations

import ctypes
import itertools
import os
import sys
import threading
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from time import perf_counter, thread_time
from typing import Any

import numpy as np

from . import waiting
from .locks import fork_safe_lock

THRESHOLD = 1 << 17
STALL = 2e-4  # seconds
LONGEST_CHUNK = (
    1 << 19
)  # beyond, chunks are smaller than a thread's share, so that threads of unequal speed end together

_lock = fork_safe_lock()
_pool: _Pool | None = None
_threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def get_num_threads() -> int:
    """The number of threads that kernels use for large tensors. BLAS keeps its own."""
    return _threads


def set_num_threads(num: int) -> None:
    """Set the number of threads that kernels use for large tensors.

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
    share = -(-size // count)
    step = max(min(share, LONGEST_CHUNK), -(-share // 4))

    def chunk(index: int) -> None:
        start = index * step
        stop = start + step
        kernel(*[x[start:stop] if x.__class__ is np.ndarray else x for x in operands])

    run_parts(chunk, -(-size // step))


def run_chunks(kernel: Callable[..., None], chunks: Sequence[Sequence[Any]]) -> None:
    """Call `kernel(*chunk)` for each chunk of operands."""
    run_parts(lambda index: kernel(*chunks[index]), len(chunks))


def split(kernel: Callable[[int, int], None], units: int) -> None:
    """Call `kernel(start, stop)` for parts of `range(units)`, one for each thread."""
    step = -(-units // _threads)
    run_parts(lambda index: kernel(index * step, min((index + 1) * step, units)), -(-units // step))


def run_parts(part: Callable[[int], None], count: int) -> None:
    """Call `part(0)` ... `part(count - 1)`, in any order, on several threads. Each should take 20 us or more.

    The calls must not depend on each other. They may raise: the others still run, then one of the exceptions is raised.
    """
    if _threads == 1 or count == 1:
        for index in range(count):
            part(index)
        return
    pool = _get_pool()
    job = _Job(part, count)
    if pool.skipped:
        pool.skipped -= 1
        job.help()
    else:
        wall, busy = perf_counter(), thread_time()
        pool.offer(job)
        job.help()
        job.wait()
        pool.learn(perf_counter() - wall, thread_time() - busy)
    job.raise_error()


class _Job:
    """Calls `part(index)` that threads take one after another."""

    __slots__ = ("count", "error", "indices", "is_finished", "next_finished", "part", "rest")

    def __init__(self, part: Callable[[int], None], count: int) -> None:
        self.part = part
        self.count = count
        # Advancing either is one step for the interpreter, so threads may share them.
        self.indices = iter(range(count))
        self.next_finished = itertools.count(1).__next__
        self.is_finished = waiting.cell()
        self.rest = threading.Lock()  # released when all parts are done
        self.rest.acquire()
        self.error: BaseException | None = None

    def help(self) -> None:
        """Do parts until there are none left to take."""
        for index in self.indices:
            try:
                self.part(index)
            except BaseException as error:
                self.error = error
            if self.next_finished() == self.count:
                self.is_finished[0] = 1
                self.rest.release()

    def wait(self) -> None:
        """Return when all parts are done, those that others took, too.

        A KeyboardInterrupt may end this early. What is running still holds the arrays that it writes.
        """
        if not self.is_finished[0]:
            waiting.wait_for_change(self.is_finished, 0)
            self.rest.acquire()

    def raise_error(self) -> None:
        """Raise what a part raised."""
        if self.error is not None:
            raise self.error


class _Pool:
    """Threads that wait for jobs. They are daemons: a process does not wait for them at its end."""

    def __init__(self, workers: int) -> None:
        self.jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self.offered = waiting.cell()  # number of jobs so far
        self.workers: list[threading.Thread] = []
        self.avoided_cpu = -1
        self.skipped = 0  # jobs that nobody is woken for, after one that stalled
        self.last_skips = 0
        for number in range(workers):
            worker = threading.Thread(target=self._work, name=f"numgrad-{number + 1}", daemon=True)
            try:
                worker.start()
            except RuntimeError:  # the interpreter is shutting down, or the system has no more threads
                break
            self.workers.append(worker)

    def offer(self, job: _Job) -> None:
        """Wake workers for a job; it is not lost if they do not come: its owner does it alone."""
        if _current_cpu is not None and (cpu := _current_cpu()) != self.avoided_cpu:
            self._keep_off(cpu)
        for _ in range(min(len(self.workers), job.count - 1)):
            self.jobs.put(job)
        self.offered[0] += 1

    def learn(self, wall: float, busy: float) -> None:
        """Note how many seconds a job took, and for how many of them its owner had a core.

        It has one for half of the time at least, unless other processes want the cores: then a worker may lose its own in
        the middle of a part, or worse, of a step for which it holds the interpreter lock, and all wait for some
        milliseconds. Help does harm then, so the next 4, 8, ... 64 jobs go without.
        """
        if wall > 2 * busy + STALL:
            self.last_skips = self.skipped = min(max(2 * self.last_skips, 4), 64)
        else:
            self.last_skips //= 2

    def close(self) -> None:
        """Let the workers end, after what was offered before."""
        for _ in self.workers:
            self.jobs.put(None)
        self.offered[0] += 1

    def _work(self) -> None:
        while True:
            offered = int(self.offered[0])
            if self.jobs.empty():
                waiting.wait_for_change(self.offered, offered)
            job = self.jobs.get()
            if job is None:
                return
            job.help()
            del job  # and with it the arrays

    def _keep_off(self, cpu: int) -> None:
        self.avoided_cpu = cpu
        others = os.sched_getaffinity(0) - {cpu}
        if not others:
            return
        for worker in self.workers:
            try:
                os.sched_setaffinity(worker.native_id or 0, others)
            except OSError:  # a sandbox may forbid it
                return


def _find_current_cpu() -> Callable[[], int] | None:
    """The C library's `sched_getcpu`, where workers can be kept off a CPU."""
    if sys.platform != "linux":
        return None
    try:
        return ctypes.PyDLL(None).sched_getcpu  # 0.1 us; CDLL would let go of the interpreter lock
    except (AttributeError, OSError):
        return None


_current_cpu = _find_current_cpu()


def _get_pool() -> _Pool:
    global _pool
    pool = _pool
    if pool is None:
        with _lock:
            if _pool is None:
                _pool = _Pool(_threads - 1)
            pool = _pool
    return pool


def _forget_pool() -> None:
    global _pool
    with _lock:
        pool, _pool = _pool, None
    if pool is not None:
        pool.close()


def _after_fork() -> None:
    global _pool
    _pool = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
