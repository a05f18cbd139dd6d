"""Schedulers beside PyTorch's: 28 steps, state dicts, each library's state in the other, resuming, texts and warnings."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
from side_by_side import snippets

import numgrad

torch = pytest.importorskip("torch")

STEPS = 28
Make = Callable[[ModuleType, Any], Any]


class Halving:
    """A function of the step's number that has state."""

    def __init__(self) -> None:
        self.rate = 0.5

    def __call__(self, epoch: int) -> float:
        return self.rate**epoch


def chained(library: ModuleType, optimizer: Any) -> Any:
    s = library.optim.lr_scheduler
    return s.ChainedScheduler([s.ConstantLR(optimizer, 0.1, 4), s.ExponentialLR(optimizer, 0.9), s.StepLR(optimizer, 6)])


def sequential(library: ModuleType, optimizer: Any) -> Any:
    s = library.optim.lr_scheduler
    return s.SequentialLR(
        optimizer,
        [s.ConstantLR(optimizer, 0.1, 3), s.ExponentialLR(optimizer, 0.9), s.CosineAnnealingLR(optimizer, 5)],
        [3, 12],
    )


def nested(library: ModuleType, optimizer: Any) -> Any:
    s = library.optim.lr_scheduler
    inner = s.SequentialLR(optimizer, [s.LinearLR(optimizer, 0.2, total_iters=4), s.StepLR(optimizer, 2)], [5])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the inner one's first step seems to be a second one
        return s.SequentialLR(optimizer, [inner, s.ExponentialLR(optimizer, 0.8)], [9])


def simple(name: str, *args: Any, **kwargs: Any) -> Make:
    return lambda library, optimizer: getattr(library.optim.lr_scheduler, name)(optimizer, *args, **kwargs)


CASES: dict[str, Make] = {
    "lambda": simple("LambdaLR", lambda epoch: 0.95**epoch),
    "lambda of each group": simple("LambdaLR", [lambda epoch: 0.95**epoch, Halving()]),
    "multiplicative": simple("MultiplicativeLR", lambda epoch: 0.9 if epoch % 3 else 1.1),
    "step": simple("StepLR", 3, 0.5),
    "multistep": simple("MultiStepLR", [2, 5, 5, 9], 0.3),
    "constant": simple("ConstantLR", 0.25, 7),
    "linear": simple("LinearLR", 0.2, 0.9, 11),
    "linear default": simple("LinearLR"),
    "exponential": simple("ExponentialLR", 0.9),
    "polynomial": simple("PolynomialLR", 10, 1.7),
    "cosine": simple("CosineAnnealingLR", 4),
    "cosine to a minimum": simple("CosineAnnealingLR", 7, eta_min=0.02),
    "warm restarts": simple("CosineAnnealingWarmRestarts", 3, 2, eta_min=0.01),
    "equal restarts": simple("CosineAnnealingWarmRestarts", 4),
    "cyclic": simple("CyclicLR", 0.01, 0.1, 3, 5),
    "cyclic of each group": simple("CyclicLR", [0.01, 0.02], [0.1, 0.3], 4, mode="triangular2"),
    "cyclic, exponential range": simple("CyclicLR", 0.01, 0.1, 4, mode="exp_range", gamma=0.9, cycle_momentum=False),
    "cyclic, own scale": simple("CyclicLR", 0.01, 0.1, 4, scale_fn=lambda x: 1 / x, scale_mode="cycle"),
    "one cycle": simple("OneCycleLR", 0.3, total_steps=29),
    "one cycle, three phases": simple("OneCycleLR", [0.3, 0.1], epochs=4, steps_per_epoch=8, three_phase=True),
    "one cycle, linear": simple(
        "OneCycleLR", 0.3, 30, anneal_strategy="linear", pct_start=0.4, cycle_momentum=False, final_div_factor=10
    ),
    "chained": chained,
    "sequential": sequential,
    "nested": nested,
    "plateau": simple("ReduceLROnPlateau", factor=0.5, patience=1, cooldown=2, min_lr=[0.001, 0.02]),
    "plateau, rising": simple("ReduceLROnPlateau", "max", 0.3, 0, 0.05, "abs"),
    "averaging": lambda library, optimizer: library.optim.swa_utils.SWALR(optimizer, 0.01, 5),
    "averaging, linear": lambda library, optimizer: library.optim.swa_utils.SWALR(optimizer, [0.01, 0.5], 6, "linear"),
}


def optimizer_of(library: ModuleType, tensor_lr: bool = False, momentum: bool = True) -> Any:
    params = [library.ones(2, requires_grad=True) for _ in range(2)]
    rates = [library.tensor(0.5, dtype=library.float64), library.tensor(0.05, dtype=library.float64)]
    groups = [{"params": [p], "lr": rate if tensor_lr else float(rate)} for p, rate in zip(params, rates, strict=True)]
    return library.optim.SGD(groups, lr=0.5, momentum=0.9) if momentum else library.optim.Adam(groups)


def take(scheduler: Any, steps: range) -> list[list[Any]]:
    """Rates and momenta after each step."""
    seen = []
    for i in steps:
        scheduler.optimizer.step()
        if "Plateau" in type(scheduler).__name__:
            scheduler.step([5.0, 4.0, 4.0, 4.0, 3.0][i % 5] + i % 3)
        else:
            scheduler.step()
        seen.append(now(scheduler))
    return seen


def now(scheduler: Any) -> list[Any]:
    last = [float(lr) for lr in scheduler.get_last_lr()]
    groups = scheduler.optimizer.param_groups
    momenta = [group["momentum"] if "momentum" in group else group["betas"][0] for group in groups]
    return [*last, *[float(group["lr"]) for group in groups], *momenta]


def plain(state: Any) -> Any:
    """A state dict with what is compared by value."""
    if isinstance(state, dict):
        return {key: plain(value) for key, value in state.items()}
    if isinstance(state, (list, tuple)):
        return [plain(value) for value in state]
    return pytest.approx(state, rel=1e-12) if isinstance(state, float) else state


@pytest.mark.parametrize("name", CASES)
def test_28_steps(name: str) -> None:
    ours, theirs = (CASES[name](library, optimizer_of(library)) for library in (numgrad, torch))
    assert now(ours) == pytest.approx(now(theirs), rel=1e-14)
    for a, b in zip(take(ours, range(STEPS)), take(theirs, range(STEPS)), strict=True):
        assert a == pytest.approx(b, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("name", ["step", "cosine", "linear", "one cycle, linear", "sequential", "plateau, rising"])
def test_rates_that_are_tensors(name: str) -> None:
    results = []
    for library in (numgrad, torch):
        scheduler = CASES[name](library, optimizer_of(library, tensor_lr=True))
        held = scheduler.optimizer.param_groups[0]["lr"]
        results.append(take(scheduler, range(12)))
        assert scheduler.optimizer.param_groups[0]["lr"] is held
    for a, b in zip(*results, strict=True):
        assert a == pytest.approx(b, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("name", ["cyclic", "one cycle"])
def test_the_first_beta_for_the_momentum(name: str) -> None:
    ours, theirs = (CASES[name](library, optimizer_of(library, momentum=False)) for library in (numgrad, torch))
    for a, b in zip(take(ours, range(12)), take(theirs, range(12)), strict=True):
        assert a == pytest.approx(b, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("name", CASES)
def test_state_dicts(name: str) -> None:
    ours, theirs = (CASES[name](library, optimizer_of(library)) for library in (numgrad, torch))
    take(ours, range(9))
    take(theirs, range(9))
    mine, expected = ours.state_dict(), theirs.state_dict()
    assert set(mine) == set(expected)
    assert mine == plain(expected)


@pytest.mark.parametrize("name", CASES)
def test_each_library_goes_on_from_the_state_of_the_other(name: str) -> None:
    whole = take(CASES[name](torch, optimizer_of(torch)), range(STEPS))
    for first, second in ((torch, numgrad), (numgrad, torch)):
        begun = CASES[name](first, optimizer_of(first))
        take(begun, range(9))
        resumed = CASES[name](second, optimizer_of(second))
        resumed.load_state_dict(copy.deepcopy(begun.state_dict()))
        groups = [{k: v for k, v in g.items() if k != "params"} for g in begun.optimizer.param_groups]
        for group, saved in zip(resumed.optimizer.param_groups, groups, strict=True):
            group.update(saved)
        for a, b in zip(take(resumed, range(9, STEPS)), whole[9:], strict=True):
            assert a == pytest.approx(b, rel=1e-11, abs=1e-14)


@pytest.mark.parametrize("order", ["optimizer first", "scheduler first", "made after the optimizer's state was loaded"])
@pytest.mark.parametrize("name", CASES)
def test_resuming(name: str, order: str) -> None:
    """In whatever order things are made and loaded, training goes on as if it had not stopped. (PyTorch's does not.)"""
    whole = CASES[name](numgrad, optimizer_of(numgrad))
    take(whole, range(4))
    saved = copy.deepcopy((whole.optimizer.state_dict(), whole.state_dict()))
    optimizer = optimizer_of(numgrad)
    if order == "made after the optimizer's state was loaded":
        optimizer.load_state_dict(saved[0])
    resumed = CASES[name](numgrad, optimizer)
    if order == "optimizer first":
        optimizer.load_state_dict(saved[0])
    resumed.load_state_dict(saved[1])
    if order == "scheduler first":
        optimizer.load_state_dict(saved[0])
    assert now(resumed) == pytest.approx(now(whole), rel=1e-14)
    for a, b in zip(take(resumed, range(4, 24)), take(whole, range(4, 24)), strict=True):
        assert a == pytest.approx(b, rel=1e-12, abs=1e-15)


CLOSED = ["step", "multistep", "constant", "linear", "exponential", "polynomial", "cosine", "warm restarts", "lambda"]


@pytest.mark.parametrize("name", CLOSED)
def test_going_to_an_epoch(name: str) -> None:
    results = []
    for library in (numgrad, torch):
        scheduler = CASES[name](library, optimizer_of(library))
        seen = []
        for epoch in (0, 3, 1, 9, 20):
            scheduler.optimizer.step()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # deprecated
                scheduler.step(epoch)
            seen += now(scheduler)
        results.append(seen)
    assert results[0] == pytest.approx(results[1], rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("name", ["step", "cosine", "exponential", "linear", "cyclic", "one cycle"])
def test_going_on_from_a_number(name: str) -> None:
    """`last_epoch` without a state dict."""
    results = []
    for library in (numgrad, torch):
        first = CASES[name](library, optimizer_of(library))
        take(first, range(5))
        make = {
            "step": lambda s, o: s.StepLR(o, 3, 0.5, last_epoch=5),
            "cosine": lambda s, o: s.CosineAnnealingLR(o, 4, last_epoch=5),
            "exponential": lambda s, o: s.ExponentialLR(o, 0.9, last_epoch=5),
            "linear": lambda s, o: s.LinearLR(o, 0.2, 0.9, 11, last_epoch=5),
            "cyclic": lambda s, o: s.CyclicLR(o, 0.01, 0.1, 3, 5, last_epoch=5),
            "one cycle": lambda s, o: s.OneCycleLR(o, 0.3, total_steps=29, last_epoch=5),
        }[name]
        second = make(library.optim.lr_scheduler, first.optimizer)
        results.append([now(second), *take(second, range(6))])
    for a, b in zip(*results, strict=True):
        assert a == pytest.approx(b, rel=1e-12, abs=1e-15)


SNIPPETS = snippets("""
s.StepLR(3, 1)
s.StepLR(o, 1, last_epoch=3)
s.LRScheduler(o)
s.LambdaLR(o, [len])
s.MultiplicativeLR(o, [1, 2])
s.MultiplicativeLR(o, [len])
s.ConstantLR(o, 1.5)
s.LinearLR(o, 0)
s.LinearLR(o, 0.5, 1.5)
s.CosineAnnealingWarmRestarts(o, 0)
s.CosineAnnealingWarmRestarts(o, 1.5)
s.CosineAnnealingWarmRestarts(o, 2, 0)
s.CosineAnnealingWarmRestarts(o, 2, 1, 'x')
s.CosineAnnealingWarmRestarts(o, 2).step(-1)
s.CyclicLR(o, [1], 2)
s.CyclicLR(o, 1, 2, mode='x')
s.CyclicLR(torch.optim.Rprop(o.param_groups[0]['params']), 1, 2)
s.CyclicLR(5, 1, 2)
s.OneCycleLR(o, 1)
s.OneCycleLR(o, 1, total_steps=0)
s.OneCycleLR(o, 1, epochs=1.5, steps_per_epoch=2)
s.OneCycleLR(o, 1, epochs=1, steps_per_epoch=-2)
s.OneCycleLR(o, 1, total_steps=3, pct_start=2.0)
s.OneCycleLR(o, 1, total_steps=3, anneal_strategy='x')
s.OneCycleLR(o, [1], total_steps=3)
s.OneCycleLR(torch.optim.Rprop(o.param_groups[0]['params']), 1, 3)
x = s.OneCycleLR(o, 1, total_steps=2); [(o.step(), x.step()) for _ in range(3)]
s.ReduceLROnPlateau(o, factor=1.0)
s.ReduceLROnPlateau(o, mode='x')
s.ReduceLROnPlateau(o, threshold_mode='x')
s.ReduceLROnPlateau(o, min_lr=[0.1])
s.ReduceLROnPlateau(3)
x = s.ReduceLROnPlateau(o, patience=0, min_lr=[0, 0]); o.add_param_group({'params': torch.ones(1)}); x.step(1); x.step(1)
s.ReduceLROnPlateau(o).step(1.0, 5)
s.SequentialLR(o, [], [])
s.SequentialLR(o, [s.StepLR(o, 1)], [1])
s.SequentialLR(o, [s.StepLR(o, 1), s.ReduceLROnPlateau(o)], [1])
s.SequentialLR(o, [s.StepLR(o, 1), 5], [1])
s.SequentialLR(p, [s.StepLR(o, 1)], [])
s.ChainedScheduler([])
s.ChainedScheduler([s.ReduceLROnPlateau(o)])
s.ChainedScheduler([s.StepLR(o, 1), s.StepLR(p, 1)])
x = s.StepLR(o, 1); x.step()
x = s.StepLR(o, 1); o.step(); x.step(3)
x = s.StepLR(o, 1); x.get_lr()
x = s.StepLR(o, 1); o.step = lambda: None; x.step()
x = s.ExponentialLR(o, 0.9); out = x.get_last_lr()
w.SWALR(o, 0.1, anneal_strategy='x')
w.SWALR(o, 0.1, anneal_epochs=-1)
w.SWALR(o, [0.1])
w.get_ema_avg_fn(2)
w.get_ema_multi_avg_fn(-1)
w.AveragedModel(torch.nn.Linear(1, 1), avg_fn=len, multi_avg_fn=len)
""")


def told(library: ModuleType, snippet: str) -> tuple[str, list[str]]:
    scope = {
        "torch": library, "o": optimizer_of(library), "p": optimizer_of(library),
        "s": library.optim.lr_scheduler, "w": library.optim.swa_utils,
    }  # fmt: skip
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            exec(snippet, scope)
            text = repr(scope.get("out"))
        except Exception as error:
            text = f"{type(error).__name__}: {error}"
    return text, [f"{w.category.__name__}: {w.message}" for w in caught]


@pytest.mark.parametrize("snippet", SNIPPETS)
def test_the_same_texts(snippet: str) -> None:
    assert told(numgrad, snippet) == told(torch, snippet)


# ------------------------------------------------------------------------------------------------- averaged models
@pytest.mark.parametrize("use_buffers", [False, True])
@pytest.mark.parametrize("how", ["equal", "swa", "multi swa", "ema", "multi ema", "own"])
def test_averaged_models(how: str, use_buffers: bool) -> None:
    results = []
    for library in (numgrad, torch):
        w = library.optim.swa_utils
        given: dict[str, Any] = {
            "equal": {},
            "swa": {"avg_fn": w.get_swa_avg_fn()},
            "multi swa": {"multi_avg_fn": w.get_swa_multi_avg_fn()},
            "ema": {"avg_fn": w.get_ema_avg_fn(0.9)},
            "multi ema": {"multi_avg_fn": w.get_ema_multi_avg_fn(0.9)},
            "own": {"avg_fn": lambda average, current, n: (average * n + current) / (n + 2)},
        }[how]
        model = library.nn.Linear(2, 2).double()
        model.register_buffer("seen", library.tensor([1.0, 2.0]))
        average = w.AveragedModel(model, use_buffers=use_buffers, **given)
        for i in range(4):
            with library.no_grad():
                for n, p in enumerate(model.parameters()):
                    p.copy_(library.arange(p.numel()).reshape(p.shape) * (i + 1.0) - n)
                model.seen.mul_(1.5)
            average.update_parameters(model)
        x = library.ones(1, 2, dtype=library.float64)
        state = {name: (str(value.dtype), value.tolist()) for name, value in average.state_dict().items()}
        results.append((state, average(x).tolist()))
    (ours, out), (theirs, expected) = results
    assert list(ours) == list(theirs)
    for name, (dtype, values) in theirs.items():
        assert ours[name][0] == dtype
        flat, wanted = (torch.tensor(v, dtype=torch.float64).reshape(-1).tolist() for v in (ours[name][1], values))
        assert flat == pytest.approx(wanted, rel=1e-6)
    # PyTorch's weight of the new model is float32 in one of the functions.
    assert out[0] == pytest.approx(expected[0], rel=1e-7 if how == "multi swa" else 1e-12)
