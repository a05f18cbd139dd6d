"""Dual numbers: tensors that carry a tangent, and how each op carries it on.

An elementwise op has a diagonal Jacobian, so its derivative along a tangent is its gradient kernel with the tangent in
the place of the incoming gradient. A linear op, as all views are, is applied to the tangent; a multilinear one to each
tangent in turn. For everything else the derivative is taken from the declared gradient by transposing it twice: the
vector-Jacobian product is linear in its vector, and the gradient of that linear map along the tangent is the
Jacobian-vector product. All of it is written in differentiable ops, so tangents have gradients, and tangents.
"""

from __future__ import annotations

import gc
import weakref
from typing import Any

from ..kernels.array import Array
from ..kernels.movement import to_strides
from ..kernels.registry import OUT, run
from .grad_mode import enable_grad, mode
from .node import gradient_edge
from .pullback import pull, variables
from .tracing import Level, TracedArray, level_of, without_graph
from .variable import CLASSES, ViewInfo, wrap


class DualArray(TracedArray):
    """The array of a tensor with a tangent. `inner` is the primal's own array, over the same storage."""

    __slots__ = ("inner", "tangent")

    inner: Array
    tangent: Any

    def __init__(self, level: DualLevel, inner: Array, tangent: Any) -> None:
        super().__init__(level, inner, inner.shape, inner.strides)
        self.inner = inner
        self.tangent = tangent

    @property
    def inside(self) -> Array:
        """See `TracedArray.inside`."""
        return self.inner

    @property
    def ndarray(self) -> Any:
        """The primal's items: looking at them is no differentiable step."""
        return self.inner.ndarray


class DualLevel(Level):
    """A running forward-mode derivative."""

    def __init__(self) -> None:
        super().__init__()
        self._made: list[weakref.ref[Any]] = []

    # ------------------------------------------------------------------------------------------ wrapping
    def dual(self, primal: Any, tangent: Any) -> Any:
        """`primal` with a tangent, as a new tensor at the same place in the graph."""
        made = wrap(primal._array, primal._device, gradient_edge(primal))
        made._view = primal._view
        self.attach(made, tangent)
        return made

    def attach(self, x: Any, tangent: Any) -> None:
        """Give a tensor a tangent."""
        x._array = DualArray(self, x._array, tangent)
        self._made.append(weakref.ref(x))

    def parts(self, x: Any) -> tuple[Any, Any]:
        """A tensor without this level's tangent, and the tangent or None."""
        if level_of(x) is not self:
            return x, None
        return _primal(x), x._array.tangent

    def leave(self) -> None:
        """Tangents end with their level: what is still referred to becomes its primal."""
        for reference in self._made:
            x = reference()
            if x is not None and level_of(x) is self:
                x._array = x._array.inner
        self._made.clear()

    def rebuilt(self, x: Any, inside: Any, *others: Any) -> Any:
        """See `Level.rebuilt`."""
        primals, tangents = zip(*[self.parts(y) for y in (x, *others)], strict=True)
        if any(t is None for t in tangents):
            tangents = tuple(p.new_zeros(p.shape) if t is None else t for p, t in zip(primals, tangents, strict=True))
        return self.dual(inside(*primals), inside(*tangents))

    def parts_of(self, x: Any) -> tuple[Any, ...]:
        """See `Level.parts_of`."""
        return self.parts(x)

    def inside(self, x: Any) -> Any:
        """See `Level.inside`."""
        return _primal(x)

    def like(self, x: Any, inside: Any) -> Any:
        """See `Level.like`."""
        return self.dual(inside, x._array.tangent)

    def shown(self, x: Any) -> str:
        """`repr(x)`: the primal's, with the tangent behind it."""
        return f"{repr(_primal(x))[:-1]}, tangent={x._array.tangent!r})"

    def detached(self, x: Any) -> Any:
        """`x.detach()`: the tangent is dropped."""
        return _primal(x).detach()

    # ------------------------------------------------------------------------------------------ ops
    def run(self, op: Any, inputs: tuple[Any, ...], attributes: tuple[Any, ...], out: Any) -> Any:
        """See `Level.run`."""
        if out is not None or op.writes:
            return self._run_in_place(op, inputs, attributes, out)
        primals, tangents = zip(*[self.parts(x) for x in inputs], strict=True)
        if op.is_view:
            return self._run_view(op, inputs[0], attributes)
        results = run(op, primals, attributes)
        if not mode.forward_enabled or not op.differentiable:
            return results
        several = isinstance(results, tuple)
        found = results if several else (results,)
        derivatives = jvp(op, primals, tangents, attributes, found)
        made = tuple(
            r if t is None or not r._differentiable() else self.dual(r, t)
            for r, t in zip(found, derivatives, strict=True)
        )
        return made if several else made[0]

    def _run_view(self, op: Any, x: Any, attributes: tuple[Any, ...]) -> Any:
        """A view of the primal and the same view of the tangent, so that writing to it writes to both."""
        array = x._array
        if array.tangent._array.strides != array.strides or array.tangent._array.offset != array.offset:
            array.tangent = to_strides(array.tangent, strides=array.strides)
        result = run(op, (_primal(x),), attributes)
        if not mode.forward_enabled:
            return result
        tangent = run(op, (array.tangent,), attributes)
        if isinstance(result, tuple):
            return tuple(map(self.dual, result, tangent))
        return self.dual(result, tangent)

    def _run_in_place(self, op: Any, inputs: tuple[Any, ...], attributes: tuple[Any, ...], out: Any) -> Any:
        if out is None or out is not inputs[0]:
            raise NotImplementedError(
                f"Trying to use forward AD with {op.name}_out that does not support it because it is an out= function"
            )
        primals, tangents = zip(*[self.parts(x) for x in inputs], strict=True)
        before = primals[0].clone()
        run(op, primals, attributes, primals[0])
        target = primals[0]
        out._edge, out._requires_grad = target._edge, target._requires_grad
        if not mode.forward_enabled:
            return out
        (tangent,) = jvp(op, (before, *primals[1:]), tangents, attributes, (target,))
        self._write_tangent(out, tangent)
        return out

    def _write_tangent(self, x: Any, tangent: Any) -> None:
        """Make `tangent` that of a tensor that was just written in place."""
        if level_of(x) is self:
            present = x._array.tangent
            if tangent is None:
                present.zero_()
            elif tangent is not present:
                present.copy_(tangent)
            return
        if tangent is None:
            return
        base = x if x._view is None else x._view.base
        whole = _zeros_laid_out_as(base)  # what is not written has no tangent
        _seen_through(whole, base, x).copy_(tangent)
        for y in {id(y): y for y in (base, x, *_views_of(base))}.values():
            if level_of(y) is None:
                self.attach(y, whole if y is base else _seen_through(whole, base, y))

    # ------------------------------------------------------------------------------------------ gradients
    def pull(
        self, outputs: list[Any], inputs: list[Any], vectors: list[Any], create_graph: bool, keep_graph: bool
    ) -> list[Any]:
        """See `Level.pull`. The tangent of `J(p)^T v` is the gradient of `<J(p) t, v>` plus `J(p)^T` of v's tangent."""
        sources = [self.parts(x)[0] for x in inputs]
        pairs = [self.parts(y) for y in outputs]
        split = [split_dual(v, self) for v in vectors]
        primals = pull([p for p, _ in pairs], sources, [v for v, _ in split], create_graph, True)
        rows = [(t, v) for (_, t), (v, _) in zip(pairs, split, strict=True) if t is not None]
        rows += [(p, vt) for (p, _), (_, vt) in zip(pairs, split, strict=True) if vt is not None]
        tangents = pull([y for y, _ in rows], sources, [v for _, v in rows], create_graph, keep_graph)
        return [join_dual(p, t, self) for p, t in zip(primals, tangents, strict=True)]


def _views_of(base: Any) -> list[Any]:
    """All views of a tensor, those that are older than the level too.

    A tensor does not know its views, so that making one costs nothing. They are looked for among all objects, once for
    each tensor that gets a tangent in place.
    """
    infos = [o for o in gc.get_referrers(base) if isinstance(o, ViewInfo) and o.base is base]
    return [x for x in gc.get_referrers(*infos) if x.__class__ in CLASSES] if infos else []


def _primal(x: Any) -> Any:
    """The primal of a dual tensor: the same place in the graph, the same view of the same base."""
    made = wrap(x._array.inner, x._device, gradient_edge(x))
    made._view = x._view
    return made


def _zeros_laid_out_as(base: Any) -> Any:
    zeros = base.detach().new_zeros(base.shape)
    return to_strides(zeros, strides=base._array.strides)


def _seen_through(whole: Any, base: Any, view: Any) -> Any:
    """The part of a tangent of `base` that belongs to a view of it."""
    own = view._array
    return whole.as_strided(own.shape, own.strides, own.offset - base._array.offset + whole._array.offset)


def split_dual(v: Any, level: DualLevel) -> tuple[Any, Any]:
    """`level.parts(v)`, where `v` may be wrapped further by levels entered later."""
    own = level_of(v)
    if own is None or own.number < level.number:
        return v, None
    if own is level:
        return level.parts(v)
    primal = own.rebuilt(v, lambda y: split_dual(y, level)[0])
    if not _has(v, level):
        return primal, None
    return primal, own.rebuilt(v, lambda y: _tangent_or_zeros(y, level))


def _has(x: Any, level: Level) -> bool:
    own = level_of(x)
    if own is None or own.number < level.number:
        return False
    if own is level:
        return True
    return any(_has(part, level) for part in own.parts_of(x))


def _tangent_or_zeros(x: Any, level: DualLevel) -> Any:
    primal, tangent = split_dual(x, level)
    return primal.new_zeros(primal.shape) if tangent is None else tangent


def join_dual(primal: Any, tangent: Any, level: DualLevel) -> Any:
    """A dual number of `level` from parts that levels entered later may have wrapped. Either part may be None."""
    if tangent is None:
        return primal
    if primal is None:
        primal = tangent.detach().new_zeros(tangent.shape)
    outer = max((x for x in map(level_of, (primal, tangent)) if x is not None), key=lambda x: x.number, default=None)
    if outer is None or outer.number < level.number:
        return level.dual(primal, tangent)
    return outer.rebuilt(primal, lambda p, t: join_dual(p, t, level), tangent)


# ---------------------------------------------------------------------------------------------------- rules
def jvp(
    op: Any, primals: tuple[Any, ...], tangents: tuple[Any, ...], attributes: tuple[Any, ...], results: tuple[Any, ...]
) -> tuple[Any, ...]:
    """For each result of an op its derivative along the tangents of the inputs; None where it is 0 by rule.

    Args:
        op: any op that is no view.
        primals: its inputs.
        tangents: for each input a tensor or None.
        attributes: the op's plain arguments, in declared order.
        results: what the op gave for the primals.
    """
    if all(t is None for t in tangents):
        return (None,) * len(results)
    if op.elementwise:
        if any(x.__class__ in CLASSES and x.is_complex() for x in (*primals, *results)):
            return _transposed_twice(op, primals, tangents, attributes, results)
        return tuple(_elementwise_tangent(op, k, primals, tangents, results) for k in range(len(results)))
    if op.linear == "jointly":
        given = [p.new_zeros(p.shape) if t is None and p._differentiable() else p if t is None else t
                 for p, t in zip(primals, tangents, strict=True)]  # fmt: skip
        return (run(op, tuple(given), attributes),)
    if op.linear == "separately":
        total = None
        for i, t in enumerate(tangents):
            if t is not None:
                part = run(op, (*primals[:i], t, *primals[i + 1 :]), attributes)
                total = part if total is None else total + part
        return (total,)
    return _transposed_twice(op, primals, tangents, attributes, results)


def _elementwise_tangent(
    op: Any, k: int, primals: tuple[Any, ...], tangents: tuple[Any, ...], results: tuple[Any, ...]
) -> Any:
    result = results[k]
    if op.output_kinds[k] != "real" or not result._differentiable():
        return None
    total = None
    for i, t in enumerate(tangents):
        if t is None:
            continue
        if t._array.dtype is not result._array.dtype:
            t = t.to(result.dtype)
        if t._array.shape != result._array.shape:
            t = t.expand(result.shape)
        part = _partial(op, i, k, t, primals, results)
        total = part if total is None else total + part
    return total


def _partial(op: Any, i: int, k: int, t: Any, primals: tuple[Any, ...], results: tuple[Any, ...]) -> Any:
    """The derivative of result `k` by input `i` times `t`."""
    rule = op.tensor_rules.get(op.inputs[i]) if op.outputs == 1 else None
    values = dict(zip((*op.inputs, *op.result_names), (*primals, *results), strict=True))
    if rule is not None:
        return rule.function(*[t if name == "g" else values[name] for name in rule.reads])
    backward = op.backward(1 << i, (k,))
    if backward.op is None:
        return t
    read = [results[OUT - j] if j < 0 else primals[j] for j in backward.saved]
    return backward.op(t, *read)


def _transposed_twice(
    op: Any, primals: tuple[Any, ...], tangents: tuple[Any, ...], attributes: tuple[Any, ...], results: tuple[Any, ...]
) -> tuple[Any, ...]:
    """The Jacobian-vector product as the transpose of the vector-Jacobian product, which the op's gradients give."""
    moving = [i for i, t in enumerate(tangents) if t is not None]
    tracked = mode.enabled and any(
        x.requires_grad for x in (*(primals[i] for i in moving), *(tangents[i] for i in moving))
    )
    with enable_grad():
        inputs = list(primals)
        given, sources = variables([primals[i] for i in moving])
        for i, x in zip(moving, given, strict=True):
            inputs[i] = x
        outputs = run(op, tuple(inputs), attributes)
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        kept = [k for k, y in enumerate(outputs) if y.requires_grad]
        _, seeds = variables([outputs[k].detach().new_zeros(outputs[k].shape) for k in kept])
        pulled = pull([outputs[k] for k in kept], sources, seeds, True, True)
        rows = [(w, tangents[i]) for w, i in zip(pulled, moving, strict=True) if w is not None and w.requires_grad]
        found = pull([w for w, _ in rows], seeds, [t for _, t in rows], True, True) if rows else [None] * len(kept)
    derivatives: list[Any] = [None] * len(outputs)
    for k, t in zip(kept, found, strict=True):
        if t is not None:
            derivatives[k] = t if tracked else without_graph(t)
    return tuple(derivatives)
