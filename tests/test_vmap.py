"""`vmap` of every op of the table: what it gives for a batch is what the op gives for each member."""

from __future__ import annotations

from typing import Any

import numpy as np
import op_sweep as sweep
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from op_sweep import F64, Case

import numgrad as ng
from numgrad.autograd import batching_rules
from numgrad.kernels import OPS
from numgrad.kernels.registry import Sample, op

MEMBERS = 3
# as_strided reads the memory itself; results of a shape that items decide cannot be stacked.
APART = batching_rules.DYNAMIC | {"as_strided", "as_strided_"}
MAPPED = sorted(
    name for name, op in OPS.items() if op.inputs and not op.writes and "seed" not in op.attributes and name not in APART
)
DIFFERENTIABLE = [name for name in MAPPED if OPS[name].differentiable and name not in batching_rules.DYNAMIC]
REPRESENTATIVES = {"add", "where", "pow.Tensor", "copy"}  # of the elementwise ops, which all have one rule
OWN_RULES = [name for name in MAPPED if not OPS[name].elementwise or name in REPRESENTATIVES]


def batch(case: Case) -> list[list[np.ndarray]]:
    """For each input its members: the declared sample, and others made of it by rolling, which keeps them in range."""
    return [[np.array(np.roll(a, i)) for i in range(MEMBERS)] for a in case.cast(F64)]


def choices(name: str, count: int) -> list[list[bool]]:
    """Which inputs are mapped over: all of them, and each alone."""
    everything = [[True] * count]
    if count == 1 or name not in OWN_RULES:
        return everything
    return everything + [[i == k for i in range(count)] for k in range(count)]


def stacked(members: list[np.ndarray], dim: int) -> Any:
    return ng.from_numpy(np.stack(members, dim))


def apply(case: Case) -> Any:
    return lambda *xs: sweep.call(case.op, xs, case.attributes)


@pytest.mark.parametrize(("name", "dim"), [*((name, 0) for name in MAPPED), *((name, -1) for name in OWN_RULES)])
def test_every_op_of_a_batch_is_the_op_of_each_member(name: str, dim: int) -> None:
    for case in sweep.cases(OPS[name]):
        members = batch(case)
        for mapped in choices(name, len(members)):
            inputs = [stacked(m, dim) if own else ng.from_numpy(m[0]) for m, own in zip(members, mapped, strict=True)]
            batched = ng.func.vmap(apply(case), in_dims=tuple(dim if own else None for own in mapped))
            each = [
                apply(case)(*[ng.from_numpy(m[i if own else 0]) for m, own in zip(members, mapped, strict=True)])
                for i in range(MEMBERS)
            ]
            if name in batching_rules.DYNAMIC or len({tuple(tuple(y.shape) for y in ys) for ys in each}) > 1:
                with pytest.raises(RuntimeError, match="can output dynamic shape"):
                    batched(*inputs)
                continue
            found = batched(*inputs)
            for i in range(MEMBERS):
                for got, expected in zip(found, each[i], strict=True):
                    assert got.dtype is expected.dtype
                    compare(sweep.host(got[i]), sweep.host(expected))


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradients_of_every_op_of_a_batch(name: str) -> None:
    """`vmap(grad)` for inputs that are mapped over and for those that all members share, and `grad` of a `vmap`."""
    for case in sweep.cases(OPS[name]):
        members = batch(case)
        needs = sweep.differentiable_inputs(case.op, case.arrays)
        wanted = tuple(i for i, own in enumerate(needs) if own)
        if not wanted:
            continue
        number = scalar(case)
        for mapped in choices(name, len(members)):
            dims = tuple(0 if own else None for own in mapped)
            inputs = [stacked(m, 0) if own else ng.from_numpy(m[0]) for m, own in zip(members, mapped, strict=True)]
            found = ng.func.vmap(ng.func.grad(number, wanted), dims)(*inputs)
            of_all = ng.func.vmap(number, dims)
            total = ng.func.grad(lambda *xs, f=of_all: f(*xs).sum(), wanted)(*inputs)
            for k, i in enumerate(wanted):
                each = [
                    sweep.host(
                        ng.func.grad(number, i)(
                            *[ng.from_numpy(m[n if own else 0]) for m, own in zip(members, mapped, strict=True)]
                        )
                    )
                    for n in range(MEMBERS)
                ]
                compare(sweep.host(found[k]), np.stack(each))
                compare(sweep.host(total[k]), np.stack(each) if mapped[i] else sum(each))


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_tangents_of_every_op_of_a_batch(name: str) -> None:
    """Forward mode within `vmap`, and `vmap` within forward mode."""
    for case in sweep.cases(OPS[name]):
        members = batch(case)
        needs = sweep.differentiable_inputs(case.op, case.arrays)
        moving = [i for i, own in enumerate(needs) if own]
        if not moving:
            continue
        inputs = [stacked(m, 0) for m in members]
        number = scalar(case)

        def along(*xs: Any, moving: Any = moving, number: Any = number) -> Any:
            def of_moving(*ys: Any) -> Any:
                given = list(xs)
                for i, y in zip(moving, ys, strict=True):
                    given[i] = y
                return number(*given)

            point = tuple(xs[i] for i in moving)
            return ng.func.jvp(of_moving, point, tuple(x * 0.5 + 1 for x in point))[1]

        each = [sweep.host(along(*[ng.from_numpy(m[i]) for m in members])) for i in range(MEMBERS)]
        compare(sweep.host(ng.func.vmap(along)(*inputs)), np.stack(each))

        def whole(*ys: Any, inputs: Any = inputs, moving: Any = moving, number: Any = number) -> Any:
            given = list(inputs)
            for i, y in zip(moving, ys, strict=True):
                given[i] = y
            return ng.func.vmap(number)(*given)

        point = tuple(inputs[i] for i in moving)
        compare(sweep.host(ng.func.jvp(whole, point, tuple(x * 0.5 + 1 for x in point))[1]), np.stack(each))


def scalar(case: Case) -> Any:
    """The op's differentiable results as one number: weighed by fixed numbers that differ from item to item."""

    def number(*xs: Any) -> Any:
        total = None
        for y in sweep.call(case.op, xs, case.attributes):
            if y.is_complex():
                y = y.abs() if case.op.name in sweep.UP_TO_PHASE else ng.view_as_real(y)
            if y.is_floating_point():
                weights = ng.arange(1, y.numel() + 1, dtype=ng.float64).reshape(y.shape)
                part = (y * weights).sum()
                total = part if total is None else total + part
        return total

    return number


def compare(got: np.ndarray, expected: np.ndarray) -> None:
    """Equal but for the order of sums."""
    assert got.shape == expected.shape
    if got.dtype.kind == "f":
        assert_allclose(got, expected, rtol=1e-9, atol=1e-9)
    else:
        assert_array_equal(got, expected)


@pytest.mark.parametrize("name", ["sum.dim", "mm"])
def test_a_wrong_rule_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The members exchanged: right in shape, wrong in value."""
    right = batching_rules.RULES[name]

    def wrong(*args: Any) -> Any:
        found = right(*args)
        return ng.cat([found[1:], found[:1]])

    monkeypatch.setitem(batching_rules.RULES, name, wrong)
    with pytest.raises(AssertionError):
        test_every_op_of_a_batch_is_the_op_of_each_member(name, 0)


def test_members_whose_results_differ_in_shape_are_refused() -> None:
    """As those of an op that keeps what is positive would."""

    @op(samples=[Sample(((3,),))], reference=lambda x: x[x > 0], differentiable=False, name="test_keep_positive")
    def keep_positive(input):
        """The positive items."""

    keep_positive.kernel("cpu")(lambda x: x[x > 0].copy())
    try:
        with pytest.raises(RuntimeError, match="can output dynamic shape"):
            ng.func.vmap(keep_positive)(ng.tensor([[1.0, 2.0], [1.0, -1.0]]))
    finally:
        del OPS["test_keep_positive"]
