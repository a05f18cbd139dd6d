"""Burn's front door: devices, handles, the consumption of tapes, and gradients.

The assertions are those of Burn 0.22's own tests (`context.rs`, `graph_reuse.rs`, `autodiff_transfer.rs`, `gradients.rs`)
and of its documentation; expected numbers are derivatives done by hand.
"""

import copy
import pickle
import threading

import numpy as np
import pytest
from burn_handles import AD, ASSOCIATED, BALANCED, CONSUMED, LEAF, NONE, PLAIN, TRACKED, flags, floats, leaf, panics
from simt_runtime import SimulatedRuntime, installed

import numgrad as ng
from numgrad import Device, burn


# ---------------------------------------------------------------------------------------------------- devices
def test_devices_start_plain_and_opt_in():
    assert not PLAIN.is_autodiff()
    assert not Device.cpu().is_autodiff()
    assert not Device.cuda(1).is_autodiff()
    assert AD.is_autodiff()
    assert AD.autodiff() is AD
    assert BALANCED.autodiff() is BALANCED  # keeps the strategy
    assert not AD.without_autodiff().is_autodiff()
    assert AD.inner() is PLAIN
    assert PLAIN.without_autodiff() is PLAIN


def test_devices_are_equal_by_hardware():
    assert PLAIN == AD == BALANCED == ng.device("cpu")
    assert Device.cuda(1).autodiff() == ng.device("cuda:1")
    assert Device.cuda(0) != PLAIN


def test_checkpointing_needs_autodiff():
    assert AD.gradient_checkpointing_strategy() == "Disabled"
    assert BALANCED.gradient_checkpointing_strategy() == "Balanced"
    assert PLAIN.gradient_checkpointing_strategy() is None
    with panics("Gradient checkpointing requires autodiff; use Device::autodiff().gradient_checkpointing()"):
        PLAIN.gradient_checkpointing()


def test_pytorchs_devices_have_autodiff():
    assert ng.device("cpu").is_autodiff()
    assert ng.zeros(2).is_autodiff()
    assert ng.Device is ng.device


# ---------------------------------------------------------------------------------------------------- context.rs
def test_gradient_flows_to_an_enabled_operand_and_not_to_a_plain_constant():
    x = floats([2.0, 3.0])
    assert flags(x) == ASSOCIATED
    x = x.require_grad()
    constant = floats([4.0, 5.0], PLAIN)
    for product in (x * constant, constant * x):
        out = product.sum()
        assert flags(out) == TRACKED
        gradients = out.backward()
        assert x.grad(gradients).to_list() == [4.0, 5.0]
        assert flags(constant) == NONE
        assert constant.grad(gradients) is None


def test_flags_from_plain_to_leaf_to_result():
    plain = floats([1.0, 2.0], PLAIN)
    assert flags(plain) == NONE
    associated = plain.autodiff().with_gradient_checkpointing_strategy("Balanced")
    assert flags(associated) == ASSOCIATED
    assert associated.gradient_checkpointing_strategy() == "Balanced"

    x = associated.require_grad()
    assert flags(x) == LEAF
    detached = x.detach()
    assert flags(detached) == LEAF  # a leaf stays one, as another leaf
    assert detached.gradient_checkpointing_strategy() == "Balanced"

    result = x.mul_scalar(2.0)
    assert flags(result) == TRACKED
    assert flags(result.detach()) == ASSOCIATED
    assert flags(result.without_autodiff()) == NONE


def test_a_detached_leaf_is_another_leaf():
    x = leaf([1.0, 2.0])
    other = x.detach()
    gradients = (x * x + other).sum().backward()
    assert x.grad(gradients).to_list() == [2.0, 4.0]
    assert other.grad(gradients).to_list() == [1.0, 1.0]


def test_a_result_stays_tracked_when_its_tape_is_consumed():
    out = leaf([1.0, 2.0]).mul_scalar(2.0).sum()
    out.backward()
    assert out.is_tracked()


def test_conversions_are_idempotent():
    x = floats([1.0])
    assert x.autodiff() is x
    assert x.gradient_checkpointing_strategy() == "Disabled"
    balanced = floats([1.0], BALANCED)
    assert balanced.autodiff().gradient_checkpointing_strategy() == "Balanced"
    assert flags(floats([1.0], PLAIN).without_autodiff().inner()) == NONE
    assert flags(burn.Tensor.from_inner(floats([1.0], PLAIN))) == ASSOCIATED
    assert burn.Tensor.from_inner(x) is x


def test_a_strategy_needs_autodiff():
    with panics("Tensor::with_gradient_checkpointing_strategy requires autodiff; call Tensor::autodiff first"):
        floats([1.0], PLAIN).with_gradient_checkpointing_strategy("Balanced")


@pytest.mark.parametrize("mark", [lambda x: x.require_grad(), lambda x: x.set_require_grad(True)])
def test_plain_tensors_cannot_be_marked(mark):
    with panics("Tensor::require_grad requires autodiff; call Tensor::autodiff first"):
        mark(floats([1.0, 1.0], PLAIN))


def test_unmarking_a_plain_tensor_does_nothing():
    assert flags(floats([1.0, 1.0], PLAIN).set_require_grad(False)) == NONE


def test_results_cannot_be_marked_but_cut():
    result = leaf([1.0]) * 2.0
    with panics("Can't convert a non leaf tensor into a tracked tensor"):
        result.require_grad()
    assert flags(result.set_require_grad(False)) == ASSOCIATED
    assert flags(result) == TRACKED


def test_an_untracked_alias_cannot_read_or_remove_a_leafs_gradient():
    alias = floats([1.0, 1.0])
    x = alias.clone().require_grad()
    gradients = x.mul_scalar(2.0).sum().backward()
    assert not alias.is_tracked()
    assert alias.grad(gradients) is None
    assert alias.grad_remove(gradients) is None
    assert x.grad_remove(gradients).to_list() == [2.0, 2.0]
    assert x.grad(gradients) is None


def test_clones_become_one_leaf():
    x = floats([1.0, 2.0])
    one, two = x.clone().require_grad(), x.clone().require_grad()
    gradients = (one * 2.0 + two * 3.0).sum().backward()
    assert one.grad(gradients).to_list() == two.grad(gradients).to_list() == [5.0, 5.0]


def test_a_leaf_with_another_strategy_is_the_same_leaf():
    x = leaf([1.0, 2.0])
    balanced = x.with_gradient_checkpointing_strategy("Balanced")
    assert flags(balanced) == LEAF
    gradients = (balanced * balanced).sum().backward()
    assert x.grad(gradients).to_list() == balanced.grad(gradients).to_list() == [2.0, 4.0]


def test_untracked_tensors_have_no_backward():
    for x in (floats([1.0, 1.0]).mul_scalar(2.0), floats([1.0, 1.0]), floats([1.0, 1.0], PLAIN)):
        with panics(
        "Tensor::backward requires a tracked autodiff tensor; call Tensor::autodiff().require_grad() on "
        "the source leaf before computing the output"
    ):
            x.backward()


def test_two_strategies_do_not_mix():
    with panics(
        "Gradient checkpointing strategy mismatch: Balanced vs Disabled. Tensors in the same operation "
        "must share a strategy."
    ):
        floats([1.0], BALANCED) + floats([1.0])


@pytest.mark.parametrize("plain_first", [True, False])
def test_contexts_merge_in_every_kind_of_operation(plain_first):
    def pair(make):
        found = make(PLAIN), make(AD)
        return found if plain_first else found[::-1]

    a, b = pair(lambda device: floats([[1.0, 2.0], [3.0, 4.0]], device))
    assert flags(burn.Tensor.cat([a, b], 0)) == ASSOCIATED
    assert flags(a.matmul(b)) == ASSOCIATED
    assert flags(a.mask_where(a > b, b)) == ASSOCIATED
    assert (a > b).is_autodiff()
    i, j = pair(lambda device: burn.IntTensor.from_ints([1, 2], device))
    assert (i + j).is_autodiff()
    assert flags((i + j).float()) == ASSOCIATED
    assert (i + i).is_autodiff() is not plain_first


# ---------------------------------------------------------------------------------------------------- graph_reuse.rs
def test_an_intermediate_value_serves_one_backward():
    x = leaf([2.0, 3.0])
    doubled = x.mul_scalar(2.0)
    assert x.grad(doubled.sum().backward()).to_list() == [2.0, 2.0]
    assert doubled.is_tracked()
    second = doubled.mul_scalar(3.0).sum()
    with pytest.raises(burn.Panic, match=CONSUMED):
        second.backward()


def test_a_consumed_branch_beside_a_leaf():
    x = leaf([2.0, 3.0])
    shared = x * x
    shared.sum().backward()
    loss = (shared.mul_scalar(3.0) + x).sum()
    assert loss.to_list() == [44.0]
    with pytest.raises(burn.Panic, match=CONSUMED):
        loss.backward()
    shared = x * x
    assert x.grad((shared.mul_scalar(3.0) + x).sum().backward()).to_list() == [13.0, 19.0]


@pytest.mark.parametrize("stale_first", [True, False])
def test_a_refused_backward_leaves_fresh_branches_usable(stale_first):
    x = leaf([2.0, 3.0])
    stale = x.mul_scalar(2.0)
    stale.sum().backward()
    fresh = x * x
    invalid = (stale + fresh if stale_first else fresh + stale).sum()
    with pytest.raises(burn.Panic, match=CONSUMED):
        invalid.backward()
    assert x.grad(fresh.sum().backward()).to_list() == [4.0, 6.0]


def test_two_losses_on_one_intermediate_value():
    x = leaf([2.0, 3.0])
    shared = x * x
    first, second = shared.sum(), shared.mul_scalar(3.0).sum()
    first.backward()
    with pytest.raises(burn.Panic, match=CONSUMED):
        second.backward()

    shared = x * x
    assert x.grad((shared.sum() + shared.mul_scalar(3.0).sum()).backward()).to_list() == [16.0, 24.0]


def test_a_detached_intermediate_value_starts_anew():
    x = leaf([2.0, 3.0])
    shared = x * x
    shared.sum().backward()
    fresh = shared.detach().require_grad()
    gradients = fresh.mul_scalar(3.0).sum().backward()
    assert x.grad(gradients) is None
    assert fresh.grad(gradients).to_list() == [3.0, 3.0]


def test_leaves_serve_any_number_of_times():
    x = leaf([1.0, 1.0])
    for scale in (2.0, 3.0):
        assert x.grad(x.mul_scalar(scale).sum().backward()).to_list() == [scale, scale]
    x.sum().backward()
    deeper = x.mul_scalar(2.0).mul_scalar(3.0)
    assert x.grad((deeper + x).sum().backward()).to_list() == [7.0, 7.0]
    deeper = x.mul_scalar(2.0).mul_scalar(3.0)
    assert x.grad(burn.Tensor.cat([x, deeper, x], 0).sum().backward()).to_list() == [8.0, 8.0]
    for _ in range(2):
        assert x.grad(x.backward()).to_list() == [1.0, 1.0]  # a leaf is its own root


def test_branches_that_share_leaves_only():
    x, y = leaf([1.0, 1.0]), leaf([1.0, 1.0])
    first, second = x.mul_scalar(2.0), x * y
    first.sum().backward()
    assert y.grad(second.sum().backward()).to_list() == [1.0, 1.0]


def test_an_intermediate_value_twice_in_one_operation():
    x = leaf([1.0, 1.0])
    shared = x.mul_scalar(2.0)
    both = burn.Tensor.cat([shared, shared.mul_scalar(3.0)], 0)
    assert x.grad(both.sum().backward()).to_list() == [8.0, 8.0]
    with pytest.raises(burn.Panic, match=CONSUMED):
        burn.Tensor.cat([shared, shared], 0).sum().backward()


def test_clones_share_the_tape():
    out = leaf([1.0, 1.0]).sum()  # saves nothing, and is consumed nevertheless
    clone = out.clone()
    out.backward()
    for x in (out, clone):
        with pytest.raises(burn.Panic, match=CONSUMED):
            x.backward()


def test_of_two_threads_one_gets_the_tape():
    x = leaf([1.0] * 1000)
    for _ in range(20):
        out = (x * x).exp().sum()
        found = []

        def run(out=out, found=found):
            try:
                found.append(x.grad(out.backward()) is not None)
            except burn.Panic:
                found.append(False)

        threads = [threading.Thread(target=run) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(found) == [False, False, False, True]


# ---------------------------------------------------------------------------------------------------- transfer
@pytest.mark.parametrize("target", [Device.cpu(), Device.cpu().autodiff()])
def test_a_plain_tensor_stays_plain_when_it_moves(target):
    moved = floats([2.0, 3.0], PLAIN).to_device(target)
    assert flags(moved) == NONE
    assert moved.device() == target


def test_a_move_is_recorded_even_to_the_same_device():
    x = floats([2.0, 3.0], PLAIN).autodiff().require_grad()
    moved = x.to_device(Device.cpu())
    assert flags(moved) == TRACKED
    square = (x * x).to_device(Device.cpu())
    gradients = (square * square + (x * x).to_device(Device.cpu())).sum().backward()
    assert x.grad(gradients).to_list() == [36.0, 114.0]
    assert x.grad(gradients).device() == PLAIN
    assert moved.grad(gradients) is None
    assert flags(moved.detach()) == ASSOCIATED
    assert flags(moved.detach().require_grad()) == LEAF


def test_gradients_come_back_to_the_device_of_their_leaf():
    with installed(SimulatedRuntime()):
        x = leaf([2.0, 3.0])
        moved = x.to_device(Device.cuda(0))
        assert flags(moved) == TRACKED
        assert moved.device() == Device.cuda(0)
        gradients = (moved * moved).sum().backward()
        assert x.grad(gradients).device() == PLAIN
        assert x.grad(gradients).to_list() == [4.0, 6.0]
        other = floats([1.0, 1.0], PLAIN).to_device(Device.cuda(0))
        with panics("The provided tensors are not on the same backend. Got backends cpu and cuda:0."):
            x.grad_replace(gradients, other)


# ---------------------------------------------------------------------------------------------------- gradients
def test_gradients_are_plain_and_of_leaves_only():
    x = leaf([3.0])
    y = x.powf_scalar(2.0)
    gradients = y.backward()
    assert y.grad(gradients) is None
    found = x.grad(gradients)
    assert found.to_list() == [6.0]
    assert flags(found) == NONE
    with pytest.raises(burn.Panic, match="requires a tracked autodiff tensor"):
        found.backward()  # first order only
    assert x.grad(gradients).to_list() == [6.0]  # repeatable


def test_a_backward_starts_from_ones():
    w, x = leaf([1.0]), leaf([2.0])
    a, b = w + x, w + 1.0
    loss = burn.Tensor.cat([a * b, a + b], 0)
    assert w.grad(loss.backward()).to_list() == [7.0]
    a, b = w + x, w + 1.0
    loss = burn.Tensor.cat([a * b, a + b], 0) * floats([2.0, 1.0])
    assert w.grad(loss.sum().backward()).to_list() == [12.0]


def test_gradients_do_not_add_up():
    w, x = leaf([1.0]), floats([3.0])
    for _ in range(4):
        assert w.grad(((w + x) * (w + 1.0)).backward()).to_list() == [6.0]
    assert w.torch().grad is None


def test_replaced_gradients():
    x = leaf([2.0])
    gradients = (x * x).backward()
    x.grad_replace(gradients, floats([9.0], PLAIN))
    assert x.grad(gradients).to_list() == [9.0]
    with panics("replacement gradients must use the inner backend"):
        x.grad_replace(gradients, floats([9.0]))
    with panics("Requires autodiff tensor."):
        floats([1.0], PLAIN).grad_replace(gradients, floats([9.0], PLAIN))
    with pytest.raises(RuntimeError, match=r"the gradient has shape \(2,\), its tensor \(1,\)"):
        gradients.replace(x, floats([1.0, 2.0], PLAIN))


def test_the_container_of_gradients():
    x, y, unused = leaf([1.0, 2.0]), leaf([3.0, 4.0]), leaf([0.0])
    gradients = (x * y).sum().backward()
    assert isinstance(gradients, ng.Gradients)
    assert len(gradients) == 2
    assert x in gradients
    assert unused not in gradients
    assert gradients[x].to_list() == [3.0, 4.0]
    assert {tuple(k.to_list()): v.to_list() for k, v in gradients} == {(1.0, 2.0): [3.0, 4.0], (3.0, 4.0): [1.0, 2.0]}
    with pytest.raises(KeyError, match="no gradient for this Tensor"):
        gradients[unused]
    assert gradients.get(unused) is None
    assert gradients.pop(x).to_list() == [3.0, 4.0]
    assert gradients.pop(x, None) is None
    with pytest.raises(KeyError):
        gradients.pop(x)
    with pytest.raises(TypeError, match="found by the handle they belong to, not by Tensor"):
        gradients.get(y.torch())


def test_an_operation_before_the_mark_is_not_recorded():
    x, w = floats([1.0, 2.0]), leaf([3.0, 4.0])
    used = x * w
    x = x.require_grad()
    gradients = used.sum().backward()
    assert x.grad(gradients) is None
    assert w.grad(gradients).to_list() == [1.0, 2.0]


# ---------------------------------------------------------------------------------------------------- kinds
def test_integers_and_truth_values_have_no_require_grad():
    i = burn.IntTensor.from_ints([1, 2], AD)
    assert flags(i) == ASSOCIATED
    for x in (i, i > 1):
        assert not hasattr(x, "require_grad")
        assert not hasattr(x, "backward")
        with pytest.raises(AttributeError, match=r"no attribute 'require_grad': .*is_require_grad"):
            x.require_grad()
    assert flags(i.float().require_grad()) == LEAF


def test_kinds_do_not_mix():
    with pytest.raises(TypeError, match=r"burn\.Tensor and burn\.IntTensor do not mix"):
        floats([1.0, 2.0]) * burn.IntTensor.from_ints([1, 2], AD)
    with pytest.raises(TypeError, match=r"burn\.Tensor and burn\.BoolTensor do not mix"):
        burn.Tensor.cat([floats([1.0]), floats([1.0]) > 0.0], 0)
    with pytest.raises(TypeError, match="is of another kind"):
        burn.IntTensor.wrap(ng.ones(2))
    with pytest.raises(TypeError, match=r"takes a numgrad\.Tensor, not list"):
        burn.Tensor.wrap([1.0])


def test_values_are_neither_written_nor_iterated_nor_true():
    x = floats([1.0, 2.0])
    y = x
    y += 1.0
    assert x.to_list() == [1.0, 2.0]
    with pytest.raises(TypeError):
        x[0] = 1.0
    with pytest.raises(TypeError, match="is not iterable"):
        iter(x)
    with pytest.raises(TypeError, match="truth"):
        bool(x)
    with pytest.raises(TypeError, match="constructors"):
        burn.Tensor([1.0])
    with pytest.raises(TypeError, match="a device is wanted"):
        burn.Tensor.from_floats([1.0], "cpu")


def test_values_out_and_in():
    x = burn.Tensor.from_data(np.array([[1.0, 2.0]], dtype=np.float64), AD)
    assert x.dtype() is ng.float64
    assert (x.shape(), x.dims(), x.rank()) == ((1, 2), (1, 2), 2)
    assert floats(3.0).shape() == (1,)  # there is no rank 0
    assert burn.Tensor.from_data([1, 2], AD).dtype() is ng.float32
    data = x.to_data()
    data[:] = 0
    assert x.to_list() == [[1.0, 2.0]]
    assert floats([2.5]).into_scalar() == 2.5
    assert repr(leaf([1.0, 2.0])) == "Tensor([1., 2.], is_require_grad)"
    assert repr(floats([1.0, 2.0], PLAIN)) == "Tensor([1., 2.])"


def test_copies_and_pickles():
    x = leaf([1.0, 2.0])
    assert copy.copy(x) is copy.deepcopy(x) is x
    restored = pickle.loads(pickle.dumps(x))
    assert flags(restored) == LEAF
    assert restored.to_list() == [1.0, 2.0]
    assert flags(pickle.loads(pickle.dumps(x * 2.0))) == ASSOCIATED  # the graph is not saved
    assert flags(pickle.loads(pickle.dumps(floats([1.0], PLAIN)))) == NONE
    for device in (PLAIN, AD, BALANCED):
        assert pickle.loads(pickle.dumps(device)) is copy.deepcopy(device) is device
