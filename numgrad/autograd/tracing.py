"""Tensors that stand for more than one array: batches under `vmap`, and dual numbers under forward mode.

Such a *traced* tensor is an ordinary `Tensor` whose array is a `TracedArray`. It has the shape, dtype and layout that the
user's function sees, and no items of its own that a flat kernel could read: so it never takes the fast path of dispatch,
and the general path hands the op to the *level* that made it. A level is one running transformation. It takes its own
wrapping off the operands, runs the op on what was inside (which may be traced by a level further out, and so on down to
plain tensors), and wraps the results again.

Levels are numbered as they are entered, and of several among the operands the last entered goes first. What belongs to
one level can therefore never be taken for another's: derivatives of derivatives keep apart by construction. Graphs
are recorded where plain tensors are computed; `pullback.py` tells how gradients are taken through wrappings.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from ..kernels.array import Array
from .grad_mode import mode
from .variable import CLASSES, wrap

_numbers = itertools.count(1)


class Level:
    """One running transformation of this thread."""

    def __init__(self) -> None:
        self.number = next(_numbers)

    def run(self, op: Any, inputs: tuple[Any, ...], attributes: tuple[Any, ...], out: Any) -> Any:
        """Run an op of which this level is the innermost among the operands' (and `out`'s). See `dispatch`."""
        raise NotImplementedError

    def pull(
        self, outputs: list[Any], inputs: list[Any], vectors: list[Any], create_graph: bool, keep_graph: bool
    ) -> list[Any]:
        """Gradients of outputs for inputs, this level being the innermost among both. See `pullback.pull`."""
        raise NotImplementedError

    def rebuilt(self, x: Any, inside: Any, *others: Any) -> Any:
        """`x`, a tensor of this level, with `inside(y, *ys)` for each tensor `y` it is made of.

        `others` are tensors of this level too; `ys` are what corresponds to `y` in them.
        """
        raise NotImplementedError

    def parts_of(self, x: Any) -> tuple[Any, ...]:
        """The tensors that `x`, a tensor of this level, is made of."""
        raise NotImplementedError

    def inside(self, x: Any) -> Any:
        """What of `x`, a tensor of this level, is differentiated: a batch's members, a dual number's primal."""
        raise NotImplementedError

    def like(self, x: Any, inside: Any) -> Any:
        """`x` with another tensor for `self.inside(x)`."""
        raise NotImplementedError

    def with_members(self, x: Any) -> Any:
        """`x` with a member for each of the batch that this level maps over, if it does."""
        return x

    def detached(self, x: Any) -> Any:
        """`x.detach()`."""
        raise NotImplementedError

    def shown(self, x: Any) -> str:
        """`repr(x)`."""
        raise NotImplementedError

    @contextmanager
    def entered(self) -> Iterator[None]:
        """The extent in which the level is live."""
        mode.levels = (*mode.levels, self)
        try:
            yield
        finally:
            mode.levels = tuple(level for level in mode.levels if level is not self)
            self.leave()

    def leave(self) -> None:
        """What is to be done when the transformation has ended."""


class TracedArray(Array):
    """The array of a traced tensor: a layout without items that kernels could read. Subclasses hold what is inside."""

    __slots__ = ("level",)

    level: Level

    def __init__(self, level: Level, inside: Array, shape: Any, strides: Any) -> None:
        if inside.__class__ is Array:
            inside.storage  # noqa: B018  (made known first: both arrays must agree on it)
        super().__init__(inside._storage, inside.dtype, shape, strides, inside.offset)
        self.level = level

    @property
    def inside(self) -> Array:
        """The array that this one is made of."""
        raise NotImplementedError

    @property
    def hidden_extent(self) -> int:
        """How far beyond a layout its hidden dimension reaches, in items."""
        return 0

    @property
    def storage(self) -> Any:
        """See `Array.storage`."""
        return self.inside.storage

    @property
    def version(self) -> int:
        """See `Array.version`."""
        return self.inside.version

    @property
    def device(self) -> str:
        """See `Array.device`."""
        return self.inside.device

    def view(self, shape: Any, strides: Any, offset: int) -> Array:
        """A traced array has no views of its own: view ops go through dispatch."""
        raise NotImplementedError("a tensor under vmap or forward mode is viewed by ops only, not by its memory")


def is_traced(x: Any) -> bool:
    """Whether a value is a tensor that a level has wrapped."""
    return x.__class__ in CLASSES and x._array.__class__ is not Array


def level_of(x: Any) -> Level | None:
    """The innermost level that has wrapped a value; None for a plain tensor, and for anything else."""
    return x._array.level if is_traced(x) else None


def innermost(values: Iterable[Any]) -> Level | None:
    """Of the levels that have wrapped any of the values, the one entered last."""
    found: Level | None = None
    for x in values:
        level = level_of(x)
        if level is not None and (found is None or level.number > found.number):
            found = level
    return found


def without_graph(x: Any) -> Any:
    """The tensor outside the graph. Unlike `detach`, tangents and batches stay."""
    level = level_of(x)
    return wrap(x._array, x._device) if level is None else level.rebuilt(x, without_graph)


def plain_parts(tensors: Iterable[Any]) -> list[Any]:
    """The plain tensors that wrapped ones are made of."""
    found: list[Any] = []
    stack = list(tensors)
    while stack:
        x = stack.pop()
        level = level_of(x)
        if level is None:
            found.append(x)
        else:
            stack += level.parts_of(x)
    return found


def run_at(level: Level, op: Any, inputs: tuple[Any, ...], attributes: tuple[Any, ...], out: Any = None) -> Any:
    """Run an op at a level. Meanwhile only the levels further out are live: it is for them that the inside is computed."""
    live = mode.levels
    mode.levels = tuple(other for other in live if other.number < level.number)
    try:
        return level.run(op, inputs, attributes, out)
    finally:
        mode.levels = live


def memory(array: Array) -> tuple[Any, int]:
    """The buffer under an array, and how far beyond any layout all hidden dimensions reach in it."""
    reach = 0
    while isinstance(array, TracedArray):
        reach += array.hidden_extent
        array = array.inside
    return array.storage.buffer, reach
