"""Tools beside tensors and modules."""

from . import checkpoint, data, dlpack, hooks
from .drawing import GraphDrawing, graph, make_dot
from .progress import Progress, progress

__all__ = [
    "GraphDrawing",
    "Progress",
    "checkpoint",
    "data",
    "dlpack",
    "graph",
    "hooks",
    "make_dot",
    "progress",
]
