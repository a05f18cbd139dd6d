"""Random programs under PyTorch and numgrad: every variable, what the graph says of it, and the gradients must agree."""

import re
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from random_programs import Program, programs
from side_by_side import neutral

import numgrad

torch = pytest.importorskip("torch")

fixed = settings(derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck))


def facts(x: Any) -> dict[str, Any]:
    """What can be seen of a tensor besides its items."""
    return {
        "grad_fn": None if x.grad_fn is None else type(x.grad_fn).__name__,
        "next": None if x.grad_fn is None else [n if n is None else (type(n).__name__, i) for n, i in x.grad_fn.next_functions],
        "is_leaf": x.is_leaf,
        "requires_grad": x.requires_grad,
        "output_nr": x.output_nr,
        "version": x._version,
        "is_view": x._is_view(),
        "shape": tuple(x.shape),
        "offset": x.storage_offset(),
        "dtype": str(x.dtype),
    }


def tensors_of(names: dict[str, Any], module: Any) -> dict[str, Any]:
    return {n: x for n, x in names.items() if isinstance(x, module.Tensor)}


def outcome(call: Any) -> Any:
    """The result of a call, or its exception. Of several modified tensors the libraries may find another one first."""
    try:
        return call()
    except Exception as error:
        return type(error).__name__, re.sub(r"(inplace operation): .*", r"\1", neutral(str(error)))


def items(x: Any) -> Any:
    return None if x is None else np.asarray(x.detach().tolist())


def assert_same_items(ours: Any, theirs: Any, what: str) -> None:
    if theirs is None or ours is None:
        assert ours is theirs, what
        return
    np.testing.assert_allclose(items(ours), items(theirs), rtol=1e-10, atol=1e-11, err_msg=what)


@settings(fixed, max_examples=150)
@given(programs())
def test_same_graph_and_gradients(program: Program) -> None:
    ours, theirs = program.run(numgrad), program.run(torch)
    mine = tensors_of(ours, numgrad)
    for name, x in tensors_of(theirs, torch).items():
        assert_same_items(mine[name], x, name)
        assert facts(mine[name]) == facts(x), name
    result = outcome(lambda: theirs["loss"].backward())
    assert outcome(lambda: ours["loss"].backward()) == result
    if result is None:
        for name in program.leaves:
            assert_same_items(ours[name].grad, theirs[name].grad, name)


def second_order(program: Program, module: Any) -> list[Any]:
    names = program.run(module)
    leaves = [names[n] for n in program.leaves]
    grads = module.autograd.grad(names["loss"], leaves, create_graph=True, allow_unused=True)
    squares = sum((g * g).sum() for g in grads if g is not None)
    shown = [g is not None and g.requires_grad for g in grads]
    if not squares.requires_grad:
        return [shown, *grads]
    return [shown, *grads, *module.autograd.grad(squares, leaves, allow_unused=True)]


@settings(fixed, max_examples=80)
@given(programs(lines=8))
def test_same_second_derivatives(program: Program) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = outcome(lambda: second_order(program, torch))
        ours = outcome(lambda: second_order(program, numgrad))
    if isinstance(theirs, tuple):
        assert ours == theirs
        return
    assert not isinstance(ours, tuple), ours
    assert ours[0] == theirs[0]
    for k, (mine, other) in enumerate(zip(ours[1:], theirs[1:], strict=True)):
        assert_same_items(mine, other, f"result {k}")
