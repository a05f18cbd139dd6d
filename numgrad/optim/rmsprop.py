"""RMSprop."""

from __future__ import annotations

from typing import Any, ClassVar

from ..kernels import optimizers as steps
from .fused import FusedOptimizer, Rule, State, check_lr, sign
from .optimizer import Group, Params

__all__ = ["RMSprop"]


class RMSprop(FusedOptimizer):
    """Steps of the gradient over the root of the running mean of its squares, which forgets by the factor `alpha`.

    `centered` takes the running variance instead; with `momentum` the scaled gradients are added up.

    Sources: T. Hinton, "Neural networks for machine learning", lecture 6 (2012); A. Graves, "Generating sequences with
    recurrent neural networks" (2013).

    Raises ValueError for an option out of range.
    """

    _later_options: ClassVar[dict[str, Any]] = {
        "momentum": 0,
        "centered": False,
        "foreach": None,
        "maximize": False,
        "differentiable": False,
        "capturable": False,
    }

    def __init__(
        self,
        params: Params,
        lr: Any = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        if not eps >= 0.0:
            raise ValueError(f"Invalid epsilon value: {eps}")
        if not momentum >= 0.0:
            raise ValueError(f"Invalid momentum value: {momentum}")
        if not weight_decay >= 0.0:
            raise ValueError(f"Invalid weight_decay value: {weight_decay}")
        if not alpha >= 0.0:
            raise ValueError(f"Invalid alpha value: {alpha}")
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "alpha": alpha,
            "eps": eps,
            "centered": centered,
            "weight_decay": weight_decay,
            "capturable": capturable,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _rule(self, group: Group) -> Rule:
        if group["centered"]:
            if group["momentum"] > 0:
                return steps.rmsprop_centered_momentum_step, ("square_avg", "grad_avg", "momentum_buffer")
            return steps.rmsprop_centered_step, ("square_avg", "grad_avg")
        if group["momentum"] > 0:
            return steps.rmsprop_momentum_step, ("square_avg", "momentum_buffer")
        return steps.rmsprop_step, ("square_avg",)

    def _prepared(self, group: Group, param: Any, state: State) -> None:
        if not state:
            names = ["square_avg"]
            if group["momentum"] > 0:
                names.append("momentum_buffer")
            if group["centered"]:
                names.append("grad_avg")
            self._new_state(group, param, state, *names)

    def _numbers(self, group: Group, key: None) -> tuple[Any, ...]:
        alpha, momentum = group["alpha"], group["momentum"]
        plain = (group["lr"], alpha, 1 - alpha, group["eps"], group["weight_decay"], sign(group))
        return (*plain, momentum) if momentum > 0 else plain
