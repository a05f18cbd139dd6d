"""The programs of docs/kernels.md beside NumPy and beside loops written by hand: `python benchmarks/kernels_page.py`.

Each function of the page runs on 2^20 items in four forms: numgrad, a chain of NumPy calls, an `@njit` loop over the plain
function, and, for the gradients, NumPy and `@njit` code with the derivatives worked out by hand. The forms take turns,
block by block in one process with one thread, so that a machine that slows down slows all of them. The table gives the
minimum of the blocks, and what it is relative to numgrad's: above 1, numgrad is faster. The results are compared first.
"""

import argparse
import contextlib
import io
import linecache
import math
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit

import numgrad as ng

PAGE = Path(__file__).resolve().parent.parent / "docs" / "kernels.md"
SIZE = 1 << 20
BLOCKS = 9
jit = njit(error_model="numpy", nogil=True)

Arrays = tuple[np.ndarray, ...]


def from_page(name: str) -> Any:
    """The elementwise function of this name, from the program on the page that defines it."""
    programs = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    (source,) = [program for program in programs if f"def {name}(" in program]
    file = f"<{PAGE.name}: {name}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    scope: dict[str, Any] = {}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(source, file, "exec"), scope)
    return scope[name]


# Huber ----------------------------------------------------------------------------------------------------------------
def huber_numpy(pred: np.ndarray, target: np.ndarray) -> np.ndarray:
    """The loss by NumPy, delta 1."""
    error = pred - target
    distance = np.abs(error)
    return np.where(distance < 1, 0.5 * error * error, distance - 0.5)


def huber_numpy_gradients(pred: np.ndarray, target: np.ndarray) -> Arrays:
    """The loss and its gradient by `pred`."""
    error = pred - target
    distance = np.abs(error)
    return np.where(distance < 1, 0.5 * error * error, distance - 0.5), np.clip(error, -1, 1)


@jit
def huber_loop(pred, target, out):
    """The loss by a loop."""
    half, one = np.float32(0.5), np.float32(1)
    for i in range(out.shape[0]):
        error = pred[i] - target[i]
        distance = abs(error)
        out[i] = half * error * error if distance < one else distance - half


@jit
def huber_loop_gradients(pred, target, out, slope):
    """The loss, and in a second loop (as a backward pass is) its gradient."""
    huber_loop(pred, target, out)
    one = np.float32(1)
    for i in range(out.shape[0]):
        error = pred[i] - target[i]
        slope[i] = error if abs(error) < one else (one if error > 0 else -one)


# Black and Scholes ----------------------------------------------------------------------------------------------------
def call_numpy(spot: np.ndarray, strike: np.ndarray, rate: np.ndarray, sigma: np.ndarray, t: np.ndarray) -> np.ndarray:
    """The price by NumPy and SciPy."""
    from scipy.special import ndtr

    spread = sigma * np.sqrt(t)
    d1 = (np.log(spot / strike) + (rate + 0.5 * sigma * sigma) * t) / spread
    return spot * ndtr(d1) - strike * np.exp(-rate * t) * ndtr(d1 - spread)


def call_numpy_gradients(
    spot: np.ndarray, strike: np.ndarray, rate: np.ndarray, sigma: np.ndarray, t: np.ndarray
) -> Arrays:
    """The price and the five greeks, what they share computed once."""
    from scipy.special import ndtr

    root = np.sqrt(t)
    spread = sigma * root
    d1 = (np.log(spot / strike) + (rate + 0.5 * sigma * sigma) * t) / spread
    n1, n2, discount = ndtr(d1), ndtr(d1 - spread), np.exp(-rate * t)
    vega = spot * np.exp(-0.5 * d1 * d1) * (root / math.sqrt(2 * math.pi))
    paid = strike * discount * n2
    return spot * n1 - paid, n1, -discount * n2, t * paid, vega, vega * sigma / (2 * t) + rate * paid


@jit
def _cdf(x):
    return 0.5 * math.erfc(-x / math.sqrt(2.0))


@jit
def call_loop(spot, strike, rate, sigma, t, out):
    """The price by a loop."""
    for i in range(out.shape[0]):
        spread = sigma[i] * math.sqrt(t[i])
        d1 = (math.log(spot[i] / strike[i]) + (rate[i] + 0.5 * sigma[i] * sigma[i]) * t[i]) / spread
        out[i] = spot[i] * _cdf(d1) - strike[i] * math.exp(-rate[i] * t[i]) * _cdf(d1 - spread)


@jit
def call_loop_gradients(spot, strike, rate, sigma, t, out, by_spot, by_strike, by_rate, by_sigma, by_time):
    """The price, and in a second loop the five greeks, as insight says."""
    call_loop(spot, strike, rate, sigma, t, out)
    for i in range(out.shape[0]):
        root = math.sqrt(t[i])
        spread = sigma[i] * root
        d1 = (math.log(spot[i] / strike[i]) + (rate[i] + 0.5 * sigma[i] * sigma[i]) * t[i]) / spread
        n2, discount = _cdf(d1 - spread), math.exp(-rate[i] * t[i])
        vega = spot[i] * math.exp(-0.5 * d1 * d1) * (root / math.sqrt(2 * math.pi))
        by_spot[i], by_strike[i], by_rate[i] = _cdf(d1), -discount * n2, t[i] * strike[i] * discount * n2
        by_sigma[i], by_time[i] = vega, vega * sigma[i] / (2 * t[i]) + rate[i] * strike[i] * discount * n2


# Kepler ---------------------------------------------------------------------------------------------------------------
def kepler_numpy(mean: np.ndarray, e: np.ndarray) -> np.ndarray:
    """Newton's method on all items until the last one is done."""
    x = mean + e * np.sin(mean)
    while True:
        step = (x - e * np.sin(x) - mean) / (1 - e * np.cos(x))
        x = x - step
        if np.abs(step).max() < 1e-12:
            return x


def kepler_numpy_gradients(mean: np.ndarray, e: np.ndarray) -> Arrays:
    """The solution, and its gradients by the implicit function theorem."""
    x = kepler_numpy(mean, e)
    slope = 1 / (1 - e * np.cos(x))
    return x, slope, slope * np.sin(x)


@jit
def kepler_loop(mean, e, out):
    """Newton's method in a loop."""
    for i in range(out.shape[0]):
        x = mean[i] + e[i] * math.sin(mean[i])
        step = 1.0
        while abs(step) >= 1e-12:
            step = (x - e[i] * math.sin(x) - mean[i]) / (1 - e[i] * math.cos(x))
            x -= step
        out[i] = x


@jit
def kepler_loop_gradients(mean, e, out, by_mean, by_e):
    """The solution, and its gradients by differentiating the iteration, as numgrad does."""
    kepler_loop(mean, e, out)
    for i in range(out.shape[0]):
        m, c = mean[i], e[i]
        x, dm, de = m + c * math.sin(m), 1 + c * math.cos(m), math.sin(m)
        step = 1.0
        while abs(step) >= 1e-12:
            s, k = math.sin(x), math.cos(x)
            value, slope = x - c * s - m, 1 - c * k
            step = value / slope
            dm, de = (
                dm - ((1 - c * k) * dm - 1 - step * c * s * dm) / slope,
                de - ((1 - c * k) * de - s - step * (c * s * de - k)) / slope,
            )
            x -= step
        by_mean[i], by_e[i] = dm, de


# Running --------------------------------------------------------------------------------------------------------------
def filled(loop: Callable[..., None], inputs: Arrays, outputs: int) -> Callable[[], Arrays]:
    """A call of a loop into new arrays."""

    def call() -> Arrays:
        out = tuple(np.empty_like(inputs[0]) for _ in range(outputs))
        loop(*inputs, *out)
        return out

    return call


def forms(name: str, arrays: Arrays, wanted: int) -> tuple[dict[str, Callable[[], Any]], dict[str, Callable[[], Any]]]:
    """For the function and for it with its first `wanted` gradients: a call in each form, which gives arrays."""
    numpy, numpy_gradients, loop, loop_gradients = WRITTEN[name]
    function = from_page(name)
    constants = [ng.from_numpy(a) for a in arrays]
    leaves = [ng.from_numpy(a).requires_grad_(i < wanted) for i, a in enumerate(arrays)]
    ones = ng.ones(len(arrays[0]), dtype=constants[0].dtype)

    def numgrad_gradients() -> Arrays:
        y = function(*leaves)
        return (y.detach().numpy(), *(g.numpy() for g in ng.autograd.grad(y, leaves[:wanted], ones)))

    forward = {
        "numgrad": lambda: (function(*constants).numpy(),),
        "NumPy": lambda: (numpy(*arrays),),
        "njit loop": filled(loop, arrays, 1),
    }
    both = {
        "numgrad": numgrad_gradients,
        "NumPy": lambda: numpy_gradients(*arrays),
        "njit loop": filled(loop_gradients, arrays, 1 + wanted),
    }
    return forward, both


WRITTEN: dict[str, tuple[Any, Any, Any, Any]] = {
    "huber": (huber_numpy, huber_numpy_gradients, huber_loop, huber_loop_gradients),
    "call_price": (call_numpy, call_numpy_gradients, call_loop, call_loop_gradients),
    "eccentric_anomaly": (kepler_numpy, kepler_numpy_gradients, kepler_loop, kepler_loop_gradients),
}


def inputs(name: str, size: int) -> tuple[Arrays, int]:
    """Arrays for a function of the page, and how many of them get a gradient."""
    rng = np.random.default_rng(0)
    if name == "huber":
        return tuple(rng.normal(size=size).astype(np.float32) for _ in range(2)), 1
    if name == "call_price":
        ranges = [(80, 120), (80, 120), (0.0, 0.05), (0.1, 0.5), (0.1, 2.0)]
        return tuple(rng.uniform(*r, size=size) for r in ranges), 5
    return (rng.uniform(0, math.pi, size), rng.uniform(0, 0.9, size)), 2


def measured(calls: dict[str, Callable[[], Arrays]], blocks: int) -> dict[str, float]:
    """The shortest time of each call, in seconds, when they take turns. Their results are compared first."""
    expected = calls["NumPy"]()
    for name, call in calls.items():
        for got, wanted in zip(call(), expected, strict=True):
            tolerance = 1e-5 if wanted.dtype == np.float32 else 1e-8
            np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance, err_msg=name)
    best = dict.fromkeys(calls, math.inf)
    for _ in range(blocks):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few items, to see that it runs")
    quick = parser.parse_args().quick
    ng.set_num_threads(1)
    print("| Function | | numgrad | NumPy | `@njit` loop |\n| --- | --- | --- | --- | --- |")
    for name in WRITTEN:
        arrays, wanted = inputs(name, 1 << 10 if quick else SIZE)
        for title, calls in zip(("value", "value and gradients"), forms(name, arrays, wanted), strict=True):
            best = measured(calls, 1 if quick else BLOCKS)
            own = best["numgrad"]
            others = [f"{best[form] / own:.2f} x" for form in ("NumPy", "njit loop")]
            print(f"| `{name}`, {arrays[0].dtype} | {title} | {own * 1e3:.2f} ms | {' | '.join(others)} |", flush=True)


if __name__ == "__main__":
    main()
