"""Items moved in the sizes for which there are loops of their own: exchanged dimensions, reversed rows, threads."""

import numpy as np
import pytest

import numgrad as ng
from numgrad.kernels import threads
from numgrad.kernels.transposition import matrices


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "int16", "complex64", "complex128"])
@pytest.mark.parametrize(
    ("shape", "dims"),
    [
        ((67, 130), (1, 0)),
        ((3, 67, 50), (0, 2, 1)),
        ((4, 9, 12, 13), (0, 2, 3, 1)),
        ((8, 9, 64), (1, 0, 2)),
        ((2, 3000), (1, 0)),
    ],
)
def test_exchanged_dimensions_are_copied(shape, dims, dtype):
    x = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    copy = ng.from_numpy(x).permute(dims).contiguous()
    assert copy.is_contiguous()
    np.testing.assert_array_equal(copy.numpy(), x.transpose(dims))


def test_a_part_of_a_matrix_is_copied():
    x = np.arange(200 * 100.0).reshape(200, 100)
    np.testing.assert_array_equal(ng.from_numpy(x)[3:190, 5:90].t().contiguous().numpy(), x[3:190, 5:90].T)


def test_which_layouts_show_exchanged_dimensions():
    assert matrices((64, 32), (1, 64)) == (1, 32, 64)
    assert matrices((2, 28, 28, 16), (16 * 784, 28, 1, 784)) == (2, 16, 784)
    assert matrices((2, 1, 20, 10), (200, 5, 1, 20)) == (2, 10, 20)
    assert matrices((64, 32), (1, 65)) is None  # rows with gaps
    assert matrices((32, 64), (64, 1)) is None
    assert matrices((10, 20, 30), (1, 10, 200)) is None  # all reversed


@pytest.mark.parametrize("shape", [(64, 65), (3, 40, 41)])
@pytest.mark.parametrize("dims", [(0,), (-1,), (0, 1), (0, -1)])
def test_flip_of_long_rows(shape, dims):
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    np.testing.assert_array_equal(ng.flip(ng.from_numpy(x), dims).numpy(), np.flip(x, dims))


def test_scatter_and_gather_in_threads():
    rng = np.random.default_rng(0)
    shape = (2 * threads.THRESHOLD // 256, 256)
    x, index = rng.integers(0, 100, shape), rng.integers(0, 256, shape)
    t, at = ng.from_numpy(x), ng.from_numpy(index)
    np.testing.assert_array_equal(t.gather(1, at).numpy(), np.take_along_axis(x, index, 1))
    expected = np.zeros(shape, np.int64)
    np.add.at(expected, (np.arange(len(x))[:, None], index), x)
    np.testing.assert_array_equal(ng.zeros_like(t).scatter_add(1, at, t).numpy(), expected)
    np.put_along_axis(expected, index, x, 1)
    np.testing.assert_array_equal(ng.zeros_like(t).scatter_add(1, at, t).scatter(1, at, t).numpy(), expected)


def test_an_index_out_of_range_beyond_the_first_block():
    index = ng.zeros(3000, dtype=ng.int64)
    index[2999] = 7
    with pytest.raises(RuntimeError, match="index 7 is out of bounds for dimension 0 with size 7"):
        ng.zeros(7).gather(0, index)
