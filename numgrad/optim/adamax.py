"""Adamax."""

from __future__ import annotations

from typing import Any, ClassVar

from ..kernels.optimizers import adamax_step
from .adam import check_adam_options
from .fused import FusedOptimizer, Rule, State, check_lr, sign
from .optimizer import Group, Params

__all__ = ["Adamax"]


class Adamax(FusedOptimizer):
    """Adam with the largest gradient of late, which `betas[1]` makes smaller each step, in place of the running square.

    Source: D. Kingma, J. Ba, "Adam: a method for stochastic optimization" (2015), algorithm 2.

    Raises ValueError for an option out of range.
    """

    _later_options: ClassVar[dict[str, Any]] = {
        "foreach": None,
        "maximize": False,
        "differentiable": False,
        "capturable": False,
    }

    def __init__(
        self,
        params: Params,
        lr: Any = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_lr(lr)
        check_adam_options(betas, eps, weight_decay)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _rule(self, group: Group) -> Rule:
        return adamax_step, ("exp_avg", "exp_inf")

    def _prepared(self, group: Group, param: Any, state: State) -> float:
        """The number of this step."""
        if not state:
            self._new_state(group, param, state, "exp_avg", "exp_inf")
        count: float = state["step"].item() + 1
        return count

    def _numbers(self, group: Group, count: float) -> tuple[Any, ...]:
        beta1, beta2 = group["betas"]
        rate = group["lr"] / (1 - beta1**count)
        return rate, 1 - beta1, beta2, group["eps"], group["weight_decay"], sign(group)
