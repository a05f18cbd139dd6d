"""Dropout as modules: what they drop in training is said at their functions in `functional`; in eval they drop nothing."""

from __future__ import annotations

from ..tensor import Tensor
from . import functional as F
from .functional.dropout import check_probability
from .module import Module

__all__ = ["AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout"]


class DropoutOf(Module):
    """Holds the probability and whether the input is overwritten. Raises ValueError for a `p` outside [0, 1]."""

    p: float
    inplace: bool

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        check_probability(p)
        self.p = p
        self.inplace = inplace

    def extra_repr(self) -> str:
        """The arguments."""
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(DropoutOf):
    """Drops items; see `functional.dropout`."""

    def forward(self, input: Tensor) -> Tensor:
        """Drop at random in training."""
        return F.dropout(input, self.p, self.training, self.inplace)


class Dropout1d(DropoutOf):
    """Drops channels of one dimension; see `functional.dropout1d`."""

    def forward(self, input: Tensor) -> Tensor:
        """Drop at random in training."""
        return F.dropout1d(input, self.p, self.training, self.inplace)


class Dropout2d(DropoutOf):
    """Drops channels of images; see `functional.dropout2d`."""

    def forward(self, input: Tensor) -> Tensor:
        """Drop at random in training."""
        return F.dropout2d(input, self.p, self.training, self.inplace)


class Dropout3d(DropoutOf):
    """Drops channels of volumes; see `functional.dropout3d`."""

    def forward(self, input: Tensor) -> Tensor:
        """Drop at random in training."""
        return F.dropout3d(input, self.p, self.training, self.inplace)


class AlphaDropout(DropoutOf):
    """Drops items to SELU's limit; see `functional.alpha_dropout`."""

    def forward(self, input: Tensor) -> Tensor:
        """Drop at random in training."""
        return F.alpha_dropout(input, self.p, self.training, self.inplace)


class FeatureAlphaDropout(DropoutOf):
    """Drops features to SELU's limit; see `functional.feature_alpha_dropout`."""

    def forward(self, input: Tensor) -> Tensor:
        """Drop at random in training."""
        return F.feature_alpha_dropout(input, self.p, self.training, self.inplace)
