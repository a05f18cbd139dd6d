"""Batches: tensors with a dimension that the user's function does not see, and how each op treats it.

An op is run once for all members of the batch, where a rule tells how: elementwise ops broadcast; views get their
dimensions shifted; reductions along dimensions leave one more alone; products of matrices become products of batches. For
any other op the members are taken one by one and the results stacked.
"""

from __future__ import annotations

from typing import Any

from ..kernels.array import Array
from ..kernels.movement import full, stack
from ..kernels.registry import run
from ..kernels.view_ops import SeveralViewsOp
from ..kernels.views import as_strided
from . import batching_rules as rules
from .basis import basis
from .grad_mode import mode
from .node import gradient_edge
from .pullback import pull
from .tracing import Level, TracedArray, level_of
from .variable import CLASSES, wrap

_IN_PLACE = (
    "vmap: {}(self, *extra_args) is not possible because there exists a Tensor `other` in extra_args that has more "
    "elements than `self`. This happened due to `other` being vmapped over but `self` not being vmapped over {}. Please "
    "try to use out-of-place operators instead of {}. If said operator is being called inside the PyTorch framework, "
    "please file a bug report instead."
)
_NO_STORAGE = "Cannot access data pointer of Tensor that doesn't have storage"
_ARITHMETIC = frozenset({"sub", "mul", "div", "copy", "masked_fill", "logical_and", "logical_or", "logical_xor"})
_BY_SHAPE = frozenset({"add", "add_scaled", "atan2", "bitwise_and", "bitwise_or", "bitwise_xor"})
_ITEM = (
    "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling .item() on a Tensor, please "
    "try to rewrite what you're doing with other operations. If error is occurring somewhere inside PyTorch internals, "
    "please file a bug report."
)
_CONTROL_FLOW = (
    "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. We don't support that yet, "
    "please file an issue at https://github.com/pytorch/pytorch/issues ."
)
_RANDOM = (
    "vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' randomness "
    "flags on vmap or perform the randomness operation out of vmap"
)


class _Storage:
    """The storage under a batch. What read it by a member's layout would find the first member's items."""

    __slots__ = ("_of",)

    def __init__(self, of: Any) -> None:
        self._of = of

    @property
    def buffer(self) -> Any:
        """Raises RuntimeError."""
        raise RuntimeError(_NO_STORAGE)

    @property
    def device(self) -> str:
        """See `Storage`."""
        device: str = self._of.device
        return device

    @property
    def version(self) -> int:
        """See `Storage`."""
        version: int = self._of.version
        return version

    @version.setter
    def version(self, value: int) -> None:
        self._of.version = value


class BatchedArray(TracedArray):
    """The array of a tensor with a hidden dimension: `value`, without its dimension `dim`."""

    __slots__ = ("dim", "value")

    value: Any
    dim: int

    def __init__(self, level: BatchLevel, value: Any, dim: int) -> None:
        array: Array = value._array
        shape, strides = array.shape, array.strides
        super().__init__(level, array, shape[:dim] + shape[dim + 1 :], strides[:dim] + strides[dim + 1 :])
        self.value = value
        self.dim = dim

    @property
    def ndarray(self) -> Any:
        """There is none: each member has items of its own."""
        raise RuntimeError(_NO_STORAGE)

    @property
    def hidden_extent(self) -> int:
        """See `TracedArray.hidden_extent`."""
        array = self.inside
        return max(0, array.shape[self.dim] - 1) * array.strides[self.dim]

    @property
    def storage(self) -> Any:
        """The memory of all members, without access to it."""
        return _Storage(self.value._array.storage)

    @property
    def inside(self) -> Array:
        """See `TracedArray.inside`."""
        array: Array = self.value._array
        return array


class BatchLevel(Level):
    """A running `vmap` over `size` members; `randomness` is "error", "same" or "different"."""

    def __init__(self, size: int, randomness: str = "error") -> None:
        super().__init__()
        self.size = size
        self.randomness = randomness

    # ------------------------------------------------------------------------------------------ wrapping
    def batched(self, value: Any, dim: int) -> Any:
        """`value` as a tensor without its dimension `dim`."""
        return wrap(BatchedArray(self, value, dim), value._device, gradient_edge(value))

    def front(self, x: Any) -> Any:
        """A tensor of this level with the hidden dimension shown as the first; any other as it is."""
        if level_of(x) is not self:
            return x
        value, dim = x._array.value, x._array.dim
        return value if dim == 0 else value.permute((dim, *(d for d in range(value.dim()) if d != dim)))

    def with_members(self, x: Any) -> Any:
        """See `Level.with_members`."""
        level = level_of(x)
        if level is self:
            return x
        if level is not None and level.number > self.number:
            return level.rebuilt(x, self.with_members)
        return self.batched(x.unsqueeze(0).expand((self.size, *x.shape)), 0)

    def rebuilt(self, x: Any, inside: Any, *others: Any) -> Any:
        """See `Level.rebuilt`."""
        if not others:
            return self.batched(inside(x._array.value), x._array.dim)
        return self.batched(inside(*[self.front(self.with_members(y)) for y in (x, *others)]), 0)

    def parts_of(self, x: Any) -> tuple[Any, ...]:
        """See `Level.parts_of`."""
        return (x._array.value,)

    def inside(self, x: Any) -> Any:
        """See `Level.inside`."""
        return x._array.value

    def like(self, x: Any, inside: Any) -> Any:
        """See `Level.like`."""
        return self.batched(inside, x._array.dim)

    def detached(self, x: Any) -> Any:
        """`x.detach()`."""
        return self.batched(x._array.value.detach(), x._array.dim)

    def shown(self, x: Any) -> str:
        """`repr(x)`."""
        value = repr(x._array.value).replace("\n", "\n    ")
        depth = mode.levels.index(self) + 1 if self in mode.levels else self.number
        return f"BatchedTensor(lvl={depth}, bdim={x._array.dim}, value=\n    {value}\n)"

    # ------------------------------------------------------------------------------------------ ops
    def run(self, op: Any, inputs: tuple[Any, ...], attributes: tuple[Any, ...], out: Any) -> Any:
        """See `Level.run`."""
        if out is not None or op.writes:
            return self._run_in_place(op, inputs, attributes, out)
        if isinstance(op, SeveralViewsOp):
            return self._run_several_views(op, inputs[0], attributes)
        if op.is_view and op.dtype is not None:  # of complex numbers as pairs: members have to lie side by side
            return self.batched(run(op, (self.front(inputs[0]).contiguous(),), attributes), 0)
        if op.is_view:
            return self._run_view(op, inputs[0], attributes)
        if op.elementwise:
            return self._wrapped(run(op, self._aligned(op, inputs), attributes))
        if "seed" in op.attributes:
            self.check_random()
            if self.randomness == "different":
                raise NotImplementedError(f"{op.name}() of a batched tensor under vmap(randomness='different')")
        rule = rules.RULES.get(op.name)
        if rule is not None:
            found = rule(self, op, inputs, attributes)
            if found is not None:
                return self._wrapped(found)
        return self._one_by_one(op, inputs, attributes)

    def _wrapped(self, results: Any) -> Any:
        if isinstance(results, tuple):
            return tuple(self.batched(r, 0) for r in results)
        return self.batched(results, 0)

    def _aligned(self, op: Any, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        """Operands that broadcast as each member's would: the hidden dimension first, then one rank for all."""
        rank = max(x.dim() for x in inputs if x.__class__ in CLASSES)
        found = []
        for x in inputs:
            if level_of(x) is self:
                missing = rank - x.dim()
                shape = x._array.shape
                x = self.front(x)
                if missing:
                    x = x.view((self.size, *(1,) * missing, *shape))
            found.append(x)
        return _promoted(op, inputs, found)

    def _run_view(self, op: Any, x: Any, attributes: tuple[Any, ...]) -> Any:
        value = self.front(x)
        array = value._array
        shape, strides, offset = op.layout(array.shape[1:], array.strides[1:], array.offset, *attributes)
        wanted = (array.shape[0], *shape), (array.strides[0], *strides), offset
        for candidate, shifted in rules.shifted_views(op, array, attributes):
            if _same_layout(candidate.layout(*array.layout, *shifted), wanted):
                return self.batched(run(candidate, (value,), shifted), 0)
        return self.batched(as_strided(value, size=wanted[0], stride=wanted[1], storage_offset=wanted[2]), 0)

    def _run_several_views(self, op: Any, x: Any, attributes: tuple[Any, ...]) -> Any:
        value = self.front(x)
        array = value._array
        made = op.layouts(array.shape[1:], array.strides[1:], array.offset, *attributes)
        return tuple(
            self.batched(
                as_strided(
                    value, size=(array.shape[0], *shape), stride=(array.strides[0], *strides), storage_offset=offset
                ),
                0,
            )
            for shape, strides, offset in made
        )

    def _one_by_one(self, op: Any, inputs: tuple[Any, ...], attributes: tuple[Any, ...]) -> Any:
        """The op on each member in turn."""
        if op.name in rules.DYNAMIC:
            raise _dynamic_shape(op)
        fronts = [(self.front(x), level_of(x) is self) for x in inputs]
        if not self.size:
            members = tuple(v.new_zeros(v.shape[1:]) if own else v for v, own in fronts)
            results = run(op, members, attributes)
            several = isinstance(results, tuple)
            empty = tuple(r.new_zeros((0, *r.shape)) for r in (results if several else (results,)))
            return self._wrapped(empty if several else empty[0])
        parts = [
            run(op, tuple(v.select(0, i) if own else v for v, own in fronts), attributes) for i in range(self.size)
        ]
        if len({_shapes(part) for part in parts}) > 1:
            raise _dynamic_shape(op)
        if isinstance(parts[0], tuple):
            return self._wrapped(tuple(stack(*outputs, dim=0) for outputs in zip(*parts, strict=True)))
        return self._wrapped(stack(*parts, dim=0))

    def _run_in_place(self, op: Any, inputs: tuple[Any, ...], attributes: tuple[Any, ...], out: Any) -> Any:
        if out is None or out is not inputs[0]:
            raise NotImplementedError(f"{op.name}() under vmap writes to an operand or to out=: use what it returns")
        if level_of(out) is not self:
            raise _unbatched_target(op, out, self.size)
        target, *others = self._aligned(op, inputs)
        if target.dim() != out.dim() + 1:
            raise _unbatched_target(op, out, self.size)
        run(op, (target, *others), attributes, target)
        edge = gradient_edge(out._array.value)
        out._edge, out._requires_grad = edge, edge is not None
        return out

    def check_random(self) -> None:
        """Raise RuntimeError where random numbers are refused."""
        if self.randomness == "error":
            raise RuntimeError(_RANDOM)

    # ------------------------------------------------------------------------------------------ gradients
    def pull(
        self, outputs: list[Any], inputs: list[Any], vectors: list[Any], create_graph: bool, keep_graph: bool
    ) -> list[Any]:
        """See `Level.pull`. Members do not depend on one another: the gradient of all is that of each."""
        rows = [
            (y._array.value, moved_back(peeled(v, self), y._array.dim))
            for y, v in zip(outputs, vectors, strict=True)
            if level_of(y) is self
        ]
        roots, seeds = [y for y, _ in rows], [v for _, v in rows]
        found: list[Any] = [None] * len(inputs)
        own = [i for i, x in enumerate(inputs) if level_of(x) is self]
        values = [inputs[i]._array.value for i in own]
        for i, g in zip(own, pull(roots, values, seeds, create_graph, True), strict=True):
            found[i] = None if g is None else covered(g, self, inputs[i]._array.dim)
        common = [i for i, x in enumerate(inputs) if level_of(x) is not self]
        if common:
            apart = self._member_by_member(outputs, [inputs[i] for i in common], vectors, create_graph)
            found = [apart[common.index(i)] if i in common else g for i, g in enumerate(found)]
        return found

    def _member_by_member(
        self, outputs: list[Any], inputs: list[Any], vectors: list[Any], create_graph: bool
    ) -> list[Any]:
        """Gradients for what all members share: one for each member, where a plain backward would add them up."""
        members = BatchLevel(self.size)
        rows = []
        for y, v in zip(outputs, vectors, strict=True):
            if level_of(y) is self:
                front = peeled(v, self)
                only = basis((front.detach().new_zeros((self.size,)),))[0]  # row i is 1 for member i
                only = only.view((self.size, self.size, *(1,) * (front.dim() - 1)))
                rows.append((self.front(y), members.batched(only * front, 0)))
        found = pull([y for y, _ in rows], inputs, [v for _, v in rows], create_graph, True)
        return [None if g is None else covered(peeled(g, members), self, 0) for g in found]


def _shapes(results: Any) -> tuple[Any, ...]:
    return tuple(r._array.shape for r in (results if isinstance(results, tuple) else (results,)))


def _dynamic_shape(op: Any) -> RuntimeError:
    """The error about members whose results differ in shape."""
    return RuntimeError(
        "vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap over "
        f"aten::{op.name}. Please file an issue at https://github.com/pytorch/pytorch/issues if you need this feature."
    )


def _unbatched_target(op: Any, out: Any, size: int) -> RuntimeError:
    """The error about a batch being written to what has no room for it; PyTorch has a text for each kind of op."""
    if op.name in _BY_SHAPE:
        return RuntimeError(
            f"output with shape {list(out.shape)} doesn't match the broadcast shape {[size, *out.shape]}"
        )
    name = op.name.partition(".")[0]
    where = "in a vmap"
    if op.name in _ARITHMETIC:
        name = "inplace arithmetic"
    elif name == "fill":
        name = "fill_"
    else:
        name, where = f"aten::{name}_", "at level 1"
    return RuntimeError(_IN_PLACE.format(name, where, name))


def _promoted(op: Any, inputs: tuple[Any, ...], found: list[Any]) -> tuple[Any, ...]:
    """Operands in the dtype that the op has for one member.

    A tensor without dimensions gives way in promotion; a hidden dimension must not make it count as others do.
    """
    real = [op.scalar.kinds.get(name, "real") == "real" for name in op.inputs]
    tensors = [x for x, own in zip(inputs, real, strict=True) if own and x.__class__ in CLASSES]
    alike = all(x._array.dtype is tensors[0]._array.dtype for x in tensors)
    if alike or op.result != "same" or all(x.dim() for x in tensors):
        return tuple(found)
    member = [_empty_like(x) if x.__class__ in CLASSES else x for x in inputs]
    dtype = run(op, tuple(member)).dtype
    return tuple(x.to(dtype) if own and x.__class__ in CLASSES else x for x, own in zip(found, real, strict=True))


def _empty_like(x: Any) -> Any:
    """A plain tensor of the rank and dtype of `x`, with no items unless it must have one."""
    return full(size=(0,) * x.dim(), fill_value=0, dtype=x._array.dtype.name, device=x.device.concrete())


def _same_layout(found: Any, wanted: Any) -> bool:
    (shape, strides, offset), (other_shape, other_strides, other_offset) = found, wanted
    return (
        tuple(shape) == tuple(other_shape)
        and offset == other_offset
        and all(n <= 1 or s == t for n, s, t in zip(shape, strides, other_strides, strict=True))
    )


def moved_back(x: Any, dim: int) -> Any:
    """A tensor with its first dimension moved to `dim`."""
    return x if dim == 0 else x.permute((*range(1, dim + 1), 0, *range(dim + 1, x.dim())))


def peeled(x: Any, level: BatchLevel) -> Any:
    """`x` with the dimension that `level` hides shown as the first; it may be wrapped further by levels entered later."""
    own = level_of(x)
    if own is not None and own.number > level.number:
        if isinstance(own, BatchLevel):
            return own.batched(peeled(x._array.value, level), x._array.dim + 1)
        return own.rebuilt(x, lambda y: peeled(y, level))
    return level.front(level.with_members(x))


def covered(x: Any, level: BatchLevel, dim: int) -> Any:
    """`x` with `level` hiding its dimension `dim`, beneath the levels entered later that have wrapped it."""
    own = level_of(x)
    if own is not None and own.number > level.number:
        if isinstance(own, BatchLevel):
            hidden = x._array.dim
            inner = dim if dim < hidden else dim + 1
            return own.batched(covered(x._array.value, level, inner), hidden if hidden < inner else hidden - 1)
        return own.rebuilt(x, lambda y: covered(y, level, dim))
    return level.batched(x, dim)


def check_item(x: Any) -> None:
    """Raise RuntimeError when a number is asked of a batch: each member has one."""
    if isinstance(x._array, BatchedArray):
        raise RuntimeError(_ITEM)


def check_data(x: Any) -> None:
    """Raise RuntimeError when the memory of a batch is asked for."""
    if isinstance(x._array, BatchedArray):
        raise RuntimeError("accessing `data` under vmap transform is not allowed")


def check_control_flow(x: Any) -> None:
    """Raise RuntimeError when a condition is asked of a batch."""
    if isinstance(x._array, BatchedArray):
        raise RuntimeError(_CONTROL_FLOW)


def made_like(x: Any, make: Any, size: tuple[int, ...]) -> Any:
    """`make(size)`, a new tensor, with members of its own where `x` has them, so that these can be written to it."""
    level = level_of(x)
    if level is None:
        return make(size)
    if isinstance(level, BatchLevel):
        return level.batched(made_like(x._array.value, make, (level.size, *size)), 0)
    return made_like(level.inside(x), make, size)


def drawn(draw: Any, size: tuple[int, ...]) -> Any:
    """`draw(size)`, random items, as the running `vmap`s want them: one draw for all members, or one for each."""
    levels = [level for level in mode.levels if isinstance(level, BatchLevel)]
    for level in levels:
        level.check_random()
    levels = [level for level in levels if level.randomness == "different"]
    found = draw((*(level.size for level in levels), *size))
    for level in levels:  # the outermost level has the first dimension
        found = level.batched(found, 0)
    return found
