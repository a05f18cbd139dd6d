"""Exponentials, logarithms, powers and hyperbolic functions of kernels/vector_math, and the kernels that call them.

Errors are against mpmath and, for float32, NumPy's float64 functions; exact cases are those of C99's Annex F.
"""

import math

import mpmath
import numpy as np
import pytest
import ulp
from ulp import Case

from numgrad.kernels import cpu, derive, special_functions, vector_math
from numgrad.kernels.lower import lower
from numgrad.kernels.scalar_ir import as_python

_FAR = {"float32": [(-89.42, 89.42)], "float64": [(-710.48, 710.48)]}


def _logistic(x):
    return mpmath.mpf(x > 0) if abs(x) > 800 else 1 / (1 + mpmath.exp(-x))


CASES = [
    Case(
        "exp",
        mpmath.exp,
        np.exp,
        ranges={
            "both": [(-1.0, 1.0), (0.34, 0.35)],
            "float32": [(-104.0, 88.73), (-104.0, -87.0)],
            "float64": [(-745.2, 709.79), (-745.2, -708.0)],
        },
        points={0.0: 1.0, -math.inf: 0.0, math.inf: math.inf, 1e4: math.inf, -1e4: 0.0},
    ),
    Case(
        "exp2",
        lambda x: mpmath.power(2, x),
        np.exp2,
        ranges={
            "both": [(-1.0, 1.0), (0.49, 0.51)],
            "float32": [(-150.0, 128.0), (-150.0, -126.0)],
            "float64": [(-1076.0, 1024.0), (-1076.0, -1021.0)],
        },
        points={0.0: 1.0, 10.0: 1024.0, -1.0: 0.5, -math.inf: 0.0, math.inf: math.inf, 1024.0: math.inf, -1e4: 0.0},
    ),
    Case(
        "expm1",
        mpmath.expm1,
        np.expm1,
        ranges={
            "both": [(-1.0, 1.0), (0.34, 0.36), (-0.36, -0.34), (-40.0, 5.0)],
            "float32": [(80.0, 88.73)],
            "float64": [(5.0, 709.79)],
        },
        points={0.0: 0.0, -math.inf: -1.0, math.inf: math.inf, -1e4: -1.0, 1e4: math.inf},
    ),
    Case(
        "sigmoid",
        _logistic,
        lambda x: np.where(x < -40, np.exp(x), 1 / (1 + np.exp(-x))),
        ranges={
            "both": [(-40.0, 40.0), (-1.5, 1.5), (-5.0, -4.0)],
            "float32": [(-104.0, -87.0)],
            "float64": [(-745.2, -708.0)],
        },
        points={0.0: 0.5, -math.inf: 0.0, math.inf: 1.0, 1e4: 1.0, -1e4: 0.0},
    ),
    Case(
        "log",
        mpmath.log,
        np.log,
        ranges={"both": [(0.0, 4.0), (0.99, 1.01), (0.70, 0.72), (1.40, 1.42)]},
        points={1.0: 0.0, 0.0: -math.inf, math.inf: math.inf, -1.0: math.nan, -math.inf: math.nan},
    ),
    Case(
        "log2",
        lambda x: mpmath.log(x, 2),
        np.log2,
        ranges={"both": [(0.0, 4.0), (0.99, 1.01), (0.70, 0.72), (1.40, 1.42)]},
        points={1.0: 0.0, 8.0: 3.0, 0.0: -math.inf, math.inf: math.inf, -1.0: math.nan, -math.inf: math.nan},
    ),
    Case(
        "log10",
        mpmath.log10,
        np.log10,
        ranges={"both": [(0.0, 4.0), (0.99, 1.01), (0.70, 0.72), (1.40, 1.42), (0.0, 1000.0)]},
        points={1.0: 0.0, 1000.0: 3.0, 0.0: -math.inf, math.inf: math.inf, -1.0: math.nan, -math.inf: math.nan},
    ),
    Case(
        "log1p",
        mpmath.log1p,
        np.log1p,
        ranges={"both": [(-1.0, 3.0), (-0.30, -0.28), (0.40, 0.43), (-0.01, 0.01)]},
        points={0.0: 0.0, -1.0: -math.inf, math.inf: math.inf, -2.0: math.nan, -math.inf: math.nan},
    ),
    Case(
        "softplus",
        lambda x: max(x, mpmath.mpf(0)) + mpmath.log1p(mpmath.exp(-abs(x))) if abs(x) < 1e6 else max(x, mpmath.mpf(0)),
        lambda x: np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x))),
        ranges={
            "both": [(-40.0, 40.0), (-1.5, 1.5), (-0.01, 0.01)],
            "float32": [(-104.0, -87.0)],
            "float64": [(-745.2, -708.0)],
        },
        points={0.0: math.log(2), -math.inf: 0.0, math.inf: math.inf, 1e4: 1e4, -1e4: 0.0},
    ),
    Case(
        "cbrt",
        lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)),
        np.cbrt,
        ranges={"both": [(-8.0, 8.0), (0.35, 0.36), (0.70, 0.72), (1.40, 1.42)]},
        points={0.0: 0.0, 1.0: 1.0, -27.0: -3.0, 0.125: 0.5, math.inf: math.inf, -math.inf: -math.inf},
    ),
    Case(
        "tanh",
        mpmath.tanh,
        np.tanh,
        ranges={"both": [(-22.0, 22.0), (-1.0, 1.0), (0.17, 0.21), (0.45, 0.55), (-0.01, 0.01)]},
        points={0.0: 0.0, math.inf: 1.0, -math.inf: -1.0, 30.0: 1.0, -30.0: -1.0},
    ),
    Case(
        "sinh",
        mpmath.sinh,
        np.sinh,
        ranges={"both": [(-22.0, 22.0), (0.9, 1.5), (-0.01, 0.01)], **_FAR},
        points={0.0: 0.0, math.inf: math.inf, -math.inf: -math.inf, 1e4: math.inf, -1e4: -math.inf},
    ),
    Case(
        "cosh",
        mpmath.cosh,
        np.cosh,
        ranges={"both": [(-22.0, 22.0), (-1.0, 1.0), (0.34, 0.35)], **_FAR},
        points={0.0: 1.0, math.inf: math.inf, -math.inf: math.inf, 1e4: math.inf, -1e4: math.inf},
    ),
    Case(
        "asinh",
        mpmath.asinh,
        np.arcsinh,
        ranges={"both": [(-22.0, 22.0), (-1.0, 1.0), (0.34, 0.37), (1000.0, 10000.0)]},
        points={0.0: 0.0, math.inf: math.inf, -math.inf: -math.inf},
    ),
    Case(
        "acosh",
        mpmath.acosh,
        np.arccosh,
        ranges={"both": [(1.0, 22.0), (1.0, 1.1), (1.0, 1.001), (1000.0, 10000.0)]},
        points={1.0: 0.0, math.inf: math.inf, 0.5: math.nan, 0.0: math.nan, -2.0: math.nan, -math.inf: math.nan},
    ),
    Case(
        "atanh",
        mpmath.atanh,
        np.arctanh,
        ranges={"both": [(-1.0, 1.0), (0.17, 0.25), (0.4, 0.5), (-0.01, 0.01), (0.999, 1.0)]},
        points={0.0: 0.0, 1.0: math.inf, -1.0: -math.inf, 2.0: math.nan, math.inf: math.nan, -math.inf: math.nan},
    ),
]
FUNCTIONS = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
DTYPES = pytest.mark.parametrize("dtype", ulp.DTYPES)
NAMES = [(case.name, case.arguments) for case in CASES] + [("pow", 2)]


@FUNCTIONS
@pytest.mark.parametrize(("dtype", "count"), [("float32", 200_000), ("float64", 2000)])
def test_errors_stay_within_the_promised_ulps(case, dtype, count):
    ulp.assert_within_ulps(case, ulp.sweep(case, dtype, count))


@DTYPES
@FUNCTIONS
def test_exact_cases(case, dtype):
    ulp.assert_points(case, dtype)


@DTYPES
@pytest.mark.parametrize(("name", "arguments"), NAMES)
def test_results_do_not_depend_on_the_place_in_the_loop(name, arguments, dtype):
    ulp.assert_same_everywhere(name, dtype, arguments)


@ulp.needs_x86
@DTYPES
@pytest.mark.parametrize(("name", "arguments"), NAMES)
def test_loops_are_vectorised(name, arguments, dtype):
    ulp.assert_vectorised(name, dtype, arguments)


# ---------------------------------------------------------------------------------------------------- edges
@DTYPES
@pytest.mark.parametrize(
    ("name", "largest", "smallest"),
    [
        ("exp", mpmath.log, mpmath.log),
        ("exp2", lambda x: mpmath.log(x, 2), lambda x: mpmath.log(x, 2)),
        ("expm1", mpmath.log, None),
        ("sinh", mpmath.asinh, None),
        ("cosh", mpmath.acosh, None),
    ],
)
def test_infinity_and_zero_begin_at_the_right_items(name, largest, smallest, dtype):
    info = np.finfo(dtype)
    with mpmath.workprec(120):
        last = np.array([float(largest(mpmath.mpf(float(info.max))))], dtype)
        first = smallest and np.array([float(smallest(mpmath.mpf(float(info.smallest_subnormal)) / 2))], dtype)
    step = np.spacing(last)
    assert np.isfinite(ulp.evaluate(name, last - 2 * step))
    assert np.isinf(ulp.evaluate(name, last + 2 * step))
    if smallest:
        assert ulp.evaluate(name, first + 2 * step) == info.smallest_subnormal
        assert ulp.evaluate(name, first - 2 * step) == 0


@DTYPES
def test_powers_of_two_and_ten_and_cubes_are_exact(dtype):
    info = np.finfo(dtype)
    exponents = np.arange(info.minexp - info.nmant, info.maxexp).astype(dtype)
    powers = np.ldexp(np.ones(len(exponents), dtype), exponents.astype(int))
    np.testing.assert_array_equal(ulp.evaluate("exp2", exponents), powers)
    np.testing.assert_array_equal(ulp.evaluate("log2", powers), exponents)
    tens = np.arange(-35, 35).astype(dtype)
    np.testing.assert_array_equal(ulp.evaluate("log10", np.array([float(f"1e{n:.0f}") for n in tens], dtype)), tens)
    roots = np.arange(-250, 250).astype(dtype)
    np.testing.assert_array_equal(ulp.evaluate("cbrt", roots**3), roots)


# ---------------------------------------------------------------------------------------------------- pow
def _exact_power(x, y):
    if x == 0 or y == 0 or abs(x) == 1 or not (mpmath.isfinite(x) and mpmath.isfinite(y)) or (x < 0 and y % 1 != 0):
        with np.errstate(all="ignore"):
            return mpmath.mpf(float(np.power(float(x), float(y))))  # no rounding here; the cases are a test below
    return (-1 if x < 0 and y % 2 else 1) * mpmath.exp(y * mpmath.log(abs(x)))


POW = Case("pow", _exact_power, np.power, ulps=4.0, arguments=2)


def _power_arguments(dtype, count):
    """Pairs: random bits; special values; results over the whole range from all bases, and from bases near 1."""
    rng = np.random.default_rng(11)
    special = np.concatenate([ulp.special_values(dtype), np.array([-2, -0.25, 4, 1e10, 33, 34]).astype(dtype)])[::3]
    yield ulp.random_bits(rng, dtype, count), ulp.random_bits(rng, dtype, count)
    yield tuple(side.ravel() for side in np.meshgrid(special, special))
    yield -rng.uniform(0.1, 5, count).astype(dtype), rng.integers(-20, 20, count).astype(dtype)
    anywhere = np.abs(ulp.random_bits(rng, dtype, count))
    anywhere = anywhere[np.isfinite(anywhere) & (anywhere > 0)]
    digits = np.finfo(dtype).nmant
    near_one = (1 + rng.choice([-1, 1], count) * 2.0 ** -rng.uniform(1, digits - 1, count)).astype(dtype)
    lowest, highest = {"float32": (-152, 128), "float64": (-1078, 1024)}[dtype]
    for base in (anywhere, near_one, rng.uniform(0.1, 10, count).astype(dtype)):
        yield base, (rng.uniform(lowest, highest, len(base)) / np.log2(base.astype(np.float64))).astype(dtype)


@pytest.mark.parametrize(("dtype", "count"), [("float32", 100_000), ("float64", 1500)])
def test_errors_of_pow_stay_within_four_ulps(dtype, count):
    for x, y in _power_arguments(dtype, count):
        ulp.assert_within_ulps(POW, x, y)


_ODD, _EVEN, _BROKEN = (1.0, 3.0, 7.0), (2.0, 4.0, 1e30), (0.5, 1.5, 2.5)
_NAN, _INF = math.nan, math.inf
POWERS = [
    *[(zero, -y, math.copysign(_INF, zero)) for zero in (0.0, -0.0) for y in _ODD],
    *[(zero, -y, _INF) for zero in (0.0, -0.0) for y in (*_EVEN, *_BROKEN, _INF)],
    *[(zero, y, zero) for zero in (0.0, -0.0) for y in _ODD],
    *[(zero, y, 0.0) for zero in (0.0, -0.0) for y in (*_EVEN, *_BROKEN, _INF)],
    *[(-1.0, y, 1.0) for y in (_INF, -_INF, 2.0, -4.0)],
    *[(-1.0, y, -1.0) for y in _ODD],
    *[(1.0, y, 1.0) for y in (_NAN, _INF, -_INF, 0.3, -1e30)],
    *[(x, y, 1.0) for x in (_NAN, 0.0, -0.0, _INF, -_INF, -2.5) for y in (0.0, -0.0)],
    *[(x, y, _NAN) for x in (-1e-3, -1.0, -3.0) for y in (0.5, -1.5, 1e-30)],
    *[(x, -_INF, _INF) for x in (0.5, -0.5, 1e-30)],
    *[(x, -_INF, 0.0) for x in (2.0, -2.0, _INF, -_INF)],
    *[(x, _INF, 0.0) for x in (0.5, -0.5, 1e-30)],
    *[(x, _INF, _INF) for x in (2.0, -2.0, _INF, -_INF)],
    *[(-_INF, -y, -0.0) for y in _ODD],
    *[(-_INF, -y, 0.0) for y in (*_EVEN, *_BROKEN)],
    *[(-_INF, y, -_INF) for y in _ODD],
    *[(-_INF, y, _INF) for y in (*_EVEN, *_BROKEN)],
    *[(_INF, -y, 0.0) for y in (*_ODD, *_EVEN, *_BROKEN)],
    *[(_INF, y, _INF) for y in (*_ODD, *_EVEN, *_BROKEN)],
    *[(_NAN, y, _NAN) for y in (1.0, -2.0, 0.5, _INF, _NAN)],
    *[(x, _NAN, _NAN) for x in (0.0, -1.0, 2.0, _INF, -_INF)],
    *[(-3.0, 3.0, -27.0), (-2.0, -2.0, 0.25), (10.0, 2.0, 100.0), (9.0, 0.5, 3.0), (-2.0, 1e30, _INF)],
]
"""x, y and x**y where that is exact: section F.9.4.4 of C99, and a few that are so for any good pow."""


@DTYPES
def test_exact_cases_of_pow(dtype):
    x, y, expected = np.array(POWERS).astype(dtype).T.copy()
    got = ulp.evaluate("pow", x, y)
    np.testing.assert_array_equal(got, expected)
    numbers = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(got[numbers]), np.signbit(expected[numbers]))


@DTYPES
def test_pow_knows_odd_exponents_up_to_the_last_one(dtype):
    """From 2**mantissa_bits on every number is an integer, from twice that on an even one."""
    last = 2.0 ** (np.finfo(dtype).nmant + 1)
    y = np.array([last - 1, last - 2, last, 2 * last, last / 2, last / 2 - 1, last / 2 - 0.5, last / 2 + 1], dtype)
    got = ulp.evaluate("pow", np.full_like(y, -1.0), y)
    np.testing.assert_array_equal(got, [-1.0, 1.0, 1.0, 1.0, 1.0, -1.0, np.nan, -1.0])


# ---------------------------------------------------------------------------------------------------- kernels
def test_kernels_of_real_numbers_call_the_vector_math():
    def powers(x, y):
        return x**y + x**2 + x**0.5 + math.cbrt(x) + math.exp2(x)

    source = cpu.kernel_source(lower(powers), "float32", "vv", "flat")
    assert source.count("_pow(") == 2  # a literal integer stays a product
    assert "x ** 2" in source
    for name in ("pow", "cbrt", "exp2"):
        assert f"from numgrad.kernels.vector_math.{vector_math.MODULES[name]} import {name}_float32 as _{name}" in source
    assert "vector_math" not in cpu.kernel_source(lower(powers), "int64", "vv", "flat")


def test_cbrt_sigmoid_and_softplus_have_derivatives():
    def cube_root(x):
        return math.cbrt(x)

    def logistic(x):
        return special_functions.sigmoid(x)

    def smooth_relu(x):
        return special_functions.softplus(x)

    assert as_python(derive.vjp(lower(cube_root), (0,)))(-8.0, 3.0) == pytest.approx(3 / 12, rel=1e-15)
    value = 1 / (1 + math.exp(-1.5))
    assert as_python(lower(logistic))(1.5) == pytest.approx(value, rel=1e-15)
    assert as_python(derive.vjp(lower(logistic), (0,)))(1.5, 2.0) == pytest.approx(2 * value * (1 - value), rel=1e-14)
    assert as_python(lower(smooth_relu))(-1.5) == pytest.approx(math.log1p(math.exp(-1.5)), rel=1e-15)
    assert as_python(derive.vjp(lower(smooth_relu), (0,)))(1.5, 2.0) == pytest.approx(2 * value, rel=1e-15)


@DTYPES
def test_reciprocal_square_root_is_exact_enough_as_a_quotient(dtype):
    """`1 / math.sqrt(x)`: both steps round correctly, which is 1.5 ulp at most; both have packed instructions."""

    def rsqrt(x):
        return 1 / math.sqrt(x)

    kernel = cpu.flat_plan(lower(rsqrt), np.dtype(dtype), (np.dtype(dtype),), "v").kernel
    x = np.abs(ulp.random_bits(np.random.default_rng(5), dtype, 2000))
    x = x[np.isfinite(x) & (x > 0)]
    got = np.empty_like(x)
    kernel(x, got)
    with mpmath.workprec(120):
        for value, result in zip(x.tolist(), got.tolist(), strict=True):
            exact = 1 / mpmath.sqrt(value)
            assert abs(result - exact) <= 1.5 * float(np.spacing(np.asarray(float(exact), dtype)))
