"""`nn.init`: the distributions, by Kolmogorov and Smirnov's test and by what the matrices must satisfy.

The seeds are fixed: a draw that is right fails one of these tests with a chance of 1 in 10,000, once and for all.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from scipy import stats

import numgrad as ng
from numgrad import nn

init = nn.init
SHAPE = (64, 32, 3)  # fan_in 96, fan_out 192


def p_value(tensor: Any, distribution: Any) -> float:
    return stats.kstest(tensor.flatten().tolist(), distribution.cdf).pvalue


def uniform(bound: float) -> Any:
    return stats.uniform(-bound, 2 * bound)


def normal(std: float) -> Any:
    return stats.norm(0, std)


GAIN = math.sqrt(2 / (1 + 0.2**2))
DRAWS: list[tuple[str, Callable[..., Any], Any]] = [
    ("uniform_", lambda t, **g: init.uniform_(t, -2, 3, **g), stats.uniform(-2, 5)),
    ("normal_", lambda t, **g: init.normal_(t, 1, 3, **g), stats.norm(1, 3)),
    ("xavier_uniform_", lambda t, **g: init.xavier_uniform_(t, 2, **g), uniform(2 * math.sqrt(6 / 288))),
    ("xavier_normal_", lambda t, **g: init.xavier_normal_(t, 2, **g), normal(2 * math.sqrt(2 / 288))),
    ("kaiming_uniform_", lambda t, **g: init.kaiming_uniform_(t, 0.2, **g), uniform(GAIN * math.sqrt(3 / 96))),
    ("kaiming_normal_", lambda t, **g: init.kaiming_normal_(t, 0.2, "fan_out", **g), normal(GAIN / math.sqrt(192))),
    ("kaiming relu", lambda t, **g: init.kaiming_normal_(t, nonlinearity="relu", **g), normal(math.sqrt(2 / 96))),
    ("trunc_normal_", lambda t, **g: init.trunc_normal_(t, 1, 2, -1, 4, **g), stats.truncnorm(-1, 1.5, 1, 2)),
    ("trunc one side", lambda t, **g: init.trunc_normal_(t, 0, 1, 0.5, 9, **g), stats.truncnorm(0.5, 9, 0, 1)),
    ("trunc narrow", lambda t, **g: init.trunc_normal_(t, 0, 1, -0.1, 0.2, **g), stats.truncnorm(-0.1, 0.2, 0, 1)),
]


@pytest.mark.parametrize(("name", "draw", "distribution"), DRAWS, ids=[name for name, *_ in DRAWS])
def test_distributions(name: str, draw: Callable[..., Any], distribution: Any) -> None:
    generator = ng.Generator().manual_seed(3)
    before = ng.get_rng_state()
    tensor = ng.empty(SHAPE, requires_grad=True)
    assert draw(tensor, generator=generator) is tensor
    assert p_value(tensor, distribution) > 1e-4
    assert p_value(tensor * 1.15, distribution) < 1e-4  # the test would see as much
    assert tensor.is_leaf and tensor.requires_grad
    assert (ng.get_rng_state() == before).all()  # the default generator was not asked


@pytest.mark.parametrize("dtype", [ng.float16, ng.bfloat16, ng.float32, ng.float64], ids=str)
def test_truncated_values_lie_within_the_bounds(dtype: ng.dtype) -> None:
    tensor = init.trunc_normal_(ng.empty(3000, dtype=dtype), 0.0, 0.1, -0.15, 0.13)
    low, high = (ng.tensor(bound, dtype=dtype) for bound in (-0.15, 0.13))
    assert low <= tensor.min() < -0.1
    assert 0.1 < tensor.max() <= high


@pytest.mark.parametrize("shape", [(5, 5), (7, 3), (3, 7), (4, 2, 3)], ids=str)
def test_orthogonal(shape: tuple[int, ...]) -> None:
    tensor = init.orthogonal_(ng.empty(shape, dtype=ng.float64), gain=3).reshape(shape[0], -1)
    gram = tensor @ tensor.T if shape[0] <= tensor.shape[1] else tensor.T @ tensor
    ng.testing.assert_close(gram, 9 * ng.eye(len(gram), dtype=ng.float64))


def test_orthogonal_is_uniform() -> None:
    """The angle of a random rotation or reflection of the plane has no preferred value."""
    generator = ng.Generator().manual_seed(0)
    columns = [init.orthogonal_(ng.empty(2, 2), generator=generator)[:, 0].tolist() for _ in range(400)]
    angles = [math.atan2(y, x) for x, y in columns]
    assert stats.kstest(angles, stats.uniform(-math.pi, 2 * math.pi).cdf).pvalue > 1e-4


def test_sparse_sets_a_share_of_each_column_to_zero() -> None:
    tensor = init.sparse_(ng.empty(200, 30), sparsity=0.305, std=2.0)
    assert ((tensor == 0).sum(0) == 61).all()
    assert p_value(tensor[tensor != 0], normal(2)) > 1e-4
    rows = (tensor == 0).sum(1)
    assert rows.min() < rows.max() < 30  # other rows in other columns


def test_linear_draws_from_what_is_documented() -> None:
    ng.manual_seed(1)
    layer = nn.Linear(100, 500)
    assert p_value(layer.weight, uniform(0.1)) > 1e-4
    assert p_value(layer.bias, uniform(0.1)) > 1e-4


def test_bilinear_draws_from_what_is_documented() -> None:
    ng.manual_seed(1)
    layer = nn.Bilinear(25, 10, 200)
    assert p_value(layer.weight, uniform(0.2)) > 1e-4
    assert p_value(layer.bias, uniform(0.2)) > 1e-4
