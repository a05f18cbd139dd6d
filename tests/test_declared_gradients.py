"""Gradients that a user declares for elementwise functions of their own: who uses them, and what is refused."""

from __future__ import annotations

import math
from typing import Any

import pytest

import numgrad as ng
from numgrad.testing import gradcheck, gradgradcheck


def leaf(*values: Any, dtype: Any = ng.float64) -> Any:
    return ng.tensor(values, dtype=dtype, requires_grad=True)


def test_declared_gradients_are_used_by_the_graph_and_by_callers():
    @ng.elementwise
    def kepler(mean, e):
        """E - e sin E = mean, by fixed-point steps; its declared gradient needs the result only."""
        x = mean
        for _ in range(60):
            x = mean + e * math.sin(x)
        return x

    @kepler.grad("mean")
    def _(g, e, out):
        return g / (1 - e * math.cos(out))

    @kepler.grad("e")
    def _(g, e, out):
        return g * math.sin(out) / (1 - e * math.cos(out))

    @ng.elementwise
    def scaled(mean, e):
        return 3 * kepler(mean, e) ** 2

    m, e = leaf(0.5, 1.0), leaf(0.3, 0.2)
    y = kepler(m, e)
    assert len(y.grad_fn.saved) == 2  # e and the result
    assert gradcheck(kepler, (m, e))
    assert gradgradcheck(kepler, (m, e))
    assert gradcheck(scaled, (m, e))
    assert gradgradcheck(scaled, (m, e))
    assert "range(60)" in kepler.source(0)
    assert "range(60)" not in kepler.source(1)


def test_a_caller_uses_a_declared_gradient_even_if_it_is_not_the_derivative():
    @ng.elementwise
    def straight_through(x):
        return math.floor(x) + 0.0

    @straight_through.grad("x")
    def _(g):
        return g

    @ng.elementwise
    def calls(x, y):
        return straight_through(x) * y

    x = leaf(2.7)
    calls(x, 3.0).backward()
    assert x.grad.item() == 3.0
    with pytest.raises(RuntimeError, match="declare gradients right after the function"):
        straight_through.grad("x")(lambda g: g)


def test_functions_may_be_each_others_declared_gradients():
    @ng.elementwise
    def sine(x):
        return math.sin(x)

    @ng.elementwise
    def cosine(x):
        return math.cos(x)

    @ng.elementwise
    def calls(x):
        return sine(x)

    @sine.grad("x")
    def _(g, x):
        return 2 * g * cosine(x)  # twice the truth, so as to see which one is used

    @cosine.grad("x")
    def _(g, x):
        return -3 * g * sine(x)

    for f in (sine, calls):
        x = leaf(0.5)
        found = f(x)
        for order, expected in enumerate((2 * math.cos(0.5), -6 * math.sin(0.5), -12 * math.cos(0.5))):
            (found,) = ng.autograd.grad(found, x, create_graph=order < 2)
            assert found.item() == pytest.approx(expected)
    for f in (sine, cosine):
        with pytest.raises(RuntimeError, match="declare gradients right after the function"):
            f.grad("x")(lambda g: g)


def test_an_unused_output_does_not_lose_a_gradient_that_is_declared_later():
    @ng.elementwise
    def two(x, y):
        return x * y, x + y

    @ng.elementwise
    def calls(x, y):
        _, b = two(x, y)
        return b

    @two.grad("x")
    def _(g1):
        return 7 * g1

    x, y = leaf(1.0), leaf(2.0)
    assert [g.item() for g in ng.autograd.grad(calls(x, y), (x, y))] == [7.0, 1.0]


@pytest.mark.parametrize(
    ("gradient", "message"),
    [
        (lambda x: x, "the gradient of 'x' does not read 'g', the incoming gradient: multiply by it"),
        (lambda g, x: g * g * x, "the gradient of 'x' must be linear in 'g', the incoming gradient"),
        (lambda g: math.tanh(g), "the gradient of 'x' must be linear in 'g', the incoming gradient"),
    ],
)
def test_gradients_that_are_not_linear_are_refused(gradient, message):
    @ng.elementwise
    def f(x):
        return 0.5 * x * x

    with pytest.raises(ng.DifferentiationError, match=message):
        f.grad("x")(gradient)
    f.grad("x")(lambda g, x: g * x if g != 0 else 0.0)  # still linear


def test_a_gradient_may_be_declared_to_be_0():
    @ng.elementwise
    def f(x):
        return x * 1.0

    f.grad("x")(lambda x: 0.0)
    x = leaf(2.0)
    f(x).backward()
    assert x.grad.item() == 0.0


def test_declared_gradients_of_several_outputs():
    @ng.elementwise
    def two(x):
        return 2 * x, 3 * x

    @two.grad("x")
    def _(g0, g1, out0):
        return 2 * g0 + 3 * g1 + 0 * out0

    @ng.elementwise
    def calls(x):
        a, b = two(x)
        return a * b

    x = leaf(1.0)
    a, b = two(x)
    assert ng.autograd.grad(a, x, retain_graph=True)[0].item() == 2.0
    assert ng.autograd.grad(a + b, x)[0].item() == 5.0
    assert ng.autograd.grad(calls(x), x)[0].item() == 12.0


def test_declarations_that_are_refused():
    @ng.elementwise(nondiff="k")
    def f(x, k, n: int):
        return x * k * n

    for name in ("k", "n"):
        with pytest.raises(ValueError, match=f"'{name}' has no gradient that could be declared"):
            f.grad(name)
    with pytest.raises(ValueError, match="no input 'z'"):
        f.grad("z")(lambda g: g)
    with pytest.raises(ValueError, match="reads 'w'"):
        f.grad("x")(lambda g, w: g)
    with pytest.raises(ng.DifferentiationError, match="the constant 'a' is not a real number"):
        f.grad("x")(lambda g: g * "a")
    f.grad("x")(lambda g, k, n: g * k * n)  # what failed left nothing behind
    with pytest.raises(ValueError, match="result must be one of 'float', 'same'"):
        ng.elementwise(result="int")(lambda x: x)
