"""Nodes of ops with kernels of their own, and of views: their gradients are rules over tensors, or fused kernels."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..kernels import cpu
from ..kernels.array import Array
from ..kernels.complex_numbers import conj
from ..kernels.halves import in_float32
from ..kernels.locks import fork_safe_lock
from ..kernels.registry import KernelOp, Op, Rule
from . import grad_mode
from .elementwise_node import ElementwiseNode
from .node import AccumulateGrad, Node, raise_modified, saved_variable, saved_versions, sequence_numbers
from .saved_attributes import saved_properties
from .variable import Edge, wrap

_naming = fork_safe_lock()


class SavePlan:
    """What nodes of an op with kernels of its own keep, for one choice of inputs that need gradients.

    Each list pairs a name that a gradient reads with the number of the input, output or attribute it stands for.
    `reads_place` says that it reads of an input more than its layout: where it begins, its dtype, its device.
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
        self.reads_place = bool(self.offsets or self.metas)


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
        self.sequence = next(sequence_numbers)
        if outputs != 1:
            self.outputs = outputs
        self.facts = facts
        self.needs = needs
        self.versions = saved_versions(saved.values()) if saved else ()

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
    def operands(self) -> Sequence[int]:
        """See `Node.operands`."""
        op = self.op
        return super().operands if op.variadic else [i for i, n in enumerate(op.inputs) if n not in op.plain]

    @property
    def results(self) -> Sequence[int]:
        """See `Node.results`."""
        if self.outputs == 1 or self.op.is_view:
            return range(self.outputs)
        return [k for k in range(self.outputs) if k not in self.op.non_differentiable_outputs]

    def saved_names(self) -> Iterable[str]:
        """See `SavedAttributes.saved_names`."""
        every = (1 << len(self.op.inputs)) - 1
        return dict.fromkeys([*_read_names(self.op, every), *self.facts])

    def is_fact(self, name: str) -> bool:
        """See `SavedAttributes.is_fact`."""
        return name in self.facts or not (name in self.op.inputs or name.startswith("out"))

    def saved_value(self, name: str) -> Any:
        """See `SavedAttributes.saved_value`."""
        if self.is_fact(name):
            return self.facts.get(name)
        array = self._unpack().get(name)
        return None if array is None else saved_variable(array, self.device, self.edge_of(name))

    def saved_key(self, name: str) -> str | None:
        """See `SavedAttributes.saved_key`."""
        return name if name in (self.saved or self.packed.values) else None

    def tensor_to_pack(self, key: str) -> Any:
        """See `SavedAttributes.tensor_to_pack`."""
        value = (self.saved or self.packed.values)[key]
        return (
            wrap(value, self.device) if key.startswith("out") else saved_variable(value, self.device, self.edge_of(key))
        )

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
        if not graph and op.array_rule is not None:
            return self._apply_to_arrays(op.array_rule, grads)
        saved = self._unpack()
        if graph:
            tensors = {n: saved_variable(a, self.device, self.edge_of(n)) for n, a in saved.items()}
            return self._apply_rules(grads, tensors | self.facts)
        if not op.is_view:
            fused = op.fused_kernels.get(self.device.type)
            if fused is not None:
                if self.outputs == 1 and g.dtype.num <= cpu.LAST_COMPILED:  # neither halves nor complex numbers
                    return self._apply_fused(fused, grads, saved)
                if not self._conjugates(grads):
                    return self._apply_fused(functools.partial(_in_float32, fused), grads, saved)
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

    def _apply_to_arrays(self, rule: Rule, grads: Sequence[Array | None]) -> Sequence[Array]:
        """The gradient of an op that only moves items, which keeps nothing of its inputs."""
        given = {"g": grads[0], "gs": grads}
        results: Sequence[Array] = rule.function(*[given[n] if n in given else self.facts[n] for n in rule.reads])
        for result in results:
            result.shared = True  # it may be a view of the gradient
        return results

    def _apply_fused(
        self, fused: Callable[..., Any], grads: Sequence[Array | None], saved: dict[str, Array]
    ) -> Sequence[Any]:
        facts = self.facts
        values = [saved[n].ndarray if n in saved else facts.get(n) for n in self.op.fused_reads]
        given = [None if (g := grads[k]) is None else g.ndarray for k in self.op.fused_gradients]
        results = fused(*given, *values, self.needs)
        return [None if r is None else cpu.from_host(r) for r in results]

    def _conjugates(self, grads: Sequence[Any]) -> bool:
        """Whether the rules, written for real numbers, give the conjugates of gradients from conjugates.

        So it is for every holomorphic function (see `kernels/complex_forms.py`); what only moves items needs no conjugates.
        """
        op = self.op
        if op.is_view or not op.conjugates:
            return False
        return any(g is not None and _array_of(g).dtype.kind == "c" for g in grads)

    def _apply_rules(self, grads: Sequence[Any], values: dict[str, Any]) -> Sequence[Any]:
        if not self._conjugates(grads):
            return self._apply_real_rules(grads, values)
        results = self._apply_real_rules([None if g is None else conj(g) for g in grads], values)
        return [None if r is None else conj(r) for r in results]

    def _apply_real_rules(self, grads: Sequence[Any], values: dict[str, Any]) -> Sequence[Any]:
        op = self.op
        given = {f"g{i}": g for i, g in enumerate(grads)}
        given["g"], given["gs"] = grads[0], grads
        if op.variadic:
            (rule,) = op.rules.values()
            return rule.function(**{n: given[n] if n in given else values[n] for n in rule.reads})
        results: list[Any] = []
        together: dict[str, Any] = {}
        for name, needed in zip(op.inputs, self.needs, strict=True):
            if not needed or name in together:
                results.append(together[name] if needed else None)
                continue
            rule = op.rules.get(name)
            if rule is None:
                raise RuntimeError(f"{op.name}: the derivative for '{name}' is not implemented.")
            found = rule.function(**{n: given[n] if n in given else values[n] for n in rule.reads})
            if rule.together:
                together.update(zip(rule.together, found, strict=True))
                found = together[name]
            results.append(found)
        return results


def _array_of(g: Any) -> Array:
    return g if isinstance(g, Array) else g._array


def node_class(op: Op, base: type[Node] | None = None) -> type[Any]:
    """The node class of an op, named as PyTorch's; `base` is what it derives from when not the usual one."""
    if op.node_class is None:
        base = base or (ElementwiseNode if op.elementwise else OpNode)
        members = {"op": op, "__slots__": (), "__doc__": f"Node of `{op.name}`."}
        made = type(op.node_name, (base,), members | saved_properties(op))
        with _naming:
            op.node_class = op.node_class or made
    return op.node_class


def _in_float32(fused: Callable[..., Any], *arguments: Any) -> Any:
    return in_float32(fused, arguments)
