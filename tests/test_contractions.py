"""einsum and its kin: values against NumPy's einsum, gradients against finite differences, and the order of contraction."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

import numgrad as ng
from numgrad.testing import gradcheck, gradgradcheck

SIZES = {"a": 2, "b": 3, "c": 4, "d": 2, "e": 3}
EQUATIONS = [
    "ab,bc->ac", "ab,bc,cd->ad", "ab,bc,cd,de->ae", "abc,bcd->ad", "ab,ab->", "ab,ab->b", "ab->ba", "aab->ab", "aa",
    "aad->d", "a,b->ab", "a,b,c->abc", "ab,cb,d->dca", "abc->b", "...ab,...bc->...ac", "...a->...", "ba...->a...b",
    "ab,b", "aba,b->a", "cab,cbe->cae", "ab,ac,ad->bcd",
]  # fmt: skip


def operands(equation: str) -> list[np.ndarray]:
    rng = np.random.default_rng(len(equation))
    inputs = equation.split("->")[0].split(",")
    return [rng.normal(size=[n for part in spelled(term) for n in part]) for term in inputs]


def spelled(term: str) -> list[list[int]]:
    """The extents of a term's dimensions; an ellipsis is two of them."""
    before, dots, after = term.partition("...")
    return [[SIZES[x] for x in before], [2, 3] if dots else [], [SIZES[x] for x in after]]


@pytest.mark.parametrize("equation", EQUATIONS)
def test_values(equation):
    arrays = operands(equation)
    found = ng.einsum(equation, *map(ng.from_numpy, arrays))
    np.testing.assert_allclose(found.numpy(), np.einsum(equation, *arrays), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("equation", EQUATIONS)
def test_gradients(equation):
    inputs = [ng.from_numpy(x).requires_grad_() for x in operands(equation)]
    gradcheck(lambda *xs: ng.einsum(equation, *xs), inputs)
    gradgradcheck(lambda *xs: ng.einsum(equation, *xs), inputs)


def test_broadcast_extents_of_one():
    one, many = np.random.default_rng(0).normal(size=(1, 3)), np.random.default_rng(1).normal(size=(2, 3))
    x, y = (ng.from_numpy(a).requires_grad_() for a in (one, many))
    found = ng.einsum("ab,ab->b", x, y)
    np.testing.assert_allclose(found.detach().numpy(), (one * many).sum(0), rtol=1e-12)
    gradcheck(lambda x, y: ng.einsum("ab,ab->b", x, y), [x, y])


def test_the_cheapest_order_is_taken(monkeypatch):
    """(1, 50) @ (50, 50) @ (50, 50): from the left, two products of a row."""
    module = importlib.import_module("numgrad.ops.einsum")  # numgrad.ops.einsum is the function
    shapes = []
    product = module.mm
    monkeypatch.setattr(module, "mm", lambda a, b: shapes.append((tuple(a.shape), tuple(b.shape))) or product(a, b))
    ng.einsum("ab,bc,cd->ad", ng.ones(1, 50), ng.ones(50, 50), ng.ones(50, 50))
    assert sum(a[0] * a[1] * b[1] for a, b in shapes) == 2 * 50 * 50


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("cumsum", (0,)), ("cumprod", (1,)), ("tril", ()), ("triu", (1,)), ("clamp", (-0.5, 0.5)), ("round", ()),
        ("lerp", (2.0, 0.25)), ("addcmul", (2.0, 3.0)), ("remainder", (0.7,)), ("square", ()), ("xlogy", (3.0,)),
    ],
)  # fmt: skip
def test_in_place_forms_have_the_values_and_gradients_of_the_functions(name, arguments):
    values = np.random.default_rng(3).normal(size=(3, 4))
    arguments = tuple(ng.full((3, 4), a, dtype=ng.float64) if name in ("lerp", "addcmul") and k < 2 - (name == "lerp") else a
                      for k, a in enumerate(arguments))  # fmt: skip
    x, y = (ng.from_numpy(values.copy()).requires_grad_() for _ in range(2))
    expected = getattr(ng, name)(x, *arguments)
    target = y.clone()
    version = target._version
    assert getattr(target, f"{name}_")(*arguments) is target
    assert target._version > version
    np.testing.assert_allclose(target.detach().numpy(), expected.detach().numpy(), rtol=1e-14)
    weights = ng.from_numpy(np.random.default_rng(4).normal(size=(3, 4)))
    (one,), (other,) = ng.autograd.grad(expected, x, weights), ng.autograd.grad(target, y, weights)
    np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-14)
