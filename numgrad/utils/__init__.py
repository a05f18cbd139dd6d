"""Tools beside tensors and modules."""

from . import checkpoint, dlpack, hooks
from .drawing import GraphDrawing, graph, make_dot

__all__ = ["GraphDrawing", "checkpoint", "dlpack", "graph", "hooks", "make_dot"]
