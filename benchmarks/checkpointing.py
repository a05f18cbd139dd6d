"""What checkpointing saves and costs: `python benchmarks/checkpointing.py [--layers N] [--width N] [--batch N]`.

A chain of layers `tanh(x @ w)` runs forward and backward: as it is, and in segments that are checkpointed in both ways.
Printed are the peak of the memory that was allocated meanwhile (by `tracemalloc`, in a run of its own), the time (the
least of several runs), and both in relation to the chain as it is. With n layers in s segments memory falls to about
s + n / s layers' worth, for at most one more forward.
"""

import argparse
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numgrad as ng
from numgrad.utils.checkpoint import checkpoint_sequential

ROUNDS = 7


def chain(layers: int, width: int) -> list[Callable[[Any], Any]]:
    """Layers with weights of their own, small enough that the activations are what takes the memory."""
    ng.manual_seed(0)
    weights = [(ng.randn(width, width) / width**0.5).requires_grad_() for _ in range(layers)]
    return [lambda x, w=w: (x @ w).tanh() for w in weights]


def plain(steps: list[Callable[[Any], Any]], x: Any) -> Any:
    """The chain as it is."""
    for step in steps:
        x = step(x)
    return x


def peak(run: Callable[[], None]) -> int:
    """Bytes allocated at most at one time during a run."""
    tracemalloc.start()
    try:
        run()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def seconds(runs: list[Callable[[], None]]) -> list[float]:
    """The least time of each of several runs, which take turns."""
    least = [float("inf")] * len(runs)
    for _ in range(ROUNDS):
        for i, run in enumerate(runs):
            start = time.perf_counter()
            run()
            least[i] = min(least[i], time.perf_counter() - start)
    return least


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description="What checkpointing saves and costs.")
    parser.add_argument("--layers", type=int, default=64)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--batch", type=int, default=4096)
    arguments = parser.parse_args()
    steps = chain(arguments.layers, arguments.width)
    x = ng.randn(arguments.batch, arguments.width).requires_grad_()
    ways: dict[str, Callable[[], Any]] = {"as it is": lambda: plain(steps, x)}
    for segments in (2, 4, 8, 16):
        for reentrant in (False, True):
            name = f"{segments} segments, {'reentrant' if reentrant else 'recorded'}"
            ways[name] = lambda s=segments, r=reentrant: checkpoint_sequential(steps, s, x, use_reentrant=r)
    runs = [lambda forward=forward: forward().sum().backward() for forward in ways.values()]
    for run in runs:
        run()  # compiles
    peaks, times = [peak(run) for run in runs], seconds(runs)
    print(f"{'':24}{'peak MB':>10}{'ms':>10}{'memory':>10}{'time':>10}")
    for name, memory, took in zip(ways, peaks, times, strict=True):
        print(f"{name:24}{memory / 1e6:10.1f}{took * 1e3:10.1f}{memory / peaks[0]:10.2f}{took / times[0]:10.2f}")


if __name__ == "__main__":
    main()
