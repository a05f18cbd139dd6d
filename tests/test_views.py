"""Views with NumPy as the reference, their memory and version counters, writes through them, and changes of layout."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import numgrad as ng
from numgrad.testing import gradcheck, gradgradcheck

X = np.arange(24.0).reshape(2, 3, 4)
VIEWS = {
    "movedim": (lambda x: x.movedim((0, 1), (2, 0)), lambda x: np.moveaxis(x, (0, 1), (2, 0))),
    "swapaxes": (lambda x: x.swapaxes(0, -1), lambda x: np.swapaxes(x, 0, -1)),
    "diagonal": (lambda x: x.diagonal(1, 1, 2), lambda x: np.diagonal(x, 1, 1, 2)),
    "unfold": (lambda x: x.unfold(2, 3, 1), lambda x: np.lib.stride_tricks.sliding_window_view(x, 3, 2)),
    "unflatten": (lambda x: x.unflatten(2, (2, -1)), lambda x: x.reshape(2, 3, 2, 2)),
    "broadcast_to": (lambda x: x[:, :1].broadcast_to((2, 3, 4)), lambda x: np.broadcast_to(x[:, :1], (2, 3, 4))),
    "adjoint": (lambda x: x.adjoint(), lambda x: np.swapaxes(x, 1, 2)),
    "unbind": (lambda x: x.unbind(1)[2], lambda x: x[:, 2]),
    "split": (lambda x: x.split(3, 2)[1], lambda x: x[..., 3:]),
    "chunk": (lambda x: x.chunk(2, 1)[0], lambda x: x[:, :2]),
    "tensor_split": (lambda x: x.tensor_split(3, 2)[1], lambda x: np.array_split(x, 3, 2)[1]),
}


@pytest.mark.parametrize("name", VIEWS)
def test_views_share_memory_and_have_gradients(name):
    view, reference = VIEWS[name]
    base = ng.from_numpy(X.copy())
    found = view(base)
    assert_array_equal(found.numpy(), reference(X))
    assert found.untyped_storage() == base.untyped_storage()
    with ng.no_grad():
        base.mul_(2)
    assert found._version == 1
    assert_array_equal(found.numpy(), reference(2 * X))
    x = ng.from_numpy(X.copy()).requires_grad_()
    gradcheck(lambda x: view(x) * view(x), (x,))
    gradgradcheck(lambda x: view(x) * view(x), (x,))


@pytest.mark.parametrize("name", ["movedim", "swapaxes", "diagonal", "unflatten", "adjoint", "tensor_split"])
def test_a_write_through_a_view_rewrites_the_base(name):
    view, _ = VIEWS[name]

    def function(x):
        y = x * x
        view(y).mul_(3.0)
        return y * x

    x = ng.from_numpy(X.copy()).requires_grad_()
    gradcheck(function, (x,))
    gradgradcheck(function, (x,))


@pytest.mark.parametrize("part", [lambda y: y.unbind(0)[0], lambda y: y.split(1)[0], lambda y: y.unbind(0)[0].view(-1)])
def test_views_made_several_at_once_are_not_written(part):
    y = ng.ones(2, 2).requires_grad_() * 2
    with pytest.raises(RuntimeError, match="This view is the output of a function that returns multiple views"):
        part(y).add_(1)


def test_memory_read_in_another_dtype():
    x = ng.from_numpy(np.arange(4, dtype=np.float32))
    bits = x.view(ng.int32)
    assert_array_equal(bits.numpy(), np.arange(4, dtype=np.float32).view(np.int32))
    bits[0] = 0x40000000
    assert x.tolist() == [2, 1, 2, 3]
    assert x.view(ng.float64).shape == (2,)
    assert x.view(ng.uint8)[2:].shape == (14,)


def test_layout_in_place_keeps_the_graph():
    x = ng.arange(6, dtype=ng.float64).requires_grad_()
    y = (x * 2).view(2, 3).clone()
    y.t_().unsqueeze_(0)
    assert y.shape == (1, 3, 2)
    assert y._version == 2
    (y * ng.arange(6, dtype=ng.float64).view(1, 3, 2)).sum().backward()
    assert x.grad.tolist() == [0, 4, 8, 2, 6, 10]


def test_resize():
    x = ng.arange(6)
    part = x[:2]
    x.resize_(2, 2)
    assert x.tolist() == [[0, 1], [2, 3]]
    assert x.untyped_storage() == part.untyped_storage()
    x.resize_(8)
    assert x[:6].tolist() == [0, 1, 2, 3, 4, 5]
    assert part.tolist() == [0, 1]


def test_set_shares_memory():
    x, other = ng.zeros(2), ng.ones(3)
    x.set_(other)
    x[0] = 5
    assert other.tolist() == [5, 1, 1]
    assert x.is_set_to(other)


def test_out_is_resized_with_a_warning():
    empty, full = ng.zeros(0), ng.zeros(3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ng.add(ng.ones(2), 1, out=empty)
    assert empty.tolist() == [2, 2]
    with pytest.warns(UserWarning, match=r"An output with one or more elements was resized since it had shape \[3\]"):
        ng.cat((ng.ones(2), ng.zeros(2)), out=full)
    assert full.tolist() == [1, 1, 0, 0]


@pytest.mark.parametrize("name", ["channels_last", "contiguous_format"])
def test_memory_formats(name):
    x = ng.arange(120).view(2, 3, 4, 5)
    laid_out = x.contiguous(memory_format=getattr(ng, name))
    assert laid_out.is_contiguous(memory_format=getattr(ng, name))
    assert laid_out.stride() == ((60, 1, 15, 3) if name == "channels_last" else (60, 20, 5, 1))
    assert_array_equal(laid_out.numpy(), x.numpy())
