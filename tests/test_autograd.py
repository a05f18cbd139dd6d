"""What the engine promises, with values worked out by hand: accumulation, errors, hooks, memory, depth, threads."""

import gc
import sys
import threading
import warnings
import weakref
from collections.abc import Iterator

import pytest

import numgrad as ng
from numgrad.autograd import grad


def leaf(*values: float) -> ng.Tensor:
    return ng.tensor(list(values) or [1.0, 2.0], requires_grad=True)


@pytest.fixture
def no_collector() -> Iterator[None]:
    """What goes away in such a test goes by reference counts alone."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


# ---------------------------------------------------------------------------------------------------- accumulation
def test_gradients_accumulate_into_the_same_tensor() -> None:
    x = leaf()
    (x * x).sum().backward()
    first = x.grad
    (x * 3).sum().backward()
    assert x.grad is first
    assert x.grad.tolist() == [5.0, 7.0]


def test_a_gradient_that_was_set_is_added_to() -> None:
    x = leaf()
    x.grad = ng.tensor([10.0, 20.0])
    x.sum().backward()
    assert x.grad.tolist() == [11.0, 21.0]


def test_leaves_do_not_share_a_gradient_buffer() -> None:
    x, y = leaf(), leaf()
    g = ng.tensor([1.0, 1.0])
    (x + y).backward(g)
    x.grad.mul_(7)
    assert y.grad.tolist() == [1.0, 1.0]
    assert g.tolist() == [1.0, 1.0]
    y.grad.mul_(5)
    assert x.grad.tolist() == [7.0, 7.0]


def test_the_given_gradient_is_not_the_one_that_grad_returns() -> None:
    x = leaf()
    g = ng.tensor([1.0, 1.0])
    (found,) = grad(x.reshape(2), x, g)
    found.zero_()
    assert g.tolist() == [1.0, 1.0]


def test_gradients_of_one_pass_do_not_share_memory() -> None:
    x, y = leaf(), leaf()
    gx, gy = grad((x + y).sum(), [x, y])
    gx.add_(1)
    assert gy.tolist() == [1.0, 1.0]


def test_a_shared_node_runs_once_with_the_sum() -> None:
    x = leaf()
    y = x * x
    seen = []
    y.register_hook(lambda g: seen.append(g.tolist()))
    (y * 2 + y * 3 + y).sum().backward()
    assert seen == [[6.0, 6.0]]
    assert x.grad.tolist() == [12.0, 24.0]


def test_double_diamond() -> None:
    x = leaf(3.0)
    a = x * 2
    b = a * a + a
    c = b * a + b
    c.backward()  # a = 2x, c = a^3 + 2 a^2 + a; dc/dx = 2 (3 a^2 + 4 a + 1)
    assert x.grad.tolist() == [2 * (3 * 36 + 4 * 6 + 1.0)]


def test_mask_of_a_comparison_is_a_constant() -> None:
    x = leaf(-1.0, 2.0)
    (x * (x < 0)).sum().backward()
    assert x.grad.tolist() == [1.0, 0.0]


# ---------------------------------------------------------------------------------------------------- arguments
def test_a_second_backward_needs_retain_graph() -> None:
    x = leaf()
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.tolist() == [4.0, 8.0]
    with pytest.raises(RuntimeError, match="Specify retain_graph=True"):
        y.backward()
    assert x.grad.tolist() == [4.0, 8.0]


def test_ops_that_save_nothing_run_backward_again() -> None:
    x = leaf()
    y = (x + 1).sum()
    y.backward()
    y.backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_inputs_limit_who_accumulates() -> None:
    x, z = leaf(), leaf()
    (x * z).sum().backward(inputs=[x])
    assert x.grad.tolist() == [1.0, 2.0]
    assert z.grad is None


def test_unused_inputs() -> None:
    x, z = leaf(), leaf()
    with pytest.raises(RuntimeError, match="appears to not have been used in the graph"):
        grad((x * 2).sum(), [x, z])
    gx, gz = grad((x * 2).sum(), [x, z], allow_unused=True)
    assert gx.tolist() == [2.0, 2.0] and gz is None
    gx, gz = grad((x * 2).sum(), [x, z], materialize_grads=True)
    assert gz.tolist() == [0.0, 0.0]
    assert x.grad is None


def test_several_outputs_add_up() -> None:
    x = leaf()
    (g,) = grad([x * 2, x.sum()], x, [ng.tensor([1.0, 10.0]), None])
    assert g.tolist() == [3.0, 21.0]


def test_gradient_towards_an_intermediate_stops_there() -> None:
    x = leaf()
    y = x * x
    seen = []
    x.register_hook(lambda g: seen.append(g))
    assert grad((y * y).sum(), y)[0].tolist() == [2.0, 8.0]
    assert not seen


def test_higher_orders() -> None:
    x = leaf(2.0)
    y = x**5
    for expected in (80.0, 160.0, 240.0, 240.0, 120.0):
        (y,) = grad(y, x, create_graph=True)
        assert y.tolist() == [expected]


def test_gradient_of_the_given_gradient() -> None:
    x, v = leaf(), leaf(1.0, 1.0)
    (g,) = grad(x * x, x, v, create_graph=True)
    assert grad(g.sum(), v)[0].tolist() == [2.0, 4.0]


# ---------------------------------------------------------------------------------------------------- errors leave no trace
def test_no_gradient_is_written_when_a_node_fails() -> None:
    x, z = leaf(), leaf()
    y = x * 1
    w = y * y
    y.add_(1)
    loss = z.sum() * 2 + w.sum()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()
    assert x.grad is None and z.grad is None


def test_no_gradient_is_written_when_a_hook_fails() -> None:
    x, z = leaf(), leaf()

    def fail(g: ng.Tensor) -> None:
        raise KeyError("hook")

    y = x * 2
    y.register_hook(fail)
    with pytest.raises(KeyError, match="hook"):
        (y.sum() + z.sum()).backward()
    assert x.grad is None and z.grad is None
    z.sum().backward()  # the engine still works
    assert z.grad.tolist() == [1.0, 1.0]
    assert ng.is_grad_enabled()


def test_text_about_a_modified_tensor() -> None:
    x = leaf(1.0)
    y = x + 0.0
    z = y * y
    y.add_(1.0)
    with pytest.raises(RuntimeError) as caught:
        z.backward()
    assert str(caught.value) == (
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        "[numgrad.FloatTensor [1]], which is output 0 of AddBackward0, is at version 1; expected version 0 instead. "
        "Hint: enable anomaly detection to find the operation that failed to compute its gradient, with "
        "numgrad.autograd.set_detect_anomaly(True)."
    )


@pytest.mark.parametrize("name", ["is_leaf", "grad_fn", "output_nr"])
def test_attributes_that_cannot_be_set(name: str) -> None:
    with pytest.raises(AttributeError):
        setattr(leaf(), name, None)


# ---------------------------------------------------------------------------------------------------- writes and views
def test_write_through_a_view_of_a_clone() -> None:
    x = leaf(1.0, 1.0, 1.0)
    y = x.clone()
    y[:2].mul_(2)
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0, 1.0]


def test_write_to_what_a_gradient_reads_raises() -> None:
    x = leaf()
    y = x * 1
    z = y * y
    y.add_(1)
    with pytest.raises(RuntimeError, match=r"is at version 1; expected version 0"):
        z.sum().backward()


def test_saved_view_shares_the_version_of_its_base() -> None:
    x = ng.ones(2, 2, requires_grad=True) * 1
    z = (x.t() * x.t()).sum()
    x.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.backward()


@pytest.mark.parametrize("write", ["x[1].add_(1)", "x[:1].mul_(2)", "x.view(2, 1).zero_()", "x.add_(1)", "x[0] = 1.0"])
def test_leaves_are_not_written_while_recording(write: str) -> None:
    x = leaf()
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad is being used in an in-place operation"):
        exec(write)
    assert x.tolist() == [1.0, 2.0] and x._version == 0


@pytest.mark.parametrize("n", [5, 100_000])
def test_overlapping_writes_raise_for_every_size(n: int) -> None:
    x = ng.arange(n, dtype=ng.float32)
    with pytest.raises(RuntimeError, match="refer to a single memory location"):
        x[1:] += x[:-1]
    assert x[-1].item() == n - 1


@pytest.mark.parametrize("op", ["x @ w", "ng.addmm(b, x, w)", "ng.bmm(x[None], w[None])", "x * w", "x / w", "x @ w[0]"])
def test_only_what_a_gradient_reads_is_saved(op: str) -> None:
    w, x, b = ng.ones(2, 2), ng.ones(2, 2, requires_grad=True), ng.ones(2)
    x_alone = eval(op, {"ng": ng, "x": x, "w": w, "b": b})
    x.data = ng.zeros(2, 2)  # the gradient of x reads w
    x.detach().add_(1)
    x_alone.sum().backward()
    assert x.grad is not None


def test_write_of_one_item_into_a_product() -> None:
    x = leaf(2.0, 3.0)
    y = x * x
    y[0] = 0
    y.sum().backward()
    assert x.grad.tolist() == [0.0, 6.0]


def test_retained_gradient_does_not_depend_on_an_unrelated_write() -> None:
    x = leaf()
    y = x.clone()
    v = y[:1]
    v.retain_grad()
    y[1:].zero_()
    (v * 5).sum().backward()
    assert v.grad.tolist() == [5.0]
    assert x.grad.tolist() == [5.0, 0.0]


def test_write_under_a_transposed_gradient() -> None:
    x = ng.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    s = leaf(1.0)
    y = x * 1
    y[0].add_(s)
    g = ng.tensor([[1.0, 10.0], [100.0, 1000.0]])
    (y.t() @ ng.tensor([[1.0, 2.0], [3.0, 5.0]])).backward(g)
    # the gradient of y is [[1, 2], [3, 5]] @ g.T, laid out as g is: by columns
    assert x.grad.tolist() == [[21.0, 2100.0], [53.0, 5300.0]]
    assert s.grad.tolist() == [2121.0]


def test_write_of_a_tracked_tensor_into_a_buffer() -> None:
    x = leaf()
    buffer = ng.zeros(4)
    view = buffer[1:3]
    view.copy_(x)
    assert buffer.requires_grad and view.requires_grad
    (buffer * ng.tensor([1.0, 2.0, 3.0, 4.0])).sum().backward()
    assert x.grad.tolist() == [2.0, 3.0]


def test_detached_tensors_share_the_version_and_data_does_not() -> None:
    x = leaf()
    x.detach().fill_(9.0)
    assert x._version == 1
    x.data.fill_(7.0)
    assert x._version == 1 and x.tolist() == [7.0, 7.0]


# ---------------------------------------------------------------------------------------------------- hooks
def test_hooks_run_in_the_order_of_registration_and_retain_grad_sees_the_result() -> None:
    x = leaf()
    y = x * 3
    y.retain_grad()
    y.register_hook(lambda g: 2 * g)
    y.register_hook(lambda g: g + 1)
    y.sum().backward()
    assert y.grad.tolist() == [3.0, 3.0]
    assert x.grad.tolist() == [9.0, 9.0]


def test_hook_that_removes_itself() -> None:
    x = leaf()
    calls = []

    def once(g: ng.Tensor) -> None:
        calls.append(g.tolist())
        handle.remove()

    handle = x.register_hook(once)
    x.sum().backward()
    x.sum().backward()
    assert calls == [[1.0, 1.0]]


def test_hooks_run_in_the_grad_mode_of_the_backward() -> None:
    x = leaf()
    modes = []
    x.register_hook(lambda g: modes.append(ng.is_grad_enabled()))
    grad((x * x).sum(), x, retain_graph=True)
    grad((x * x).sum(), x, create_graph=True)
    assert modes == [False, True]


def test_backward_runs_from_the_newest_node() -> None:
    x = leaf()
    order: list[str] = []
    a, b = x * 2, x * 3
    a.register_hook(lambda g: order.append("a"))
    b.register_hook(lambda g: order.append("b"))
    (a + b).sum().backward()
    assert order == ["b", "a"]


def test_backward_within_a_hook() -> None:
    x, w = leaf(), leaf(5.0)

    def reenter(g: ng.Tensor) -> None:
        with ng.enable_grad():
            (w * w).backward()

    y = x * 2
    y.register_hook(reenter)
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0] and w.grad.tolist() == [10.0]


# ---------------------------------------------------------------------------------------------------- depth and memory
def test_deep_chain_runs_and_is_freed_without_recursion(no_collector: None) -> None:
    x = leaf(1.0)
    limit = sys.getrecursionlimit()
    y = x
    for _ in range(100_000):
        y = y * 1.0
    node = weakref.ref(y.grad_fn)
    sys.setrecursionlimit(150)
    try:
        y.backward()
        del y
    finally:
        sys.setrecursionlimit(limit)
    assert x.grad.tolist() == [1.0]
    assert node() is None


def test_deep_chain_that_never_ran_is_freed_without_recursion(no_collector: None) -> None:
    y = leaf(1.0)
    for _ in range(100_000):
        y = y + 1.0
    node = weakref.ref(y.grad_fn)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(150)
    try:
        del y
    finally:
        sys.setrecursionlimit(limit)
    assert node() is None


def test_unused_graph_is_freed_by_reference_counts(no_collector: None) -> None:
    x = leaf()
    y = (x * x).exp()
    z = (y[:1] * 2).sum()
    nodes = [weakref.ref(t.grad_fn) for t in (y, z)]
    tensors = [weakref.ref(y), weakref.ref(z)]
    del y, z
    assert [r() for r in (*nodes, *tensors)] == [None] * 4


def test_graph_with_writes_is_freed_by_reference_counts(no_collector: None) -> None:
    x = leaf()
    y = x * 2
    v = y[:1]
    v.mul_(3)
    refs = [weakref.ref(y), weakref.ref(v), weakref.ref(y.grad_fn), weakref.ref(v.grad_fn)]
    y.sum().backward()
    del y, v
    assert [r() for r in refs] == [None] * 4
    assert x.grad.tolist() == [6.0, 2.0]


def test_saved_values_are_released_as_backward_passes(no_collector: None) -> None:
    x = leaf()
    y = x.exp()
    storage = weakref.ref(y._array.storage)
    z = (y * y).sum()
    del y
    assert storage() is not None
    z.backward()
    assert z.grad_fn is not None and storage() is None


def test_gradients_of_intermediates_are_not_kept(no_collector: None) -> None:
    x = leaf()
    kept = []
    y = x * 2
    y.register_hook(lambda g: kept.append(weakref.ref(g)))
    z = y.sum()
    z.backward()
    assert [r() for r in kept] == [None]


def test_recorded_backward_is_collectable() -> None:
    x = leaf()
    (g,) = grad((x * x * x).sum(), x, create_graph=True)
    node = weakref.ref(g.grad_fn)
    del g
    gc.collect()
    assert node() is None


def test_recorded_backward_into_a_leaf_is_collectable() -> None:
    x = leaf()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of the cycle between x and x.grad
        (x * x).sum().backward(create_graph=True)
    node = weakref.ref(x.grad.grad_fn)
    where = weakref.ref(x)
    del x
    gc.collect()
    assert node() is None and where() is None


def test_forwards_without_backward_keep_nothing(no_collector: None) -> None:
    x = leaf()
    nodes = []
    for _ in range(100):
        nodes.append(weakref.ref(((x * 2).tanh().sum()).grad_fn))
    assert all(r() is None for r in nodes)


# ---------------------------------------------------------------------------------------------------- modes and threads
def test_grad_mode_belongs_to_a_thread() -> None:
    seen = []
    with ng.no_grad():
        thread = threading.Thread(target=lambda: seen.append((ng.is_grad_enabled(), (leaf() * 2).requires_grad)))
        thread.start()
        thread.join()
        assert not (leaf() * 2).requires_grad
    assert seen == [(True, True)]


def test_no_grad_on_a_generator_is_off_between_its_steps() -> None:
    @ng.no_grad()
    def steps() -> Iterator[bool]:
        yield ng.is_grad_enabled()
        yield ng.is_grad_enabled()

    assert [(inside, ng.is_grad_enabled()) for inside in steps()] == [(False, True), (False, True)]


def test_backward_inside_no_grad() -> None:
    x = leaf()
    y = (x * x).sum()
    with ng.no_grad():
        y.backward()
    assert x.grad.tolist() == [2.0, 4.0]


def test_two_threads_run_backward_at_once() -> None:
    start = threading.Barrier(2)
    leaves = [leaf(1.0, 2.0, 3.0) for _ in range(2)]
    errors: list[BaseException] = []

    def work(x: ng.Tensor) -> None:
        try:
            start.wait()
            for _ in range(200):
                y = x * 2
                v = y[1:]
                v.mul_(3)
                (y * y).sum().backward()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(x,)) for x in leaves]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    # y = 2x for the first item (y^2 = 4 x^2), 6x for the others (36 x^2)
    for x in leaves:
        assert x.grad.tolist() == [200 * 8.0, 200 * 144.0, 200 * 216.0]


def test_threads_that_share_a_leaf_lose_nothing() -> None:
    x = leaf(1.0)
    start = threading.Barrier(4)

    def work() -> None:
        start.wait()
        for _ in range(250):
            (x * 2).backward()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert x.grad.tolist() == [2000.0]


def test_one_graph_is_consumed_by_one_thread() -> None:
    x = leaf()
    y = (x * x).sum()
    errors = []

    def work() -> None:
        try:
            y.backward()
        except RuntimeError as error:
            errors.append(str(error))

    for _ in range(2):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert len(errors) == 1 and "second time" in errors[0]
    assert x.grad.tolist() == [2.0, 4.0]
