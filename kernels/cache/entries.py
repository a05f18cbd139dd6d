"""One compiled kernel as a file: a digest of its name and content, then what Numba needs to link it again."""

from __future__ import annotations

import hashlib
import os
import pickle
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

SUFFIX = ".kernel"
UNFINISHED = ".tmp"
_MAGIC = b"numgrad kernel 1\n"
_DIGEST_SIZE = hashlib.sha256().digest_size


class DamagedEntry(Exception):
    """A file that is no entry, not a whole one, or that of another kernel."""


def read(directory: Path, key: str) -> Callable[..., Any] | None:
    """The C entry point of a kernel that is on disk; None when it is not.

    Numba's own way in, `Dispatcher.compile`, first registers every typing and lowering rule that it knows and imports
    SciPy for BLAS: 0.3 s that a kernel which is already machine code does not need.

    Raises:
        DamagedEntry: there is something under this name, but it cannot be used.
    """
    path = directory / f"{key}{SUFFIX}"
    try:
        return _linked(_content(path.read_bytes(), key))
    except FileNotFoundError:
        return None
    except Exception as error:  # OSError, or whatever unpickling finds
        raise DamagedEntry(f"{path}: {type(error).__name__}: {error}") from error


def write(directory: Path, key: str, result: Any) -> None:
    """Keep a `CompileResult` of Numba's, so that another process sees all of it or nothing. Raises OSError."""
    if result.library.has_dynamic_globals:
        return  # it holds addresses of this process
    from numba.core.serialize import dumps

    payload = dumps(result._reduce())
    handle, temporary = tempfile.mkstemp(dir=directory, prefix=key, suffix=UNFINISHED)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(_MAGIC + _digest(key, payload) + payload)
        os.replace(temporary, directory / f"{key}{SUFFIX}")
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _content(data: bytes, key: str) -> bytes:
    start = len(_MAGIC) + _DIGEST_SIZE
    payload = data[start:]
    if data[:start] != _MAGIC + _digest(key, payload):
        raise ValueError(f"{len(data)} bytes that are not what was written for this kernel")
    return payload


def _digest(key: str, payload: bytes) -> bytes:
    return hashlib.sha256(key.encode() + payload).digest()


def _linked(payload: bytes) -> Callable[..., Any]:
    from numba.core.compiler import CompileResult
    from numba.core.registry import cpu_target
    from numba.core.runtime import rtsys

    context = cpu_target.target_context
    rtsys.initialize(context)  # kernels take and release references of arrays: the functions for it must be linked
    return CompileResult._rebuild(context, *pickle.loads(payload)).entry_point
