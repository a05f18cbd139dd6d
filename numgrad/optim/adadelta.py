"""Adadelta."""

from __future__ import annotations

from typing import Any, ClassVar

from ..kernels.optimizers import adadelta_step
from .fused import FusedOptimizer, Rule, State, check_lr, sign
from .optimizer import Group, Params

__all__ = ["Adadelta"]


class Adadelta(FusedOptimizer):
    """Steps of the gradient scaled by the root mean squares of past steps and past gradients, which forget by `rho`.

    Source: M. Zeiler, "ADADELTA: an adaptive learning rate method" (2012), algorithm 1.

    Raises ValueError for an option out of range.
    """

    _later_options: ClassVar[dict[str, Any]] = {
        "foreach": None,
        "maximize": False,
        "differentiable": False,
        "capturable": False,
    }
    _on_capturable = ("params and state_steps", FusedOptimizer._on_capturable[1][:-1])

    def __init__(
        self,
        params: Params,
        lr: Any = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        if not eps >= 0.0:
            raise ValueError(f"Invalid epsilon value: {eps}")
        if not weight_decay >= 0.0:
            raise ValueError(f"Invalid weight_decay value: {weight_decay}")
        defaults = {
            "lr": lr,
            "rho": rho,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "capturable": capturable,
            "foreach": foreach,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _rule(self, group: Group) -> Rule:
        return adadelta_step, ("square_avg", "acc_delta")

    def _prepared(self, group: Group, param: Any, state: State) -> None:
        if not state:
            self._new_state(group, param, state, "square_avg", "acc_delta")

    def _numbers(self, group: Group, key: None) -> tuple[Any, ...]:
        rho = group["rho"]
        return group["lr"], rho, 1 - rho, group["eps"], group["weight_decay"], sign(group)
