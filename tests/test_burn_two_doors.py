"""Burn's handles and PyTorch's tensors over one graph: gradients for either, wrapping, writes, and what does not mix."""

import pytest
from burn_handles import ASSOCIATED, CONSUMED, LEAF, NONE, PLAIN, TRACKED, flags, floats, leaf

import numgrad as ng
from numgrad import burn


def test_gradients_for_pytorchs_door():
    w = ng.tensor([1.0, 2.0], requires_grad=True)
    v = ng.tensor([3.0, 4.0], requires_grad=True)
    unused = ng.tensor([0.0], requires_grad=True)
    g = ng.autograd.gradients((w * w * v).sum())
    assert isinstance(g, ng.Gradients)
    assert g[w].tolist() == [6.0, 16.0]
    assert g[v].tolist() == [1.0, 4.0]
    assert unused not in g
    assert w.grad is None and v.grad is None
    with pytest.raises(RuntimeError, match="second time"):
        y = (w * w).sum()
        ng.autograd.gradients(y)
        ng.autograd.gradients(y)
    with pytest.raises(RuntimeError, match="does not require grad and does not have a grad_fn"):
        ng.autograd.gradients(ng.ones(1))
    with pytest.raises(RuntimeError, match="can be implicitly created only for scalar outputs"):
        ng.autograd.gradients(w * 2)


def test_gradients_with_options_of_pytorchs_door():
    w = ng.tensor([1.0, 2.0], requires_grad=True)
    h = w * w
    h.retain_grad()
    y = h * h
    g = ng.autograd.gradients(y, gradient=ng.tensor([1.0, 10.0]), retain_graph=True)
    assert g[w].tolist() == [4.0, 320.0]
    assert h.grad is None and w.grad is None
    g = ng.autograd.gradients(y.sum(), inputs=[h], retain_graph=True)
    assert (len(g), g[h].tolist()) == (1, [2.0, 8.0])
    g = ng.autograd.gradients(y.sum(), create_graph=True)
    assert ng.autograd.gradients(g[w].sum())[w].tolist() == [12.0, 48.0]


def test_gradients_of_leaves_are_not_shared():
    a, b = (ng.tensor([1.0, 2.0], requires_grad=True) for _ in range(2))
    g = ng.autograd.gradients((a + b).sum())
    g[a].mul_(5)
    assert g[b].tolist() == [1.0, 1.0]


def test_both_kinds_of_tensors_know_the_flags():
    assert flags(ng.ones(2)) == ASSOCIATED
    w = ng.ones(2, requires_grad=True)
    assert flags(w) == LEAF
    assert flags(w * 2) == TRACKED
    assert flags(ng.ones(2, device=PLAIN).requires_grad_()) == NONE


def test_wrapping_copies_nothing_and_keeps_the_place_in_the_graph():
    w = ng.tensor([1.0, 2.0], requires_grad=True)
    x = burn.Tensor.wrap(w)
    assert flags(x) == LEAF
    assert x.torch() is w
    product = burn.Tensor.wrap(w * 3)
    assert flags(product) == TRACKED
    assert product.torch().data_ptr() == product.clone().torch().data_ptr()
    gradients = (x * product).sum().backward()
    assert x.grad(gradients).to_list() == [6.0, 12.0]
    assert w.grad is None
    (x * x).sum().torch().backward()
    assert w.grad.tolist() == [2.0, 4.0]


def test_marking_a_tensor_later_does_not_mark_its_handle():
    t = ng.tensor([1.0, 2.0])
    x = burn.Tensor.wrap(t)
    t.requires_grad_()
    assert flags(x) == ASSOCIATED
    assert x.torch().data_ptr() == t.data_ptr()


def test_writing_to_a_tensor_under_a_handle_raises():
    t = ng.tensor([1.0, 2.0])
    x = burn.Tensor.wrap(t)
    t.add_(1)
    with pytest.raises(RuntimeError, match="was modified by an inplace operation on a tensor that shares it"):
        x * 2.0
    assert (burn.Tensor.wrap(t) * 2.0).to_list() == [4.0, 6.0]


def test_a_graph_freed_by_the_other_door_is_consumed():
    x = leaf([1.0, 2.0])
    y = x * x
    y.torch().sum().backward()
    with pytest.raises(burn.Panic, match=CONSUMED):
        y.sum().backward()


def test_a_consumed_graph_is_freed_for_the_other_door():
    x = leaf([1.0, 2.0])
    y = x * x
    y.sum().backward()
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        y.torch().sum().backward()


@pytest.mark.parametrize(
    "mixed",
    [
        lambda t, x: t * x,
        lambda t, x: x * t,
        lambda t, x: t @ x,
        lambda t, x: x < t,
        lambda t, x: x.add(t),
        lambda t, x: t.add(x),
        lambda t, x: ng.add(t, x),
        lambda t, x: ng.add(x, t),
        lambda t, x: ng.exp(x),
        lambda t, x: ng.sum(x),
        lambda t, x: ng.matmul(t, x),
        lambda t, x: ng.where(t > 0, t, x),
        lambda t, x: ng.cat([t, x]),
        lambda t, x: burn.Tensor.cat([t, x], 0),
        lambda t, x: burn.Tensor.from_data(t, PLAIN),
        lambda t, x: x.mask_where(t > 0, x),
    ],
)
def test_the_two_types_do_not_mix(mixed):
    with pytest.raises(TypeError, match=r"burn\.Tensor\.wrap\(t\).*h\.torch\(\)"):
        mixed(ng.ones(2), floats([1.0, 2.0]))


def test_pytorchs_tensors_answer_burns_names_with_advice():
    t = ng.ones(2)
    assert not hasattr(t, "require_grad")
    with pytest.raises(AttributeError, match=r"no attribute 'require_grad': .*requires_grad_\(\).*burn\.Tensor\.wrap"):
        t.require_grad()
    with pytest.raises(AttributeError, match="no attribute 'set_require_grad'"):
        t.set_require_grad(True)
