"""The programs of docs/functions.md run, print what the page says, and have the derivatives that mathematics says."""

from __future__ import annotations

import pytest
from pages import Page

import numgrad as ng

PAGE = Page("functions.md")


@pytest.mark.parametrize("part", ["class Returns(", "class Bump(", "clip_gradient"])
def test_programs_print_what_the_page_says(part):
    source, expected = PAGE.named(part)
    assert PAGE.run(source)[1] == expected
    assert len(PAGE.programs) == PAGE.count == 3


def test_the_recurrence_has_derivatives_of_any_order():
    """Against a matrix: y = A x with A[t, s] = gamma**(s - t) for s >= t."""
    scope, _ = PAGE.run(PAGE.named("class Returns(")[0])
    returns, gamma = scope["Returns"].apply, 0.5
    matrix = ng.tensor([[gamma ** (s - t) if s >= t else 0.0 for s in range(4)] for t in range(4)], dtype=ng.float64)
    x = ng.tensor([1.0, -2.0, 0.5, 3.0], dtype=ng.float64, requires_grad=True)

    def derivatives(f):
        (first,) = ng.autograd.grad((f(x) ** 3).sum(), x, create_graph=True)
        (second,) = ng.autograd.grad((first**2).sum(), x, create_graph=True)
        (third,) = ng.autograd.grad(second.sum(), x)
        return [d.tolist() for d in (first, second, third)]

    for found, expected in zip(derivatives(lambda x: returns(x, gamma)), derivatives(lambda x: matrix @ x), strict=True):
        assert found == pytest.approx(expected, rel=1e-12)
