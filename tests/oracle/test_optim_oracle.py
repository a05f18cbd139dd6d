"""Optimizers beside PyTorch's: six steps with every combination of options, the same texts and state dicts."""

from __future__ import annotations

import itertools
from types import ModuleType
from typing import Any

import pytest

import numgrad

torch = pytest.importorskip("torch")

STEPS = 6
START = ([[1.0, -2.0, 0.5], [0.25, 3.0, -0.125]], [0.75, -1.5])


def combinations(**choices: tuple[Any, ...]) -> list[dict[str, Any]]:
    return [dict(zip(choices, values, strict=True)) for values in itertools.product(*choices.values())]


SGD_OPTIONS = [
    options
    for options in combinations(
        lr=(0.1,),
        momentum=(0.0, 0.9),
        dampening=(0.0, 0.3),
        weight_decay=(0.0, 0.05),
        nesterov=(False, True),
        maximize=(False, True),
    )
    if not options["nesterov"] or (options["momentum"] and not options["dampening"])
]
ADAM_OPTIONS = combinations(
    lr=(0.01,),
    betas=((0.9, 0.999), (0.4, 0.7), (0.0, 0.0)),
    eps=(1e-8, 0.1),
    weight_decay=(0.0, 0.05),
    maximize=(False, True),
)
CASES = [
    *(("SGD", options) for options in SGD_OPTIONS),
    *(("Adam", options) for options in ADAM_OPTIONS),
    *(("AdamW", options) for options in ADAM_OPTIONS),
    ("Adam", {"decoupled_weight_decay": True, "weight_decay": 0.1}),
    ("SGD", {}),
    ("Adam", {}),
    ("AdamW", {}),
]


def flat(tensor: Any) -> list[float]:
    return tensor.detach().reshape(-1).tolist()


def leaves(library: ModuleType) -> list[Any]:
    return [library.tensor(values, dtype=library.float64, requires_grad=True) for values in START]


def train(params: list[Any], optimizer: Any, steps: int) -> list[list[float]]:
    """The parameters after each step; the second has no gradient in every third step."""
    seen = []
    for step in range(steps):
        optimizer.zero_grad()
        ((params[0] ** 4).sum() * 0.1).backward()
        if step % 3 != 1:
            (params[0].sum() * (params[1] ** 3).sum()).backward()
        optimizer.step()
        seen.append([*flat(params[0]), *flat(params[1])])
    return seen


def trajectory(library: ModuleType, name: str, options: dict[str, Any]) -> tuple[list[list[float]], Any]:
    params = leaves(library)
    optimizer = getattr(library.optim, name)(params, **options)
    return train(params, optimizer, STEPS), optimizer


@pytest.mark.parametrize(("name", "options"), CASES, ids=[f"{n}-{list(o.values())}" for n, o in CASES])
def test_six_steps(name: str, options: dict[str, Any]) -> None:
    ours, our_optimizer = trajectory(numgrad, name, options)
    theirs, their_optimizer = trajectory(torch, name, options)
    for step, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        assert a == pytest.approx(b, rel=1e-12, abs=1e-12), f"step {step}"

    saved, expected = our_optimizer.state_dict(), their_optimizer.state_dict()
    assert saved["param_groups"] == expected["param_groups"]
    assert list(saved["state"]) == list(expected["state"])
    for number, values in expected["state"].items():
        assert list(saved["state"][number]) == list(values)
        for key, value in values.items():
            assert str(saved["state"][number][key].dtype) == str(value.dtype)
            assert flat(saved["state"][number][key]) == pytest.approx(flat(value), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("name", ["SGD", "Adam"])
def test_groups_resumed_from_a_state_dict(name: str) -> None:
    results = []
    for library in (numgrad, torch):
        make = getattr(library.optim, name)
        params = leaves(library)
        groups = [{"params": [params[0]], "lr": 0.02}, {"params": [params[1]], "weight_decay": 0.1}]
        optimizer = make(groups, lr=0.05)
        train(params, optimizer, 3)
        resumed = make([{"params": [p]} for p in params], lr=1.0)
        resumed.load_state_dict(optimizer.state_dict())
        results.append(train(params, resumed, 3)[-1])
    assert results[0] == pytest.approx(results[1], rel=1e-12)


SNIPPETS = """
out = optim.SGD([leaf() * 2], lr=0.1)
out = optim.SGD([], lr=0.1)
out = optim.SGD([leaf(), leaf()], lr=-1)
p = leaf(); out = optim.SGD([{'params': [p]}, {'params': [p]}], lr=0.1)
out = optim.SGD(leaf(), lr=0.1)
out = optim.SGD([1], lr=0.1)
out = optim.SGD([leaf(), 'x'], lr=0.1)
out = optim.SGD([{'params': {leaf()}}])
out = optim.SGD([torch.tensor([1, 2])], lr=0.1)
out = optim.SGD([leaf()], momentum=-0.1)
out = optim.SGD([leaf()], weight_decay=-0.1)
out = optim.SGD([leaf()], nesterov=True)
out = optim.SGD([leaf()], nesterov=True, momentum=0.9, dampening=0.1)
out = optim.SGD([leaf()], lr=torch.ones(2))
out = optim.SGD([leaf()], fused=True, foreach=True)
out = optim.SGD([leaf()]).add_param_group(3)
out = optim.SGD([{'params': [leaf()], 'lr': 0.5}, {'params': leaf(), 'extra': 1}], lr=0.1)
out = optim.SGD([('a', leaf()), ('b', leaf())])
out = optim.SGD([('a', leaf()), leaf()])
o = optim.SGD([('a', leaf())]); o.add_param_group({'params': [leaf()]})
o = optim.SGD([leaf()]); o.add_param_group({'params': [('a', leaf())]})
out = optim.SGD([leaf()], momentum=0.9).state_dict()
out = optim.SGD([('w', leaf())]).state_dict()
out = optim.SGD([{'params': [leaf()]}, {'params': [leaf(), leaf()]}]).state_dict()
out = optim.Adam([leaf()])
out = optim.AdamW([leaf()])
out = optim.Adam([leaf()]).state_dict()
out = optim.Adam([leaf()], lr=-1)
out = optim.Adam([leaf()], eps=-1)
out = optim.Adam([leaf()], betas=(1.0, 0.9))
out = optim.Adam([leaf()], betas=(0.9, -0.1))
out = optim.Adam([leaf()], betas=(0, 0.9))
out = optim.Adam([leaf()], betas=(torch.ones(2) * 0.5, torch.tensor(0.5)))
out = optim.Adam([leaf()], weight_decay=-1)
out = optim.SGD([leaf()]).load_state_dict(optim.SGD([leaf(), leaf()]).state_dict())
out = optim.SGD([leaf()]).load_state_dict(optim.SGD([{'params': [leaf()]}, {'params': [leaf()]}]).state_dict())
p = leaf(); o = optim.SGD([p], lr=0.5); (p * p).sum().backward(); o.step(); o.zero_grad(); out = (p, p.grad)
p = leaf(); o = optim.SGD([p], lr=0.5); (p * p).sum().backward(); o.zero_grad(set_to_none=False); out = p.grad
p = leaf(); o = optim.Adam([p]); (p * p).sum().backward(); o.step(); out = o.state_dict()
p = leaf(); o = optim.SGD([p], momentum=0.9); (p * p).sum().backward(); o.step(); out = o.state
p = leaf(); o = optim.SGD([p]); out = o.step(lambda: (p * p).sum())
p = leaf(); out = optim.Optimizer([p], {'lr': 0.1}); out.step()
p = leaf(); out = optim.Optimizer([p], {'lr': 0.1})
y = leaf() * 2; y.retain_grad(); out = optim.SGD([y])
"""


def shown(library: ModuleType, snippet: str) -> str:
    scope: dict[str, Any] = {
        "torch": library,
        "optim": library.optim,
        "leaf": lambda: library.tensor([1.0, 2.0], requires_grad=True),
    }
    try:
        exec(snippet, scope)
        return repr(scope.get("out"))
    except Exception as error:
        return f"{type(error).__name__}: {error}"


@pytest.mark.parametrize("snippet", SNIPPETS.strip().splitlines())
def test_same_lines_show_the_same(snippet: str) -> None:
    assert shown(numgrad, snippet) == shown(torch, snippet)


def test_a_subclass_written_for_pytorch() -> None:
    results = []
    for library in (numgrad, torch):

        class SignDescent(library.optim.Optimizer):  # type: ignore[name-defined, misc]
            def __init__(self, params: Any, lr: float) -> None:
                super().__init__(params, {"lr": lr})

            @library.no_grad()
            def step(self, closure: Any = None) -> None:
                for group in self.param_groups:
                    for p in group["params"]:
                        if p.grad is None:
                            continue
                        state = self.state[p]
                        state["count"] = state.get("count", 0) + 1
                        p.add_(p.grad / p.grad.abs(), alpha=-group["lr"] / state["count"])

        params = leaves(library)
        results.append(train(params, SignDescent(params, lr=0.1), 3)[-1])
    assert results[0] == pytest.approx(results[1], rel=1e-12)
