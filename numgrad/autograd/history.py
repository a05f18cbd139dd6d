"""New places in the graph: of a view behind its base that was written, and of what retains its gradient, with it."""

from __future__ import annotations

import weakref
from typing import Any

from ..kernels.complex_numbers import view_as_complex, view_as_real
from ..kernels.views import as_strided
from .node import gradient_edge
from .op_node import node_class
from .variable import Edge


def regenerate_view(variable: Any) -> None:
    """Make a view's history anew: the base's, and from there one `AsStridedBackward0`.

    Where the view shows complex numbers as real ones, or real ones as complex, all is counted in real ones.
    """
    view = variable._view
    base, array = view.base, variable._array
    edge, source, target = gradient_edge(base), base._array.layout, array.layout
    joins = splits = False
    if array.dtype is not base._array.dtype:
        joins, splits = array.dtype.kind == "c", base._array.dtype.kind == "c"
    if splits:
        edge, source = _view_edge(view_as_real, edge, {}, variable._device), view_as_real.layout(*source)
    if joins:
        target = view_as_real.layout(*target)
    facts = dict(zip(("input_shape", "input_strides", "input_offset"), source, strict=True))
    facts |= dict(zip(("size", "stride", "storage_offset"), target, strict=True))
    edge = _view_edge(as_strided, edge, facts, variable._device)
    if joins:
        edge = _view_edge(view_as_complex, edge, {}, variable._device)
    move_retained(variable, edge)
    variable._edge = edge
    variable._requires_grad = True
    view.version = array.version


def _view_edge(op: Any, edge: Edge | None, facts: dict[str, Any], device: Any) -> Edge:
    return (node_class(op)((edge,), {}, facts, device, 1, (True,)), 0)


def move_retained(variable: Any, edge: Edge) -> None:
    """Keep a tensor's `retain_grad` with it when an in-place write gives it another node."""
    if variable._retains_grad and variable._edge is not None:
        node, number = variable._edge
        if node.hooks is not None:
            node.hooks.retaining.pop(number, None)
        edge[0].get_hooks().retaining[edge[1]] = weakref.ref(variable)
