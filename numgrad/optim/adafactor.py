"""Adafactor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..autograd.grad_mode import enable_grad, no_grad
from ..creation import zeros_like
from ..limits import finfo
from ..tensor import Tensor
from .fused import as_number, count_dtype, new_count
from .optimizer import Group, Optimizer, Params

__all__ = ["Adafactor"]


class Adafactor(Optimizer):
    """Adam's scale without its memory: of a matrix only the mean squares of rows and columns are kept.

    Args:
        params: parameters or groups.
        lr: the largest relative step: that of step t is at most `1 / sqrt(t)`.
        beta2_decay: in step t the averages forget the share `t ** beta2_decay`.
        eps: the least mean square, that of the dtype for None, and the least size that a parameter is taken to have.
        d: updates whose root mean square is above this are scaled down to it.
        weight_decay: every step shrinks a parameter by `1 - lr * weight_decay`.
        foreach: chooses nothing.
        maximize: climb.

    Source: N. Shazeer, M. Stern, "Adafactor: adaptive learning rates with sublinear memory cost" (2018).

    Raises:
        ValueError: an option out of range.
        RuntimeError: complex parameters, in the step.
    """

    def __init__(
        self,
        params: Params,
        lr: Any = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        if not lr >= 0.0:
            raise ValueError(f"Learning rate should be >= 0 but is: {lr}")
        if not beta2_decay <= 0.0:
            raise ValueError(f"beta2_decay should be <= 0 but is: {beta2_decay}")
        if eps[0] is not None and not eps[0] >= 0.0:
            raise ValueError(f"epsilon1 should be >= 0 but is: {eps[0]}")
        if not eps[1] >= 0.0:
            raise ValueError(f"epsilon2 should be >= 0 but is: {eps[1]}")
        if not d >= 1.0:
            raise ValueError(f"Clipping threshold d should be >= 1 but is: {d}")
        if not weight_decay >= 0.0:
            raise ValueError(f"weight_decay should be >= 0 but is: {weight_decay}")
        defaults = {
            "lr": lr,
            "beta2_decay": beta2_decay,
            "eps": eps,
            "d": d,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
        }
        super().__init__(params, defaults)

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
            raise RuntimeError("Adafactor does not support complex parameters")
        state = self.state[param]
        if not state:
            _begin(group, param, state)
        state["step"] += 1
        count, lr = state["step"].item(), as_number(group["lr"])
        least, least_size = group["eps"]
        least = finfo(param.dtype).eps if least is None else least
        grad = -param.grad if group["maximize"] else param.grad
        size = param.norm(2).item() / param.numel() ** 0.5
        rate = max(least_size, size) * min(lr, 1 / count**0.5)
        if group["weight_decay"] != 0:
            param.mul_(1 - lr * group["weight_decay"])
        square = _mean_square(state, grad, count ** group["beta2_decay"], least)
        update = square.clamp_(min=least * least).rsqrt_().mul_(grad)
        too_large = update.norm(2).item() / (update.numel() ** 0.5 * group["d"])
        param.add_(update, alpha=-rate / max(1.0, too_large))

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            group.setdefault("foreach", None)
            for param in group["params"]:
                values = self.state.get(param, {})
                if "step" in values and not isinstance(values["step"], Tensor):  # old state dicts have numbers
                    values["step"] = new_count(float(values["step"]), count_dtype(group))


def _begin(group: Group, param: Any, state: dict[str, Any]) -> None:
    grad = param.grad
    state["step"] = new_count(0.0, count_dtype(group))
    if grad.dim() > 1:
        state["row_var"] = grad.new_zeros((*grad.shape[:-1], 1))
        state["col_var"] = grad.new_zeros((*grad.shape[:-2], 1, grad.shape[-1]))
    else:
        state["variance"] = zeros_like(grad)


def _mean_square(state: dict[str, Any], grad: Any, fresh: float, least: float) -> Any:
    """The running mean square of each item; of a matrix from those of its row and its column."""
    if grad.dim() < 2:
        return state["variance"].lerp_(grad * grad, fresh).clone()
    rows, columns = state["row_var"], state["col_var"]
    for average, dim in ((rows, -1), (columns, -2)):
        average.lerp_(grad.norm(dim=dim, keepdim=True).square().div(grad.size(dim)), fresh)
    return (rows @ columns).div_(rows.mean(dim=-2, keepdim=True).clamp(min=least))
