"""The CUDA loops against NumPy, on the interpreter: values, layouts, dtypes, memory."""

from __future__ import annotations

import math
from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest
import simt
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from simt_runtime import SimulatedRuntime, installed

from numgrad.kernels import cuda, cuda_kernels
from numgrad.kernels.array import Array
from numgrad.kernels.lower import lower

F32, F64, I64, BOOL = (np.dtype(name) for name in ("float32", "float64", "int64", "bool"))
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
DTYPES = [
    *map(np.dtype, ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64")),
    BFLOAT16,
]


@pytest.fixture(params=["forward", 7], ids=lambda order: f"order-{order}")
def device(request):
    with installed(SimulatedRuntime(order=request.param)) as runtime:
        yield runtime


def numbers(*shape: int, dtype: np.dtype = F32, seed: int = 0) -> np.ndarray:
    return np.asarray(np.random.default_rng(seed).normal(size=shape) * 4, dtype)


def view(base: np.ndarray, change: Callable[[np.ndarray], np.ndarray]) -> Array:
    """The device's twin of `change(base)`, a NumPy view of `base`."""
    picked = change(base)
    itemsize = base.itemsize
    offset = (picked.__array_interface__["data"][0] - base.__array_interface__["data"][0]) // itemsize
    return cuda.from_host(base).view(picked.shape, tuple(s // itemsize for s in picked.strides), offset)


def relu(x):
    return x if x > 0 else 0.0


def sigmoid(x):
    e = math.exp(-abs(x))
    return 1 / (1 + e) if x >= 0 else e / (1 + e)


def axpy(x, y, factor):
    return factor * x + y


def power(x, k: int):
    result = 1.0
    for _ in range(k):
        result = result * x
    return result


def pick(condition: bool, x, y):
    return x if condition else y


def sum_and_difference(x, y):
    return x + y, x - y


# --------------------------------------------------------------------------------------------------------- elementwise


@pytest.mark.parametrize("n", [0, 1, 3, 8, 9, 50])
def test_map_over_dense_arrays(device, n):
    """More items than threads, fewer, and none."""
    x = numbers(n)
    out = cuda.empty((n,), F32)
    cuda.map(lower(relu), F32, [cuda.from_host(x)], [out])
    assert_array_equal(cuda.to_host(out), np.maximum(x, 0))
    cuda.map(lower(sigmoid), F32, [cuda.from_host(x)], [out])
    assert_allclose(cuda.to_host(out), 1 / (1 + np.exp(-x.astype(F64))), rtol=3e-7)


def test_computation_is_in_the_dtype_asked_for(device):
    """A third in float32 is not a third in float64."""
    third = lower(_third)
    for dtype in (F32, F64):
        out = cuda.empty((1,), F64)
        cuda.map(third, dtype, [cuda.from_host(np.ones(1, dtype))], [out])
        assert cuda.to_host(out)[0] == dtype.type(1) / dtype.type(3)


def _third(x):
    return x / 3.0


LAYOUTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "dense": lambda a: a,
    "rows": lambda a: a[:, None, 2],
    "steps": lambda a: a[:, ::2, 1:4:2],
    "negative": lambda a: a[::-1, :, ::-1],
    "permuted": lambda a: a.transpose(2, 0, 1),
    "row": lambda a: a[0, 0],
    "column": lambda a: a[:, :1],
    "zero-d": lambda a: a[1, 2, 3, ...],
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_map_over_views(device, name):
    base = numbers(3, 4, 5)
    x, expected = view(base, LAYOUTS[name]), LAYOUTS[name](base)
    out = cuda.empty(x.shape, F32)
    cuda.map(lower(axpy), F32, [x, x, 2.0], [out])
    assert_array_equal(cuda.to_host(out), 2 * expected + expected)
    assert_array_equal(cuda.to_host(x), expected)


def test_map_writes_into_a_view_and_nothing_else(device):
    base = numbers(4, 6)
    target = cuda.from_host(base)
    part = target.view((2, 3), (12, -2), 6 + 5)
    cuda.map(lower(relu), F32, [cuda.from_host(np.array([[1], [2]], F32))], [part])
    base[1::2, 5::-2] = [[1], [2]]
    assert_array_equal(cuda.to_host(target), base)


def test_map_broadcasts(device):
    x, row, column = numbers(3, 4, 5), numbers(5, seed=1), numbers(4, 1, seed=2)
    out = cuda.empty(x.shape, F32)
    cuda.map(lower(pick), F32, [cuda.from_host(column), cuda.from_host(x), cuda.from_host(row)], [out])
    assert_array_equal(cuda.to_host(out), np.where(column != 0, x, row))
    cuda.map(lower(axpy), F32, [cuda.from_host(row), cuda.from_host(column), -0.5], [out])
    assert_allclose(cuda.to_host(out), np.broadcast_to(-0.5 * row + column, x.shape), rtol=1e-6)
    with pytest.raises(ValueError, match=r"\(3,\) does not broadcast to \(3, 4, 5\)"):
        cuda.map(lower(relu), F32, [cuda.from_host(numbers(3))], [out])


def test_map_has_several_outputs_of_their_own_dtype(device):
    x, y = numbers(2, 3), numbers(2, 3, seed=1)
    total, difference = cuda.empty((2, 3), F64), cuda.empty((3, 2), F32).view((2, 3), (1, 2), 0)
    cuda.map(lower(sum_and_difference), F32, [cuda.from_host(x), cuda.from_host(y)], [total, difference])
    assert_array_equal(cuda.to_host(total), (x + y).astype(F64))
    assert_array_equal(cuda.to_host(difference), x - y)


def test_map_may_write_over_its_input(device):
    x = cuda.from_host(numbers(3, 5))
    cuda.map(lower(relu), F32, [x], [x])
    assert_array_equal(cuda.to_host(x), np.maximum(numbers(3, 5), 0))


def test_numbers_are_arguments(device):
    """One kernel serves every value; a float is narrowed to the dtype computed in, once."""
    x = cuda.from_host(np.array([1.5, -2], F32))
    out = cuda.empty((2,), F32)
    for k in range(4):
        cuda.map(lower(power), F32, [x, k], [out])
        assert_array_equal(cuda.to_host(out), np.array([1.5, -2], F32) ** k)
    for condition, expected in ((True, 0.1), (0, 3), (0.5, 0.1)):
        cuda.map(lower(pick), F32, [condition, 0.1, 3], [out])
        assert_array_equal(cuda.to_host(out), np.full(2, expected, F32))
    cuda.map(lower(relu), F32, [np.float32(2.5)], [out])
    assert_array_equal(cuda.to_host(out), [2.5, 2.5])
    cuda.map(lower(relu), F32, [math.inf], [out])
    assert_array_equal(cuda.to_host(out), [math.inf, math.inf])


def test_a_kernel_is_made_once():
    class Counting(SimulatedRuntime):
        texts: list[str] = []  # noqa: RUF012

        def kernel(self, source, signature):
            self.texts.append(source)
            return super().kernel(source, signature)

    with installed(Counting()) as runtime:
        for n in (3, 30, 300):
            x = cuda.from_host(numbers(n))
            cuda.map(lower(axpy), F32, [x, x, float(n)], [x])
        assert len(runtime.texts) == 1 and runtime.launches == 3


@pytest.mark.parametrize("source", DTYPES, ids=str)
@pytest.mark.parametrize("target", DTYPES, ids=str)
def test_copy_casts_between_all_dtypes(source, target):
    """Values that every dtype holds, after rounding towards zero; NumPy makes the expected ones."""
    values = np.array([0, 1, 2.75, 3, 100, 0, 1.5, 7]).astype(source)
    with installed(SimulatedRuntime()):
        out = cuda.empty(values.shape, target)
        cuda.copy(cuda.from_host(values), out)
        assert_array_equal(cuda.to_host(out), values.astype(target))


def test_integers_beyond_float64_are_copied_exactly(device):
    values = np.array([2**62 + 1, -(2**62) - 1, 2**63 - 1])
    out = cuda.empty((3,), I64)
    cuda.copy(cuda.from_host(values), out)
    assert_array_equal(cuda.to_host(out), values)
    cuda.fill(out, 2**62 + 1)
    assert_array_equal(cuda.to_host(out), [2**62 + 1] * 3)


def test_bfloat16_rounds_to_nearest_even(device):
    bits = np.random.default_rng(0).integers(0, 2**32, 300, dtype=np.uint32)
    special = np.array(
        [0x3F808000, 0x3F818000, 0x3F808001, 0x7F800000, 0xFF800000, 0x7F7FFFFF, 0x80000000, 1], np.uint32
    )
    values = np.concatenate([bits, special]).view(F32)
    out = cuda.empty(values.shape, BFLOAT16)
    cuda.copy(cuda.from_host(values), out)
    with np.errstate(invalid="ignore"):
        expected = values.astype(BFLOAT16)
    result = cuda.to_host(out)
    is_nan = np.isnan(values)
    assert np.isnan(result[is_nan].astype(F32)).all()
    assert_array_equal(result[~is_nan].view(np.uint16), expected[~is_nan].view(np.uint16))
    back = cuda.empty(values.shape, F32)
    cuda.copy(out, back)
    assert_array_equal(cuda.to_host(back), result.astype(F32))


def test_half_types_compute_in_float32(device):
    """1000 + 0.25 is 1000.25 in float32, which 4 times is 4001; float16 alone would lose the quarter."""
    x = cuda.from_host(np.array([1000], np.float16))
    out = cuda.empty((1,), np.dtype(np.float16))
    cuda.map(lower(_quarter), np.dtype(np.float16), [x], [out])
    assert cuda.to_host(out)[0] == np.float16(1.0)


def _quarter(x):
    return (x + 0.25 - x) * 4


def test_copy_broadcasts_and_transposes(device):
    base = numbers(3, 4)
    out = cuda.empty((2, 4, 3), F32)
    cuda.copy(cuda.from_host(base).view((4, 3), (1, 4), 0), out)
    assert_array_equal(cuda.to_host(out), np.broadcast_to(base.T, (2, 4, 3)))


def test_copy_within_one_storage(device):
    """Source and target overlap, in both directions."""
    for from_offset, to_offset in ((0, 2), (2, 0)):
        memory = cuda.from_host(np.arange(12.0))
        cuda.copy(memory.view((10,), (1,), from_offset), memory.view((10,), (1,), to_offset))
        expected = np.arange(12.0)
        expected[to_offset : to_offset + 10] = expected[from_offset : from_offset + 10].copy()
        assert_array_equal(cuda.to_host(memory), expected)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("value", [True, 3, 2.5])
def test_fill(dtype, value):
    with installed(SimulatedRuntime()):
        target = cuda.from_host(np.zeros((3, 4), dtype))
        cuda.fill(target.view((3, 2), (4, 2), 1), value)
        expected = np.zeros((3, 4), dtype)
        expected[:, 1::2] = value
        assert_array_equal(cuda.to_host(target), expected)


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_map_agrees_with_numpy_on_random_layouts(data):
    rank = data.draw(st.integers(0, 4))
    arrays = []
    shape = tuple(data.draw(st.integers(1, 3)) for _ in range(rank))
    for seed in range(3):
        steps = [data.draw(st.sampled_from([1, 2, -1, 0])) for _ in range(rank)]
        order = data.draw(st.permutations(range(rank)))
        if seed == 2:
            steps = [step or 1 for step in steps]  # an output does not repeat items
        base = numbers(*[shape[axis] * 2 for axis in order], seed=seed)
        inverse = np.argsort(order)
        slices = [slice(None, None, step) if step else slice(0, 1) for step in steps]

        def change(a, inverse=inverse, slices=slices):
            picked = a.transpose(inverse)[(..., *slices)]
            return np.broadcast_to(picked[(..., *[slice(0, n) for n in shape])], shape)

        arrays.append((base, change))
    with installed(SimulatedRuntime()):
        (x, pick_x), (y, pick_y), (z, pick_z) = arrays
        target = view(z, pick_z)
        cuda.map(lower(axpy), F32, [view(x, pick_x), view(y, pick_y), 3.0], [target])
        assert_allclose(cuda.to_host(target), 3 * pick_x(x) + pick_y(y), rtol=1e-5, atol=1e-5)


def test_collapse():
    assert cuda.collapse((2, 3, 4), [(12, 4, 1)]) == ((24,), [(1,)])
    assert cuda.collapse((2, 3, 4), [(12, 4, 1), (0, 4, 1)]) == ((2, 12), [(12, 1), (0, 1)])
    assert cuda.collapse((1, 1), [(7, 7)]) == ((), [()])
    assert cuda.collapse((2, 1, 3), [(3, 99, 1)]) == ((6,), [(1,)])
    assert cuda.collapse((), [(), ()]) == ((), [(), ()])


# --------------------------------------------------------------------------------------------- reductions and products


AXES = [(), (0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)]


@pytest.mark.parametrize("axes", AXES, ids=str)
@pytest.mark.parametrize("layout", ["dense", "permuted", "steps", "negative"])
def test_sum_over_axes(device, axes, layout):
    base = numbers(3, 4, 5, dtype=F64).round(2)
    source = LAYOUTS[layout](base)
    expected = source.sum(axes) if axes else source
    out = cuda.empty(expected.shape, F64)
    cuda.reduce_sum(view(base, LAYOUTS[layout]), axes, out)
    assert_allclose(cuda.to_host(out), expected, rtol=1e-14, atol=1e-14)


def test_sum_into_a_view(device):
    x = numbers(3, 4, dtype=F64)
    target = cuda.from_host(np.zeros((3, 2)))
    cuda.reduce_sum(cuda.from_host(x), (1,), target.view((3,), (2,), 1))
    assert_allclose(cuda.to_host(target), np.stack([np.zeros(3), x.sum(1)], 1))


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0)])
def test_sum_of_nothing_is_zero(device, shape):
    for axes in ((0,), tuple(range(len(shape)))):
        x = np.zeros(shape, F32)
        out = cuda.empty(x.sum(axes).shape, F32)
        cuda.reduce_sum(cuda.from_host(x), axes, out)
        assert_array_equal(cuda.to_host(out), x.sum(axes))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_dtypes_of_sums(dtype):
    """Integers and bools are summed in int64, half types in float32: 50 x 100 overflows int8, and 2049 bfloat16."""
    values = np.full(50, 100).astype(dtype)
    out_dtype = I64 if dtype.kind in "biu" else dtype
    with installed(SimulatedRuntime()):
        out = cuda.empty((), out_dtype)
        cuda.reduce_sum(cuda.from_host(values), (0,), out)
        assert cuda.to_host(out) == values.astype(F64).sum().astype(out_dtype)


def test_long_rows_are_summed_in_segments(device):
    """600 items make ten segments of the interpreter's 64; a second pass sums those."""
    x = numbers(2, 600)
    out = cuda.empty((2,), F32)
    cuda.reduce_sum(cuda.from_host(x), (1,), out)
    assert device.launches == 2
    assert_allclose(cuda.to_host(out), x.astype(F64).sum(1), rtol=1e-5)


def test_float32_sums_lose_little():
    """2^24 + 1 has no float32: a running sum of ones added to 2^24 would stay there."""
    x = np.ones(1000, F32)
    x[0] = 2**24
    with installed(SimulatedRuntime()):
        out = cuda.empty((), F32)
        cuda.reduce_sum(cuda.from_host(x), (0,), out)
        assert abs(float(cuda.to_host(out)) - (2**24 + 999)) <= 32, "only the first thread's few items are lost"


def test_sums_do_not_depend_on_the_order_of_threads():
    results = set()
    for order in ("forward", "reverse", 1, 2, 3):
        with installed(SimulatedRuntime(order=order)):
            out = cuda.empty((), F32)
            cuda.reduce_sum(cuda.from_host(numbers(700)), (0,), out)
            results.add(cuda.to_host(out).tobytes())
    assert len(results) == 1


def test_sum_refuses_a_wrong_shape(device):
    with pytest.raises(ValueError, match=r"over axes \(0,\) does not fit into \(2,\)"):
        cuda.reduce_sum(cuda.from_host(numbers(2, 3)), (0,), cuda.empty((2,), F32))


@pytest.mark.parametrize("sizes", [(1, 1, 1), (4, 4, 4), (5, 3, 7), (3, 9, 1), (8, 5, 6), (2, 3, 0)], ids=str)
@pytest.mark.parametrize("transposed", [(), (0,), (1,), (2,), (0, 1, 2)], ids=str)
def test_matmul(device, sizes, transposed):
    m, k, n = sizes
    k, n = n, k
    arrays = [numbers(m, k, dtype=F64), numbers(k, n, dtype=F64, seed=1), np.zeros((m, n))]
    a, b, out = (
        cuda.from_host(np.ascontiguousarray(x.T)).view(x.shape, (1, x.shape[0] or 1), 0)
        if i in transposed
        else cuda.from_host(x)
        for i, x in enumerate(arrays)
    )
    cuda.matmul(a, b, out)
    assert_allclose(cuda.to_host(out), arrays[0] @ arrays[1], rtol=1e-12, atol=1e-12)


def test_batched_matmul_broadcasts(device):
    a, b = numbers(2, 1, 5, 3, dtype=F64), numbers(3, 3, 4, dtype=F64, seed=1)
    out = cuda.empty((2, 3, 5, 4), F64)
    cuda.matmul(cuda.from_host(a), cuda.from_host(b), out)
    assert_allclose(cuda.to_host(out), a @ b, rtol=1e-12)


@pytest.mark.parametrize("dtype", [I64, np.dtype(np.int8), np.dtype(np.float16), F32, BFLOAT16], ids=str)
def test_dtypes_of_products(dtype):
    a, b = np.arange(12).reshape(3, 4).astype(dtype), np.arange(8).reshape(4, 2).astype(dtype)
    with installed(SimulatedRuntime()):
        out = cuda.empty((3, 2), dtype)
        cuda.matmul(cuda.from_host(a), cuda.from_host(b), out)
        expected = (a.astype(F64) @ b.astype(F64)).astype(I64 if dtype.kind == "i" else F64)
        assert_array_equal(cuda.to_host(out), expected.astype(dtype))


def test_matmul_refuses_wrong_shapes(device):
    a = cuda.from_host(numbers(2, 3))
    with pytest.raises(ValueError, match="no product of"):
        cuda.matmul(a, a, cuda.empty((2, 3), F32))


# -------------------------------------------------------------------------------------------------- devices and memory


def test_without_a_runtime_there_is_no_device():
    with installed(None):
        assert not cuda.is_available()
        for attempt in (cuda.runtime, lambda: cuda.empty((1,), F32), lambda: cuda.from_host(numbers(1))):
            with pytest.raises(AssertionError, match=r"^Torch not compiled with CUDA enabled$"):
                attempt()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3)])
def test_transfers(dtype, shape):
    values = np.arange(math.prod(shape)).reshape(shape).astype(dtype)
    with installed(SimulatedRuntime()):
        array = cuda.from_host(values)
        assert (array.device, array.dtype, array.shape) == ("cuda:0", dtype, shape)
        result = cuda.to_host(array)
        assert result.dtype == dtype
        assert_array_equal(result, values)


def test_sparse_views_are_made_dense_before_the_transfer(device):
    base = numbers(40, 40)
    column = cuda.from_host(base).view((40,), (40,), 3)
    assert_array_equal(cuda.to_host(column), base[:, 3])
    assert device.launches == 1


def test_memory_lives_as_long_as_its_last_view():
    with installed(SimulatedRuntime()) as runtime:
        array = cuda.from_host(numbers(10))
        part = array.view((5,), (2,), 0)
        del array
        assert runtime.live_bytes == 40
        assert_array_equal(cuda.to_host(part), numbers(10)[::2])
        buffer = part.storage.buffer.handle
        del part
        assert runtime.live_bytes == 0
        with pytest.raises(simt.SimulationError, match="after its release"):
            runtime.to_host(buffer, F32, 1, 0)
        assert (buffer.memory == 0xFF).all()


def test_fresh_memory_is_poisoned(device):
    assert np.isnan(cuda.to_host(cuda.empty((3,), F32))).all()


def test_complex_numbers_are_refused(device):
    with pytest.raises(NotImplementedError, match="complex64"):
        cuda.fill(cuda.empty((1,), np.dtype(np.complex64)), 1.0)


def test_a_launch_is_checked_against_the_signature(device):
    handle = device.kernel(*cuda_kernels.reduce_sum_source(F32, F32, 8))
    x = cuda.from_host(numbers(4))
    pointer = (x.storage.buffer.handle, 0)
    for arguments in ((pointer, pointer), (pointer, pointer, 4, 4, 1, 1.0), (pointer, pointer, 4, 4, 1, 2**63)):
        with pytest.raises(TypeError):
            device.launch(handle, 1, 8, *arguments)


def test_names_of_functions_do_not_clash_with_those_of_kernels(device):
    """`step` is a local name of the kernel, `cuda` and `f32` are placeholders."""
    for name in ("step", "cuda", "f32", "_function", "i", "x0", "numgrad_kernel"):
        function = lower(_renamed(name))
        assert function.name == name
        out = cuda.empty((3,), F32)
        cuda.map(function, F32, [cuda.from_host(np.zeros(3, F32))], [out])
        assert_array_equal(cuda.to_host(out), np.ones(3))


def _renamed(name):
    def function(x):
        return x + 1.0

    function.__name__ = name
    return function
