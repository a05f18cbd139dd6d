"""Clipping of gradients where PyTorch raises: nothing to clip, and gradients without items (behaviours 145)."""

from __future__ import annotations

import pytest

import numgrad as ng
from numgrad.nn import utils


def parameter(gradient: ng.Tensor | None) -> ng.Tensor:
    found = ng.zeros(2 if gradient is None else gradient.shape, requires_grad=True)
    found.grad = gradient
    return found


@pytest.mark.parametrize("norm_type", [1, 2, float("inf")])
@pytest.mark.parametrize("gradients", [[], [None], [ng.zeros(0)], [None, ng.zeros(0, 3)]], ids=str)
def test_the_norm_of_nothing_is_zero(gradients: list[ng.Tensor | None], norm_type: float) -> None:
    parameters = [parameter(gradient) for gradient in gradients]
    assert utils.clip_grad_norm_(parameters, 1.0, norm_type).item() == 0.0
    utils.clip_grad_value_(parameters, 1.0)


def test_gradients_without_items_do_not_change_the_norm() -> None:
    parameters = [parameter(ng.zeros(0)), parameter(ng.tensor([3.0, -4.0]))]
    assert utils.get_total_norm([p.grad for p in parameters], float("inf")).item() == 4.0
    assert utils.clip_grad_norm_(parameters, 1.0).item() == 5.0
    ng.testing.assert_close(parameters[1].grad, ng.tensor([0.6, -0.8]))
