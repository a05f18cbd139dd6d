"""Handles of hooks, under PyTorch's path."""

from ..autograd.hooks import RemovableHandle

__all__ = ["RemovableHandle"]
