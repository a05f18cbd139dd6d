"""The functions of kernels/vector_math measured in units in the last place: what tests/test_vector_*.py are made of.

A test file has a table of `Case`s and a few parametrised tests that call the checks below. float64 is compared with
mpmath, float32 with float64 functions, which are wrong by far less than a float32's last place.
"""

import functools
import importlib
import platform
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import mpmath
import numpy as np
import pytest
from numba import njit

from numgrad.kernels import vector_math

DTYPES = ("float32", "float64")
WORKING_BITS = 160
_LIBRARY = (
    "a?(?:cos|sin|tan)h?|atan2|sincos|exp(?:2|m1|10)?|log(?:2|10|1p|b)?|sqrt|cbrt|pow|hypot|erfc?|[lt]gamma|fma|fmod|"
    "remainder|ldexp|frexp|floor|ceil|trunc|rint|round|nearbyint"
)


@dataclass(frozen=True)
class Case:
    """One function: what it should give, where to look, and how exactly.

    Args:
        name: a key of `vector_math.MODULES`.
        exact: the function on mpmath numbers; a complex result means NaN.
        reference: the function on float64 arrays: what float32 is compared with, and the sign of zeros for both.
        ranges: intervals that are swept densely, by dtype; those under "both" for each.
        points: exact results, from Annex F of C99: argument (a tuple, of several) to result. That NaN gives NaN for
            one argument is checked for every function.
        ulps: how much a result may be wrong.
    """

    name: str
    exact: Callable[..., Any]
    reference: Callable[..., np.ndarray]
    ranges: dict[str, list[Any]] = field(default_factory=dict)
    points: dict[Any, float] = field(default_factory=dict)
    ulps: float = 2.0
    arguments: int = 1


@functools.cache
def loop_of(name, dtype, arguments=1):
    """The loop that generated kernels contain, compiled once for all tests."""
    module = importlib.import_module(f"{vector_math.__name__}.{vector_math.MODULES[name]}")
    function = getattr(module, f"{name}_{dtype}")

    def one(x, out):
        for i in range(out.shape[0]):
            out[i] = function(x[i])

    def two(x, y, out):
        for i in range(out.shape[0]):
            out[i] = function(x[i], y[i])

    return njit(error_model="numpy")(one if arguments == 1 else two)


def evaluate(name, *xs):
    """The function of arrays of one dtype."""
    out = np.empty_like(xs[0])
    loop_of(name, out.dtype.name, len(xs))(*xs, out)
    return out


def random_bits(rng, dtype, count):
    """Numbers with random bit patterns: every exponent, both signs, subnormals, infinities, NaN."""
    unsigned = np.uint32 if dtype == "float32" else np.uint64
    return rng.integers(0, np.iinfo(unsigned).max, count, dtype=unsigned, endpoint=True).view(dtype)


def special_values(dtype):
    """Zeros, infinities, NaN, the smallest and largest numbers, halves and neighbours of small integers."""
    info = np.finfo(dtype)
    subnormals = np.arange(1, 50) * float(info.smallest_subnormal)
    edges = [float(info.smallest_normal), float(np.nextafter(info.smallest_normal, 0)), float(info.max)]
    near = [x for n in (0.5, 1.0, 1.5, 2.0, 3.0) for x in (n, n * (1 - float(info.epsneg)), n * (1 + float(info.eps)))]
    values = np.array([0.0, *subnormals, *edges, *near, np.inf, np.nan]).astype(dtype)
    return np.concatenate([values, -values])


def sweep(case, dtype, count):
    """Arguments of a function of one: random bits, special values, and dense points in the ranges of the case."""
    parts = [random_bits(np.random.default_rng(7), dtype, count), special_values(dtype)]
    for low, high in [*case.ranges.get("both", []), *case.ranges.get(dtype, [])]:
        parts.append(np.linspace(low, high, count // 4).astype(dtype))
    return np.concatenate(parts)


def exact_value(case, *arguments):
    """The value of a case at Python floats, an mpmath number."""
    value = case.exact(*map(mpmath.mpf, arguments))
    return value if isinstance(value, mpmath.mpf) else mpmath.nan if isinstance(value, mpmath.mpc) else mpmath.mpf(value)


def errors(case, *xs):
    """The errors of all results, in units in the last place of the exact one (0 where that is NaN or infinite).

    Raises:
        AssertionError: NaN or an infinity is not where it should be, or a sign is wrong (also of zero).
    """
    got = evaluate(case.name, *xs)
    with np.errstate(all="ignore"):
        reference = case.reference(*(x.astype(np.float64) for x in xs))
    if got.dtype == np.float32:
        with np.errstate(over="ignore", under="ignore"):
            rounded = reference.astype(np.float32)
        _assert_same_special(case, xs, got, rounded)
        finite = np.isfinite(rounded)
        difference = np.abs(got[finite].astype(np.float64) - reference[finite])
    else:
        with mpmath.workprec(WORKING_BITS):
            exact = [exact_value(case, *arguments) for arguments in zip(*(x.tolist() for x in xs), strict=True)]
            rounded = np.array([float(value) for value in exact])
            _assert_same_special(case, xs, got, np.copysign(rounded, reference))
            finite = np.isfinite(rounded)
            places = np.flatnonzero(finite)
            difference = np.array([float(abs(mpmath.mpf(float(got[i])) - exact[i])) for i in places])
    result = np.zeros(got.shape)
    result[finite] = difference / last_places(rounded[finite]).astype(np.float64)
    return result


def last_places(x):
    """The units in the last place of finite numbers (`np.spacing` overflows for the largest)."""
    return np.spacing(np.minimum(np.abs(x), np.nextafter(np.finfo(x.dtype).max, 0)))


def _assert_same_special(case, xs, got, expected):
    wrong = np.isnan(got) != np.isnan(expected)
    numbers = ~np.isnan(expected)
    wrong |= numbers & (np.signbit(got) != np.signbit(expected))
    wrong |= numbers & (np.isinf(got) != np.isinf(expected))
    if wrong.any():
        i = int(np.flatnonzero(wrong)[0])
        raise AssertionError(
            f"{_call(case, xs, i)} is {got[i]!r} instead of {expected[i]!r}, and {wrong.sum()} such of {len(got)}"
        )


def _call(case, xs, i):
    return f"{case.name}({', '.join(repr(x[i].item()) for x in xs)}), {xs[0].dtype.name},"


# ---------------------------------------------------------------------------------------------------- checks
def assert_within_ulps(case, *xs):
    """Every result is within `case.ulps` of the exact one."""
    error = errors(case, *xs)
    worst = int(np.argmax(error))
    assert error[worst] <= case.ulps, f"{_call(case, xs, worst)} is wrong by {error[worst]:.2f} ulp"


def assert_points(case, dtype):
    """The exact results of a case, to the sign of zero; and NaN for NaN."""
    arguments = [a if isinstance(a, tuple) else (a,) for a in case.points]
    results = list(case.points.values())
    if case.arguments == 1:
        arguments, results = [*arguments, (np.nan,)], [*results, np.nan]
    xs = [np.array(column).astype(dtype) for column in zip(*arguments, strict=True)]
    got, expected = evaluate(case.name, *xs), np.array(results).astype(dtype)
    np.testing.assert_array_equal(got, expected)
    numbers = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(got[numbers]), np.signbit(expected[numbers]))


def assert_same_everywhere(name, dtype, arguments=1):
    """The vector body and the scalar remainder of a loop compute the same bits."""
    for number in (0.7, 1.7):  # of which atanh and acosh have one each
        got = evaluate(name, *[np.full(67, number, dtype)] * arguments)
        assert len({item.tobytes() for item in got}) == 1


needs_x86 = pytest.mark.skipif(
    platform.machine().lower() not in ("x86_64", "amd64"), reason="looks for x86-64 instructions"
)


def assert_vectorised(name, dtype, arguments=1):
    """The loop has packed multiplications and additions of the dtype it computes in, and no call of the C library."""
    loop = loop_of(name, dtype, arguments)
    ones = np.ones(3, dtype)
    loop(*[ones] * arguments, ones.copy())
    (assembly,) = loop.inspect_asm().values()
    suffix = "p[sd]" if dtype == "float32" else "pd"  # some work in float64 for a while
    assert re.search(rf"\bv?(mul|fn?m(add|sub)\d+){suffix}\s.*%[xyz]mm", assembly), f"{name} has no packed product"
    assert re.search(rf"\bv?(add|sub|fn?m(add|sub)\d+){suffix}\s.*%[xyz]mm", assembly), f"{name} has no packed sum"
    called = re.search(rf"(?<![\w.])({_LIBRARY})f?(?![\w.])", assembly)
    assert not called, f"{name} calls the C library: {called}"
