"""Random draws as ops: what makes random items (a stream's seed and counter are attributes), and the nodes of drawn results.

Items come from `philox`, on the host for every device, so that the numbers are the same everywhere.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from . import cpu, philox
from .array import Array, Shape, contiguous_strides, dense_array
from .backends import backend
from .registry import ElementwiseOp, Sample, Uniform, elementwise, op


# ---------------------------------------------------------------------------------------------------- items
@functools.cache  # a look at a NumPy dtype's name costs more than a small draw
def stream_dtype(kind: str, dtype: np.dtype) -> np.dtype:
    """The dtype that `philox` draws in for items of `dtype`: half types are rounded, complex ones made of two."""
    if kind == "integers":
        return np.dtype(np.int64)
    return np.dtype(np.float64) if dtype.name in ("float64", "complex128") else np.dtype(np.float32)


@functools.cache
def integer_range(dtype: np.dtype) -> tuple[int, int]:
    """The smallest and the largest of the integers that a dtype holds one by one."""
    if dtype.kind in "iu":
        return int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    if dtype.kind == "b":
        return 0, 1
    reach = 2 ** {"float64": 53, "float32": 24, "float16": 11, "bfloat16": 8}[dtype.name]
    return -reach, reach


def positions(kind: str, dtype: np.dtype, count: int) -> int:
    """By how much a draw of `count` items advances the counter of its stream."""
    return philox.positions(kind, stream_dtype(kind, dtype), count * (2 if dtype.kind == "c" else 1))


def items(kind: str, dtype: np.dtype, count: int, seed: int, counter: int, low: int = 0, high: int = 0) -> np.ndarray:
    """`count` items of a draw as a 1-D ndarray."""
    drawn = np.empty(count * (2 if dtype.kind == "c" else 1), stream_dtype(kind, dtype))
    philox.fill(drawn, kind, 0, seed, counter, low, high)
    if drawn.dtype is dtype:
        return drawn
    if dtype.kind == "c":
        return (drawn if kind == "uniform" else drawn * drawn.dtype.type(math.sqrt(0.5))).view(dtype)
    if kind == "uniform" and dtype.itemsize == 2:
        steps = 2.0 ** (11 if dtype.name == "float16" else 8)  # as many as lie evenly in [0, 1): 1 cannot come out
        drawn = np.floor(drawn * np.float32(steps)) / np.float32(steps)
    return drawn.astype(dtype, copy=False)


def _plain_items(size: Shape, kind: str, dtype: str, seed: int, counter: int, low: int, high: int, **_: Any) -> Any:
    """A draw by plain Python, block by block."""
    count = math.prod(size)
    words = [np.uint64(seed), np.uint64(counter), np.int64(low), np.uint64(high - low)]
    block = getattr(philox, f"{kind}_{stream_dtype(kind, np.dtype(dtype)).name}")
    found: list[Any] = []
    while len(found) < count:
        found.extend(block(*words))
        words[1] += np.uint64(1)
    return np.array(found[:count], dtype).reshape(size)


_STREAM = {"seed": 5, "counter": 3, "device": "cpu"}
_UNIFORM = {"size": (2, 3), "kind": "uniform", "dtype": "float32", "low": 0, "high": 0, **_STREAM}
_INTEGERS = {"size": (5,), "kind": "integers", "dtype": "int64", "low": -3, "high": 9, **_STREAM}


@op(samples=[Sample((), _UNIFORM), Sample((), _INTEGERS)], reference=_plain_items, differentiable=False)
def draw(*, size, kind, dtype, low, high, seed, counter, device):
    """A new tensor of "uniform" items in [0, 1), "normal" ones of mean 0 and variance 1, or "integers" in [low, high)."""


@draw.kernel("cpu")
def _(size: Shape, kind: str, dtype: str, low: int, high: int, seed: int, counter: int, device: str) -> Array:
    drawn = items(kind, np.dtype(dtype), math.prod(size), seed, counter, low, high)
    return dense_array(drawn, drawn.dtype, size, contiguous_strides(size))


@draw.kernel("cuda")
def _(size: Shape, kind: str, dtype: str, low: int, high: int, seed: int, counter: int, device: str) -> Array:
    drawn = items(kind, np.dtype(dtype), math.prod(size), seed, counter, low, high)
    return backend(device).from_host(drawn.reshape(size), device)


def _by_keys(n: int, seed: int, counter: int, dtype: str, **_: Any) -> np.ndarray:
    keys = _plain_items((n,), "integers", "int64", seed, counter, 0, _KEYS)
    return np.array(sorted(range(n), key=keys.__getitem__), dtype)


_KEYS = 2**63 - 1


@op(samples=[Sample((), {"n": 6, "dtype": "int64", **_STREAM})], reference=_by_keys, differentiable=False)
def permutation(*, n, dtype, seed, counter, device):
    """The integers from 0 to n - 1 in a random order: that of `n` random keys."""


@permutation.kernel("cpu")
@permutation.kernel("cuda")
def _(n: int, dtype: str, seed: int, counter: int, device: str) -> Array:
    keys = items("integers", np.dtype(np.int64), n, seed, counter, 0, _KEYS)
    return backend(device).from_host(np.argsort(keys, kind="stable").astype(dtype), device)


# ---------------------------------------------------------------------------------------------------- choices, counts
def _host(input: Any) -> np.ndarray:
    """The items of an operand in float64."""
    if isinstance(input, Array):
        input = backend(input.device).to_host(input)
    return input.astype(np.float64)


def _like(input: Any, values: np.ndarray) -> Array:
    return backend(input.device).from_host(values, input.device) if isinstance(input, Array) else cpu.from_host(values)


def _certain(weights: Any, num_samples: int, **_: Any) -> np.ndarray:
    return np.full((*weights.shape[:-1], num_samples), np.argmax(weights, -1)[..., None])


_ONE = [[0, 2, 0], [0, 0, 1]]


@op(samples=[Sample((_ONE,), {"num_samples": 1, "replacement": replacement, "seed": 5, "counter": 3})
             for replacement in (False, True)], reference=_certain, differentiable=False)  # fmt: skip
def multinomial(input, *, num_samples, replacement, seed, counter):
    """Indices drawn from the last dimension with probabilities proportional to `input`.

    With replacement, by inverting the distribution function; without, the indices whose exponential waiting times with
    these rates end first.
    """


@multinomial.kernel("cpu")
@multinomial.kernel("cuda")
def _(input: Any, num_samples: int, replacement: bool, seed: int, counter: int) -> Array:
    weights = _host(input)
    rows = weights.shape[:-1]
    shape = (*rows, num_samples) if replacement else weights.shape
    unit = items("uniform", np.dtype(np.float64), math.prod(shape), seed, counter).reshape(shape)
    if not replacement:
        with np.errstate(divide="ignore", invalid="ignore"):
            waiting = -np.log1p(-unit) / weights
        waiting[weights == 0] = np.inf
        return _like(input, np.ascontiguousarray(np.argsort(waiting, -1, kind="stable")[..., :num_samples]))
    found = np.empty(shape, np.int64)
    for row in np.ndindex(rows):
        reach = np.cumsum(weights[row])
        # The first index whose reach exceeds the point: one of weight 0 has the reach of its predecessor.
        found[row] = np.searchsorted(reach, unit[row] * reach[-1], side="right")
        np.minimum(found[row], np.flatnonzero(weights[row])[-1], out=found[row])
    return _like(input, found)


@op(samples=[Sample(([0, 0],), {"seed": 5, "counter": 3})], reference=lambda rate, **_: np.zeros_like(rate),
    differentiable=False)  # fmt: skip
def poisson_counts(input, *, seed, counter):
    """Counts from Poisson distributions with the rates `input`."""


@poisson_counts.kernel("cpu")
@poisson_counts.kernel("cuda")
def _(input: Any, seed: int, counter: int) -> Array:
    # A count takes a number of random words that depends on its value, so they come from a generator of their own.
    words = np.random.Generator(np.random.Philox(key=seed, counter=counter << 64))
    return _like(input, words.poisson(_host(input)).astype(input.dtype))


# ---------------------------------------------------------------------------------------------------- nodes
def _drawn(input, values):
    return values


def _drawn_for_two(input, other, values):
    return values


def _identity(g):
    return g


def _node(name: str, node: str, function: Any = _drawn) -> ElementwiseOp:
    """Declare an op that records a draw: its result is `values`, in the dtype of the first input, its gradient 0."""
    declared = elementwise(
        samples=Uniform(),
        reference=lambda *operands: np.broadcast_to(operands[-1], operands[0].shape),
        result="first",
        node=node,
        public=(),
        plain=("values",),
        name=name,
        doc="Random `values`, in the dtype of the first input.",
    )(function)
    for parameter in declared.inputs[:-1]:
        declared.constant_in(parameter)
    declared.grad("values", composite=True)(_identity)
    return declared


uniform_ = _node("uniform_", "UniformBackward0")
normal_ = _node("normal_", "NormalBackward0")
log_normal_ = _node("log_normal_", "LogNormalBackward0")
exponential_ = _node("exponential_", "ExponentialBackward0")
geometric_ = _node("geometric_", "GeometricBackward0")
cauchy_ = _node("cauchy_", "CauchyBackward0")
random_from = _node("random_.from", "RandomBackward0")
random_to = _node("random_.to", "RandomBackward1")
random_ = _node("random_", "RandomBackward2")
bernoulli = _node("bernoulli", "BernoulliBackward0")
bernoulli_tensor = _node("bernoulli_.tensor", "BernoulliBackward1", _drawn_for_two)
bernoulli_number = _node("bernoulli_.number", "BernoulliBackward2")
poisson = _node("poisson", "PoissonBackward0")
normal_mean = _node("normal.mean", "NormalBackward1")
normal_std = _node("normal.std", "NormalBackward2")
normal_both = _node("normal.both", "NormalBackward3", _drawn_for_two)
