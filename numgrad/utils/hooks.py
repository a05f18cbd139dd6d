"""Handles and marks of hooks, under PyTorch's path."""

from ..autograd.hooks import RemovableHandle, unserializable_hook

__all__ = ["RemovableHandle", "unserializable_hook"]
