"""RAdam."""

from __future__ import annotations

from typing import Any, ClassVar

from ..kernels.optimizers import radam_step
from .adam import check_adam_options, decay_numbers
from .fused import FusedOptimizer, Rule, State, check_lr, sign
from .optimizer import Group, Params

__all__ = ["RAdam"]


class RAdam(FusedOptimizer):
    """Adam that divides by the running square only when enough steps make it reliable, and a little less then.

    Source: L. Liu et al., "On the variance of the adaptive learning rate and beyond" (2020), algorithm 2.

    Raises ValueError for an option out of range.
    """

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
        lr: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        check_adam_options(betas, eps, weight_decay)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "decoupled_weight_decay": decoupled_weight_decay,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _rule(self, group: Group) -> Rule:
        return radam_step, ("exp_avg", "exp_avg_sq")

    def _prepared(self, group: Group, param: Any, state: State) -> float:
        """The number of this step."""
        if not state:
            self._new_state(group, param, state, "exp_avg", "exp_avg_sq")
        count: float = state["step"].item() + 1
        return count

    def _numbers(self, group: Group, count: float) -> tuple[Any, ...]:
        (beta1, beta2), lr = group["betas"], group["lr"]
        correction = 1 - beta2**count
        longest = 2 / (1 - beta2) - 1  # of the running square, in steps that it covers
        length = longest - 2 * count * beta2**count / correction
        scaled = 0.0
        if length > 5:
            variances = (length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length)
            scaled = correction**0.5 * variances**0.5
        decay, shrink = decay_numbers(group, lr, group["weight_decay"])
        averages = (1 - beta1, beta2, 1 - beta2)
        return lr / (1 - beta1**count), scaled, *averages, group["eps"], decay, shrink, sign(group)
