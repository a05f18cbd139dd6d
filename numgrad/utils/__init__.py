"""Tools beside tensors and modules."""

from . import checkpoint, data, dlpack, hooks
from .drawing import GraphDrawing, graph, make_dot

__all__ = ["GraphDrawing", "checkpoint", "data", "dlpack", "graph", "hooks", "make_dot"]
