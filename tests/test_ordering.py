"""Sorting and counting beyond the sizes that the sweep draws, where other loops serve. The reference is NumPy."""

import numpy as np
import pytest

import numgrad as ng
from numgrad.kernels.ordering import _PACKED


def items(dtype, shape, seed=0):
    """Many equal items; of floats also zeros of both signs, infinities and NaN of both signs."""
    rng = np.random.default_rng(seed)
    if dtype == "int64, far apart":
        return rng.choice([-(2**62), -1, 0, 3, 2**62], shape)
    if dtype.startswith("int64"):
        return rng.integers(-50, 50, shape) + 2**40
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.startswith("float"):
        special = [0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan, 1e-40, -1e-40, 3.5, -3.5]
        return np.where(rng.random(shape) < 0.5, rng.choice(special, shape), rng.normal(size=shape).round(1)).astype(dtype)
    return rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, shape, dtype, endpoint=True)


def stable_order(x, dim, descending):
    """NaN last of all, first when descending; equal items in the order they had."""
    if not descending:
        return np.argsort(x, dim, kind="stable")
    ranks = np.unique(x, return_inverse=True)[1].reshape(x.shape)
    return np.argsort(-ranks, dim, kind="stable")


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "int64, far apart", "int32", "uint8", "bool"])
def test_a_sort_is_stable(dtype, dim, descending):
    x = items(dtype, (40, 50))
    assert x.size >= _PACKED
    order = stable_order(x, dim, descending)
    values, indices = ng.sort(ng.from_numpy(x), dim, descending, stable=True)
    np.testing.assert_array_equal(indices.numpy(), order)
    np.testing.assert_array_equal(values.numpy(), np.take_along_axis(x, order, dim))
    if x.dtype.kind == "f":  # the items themselves, not what they were sorted by
        np.testing.assert_array_equal(np.signbit(values.numpy()), np.signbit(np.take_along_axis(x, order, dim)))
    np.testing.assert_array_equal(ng.argsort(ng.from_numpy(x), dim, descending).numpy(), order)


@pytest.mark.parametrize("dtype", ["float32", "int64", "int64, far apart", "uint8"])
def test_unique_items_their_places_and_counts(dtype):
    x = items(dtype, (30, 40))
    values, inverse, counts = ng.unique(ng.from_numpy(x), return_inverse=True, return_counts=True)
    expected = np.unique(x, return_counts=True, equal_nan=False)
    np.testing.assert_array_equal(values.numpy(), expected[0])
    np.testing.assert_array_equal(counts.numpy(), expected[1])
    np.testing.assert_array_equal(values[inverse].numpy(), x)
    np.testing.assert_array_equal(ng.bincount(inverse.view(-1)).numpy(), expected[1])
    assert values.dtype == ng.from_numpy(x).dtype
    np.testing.assert_array_equal(ng.unique(ng.from_numpy(x)).numpy(), expected[0])


def test_each_nan_is_an_item_of_its_own():
    values, inverse = ng.unique(ng.tensor([np.nan, 1.0, np.nan]), return_inverse=True)
    assert values.tolist()[0] == 1.0 and len(values) == 3
    assert inverse.tolist() == [1, 0, 2]


def test_bincount():
    x = ng.tensor([3, 1, 3])
    assert ng.bincount(x).tolist() == [0, 1, 0, 2]
    assert ng.bincount(x, minlength=6).tolist() == [0, 1, 0, 2, 0, 0]
    assert ng.bincount(x.to(ng.uint8)[::2]).tolist() == [0, 0, 0, 2]
    assert ng.bincount(ng.tensor([], dtype=ng.int64), minlength=2).tolist() == [0, 0]
    for weights in (None, ng.ones(2)):
        with pytest.raises(RuntimeError, match="1-d non-negative integral inputs"):
            ng.bincount(ng.tensor([1, -1]), weights)
