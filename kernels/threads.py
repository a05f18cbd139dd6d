"""The pool that runs chunks of kernels on several threads.

A kernel releases the interpreter lock and works on whatever slices it is given, so a large one is split into chunks: no
second compiled form is needed. The chunks of a call lie in the open: the caller takes one after another, and so do the
workers. So a call ends whatever becomes of the workers (another process has their core, too few could be started, all
are busy with other calls, the interpreter is shutting down), also one made within a worker. The pool is made at first
use, and anew in a forked child, where the parent's threads do not exist.

A worker that has just finished polls for the next call for some 50 us before it sleeps (`waiting`), and the caller polls for
the last chunk: handing over takes 5-10 us instead of 30. On Linux workers keep off the CPU that the caller is on: the
scheduler wakes a thread where its waker runs, even with the other core idle, and the two would take turns. (exp of 2^20
float32 every 0.3 ms: one thread 290 us, `ThreadPoolExecutor` with two 330, this pool 190.)

(Numba's own `parallel=True` was tried: its OpenMP layer takes 2-4 us to start but stalls when a core is busy and kills
a forked child; its workqueue layer aborts the process when two Python threads use it. `concurrent.futures` takes longer
to hand over a chunk, and when it cannot start a thread it raises after it has queued the chunk, which may run later
nevertheless: twice, that is, if the caller runs it.)
"""

from __future__ import annotations

import itertools
import os
import queue
import threading
from collections.abc import Callable, Sequence
from time import perf_counter, thread_time
from typing import Any

import numpy as np

from . import waiting
from .cpus import current_cpu, usable_cpus
from .locks import fork_safe_lock

THRESHOLD = 1 << 17
SMALLEST_CHUNK = 1 << 16  # with many CPUs, handing over smaller ones would take longer than running them
LONGEST_CHUNK = 1 << 19  # of longer arrays each thread takes several, so that threads of unequal speed end together
WHOLE = 1024  # a chunk is so many items or a multiple: what is left over is rounded otherwise than in packed code
STALL = 2e-4  # seconds without a core, from which on it pays to stay alone for a while
MOST_SKIPPED = 64


# ---------------------------------------------------------------------------------------------------- how many
def get_num_threads() -> int:
    """The number of threads that kernels use for large tensors. BLAS keeps its own.

    At first it is `OMP_NUM_THREADS` if that is set, else the number of CPUs that this process may use.
    """
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
        _new_pool().stop()


def _initial_threads() -> int:
    wanted = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()  # "4,2": for nested regions, says OpenMP
    return int(wanted) if wanted.isdecimal() and int(wanted) else usable_cpus()


_threads = _initial_threads()


# ---------------------------------------------------------------------------------------------------- calls
def run(kernel: Callable[..., None], operands: Sequence[Any], size: int) -> None:
    """Call `kernel(*operands)` in chunks: 1-D arrays of `size` items are sliced, numbers are passed on."""
    count = min(_threads, size // SMALLEST_CHUNK)
    if count <= 1:
        kernel(*operands)
        return
    share = -(-size // count)
    step = max(min(share, LONGEST_CHUNK), -(-share // 4))
    step = -(-step // WHOLE) * WHOLE
    starts = range(0, size, step)
    run_chunks(kernel, [[x[i : i + step] if x.__class__ is np.ndarray else x for x in operands] for i in starts])


def split(kernel: Callable[[int, int], None], units: int) -> None:
    """Call `kernel(start, stop)` for parts of `range(units)`, one for each thread."""
    step = -(-units // _threads)
    run_chunks(kernel, [(start, min(start + step, units)) for start in range(0, units, step)])


def run_chunks(kernel: Callable[..., None], chunks: Sequence[Sequence[Any]]) -> None:
    """Call `kernel(*chunk)` for each of the chunks, on several threads; all have ended when this returns or raises.

    Raises what the first of the chunks that failed has raised.
    """
    if len(chunks) == 1:
        kernel(*chunks[0])
        return
    call = _Call(kernel, chunks)
    pool = _started_pool(len(chunks) - 1)
    begin, begin_busy = perf_counter(), thread_time()
    is_offered = pool.offer(call)
    try:
        if not call.help():
            waiting.wait_for_change(call.is_finished, 0)
    finally:  # after an interrupt, too: nothing may write to the operands any more
        call.end()
    if is_offered:
        pool.learn(perf_counter() - begin, thread_time() - begin_busy)
    call.raise_error()


class _Call:
    """A call in chunks, which are run by whoever claims them."""

    __slots__ = ("chunks", "is_finished", "next_finished")

    def __init__(self, kernel: Callable[..., None], chunks: Sequence[Sequence[Any]]) -> None:
        self.chunks = [_Chunk(kernel, operands) for operands in chunks]
        self.next_finished = itertools.count(1).__next__
        self.is_finished = waiting.cell()

    def help(self) -> bool:
        """Run the chunks that nobody has claimed; whether the last of all to end was among them."""
        count = len(self.chunks)
        return any(chunk.run() and self.next_finished() == count for chunk in self.chunks)

    def end(self) -> None:
        """Wait for the chunks that are being run; the others never will be."""
        interrupt: KeyboardInterrupt | None = None
        running = list(self.chunks)
        while running:
            try:
                while running:
                    running[-1].cancel()
                    running.pop()
            except KeyboardInterrupt as error:
                interrupt = error
        if interrupt is not None:
            raise interrupt

    def raise_error(self) -> None:
        """Raise what the first failed chunk has raised, if any has."""
        error = next((chunk.error for chunk in self.chunks if chunk.error is not None), None)
        if error is None:
            return
        try:
            raise error
        finally:  # no circle through the traceback may keep the operands alive
            del error
            for chunk in self.chunks:
                chunk.error = None


class _Chunk:
    """One call of the kernel, made by whoever comes first: a worker or the caller."""

    __slots__ = ("_lock", "_work", "error")

    def __init__(self, kernel: Callable[..., None], operands: Sequence[Any]) -> None:
        self._work: tuple[Callable[..., None], Sequence[Any]] | None = (kernel, operands)
        self._lock = threading.RLock()  # re-entrant: an interrupt may come right after its holder has taken it
        self.error: BaseException | None = None

    def run(self) -> bool:
        """Make the call, unless it was made or is being made; whether it was made now."""
        if self._work is None or not self._lock.acquire(blocking=False):
            return False
        try:
            work, self._work = self._work, None
            if work is None:
                return False
            work[0](*work[1])
        except BaseException as error:
            self.error = error
        finally:
            self._lock.release()
        return True

    def cancel(self) -> None:
        """Wait for a call that is being made; one that has not begun never will."""
        with self._lock:
            self._work = None


# ---------------------------------------------------------------------------------------------------- the pool
class _Pool:
    """Threads that take calls from a queue. They are daemons: none keeps the interpreter from ending."""

    def __init__(self) -> None:
        self.queue: queue.SimpleQueue[_Call | None] = queue.SimpleQueue()
        self.offered = waiting.cell()  # counts what was put into the queue
        self.workers: list[threading.Thread] = []
        self.avoided_cpu = -1
        self.skipped = 0  # calls to come that no worker is woken for
        self.last_skipped = 0
        self._can_grow = True

    def grow(self, workers: int) -> None:
        """Start threads until there are so many, or as many as the system lets us have."""
        try:
            while len(self.workers) < workers and self._can_grow:
                worker = threading.Thread(target=self._work, name="numgrad", daemon=True)
                worker.start()
                self.workers.append(worker)
                self.avoided_cpu = -1
        except RuntimeError:
            self._can_grow = False

    def offer(self, call: _Call) -> bool:
        """Wake workers for a call, unless they did harm of late; whether it was done."""
        if self.skipped > 0:  # two threads may have counted the last one down
            self.skipped -= 1
            return False
        if current_cpu is not None and (cpu := current_cpu()) != self.avoided_cpu:
            self._keep_off(cpu)
        for _ in range(min(len(self.workers), len(call.chunks) - 1)):
            self.queue.put(call)
        self.offered[0] += 1
        return True

    def learn(self, wall: float, busy: float) -> None:
        """Note how many seconds a call took, and for how many of them the caller had a core.

        It has one for half of the time at least, unless other processes want the cores: then a worker may lose its own in
        the middle of a chunk, or worse, of a step for which it holds the interpreter lock, and all wait for some
        milliseconds. Help does harm then, so the next 4, 8, ... 64 calls go without.
        """
        if wall > 2 * busy + STALL:
            self.last_skipped = self.skipped = min(max(2 * self.last_skipped, 4), MOST_SKIPPED)
        else:
            self.last_skipped //= 2

    def stop(self) -> None:
        """Let the threads end when they have done what is in the queue."""
        for _ in self.workers:
            self.queue.put(None)
        self.offered[0] += 1

    def _work(self) -> None:
        while True:
            offered = int(self.offered[0])
            if self.queue.empty():
                waiting.wait_for_change(self.offered, offered)
            call = self.queue.get()
            if call is None:
                return
            is_finished = call.is_finished if call.help() else None
            del call  # and with it the operands; the caller, who needs the interpreter next, learns of the end last
            if is_finished is not None:
                is_finished[0] = 1

    def _keep_off(self, cpu: int) -> None:
        self.avoided_cpu = cpu
        others = os.sched_getaffinity(0) - {cpu}
        for worker in self.workers if others else ():
            try:
                os.sched_setaffinity(worker.native_id or 0, others)
            except OSError:  # a sandbox may forbid it
                return


_lock = fork_safe_lock()
_pool = _Pool()


def _started_pool(workers: int) -> _Pool:
    pool = _pool
    if len(pool.workers) < min(workers, _threads - 1):
        waiting.prepare()
        with _lock:
            pool = _pool
            pool.grow(min(workers, _threads - 1))
    return pool


def _new_pool() -> _Pool:
    """Begin with no threads again; the pool that was."""
    global _pool
    with _lock:
        last, _pool = _pool, _Pool()
    return last


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_new_pool)  # the parent's threads are not there
