"""Running view ops: new tensors over the storage of another."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from itertools import repeat
from typing import Any

from .autograd import variable
from .autograd.checkpointing import checkpoint
from .autograd.grad_mode import mode
from .autograd.history import move_retained
from .autograd.inplace import check_writable
from .autograd.node import gradient_edge
from .autograd.op_node import node_class, save_plan
from .autograd.tracing import run_at
from .autograd.variable import CLASSES, INFERENCE, NO_GRAD, SEVERAL, ViewInfo, wrap
from .autograd.view_rules import inherited
from .autograd.watch import watching
from .device import BALANCED, PLAIN
from .kernels.array import Array, is_contiguous
from .kernels.registry import run
from .kernels.view_ops import SeveralViewsOp, ViewOp
from .kernels.views import as_strided, select
from .plans import Plans, are_ints


class ViewPlan:
    """How a view op with given attributes changes a given layout.

    Attributes:
        op: the op.
        attributes: its plain arguments.
        shape: that of the view.
        strides: those of the view.
        shift: how far into the tensor the view begins, in items.
        size: how many items the view shows, where it is contiguous; None where it is not.
        dtype: the view's, None for the tensor's own.
        is_within: whether what it shows, where it is contiguous, are items that the tensor shows, and in its dtype.
        steps: the plans of the views that this one is made of, for the graph, which knows single ops only.
        facts: what nodes of calls with these attributes keep; None before the first.
    """

    __slots__ = ("attributes", "dtype", "facts", "is_within", "op", "shape", "shift", "size", "steps", "strides")

    def __init__(self, op: ViewOp, array: Array, attributes: tuple[Any, ...]) -> None:
        node_class(op)
        self.op = op
        self.attributes = attributes
        self.shape, self.strides, offset = op.layout(array.shape, array.strides, array.offset, *attributes)
        self.shift = offset - array.offset
        self.dtype = None if op.dtype is None else op.dtype(array.dtype)
        self.size = math.prod(self.shape) if is_contiguous(self.shape, self.strides) else None
        self.is_within = self.dtype is None
        if self.size is not None:
            self.is_within = self.is_within and 0 <= self.shift <= array.size - self.size
        self.steps: list[ViewPlan] = []
        self.facts: dict[str, Any] | None = None


class SeveralPlan:
    """How a view op that gives several views, with given attributes, takes a given layout apart.

    Attributes:
        op: the op.
        attributes: its plain arguments.
        parts: of each view its shape, strides, `shift` and `size` (see `ViewPlan`).
    """

    __slots__ = ("attributes", "op", "parts")

    def __init__(self, op: SeveralViewsOp, array: Array, attributes: tuple[Any, ...]) -> None:
        self.op = op
        self.attributes = attributes
        self.parts = [
            (shape, strides, offset - array.offset, math.prod(shape) if is_contiguous(shape, strides) else None)
            for shape, strides, offset in op.layouts(array.shape, array.strides, array.offset, *attributes)
        ]


def several_steps(array: Array, calls: Sequence[tuple[ViewOp, tuple[Any, ...]]]) -> ViewPlan:
    """The plan for view ops, each with its attributes, one after the other."""
    steps: list[ViewPlan] = []
    seen = array
    for op, attributes in calls:
        step = ViewPlan(op, seen, attributes)
        seen = seen.view(step.shape, step.strides, seen.offset + step.shift)
        steps.append(step)
    if len(steps) == 1:
        return steps[0]
    plan = ViewPlan(as_strided, array, seen.layout)
    plan.steps = steps
    return plan


def gives_view(check: Callable[..., Any]) -> Callable[..., Any]:
    """The public function that gives the view, or the views, which `check` finds: it checks the arguments and returns
    the view op and its attributes, or else what then is the result.

    What was found for ints is kept by them and the tensor's layout, and nothing is checked again: the transpose of a
    matrix takes 1.0 us, and 3.5 with its checks.
    """
    plans = Plans()  # a `ViewPlan` or a `SeveralPlan` each

    @functools.wraps(check)
    def function(input: Any, *args: Any, **named: Any) -> Any:
        key = None
        if input.__class__ in CLASSES and not named:
            array = input._array
            if array.__class__ is Array and are_ints(args):
                key = array.shape, array.strides, args
                plan = plans.get(key)
                if plan is not None and not watching:
                    if plan.__class__ is SeveralPlan:
                        return _several_by_plan(input, plan)
                    return by_plan(input, plan, plan.shift, plan.attributes)
        found = check(input, *args, **named)
        if found.__class__ is not tuple or not found or not isinstance(found[0], ViewOp):
            return found
        op, attributes = found
        result = run(op, (input,), attributes)
        if key is not None:
            plans.keep(key, (SeveralPlan if isinstance(op, SeveralViewsOp) else ViewPlan)(op, array, attributes))
        return result

    return function


_rows = Plans()


def row(x: Any, index: int) -> Any:
    """`select(x, 0, index)`, by one plan for all indices: data are taken row by row."""
    array = x._array
    if array.__class__ is not Array or watching:
        return run(select, (x,), (0, index))
    key = array.shape, array.strides
    plan = _rows.get(key)
    if plan is None:
        plan = ViewPlan(select, array, (0, 0))
        _rows.keep(key, plan)
    return by_plan(x, plan, index * array.strides[0], (0, index))


def view(op: ViewOp, x: Any, attributes: tuple[Any, ...]) -> Any:
    """Run a view op: a new tensor, or a tuple of them, over the same storage."""
    if mode.levels and x._array.__class__ is not Array:
        return run_at(x._array.level, op, (x,), attributes)
    if isinstance(op, SeveralViewsOp):
        return _several_by_plan(x, SeveralPlan(op, x._array, attributes))
    plan = ViewPlan(op, x._array, attributes)
    return by_plan(x, plan, plan.shift, attributes)


def by_plan(x: Any, plan: ViewPlan, shift: int, attributes: tuple[Any, ...], new: Any = object.__new__) -> Any:
    """The view of a tensor by the plan for its shape and strides, beginning at `shift`, by a call with `attributes`."""
    source = x._view
    recording = mode.enabled
    node = None
    if recording and (x._requires_grad or source is not None):
        if plan.steps and gradient_edge(x) is not None:
            for step in plan.steps:
                x = by_plan(x, step, step.shift, step.attributes)
            return x
        node = _node_by_plan(x, plan, attributes)
    array = x._array
    flat, size = array.flat, plan.size
    if not plan.is_within or (flat is None and size is not None):
        made = array.view(plan.shape, plan.strides, array.offset + shift, plan.dtype)
    else:  # the same, written out
        made = new(Array)
        made._storage = array._storage or array.storage
        made.dtype = array.dtype
        made.shape = plan.shape
        made.strides = plan.strides
        made.offset = array.offset + shift
        made.flat = None if size is None else flat[shift : shift + size]
        made.shared = False
    result = new(variable.tensor_class)  # `wrap`, written out
    result._array = made
    result._device = x._device
    if node is None:
        result._edge = None
        result._requires_grad = False
    else:
        if x._device.context is BALANCED:
            checkpoint(node, plan.op, (array,), attributes, (made,))
        result._edge = (node, 0)
        result._requires_grad = True
    version = made._storage.version
    if source is None:
        result._view = ViewInfo(x, version, "" if recording else _unrecorded())
    else:
        result._view = ViewInfo(source.base, version, inherited(source, "" if recording else _unrecorded()))
    return result


def view_in_place(op: ViewOp, x: Any, attributes: tuple[Any, ...]) -> Any:
    """Give a tensor itself the layout of a view. No item is written, yet PyTorch counts it as an in-place write."""
    check_writable(x)
    node = _node(op, x, attributes, 1)
    array = x._array
    made = op.layout(array.shape, array.strides, array.offset, *attributes)
    array.storage.version += 1
    x._array = array.view(*made)
    if x._view is not None:
        x._view.version = array.version
    if node is not None:
        move_retained(x, (node, 0))
        x._edge = (node, 0)
        x._requires_grad = True
    return x


def _several_by_plan(x: Any, plan: SeveralPlan) -> tuple[Any, ...]:
    """The views of a tensor by the plan for its shape and strides."""
    array = x._array
    node = _node(plan.op, x, plan.attributes, len(plan.parts))
    storage, dtype, start, flat, where = array.storage, array.dtype, array.offset, array.flat, x._device
    version, edge = storage.version, None
    base = x if x._view is None else x._view.base
    creation = inherited(x._view, SEVERAL if mode.enabled else _unrecorded())
    found: list[Any] = []
    for shape, strides, shift, size in plan.parts:
        if flat is None:
            part = array.view(shape, strides, start + shift)
        else:
            items = None if size is None else flat[shift : shift + size]
            part = Array(storage, dtype, shape, strides, start + shift, items)
        if node is not None:
            edge = (node, len(found))
        out = wrap(part, where, edge)
        out._view = ViewInfo(base, version, creation)
        found.append(out)
    return tuple(found)


def is_unrecorded(x: Any) -> bool:
    """Whether views of a tensor are seen by nobody: no node is made of them, no level or observer looks on."""
    return not (watching or mode.levels or (mode.enabled and x.requires_grad))


def rows(x: Any) -> Iterator[Any]:
    """The slices of the first dimension, as an unrecorded `unbind` gives them, each made when it is asked for.

    20,000 rows at once would be 100,000 objects for Python's garbage collector to look at, again and again.
    """
    array, where = x._array, x._device
    storage, dtype, shape, strides = array.storage, array.dtype, array.shape[1:], array.strides[1:]
    base = x if x._view is None else x._view.base
    creation = inherited(x._view, SEVERAL if mode.enabled else _unrecorded())
    step = array.strides[0]
    offsets = (
        range(array.offset, array.offset + array.shape[0] * step, step)
        if step
        else repeat(array.offset, array.shape[0])
    )
    # The 1-d memory of a row is a row of the whole as a matrix.
    flats = repeat(None) if array.flat is None else array.flat.reshape(array.shape[0], math.prod(shape))
    for offset, flat in zip(offsets, flats, strict=False):
        row = Array(storage, dtype, shape, strides, offset, flat)
        if flat is None:
            row = row.view(shape, strides, offset)
        out = wrap(row, where)
        out._view = ViewInfo(base, storage.version, creation)
        yield out


def _unrecorded() -> str:
    return INFERENCE if mode.inference else NO_GRAD


def _node(op: ViewOp, x: Any, attributes: tuple[Any, ...], outputs: int) -> Any:
    """The node of a view, None if it is not recorded."""
    if not mode.enabled or x._device.context is PLAIN or not (x._requires_grad or x._view is not None):
        return None
    edge = gradient_edge(x)
    if edge is None:
        return None
    return node_class(op)((edge,), {}, _facts(op, x._array, attributes), x._device, outputs, (True,))


def _node_by_plan(x: Any, plan: ViewPlan, attributes: tuple[Any, ...]) -> Any:
    """The node of a view that is made by a plan; None for a tensor without a gradient."""
    where, edge = x._device, gradient_edge(x)
    if edge is None or where.context is PLAIN:
        return None
    facts = plan.facts
    if facts is None or attributes is not plan.attributes:
        facts = _facts(plan.op, x._array, attributes)
        if attributes is plan.attributes and not save_plan(plan.op, 1).reads_place:
            plan.facts = facts
    return plan.op.node_class((edge,), {}, facts, where, 1, (True,))


def _facts(op: ViewOp, array: Array, attributes: tuple[Any, ...]) -> dict[str, Any]:
    """What the gradient of a view reads of the tensor and of the attributes."""
    plan = save_plan(op, 1)
    facts = {name: attributes[j] for name, j in plan.attributes}
    for name, _ in plan.shapes:
        facts[name] = array.shape
    for name, _ in plan.strides:
        facts[name] = array.strides
    for name, _ in plan.offsets:
        facts[name] = array.offset
    for name, _ in plan.metas:
        facts[name] = (array.dtype.name, array.device)
    return facts
