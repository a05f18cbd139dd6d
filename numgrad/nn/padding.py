"""Borders around images, as modules; see `functional.pad`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from ..tensor import Tensor
from . import functional as F
from .module import Module
from .sizes import each

__all__ = [
    "CircularPad1d",
    "CircularPad2d",
    "CircularPad3d",
    "ConstantPad1d",
    "ConstantPad2d",
    "ConstantPad3d",
    "ReflectionPad1d",
    "ReflectionPad2d",
    "ReflectionPad3d",
    "ReplicationPad1d",
    "ReplicationPad2d",
    "ReplicationPad3d",
    "ZeroPad1d",
    "ZeroPad2d",
    "ZeroPad3d",
]


class _PadNd(Module):
    """Borders of the last `rank` dimensions: first and last of the last dimension, then of the one before it, ...

    A single number is for all of them.
    """

    rank: ClassVar[int]
    padding: tuple[int, ...]

    def __init__(self, padding: int | Iterable[int]) -> None:
        super().__init__()
        self.padding = each(padding, 2 * self.rank)

    def extra_repr(self) -> str:
        """The borders."""
        return f"{self.padding}"


class _ConstantPadNd(_PadNd):
    value: float

    def __init__(self, padding: int | Iterable[int], value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        """Add the borders."""
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        """The borders and the constant."""
        return f"padding={self.padding}, value={self.value}"


class _ZeroPadNd(_ConstantPadNd):
    def __init__(self, padding: int | Iterable[int]) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        """The borders."""
        return f"{self.padding}"


class _ReflectionPadNd(_PadNd):
    def forward(self, input: Tensor) -> Tensor:
        """Add the borders."""
        return F.pad(input, self.padding, "reflect")


class _ReplicationPadNd(_PadNd):
    def forward(self, input: Tensor) -> Tensor:
        """Add the borders."""
        return F.pad(input, self.padding, "replicate")


class _CircularPadNd(_PadNd):
    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() not in (self.rank + 1, self.rank + 2):
            raise ValueError(f"expected {self.rank + 1}D or {self.rank + 2}D input (got {input.dim()}D input)")

    def forward(self, input: Tensor) -> Tensor:
        """Add the borders."""
        self._check_input_dim(input)
        return F.pad(input, self.padding, "circular")


class ConstantPad1d(_ConstantPadNd):
    """Borders of a constant around the last dimension."""

    rank = 1


class ConstantPad2d(_ConstantPadNd):
    """Borders of a constant around the last two dimensions."""

    rank = 2


class ConstantPad3d(_ConstantPadNd):
    """Borders of a constant around the last three dimensions."""

    rank = 3


class ZeroPad1d(_ZeroPadNd):
    """Borders of zeros around the last dimension."""

    rank = 1


class ZeroPad2d(_ZeroPadNd):
    """Borders of zeros around the last two dimensions."""

    rank = 2


class ZeroPad3d(_ZeroPadNd):
    """Borders of zeros around the last three dimensions."""

    rank = 3


class ReflectionPad1d(_ReflectionPadNd):
    """Borders of the items mirrored at the outermost ones around the last dimension."""

    rank = 1


class ReflectionPad2d(_ReflectionPadNd):
    """Borders of the items mirrored at the outermost ones around the last two dimensions."""

    rank = 2


class ReflectionPad3d(_ReflectionPadNd):
    """Borders of the items mirrored at the outermost ones around the last three dimensions."""

    rank = 3


class ReplicationPad1d(_ReplicationPadNd):
    """Borders of the outermost items repeated around the last dimension."""

    rank = 1


class ReplicationPad2d(_ReplicationPadNd):
    """Borders of the outermost items repeated around the last two dimensions."""

    rank = 2


class ReplicationPad3d(_ReplicationPadNd):
    """Borders of the outermost items repeated around the last three dimensions."""

    rank = 3


class CircularPad1d(_CircularPadNd):
    """Borders of the items from the other side around the last dimension."""

    rank = 1


class CircularPad2d(_CircularPadNd):
    """Borders of the items from the other side around the last two dimensions."""

    rank = 2


class CircularPad3d(_CircularPadNd):
    """Borders of the items from the other side around the last three dimensions."""

    rank = 3
