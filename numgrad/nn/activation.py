"""Activation functions as modules."""

from __future__ import annotations

from ..tensor import Tensor
from . import functional as F
from .module import Module

__all__ = ["GELU", "ReLU", "Sigmoid", "Tanh"]


class GELU(Module):
    """x * P(X <= x) for a normally distributed X, elementwise; `approximate="tanh"` takes an approximation of it."""

    approximate: str

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function."""
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self) -> str:
        """The approximation."""
        return f"approximate={self.approximate!r}"


class ReLU(Module):
    """max(0, x), elementwise; `inplace=True` overwrites its input."""

    inplace: bool

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function."""
        return F.relu(input, inplace=self.inplace)

    def extra_repr(self) -> str:
        """`inplace=True`, or nothing."""
        return "inplace=True" if self.inplace else ""


class Tanh(Module):
    """Hyperbolic tangent, elementwise."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function."""
        return F.tanh(input)


class Sigmoid(Module):
    """Logistic function 1 / (1 + exp(-x)), elementwise."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function."""
        return F.sigmoid(input)
