"""Balanced checkpointing: memory that a forward leaves behind and that a step reaches at most, and the time it costs.

By itself, `python benchmarks/bench_checkpointing.py`, it prints both strategies side by side.
"""

import gc
import time
import tracemalloc

import numgrad as ng
from numgrad import Device
from numgrad.burn import Distribution, LinearConfig, Module, Tensor

MIB = 2**20
STRATEGIES = ["Disabled", "Balanced"]


class Gated(Module):
    """Layers of a matrix product and six elementwise operations each, as in gated networks."""

    def __init__(self, device, width=256, depth=4):
        self.layers = [LinearConfig(width, width).init(device) for _ in range(depth)]

    def forward(self, x):
        for layer in self.layers:
            h = layer(x)
            x = h * h.sigmoid() + (h * 0.5).tanh() * h.sin()
        return x.powf_scalar(2.0).mean()


class Step:
    """One batch of 2048 rows through four layers of width 256."""

    params = (STRATEGIES,)
    param_names = ("strategy",)

    def setup(self, strategy):
        ng.manual_seed(0)
        device = Device.cpu().autodiff()
        if strategy == "Balanced":
            device = device.gradient_checkpointing()
        self.model = Gated(device)
        self.x = Tensor.random([2048, 256], Distribution.Normal(0.0, 1.0), device)
        self.model(self.x).backward()

    def time_step(self, strategy):
        self.model(self.x).backward()

    def track_kept_by_forward(self, strategy):
        return self.measure()[0]

    def track_peak_of_step(self, strategy):
        return self.measure()[1]

    track_kept_by_forward.unit = track_peak_of_step.unit = "MiB"

    def measure(self):
        """What a forward leaves allocated, and the most that forward and backward had at a time, in MiB."""
        gc.collect()
        tracemalloc.start()
        loss = self.model(self.x)
        kept = tracemalloc.get_traced_memory()[0]
        loss.backward()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return kept / MIB, peak / MIB


def main() -> None:
    for strategy in STRATEGIES:
        step = Step()
        step.setup(strategy)
        kept, peak = step.measure()
        times = []
        for _ in range(10):
            start = time.perf_counter()
            step.time_step(strategy)
            times.append(time.perf_counter() - start)
        print(f"{strategy:9} kept {kept:6.1f} MiB, peak {peak:6.1f} MiB, {min(times) * 1e3:6.1f} ms a step")


if __name__ == "__main__":
    main()
