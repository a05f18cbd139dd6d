"""Schedules in closed form, handing over, and going on after loading."""

from __future__ import annotations

import copy
import math
from typing import Any

import pytest

import numgrad as ng
from numgrad.optim import SGD, lr_scheduler


def optimizer_at(lr: float, **options: Any) -> SGD:
    return SGD([ng.ones(1, requires_grad=True)], lr=lr, **options)


def rates(scheduler: Any, steps: int) -> list[float]:
    """The rate at first and after each step."""
    seen = [scheduler.get_last_lr()[0]]
    for _ in range(steps):
        scheduler.optimizer.step()
        scheduler.step()
        seen.append(scheduler.get_last_lr()[0])
    return seen


def test_a_cosine_goes_down_and_up_again() -> None:
    found = rates(lr_scheduler.CosineAnnealingLR(optimizer_at(1.0), T_max=4), 9)
    half = math.sqrt(0.5) / 2
    once = [1.0, 0.5 + half, 0.5, 0.5 - half, 0.0, 0.5 - half, 0.5, 0.5 + half]
    assert found == pytest.approx([*once, *once][:10], abs=1e-12)


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_a_cosine_of_few_steps_never_divides_by_zero(steps: int) -> None:
    found = rates(lr_scheduler.CosineAnnealingLR(optimizer_at(1.0), T_max=steps), 12)
    assert found == pytest.approx([(1 + math.cos(math.pi * i / steps)) / 2 for i in range(13)], abs=1e-12)


def sequence(optimizer: SGD) -> Any:
    first = lr_scheduler.ConstantLR(optimizer, 0.1, 3)
    second = lr_scheduler.ExponentialLR(optimizer, 0.9)
    return lr_scheduler.SequentialLR(optimizer, [first, second], [3])


def test_the_next_scheduler_starts_from_the_first_rate() -> None:
    assert rates(sequence(optimizer_at(1.0)), 5) == pytest.approx([0.1, 0.1, 0.1, 1.0, 0.9, 0.81])


@pytest.mark.parametrize("begun", range(1, 7))
def test_a_sequence_goes_on_as_if_it_had_not_stopped(begun: int) -> None:
    whole = rates(sequence(optimizer_at(1.0)), 8)
    scheduler = sequence(optimizer_at(1.0))
    rates(scheduler, begun)
    saved = copy.deepcopy((scheduler.optimizer.state_dict(), scheduler.state_dict()))
    optimizer = optimizer_at(5.0)
    optimizer.load_state_dict(saved[0])
    resumed = sequence(optimizer)  # sets the rate, which loading its state sets again
    resumed.load_state_dict(saved[1])
    assert optimizer.param_groups[0]["lr"] == pytest.approx(whole[begun])
    assert rates(resumed, 8 - begun) == pytest.approx(whole[begun:])


def test_the_decay_of_the_checkpoint_is_that_of_the_first_step() -> None:
    saved = optimizer_at(0.1, weight_decay=0.5).state_dict()
    p = ng.tensor([1.0], dtype=ng.float64, requires_grad=True)
    p.grad = ng.zeros(1, dtype=ng.float64)
    optimizer = SGD([p], lr=0.1, weight_decay=0.0)
    optimizer.load_state_dict(saved)
    lr_scheduler.StepLR(optimizer, 1)
    optimizer.step()
    assert p.tolist() == pytest.approx([0.95])


def test_one_cycle_restores_the_momentum() -> None:
    def made() -> Any:
        return lr_scheduler.OneCycleLR(optimizer_at(1.0, momentum=0.9), 0.5, 10)

    scheduler = made()
    rates(scheduler, 4)
    saved = copy.deepcopy(scheduler.state_dict())
    resumed = made()
    resumed.load_state_dict(saved)
    for name in ("lr", "momentum"):
        assert resumed.optimizer.param_groups[0][name] == pytest.approx(scheduler.optimizer.param_groups[0][name])


def test_a_measure_that_stays_lowers_the_rate() -> None:
    optimizer = optimizer_at(1.0)
    scheduler = lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=1)
    seen = []
    for measure in (3.0, 2.0, 2.0, ng.tensor(2.0), 2.0, 2.0):
        scheduler.step(measure)
        seen.append(optimizer.param_groups[0]["lr"])
    assert seen == [1.0, 1.0, 1.0, 0.5, 0.5, 0.25]
