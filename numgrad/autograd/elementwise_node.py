"""Nodes of elementwise ops: their gradients are kernels over the items, derived from the scalar function."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..dtype import bool_, complex128, float64, int64
from ..kernels import cpu
from ..kernels.array import Array
from ..kernels.backends import backend
from ..kernels.gradient_calls import gradient_runner
from ..kernels.reduced_gradients import reduced_gradients
from ..kernels.registry import OUT, Backward, ElementwiseOp, Rule
from ..kernels.unbroadcast import unbroadcast
from .node import AccumulateGrad, Node, raise_modified, saved_variable, sequence_numbers
from .variable import Edge, wrap

_NUMBERS = {bool: bool_, int: int64, float: float64, complex: complex128}


def _number_tensor(value: Any, device: Any) -> Any:
    """A Python number that a node saved as the 0-d tensor it stands for."""
    array = cpu.empty((), _NUMBERS[type(value)].numpy)
    cpu.fill(array, value)
    return wrap(array, device)


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
                read |= {index_of(op, n) for n in rule.reads if n != "g"}
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
        self._compiled = gradient_runner(op.scalar, self.dtype, self.pattern, routes)
        if self.reads_all and not self.passes:
            self.run = self._compiled
        return self._compiled


def index_of(op: ElementwiseOp, name: str) -> int:
    """The index of what a gradient names, among the op's inputs, or `OUT`."""
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
    def operands(self) -> Sequence[int]:
        """See `Node.operands`."""
        op = self.op
        return [i for i, n in enumerate(op.inputs) if n not in op.plain and op.scalar.kinds.get(n) != "bool"]

    def saved_names(self) -> Iterable[str]:
        """See `SavedAttributes.saved_names`."""
        wanted = sum(1 << i for i in self.operands)
        read = {*self.op.backward(wanted).saved, *self.recorder.saves}
        return [self._name(i) for i in sorted(read, key=lambda i: (i < 0, abs(i)))]

    def _name(self, index: int) -> str:
        if index >= 0:
            return self.op.inputs[index]
        return "out" if self.outputs == 1 else f"out{OUT - index}"

    def saved_value(self, name: str) -> Any:
        """See `SavedAttributes.saved_value`."""
        value = {self._name(i): v for i, v in self.tensors_by_index().items()}.get(name)
        is_operand = name in self.op.inputs and self.op.inputs.index(name) in self.operands
        return _number_tensor(value, self.device) if is_operand and type(value) in _NUMBERS else value

    def saved_key(self, name: str) -> int | None:
        """See `SavedAttributes.saved_key`."""
        names = [self._name(i) for i in self.recorder.saves]
        return names.index(name) if name in names else None

    def tensor_to_pack(self, key: int) -> Any:
        """See `SavedAttributes.tensor_to_pack`."""
        index = self.recorder.saves[key]
        value = (self.saved or self.packed.values)[key]
        return wrap(value, self.device) if index < 0 else saved_variable(value, self.device, self.edges[index])

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

    def tensors_by_index(self) -> dict[int, Any]:
        """What is saved, under its index, with its place in the graph."""
        values = {}
        for index, value in zip(self.recorder.saves, self._unpack(), strict=True):
            values[index] = (
                saved_variable(value, self.device, self.edge_of(index)) if isinstance(value, Array) else value
            )
        return values

    def _apply_tensors(self, g: Any) -> Sequence[Any]:
        recorder = self.recorder
        values = self.tensors_by_index()
        results: list[Any] = []
        for i, (route, rule) in enumerate(zip(recorder.routes, recorder.rules, strict=True)):
            if route is None:
                results.append(None)
                continue
            if rule is not None:
                result = rule.function(*[g if n == "g" else values[index_of(recorder.op, n)] for n in rule.reads])
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
    node.sequence = next(sequence_numbers)
    node.recorder = recorder
    node.hooks = None
    node.meta = None
    return node
