"""`assert_close` says what `torch.testing.assert_close` says."""

from __future__ import annotations

import math

import pytest

import numgrad as ng
from numgrad.testing import assert_close

torch = pytest.importorskip("torch")

PAIRS = [
    ([1.0, 2.0], [1.0, 4.0]),
    ([1, 2], [1, 4]),
    ([math.nan, 2.0], [1.0, 2.0]),
    ([math.inf], [-math.inf]),
    ([0.5, 1.0], [0.0, math.inf]),
    ([True, False], [False, False]),
    ([[1.0], [2.0]], [[1.0], [4.0]]),
    ([1.0], [1.0, 2.0]),
    ([1.0], [1]),
]
NUMBERS = [(1.0, 2.0), (1, 2), (0.0, 0.0), (True, True), (1.0, 1.0 + 1e-9), (math.inf, math.inf)]


def outcome(check, *arguments, **options):
    try:
        check(*arguments, **options)
    except (AssertionError, ValueError) as error:
        return type(error), str(error)
    return None


@pytest.mark.parametrize("options", [{}, {"rtol": 0, "atol": 1}, {"equal_nan": True}, {"rtol": 0.1}], ids=str)
@pytest.mark.parametrize(("actual", "expected"), PAIRS)
def test_tensors(actual, expected, options):
    ours = outcome(assert_close, ng.tensor(actual), ng.tensor(expected), **options)
    theirs = outcome(torch.testing.assert_close, torch.tensor(actual), torch.tensor(expected), **options)
    assert ours == theirs


@pytest.mark.parametrize(("actual", "expected"), NUMBERS)
def test_numbers(actual, expected):
    assert outcome(assert_close, actual, expected) == outcome(torch.testing.assert_close, actual, expected)


def test_sequences():
    a, b = [1.0, [2.0, 3.0]], [1.0, [2.0, 4.0]]
    assert outcome(assert_close, a, b) == outcome(torch.testing.assert_close, a, b)
