"""Where compiled kernels live on disk.

A generated kernel is a module file named by the hash of its own text, so a change of a helper, a constant, a dtype or an
order of derivative is another file and Numba's disk cache cannot return stale code. The files lie in a per-user
directory keyed by everything else that decides the machine code: the sources of this package, the versions of Python,
Numba and llvmlite, and the CPU. Reading a cached kernel back is executing it, so a directory that others may write to is
never used.

`NUMGRAD_CACHE_DIR` sets the place; an unwritable one falls back to a temporary directory for this process.
"""

from __future__ import annotations

import atexit
import functools
import hashlib
import importlib.util
import itertools
import linecache
import os
import shutil
import stat
import sys
import tempfile
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from .locks import fork_safe_lock

_lock = fork_safe_lock()
_serial = itertools.count()


def load_module(text: str) -> ModuleType:
    """The module with this source text, written to the cache directory when it is not there yet, and imported."""
    digest = hashlib.sha256(text.encode()).hexdigest()[:24]
    name = f"_numgrad_kernel_{digest}"
    with _lock:  # a module is in sys.modules before its text has run: another thread must not see it half made
        return sys.modules.get(name) or _import_module(name, text)


def _import_module(name: str, text: str) -> ModuleType:
    path = directory() / f"{name}.py"
    try:
        current = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        current = None
    if current != text:
        _write_atomically(path, text)
    # Numba's cache needs a real module: it looks the name up in sys.modules when it unpickles a kernel.
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        sys.modules.pop(name, None)
        raise
    return module


def transient_module(text: str, names: Mapping[str, Any]) -> ModuleType:
    """A module of this process only, with values bound to `names` that its text leaves open. Nothing goes to disk."""
    name = f"_numgrad_transient_{next(_serial)}"
    module = ModuleType(name)
    vars(module).update(names)
    file = f"<{name}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)  # for tracebacks
    exec(compile(text, file, "exec"), vars(module))
    return module


def compile_cached(dispatcher: Any, signature: Any) -> Callable[..., Any]:
    """Compile a caching Numba dispatcher for one signature and return its C entry point.

    A damaged cache entry (truncated, foreign) is deleted and compiled again, with one warning.
    """
    if not hasattr(dispatcher, "compile"):
        return dispatcher  # NUMBA_DISABLE_JIT: kernels are plain Python, to step through
    try:
        return _load(dispatcher, signature) or dispatcher.compile(signature)
    except Exception as error:
        if not _discard_entry(dispatcher):
            raise
        warnings.warn(
            f"numgrad: a damaged kernel cache entry was discarded and compiled again ({type(error).__name__}: {error})",
            RuntimeWarning,
            stacklevel=2,
        )
        return dispatcher.compile(signature)


def _load(dispatcher: Any, signature: Any) -> Callable[..., Any] | None:
    """The entry point of a kernel that is on disk; None when it is not.

    Numba's own way in, `dispatcher.compile`, first registers every typing and lowering rule that it knows and imports
    SciPy for BLAS, 0.3 s which a kernel that is already machine code does not need. This asks the same cache for the
    same entry without that; a Numba whose cache looks different is used the slow way.
    """
    from numba.core.compiler_lock import global_compiler_lock
    from numba.core.runtime import rtsys

    _compile_across_forks()

    cache = getattr(dispatcher, "_cache", None)
    load = getattr(cache, "_load_overload", None)
    context = getattr(dispatcher, "targetctx", None)
    if load is None or context is None:
        return None
    with global_compiler_lock:
        rtsys.initialize(context)  # the kernels take and release references of arrays: its functions must be linked
        compiled = load(signature, context)
    return None if compiled is None else compiled.entry_point


@functools.cache
def _compile_across_forks() -> None:
    """Let a fork wait for a compilation in progress, and leave Numba's compiler lock free in the child."""
    from numba.core.compiler_lock import global_compiler_lock as lock

    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release)


def _discard_entry(dispatcher: Any) -> bool:
    """Delete a dispatcher's files on disk. False when there were none: then the error was not the cache's."""
    module_file = Path(dispatcher.py_func.__code__.co_filename)
    entries = list((module_file.parent / "__pycache__").glob(f"{module_file.stem}.*.nb[ci]"))
    for entry in entries:
        entry.unlink(missing_ok=True)
    return bool(entries)


@functools.cache
def directory() -> Path:
    """The directory for this process's kernels; made on first use."""
    wanted = os.environ.get("NUMGRAD_CACHE_DIR") or _user_cache_directory()
    if wanted:
        try:
            return _private_directory(Path(wanted).expanduser() / _environment_key())
        except OSError as error:
            reason = str(error)
    else:
        reason = "there is no home directory"
    fallback = tempfile.mkdtemp(prefix="numgrad-")
    atexit.register(shutil.rmtree, fallback, ignore_errors=True)
    warnings.warn(
        f"numgrad: compiled kernels are kept in a temporary directory for this process only ({reason}); "
        "set NUMGRAD_CACHE_DIR to a writable directory of your own",
        RuntimeWarning,
        stacklevel=2,
    )
    return Path(fallback)


def _user_cache_directory() -> str | None:
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA")
    else:
        base = os.environ.get("XDG_CACHE_HOME")
        if not base:
            home = os.path.expanduser("~")
            base = os.path.join(home, ".cache") if home not in ("~", "/") else None
    return os.path.join(base, "numgrad") if base else None


def _private_directory(path: Path) -> Path:
    """Make `path` with mode 0700 and check that nobody else can put code there. Raises OSError when they can."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    if hasattr(os, "getuid"):
        status = path.stat()
        if status.st_uid != os.getuid():
            raise PermissionError(f"{path} belongs to another user")
        if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise PermissionError(f"{path} can be written by other users")
    with tempfile.TemporaryFile(dir=path):
        pass
    return path


@functools.cache
def _environment_key() -> str:
    """Hash of everything beside a kernel's text that decides its machine code."""
    import llvmlite
    import llvmlite.binding
    import numba

    digest = hashlib.sha256()
    for source in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(source.read_bytes())
    features = llvmlite.binding.get_host_cpu_features().flatten()
    for part in (sys.version, numba.__version__, llvmlite.__version__, llvmlite.binding.get_host_cpu_name(), features):
        digest.update(b"\0" + part.encode())
    return digest.hexdigest()[:16]


def _write_atomically(path: Path, text: str) -> None:
    """Write a file so that another process sees all of it or none."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        # The same time stamp in every process: Numba's index is keyed by it.
        os.utime(temporary, (0, 0))
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
