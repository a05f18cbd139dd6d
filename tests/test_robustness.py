"""Inputs and surroundings that must not break the user: odd arrays, wrong shapes for compiled loops, threads, forks."""

import copy
import enum
import gc
import os
import pickle
import subprocess
import sys
import weakref
from collections import OrderedDict

import numpy as np
import pytest

import numgrad as ng
from numgrad.kernels import threads

LARGE = threads.THRESHOLD + 3


# ---------------------------------------------------------------------------------------------------- NumPy arrays
def test_subclasses_of_ndarray_are_read_as_plain_arrays(tmp_path):
    mapped = np.memmap(tmp_path / "data", np.float32, "w+", shape=(LARGE,))
    mapped[:] = np.arange(LARGE)
    for _ in range(2):  # the second call takes the fast path
        assert (ng.from_numpy(mapped) * 2)._array.ndarray[-1] == 2 * np.float32(LARGE - 1)
    with pytest.warns(PendingDeprecationWarning):
        matrix = ng.from_numpy(np.matrix([[1.0, 2.0], [3.0, 4.0]]))
    for _ in range(2):
        assert (matrix + matrix).tolist() == [[2.0, 4.0], [6.0, 8.0]]


def test_misaligned_and_reversed_arrays_are_copied():
    misaligned = np.frombuffer(bytearray(41), np.uint8)[1:].view(np.float32)
    assert not misaligned.flags.aligned
    assert (ng.from_numpy(misaligned) + 1).tolist() == [1.0] * 10
    assert ng.from_numpy(np.arange(3.0)[::-1]).tolist() == [2.0, 1.0, 0.0]


def test_a_read_only_array_is_never_written():
    array = np.zeros(3)
    array.flags.writeable = False
    ng.from_numpy(array).add_(1)
    assert array.tolist() == [0.0, 0.0, 0.0]


# ---------------------------------------------------------------------------------------------------- shapes for loops
@pytest.mark.parametrize(
    ("scores", "target", "text"),
    [
        ((3, 4), (3, 1), "0D or 1D target tensor expected, multi-target not supported"),
        ((3, 4, 2), (3, 3), r"Expected target size \[3, 2\], got \[3, 3\]"),
        ((3, 4, 2), (3,), r"Expected target size \[3, 2\], got \[3\]"),
        ((3, 4, 2, 1), (3, 2), "only batches of spatial targets supported"),
        ((3, 4, 2, 1), (3, 2, 2), r"size mismatch \(got input: \[3, 4, 2, 1\] , target: \[3, 2, 2\]"),
        ((3, 4), (), "to match target batch_size"),
        ((4,), (2,), "1D target must have size 1, but got target size: 2"),
    ],
)
def test_cross_entropy_checks_the_targets_shape(scores, target, text):
    with pytest.raises((RuntimeError, ValueError), match=text):
        ng.nn.functional.cross_entropy(ng.zeros(scores), ng.zeros(target, dtype=ng.int64))


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: ng.mm(ng.ones(2, 2), 3), r"mm\(\): argument 'mat2' \(position 2\) must be Tensor, not int"),
        (lambda: ng.dot("a", ng.ones(2)), r"dot\(\): argument 'input' \(position 1\) must be Tensor, not str"),
        (lambda: ng.nn.functional.linear(ng.ones(2), 3), r"linear\(\): argument 'weight' \(position 2\) must be Tensor"),
        (lambda: ng.nn.functional.cross_entropy(ng.ones(2, 3), 3), "argument 'target' .* must be Tensor, not int"),
        (lambda: ng.exp(2.0), r"exp\(\): argument 'input' \(position 1\) must be Tensor, not float"),
        (lambda: ng.ones(2) @ 3, "unsupported operand type"),
    ],
)
def test_other_objects_than_tensors_are_refused(call, text):
    with pytest.raises(TypeError, match=text):
        call()


def test_as_strided_checks_the_layout():
    x = ng.zeros(3)
    with pytest.raises(RuntimeError, match="Negative strides are not supported"):
        x.as_strided((3,), (-1,), 2)
    with pytest.raises(RuntimeError, match="invalid storage offset -2"):
        x.as_strided((3,), (1,), -2)
    with pytest.raises(RuntimeError, match="expanded size of the tensor"):
        x.expand(-2, 3)


def test_an_expanded_grad_is_not_written_in_place():
    x = ng.zeros(3, requires_grad=True)
    x.grad = ng.ones(1).expand(3)
    (x * ng.tensor([1.0, 2.0, 3.0])).sum().backward()
    assert x.grad.tolist() == [2.0, 3.0, 4.0]  # 1 + the factors


# ---------------------------------------------------------------------------------------------------- dtypes, copies
def test_items_of_a_list_keep_their_dtypes():
    assert ng.tensor([np.float64(1.1)]).dtype is ng.float64
    assert ng.tensor([np.array([1.5, 2.5]), np.array([3.5, 4.5])]).dtype is ng.float64
    assert ng.tensor([1, np.float32(2)]).dtype is ng.float32
    assert ng.tensor([np.int32(1)]).dtype is ng.int32
    assert ng.tensor([ng.tensor(1.1, dtype=ng.float64), 2]).dtype is ng.float64


def test_a_float_alpha_is_refused_for_integers():
    integers = ng.ones(2, dtype=ng.int64)
    for call in (integers.add, integers.sub, integers.add_, integers.sub_):
        with pytest.raises(RuntimeError, match="argument alpha must not be a floating point number"):
            call(1, alpha=0.5)
    assert ng.arange(2.5, dtype=ng.int64).tolist() == [0, 1]


def test_copies_and_pickles_of_leaves_and_of_results():
    x = ng.tensor([1.0, 2.0], requires_grad=True)
    x.grad = ng.ones(2)
    for copied in (copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert copied.tolist() == [1.0, 2.0]
        assert copied.requires_grad
        assert copied is not x
    assert copy.deepcopy(x).grad.tolist() == [1.0, 1.0]
    with pytest.raises(RuntimeError, match="Only Tensors created explicitly by the user"):
        copy.deepcopy(x * 2)
    again = pickle.loads(pickle.dumps(x * 2))  # PyTorch's rule: a leaf with the values
    assert (again.tolist(), again.requires_grad, again.grad_fn) == ([2.0, 4.0], True, None)
    assert pickle.loads(pickle.dumps(ng.bool)) is ng.bool


def test_assigning_data_to_a_view():
    warm = ng.ones(2) * 2
    x = ng.ones(4)
    view = x[:2]
    view.data = ng.zeros(2) + 1
    assert (view * warm).tolist() == [2.0, 2.0]
    before = x._version
    x.data = ng.zeros(4)
    assert x._version == before


def test_a_leaf_with_a_hook_is_freed_by_reference_count():
    gc.disable()
    try:
        x = ng.ones(2, requires_grad=True)
        x.register_hook(lambda g: g * 2)
        (x * 3).sum().backward()
        assert x.grad.tolist() == [6.0, 6.0]
        (x * 3).sum().backward()  # the hook outlives its first graph
        assert x.grad.tolist() == [12.0, 12.0]
        reference = weakref.ref(x)
        del x
        assert reference() is None
    finally:
        gc.enable()


def test_the_gradient_of_an_exponent_is_linear_at_zero():
    # d(x**y)/dy = x**y * log(x) is 0 at x = 0, y = 2, so its derivative by the incoming gradient is 0 (PyTorch's too).
    x, y = (ng.tensor([v], requires_grad=True) for v in (0.0, 2.0))
    g = ng.ones(1, requires_grad=True)
    _, gy = ng.autograd.grad(x**y, [x, y], g, create_graph=True)
    assert ng.autograd.grad(gy.sum(), g)[0].tolist() == [0.0]


def test_kernels_run_as_plain_python():
    program = "import numgrad as ng; print((ng.ones(3) * 2).tolist(), round(ng.exp(ng.ones(2)).digamma().sum().item(), 5))"
    result = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
    )
    assert result.stdout == "[2.0, 2.0, 2.0] 1.60985\n", result.stderr  # digamma(e) = 0.8049263


# ---------------------------------------------------------------------------------------------------- retained gradients
def test_retained_gradients_accumulate_and_alias_nothing():
    x = ng.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    z = (y * y).sum()
    z.backward(inputs=[y], retain_graph=True)
    first = y.grad
    z.backward(inputs=[y])
    assert y.grad.tolist() == [8.0, 16.0]  # twice 2 y
    assert first.tolist() == [4.0, 8.0]
    a = x + 1
    b = a.view(2)
    a.retain_grad()
    b.retain_grad()
    g = ng.ones(2)
    b.backward(g)
    a.grad.mul_(3)
    assert (b.grad.tolist(), g.tolist()) == ([1.0, 1.0], [1.0, 1.0])


@pytest.mark.parametrize(
    ("write", "expected"),
    [
        (lambda y, x: y.__setitem__(0, x[1] * 5), [20.0, 8.0, 12.0]),  # 2 y of y = [10, 4, 6]
        (lambda y, x: y[:1].mul_(3), [12.0, 8.0, 12.0]),  # 2 y of y = [6, 4, 6]
    ],
)
def test_a_retained_base_that_is_written_through_a_view(write, expected):
    x = ng.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x * 2
    y.retain_grad()
    write(y, x)
    (y * y).sum().backward()
    assert y.grad.tolist() == expected


def test_a_repeated_source_that_overlaps_the_target():
    x = ng.zeros(2)
    with pytest.raises(RuntimeError, match=r"unsupported operation|doesn't match the broadcast shape"):
        x[:1].add_(x[0].expand(3))


def test_data_that_was_replaced_since_the_forward():
    x = ng.tensor([1.0, 2.0], requires_grad=True)
    y = x * x
    x.data = ng.tensor([5.0, 6.0])
    for create_graph in (True, False):  # the gradient is that of the forward that ran
        assert ng.autograd.grad(y.sum(), x, create_graph=create_graph)[0].tolist() == [2.0, 4.0]


def test_subclasses_of_numbers_and_odd_questions():
    class Flag(enum.IntEnum):
        TWO = 2

    assert (ng.ones(2) * Flag.TWO).tolist() == [2.0, 2.0]
    with pytest.raises(RuntimeError, match=r"only supports Tensor or scalar, but you passed in a <class 'tuple'>"):
        assert (0, 1) in ng.ones(2)
    with pytest.raises(RuntimeError, match="Integers to negative integer powers"):
        ng.tensor([2, 3]).pow_(-1)


# ---------------------------------------------------------------------------------------------------- printing
def test_format_of_a_number_is_the_numbers():
    assert f"{ng.tensor(1.5)}" == "1.5"
    assert f"{ng.tensor(1.5):.3f}" == "1.500"
    assert f"{ng.tensor([1.5])}" == "tensor([1.5000])"


def test_a_state_dict_prints_as_an_ordered_dict():
    state = ng.nn.Linear(1, 1).state_dict()
    assert repr(state) == repr(OrderedDict(state))


# ---------------------------------------------------------------------------------------------------- writes, layouts
def test_what_a_bool_or_integer_tensor_is_filled_with():
    mask = ng.zeros(2, dtype=ng.bool)
    assert mask.fill_(0.5).tolist() == [True, True]  # PyTorch: anything but 0 is True
    assert mask.zero_().copy_(ng.tensor(0.5)).tolist() == [True, True]
    assert ng.zeros(2, dtype=ng.int64).fill_(2.7).tolist() == [2, 2]
    refused = ((ng.uint8, 300, "uint8_t"), (ng.int8, -129, "int8_t"), (ng.int64, float("nan"), "int64_t"))
    for dtype, value, name in refused:
        with pytest.raises(RuntimeError, match=f"value cannot be converted to type {name} without overflow"):
            ng.zeros(2, dtype=dtype).fill_(value)


def test_out_of_another_dtype_is_refused():
    with pytest.raises(RuntimeError, match="Expected out tensor to have dtype float, but got long int instead"):
        ng.mm(ng.ones(2, 2), ng.ones(2, 2), out=ng.zeros(2, 2, dtype=ng.int64))


def test_as_strided_of_repeated_items_at_second_order():
    """y_i = c_i * x for an expanded x read through as_strided; the gradient's own gradient is that of a linear map of c."""
    x = ng.tensor([2.0], dtype=ng.float64, requires_grad=True)
    c = ng.tensor([1.0, 10.0, 100.0], dtype=ng.float64, requires_grad=True)
    expanded = x.expand(3)
    seen = expanded.as_strided((3,), (0,))
    # The gradient for `expanded` shares each element's total among its three items: (1 + 10 + 100) / 3.
    (g,) = ng.autograd.grad(seen, expanded, c, create_graph=True)
    assert g.tolist() == [37.0, 37.0, 37.0]
    # g_j = sum(c) / 3, so d(sum w_j g_j)/dc_i = sum(w) / 3 = 2 for every i.
    (gc,) = ng.autograd.grad(g, c, ng.tensor([1.0, 2.0, 3.0], dtype=ng.float64))
    assert gc.tolist() == [2.0, 2.0, 2.0]


def test_a_layout_that_overlaps_without_a_zero_stride():
    # strides (2, 3) over 16 items: as long as 16 dense items, but items repeat and others are never shown
    x = ng.zeros(16).as_strided((4, 4), (2, 3), 0)
    y = x + 1
    assert y.tolist() == [[1.0] * 4] * 4


# ---------------------------------------------------------------------------------------------------- sizes
def available_memory() -> int:
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 0


@pytest.mark.slow
@pytest.mark.skipif(available_memory() < 6 << 30, reason="needs 6 GiB of free memory")
def test_more_items_than_a_32_bit_index_counts():
    size = 2**31 + 8
    x = ng.empty(size, dtype=ng.int8).fill_(3)
    x[-1] = 5
    x.add_(1)  # on several threads
    assert (x.numel(), x.shape, x[0].item(), x[-1].item()) == (size, (size,), 4, 6)
    assert x[2**31].item() == 4
    assert x[2**31 - 2 :].tolist() == [4] * 9 + [6]
    assert x.view(-1, 8)[2**28].tolist() == [4] * 7 + [6]
    assert x[:: 2**30].tolist() == [4, 4, 4]
    assert (x[5:] + x[:-5])[-4:].tolist() == [8, 8, 8, 10]
    with pytest.raises(IndexError):
        x[size]
