"""In-place writes and the graph: what may be written, and how the history of a written tensor and of its base changes.

The rules are PyTorch's. A leaf that requires a gradient is not written while recording. A write to a tensor moves it to the
new node. A write to a view also rewrites the base's history: the base becomes the result of `CopySlices`, which replaces
the written part of the gradient, and every other view of it makes its own history anew when next asked.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..kernels.array import contiguous_strides
from ..kernels.movement import to_strides
from ..kernels.views import as_strided
from . import grad_mode
from .node import FREED, Node, gradient_edge, move_retained, regenerate_view
from .variable import Edge, Variable, is_inference, wrap
from .view_errors import check_view_write

_INFERENCE = (
    "Inplace update to inference tensor outside InferenceMode is not allowed.You can make a clone to get a normal tensor "
    "before doing inplace update.See https://github.com/pytorch/rfcs/pull/17 for more details."
)
_SELF_OVERLAP = (
    "unsupported operation: more than one element of the written-to tensor refers to a single memory location. Please "
    "clone() the tensor before performing the operation."
)
_OVERLAP = (
    "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory "
    "location. Please clone() the tensor before performing the operation."
)


def check_writable(target: Any) -> None:
    """Raise RuntimeError, with PyTorch's texts, when the graph does not allow `target` to be written in place."""
    mode = grad_mode.mode
    if not mode.inference and is_inference(target):
        raise RuntimeError(_INFERENCE)
    if not mode.enabled:
        return
    view = target._view
    if view is not None:
        if view.base.requires_grad:
            check_view_write(target, indirect=False)
        if view.base._requires_grad and view.base._edge is None:
            raise RuntimeError("a view of a leaf Variable that requires grad is being used in an in-place operation.")
    if target._requires_grad and target._edge is None:
        raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")


def check_overlap(target: Any, inputs: Sequence[Any]) -> None:
    """Raise RuntimeError when `target` shows one item twice, or overlaps an input without being the same view."""
    array = target._array
    if any(s == 0 and n > 1 for n, s in zip(array.shape, array.strides, strict=True)):
        raise RuntimeError(_SELF_OVERLAP)
    for x in inputs:
        if not isinstance(x, Variable) or x is target:
            continue
        other = x._array
        if other.storage is not array.storage:
            continue
        if other.layout != array.layout and _share_elements(array, other):
            raise RuntimeError(_OVERLAP)


def _share_elements(a: Any, b: Any) -> bool:
    """Whether two views of one storage have an element in common (intervals first, then exactly)."""
    spans = []
    for x in (a, b):
        if 0 in x.shape:
            return False
        spans.append((x.offset, x.offset + sum((n - 1) * s for n, s in zip(x.shape, x.strides, strict=True))))
    if spans[0][1] < spans[1][0] or spans[1][1] < spans[0][0]:
        return False
    return not _interleaved(a, b)


def _interleaved(a: Any, b: Any) -> bool:
    """Whether two views never meet: by a step that both keep, or as different columns such as `x[:, 0]` and `x[:, 1:3]`."""
    strides = {s for x in (a, b) for n, s in zip(x.shape, x.strides, strict=True) if n > 1 and s}
    if not strides:
        return a.offset != b.offset
    step = math.gcd(*strides)
    if step and (a.offset - b.offset) % step:
        return True
    pitch = max(strides)
    columns = []
    for x in (a, b):
        width = sum((n - 1) * s for n, s in zip(x.shape, x.strides, strict=True) if n > 1 and s != pitch)
        start = x.offset % pitch
        if start + width >= pitch:
            return False
        columns.append((start, start + width))
    return columns[0][1] < columns[1][0] or columns[1][1] < columns[0][0]


class CopySlices(Node):
    """The node of a base that was written through a view.

    Its first edge goes to the base's former history, the others to the other inputs of the op that wrote. The gradient
    of the written part goes through that op; the rest passes on.
    """

    __slots__ = ("_operands", "layout")

    def __init__(self, base_edge: Edge | None, writer: Node, layout: tuple[Any, ...], device: Any) -> None:
        super().__init__((base_edge, *writer.edges[1:]), (writer,), device)
        self.layout = layout
        self._operands = [0, *(i for i in writer.operands if i)]

    @property
    def operands(self) -> Sequence[int]:
        """See `Node.operands`; the same inputs count as for the op that wrote."""
        return self._operands

    def apply(self, g: Any, graph: bool) -> Sequence[Any]:
        """Gradients for each input; see `Node.apply`."""
        if g is None:
            return (None,) * len(self.edges)
        if self.saved is None:
            raise RuntimeError(FREED)
        if graph:
            return self._apply_tensors(g)
        with grad_mode.no_grad():
            results = self._apply_tensors(wrap(g, self.device), through_arrays=True)
        return [None if r is None else r._array for r in results]

    def _apply_tensors(self, g: Any, through_arrays: bool = False) -> list[Any]:
        base_strides, base_offset, size, stride, offset = self.layout
        # Laid out as the base: a plain clone keeps a permuted layout of `g`, under which `part` would be other items.
        plain = g._array.is_contiguous() and contiguous_strides(g._array.shape) == base_strides
        dense = g.clone() if plain else to_strides(g, strides=base_strides)
        start = offset - base_offset + dense._array.offset
        (writer,) = self.saved
        part = as_strided(dense, size=size, stride=stride, storage_offset=start)
        if through_arrays:
            inner = writer.apply(part.clone()._array, False)
            inner = [None if r is None else wrap(r, self.device) for r in inner]
        else:
            inner = list(writer.apply(part.clone(), True))
        if self.edges[0] is not None:
            if inner[0] is None:
                part.zero_()
            else:
                part.copy_(inner[0])
        return [dense if self.edges[0] is not None else None, *inner[1:]]


def rebase(target: Any, node: Node) -> None:
    """Make `target` the result of `node`, after its data was written and its version raised."""
    view = target._view
    if view is None:
        target._array.storage.writer = (node.name(), target._array.layout)
        move_retained(target, (node, 0))
        target._edge = (node, 0)
        target._requires_grad = True
        return
    base = view.base
    b, v = base._array, target._array
    b.storage.writer = (CopySlices.__name__, b.layout)
    layout = (b.strides, b.offset, v.shape, v.strides, v.offset)
    edge = (CopySlices(gradient_edge(base), node, layout, base._device), 0)
    move_retained(base, edge)
    base._edge = edge
    base._requires_grad = True
    regenerate_view(target)
