"""The SIMT interpreter: it runs kernels right, and finds the faults that a GPU would not report."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import simt
from numpy.testing import assert_array_equal

cuda: Any = None
math: Any = None
f32: Any = None
i64: Any = None

ORDERS = ["forward", "reverse", 1, 2]


def run(kernel, grid, block, *arguments, **options):
    simt.launch(simt.bind(kernel), grid, block, arguments, **options)


def floats(n):
    return np.arange(n, dtype=np.float32)


# ------------------------------------------------------------------------------------------------------- right kernels


def _double(x):
    return f32(2) * x


def grid_stride(n, x, y):
    i = cuda.grid(1)
    while i < n:
        y[i] = _double(x[i])
        i += cuda.gridsize(1)


def test_helpers_are_bound_and_every_item_is_visited():
    y = np.full(11, np.nan, np.float32)
    run(grid_stride, 2, 3, 11, floats(11), y)
    assert_array_equal(y, 2 * floats(11))


def two_dimensions(y, width):
    column, row = cuda.grid(2)
    y[row * width + column] = 10 * cuda.blockIdx.y + cuda.threadIdx.x


def test_indices_in_two_dimensions():
    y = np.zeros(4 * 6, np.int64)
    run(two_dimensions, (2, 2), (3, 2), y, 6)
    assert_array_equal(y.reshape(4, 6), [[0, 1, 2] * 2] * 2 + [[10, 11, 12] * 2] * 2)


def reverse_in_shared_memory(x, y):
    a, b = cuda.shared.array(70, f32), cuda.shared.array(70, f32)
    thread = cuda.threadIdx.x
    a[thread] = x[thread]
    b[thread] = f32(0)
    cuda.syncthreads()
    y[thread] = a[69 - thread] + b[thread]


@pytest.mark.parametrize("order", ORDERS)
def test_barriers_and_shared_arrays(order):
    """Two shared arrays of one line are two arrays."""
    y = np.zeros(70, np.float32)
    run(reverse_in_shared_memory, 1, 70, floats(70), y, order=order)
    assert_array_equal(y, floats(70)[::-1])


def warp_sum(x, y):
    value = x[cuda.grid(1)]
    offset = 16
    while offset > 0:
        value += cuda.shfl_down_sync(0xFFFFFFFF, value, offset)
        offset >>= 1
    if cuda.laneid == 0:
        y[cuda.threadIdx.x // 32] = value


def butterfly(x, y):
    value = x[cuda.threadIdx.x]
    for bit in range(5):
        value += cuda.shfl_xor_sync(0xFFFFFFFF, value, 1 << bit)
    y[cuda.threadIdx.x] = value


def ballot(y):
    y[cuda.threadIdx.x] = cuda.ballot_sync(0xFFFFFFFF, cuda.laneid % 2)


@pytest.mark.parametrize("order", ORDERS)
def test_shuffles(order):
    y = np.zeros(2, np.float32)
    run(warp_sum, 1, 64, floats(64), y, order=order)
    assert_array_equal(y, floats(64).reshape(2, 32).sum(1))
    y = np.zeros(32, np.float32)
    run(butterfly, 1, 32, floats(32), y, order=order)
    assert_array_equal(y, np.full(32, floats(32).sum()))
    bits = np.zeros(32, np.int64)
    run(ballot, 1, 32, bits, order=order)
    assert_array_equal(bits, np.full(32, 0xAAAAAAAA))


def count(y):
    n = cuda.syncthreads_count(cuda.threadIdx.x > 2)
    y[cuda.threadIdx.x] = n


def histogram(x, y):
    cuda.atomic.add(y, x[cuda.grid(1)], 1)


def test_counting_barrier_and_atomics():
    y = np.zeros(5, np.int64)
    run(count, 1, 5, y)
    assert_array_equal(y, [2] * 5)
    x = np.array([0, 2, 2, 1, 2, 0, 0, 2])
    y = np.zeros(3, np.int64)
    run(histogram, 2, 4, x, y)
    assert_array_equal(y, np.bincount(x))


def special_values(x, y):
    y[0] = math.log(x[0])
    y[1] = math.exp(f32(1000))
    y[2] = math.sqrt(f32(-1))
    y[3] = f32(1) / x[0]
    y[4] = math.erf(f32(0.5))
    y[5] = math.lgamma(x[0])


def test_math_is_ieee_and_keeps_float32():
    y = np.zeros(6, np.float32)
    run(special_values, 1, 1, np.zeros(1, np.float32), y)
    assert_array_equal(y, np.array([-np.inf, np.inf, np.nan, np.inf, 0.5204998778130465, np.inf], np.float32))
    for name in ("exp", "erf", "atan2", "pow", "floor", "fabs"):
        function = getattr(simt.NAMES["math"], name)
        arguments = [np.float32(0.3)] * (2 if name in ("atan2", "pow") else 1)
        assert type(function(*arguments)) is np.float32, name


def test_text_is_bound_by_its_entry():
    text = "@cuda.jit(device=True)\ndef f(x):\n    return x + f32(1)\n\ndef k(x):\n    x[0] = f(x[0])\n"
    kernel = simt.bind(text, "k")
    x = floats(1)
    simt.launch(kernel, 1, 1, [x])
    assert x[0] == 1 and not kernel.has_barriers


# ------------------------------------------------------------------------------------------------------- wrong kernels


def no_barrier(x, y):
    a = cuda.shared.array(8, f32)
    a[cuda.threadIdx.x] = x[cuda.threadIdx.x]
    y[cuda.threadIdx.x] = a[cuda.threadIdx.x ^ 1]


def no_barrier_before_overwriting(x, y):
    a = cuda.shared.array(8, f32)
    a[cuda.threadIdx.x] = x[cuda.threadIdx.x]
    cuda.syncthreads()
    y[cuda.threadIdx.x] = a[cuda.threadIdx.x ^ 1]
    a[cuda.threadIdx.x] = f32(0)


def all_write_one_item(x, y):
    y[0] = x[cuda.threadIdx.x]


def neighbours(x, y):
    y[cuda.threadIdx.x] = y[(cuda.threadIdx.x + 1) % 8]


def all_read_then_one_writes(x, y):
    value = x[0]
    cuda.syncthreads()
    value += y[0]  # in the epoch of the write, by threads that had read it in no other
    if cuda.threadIdx.x == 3:
        y[0] = value


def atomic_and_plain(x, y):
    cuda.atomic.add(y, 0, x[cuda.threadIdx.x])
    x[cuda.threadIdx.x] = y[0]


def shuffle_is_no_barrier(x, y):
    a = cuda.shared.array(8, f32)
    a[cuda.threadIdx.x] = x[cuda.threadIdx.x]
    cuda.shfl_xor_sync(0xFFFFFFFF, f32(0), 1)
    y[cuda.threadIdx.x] = a[cuda.threadIdx.x ^ 1]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(
    "kernel",
    [
        no_barrier,
        no_barrier_before_overwriting,
        all_write_one_item,
        neighbours,
        all_read_then_one_writes,
        atomic_and_plain,
        shuffle_is_no_barrier,
    ],
)
def test_races_are_found_in_any_order(kernel, order):
    """An unwritten item of shared memory may be met first, when the reader of a race comes before its writer."""
    with pytest.raises((simt.DataRace, simt.UninitialisedRead)) as caught:
        run(kernel, 1, 8, floats(8), floats(8), order=order)
    assert "in block (0, 0, 0), thread" in caught.value.__notes__[0]


def between_blocks(y):
    if cuda.blockIdx.x == 0:
        y[0] = 1
    cuda.syncthreads()
    y[1 + cuda.blockIdx.x] = y[0]


def test_no_barrier_orders_two_blocks():
    with pytest.raises(
        simt.DataRace, match=r"argument 0\[0\]: thread 0 of block 1 reads what thread 0 of block 0 wrote"
    ):
        run(between_blocks, 2, 1, np.zeros(3, np.int64))


def warp_barrier(x, y):
    a = cuda.shared.array(64, f32)
    a[cuda.threadIdx.x] = x[cuda.threadIdx.x]
    cuda.syncwarp()
    y[cuda.threadIdx.x] = a[cuda.threadIdx.x ^ 1] + a[cuda.threadIdx.x ^ 33]


def test_a_warp_barrier_orders_its_warp_only():
    with pytest.raises((simt.DataRace, simt.UninitialisedRead)):
        run(warp_barrier, 1, 64, floats(64), floats(64))


def some_wait(y):
    if cuda.threadIdx.x < 2:
        cuda.syncthreads()
    y[cuda.threadIdx.x] = 1


def wait_at_two_places(y):
    if cuda.threadIdx.x < 2:
        cuda.syncthreads()
    else:
        cuda.syncthreads()
    y[cuda.threadIdx.x] = 1


def warp_waits_at_two_places(y):
    if cuda.threadIdx.x < 2:
        cuda.syncwarp()
    else:
        cuda.syncthreads()
    y[cuda.threadIdx.x] = 1


@pytest.mark.parametrize("kernel", [some_wait, wait_at_two_places, warp_waits_at_two_places])
def test_divergent_barriers(kernel):
    with pytest.raises(simt.DivergentBarrier):
        run(kernel, 1, 4, floats(4))


def beyond_the_end(x, y):
    y[cuda.grid(1) + 1] = x[cuda.grid(1)]


def before_the_start(x, y):
    y[cuda.grid(1) - 1] = x[cuda.grid(1)]


def beyond_shared_memory(x, y):
    a = cuda.shared.array((2, 2), f32)
    a[1, cuda.grid(1) + 1] = x[0]
    cuda.syncthreads()


@pytest.mark.parametrize("kernel", [beyond_the_end, before_the_start, beyond_shared_memory])
def test_indices_out_of_bounds(kernel):
    with pytest.raises(simt.OutOfBounds):
        run(kernel, 2, 2, floats(4), floats(4))


def unwritten(y):
    a = cuda.shared.array(4, f32)
    cuda.syncthreads()
    y[cuda.threadIdx.x] = a[cuda.threadIdx.x]


def lonely_shuffle(y):
    y[cuda.threadIdx.x] = cuda.shfl_down_sync(0xFFFFFFFF, f32(1), 4)


def test_undefined_values():
    with pytest.raises(simt.UninitialisedRead):
        run(unwritten, 1, 4, floats(4))
    y = floats(4)
    run(unwritten, 1, 4, y, check=False)
    assert np.isnan(y).all(), "fresh shared memory is poisoned"
    with pytest.raises(simt.SimulationError, match="takes no part"):
        run(lonely_shuffle, 1, 4, floats(4))


@pytest.mark.parametrize(("grid", "block"), [(0, 4), (1, 0), (1, 1025), (1, (32, 33))])
def test_impossible_launches(grid, block):
    with pytest.raises(simt.SimulationError, match="cannot be launched"):
        run(grid_stride, grid, block, 1, floats(1), floats(1))
