"""Balanced checkpointing: the same gradients, bit for bit, from less memory; each cheap value is computed again once."""

import gc
import tracemalloc

import numpy as np
import pytest
from op_sweep import F64, call, cases, differentiable_inputs

import numgrad as ng
from numgrad import Device, burn
from numgrad.autograd.checkpointing import CheckpointedSaves, Kept, Recipe
from numgrad.kernels import OPS, elementary

AD = Device.cpu().autodiff()
BALANCED = AD.gradient_checkpointing()
DIFFERENTIABLE = [n for n, op in OPS.items() if op.differentiable and op.inputs and not getattr(op, "writes", ())]


def leaf(values, device=BALANCED):
    return ng.tensor(values, device=device, requires_grad=True)


def gradients(op, case, device, create_graph):
    """Gradients of all results of an op whose operands are memory-bound results themselves."""
    arrays = case.cast(F64)
    leaves = [ng.tensor(a, device=device) for a in arrays]
    for x, needed in zip(leaves, differentiable_inputs(op, arrays), strict=True):
        x.requires_grad_(needed)
    inputs = [x * 1.0 if x.requires_grad else x for x in leaves]
    results = [r for r in call(op, inputs, case.attributes) if r.requires_grad]
    if not results:
        return []
    loss = sum((r * r.conj()).real.sum() if r.is_complex() else (r * r).sum() for r in results)
    wanted = [x for x in leaves if x.requires_grad]
    return [
        None if g is None else g.detach().numpy()
        for g in ng.autograd.grad(loss, wanted, create_graph=create_graph, allow_unused=True)
    ]


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradients_are_the_same_to_the_bit(name):
    for case in cases(OPS[name]):
        check_equal(OPS[name], case, create_graph=False)


@pytest.mark.parametrize("name", ["mul", "div", "exp", "sigmoid", "mm", "transpose", "select", "sum.dim", "where"])
def test_recorded_gradients_are_the_same_to_the_bit(name):
    for case in cases(OPS[name]):
        check_equal(OPS[name], case, create_graph=True)


def check_equal(op, case, create_graph):
    expected, found = (gradients(op, case, device, create_graph) for device in (AD, BALANCED))
    for one, other in zip(expected, found, strict=True):
        np.testing.assert_array_equal(other, one)


# ---------------------------------------------------------------------------------------------------- what is kept
def kinds(node):
    """The classes of what stands for a node's saved values."""
    values = node.packed.values
    return [type(v) for v in (values.values() if isinstance(values, dict) else values)]


def test_leaves_and_dear_results_are_kept_and_cheap_ones_are_recipes():
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    assert kinds((x * x).grad_fn) == [Kept, Kept]
    y = x.exp()
    assert kinds(y.grad_fn) == [Recipe]  # its own result, from the leaf
    assert kinds((y * x).grad_fn) == [Recipe, Kept]
    product = y @ x
    assert set(kinds(product.grad_fn)) == {Recipe, Kept}
    assert kinds((product * product).grad_fn) == [Kept, Kept]
    assert kinds((y.t() * x).grad_fn) == [Recipe, Kept]  # views are cheap
    assert isinstance(y.grad_fn.packed, CheckpointedSaves)


def test_without_the_strategy_everything_is_kept():
    y = leaf([1.0, 2.0], AD).exp()
    assert y.grad_fn.packed is None
    assert y.grad_fn.recipe is None


def test_the_forward_keeps_no_cheap_values():
    def kept(device):
        x = ng.ones(100_000, device=device, requires_grad=True)
        x.exp().sum().backward()
        gc.collect()
        tracemalloc.start()
        y = x
        for _ in range(20):
            y = y.sin()
        (current, _peak) = tracemalloc.get_traced_memory()
        y.sum().backward()
        tracemalloc.stop()
        return current / x.numel() / x.element_size()

    assert kept(AD) > 19  # arrays: one for each op
    assert kept(BALANCED) < 3


def test_each_value_is_computed_again_once(monkeypatch):
    runs = []
    run = Recipe.run
    monkeypatch.setattr(Recipe, "run", lambda recipe, operands: (runs.append(recipe), run(recipe, operands))[1])
    x = leaf([0.5, 1.0])
    y = x
    for _ in range(30):
        y = y.sin()
    y.sum().backward()
    assert len(runs) == len(set(runs)) == 29  # the last result is read by no gradient


def test_values_go_when_the_last_node_has_had_them():
    x = leaf([0.5, 1.0])
    y = x.exp()
    z = (y * y).exp()
    recipes = [y.grad_fn.recipe, z.grad_fn.recipe]
    z.sum().backward()
    assert [(r.value, r.needed) for r in recipes] == [(None, 0), (None, 0)]
    assert y.grad_fn.recipe is None  # released with the graph


def test_a_kept_graph_runs_again():
    x = leaf([0.5, 1.0])
    y = (x.exp() * x).sin().sum()
    (first,) = ng.autograd.grad(y, x, retain_graph=True)
    (second,) = ng.autograd.grad(y, x)
    assert first.tolist() == second.tolist()
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        y.backward()


def test_diamonds_are_not_unfolded():
    """Fifty levels of y = f(y) * g(y) would take 2^50 runs if each use ran what it starts from."""
    x = leaf([0.1])
    y = x
    for _ in range(50):
        y = y.sin() * y.cos()
    y.backward()
    reference = leaf([0.1], AD)
    z = reference
    for _ in range(50):
        z = z.sin() * z.cos()
    z.backward()
    assert x.grad.tolist() == reference.grad.tolist()


def test_long_chains_need_no_recursion():
    x = leaf([0.5])
    y = x
    for _ in range(20_000):
        y = y * 1.0
        y = y.sin()
    y.backward()
    assert np.isfinite(x.grad.item())


def test_an_operand_that_was_written_raises():
    x = leaf([1.0, 2.0])
    y = (x * 1.0).exp()
    with ng.no_grad():
        x.add_(1)
    with pytest.raises(RuntimeError, match="has been modified by an inplace operation"):
        y.sum().backward()


def test_numbers_and_constants_are_operands_of_recipes():
    x, constant = leaf([1.0, 2.0]), ng.tensor([3.0, 4.0], device=BALANCED)
    y = ((x * 2.0 + constant).exp() / constant).sum()
    y.backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * np.exp([5.0, 8.0]) / [3.0, 4.0], rtol=1e-6)


def test_a_user_function_is_cheap_when_it_is_elementwise():
    @ng.elementwise
    def cube(x):
        return x * x * x

    x = leaf([1.0, 2.0])
    y = cube(x * 1.0)
    assert kinds(y.grad_fn) == [Recipe]
    y.sum().backward()
    assert x.grad.tolist() == [3.0, 12.0]
    assert elementary.exp.memory_bound


def test_burns_rules_hold():
    x = burn.Tensor.from_floats([1.0, 2.0], BALANCED).require_grad()
    y = x.exp().sin()
    gradients = y.sum().backward()
    np.testing.assert_allclose(x.grad(gradients).to_list(), np.cos(np.exp([1.0, 2.0])) * np.exp([1.0, 2.0]), rtol=1e-5)
    with pytest.raises(burn.Panic, match="graph tape has already been consumed"):
        y.sum().backward()
