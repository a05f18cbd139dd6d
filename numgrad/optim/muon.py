"""Muon."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..autograd.grad_mode import enable_grad, no_grad
from ..creation import zeros_like
from ..ops import addmm
from ..tensor import Tensor
from .fused import as_number
from .optimizer import Group, Optimizer, Params

__all__ = ["Muon"]


class Muon(Optimizer):
    """Momentum whose update is made orthogonal, for the matrices inside of a network.

    Args:
        params: matrices, or groups of them.
        lr: the learning rate.
        weight_decay: every step shrinks a parameter by `1 - lr * weight_decay`.
        momentum: the share of the running mean of the gradients that is kept.
        nesterov: mix the mean with the gradient itself once more.
        ns_coefficients: of the polynomial that is iterated on the update, a x + b x^3 + c x^5.
        eps: the least norm that the update is divided by.
        ns_steps: the number of iterations, below 100.
        adjust_lr_fn: "original" (also None) scales the rate of an A x B matrix by `sqrt(max(1, A / B))`,
            "match_rms_adamw" by `0.2 * sqrt(max(A, B))`.

    Source: K. Jordan, "Muon: an optimizer for hidden layers in neural networks" (2024).

    Raises:
        ValueError: an option out of range, or parameters that are no matrices.
        RuntimeError: complex parameters, in the step.
    """

    def __init__(
        self,
        params: Params,
        lr: Any = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.7750, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        if not lr >= 0.0:
            raise ValueError(f"Learning rate should be >= 0 but is: {lr}")
        if not momentum >= 0.0:
            raise ValueError(f"momentum should be >= 0 but is: {momentum}")
        if not weight_decay >= 0.0:
            raise ValueError(f"weight decay should be >= 0 but is: {weight_decay}")
        if adjust_lr_fn not in (None, "original", "match_rms_adamw"):
            raise ValueError(f"Adjust learning rate function {adjust_lr_fn} is not supported")
        defaults = {
            "lr": lr,
            "weight_decay": weight_decay,
            "momentum": momentum,
            "nesterov": nesterov,
            "ns_coefficients": ns_coefficients,
            "eps": eps,
            "ns_steps": ns_steps,
            "adjust_lr_fn": adjust_lr_fn,
        }
        super().__init__(params, defaults)
        for group in self.param_groups:
            for param in group["params"]:
                if param.ndim != 2:
                    raise ValueError(
                        f"Muon only supports 2D parameters whereas we found a parameter with size: {param.size()}"
                    )

    @no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update every parameter that has a gradient. The closure's loss is returned."""
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        for group in self.param_groups:
            for param in group["params"]:
                if param.grad is not None:
                    self._update(group, param)
        return loss

    def _update(self, group: Group, param: Any) -> None:
        if param.is_complex():
            raise RuntimeError("Muon does not support complex parameters")
        state, grad, momentum, lr = self.state[param], param.grad, group["momentum"], as_number(group["lr"])
        if "momentum_buffer" not in state:
            state["momentum_buffer"] = zeros_like(grad)
        buffer = state["momentum_buffer"].lerp_(grad, 1 - momentum)
        update = _orthogonal(grad.lerp(buffer, momentum) if group["nesterov"] else buffer, group)
        param.mul_(1 - lr * group["weight_decay"])
        param.add_(update, alpha=-lr * _ratio(group["adjust_lr_fn"], *param.shape))


def _orthogonal(update: Any, group: Group) -> Any:
    """The nearest matrix with orthogonal rows or columns, about: Newton and Schulz's iteration, in bfloat16."""
    if group["ns_steps"] >= 100:
        raise ValueError("Number of steps must be less than 100 for computational efficiency")
    if len(group["ns_coefficients"]) != 3:
        raise ValueError("Coefficients must be a tuple of exactly 3 values")
    a, b, c = group["ns_coefficients"]
    is_tall = update.size(0) > update.size(1)
    x = update.bfloat16()
    x = x.T if is_tall else x
    x = x / x.norm().clamp(min=group["eps"])
    for _ in range(group["ns_steps"]):
        gram = x @ x.T
        x = addmm(x, addmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.T if is_tall else x


def _ratio(name: str | None, rows: int, columns: int) -> float:
    if name == "match_rms_adamw":
        return 0.2 * math.sqrt(max(rows, columns))
    return math.sqrt(max(1, rows / columns))
