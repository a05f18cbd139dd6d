"""NAdam."""

from __future__ import annotations

from typing import Any, ClassVar

from ..kernels.optimizers import nadam_step
from .adam import check_adam_options, decay_numbers
from .fused import FusedOptimizer, Rule, State, check_lr, sign
from .optimizer import Group, Params

__all__ = ["NAdam"]


class NAdam(FusedOptimizer):
    """Adam with Nesterov's look ahead.

    In step t the momentum is `betas[0] * (1 - 0.96 ** (t * momentum_decay) / 2)`. The state has the product of those so
    far, `mu_product`.

    Source: T. Dozat, "Incorporating Nesterov momentum into Adam" (2016).

    Raises ValueError for an option out of range.
    """

    _counters: ClassVar[dict[str, float]] = {"step": 0.0, "mu_product": 1.0}
    _on_capturable = ("params, mu_products and state_steps", FusedOptimizer._on_capturable[1])
    _later_options: ClassVar[dict[str, Any]] = {
        "foreach": None,
        "maximize": False,
        "differentiable": False,
        "capturable": False,
        "decoupled_weight_decay": False,
    }

    def __init__(
        self,
        params: Params,
        lr: Any = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        check_adam_options(betas, eps, weight_decay)
        if not momentum_decay >= 0.0:
            raise ValueError(f"Invalid momentum_decay value: {momentum_decay}")
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _rule(self, group: Group) -> Rule:
        return nadam_step, ("exp_avg", "exp_avg_sq")

    def _prepared(self, group: Group, param: Any, state: State) -> tuple[float, float]:
        """The number of this step, and the product of all momenta."""
        if not state:
            self._new_state(group, param, state, "exp_avg", "exp_avg_sq")
        count = state["step"].item() + 1
        state["mu_product"].mul_(_momentum(group, count))
        return count, state["mu_product"].item()

    def _numbers(self, group: Group, key: tuple[float, float]) -> tuple[Any, ...]:
        count, product = key
        (beta1, beta2), lr = group["betas"], group["lr"]
        momentum, following = _momentum(group, count), _momentum(group, count + 1)
        grad_rate = lr * (1 - momentum) / (1 - product)
        rate = lr * following / (1 - product * following)
        decay, shrink = decay_numbers(group, lr, group["weight_decay"])
        corrections = (1 - beta2**count, 1 - beta1, beta2, 1 - beta2)
        return grad_rate, rate, *corrections, group["eps"], decay, shrink, sign(group)


def _momentum(group: Group, count: float) -> float:
    momentum: float = group["betas"][0] * (1 - 0.5 * 0.96 ** (count * group["momentum_decay"]))
    return momentum
