"""Pooling as modules."""

from __future__ import annotations

from typing import Any, ClassVar

from ..tensor import Tensor
from . import functional as F
from .module import Module
from .sizes import each

__all__ = [
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d",
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "LPPool1d",
    "LPPool2d",
    "LPPool3d",
    "MaxPool1d",
    "MaxPool2d",
    "MaxPool3d",
    "MaxUnpool1d",
    "MaxUnpool2d",
    "MaxUnpool3d",
]


# ---------------------------------------------------------------------------------------------------- largest items
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


# ---------------------------------------------------------------------------------------------------- back again
class _MaxUnpoolNd(Module):
    """Holds what `functional.max_unpool2d` takes."""

    rank: ClassVar[int]
    kernel_size: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...]

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        super().__init__()
        self.kernel_size = each(kernel_size, self.rank)
        self.stride = each(kernel_size if stride is None else stride, self.rank)
        self.padding = each(padding, self.rank)

    def extra_repr(self) -> str:
        """The windows' numbers."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpoolNd):
    """Zeros with the items that `MaxPool1d` has taken at their places; see `functional.max_unpool2d`."""

    rank = 1

    def forward(self, input: Tensor, indices: Tensor, output_size: Any = None) -> Tensor:
        """Apply the function."""
        return F.max_unpool1d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool2d(_MaxUnpoolNd):
    """Zeros with the items that `MaxPool2d` has taken at their places; see `functional.max_unpool2d`."""

    rank = 2

    def forward(self, input: Tensor, indices: Tensor, output_size: Any = None) -> Tensor:
        """Apply the function."""
        return F.max_unpool2d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool3d(_MaxUnpoolNd):
    """Zeros with the items that `MaxPool3d` has taken at their places; see `functional.max_unpool2d`."""

    rank = 3

    def forward(self, input: Tensor, indices: Tensor, output_size: Any = None) -> Tensor:
        """Apply the function."""
        return F.max_unpool3d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


# ---------------------------------------------------------------------------------------------------- means
class _AvgPoolNd(Module):
    """Holds what `functional.avg_pool2d` takes."""

    kernel_size: Any
    stride: Any
    padding: Any
    ceil_mode: bool
    count_include_pad: bool

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad

    def extra_repr(self) -> str:
        """The windows' numbers."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"

    def _arguments(self) -> dict[str, Any]:
        names = ("kernel_size", "stride", "padding", "ceil_mode", "count_include_pad")
        return {name: getattr(self, name) for name in names}


class _DividedAvgPoolNd(_AvgPoolNd):
    """And what sums are divided by."""

    divisor_override: int | None

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__(kernel_size, stride, padding, ceil_mode, count_include_pad)
        self.divisor_override = divisor_override


class AvgPool1d(_AvgPoolNd):
    """The mean of each window of (n, channels, length); see `functional.avg_pool2d`."""

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        step = each(kernel_size if stride is None else stride, 1)
        super().__init__(each(kernel_size, 1), step, each(padding, 1), ceil_mode, count_include_pad)

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function."""
        return F.avg_pool1d(input, **self._arguments())


class AvgPool2d(_DividedAvgPoolNd):
    """The mean of each window of (n, channels, height, width); see `functional.avg_pool2d`.

    >>> AvgPool2d(3, stride=2)
    AvgPool2d(kernel_size=3, stride=2, padding=0)
    """

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function."""
        return F.avg_pool2d(input, **self._arguments(), divisor_override=self.divisor_override)


class AvgPool3d(_DividedAvgPoolNd):
    """The mean of each window of (n, channels, depth, height, width); see `functional.avg_pool2d`."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function."""
        return F.avg_pool3d(input, **self._arguments(), divisor_override=self.divisor_override)


class _LPPoolNd(Module):
    """Holds what `functional.lp_pool2d` takes."""

    norm_type: float
    kernel_size: Any
    stride: Any
    ceil_mode: bool

    def __init__(self, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> None:
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

    def extra_repr(self) -> str:
        """The norm and the windows' numbers."""
        return (
            f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, "
            f"ceil_mode={self.ceil_mode}"
        )


class LPPool1d(_LPPoolNd):
    """The norm of each window of (n, channels, length); see `functional.lp_pool1d`."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function."""
        return F.lp_pool1d(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)


class LPPool2d(_LPPoolNd):
    """The norm of each window of (n, channels, height, width); see `functional.lp_pool2d`."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function."""
        return F.lp_pool2d(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)


class LPPool3d(_LPPoolNd):
    """The norm of each window of (n, channels, depth, height, width); see `functional.lp_pool3d`."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function."""
        return F.lp_pool3d(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)


# ---------------------------------------------------------------------------------------------------- adaptive
class _AdaptivePoolNd(Module):
    """Holds the number of windows along each dimension."""

    output_size: Any

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def extra_repr(self) -> str:
        """The number of windows."""
        return f"output_size={self.output_size}"


class _AdaptiveAvgPoolNd(_AdaptivePoolNd):
    pass


class _AdaptiveMaxPoolNd(_AdaptivePoolNd):
    return_indices: bool

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__(output_size)
        self.return_indices = return_indices


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """The means of windows that share (n, channels, length); see `functional.adaptive_avg_pool2d`."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function."""
        return F.adaptive_avg_pool1d(input, self.output_size)


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """The means of windows that share (n, channels, height, width); see `functional.adaptive_avg_pool2d`."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function."""
        return F.adaptive_avg_pool2d(input, self.output_size)


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """The means of windows that share (n, channels, depth, height, width); see `functional.adaptive_avg_pool2d`."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function."""
        return F.adaptive_avg_pool3d(input, self.output_size)


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """The largest items of windows that share (n, channels, length); see `functional.adaptive_max_pool1d`."""

    def forward(self, input: Tensor) -> Any:
        """Apply the function."""
        return F.adaptive_max_pool1d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """The largest items of windows that share (n, channels, height, width); see `functional.adaptive_max_pool2d`."""

    def forward(self, input: Tensor) -> Any:
        """Apply the function."""
        return F.adaptive_max_pool2d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """The largest items of windows that share (n, channels, depth, height, width)."""

    def forward(self, input: Tensor) -> Any:
        """Apply the function."""
        return F.adaptive_max_pool3d(input, self.output_size, self.return_indices)
