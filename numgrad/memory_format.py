"""`memory_format`: in which order the items of a copy lie in memory."""

from __future__ import annotations

from typing import Any

from .kernels.array import Array, Shape, contiguous_strides
from .kernels.movement import to_strides


class memory_format:
    """An order of dimensions in memory, such as `numgrad.channels_last`.

    Attributes:
        name: PyTorch's name.
        order: the dimensions from the slowest to the fastest; () for C order in any rank, None for that of the input.
    """

    __slots__ = ("name", "order")

    def __init__(self, name: str, order: tuple[int, ...] | None) -> None:
        self.name = name
        self.order = order

    def strides(self, shape: Shape) -> Shape | None:
        """The strides of a shape, None where those of the input stay. Raises RuntimeError for another rank."""
        if not self.order:
            return None if self.order is None else contiguous_strides(shape)
        if len(shape) != len(self.order):
            raise RuntimeError(f"required rank {len(self.order)} tensor to use {self.name} format")
        inner = contiguous_strides(tuple(shape[d] for d in self.order))
        return tuple(inner[self.order.index(d)] for d in range(len(shape)))

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> str:
        return self.name


contiguous_format = memory_format("contiguous_format", ())
preserve_format = memory_format("preserve_format", None)
channels_last = memory_format("channels_last", (0, 2, 3, 1))
channels_last_3d = memory_format("channels_last_3d", (0, 2, 3, 4, 1))


def wanted_strides(name: str, format: Any, shape: Shape) -> Shape | None:
    """The strides that an argument `memory_format` of the function `name` asks for; None when it asks for none.

    Raises TypeError for what is no memory format.
    """
    if format is None:
        return None
    if not isinstance(format, memory_format):
        raise TypeError(f"{name}(): argument 'memory_format' must be torch.memory_format, not {type(format).__name__}")
    return format.strides(shape)


def has_strides(x: Any, strides: Shape | None) -> bool:
    """Whether a tensor's items lie so (strides of dimensions of extent 1 do not matter), or nothing was asked for."""
    if strides is None or 0 in x._array.shape:
        return True
    return all(n == 1 or own == s for n, own, s in zip(x._array.shape, x._array.strides, strides, strict=True))


def lay_out(fresh: Any, strides: Shape | None) -> Any:
    """Give a result that nobody else holds other strides: to the graph it is the same step."""
    if strides is not None and fresh._array.__class__ is not Array:
        return to_strides(fresh, strides=strides)
    if strides is not None and fresh._array.strides != strides:
        source, loops = fresh._array, fresh._device.kernels()
        shape = source.shape
        fresh._array = loops.empty(shape, source.dtype, fresh._device.hardware).view(shape, strides, 0)
        loops.copy(source, fresh._array)
    return fresh
