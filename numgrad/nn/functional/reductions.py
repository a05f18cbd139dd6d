"""What losses share: the reduction and its older names, and checks of arguments."""

from __future__ import annotations

import warnings
from typing import Any

from ...autograd.grad_mode import mode
from ...tensor import Tensor

__all__: list[str] = []

REDUCTIONS = ("none", "mean", "sum")


def resolve_reduction(size_average: bool | None, reduce: bool | None, reduction: str, stacklevel: int = 3) -> str:
    """The reduction meant by PyTorch's older flags, with its warning; `reduction` itself where neither is given."""
    if size_average is None and reduce is None:
        return reduction
    if reduce is False:
        meant = "none"
    else:
        meant = "sum" if size_average is False else "mean"
    warnings.warn(
        f"size_average and reduce args will be deprecated, please use reduction='{meant}' instead.",
        stacklevel=stacklevel,
    )
    return meant


def checked_reduction(size_average: bool | None, reduce: bool | None, reduction: str) -> str:
    """The reduction that a function was asked for. Raises ValueError for an unknown one."""
    reduction = resolve_reduction(size_average, reduce, reduction, stacklevel=4)
    check_reduction(reduction)
    return reduction


def check_reduction(reduction: str) -> None:
    """Raise ValueError for an unknown reduction."""
    if reduction not in REDUCTIONS:
        raise ValueError(f"{reduction} is not a valid value for reduction")


def reduced(losses: Tensor, reduction: str) -> Tensor:
    """The mean or the sum of losses, or all of them."""
    return losses if reduction == "none" else losses.mean() if reduction == "mean" else losses.sum()


def check_constant(name: str, **arguments: Tensor | None) -> None:
    """Raise RuntimeError for a tensor that requires a gradient, as argument of the function `name` that gives it none."""
    for argument, value in arguments.items():
        if value is not None and value.requires_grad and mode.enabled:
            raise RuntimeError(
                f"The function '{name}' is not differentiable with respect to argument '{argument}'. "
                "This input cannot have requires_grad True."
            )


def check_number(name: str, argument: str, position: int, value: Any) -> None:
    """Raise TypeError for an argument that is no number."""
    if not isinstance(value, (int, float)):
        raise TypeError(
            f"{name}(): argument '{argument}' (position {position}) must be float, not {type(value).__name__}"
        )
