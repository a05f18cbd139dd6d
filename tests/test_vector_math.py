"""exp, log and tanh of kernels/vector_math against mpmath and, for float32, NumPy's float64 functions."""

import math

import mpmath
import numpy as np
import pytest
import ulp
from ulp import Case

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
        "log",
        mpmath.log,
        np.log,
        ranges={"both": [(0.0, 4.0), (0.99, 1.01), (0.70, 0.72), (1.40, 1.42)]},
        points={1.0: 0.0, 0.0: -math.inf, math.inf: math.inf, -1.0: math.nan, -math.inf: math.nan},
    ),
    Case(
        "tanh",
        mpmath.tanh,
        np.tanh,
        ranges={"both": [(-22.0, 22.0), (-1.0, 1.0), (0.62, 0.66), (-0.01, 0.01)]},
        points={0.0: 0.0, math.inf: 1.0, -math.inf: -1.0, 30.0: 1.0, -30.0: -1.0},
    ),
]
FUNCTIONS = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
DTYPES = pytest.mark.parametrize("dtype", ulp.DTYPES)


@FUNCTIONS
@pytest.mark.parametrize(("dtype", "count"), [("float32", 200_000), ("float64", 2000)])
def test_errors_stay_within_the_promised_ulps(case, dtype, count):
    ulp.assert_within_ulps(case, ulp.sweep(case, dtype, count))


@DTYPES
@FUNCTIONS
def test_exact_cases(case, dtype):
    ulp.assert_points(case, dtype)


@DTYPES
@FUNCTIONS
def test_results_do_not_depend_on_the_place_in_the_loop(case, dtype):
    ulp.assert_same_everywhere(case.name, *[0.7] * case.arguments, dtype=dtype)


@ulp.needs_x86
@DTYPES
@FUNCTIONS
def test_loops_are_vectorised(case, dtype):
    ulp.assert_vectorised(case.name, dtype, case.arguments)


@DTYPES
def test_exp_turns_to_infinity_and_zero_at_the_right_items(dtype):
    info = np.finfo(dtype)
    with mpmath.workprec(120):
        largest = np.array([float(mpmath.log(mpmath.mpf(float(info.max))))], dtype)
        smallest = np.array([float(mpmath.log(mpmath.mpf(float(info.smallest_subnormal)) / 2))], dtype)
    step = np.abs(np.spacing(largest))
    assert np.isfinite(ulp.evaluate("exp", largest - 2 * step))
    assert np.isinf(ulp.evaluate("exp", largest + 2 * step))
    assert ulp.evaluate("exp", smallest + 2 * step) == info.smallest_subnormal
    assert ulp.evaluate("exp", smallest - 2 * step) == 0
