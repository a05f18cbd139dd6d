"""Adagrad."""

from __future__ import annotations

from typing import Any, ClassVar

from ..creation import full_like
from ..kernels.optimizers import adagrad_step
from .fused import FusedOptimizer, Rule, State, check_fused, check_lr, sign
from .optimizer import Group, Params

__all__ = ["Adagrad"]


class Adagrad(FusedOptimizer):
    """Steps of the gradient over the root of the sum of all its squares so far.

    The sum starts at `initial_accumulator_value`; step t takes the rate `lr / (1 + (t - 1) * lr_decay)`.

    Source: J. Duchi, E. Hazan, Y. Singer, "Adaptive subgradient methods for online learning and stochastic optimization"
    (2011).

    Raises ValueError for an option out of range.
    """

    _later_options: ClassVar[dict[str, Any]] = {
        "foreach": None,
        "maximize": False,
        "differentiable": False,
        "fused": None,
    }

    def __init__(
        self,
        params: Params,
        lr: Any = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_lr(lr)
        if not lr_decay >= 0.0:
            raise ValueError(f"Invalid lr_decay value: {lr_decay}")
        if not weight_decay >= 0.0:
            raise ValueError(f"Invalid weight_decay value: {weight_decay}")
        if not initial_accumulator_value >= 0.0:
            raise ValueError(f"Invalid initial_accumulator_value value: {initial_accumulator_value}")
        if not eps >= 0.0:
            raise ValueError(f"Invalid epsilon value: {eps}")
        defaults = {
            "lr": lr,
            "lr_decay": lr_decay,
            "eps": eps,
            "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)
        check_fused(foreach, fused, differentiable)
        for group in self.param_groups:
            for param in group["params"]:
                self._begin(group, param, self.state[param])

    def _begin(self, group: Group, param: Any, state: State) -> None:
        start = self.defaults["initial_accumulator_value"]
        self._new_state(group, param, state)
        state["sum"] = full_like(param.detach(), complex(start, start) if param.is_complex() else start)

    def _rule(self, group: Group) -> Rule:
        return adagrad_step, ("sum",)

    def _prepared(self, group: Group, param: Any, state: State) -> float:
        """The number of steps before this one."""
        if not state:
            self._begin(group, param, state)
        count: float = state["step"].item()
        return count

    def _numbers(self, group: Group, count: float) -> tuple[Any, ...]:
        rate = group["lr"] / (1 + count * group["lr_decay"])
        return rate, group["eps"], group["weight_decay"], sign(group)
