"""Backward: runs the nodes of a graph once each, from the newest to the oldest, without recursion.

Gradients travel as arrays, or as tensors when a graph of the backward is being built. `.grad` of leaves is written at the
very end, so that an error on the way (a freed graph, a modified tensor, a hook that raises) leaves every `.grad` as it was.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import partial
from heapq import heappop, heappush, heappushpop
from typing import Any

from ..kernels.array import Array, dense_order
from ..kernels.backends import backend
from ..kernels.locks import fork_safe_lock
from ..kernels.unbroadcast import accumulate, cloned, unbroadcast
from . import anomaly_mode, grad_mode, profiling
from .hooks import Hooks, run_accumulated_hooks, run_node_hooks, run_tensor_hooks
from .inplace import check_counted
from .node import AccumulateGrad, Node, gradient_edge
from .tracing import is_traced
from .variable import Edge, wrap, wrap_new


def run_backward(
    roots: list[Edge],
    gradients: list[Any],
    *,
    keep_graph: bool,
    create_graph: bool,
    inputs: Sequence[Edge] | None = None,
    accumulate_grad: bool = True,
    on_tensors: bool = False,
) -> list[Any]:
    """Propagate `gradients` from `roots`.

    Args:
        roots: edges of the tensors to differentiate.
        gradients: a tensor for each.
        keep_graph: keep what the nodes saved, for another backward.
        create_graph: record the backward itself.
        inputs: edges of tensors; if given, only they receive gradients.
        accumulate_grad: add to `.grad` (`backward`); otherwise return the gradients (`grad`, `gradients`).
        on_tensors: let gradients travel as tensors, as they do while the backward is recorded: some are traced.

    Returns:
        With `accumulate_grad=False`, a tensor or None for each of `inputs`; without them, `(leaf, gradient)` for every leaf
        that was reached.
    """
    engine = _Pass(keep_graph, create_graph or on_tensors, inputs, accumulate_grad)
    mode = grad_mode.mode
    previous = mode.grad
    mode.set(create_graph, mode.inference)
    outer, _running.backward = _running.backward, engine
    try:
        engine.run(roots, gradients)
        return engine.finish()
    except BaseException:
        engine.take_back()
        raise
    finally:
        mode.set(previous, mode.inference)
        _running.backward = outer


class _Running(threading.local):
    """The backward pass that this thread is in."""

    backward: _Pass | None = None


_running = _Running()
_writing = fork_safe_lock()


def pass_token() -> object | None:
    """What tells the backward pass that this thread is in from others, without keeping it; None outside of any."""
    return None if _running.backward is None else _running.backward.token


def current_pass() -> _Pass:
    """The backward pass that this thread is in. Raises RuntimeError when it is in none."""
    if _running.backward is None:
        raise RuntimeError("expected this hook to be called inside a backward call")
    return _running.backward


class _Pass:
    """One backward pass: the gradients that have arrived at each node, and the nodes that are ready."""

    def __init__(self, keep: bool, graph: bool, inputs: Sequence[Edge] | None, accumulate_grad: bool) -> None:
        self.notes: dict[Any, Any] = {}  # what hooks remember until the end of the pass
        self.keep = keep
        self.graph = graph
        self.token = object()
        self.inputs = inputs
        self.accumulate_grad = accumulate_grad
        self.pending: dict[Node, int] = {}
        self.wanted: set[Node] | None = None  # nodes on the way to `inputs`
        self.arrived: dict[Node, Any] = {}
        self.owned: set[Node] = set()  # nodes whose (single) arrived gradient is a sum that this pass made
        self._sum = _add_tensors if graph else accumulate
        self.captured: dict[Edge, Any] = {}
        self.retained: list[tuple[Any, Any]] = []
        self.leaves: list[tuple[Any, Any]] = []
        self._written: list[tuple[Any, Any, Any]] = []  # leaves that have their gradient already, and what they had

    # ------------------------------------------------------------------------------------------ running
    def run(self, roots: list[Edge], gradients: list[Any]) -> None:
        pending = self.pending = count_dependencies(roots)
        wanted = self.wanted = None if self.inputs is None else _nodes_towards(pending, self.inputs)
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
        checked: Any = anomaly_mode.checked_apply if anomaly_mode.is_anomaly_enabled() else None
        recorder = profiling.current()
        if recorder is not None:
            checked = partial(recorder.node, checked)
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
            hooks = node.hooks
            if node.__class__ is AccumulateGrad:
                if hooks is None and not capturing:
                    self._keep_leaf(node.variable, g)
                else:
                    self._finish_leaf(node, g, capturing)
                continue
            if hooks is not None or (capturing and node in capture_nodes):
                g = self._observe(node, g, capturing)
            if wanted is not None and node not in wanted:
                continue
            if g is None and node.outputs > 1:
                g = [None] * node.outputs
            if hooks is not None and hooks.before:
                g = self._run_prehooks(node, hooks, g)
            results = node.apply(g, graph) if checked is None else checked(node, g, graph)
            if hooks is not None and hooks.after:
                results = self._run_posthooks(node, hooks, results, g)
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

    def will_execute(self, node: Node) -> bool:
        """Whether a gradient reaches the node in this pass, or it is one of the inputs."""
        if node not in self.pending:
            return False
        return self.wanted is None or node in self.wanted or any(node is n for n, _ in self.inputs or ())

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

    # ------------------------------------------------------------------------------------------ hooks
    def _observe(self, node: Node, g: Any, capturing: set[Edge]) -> Any:
        """Run the hooks of a node's outputs, and note captured and retained gradients."""
        slots = [g] if node.outputs == 1 else (g or [None] * node.outputs)
        hooks = node.hooks
        for number, value in enumerate(slots):
            if value is not None and hooks is not None and number in hooks.tensor:
                self.owned.discard(node)
                lent = lend(value, node.device)
                value = self._taken_back(value, lent, run_tensor_hooks(hooks.tensor[number], lent))
                slots[number] = value
            if value is not None and hooks is not None and number in hooks.retaining:
                tensor = hooks.retaining[number]()
                if tensor is not None:  # a copy: what travels on may be shared with other gradients
                    kept = value.clone() if self.graph else wrap(cloned(value), node.device)
                    self.retained.append((tensor, kept))
            if (node, number) in capturing:
                self.captured[node, number] = value
        return slots[0] if node.outputs == 1 else slots

    def _taken_back(self, g: Any, lent: Any, result: Any) -> Any:
        """The gradient that travels on, after hooks were lent a tensor for `g` and left `result`."""
        if result is lent and (lent is None or not lent._array.version):
            return g
        if self.graph or result is None:
            return result
        result._array.shared = True
        return result._array

    def _run_prehooks(self, node: Node, hooks: Hooks, g: Any) -> Any:
        slots = [g] if node.outputs == 1 else g
        given = [slots[k] for k in node.results]
        lent = _lend_all(given, node)
        results = run_node_hooks(hooks.before, lent)
        for k, *three in zip(node.results, given, lent, results, strict=True):
            slots[k] = self._taken_back(*three)
        return slots[0] if node.outputs == 1 else slots

    def _run_posthooks(self, node: Node, hooks: Hooks, results: Sequence[Any], g: Any) -> Sequence[Any]:
        slots = [g] if node.outputs == 1 else g
        operands = node.operands
        given = [results[i] for i in operands]
        lent = _lend_all(given, node)
        replaced = run_node_hooks(hooks.after, lent, _lend_all([slots[k] for k in node.results], node))
        found = list(results)
        for i, *three in zip(operands, given, lent, replaced, strict=True):
            found[i] = self._taken_back(*three)
        return found

    # ------------------------------------------------------------------------------------------ leaves
    def _finish_leaf(self, node: Any, g: Any, capturing: set[Edge]) -> None:
        """What happens at a leaf that has hooks, or in a pass that captures gradients."""
        g = self._observe(node, _in_grad_dtype(node.variable, g), capturing)
        if self.inputs is not None and not (self.accumulate_grad and (node, 0) in capturing):
            return
        hooks = node.hooks
        if hooks is None:
            self._keep_leaf(node.variable, g)
            return
        if hooks.before:
            g = self._run_prehooks(node, hooks, g)
        if not (hooks.accumulated or hooks.after):
            self._keep_leaf(node.variable, g)
            return
        if g is not None and node.variable._requires_grad:
            self._write_now(node.variable, g)
        run_accumulated_hooks(hooks.accumulated, node.variable)
        if hooks.after:
            run_node_hooks(hooks.after, (), (None if g is None else lend(g, node.device),))

    def _keep_leaf(self, variable: Any, g: Any) -> None:
        """Note a leaf's gradient, which is written when the pass has succeeded."""
        if g is not None and variable._requires_grad:
            self.leaves.append((variable, g))

    def _write_now(self, variable: Any, g: Any) -> None:
        """Write a leaf's gradient, since hooks wait for it, and remember what there was."""
        before = variable._grad
        self._written.append((variable, before, None if before is None else cloned(before._array)))
        with _writing:
            self._accumulate_leaf(variable, g)

    def take_back(self) -> None:
        """Undo what was written, after an error."""
        for variable, before, values in reversed(self._written):
            variable._grad = before
            if before is not None:
                backend(before._array.device).copy(values, before._array)

    # ------------------------------------------------------------------------------------------ writing
    def finish(self) -> list[Any]:
        """Write what the pass found: `.grad` of leaves and of tensors that retain it, or the captured gradients."""
        if self.inputs is None and not self.accumulate_grad:
            return [(leaf, _owned_tensor(g, leaf._device)) for leaf, g in self.leaves]
        for variable, _ in self.leaves:
            if not self.graph and variable._grad is not None:
                check_counted(variable._grad)
        for tensor, g in self.retained:
            tensor._grad = g if tensor._grad is None else tensor._grad + g
        with _writing:  # two threads may run backward into one leaf
            for variable, g in self.leaves:
                self._accumulate_leaf(variable, g)
        if self.inputs is None or self.accumulate_grad:
            return []
        return [_owned_tensor(self.captured.get(edge), edge[0].device) for edge in self.inputs]

    def _accumulate_leaf(self, variable: Any, g: Any) -> None:
        """Add to `.grad`: a new tensor the first time, in place afterwards, out of place under `create_graph`."""
        if variable._grad_dtype is not Ellipsis:
            g = _in_grad_dtype(variable, g)
        present = variable._grad
        if self.graph:
            variable._grad = g.new_zeros(g.shape).copy_(g) if present is None else present + g
            return
        if present is None:
            if g.shared or g.flat is None or variable._array.flat is None:
                g = _laid_out_as(variable._array, g)
            g.shared = True
            variable._grad = wrap_new(g, variable._device)
        elif _repeats(present._array):  # it cannot be written in place
            with grad_mode.no_grad():
                variable._grad = present + wrap(g, variable._device)
        else:
            accumulate(present._array, g, True)
            present._array.storage.version += 1


def _owned_tensor(g: Any, where: Any) -> Any:
    """A gradient as a tensor whose memory is nobody else's."""
    if not isinstance(g, Array):
        return g
    return wrap_new(cloned(g) if g.shared else g, where)


def lend(g: Any, where: Any) -> Any:
    """A gradient, array or tensor, as a tensor that user code may keep and write to without changing any other gradient.

    That is a copy where others may see the memory, at the same place in the graph.
    """
    if isinstance(g, Array):
        lent = wrap(cloned(g) if g.shared else g, where)
        g.shared = True
        return lent
    if is_traced(g):
        return g.clone()
    return wrap(cloned(g._array), g._device, gradient_edge(g))


def _lend_all(gradients: Sequence[Any], node: Node) -> tuple[Any, ...]:
    return tuple(None if g is None else lend(g, node.device) for g in gradients)


def _add_tensors(present: Any, g: Any, owned: bool) -> Any:
    return present + g


def _laid_out_as(leaf: Array, g: Array) -> Array:
    """A leaf's gradient as memory of its own: with the leaf's strides where that is dense, contiguous elsewhere."""
    if leaf.flat is None and not leaf.is_contiguous() and dense_order(leaf.shape, leaf.strides) is not None:
        if g.shared or g.strides != leaf.strides:
            loops = backend(g.device)
            laid_out = loops.empty_strided(leaf.shape, leaf.strides, g.dtype)
            loops.copy(g, laid_out)
            return laid_out
        return g
    return cloned(g) if g.shared or not g.is_contiguous() else g


def _in_grad_dtype(variable: Any, g: Any) -> Any:
    """A leaf's gradient in the dtype that its `grad_dtype` asks for."""
    wanted = variable._grad_dtype
    if wanted is Ellipsis or wanted is None or g is None:
        return g
    if not isinstance(g, Array):
        return g.to(wanted)
    return g if g.dtype == wanted.numpy else unbroadcast(g, g.shape, wanted.numpy)


def _repeats(array: Array) -> bool:
    """Whether a user's `.grad` shows one element several times, as an expanded tensor does."""
    return 0 in array.strides and any(s == 0 and n > 1 for n, s in zip(array.shape, array.strides, strict=True))


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


def _nodes_towards(reachable: dict[Node, int], inputs: Sequence[Edge]) -> set[Node]:
    """The reachable nodes that lie on a path to one of the inputs (an input's own node counts only if it does too)."""
    targets = {node for node, _ in inputs}
    found: set[Node] = set()
    for node in sorted(reachable, key=lambda n: n.sequence):
        for edge in node.edges:
            if edge is not None and (edge[0] in found or edge[0] in targets):
                found.add(node)
                break
    return found
