"""exp, log and tanh of kernels/vector_math against mpmath and, for float32, NumPy's float64 functions."""

import functools
import importlib
import math
import platform
import re

import mpmath
import numpy as np
import pytest
from numba import njit

from numgrad.kernels import vector_math

NAMES = ("exp", "log", "tanh")
DTYPES = ("float32", "float64")
MAX_ULP = 2.0


@functools.cache
def loop_of(name, dtype):
    """The loop that generated kernels contain, compiled once for all tests."""
    module = importlib.import_module(f"{vector_math.__name__}.{vector_math.MODULES[name]}")
    function = getattr(module, f"{name}_{dtype}")

    @njit(error_model="numpy")
    def loop(x, out):
        for i in range(out.shape[0]):
            out[i] = function(x[i])

    return loop


def evaluate(name, x):
    out = np.empty_like(x)
    loop_of(name, x.dtype.name)(x, out)
    return out


def sweep(name, dtype, count):
    """Random bit patterns (every exponent, both signs, subnormals) and dense points where the function is delicate."""
    rng = np.random.default_rng(7)
    unsigned, last = (np.uint32, 0xFFFF_FFFF) if dtype == "float32" else (np.uint64, 0xFFFF_FFFF_FFFF_FFFF)
    parts = [rng.integers(0, last, count, dtype=unsigned, endpoint=True).view(dtype)]
    low, high = {"float32": (-104.0, 88.73), "float64": (-745.2, 709.79)}[dtype]
    subnormal_results = {"float32": (-104.0, -87.0), "float64": (-745.2, -708.0)}[dtype]
    ranges = {
        "exp": [(low, high), (-1.0, 1.0), (0.34, 0.35), subnormal_results],
        "log": [(0.0, 4.0), (0.99, 1.01), (0.70, 0.72), (1.40, 1.42)],
        "tanh": [(-22.0, 22.0), (-1.0, 1.0), (0.62, 0.66), (-0.01, 0.01)],
    }
    parts += [np.linspace(a, b, count // 4).astype(dtype) for a, b in ranges[name]]
    tiny = float(np.finfo(dtype).smallest_subnormal)
    parts.append((np.arange(1, 50) * tiny).astype(dtype))
    return np.concatenate(parts)


def assert_same_special(got, expected):
    """NaN where NaN is due, the right infinity where one is due, finite elsewhere."""
    np.testing.assert_array_equal(np.isnan(got), np.isnan(expected))
    infinite = np.isinf(expected)
    np.testing.assert_array_equal(np.isinf(got), infinite)
    np.testing.assert_array_equal(got[infinite], expected[infinite])


@pytest.mark.parametrize("name", NAMES)
def test_float32_is_within_two_ulp(name):
    x = sweep(name, "float32", 200_000)
    with np.errstate(all="ignore"):
        exact = getattr(np, name)(x.astype(np.float64))  # wrong by some 2**-52, far below 2**-24
        rounded = exact.astype(np.float32)
    got = evaluate(name, x)
    assert_same_special(got, rounded)
    finite = np.isfinite(rounded)
    error = np.abs(got[finite].astype(np.float64) - exact[finite])
    assert np.max(error / np.spacing(np.abs(rounded[finite])).astype(np.float64)) <= MAX_ULP
    np.testing.assert_array_equal(np.signbit(got[finite]), np.signbit(rounded[finite]))


def exact_float64(name, value):
    if math.isnan(value) or (name == "log" and value < 0):
        return mpmath.nan
    if abs(value) > 800 and name != "log":  # beyond the range where mpmath would compute astronomically large numbers
        limits = {"exp": (0, mpmath.inf), "tanh": (-1, 1)}[name]
        return mpmath.mpf(limits[value > 0])
    return getattr(mpmath, name)(mpmath.mpf(value))


@pytest.mark.parametrize("name", NAMES)
def test_float64_is_within_two_ulp(name):
    x = sweep(name, "float64", 2000)
    got = evaluate(name, x)
    with mpmath.workprec(120):
        exact = [exact_float64(name, value) for value in x.tolist()]
        rounded = np.array([float(value) for value in exact])
        assert_same_special(got, rounded)
        for i in np.flatnonzero(np.isfinite(rounded)):
            error = abs(mpmath.mpf(float(got[i])) - exact[i])
            assert error <= MAX_ULP * float(np.spacing(abs(rounded[i]))), f"{name}({x[i]!r}) gave {got[i]!r}"


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("name", "points"),
    [
        ("exp", {0.0: 1.0, math.inf: math.inf, -math.inf: 0.0, 1e4: math.inf, -1e4: 0.0}),
        ("exp", {-0.0: 1.0}),
        ("log", {1.0: 0.0, math.inf: math.inf, 0.0: -math.inf, -1.0: math.nan, -math.inf: math.nan}),
        ("log", {-0.0: -math.inf}),
        ("tanh", {0.0: 0.0, math.inf: 1.0, -math.inf: -1.0, 30.0: 1.0, -30.0: -1.0}),
        ("tanh", {-0.0: -0.0}),
    ],
)
def test_exact_cases(name, points, dtype):
    x = np.array([*points, math.nan], dtype)
    expected = np.array([*points.values(), math.nan], dtype)
    got = evaluate(name, x)
    np.testing.assert_array_equal(got, expected)
    np.testing.assert_array_equal(np.signbit(got[:-1]), np.signbit(expected[:-1]))


@pytest.mark.parametrize("dtype", DTYPES)
def test_exp_turns_to_infinity_and_zero_at_the_right_items(dtype):
    info = np.finfo(dtype)
    with mpmath.workprec(120):
        largest = np.array([float(mpmath.log(mpmath.mpf(float(info.max))))], dtype)
        smallest = np.array([float(mpmath.log(mpmath.mpf(float(info.smallest_subnormal)) / 2))], dtype)
    step = np.abs(np.spacing(largest))
    assert np.isfinite(evaluate("exp", largest - 2 * step))
    assert np.isinf(evaluate("exp", largest + 2 * step))
    assert evaluate("exp", smallest + 2 * step) == info.smallest_subnormal
    assert evaluate("exp", smallest - 2 * step) == 0


@pytest.mark.parametrize("dtype", DTYPES)
def test_results_do_not_depend_on_the_place_in_the_loop(dtype):
    """The vector body and the scalar remainder of a loop compute the same bits."""
    x = np.full(67, 0.7, dtype)
    for name in NAMES:
        assert len(set(evaluate(name, x).tolist())) == 1


@pytest.mark.skipif(platform.machine().lower() not in ("x86_64", "amd64"), reason="looks for x86-64 instructions")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_loops_are_vectorised(name, dtype):
    loop = loop_of(name, dtype)
    evaluate(name, np.ones(3, dtype))
    (assembly,) = loop.inspect_asm().values()
    suffix = "ps" if dtype == "float32" else "pd"
    assert re.search(rf"\bv?mul{suffix}\s.*%[xyz]mm", assembly)
    assert re.search(rf"\bv?(add|fn?madd\d+){suffix}\s.*%[xyz]mm", assembly)
    assert not re.search(rf"\b{name}f?\b(?!_)", assembly), "calls the C library"
