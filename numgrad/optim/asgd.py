"""Gradient descent with the average of its path."""

from __future__ import annotations

from typing import Any, ClassVar

from ..kernels.optimizers import asgd_step
from .fused import FusedOptimizer, Rule, State, as_number, check_lr, sign
from .optimizer import Group, Params

__all__ = ["ASGD"]


class ASGD(FusedOptimizer):
    """Gradient descent that also averages its path, from step `t0` on, in the state's `ax`.

    Step t takes the rate `lr / (1 + lambd * lr * t) ** alpha`, and shrinks the parameter by `1 - lambd * rate`.

    Source: B. Polyak, A. Juditsky, "Acceleration of stochastic approximation by averaging" (1992).

    Raises ValueError for an option out of range.
    """

    _counters: ClassVar[dict[str, float]] = {"step": 0.0, "eta": 0.0, "mu": 1.0}
    _later_options: ClassVar[dict[str, Any]] = {
        "foreach": None,
        "maximize": False,
        "differentiable": False,
        "capturable": False,
    }
    _on_capturable = ("params, mus, etas, and state_steps", FusedOptimizer._on_capturable[1])

    def __init__(
        self,
        params: Params,
        lr: Any = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_lr(lr)
        if not weight_decay >= 0.0:
            raise ValueError(f"Invalid weight_decay value: {weight_decay}")
        defaults = {
            "lr": lr,
            "lambd": lambd,
            "alpha": alpha,
            "t0": t0,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _rule(self, group: Group) -> Rule:
        return asgd_step, ("ax",)

    def _prepared(self, group: Group, param: Any, state: State) -> tuple[float, float]:
        """This step's rate, and its weight in the average; the state keeps those of the next one."""
        if not state:
            self._new_state(group, param, state, "ax")
            state["eta"].fill_(as_number(group["lr"]))
        eta, mu = state["eta"].item(), state["mu"].item()
        count, lr = state["step"].item() + 1, as_number(group["lr"])
        state["eta"].fill_(lr / (1 + group["lambd"] * lr * count) ** group["alpha"])
        state["mu"].fill_(1 / max(1, count - group["t0"]))
        return eta, mu

    def _numbers(self, group: Group, key: tuple[float, float]) -> tuple[Any, ...]:
        eta, mu = key
        return eta, 1 - group["lambd"] * eta, mu, group["weight_decay"], sign(group)
