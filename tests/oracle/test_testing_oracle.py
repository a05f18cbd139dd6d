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
    ([1 + 2j, 1j], [1 + 2j, 4j]),
    ([complex(math.nan, 1)], [complex(math.nan, 1)]),
    ([complex(math.inf, 1)], [1j]),
]
NUMBERS = [(1.0, 2.0), (1, 2), (0.0, 0.0), (True, True), (1.0, 1.0 + 1e-9), (math.inf, math.inf), (1j, 1 + 1e-9 + 1j)]


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


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "complex64", "complex128"])
@pytest.mark.parametrize("step", [1e-9, 1e-6, 1e-4, 1e-3, 1e-2])
def test_default_tolerances(dtype, step):
    """A small step is lost in the dtype, a large one is not close: where that is differs between them."""
    found = []
    for library, check in ((ng, assert_close), (torch, torch.testing.assert_close)):
        pair = [library.tensor([value], dtype=getattr(library, dtype)) for value in (1.0, 1.0 + step)]
        found.append(outcome(check, *pair) is None)
    assert found[0] == found[1]


@pytest.mark.parametrize(("actual", "expected"), NUMBERS)
def test_numbers(actual, expected):
    assert outcome(assert_close, actual, expected) == outcome(torch.testing.assert_close, actual, expected)


def test_sequences():
    a, b = [1.0, [2.0, 3.0]], [1.0, [2.0, 4.0]]
    assert outcome(assert_close, a, b) == outcome(torch.testing.assert_close, a, b)
