"""Elementary functions and activations against PyTorch's: values, gradients and second gradients, special values, errors."""

import math
from typing import Any

import numpy as np
import pytest

import numgrad

torch = pytest.importorskip("torch")

ELEMENTARY = (
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "sin", "cos", "tan", "asin", "acos", "atan",
    "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "sigmoid", "erf", "erfc", "erfinv",
)  # fmt: skip
ACTIVATIONS = {
    "gelu": lambda F, x: F.gelu(x),
    "gelu tanh": lambda F, x: F.gelu(x, approximate="tanh"),
    "silu": lambda F, x: F.silu(x),
    "softplus": lambda F, x: F.softplus(x),
    "softplus of others": lambda F, x: F.softplus(x, beta=3.0, threshold=2),
}
FUNCTIONS: dict[str, Any] = {name: lambda lib, x, name=name: getattr(lib, name)(x) for name in ELEMENTARY}
FUNCTIONS |= {name: lambda lib, x, f=f: f(lib.nn.functional, x) for name, f in ACTIVATIONS.items()}
POINTS = [-math.inf, -800.0, -20.5, -3.0, -1.0, -0.6, -1e-9, -0.0, 0.0, 1e-9, 0.3, 1.0, 1.7, 6.0, 25.0, 800.0, math.inf, math.nan]


def orders(library: Any, function: Any) -> list[list[float]]:
    """The function, its derivative and its second derivative at all the points."""
    x = library.tensor(POINTS, dtype=library.float64, requires_grad=True)
    y = function(library, x)
    (first,) = library.autograd.grad(y.sum(), x, create_graph=True)
    (second,) = library.autograd.grad(first.sum(), x)
    return [y.tolist(), first.tolist(), second.tolist()]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_and_derivatives(name):
    ours, theirs = orders(numgrad, FUNCTIONS[name]), orders(torch, FUNCTIONS[name])
    for order, (one, other) in enumerate(zip(ours, theirs, strict=True)):
        # Second derivatives are differences of terms of some size 1: both libraries lose digits where those cancel.
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-14, err_msg=f"derivative of order {order}")


@pytest.mark.parametrize("name", ["lgamma", "digamma"])
def test_gamma_functions(name):
    """Not at negative integers and -inf, where PyTorch's derivatives of digamma are not NaN or inf as they should be.

    Elsewhere they are right to 9 digits; tests/test_vector_special.py compares ours with mpmath.
    """

    def function(library, x):
        return getattr(library, name)(x + 0.25)

    ours, theirs = orders(numgrad, function), orders(torch, function)
    by_digamma = 2 if name == "lgamma" else 1
    for order, (one, other) in enumerate(zip(ours, theirs, strict=True)):
        tolerance = 1e-12 if order < by_digamma else 1e-8
        np.testing.assert_allclose(one[1:], other[1:], rtol=tolerance, err_msg=f"derivative of order {order}")


def test_atan2_at_the_origin_and_on_the_axes():
    points = [(y, x) for y in (0.0, -0.0, 1.0, -1.0) for x in (0.0, -0.0, 2.0, -2.0)]
    found = []
    for library in (numgrad, torch):
        y = library.tensor([p[0] for p in points], dtype=library.float64, requires_grad=True)
        x = library.tensor([p[1] for p in points], dtype=library.float64, requires_grad=True)
        angle = library.atan2(y, x)
        gradients = library.autograd.grad(angle.sum(), (y, x), create_graph=True)
        kernels = library.autograd.grad(library.atan2(y, x).sum(), (y, x))
        found.append([t.tolist() for t in (angle, *gradients, *kernels)])
    np.testing.assert_allclose(found[0], found[1], rtol=1e-15)


@pytest.mark.parametrize(
    "program",
    [
        "F.gelu(x, approximate='sigmoid')", "F.gelu(x, approximate=None)", "F.gelu([1.0])", "F.gelu(i)", "F.silu(i)",
        "F.silu(2.0)", "F.softplus(x, beta='a')", "F.softplus(i)", "F.softplus(i > 0)", "torch.sin([1.0])",
        "torch.atan2(x, 2.0)", "torch.atan2(2.0, x)", "i.sin_()", "i.erf_()", "i.digamma_()", "torch.erf(2.0)",
        "torch.lgamma(x, out=torch.empty(2, dtype=torch.int64))", "torch.erfinv(x, x)", "F.silu(x.requires_grad_(), inplace=True)",
        "torch.asin(i, out=torch.empty(2, dtype=torch.int64))",
    ],
)  # fmt: skip
def test_errors(program):
    texts = []
    for library in (numgrad, torch):
        scope = {
            "torch": library, "F": library.nn.functional, "x": library.tensor([0.5, 0.25]), "i": library.tensor([1, 0]),
        }  # fmt: skip
        with pytest.raises(Exception) as caught:
            eval(program, scope)
        texts.append(f"{type(caught.value).__name__}: {caught.value}")
    assert texts[0] == texts[1]


@pytest.mark.parametrize("alias", ["arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh", "absolute", "negative"])
def test_aliases(alias):
    x = [1.0, 1.0]
    assert getattr(numgrad, alias)(numgrad.tensor(x)).tolist() == getattr(torch, alias)(torch.tensor(x)).tolist()
    assert getattr(numgrad.tensor(x), alias)().tolist() == getattr(torch.tensor(x), alias)().tolist()
    assert getattr(numgrad.tensor(x), f"{alias}_")().tolist() == getattr(torch.tensor(x), f"{alias}_")().tolist()
