"""What is done about an op that has run while something watches: its node's saved tensors go to hooks, and so on."""

from __future__ import annotations

from typing import Any

from . import anomaly_mode, mutation, saved_attributes
from .grad_mode import mode


def before_write(target: Any) -> None:
    """Show the observers of this thread a tensor that is about to be written in place."""
    mutation.keep_saved(target)


def observe(op: Any, inputs: tuple[Any, ...], result: Any, in_place: bool) -> None:
    """Show the observers of this thread an op that has just run."""
    results = result if isinstance(result, tuple) else (result,)
    node = _new_node(results, in_place)
    if node is not None:
        observe_node(node)
    anomaly_mode.check_forward(op, inputs, results)


def observe_node(node: Any) -> None:
    """Show the observers of this thread a node that was just made."""
    anomaly_mode.note_forward(node)
    saved_attributes.pack_node(node)


def _new_node(results: tuple[Any, ...], in_place: bool) -> Any:
    """The node that an op has just left; that of a write through a view is inside of the base's `CopySlices`."""
    if not mode.enabled:
        return None
    for tensor in results:
        if tensor is not None and tensor.requires_grad:
            view = tensor._view
            if in_place and view is not None:
                return view.base._edge[0].saved[0]
            return None if tensor._edge is None else tensor._edge[0]
    return None
