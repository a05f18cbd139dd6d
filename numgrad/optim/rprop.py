"""Rprop."""

from __future__ import annotations

from typing import Any, ClassVar

from ..creation import full_like
from ..kernels.optimizers import rprop_step
from .fused import FusedOptimizer, Rule, State, as_number, check_lr, sign
from .optimizer import Group, Params

__all__ = ["Rprop"]


class Rprop(FusedOptimizer):
    """Steps by the gradient's sign, of a size of each item's own.

    It starts at `lr`, grows by `etas[1]` where the sign stays and shrinks by `etas[0]` where it changes, within
    `step_sizes`. Where it changes there is no step.

    Source: M. Riedmiller, H. Braun, "A direct adaptive method for faster backpropagation learning: the RPROP algorithm"
    (1993).

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
        lr: Any = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        defaults = {
            "lr": lr,
            "etas": etas,
            "step_sizes": step_sizes,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _rule(self, group: Group) -> Rule:
        return rprop_step, ("prev", "step_size")

    def _prepared(self, group: Group, param: Any, state: State) -> None:
        if not state:
            lr = as_number(group["lr"])
            self._new_state(group, param, state, "prev")
            state["step_size"] = full_like(param.grad, complex(lr, lr) if param.is_complex() else lr)

    def _numbers(self, group: Group, key: None) -> tuple[Any, ...]:
        return *group["step_sizes"], *group["etas"], sign(group)
