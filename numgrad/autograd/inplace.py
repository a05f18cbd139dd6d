"""In-place writes and the graph: what may be written, and how the history of a written tensor and of its base changes.

The rules are PyTorch's. A leaf that requires a gradient is not written while recording. A write to a tensor moves it to the
new node. A write to a view also rewrites the base's history: the base becomes the result of `CopySlices`, which replaces
the written part of the gradient, and every other view of it makes its own history anew when next asked.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..kernels.array import Array, contiguous_strides
from ..kernels.complex_numbers import view_as_complex, view_as_real
from ..kernels.movement import to_strides
from ..kernels.views import as_strided
from . import grad_mode
from .history import move_retained, regenerate_view
from .node import FREED, Node, gradient_edge
from .variable import Variable, wrap
from .view_rules import check_history

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


def check_counted(target: Any) -> None:
    """Raise RuntimeError, with PyTorch's text, for an inference tensor that is to be written outside inference mode."""
    storage = target._array._storage  # `is_inference`, written out: an optimizer asks for every parameter
    if storage is not None and storage.version < 0 and not grad_mode.mode.inference:
        raise RuntimeError(_INFERENCE)


def check_writable(target: Any, inputs: Sequence[Any] = ()) -> None:
    """Raise RuntimeError, with PyTorch's texts, when the graph does not allow `target` to be written in place.

    That is asked only where the write is recorded: when `target`, or one of the other inputs, requires a gradient.
    """
    check_counted(target)
    if not grad_mode.mode.enabled:
        return
    view = target._view
    required = target.requires_grad or (view is not None and view.base.requires_grad)
    if not (required or any(isinstance(x, Variable) and x.requires_grad for x in inputs)):  # type: ignore[attr-defined]
        return
    if view is not None:
        check_history(target)
        if required and view.base.is_leaf:
            raise RuntimeError("a view of a leaf Variable that requires grad is being used in an in-place operation.")
    if required and target.is_leaf:
        raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")


def check_overlap(target: Any, inputs: Sequence[Any]) -> None:
    """Raise RuntimeError when `target` overlaps an input without being the same view."""
    array = target._array
    for x in inputs:
        if isinstance(x, Variable) and x is not target and x._array.layout != array.layout:
            _check_apart(array, x._array)


def shows_items_twice(array: Array) -> bool:
    """Whether a layout repeats elements along a dimension, as an expanded one does."""
    return any(s == 0 and n > 1 for n, s in zip(array.shape, array.strides, strict=True))


def check_self_overlap(target: Any) -> None:
    """Raise RuntimeError when `target` shows one item twice."""
    if shows_items_twice(target._array):
        raise RuntimeError(_SELF_OVERLAP)


def check_apart(target: Any, inputs: Sequence[Any]) -> None:
    """Raise RuntimeError when `target` overlaps an input, be it the very same view."""
    for x in inputs:
        _check_apart(target._array, x._array)


def _check_apart(array: Array, other: Array) -> None:
    if other.storage is not array.storage or other.dtype is not array.dtype:
        return
    if other.layout == array.layout or _share_elements(array, other):
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

    __slots__ = ("_operands", "joins", "layout", "splits")

    def __init__(self, base: Variable, view: Array, writer: Node) -> None:
        super().__init__((gradient_edge(base), *writer.edges[1:]), (writer,), base._device)
        array = base._array
        self.layout = (array.strides, array.offset, view.shape, view.strides, view.offset)
        self.splits = array.dtype is not view.dtype and array.dtype.kind == "c"
        self.joins = array.dtype is not view.dtype and view.dtype.kind == "c"
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
        base_strides = self.layout[0]
        # Laid out as the base: a plain clone keeps a permuted layout of `g`, under which `part` would be other items.
        plain = g._array.is_contiguous() and contiguous_strides(g._array.shape) == base_strides
        dense = g.clone() if plain else to_strides(g, strides=base_strides)
        (writer,) = self.saved
        part = self._part_of(dense)
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

    def _part_of(self, dense: Any) -> Any:
        """The view of a gradient of the base that corresponds to the written view.

        A view of another dtype shows complex numbers as real ones, or real ones as complex: all is counted in real ones.
        """
        _, base_offset, size, stride, offset = self.layout
        if self.joins:
            size, stride, offset = view_as_real.layout(size, stride, offset)
        elif self.splits:
            dense, base_offset = view_as_real(dense), 2 * base_offset
        start = offset - base_offset + dense._array.offset
        part = as_strided(dense, size=size, stride=stride, storage_offset=start)
        return view_as_complex(part) if self.joins else part


def rebase(target: Any, node: Node) -> None:
    """Make `target` the result of `node`, after its data was written and its version raised."""
    view = target._view
    if view is None:
        target._array.storage.writer = (node.name(), id(target._array))
        move_retained(target, (node, 0))
        target._edge = (node, 0)
        target._requires_grad = True
        return
    base = view.base
    base._array.storage.writer = (CopySlices.__name__, id(base._array))
    edge = (CopySlices(base, target._array, node), 0)
    move_retained(base, edge)
    base._edge = edge
    base._requires_grad = True
    regenerate_view(target)
