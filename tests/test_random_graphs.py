"""Random graphs with shared inputs, views and in-place writes, against the slow reference of `random_programs.py`."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from random_programs import Program, programs

import numgrad as ng

fixed = settings(derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck))

MODIFIED = "has been modified by an inplace operation"


def run(program: Program) -> tuple[list[ng.Tensor], ng.Tensor]:
    names = program.run(ng)
    return [names[n] for n in program.leaves], names["loss"]


def check_first_order(program: Program) -> None:
    leaves, loss = run(program)
    assert loss.requires_grad == program.depends_on_leaf()
    assert loss.item() == pytest.approx(program.loss(program.leaves).real, rel=1e-12, abs=1e-12)
    if not loss.requires_grad:
        return
    if program.overwritten():
        with pytest.raises(RuntimeError, match=MODIFIED):
            loss.backward()
        assert all(x.grad is None for x in leaves)
        return
    loss.backward()
    for (name, expected), x in zip(program.gradients().items(), leaves, strict=True):
        grad = np.zeros(expected.shape) if x.grad is None else x.grad.numpy()
        np.testing.assert_allclose(grad, expected, rtol=1e-9, atol=1e-9, err_msg=name)


@settings(fixed, max_examples=60)
@given(programs(in_place=False))
def test_gradients(program: Program) -> None:
    check_first_order(program)


@settings(fixed, max_examples=300)
@given(programs())
def test_gradients_with_writes(program: Program) -> None:
    check_first_order(program)


@settings(fixed, max_examples=120)
@given(programs(lines=8))
def test_second_derivatives(program: Program) -> None:
    if not program.depends_on_leaf() or program.overwritten():
        return
    leaves, loss = run(program)
    rng = np.random.default_rng(0)
    direction = {n: rng.uniform(-1, 1, v.shape) for n, v in program.leaves.items()}
    grads = ng.autograd.grad(loss, leaves, create_graph=True, materialize_grads=True)
    along = sum((g * ng.tensor(d.tolist(), dtype=ng.float64)).sum() for g, d in zip(grads, direction.values(), strict=True))
    if not along.requires_grad:
        second = [ng.zeros_like(x) for x in leaves]
    else:
        second = ng.autograd.grad(along, leaves, materialize_grads=True)
    for (name, expected), found in zip(program.curvature(direction).items(), second, strict=True):
        np.testing.assert_allclose(found.numpy(), expected, rtol=1e-5, atol=1e-5, err_msg=name)
