"""`value_and_grad` for SciPy's optimisers."""

import numpy as np
import pytest
from scipy.optimize import minimize

import numgrad as ng


def rosenbrock(x, a=1.0, b=100.0):
    return (a - x[0]) ** 2 + b * (x[1] - x[0] ** 2) ** 2


def test_value_and_gradient_are_a_float_and_an_ndarray():
    value, gradient = ng.value_and_grad(rosenbrock)(np.array([3.0, 1.0]))
    assert type(value) is float
    assert value == (1 - 3) ** 2 + 100 * (1 - 9) ** 2
    assert type(gradient) is np.ndarray
    assert gradient.dtype == np.float64
    assert gradient.flags.c_contiguous
    np.testing.assert_array_equal(gradient, [-2 * (1 - 3) - 400 * 3 * (1 - 9), 200 * (1 - 9)])


@pytest.mark.parametrize("x", [np.ones((2, 3)), np.ones((3, 2)).T, [[1.0] * 3] * 2, np.ones((2, 3), np.float32)])
def test_the_gradient_has_the_arrays_shape_whatever_its_layout(x):
    value, gradient = ng.value_and_grad(lambda t: (t.t() ** 3).sum())(x)
    assert value == 6.0
    assert gradient.flags.c_contiguous
    assert gradient.dtype == np.float64
    np.testing.assert_array_equal(gradient, np.full((2, 3), 3.0))


def test_gradients_of_two_calls_are_two_arrays():
    f = ng.value_and_grad(lambda t: (t * 2).sum())
    x = np.ones(3)
    first = f(x)[1]
    first[:] = 7
    np.testing.assert_array_equal(f(x)[1], np.full(3, 2.0))
    np.testing.assert_array_equal(x, np.ones(3))


def test_what_does_not_depend_on_the_array_has_gradient_zero():
    assert ng.value_and_grad(lambda t: ng.tensor(3.0))(np.ones(2))[1].tolist() == [0.0, 0.0]
    w = ng.ones(2, requires_grad=True)
    assert ng.value_and_grad(lambda t: w.sum())(np.ones(2))[1].tolist() == [0.0, 0.0]
    assert w.grad is None


def test_gradients_are_computed_under_no_grad_too():
    with ng.no_grad():
        assert ng.value_and_grad(lambda t: (t * t).sum())(np.ones(2))[1].tolist() == [2.0, 2.0]


@pytest.mark.parametrize(
    ("f", "error", "text"),
    [
        (lambda t: 3.0, TypeError, "expected a tensor of one item, got float"),
        (lambda t: t * 2, RuntimeError, r"expected a tensor of one real item, got shape \[2\]"),
    ],
)
def test_anything_but_one_number_is_an_error(f, error, text):
    with pytest.raises(error, match=text):
        ng.value_and_grad(f)(np.ones(2))


@pytest.mark.parametrize("method", ["BFGS", "L-BFGS-B", "CG"])
def test_scipy_finds_the_minimum(method):
    found = minimize(ng.value_and_grad(rosenbrock), np.zeros(2), args=(1.0, 10.0), jac=True, method=method, tol=1e-9)
    np.testing.assert_allclose(found.x, [1, 1], atol=1e-5)
