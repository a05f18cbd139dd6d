"""What users of other libraries reported as broken about special values, shapes, dtypes and exchange with NumPy.

Each test is one such report; the values are the mathematics' and, unless a test says otherwise, PyTorch's.
"""

from __future__ import annotations

import contextlib
import math

import numpy as np
import pytest

import numgrad as ng
from numgrad.testing import gradcheck, gradgradcheck

NAN, INF = math.nan, math.inf


def gradient(function, *items: float, dtype=None) -> list:
    x = ng.tensor(items, requires_grad=True, dtype=dtype)
    function(x).sum().backward()
    return x.grad.tolist()


# ---------------------------------------------------------------------------------------------------- 0, NaN, inf, ties
def test_norms_at_zero():
    assert gradient(lambda x: x.norm(1), 0.0, 2.0) == [0, 1]
    assert gradient(lambda x: x.norm(2), 0.0, 0.0) == [0, 0]
    assert gradient(lambda x: x.norm(INF), 0.0, 0.0) == [0, 0]


def test_the_deviation_of_a_constant():
    assert gradient(lambda x: x.std(), 1.0, 1.0, 1.0) == [0, 0, 0]


def test_a_branch_that_was_not_taken_gives_nan_as_in_pytorch():
    found = gradient(lambda x: ng.where(x > 0, x.sqrt(), x), -1.0, 4.0)
    assert math.isnan(found[0])
    assert found[1] == 0.25


def test_ties():
    assert gradient(lambda x: x.max(), 2.0, 2.0) == [0.5, 0.5]
    assert gradient(lambda x: x.max(0).values, 2.0, 2.0) == [1, 0]
    assert gradient(lambda x: x.amax(), 2.0, 2.0) == [0.5, 0.5]
    assert gradient(lambda x: ng.maximum(x, x.detach()), 2.0) == [0.5]


def test_ties_are_counted_in_integers():
    """2^24 + 8 of them: one float32 more is no more than 2^24."""
    n = 2**24 + 8
    x = ng.ones(n, requires_grad=True)
    x.max().backward()
    assert x.grad[0].item() == np.float32(1 / n)


def test_products_with_zeros():
    assert gradient(lambda x: x.prod(), 0.0, 2.0, 3.0) == [6, 0, 0]
    assert gradient(lambda x: x.prod(), 0.0, 0.0, 3.0) == [0, 0, 0]
    assert ng.tensor([[0.0]]).prod(0).shape == (1,)
    assert gradient(lambda x: x.cumprod(0), 2.0, 0.0, 3.0, 4.0) == [1, 32, 0, 0]


@pytest.mark.parametrize("function", [lambda x: x.prod(), lambda x: x.cumprod(0)])
def test_second_derivatives_of_products_with_zeros(function):
    x = ng.tensor([2.0, 0.0, 3.0, 0.0], dtype=ng.float64, requires_grad=True)
    gradcheck(function, (x,))
    gradgradcheck(function, (x,))


def test_logsumexp_of_nothing_but_minus_infinity():
    """PyTorch's gradient is NaN (docs/differences.md)."""
    x = ng.full((2,), -INF, requires_grad=True)
    y = x.logsumexp(0)
    y.backward()
    assert y.item() == -INF
    assert x.grad.tolist() == [0, 0]
    z = ng.tensor([-INF, -INF, 0.0], requires_grad=True)
    found = z.logcumsumexp(0)
    assert found.tolist() == [-INF, -INF, 0]
    found.sum().backward()
    assert z.grad.tolist() == [0, 0, 1]


def test_softmax_of_a_fully_masked_row():
    assert ng.full((2, 2), -INF).softmax(1).isnan().all()


def test_softmax_is_stable_in_each_row():
    assert ng.tensor([[1000.0, 0.0], [0.0, -1000.0]]).softmax(1).tolist() == [[1, 0], [1, 0]]


def test_angle_and_modulus():
    z = ng.tensor([1 + 2j, -1 - 1j], dtype=ng.complex128, requires_grad=True)
    (by_angle,) = ng.autograd.grad(z.angle().sum(), z)
    (by_atan2,) = ng.autograd.grad(ng.atan2(z.imag, z.real).sum(), z)
    ng.testing.assert_close(by_angle, by_atan2)
    zero = ng.tensor([0j], requires_grad=True)
    zero.abs().sum().backward()
    assert zero.grad.tolist() == [0j]


def test_nan_is_seen_by_every_kernel_that_looks_for_it():
    x = ng.tensor([1.0, NAN, -1.0])
    assert x.isnan().tolist() == [False, True, False]
    assert math.isnan(x.max().item())
    assert math.isnan(x.amin().item())
    for found in (x.clamp(0, 1), ng.maximum(x, ng.zeros(3)), ng.minimum(x, ng.zeros(3)), x.relu(), x.sigmoid()):
        assert found.isnan().tolist() == [False, True, False]


def test_clamp_passes_at_its_bounds():
    assert gradient(lambda x: x.clamp(0, 1), 0.0, 1.0, 2.0, -1.0) == [1, 1, 0, 0]
    assert ng.tensor([NAN]).clamp(0, 1).isnan().all()


# ---------------------------------------------------------------------------------------------------- shapes
def test_a_0d_leaf_has_a_0d_gradient():
    x = ng.tensor(2.0, requires_grad=True)
    (x * ng.ones(3)).sum().backward()
    assert x.grad.shape == ()
    assert isinstance(x.grad, ng.Tensor)


def test_leading_dimensions_of_a_broadcast_are_summed():
    x = ng.ones(3, requires_grad=True)
    x.broadcast_to((4, 3)).sum().backward()
    assert x.grad.tolist() == [4, 4, 4]


def test_reductions_of_nothing():
    x = ng.zeros(0)
    assert math.isnan(x.mean().item())
    assert (x.sum().item(), x.prod().item()) == (0, 1)
    with pytest.raises(RuntimeError, match=r"Expected reduction dim to be specified for input.numel"):
        x.max()
    with pytest.raises(IndexError, match="Expected reduction dim 0 to have non-zero size"):
        x.max(0)


def test_an_empty_batch():
    layer = ng.nn.Linear(3, 2)
    y = layer(ng.zeros(0, 3))
    assert y.shape == (0, 2)
    y.sum().backward()
    assert not layer.weight.grad.any()
    loss = ng.nn.functional.cross_entropy(ng.zeros(0, 3), ng.zeros(0, dtype=ng.int64), reduction="sum")
    assert loss.item() == 0


def test_a_gathered_item_counts_each_time():
    x = ng.tensor([5.0], requires_grad=True)
    x.gather(0, ng.tensor([0, 0])).sum().backward()
    assert x.grad.tolist() == [2]


def test_scattering_two_sources_into_one_place_gives_one_of_them_the_gradient():
    """PyTorch's gradient goes to both, though one value was lost (docs/differences.md)."""
    source = ng.tensor([3.0, 4.0], requires_grad=True)
    found = ng.zeros(1).scatter(0, ng.tensor([0, 0]), source)
    found.sum().backward()
    winner = source.tolist().index(found.item())
    assert source.grad[winner].item() == 1
    assert source.grad.sum().item() == 1


@pytest.mark.parametrize(
    "write",
    [
        lambda x, i, s: x.index_copy(0, i, s),
        lambda x, i, s: x.index_put((i,), s),
        lambda x, i, s: x.put(i, s),
        lambda x, i, s: x.scatter(0, i, s),
    ],
)
def test_what_is_overwritten_has_no_gradient(write):
    index = ng.tensor([2, 0, 2, 1, 0])
    x, source = ng.zeros(4, requires_grad=True), ng.arange(5.0).requires_grad_()
    found = write(x, index, source)
    found.backward(ng.tensor([1.0, 10.0, 100.0, 1000.0]))
    assert found.tolist() == [4, 3, 2, 0]
    assert source.grad.tolist() == [0, 0, 100, 10, 1]
    assert x.grad.tolist() == [0, 0, 0, 1000]


def test_a_source_longer_than_its_index():
    source = ng.ones(3, requires_grad=True)
    ng.zeros(2).scatter_add(0, ng.tensor([0, 1]), source).sum().backward()
    assert source.grad.tolist() == [1, 1, 0]


def test_adding_at_an_index_that_comes_twice():
    x, i = ng.zeros(2), ng.tensor([0, 0])
    x[i] += 1
    assert x.tolist() == [1, 0]
    x = ng.zeros(2).index_put((i,), ng.ones(2), accumulate=True)
    assert x.tolist() == [2, 0]


def test_an_index_of_int_slice_and_list():
    """PyTorch's (3, 2), where NumPy gives (2, 3): an int is no index tensor."""
    x = ng.arange(24.0).reshape(2, 3, 4)
    np.testing.assert_array_equal(x[0, :, [0, 1]].numpy(), x.numpy()[0][:, [0, 1]])


def test_einsum_of_an_operand_of_extent_1():
    x, y = ng.ones(2, requires_grad=True), ng.full((1,), 2.0, requires_grad=True)
    ng.einsum("i,i", x, y).backward()
    assert x.grad.tolist() == [2, 2]
    assert y.grad.tolist() == [2]


def test_einsum_sums_and_diagonals():
    x = ng.arange(4.0).reshape(2, 2).requires_grad_()
    ng.einsum("ii->i", x).sum().backward()
    assert x.grad.tolist() == [[1, 0], [0, 1]]
    y = ng.arange(16.0).reshape(2, 2, 2, 2)
    np.testing.assert_array_equal(ng.einsum("abcd->bd", y).numpy(), np.einsum("abcd->bd", y.numpy()))
    np.testing.assert_array_equal(ng.einsum("i...,i->...", y, ng.ones(2)).numpy(), y.numpy().sum(0))
    np.testing.assert_array_equal(ng.einsum("...ii->...i", y).numpy(), np.einsum("...ii->...i", y.numpy()))
    v = ng.tensor([1.0, 2.0], requires_grad=True)
    ng.einsum("i,i", v, v).backward()
    assert v.grad.tolist() == [2, 4]


def test_ties_in_order_are_the_first():
    x = ng.tensor([1.0, 3.0, 3.0, 1.0])
    assert x.topk(2).indices.tolist() == [1, 2]
    assert x.argsort(stable=True).tolist() == [0, 3, 1, 2]
    assert x.argmax().item() == 1


# ---------------------------------------------------------------------------------------------------- dtypes
def test_numbers_and_0d_tensors_promote_less():
    assert (ng.ones(2) * ng.tensor(1.0, dtype=ng.float64)).dtype is ng.float32
    assert (ng.tensor(1.0) * ng.tensor(1.0, dtype=ng.float64)).dtype is ng.float64
    assert ng.pow(2, ng.tensor(3, dtype=ng.uint8)).dtype is ng.uint8


def test_sums_of_many_float32():
    x = ng.ones(20_000_000)
    assert x.sum().item() == 2e7
    assert x.mean().item() == 1
    assert x.reshape(-1, 2).mean(0).tolist() == [1, 1]


def test_the_mean_of_halves_does_not_overflow():
    assert ng.full((3,), 40000.0, dtype=ng.float16).mean().item() == 40000


def test_the_gradient_of_a_squared_modulus():
    z = ng.tensor([1 + 2j], requires_grad=True)
    (z.abs() ** 2).sum().backward()
    ng.testing.assert_close(z.grad, ng.tensor([2 + 4j]))


# ---------------------------------------------------------------------------------------------------- NumPy, DLPack
@pytest.mark.parametrize("array", [np.arange(6.0)[::-1], np.zeros((1, 10, 20))[::-1], np.arange(6.0).reshape(2, 3)[:, ::-1]])
def test_negative_strides(array):
    """PyTorch refuses them (docs/differences.md)."""
    for make in (ng.tensor, ng.from_numpy, ng.as_tensor):
        np.testing.assert_array_equal(make(array).numpy(), array)


def test_a_read_only_array_never_changes():
    array = np.arange(3.0)
    array.flags.writeable = False
    x = ng.from_numpy(array)
    with contextlib.suppress(RuntimeError, ValueError):
        x.add_(1)
    assert array.tolist() == [0, 1, 2]


def test_strides_of_a_dimension_of_extent_1():
    array = np.zeros((77, 1)).T
    x = ng.from_numpy(array)
    assert x.shape == (1, 77)
    assert x.is_contiguous()
    back = np.from_dlpack(x)
    assert back.shape == (1, 77)
    np.testing.assert_array_equal(back, array)


@pytest.mark.parametrize("array", [np.array(3.0), np.arange(3.0), np.zeros((0, 2))])
def test_dlpack_of_0d_contiguous_and_empty(array):
    x = ng.from_dlpack(array)
    assert x.shape == array.shape
    np.testing.assert_array_equal(np.from_dlpack(x), array)
