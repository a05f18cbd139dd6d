"""Where compiled kernels lie: in a directory that other users cannot write to, one for each environment.

To read a compiled kernel is to execute it. So neither the directory nor any above it may let another user put something
there, or put another directory in its place. `NUMGRAD_CACHE_DIR` names the place; without it, it is `numgrad` in the
user's directory for caches.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import re
import stat
import sys
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from . import entries

SOURCES = Path(__file__).parent.parent
TAG = "CACHEDIR.TAG"  # https://bford.info/cachedir: back-ups leave such a directory out. Here it also says whose it is.
UNUSED_DAYS = 30

_TAG_TEXT = """Signature: 8a477f597d28d172789f06886806bc55
# Kernels that numgrad compiled for: {environment}
# Everything here can be made again. `python -m numgrad.kernels.cache --clear` deletes it.
"""
_OTHERS = stat.S_IWGRP | stat.S_IWOTH


# ---------------------------------------------------------------------------------------------------- the directory
@functools.cache
def directory() -> Path | None:
    """The directory of this process's kernels, made on first use; None, with a warning, when no place is safe.

    It may well be one that can only be read.
    """
    try:
        return opened(root() / environment().key)
    except OSError as error:
        warnings.warn(
            f"numgrad: there is no directory for compiled kernels, so every process compiles them again ({error}); "
            "set NUMGRAD_CACHE_DIR to a directory of your own",
            RuntimeWarning,
            stacklevel=2,
        )
        return None


def root() -> Path:
    """The directory above those of the environments. Raises OSError when there is none."""
    wanted = os.environ.get("NUMGRAD_CACHE_DIR")
    return Path(os.path.abspath(os.path.expanduser(wanted) if wanted else os.path.join(_user_caches(), "numgrad")))


def _user_caches() -> str:
    if sys.platform == "win32" and (local := os.environ.get("LOCALAPPDATA")):
        return local
    base = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(base):  # its specification: others are to be ignored
        return base
    home = os.path.expanduser("~")
    if home == "/" or not os.path.isabs(home) or not os.path.isdir(home):  # a daemon's, or one that was never made
        raise FileNotFoundError(f"there is no home directory: it would be {home!r}")
    return os.path.join(home, ".cache")


def opened(path: Path) -> Path:
    """The directory of an environment, made if need be. Raises OSError when others could put their code there.

    Its path has no symbolic links: another user could change one after it was followed here.
    """
    path = Path(os.path.realpath(path))
    _check(path, make=True)
    if not os.access(path, os.W_OK):
        return path
    if _description(path) is None:
        entries.write_file(path / TAG, _TAG_TEXT.format(environment=environment().description).encode())
        _discard_unused(path.parent)
    elif time.time() - path.stat().st_mtime > 86400:
        os.utime(path)  # `_discard_unused` looks at it
    return path


def check(path: Path) -> None:
    """Raise OSError when others could put their code into a directory, or into what there is of the way to it."""
    _check(Path(os.path.realpath(path)), make=False)


def _check(path: Path, make: bool) -> None:
    sheltered = False  # whether nobody else can come this far
    for part in [*reversed(path.parents), path]:
        if not part.is_dir():
            if not make:
                return
            part.mkdir(mode=0o700, exist_ok=True)  # of every directory on the way; `parents=True` would obey the umask
        if not hasattr(os, "geteuid"):
            continue
        status = part.lstat()
        if stat.S_ISLNK(status.st_mode):  # it was made since the links were followed
            raise PermissionError(f"{part} is a link that somebody has just made")
        if part == path or not sheltered:
            _refuse_others(part, status, shared=part != path)
        sheltered = sheltered or (status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IXGRP | stat.S_IXOTH))


def _refuse_others(path: Path, status: os.stat_result, shared: bool) -> None:
    """Raise PermissionError when another user can change a directory; in a `shared` one, what is ours in it."""
    if entries.is_of_another_user(status):
        raise PermissionError(f"{path} belongs to another user")
    if not status.st_mode & _OTHERS:
        return
    if shared and status.st_mode & stat.S_ISVTX:  # as /tmp: nobody can move what another has made
        return
    if shared and not status.st_mode & stat.S_IWOTH and _is_private_group(status.st_gid):
        return
    raise PermissionError(f"{path} can be written by other users")


def _is_private_group(gid: int) -> bool:
    """Whether a group is that of this user alone, as many systems make one for each (and have a umask of 002 then)."""
    import grp
    import pwd

    try:
        group, name = grp.getgrgid(gid), pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return False
    return group.gr_name == name and not set(group.gr_mem) - {name}


# ---------------------------------------------------------------------------------------------------- environments
@dataclass(frozen=True)
class Environment:
    """What decides the machine code beside a kernel's own text: for people, and as a hash of all of it."""

    description: str
    key: str


@functools.cache
def environment() -> Environment:
    """That of this process. Raises OSError when the sources of this package cannot be read."""
    import llvmlite
    import numba
    import numpy
    from numba.core.registry import cpu_target

    sources = sorted(SOURCES.rglob("*.py"))
    if not sources:
        raise FileNotFoundError(f"{SOURCES} holds no sources")  # in an archive: there is nothing to tell versions apart
    cpu = cpu_target.target_context.codegen().magic_tuple()  # triple, name and features, as NUMBA_CPU_NAME may set them
    versions = {"Numba": numba.__version__, "llvmlite": llvmlite.__version__, "NumPy": numpy.__version__}
    digest = hashlib.sha256(repr((sys.version, versions, cpu, _numba_settings())).encode())
    for source in sources:
        digest.update(source.read_bytes())
    python = ".".join(map(str, sys.version_info[:3]))
    description = ", ".join([f"Python {python}", *(f"{name} {v}" for name, v in versions.items()), str(cpu[1])])
    return Environment(description, digest.hexdigest()[:16])


def _numba_settings() -> list[tuple[str, str]]:
    """All that the variables NUMBA_... set, less what cannot matter to a kernel; a dump, too, wants a compilation."""
    from numba import config

    unrelated = re.compile("CUDA|CACHE|THREAD|GDB|COLOR|^(SHOW_HELP|FULL_TRACEBACKS|DEVELOPER_MODE|DISABLE_JIT)$")
    return sorted((k, repr(v)) for k, v in vars(config).items() if k.isupper() and not unrelated.search(k))


@dataclass(frozen=True)
class Listing:
    """The directory of one environment, and what numgrad has put there."""

    path: Path
    description: str
    kernels: list[Path]
    others: list[Path]  # what a killed process left half written, and the tag, by which this is known to be ours

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(_size(path) for path in [*self.kernels, *self.others])

    def clear(self) -> None:
        """Delete what numgrad put there, and the directory if it is empty then."""
        for path in [*self.kernels, *self.others]:
            path.unlink(missing_ok=True)
        try:
            self.path.rmdir()
        except OSError:  # someone else's file lies in it, or a process has just made a kernel
            return


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:  # another process clears, too
        return 0


def listings(path: Path) -> Iterator[Listing]:
    """The environments under a `root()`: directories that numgrad has made, by their tags."""
    for found in sorted(path.iterdir()) if path.is_dir() else []:
        described = _description(found) if re.fullmatch("[0-9a-f]{16}", found.name) else None
        if described is not None:
            kernels = sorted(found.glob(f"*{entries.SUFFIX}"))
            yield Listing(found, described, kernels, [*found.glob(f"*{entries.UNFINISHED}"), found / TAG])


def _description(path: Path) -> str | None:
    """What the tag of an environment's directory says; None if it says nothing to us."""
    try:
        text = (path / TAG).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    described = re.search("numgrad compiled for: (.*)", text)
    return described and described[1]


def _discard_unused(path: Path) -> None:
    """Clear environments that no process has used of late: an upgrade of anything makes a new one."""
    for listing in listings(path):
        with contextlib.suppress(OSError):  # some may be another user's: of a container, say
            if time.time() - listing.path.stat().st_mtime > UNUSED_DAYS * 86400:
                listing.clear()
