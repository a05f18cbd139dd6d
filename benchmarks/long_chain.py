"""A chain of 100,000 operations: backward through it, and its destruction, without recursion or leaks; prints JSON.

`benchmarks/compare.py` runs this file in a process of its own. Everything happens with the cycle collector switched off
and with room for 200 Python frames: a recursive walk or a reference cycle would show.
"""

import gc
import json
import os
import sys
import time
import weakref
from collections.abc import Callable

import numgrad as ng

LENGTH = 100_000
FRAMES = 200


def resident_mib() -> float:
    """Memory of this process that lies in RAM, in MiB."""
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def return_free_memory() -> None:
    """Let glibc give freed memory back to the system, so that the resident size tells what is still held."""
    import ctypes

    ctypes.CDLL(None).malloc_trim(0)


def run_chain(length: int, on_built: Callable[[], None] = lambda: None, backward: bool = True) -> weakref.ref:
    """Build a chain, perhaps go backward through it, and drop it; returns a weak reference to its first result."""
    x = ng.ones(16, requires_grad=True)
    y = x * 1.0
    first = weakref.ref(y)
    for _ in range(length):
        y = y * 1.0
    on_built()
    if backward:
        y.sum().backward()
        assert x.grad is not None
        assert x.grad.tolist() == [1.0] * 16
    return first


def main() -> None:
    """Print the resident memory before, with the graph, and after, and the seconds of both runs."""
    run_chain(100)  # compiles what there is to compile
    gc.collect()
    gc.disable()
    sys.setrecursionlimit(FRAMES)
    return_free_memory()
    report = {"before_mib": resident_mib(), "peak_mib": 0.0}

    def note_peak() -> None:
        report["peak_mib"] = max(report["peak_mib"], resident_mib())

    for name, backward in (("backward", True), ("unused", False)):
        start = time.perf_counter()
        first = run_chain(LENGTH, note_peak, backward)
        report[f"{name}_s"] = time.perf_counter() - start
        assert first() is None, f"the {name} graph outlived its last reference"
        return_free_memory()
        report[f"after_{name}_mib"] = resident_mib()
    print(json.dumps(report))


if __name__ == "__main__":
    main()
