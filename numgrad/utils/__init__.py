"""Tools beside tensors and modules."""

from . import dlpack, hooks
from .drawing import GraphDrawing, graph, make_dot

__all__ = ["GraphDrawing", "dlpack", "graph", "hooks", "make_dot"]
