"""Nested states as trees that JSON can hold, beside the items of their tensors.

A tree is JSON's own for None, bools, strings, lists and common numbers; anything else is an object with one tag, such as
`{"tuple": [1, 2]}`. A tensor is `{"tensor": name, ...}`, where `name` is that of an entry. Tensors that share memory share
an entry: tied weights are written once, and are tied again when they are read.
"""

from __future__ import annotations

import base64
import math
import re
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from ..autograd.variable import CLASSES
from ..copying import attributes, rebuilt
from ..device import device
from ..dtype import ALL, FROM_NUMPY, dtype, uint8
from ..interop import ARRAY, SCALARS, from_numpy
from ..kernels.array import Array, Layout, Storage, contiguous_strides, dense_order, storage_extent
from ..nn.parameter import Parameter
from ..size import Size
from ..tensor import Tensor

Tree = Any
_NAMED_DTYPES = {kind.name: kind for kind in ALL}
_NUMBERS = re.compile(r"[<>|=]?[biufc]\d+")
_REMEDY = "Save numbers, strings, tensors, and dicts, lists, tuples and sets of them."


class Entry(NamedTuple):
    """Items as a file has them: the name of their dtype, their shape, and what reads them as a 1-d ndarray of a dtype.

    `strides` are those of items that are not in C order.
    """

    kind: str
    shape: tuple[int, ...]
    memory: Callable[[dtype], Any]
    strides: tuple[int, ...] | None = None


class Written(NamedTuple):
    """Items to write: the name of their dtype, their shape, and the items in C order as a 1-d ndarray."""

    kind: str
    shape: tuple[int, ...]
    items: Any


# ---------------------------------------------------------------------------------------------------- to a tree
class Encoder:
    """Makes the tree of a state, and collects its tensors.

    `substitutes` names, for dtypes that a format lacks, the one whose items are written in their place.
    """

    def __init__(self, substitutes: Mapping[str, str]) -> None:
        self._substitutes = substitutes
        self._found: list[tuple[Tree, Any, str]] = []  # a tensor's node, its array and its path
        self._above: set[int] = set()  # containers around the value

    def encoded(self, state: Any) -> tuple[Tree, dict[str, Written]]:
        """The tree, and the entries by name. Raises TypeError for what only pickle could write."""
        try:
            tree = self._node(state, "")
        except RecursionError:
            raise ValueError("save(): the state is nested too deeply") from None
        return tree, self._entries()

    def _node(self, value: Any, path: str) -> Tree:
        kind = type(value)
        encode = _ENCODERS.get(kind)
        if encode is not None:
            return encode(self, value, path)
        if kind in CLASSES and (issubclass(kind, Parameter) or kind is Tensor):
            return self._tensor(value, path)
        if isinstance(value, OrderedDict) and kind.__module__.startswith("numgrad."):
            return self._ordered(value, path)
        if kind is ARRAY or isinstance(value, SCALARS):
            return self._array(value, path)
        raise _refusal(value, path)

    def _parts(self, values: Any, path: str, own: Any) -> Iterator[tuple[Any, Tree]]:
        """The nodes of what is in a container, by name."""
        if id(own) in self._above:
            raise ValueError(f"save(): {_where(path)} contains itself")
        self._above.add(id(own))
        for name, value in values:
            yield name, self._node(value, f"{path}.{name}" if path else str(name))
        self._above.discard(id(own))

    def _list(self, value: Any, path: str) -> list[Tree]:
        return [node for _, node in self._parts(enumerate(value), path, value)]

    def _dict(self, value: Any, path: str) -> Tree:
        if all(type(key) is str for key in value):
            return {"dict": dict(self._parts(value.items(), path, value))}
        return {"items": self._pairs(value, path)}

    def _pairs(self, value: Any, path: str) -> list[Tree]:
        nodes = self._parts(value.items(), path, value)
        return [[self._node(key, f"{path}.{key}"), node] for key, node in nodes]

    def _ordered(self, value: Any, path: str) -> Tree:
        node: Tree = {"OrderedDict": self._pairs(value, path)}
        if vars(value):
            node["attributes"] = self._dict(vars(value), path)
        return node

    def _array(self, value: Any, path: str) -> Tree:
        """A NumPy array or scalar. One of a dtype that tensors lack is written as bytes."""
        array = value if isinstance(value, ARRAY) else ARRAY((), value.dtype, value.tobytes())
        tag = "array" if isinstance(value, ARRAY) else "scalar"
        if array.dtype in FROM_NUMPY:
            return {tag: self._tensor(from_numpy(array.copy(order="C")), path)}
        if array.dtype.kind not in "biufc":
            raise _refusal(value, path)
        raw = ARRAY((array.nbytes,), "u1", array.tobytes())
        return {
            tag: self._tensor(from_numpy(raw), path), "dtype": array.dtype.str, "shape": list(array.shape)
        }  # fmt: skip

    def _tensor(self, value: Any, path: str) -> Tree:
        node: Tree = {"tensor": None}
        if isinstance(value, Parameter):
            node["parameter"] = True
        if value.requires_grad:
            node["requires_grad"] = True
        if value._device.type != "cpu":
            node["device"] = str(value._device)
        own = attributes(value)
        if own:
            node["attributes"] = self._dict(own, path)
        self._found.append((node, value._array, path))
        return node

    # ------------------------------------------------------------------------------------------ entries
    def _entries(self) -> dict[str, Written]:
        entries: dict[str, Written] = {}
        groups: dict[int, list[tuple[Tree, Array, str]]] = {}
        for found in self._found:
            array = found[1]
            # Tensors of one memory may have several storages: `x.data` has its own counter of versions.
            groups.setdefault(id(array.storage.buffer) if array.size else id(found[0]), []).append(found)
        for group in groups.values():
            name = _unused(group[0][2], entries)
            self._place(group, name, entries)
        return entries

    def _place(self, group: list[tuple[Tree, Array, str]], name: str, entries: dict[str, Written]) -> None:
        """Write the entry of tensors that share memory, and say in each node which part of it is the tensor."""
        _, first, _ = group[0]
        layouts = {(array.dtype, array.layout) for _, array, _ in group}
        is_one = len(layouts) == 1 and storage_extent(first.layout) - first.offset >= first.size
        if is_one:
            items, shape = _items(first), first.shape
            for node, _, _ in group:
                node["tensor"] = name
                if not first.is_contiguous() and dense_order(first.shape, first.strides) is not None:
                    node["strides"] = list(first.strides)
        else:
            start, items = _common_memory([array for _, array, _ in group])
            shape = (len(items),)
            for node, array, _ in reversed(group):
                node["tensor"] = name
                offset = array.offset - start // array.dtype.itemsize
                node["view"] = [list(array.shape), list(array.strides), offset]
                if array.dtype == items.dtype and array.is_contiguous() and array.size == len(items):
                    shape = array.shape  # the entry is this tensor, for whoever reads the file otherwise
        entries[name] = self._written(items, tuple(shape), group)

    def _written(self, items: Any, shape: tuple[int, ...], group: list[tuple[Tree, Array, str]]) -> Written:
        """An entry; where the tensors are of another dtype than it, their nodes say so."""
        own = FROM_NUMPY[items.dtype].name
        written = self._substitutes.get(own, own)
        for node, array, _ in group:
            actual = FROM_NUMPY[array.dtype].name
            if actual != written:
                node["dtype"] = actual
                node.setdefault("view", [list(shape), list(contiguous_strides(shape)), 0])
        if written != own:
            size = items.itemsize
            items = items.view(written)
            if items.itemsize != size:
                shape = (*shape, size // items.itemsize)
        return Written(written, shape, items)


def _items(array: Array) -> Any:
    """The items of an array in C order, on the host."""
    if array.device == "cpu":
        return array.flat if array.flat is not None else array.ndarray.copy(order="C").reshape(-1)
    return device(array.device).kernels().to_host(array).reshape(-1)


def _common_memory(arrays: list[Array]) -> tuple[int, Any]:
    """The memory that some arrays over one storage reach: its first byte, and the items; bytes if the dtypes differ."""
    spans = [(a.offset * a.dtype.itemsize, storage_extent(a.layout) * a.dtype.itemsize) for a in arrays]
    largest = max(a.dtype.itemsize for a in arrays)
    start = min(first for first, _ in spans) // largest * largest
    end = max(last for _, last in spans)
    kind = arrays[0].dtype if all(a.dtype == arrays[0].dtype for a in arrays) else uint8.numpy
    size = kind.itemsize
    return start, _items(arrays[0].view(((end - start) // size,), (1,), start // size, kind))


def _unused(path: str, entries: Mapping[str, Any]) -> str:
    """A name for an entry, of its path: printable, no path out of a folder, and not used before."""
    parts = "".join(c if c.isprintable() else "_" for c in path or "value").replace("\\", "_").split("/")
    name = "/".join("_" if part in ("", ".", "..") else part for part in parts)
    name = "metadata" if name == "__metadata__" else name
    number, wanted = 2, name
    while name in entries:
        name, number = f"{wanted}~{number}", number + 1
    return name


def _where(path: str) -> str:
    return f"'{path}' in the state" if path else "the state"


def _refusal(value: Any, path: str) -> TypeError:
    kind = type(value)
    what = f"a {kind.__module__}.{kind.__qualname__}" if not isinstance(value, type) else f"the class {value.__name__}"
    remedy = "Save its state_dict(), and load that with load_state_dict()." if hasattr(value, "state_dict") else _REMEDY
    return TypeError(
        f"save(): {_where(path)} is {what}, which only pickle can write, and who loads a pickle runs whatever is in it. "
        + remedy
    )


def _of_int(encoder: Encoder, value: int, path: str) -> Tree:
    return value if -(2**63) <= value < 2**63 else {"int": hex(value)}


def _of_float(encoder: Encoder, value: float, path: str) -> Tree:
    return value if math.isfinite(value) else {"float": repr(value)}


def _of_bytes(encoder: Encoder, value: bytes | bytearray, path: str) -> Tree:
    return {type(value).__name__: base64.b64encode(value).decode("ascii")}


def _as_it_is(encoder: Encoder, value: Any, path: str) -> Tree:
    return value


_ENCODERS: dict[type, Callable[[Encoder, Any, str], Tree]] = {
    type(None): _as_it_is,
    bool: _as_it_is,
    str: _as_it_is,
    int: _of_int,
    float: _of_float,
    complex: lambda encoder, value, path: {"complex": [repr(value.real), repr(value.imag)]},
    bytes: _of_bytes,
    bytearray: _of_bytes,
    list: Encoder._list,
    tuple: lambda encoder, value, path: {"tuple": encoder._list(value, path)},
    Size: lambda encoder, value, path: {"Size": list(value)},
    set: lambda encoder, value, path: {"set": encoder._list(value, path)},
    frozenset: lambda encoder, value, path: {"frozenset": encoder._list(value, path)},
    dict: Encoder._dict,
    OrderedDict: Encoder._ordered,
    Counter: lambda encoder, value, path: {"Counter": encoder._pairs(value, path)},
    dtype: lambda encoder, value, path: {"dtype": value.name},
    device: lambda encoder, value, path: {"device": str(value)},
}


# ---------------------------------------------------------------------------------------------------- from a tree
class Decoder:
    """Makes the state of a tree again. `place(location, storage)` says on which device a tensor is to be."""

    def __init__(self, entries: Mapping[str, Entry], place: Callable[[str, Storage], device]) -> None:
        self._entries = entries
        self._place = place
        self._storages: dict[str, Storage] = {}

    def decoded(self, tree: Tree) -> Any:
        """The state. Raises what Python raises for trees that are not well formed."""
        if not isinstance(tree, dict):
            return [self.decoded(node) for node in tree] if isinstance(tree, list) else tree
        tag = next(iter(tree))
        return _DECODERS[tag](self, tree[tag], tree)

    def tensor(self, name: str, node: Tree) -> Any:
        """A tensor over an entry."""
        entry = self._entries[name]
        kind = _NAMED_DTYPES[node.get("dtype", entry.kind)]
        if name not in self._storages:  # one for all tensors over the entry
            self._storages[name] = Storage(entry.memory(_NAMED_DTYPES.get(entry.kind, kind)), "cpu")
        storage = self._storages[name]
        layout = self._layout(entry, node)
        limit = storage.buffer.nbytes // kind.itemsize
        if min((0, *layout[0], *layout[1], layout[2])) < 0 or storage_extent(layout) > limit:
            raise ValueError(f"the part {layout} is not in the entry {name!r}")
        where = self._place(node.get("device", "cpu"), storage)
        own = self.decoded(node["attributes"]) if "attributes" in node else {}
        check_attributes(own)
        cls = Parameter if node.get("parameter") else Tensor
        requires_grad = bool(node.get("requires_grad"))
        if requires_grad and not kind.is_differentiable:
            raise ValueError(f"{kind.name} has no gradients")
        made = rebuilt(cls, storage, kind, layout, where, requires_grad, own)
        return _in_strides(made, tuple(node["strides"])) if "strides" in node else made

    def _layout(self, entry: Entry, node: Tree) -> Layout:
        if "view" in node:
            shape, strides, offset = node["view"]
            return tuple(map(int, shape)), tuple(map(int, strides)), int(offset)
        return entry.shape, entry.strides or contiguous_strides(entry.shape), 0

    def array(self, node: Tree, whole: Tree) -> Any:
        """A NumPy array."""
        found = self.decoded(node).numpy()
        if "dtype" not in whole:
            return found
        if not _NUMBERS.fullmatch(whole["dtype"]):
            raise ValueError(f"{whole['dtype']!r} is no dtype of numbers")
        return found.view(whole["dtype"]).reshape(whole["shape"])


def check_attributes(own: Mapping[str, Any]) -> None:
    """Raise ValueError for attributes that would hide a tensor's own."""
    for name in own:
        if hasattr(Tensor, name):
            raise ValueError(f"a tensor with an attribute {name!r}")


def _in_strides(x: Any, strides: tuple[int, ...]) -> Any:
    """A leaf with the same items, laid out in other strides."""
    if dense_order(tuple(x.shape), strides) is None:
        raise ValueError(f"the strides {strides} do not fit the shape {tuple(x.shape)}")
    laid_out = x.detach().new_empty(x.numel()).as_strided(x.shape, strides)
    laid_out.copy_(x.detach())
    return rebuilt(
        type(x), laid_out._array.storage, x.dtype, laid_out._array.layout, x._device, x.requires_grad, attributes(x)
    )


def _pairs(decoder: Decoder, nodes: Tree) -> list[tuple[Any, Any]]:
    return [(decoder.decoded(key), decoder.decoded(node)) for key, node in nodes]


def _ordered(decoder: Decoder, nodes: Tree, whole: Tree) -> Any:
    made = OrderedDict(_pairs(decoder, nodes))
    if "attributes" in whole:
        vars(made).update(decoder.decoded(whole["attributes"]))
    return made


_DECODERS: dict[str, Callable[[Decoder, Tree, Tree], Any]] = {
    "int": lambda decoder, text, whole: int(text, 16),
    "float": lambda decoder, text, whole: float(text),
    "complex": lambda decoder, parts, whole: complex(float(parts[0]), float(parts[1])),
    "bytes": lambda decoder, text, whole: base64.b64decode(text, validate=True),
    "bytearray": lambda decoder, text, whole: bytearray(base64.b64decode(text, validate=True)),
    "tuple": lambda decoder, nodes, whole: tuple(decoder.decoded(nodes)),
    "Size": lambda decoder, nodes, whole: Size(decoder.decoded(nodes)),
    "set": lambda decoder, nodes, whole: set(decoder.decoded(nodes)),
    "frozenset": lambda decoder, nodes, whole: frozenset(decoder.decoded(nodes)),
    "dict": lambda decoder, nodes, whole: {name: decoder.decoded(node) for name, node in nodes.items()},
    "items": lambda decoder, nodes, whole: dict(_pairs(decoder, nodes)),
    "OrderedDict": _ordered,
    "Counter": lambda decoder, nodes, whole: Counter(dict(_pairs(decoder, nodes))),
    "dtype": lambda decoder, name, whole: _NAMED_DTYPES[name],
    "device": lambda decoder, name, whole: device(name),
    "tensor": Decoder.tensor,
    "array": Decoder.array,
    "scalar": lambda decoder, node, whole: decoder.array(node, whole)[()],
}
