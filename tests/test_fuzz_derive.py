"""Random scalar programs: values and derivatives of orders 1 and 2 against Python's own execution of their text.

Each run draws new programs. `NUMGRAD_FUZZ_SEED=123` repeats one (the seed is printed when it fails), and
`NUMGRAD_FUZZ_PROGRAMS` sets how many there are.
"""

from __future__ import annotations

import itertools
import math
import os
import random
from collections.abc import Iterator, Sequence
from typing import Any

import numba
import numpy as np
import pytest
from scalar_programs import Program, compiled
from simt_runtime import SimulatedRuntime, installed
from taylor import Taylor

from numgrad.kernels import cuda
from numgrad.kernels.derive import vjp
from numgrad.kernels.lower import lower
from numgrad.kernels.scalar_ir import Function, as_python

PROGRAMS = int(os.environ.get("NUMGRAD_FUZZ_PROGRAMS", 300))
REALS = 3  # parameters that have derivatives


@pytest.fixture
def seed() -> int:
    drawn = int(os.environ.get("NUMGRAD_FUZZ_SEED", random.SystemRandom().getrandbits(32)))
    print(f"NUMGRAD_FUZZ_SEED={drawn}")
    return drawn


def values(function: Any, *arguments: Any) -> list[float]:
    found = function(*arguments)
    return list(found) if isinstance(found, tuple) else [found]


def evaluated(program: Program, point: Sequence[Any]) -> tuple[tuple[float, ...], list[Taylor]] | None:
    """The program's values, and the same with derivatives; None where float64 decides nothing."""
    try:
        expected, exact = program.run(point), program.differentiate(point)
    except (OverflowError, ValueError, ZeroDivisionError):  # sin(inf), floor(nan), huge ** 2
        return None
    sizes = [size for taylor in exact for size in (*taylor.first_size, *taylor.second_size, abs(taylor.value))]
    return (expected, exact) if all(size < 1e60 for size in sizes) else None


def first_order(exact: Sequence[Taylor], weights: Sequence[float]) -> list[tuple[float, float]]:
    """The gradient by each real, contracted with a weight for each output, and its size."""
    return [
        (
            math.fsum(g * t.first[i] for g, t in zip(weights, exact, strict=True)),
            math.fsum(abs(g) * t.first_size[i] for g, t in zip(weights, exact, strict=True)),
        )
        for i in range(REALS)
    ]


def second_order(
    exact: Sequence[Taylor], weights: Sequence[float], outer: Sequence[float]
) -> list[tuple[float, float]]:
    """Derivatives of the gradients, contracted with `outer`, by each real and by each of `weights`."""
    found = []
    for i in range(REALS):
        terms = [
            (g * h * t.hessian(i, k)[0], abs(g * h) * t.hessian(i, k)[1])
            for g, t in zip(weights, exact, strict=True)
            for k, h in enumerate(outer)
        ]
        found.append((math.fsum(term for term, _ in terms), math.fsum(size for _, size in terms)))
    for t in exact:
        found.append(
            (
                math.fsum(h * d for h, d in zip(outer, t.first, strict=True)),
                math.fsum(abs(h) * s for h, s in zip(outer, t.first_size, strict=True)),
            )
        )
    return found


def close(found: Sequence[float], expected: Sequence[tuple[float, float]], tolerance: float = 1e-9) -> bool:
    """Whether values differ by no more than rounding can explain."""
    return len(found) == len(expected) and all(
        abs(value - reference) <= tolerance * (size + 1e-3)
        for value, (reference, size) in zip(found, expected, strict=True)
    )


def derivatives(program: Program, orders: int) -> list[Function]:
    """The program, its gradient by the reals, and the gradient of that by the reals and the cotangents."""
    function = lower(program.function)
    gradient = vjp(function, range(REALS))
    if orders == 1:
        return [function, gradient]
    count = len(function.parameters)
    return [function, gradient, vjp(gradient, [*range(REALS), *range(count, count + program.outputs)])]


def check(program: Program, orders: int, rng: random.Random, context: object) -> int:
    """Compare a program with Python at a few points; at how many it could be compared."""
    function, gradient, *second = map(as_python, derivatives(program, orders))
    compared = 0
    for _ in range(4):
        point = program.point(rng)
        found = evaluated(program, point)
        if found is None:
            continue
        expected, exact = found
        assert tuple(values(function, *point)) == expected, (context, point)
        weights = [1.0 + 0.1 * k for k in range(program.outputs)]
        outer = [0.7, 1.1, -0.4]
        try:
            once = values(gradient, *point, *weights)
            twice = values(second[0], *point, *weights, *outer) if second else []
        except ZeroDivisionError:  # the root of a variable that holds the constant 0 here: infinity in a kernel
            continue
        assert close(once, first_order(exact, weights)), (context, point, once, first_order(exact, weights))
        if second:
            reference = second_order(exact, weights, outer)
            assert close(twice, reference), (context, point, twice, reference)
        compared += 1
    return compared


def test_random_programs(seed: int) -> None:
    """Each has a seed of its own, so that one that fails can be run alone. Order 2, whose text is long, for every third."""
    compared = 0
    for k in range(PROGRAMS):
        rng = random.Random(seed + k)
        program = Program(rng)
        compared += check(program, 1 + (k % 3 == 0), rng, f"seed {seed + k}\n{program.source}") > 0
    assert compared > 0.8 * PROGRAMS


def short_programs(seed: int, count: int) -> Iterator[tuple[Program, random.Random, str]]:
    """Programs that compile in reasonable time, each with its generator and what to say when it fails."""
    found = 0
    for k in itertools.count(seed):
        rng = random.Random(k)
        program = Program(rng)
        if program.source.count("\n") < 80:
            yield program, rng, f"seed {k}\n{program.source}"
            found += 1
        if found == count:
            return


def points_of(program: Program, rng: random.Random, count: int) -> list[tuple[list[Any], tuple[float, ...], Any]]:
    """Points where the program is well conditioned, with its values and derivatives there.

    Compilers round otherwise than Python in the last place, which a program may magnify at will.
    """
    found = []
    for _ in range(20 * count):
        point = program.point(rng)
        result = evaluated(program, point)
        if result is not None and all(size < 1e4 for t in result[1] for size in (*t.first_size, abs(t.value))):
            found.append((point, *result))
    return found[:count]


def test_random_programs_compiled_by_numba(seed: int) -> None:
    for program, rng, context in short_programs(seed, 8):
        function, gradient = (compiled(each, np.float64) for each in derivatives(program, 1))
        weights = [1.0 + 0.1 * i for i in range(program.outputs)]
        for point, expected, exact in points_of(program, rng, 10):
            np.testing.assert_allclose(values(function, *point), expected, 1e-9, 1e-9, err_msg=context)
            once = values(gradient, *point, *weights)
            assert close(once, first_order(exact, weights), 1e-6), (context, point, once, exact[0].first)


def test_random_programs_stay_in_float32(seed: int) -> None:
    for program, _, context in short_programs(seed, 2):
        for each in derivatives(program, 1):
            kernel = compiled(each, np.float32)
            reals = [np.float32(0.5)] * REALS
            kernel(*reals, 2, True, *[np.float32(1.0)] * (len(each.parameters) - REALS - 2))
            (signature,) = kernel.nopython_signatures
            returned = signature.return_type
            for result in returned if isinstance(returned, numba.types.BaseTuple) else (returned,):
                assert result == numba.float32, context
            (llvm,) = kernel.inspect_llvm().values()
            for body in llvm.split("\ndefine ")[1:]:
                name, _, code = body.partition("(")
                assert "cpython" in name or " fpext " not in code.partition("\n}\n")[0], (name, context)


def test_random_programs_as_cuda_kernels(seed: int) -> None:
    """The texts for the CUDA device, interpreted: every thread is a point."""
    float64 = np.dtype(np.float64)
    for program, rng, context in short_programs(seed, 8):
        weights = [1.0 + 0.1 * i for i in range(program.outputs)]
        points = points_of(program, rng, 6)
        if not points:
            continue
        columns = [np.array(column) for column in zip(*(point for point, _, _ in points), strict=True)]
        columns += [np.full(len(points), weight) for weight in weights]
        function, gradient = derivatives(program, 1)
        with installed(SimulatedRuntime()):
            results = []
            for each in (function, gradient):
                outs = [cuda.empty((len(points),), float64) for _ in range(each.outputs)]
                inputs = [cuda.from_host(column) for column in columns[: len(each.parameters)]]
                cuda.map(each, float64, inputs, outs)
                results.append(np.stack([cuda.to_host(out) for out in outs], axis=1))
        for (point, expected, exact), value, once in zip(points, *results, strict=True):
            assert np.allclose(value, expected, 1e-9, 1e-9), (context, point, value, expected)
            assert close(once.tolist(), first_order(exact, weights), 1e-6), (context, point, once)
