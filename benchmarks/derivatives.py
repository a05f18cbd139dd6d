"""Generated gradients beside hand-written ones: `python benchmarks/derivatives.py [--dtype float32] [--only NAME]`.

For each function the gradient that `numgrad.kernels.derive` makes from its source, and one written by hand, are compiled
in the same way (a flat loop over contiguous arrays) and take turns on 100,000 items, on one thread. Printed are
nanoseconds for an item (the least of many turns), the ratio generated / hand-written, and what compiling took.

`many N` has N inputs and a tanh for each, `dense N` N inputs and nothing but multiply-adds, every value of which depends
on all the inputs before it; written by hand they are reverse sweeps.
"""

import argparse
import linecache
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from numgrad.kernels import cpu
from numgrad.kernels.derive import vjp
from numgrad.kernels.lower import lower
from numgrad.kernels.scalar_ir import Function

ITEMS = 100_000

# The functions, each with its gradient by hand: the same parameters and `g` ------------------------------------------


def gelu(x):
    """The tanh form."""
    return 0.5 * x * (1 + math.tanh(0.7978845608028654 * (x + 0.044715 * x**3)))


def gelu_by_hand(x, g):
    """Gradient of `gelu`."""
    t = math.tanh(0.7978845608028654 * (x + 0.044715 * x**3))
    return g * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * 0.7978845608028654 * (1 + 0.134145 * x * x))


def sigmoid(x):
    """A helper."""
    return 1 / (1 + math.exp(-x))


def silu(x):
    """`x * sigmoid(x)`."""
    return x * sigmoid(x)


def silu_by_hand(x, g):
    """Gradient of `silu`."""
    s = sigmoid(x)
    return g * s * (1 + x * (1 - s))


def huber(p, t):
    """Quadratic within 1, linear beyond."""
    a = abs(p - t)
    if a < 1.0:
        return 0.5 * a * a
    return a - 0.5


def huber_by_hand(p, t, g):
    """Gradient of `huber`."""
    d = p - t
    s = g * (d if abs(d) < 1.0 else (1.0 if d > 0 else -1.0))
    return s, -s


def nll(x, m, s):
    """Gaussian negative log-likelihood; `s` is the logarithm of the standard deviation."""
    z = (x - m) * math.exp(-s)
    return 0.5 * z * z + s


def nll_by_hand(x, m, s, g):
    """Gradient of `nll`."""
    e = math.exp(-s)
    z = (x - m) * e
    d = g * z * e
    return d, -d, g * (1 - z * z)


def normal_cdf(x):
    """Distribution function of the standard normal."""
    return 0.5 + 0.5 * math.erf(x * 0.7071067811865476)


def black_scholes(s, k, t, r, v):
    """Price of a European call."""
    a = v * math.sqrt(t)
    d1 = (math.log(s / k) + (r + 0.5 * v * v) * t) / a
    d2 = d1 - a
    return s * normal_cdf(d1) - k * math.exp(-r * t) * normal_cdf(d2)


def black_scholes_by_hand(s, k, t, r, v, g):
    """The greeks from the textbook, which knows that s * pdf(d1) = k * exp(-r t) * pdf(d2)."""
    root = math.sqrt(t)
    d1 = (math.log(s / k) + (r + 0.5 * v * v) * t) / (v * root)
    d2 = d1 - v * root
    n1 = normal_cdf(d1)
    n2 = normal_cdf(d2)
    e = math.exp(-r * t)
    p = s * 0.3989422804014327 * math.exp(-0.5 * d1 * d1)
    return g * n1, -g * e * n2, g * (p * v / (2 * root) + r * k * e * n2), g * k * t * e * n2, g * p * root


def newton(a):
    """Square root by Newton's iteration."""
    z = a
    for _ in range(20):
        better = 0.5 * (z + a / z)
        if abs(better - z) < 1e-6:
            break
        z = better
    return better


def newton_by_hand(a, g):
    """Gradient of `newton`, of the iteration as it ran."""
    z = a
    dz = 1.0
    for _ in range(20):
        better = 0.5 * (z + a / z)
        d = 0.5 * (dz + (1 - a / z * dz) / z)
        if abs(better - z) < 1e-6:
            break
        z = better
        dz = d
    return g * d


def series(x):
    """A power series with every other term."""
    total = 0.0
    term = 1.0
    for i in range(8):
        term = term * x / (i + 1)
        if i % 2 == 0:
            total += math.exp(term)
    return total


def series_by_hand(x, g):
    """Gradient of `series`."""
    total = 0.0
    term = 1.0
    d = 0.0
    for i in range(8):
        d = (d * x + term) / (i + 1)
        term = term * x / (i + 1)
        if i % 2 == 0:
            total += math.exp(term) * d
    return g * total


def chain_texts(count: int, step: str, derivative: Callable[[int], list[str]]) -> tuple[str, str]:
    """A function of `count` inputs as a chain of steps, and its reverse sweep by hand."""
    inputs = ", ".join(f"x{i}" for i in range(count))
    steps = ["    v0 = x0"] + [
        "    " + step.format(v=f"v{i}", u=f"v{i - 1}", x=f"x{i}", w=f"x{i - 1}") for i in range(1, count)
    ]
    forward = [f"def forward({inputs}):", *steps, f"    return v{count - 1}"]
    backward = [f"def backward({inputs}, g):", *steps, "    a = g", "    d0 = 0.0"]
    for i in reversed(range(1, count)):
        backward += ["    " + line for line in derivative(i)]
    backward += ["    d0 = d0 + a", f"    return {', '.join(f'd{i}' for i in range(count))}"]
    return "\n".join(forward) + "\n", "\n".join(backward) + "\n"


def many(count: int) -> tuple[str, str]:
    """`v = tanh(v * x[i]) + x[i - 1]`."""

    def derivative(i: int) -> list[str]:
        own = [f"d{i} = b * v{i - 1}"] if i == count - 1 else [f"d{i} = d{i} + b * v{i - 1}"]
        return [f"t = v{i} - x{i - 1}", "b = a * (1 - t * t)", *own, f"d{i - 1} = a", f"a = b * x{i}"]

    return chain_texts(count, "{v} = math.tanh({u} * {x}) + {w}", derivative)


def dense(count: int) -> tuple[str, str]:
    """`v[i]` is the sum of `v[j] * x[(i + j) % count]` over all `j < i`, and `x[i]`."""
    inputs = ", ".join(f"x{i}" for i in range(count))
    steps = ["    v0 = x0"]
    for i in range(1, count):
        steps.append(f"    v{i} = " + " + ".join(f"v{j} * x{(i + j) % count}" for j in range(i)) + f" + x{i}")
    forward = [f"def forward({inputs}):", *steps, f"    return v{count - 1}"]
    backward = [f"def backward({inputs}, g):", *steps]
    backward += [f"    a{j} = 0.0" for j in range(count - 1)]
    backward += [f"    d{j} = 0.0" for j in range(count)]
    backward += [f"    a{count - 1} = g"]
    for i in reversed(range(1, count)):
        backward.append(f"    d{i} = d{i} + a{i}")
        for j in range(i):
            k = (i + j) % count
            backward.append(f"    a{j} = a{j} + a{i} * x{k}")
            backward.append(f"    d{k} = d{k} + a{i} * v{j}")
    backward += ["    d0 = d0 + a0", f"    return {', '.join(f'd{i}' for i in range(count))}"]
    return "\n".join(forward) + "\n", "\n".join(backward) + "\n"


def from_text(text: str, name: str, file: str) -> Any:
    """Define a function with its lines where tracebacks, and `lower`, look for them."""
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    scope: dict[str, Any] = {"math": math}
    exec(compile(text, file, "exec"), scope)
    return scope[name]


@dataclass(frozen=True)
class Case:
    """A function, its gradient by hand, and the range of each input."""

    name: str
    function: Callable[..., Any]
    by_hand: Callable[..., Any]
    ranges: Sequence[tuple[float, float]]


def written(name: str, texts: tuple[str, str], count: int) -> Case:
    """A case from the texts of a function and its gradient."""
    forward, backward = texts
    return Case(
        f"{name} {count}",
        from_text(forward, "forward", f"<{name} {count}>"),
        from_text(backward, "backward", f"<{name} {count}, by hand>"),
        [(0.1, 0.9)] * count,
    )


CASES = [
    Case("gelu", gelu, gelu_by_hand, [(-3, 3)]),
    Case("silu", silu, silu_by_hand, [(-3, 3)]),
    Case("huber", huber, huber_by_hand, [(-2, 2)] * 2),
    Case("nll", nll, nll_by_hand, [(-2, 2), (-2, 2), (-1, 1)]),
    Case("black-scholes", black_scholes, black_scholes_by_hand,
         [(80, 120), (80, 120), (0.1, 2), (0.0, 0.1), (0.1, 0.5)]),
    Case("newton", newton, newton_by_hand, [(0.5, 50)]),
    Case("series", series, series_by_hand, [(-1, 1)]),
    *(written("many", many(count), count) for count in (2, 4, 8, 16, 24)),
    *(written("dense", dense(count), count) for count in (2, 4, 6, 8, 12, 16)),
]  # fmt: skip


# Timing --------------------------------------------------------------------------------------------------------------


def compiled(function: Function, dtype: np.dtype) -> tuple[Callable[..., None], float]:
    """The flat kernel of a scalar function, and the seconds that compiling it took."""
    start = time.perf_counter()
    plan = cpu.flat_plan(function, dtype, (dtype,) * function.outputs, "v" * len(function.parameters))
    return plan.kernel, time.perf_counter() - start


def measure(case: Case, dtype: np.dtype, rounds: int) -> str:
    """One line of the table. Raises AssertionError when the two gradients differ."""
    rng = np.random.default_rng(0)
    inputs = [rng.uniform(*bounds, ITEMS).astype(dtype) for bounds in case.ranges]
    inputs.append(rng.uniform(0.5, 1.5, ITEMS).astype(dtype))
    kernels, results, seconds = [], [], []
    for function in (vjp(lower(case.function), range(len(case.ranges))), lower(case.by_hand)):
        names = (*function.parameters,)
        assert len(names) == len(inputs)
        kernel, spent = compiled(function, dtype)
        kernels.append(kernel)
        seconds.append(spent)
        results.append([np.empty(ITEMS, dtype) for _ in case.ranges])
    for kernel, outputs in zip(kernels, results, strict=True):
        kernel(*inputs, *outputs)
    tolerance = 1e-6 if dtype == np.float64 else 2e-2
    for found, expected in zip(*results, strict=True):
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * np.abs(expected).max())
    least = [math.inf, math.inf]
    for _ in range(rounds):
        for index, (kernel, outputs) in enumerate(zip(kernels, results, strict=True)):
            start = time.perf_counter()
            kernel(*inputs, *outputs)
            least[index] = min(least[index], time.perf_counter() - start)
    generated, by_hand = (each / ITEMS * 1e9 for each in least)
    return (
        f"{case.name:14} {dtype.name:8} {by_hand:10.2f} {generated:10.2f} {generated / by_hand:8.2f} "
        f"{seconds[1]:10.2f} {seconds[0]:8.2f}"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dtype", choices=("float32", "float64"), help="one dtype only")
    parser.add_argument("--only", action="append", help="functions whose name begins so; may be repeated")
    parser.add_argument("--rounds", type=int, default=60, help="turns of each of the two")
    options = parser.parse_args()
    print(f"{'':14} {'':8} {'ns for an item':>21} {'':8} {'compiling, s':>19}")
    print(f"{'function':14} {'dtype':8} {'by hand':>10} {'generated':>10} {'ratio':>8} {'by hand':>10} {'gen.':>8}")
    for case in CASES:
        if options.only and not case.name.startswith(tuple(options.only)):
            continue
        for name in [options.dtype] if options.dtype else ["float64", "float32"]:
            print(measure(case, np.dtype(name), options.rounds), flush=True)


if __name__ == "__main__":
    main()
