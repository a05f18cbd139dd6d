"""The pool that runs chunks of flat kernels on several threads.

A flat kernel releases the interpreter lock and works on whatever slices it is given, so a large one is split into as many
chunks as there are threads: no second compiled form is needed. Handing over a chunk costs 10 to 20 us, so only arrays of
`THRESHOLD` items or more are split. The pool is made at first use, and anew in a forked child, where the parent's threads
do not exist.

Whoever calls takes part: it runs every chunk that no worker has begun. So a call ends whatever becomes of the workers (too
few could be started, all are busy with other calls, the interpreter is shutting down), also one made within a worker.

(Numba's own `parallel=True` was tried: its OpenMP layer takes 2-4 us to start but stalls when a core is busy and kills
a forked child; its workqueue layer aborts the process when two Python threads use it. `concurrent.futures` takes 1.6
times as long to hand over a chunk, and when it cannot start a thread it raises after it has queued the chunk, which may
run later nevertheless: twice, that is, if the caller runs it.)
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .locks import fork_safe_lock

THRESHOLD = 1 << 17
SMALLEST_CHUNK = 1 << 16  # with many CPUs, handing over smaller ones would take longer than running them


# ---------------------------------------------------------------------------------------------------- how many
def get_num_threads() -> int:
    """The number of threads that elementwise kernels use for large tensors. BLAS keeps its own.

    At first it is `OMP_NUM_THREADS` if that is set, else the number of CPUs that this process may use.
    """
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
        _new_pool().stop()


def _initial_threads() -> int:
    wanted = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()  # "4,2": for nested regions, says OpenMP
    if wanted.isdecimal() and int(wanted):
        return int(wanted)
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(min(cpus, _cpu_quota(Path("/"))), 1)


def _cpu_quota(root: Path) -> int:
    """How many CPUs a container's share of time amounts to, rounded up; a large number without a limit (Linux).

    With more threads than that, all of them are stopped for the rest of each period of 0.1 s.
    """
    quotas = []
    try:
        for line in (root / "proc/self/cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            if controllers and "cpu" not in controllers.split(","):
                continue
            base = root / "sys/fs/cgroup" / ("cpu" if controllers else "")  # version 1 names controllers, 2 none
            group = base / path.lstrip("/")
            # In a container the path is often the host's, which is not to be seen: then the root is the container's.
            quotas += [_quota(g) for g in (group, *group.parents) if g.is_relative_to(base)]
    except (OSError, ValueError):
        pass
    return min(quotas, default=1 << 30)


def _quota(group: Path) -> int:
    if (group / "cpu.max").is_file():
        quota, period = (group / "cpu.max").read_text().split()
    elif (group / "cpu.cfs_quota_us").is_file():
        quota, period = ((group / f"cpu.cfs_{name}_us").read_text() for name in ("quota", "period"))
    else:
        return 1 << 30
    return 1 << 30 if quota == "max" or int(quota) <= 0 else -(-int(quota) // int(period))


_threads = _initial_threads()


# ---------------------------------------------------------------------------------------------------- calls
def run(kernel: Callable[..., None], operands: Sequence[Any], size: int) -> None:
    """Call `kernel(*operands)` in chunks: 1-D arrays of `size` items are sliced, numbers are passed on."""
    count = min(_threads, size // SMALLEST_CHUNK)
    if count <= 1:
        kernel(*operands)
        return
    step = -(-size // count)
    starts = range(0, size, step)
    run_chunks(kernel, [[x[i : i + step] if x.__class__ is np.ndarray else x for x in operands] for i in starts])


def run_chunks(kernel: Callable[..., None], chunks: Sequence[Sequence[Any]]) -> None:
    """Call `kernel(*chunk)` for each of the chunks, on several threads; all have ended when this returns or raises.

    Raises what the first of the chunks that failed has raised.
    """
    jobs = [_Job(kernel, chunk) for chunk in chunks]
    _hand_over(jobs[1:])
    try:
        for job in jobs:
            job.run()
    finally:  # after an interrupt, too: nothing may write to the operands any more
        for job in jobs:
            job.cancel()
    error = next((job.error for job in jobs if job.error is not None), None)
    if error is not None:
        try:
            raise error
        finally:  # no circle through the traceback may keep the operands alive
            del error
            for job in jobs:
                job.error = None


class _Job:
    """A call of a kernel, made by whoever comes first: a worker or the caller."""

    __slots__ = ("_call", "_lock", "error")

    def __init__(self, kernel: Callable[..., None], operands: Sequence[Any]) -> None:
        self._call: tuple[Callable[..., None], Sequence[Any]] | None = (kernel, operands)
        self._lock = threading.RLock()  # re-entrant: an interrupt may come right after its holder has taken it
        self.error: BaseException | None = None

    def run(self) -> None:
        """Make the call unless it was made, or is being made."""
        if not self._lock.acquire(blocking=False):
            return
        try:
            call, self._call = self._call, None
            if call is not None:
                call[0](*call[1])
        except BaseException as error:
            self.error = error
        finally:
            self._lock.release()

    def cancel(self) -> None:
        """Wait for a call that is being made; one that has not begun never will."""
        with self._lock:
            self._call = None


# ---------------------------------------------------------------------------------------------------- the pool
class _Pool:
    """Threads that take jobs from a queue. They are daemons: none keeps the interpreter from ending."""

    def __init__(self) -> None:
        self.queue: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self.workers = 0
        self._can_grow = True

    def grow(self, workers: int) -> None:
        """Start threads until there are so many, or as many as the system lets us have."""
        try:
            while self.workers < workers and self._can_grow:
                threading.Thread(target=_work, args=(self.queue,), name="numgrad", daemon=True).start()
                self.workers += 1
        except RuntimeError:
            self._can_grow = False

    def stop(self) -> None:
        """Let the threads end when they have done what is in the queue."""
        for _ in range(self.workers):
            self.queue.put(None)


def _work(jobs: queue.SimpleQueue[_Job | None]) -> None:
    while (job := jobs.get()) is not None:
        job.run()


_lock = fork_safe_lock()
_pool = _Pool()


def _hand_over(jobs: Sequence[_Job]) -> None:
    with _lock:
        pool = _pool
        if pool.workers < len(jobs):
            pool.grow(min(len(jobs), _threads - 1))
    if pool.workers:
        for job in jobs:
            pool.queue.put(job)


def _new_pool() -> _Pool:
    """Begin with no threads again; the pool that was."""
    global _pool
    with _lock:
        last, _pool = _pool, _Pool()
    return last


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_new_pool)  # the parent's threads are not there
