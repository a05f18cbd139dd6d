"""Indexing, gather and scatter with NumPy as the reference: values, negative steps, dtypes, repeated indices, gradients."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import numgrad as ng
from numgrad.testing import gradcheck, gradgradcheck

X = np.arange(60.0).reshape(3, 4, 5)
MASK = X % 3 == 0
INDICES = [
    np.s_[::-1],
    np.s_[:, ::-2],
    np.s_[2:0:-1, ..., ::-1],
    np.s_[::-1, 1, ::-2],
    np.s_[5:1:-1],
    np.s_[0:2:-1],
    np.s_[::-1, [0, 2]],
    np.s_[[0, 2], ::-1],
    np.s_[[0, 1], :, [4, 2]],
    np.s_[1:2, ::-1, [4, 2]],
    np.s_[..., [[0, 1], [2, 3]]],
    np.s_[[[0], [1]], [1, 2, 3]],
    np.s_[None, [1, 1], ..., ::-1],
    np.s_[MASK],
    np.s_[MASK[:, :, 0]],
    np.s_[MASK[:, :, 0], ::-1],
    np.s_[:, MASK[0]],
    np.s_[np.array([2, 0]), 1:3],
]


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_reading_as_numpy(index):
    assert_array_equal(ng.from_numpy(X)[index].numpy(), X[index])


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_writing_as_numpy(index):
    shape = X[index].shape
    for value in (np.float64(7.0), -np.arange(float(np.prod(shape))).reshape(shape)):
        expected = X.copy()
        expected[index] = value
        got = ng.from_numpy(X.copy())
        got[index] = ng.from_numpy(np.asarray(value))
        assert_array_equal(got.numpy(), expected)


@pytest.mark.parametrize("index", INDICES[:12], ids=str)
def test_gradients_of_reading_and_writing(index):
    x = ng.from_numpy(np.sin(X)).requires_grad_()
    value = ng.from_numpy(np.cos(X[index])).requires_grad_()

    def write(x, value):
        y = x * x
        y[index] = value
        return y * y

    gradcheck(lambda x: x[index] * x[index], (x,))
    gradcheck(write, (x, value))
    gradgradcheck(write, (x, value))


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int16", "int32", "int64", "float32", "float64"])
def test_every_dtype_is_moved_bit_by_bit(dtype):
    values = (np.arange(24) % 5).reshape(4, 6).astype(dtype)
    x, rows = ng.from_numpy(values), ng.tensor([3, 0, -1])
    assert_array_equal(x[rows].numpy(), values[[3, 0, -1]])
    assert_array_equal(x.index_select(1, ng.tensor([5, 5])).numpy(), values[:, [5, 5]])
    where = ng.tensor([[0, 3], [1, 1]])
    assert_array_equal(x.gather(1, where).numpy(), np.take_along_axis(values[:2], where.numpy(), 1))
    changed = values.copy()
    changed[[3, 0]] = values[:2]
    assert_array_equal(x.index_put((ng.tensor([3, 0]),), x[:2]).numpy(), changed)


@pytest.mark.parametrize("dtype", ["bool", "int8", "int64", "float32", "float64"])
def test_equal_indices_all_count_in_sums(dtype):
    source = np.ones((5, 2), dtype)
    index = np.array([0, 2, 2, 2, 0])
    expected = np.zeros((3, 2), dtype)
    np.add.at(expected, index, source)
    x, i, s = ng.from_numpy(np.zeros((3, 2), dtype)), ng.from_numpy(index), ng.from_numpy(source)
    assert_array_equal(x.index_put((i,), s, accumulate=True).numpy(), expected)
    assert_array_equal(x.index_add(0, i, s).numpy(), expected)
    assert_array_equal(x.scatter_add(0, i[:, None].expand(5, 2), s).numpy(), expected)


def test_assignment_with_an_operator_counts_equal_indices_once():
    x = ng.zeros(2)
    x[ng.tensor([0, 0])] += 1
    assert x.tolist() == [1, 0]


def test_large_reads_are_split_between_threads():
    values = np.random.default_rng(0).normal(size=(1000, 400)).astype(np.float32)
    rows = np.random.default_rng(1).integers(-1000, 1000, 2000)
    assert_array_equal(ng.from_numpy(values)[ng.from_numpy(rows)].numpy(), values[rows])
    columns = rows[:500] % 400
    assert_array_equal(ng.from_numpy(values)[:, ng.from_numpy(columns)].numpy(), values[:, columns])


@pytest.mark.parametrize("index", [4, -5, [4], [-5], np.array([0, 9])], ids=str)
def test_indices_out_of_range(index):
    x = ng.zeros(4)
    with pytest.raises(IndexError, match="is out of bounds for dimension 0 with size 4"):
        x[index]
    with pytest.raises(IndexError, match="is out of bounds for dimension 0 with size 4"):
        x[index] = 1
    assert x.tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize(
    "name", ["gather", "index_select", "take", "scatter", "index_add", "index_copy", "index_fill", "put"]
)
def test_other_indices_out_of_range(name):
    x, bad, source = ng.zeros(4), ng.tensor([1, 4]), ng.ones(2)
    arguments = {
        "gather": (0, bad),
        "index_select": (0, bad),
        "take": (bad,),
        "put": (bad, source),
        "index_fill": (0, bad, 1.0),
    }.get(name, (0, bad, source))
    with pytest.raises((IndexError, RuntimeError), match=r"out of (bounds|range)"):
        getattr(x, name)(*arguments)


def test_an_index_that_changed_after_the_forward_is_noticed():
    x, i = ng.ones(3).requires_grad_(), ng.tensor([0, 1])
    y = x[i]
    i.zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_nonzero_and_where_agree_with_numpy():
    assert_array_equal(ng.from_numpy(X).nonzero().numpy(), np.argwhere(X))
    for got, expected in zip(ng.where(ng.from_numpy(MASK)), np.nonzero(MASK), strict=True):
        assert_array_equal(got.numpy(), expected)
