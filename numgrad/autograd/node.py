"""Nodes of the graph. Each recorded op leaves one; it holds what its gradient reads, and edges to where gradients go.

A node computes gradients in two ways. On *arrays*, when no graph is being built: a fused kernel where there is one. On
*tensors*, under `create_graph=True`: the declared rules, whose ops are recorded again. Both are derived from the same
declaration; the sweep compares them.
"""

from __future__ import annotations

import itertools
import weakref
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from ..kernels import cpu
from ..kernels.array import Array
from ..kernels.backends import backend
from ..kernels.halves import in_float32
from ..kernels.locks import fork_safe_lock
from ..kernels.reduced_gradients import reduced_gradients
from ..kernels.registry import OUT, Backward, ElementwiseOp, KernelOp, Op, Rule
from ..kernels.unbroadcast import unbroadcast
from ..kernels.views import as_strided
from . import grad_mode
from .variable import Edge, Variable, describe, wrap
from .view_rules import check_history

FREED = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already been "
    "freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify "
    "retain_graph=True if you need to backward through the graph a second time or if you need to access saved tensors "
    "after calling backward."
)
FIRST_OF_ALL = 1 << 62  # sequence numbers of AccumulateGrad start here: they run as soon as they are ready

_naming = fork_safe_lock()
_sequence = itertools.count()
_accumulate_sequence = itertools.count(FIRST_OF_ALL)


class Node:
    """A step of the graph: `grad_fn` of the tensors that the op made.

    Attributes:
        edges: for each input `(node, output_nr)`, or None for one that requires no gradient.
        outputs: number of outputs of the forward op.
        saved: what its gradient reads; the engine sets it to None afterwards, unless it is empty, and a second backward
            then raises.
        packed: stands for `saved`, which then is None, where what is saved has to be made again by `packed.open()`.
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
        self.sequence = next(_sequence)
        if outputs != 1:
            self.outputs = outputs

    def name(self) -> str:
        """PyTorch's name of the node, such as `MulBackward0` or `torch::autograd::AccumulateGrad`."""
        name = type(self).__name__
        return name if name[-1].isdigit() else f"torch::autograd::{name}"

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """For each input the node that its gradient goes to, and which of that node's outputs it was."""
        return tuple((None, 0) if edge is None else edge for edge in self.edges)

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

    def get_hooks(self) -> Hooks:
        """The node's hooks, made when first asked for."""
        if self.hooks is None:
            self.hooks = Hooks()
        return self.hooks

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


class Hooks:
    """Hooks on the gradients of a node's outputs: the user's for each output number, and tensors that retain theirs."""

    __slots__ = ("retaining", "tensor")

    def __init__(self) -> None:
        self.tensor: dict[int, OrderedDict[int, Callable[..., Any]]] = {}
        self.retaining: dict[int, weakref.ref[Any]] = {}


def _operand_edges(node: Node, conditions: Sequence[bool]) -> tuple[tuple[Node | None, int], ...]:
    """Edges of the inputs that PyTorch counts as operands: not of conditions, factors and class indices."""
    return tuple(
        (None, 0) if edge is None else edge
        for name, edge, condition in zip(node.op.inputs, node.edges, conditions, strict=True)
        if not (condition or name in node.op.plain)
    )


def raise_modified(array: Array, version: int, producer: str | None, is_result: bool) -> None:
    """Raise RuntimeError, with PyTorch's text, for a saved array that was written in place since it was saved.

    A node that saved its own result is named itself; for a saved input it is whatever made, or last wrote, the input.
    """
    current = array.version
    writer = array.storage.writer
    name = producer
    if writer is not None and not is_result:
        name = writer[0] if array.layout == writer[1] else as_strided.node_name
    origin = f", which is output 0 of {name}," if name else ""
    raise RuntimeError(
        f"one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"[{describe(array)}]{origin} is at version {current}; expected version {version} instead. Hint: enable anomaly "
        "detection to find the operation that failed to compute its gradient, with "
        "numgrad.autograd.set_detect_anomaly(True)."
    )


def _variable(array: Array, device: Any, edge: Edge | None) -> Any:
    """A saved array as a tensor with its place in the graph."""
    if edge is None:
        return wrap(array, device)
    node, _number = edge
    if isinstance(node, AccumulateGrad) and node.variable._array is array:  # not when its `.data` was replaced since
        return node.variable
    return wrap(array, device, edge)


# ---------------------------------------------------------------------------------------------------- elementwise
class Recorder:
    """How an elementwise op is recorded for one choice of dtypes, of numbers among its inputs, and of wanted gradients.

    Attributes:
        saves: indices of what a node keeps: inputs, or `OUT`.
        keeps: for a binary op, `saves` as bits: 1 and 2 for the inputs, 4 for the result.
        routes: for each input None, "pass", or the index of the output of the gradient kernel.
    """

    def __init__(self, op: ElementwiseOp, mask: int, dtype: Any, pattern: str) -> None:
        self.op = op
        self.mask = mask
        self.dtype = dtype
        backward = op.backward(mask)
        rules = [op.tensor_rules.get(name) for name in op.inputs]
        self.rules: list[Rule | None] = [r if mask >> i & 1 else None for i, r in enumerate(rules)]
        read = set(backward.saved)
        for i, rule in enumerate(self.rules):
            if rule is None and mask >> i & 1:
                read |= set(op.backward(1 << i).saved)
            elif rule is not None:
                read |= {_index(op, n) for n in rule.reads if n != "g"}
        self.saves = tuple(sorted(read, key=lambda i: (i == OUT, i)))
        self.routes = tuple(backward.routes)
        self.keeps = sum(1 << (i if i != OUT else 2) for i in self.saves) if len(op.inputs) == 2 else -1
        self.backward = backward
        self.kernel_reads = tuple(self.saves.index(i) for i in backward.saved)
        self.reads_all = self.kernel_reads == tuple(range(len(self.saves)))
        self.pattern = "v" + "".join("v" if i == OUT else pattern[i] for i in backward.saved)
        self.has_kernel = backward.op is not None
        self.passes = "pass" in self.routes
        self.run: Any = None  # the compiled kernel, where it gives all the gradients from all that is saved
        self._compiled: Any = None

    def compile(self) -> Any:
        """Compile the flat gradient kernel (CPU): a function of the gradient and of what it reads of the saved values."""
        if self._compiled is not None:
            return self._compiled
        op = self.backward.op
        assert op is not None
        routes = tuple(None if r == "pass" else r for r in self.routes)
        self._compiled = cpu.gradient_runner(op.scalar, self.dtype, self.pattern, routes)
        if self.reads_all and not self.passes:
            self.run = self._compiled
        return self._compiled


def _index(op: ElementwiseOp, name: str) -> int:
    return OUT if name == "out" else op.inputs.index(name)


class ElementwiseNode(Node):
    """A node of an elementwise op.

    `saved` holds arrays and numbers. `versions` is None when all the arrays were at version 0, as nearly always. `meta` is
    None when all arrays are flat and alike, else each input's (shape, dtype).
    """

    __slots__ = ("meta", "recorder")

    recorder: Recorder
    meta: Any

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """See `Node.next_functions`."""
        return _operand_edges(self, [self.recorder.op.scalar.kinds.get(n) == "bool" for n in self.recorder.op.inputs])

    def _check_versions(self) -> None:
        versions = self.__dict__.get("versions") or [0] * len(self.saved)
        for index, value, version in zip(self.recorder.saves, self.saved, versions, strict=True):
            if isinstance(value, Array) and value.version != version:
                raise_modified(value, version, self._producer(index), index < 0)

    def edge_of(self, index: int) -> Edge | None:
        """Where a saved array came from: the output of a node, this one's for a result."""
        return (self, OUT - index) if index < 0 else self.edges[index]

    def _producer(self, index: int) -> str | None:
        """The name of the node that made a saved array."""
        edge = self.edge_of(index)
        return None if edge is None or isinstance(edge[0], AccumulateGrad) else edge[0].name()

    def _unpack(self) -> Any:
        saved = self.saved
        if saved is None:
            return self.open_packed()
        for value in saved:
            if value.__class__ is Array and value._storage is not None and value._storage.version:
                self._check_versions()
        return saved

    def apply(self, g: Any, graph: bool) -> Sequence[Any]:
        """Gradients for each input; see `Node.apply`."""
        if g is None:
            return (None,) * len(self.edges)
        if graph:
            return self._apply_tensors(g)
        recorder = self.recorder
        saved = self.saved
        if saved is None:
            saved = self.open_packed()
        else:
            for value in saved:  # `_unpack`, written out
                if value.__class__ is Array and value._storage is not None and value._storage.version:
                    self._check_versions()
        if recorder.run is not None and self.meta is None and g.flat is not None:
            return recorder.run(g, saved)
        return self._apply_general(g, saved)

    def _apply_general(self, g: Array, saved: Any) -> Sequence[Any]:
        """Any layout, broadcasting, casting, and gradients that are `g` itself."""
        recorder = self.recorder
        if not recorder.reads_all:
            saved = [saved[i] for i in recorder.kernel_reads]
        if not recorder.has_kernel:
            results: Sequence[Any] = (None,) * len(self.edges)
        elif self.meta is None and g.flat is not None:
            results = recorder.compile()(g, saved)
        else:
            results = self._run(recorder.backward, [g, *saved])
        if recorder.passes:
            g.shared = True
            results = [g if route == "pass" else result for route, result in zip(recorder.routes, results, strict=True)]
        if self.meta is not None:
            return [None if r is None else unbroadcast(r, *m) for r, m in zip(results, self.meta, strict=True)]
        return results

    def _run(self, backward: Backward, inputs: Sequence[Any]) -> Sequence[Array | None]:
        """Gradients for each input, in the shape of the arriving ones, or summed to the input's where the kernel can."""
        assert backward.op is not None
        function, dtype, first = backward.op.scalar, self.recorder.dtype, inputs[0]
        loops = backend(first.device)
        outs = None
        if loops is cpu and self.meta is not None:
            shapes = {r: m[0] for r, m in zip(backward.routes, self.meta, strict=True) if isinstance(r, int)}
            outs = reduced_gradients(function, dtype, inputs, [shapes[r] for r in sorted(shapes)])
        if outs is None:
            outs = [loops.empty(first.shape, dtype, first.device) for _ in range(function.outputs)]
            loops.map(function, dtype, inputs, outs)
        return [outs[r] if isinstance(r, int) else None for r in backward.routes]

    def _saved_tensors(self) -> dict[int, Any]:
        """What is saved, under its index, with its place in the graph."""
        values = {}
        for index, value in zip(self.recorder.saves, self._unpack(), strict=True):
            values[index] = _variable(value, self.device, self.edge_of(index)) if isinstance(value, Array) else value
        return values

    def _apply_tensors(self, g: Any) -> Sequence[Any]:
        recorder = self.recorder
        values = self._saved_tensors()
        results: list[Any] = []
        for i, (route, rule) in enumerate(zip(recorder.routes, recorder.rules, strict=True)):
            if route is None:
                results.append(None)
                continue
            if rule is not None:
                result = rule.function(*[g if n == "g" else values[_index(recorder.op, n)] for n in rule.reads])
            else:
                # One op for each gradient: ops of one output are all that the graph has to record.
                single = recorder.op.backward(1 << i)
                result = g if single.op is None else single.op(g, *(values[j] for j in single.saved))
            if self.meta is not None:
                result = unbroadcast_tensor(result, *self.meta[i])
            results.append(result)
        return results


def unbroadcast_tensor(g: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """`unbroadcast` on tensors, recorded."""
    if tuple(g.shape) != shape:
        g = g.sum_to_size(shape)
    if g._array.dtype != dtype:
        g = g._to_numpy_dtype(dtype)
    return g


def elementwise_node(
    cls: type[Any],
    recorder: Recorder,
    edges: tuple[Edge | None, ...],
    saved: Any,
    device: Any,
    new: Any = object.__new__,
) -> Any:
    """A new node of an elementwise op; a function, since a call of the class takes a third longer."""
    node = new(cls)
    node.edges = edges
    node.saved = saved
    node.device = device
    node.sequence = next(_sequence)
    node.recorder = recorder
    node.hooks = None
    node.meta = None
    return node


# ---------------------------------------------------------------------------------------------------- other ops
class SavePlan:
    """What nodes of an op with kernels of its own keep, for one choice of inputs that need gradients.

    Each list pairs a name that a gradient reads with the number of the input, output or attribute it stands for.
    """

    def __init__(self, op: Op, mask: int) -> None:
        self.inputs: list[tuple[str, int]] = []
        self.outputs: list[tuple[str, int]] = []
        self.attributes: list[tuple[str, int]] = []
        self.shapes: list[tuple[str, int]] = []
        self.metas: list[tuple[str, int]] = []
        self.strides: list[tuple[str, int]] = []
        self.offsets: list[tuple[str, int]] = []
        attributes = list(op.attributes)
        for name in _read_names(op, mask):
            if name in attributes:
                self.attributes.append((name, attributes.index(name)))
            elif name in op.inputs:
                self.inputs.append((name, op.inputs.index(name)))
            elif name.endswith("_shape"):
                self.shapes.append((name, op.inputs.index(name.removesuffix("_shape"))))
            elif name.endswith("_strides"):
                self.strides.append((name, op.inputs.index(name.removesuffix("_strides"))))
            elif name.endswith("_offset") and op.is_view:
                self.offsets.append((name, op.inputs.index(name.removesuffix("_offset"))))
            elif name.endswith("_meta"):
                self.metas.append((name, op.inputs.index(name.removesuffix("_meta"))))
            else:
                self.outputs.append((name, int(name.removeprefix("out") or 0)))


def _read_names(op: Op, mask: int) -> list[str]:
    names: dict[str, None] = {}
    for i, name in enumerate(op.inputs):
        if (op.variadic or mask >> i & 1) and name in op.rules:
            names |= dict.fromkeys(op.rules[name].reads)
    if isinstance(op, KernelOp):  # its fused kernel reads no other inputs than the wanted gradients do
        names |= dict.fromkeys(n for n in op.fused_reads if n not in op.inputs)
    return [n for n in names if not (n in ("g", "gs") or (n[0] == "g" and n[1:].isdigit()))]


def save_plan(op: Op, mask: int) -> SavePlan:
    """The plan for the inputs whose bits are set in `mask`."""
    found = op.saved_by_mask.get(mask)
    if found is None:
        found = op.saved_by_mask[mask] = SavePlan(op, mask)
    return found


class OpNode(Node):
    """A node of an op with kernels of its own, or of a view: saved values by the names that its gradients read.

    `saved` maps names to arrays, `facts` to shapes and plain values, which are never freed.
    """

    __slots__ = ("facts", "needs", "versions")

    def __init__(
        self,
        edges: tuple[Edge | None, ...],
        saved: dict[str, Array],
        facts: dict[str, Any],
        device: Any,
        outputs: int,
        needs: tuple[bool, ...],
    ) -> None:
        self.edges = edges
        self.saved = saved
        self.device = device
        self.hooks = None
        self.sequence = next(_sequence)
        if outputs != 1:
            self.outputs = outputs
        self.facts = facts
        self.needs = needs
        self.versions = [array.version for array in saved.values()] if saved else ()

    def _unpack(self) -> dict[str, Array]:
        saved = self.saved
        if saved is None:
            return self.open_packed()
        for array, version in zip(saved.values(), self.versions, strict=True):
            if array.version != version:
                name = next(n for n, a in saved.items() if a is array)
                raise_modified(array, version, self._producer(name), name.startswith("out"))
        return saved

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """See `Node.next_functions`."""
        return super().next_functions if self.op.variadic else _operand_edges(self, [False] * len(self.edges))

    def edge_of(self, name: str) -> Edge | None:
        """Where a saved array came from: the output of a node, this one's for a result."""
        if name.startswith("out"):
            number = int(name[3:] or 0)
            return None if number in self.op.non_differentiable_outputs else (self, number)
        return self.edges[self.op.inputs.index(name)]

    def _producer(self, name: str) -> str | None:
        edge = self.edge_of(name)
        return None if edge is None or isinstance(edge[0], AccumulateGrad) else edge[0].name()

    def apply(self, g: Any, graph: bool) -> Sequence[Any]:
        """Gradients for each input; see `Node.apply`."""
        if g is None:
            return (None,) * len(self.edges)
        op = self.op
        if not graph and op.is_view and op.inverse_view is not None:
            return self._apply_inverse(g)
        grads = [g] if self.outputs == 1 else g
        if self.outputs > 1 and all(x is None for x in grads):
            return (None,) * len(self.edges)
        saved = self._unpack()
        if graph:
            tensors = {n: _variable(a, self.device, self.edge_of(n)) for n, a in saved.items()}
            return self._apply_rules(grads, tensors | self.facts)
        if not op.is_view and (fused := op.fused_kernels.get(self.device.type)) is not None:
            return self._apply_fused(fused, g, saved)
        with grad_mode.no_grad():
            tensors = {n: wrap(a, self.device) for n, a in saved.items()} | self.facts
            results = self._apply_rules([None if x is None else wrap(x, self.device) for x in grads], tensors)
        found = [None if r is None else r._array for r in results]
        # A rule may hand on its gradient, or what was saved, as it is: then the memory has two owners.
        for result in found:
            if result is not None:
                result.shared = True
        return found

    def _apply_inverse(self, g: Array) -> Sequence[Array]:
        """The gradient of a view whose inverse is a view: only the layout changes."""
        rule = self.op.inverse_view
        view, attributes = rule.function(*[self.facts[n] for n in rule.reads])
        result = g.view(*view.layout(g.shape, g.strides, g.offset, *attributes))
        result.shared = g.shared
        return (result,)

    def _apply_fused(self, fused: Callable[..., Any], g: Array, saved: dict[str, Array]) -> Sequence[Any]:
        facts = self.facts
        values = [saved[n].ndarray if n in saved else facts.get(n) for n in self.op.fused_reads]
        results = in_float32(fused, [g.ndarray, *values, self.needs])
        return [None if r is None else cpu.from_host(r) for r in results]

    def _apply_rules(self, grads: Sequence[Any], values: dict[str, Any]) -> Sequence[Any]:
        op = self.op
        given = {f"g{i}": g for i, g in enumerate(grads)}
        given["g"], given["gs"] = grads[0], grads
        if op.variadic:
            (rule,) = op.rules.values()
            return rule.function(**{n: given[n] if n in given else values[n] for n in rule.reads})
        results: list[Any] = []
        for name, needed in zip(op.inputs, self.needs, strict=True):
            if not needed:
                results.append(None)
                continue
            rule = op.rules[name]
            results.append(rule.function(**{n: given[n] if n in given else values[n] for n in rule.reads}))
        return results


def node_class(op: Op, base: type[Node] | None = None) -> type[Any]:
    """The node class of an op, named as PyTorch's; `base` is what it derives from when not the usual one."""
    if op.node_class is None:
        base = base or (ElementwiseNode if op.elementwise else OpNode)
        made = type(op.node_name, (base,), {"op": op, "__slots__": (), "__doc__": f"Node of `{op.name}`."})
        with _naming:
            op.node_class = op.node_class or made
    return op.node_class


# ---------------------------------------------------------------------------------------------------- leaves
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
        check_history(variable, indirect=True)
        regenerate_view(variable)
    view.version = variable._array.version


def regenerate_view(variable: Any) -> None:
    """Make a view's history anew: the base's, and from there one `AsStridedBackward0`."""
    view = variable._view
    base, array = view.base, variable._array
    facts = {
        "input_shape": base._array.shape,
        "input_strides": base._array.strides,
        "input_offset": base._array.offset,
        "size": array.shape,
        "stride": array.strides,
        "storage_offset": array.offset,
    }
    node = node_class(as_strided)((gradient_edge(base),), {}, facts, variable._device, 1, (True,))
    move_retained(variable, (node, 0))
    variable._edge = (node, 0)
    variable._requires_grad = True
    view.version = array.version


def move_retained(variable: Any, edge: Edge) -> None:
    """Keep a tensor's `retain_grad` with it when an in-place write gives it another node."""
    if variable._retains_grad and variable._edge is not None:
        node, number = variable._edge
        if node.hooks is not None:
            node.hooks.retaining.pop(number, None)
        edge[0].get_hooks().retaining[edge[1]] = weakref.ref(variable)
