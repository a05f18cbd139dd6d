"""One compiled kernel as a file: a digest of its name and content, then what Numba needs to link it again."""

from __future__ import annotations

import hashlib
import os
import pickle
import tempfile
from pathlib import Path
from typing import Any

SUFFIX = ".kernel"
UNFINISHED = ".tmp"
_MAGIC = b"numgrad kernel 1\n"
_DIGEST_SIZE = hashlib.sha256().digest_size


class DamagedEntry(Exception):
    """A file that is no entry, not a whole one, or that of another kernel."""


def read(directory: Path, key: str) -> Any:
    """The `CompileResult` of a kernel that is on disk; None when it is not.

    Numba's own way in, `Dispatcher.compile`, first registers every typing and lowering rule that it knows and imports
    SciPy for BLAS: 0.3 s that a kernel which is already machine code does not need.

    Raises:
        DamagedEntry: there is something under this name, but it cannot be used.
    """
    path = directory / f"{key}{SUFFIX}"
    try:
        with path.open("rb") as file:
            if is_of_another_user(os.fstat(file.fileno())):  # put there when the directory's modes let them, perhaps
                raise PermissionError("it belongs to another user")
            return _linked(_content(file.read(), key))
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
    write_file(directory / f"{key}{SUFFIX}", _MAGIC + _digest(key, payload) + payload)


def write_file(path: Path, content: bytes) -> None:
    """Write a file, so that others see all of it or nothing. Raises OSError."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.stem, suffix=UNFINISHED)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(temporary, path)
    except BaseException as error:
        Path(temporary).unlink(missing_ok=True)
        if isinstance(error, PermissionError) and path.is_file():
            return  # on Windows: another process was first, and a third reads what it wrote
        raise


def is_of_another_user(status: os.stat_result) -> bool:
    """Whether a file belongs neither to this user nor to the system's administrator.

    That is whoever owns `/`: root, or what a user namespace shows in its stead.
    """
    return hasattr(os, "geteuid") and status.st_uid not in (os.geteuid(), os.stat("/").st_uid)


def _content(data: bytes, key: str) -> bytes:
    start = len(_MAGIC) + _DIGEST_SIZE
    payload = data[start:]
    if data[:start] != _MAGIC + _digest(key, payload):
        raise ValueError(f"{len(data)} bytes that are not what was written for this kernel")
    return payload


def _digest(key: str, payload: bytes) -> bytes:
    return hashlib.sha256(key.encode() + payload).digest()


def _linked(payload: bytes) -> Any:
    from numba.core.compiler import CompileResult
    from numba.core.registry import cpu_target
    from numba.core.runtime import rtsys

    context = cpu_target.target_context
    rtsys.initialize(context)  # kernels take and release references of arrays: the functions for it must be linked
    return CompileResult._rebuild(context, *pickle.loads(payload))
