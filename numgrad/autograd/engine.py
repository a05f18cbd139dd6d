"""Backward: runs the nodes of a graph once each, from the newest to the oldest, without recursion.

Gradients travel as arrays, or as tensors when a graph of the backward is being built. `.grad` of leaves is written at the
very end, so that an error on the way (a freed graph, a modified tensor, a hook that raises) leaves every `.grad` as it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush, heappushpop
from typing import Any

from ..dtype import FROM_NUMPY
from ..kernels.array import Array
from ..kernels.locks import fork_safe_lock
from ..kernels.unbroadcast import accumulate, cloned
from . import grad_mode
from .node import AccumulateGrad, Node, gradient_edge
from .variable import Edge, Variable, wrap


def run_backward(
    roots: list[Edge],
    gradients: list[Any],
    *,
    keep_graph: bool,
    create_graph: bool,
    inputs: Sequence[Any] | None = None,
    accumulate_grad: bool = True,
) -> list[Any]:
    """Propagate `gradients` from `roots`.

    Args:
        roots: edges of the tensors to differentiate.
        gradients: a tensor for each.
        keep_graph: keep what the nodes saved, for another backward.
        create_graph: record the backward itself.
        inputs: tensors; if given, only they receive gradients.
        accumulate_grad: add to `.grad` (`backward`); otherwise return the gradients (`grad`, `gradients`).

    Returns:
        With `accumulate_grad=False`, a tensor or None for each of `inputs`; without them, `(leaf, gradient)` for every leaf
        that was reached.
    """
    engine = _Pass(keep_graph, create_graph, inputs, accumulate_grad)
    previous, grad_mode.mode.enabled = grad_mode.mode.enabled, create_graph
    try:
        engine.run(roots, gradients)
        return engine.finish()
    finally:
        grad_mode.mode.enabled = previous


_writing = fork_safe_lock()


class _Pass:
    """One backward pass: the gradients that have arrived at each node, and the nodes that are ready."""

    def __init__(self, keep: bool, graph: bool, inputs: Sequence[Any] | None, accumulate_grad: bool) -> None:
        self.keep = keep
        self.graph = graph
        self.tensors = inputs
        self.inputs: list[Edge] | None = None if inputs is None else [_required_edge(x) for x in inputs]
        self.accumulate_grad = accumulate_grad
        self.arrived: dict[Node, Any] = {}
        self.owned: set[Node] = set()  # nodes whose (single) arrived gradient is a sum that this pass made
        self._sum = _add_tensors if graph else accumulate
        self.captured: dict[Edge, Any] = {}
        self.retained: list[tuple[Any, Any]] = []
        self.leaves: list[tuple[Any, Any]] = []

    # ------------------------------------------------------------------------------------------ running
    def run(self, roots: list[Edge], gradients: list[Any]) -> None:
        pending = count_dependencies(roots)
        wanted = None if self.inputs is None else _nodes_towards(pending, self.inputs)
        capturing = set(self.inputs or ())
        capture_nodes = {node for node, _ in capturing}
        ready: list[tuple[int, Node]] = []
        for edge, gradient in zip(roots, gradients, strict=True):
            if not self.graph:
                gradient = gradient._array
                gradient.shared = True  # it is the caller's
            self._arrive(edge, gradient)
        for node in {node for node, _ in roots}:
            if not pending[node]:
                heappush(ready, (-node.sequence, node))
        keep, graph, arrived, owned = self.keep, self.graph, self.arrived, self.owned
        upcoming: Node | None = None  # a ready node that is not on the heap: a chain then never touches it
        while True:
            if upcoming is None:
                if not ready:
                    return
                node = heappop(ready)[1]
            else:
                node, upcoming = upcoming, None
                if ready and -ready[0][0] > node.sequence:
                    node = heappushpop(ready, (-node.sequence, node))[1]
            g = arrived.pop(node, None)
            if node.__class__ is AccumulateGrad:
                if node.hooks is None and not capturing:
                    self._keep_leaf(node.variable, g)
                else:
                    self._observe(node, g, capturing)
                continue
            if node.hooks is not None or (capturing and node in capture_nodes):
                g = self._observe(node, g, capturing)
            if wanted is not None and node not in wanted:
                continue
            if g is None and node.outputs > 1:
                g = [None] * node.outputs
            results = node.apply(g, graph)
            if not keep:
                if node.saved:
                    node.saved = None
                elif node.saved is None:
                    node.release()
            for link, result in zip(node.edges, results):  # noqa: B905  (strict costs, and apply gives one for each edge)
                if link is None:
                    continue
                following = link[0]
                if result is not None:
                    if following.outputs != 1:
                        self._arrive(link, result)
                    elif following not in arrived:
                        arrived[following] = result
                    else:
                        arrived[following] = self._sum(arrived[following], result, following in owned)
                        owned.add(following)
                left = pending[following]
                if left > 1:
                    pending[following] = left - 1
                else:
                    if upcoming is None:
                        upcoming = following
                    else:
                        heappush(ready, (-following.sequence, following))

    def _arrive(self, edge: Edge, g: Any) -> None:
        """Add a gradient to what has arrived at an edge's end."""
        node, number = edge
        arrived = self.arrived
        if node.outputs > 1:
            slots = arrived.setdefault(node, [None] * node.outputs)
            slots[number] = g if slots[number] is None else self._sum(slots[number], g, False)
            return
        present = arrived.get(node)
        if present is None:
            arrived[node] = g
            return
        arrived[node] = self._sum(present, g, node in self.owned)
        self.owned.add(node)

    def _observe(self, node: Node, g: Any, capturing: set[Edge]) -> Any:
        """Run the hooks of a node's outputs, note captured and retained gradients, and keep a leaf's for the end."""
        slots = [g] if node.outputs == 1 else (g or [None] * node.outputs)
        hooks = node.hooks
        for number, value in enumerate(slots):
            if value is not None and hooks is not None and number in hooks.tensor:
                self.owned.discard(node)
                value = self._run_hooks(hooks.tensor[number], value, node.device)
                slots[number] = value
            if value is not None and hooks is not None and number in hooks.retaining:
                tensor = hooks.retaining[number]()
                if tensor is not None:  # a copy: what travels on may be shared with other gradients
                    kept = value.clone() if self.graph else wrap(cloned(value), node.device)
                    self.retained.append((tensor, kept))
            if (node, number) in capturing:
                self.captured[node, number] = value
        if isinstance(node, AccumulateGrad):
            self._keep_leaf(node.variable, slots[0])
        return slots[0] if node.outputs == 1 else slots

    def _keep_leaf(self, variable: Any, g: Any) -> None:
        """Note a leaf's gradient, which is written when the pass has succeeded."""
        if g is not None and self.inputs is None and variable._requires_grad:
            self.leaves.append((variable, g))

    def _run_hooks(self, hooks: dict[int, Any], g: Any, device: Any) -> Any:
        tensor = self._as_tensor(g, device)
        for hook in list(hooks.values()):
            result = hook(tensor)
            if result is not None:
                _check_replacement(hook, result, tensor)
                tensor = result
        if self.graph:
            return tensor
        tensor._array.shared = True
        return tensor._array

    def _as_tensor(self, g: Any, device: Any) -> Any:
        """A gradient as a tensor that the user may keep."""
        if not isinstance(g, Array):
            return g
        g.shared = True
        return wrap(g, device)

    # ------------------------------------------------------------------------------------------ writing
    def finish(self) -> list[Any]:
        """Write what the pass found: `.grad` of leaves and of tensors that retain it, or the captured gradients."""
        if self.tensors is None and not self.accumulate_grad:
            return [(leaf, _owned_tensor(g, leaf._device)) for leaf, g in self.leaves]
        for tensor, g in self.retained:
            tensor._grad = g if tensor._grad is None else tensor._grad + g
        if self.tensors is not None and self.inputs is not None:
            if not self.accumulate_grad:
                return [_owned_tensor(self.captured.get(edge), edge[0].device) for edge in self.inputs]
            for tensor, edge in dict(zip(self.tensors, self.inputs, strict=True)).items():
                if tensor._edge is None and self.captured.get(edge) is not None:
                    self.leaves.append((tensor, self.captured[edge]))
        with _writing:  # two threads may run backward into one leaf
            for variable, g in self.leaves:
                self._accumulate_leaf(variable, g)
        return []

    def _accumulate_leaf(self, variable: Any, g: Any) -> None:
        """Add to `.grad`: a new tensor the first time, in place afterwards, out of place under `create_graph`."""
        present = variable._grad
        if self.graph:
            variable._grad = g.new_zeros(g.shape).copy_(g) if present is None else present + g
            return
        if present is None:
            if g.shared or not g.is_contiguous():
                g = cloned(g)
            g.shared = True
            variable._grad = wrap(g, variable._device)
        elif present._requires_grad or _repeats(present._array):  # neither may be written in place
            with grad_mode.no_grad():
                variable._grad = present + wrap(g, variable._device)
        else:
            accumulate(present._array, g, True)
            present._array.storage.version += 1


def _owned_tensor(g: Any, device: Any) -> Any:
    """A gradient as a tensor whose memory is nobody else's."""
    if not isinstance(g, Array):
        return g
    return wrap(cloned(g) if g.shared else g, device)


def _add_tensors(present: Any, g: Any, owned: bool) -> Any:
    return present + g


def _required_edge(tensor: Any) -> Edge:
    edge = gradient_edge(tensor)
    if edge is None:
        raise RuntimeError("One of the differentiated Tensors does not require grad")
    return edge


def _repeats(array: Array) -> bool:
    """Whether a user's `.grad` shows one element several times, as an expanded tensor does."""
    return 0 in array.strides and any(s == 0 and n > 1 for n, s in zip(array.shape, array.strides, strict=True))


def _check_replacement(hook: Any, result: Any, tensor: Any) -> None:
    """Raise, with PyTorch's texts, when what a hook returned cannot stand for the gradient it was given."""
    if not isinstance(result, Variable):
        raise TypeError(f"expected Variable, but hook returned '{type(result).__name__}'")
    name = getattr(hook, "__name__", type(hook).__name__)
    given, returned = tensor._array, result._array
    if returned.dtype is not given.dtype:
        types = [f"torch.{FROM_NUMPY[a.dtype].tensor_name}" for a in (given, returned)]
        raise RuntimeError(f"hook '{name}' has changed the type of value (was {types[0]} got {types[1]})")
    if returned.shape != given.shape:
        raise RuntimeError(f"hook '{name}' has changed the size of value")


def count_dependencies(roots: list[Edge]) -> dict[Node, int]:
    """For each reachable node the number of gradients that will arrive there, roots not counted."""
    pending: dict[Node, int] = dict.fromkeys((node for node, _ in roots), 0)
    stack = list(pending)
    while stack:
        for edge in stack.pop().edges:
            if edge is not None:
                following = edge[0]
                count = pending.get(following)
                if count is None:
                    pending[following] = 1
                    stack.append(following)
                else:
                    pending[following] = count + 1
    return pending


def _nodes_towards(reachable: dict[Node, int], inputs: list[Edge]) -> set[Node]:
    """The reachable nodes that lie on a path to one of the inputs (an input's own node counts only if it does too)."""
    targets = {node for node, _ in inputs}
    found: set[Node] = set()
    for node in sorted(reachable, key=lambda n: n.sequence):
        for edge in node.edges:
            if edge is not None and (edge[0] in found or edge[0] in targets):
                found.add(node)
                break
    return found
