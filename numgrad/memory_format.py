"""Memory formats: the orders of dimensions in memory that `contiguous`, `clone` and `is_contiguous` name."""

from __future__ import annotations

from typing import Any

from .kernels.array import contiguous_strides


class memory_format:
    """An order of the dimensions in memory, such as `numgrad.channels_last`. Its repr is PyTorch's."""

    __slots__ = ("_order", "name", "rank")

    def __init__(self, name: str, rank: int | None = None, order: tuple[int, ...] = ()) -> None:
        self.name = name
        self.rank = rank
        self._order = order  # dimensions from the slowest to the fastest, where that is not their own order

    def strides(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The strides of a dense tensor in this format. Raises RuntimeError, with PyTorch's text, for another rank."""
        if self.rank is None:
            return contiguous_strides(shape)
        if len(shape) != self.rank:
            raise RuntimeError(f"required rank {self.rank} tensor to use {self.name} format")
        dense = contiguous_strides(tuple(shape[d] for d in self._order))
        return tuple(dense[self._order.index(d)] for d in range(self.rank))

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> tuple[Any, ...]:
        return (_named, (self.name,))


contiguous_format = memory_format("contiguous_format")
preserve_format = memory_format("preserve_format")
channels_last = memory_format("channels_last", 4, (0, 2, 3, 1))
channels_last_3d = memory_format("channels_last_3d", 5, (0, 2, 3, 4, 1))


def _named(name: str) -> memory_format:
    """The format of a name, for pickles and copies: there is one object of each."""
    formats = (contiguous_format, preserve_format, channels_last, channels_last_3d)
    return next(f for f in formats if f.name == name)
