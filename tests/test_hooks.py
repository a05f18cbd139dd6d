"""Hooks, Functions and saved tensors where numgrad promises more than PyTorch, or what PyTorch cannot be asked."""

from __future__ import annotations

import gc
import threading
import weakref

import pytest

import numgrad as ng
from numgrad.autograd import Function
from numgrad.autograd.graph import saved_tensors_hooks


def leaf(*values):
    return ng.tensor(list(values) or [1.0, 2.0], requires_grad=True)


class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * x * g


@pytest.mark.parametrize("create_graph", [False, True])
def test_a_hook_that_writes_its_gradient_changes_no_sibling(create_graph):
    a, b = leaf(), leaf()
    a.register_hook(lambda g: g.mul_(10))
    found = ng.autograd.grad((a + b).sum(), [a, b], create_graph=create_graph)
    assert [g.tolist() for g in found] == [[10.0, 10.0], [1.0, 1.0]]


@pytest.mark.parametrize("register", ["register_prehook", "register_hook"])
def test_a_node_hook_that_writes_its_gradients_changes_no_sibling(register):
    a, b = leaf(), leaf()
    left, right = a * 2, b * 2

    def write(*gradients):
        gradients[0][0].mul_(10)

    getattr(left.grad_fn, register)(write)
    (left + right).sum().backward()
    assert a.grad.tolist() == [20.0, 20.0]
    assert b.grad.tolist() == [2.0, 2.0]


def test_a_function_that_writes_its_gradient_changes_no_sibling():
    class Greedy(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return g.mul_(10)

    a, b = leaf(), leaf()
    (Greedy.apply(a) + b).sum().backward()
    assert a.grad.tolist() == [10.0, 10.0]
    assert b.grad.tolist() == [1.0, 1.0]


def test_a_kept_gradient_is_not_written_later():
    x, kept = leaf(), []
    x.register_hook(kept.append)
    x.sum().backward()
    x.sum().backward()
    assert [g.tolist() for g in kept] == [[1.0, 1.0], [1.0, 1.0]]
    kept[0].zero_()
    assert x.grad.tolist() == [2.0, 2.0]


def test_an_error_takes_back_what_hooks_waited_for():
    """Leaves with hooks on their accumulation are written at once, and get back what they had."""
    x, w = leaf(), leaf()
    x.grad = ng.ones(2)
    before = x.grad
    x.register_post_accumulate_grad_hook(lambda p: None)
    w.register_hook(lambda g: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        (w * 1 + (x * 2).exp()).sum().backward()
    with pytest.raises(ZeroDivisionError):
        (x * 2 + w.exp()).sum().backward()
    assert x.grad is before
    assert before.tolist() == [1.0, 1.0]
    assert w.grad is None


@pytest.mark.parametrize("create_graph", [False, True])
def test_once_differentiable_raises_on_the_way_through_saved_tensors(create_graph):
    class Once(Square):
        backward = staticmethod(ng.autograd.function.once_differentiable(Square.backward))

    x = leaf()
    (g,) = ng.autograd.grad((Once.apply(x) * x).sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="marked with @once_differentiable"):
        ng.autograd.grad(g.sum(), x, create_graph=create_graph)


def test_a_graph_with_a_function_frees_itself():
    x = leaf()
    y = Square.apply(x)
    node = weakref.ref(y.grad_fn)
    gc.disable()
    try:
        del y
        assert node() is None
    finally:
        gc.enable()


def test_a_stashed_context_does_not_keep_what_was_saved():
    contexts = []

    class Stash(Square):
        @staticmethod
        def backward(ctx, g):
            contexts.append(ctx)
            return Square.backward(ctx, g)

    x = leaf()
    y = Stash.apply(x * 1)
    y.sum().backward()
    del y
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        _ = contexts[0].saved_tensors


def test_saved_tensor_hooks_are_the_threads_own():
    seen = []

    def other():
        x = leaf()
        seen.append((x * x).grad_fn.saved is None)

    with saved_tensors_hooks(lambda t: t, lambda t: t):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        assert leaf().exp().grad_fn.saved is None
    assert seen == [False]


def test_an_unpack_hook_must_give_back_the_shape():
    with saved_tensors_hooks(lambda t: t, lambda t: t[:1]):
        y = leaf().exp()
    with pytest.raises(RuntimeError, match=r"returned shape \[1\].*but shape \[2\]"):
        y.sum().backward()


def test_every_op_gives_what_it_saves_to_hooks():
    """Operands of unlike layouts and dtypes, fused kernels, ops with several outputs, writes through views."""
    x = ng.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)

    def value():
        y = x.t() * ng.tensor([1.5, 2.5], dtype=ng.float64)
        z = y.clone()
        z[0].mul_(x[1].double())
        values, _ = (z @ y.t()).max(1)
        return values.log_softmax(0)[0] + (x / 3).tanh().sum()

    (expected,) = ng.autograd.grad(value(), x)
    packed = []
    with saved_tensors_hooks(lambda t: packed.append(t.shape) or t.clone(), lambda t: t.clone()):
        y = value()
    (found,) = ng.autograd.grad(y, x)
    assert len(packed) > 5
    assert found.tolist() == expected.tolist()


def test_post_accumulate_hooks_run_in_the_step_of_their_leaf():
    """An optimizer inside backward frees each gradient before the next one is there."""
    alive = []
    weights = [leaf() for _ in range(3)]

    def step(p):
        alive.append(sum(w.grad is not None for w in weights))
        p.grad = None

    for w in weights:
        w.register_post_accumulate_grad_hook(step)
    y = ng.ones(2)
    for w in weights:
        y = (y * w).exp()
    y.sum().backward()
    assert alive == [1, 1, 1]
