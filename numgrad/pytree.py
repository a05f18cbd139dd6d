"""Nested tuples, lists and dicts of values: taken apart to a flat list, and put together again."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

__all__ = ["TreeSpec", "flatten", "leaves", "map_leaves", "unflatten"]


@dataclass(frozen=True)
class TreeSpec:
    """The structure of a nest: its type, the keys of a dict, and its parts; a leaf has `type` None.

    Its text is that of PyTorch's `TreeSpec`.
    """

    type: Any
    context: Any = None
    children: tuple[TreeSpec, ...] = ()

    @property
    def count(self) -> int:
        """Number of leaves."""
        return 1 if self.type is None else sum(child.count for child in self.children)

    def __repr__(self) -> str:
        return self._text(0)

    def _text(self, indent: int) -> str:
        if self.type is None:
            return "*"
        inner = indent + 2
        parts = f",\n{' ' * inner}".join(child._text(inner) for child in self.children)
        return f"TreeSpec({self.type.__name__}, {self.context}, [{parts}])"


LEAF = TreeSpec(None)


def _parts(tree: Any) -> tuple[Any, Iterable[Any]] | None:
    """The context and the parts of a nest; None for a leaf."""
    if isinstance(tree, (dict, OrderedDict)):
        return list(tree), tree.values()
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return type(tree), tree
    if isinstance(tree, (tuple, list)):
        return None, tree
    return None


def flatten(tree: Any) -> tuple[list[Any], TreeSpec]:
    """The leaves of a nest in order, and its structure."""
    found = _parts(tree)
    if found is None:
        return [tree], LEAF
    context, parts = found
    flat: list[Any] = []
    specs = []
    for part in parts:
        inner, spec = flatten(part)
        flat += inner
        specs.append(spec)
    return flat, TreeSpec(type(tree), context, tuple(specs))


def leaves(tree: Any) -> list[Any]:
    """The leaves of a nest in order."""
    return flatten(tree)[0]


def unflatten(flat: Iterable[Any], spec: TreeSpec) -> Any:
    """The nest of a structure with these leaves."""
    return _built(iter(flat), spec)


def _built(remaining: Any, spec: TreeSpec) -> Any:
    if spec.type is None:
        return next(remaining)
    parts = [_built(remaining, child) for child in spec.children]
    if issubclass(spec.type, dict):
        return spec.type(zip(spec.context, parts, strict=True))
    return spec.type(*parts) if hasattr(spec.type, "_fields") else spec.type(parts)


def map_leaves(function: Callable[[Any], Any], tree: Any) -> Any:
    """The same nest with `function(leaf)` for each leaf."""
    flat, spec = flatten(tree)
    return unflatten(map(function, flat), spec)


class _Star:
    def __repr__(self) -> str:
        return "*"


def outline(spec: TreeSpec) -> str:
    """A structure as a nest of stars: `(*, (*,))`."""
    return repr(unflatten([_Star()] * spec.count, spec))


def spread(prefix: Any, spec: TreeSpec, is_leaf: Callable[[Any], bool] = lambda x: False) -> list[Any] | None:
    """One value for each leaf of a structure, from a nest that may stop short of it: a leaf stands for all below it.

    None where the nest does not fit the structure.
    """
    found = None if is_leaf(prefix) else _parts(prefix)
    if found is None:
        return [prefix] * spec.count
    context, parts = found
    parts = list(parts)
    if type(prefix) is not spec.type or len(parts) != len(spec.children) or context != spec.context:
        return None
    values: list[Any] = []
    for part, child in zip(parts, spec.children, strict=True):
        inner = spread(part, child, is_leaf)
        if inner is None:
            return None
        values += inner
    return values
