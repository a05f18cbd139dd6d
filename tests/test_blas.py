"""Matrix products on BLAS: right at every size, and BLAS's number of threads is left as it was."""

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import numgrad as ng
from numgrad.kernels import blas

SIZES = {"small": 8, "one thread": 90, "large": 170}


@pytest.mark.parametrize("n", SIZES.values(), ids=SIZES.keys())
def test_products_equal_numpys(n):
    a, b = np.random.default_rng(0).standard_normal((2, n, n))
    np.testing.assert_array_equal(blas.dot(a, b), np.dot(a, b))
    np.testing.assert_array_equal(blas.matmul(a[None], b[None]), np.matmul(a, b)[None])


def test_the_number_of_threads_is_restored():
    control = blas._thread_control()
    if control is None:
        pytest.skip("NumPy does not bring an OpenBLAS of its own here")
    get_threads, set_threads = control
    before = get_threads()
    a = np.ones((90, 90))
    assert blas.ALWAYS_SINGLE < a.size * 90 < blas.WORTH_THREADS  # a size that is limited
    try:
        for wanted in (2, 1):
            set_threads(wanted)
            blas.dot(a, a)
            assert get_threads() == wanted
            with ThreadPoolExecutor(4) as pool:  # several at once: the last one restores
                list(pool.map(lambda _: blas.dot(a, a), range(50)))
            assert get_threads() == wanted
            with pytest.raises(ValueError):
                blas.dot(a, np.ones((91, 90)))
            assert get_threads() == wanted
    finally:
        set_threads(before)


@pytest.mark.parametrize("n", [1, 64, 200])
def test_infinities_and_nans_are_results_like_others(n):
    """A training run that diverges shows NaN, as in PyTorch: no warning of NumPy's."""
    inf, zero = ng.full((n, n), math.inf), ng.zeros(n, n)
    for found in (inf @ zero, inf[None] @ zero[None], inf[0] @ zero[0], inf @ zero[0], ng.outer(inf[0], zero[0])):
        assert found.isnan().all()


@pytest.mark.parametrize("dtype", [ng.float16, ng.bfloat16])
def test_scaled_products_of_halves_are_rounded_once(dtype):
    """The nearest half of the sum in float64 (as PyTorch gives), whatever the factors."""
    ng.manual_seed(0)
    bias, a, b = (ng.randn(16, 16).to(dtype) for _ in range(3))
    found = ng.addmm(bias, a, b, beta=0.3, alpha=0.7)
    exact = 0.3 * bias.double() + 0.7 * (a.double() @ b.double())
    ng.testing.assert_close(found, exact.to(dtype), rtol=0, atol=0)
