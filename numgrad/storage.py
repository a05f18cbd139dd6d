"""`UntypedStorage`: the memory under a tensor and its views, as PyTorch shows it."""

from __future__ import annotations

from typing import Any

from .kernels.array import Storage


class UntypedStorage:
    """The bytes that a tensor shares with its views. Two are equal when they are the same memory."""

    __slots__ = ("_storage",)

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def data_ptr(self) -> int:
        """Address of the first byte (CPU)."""
        return int(self._storage.buffer.ctypes.data)

    def nbytes(self) -> int:
        """Number of bytes (CPU)."""
        return int(self._storage.buffer.nbytes)

    size = nbytes
    __len__ = nbytes

    def _bytes(self) -> Any:
        return self._storage.buffer.reshape(-1).view("u1")

    def __getitem__(self, index: Any) -> Any:
        """A byte (CPU)."""
        return int(self._bytes()[index])

    def tolist(self) -> list[int]:
        """All bytes (CPU)."""
        return list(self._bytes().tolist())

    @property
    def device(self) -> Any:
        """Where the memory is."""
        from .device import device

        return device(self._storage.device)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UntypedStorage) and self.data_ptr() == other.data_ptr()

    def __hash__(self) -> int:
        return hash(self.data_ptr())


class TypedStorage:
    """The items of a tensor's memory, all of them, in order: the older face of `UntypedStorage`."""

    __slots__ = ("_flat",)

    def __init__(self, flat: Any) -> None:
        self._flat = flat  # a tensor over the whole memory

    @property
    def dtype(self) -> Any:
        """The items' dtype."""
        return self._flat.dtype

    @property
    def device(self) -> Any:
        """Where the memory is."""
        return self._flat.device

    def untyped(self) -> UntypedStorage:
        """The bytes."""
        return UntypedStorage(self._flat._array.storage)

    def data_ptr(self) -> int:
        """Address of the first item (CPU)."""
        return int(self._flat.data_ptr())

    def size(self) -> int:
        """Number of items."""
        return int(self._flat.numel())

    __len__ = size

    def nbytes(self) -> int:
        """Number of bytes."""
        return self.size() * self.element_size()

    def element_size(self) -> int:
        """Bytes of an item."""
        return int(self._flat.element_size())

    def tolist(self) -> list[Any]:
        """The items."""
        return list(self._flat.tolist())

    def __getitem__(self, index: int) -> Any:
        return self._flat[index].item()

    def __setitem__(self, index: int, value: Any) -> None:
        self._flat[index] = value

    def __repr__(self) -> str:
        items = "".join(f" {x}\n" for x in self.tolist())
        return f"{items}[torch.storage.TypedStorage(dtype={self.dtype}, device={self.device}) of size {self.size()}]"
