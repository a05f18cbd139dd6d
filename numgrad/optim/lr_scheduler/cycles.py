"""Schedules that go up and down: cycles of rate and momentum, one cycle for a whole training, cosines with restarts."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

from ..optimizer import Optimizer
from .scheduler import LRScheduler, check_optimizer, for_each_group, set_value, state_of_function

__all__ = ["CosineAnnealingWarmRestarts", "CyclicLR", "OneCycleLR"]


class _Cycle(LRScheduler):
    """Base class of schedules that also move the momentum, or the first beta, against the rate."""

    cycle_momentum: bool
    use_beta1: bool

    def _begin_momentum(self, base: Any, most: Any, is_new: bool) -> tuple[list[Any], list[Any]]:
        """The least and most momentum of each group; a new schedule starts at most.

        Raises ValueError for an optimizer that has none.
        """
        optimizer = self.optimizer
        if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
            raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
        self.use_beta1 = "betas" in optimizer.defaults
        bases = for_each_group("base_momentum", optimizer, base)
        mosts = for_each_group("max_momentum", optimizer, most)
        if is_new:
            self._set_momentum(mosts)
            for group, low, high in zip(optimizer.param_groups, bases, mosts, strict=True):
                group["max_momentum"], group["base_momentum"] = high, low
        return bases, mosts

    def _set_momentum(self, values: list[Any]) -> None:
        for group, value in zip(self.optimizer.param_groups, values, strict=True):
            if self.use_beta1:
                group["betas"] = (value, *group["betas"][1:])
            else:
                group["momentum"] = value

    def _momentum(self) -> list[Any]:
        """The momentum of each group in this step."""
        raise NotImplementedError

    def _restore_lr(self) -> None:
        super()._restore_lr()
        if self.cycle_momentum:
            self._set_momentum(self._momentum())


class CyclicLR(_Cycle):
    """The rate between `base_lr` and `max_lr`: up in `step_size_up` steps, down in `step_size_down`, again and again.

    Args:
        mode: "triangular"; "triangular2", where each cycle is half as high as the last; "exp_range", where step t is
            `gamma ** t` as high. `scale_fn` takes the place of them, a function of the number of the cycle or, with
            `scale_mode="iterations"`, of the step.
        cycle_momentum: move the momentum between `max_momentum` and `base_momentum`, low where the rate is high.

    Source: L. Smith, "Cyclical learning rates for training neural networks" (2017).

    Raises:
        TypeError: something that is no optimizer.
        ValueError: an unknown mode; lists of another length than there are groups; an optimizer without momentum.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | list[float],
        max_lr: float | list[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: Literal["triangular", "triangular2", "exp_range"] = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: Literal["cycle", "iterations"] = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.8,
        max_momentum: float | list[float] = 0.9,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        base_lrs = for_each_group("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for lr, group in zip(base_lrs, optimizer.param_groups, strict=True):
                set_value(group, "lr", lr)
        self.max_lrs = for_each_group("max_lr", optimizer, max_lr)
        up = float(step_size_up)
        self.total_size = up + (up if step_size_down is None else float(step_size_down))
        self.step_ratio = up / self.total_size
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        self.mode = mode
        self.gamma = gamma
        self._scale_fn_custom = scale_fn
        self.scale_mode = scale_mode
        if scale_fn is None:
            self.scale_mode = "iterations" if mode == "exp_range" else "cycle"
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            bounds = self._begin_momentum(base_momentum, max_momentum, last_epoch == -1)
            self.base_momentums, self.max_momentums = bounds
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def scale_fn(self, x: float) -> float:
        """How high the cycle is, as a share of `max_lr - base_lr`, in cycle or step x."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        if self.mode == "triangular":
            return 1.0
        share: float = 1 / 2.0 ** (x - 1) if self.mode == "triangular2" else self.gamma**x
        return share

    def get_lr(self) -> list[Any]:
        """The rates of this step, one a group; it also sets the momentum."""
        self._warn_outside_step()
        if self.cycle_momentum:
            self._set_momentum(self._momentum())
        height, scale = self._height()
        return [base + (most - base) * height * scale for base, most in zip(self.base_lrs, self.max_lrs, strict=True)]

    def _momentum(self) -> list[Any]:
        height, scale = self._height()
        bounds = zip(self.base_momentums, self.max_momentums, strict=True)
        return [most - (most - base) * height * scale for base, most in bounds]

    def _height(self) -> tuple[float, float]:
        """How far up the triangle this step is, and how high it is."""
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        height = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        return height, self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)

    def state_dict(self) -> dict[str, Any]:
        """All attributes but the optimizer. A `scale_fn` is not saved; of a callable object its attributes are."""
        state = super().state_dict()
        del state["_scale_fn_custom"]
        return {**state, "_scale_fn_custom": state_of_function(self._scale_fn_custom)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from what `state_dict` returned."""
        saved = state_dict["_scale_fn_custom"]
        if saved is not None and self._scale_fn_custom is not None:
            self._scale_fn_custom.__dict__.update(saved)
        super().load_state_dict({n: value for n, value in state_dict.items() if n != "_scale_fn_custom"})


class OneCycleLR(_Cycle):
    """The rate up from `max_lr / div_factor` to `max_lr`, then down to `1 / final_div_factor` of where it began.

    Args:
        total_steps: of the whole training; or `epochs` times `steps_per_epoch`.
        pct_start: the share of steps that go up.
        anneal_strategy: "cos" or "linear".
        cycle_momentum: move the momentum between `max_momentum` and `base_momentum`, low where the rate is high.
        three_phase: first go down to the initial rate, in as many steps as up, then to the last one.

    Source: L. Smith, N. Topin, "Super-convergence: very fast training of neural networks using large learning rates"
    (2018).

    Raises:
        TypeError: something that is no optimizer.
        ValueError: an option out of range, an optimizer without momentum, or a step beyond the last one.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | list[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: Literal["cos", "linear"] = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.85,
        max_momentum: float | list[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        self.total_steps = _number_of_steps(total_steps, epochs, steps_per_epoch)
        self._schedule_phases = _phases(self.total_steps, pct_start, three_phase)
        if pct_start < 0 or pct_start > 1 or not isinstance(pct_start, float):
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._anneal_func_type = anneal_strategy
        max_lrs = for_each_group("max_lr", optimizer, max_lr)
        if last_epoch == -1:
            for group, most in zip(optimizer.param_groups, max_lrs, strict=True):
                group["initial_lr"] = most / div_factor
                group["max_lr"] = most
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._begin_momentum(base_momentum, max_momentum, last_epoch == -1)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The rates of this step, one a group; it also sets the momentum."""
        self._warn_outside_step()
        if self.last_epoch > self.total_steps:
            raise ValueError(
                f"Tried to step {self.last_epoch} times. The specified number of total steps is {self.total_steps}"
            )
        rates = self._annealed("lr")
        if self.cycle_momentum:
            self._set_momentum(self._momentum())
        return rates

    def _momentum(self) -> list[Any]:
        return self._annealed("momentum")

    def _annealed(self, what: str) -> list[Any]:
        """The groups' rates or momenta in this step, between those at the ends of its phase."""
        start_step = 0.0
        for phase in self._schedule_phases:
            if self.last_epoch <= phase["end_step"] or phase is self._schedule_phases[-1]:
                break
            start_step = phase["end_step"]
        share = (self.last_epoch - start_step) / (phase["end_step"] - start_step)
        start, end = phase[f"start_{what}"], phase[f"end_{what}"]
        return [self._between(group[start], group[end], share) for group in self.optimizer.param_groups]

    def _between(self, start: Any, end: Any, share: float) -> Any:
        if self._anneal_func_type == "linear":
            return (end - start) * share + start
        return end + (start - end) / 2.0 * (1 + math.cos(math.pi * share))


def _number_of_steps(total: int | None, epochs: int | None, each: int | None) -> int:
    given = {"total_steps": total} if total is not None else {"epochs": epochs, "steps_per_epoch": each}
    if None in given.values():
        raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
    for name, value in given.items():
        if not isinstance(value, int) or value <= 0:
            raise ValueError(f"Expected positive integer {name}, but got {value}")
    return math.prod(value for value in given.values() if value is not None)


def _phases(total: int, share: float, three: bool) -> list[dict[str, Any]]:
    """Where each phase ends, and which options of a group are its first and last rate and momentum."""

    def phase(end_step: float, rates: tuple[str, str], momenta: tuple[str, str]) -> dict[str, Any]:
        return {
            "end_step": end_step,
            "start_lr": rates[0],
            "end_lr": rates[1],
            "start_momentum": momenta[0],
            "end_momentum": momenta[1],
        }

    down, up = ("max_momentum", "base_momentum"), ("base_momentum", "max_momentum")
    first = phase(float(share * total) - 1, ("initial_lr", "max_lr"), down)
    if not three:
        return [first, phase(total - 1, ("max_lr", "min_lr"), up)]
    second = phase(float(2 * share * total) - 2, ("max_lr", "initial_lr"), up)
    return [first, second, phase(total - 1, ("initial_lr", "min_lr"), ("max_momentum", "max_momentum"))]


class CosineAnnealingWarmRestarts(LRScheduler):
    """From the first rate down to `eta_min` along half a cosine, again and again: in `T_0` steps, then each time in
    `T_mult` times as many.

    Source: I. Loshchilov, F. Hutter, "SGDR: stochastic gradient descent with warm restarts" (2017).

    Raises ValueError for an option that is out of range or no integer.
    """

    def __init__(
        self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        if T_0 <= 0 or not isinstance(T_0, int):
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if T_mult < 1 or not isinstance(T_mult, int):
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        if not isinstance(eta_min, (float, int)):
            raise ValueError(f"Expected float or int eta_min, but got {eta_min} of type {type(eta_min)}")
        self.T_0 = T_0
        self.T_i = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The rates of this step, one a group."""
        self._warn_outside_step()
        height = 1 + math.cos(math.pi * self.T_cur / self.T_i)
        return [self.eta_min + (base - self.eta_min) * height / 2 for base in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """Set the next rates, or those of an `epoch`, which may be a fraction: `epoch + batch / batches`.

        Raises ValueError for an epoch below 0.
        """
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        else:
            self._go_to(epoch)
        self.last_epoch = math.floor(epoch)
        with self._within_step():
            rates = self.get_lr()
        self._set_lr(rates)

    def _go_to(self, epoch: float) -> None:
        if epoch < 0:
            raise ValueError(f"Expected non-negative epoch, but got {epoch}")
        if epoch < self.T_0:
            self.T_i, self.T_cur = self.T_0, epoch
        elif self.T_mult == 1:
            self.T_cur = epoch % self.T_0
        else:
            restarts = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
            self.T_i = self.T_0 * self.T_mult**restarts
            self.T_cur = epoch - self.T_0 * (self.T_mult**restarts - 1) / (self.T_mult - 1)
