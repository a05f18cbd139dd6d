"""What users of other libraries reported as broken about views, in-place writes, graphs, hooks, memory and threads.

Each test is one such report; the values are the mathematics' and, unless a test says otherwise, PyTorch's.
"""

from __future__ import annotations

import copy
import gc
import sys
import threading
import weakref

import numpy as np
import pytest

import numgrad as ng

MODIFIED = "modified by an inplace operation"


def leaf(*items: float) -> ng.Tensor:
    return ng.tensor(items, requires_grad=True)


# ---------------------------------------------------------------------------------------------------- views, in-place
def test_a_write_through_a_slice_of_a_clone_reaches_the_leaf():
    x = leaf(1.0, 2.0, 3.0)
    y = x.clone()
    y[:2] *= 2
    y.sum().backward()
    assert x.grad.tolist() == [2, 2, 1]


def test_a_value_changed_after_it_was_saved_raises():
    x = leaf(1.0, 2.0)
    y = x * 1
    z = y * y
    y.add_(1)
    with pytest.raises(RuntimeError, match=MODIFIED):
        z.sum().backward()


def test_a_view_of_a_view_of_several_outputs():
    x = leaf(1.0, 2.0, 3.0, 4.0)
    first, _ = (x * 1).reshape(2, 2).unbind()
    with pytest.raises(RuntimeError, match="multiple views"):
        first[:1].mul_(2)


def test_a_saved_view_shares_its_bases_version():
    x = leaf(1.0, 2.0, 3.0, 4.0)
    base = (x * 1).reshape(2, 2)
    z = base.t() * base.t().exp()
    base.add_(1)
    with pytest.raises(RuntimeError, match=MODIFIED):
        z.sum().backward()


def test_a_write_to_a_view_of_a_leaf_raises_at_once():
    x = leaf(1.0, 2.0)
    with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad"):
        x[1].add_(1)
    assert x.tolist() == [1, 2]


def test_a_kept_gradient_of_a_view_outlives_a_write_to_its_base():
    x = leaf(1.0, 2.0, 3.0)
    base = x * 1
    view = base[:1]
    view.retain_grad()
    base[2] = 0
    ((base * ng.tensor([2.0, 3.0, 5.0])).sum() + (view * 7).sum()).backward()
    assert x.grad.tolist() == [9, 3, 0]
    assert view.grad.tolist() == [7]


@pytest.mark.parametrize("n", [5, 100_000])
def test_source_and_destination_that_overlap(n):
    """PyTorch refuses both; the answer must not depend on the size."""
    x = ng.arange(float(n))
    with pytest.raises(RuntimeError, match=r"single memory location|overlap"):
        x[1:] += x[:-1]
    assert ng.equal(x, ng.arange(float(n)))
    m = ng.arange(9.0).reshape(3, 3)
    with pytest.raises(RuntimeError, match=r"single memory location|overlap"):
        m += m.T


def test_two_leaves_do_not_share_a_gradient():
    x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
    g = ng.ones(2)
    (x + y).backward(g)
    x.grad.mul_(10)
    assert y.grad.tolist() == [1, 1]
    assert g.tolist() == [1, 1]


def test_a_result_that_was_saved_and_then_written_raises():
    x = leaf(1.0, 2.0)
    y = x.exp()
    y.sub_(1)
    with pytest.raises(RuntimeError, match=MODIFIED):
        y.sum().backward()


def test_an_assignment_to_a_tensor_used_twice():
    x = leaf(2.0, 3.0)
    y = x * x
    y[0] = 0
    y.sum().backward()
    assert x.grad.tolist() == [0, 6]


def test_a_nan_that_was_overwritten_still_is_in_the_gradient():
    """0 times the derivative of the root at a negative number, which is NaN: as in PyTorch."""
    x = leaf(-1.0)
    y = x.sqrt().clone()
    y[:] = 0
    y.sum().backward()
    assert x.grad.isnan().all()


def test_an_assignment_into_a_constant_carries_the_gradient():
    x = leaf(1.0, 2.0)
    z = ng.zeros(3)
    z[0:2] = x
    z.sum().backward()
    assert x.grad.tolist() == [1, 1]


# ---------------------------------------------------------------------------------------------------- graphs
def test_a_chain_of_100_000_nodes_needs_no_recursion():
    x = leaf(1.0)
    y = x
    for _ in range(100_000):
        y = y + 1
    limit = sys.getrecursionlimit()
    try:
        sys.setrecursionlimit(200)
        y.backward()
        del y
    finally:
        sys.setrecursionlimit(limit)
    assert x.grad.tolist() == [1]


def test_diamonds():
    """f = (a + b) * (a + b) with a = 2x, b = x^2, shared twice over: by the chain rule 2 (2x + x^2) (2 + 2x)."""
    x = leaf(3.0)
    a, b = x * 2, x * x
    s = a + b
    (s * s).backward(ng.ones(1))
    assert x.grad.tolist() == [2 * (6 + 9) * (2 + 6)]


def test_a_second_backward_says_how():
    x = leaf(2.0)
    y = x * x
    y.backward()
    with pytest.raises(RuntimeError, match="retain_graph=True"):
        y.backward()
    x.grad = None
    y = x * x
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.tolist() == [8]
    z = x + 1  # saves nothing, so that it may run again
    z.backward()
    z.backward()
    assert x.grad.tolist() == [10]


def test_no_path_from_output_to_input():
    x, z = leaf(1.0), leaf(1.0)
    with pytest.raises(RuntimeError, match="not have been used in the graph"):
        ng.autograd.grad(x * 2, z)
    assert ng.autograd.grad(x * 2, z, allow_unused=True) == (None,)


def test_a_comparison_is_a_constant():
    x = leaf(-1.0, 2.0)
    (x * (x < 0)).sum().backward()
    assert x.grad.tolist() == [1, 0]


# ---------------------------------------------------------------------------------------------------- hooks
def test_a_hook_that_removes_itself_runs_once():
    x = leaf(1.0)
    calls = []

    def hook(g):
        calls.append(g.item())
        handle.remove()

    handle = x.register_hook(hook)
    (x * 2).backward()
    (x * 2).backward()
    assert calls == [2]


@pytest.mark.filterwarnings("ignore:Full backward hook is firing")
@pytest.mark.parametrize("needs_grad", [False, True])
def test_module_hooks_run_in_one_order_whatever_the_input_needs(needs_grad):
    model = ng.nn.Sequential(ng.nn.Linear(2, 2), ng.nn.Sequential(ng.nn.Linear(2, 2)))
    order = []
    for name, module in model.named_modules():
        module.register_full_backward_hook(lambda *_, name=name: order.append(name))
    model(ng.ones(1, 2, requires_grad=needs_grad)).sum().backward()
    assert [name for name in order if name in ("0", "1.0")] == ["1.0", "0"]
    assert set(order) == {"", "0", "1", "1.0"}


def test_hooks_run_as_they_were_registered_and_retain_grad_sees_the_last():
    x = leaf(1.0)
    y = x * 3
    y.register_hook(lambda g: g * 2)
    y.register_hook(lambda g: g * 10)
    y.retain_grad()
    y.backward()
    assert y.grad.tolist() == [20]
    assert x.grad.tolist() == [60]


# ---------------------------------------------------------------------------------------------------- memory
def test_hooks_with_create_graph_leave_nothing_behind():
    model = ng.nn.Linear(2, 2)
    model.register_full_backward_hook(lambda *_: None)
    x = leaf(1.0, 2.0)
    y = model(x)
    ng.autograd.grad(y.sum(), x, create_graph=True)[0].sum()
    alive = [weakref.ref(model), weakref.ref(y)]
    del model, y
    gc.collect()
    assert [r() for r in alive] == [None, None]


def test_autograd_inside_a_custom_backward_leaves_nothing_behind():
    class Reentrant(ng.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            with ng.enable_grad():
                inner = x.detach().requires_grad_()
                return g * ng.autograd.grad((inner * 2).sum(), inner)[0]

    gc.collect()
    before = len([o for o in gc.get_objects() if type(o) is ng.Tensor])
    for _ in range(100):
        x = leaf(1.0)
        Reentrant.apply(x).sum().backward()
    del x
    assert len([o for o in gc.get_objects() if type(o) is ng.Tensor]) <= before


def test_gradients_of_intermediates_are_not_kept():
    x = leaf(1.0)
    y = x * 2
    seen = []
    y.register_hook(lambda g: seen.append(weakref.ref(g)))
    (y * 3).backward()
    assert seen[0]() is None


def test_evaluation_without_backward_frees_each_graph():
    w = leaf(1.0)
    alive = []
    for _ in range(3):
        y = (w * 2).exp()
        alive.append(weakref.ref(y.grad_fn))
    del y
    assert [r() for r in alive] == [None] * 3


# ---------------------------------------------------------------------------------------------------- modes, threads
def test_the_grad_mode_is_a_threads_own():
    seen = []
    with ng.no_grad():
        thread = threading.Thread(target=lambda: seen.append(ng.is_grad_enabled()))
        thread.start()
        thread.join()
    assert seen == [True]


def test_four_threads_add_up_in_one_leaf():
    x = leaf(0.0)

    def work():
        for _ in range(250):
            (x * 1).backward()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert x.grad.tolist() == [1000]


def test_no_grad_on_a_generator_holds_only_inside():
    @ng.no_grad()
    def numbers():
        yield ng.is_grad_enabled()
        yield ng.is_grad_enabled()

    inside = []
    for enabled in numbers():
        inside.append(enabled)
        assert ng.is_grad_enabled()
    assert inside == [False, False]


def test_a_module_that_holds_an_activation_says_so_when_copied():
    model = ng.nn.Linear(1, 1)
    model.seen = model(ng.ones(1))
    with pytest.raises(RuntimeError, match="Only Tensors created explicitly by the user"):
        copy.deepcopy(model)


def test_anomaly_mode_names_the_line_of_the_first_nan():
    x = leaf(1.0)
    with pytest.warns(UserWarning, match="Anomaly Detection has been enabled"):
        anomaly = ng.autograd.detect_anomaly()
    with anomaly, pytest.warns(UserWarning, match="Error detected in SqrtBackward0"):
        bad = (x - 2).sqrt()  # the first
        with pytest.raises(RuntimeError, match="SqrtBackward0"):
            bad.sqrt().backward()


# ---------------------------------------------------------------------------------------------------- NumPy's side
def test_a_numpy_array_on_the_left_gives_a_tensor():
    """PyTorch raises TypeError for the array (docs/differences.md)."""
    t = ng.tensor([1.0, 2.0], requires_grad=True)
    for number in (np.float64(2), np.array([2.0, 2.0], np.float32)):
        y = number * t
        assert isinstance(y, ng.Tensor)
        assert y.dtype is ng.float32
        assert y.requires_grad
    assert (np.int64(2) + ng.tensor([1, 2])).dtype is ng.int64
