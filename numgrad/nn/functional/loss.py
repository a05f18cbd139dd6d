"""Losses: one number for how far an output is from its target."""

from __future__ import annotations

import warnings

from ...operands import broadcast_shapes
from ...ops import losses
from ...tensor import Tensor

__all__ = [
    "cross_entropy",
    "mse_loss",
    "nll_loss",
]


def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """(input - target)^2, reduced; with `weight`, the mean is the weighted mean.

    Warns when the two differ in size, since broadcasting them is rarely meant. Raises ValueError for an unknown
    reduction or a weight of another size.
    """
    if target.size() != input.size():
        warnings.warn(
            f"Using a target size ({target.size()}) that is different to the input size ({input.size()}). "
            "This will likely lead to incorrect results due to broadcasting. "
            "Please ensure they have the same size.",
            stacklevel=2,
        )
        common = broadcast_shapes(tuple(input.shape), tuple(target.shape))
        input, target = input.expand(common), target.expand(common)
    reduction = resolve_reduction(size_average, reduce, reduction)
    if weight is None:
        _check_reduction(reduction)
        return losses.mse_loss(input, target, reduction=reduction)
    return _weighted_mse_loss(input, target, weight, reduction)


def _weighted_mse_loss(input: Tensor, target: Tensor, weight: Tensor, reduction: str) -> Tensor:
    if weight.size() != input.size():
        raise ValueError("Weights and input must have the same size.")
    weighted = (input - target) ** 2 * weight
    if reduction == "none":
        return weighted
    if reduction == "sum":
        return weighted.sum()
    if reduction == "mean":
        return weighted.sum() / weight.sum()
    raise ValueError(f"Invalid reduction mode: {reduction}. Expected one of 'none', 'mean', 'sum'.")


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """-log_softmax(input)[target]: logits of shape (N, C) or (C), class indices of shape (N) or ().

    Targets equal to `ignore_index` do not count.

    Raises ValueError for an unknown reduction, and NotImplementedError for class weights and label smoothing, which are
    not there yet.
    """
    reduction = resolve_reduction(size_average, reduce, reduction)
    _check_reduction(reduction)
    missing = {"weight": weight is not None, "label_smoothing": label_smoothing}
    for name, is_wanted in missing.items():
        if is_wanted:
            raise NotImplementedError(f"cross_entropy: argument '{name}' is not implemented; leave it at its default")
    return losses.cross_entropy(input, target, ignore_index=int(ignore_index), reduction=reduction)


def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """-input[target] for log-probabilities of shape (N, C) or (C); targets and errors as for `cross_entropy`."""
    reduction = resolve_reduction(size_average, reduce, reduction)
    _check_reduction(reduction)
    if weight is not None:
        raise NotImplementedError("nll_loss: argument 'weight' is not implemented; leave it at its default")
    return losses.nll_loss(input, target, ignore_index=int(ignore_index), reduction=reduction)


def resolve_reduction(size_average: bool | None, reduce: bool | None, reduction: str) -> str:
    """The reduction meant by PyTorch's older flags, with its warning; `reduction` itself where neither is given."""
    if size_average is None and reduce is None:
        return reduction
    if reduce is False:
        meant = "none"
    else:
        meant = "sum" if size_average is False else "mean"
    warnings.warn(
        f"size_average and reduce args will be deprecated, please use reduction='{meant}' instead.", stacklevel=3
    )
    return meant


def _check_reduction(reduction: str) -> None:
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
