"""`allow_mutation_on_saved_tensors`: a saved tensor that is about to be written is copied first."""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Iterator
from typing import Any

from ..kernels.array import Array
from ..kernels.unbroadcast import cloned
from . import saved
from .variable import wrap

_OUTSIDE = (
    "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context"
    "in which the graph was originally recorded."
)


class _Kept:
    """A saved array; a copy of it as soon as the memory was written."""

    __slots__ = ("__weakref__", "array", "device", "scope")

    def __init__(self, array: Array, where: Any, scope: _Scope) -> None:
        self.array: Array | None = array
        self.device = where
        self.scope = scope

    def tensor(self) -> Any:
        if self.array is None or not self.scope.entered:
            raise AssertionError(_OUTSIDE)
        return wrap(self.array, self.device)


class _Scope:
    """One `with` block, and what was saved in it by the storage it lies in."""

    def __init__(self) -> None:
        self.entered = True
        self.kept: weakref.WeakKeyDictionary[Any, weakref.WeakSet[_Kept]] = weakref.WeakKeyDictionary()

    def keep(self, tensor: Any) -> _Kept:
        kept = _Kept(tensor._array, tensor._device, self)
        self.kept.setdefault(tensor._array.storage, weakref.WeakSet()).add(kept)
        return kept

    def before_write(self, storage: Any) -> None:
        for kept in self.kept.pop(storage, ()):
            kept.array = cloned(kept.array)

    def clear(self) -> None:
        """Let go of all that was saved."""
        for group in self.kept.values():
            for kept in group:
                kept.array = None
        self.kept.clear()


class _Scopes(threading.local):
    current: _Scope | None = None


_scopes = _Scopes()


def keep_saved(target: Any) -> None:
    """Copy what was saved from the memory that is about to be written."""
    if _scopes.current is not None and target._array._storage is not None:
        _scopes.current.before_write(target._array._storage)


@contextlib.contextmanager
def allow_mutation_on_saved_tensors() -> Iterator[_Scope]:
    """Let tensors that were saved for backward be written in place: backward then reads what was saved.

    Backward must run inside of the same block. Raises RuntimeError when nested, AssertionError in a backward outside.

    Example:
        >>> import numgrad as ng
        >>> x = ng.tensor([2.0], requires_grad=True)
        >>> with ng.autograd.graph.allow_mutation_on_saved_tensors():
        ...     y = x.clone()
        ...     z = y * y
        ...     _ = y.zero_()
        ...     z.sum().backward()
        >>> x.grad
        tensor([4.])
    """
    if _scopes.current is not None:
        raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
    scope = _Scope()
    saved.push_hooks(scope.keep, _Kept.tensor)
    _scopes.current = scope
    try:
        yield scope
    finally:
        _scopes.current = None
        scope.entered = False
        saved.pop_hooks()
        scope.clear()
