"""Losses with a margin: hinges on scores, rankings, distances and similarities."""

from __future__ import annotations

from collections.abc import Callable

from ... import ops
from ...dispatch import dispatch
from ...kernels import pointwise_losses
from ...tensor import Tensor
from .reductions import REDUCTIONS, checked_reduction, reduced, resolve_reduction

__all__ = [
    "cosine_embedding_loss",
    "hinge_embedding_loss",
    "margin_ranking_loss",
    "multi_margin_loss",
    "multilabel_margin_loss",
    "multilabel_soft_margin_loss",
    "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
]

Distance = Callable[[Tensor, Tensor], Tensor]


def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """`input` where the target is 1, max(0, margin - input) where it is -1, reduced."""
    reduction = checked_reduction(size_average, reduce, reduction)
    zeros = input.detach().new_zeros(())
    apart = ops.where(target != 1, (zeros + margin - input).clamp_min(0), zeros)
    return reduced(apart + ops.where(target != -1, input, zeros), reduction)


def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """max(0, margin - target * (input1 - input2)), reduced: a target of 1 ranks the first higher, -1 the second.

    Raises RuntimeError for tensors of different ranks.
    """
    reduction = checked_reduction(size_average, reduce, reduction)
    if input1.dim() != input2.dim() or input1.dim() != target.dim():
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: {input1.size()}, input2: {input2.size()}, target: {target.size()} "
        )
    return reduced((-target * (input1 - input2) + margin).clamp_min(0), reduction)


def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """1 - cos where the target is 1, max(0, cos - margin) where it is -1, of the angle between two vectors; reduced.

    Inputs are (N, D) with targets (N), or (D) with a target ().

    Raises RuntimeError for other ranks.
    """
    reduction = checked_reduction(size_average, reduce, reduction)
    rank = target.dim()
    if rank > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if input1.dim() != rank + 1:
        raise RuntimeError(
            f"{rank}D target tensor expects {rank + 1}D input tensors, but found inputs with sizes {list(input1.shape)} and "
            f"{list(input2.shape)}."
        )
    tiny = 1e-12
    squares = ((input1 * input1).sum(rank) + tiny) * ((input2 * input2).sum(rank) + tiny)
    cosine = (input1 * input2).sum(rank) / squares.sqrt()
    zeros = cosine.detach().new_zeros(())
    alike = ops.where(target == 1, 1 - cosine, zeros)
    return reduced(alike + ops.where(target == -1, (cosine - margin).clamp_min(0), zeros), reduction)


# ---------------------------------------------------------------------------------------------------- triplets
def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """max(0, margin + d(anchor, positive) - d(anchor, negative)), reduced, with `pairwise_distance` as d.

    With `swap` the negative's distance from the positive counts where it is the smaller one (Balntas et al., 2016).

    Raises ValueError for a margin that is not above 0, RuntimeError for tensors of different ranks.
    """
    reduction = checked_reduction(size_average, reduce, reduction)
    return _triplet_loss(
        anchor, positive, negative, lambda x, y: ops.pairwise_distance(x, y, p, eps), margin, swap, reduction
    )


def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Distance | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """`triplet_margin_loss` with any distance; `pairwise_distance` if none is given."""
    if reduction not in REDUCTIONS:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return _triplet_loss(
        anchor, positive, negative, distance_function or ops.pairwise_distance, margin, swap, reduction
    )


def _triplet_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    distance: Distance,
    margin: float,
    swap: bool,
    reduction: str,
) -> Tensor:
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    ranks = anchor.dim(), positive.dim(), negative.dim()
    if len(set(ranks)) > 1:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: anchor "
            "{}D, positive {}D, and negative {}D inputs".format(*ranks)
        )
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = ops.minimum(far, distance(positive, negative))
    return reduced((margin + near - far).clamp_min(0), reduction)


# ---------------------------------------------------------------------------------------------------- classes
def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """sum of max(0, margin - input[target] + input[i])^p over the other classes i, divided by their number, reduced.

    Scores are (N, C) or (C), targets (N) or (). `weight` is that of the target's class.

    Raises ValueError for another `p` than 1 and 2, RuntimeError for shapes that do not fit.
    """
    reduction = checked_reduction(size_average, reduce, reduction)
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.dim() != 1:
        raise ValueError("weight must be one-dimensional")
    _check_scores(input)
    rows = input.reshape(-1, input.shape[-1] if input.dim() else 1)
    if target.dim() > 1 or target.numel() != len(rows):
        raise RuntimeError(
            "multi_margin_loss: target tensor should be 1-D with size equal to the number of input samples (batch size). "
            f"Expected target size [{len(rows)}], but got {list(target.shape)}. Input has shape {list(input.shape)}."
        )
    count = rows.shape[1]
    if weight is not None and weight.numel() != count:
        raise RuntimeError(f"inconsistent weight size, expected {count} but got {list(weight.shape)}")
    _check_dtypes("multi_margin_loss_cpu_kernel", input, target)
    classes = target.reshape(-1, 1)
    if bool(((classes < 0) | (classes >= count)).any()):
        raise RuntimeError("target out of range")
    excess = (margin - rows.gather(1, classes) + rows).clamp_min(0)
    if p == 2:
        excess = excess * excess
    if weight is not None:
        excess = excess * weight.gather(0, target.reshape(-1)).unsqueeze(1)
    losses = excess.scatter(1, classes, 0.0).sum(1) / count
    return reduced(losses if target.dim() else losses.squeeze(0), reduction)


def _check_scores(input: Tensor) -> None:
    if input.dim() > 2 or (input.dim() and not input.shape[-1]):
        raise RuntimeError(
            f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(input.shape)}"
        )


def _check_dtypes(kernel: str, input: Tensor, target: Tensor) -> None:
    if not input.dtype.is_floating_point:
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{input.dtype.scalar_name}'")
    if target.dtype.name != "int64":
        raise RuntimeError(f"expected scalar type Long but found {target.dtype.scalar_name}")


def multilabel_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """sum of max(0, 1 - input[t] + input[i]) over targets t and other classes i, divided by the number of classes; reduced.

    Scores and targets are (N, C) or (C); a row's targets end at its first -1.

    Raises RuntimeError for shapes that do not fit, and for a target that is no class.
    """
    reduction = checked_reduction(size_average, reduce, reduction)
    _check_scores(input)
    if target.shape != input.shape:
        raise RuntimeError(f"inconsistent target size: {list(target.shape)} for input of size: {list(input.shape)}")
    _check_dtypes("multilabel_margin_loss_forward_out_frame", input, target)
    if bool(((target < -1) | (target >= (input.shape[-1] if input.dim() else 1))).any()):
        raise RuntimeError("argument #2 'target' is out of range")
    rows, marks = (x.reshape(-1, input.shape[-1] if input.dim() else 1) for x in (input, target))
    counts = (marks >= 0).long().cumprod(1)
    classes = marks * counts
    is_target = rows.detach().new_zeros(rows.shape).scatter_add(1, classes, counts.to(rows.dtype)) > 0
    excess = (1 - rows.gather(1, classes).unsqueeze(2) + rows.unsqueeze(1)).clamp_min(0)
    counted = counts.bool().unsqueeze(2) & ~is_target.unsqueeze(1)
    losses = (excess * counted).sum((1, 2)) / rows.shape[1]
    return reduced(losses if input.dim() == 2 else losses.squeeze(0), reduction)


def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The mean over the classes (the last dimension) of `binary_cross_entropy_with_logits`, times `weight`; reduced."""
    reduction = resolve_reduction(size_average, reduce, reduction)
    op = pointwise_losses.binary_cross_entropy_with_logits
    common = ops.result_type(input, target)
    losses = dispatch(op, (input.to(common), target.to(common)), ("none",))
    if weight is not None:
        losses = losses * weight
    losses = losses.sum(-1) / input.shape[-1]
    if reduction not in REDUCTIONS:
        raise ValueError(f"{reduction} is not valid")
    return reduced(losses, reduction)
