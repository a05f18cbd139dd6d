"""Calls by plans that were kept: what the first call finds with all its checks, later ones give without them."""

from __future__ import annotations

import gc
import re
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
    "unbind": lambda x: x.unbind(1)[2],
    "split": lambda x: x.split(4, 1)[1],
    "chunk": lambda x: x.chunk(3, -1)[0],
    "split_with_sizes": lambda x: x.split([1, 5], 1)[1],
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


# ---------------------------------------------------------------------------------------------------- ops with kernels
AT = [[2, 0, 1], [1, 1, 0], [0, 2, 2], [1, 0, 2]]
CALLS = {  # of (4, 3)
    "sum": lambda x: x.sum(),
    "sum of a dimension": lambda x: x.sum(1, keepdim=True),
    "sum of dimensions": lambda x: x.sum((0, 1)),
    "mean": lambda x: x.mean(),
    "mean of a dimension": lambda x: x.mean(0),
    "prod": lambda x: x.prod(),
    "prod of a dimension": lambda x: x.prod(1),
    "any": lambda x: (x > 1).any(1),
    "all": lambda x: (x > 0).all(),
    "max": lambda x: x.max(),
    "min of a dimension": lambda x: x.min(0),
    "max of a dimension": lambda x: x.max(1, keepdim=True),
    "amax": lambda x: x.amax((0, 1), True),
    "aminmax": lambda x: x.aminmax(dim=0),
    "argmax": lambda x: x.argmax(),
    "argmax kept": lambda x: x.argmax(keepdim=True),
    "argmin of a dimension": lambda x: x.argmin(-1, True),
    "softmax": lambda x: x.softmax(1),
    "softmax of columns": lambda x: ng.softmax(x, dim=0),
    "log_softmax": lambda x: x.log_softmax(-1),
    "cumsum": lambda x: x.cumsum(0),
    "cumprod": lambda x: x.cumprod(1),
    "cummax": lambda x: x.cummax(1),
    "gather": lambda x: x.gather(1, ng.tensor(AT)),
    "gather of a part": lambda x: x.gather(1, ng.tensor(AT)[:2]),
    "gather by name": lambda x: ng.gather(index=ng.tensor(AT), dim=0, input=x),
    "index_select": lambda x: x.index_select(1, ng.tensor([2, 0])),
    "take": lambda x: x.take(ng.tensor([[11, -12]])),
    "index": lambda x: x[ng.tensor([[3, -1]])],
    "embedding": lambda x: ng.nn.functional.embedding(ng.tensor([[3, 0]]), x),
    "flip": lambda x: x.flip(0, -1),
    "roll": lambda x: x.roll((1, 2), (0, 1)),
    "repeat": lambda x: x.repeat(2, 1, 2),
    "tril": lambda x: x.tril(-1),
    "trace": lambda x: x.trace(),
    "sort": lambda x: x.sort(1, True),
    "argsort": lambda x: x.argsort(0),
    "topk": lambda x: x.topk(2),
    "cat": lambda x: ng.cat((x, x * 2), 1),
    "stack": lambda x: ng.stack([x, x], dim=1),
    "var": lambda x: x.var(0),
    "std": lambda x: x.std(),
    "norm": lambda x: x.norm(),
    "logsumexp": lambda x: x.logsumexp((0, 1)),
    "layer_norm": lambda x: ng.nn.functional.layer_norm(x, (3,)),
    "affine layer_norm": lambda x: ng.layer_norm(x, (3,), x[0].contiguous(), x[1].contiguous()),
    "nll_loss": lambda x: ng.nn.functional.nll_loss(x, ng.tensor([2, 0, -100, 1])),
    "cross_entropy": lambda x: ng.nn.functional.cross_entropy(x, ng.tensor([2, 0, 1, 1]), reduction="none"),
    "scatter_add": lambda x: x.scatter_add(1, ng.tensor(AT), x),
    "index_add": lambda x: x.index_add(0, ng.tensor([3, 3]), x[:2]),
    "var_mean": lambda x: ng.var_mean(x, 1, correction=0),
    "to": lambda x: x.to(ng.float32 if x.dtype is ng.float64 else ng.float64),
    "triu": lambda x: x.triu(1),
    "mm": lambda x: x.t().mm(x),
    "addmm": lambda x: ng.addmm(x[0], x, x.t()[:, :3]),
    "scaled addmm": lambda x: ng.addmm(x[:, :1], x, x[:3], beta=2, alpha=3),
    "linear": lambda x: ng.nn.functional.linear(x, x[:2], x[0, :2]),
    "dot": lambda x: x[0].dot(x[:3, 1]),
    "mv": lambda x: x.mv(x[1]),
    "bmm": lambda x: ng.bmm(x[None], x.t()[None]),
    "softmax of a transpose": lambda x: x.t().softmax(1),
    "sum of a part": lambda x: x[:, 1:].sum(0),
    "cat of parts": lambda x: ng.cat((x[:, 1:], x[:, :1]), 1),
}
DTYPES = ("float32", "int64", "float16")


def _results(found):
    return found if isinstance(found, tuple) else (found,)


def _described(found):
    return type(found), [(_told(x), x.stride()) for x in _results(found)]


@pytest.mark.parametrize("name", CALLS)
def test_a_call_by_a_plan_is_the_call(name):
    call = CALLS[name]
    for dtype in DTYPES:
        x = (ng.tensor(ITEMS[:2].reshape(4, 3)) % 5).to(getattr(ng, dtype))
        try:
            first = _without_plans(lambda x=x: call(x))
        except (RuntimeError, NotImplementedError) as error:
            for _ in range(2):
                with pytest.raises(type(error), match=re.escape(str(error))):
                    call(x)
            continue
        for operand in (x, x, x[:]):
            assert _described(call(operand)) == _described(first)
        assert not any(r.untyped_storage() == x.untyped_storage() for r in _results(call(x)))


@pytest.mark.parametrize("name", CALLS)
def test_a_recorded_call_by_a_plan_has_the_gradient(name):
    call = CALLS[name]
    gradients = []
    names = []
    for how in (_without_plans, lambda call: call(), lambda call: call()):
        x = (ng.tensor(ITEMS[:2].reshape(4, 3)) % 5 + 0.5).requires_grad_()
        found = [r for r in _results(how(lambda x=x: call(x))) if r.requires_grad]
        names.append([r.grad_fn.name() for r in found])
        for r in found:
            (r * r).sum().backward(retain_graph=True)
        gradients.append(None if x.grad is None else x.grad.tolist())
    assert names[0] == names[1] == names[2]
    assert gradients[0] == gradients[1] == gradients[2]


@pytest.mark.parametrize(
    ("call", "good", "bad"),
    [
        (lambda x, i: x[i], [3, 0], [4, 0]),
        (lambda x, i: x.index_select(0, i), [3, 0], [-1, 0]),
        (lambda x, i: x.take(i), [11, 0], [12, 0]),
        (lambda x, i: x.gather(0, i[:, None].expand(2, 3).contiguous()), [3, 0], [0, -1]),
        (lambda x, i: ng.nn.functional.embedding(i, x), [3, 0], [0, 4]),
        (lambda x, i: x.scatter_add(0, i[:, None].expand(2, 3).contiguous(), ng.ones(2, 3)), [3, 0], [0, 4]),
        (lambda x, i: x.index_add(0, i, ng.ones(2, 3)), [3, 0], [0, 4]),
        (lambda x, i: ng.nn.functional.nll_loss(x[:2], i), [2, 0], [0, 3]),
    ],
)
def test_items_are_checked_also_by_a_plan(call, good, bad):
    x = ng.zeros(4, 3)
    with pytest.raises((IndexError, RuntimeError)) as told:
        _without_plans(lambda: call(x, ng.tensor(bad)))
    call(x, ng.tensor(good)), call(x, ng.tensor(good))
    with pytest.raises(told.type, match=re.escape(str(told.value))):
        call(x, ng.tensor(bad))


def test_equal_arguments_of_other_types_are_checked_by_ops():
    x = ng.ones(2, 2)
    for _ in range(2):
        x.sum(1), x.sum(1, True), x.softmax(1), x.cumsum(0)
    with pytest.raises(TypeError):
        x.sum(1.0)
    with pytest.raises(TypeError):
        x.sum(1, 1)
    with pytest.raises(TypeError):
        x.softmax(1.0)


def test_a_warning_comes_again():
    x = ng.ones(1)
    for _ in range(3):
        with pytest.warns(UserWarning, match="degrees of freedom") as told:
            x.var()
        assert told[0].filename == __file__


def test_calls_by_plans_in_modes():
    x = ng.tensor(ITEMS, requires_grad=True)
    for _ in range(2):
        x.softmax(1)
    with ng.no_grad():
        assert not x.softmax(1).requires_grad
    with ng.inference_mode():
        assert ng.tensor(ITEMS).softmax(1).is_inference()
    shapes = []
    with saved_tensors_hooks(lambda saved: shapes.append(saved.shape) or saved, lambda saved: saved):
        x.softmax(1).sum().backward()
    assert shapes == [(4, 6)]
    rows = ng.func.vmap(lambda row: row.softmax(0))(x.detach())
    assert_array_equal(rows.numpy(), x.detach().softmax(1).numpy())
    _, tangent = ng.func.jvp(lambda x: x.sum(1), (x.detach(),), (x.detach(),))
    assert_array_equal(tangent.numpy(), ITEMS.sum(1))
    out = ng.empty(4)
    assert ng.sum(x.detach(), 1, out=out.double()).tolist() == ITEMS.sum(1).tolist()
    saved = x.exp()
    result = saved.prod()
    saved.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        result.backward()


def test_equal_and_one_hot_tell_what_they_told():
    nan = ng.tensor([1.0, float("nan")])
    assert not ng.equal(nan, nan)
    assert ng.equal(ng.tensor([0.0]), ng.tensor([-0.0])) and ng.equal(ng.tensor([1]), ng.tensor([1.0]))
    assert not ng.equal(ng.zeros(2), ng.zeros(1, 2)) and ng.equal(ng.zeros(0), ng.zeros(0))
    for dtype in (ng.bool, ng.uint8, ng.float16, ng.bfloat16, ng.complex64):
        x = ng.ones(2, 3).to(dtype)
        assert ng.equal(x, x.clone()) and ng.equal(x.t(), x.t()) and not ng.equal(x, x * 0)
    large = ng.ones(5000)
    assert ng.equal(large, large.clone())
    assert ng.nn.functional.one_hot(ng.tensor([1, 0]), 3).tolist() == [[0, 1, 0], [1, 0, 0]]
    with pytest.raises(RuntimeError, match="must be smaller"):
        ng.nn.functional.one_hot(ng.tensor([1, 3]), 3)
    with pytest.raises(RuntimeError, match="must be non-negative"):
        ng.nn.functional.one_hot(ng.tensor([1, -1]), 3)
    for size in ((0, 0), (2, 5), (5, 2), (3, 0)):
        assert_array_equal(ng.eye(*size).numpy(), np.eye(*size))


def test_constants_are_the_plans_own():
    x = ng.tensor(ITEMS, requires_grad=True)
    for _ in range(3):
        y = ng.layer_norm(x, (6,))
        assert y.grad_fn.next_functions[1:] == ((None, 0), (None, 0))
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        weight = ng.ones(6, dtype=ng.float64)
        y = ng.layer_norm(x, (6,), weight)
        weight.mul_(2)
        y.sum().backward()


@pytest.mark.parametrize("index", [0, (1, 2), slice(1, None), (..., 0), (slice(None), slice(0, 2))])
def test_numbers_are_written_as_in_numpy(index):
    for given in (ITEMS, ITEMS.T):
        for dtype, value in [("float32", 0.5), ("float64", 7), ("int64", -3), ("uint8", 255), ("bool", True)]:
            x = ng.tensor(ITEMS.astype(dtype))
            x = x if given is ITEMS else x.t()
            wanted = given.astype(dtype)
            for _ in range(2):
                before = x._version
                x[index] = value
                assert x._version == before + 1
                wanted[index] = value
                assert_array_equal(x.numpy(), wanted)


@pytest.mark.parametrize("index", [[3, -1, 3], [[0, 1]], ITEMS > 5, (ITEMS > 5)[:, 0]])
def test_numbers_are_written_at_index_tensors_as_in_numpy(index):
    for dtype, value in [("float32", 0.5), ("int64", -3), ("bool", True)]:
        x, wanted = ng.tensor(ITEMS.astype(dtype)), ITEMS.astype(dtype)
        for _ in range(2):
            before = x._version
            x[ng.tensor(index)] = value
            wanted[index] = value
            assert x._version == before + 1
            assert_array_equal(x.numpy(), wanted)
            assert_array_equal(x[ng.tensor(index)].numpy(), wanted[index])
    with pytest.raises(IndexError, match="index 4 is out of bounds for dimension 0 with size 4"):
        x[ng.tensor([0, 4])] = 1
    with pytest.raises(IndexError, match="shape of the mask"):
        x[ng.ones(6, 4, dtype=ng.bool)] = 1
    positions = ng.tensor([1, 0])
    with pytest.raises(RuntimeError, match="unsupported operation"):
        positions[positions] = 5
    y = ng.tensor(ITEMS, requires_grad=True)
    z = y * 2
    z[ng.tensor(index)] = 1.0
    z.sum().backward()
    wanted = np.full(ITEMS.shape, 2.0)
    wanted[index] = 0
    assert_array_equal(y.grad.numpy(), wanted)
    assert z[ng.tensor(index)].requires_grad


def test_numbers_are_written_where_that_is_recorded_or_forbidden():
    leaf = ng.zeros(3, requires_grad=True)
    leaf[0]
    with pytest.raises(RuntimeError, match="leaf"):
        leaf[0] = 1.0
    with ng.no_grad():
        leaf[0] = 1.0
    assert leaf.tolist() == [1, 0, 0]
    y = leaf * 2
    y[0] = 5.0
    assert y.grad_fn.name() == "torch::autograd::CopySlices"
    z = (leaf * 2)[:]
    z[1] = 5.0
    z.sum().backward()
    assert leaf.grad.tolist() == [2, 0, 2]
    with ng.inference_mode():
        made = ng.zeros(2)
        made[0] = 1.0
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor"):
        made[0] = 2.0
    for dtype, number in [(ng.uint8, 256), (ng.int8, 128), (ng.float16, 1e6), (ng.float32, 1e39)]:
        with pytest.raises(RuntimeError, match="without overflow"):
            ng.zeros(2, dtype=dtype)[0] = number
    with pytest.raises(ValueError, match="Overflow when unpacking long long"):
        ng.zeros(2)[0] = 1 << 63
    rows = ng.func.vmap(lambda row: _with_first(row, 9.0))(ng.zeros(2, 3))
    assert rows.tolist() == [[9, 0, 0], [9, 0, 0]]


def _with_first(row, value):
    row = row.clone()
    row[0] = value
    return row


def test_one_tensor_given_twice():
    x, y = ng.zeros(2), ng.ones(2)
    for pair, wanted in [((x, x), [0, 0, 0, 0]), ((x, y), [0, 0, 1, 1]), ((y, x), [1, 1, 0, 0])] * 2:
        assert ng.cat(pair).tolist() == wanted
        assert ng.gather(index=pair[1].long(), dim=0, input=pair[0]).tolist() == [wanted[0]] * 2
    three = [ng.full((1,), float(n)) for n in range(3)]
    for order in [(0, 0, 1), (0, 1, 0), (1, 0, 0), (0, 0, 0), (0, 1, 2), (2, 1, 0)] * 2:
        assert ng.cat([three[n] for n in order]).tolist() == list(order)
    for a, b, wanted in [(y, y, 2), (x, y, 0), (y, y + 1, 4)] * 2:
        assert a.dot(b).item() == wanted
    with pytest.raises(TypeError):
        y.dot(y, 0, 0)
    index = ng.tensor([1, 0])
    for i, wanted in [(index, [0, 1]), (ng.tensor([0, 0]), [1, 1])] * 2:
        assert ng.gather(index=i, dim=0, input=index).tolist() == wanted


def test_devices_meet_as_without_a_plan():
    plain, autodiff = ng.device.cpu(), ng.device.cpu().autodiff()
    x, y = ng.ones(2, 2, device=plain), ng.ones(2, 2, device=autodiff, requires_grad=True)
    for _ in range(2):
        assert not ng.cat((x, x)).requires_grad
        assert ng.cat((y, y)).requires_grad
        assert ng.cat((x, y)).requires_grad
