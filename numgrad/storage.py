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

    @property
    def device(self) -> Any:
        """Where the memory is."""
        from .device import device

        return device(self._storage.device)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UntypedStorage) and self.data_ptr() == other.data_ptr()

    def __hash__(self) -> int:
        return hash(self.data_ptr())
