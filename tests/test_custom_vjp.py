"""`custom_vjp`: gradients come from the rules, whatever structure residuals have."""

from __future__ import annotations

import pytest

import numgrad as ng


def test_the_rule_is_the_gradient():
    @ng.custom_vjp
    def f(x, y):
        """Product."""
        return x * y

    f.defvjp(lambda x, y: (x * y, (x, y)), lambda residuals, g: (g * 10, g * residuals[0]))
    x, y = ng.tensor([2.0], requires_grad=True), ng.tensor([3.0], requires_grad=True)
    z = f(x, y)
    z.backward()
    assert (z.item(), x.grad.item(), y.grad.item()) == (6.0, 10.0, 2.0)
    assert f.__name__ == "f"
    assert f.__doc__ == "Product."
    assert z.grad_fn.name() == "fBackward"


def test_residuals_of_any_structure():
    @ng.custom_vjp
    def f(x):
        return x.exp()

    def forward(x):
        y = x.exp()
        return y, {"y": y, "scale": [2.0, (x, None)]}

    f.defvjp(forward, lambda r, g: g * r["y"] * r["scale"][0] + 0 * r["scale"][1][0])
    x = ng.tensor([0.0], requires_grad=True)
    f(x).backward()
    assert x.grad.item() == 2.0


def test_second_derivatives_go_through_the_rule():
    @ng.custom_vjp
    def cube(x):
        return x**3

    cube.defvjp(lambda x: (cube(x), x), lambda x, g: g * 3 * x**2)
    x = ng.tensor([2.0], requires_grad=True)
    (g,) = ng.autograd.grad(cube(x), x, create_graph=True)
    assert ng.autograd.grad(g, x)[0].item() == 12.0


def test_several_outputs_and_constants():
    f = ng.custom_vjp(lambda x, n: (x * n, x + n), nondiff_argnums=(1,))
    f.defvjp(lambda x, n: ((x * n, x + n), None), lambda n, _, g: (g[0] * n + g[1],))
    x = ng.tensor([2.0], requires_grad=True)
    a, b = f(x, n=5.0)
    (a + 2 * b).backward()
    assert x.grad.item() == 7.0


def test_without_recording_the_function_itself_runs():
    calls = []
    f = ng.custom_vjp(lambda x: calls.append("f") or x * 2)
    f.defvjp(lambda x: calls.append("fwd") or (x * 2, None), lambda r, g: (g * 2,))
    f(ng.ones(1))
    with ng.no_grad():
        f(ng.ones(1, requires_grad=True))
    assert calls == ["f", "f"]


def test_errors():
    @ng.custom_vjp
    def f(x, y):
        return x * y

    x = ng.ones(1, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"f.defvjp\(fwd, bwd\)"):
        f(x, x)
    f.defvjp(lambda x, y: (x * y, None), lambda r, g: (g,))
    with pytest.raises(RuntimeError, match="returned 1 gradients for 2 arguments"):
        f(x, x).backward()
