"""Dropout: what is dropped is random, so these tests are about what holds for any draw."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

import numgrad as ng
from numgrad import nn

F = nn.functional
FUNCTIONS = [F.dropout, F.dropout1d, F.alpha_dropout, F.feature_alpha_dropout]
NEGATIVE_LIMIT = 1.7580993408473766  # of SELU


@pytest.mark.parametrize("function", FUNCTIONS)
def test_nothing_is_dropped_in_evaluation(function: Callable[..., Any]) -> None:
    x = ng.randn(2, 3, 4, requires_grad=True)
    out = function(x, 0.5, training=False)
    assert out is x
    (out * 1).sum().backward()
    assert (x.grad == 1).all()


@pytest.mark.parametrize("inplace", [False, True])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_everything_is_dropped_at_one(function: Callable[..., Any], inplace: bool) -> None:
    x = ng.randn(2, 3, 4, requires_grad=True)
    out = function(x.clone(), 1.0, training=True, inplace=inplace)
    out.sum().backward()
    assert (out == 0).all()
    assert (x.grad == 0).all()


def test_items_are_dropped_with_the_probability_and_the_others_scaled() -> None:
    ng.manual_seed(0)
    x = ng.ones(200_000, requires_grad=True)
    out = F.dropout(x, 0.25)
    assert set(out.unique().tolist()) == {0.0, ng.tensor(1 / 0.75).item()}
    assert abs((out == 0).double().mean().item() - 0.25) < 5 * math.sqrt(0.25 * 0.75 / 200_000)
    out.sum().backward()
    assert (x.grad == out).all()


def test_the_seed_decides() -> None:
    def drawn() -> ng.Tensor:
        ng.manual_seed(3)
        return F.dropout(ng.ones(50), 0.5)

    first = drawn()
    assert (first == drawn()).all()
    assert (first != F.dropout(ng.ones(50), 0.5)).any()


@pytest.mark.parametrize("function", [F.dropout1d, F.dropout2d, F.dropout3d, F.feature_alpha_dropout])
def test_features_are_dropped_as_a_whole(function: Callable[..., Any]) -> None:
    rank = {F.dropout1d: 3, F.dropout2d: 4}.get(function, 5)
    out = function(ng.ones(20, 30, *[2] * (rank - 2)), 0.5, training=True).reshape(600, -1)
    assert (out == out[:, :1]).all()
    assert len(out[:, 0].unique()) == 2


def test_alpha_dropout_keeps_mean_and_variance() -> None:
    ng.manual_seed(0)
    x = ng.randn(200_000, dtype=ng.float64)
    out = F.alpha_dropout(x, 0.3, training=True)
    assert abs(out.mean().item()) < 0.02
    assert abs(out.std().item() - 1) < 0.02
    scale = 1 / math.sqrt((NEGATIVE_LIMIT**2 * 0.3 + 1) * 0.7)
    limit = -NEGATIVE_LIMIT * scale * 0.7
    dropped = ng.isclose(out, ng.tensor(limit, dtype=ng.float64))
    assert abs(dropped.double().mean().item() - 0.3) < 0.01


def test_native_dropout_gives_its_mask() -> None:
    x = ng.randn(100, requires_grad=True)
    out, mask = ng.native_dropout(x, 0.4, True)
    assert mask.dtype is ng.bool
    assert ng.allclose(out, x * mask / 0.6)
    out.sum().backward()
    assert ng.allclose(x.grad, mask / 0.6)


@pytest.mark.parametrize("dtype", [ng.float16, ng.bfloat16, ng.float64])
def test_dtypes(dtype: ng.dtype) -> None:
    out = F.dropout(ng.ones(100, dtype=dtype), 0.5)
    assert out.dtype is dtype
    assert set(out.tolist()) == {0.0, 2.0}


def test_in_place() -> None:
    x = ng.ones(100, requires_grad=True)
    y = x * 1
    out = nn.Dropout(0.5, inplace=True)(y)
    assert out is y
    out.sum().backward()
    assert (x.grad == y).all()


def test_members_of_a_batch_are_dropped_each_by_itself() -> None:
    out = ng.vmap(F.dropout, randomness="different")(ng.ones(2, 200))
    assert (out[0] != out[1]).any()
    out = ng.vmap(F.dropout, randomness="same")(ng.ones(2, 200))
    assert (out[0] == out[1]).all()


def test_modules_drop_in_training_alone() -> None:
    module = nn.Dropout(0.5)
    x = ng.ones(100)
    assert (module(x) == 0).any()
    assert module.eval()(x) is x
