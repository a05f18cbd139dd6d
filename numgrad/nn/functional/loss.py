"""Losses that compare items one by one: regression, binary classification, distributions."""

from __future__ import annotations

import math
import warnings

from ...autograd import no_grad
from ...dispatch import dispatch
from ...dtype import promote_types
from ...kernels import pointwise_losses
from ...operands import broadcast_shapes as common_shape
from ...ops import any, broadcast_shapes
from ...tensor import Tensor
from .reductions import (
    REDUCTIONS,
    check_constant,
    check_number,
    check_reduction,
    checked_reduction,
    reduced,
    resolve_reduction,
)

__all__ = [
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "gaussian_nll_loss",
    "huber_loss",
    "kl_div",
    "l1_loss",
    "mse_loss",
    "poisson_nll_loss",
    "smooth_l1_loss",
    "soft_margin_loss",
]


# ---------------------------------------------------------------------------------------------------- regression
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
    reduction or a weight of another size, NotImplementedError for integers.
    """
    input, target = _side_by_side(input, target)
    reduction = resolve_reduction(size_average, reduce, reduction)
    if weight is not None:
        return _weighted((input - target) ** 2, input, weight, reduction)
    check_reduction(reduction)
    input, target = _promoted(input, target)
    _check_floating("mse_cpu", input)
    return dispatch(pointwise_losses.mse_loss, (input, target), (reduction,))


def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """|input - target|, reduced; warnings, weights and errors as for `mse_loss`."""
    input, target = _side_by_side(input, target)
    reduction = resolve_reduction(size_average, reduce, reduction)
    if weight is not None:
        return _weighted((input - target).abs(), input, weight, reduction)
    check_reduction(reduction)
    return reduced((input - target).abs(), reduction)


def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """|input - target| - beta / 2, reduced; below `beta` the parabola that continues it (Girshick, 2015).

    Warns as `mse_loss` does. Raises RuntimeError for a negative `beta`, NotImplementedError for integers.
    """
    input, target = _side_by_side(input, target)
    reduction = checked_reduction(size_average, reduce, reduction)
    check_number("smooth_l1_loss", "beta", 4, beta)
    if beta == 0.0:
        return reduced((input - target).abs(), reduction)
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    input, target = _promoted(input, target)
    _check_floating("smooth_l1_cpu", input)
    return dispatch(pointwise_losses.smooth_l1_loss, (input, target), (float(beta), reduction))


def huber_loss(
    input: Tensor,
    target: Tensor,
    reduction: str = "mean",
    delta: float = 1.0,
    weight: Tensor | None = None,
) -> Tensor:
    """Half of (input - target)^2, reduced; beyond `delta` the line that continues it (Huber, 1964).

    Warns as `mse_loss` does. Raises RuntimeError for a `delta` that is not above 0, NotImplementedError for integers.
    """
    input, target = _side_by_side(input, target)
    if weight is None:
        check_reduction(reduction)
        return _huber_loss(input, target, reduction, delta)
    if weight.size() != input.size():
        raise ValueError("Weights and input must have the same size.")
    if reduction not in REDUCTIONS:
        raise ValueError(f"Invalid reduction mode: {reduction}. Expected one of 'none', 'mean', 'sum'.")
    return reduced(_huber_loss(input, target, "none", delta) * weight, reduction)


def _huber_loss(input: Tensor, target: Tensor, reduction: str, delta: float) -> Tensor:
    check_number("huber_loss", "delta", 4, delta)
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    _check_floating("huber_cpu", _promoted(input, target)[0])
    return dispatch(pointwise_losses.huber_loss, (input, target.to(input.dtype)), (float(delta), reduction))


def _side_by_side(input: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Both in their common shape, with PyTorch's warning when they differ."""
    if input.size() == target.size():
        return input, target
    warnings.warn(
        f"Using a target size ({target.size()}) that is different to the input size ({input.size()}). "
        "This will likely lead to incorrect results due to broadcasting. "
        "Please ensure they have the same size.",
        stacklevel=3,
    )
    common = common_shape(tuple(input.shape), tuple(target.shape))
    return input.expand(common), target.expand(common)


def _promoted(input: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    if input.dtype is target.dtype:
        return input, target
    common = promote_types(input.dtype, target.dtype)
    return input.to(common), target.to(common)


def _check_floating(kernel: str, input: Tensor) -> None:
    if not input.dtype.is_floating_point:
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{input.dtype.scalar_name}'")


def _weighted(losses: Tensor, input: Tensor, weight: Tensor, reduction: str) -> Tensor:
    if weight.size() != input.size():
        raise ValueError("Weights and input must have the same size.")
    weighted = losses * weight
    if reduction == "none":
        return weighted
    if reduction == "sum":
        return weighted.sum()
    if reduction == "mean":
        return weighted.sum() / weight.sum()
    raise ValueError(f"Invalid reduction mode: {reduction}. Expected one of 'none', 'mean', 'sum'.")


# ---------------------------------------------------------------------------------------------------- two classes
def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """-(target * log(input) + (1 - target) * log(1 - input)) of probabilities, times `weight`, reduced.

    Logarithms are at least -100, so that the loss of a certain but wrong prediction is finite.

    Raises RuntimeError for inputs or targets outside [0, 1], ValueError for sizes that differ.
    """
    reduction = checked_reduction(size_average, reduce, reduction)
    if target.size() != input.size():
        raise ValueError(
            f"Using a target size ({target.size()}) that is different to the input size ({input.size()}) is deprecated. "
            "Please ensure they have the same size."
        )
    if target.dtype is not input.dtype:
        raise RuntimeError(f"Found dtype {target.dtype.scalar_name} but expected {input.dtype.scalar_name}")
    _check_floating("binary_cross_entropy", input)
    if weight is None:
        return dispatch(pointwise_losses.binary_cross_entropy, (input, target), (reduction,))
    weight = weight.expand(broadcast_shapes(target.size(), weight.size()))
    check_constant("binary_cross_entropy", weight=weight)
    operands = (input, target, _to_shape(weight, input))
    return dispatch(pointwise_losses.binary_cross_entropy_weight, operands, (reduction,))


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """`binary_cross_entropy` of sigmoid(input), without overflow; `pos_weight` weighs the targets of 1.

    Raises ValueError for sizes that differ, NotImplementedError for integers.
    """
    reduction = checked_reduction(size_average, reduce, reduction)
    if target.size() != input.size():
        raise ValueError(f"Target size ({target.size()}) must be the same as input size ({input.size()})")
    check_constant("binary_cross_entropy_with_logits", weight=weight, pos_weight=pos_weight)
    if not input.dtype.is_floating_point:
        raise NotImplementedError(f"\"log_sigmoid_cpu\" not implemented for '{input.dtype.scalar_name}'")
    if not target.dtype.is_floating_point:
        names = input.dtype.scalar_name, target.dtype.scalar_name
        raise RuntimeError("result type {} can't be cast to the desired output type {}".format(*names))
    result = target.dtype
    input, target = _promoted(input, target)
    if weight is None and pos_weight is None:
        loss = dispatch(pointwise_losses.binary_cross_entropy_with_logits, (input, target), (reduction,))
    else:
        weights = [_to_shape(w, input) for w in (weight, pos_weight)]
        op = pointwise_losses.binary_cross_entropy_with_logits_weight
        loss = dispatch(op, (input, target, *weights), (reduction,))
    return loss.to(result)


def _to_shape(weight: Tensor | None, input: Tensor) -> Tensor:
    """A weight in the shape of the losses; ones where there is none."""
    if weight is None:
        weight = input.detach().new_ones(())
    shape = tuple(input.shape)
    common = common_shape(shape, tuple(weight.shape))
    if common != shape:
        raise RuntimeError(f"output with shape {list(shape)} doesn't match the broadcast shape {list(common)}")
    return weight.to(input.dtype).expand(shape)


def soft_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """log(1 + exp(-target * input)) for targets 1 and -1, reduced; computed without overflow."""
    reduction = checked_reduction(size_average, reduce, reduction)
    check_constant("soft_margin_loss", target=target)
    if not input.dtype.is_floating_point:
        raise RuntimeError(f"result type Float can't be cast to the desired output type {input.dtype.scalar_name}")
    shape = common_shape(tuple(input.shape), tuple(target.shape))
    operands = (input.expand(shape), target.to(input.dtype).expand(shape))
    return dispatch(pointwise_losses.soft_margin_loss, operands, (reduction,))


# ---------------------------------------------------------------------------------------------------- distributions
def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """target * (log(target) - input), reduced: the divergence of log-probabilities `input` from probabilities `target`.

    With `log_target` the target is given as log-probabilities. The divergence of Kullback and Leibler (1951) is the sum
    over the classes: reduction="batchmean" divides that by the size of the batch; "mean" divides by all items, and warns.

    Raises RuntimeError for integers, ValueError for an unknown reduction.
    """
    reduction = resolve_reduction(size_average, reduce, reduction)
    if size_average is None and reduce is None and reduction == "mean":
        warnings.warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support size.'batchmean' divides only "
            "by the batch size, and aligns with the KL div math definition.'mean' will be changed to behave the same as "
            "'batchmean' in the next major release.",
            stacklevel=2,
        )
    by_batch = reduction == "batchmean"
    if not by_batch:
        check_reduction(reduction)
    if not (input.dtype.is_floating_point and target.dtype.is_floating_point):
        raise RuntimeError("kl_div: Integral inputs not supported.")
    losses = target.exp() * (target - input) if log_target else target.xlogy(target) - target * input
    if not by_batch:
        return reduced(losses, reduction)
    return losses.sum() / input.shape[0] if input.dim() else losses.sum()


def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-8,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Negative log likelihood of counts `target` under Poisson distributions of rate exp(input), reduced.

    Without `log_input` the rate is `input` itself, of which log(input + eps) is taken. `full` adds Stirling's
    approximation of log(target!), for targets above 1.

    Raises ValueError for an unknown reduction.
    """
    reduction = resolve_reduction(size_average, reduce, reduction)
    if reduction not in REDUCTIONS:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    losses = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        stirling = target * target.log() - target + 0.5 * (2 * math.pi * target).log()
        losses = losses + stirling.masked_fill(target <= 1, 0)
    return reduced(losses, reduction)


def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Tensor | float,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """Negative log likelihood of `target` under normal distributions of mean `input` and variance `var`, reduced.

    The variance is at least `eps`, which has no gradient (Nix and Weigend, 1994). `full` adds the constant log(2 pi) / 2.

    Raises ValueError for negative variances, a size of `var` that does not fit, and an unknown reduction.
    """
    variance = var * input.detach().new_ones(input.shape) if isinstance(var, float) else var
    if bool(any(variance < 0)):
        raise ValueError("var has negative entry/entries")
    if variance.size() != input.size():
        variance = _one_variance_a_row(variance, input)
    if reduction not in REDUCTIONS:
        raise ValueError(f"{reduction} is not valid")
    variance = variance.clone()
    with no_grad():
        variance.clamp_(min=eps)
    losses = 0.5 * (variance.log() + (input - target) ** 2 / variance)
    if full:
        losses = losses + 0.5 * math.log(2 * math.pi)
    return reduced(losses, reduction)


def _one_variance_a_row(variance: Tensor, input: Tensor) -> Tensor:
    """A variance that broadcasts to `input`: of its shape without the last dimension, or 1 in one dimension."""
    if input.size()[:-1] == variance.size():
        return variance.unsqueeze(-1)
    differing = [own for size, own in zip(input.size(), variance.size(), strict=False) if size != own]
    if input.dim() != variance.dim() or sum(differing) != 1:
        raise ValueError("var is of incorrect size")
    return variance
