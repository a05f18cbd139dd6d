"""Reductions: exactness, layouts that are walked where they lie, threads that change no bit, gradients at special values.

Expected values come from NumPy in float64 or from mathematics, as each test says; PyTorch's are in tests/oracle.
"""

from __future__ import annotations

import itertools
import math
import warnings

import numpy as np
import pytest

import numgrad as ng
from numgrad.kernels import folds
from numgrad.kernels.extrema import MAXIMUM, MINIMUM
from numgrad.kernels.reductions import ALL, ANY, COUNT, PRODUCT, SUM, products_of_others
from numgrad.kernels.statistics import EXPONENTIALS, SQUARED_DEVIATIONS
from numgrad.testing import gradcheck, gradgradcheck

F32 = np.float32


@pytest.fixture
def two_threads():
    before = ng.get_num_threads()
    ng.set_num_threads(2)
    yield
    ng.set_num_threads(before)


# ---------------------------------------------------------------------------------------------------- exactness
def test_the_mean_of_twenty_million_ones_is_one():
    x = ng.ones(20_000_000)
    assert x.sum().item() == 2e7
    assert x.mean().item() == 1


@pytest.mark.parametrize("axes", [(0,), (1,), (0, 1)])
def test_float32_sums_are_as_good_as_blocks_of_1024_allow(axes):
    """A lane of 16 sums 64 items: errors of some roundings of 1024 items, against the float64 sum (mathematics)."""
    x = np.random.default_rng(0).random((700, 1500), F32)
    exact = x.astype(np.float64).sum(axes)
    np.testing.assert_allclose(SUM.over(x, axes), exact, rtol=2e-7)


def test_squares_and_products_overflow_only_where_their_result_does():
    x = ng.tensor([3e30, 4e30])
    assert x.norm().item() == pytest.approx(5e30, rel=1e-6)  # the squares are above float32's range
    assert ng.tensor([1e-30, 1e-30]).norm().item() == pytest.approx(math.sqrt(2) * 1e-30, rel=1e-6)
    assert ng.tensor([1e30, 1e30, 1e-30, 1e-30]).prod().item() == pytest.approx(1, rel=1e-6)


@pytest.mark.parametrize("value", [0.1, 1 / 3, 1e10])
@pytest.mark.parametrize("dtype", [ng.float32, ng.float64])
def test_the_variance_of_equal_items_is_exactly_zero(value, dtype):
    x = ng.full((3, 1001), value, dtype=dtype).requires_grad_()
    assert (x.var(1) == 0).all()
    assert x.std().item() == 0
    (x.std(1).sum() + x.std(0).sum()).backward()
    assert (x.grad == 0).all()


def test_a_variance_far_from_zero_keeps_its_digits():
    x = 1e8 + np.random.default_rng(0).normal(size=(4, 999))
    expected = (x - x.mean(1, keepdims=True)).var(1, ddof=1)
    np.testing.assert_allclose(ng.from_numpy(x).var(1).numpy(), expected, rtol=1e-9)


# ---------------------------------------------------------------------------------------------------- layouts
def layouts() -> dict[str, np.ndarray]:
    x = np.random.default_rng(0).normal(size=(6, 10, 8)).round(1)
    return {
        "contiguous": x,
        "transposed": x.transpose(2, 0, 1),
        "reversed": x.T,
        "rows of a larger array": x[:, :, :5],
        "columns of one": x[:, 2:7],
        "every second": x[::2, ::2, ::2],
        "repeated": np.broadcast_to(x[:, :1], x.shape),
        "repeated outside": np.broadcast_to(x[0], x.shape),
        "repeated inside": np.broadcast_to(x[:, :, :1], x.shape),
        "one item": x[:1, :1, :1],
        "thin": x[:, :1],
    }


AXES = [axes for count in range(4) for axes in itertools.combinations(range(3), count)]


@pytest.mark.parametrize("axes", AXES, ids=str)
@pytest.mark.parametrize("layout", layouts())
def test_folds_of_any_layout(layout, axes):
    """Against NumPy."""
    x = layouts()[layout]
    np.testing.assert_allclose(SUM.over(x, axes), x.sum(axes), rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(PRODUCT.over(x, axes), x.prod(axes), rtol=1e-12)
    np.testing.assert_array_equal(MAXIMUM.values(x, axes), x.max(axes))
    np.testing.assert_array_equal(MINIMUM.values(x, axes), x.min(axes))
    np.testing.assert_array_equal(COUNT.over(x, axes), np.count_nonzero(x, axes) if axes else x != 0)
    np.testing.assert_array_equal(ANY.over(x > 1, axes), (x > 1).any(axes))
    np.testing.assert_array_equal(ALL.over(x > -1, axes), (x > -1).all(axes))
    mean = x.mean(axes)
    np.testing.assert_allclose(
        SQUARED_DEVIATIONS.over(x, axes, mean), x.var(axes) * math.prod(x.shape[d] for d in axes), rtol=1e-12, atol=1e-13
    )


@pytest.mark.parametrize("dim", [0, 1, 2])
@pytest.mark.parametrize("layout", layouts())
def test_indices_of_any_layout(layout, dim):
    """The first index of equal items, against NumPy."""
    x = layouts()[layout]
    for extremum, values, indices in ((MAXIMUM, np.max, np.argmax), (MINIMUM, np.min, np.argmin)):
        found = extremum.with_indices(x, dim)
        np.testing.assert_array_equal(found[0], values(x, dim))
        np.testing.assert_array_equal(found[1], indices(x, dim))


@pytest.mark.parametrize(
    ("layout", "axes", "form"),
    [
        ("contiguous", (1,), folds.Form(6, 80, 10, 8, 8)),
        ("contiguous", (1, 2), folds.Form(6, 80, 80, 1, 1)),
        ("transposed", (0,), folds.Form(60, 8, 8, 1, 1)),
        ("transposed", (1,), folds.Form(1, 0, 6, 80, 80)),
        ("reversed", (0,), folds.Form(60, 8, 8, 1, 1)),
        ("columns of one", (0,), folds.Form(1, 0, 6, 80, 40)),
        ("columns of one", (1, 2), folds.Form(6, 80, 40, 1, 1)),
        ("repeated", (1,), folds.Form(1, 0, 10, 0, 0)),
    ],
)
def test_these_layouts_are_not_copied(layout, axes, form):
    x = layouts()[layout]
    found = folds.walk(x, axes)
    if layout == "repeated":  # two kept strides do not merge
        assert found is None
        return
    assert found.form == form
    assert np.shares_memory(found.buffer, x)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.int32, np.int64, np.bool_])
@pytest.mark.parametrize("axes", [(0,), (1,), (0, 1)])
def test_integers_and_bools(dtype, axes):
    """Exactly as NumPy, in int64."""
    x = np.random.default_rng(0).integers(-3, 4, (5, 40)).astype(dtype)
    assert SUM.over(x, axes).dtype == np.int64
    np.testing.assert_array_equal(SUM.over(x, axes), x.sum(axes, dtype=np.int64))
    np.testing.assert_array_equal(MAXIMUM.values(x, axes), x.max(axes))
    np.testing.assert_array_equal(MINIMUM.values(x, axes), x.min(axes))
    np.testing.assert_array_equal(MAXIMUM.with_indices(x, axes[0])[1], x.argmax(axes[0]))


# ---------------------------------------------------------------------------------------------------- large: units, threads
LARGE = {
    "rows": ((700, 5000), (1,)),
    "few long rows": ((2, 2_000_000), (1,)),
    "everything": ((3_000_017,), (0,)),
    "columns": ((3000, 1000), (0,)),
    "few long columns": ((1_000_003, 3), (0,)),
    "middle": ((3, 1200, 900), (1,)),
    "wide": ((5, 600_000), (0,)),
    "outer and inner": ((40, 60, 1300), (0, 2)),
}


@pytest.mark.parametrize("case", LARGE)
def test_results_do_not_depend_on_the_number_of_threads(case, two_threads):
    """To the bit; and they are NumPy's."""
    shape, axes = LARGE[case]
    x = np.random.default_rng(0).random(shape, F32)
    center = np.zeros([n for d, n in enumerate(shape) if d not in axes], F32)
    found = []
    for count in (1, 2, 3):
        ng.set_num_threads(count)
        results = [SUM.over(x, axes), MAXIMUM.values(x, axes), EXPONENTIALS.over(x, axes, center)]
        if len(axes) == 1:
            results += MAXIMUM.with_indices(x, axes[0])
        found.append(results)
    for other in found[1:]:
        for one, another in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(one, another, strict=True)
    # The result's own rounding is 6e-8; lanes of float32 add some of the same size.
    np.testing.assert_allclose(found[0][0], x.sum(axes, dtype=np.float64), rtol=3e-7)
    np.testing.assert_array_equal(found[0][1], x.max(axes))
    if len(axes) == 1:
        np.testing.assert_array_equal(found[0][4], x.argmax(axes[0]))


# ---------------------------------------------------------------------------------------------------- NaN, ties, zeros
@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_extremes_of_special_floats(dtype, sign):
    """Every pair of special values, and NaN of both signs at every place, against NumPy."""
    special = sign * np.array([0.0, -0.0, 1, -1, math.inf, -math.inf, 5e-324, -1e-310, 3e38, -3e38], dtype)
    pairs = np.stack([a.ravel() for a in np.meshgrid(special, special)], 1)
    nan = np.copysign(dtype(math.nan), dtype(sign))
    rows = np.concatenate([pairs, np.insert(pairs[:, :1], 0, nan, 1), np.insert(pairs[:, :1], 1, nan, 1)])
    for x, axis in ((rows, 1), (np.ascontiguousarray(rows.T), 0)):
        for extremum, values, indices in ((MAXIMUM, np.max, np.argmax), (MINIMUM, np.min, np.argmin)):
            np.testing.assert_array_equal(extremum.values(x, (axis,)), values(x, axis))
            found = extremum.with_indices(x, axis)
            np.testing.assert_array_equal(found[0], values(x, axis))
            np.testing.assert_array_equal(found[1], indices(x, axis))


def test_the_first_nan_of_a_long_row_is_found():
    x = np.zeros((2, 5000), F32)
    x[0, 4321] = x[0, 4400] = math.nan
    x[1, 4999] = 1
    assert ng.from_numpy(x).argmax(1).tolist() == [4321, 4999]
    assert ng.from_numpy(np.ascontiguousarray(x.T)).argmax(0).tolist() == [4321, 4999]


def test_ties_are_counted_in_integers():
    """behaviours: 2^24 + 8 equal maxima share the gradient 1/n; a float32 count would stop at 2^24."""
    n = 2**24 + 8
    x = ng.ones(n, requires_grad=True)
    x.amax().backward()
    assert x.grad[0].item() == x.grad[-1].item() == np.float32(1 / n)


@pytest.mark.parametrize(
    ("values", "expected"),
    [([0.0, 2.0, 3.0], [6.0, 0.0, 0.0]), ([0.0, 0.0, 3.0], [0.0] * 3), ([0.0], [1.0]), ([2.0, 3.0], [3.0, 2.0])],
)
@pytest.mark.parametrize("create_graph", [False, True])
def test_gradients_of_products_with_zeros(values, expected, create_graph):
    """Mathematics: the product of the others."""
    for product in (lambda x: x.prod(), lambda x: x.prod(0), lambda x: x.prod(-1, True)):
        x = ng.tensor(values, requires_grad=True)
        (g,) = ng.autograd.grad(product(x).sum(), x, create_graph=create_graph)
        assert g.tolist() == expected


@pytest.mark.parametrize("n", [2, 3, 5, 8, 13])
def test_products_of_others(n):
    """Every order is exact at zeros: the second derivative, item (i, j), is the product of all but i and j."""
    values = np.arange(n, dtype=np.float64)  # one zero
    values[n // 2] = 0
    x = ng.from_numpy(values).requires_grad_()
    others = products_of_others(x, 0)
    assert others.tolist() == [math.prod(values[j] for j in range(n) if j != i) for i in range(n)]
    for i in range(n):
        (row,) = ng.autograd.grad(others[i], x, retain_graph=True)
        expected = [math.prod(values[k] for k in range(n) if k not in (i, j)) if i != j else 0 for j in range(n)]
        assert row.tolist() == expected


def test_a_product_that_underflows_still_has_a_gradient():
    x = ng.tensor([1e-30, 1e-30, 1.0], requires_grad=True)
    x.prod().backward()
    np.testing.assert_allclose(x.grad.numpy()[:2], [1e-30, 1e-30], rtol=1e-6)


def test_gradients_where_norms_have_a_kink():
    """PyTorch's conventions: 0 at items that are 0 (p = 1, p < 1) and where the norm is 0."""
    for p, expected in ((1, [0.0, 1.0]), (0.5, [0.0, 1.0]), (2, [0.0, 1.0]), (3, [0.0, 1.0]), (math.inf, [0.0, 1.0])):
        x = ng.tensor([0.0, 2.0], requires_grad=True)
        x.norm(p).backward()
        assert x.grad.tolist() == expected, p
        x = ng.tensor([0.0, 0.0], requires_grad=True)
        (g,) = ng.autograd.grad(x.norm(p), x, create_graph=True)
        assert g.tolist() == [0, 0], p
        (second,) = ng.autograd.grad(g.sum(), x, allow_unused=True, materialize_grads=True)
        assert second.tolist() == [0, 0], p
    x = ng.tensor([2.0, -2.0, 1.0], requires_grad=True)
    x.norm(math.inf).backward()
    assert x.grad.tolist() == [0.5, -0.5, 0]


@pytest.mark.parametrize("create_graph", [False, True])
def test_logsumexp_of_nothing_but_minus_infinity(create_graph):
    """-inf with gradient 0 (the limit of the softmax weights times 0); PyTorch gives NaN."""
    x = ng.tensor([[-math.inf, -math.inf], [0.0, -math.inf]], requires_grad=True)
    out = x.logsumexp(1)
    assert out.tolist() == [-math.inf, 0]
    (g,) = ng.autograd.grad(out.sum(), x, create_graph=create_graph)
    assert g.tolist() == [[0, 0], [1, 0]]


def test_logsumexp_does_not_overflow():
    x = ng.tensor([[1000.0, 1000.0], [-1000.0, -1000.0]])
    np.testing.assert_allclose(x.logsumexp(1).numpy(), [1000 + math.log(2), -1000 + math.log(2)], rtol=1e-7)


@pytest.mark.parametrize("correction", [3, 5])
def test_variances_without_degrees_of_freedom_are_infinite_and_say_so(correction):
    x = ng.tensor([1.0, 2.0, 4.0], dtype=ng.float64)
    with pytest.warns(UserWarning, match="degrees of freedom is <= 0"):
        assert x.var(correction=correction).item() == math.inf
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x.var(correction=2)


def test_unbiased_and_correction_together_are_refused():
    with pytest.raises(TypeError, match=r"var\(\): unbiased and correction say the same thing"):
        ng.ones(3).var(unbiased=False, correction=0)


# ---------------------------------------------------------------------------------------------------- gradients
@pytest.mark.parametrize("p", [1, 1.5, 2, 3, 0.5, -1, math.inf, -math.inf])
def test_second_gradients_of_norms(p):
    """Against finite differences, away from zeros and ties."""
    x = ng.from_numpy(np.array([[0.5, -1.5, 2.5], [1.25, 0.75, -3.0]])).requires_grad_()
    gradcheck(lambda x: x.norm(p, 1), x)
    gradgradcheck(lambda x: x.norm(p, 1), x)


def test_only_one_output_of_two_is_differentiated():
    """A gradient that does not arrive counts as 0."""
    for function in (lambda x: x.aminmax(dim=1), lambda x: ng.var_mean(x, 1), lambda x: ng.std_mean(x, 1)):
        both = []
        for wanted in ((0,), (1,), (0, 1)):
            x = ng.tensor([[1.0, 2.0, 4.0], [5.0, 3.0, 1.0]], requires_grad=True)
            out = function(x)
            sum(out[i].sum() for i in wanted).backward()
            both.append(x.grad.numpy())
        np.testing.assert_allclose(both[0] + both[1], both[2], rtol=1e-6)
