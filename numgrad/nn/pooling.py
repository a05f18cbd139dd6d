"""Pooling as modules."""

from __future__ import annotations

from typing import Any

from ..tensor import Tensor
from . import functional as F
from .module import Module

__all__ = ["MaxPool1d", "MaxPool2d", "MaxPool3d"]


class _MaxPoolNd(Module):
    """Holds what `functional.max_pool2d` takes."""

    kernel_size: Any
    stride: Any
    padding: Any
    dilation: Any
    return_indices: bool
    ceil_mode: bool

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def extra_repr(self) -> str:
        """The windows' numbers."""
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, dilation={self.dilation}, "
            f"ceil_mode={self.ceil_mode}"
        )

    def _arguments(self) -> dict[str, Any]:
        names = ("kernel_size", "stride", "padding", "dilation", "ceil_mode", "return_indices")
        return {name: getattr(self, name) for name in names}


class MaxPool1d(_MaxPoolNd):
    """The largest item of each window of (n, channels, length); see `functional.max_pool1d`."""

    def forward(self, input: Tensor) -> Any:
        """Apply the function."""
        return F.max_pool1d(input, **self._arguments())


class MaxPool2d(_MaxPoolNd):
    """The largest item of each window of (n, channels, height, width); see `functional.max_pool2d`.

    >>> MaxPool2d(2)
    MaxPool2d(kernel_size=2, stride=2, padding=0, dilation=1, ceil_mode=False)
    """

    def forward(self, input: Tensor) -> Any:
        """Apply the function."""
        return F.max_pool2d(input, **self._arguments())


class MaxPool3d(_MaxPoolNd):
    """The largest item of each window of (n, channels, depth, height, width); see `functional.max_pool3d`."""

    def forward(self, input: Tensor) -> Any:
        """Apply the function."""
        return F.max_pool3d(input, **self._arguments())
