"""Adam and AdamW."""

from __future__ import annotations

from typing import Any, ClassVar

from ..creation import zeros, zeros_like
from ..dispatch import dispatch
from ..dtype import dtype, float32, float64, get_default_dtype
from ..kernels.optimizers import adam_step
from ..tensor import Tensor
from .optimizer import Group, Optimizer, Params, check_hyperparameter_tensor, check_implementation_flags

__all__ = ["Adam", "AdamW"]


class Adam(Optimizer):
    """Steps of about `lr`, whatever the scale of the gradient: its running mean over the root of its running square.

    `betas` are the factors by which the two averages forget, `eps` is added to the root. `weight_decay` adds
    `weight_decay * param` to the gradient, or, with `decoupled_weight_decay`, shrinks the parameter by the factor
    `1 - lr * weight_decay`, which is AdamW. `maximize` climbs. `foreach` and `fused` choose nothing: each parameter is
    updated by one fused loop.

    The state of a parameter is `step` (a tensor on the CPU), `exp_avg` and `exp_avg_sq`.

    Sources: D. Kingma, J. Ba, "Adam: a method for stochastic optimization" (2015), algorithm 1; I. Loshchilov,
    F. Hutter, "Decoupled weight decay regularization" (2019), algorithm 2.

    >>> w = tensor([1.0], requires_grad=True)
    >>> optimizer = Adam([w], lr=0.1)
    >>> (w * 1000).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.9000], requires_grad=True)

    Raises ValueError for an option out of range, and NotImplementedError for `amsgrad`, `capturable` and
    `differentiable`.
    """

    _later_options: ClassVar[dict[str, Any]] = {
        "amsgrad": False,
        "maximize": False,
        "foreach": None,
        "capturable": False,
        "differentiable": False,
        "decoupled_weight_decay": False,
        "fused": None,
    }

    def __init__(
        self,
        params: Params,
        lr: Any = 1e-3,
        betas: tuple[Any, Any] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        check_hyperparameter_tensor("lr", lr)
        _check_ranges(lr, betas, eps, weight_decay)
        defaults = {
            "lr": lr,
            "betas": tuple(betas),
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
            "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        super().__init__(params, defaults)
        check_implementation_flags(foreach, fused, differentiable)
        for group in self.param_groups:
            _check_implemented(group)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for values in self.state.values():
            if values and not isinstance(values["step"], Tensor):  # old state dicts have a number
                values["step"] = zeros((), dtype=_step_dtype()) + float(values["step"])

    def _update_group(self, group: Group) -> None:
        _check_implemented(group)
        beta1, beta2 = group["betas"]
        options = (
            float(group["lr"]),
            float(beta1),
            float(beta2),
            float(group["eps"]),
            float(group["weight_decay"]),
            bool(group["maximize"]),
            bool(group["decoupled_weight_decay"]),
        )
        for param in group["params"]:
            if (grad := param.grad) is None:
                continue
            state = self.state[param]
            if not state:
                state["step"] = zeros((), dtype=_step_dtype())
                state["exp_avg"] = zeros_like(param)
                state["exp_avg_sq"] = zeros_like(param)
            dispatch(adam_step, (param, grad, state["exp_avg"], state["exp_avg_sq"], state["step"]), options)


class AdamW(Adam):
    """Adam with decoupled weight decay: every step shrinks a parameter by the factor `1 - lr * weight_decay`."""

    def __init__(
        self,
        params: Params,
        lr: Any = 1e-3,
        betas: tuple[Any, Any] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            foreach=foreach,
            maximize=maximize,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=True,
        )

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:  # whatever optimizer saved it
            group["decoupled_weight_decay"] = True


def _check_ranges(lr: Any, betas: tuple[Any, Any], eps: float, weight_decay: float) -> None:
    if not lr >= 0.0:
        raise ValueError(f"Invalid learning rate: {lr}")
    if not eps >= 0.0:
        raise ValueError(f"Invalid epsilon value: {eps}")
    for i, beta in enumerate(betas):
        if not 0.0 <= beta < 1.0:
            raise ValueError(f"Invalid beta parameter at index {i}: {beta}")
    if not weight_decay >= 0.0:
        raise ValueError(f"Invalid weight_decay value: {weight_decay}")
    if not any(all(isinstance(beta, kind) for beta in betas) for kind in (float, Tensor)):
        raise ValueError("betas must be either both floats or both Tensors")
    for i, beta in enumerate(betas):
        check_hyperparameter_tensor(f"betas[{i}]", beta)


def _check_implemented(group: Group) -> None:
    for name in ("amsgrad", "capturable"):
        if group[name]:
            raise NotImplementedError(f"{name}=True is not implemented: leave it False")


def _step_dtype() -> dtype:
    """float64 where that is the default dtype, else float32."""
    return float64 if get_default_dtype() is float64 else float32
