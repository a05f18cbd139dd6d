"""`save` and `load`: states of models and optimizers in files that hold data and no code.

A state is nested dicts, lists, tuples and sets of tensors, numbers and strings: what `state_dict()` of modules, optimizers
and schedulers gives. It is written as `.npz`, which NumPy reads as well, or as `.safetensors`. One of the few files that
name NumPy.
"""

from __future__ import annotations

import io
import json
import math
import os
import struct
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, BinaryIO

import numpy as np

from .device import device
from .dtype import dtype
from .kernels.array import Storage
from .saving import pytorch, safetensors
from .saving.files import Archive, Source, replacing
from .saving.state import Decoder, Encoder, Entry, Tree, Written
from .storage import UntypedStorage

__all__ = ["load", "save"]

_TREE = "numgrad.json"  # the member of an .npz file that holds the tree of a state
_NO_PICKLES = "numgrad saves and loads no pickles: leave pickle_module out"
_NO_CUDA = (
    "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False. If you are running on a "
    "CPU-only machine, please use torch.load with map_location=torch.device('cpu') to map your storages to the CPU."
)
_NO_PLACE = "don't know how to restore data location of torch.storage.UntypedStorage (tagged with {})"
_ALIGNMENT = 64  # bytes, of NumPy's headers and of what is mapped
_PADDING = 0xD935  # the kind of an extra field that only takes up place
_LOCAL_HEADER = 30


def save(
    obj: Any,
    f: str | os.PathLike[str] | BinaryIO,
    pickle_module: Any = None,
    pickle_protocol: int | None = None,
    _use_new_zipfile_serialization: bool = True,
    _disable_byteorder_record: bool = False,
    *,
    format: str | None = None,
) -> None:
    """Write a state to a file, for `load`.

    Args:
        obj: None, bools, numbers, strings, bytes, tensors, parameters, NumPy arrays, dtypes and devices, and lists, tuples,
            sets, dicts, `OrderedDict`s and `Counter`s of them.
        f: a path, or a file that is open for writing bytes.
        pickle_module: must be None: nothing is pickled.
        pickle_protocol: taken for PyTorch's sake.
        format: "npz" or "safetensors"; if None, "safetensors" for a path that ends so, and "npz" for any other.

    Tensors that share memory are written once and share it again when they are loaded. A path is replaced as a whole: a
    save that fails, or is killed, leaves the old file as it was.

    Raises TypeError for anything else, such as a whole module; save its `state_dict()`. Raises ValueError for a state that
    contains itself, and for an unknown format.

    Example:
        >>> import io
        >>> import numgrad as ng
        >>> file = io.BytesIO()
        >>> ng.save({"weight": ng.ones(2), "epoch": 3}, file)
        >>> ng.load(io.BytesIO(file.getvalue()))
        {'weight': tensor([1., 1.]), 'epoch': 3}
    """
    if pickle_module is not None:
        raise ValueError(_NO_PICKLES)
    is_path = isinstance(f, str | os.PathLike)
    if not is_path and not hasattr(f, "write"):
        raise AttributeError("expected 'f' to be string, path, or a file-like object with a 'write' attribute")
    if format is None:
        format = "safetensors" if is_path and os.fspath(f).endswith(".safetensors") else "npz"  # type: ignore[arg-type]
    if format not in _FORMATS:
        raise ValueError(f"format should be 'npz' or 'safetensors', but got format={format!r}")
    substitutes, write = _FORMATS[format]
    tree, entries = Encoder(substitutes).encoded(obj)
    if is_path:
        with replacing(f) as file:  # type: ignore[arg-type]
            write(file, tree, entries)
    else:
        write(f, tree, entries)  # type: ignore[arg-type]


def load(
    f: str | os.PathLike[str] | BinaryIO,
    map_location: Any = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """Read what `save` wrote, a file of NumPy's `savez` or of safetensors, or a state that `torch.save` wrote.

    What kind of file it is says its content, not its name. No code in it is run, whatever the arguments.

    Args:
        f: a path, or a file that is open for reading bytes and can be positioned.
        map_location: where tensors are put: a device or its name, a dict from the names of devices to others, or a function
            of a storage and such a name that returns a storage or None. Where they were, if None.
        pickle_module: must be None.
        weights_only: taken for PyTorch's sake: never is anything else loaded.
        mmap: map the file instead of reading it. Writes to the tensors do not reach the file.
        pickle_load_args: taken for PyTorch's sake.

    Raises RuntimeError for a file that is damaged, `pickle.UnpicklingError` for a pickle of anything but data, EOFError for
    an empty file.
    """
    if pickle_module is not None:
        raise RuntimeError("Can not safely load weights when explicit pickle_module is specified")
    if mmap and not isinstance(f, str | os.PathLike):
        raise ValueError("f must be a file path in order to use the mmap argument")
    place = _placing(map_location)
    with _opened(f) as file:
        source = Source(file, repr(str(getattr(file, "name", "the file"))), bool(mmap))
        if not source.size:
            raise EOFError(f"Ran out of input: {source.name} is empty")
        if safetensors.is_safetensors(source):
            return _decoded(source, *safetensors.read(source), place)
        start = source.read(0, min(4, source.size))
        if start == b"PK\3\4":
            archive = Archive(source)
            if any(name.endswith(pytorch.PICKLE) for name in archive.names()):
                return pytorch.read_archive(archive, place)
            return _decoded(source, *_read_npz(archive), place)
        if start[:1] == b"\x80":
            return pytorch.read_legacy(source, place)
        raise source.damaged("it is none of .npz, .safetensors and PyTorch's formats")


@contextmanager
def _opened(f: Any) -> Iterator[Any]:
    if isinstance(f, str | os.PathLike):
        with open(f, "rb") as file:
            yield file
        return
    for method in ("seek", "tell", "read"):
        if not hasattr(f, method):
            raise AttributeError(
                f"'{type(f).__name__}' object has no attribute '{method}'. You can only torch.load from a file that is "
                "seekable. Please pre-load the data into a buffer like io.BytesIO and try to load from it instead."
            )
    yield f


def _decoded(source: Source, tree: Tree, entries: Mapping[str, Entry], place: Callable[[str, Storage], device]) -> Any:
    """The state of a tree; without one, a dict of all entries."""
    if tree is None:
        tree = {"dict": {name: {"tensor": name} for name in entries}}
    try:
        return Decoder(entries, place).decoded(tree)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError, RecursionError, StopIteration) as error:
        raise source.damaged(f"{type(error).__name__}: {error}") from None


def _placing(map_location: Any) -> Callable[[str, Storage], device]:
    """Where a tensor is put that was on some device."""

    def place(location: str, storage: Storage) -> device:
        wanted = location
        if callable(map_location):
            result = map_location(UntypedStorage(storage), location)
            wanted = location if result is None else result.device
        elif isinstance(map_location, Mapping):
            wanted = map_location.get(location, location)
        elif map_location is not None:
            wanted = map_location
        try:
            where = device(wanted)
        except RuntimeError:
            raise RuntimeError(_NO_PLACE.format(wanted)) from None
        if where.type == "cuda":
            from .cuda import is_available

            if not is_available():
                raise RuntimeError(_NO_CUDA)
        return where.concrete()

    return place


# ---------------------------------------------------------------------------------------------------- .npz
def _write_npz(out: BinaryIO, tree: Tree, entries: Mapping[str, Written]) -> None:
    """Write a state as a zip archive of a member for each entry, as `numpy.savez` does, and one for the tree."""
    with zipfile.ZipFile(out, "w") as archive:
        _write_member(out, archive, _TREE, [json.dumps(tree).encode()])
        for name, entry in entries.items():
            header = io.BytesIO()
            facts = {"descr": entry.items.dtype.str, "fortran_order": False, "shape": entry.shape}
            np.lib.format.write_array_header_1_0(header, facts)
            _write_member(out, archive, f"{name}.npy", [header.getvalue(), memoryview(entry.items.view(np.uint8))])


def _write_member(out: BinaryIO, archive: zipfile.ZipFile, name: str, parts: list[Any]) -> None:
    """Write a member, at a multiple of 64 bytes so that it can be mapped; its time is always the same."""
    info = zipfile.ZipInfo(name)
    is_large = sum(len(part) for part in parts) >= 2**31 - _ALIGNMENT
    if hasattr(out, "seekable") and out.seekable():
        header = _LOCAL_HEADER + len(name.encode()) + 4 + (20 if is_large else 0)
        padding = -(out.tell() + header) % _ALIGNMENT
        info.extra = struct.pack("<HH", _PADDING, padding) + bytes(padding)
    with archive.open(info, "w", force_zip64=is_large) as member:
        for part in parts:
            member.write(part)


def _read_npz(archive: Archive) -> tuple[Tree, dict[str, Entry]]:
    names = archive.names()
    entries = {name.removesuffix(".npy"): _npy(archive, name) for name in names if name.endswith(".npy")}
    if _TREE not in names:
        return None, entries
    try:
        return json.loads(archive.read(_TREE)), entries
    except (ValueError, RecursionError) as error:
        raise archive.source.damaged(error) from None


def _npy(archive: Archive, name: str) -> Entry:
    """An array in an archive, of which only the header is read at once."""
    source, start, size = archive.opened(name)
    head = io.BytesIO(source.read(start, min(size, 16384)))
    try:
        version = np.lib.format.read_magic(head)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, is_fortran, kind = read(head)
    except Exception as error:  # of many kinds: the header is parsed as Python's literals are
        raise source.damaged(error) from None
    if kind.hasobject or kind.kind not in "biufc":
        raise source.damaged(f"the dtype of {name!r} is {kind}, and only numbers are loaded")
    begin = head.tell()
    if any(n < 0 for n in shape) or math.prod(shape) * kind.itemsize != size - begin:
        raise source.damaged(f"{name!r} has {size - begin} bytes for the shape {shape}; it may be truncated")

    def memory(wanted: dtype) -> Any:
        items = source.memory(start + begin, size - begin, wanted)
        archive.check(name, source.read(start, begin), memoryview(items.view(np.uint8)))
        return items if kind.isnative else items.byteswap()

    strides = tuple(math.prod(shape[:d]) for d in range(len(shape))) if is_fortran and len(shape) > 1 else None
    return Entry(kind.newbyteorder("=").name, shape, memory, strides)


_FORMATS: dict[str, tuple[dict[str, str], Callable[[BinaryIO, Tree, Mapping[str, Written]], None]]] = {
    "npz": ({"bfloat16": "uint16"}, _write_npz),
    "safetensors": (safetensors.SUBSTITUTES, safetensors.write),
}
