"""Devices, and the autodiff context that tensors carry from them.

The rules are Burn's, as its own tests state them: contexts merge for each op, a plain operand counts as a constant, moving
a tensor keeps its context, and equality of devices looks at the hardware alone.
"""

import pytest
from simt_runtime import SimulatedRuntime, installed

import numgrad as ng
from numgrad.device import AUTODIFF, BALANCED, PLAIN, merge_contexts

PLAIN_CPU = ng.device("cpu").with_context(PLAIN)
BALANCED_CPU = ng.device("cpu").with_context(BALANCED)


def test_names_and_repr_are_pytorchs():
    assert repr(ng.device("cpu")) == "device(type='cpu')"
    assert repr(ng.device("cuda:1")) == "device(type='cuda', index=1)"
    assert str(ng.device("cuda", 0)) == "cuda:0"
    assert ng.device("cuda", 0) == ng.device("cuda:0")
    assert ng.device("cuda:0") != ng.device("cuda")


@pytest.mark.parametrize("name", ["gpu", "tpu:0", "cuda:x"])
def test_unknown_devices_raise(name):
    with pytest.raises(RuntimeError):
        ng.device(name)


def test_equality_ignores_the_context():
    assert ng.device("cpu") == PLAIN_CPU
    assert hash(PLAIN_CPU) == hash(ng.device("cpu"))
    assert PLAIN_CPU is not ng.device("cpu")


def test_factories_give_the_devices_context():
    assert ng.zeros(2).device.context is AUTODIFF
    assert ng.zeros(2, device=PLAIN_CPU).device.context is PLAIN
    assert ng.tensor([1, 2], device=PLAIN_CPU).device.context is PLAIN  # integers carry it too
    assert ng.zeros_like(ng.zeros(2, device=PLAIN_CPU)).device.context is PLAIN


@pytest.mark.parametrize("kind", ["first", "second"])
def test_a_plain_operand_is_a_constant(kind):
    plain = ng.tensor([1.0, 2.0], device=PLAIN_CPU)
    leaf = ng.tensor([3.0, 4.0], requires_grad=True)
    out = plain * leaf if kind == "first" else leaf * plain
    assert out.device.context is AUTODIFF
    out.sum().backward()
    assert leaf.grad.tolist() == [1.0, 2.0]
    assert plain.device.context is PLAIN  # the operand is not changed


def test_plain_tensors_are_never_recorded():
    plain = ng.tensor([1.0, 2.0], device=PLAIN_CPU).requires_grad_()
    for out in (plain * plain, plain.exp(), plain * 2, plain.sum(), plain[:1], plain.add(plain, alpha=2)):
        assert out.grad_fn is None
        assert out.device.context is PLAIN


def test_the_context_merges_in_ops_of_every_kind():
    plain, rich = ng.ones(2, 2, device=PLAIN_CPU), ng.ones(2, 2)
    for out in (plain + rich, plain @ rich, ng.cat([plain, rich]), ng.where(plain > 0, plain, rich), plain.add_(rich)):
        assert out.device.context in (AUTODIFF, PLAIN)
    assert (plain + rich).device.context is AUTODIFF
    assert (plain @ rich).device.context is AUTODIFF
    assert ng.cat([plain, rich]).device.context is AUTODIFF
    assert (ng.ones(2, dtype=ng.int64, device=PLAIN_CPU) + ng.ones(2, dtype=ng.int64)).device.context is AUTODIFF


def test_two_strategies_do_not_merge():
    with pytest.raises(RuntimeError, match="Gradient checkpointing strategy mismatch: Disabled vs Balanced"):
        ng.ones(2) * ng.ones(2, device=BALANCED_CPU)
    assert merge_contexts(BALANCED, PLAIN) is BALANCED
    assert merge_contexts(PLAIN, BALANCED) is BALANCED


def test_casting_and_moving_keep_the_context():
    plain = ng.ones(2, device=PLAIN_CPU)
    assert plain.to(ng.float64).device.context is PLAIN
    assert plain.to("cpu").device.context is PLAIN
    assert ng.ones(2, dtype=ng.int64, device=PLAIN_CPU).float().device.context is PLAIN
    with installed(SimulatedRuntime()):
        moved = plain.to("cuda")
        assert moved.device.context is PLAIN
        assert moved.device == ng.device("cuda:0")
        assert moved.cpu().device.context is PLAIN
        assert ng.ones(2).to(device=moved.device).device.context is AUTODIFF  # the source's, not the destination's


def test_cuda_without_a_runtime_raises_pytorchs_error():
    assert not ng.cuda.is_available()
    with pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"):
        ng.ones(1, device="cuda")
    with pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"):
        ng.ones(1).cuda()


def test_kernels_are_found_by_the_tensors_device():
    with installed(SimulatedRuntime()) as runtime:
        x = ng.tensor([[1.0, 2.0], [3.0, 4.0]], device="cuda", requires_grad=True)
        before = runtime.launches
        y = (ng.tanh(x @ x) * 0.5 + x.t()).sum()
        assert runtime.launches > before
        y.backward()
        assert x.grad.device == ng.device("cuda:0")
        reference = ng.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
        (ng.tanh(reference @ reference) * 0.5 + reference.t()).sum().backward()
        ng.testing.assert_close(x.grad.cpu(), reference.grad)


def test_two_kinds_of_hardware_in_one_op():
    with installed(SimulatedRuntime()):
        x = ng.ones(2, device="cuda")
        with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
            x + ng.ones(2)
        assert (x * ng.tensor(3.0)).cpu().tolist() == [3.0, 3.0]  # a 0-d CPU tensor goes along


def test_an_op_without_a_cuda_kernel_says_so():
    with installed(SimulatedRuntime()), pytest.raises(NotImplementedError, match=r"argmax.* has no cuda kernel yet"):
        ng.ones(2, 3, device="cuda").argmax(1)
