"""Losses as modules."""

from __future__ import annotations

from ..tensor import Tensor
from . import functional as F
from .functional.loss import resolve_reduction
from .module import Module

__all__ = ["CrossEntropyLoss", "MSELoss"]


class _Loss(Module):
    """Holds the reduction ('mean', 'sum' or 'none'); `size_average` and `reduce` are its names of long ago."""

    reduction: str

    def __init__(self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean") -> None:
        super().__init__()
        self.reduction = resolve_reduction(size_average, reduce, reduction)


class MSELoss(_Loss):
    """Mean of the squared differences; see `functional.mse_loss`."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Compute the loss."""
        return F.mse_loss(input, target, reduction=self.reduction)


class CrossEntropyLoss(_Loss):
    """Cross entropy of logits and class indices; see `functional.cross_entropy`."""

    weight: Tensor | None
    ignore_index: int
    label_smoothing: float

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Compute the loss."""
        return F.cross_entropy(
            input,
            target,
            weight=self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
            label_smoothing=self.label_smoothing,
        )
