"""Tools beside tensors and modules."""

from . import hooks

__all__ = ["hooks"]
