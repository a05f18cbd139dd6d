"""Reading what `torch.save` wrote: zip archives, and the files of PyTorch before 1.6. Nothing in them is run."""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable
from typing import Any, NamedTuple

from ..copying import rebuilt
from ..creation import empty
from ..device import device
from ..dtype import ALL, dtype, uint8
from ..kernels.array import Storage, storage_extent
from ..nn.parameter import Parameter
from ..size import Size
from ..tensor import Tensor
from .files import Archive, Source
from .pickles import Machine, Name
from .state import check_attributes

PICKLE = "/data.pkl"
_MAGIC = 0x1950A86A20F9469CFC6C
_PROTOCOL = 1001
_UNSAFE = (
    "Weights only load failed: {name} holds more than tensors, numbers, strings and containers of them. {why} Loading it "
    "would mean to run code that is in the file, which numgrad never does. Where you trust the file, load it with PyTorch, "
    "and save a state_dict() of what it holds."
)
Place = Callable[[str, Storage], device]


class _Kind(NamedTuple):
    """A class of storages, by the dtype of its items; None for bytes."""

    dtype: dtype | None


class _Memory(NamedTuple):
    """A storage in a file: its memory, where it was, and the dtype of its items."""

    storage: Storage
    location: str
    dtype: dtype


def read_archive(archive: Archive, place: Place) -> Any:
    """What `torch.save` put into a zip archive. Raises UnpicklingError for anything but data, Damaged."""
    (data,) = [name for name in archive.names() if name.endswith(PICKLE)][:1]
    root = data[: -len(PICKLE)]
    order = f"{root}/byteorder"
    if order in archive.names() and archive.read(order) != b"little":
        raise archive.source.damaged("its numbers are in big-endian order")
    found: dict[str, _Memory] = {}

    def persistent(identifier: Any) -> _Memory:
        tag, kind, key, location, count = identifier
        if tag != "storage" or type(key) is not str:
            raise ValueError(f"unknown persistent id {identifier!r}")
        if key not in found:
            items = archive.memory(f"{root}/data/{key}", _item_dtype(kind))
            if len(items) != count:
                raise archive.source.damaged(f"storage {key} has {len(items)} items, not {count}")
            found[key] = _Memory(Storage(items, "cpu"), location, _item_dtype(kind))
        return found[key]

    return _checked(Machine(io.BytesIO(archive.read(data)), _names(place), persistent), archive.source)


def read_legacy(source: Source, place: Place) -> Any:
    """What `torch.save` wrote before 1.6: pickles one after the other, and then the items."""
    file = io.BytesIO(source.read(0, source.size))
    found: dict[str, _Memory] = {}

    def persistent(identifier: Any) -> _Memory:
        tag, kind, key, location, count, view = identifier
        if tag != "storage" or view is not None:
            raise ValueError("a view of a storage, as PyTorch before 0.4 wrote it")
        if key not in found:
            item = _item_dtype(kind)
            if not 0 <= count * item.itemsize <= source.size:
                raise source.damaged(f"storage {key} of {count} items; it may be truncated")
            found[key] = _Memory(Storage(empty(count, dtype=item)._array.flat, "cpu"), location, item)
        return found[key]

    machine = Machine(file, _names(place), persistent)
    if _checked(machine, source) != _MAGIC:
        raise RuntimeError("Invalid magic number; corrupt file?")
    if _checked(machine, source) != _PROTOCOL:
        raise RuntimeError("Invalid protocol version")
    system, state, keys = (_checked(machine, source) for _ in range(3))
    if type(system) is not dict or not system.get("little_endian"):
        raise source.damaged("its numbers are in big-endian order")
    if type(keys) is not list or any(type(key) is not str or key not in found for key in keys):
        raise source.damaged("it has storages that belong to nothing")
    for key in keys:
        memory = found[key]
        count = int.from_bytes(file.read(8), "little")
        items = memoryview(memory.storage.buffer.view(uint8.numpy))
        if count * memory.dtype.itemsize != items.nbytes or file.readinto(items) != items.nbytes:
            raise source.damaged(f"storage {key} is not complete; it may be truncated")
    return state


def _checked(machine: Machine, source: Source) -> Any:
    try:
        return machine.load()
    except pickle.UnpicklingError as error:
        raise pickle.UnpicklingError(_UNSAFE.format(name=source.name, why=error)) from None


def _item_dtype(kind: Any) -> dtype:
    if type(kind) is not _Kind:
        raise TypeError(f"{kind!r} is no class of storages")
    return kind.dtype or uint8


# ---------------------------------------------------------------------------------------------------- names
def _names(place: Place) -> dict[str, Any]:
    """What the names in PyTorch's pickles stand for."""

    def tensor(memory: Any, offset: int, size: Any, stride: Any, requires_grad: bool = False, *rest: Any) -> Tensor:
        if type(memory) is not _Memory:
            raise TypeError("a tensor without a storage")
        layout = tuple(map(int, size)), tuple(map(int, stride)), int(offset)
        if min((0, *layout[0], *layout[1], layout[2])) < 0 or len(layout[0]) != len(layout[1]):
            raise ValueError(f"a tensor of the layout {layout}")
        if storage_extent(layout) > memory.storage.buffer.size:
            raise ValueError(f"a tensor of the layout {layout} is not in its storage")
        where = place(memory.location, memory.storage)
        made: Tensor = rebuilt(Tensor, memory.storage, memory.dtype, layout, where, False, {})
        return made.requires_grad_() if requires_grad else made

    def parameter(data: Any, requires_grad: bool, hooks: Any, state: Any = None) -> Parameter:
        if not isinstance(data, Tensor):
            raise TypeError("a parameter without a tensor")
        made = Parameter(data, bool(requires_grad))
        _set_attributes(made, state)
        return made

    def of_type(function: Any, cls: Any, arguments: Any, state: Any) -> Any:
        if type(function) is not Name or cls not in (Tensor.__name__, Parameter.__name__):
            raise TypeError("a tensor of a class that numgrad does not know")
        made = function.function(*arguments)
        _set_attributes(made, state)
        return made

    names: dict[str, Any] = {
        "torch._utils._rebuild_tensor": tensor,
        "torch._utils._rebuild_tensor_v2": tensor,
        "torch._utils._rebuild_parameter": parameter,
        "torch._utils._rebuild_parameter_with_state": parameter,
        "torch._tensor._rebuild_from_type_v2": of_type,
        "torch.Tensor": Tensor.__name__,
        "torch.nn.parameter.Parameter": Parameter.__name__,
        "torch.Size": lambda size: Size(map(int, size)),
        "torch.device": lambda *parts: device(*parts),
        "torch.serialization._get_layout": str,
    }
    for module in ("torch", "torch.storage"):
        names |= {f"{module}.UntypedStorage": _Kind(None), f"{module}.TypedStorage": _Kind(None)}
    for kind in ALL:
        names[f"torch.{kind.name}"] = kind
        names[f"torch.{kind.tensor_name.removesuffix('Tensor')}Storage"] = _Kind(kind)
    return names


def _set_attributes(made: Any, state: Any) -> None:
    """Attributes that a user gave a tensor: what was saved is a dict, or that and the values of slots."""
    own, slots = state if isinstance(state, tuple) and len(state) == 2 else (state, None)
    if slots:
        raise TypeError("a tensor with slots")
    if own:
        check_attributes(own)
        vars(made).update(own)
