"""Lowering, derivatives of any order, and printing of scalar functions.

Expected derivatives come from central differences of the very Python functions; test_fuzz_derive.py draws random ones.
(`NUMGRAD_FUZZ_SEED=123` repeats a run) and prints its seed when it fails.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numba
import numpy as np
import pytest
from scalar_programs import compiled, defined

from numgrad.kernels import scalar_rules
from numgrad.kernels.derive import combine, jacobian, vjp
from numgrad.kernels.lower import lower
from numgrad.kernels.scalar_function import walk
from numgrad.kernels.scalar_ir import Function, as_python, pruned, reads

# ---------------------------------------------------------------------------------------------------- functions

SCALE = 0.25


def wave(x):
    return math.sin(x) * x


@numba.njit
def compiled_tanh(x, k=2.0):
    return math.tanh(k * x)


def product_and_ratio(a, b):
    return a * b, a / b


def polynomial(x, y):
    return x * y + math.cos(x * y)


def branches(x):
    if x > 0:
        return x * x
    elif x > -1:
        return -x * math.exp(x)
    return math.log(-x)


def guarded_root(x):
    return math.sqrt(x) if x > 0 else 0.0


def chained(x, y):
    if 0 < x < 2 and (y > 1 or x > 1.5):
        return x * y
    return x - y


def series(x):
    total, term = 0, 1
    for i in range(7):
        total += term
        term = term * x / (i + 1)
    return total


def halving(x):
    y = x
    while y > 1.0:
        y = y * 0.5 + 0.1 * math.sin(x)
    return y * y


def newton(a):
    z = a
    for _ in range(60):
        better = 0.5 * (z + a / z)
        if abs(better - z) < 1e-14:
            break
        z = better
    return better


def odd_terms(x):
    s = x
    for i in range(1, 9):
        if i % 2 == 0:
            continue
        s = s + math.sin(s * i) / i
    return s


def helpers(x, y):
    return wave(x) + compiled_tanh(wave(y)) + compiled_tanh(x, k=3.0)


def swapped(x, y):
    a, b = product_and_ratio(x, y)
    a, b = b, a
    a, b = product_and_ratio(a, b)
    return a * b, a - b


def overwritten(x, y):
    for _ in range(10):
        x = x * 1.1
        if x > y:
            return x * y
    return x - y


def captured(x):
    return SCALE * x + math.pi * x**2 + x**3 + x**-1.5 + x**0.5


def powers(x, y):
    return x**y + 2.0**x + pow(y, x) + (-0.5) ** 2 * x


def elementary(x):
    a = math.tan(x) + math.asin(x) + math.acos(x) + math.atan(x) + math.sinh(x) + math.cosh(x) + math.exp(x)
    b = math.expm1(x) + math.log(x) + math.log2(x) + math.log10(x) + math.log1p(x) + math.sqrt(x) + math.erf(x)
    c = math.erfc(x) + math.lgamma(x) + math.gamma(x) + math.asinh(x) + math.atanh(x) + math.acosh(x + 1)
    return a + b + c + np.arctan2(x, 0.3) + math.hypot(x, 0.2) + math.exp2(x)


def extrema(x, y):
    smooth = max(x, y, 0.3) * min(x, 2 * y) + abs(x - y) + math.copysign(x, y)
    return smooth + math.floor(x * 5) * x + math.ceil(y) * y + (x % 0.3) + x // 0.2 + round(x) * y


def reassigned(x):
    y = x
    y = y * y
    y += y * x
    x = math.sin(y)
    return x * y


def self_swap(x, y):
    x, y = x * y, x + y
    x, y = y, x
    return x * x * y


def rectified(x):
    return x if x > 0 else 0.0


def normal_cdf(x):
    return 0.5 * math.erfc(-x / math.sqrt(2.0))


def option(s, k, t, r, v):
    d1 = (math.log(s / k) + (r + 0.5 * v * v) * t) / (v * math.sqrt(t))
    d2 = d1 - v * math.sqrt(t)
    return s * normal_cdf(d1) - k * math.exp(-r * t) * normal_cdf(d2)


def loop_variable(x):
    for i in range(3):
        i = i * x
        x = x + math.sin(i)
    return x * i


def valued_or(x, y):
    return (x or y) * (y and x)


logistic = lambda x: 1 / (1 + math.exp(-x))


def swish(x):
    return logistic(x) * x


CASES: list[tuple[Callable[..., Any], list[tuple[float, ...]]]] = [
    (polynomial, [(1.0, 2.0)]),
    (branches, [(0.7,), (-0.4,), (-3.0,)]),
    (guarded_root, [(0.3,), (-1.0,)]),
    (chained, [(1.0, 2.0), (1.7, 0.2), (0.5, 0.5)]),
    (series, [(0.6,)]),
    (halving, [(5.3,), (0.4,)]),
    (newton, [(7.3,)]),
    (odd_terms, [(0.8,)]),
    (helpers, [(0.7, 0.4)]),
    (swapped, [(1.3, 0.7)]),
    (overwritten, [(1.0, 1.5), (0.1, 9.0)]),
    (captured, [(0.8,)]),
    (powers, [(1.3, 2.2)]),
    (elementary, [(0.37,)]),
    (extrema, [(0.83, 0.35), (0.35, 0.83)]),
    (reassigned, [(0.7,)]),
    (self_swap, [(0.7, 1.2)]),
    (option, [(100.0, 95.0, 0.5, 0.03, 0.2)]),
    (loop_variable, [(0.7,)]),
    (valued_or, [(0.7, 1.2), (0.7, 0.1)]),
    (swish, [(0.4,), (-2.0,)]),
]


# ---------------------------------------------------------------------------------------------------- the checker


def values(function: Callable[..., Any], point: Sequence[float]) -> np.ndarray:
    return np.atleast_1d(np.array(function(*point), float))


def contracted_differences(
    function: Callable[..., Any], point: Sequence[float], weights: np.ndarray, step: float
) -> np.ndarray:
    """Central differences of `weights @ function`, by every argument."""
    result = []
    for index in range(len(point)):
        ends = [list(point), list(point)]
        size = step * max(1.0, abs(point[index]))
        ends[0][index] += size
        ends[1][index] -= size
        high, low = (weights @ values(function, end) for end in ends)
        result.append((high - low) / (2 * size))
    return np.array(result)


def check_gradient(
    function: Callable[..., Any], gradient: Callable[..., Any], point: Sequence[float], weights: np.ndarray
) -> None:
    """Compare a vjp with central differences of the function it belongs to."""
    expected = contracted_differences(function, point, weights, 1e-6)
    found = values(gradient, [*point, *weights])
    np.testing.assert_allclose(found, expected, rtol=2e-4, atol=2e-5 * max(1.0, np.abs(expected).max()))


def orders(function: Callable[..., Any], highest: int) -> list[Function]:
    """The function, its vjp, the vjp of that, ..."""
    chain = [lower(function)]
    for _ in range(highest):
        chain.append(vjp(chain[-1], range(len(chain[-1].parameters))))
    return chain


@pytest.mark.parametrize(("function", "points"), CASES, ids=lambda case: getattr(case, "__name__", ""))
def test_derivatives_of_orders_one_to_three(function: Callable[..., Any], points: list[tuple[float, ...]]) -> None:
    rng = np.random.default_rng(0)
    chain = orders(function, 3 if len(points[0]) < 3 else 2)
    for point in points:
        plain = getattr(function, "py_func", function)
        np.testing.assert_allclose(values(as_python(chain[0]), point), values(plain, point), rtol=1e-14)
        arguments = list(point)
        for below, above in itertools.pairwise(chain):
            weights = rng.uniform(0.5, 1.5, below.outputs)
            check_gradient(as_python(below), as_python(above), arguments, weights)
            arguments += list(weights)


def test_the_checker_catches_a_wrong_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(x):
        return math.tanh(x) * x

    monkeypatch.setitem(scalar_rules.RULES, "tanh", ("1.0 - y",))
    with pytest.raises(AssertionError):
        check_gradient(wrong, as_python(vjp(lower(wrong), (0,))), (0.5,), np.ones(1))


def test_jacobian_returns_values_and_partials() -> None:
    assert as_python(jacobian(lower(product_and_ratio), (0, 1)))(3.0, 2.0) == (6.0, 1.5, 2.0, 3.0, 0.5, -0.75)


def test_wrt_selects_inputs() -> None:
    gradient = vjp(lower(polynomial), (1,))
    assert gradient.outputs == 1
    check_gradient(lambda y: polynomial(1.0, y), lambda y, g: as_python(gradient)(1.0, y, g), (2.0,), np.ones(1))


def test_derivations_are_made_once() -> None:
    assert lower(polynomial) is lower(polynomial)
    assert lower(compiled_tanh) is lower(compiled_tanh.py_func)
    assert vjp(lower(polynomial), [0]) is vjp(lower(polynomial), (0,))


# ---------------------------------------------------------------------------------------------------- conventions


@pytest.mark.parametrize(
    ("function", "point", "expected"),
    [
        (lambda x: abs(x), (0.0,), (0.0,)),
        (lambda x, y: max(x, y), (1.0, 1.0), (0.5, 0.5)),
        (lambda x, y: min(x, y), (1.0, 1.0), (0.5, 0.5)),
        (lambda x: math.floor(x) * 2.0, (1.5,), (0.0,)),
        (lambda x: 1.0 if x > 0 else -1.0, (1.5,), (0.0,)),
        (lambda x: int(x) * x, (2.5,), (2.0,)),
        (lambda x, y: x**y, (0.0, 2.0), (0.0, 0.0)),
        (lambda x, y: x**y, (3.0, 0.0), (0.0, math.log(3.0))),
        (lambda x: x**0, (0.0,), (0.0,)),
        (lambda x: x**1, (0.0,), (1.0,)),
        (lambda x: math.sqrt(x) if x > 0 else 0.0, (-1.0,), (0.0,)),
        (lambda x: x if x > 0 else 0.0, (0.0,), (0.0,)),
    ],
)
def test_conventions_at_kinks(function: Any, point: tuple[float, ...], expected: tuple[float, ...]) -> None:
    gradient = as_python(vjp(lower(function), range(len(point))))
    np.testing.assert_allclose(values(gradient, [*point, 1.0]), expected)


@pytest.mark.parametrize("builtin", [max, min])
@pytest.mark.parametrize("point", [(math.nan, 1.0), (1.0, math.nan), (1.0, 2.0), (2.0, 1.0), (-0.0, 0.0)])
def test_extrema_treat_nan_as_python_does(builtin: Any, point: tuple[float, float]) -> None:
    def largest(x, y):
        return max(x, y)

    def smallest(x, y):
        return min(x, y)

    function = as_python(lower(largest if builtin is max else smallest))
    assert repr(function(*point)) == repr(builtin(*point))


def test_an_inactive_branch_contributes_exactly_zero() -> None:
    def relu(x):
        return x if x > 0 else 0.0

    assert values(as_python(vjp(lower(relu), (0,))), (-1.0, math.inf)) == [0.0]


@pytest.mark.parametrize(
    ("function", "point", "expected"),
    [
        (lambda x: abs(x), (0.0,), (0.0,)),
        (lambda x, y: max(x, y), (1.0, 2.0), (0.0, math.inf)),
        (lambda x, y: min(x, y) * 1.0, (1.0, 2.0), (math.inf, 0.0)),
        (lambda x: x * x if x > 0 else 0.0, (-1.0,), (0.0,)),
        (lambda x, y: rectified(x) + y, (-1.0, 2.0), (0.0, math.inf)),
        (lambda x, y: math.sqrt(x) if x > 0 else (y if y > 0 else 1.0), (-1.0, -1.0), (0.0, 0.0)),
    ],
)
def test_what_was_not_taken_gets_nothing_of_an_infinite_gradient(function: Any, point: Any, expected: Any) -> None:
    gradient = as_python(vjp(lower(function), range(len(point))))
    assert values(gradient, [*point, math.inf]).tolist() == list(expected)


# ---------------------------------------------------------------------------------------------------- two modes


def multiply_adds(count: int) -> Function:
    """Each of `count` values is a sum of products with all values before it."""
    lines = ["v0 = x0"]
    for i in range(1, count):
        lines.append(f"v{i} = " + " + ".join(f"v{j} * x{(i + j) % count}" for j in range(i)) + f" + x{i}")
    names = ", ".join(f"x{i}" for i in range(count))
    text = "\n    ".join([f"def multiply_adds({names}):", *lines, f"return v{count - 1}"])
    return lower(defined(text, "multiply_adds", {}))


def test_the_cost_of_a_gradient_does_not_grow_with_the_number_of_inputs() -> None:
    """Multiplications and additions, written out: tangents would take 200 times those of the function."""
    function = multiply_adds(20)
    gradient = vjp(function, range(20))
    assert len(list(walk(gradient.body))) < 5 * len(list(walk(function.body)))
    second = vjp(gradient, range(21))
    assert len(list(walk(second.body))) < 5 * len(list(walk(gradient.body)))
    point = [0.1 + 0.01 * i for i in range(20)]
    check_gradient(as_python(function), as_python(gradient), point, np.ones(1))


def test_many_early_returns_fall_back_to_tangents() -> None:
    """One exit would nest them deeper than Python parses."""
    lines = [f"    if x < {i}:\n        return x * y + {i}\n    y = y * 1.01\n" for i in range(60)]
    function = lower(defined(f"def returns(x, y):\n{''.join(lines)}    return x\n", "returns", {}))
    gradient = as_python(vjp(function, (0, 1)))
    for x in (-0.5, 20.5, 59.5, 99.0):
        check_gradient(as_python(function), gradient, (x, 1.3), np.ones(1))


def test_helpers_with_loops_within_straight_lines() -> None:
    def outer(x, y):
        root = newton(x * y)
        if root > 1:
            return root * math.sin(y)
        return halving(x + root) - y

    for point in ((1.3, 2.1), (0.4, 0.6)):
        first, second = (as_python(f) for f in orders(outer, 2)[1:])
        check_gradient(outer, first, point, np.ones(1))
        check_gradient(first, second, [*point, 1.2], np.array([0.7, 1.1]))


# ---------------------------------------------------------------------------------------------------- interface


def test_reads_are_what_the_gradient_depends_on() -> None:
    def add(input, other, *, alpha=1):
        return input + alpha * other

    def multiply(input, other):
        return input * other

    def where(condition: bool, input, other):
        return input if condition else other

    assert lower(add).parameters == ("input", "other", "alpha")
    assert reads(vjp(lower(add), (0,))) == ("g",)
    assert vjp(lower(add), (0,)).returns_parameter("g")
    assert reads(vjp(lower(add), (1,))) == ("alpha", "g")
    assert reads(vjp(lower(multiply), (0,))) == ("other", "g")
    assert reads(vjp(lower(where), (1, 2))) == ("condition", "g")
    assert reads(vjp(lower(helpers), (0,))) == ("x", "g")


def test_pruned_takes_the_given_parameters() -> None:
    gradient = vjp(lower(polynomial), (0,))
    reordered = pruned(gradient, ("g", "y", "spare", "x"))
    assert reordered.parameters == ("g", "y", "spare", "x")
    assert as_python(reordered)(1.5, 2.0, 0.0, 1.0) == as_python(gradient)(1.0, 2.0, 1.5)
    with pytest.raises(ValueError, match="polynomial_vjp reads x, y"):
        pruned(gradient, ("g",))


def test_combine_returns_the_outputs_of_all_parts() -> None:
    def of_the_result(g, out):
        return g * out

    part = vjp(lower(polynomial), (0,))
    both = combine("both", ("x", "y", "out", "g"), [(lower(of_the_result), ("g", "out")), (part, ("x", "y", "g"))])
    assert both.outputs == 2
    assert as_python(both)(1.0, 2.0, 3.0, 0.5) == (1.5, as_python(part)(1.0, 2.0, 0.5))
    check_gradient(as_python(both), as_python(vjp(both, range(4))), (1.0, 2.0, 3.0, 0.5), np.array([0.7, 1.1]))


def test_cotangent_names_avoid_parameters() -> None:
    def uses_g(g):
        return g * g

    assert vjp(lower(uses_g), (0,)).parameters == ("g", "gg")
    assert vjp(vjp(lower(uses_g), (0,)), (0, 1)).parameters == ("g", "gg", "ggg")
    assert vjp(lower(product_and_ratio), (0,)).parameters == ("a", "b", "g0", "g1")


# ---------------------------------------------------------------------------------------------------- compiled


@pytest.mark.parametrize("function", [series, branches, captured, elementary], ids=lambda f: f.__name__)
def test_float32_stays_float32(function: Callable[..., Any]) -> None:
    gradient = vjp(lower(function), (0,))
    kernel: Any = compiled(gradient, np.float32)
    found = kernel(np.float32(0.37), np.float32(1.0))
    assert kernel.nopython_signatures[0].return_type == numba.float32
    np.testing.assert_allclose(found, as_python(gradient)(0.37, 1.0), rtol=1e-4)
    llvm = next(iter(kernel.inspect_llvm().values()))
    body = llvm[llvm.index("define") : llvm.index("\n}\n")]
    assert "fpext" not in body
