"""Adam."""

from __future__ import annotations

from typing import Any, ClassVar

from ..kernels.optimizers import adam_step, amsgrad_step
from ..tensor import Tensor
from .fused import FusedOptimizer, Rule, State, check_fused, check_lr, sign
from .optimizer import Group, Params

__all__ = ["Adam"]


class Adam(FusedOptimizer):
    """Steps of about `lr`, whatever the scale of the gradient: its running mean over the root of its running square.

    `betas` are the factors by which the two averages forget, `eps` is added to the root. `weight_decay` adds
    `weight_decay * param` to the gradient, or, with `decoupled_weight_decay`, shrinks the parameter by the factor
    `1 - lr * weight_decay`, which is AdamW. With `amsgrad` the largest running square so far takes the place of the
    last one. `maximize` climbs. `foreach` and `fused` choose nothing: the loop is always fused. `differentiable` records
    the step.

    The state of a parameter is `step` (a tensor on the CPU), `exp_avg`, `exp_avg_sq` and, with `amsgrad`,
    `max_exp_avg_sq`.

    Sources: D. Kingma, J. Ba, "Adam: a method for stochastic optimization" (2015), algorithm 1; I. Loshchilov,
    F. Hutter, "Decoupled weight decay regularization" (2019), algorithm 2; S. Reddi, S. Kale, S. Kumar, "On the
    convergence of Adam and beyond" (2018).

    >>> w = tensor([1.0], requires_grad=True)
    >>> optimizer = Adam([w], lr=0.1)
    >>> (w * 1000).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.9000], requires_grad=True)

    Raises ValueError for an option out of range.
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
        weight_decay: Any = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        if foreach and not capturable:
            _check_no_tensor("lr", lr)
        check_lr(lr)
        check_adam_options(betas, eps, weight_decay)
        _check_betas(betas, bool(foreach and not capturable))
        defaults = {
            "lr": lr,
            "betas": tuple(b.reshape(()) if isinstance(b, Tensor) else b for b in betas),
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
        check_fused(foreach, fused, differentiable)

    def _rule(self, group: Group) -> Rule:
        if group["amsgrad"]:
            return amsgrad_step, ("exp_avg", "exp_avg_sq", "max_exp_avg_sq")
        return adam_step, ("exp_avg", "exp_avg_sq")

    def _prepared(self, group: Group, param: Any, state: State) -> float:
        """The number of this step."""
        if not state:
            self._new_state(group, param, state, *self._rule(group)[1])
        count: float = state["step"].item() + 1
        return count

    def _numbers(self, group: Group, count: float) -> tuple[Any, ...]:
        (beta1, beta2), lr, decay = group["betas"], group["lr"], group["weight_decay"]
        rate = lr / (1 - beta1**count)
        root = (1 - beta2**count) ** 0.5
        plain, shrink = decay_numbers(group, lr, decay)
        return rate, root, 1 - beta1, beta2, 1 - beta2, group["eps"], plain, shrink, sign(group)


def decay_numbers(group: Group, lr: Any, decay: Any) -> tuple[Any, Any]:
    """What weight decay adds to the gradient for each unit of the parameter, and what it multiplies the parameter by."""
    if group["decoupled_weight_decay"]:
        return 0.0, 1 - lr * decay
    return decay, 1.0


def check_adam_options(betas: tuple[Any, Any], eps: float, weight_decay: Any) -> None:
    """Raise ValueError, with PyTorch's texts, for an option out of range."""
    if not eps >= 0.0:
        raise ValueError(f"Invalid epsilon value: {eps}")
    for i, beta in enumerate(betas):
        if not 0.0 <= beta < 1.0:
            raise ValueError(f"Invalid beta parameter at index {i}: {beta}")
    if not weight_decay >= 0.0:
        raise ValueError(f"Invalid weight_decay value: {weight_decay}")


def _check_betas(betas: tuple[Any, Any], is_foreach: bool) -> None:
    if not any(all(isinstance(beta, kind) for beta in betas) for kind in (float, Tensor)):
        raise ValueError("betas must be either both floats or both Tensors")
    for i, beta in enumerate(betas):
        if is_foreach:
            _check_no_tensor(f"betas[{i}]", beta)
        if isinstance(beta, Tensor) and beta.numel() != 1:
            raise ValueError(f"Tensor betas[{i}] must be 1-element")


def _check_no_tensor(name: str, value: Any) -> None:
    if isinstance(value, Tensor):
        raise ValueError(f"{name} as a Tensor is not supported for capturable=False and foreach=True")
