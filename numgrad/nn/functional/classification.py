"""Losses of class scores: nll_loss and cross_entropy."""

from __future__ import annotations

import math
from typing import Any

from ...call_plans import Call, with_plans
from ...kernels import class_losses
from ...ops.checks import check_tensor
from ...ops.probabilities import log_softmax
from ...tensor import Tensor
from .reductions import check_constant, check_number, checked_reduction, reduced

__all__ = ["cross_entropy", "nll_loss"]


# ---------------------------------------------------------------------------------------------------- nll_loss
def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """-input[target] for log-probabilities (N, C), (C) or (N, C, d1, ...) and class indices (N), () or (N, d1, ...).

    Targets equal to `ignore_index` do not count. With a `weight` for each class the mean is the weighted one.

    Raises IndexError for a target that is no class, ValueError for an unknown reduction and batches that differ.
    """
    reduction = checked_reduction(size_average, reduce, reduction)
    _check_arguments("nll_loss_nd", input, target, weight, ignore_index)
    return _nll_loss(input, target, weight, ignore_index, reduction)


def _check_arguments(name: str, input: Any, target: Any, weight: Any, ignore_index: Any) -> None:
    check_tensor(name, input)
    check_tensor(name, target, "target", 2)
    if weight is not None:
        check_tensor(name, weight, "weight", 3)
    if not isinstance(ignore_index, int):
        kind = type(ignore_index).__name__
        raise TypeError(f"{name}(): argument 'ignore_index' (position 5) must be int, not {kind}")


@with_plans
def _nll_loss(input: Any, target: Any, weight: Any, ignore_index: int, reduction: str) -> Any:
    rank = input.dim()
    if rank < 1:
        raise ValueError(f"Expected 1 or more dimensions (got {rank})")
    batch = target.shape[0] if target.dim() else 0
    if rank > 1 and input.shape[0] != batch:
        raise ValueError(f"Expected input batch_size ({input.shape[0]}) to match target batch_size ({batch}).")
    if rank == 3 or rank > 4:
        return _nll_loss_nd(input, target, weight, ignore_index, reduction)
    if target.dtype.name == "uint8":
        target = target.long()
    if target.dtype.name != "int64":
        raise RuntimeError(f"expected target dtype to be Long or Byte, but got {target.dtype.scalar_name}")
    (_check_image if rank == 4 else _check_rows)(input, target, weight)
    check_constant("nll_loss2d_forward" if rank == 4 else "nll_loss_forward", weight=weight)
    kernel = "nll_loss2d_forward_out_frame" if rank == 4 else "nll_loss_out_frame"
    if not input.dtype.is_floating_point:
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{input.dtype.scalar_name}'")
    if weight is None:
        op = class_losses.nll_loss2d if rank == 4 else class_losses.nll_loss
        return Call(op, (input, target), (reduction, ignore_index))
    if weight.dtype is not input.dtype:
        names = input.dtype.scalar_name, weight.dtype.scalar_name
        raise RuntimeError("expected scalar type {} but found {}".format(*names))
    op = class_losses.nll_loss2d_weight if rank == 4 else class_losses.nll_loss_weight
    return Call(op, (input, target, weight), (reduction, ignore_index), kept=False)  # `check_constant` asks each time


def _check_rows(input: Tensor, target: Tensor, weight: Tensor | None) -> None:
    if target.dim() > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if input.dim() == 1 and target.dim() == 1 and target.shape[0] != 1:
        raise ValueError(f"For 1D input, 1D target must have size 1, but got target size: {target.shape[0]}")
    classes = input.shape[-1]
    if weight is not None and (weight.dim() != 1 or weight.numel() != classes):
        raise RuntimeError(
            f"weight tensor should be defined either for all {classes} classes or no classes but got weight tensor of "
            f"shape: {list(weight.shape)}"
        )


def _check_image(input: Tensor, target: Tensor, weight: Tensor | None) -> None:
    if target.dim() != 3:
        raise RuntimeError(
            f"only batches of spatial targets supported (3D tensors) but got targets of dimension: {target.dim()}"
        )
    if tuple(target.shape) != (input.shape[0], *input.shape[2:]):
        raise RuntimeError(f"size mismatch (got input: {list(input.shape)} , target: {list(target.shape)}")
    if weight is not None and weight.numel() != input.shape[1]:
        raise RuntimeError("weight tensor should be defined either for all or no classes")


def _nll_loss_nd(input: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int, reduction: str) -> Tensor:
    """(N, C, d1, ...) as an image of one row."""
    n, classes = input.shape[:2]
    wanted = (n, *input.shape[2:])
    if tuple(target.shape) != wanted:
        raise RuntimeError(f"Expected target size {list(wanted)}, got {list(target.shape)}")
    image = input.reshape(n, classes, 1, -1 if input.numel() else 0)
    out = _nll_loss(image, target.reshape(n, 1, -1 if target.numel() else 0), weight, ignore_index, reduction)
    return out.view(wanted) if reduction == "none" else out


# ---------------------------------------------------------------------------------------------------- cross_entropy
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
    """-log_softmax(input)[target] for logits (N, C), (C) or (N, C, d1, ...).

    Targets are class indices (N), () or (N, d1, ...), or class probabilities in the shape of the input. With
    `label_smoothing`, so much of each target is spread over all classes alike (Szegedy et al., 2016). Targets equal to
    `ignore_index` do not count. With a `weight` for each class the mean is the weighted one (of class indices).

    Raises IndexError for a target that is no class, ValueError for an unknown reduction and batches that differ.

    Example:
        >>> import numgrad as ng
        >>> ng.nn.functional.cross_entropy(ng.zeros(1, 4), ng.tensor([2]))
        tensor(1.3863)
    """
    reduction = checked_reduction(size_average, reduce, reduction)
    _check_arguments("cross_entropy_loss", input, target, weight, ignore_index)
    check_number("cross_entropy_loss", "label_smoothing", 6, label_smoothing)
    if input._array.shape == target._array.shape:
        if not target.dtype.is_floating_point:
            raise RuntimeError(
                f"Expected floating point type for target with class probabilities, got {target.dtype.scalar_name}"
            )
        if ignore_index >= 0:
            raise RuntimeError("ignore_index is not supported for floating point target")
        return _of_probabilities(input, target, weight, reduction, label_smoothing)
    scores = log_softmax(input, 0 if input.dim() == 1 else 1)
    loss = _nll_loss(scores, target, weight, ignore_index, reduction)
    if label_smoothing <= 0.0:
        return loss
    _check_smoothing(label_smoothing)
    spread = _of_all_classes(scores, target, weight, ignore_index, reduction)
    classes = scores.shape[0 if scores.dim() == 1 else 1]
    return (1 - label_smoothing) * loss + spread * (label_smoothing / classes)


def _check_smoothing(label_smoothing: float) -> None:
    if label_smoothing > 1.0:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing:g}")


def _of_all_classes(scores: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int, reduction: str) -> Tensor:
    """The loss if every class was the target, summed over the classes: what label smoothing adds."""
    along = 0 if scores.dim() == 1 else 1
    if weight is not None:
        scores = scores * weight.reshape([-1 if d == along else 1 for d in range(scores.dim())])
    losses = -scores.sum(along)
    target = target.reshape(losses.shape)
    ignored = target.eq(ignore_index)
    losses = losses.masked_fill(ignored, 0.0)
    if reduction != "mean":
        return reduced(losses, reduction)
    if weight is None:
        return losses.masked_select(~ignored).mean()
    return losses.sum() / weight.gather(0, target.masked_select(~ignored)).sum()


def _of_probabilities(
    input: Tensor, target: Tensor, weight: Tensor | None, reduction: str, label_smoothing: float
) -> Tensor:
    along = 0 if input.dim() == 1 else 1
    if not input.dim():
        raise IndexError("Dimension specified as 1 but tensor has no dimensions")
    classes = input.shape[along]
    if weight is not None and (weight.dim() != 1 or weight.numel() != classes):
        raise RuntimeError(
            f"cross_entropy: weight tensor should be defined either for all {classes} classes or no classes but got weight "
            f"tensor of shape: {list(weight.shape)}"
        )
    scores = log_softmax(input, along)
    if label_smoothing > 0.0:
        _check_smoothing(label_smoothing)
        target = target * (1 - label_smoothing) + label_smoothing / classes
    products = scores * target
    if weight is not None:
        products = products * weight.view([classes if d == along else 1 for d in range(input.dim())])
    if reduction == "none":
        return -products.sum(along)
    if reduction == "mean" and not input.numel():
        return -(products.sum() + math.nan)
    total = -products.sum()
    return total if reduction == "sum" else total / (input.numel() / classes)
