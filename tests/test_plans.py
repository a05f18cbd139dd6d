"""Calls by plans that were kept: what the first call finds with all its checks, later ones give without them."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import numgrad as ng
from numgrad.autograd.graph import saved_tensors_hooks
from numgrad.plans import Plans

ITEMS = np.arange(24.0).reshape(4, 6)
VIEWS = {  # of (4, 6)
    "view": lambda x: x.view(3, -1),
    "view of a shape": lambda x: x.view(ng.Size((2, 12))),
    "reshape": lambda x: x.reshape(8, 3),
    "flatten": lambda x: x.flatten(),
    "t": lambda x: x.t(),
    "T": lambda x: x.T,
    "transpose": lambda x: x.transpose(-1, 0),
    "permute": lambda x: x.permute((1, 0)),
    "unsqueeze": lambda x: x.unsqueeze(-1),
    "squeeze": lambda x: x[:, :1].squeeze(),
    "squeeze of dims": lambda x: x[:1, :1].squeeze((0, 1)),
    "expand": lambda x: x[:1].expand(3, 6),
    "select": lambda x: x.select(1, -2),
    "narrow": lambda x: x.narrow(1, -3, 2),
    "diagonal": lambda x: x.diagonal(1),
    "unfold": lambda x: x.unfold(1, 4, 2),
    "int": lambda x: x[-2],
    "slice": lambda x: x[1:],
    "empty slice": lambda x: x[9:1],
    "ints": lambda x: x[1, 2],
    "slices": lambda x: x[::2, 1:5:3],
    "column": lambda x: x[:, -1],
    "new dimension": lambda x: x[..., None],
    "all of it": lambda x: x[...],
    "int and new dimension": lambda x: x[None, 2, None],
}
LAYOUTS = {
    "dense": lambda x: x,
    "transposed": lambda x: x.view(6, 4).t(),
    "a part": lambda x: ng.cat((x, x))[2:6],
    "float64 of a larger storage": lambda x: ng.zeros(5, 12).to(x.dtype).copy_(0)[1:, ::2],
}


def _told(x):
    """All that can be told of a view."""
    return {
        "items": x.tolist(),
        "layout": (x.shape, x.stride(), x.storage_offset(), x.is_contiguous()),
        "version": x._version,
        "base": x._base,
        "grad_fn": None if x.grad_fn is None else x.grad_fn.name(),
        "requires_grad": x.requires_grad,
        "dtype": x.dtype,
    }


def _same(first, second):
    assert first.pop("base") is second.pop("base")
    assert first == second


def _without_plans(call):
    """The result of a call that finds no plan."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Plans, "get", lambda self, key: None)
        return call()


@pytest.mark.parametrize(
    ("name", "layout"), [(n, how) for how in LAYOUTS for n in VIEWS if how == "dense" or not n.startswith("view")]
)
def test_a_view_by_a_plan_is_the_view(name, layout):
    view = VIEWS[name]
    x = LAYOUTS[layout](ng.tensor(ITEMS))
    first, second, third = _without_plans(lambda: view(x)), view(x), view(x)
    _same(_told(first), _told(second))
    _same(_told(first), _told(third))
    with ng.no_grad():
        unrecorded = view(x)
    _same(_told(first), _told(unrecorded))
    x.mul_(2)
    for each in (first, second, unrecorded):
        if each.untyped_storage() == x.untyped_storage():
            assert_array_equal(each.numpy(), view(x).numpy())


@pytest.mark.parametrize("name", VIEWS)
def test_a_recorded_view_by_a_plan_has_the_gradient(name):
    view = VIEWS[name]
    weight = ng.tensor(ITEMS).sin()
    gradients = []
    told = []
    for how in (_without_plans, lambda call: call(), lambda call: call()):
        x = ng.tensor(ITEMS, requires_grad=True)
        y = how(lambda x=x: view(x * 1))
        told.append(_told(y))
        (y * view(weight)).sum().backward()
        gradients.append(x.grad.numpy())
    for again, gradient in zip(told[1:], gradients[1:], strict=True):
        assert again.pop("base").grad_fn.name() == "MulBackward0"
        assert again == {name: told[0][name] for name in again}
        assert_array_equal(gradient, gradients[0])


def test_equal_arguments_of_other_types_are_checked():
    x = ng.zeros(2, 2)
    for _ in range(2):
        x.view(4), x.transpose(0, 1), x[1], x[0, 1], x[1:]
    with pytest.raises(TypeError):
        x.view(4.0)
    with pytest.raises(TypeError):
        x.view((4.0,))
    with pytest.raises(TypeError):
        x.transpose((0, 1))
    with pytest.raises(TypeError):
        x.transpose(0.0, 1)
    with pytest.raises(IndexError):
        x[0.0, 1]
    with pytest.raises(TypeError):
        x[1.0:]
    assert x[True, 1].shape == (1, 2)  # a bool is no int


def test_a_strided_view_reaches_beyond_a_part():
    part = ng.arange(12)[4:6]
    for _ in range(2):
        assert part.as_strided((3,), (1,), 0).tolist() == [0, 1, 2]
        assert part.as_strided((3,), (1,), 9).tolist() == [9, 10, 11]
        assert ng.arange(4).view(ng.int32)[2:].view(ng.int64).tolist() == [1, 2, 3]


def test_views_by_plans_in_modes():
    x = ng.tensor(ITEMS, requires_grad=True)
    x.t(), x[1:]
    with ng.no_grad():
        quiet = x.t()
    with pytest.raises(RuntimeError, match="A view was created in no_grad mode"):
        quiet.mul_(2)
    with ng.inference_mode():
        y = ng.zeros(4, 6)
        inferred = y.t()
        assert inferred.is_inference()
    seen = []
    with saved_tensors_hooks(lambda saved: seen.append(saved.shape) or saved, lambda saved: saved):
        (x.t() * x.t()).sum().backward()
    assert seen == [(6, 4), (6, 4)]
    batched = ng.func.vmap(lambda row: row.unsqueeze(0)[:, 1:])(ng.tensor(ITEMS))
    assert_array_equal(batched.numpy(), ITEMS[:, None, 1:])
    _, tangent = ng.func.jvp(lambda x: x.t()[1:], (ng.tensor(ITEMS),), (ng.tensor(ITEMS),))
    assert_array_equal(tangent.numpy(), ITEMS.T[1:])


def test_a_view_of_a_subclass_by_a_plan():
    class Mine(ng.Tensor):
        pass

    x = ng.tensor(ITEMS).as_subclass(Mine)
    assert type(x.t()) is type(x.t())
    assert_array_equal(x.t().numpy(), ITEMS.T)


def test_plans_keep_no_tensors():
    x = ng.zeros(3, 5)
    x.t(), x[1:], x[0], x.view(15)
    alive = weakref.ref(x)
    del x
    gc.collect()
    assert alive() is None


def test_plans_are_forgotten_when_they_are_too_many(monkeypatch):
    monkeypatch.setattr("numgrad.plans._MOST", 2)
    plans = Plans()
    for key in range(5):
        plans.keep(key, key)
    assert list(plans.items()) == [(4, 4)]
