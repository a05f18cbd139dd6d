"""Tools beside tensors and modules."""

from . import dlpack

__all__ = ["dlpack"]
