"""erf, erfc, erfinv, gelu, lgamma and digamma of kernels/vector_math, and their plain Python forms, against mpmath."""

import math

import mpmath
import numpy as np
import pytest
import ulp
from ulp import Case

from numgrad.kernels import special_functions
from numgrad.kernels.derive import vjp
from numgrad.kernels.lower import lower
from numgrad.kernels.scalar_ir import as_python


def exact_erfinv(x):
    """Newton's method from the function under test: what it finds does not depend on where it starts."""
    if not abs(x) <= 1:
        return mpmath.nan
    if abs(x) == 1 or x == 0:
        return x if x == 0 else x * mpmath.inf
    y, a = mpmath.mpf(special_functions.erfinv(float(abs(x)))), abs(x)
    for _ in range(3):
        excess = mpmath.erf(y) - a if a < 0.5 else (1 - a) - mpmath.erfc(y)
        y -= excess * mpmath.exp(y * y) * mpmath.sqrt(mpmath.pi) / 2
    return mpmath.sign(x) * y


def in_float64(name):
    """The function in float64, which another test compares with mpmath, as the reference for float32."""
    return lambda x: ulp.evaluate(name, np.ascontiguousarray(x, np.float64))


CASES = [
    Case(
        "erf",
        mpmath.erf,
        np.vectorize(math.erf, otypes=[float]),
        ranges={
            "both": [(-6.0, 6.0), (0.0, 1.3), (1.18, 1.2), (1.1875, 1.6), (-1e-3, 1e-3)],
            "float32": [(3.9, 3.95)],
            "float64": [(5.8, 5.95)],
        },
        points={0.0: 0.0, math.inf: 1.0, -math.inf: -1.0, 6.0: 1.0, -6.0: -1.0},
    ),
    Case(
        "erfc",
        lambda x: mpmath.erfc(min(x, 1000)),  # of astronomical numbers it is not computed
        np.vectorize(math.erfc, otypes=[float]),
        ranges={
            "both": [(-6.0, 6.0), (0.46, 0.48), (0.46875, 1.0)],
            "float32": [(9.0, 10.2)],
            "float64": [(6.0, 27.3), (26.5, 27.3)],
        },
        points={0.0: 1.0, math.inf: 0.0, -math.inf: 2.0, 30.0: 0.0, -30.0: 2.0},
        ulps=4.0,
    ),
    Case(
        "erfinv",
        exact_erfinv,
        in_float64("erfinv"),
        ranges={"both": [(-1.0, 1.0), (0.62, 0.63), (0.625, 0.75), (0.999, 1.0)]},
        points={0.0: 0.0, 1.0: math.inf, -1.0: -math.inf, 1.5: math.nan, -math.inf: math.nan},
    ),
    Case(
        "lgamma",
        lambda x: mpmath.inf if x == 0 else mpmath.loggamma(x),
        in_float64("lgamma"),
        ranges={"both": [(0.0, 12.0), (0.64, 0.66), (0.9, 1.1), (1.9, 2.1), (2.4, 2.6), (3.4, 3.6), (6.4, 6.6)]},
        points={
            **{1.0: 0.0, 2.0: 0.0, math.inf: math.inf, -math.inf: math.inf, 0.0: math.inf},
            **{float(-n): math.inf for n in (1, 2, 3, 7, 1000, 2**40)},
        },
    ),
    Case(
        "digamma",
        lambda x: -mpmath.inf if x == 0 else mpmath.digamma(x),
        in_float64("digamma"),
        ranges={"both": [(0.0, 12.0), (0.8, 1.1), (1.4, 1.5), (2.4, 2.6), (3.4, 3.6), (6.4, 6.6)]},
        points={
            **{math.inf: math.inf, -math.inf: math.nan, 0.0: -math.inf},
            **{float(-n): math.nan for n in (1, 2, 3, 7, 1000, 2**40)},
        },
    ),
]
BY_NAME = {case.name: case for case in CASES}
FUNCTIONS = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
DTYPES = pytest.mark.parametrize("dtype", ulp.DTYPES)
NAMES = [*BY_NAME, "gelu"]
GAMMA = ("lgamma", "digamma")


@FUNCTIONS
@pytest.mark.parametrize(("dtype", "count"), [("float32", 200_000), ("float64", 2000)])
def test_errors_stay_within_the_promised_ulps(case, dtype, count):
    x = ulp.sweep(case, dtype, count)
    ulp.assert_within_ulps(case, np.abs(x) if case.name in GAMMA else x)


@pytest.mark.parametrize(("dtype", "count"), [("float32", 200_000), ("float64", 1000)])
def test_erfc_is_within_two_ulp_before_its_tail(dtype, count):
    case = Case("erfc", mpmath.erfc, BY_NAME["erfc"].reference)
    ulp.assert_within_ulps(case, np.linspace(-6, 0.468, count).astype(dtype))


@DTYPES
@pytest.mark.parametrize(("name", "zero"), [("lgamma", 1.0), ("lgamma", 2.0), ("digamma", 1.4616321449683623)])
def test_the_numbers_next_to_a_positive_zero(name, zero, dtype):
    """There the result is small, and still within 2 ulp."""
    steps = np.arange(-100, 101) * 1.0
    x = np.array([zero]).astype(dtype)
    ulp.assert_within_ulps(BY_NAME[name], (x + steps * np.spacing(x)).astype(dtype))


# ---------------------------------------------------------------------------------------------------- the negative axis
def reflection_terms(name, x):
    """The two terms that reflection adds: digamma(1 - x) - pi / tan(pi * x), and so on."""
    if name == "lgamma":
        return mpmath.loggamma(1 - x), mpmath.log(abs(mpmath.sinpi(x)) / mpmath.pi)
    return mpmath.digamma(1 - x), mpmath.pi * mpmath.cospi(x) / mpmath.sinpi(x)


@DTYPES
@pytest.mark.parametrize("name", GAMMA)
def test_errors_for_negative_arguments_are_small_beside_the_terms(name, dtype):
    """Within 4 ulp of the larger of the two terms that cancel near zeros; lgamma has no zero from -2 to 0."""
    rng = np.random.default_rng(3)
    parts = [rng.uniform(low, 0, 150) for low in (-1.0, -2.0, -10.0, -200.0, -5e5)]
    near_poles = [-n + sign * 2.0**-k for n in (1, 2, 5) for sign in (1, -1) for k in range(2, 20)]
    x = np.concatenate([*parts, near_poles, -(2.0 ** -np.arange(1, 140.0))]).astype(dtype)
    x = x[x != np.round(x)]
    got = ulp.evaluate(name, x)
    with mpmath.workprec(ulp.WORKING_BITS):
        for argument, result in zip(x.tolist(), got.tolist(), strict=True):
            exact = mpmath.re(BY_NAME[name].exact(mpmath.mpf(argument)))
            if abs(exact) > np.finfo(dtype).max:  # digamma of the smallest numbers
                assert result == math.inf
                continue
            largest = max(abs(term) for term in reflection_terms(name, mpmath.mpf(argument)))
            if name == "lgamma" and argument > -2:
                largest = exact
            unit = float(np.spacing(np.dtype(dtype).type(float(abs(largest)))))
            assert abs(result - exact) <= 4 * unit, f"{name}({argument!r}) gave {result!r}"


# ---------------------------------------------------------------------------------------------------- gelu
def exact_gelu(x):
    return mpmath.mpf(x) * mpmath.ncdf(x)


@pytest.mark.parametrize(("dtype", "count"), [("float32", 6000), ("float64", 1000)])
def test_errors_of_gelu_are_small_beside_its_argument(dtype, count):
    """Within 2 halves of the last place of 1, times x; from -1 on that is 3.5 ulp at most."""
    rng = np.random.default_rng(4)
    small = rng.choice([-1, 1], count) * 2.0 ** -rng.uniform(0, 100, count)
    x = np.concatenate([np.linspace(-9, 9, count), np.linspace(-1.5, 1.5, count), small]).astype(dtype)
    got = ulp.evaluate("gelu", x)
    epsneg = float(np.finfo(dtype).epsneg)
    with mpmath.workprec(ulp.WORKING_BITS):
        for argument, result in zip(x.tolist(), got.tolist(), strict=True):
            error = abs(result - exact_gelu(argument))
            assert error <= 2 * epsneg * abs(argument), f"gelu({argument!r}) gave {result!r}"
            if argument >= -1:
                assert error <= 3.5 * float(np.spacing(np.dtype(dtype).type(abs(float(exact_gelu(argument))))))


@DTYPES
def test_special_values_of_gelu(dtype):
    x = np.array([0.0, -0.0, math.inf, 1e30, math.nan, -1e4], dtype)
    got = ulp.evaluate("gelu", x)
    np.testing.assert_array_equal(got[:5], x[:5])
    assert np.signbit(got[:2]).tolist() == [False, True]
    assert -1e-14 < got[5] <= 0


# ---------------------------------------------------------------------------------------------------- as any other
@DTYPES
@FUNCTIONS
def test_exact_cases(case, dtype):
    ulp.assert_points(case, dtype)


@DTYPES
@pytest.mark.parametrize(
    ("name", "expected"), [("erf", -0.0), ("erfc", 1.0), ("erfinv", -0.0), ("lgamma", math.inf), ("digamma", math.inf)]
)
def test_negative_zero(name, expected, dtype):
    (got,) = ulp.evaluate(name, np.array([-0.0], dtype)).tolist()
    assert (got, math.copysign(1, got)) == (expected, math.copysign(1, expected))


@DTYPES
@pytest.mark.parametrize("name", NAMES)
def test_results_do_not_depend_on_the_place_in_the_loop(name, dtype):
    ulp.assert_same_everywhere(name, dtype)


@ulp.needs_x86
@DTYPES
@pytest.mark.parametrize("name", NAMES)
def test_loops_are_vectorised(name, dtype):
    ulp.assert_vectorised(name, dtype)


# ---------------------------------------------------------------------------------------------------- plain Python
def erfinv(x):
    return special_functions.erfinv(x)


def lgamma(x):
    return math.lgamma(x)


def close(got, exact, relative=1e-14):
    return abs(got - exact) <= relative * max(1, abs(exact))


@pytest.mark.parametrize("x", [0.0, 1e-300, 1e-8, 0.3, 0.49, 0.51, 0.9, 1 - 1e-9, 1 - 2**-53, -0.7])
def test_erfinv_in_python(x):
    assert as_python(lower(erfinv))(x) == pytest.approx(float(exact_erfinv(mpmath.mpf(x))), rel=1e-15)


def test_erfinv_in_python_beyond_its_domain():
    function = as_python(lower(erfinv))
    assert (function(1.0), function(-1.0)) == (math.inf, -math.inf)
    assert all(math.isnan(function(x)) for x in (1.5, -math.inf, math.nan))


@pytest.mark.parametrize("x", [1e-6, 0.3, 1.4, 3.0, 11.9, 12.1, 1e5, -0.3, -1.7, -20.4])
def test_derivatives_of_lgamma_of_every_order(x):
    """digamma, trigamma, and what is derived from trigamma's source."""
    function = lower(lgamma)
    for order in range(1, 5):
        function = vjp(function, (0,))
        exact = mpmath.psi(order - 1, x)
        assert close(as_python(function)(x, *[1.0] * order), exact, 1e-14 if order < 3 else 1e-10), f"order {order}"


def test_derivatives_of_erfinv_of_every_order():
    """The inverse function's: y' = sqrt(pi) / 2 * exp(y**2), y'' = 2 * y * y'**2, y''' = 2 * y'**3 * (1 + 4 * y**2)."""
    function, x = lower(erfinv), 0.6
    y = exact_erfinv(mpmath.mpf(x))
    slope = mpmath.sqrt(mpmath.pi) / 2 * mpmath.exp(y * y)
    for order, exact in enumerate([slope, 2 * y * slope**2, 2 * slope**3 * (1 + 4 * y * y)], 1):
        function = vjp(function, (0,))
        assert close(as_python(function)(x, *[1.0] * order), exact)


def gelu(x):
    return special_functions.gelu(x)


@pytest.mark.parametrize("x", [-3.0, -0.4, 0.0, 0.4, 5.0])
def test_gelu_and_its_derivatives_in_python(x):
    """Phi(x) + x * phi(x), then (2 - x**2) * phi(x)."""
    density = mpmath.npdf(x)
    function = lower(gelu)
    for order, exact in enumerate([exact_gelu(x), mpmath.ncdf(x) + x * density, (2 - x * x) * density]):
        assert close(as_python(function)(x, *[1.0] * order), exact, 1e-15)
        function = vjp(function, (0,))


def test_digamma_at_its_poles_in_python():
    assert [special_functions.digamma(x) for x in (0.0, -0.0)] == [-math.inf, math.inf]
    assert all(math.isnan(special_functions.digamma(x)) for x in (-1.0, -6.0, math.nan))
