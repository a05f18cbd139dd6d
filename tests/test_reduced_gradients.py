"""Gradients of broadcast operands, summed in the kernel: the same numbers as written in full and summed in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import numgrad as ng
from numgrad.autograd import elementwise_node
from numgrad.kernels import cpu, threads
from numgrad.kernels.derive import vjp
from numgrad.kernels.lower import lower
from numgrad.kernels.reduced_gradients import reduced_gradients
from numgrad.kernels.scalar_ir import Function, pruned


def affine(x, scale, shift):
    return x * scale + shift


def quotient(x, y):
    return x / (2.0 + y * y)


def gradient(function: Any, *names: str) -> Function:
    lowered = lower(function)
    return pruned(vjp(lowered, range(len(lowered.parameters))), ("g", *names))


AFFINE = gradient(affine, "x", "scale")
QUOTIENT = gradient(quotient, "x", "y")


def drawn(*shapes: tuple[int, ...], dtype: str = "float32") -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.normal(size=shape).astype(dtype) for shape in shapes]


def summed(full: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """`full` summed in float64 to a shape that it was broadcast from."""
    padded = (1,) * (full.ndim - len(shape)) + shape
    axes = tuple(d for d, n in enumerate(padded) if n == 1 and full.shape[d] != 1)
    return full.sum(axes, keepdims=True).reshape(shape)


def run(function: Function, operands: list[np.ndarray], shapes: list[tuple[int, ...]]) -> list[np.ndarray] | None:
    dtype = operands[0].dtype
    found = reduced_gradients(function, dtype, [cpu.from_host(x) for x in operands], shapes)
    return None if found is None else [array.ndarray for array in found]


SHAPES = {
    "a bias": ((70, 130), (130,)),
    "a bias of narrow rows": ((9001, 3), (3,)),
    "a bias under three axes": ((4, 20, 130), (130,)),
    "a matrix under three axes": ((40, 5, 6), (5, 6)),
    "a scale for each row": ((70, 130), (70, 1)),
    "a scale for each row of few": ((70, 3), (70, 1)),
    "a scale for each row of many columns": ((5, 2500), (5, 1)),
    "one item": ((70, 130), ()),
    "one item, of one axis": ((9001,), (1,)),
    "a row in few rows": ((2, 3), (1, 3)),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("shape", "small"), SHAPES.values(), ids=SHAPES)
def test_gradients_are_summed_to_the_operands_shape(shape: Any, small: Any, dtype: str) -> None:
    g, x, scale = drawn(shape, shape, small, dtype=dtype)
    found = run(AFFINE, [g, x, scale], [shape, small, small])
    assert found is not None
    wide = g.astype(float)
    expected = [wide * scale, summed(wide * x, small), summed(wide, small)]
    for value, reference in zip(found, expected, strict=True):
        assert value.dtype == dtype and value.shape == reference.shape
        np.testing.assert_allclose(value, reference, rtol=1e-5, atol=1e-5 * max(1.0, np.abs(reference).max()))


def test_rows_and_columns_in_one_call() -> None:
    g, row, column = drawn((90, 70), (70,), (90, 1))
    found = run(QUOTIENT, [g, column, row], [(90, 1), (70,)])
    assert found is not None
    wide, x, y = g.astype(float), column.astype(float), row.astype(float)
    d = 2.0 + y * y
    np.testing.assert_allclose(found[0], summed(wide / d, (90, 1)), rtol=1e-5, atol=1e-4)
    np.testing.assert_allclose(found[1], summed(-wide * x * 2 * y / d**2, (70,)), rtol=1e-5, atol=1e-4)


def test_what_is_neither_row_nor_column_is_left_to_others() -> None:
    shape = (4, 5, 6)
    assert run(AFFINE, drawn(shape, shape, (5, 1)), [shape, (5, 1), (5, 1)]) is None
    g, x, scale = drawn((6, 4), (6, 4), (4,))
    assert run(AFFINE, [g.T.copy().T, x, scale], [(6, 4), (4,), (4,)]) is None  # not contiguous
    assert run(AFFINE, [g, x, x], [(6, 4), (6, 4), (6, 4)]) is None  # nothing to sum
    assert run(AFFINE, [g, x.astype("float64"), scale], [(6, 4), (4,), (4,)]) is None


@pytest.mark.parametrize(("shape", "small"), [((1 << 21, 1), ()), ((1 << 20, 2), (2,)), ((1, 1 << 21), (1, 1))])
def test_long_float32_sums_are_accurate(shape: Any, small: Any) -> None:
    """2^21 times 0.1 in float32, one after the other, would be off by some percent."""
    g = np.full(shape, 0.1, np.float32)
    found = run(AFFINE, [g, g, np.ones(small, np.float32)], [shape, small, small])
    assert found is not None
    count = g.size // max(1, int(np.prod(small)))
    np.testing.assert_allclose(found[2], count * float(np.float32(0.1)), rtol=3e-7)


def test_the_number_of_threads_changes_nothing() -> None:
    shape = (3000, 257)
    operands = drawn(shape, shape, (257,))
    before, results = threads.get_num_threads(), []
    try:
        for count in (1, 2, 3, 7):
            threads.set_num_threads(count)
            results.append(run(AFFINE, operands, [shape, (257,), (257,)]))
    finally:
        threads.set_num_threads(before)
    for other in results[1:]:
        for first, second in zip(results[0], other, strict=True):
            np.testing.assert_array_equal(first, second)


def test_nan_and_infinities_stay_in_their_column() -> None:
    g, x, scale = drawn((50, 80), (50, 80), (80,))
    x[7, 3], g[9, 5] = np.nan, np.inf
    found = run(AFFINE, [g, x, scale], [(50, 80), (80,), (80,)])
    assert found is not None
    assert np.isnan(found[1][3]) and np.isinf(found[1][5]) and np.isfinite(np.delete(found[1], [3, 5])).all()
    assert np.isinf(found[2][5]) and np.isfinite(np.delete(found[2], 5)).all()


def test_backward_uses_it(monkeypatch: pytest.MonkeyPatch) -> None:
    used = []

    def spy(*arguments: Any) -> Any:
        used.append(reduced_gradients(*arguments))
        return used[-1]

    monkeypatch.setattr(elementwise_node, "reduced_gradients", spy)
    x = ng.ones(40, 70, requires_grad=True)
    scale = ng.full((70,), 3.0, requires_grad=True)
    (x * scale).backward(ng.full((40, 70), 2.0))
    assert used[0] is not None
    assert x.grad.tolist() == [[6.0] * 70] * 40
    assert scale.grad.tolist() == [80.0] * 70
    only = ng.full((70,), 3.0, requires_grad=True)
    (only * ng.ones(40, 70)).backward(ng.full((40, 70), 2.0))
    assert used[1] is not None and only.grad.tolist() == [80.0] * 70


def test_forward_rows_on_several_threads() -> None:
    """Large enough to be split; the result of each row is its own."""
    x, bias = drawn((1000, 300), (300,))
    before = threads.get_num_threads()
    try:
        threads.set_num_threads(3)
        found = (ng.tensor(x) * ng.tensor(bias)).numpy()
    finally:
        threads.set_num_threads(before)
    np.testing.assert_array_equal(found, x * bias)


def test_ops_of_several_outputs_use_it(monkeypatch: pytest.MonkeyPatch) -> None:
    used = []

    def spy(*arguments: Any) -> Any:
        used.append(reduced_gradients(*arguments))
        return used[-1]

    monkeypatch.setattr(elementwise_node, "reduced_gradients", spy)

    @ng.elementwise
    def product_and_sum(x, scale):
        return x * scale, x + 2 * scale

    x, scale = ng.ones(40, 70, requires_grad=True), ng.full((70,), 3.0, requires_grad=True)
    product, total = product_and_sum(x, scale)
    (product.sum() + 5 * total.sum()).backward()
    assert used[0] is not None
    assert x.grad.tolist() == [[8.0] * 70] * 40
    assert scale.grad.tolist() == [40 * 11.0] * 70
