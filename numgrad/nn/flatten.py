"""Modules that change shapes."""

from __future__ import annotations

from ..tensor import Tensor
from .module import Module

__all__ = ["Flatten"]


class Flatten(Module):
    """Merges the dimensions from `start_dim` to `end_dim` into one; by default all but the batch dimension."""

    start_dim: int
    end_dim: int

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, input: Tensor) -> Tensor:
        """Reshape the input; a view where its strides allow it."""
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        """The range of dimensions."""
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"
