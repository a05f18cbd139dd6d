"""sin, cos, tan and their inverses in kernels/vector_math, measured by tests/ulp.py."""

import math

import mpmath
import numpy as np
import pytest
import ulp
from ulp import Case

from numgrad.kernels.vector_math import LIMITED, LIMITS

INF, NAN, PI = math.inf, math.nan, math.pi
UNDEFINED_BEYOND_ONE = {1.0000002: NAN, -1.0000002: NAN, INF: NAN, -INF: NAN}
TURNS = [(-7.0, 7.0), (1.5, 1.65), (3.1, 3.2), (-1e-3, 1e-3), (0.78, 0.79), (-1e4, 1e4)]
UNIT = [(-1.0, 1.0), (0.49, 0.51), (0.99, 1.0), (-0.51, -0.49), (0.83, 0.85), (-1e-3, 1e-3)]

# C99, Annex F.9.1.4: (y, x, atan2(y, x)) for zeros, infinities, both signs beside them, and NaN.
ATAN2_POINTS = [
    (0.0, 0.0, 0.0), (-0.0, 0.0, -0.0), (0.0, -0.0, PI), (-0.0, -0.0, -PI),
    (0.0, 1.0, 0.0), (-0.0, 1.0, -0.0), (0.0, -1.0, PI), (-0.0, -1.0, -PI),
    (1.0, 0.0, PI / 2), (1.0, -0.0, PI / 2), (-1.0, 0.0, -PI / 2), (-1.0, -0.0, -PI / 2),
    (1.0, INF, 0.0), (-1.0, INF, -0.0), (1.0, -INF, PI), (-1.0, -INF, -PI),
    (INF, 1.0, PI / 2), (INF, -1.0, PI / 2), (-INF, 1.0, -PI / 2), (-INF, -1.0, -PI / 2),
    (INF, INF, PI / 4), (-INF, INF, -PI / 4), (INF, -INF, 3 * PI / 4), (-INF, -INF, -3 * PI / 4),
    (1.0, 1.0, PI / 4), (-1.0, -1.0, -3 * PI / 4), (0.0, INF, 0.0), (-0.0, -INF, -PI), (INF, -0.0, PI / 2),
    (NAN, 1.0, NAN), (1.0, NAN, NAN), (NAN, NAN, NAN), (NAN, 0.0, NAN), (NAN, -0.0, NAN), (0.0, NAN, NAN),
    (-0.0, NAN, NAN), (INF, NAN, NAN), (NAN, INF, NAN), (NAN, -INF, NAN),
]  # fmt: skip

CASES = [
    Case("sin", mpmath.sin, np.sin, {"both": TURNS}, {0.0: 0.0, INF: NAN, -INF: NAN}),
    Case("cos", mpmath.cos, np.cos, {"both": TURNS}, {0.0: 1.0, INF: NAN, -INF: NAN}),
    Case("tan", mpmath.tan, np.tan, {"both": TURNS}, {0.0: 0.0, INF: NAN, -INF: NAN}),
    Case("asin", mpmath.asin, np.arcsin, {"both": UNIT}, {0.0: 0.0, 1.0: PI / 2, -1.0: -PI / 2, **UNDEFINED_BEYOND_ONE}),
    Case("acos", mpmath.acos, np.arccos, {"both": UNIT}, {1.0: 0.0, 0.0: PI / 2, -1.0: PI, **UNDEFINED_BEYOND_ONE}),
    Case("atan", mpmath.atan, np.arctan, {"both": [*TURNS, (0.9, 1.1)]}, {0.0: 0.0, INF: PI / 2, -INF: -PI / 2}),
    Case("atan2", mpmath.atan2, np.arctan2, arguments=2),
]
FUNCTIONS = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
PERIODIC = pytest.mark.parametrize("case", CASES[:3], ids=lambda case: case.name)
DTYPES = pytest.mark.parametrize("dtype", ulp.DTYPES)
COUNTS = pytest.mark.parametrize(("dtype", "count"), [("float32", 200_000), ("float64", 2000)])


def nearest_to_quarter_turns(dtype, limit, count):
    """The numbers up to `limit` that are nearest to multiples of pi / 2, relative to their spacing.

    They are m * 2**e whose m / n is a convergent of the continued fraction of pi / 2 * 2**-e (Kahan; Muller et al.,
    Handbook of Floating-Point Arithmetic, section 11.3.2).
    """
    bits = np.finfo(dtype).nmant + 1
    found = []
    with mpmath.workprec(400):
        half_pi = +mpmath.pi / 2
        for exponent in range(1 - bits, math.frexp(limit)[1] - bits + 1):
            rest = mpmath.ldexp(half_pi, -exponent)
            (m, n), (last_m, last_n) = (1, 0), (0, 1)
            while m < 2**bits:
                if m >= 2 ** (bits - 1):
                    x = mpmath.ldexp(m, exponent)
                    found.append((abs(x - n * half_pi), float(x)))
                whole = int(mpmath.floor(rest))
                (m, n), (last_m, last_n) = (whole * m + last_m, whole * n + last_n), (m, n)
                rest = 1 / (rest - whole)
    values = [x for _, x in sorted(found) if x <= limit][:count]
    return np.array(values, dtype)


@FUNCTIONS
@COUNTS
def test_errors_stay_within_two_ulp(case, dtype, count):
    if case.arguments == 2:
        rng = np.random.default_rng(3)
        bits = [ulp.random_bits(rng, dtype, count) for _ in range(2)]
        ordinary = [rng.normal(size=count).astype(dtype) for _ in range(2)]
        special = [x.ravel() for x in np.meshgrid(*[ulp.special_values(dtype)[::5]] * 2)]
        y, x = map(np.concatenate, zip(bits, ordinary, special, strict=True))
        nonzero = (x != 0) & (y != 0)  # mpmath has no -0: zeros are among the exact cases
        ulp.assert_within_ulps(case, y[nonzero], x[nonzero])
        return
    x = ulp.sweep(case, dtype, count)
    if case.name in LIMITED:
        rng = np.random.default_rng(3)
        x = np.concatenate([x, rng.uniform(-LIMITS[dtype], LIMITS[dtype], count).astype(dtype)])
        x = x[~(np.abs(x) > LIMITS[dtype])]
    ulp.assert_within_ulps(case, x)


@PERIODIC
@DTYPES
def test_errors_stay_within_two_ulp_next_to_multiples_of_a_quarter_turn(case, dtype):
    """Where most of the argument cancels: the hardest numbers there are, and the neighbours of many multiples."""
    hardest = nearest_to_quarter_turns(dtype, LIMITS[dtype], 40)
    assert abs(math.remainder(float(hardest[0]), math.pi / 2)) < 1e-8, "the search found nothing hard"
    last = int(LIMITS[dtype] * 2 / math.pi)
    n = np.concatenate([np.arange(1, 300), np.random.default_rng(5).integers(1, last, 300)])
    near = (n * (math.pi / 2)).astype(dtype)
    x = np.concatenate([hardest, near, np.nextafter(near, 0), np.nextafter(near, near * 2)])
    ulp.assert_within_ulps(case, np.concatenate([x, -x]))


@pytest.mark.parametrize("case", CASES[:-1], ids=lambda case: case.name)
@DTYPES
def test_exact_cases(case, dtype):
    ulp.assert_points(case, dtype)


@DTYPES
def test_exact_cases_of_atan2(dtype):
    y, x, expected = (np.array(column).astype(dtype) for column in zip(*ATAN2_POINTS, strict=True))
    got = ulp.evaluate("atan2", y, x)
    np.testing.assert_array_equal(got, expected)
    numbers = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(got[numbers]), np.signbit(expected[numbers]))


@FUNCTIONS
@DTYPES
def test_results_do_not_depend_on_the_place_in_the_loop(case, dtype):
    ulp.assert_same_everywhere(case.name, dtype, case.arguments)


@ulp.needs_x86
@FUNCTIONS
@DTYPES
def test_loops_are_vectorised(case, dtype):
    ulp.assert_vectorised(case.name, dtype, case.arguments)


@DTYPES
@pytest.mark.parametrize("name", ["sin", "tan", "asin", "atan"])
def test_odd_functions_keep_the_sign_of_zero_and_every_bit_of_the_opposite(name, dtype):
    x = np.array([0.0, 5e-324, 1e-40, 1e-3, 0.3, 0.7, 1.0], dtype)
    got, opposite = ulp.evaluate(name, x), ulp.evaluate(name, -x)
    np.testing.assert_array_equal(opposite, -got)
    assert np.signbit(opposite).all()
