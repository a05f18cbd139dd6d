"""Balanced checkpointing: what a gradient reads is computed again, where that is cheap, rather than kept.

It is decided op by op, from the declarations. The result of a memory-bound op (elementwise, or a view) is as fast to compute
as to read, so in a balanced context nodes keep a *recipe* of it: the op, and its operands, which are recipes themselves or
arrays that had to be kept (leaves, results of matrix products and reductions). A chain of cheap ops after a dear one keeps
the dear one's result alone.

Backward runs a recipe when the first node asks for its value. The value, and those on the way to it, stay until the last
node that wants them has had them; so a chain is computed again once, not once for each of its nodes.
"""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Sequence
from typing import Any

from ..kernels.array import Array
from . import grad_mode
from .node import AccumulateGrad, raise_modified
from .variable import Edge, wrap


class Kept:
    """An array that a gradient or a recipe reads, and the version it was at."""

    __slots__ = ("array", "is_result", "producer", "version")

    def __init__(self, array: Array, producer: str | None, is_result: bool = False) -> None:
        self.array = array
        self.version = array.version
        self.producer = producer
        self.is_result = is_result

    def take(self) -> Array:
        """The array. Raises RuntimeError when it was written in place since."""
        if self.array.version != self.version:
            raise_modified(self.array, self.version, self.producer, self.is_result)
        return self.array


class Recipe:
    """How to compute the result of an op again.

    Attributes:
        needed: how many nodes still want the value.
        value: the value while it is there.
    """

    __slots__ = ("attributes", "device", "layout", "needed", "op", "operands", "storage", "value")

    def __init__(
        self, op: Any, operands: Sequence[Any], attributes: dict[str, Any], device: Any, result: Array
    ) -> None:
        self.op = op
        self.operands = operands
        self.attributes = attributes
        self.device = device
        self.storage = weakref.ref(result.storage)
        self.layout = result.layout
        self.needed = 0
        self.value: Array | None = None

    def gives(self, array: Array) -> bool:
        """Whether the array is the op's result, unchanged."""
        return array.storage is self.storage() and array.layout == self.layout and not array.version

    def take(self) -> Array:
        """The value, for one of the nodes that want it."""
        value = _computed(self)
        self.needed -= 1
        if self.needed <= 0:
            self.value = None
        return value

    def run(self, operands: Sequence[Any]) -> Array:
        """Run the op on arrays and numbers."""
        with grad_mode.no_grad():
            inputs = [wrap(x, self.device) if isinstance(x, Array) else x for x in operands]
            result: Array = self.op(*inputs, **self.attributes)._array
        return result


def _computed(wanted: Recipe) -> Array:
    """The value of a recipe. The recipes it starts from run first, and their values go when they have served."""
    if wanted.value is not None:
        return wanted.value
    order = _in_order(wanted)
    uses = Counter(part for recipe in order for part in set(_recipes(recipe)))
    values: dict[Recipe, Array] = {}
    for recipe in order:
        parts = _recipes(recipe)
        values |= {part: part.value for part in parts if part.value is not None}
        values[recipe] = recipe.run([_operand(x, values) for x in recipe.operands])
        if recipe is not wanted and recipe.needed > 0:
            recipe.value = values[recipe]
        for part in set(parts):
            uses[part] -= 1
            if not uses[part]:
                del values[part]
    if wanted.needed > 1:
        wanted.value = values[wanted]
    return values[wanted]


def _in_order(wanted: Recipe) -> list[Recipe]:
    """The recipes without a value that a recipe starts from, and itself, each after its own; without recursion."""
    order: list[Recipe] = []
    done: set[Recipe] = set()
    stack = [wanted]
    while stack:
        recipe = stack[-1]
        missing = [part for part in _recipes(recipe) if part.value is None and part not in done]
        if recipe in done or not missing:
            stack.pop()
            if recipe not in done:
                done.add(recipe)
                order.append(recipe)
        else:
            stack += missing
    return order


def _recipes(recipe: Recipe) -> list[Recipe]:
    return [x for x in recipe.operands if isinstance(x, Recipe)]


def _operand(x: Any, values: dict[Recipe, Array]) -> Any:
    if isinstance(x, Recipe):
        return values[x]
    return x.take() if isinstance(x, Kept) else x


class CheckpointedSaves:
    """What a node saved: recipes where there are any. `values` is a list, or a dict by name."""

    __slots__ = ("values",)

    def __init__(self, values: Any) -> None:
        self.values = values

    def open(self) -> Any:
        """What the node saved, as arrays and numbers."""
        if isinstance(self.values, dict):
            return {name: _taken(value) for name, value in self.values.items()}
        return [_taken(value) for value in self.values]


def _taken(value: Any) -> Any:
    return value.take() if isinstance(value, (Kept, Recipe)) else value


def checkpoint(
    node: Any, op: Any, operands: Sequence[Any], attributes: Sequence[Any], results: Sequence[Array]
) -> None:
    """Exchange what a new node saved for recipes, and leave the recipe of its own result, if the op is memory-bound.

    Args:
        node: the node.
        op: its op.
        operands: the op's operands, as arrays and numbers.
        attributes: its plain arguments, in declared order.
        results: its results.
    """
    if op.memory_bound and len(results) == 1:
        parts = [_part(x, edge, node) for x, edge in zip(operands, node.edges, strict=True)]
        named = dict(zip(op.attributes, attributes, strict=True))
        node.recipe = Recipe(op, parts, named, node.device, results[0])
    saved = node.saved
    if not saved:
        return
    if isinstance(saved, dict):
        values: Any = {name: _part(x, node.edge_of(name), node) for name, x in saved.items()}
        parts = list(values.values())
    else:
        values = parts = [_part(x, node.edge_of(i), node) for i, x in zip(node.recorder.saves, saved, strict=True)]
    for part in parts:
        if isinstance(part, Recipe):
            part.needed += 1
    node.packed, node.saved = CheckpointedSaves(values), None


def _part(x: Any, edge: Edge | None, node: Any) -> Any:
    """What stands for an operand or a saved value: the recipe, if what made it left one; else the array, or number."""
    if not isinstance(x, Array):
        return x
    if edge is None or isinstance(edge[0], AccumulateGrad):
        return Kept(x, None)
    maker = edge[0]
    if maker.recipe is not None and maker.recipe.gives(x):
        return maker.recipe
    return Kept(x, maker.name(), maker is node)
