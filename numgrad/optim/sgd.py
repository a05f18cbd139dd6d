"""Gradient descent, with momentum."""

from __future__ import annotations

from typing import Any, ClassVar

from ..creation import zeros_like
from ..kernels.optimizers import sgd_momentum_step, sgd_step
from ..tensor import Tensor
from .fused import FusedOptimizer, Rule, State, check_fused, sign
from .optimizer import Group, Params

__all__ = ["SGD"]


class SGD(FusedOptimizer):
    """Gradient descent, `param -= lr * g`.

    With momentum, `buffer = momentum * buffer + (1 - dampening) * g` stands in place of g; the first buffer is g
    itself. With `nesterov`, `g + momentum * buffer` does. `weight_decay` adds `weight_decay * param` to the gradient,
    `maximize` climbs. `foreach` and `fused` choose nothing: the loop is always fused.

    Source: I. Sutskever et al., "On the importance of initialization and momentum in deep learning" (2013), in the form
    of PyTorch.

    >>> w = tensor([1.0], requires_grad=True)
    >>> optimizer = SGD([w], lr=0.5)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.], requires_grad=True)

    Raises ValueError for a negative option, and for `nesterov` without momentum or with dampening.
    """

    _counters: ClassVar[dict[str, float]] = {}
    _later_options: ClassVar[dict[str, Any]] = {
        "nesterov": False,
        "maximize": False,
        "foreach": None,
        "differentiable": False,
        "fused": False,
    }

    def __init__(
        self,
        params: Params,
        lr: Any = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: Any = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        if lr < 0.0:
            raise ValueError(f"Invalid learning rate: {lr}")
        if momentum < 0.0:
            raise ValueError(f"Invalid momentum value: {momentum}")
        if weight_decay < 0.0:
            raise ValueError(f"Invalid weight_decay value: {weight_decay}")
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
            "foreach": foreach,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)
        check_fused(foreach, fused, differentiable)

    def _rule(self, group: Group) -> Rule:
        return (sgd_momentum_step, ("momentum_buffer",)) if group["momentum"] != 0 else (sgd_step, ())

    def _prepared(self, group: Group, param: Any, state: State) -> bool:
        """Whether this is the first step, which makes the buffer."""
        if group["momentum"] == 0 or state.get("momentum_buffer") is not None:
            return False
        state["momentum_buffer"] = zeros_like(param)
        return True

    def _numbers(self, group: Group, first: bool) -> tuple[Any, ...]:
        plain = (group["lr"], group["weight_decay"], sign(group))
        momentum = group["momentum"]
        if momentum == 0:
            return plain
        keep, fresh = (0.0, 1.0) if first else (momentum, 1 - group["dampening"])
        return (*plain, keep, fresh, momentum if group["nesterov"] else 0.0)
