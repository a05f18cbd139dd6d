"""Tools beside tensors and modules."""

from . import checkpoint, hooks

__all__ = ["checkpoint", "hooks"]
