"""sin, cos and tan of arguments too large for the packed range reduction: kernels must notice and use the C library's.

Expected values are mpmath's. Arguments are a few large ones among ordinary ones, some blocks having none.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
import ulp

import numgrad as ng
from numgrad.kernels import cpu, guards
from numgrad.kernels.derive import vjp
from numgrad.kernels.lower import lower
from numgrad.kernels.reduced_gradients import reduced_gradients
from numgrad.kernels.scalar_ir import as_python, pruned
from numgrad.kernels.vector_math import LIMITED, LIMITS

LARGE = {"float32": [1e20, 3.4028235e38, -21999384576.0, 1e9], "float64": [1e20, 1e300, -1.7976931348623157e308, 1e9]}
PERIODIC = ("cos", "sin", "tan")
DTYPES = pytest.mark.parametrize("dtype", ["float32", "float64"])


def wave(x):
    return math.sin(x)


def swinging(x):
    return math.sin(math.exp(x))


def branching(x):
    if x > 1:
        x = x * x
        return math.cos(x)
    return x if x < 0 else math.tan(x * 1e12)


def helped(x):
    return wave(x * x) + branching(x)


def converging(x):
    steps = 0
    y = x
    while abs(y) > 0.5 and steps < 5:
        y = math.sin(y) * 0.9
        steps += 1
    return y


def among_ordinary(large: list[float], dtype: str) -> np.ndarray:
    """2.5 blocks of arguments: ordinary ones in the first, and some large ones in the second and the third."""
    x = np.random.default_rng(0).uniform(-4, 4, cpu.BLOCK_ITEMS * 5 // 2).astype(dtype)
    x[[cpu.BLOCK_ITEMS, 1500, -300, -1][: len(large)]] = large
    return x


def computed(function: Any, *operands: Any, dtype: str) -> np.ndarray:
    out = np.empty_like(next(x for x in operands if isinstance(x, np.ndarray)))
    pattern = "".join("v" if isinstance(x, np.ndarray) else "n" for x in operands)
    cpu.flat_plan(function, np.dtype(dtype), (np.dtype(dtype),), pattern).kernel(*operands, out)
    return out


def exact(function: Callable[[Any], Any], x: np.ndarray) -> np.ndarray:
    values = []
    for value in x.tolist():
        with mpmath.workprec(120 + max(0, math.frexp(value)[1])):
            values.append(float(function(mpmath.mpf(value))))
    return np.array(values)


def assert_close(got: np.ndarray, expected: np.ndarray, ulps: float = 2.0) -> None:
    spacing = np.spacing(np.abs(expected.astype(got.dtype))).astype(float)
    error = np.abs(got.astype(float) - expected) / spacing
    assert error.max() <= ulps + 0.5, f"item {error.argmax()} is wrong by {error.max():.3g} ulp"


@DTYPES
@pytest.mark.parametrize("name", PERIODIC)
def test_large_arguments_among_ordinary_ones_of_an_op(name: str, dtype: str) -> None:
    x = among_ordinary(LARGE[dtype], dtype)
    got = getattr(ng, name)(ng.tensor(x)).numpy()
    assert got.dtype == dtype
    assert_close(got, exact(getattr(mpmath, name), x))


@DTYPES
@pytest.mark.parametrize("name", PERIODIC)
def test_an_item_does_not_depend_on_its_neighbours(name: str, dtype: str) -> None:
    x = np.random.default_rng(0).uniform(-100, 100, 20 * cpu.BLOCK_ITEMS).astype(dtype)
    alone = getattr(ng, name)(ng.tensor(x)).numpy()
    x[:: cpu.BLOCK_ITEMS] = 1e20
    among_large = getattr(ng, name)(ng.tensor(x)).numpy()
    assert (alone == among_large).reshape(20, -1)[:, 1:].all()


@DTYPES
def test_infinities_and_nan_give_nan(dtype: str) -> None:
    x = among_ordinary([math.inf, -math.inf, math.nan], dtype)
    got = ng.sin(ng.tensor(x)).numpy()
    np.testing.assert_array_equal(np.isnan(got), ~np.isfinite(x))


@DTYPES
def test_in_place(dtype: str) -> None:
    x = among_ordinary(LARGE[dtype], dtype)
    expected = computed(lower(wave), x, dtype=dtype)
    cpu.flat_plan(lower(wave), x.dtype, (x.dtype,), "v").kernel(x, x)
    np.testing.assert_array_equal(x, expected)


@pytest.mark.parametrize("size", [1, 7, 67, 3000])
def test_the_output_may_be_any_of_the_inputs(size: int) -> None:
    """Kernels are compiled as if arrays did not overlap: vector bodies and remainders must not notice that they do."""

    def mixed(x, y):
        return math.exp(x) * y - math.cos(x + y)

    x, y = np.random.default_rng(0).uniform(-2, 2, (2, size))
    kernel = cpu.flat_plan(lower(mixed), x.dtype, (x.dtype,), "vv").kernel
    for first, second in ((x, y), (x, x)):
        expected = computed(lower(mixed), first, second, dtype="float64")
        for place in range(2):
            written = first.copy()
            operands = [written, written] if second is first else [written, second.copy()]
            kernel(*operands, operands[place])
            np.testing.assert_array_equal(operands[place], expected)


@DTYPES
def test_first_and_second_derivative(dtype: str) -> None:
    x = among_ordinary(LARGE[dtype], dtype)
    tensor = ng.tensor(x, requires_grad=True)
    (first,) = ng.autograd.grad(ng.sin(tensor).sum(), tensor, create_graph=True)
    (second,) = ng.autograd.grad(first.sum(), tensor)
    assert_close(first.detach().numpy(), exact(mpmath.cos, x))
    assert_close(second.numpy(), exact(lambda v: -mpmath.sin(v), x))


def test_large_intermediate_values() -> None:
    """exp(x) is rounded before its sine is taken: the expected value is the sine of that rounded number."""
    x = among_ordinary([50.0, 80.0, 300.0, 709.0], "float64")
    middle = ng.exp(ng.tensor(x)).numpy()
    assert_close(computed(lower(swinging), x, dtype="float64"), exact(mpmath.sin, middle))
    gradient = computed(pruned(vjp(lower(swinging), (0,)), ("x", "g")), x, np.ones_like(x), dtype="float64")
    assert_close(gradient, exact(mpmath.cos, middle) * middle, ulps=4)


@pytest.mark.parametrize("function", [branching, helped, converging])
def test_control_flow_and_helpers(function: Any) -> None:
    """Against the same function in plain Python, whose functions are the C library's."""
    x = np.concatenate([among_ordinary([1e8, 1e20, -1e20, 1e10], "float64"), np.full(2000, 0.3), [1e-9, 0.5]])
    expected = np.array([function(value) for value in x.tolist()])
    np.testing.assert_allclose(computed(lower(function), x, dtype="float64"), expected, rtol=2e-13)


def test_rows_and_numbers() -> None:
    def scaled(x, scale, shift):
        return math.sin(x * scale) + shift

    x = np.random.default_rng(0).uniform(-4, 4, (5, 2500))
    x[2, 1700] = 1e15
    scale, shift = np.linspace(1, 1e9, 5)[:, None], np.linspace(-1, 1, 2500)
    for operands in ([x, scale, shift], [x, 1e9, shift], [x[0], 1e12, shift]):
        out = cpu.empty(np.broadcast_shapes(*map(np.shape, operands)), x.dtype)
        cpu.map(lower(scaled), x.dtype, [cpu.from_host(v) if np.ndim(v) else v for v in operands], [out])
        wanted = np.sin(operands[0] * operands[1]) + operands[2]
        np.testing.assert_allclose(out.ndarray, wanted, rtol=0, atol=1e-15)


def test_gradients_that_are_summed_in_their_kernel() -> None:
    def shifted(x, shift):
        return math.sin(x + shift)

    rng = np.random.default_rng(0)
    g, x, shift = rng.normal(size=(40, 300)), rng.uniform(-4, 4, (40, 300)), rng.uniform(-1, 1, 300)
    x[17, 123] = 1e25
    gradient = pruned(vjp(lower(shifted), (0, 1)), ("g", "x", "shift"))
    found = reduced_gradients(gradient, x.dtype, [cpu.from_host(v) for v in (g, x, shift)], [x.shape, shift.shape])
    assert found is not None
    expected = g * np.cos(x + shift)
    np.testing.assert_allclose(found[0].ndarray, expected, rtol=1e-13)
    np.testing.assert_allclose(found[1].ndarray, expected.sum(0), rtol=1e-12, atol=1e-13)


def divided(x, y):
    return x % y


def counted(x, n: int):
    return x * (n % 7)


def guard(function: Any) -> Any:
    return as_python(guards.beyond(lower(function), frozenset(LIMITED), 1e6))


def test_a_guard_looks_at_every_argument_on_the_way() -> None:
    assert [guard(branching)(x) for x in (-1e9, 1e-3, 1e-7, 900.0, 1100.0)] == [False, True, False, False, True]
    assert [guard(helped)(x) for x in (-900.0, -1100.0, 30.0, 40.0)] == [False, True, False, False]
    assert guard(helped)(1001.0)
    assert [guard(converging)(x) for x in (0.1, 1e5, 1e7)] == [False, False, True]


def test_a_guard_looks_at_the_quotient_of_reals() -> None:
    assert [guard(divided)(*pair) for pair in ((1e5, 1e-2), (1e5, 1e-1), (1e9, 1e8))] == [True, False, False]
    assert not guards.uses(lower(counted), LIMITED)  # of integers


def test_a_guard_computes_only_what_arguments_depend_on() -> None:
    """The gradient of sin reads g, its guard does not: one comparison is left."""
    flag = guards.beyond(vjp(lower(wave), (0,)), frozenset(LIMITED), 1e6)
    assert [statement.op for statement in flag.body] == ["id", "abs", ">", "|", "return"]


def test_kernels_without_such_functions_are_not_guarded() -> None:
    def plain(x):
        return math.exp(x)

    assert "is_beyond" not in cpu.kernel_source(lower(plain), "float32", "v", "flat")
    assert "is_beyond" in cpu.kernel_source(lower(wave), "float32", "v", "flat")
    assert "is_beyond" not in cpu.kernel_source(lower(wave), "int64", "v", "flat")


@ulp.needs_x86
@pytest.mark.parametrize(("pattern", "form"), [("v", "flat"), ("f", "rows")])
def test_the_guard_and_the_loop_it_allows_are_vectorised(pattern: str, form: str) -> None:
    namespace: dict[str, Any] = {}
    exec(cpu.kernel_source(lower(wave), "float32", pattern, form), namespace)
    ones = np.ones((3,) if form == "flat" else (3, 3), np.float32)
    namespace["kernel"](ones, ones.copy())
    (assembly,) = namespace["kernel"].inspect_asm().values()
    assert re.search(r"\bv?cmp\w*ps\s.*%[xyz]mm", assembly), "the comparison with the limit"
    assert re.search(r"\bv?(mul|fn?m(add|sub)\d+)pd\s.*%[xyz]mm", assembly), "the polynomial, which is in float64"


def test_a_function_with_a_loop_uses_the_c_library_throughout() -> None:
    text = cpu.kernel_source(lower(converging), "float64", "v", "flat")
    assert "math.sin" in text and "_sin" not in text


def test_a_function_may_be_called_as_names_in_kernels_are() -> None:
    def step(x):
        return math.cos(x)

    def kernel(x):
        return step(x) + 1

    x = np.linspace(0, 1, 10)
    np.testing.assert_allclose(computed(lower(kernel), x, dtype="float64"), np.cos(x) + 1, rtol=1e-15)


def test_limits_are_those_of_the_packed_functions() -> None:
    """Just beyond the limit the packed functions are still right, so rounding in a guard can do no harm."""
    for dtype, limit in LIMITS.items():
        x = np.linspace(limit, limit * 1.001, 1000).astype(dtype)
        for name in PERIODIC:
            assert_close(ulp.evaluate(name, x), exact(getattr(mpmath, name), x))
