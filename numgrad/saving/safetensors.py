"""Reading and writing `.safetensors`: the length of a header, the header in JSON, and the items of all tensors.

The format is that of https://github.com/huggingface/safetensors. Written here rather than by its package because a state is
streamed to the file as it is, and items can be mapped from it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from functools import partial
from typing import Any, BinaryIO

from ..dtype import uint8
from .files import Source
from .state import Entry, Tree, Written

SUBSTITUTES = {"complex128": "float64"}  # with one more dimension, of 2
_CODES = {
    "float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16", "complex64": "C64", "int64": "I64",
    "int32": "I32", "int16": "I16", "int8": "I8", "uint64": "U64", "uint32": "U32", "uint16": "U16", "uint8": "U8",
    "bool": "BOOL",
}  # fmt: skip
_DTYPES = {code: name for name, code in _CODES.items()}
_ITEMSIZES = {code: 1 if code == "BOOL" else int(code.lstrip("FBCIU")) // 8 for code in _DTYPES}
_LENGTH = 8  # bytes of the header's length
_LONGEST = 100_000_000  # bytes that the format lets a header have
_TREE = "numgrad"  # the key of a state's tree among the metadata


def is_safetensors(source: Source) -> bool:
    """Whether a file begins as such a file does."""
    start = source.read(0, min(source.size, _LENGTH + 1))
    return start[_LENGTH:] == b"{" and int.from_bytes(start[:_LENGTH], "little") <= source.size - _LENGTH


def write(out: BinaryIO, tree: Tree, entries: Mapping[str, Written]) -> None:
    """Write a state."""
    header: dict[str, Any] = {
        # "pt" tells other libraries' readers that the tensors are laid out as PyTorch's.
        "__metadata__": {"format": "pt", _TREE: json.dumps(tree)}
    }
    # Large items first, so that all are aligned; then by name, so that a state is always the same file.
    ordered = sorted(entries.items(), key=lambda named: (-named[1].items.itemsize, named[0]))
    end = 0
    for name, entry in ordered:
        start, end = end, end + entry.items.nbytes
        header[name] = {"dtype": _CODES[entry.kind], "shape": list(entry.shape), "data_offsets": [start, end]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % _LENGTH)
    out.write(len(text).to_bytes(_LENGTH, "little"))
    out.write(text)
    for _, entry in ordered:
        out.write(memoryview(entry.items.view(uint8.numpy)))


def read(source: Source) -> tuple[Tree, dict[str, Entry]]:
    """The tree of a state, None for a file that numgrad did not write, and the entries. Raises Damaged."""
    length = int.from_bytes(source.read(0, _LENGTH), "little")
    if length > _LONGEST:
        raise source.damaged(f"a header of {length} bytes")
    try:
        header = json.loads(source.read(_LENGTH, length), object_pairs_hook=_without_repetition)
        metadata = header.pop("__metadata__", {})
        tree = json.loads(metadata[_TREE]) if _TREE in metadata else None
        entries = {name: _entry(source, _LENGTH + length, **facts) for name, facts in header.items()}
        _check_spans([facts["data_offsets"] for facts in header.values()], source.size - _LENGTH - length)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise source.damaged(error) from None
    return tree, entries


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name stands twice in the header")
    return found


def _entry(source: Source, start: int, dtype: str, shape: list[int], data_offsets: list[int]) -> Entry:
    if dtype not in _DTYPES:
        raise ValueError(f"numgrad has no dtype for {dtype!r}")
    first, last = data_offsets
    if any(type(n) is not int or n < 0 for n in (*shape, first, last)):
        raise ValueError("shapes and offsets are whole numbers from 0 on")
    if last - first != math.prod(shape) * _ITEMSIZES[dtype]:
        raise ValueError(f"{last - first} bytes are not those of shape {shape} in {dtype}")
    return Entry(_DTYPES[dtype], tuple(shape), partial(source.memory, start + first, last - first))


def _check_spans(spans: list[list[int]], size: int) -> None:
    """The items of the tensors follow each other, from the header to the end of the file."""
    end = 0
    for first, last in sorted(spans):
        if first != end:
            raise ValueError("the items of tensors overlap, or leave a gap")
        end = last
    if end != size:
        raise ValueError(f"{size} bytes of items where the header has {end}; the file may be truncated")
