"""Gradient descent, with momentum."""

from __future__ import annotations

from typing import Any, ClassVar

from ..creation import empty_like
from ..dispatch import dispatch
from ..kernels.optimizers import sgd_momentum_step, sgd_step
from .optimizer import Group, Optimizer, Params, check_hyperparameter_tensor, check_implementation_flags

__all__ = ["SGD"]


class SGD(Optimizer):
    """Gradient descent, `param -= lr * g`.

    With momentum, `buffer = momentum * buffer + (1 - dampening) * g` stands in place of g; the first buffer is g
    itself. With `nesterov`, `g + momentum * buffer` does. `weight_decay` adds `weight_decay * param` to the gradient,
    `maximize` climbs. `foreach` and `fused` choose nothing: each parameter is updated by one fused loop.

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
        check_hyperparameter_tensor("lr", lr)
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
        check_implementation_flags(foreach, fused, differentiable)

    def _update_group(self, group: Group) -> None:
        momentum = float(group["momentum"])
        lr, weight_decay, maximize = float(group["lr"]), float(group["weight_decay"]), bool(group["maximize"])
        if not momentum:
            for param in group["params"]:
                if (grad := param.grad) is not None:
                    dispatch(sgd_step, (param, grad), (lr, weight_decay, maximize))
            return
        options = (lr, momentum, float(group["dampening"]), weight_decay, bool(group["nesterov"]), maximize)
        for param in group["params"]:
            if (grad := param.grad) is None:
                continue
            state = self.state[param]
            buffer = state.get("momentum_buffer")
            first = buffer is None
            if first:
                buffer = state["momentum_buffer"] = empty_like(param)
            dispatch(sgd_momentum_step, (param, grad, buffer), (*options, first))
