"""Nodes of the graph. Each recorded op leaves one; it holds what its gradient reads, and edges to where gradients go.

A node computes gradients in two ways. On *arrays*, when no graph is being built: a fused kernel where there is one. On
*tensors*, under `create_graph=True`: the declared rules, whose ops are recorded again. Both are derived from the same
declaration; the sweep compares them.

Here is what all nodes share, and the node at a leaf. Those of ops are in `elementwise_node` and `op_node`.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar

from ..kernels.array import Array
from ..kernels.views import as_strided
from .hooks import Hooks, RemovableHandle, add_hook
from .saved_attributes import SavedAttributes
from .variable import CLASSES, Edge, Variable, describe, wrap
from .view_rules import check_history

FREED = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already been "
    "freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify "
    "retain_graph=True if you need to backward through the graph a second time or if you need to access saved tensors "
    "after calling backward."
)
_INFERENCE = (
    "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in computation "
    "tracked by autograd. To work around this, you can make a clone to get a normal tensor and use it in autograd, or "
    "use `torch.no_grad()` instead of `torch.inference_mode()`."
)
FIRST_OF_ALL = 1 << 62  # sequence numbers of AccumulateGrad, downwards: they run as soon as they are ready

sequence_numbers = itertools.count()
_accumulate_sequence = itertools.count(FIRST_OF_ALL, -1)


class Node(SavedAttributes):
    """A step of the graph: `grad_fn` of the tensors that the op made.

    Attributes:
        edges: for each input `(node, output_nr)`, or None for one that requires no gradient.
        outputs: number of outputs of the forward op.
        saved: what its gradient reads; the engine sets it to None afterwards, unless it is empty, and a second backward
            then raises.
        packed: stands for `saved`, which then is None: what hooks on saved tensors have packed, or what is computed again.
        recipe: how to compute the result again, where balanced checkpointing may want to.
        sequence: order of creation; backward runs from the highest down.
        consumed: whether a backward by Burn's rules took the node; it may then never be reached by those rules again.
    """

    __slots__ = ("__dict__", "__weakref__", "device", "edges", "hooks", "saved", "sequence")

    # Defaults of what few nodes have; a node that differs holds it in its `__dict__`.
    op: ClassVar[Any] = None
    outputs: int = 1
    packed: Any = None
    recipe: Any = None
    consumed: bool = False

    edges: tuple[Edge | None, ...]
    saved: Any

    def __init__(self, edges: tuple[Edge | None, ...], saved: Any, device: Any, outputs: int = 1) -> None:
        self.edges = edges
        self.saved = saved
        self.device = device
        self.hooks: Hooks | None = None
        self.sequence = next(sequence_numbers)
        if outputs != 1:
            self.outputs = outputs

    def name(self) -> str:
        """PyTorch's name of the node, such as `MulBackward0` or `torch::autograd::AccumulateGrad`."""
        name = type(self).__name__
        return name if name[-1].isdigit() or name.endswith("_copy") else f"torch::autograd::{name}"

    @property
    def operands(self) -> Sequence[int]:
        """Which of `edges` stand for what PyTorch counts as operands: not conditions, factors and class indices."""
        return range(len(self.edges))

    @property
    def results(self) -> Sequence[int]:
        """Which outputs have gradients: hooks on the node see these."""
        return range(self.outputs)

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """For each input the node that its gradient goes to, and which of that node's outputs it was."""
        return tuple(self.edges[i] or (None, 0) for i in self.operands)

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dict for the user's own notes."""
        return self.__dict__.setdefault("_metadata", {})

    def _sequence_nr(self) -> int:
        return self.sequence

    def __repr__(self) -> str:
        return f"<{type(self).__name__} object at {id(self):#x}>"

    def apply(self, g: Any, graph: bool) -> Sequence[Any]:
        """Gradients for each input from the gradient(s) of the output(s).

        `g` is one gradient, or a list when the op has several outputs; gradients are `Array`s, or tensors if `graph`.
        """
        raise NotImplementedError

    def __call__(self, *gradients: Any) -> Any:
        """The gradients of the inputs, from those of the outputs; recorded when ops are. No hooks run.

        Raises TypeError for a wrong number of gradients and for what is neither a tensor nor None.
        """
        if len(gradients) != self.outputs:
            raise TypeError(f"expected {self.outputs} arguments, got {len(gradients)} instead")
        for i, g in enumerate(gradients):
            if g is not None and g.__class__ not in CLASSES:
                raise TypeError(f"argument {i} is not a Variable")
        results = self.apply(gradients[0] if self.outputs == 1 else list(gradients), True)
        found = tuple(results[i] for i in self.operands)
        return found[0] if len(found) == 1 else found

    # ------------------------------------------------------------------------------------------ hooks
    def get_hooks(self) -> Hooks:
        """The node's hooks, made when first asked for."""
        if self.hooks is None:
            self.hooks = Hooks()
        return self.hooks

    def register_hook(self, fn: Callable[[tuple[Any, ...], tuple[Any, ...]], Any]) -> RemovableHandle:
        """Call `fn(grad_inputs, grad_outputs)` after the node's formula; a tuple that it returns replaces `grad_inputs`."""
        return add_hook(self.get_hooks().after, fn)

    def register_prehook(self, fn: Callable[[tuple[Any, ...]], Any]) -> RemovableHandle:
        """Call `fn(grad_outputs)` before the node's formula; a tuple that it returns replaces them."""
        return add_hook(self.get_hooks().before, fn)

    # ------------------------------------------------------------------------------------------ what is saved
    def release(self) -> None:
        """Let go of what is saved, when the node has been used and its graph is not kept."""
        if self.saved:
            self.saved = None
        self.packed = self.recipe = None

    def open_packed(self) -> Any:
        """What stands for `saved`. Raises RuntimeError when it was freed."""
        if self.packed is None:
            raise RuntimeError(FREED)
        return self.packed.open()


def raise_modified(array: Array, version: int, producer: str | None, is_result: bool) -> None:
    """Raise RuntimeError, with PyTorch's text, for a saved array that was written in place since it was saved.

    A node that saved its own result is named itself; for a saved input it is whatever made, or last wrote, the input.
    """
    current = array.version
    writer = array.storage.writer
    name = producer
    if writer is not None and not is_result:
        # Another array of the memory is a view, whose node is made anew; or, without a node, it was detached.
        name = writer[0] if id(array) == writer[1] else producer and as_strided.node_name
    origin = f", which is output 0 of {name}," if name else ""
    raise RuntimeError(
        f"one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"[{describe(array)}]{origin} is at version {current}; expected version {version} instead. Hint: enable anomaly "
        "detection to find the operation that failed to compute its gradient, with "
        "numgrad.autograd.set_detect_anomaly(True)."
    )


def saved_versions(saved: Iterable[Any]) -> list[int]:
    """The versions of arrays (0 for a number) at the time they are saved. Raises RuntimeError for inference tensors."""
    versions = []
    for x in saved:
        if x.__class__ is Array:  # `x.version`, written out
            storage = x._storage
            versions.append(0 if storage is None else storage.version)
        else:
            versions.append(x.version if isinstance(x, Array) else 0)
    if versions and min(versions) < 0:
        raise RuntimeError(_INFERENCE)
    return versions


def saved_variable(array: Array, device: Any, edge: Edge | None) -> Any:
    """A saved array as a tensor with its place in the graph."""
    if edge is None:
        return wrap(array, device)
    node, _number = edge
    if isinstance(node, AccumulateGrad) and node.variable._array is array:  # not when its `.data` was replaced since
        return node.variable
    return wrap(array, device, edge)


class AccumulateGrad(Node):
    """The node at a leaf: adds the gradient to `variable.grad`. There is one for each leaf while a graph holds it."""

    __slots__ = ("variable",)

    def __init__(self, variable: Variable) -> None:
        super().__init__((), (), variable._device)
        self.variable = variable
        self.sequence = next(_accumulate_sequence)


def gradient_edge(variable: Any) -> Edge | None:
    """Where the gradient of a tensor goes: its node, or its AccumulateGrad; None if it requires none."""
    view = variable._view
    if view is not None and view.version != variable._array._storage.version:
        _refresh_view(variable)
    edge = variable._edge
    if edge is not None:
        return edge
    if not variable._requires_grad:
        return None
    reference = variable._accumulator
    if reference is not None:
        accumulator = reference()
        if accumulator is not None:
            return (accumulator, 0)
    accumulator = AccumulateGrad(variable)
    accumulator.hooks = variable._hooks
    variable._accumulator = weakref.ref(accumulator)
    return (accumulator, 0)


def _refresh_view(variable: Any) -> None:
    """Give a view whose base was written in place since a history that starts from the base's."""
    view = variable._view
    if view.base.requires_grad:
        from .history import regenerate_view  # which makes a node of an op, and so needs this module

        check_history(variable, indirect=True)
        regenerate_view(variable)
    view.version = variable._array.version
