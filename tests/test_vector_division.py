"""`%` and `//` of reals in kernels/vector_math, and the ops made of them: exact, so compared with C's fmod and fractions."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
import ulp

import numgrad as ng
from numgrad.kernels.vector_math import LIMITS

DTYPES = pytest.mark.parametrize("dtype", ulp.DTYPES)


def pairs(dtype, count=20_000):
    """Ordinary numbers, whole multiples and their neighbours, quotients up to the limit, all special values."""
    rng = np.random.default_rng(0)
    a, b = (rng.normal(size=count).astype(dtype) for _ in range(2))
    multiples = (rng.integers(-1000, 1000, count) * b).astype(dtype)
    limit = LIMITS[np.dtype(dtype).name]
    far = (b * rng.uniform(-limit, limit, count)).astype(dtype)
    special = np.array([0.0, -0.0, 1.0, -2.0, 3.0, math.inf, -math.inf, math.nan, *np.array([5e-324], dtype)], dtype)
    specials = np.array(list(itertools.product(special, special)), dtype).T
    first = [100 * a, multiples, np.nextafter(multiples, dtype(math.inf)), np.nextafter(multiples, dtype(-math.inf)), far]
    return np.concatenate([*first, specials[0]]), np.concatenate([b] * 5 + [specials[1]])


def assert_equal_bits(got, expected):
    np.testing.assert_array_equal(got, expected)
    numbers = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(got[numbers]), np.signbit(expected[numbers]))


def within_limit(a, b):
    with np.errstate(all="ignore"):
        return ~(np.abs(a / b) > LIMITS[a.dtype.name])


@DTYPES
def test_remainder_is_pythons(dtype):
    a, b = pairs(np.dtype(dtype).type)
    near = within_limit(a, b)
    a, b = a[near], b[near]
    defined = (b != 0) & ~np.isinf(a)
    expected = [x % y if d else math.nan for x, y, d in zip(a.tolist(), b.tolist(), defined, strict=True)]
    assert_equal_bits(ulp.evaluate("remainder", a, b), np.array(expected, dtype))


@DTYPES
def test_floor_divide_is_exact_where_the_quotient_is(dtype):
    a, b = pairs(np.dtype(dtype).type)
    with np.errstate(all="ignore"):
        exact = np.isfinite(a) & np.isfinite(b) & (b != 0) & (np.abs(a / b) < 2.0**22)
    a, b = a[exact][::5].copy(), b[exact][::5].copy()  # contiguous, as the other loops' operands
    expected = [math.floor(Fraction(x) / Fraction(y)) for x, y in zip(a.tolist(), b.tolist(), strict=True)]
    np.testing.assert_array_equal(ulp.evaluate("floor_divide", a, b), np.array(expected, dtype))


@ulp.needs_x86
@DTYPES
@pytest.mark.parametrize("name", ["remainder", "floor_divide"])
def test_loops_are_vectorised(name, dtype):
    ulp.assert_vectorised(name, dtype, 2)


@DTYPES
def test_fmod_is_cs_for_any_pair(dtype):
    """Among ordinary ones pairs whose quotient is beyond the limit, up to some that no format holds."""
    a, b = pairs(np.dtype(dtype).type)
    bits = [ulp.random_bits(np.random.default_rng(k), dtype, 3000) for k in range(2)]
    a, b = np.concatenate([a, bits[0]]), np.concatenate([b, bits[1]])
    with np.errstate(all="ignore"):
        expected = np.fmod(a, b)
    assert_equal_bits(ng.fmod(ng.tensor(a), ng.tensor(b)).numpy(), expected)
