"""Helpers of the tests of the kernel cache: tiny kernels, and places of their own."""

from __future__ import annotations

import contextlib
import os
import warnings
from pathlib import Path

import pytest

from numgrad.kernels import cache
from numgrad.kernels.cache import entries, place

REPAIRED = "numgrad: a damaged entry of the kernel cache was compiled again"
NOT_KEPT = "numgrad: compiled kernels cannot be kept on disk"
NO_PLACE = "numgrad: there is no directory for compiled kernels"

POSIX = pytest.mark.skipif(os.name == "nt", reason="Windows has other places and no modes")


def constant(value: int) -> str:
    """A kernel that returns a constant; different ones have all else alike."""
    return f"from numba import njit\n@njit\ndef kernel(x):\n    return x + {value}\n"


def compiled(value: int):
    from numba import types

    return cache.compiled(constant(value), "kernel", (types.int64,))


def forget() -> None:
    """As if a new process began."""
    cache._compiled.clear()
    cache._warned.clear()
    place.directory.cache_clear()


@contextlib.contextmanager
def empty_place(tmp_path: Path, monkeypatch):
    """An empty place for kernels of this process."""
    monkeypatch.setenv("NUMGRAD_CACHE_DIR", str(tmp_path / "cache"))
    forget()
    yield tmp_path / "cache"
    monkeypatch.undo()
    forget()


def files(root: Path, suffix: str = entries.SUFFIX) -> dict[str, int]:
    """The entries under a place, and when they were written."""
    return {str(p.relative_to(root)): p.stat().st_mtime_ns for p in root.rglob(f"*{suffix}")}


@contextlib.contextmanager
def one_warning(start: str):
    """Expect exactly one warning."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    assert [str(w.message)[: len(start)] for w in caught] == [start]
    assert caught[0].category is RuntimeWarning


@contextlib.contextmanager
def modes(paths, mode):
    for path in paths:
        path.chmod(mode)
    try:
        yield
    finally:
        for path in reversed(paths):
            path.chmod(0o700)
