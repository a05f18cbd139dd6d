"""Files that are replaced as a whole, and files that are read by position, within their bounds."""

from __future__ import annotations

import contextlib
import io
import mmap
import os
import secrets
import stat
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from ..creation import empty
from ..dtype import dtype, uint8
from ..interop import frombuffer

WHOLE_HEADER = 30  # bytes of a member's header in a zip archive, before its name
MOST_EXPANSION = 100  # times its size that an archive may grow to when its members are expanded
SMALL = 1 << 24  # bytes that any archive may grow to


class Damaged(RuntimeError):
    """A file is not what it should be: truncated, changed, or made to do harm."""


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file that takes the place of `path` at the end of a `with` block, if that ends well.

    What is written goes to a new file beside it, which is complete on the disk before it gets the name: whatever happens,
    the name has either the old file or the new one. A device or a pipe is written to as it is.

    Raises RuntimeError, as PyTorch, where there is no such folder.
    """
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise RuntimeError(f"Parent directory {target.parent} does not exist.")
    mode = target.stat().st_mode if target.exists() else None
    if mode is not None and not stat.S_ISREG(mode):
        with open(target, "wb") as file:
            yield file
        return
    beside = target.with_name(f".{target.name}.{secrets.token_hex(6)}.tmp")
    try:
        with open(beside, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            beside.chmod(stat.S_IMODE(mode))
        os.replace(beside, target)
    except BaseException:
        with contextlib.suppress(OSError):
            beside.unlink()
        raise
    _sync_folder(target.parent)


def _sync_folder(folder: Path) -> None:
    """Make a new name last. Some systems cannot."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


class Source:
    """A file to read, from where it is at to its end."""

    def __init__(self, file: Any, name: str, mapped: bool = False) -> None:
        self.file = file
        self.name = name
        self._start = file.tell()
        self.size = file.seek(0, io.SEEK_END) - self._start
        # Pages of the map are the process's own as soon as they are written to.
        self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY) if mapped and self.size else None

    def damaged(self, why: object) -> Damaged:
        """An error that names the file."""
        return Damaged(f"{self.name} is damaged, or not a file that numgrad reads: {why}")

    def _seek(self, start: int, size: int) -> None:
        if start < 0 or size < 0 or start + size > self.size:
            raise self.damaged(f"bytes {start} to {start + size} are not in its {self.size} bytes; it may be truncated")
        self.file.seek(self._start + start)

    def read(self, start: int, size: int) -> bytes:
        """So many bytes."""
        self._seek(start, size)
        found: bytes = self.file.read(size)
        return found

    def memory(self, start: int, size: int, kind: dtype) -> Any:
        """So many bytes as a 1-d ndarray of a dtype: the file's own pages, where it is mapped."""
        if size % kind.itemsize:
            raise self.damaged(f"{size} bytes are no whole number of items of {kind.name}")
        self._seek(start, size)
        if size and self._map is not None and (self._start + start) % kind.itemsize == 0:
            return frombuffer(
                self._map, dtype=kind, count=size // kind.itemsize, offset=self._start + start
            )._array.flat
        items = empty(size // kind.itemsize, dtype=kind)._array.flat
        if size and self.file.readinto(memoryview(items.view(uint8.numpy))) != size:
            raise self.damaged("it ends too early")
        return items


class Archive:
    """A zip archive whose members are read in place. Nothing is ever unpacked to a file."""

    def __init__(self, source: Source) -> None:
        self.source = source
        try:
            source.file.seek(source._start)
            with zipfile.ZipFile(source.file) as archive:
                members = archive.infolist()
        except (zipfile.BadZipFile, NotImplementedError, OSError, ValueError) as error:
            raise source.damaged(error) from None
        self._members = {member.filename: member for member in members}
        if sum(member.compress_size for member in members) > source.size:
            raise source.damaged("its members overlap")
        expanded = sum(member.file_size for member in members if member.compress_type != zipfile.ZIP_STORED)
        if expanded > max(SMALL, MOST_EXPANSION * source.size):
            raise source.damaged(f"its members are to expand to {expanded} bytes")

    def names(self) -> list[str]:
        """Names of the members."""
        return list(self._members)

    def span(self, name: str) -> tuple[int, int]:
        """Where a stored member begins, and its size."""
        member = self._members.get(name)
        if member is None:
            raise self.source.damaged(f"{name!r} is missing")
        if member.compress_type != zipfile.ZIP_STORED or member.flag_bits & 1:
            raise self.source.damaged(f"{name!r} is compressed or encrypted")
        # A stream before the archive counts in `header_offset`.
        start = member.header_offset - self.source._start
        header = self.source.read(start, WHOLE_HEADER)
        start += WHOLE_HEADER + int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little")
        if header[:4] != b"PK\3\4" or start + member.file_size > self.source.size:
            raise self.source.damaged(f"{name!r} is not where it should be")
        return start, member.file_size

    def opened(self, name: str) -> tuple[Source, int, int]:
        """What to read a member from, where it begins and its size; one that is compressed is expanded in memory."""
        member = self._members.get(name)
        if member is None or member.compress_type == zipfile.ZIP_STORED:
            return self.source, *self.span(name)
        try:
            self.source.file.seek(self.source._start)
            with zipfile.ZipFile(self.source.file) as archive, archive.open(member) as stream:
                content = stream.read(member.file_size)
        except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError) as error:
            raise self.source.damaged(error) from None
        return Source(io.BytesIO(content), f"{name!r} in {self.source.name}"), 0, len(content)

    def check(self, name: str, *parts: Any) -> None:
        """Compare a stored member's checksum with that of its parts, unless the file is mapped."""
        member = self._members[name]
        if member.compress_type != zipfile.ZIP_STORED or self.source._map is not None:
            return
        found = 0
        for part in parts:
            found = zlib.crc32(part, found)
        if found != member.CRC:
            raise self.source.damaged(f"the checksum of {name!r} is wrong")

    def read(self, name: str) -> bytes:
        """A member as bytes."""
        source, start, size = self.opened(name)
        content = source.read(start, size)
        self.check(name, content)
        return content

    def memory(self, name: str, kind: dtype) -> Any:
        """A stored member as a 1-d ndarray."""
        start, size = self.span(name)
        items = self.source.memory(start, size, kind)
        self.check(name, memoryview(items.view(uint8.numpy)))
        return items
