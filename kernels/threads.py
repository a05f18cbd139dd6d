"""The pool of threads that take parts of large kernels.

A kernel releases the interpreter lock and works on whatever part of its operands it is given, so a large one is split: no
second compiled form is needed. The caller and the workers claim one part after another, in machine code (`handover`), so
a call ends whatever becomes of the workers: another process has their core, too few could be started, all are busy
with other calls, the interpreter is shutting down. The pool is made at first use, and anew in a forked child, where the
parent's threads do not exist.

A worker that has just finished polls for the next call for some 50 us before it sleeps, and the caller polls for the
last part: a handover takes 1 us instead of 30. On Linux workers keep off the CPU that the caller is on: the scheduler
wakes a thread where its waker runs, even with the other core idle, and the two would take turns. (exp of 2^20 float32
every 0.3 ms: one thread 290 us, `ThreadPoolExecutor` with two 330.)

(Numba's own `parallel=True` was tried: its OpenMP layer takes 2-4 us to start but stalls when a core is busy and kills
a forked child; its workqueue layer aborts the process when two Python threads use it. `concurrent.futures` takes longer
to hand over a part, and when it cannot start a thread it raises after it has queued the part, which may run later
nevertheless: twice, that is, if the caller runs it. A pool of ours that handed over Python calls took 15-25 us.)
"""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from . import cache, handover
from .cpus import current_cpu, usable_cpus
from .locks import fork_safe_lock

THRESHOLD = 1 << 17
SMALLEST_CHUNK = 1 << 16  # with many CPUs, handing over smaller ones would take longer than running them
WHOLE = 1024  # a chunk is so many items or a multiple: what is left over is rounded otherwise than in packed code
SHARES = 4  # parts that a thread claims, so that threads of unequal speed end together
LONG = 1 << 19  # items from which a sleeping worker is woken for one call: that takes the caller 10 us
NEAR = 5e-5  # seconds between calls that let a worker poll from one to the next
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
    """Call `kernel(*operands)` in parts: 1-D arrays of `size` items are sliced, numbers are passed on."""
    count = min(_threads, size // SMALLEST_CHUNK)
    if count <= 1:
        kernel(*operands)
        return
    step = -(-size // (SHARES * count * WHOLE)) * WHOLE
    share(kernel, "", operands, size, size, step, count - 1)


def split(
    kernel: Callable[..., None],
    letters: str,
    operands: Sequence[Any],
    items: int,
    units: int,
    first_scale: int = 1,
    second_scale: int = 1,
) -> None:
    """Call a kernel over so many items, whose work is so many units, in parts of some units. See `share`."""
    count = min(_threads, units)
    if count <= 1:
        kernel(*operands)
    else:
        step = -(-units // (SHARES * count))
        share(kernel, letters, operands, items, units, step, count - 1, first_scale, second_scale)


def share(
    kernel: Callable[..., None],
    letters: str,
    operands: Sequence[Any],
    items: int,
    units: int,
    step: int,
    workers: int,
    first_scale: int = 1,
    second_scale: int = 1,
) -> None:
    """Call a compiled kernel in parts of `step` of its units, with the help of so many workers.

    Args:
        kernel: what `cache.compiled` gave; called once, it does all units.
        letters: which part of each operand a part gets: see `handover.launcher`. If empty, all arrays are sliced. It is
            the same in every call of a kernel.
        operands: what the kernel is called with for all units.
        items: how long the call is about.
        units: of work, each of them done by itself.
        step: how many a part has.
        workers: most threads that help.
        first_scale: items (or rows) of `f` operands for each unit.
        second_scale: items (or rows) of `s` operands for each unit.

    Raises what the kernel has raised.
    """
    launcher = _launchers.get(kernel) or _new_launcher(kernel, letters)
    pool = _started_pool(workers) if launcher is not None else None
    if launcher is None or pool is None:
        kernel(*operands)
        return
    if not pool.wake(workers, items):
        kernel(*operands)
        pool.last_end = perf_counter()
        return
    job, slots = handover.new_job(operands), pool.slots
    polls = handover.UNFINISHED
    try:
        polls = launcher.launch(
            job, slots, launcher.address, workers, units, step, first_scale, second_scale, *operands
        )
    finally:
        if polls == handover.UNFINISHED:  # or interrupted: nothing may write to the operands any more
            polls = _finished(job, slots)
    if polls:
        if polls == handover.FAILED:
            kernel(*operands)  # for its error: a part's is lost
            raise RuntimeError("a kernel failed on a part of its operands, and then on none of them: they are spoiled")
        pool.learn(polls >= handover.STALL)
    pool.last_end = perf_counter()


def _finished(job: np.ndarray, slots: np.ndarray) -> int:
    """Wait for the workers that are at a job, through all interrupts."""
    interrupt: KeyboardInterrupt | None = None
    while True:
        try:
            while (polls := handover.finish()(job, slots)) == handover.UNFINISHED:
                time.sleep(1e-4)
            break
        except KeyboardInterrupt as error:
            interrupt = error
    if interrupt is not None:
        raise interrupt
    return max(polls, handover.STALL) if polls >= 0 else polls


class _Launcher(NamedTuple):
    """What shares one kernel."""

    launch: Callable[..., int]
    address: int


_launchers: dict[Callable[..., None], _Launcher] = {}


def _new_launcher(kernel: Callable[..., None], letters: str) -> _Launcher | None:
    code = cache.machine_code(kernel)
    if code is None:
        return None
    types = code.signature.args
    letters = letters or "".join("v" if hasattr(t, "ndim") else "w" for t in types)
    found = _launchers[kernel] = _Launcher(handover.launcher(types, letters), code.address)
    return found


# ---------------------------------------------------------------------------------------------------- the pool
class _Pool:
    """Threads that watch a slot each. They are daemons: none keeps the interpreter from ending."""

    def __init__(self, size: int) -> None:
        self.workers: list[threading.Thread] = []
        self.slots = np.zeros(0, np.int64)  # of the workers that there are
        self.avoided_cpu = -1
        self.skipped = 0  # calls to come that no worker is woken for
        self.last_skipped = 0
        self.last_end = 0.0  # of a call, by `perf_counter`
        self._slots = np.zeros(handover.SLOT * size, np.int64)
        self._is_asleep: list[bool] = []
        self._beds: list[queue.SimpleQueue[None]] = []
        self._can_grow = True
        self._is_over = False

    def grow(self, workers: int) -> None:
        """Start threads until there are so many, or as many as the system lets us have."""
        handover.serve()  # no worker compiles: the end of the interpreter would stop it in the middle
        try:
            while len(self.workers) < workers and self._can_grow:
                number = len(self.workers)
                self._is_asleep.append(False)
                self._beds.append(queue.SimpleQueue())
                worker = threading.Thread(target=self._work, args=(number,), name="numgrad", daemon=True)
                worker.start()
                self.workers.append(worker)
                self.slots = self._slots[: handover.SLOT * len(self.workers)]
                self.avoided_cpu = -1
        except RuntimeError:
            self._can_grow = False

    def wake(self, workers: int, items: int) -> bool:
        """Wake workers for a call, unless they did harm of late or it is not worth it; whether there are any for it.

        A short call wakes nobody if it comes by itself: 2^17 items were added in 27 us then, and 17 on one thread.
        """
        if self.skipped > 0:  # two threads may have counted the last one down
            self.skipped -= 1
            return False
        if not self.workers:
            return False
        if current_cpu is not None and (cpu := current_cpu()) != self.avoided_cpu:
            self._keep_off(cpu)
        if True in self._is_asleep:
            if items < LONG and perf_counter() - self.last_end > NEAR:
                return False
            for number, is_asleep in enumerate(self._is_asleep[:workers]):
                if is_asleep:
                    self._is_asleep[number] = False
                    self._beds[number].put(None)
        return True

    def learn(self, is_stalled: bool) -> None:
        """Note whether the caller has waited long for a worker at the end of a call.

        It has if other processes want the cores, and a worker lost its own in the middle of a part: all wait for some
        milliseconds then. Help does harm, so the next 4, 8, ... 64 calls go without.
        """
        if is_stalled:
            self.last_skipped = self.skipped = min(max(2 * self.last_skipped, 4), MOST_SKIPPED)
        else:
            self.last_skipped //= 2

    def stop(self) -> None:
        """Let the threads end when they have done what was given to them."""
        self._is_over = True
        for bed in self._beds:
            bed.put(None)

    def _work(self, number: int) -> None:
        serve, bed = handover.serve(), self._beds[number]
        while not self._is_over:
            serve(self._slots, number)
            self._is_asleep[number] = True
            if not self._slots[handover.SLOT * number]:  # a job that came just now is served
                bed.get()
            self._is_asleep[number] = False

    def _keep_off(self, cpu: int) -> None:
        self.avoided_cpu = cpu
        others = os.sched_getaffinity(0) - {cpu}
        for worker in self.workers if others else ():
            try:
                os.sched_setaffinity(worker.native_id or 0, others)
            except OSError:  # a sandbox may forbid it
                return


_lock = fork_safe_lock()
_pool = _Pool(_threads - 1)


def _started_pool(workers: int) -> _Pool:
    pool = _pool
    if len(pool.workers) < min(workers, _threads - 1):
        with _lock:
            pool = _pool
            pool.grow(min(workers, _threads - 1))
    return pool


def _new_pool() -> _Pool:
    """Begin with no threads again; the pool that was."""
    global _pool
    with _lock:
        last, _pool = _pool, _Pool(_threads - 1)
    return last


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_new_pool)  # the parent's threads are not there
