"""`assert_close` says what `torch.testing.assert_close` says."""

from __future__ import annotations

import math

import pytest
from side_by_side import shown, snippets

import numgrad as ng
from numgrad.testing import assert_close

torch = pytest.importorskip("torch")

CHECKS = """
close(T([1.]), T([1.1]))
close({"a": T([1.])}, {"a": T([2.])})
close({"a": T([1.])}, {"b": T([2.])})
close({"a": [T([1.]), T(2.)]}, {"a": [T([1.]), T(3.)]})
close(None, None)
close(None, T(1.))
close("a", "a")
close([], [])
close([1.], (1.,))
close(T([True]), T([False]))
close(T([1 + 1j]), T([2. + 1j]))
close(1 + 1j, 2 + 1j)
close(T([1.], dtype=torch.float16), T([1.1], dtype=torch.float16))
close(T([1.], dtype=torch.bfloat16), T([1.1], dtype=torch.bfloat16))
close(T([1.]), T([1.1], dtype=torch.float64), check_dtype=False)
close(T(1.), T(1.1))
close(T([1.]), T([1.1]), msg="hey")
close(T([1.]), T([1.1]), msg=lambda m: "X" + m)
close([T([1.])], [T([1.1])], msg="hey")
close([T([1.])], [T([1.1])], msg=lambda m: "X" + m)
close(3, 3.)
close(3, 3., check_dtype=False)
close(T([float("nan")]), T([float("nan")]))
close(T([float("nan")]), T([float("nan")]), equal_nan=True)
close(T([1.]), [1.])
close(T([1.]), 1.)
close(T([1.]), T([1.]), rtol=1)
close(T([[1., 2.], [3., 4.]]), T([[1., 2.], [3., 5.]]))
close(T([1., 2.]), T([1., 2.]).requires_grad_())
close(torch.ones(2, 2).t(), torch.ones(2, 2), check_stride=True)
close(T([1.]), T([1.]), check_layout=False, allow_subclasses=False)
close(nn.Parameter(T([1.])), T([1.]))
close(nn.Parameter(T([1.])), T([1.]), allow_subclasses=False)
close(T([]), T([]))
close(np.ones(2), np.zeros(2))
close(np.ones(2), T([1., 1.]))
close(torch.ones(2, 3), torch.ones(3, 2))
close(T([256]), T([255], dtype=torch.uint8), check_dtype=False)
close([1, [2, 3]], [1, [2, 4]])
close([1], [1, 2])
make = torch.testing.make_tensor; x = make(2, 3, dtype=torch.float32, device="cpu"); out = x.shape, x.dtype, x.requires_grad, x.is_contiguous(), bool((x.abs() <= 9).all())
make = torch.testing.make_tensor; x = make((3, 4), dtype=torch.int64, device="cpu", low=2, high=4); out = x.dtype, sorted(set(x.flatten().tolist()) | {2, 3})
make = torch.testing.make_tensor; x = make((3, 4), dtype=torch.float64, device="cpu", noncontiguous=True, requires_grad=True); out = x.shape, x.stride(), x.is_leaf, x.requires_grad
make = torch.testing.make_tensor; x = make(40, dtype=torch.int32, device="cpu", low=0, high=2, exclude_zero=True); out = x.dtype, x.min()
make = torch.testing.make_tensor; x = make(3, dtype=torch.bool, device="cpu"); out = x.dtype, x.shape
make = torch.testing.make_tensor; x = make(3, dtype=torch.complex64, device="cpu"); out = x.dtype, x.shape
"""

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


@pytest.mark.parametrize("snippet", snippets(CHECKS))
def test_same_lines_show_the_same(snippet):
    prelude = "close = torch.testing.assert_close\n"
    assert shown(ng, prelude + snippet) == shown(torch, prelude + snippet)


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
