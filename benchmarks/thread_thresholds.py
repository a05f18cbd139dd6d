"""From which size two threads beat one: `python benchmarks/thread_thresholds.py`, with --quick to make it shorter.

Kernels of several costs run on one thread and split in two, in turns, on growing sizes: first with the other core idle,
then while a process of its own keeps it busy. Recommended is the least size from which two threads take at most nine
tenths of the time with an idle core, and at most a quarter more with a busy one. The values in use are `THRESHOLD` in
kernels/threads.py (elementwise) and in kernels/folds.py (reductions).
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from numgrad.kernels import OPS, cpu, threads
from numgrad.kernels.cpu import Loop
from numgrad.kernels.folds import fold_rows
from numgrad.kernels.reductions import SUM

FLOAT = np.dtype(np.float32)
SIZES = [1 << p for p in range(15, 24)]
ROW = 1024

Run = Callable[[int], object]  # runs a kernel whole (1) or split (2)


def elementwise(name: str, size: int) -> Run:
    """An elementwise op of the table on contiguous float32."""
    op = OPS[name]
    inputs = [np.random.default_rng(0).random(size, FLOAT) + FLOAT.type(0.5) for _ in op.inputs]
    out = np.empty(size, FLOAT)
    kernel = cpu.flat_plan(op.scalar, FLOAT, (FLOAT,), "v" * len(inputs)).kernel
    return lambda parts: kernel(*inputs, out) if parts == 1 else threads.run(kernel, (*inputs, out), size)


def row_sums(size: int) -> Run:
    """Sums of rows of 1024 float32."""
    x = np.random.default_rng(0).random(size, FLOAT)
    out = np.empty(size // ROW, FLOAT)
    loop = Loop(fold_rows, reassoc=True, given=SUM.given)

    def run(parts: int) -> None:
        call = loop if parts == 1 else loop.in_units
        call(x, out, out, 0.0, 0, len(out), 1, ROW, ROW, ROW)

    return run


KERNELS: dict[str, Callable[[int], Run]] = {
    "add": lambda size: elementwise("add", size),
    "exp": lambda size: elementwise("exp", size),
    "row sums": row_sums,
}


@contextmanager
def busy_core() -> Iterator[None]:
    """A process that computes without end, beside ours."""
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        process.kill()
        process.wait()


@contextmanager
def idle_core() -> Iterator[None]:
    """Nothing beside us."""
    yield


def microseconds(run: Run, rounds: int) -> tuple[float, float]:
    """Medians of one thread's and of two threads' times, which take turns."""
    times: dict[int, list[float]] = {1: [], 2: []}
    for parts in (1, 2):
        run(parts)
    for _ in range(rounds):
        for parts, found in times.items():
            start = time.perf_counter()
            run(parts)
            found.append((time.perf_counter() - start) * 1e6)
    return statistics.median(times[1]), statistics.median(times[2])


def recommended(ratios: dict[int, tuple[float, float]]) -> int | None:
    """The least size from which on two threads pay."""
    found = None
    for size in sorted(ratios, reverse=True):
        idle, busy = ratios[size]
        if idle > 0.9 or busy > 1.25:
            break
        found = size
    return found


def main() -> None:
    """Measure, print the table and recommend."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer repeats")
    options = parser.parse_args()
    threads.set_num_threads(2)
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}: the figures mean little on a loaded machine")
    print(f"{'kernel':10} {'items':>9} {'1 thread, us':>13} {'2, idle core':>13} {'2, busy core':>13}   ratios")
    advice = []
    for name, make in KERNELS.items():
        ratios = {}
        for size in SIZES:
            run = make(size)
            rounds = max(20, (100 if options.quick else 400) * (1 << 17) // size)
            measured = []
            for neighbour in (idle_core, busy_core):
                with neighbour():
                    measured.append(microseconds(run, rounds))
            (one, two), (one_busy, two_busy) = measured
            ratios[size] = two / one, two_busy / one_busy
            shown = "  ".join(f"{ratio:5.2f}" for ratio in ratios[size])
            print(f"{name:10} {size:9d} {one:13.1f} {two:13.1f} {two_busy:13.1f}   {shown}", flush=True)
        found = recommended(ratios)
        advice.append(f"{name}: " + (f"2^{found.bit_length() - 1}" if found else "none of these sizes"))
    print("split from", ", ".join(advice))


if __name__ == "__main__":
    main()
