"""Losses as functions of tensors."""

from __future__ import annotations

import warnings
from typing import Any

from ..autograd.variable import CLASSES
from ..dispatch import dispatch
from ..dtype import common as common_dtype
from ..kernels import losses as kernels
from ..operands import broadcast_shapes
from ..size import Size
from .checks import check_tensors
from .probabilities import log_softmax

REDUCTIONS = ("none", "mean", "sum")


def _check_reduction(reduction: str) -> None:
    if reduction not in REDUCTIONS:
        raise ValueError(f"{reduction} is not a valid value for reduction")


def nll_loss(input: Any, target: Any, *, ignore_index: int = -100, reduction: str = "mean") -> Any:
    """Negative log likelihood of int64 class targets (n,) under log-probabilities (n, classes), or () under (classes,).

    Raises IndexError for a target that is no class.
    """
    check_tensors("nll_loss_nd", input=input, target=target)
    _check_reduction(reduction)
    if target._array.dtype.name == "uint8":
        target = target.long()
    if target.dtype.is_floating_point and target.dim() == input.dim():
        raise NotImplementedError(
            "targets that are class probabilities are not supported yet: give int64 class indices"
        )
    if target._array.dtype.name != "int64":
        raise RuntimeError(f"expected target dtype to be Long or Byte, but got {target.dtype.scalar_name}")
    if input.dim() == 0:
        raise RuntimeError("input tensor should be 1D or 2D")
    if input.dim() > 1 and target.dim() and input.shape[0] != target.shape[0]:
        raise ValueError(
            f"Expected input batch_size ({input.shape[0]}) to match target batch_size ({target.shape[0]})."
        )
    if input.dim() <= 2 and target.dim() > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if input.dim() == 1:
        if target.numel() != 1:
            raise RuntimeError(f"size mismatch (got input: {list(input.shape)}, target: {list(target.shape)})")
        out = nll_loss(input.unsqueeze(0), target.reshape(1), ignore_index=ignore_index, reduction=reduction)
        return out.squeeze(0) if reduction == "none" else out
    if input.dim() > 2:
        return _nll_loss_nd(input, target, ignore_index, reduction)
    if not target.dim():
        raise RuntimeError(f"size mismatch (got input: {list(input.shape)}, target: {list(target.shape)})")
    return dispatch(kernels.nll_loss, (input, target), (reduction, ignore_index))


def _nll_loss_nd(input: Any, target: Any, ignore_index: int, reduction: str) -> Any:
    """(n, classes, d1, ...) with targets (n, d1, ...): every position is a row."""
    classes = input.shape[1]
    wanted = (input.shape[0], *input.shape[2:])
    if target.dim() != input.dim() - 1:
        raise RuntimeError(
            f"only batches of spatial targets supported ({input.dim() - 1}D tensors) but got targets of dimension: "
            f"{target.dim()}"
        )
    if tuple(target.shape) != wanted:
        raise RuntimeError(f"Expected target size {list(wanted)}, got {list(target.shape)}")
    order = (0, *range(2, input.dim()), 1)
    rows = input.permute(order).reshape(-1, classes)
    out = dispatch(kernels.nll_loss, (rows, target.reshape(-1)), (reduction, ignore_index))
    return out.reshape(tuple(target.shape)) if reduction == "none" else out


def cross_entropy(input: Any, target: Any, *, ignore_index: int = -100, reduction: str = "mean") -> Any:
    """Cross entropy of logits (n, classes, ...) and int64 class indices (n, ...).

    Example:
        >>> import numgrad as ng
        >>> ng.nn.functional.cross_entropy(ng.zeros(1, 4), ng.tensor([2]))
        tensor(1.3863)
    """
    check_tensors("cross_entropy_loss", input=input, target=target)
    _check_reduction(reduction)
    if target.__class__ not in CLASSES:
        raise TypeError(
            f"cross_entropy_loss(): argument 'target' (position 2) must be Tensor, not {type(target).__name__}"
        )
    if not input.dim():
        raise RuntimeError(
            f"Expected floating point type for target with class probabilities, got {target.dtype.scalar_name}"
        )
    return nll_loss(
        log_softmax(input, 0 if input.dim() == 1 else 1), target, ignore_index=ignore_index, reduction=reduction
    )


def mse_loss(input: Any, target: Any, *, reduction: str = "mean") -> Any:
    """Squared error: its mean, its sum, or ("none") each item. Shapes that differ broadcast, with PyTorch's warning."""
    check_tensors("mse_loss", input=input, target=target)
    _check_reduction(reduction)
    if input._array.shape != target._array.shape:
        warnings.warn(
            f"Using a target size ({Size(target.shape)}) that is different to the input size ({Size(input.shape)}). "
            "This will likely lead to incorrect results due to broadcasting. "
            "Please ensure they have the same size.",
            stacklevel=2,
        )
        shape = broadcast_shapes(tuple(input.shape), tuple(target.shape))
        input, target = input.expand(shape), target.expand(shape)
    if input._array.dtype is not target._array.dtype:
        common = common_dtype(input.dtype, target.dtype)
        input, target = input.to(common), target.to(common)
    if not input.dtype.is_floating_point:
        raise NotImplementedError(f"\"mse_cpu\" not implemented for '{input.dtype.scalar_name}'")
    return dispatch(kernels.mse_loss, (input, target), (reduction,))
