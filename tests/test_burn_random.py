"""Random programs over Burn's handles, against a model of the rules: flags, panics, tapes and gradients.

The model knows no graph of numgrad's. A value is a number with its derivatives by leaf (forward mode), its requirement, and
the recorded steps behind it; so flags, whether a step panics, and all gradients are known without running backward.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from numgrad import Device, burn

settings.register_profile("burn", derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck))
fixed = settings.get_profile("burn")

PLAIN = Device.flex()
AD = PLAIN.autodiff()
DEVICES = [PLAIN, AD, AD.gradient_checkpointing()]

RECENT = 6  # programs work on their latest values, so that graphs grow

_identities = itertools.count()


@dataclass(frozen=True)
class Modelled:
    """What a handle has to be.

    `leaf` is the identity under which a mark makes it a leaf; `derivatives` those of the leaves that are tracked.
    """

    value: float
    strategy: str | None
    requirement: str = "None"  # "Grad" of a leaf, "GradInBackward" of a recorded result
    leaf: int = field(default_factory=lambda: next(_identities))
    derivatives: dict[int, float] = field(default_factory=dict)
    steps: frozenset[int] = frozenset()

    def flags(self) -> tuple[bool, bool, bool]:
        return self.strategy is not None, self.requirement != "None", self.requirement == "Grad"


class Refused(Exception):
    """That the rules panic, with this text."""


def apply(operands: list[Modelled], value: float, partials: list[float]) -> Modelled:
    """The result of an operation."""
    strategies = [x.strategy for x in operands if x.strategy]
    if len(set(strategies)) > 1:
        raise Refused("Gradient checkpointing strategy mismatch")
    result = Modelled(value, strategies[0] if strategies else None)
    derivatives: dict[int, float] = {}
    steps: set[int] = set()
    for x, partial in zip(operands, partials, strict=True):
        if x.requirement != "None":
            steps |= x.steps
            for leaf, d in x.derivatives.items():
                derivatives[leaf] = derivatives.get(leaf, 0.0) + partial * d
    if not any(x.requirement != "None" for x in operands):
        return result
    steps.add(next(_identities))
    return replace(result, requirement="GradInBackward", derivatives=derivatives, steps=frozenset(steps))


def marked(x: Modelled) -> Modelled:
    if x.strategy is None:
        raise Refused("Tensor::require_grad requires autodiff; call Tensor::autodiff first")
    if x.requirement == "GradInBackward":
        raise Refused("Can't convert a non leaf tensor into a tracked tensor")
    return replace(x, requirement="Grad", derivatives={x.leaf: 1.0})


def fresh(x: Modelled) -> Modelled:
    """The value in a new place outside of the graph."""
    return Modelled(x.value, x.strategy)


def detached(x: Modelled) -> Modelled:
    if x.strategy is None:
        return x
    return marked(fresh(x)) if x.requirement == "Grad" else fresh(x)


def with_strategy(x: Modelled, strategy: str) -> Modelled:
    if x.strategy is None:
        raise Refused("Tensor::with_gradient_checkpointing_strategy requires autodiff; call Tensor::autodiff first")
    return replace(x, strategy=strategy)


UNARY = {
    "clone": (lambda h: h.clone(), lambda x: x),
    "autodiff": (lambda h: h.autodiff(), lambda x: x if x.strategy else Modelled(x.value, "Disabled")),
    "inner": (lambda h: h.inner(), lambda x: Modelled(x.value, None) if x.strategy else x),
    "require_grad": (lambda h: h.require_grad(), marked),
    "unmark": (lambda h: h.set_require_grad(False), lambda x: fresh(x) if x.strategy else x),
    "detach": (lambda h: h.detach(), detached),
    "balanced": (lambda h: h.with_gradient_checkpointing_strategy("Balanced"), lambda x: with_strategy(x, "Balanced")),
    "disabled": (lambda h: h.with_gradient_checkpointing_strategy("Disabled"), lambda x: with_strategy(x, "Disabled")),
    "move": (lambda h: h.to_device(Device.cpu()), lambda x: apply([x], x.value, [1.0])),
    "double": (lambda h: h * 2.0, lambda x: apply([x], 2 * x.value, [2.0])),
    "square": (lambda h: h.powf_scalar(2.0), lambda x: apply([x], x.value**2, [2 * x.value])),
    "sum": (lambda h: h.sum(), lambda x: apply([x], x.value, [1.0])),
    "halves": (lambda h: (h * 0.5).transpose() + h * 0.5,
               lambda x: apply([h := apply([x], x.value / 2, [0.5]), h], x.value, [1.0, 1.0])),
}  # fmt: skip
BINARY = {
    "add": (lambda g, h: g + h, lambda x, y: apply([x, y], x.value + y.value, [1.0, 1.0])),
    "mul": (lambda g, h: g * h, lambda x, y: apply([x, y], x.value * y.value, [y.value, x.value])),
    "matmul": (lambda g, h: g @ h, lambda x, y: apply([x, y], x.value * y.value, [y.value, x.value])),
    "where": (lambda g, h: g.mask_where(g > h, h), lambda x, y: apply(
        [x, y], *((y.value, [0.0, 1.0]) if x.value > y.value else (x.value, [1.0, 0.0])))),
}  # fmt: skip

index = st.integers(0, RECENT - 1)
instructions = st.one_of(
    st.tuples(st.just("new"), st.integers(0, 2), st.sampled_from([-1.0, 0.5, 2.0])),
    st.tuples(st.sampled_from(sorted(UNARY)), index),
    st.tuples(st.sampled_from(["double", "square", "halves", "sum"]), index),  # what makes graphs deeper
    st.tuples(st.sampled_from(sorted(BINARY)), index, index),
    st.tuples(st.sampled_from(sorted(BINARY)), index, index),
    st.tuples(st.just("backward"), index),
)


class Machine:
    """Runs a program on handles and on the model, side by side."""

    def __init__(self) -> None:
        self.pairs = [(burn.Tensor.from_floats([[1.5]], device), Modelled(1.5, strategy))
                      for device, strategy in zip(DEVICES, (None, "Disabled", "Balanced"), strict=True)]  # fmt: skip
        self.consumed: set[int] = set()
        for value in (0.5, -1.5):
            self.run("new", 1, value)
            self.run("require_grad", 0)

    def pick(self, number: int) -> tuple[burn.Tensor, Modelled]:
        """One of the latest values, 0 being the last."""
        return self.pairs[-1 - number % min(len(self.pairs), RECENT)]

    def run(self, name, *arguments) -> None:
        if name == "new":
            device = DEVICES[arguments[0]]
            strategy = device.gradient_checkpointing_strategy()
            handle = burn.Tensor.from_floats([[arguments[1]]], device)
            self.pairs.append((handle, Modelled(arguments[1], strategy and str(strategy))))
        elif name == "backward":
            self.backward(*self.pick(arguments[0]))
        else:
            operate, expect = (UNARY if name in UNARY else BINARY)[name]
            handles, models = zip(*map(self.pick, arguments), strict=True)
            self.compute(lambda: operate(*handles), lambda: expect(*models))

    def compute(self, operate, expect) -> None:
        try:
            expected = expect()
        except Refused as refused:
            with pytest.raises(burn.Panic) as caught:
                operate()
            assert str(refused) in str(caught.value)
            return
        if abs(expected.value) > 1e6:
            return
        handle = operate()
        if handle.rank() != 2:
            handle = handle.reshape([1, 1])
            expected = apply([expected], expected.value, [1.0])
        self.pairs.append((handle, expected))

    def backward(self, handle, model) -> None:
        if model.requirement == "None":
            with pytest.raises(burn.Panic, match="requires a tracked autodiff tensor"):
                handle.backward()
            return
        if model.steps & self.consumed:
            with pytest.raises(burn.Panic, match="graph tape has already been consumed"):
                handle.backward()
            return
        gradients = handle.backward()
        self.consumed |= model.steps
        leaves = {x.leaf for _, x in self.pairs if x.requirement == "Grad"}
        for other, x in self.pairs:
            found = other.grad(gradients)
            if x.requirement != "Grad" or x.leaf not in model.derivatives:
                assert found is None
            else:
                assert found.into_scalar() == pytest.approx(model.derivatives[x.leaf], rel=1e-4, abs=1e-4)
                assert (found.is_autodiff(), found.is_tracked(), found.is_require_grad()) == (False, False, False)
        assert len(gradients) == len(model.derivatives)
        assert set(model.derivatives) <= leaves

    def check(self) -> None:
        """All handles, the old ones too: nothing that was done since may have changed them."""
        for handle, x in self.pairs:
            flags = handle.is_autodiff(), handle.is_tracked(), handle.is_require_grad()
            assert flags == x.flags()
            assert flags[2] <= flags[1] <= flags[0]
            assert handle.gradient_checkpointing_strategy() == x.strategy
            assert (handle.gradient_checkpointing_strategy() is not None) == flags[0]
            assert handle.into_scalar() == pytest.approx(x.value, rel=1e-4, abs=1e-4)


@settings(fixed, max_examples=300)
@given(st.lists(instructions, min_size=12, max_size=30))
def test_random_programs_follow_the_rules(program) -> None:
    machine = Machine()
    for instruction in program:
        machine.run(*instruction)
        machine.check()


def test_the_model_finds_a_wrong_flag() -> None:
    machine = Machine()
    handle, model = machine.pairs[-1]
    machine.pairs[-1] = handle, replace(model, requirement="None")
    with pytest.raises(AssertionError):
        machine.check()
