"""Convolutions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar

from ..creation import empty
from ..tensor import Tensor
from . import functional as F
from . import init
from .module import Module
from .parameter import Parameter
from .sizes import each

__all__ = ["Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"]

_PADDING_MODES = {"zeros", "reflect", "replicate", "circular"}
_PADDING_NAMES = {"same", "valid"}


class _ConvNd(Module):
    """What all convolutions have: sizes, a weight and maybe a bias, both uniform at first.

    Their bound is 1 / sqrt(items of the weight that make one item of the result).
    """

    rank: ClassVar[int]

    in_channels: int
    out_channels: int
    kernel_size: tuple[int, ...]
    stride: tuple[int, ...]
    padding: str | tuple[int, ...]
    dilation: tuple[int, ...]
    transposed: bool
    output_padding: tuple[int, ...]
    groups: int
    padding_mode: str
    weight: Parameter
    bias: Parameter | None

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: tuple[int, ...],
        stride: tuple[int, ...],
        padding: str | tuple[int, ...],
        dilation: tuple[int, ...],
        transposed: bool,
        output_padding: tuple[int, ...],
        groups: int,
        bias: bool,
        padding_mode: str,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        _check(in_channels, out_channels, stride, padding, groups, padding_mode)
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = padding
        self.dilation = dilation
        self.transposed = transposed
        self.output_padding = output_padding
        self.groups = groups
        self.padding_mode = padding_mode
        self._reversed_padding_repeated_twice = self._borders()
        first, second = (in_channels, out_channels) if transposed else (out_channels, in_channels)
        self.weight = Parameter(empty((first, second // groups, *kernel_size), device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(empty(out_channels, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def _borders(self) -> Sequence[int]:
        """The padding as `functional.pad` takes it: first and last, the last dimension first."""
        if not isinstance(self.padding, str):
            return tuple(n for n in reversed(self.padding) for _ in range(2))
        borders: list[int] = []
        for k, d in zip(reversed(self.kernel_size), reversed(self.dilation), strict=True):
            total = d * (k - 1) if self.padding == "same" else 0
            borders += [total // 2, total - total // 2]
        return borders

    def reset_parameters(self) -> None:
        """Draw weight and bias anew."""
        # For a rectifier of slope a the bound is sqrt(6 / ((1 + a^2) fan_in)): a = sqrt(5) makes it 1/sqrt(fan_in).
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            bound = 1 / math.sqrt(fan_in) if fan_in > 0 else 0.0
            init.uniform_(self.bias, -bound, bound)

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        """The convolution with any weight and bias."""
        padding: Any = self.padding
        if self.padding_mode != "zeros":
            input = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
            padding = 0
        function: Callable[..., Tensor] = getattr(F, f"conv{self.rank}d")
        return function(input, weight, bias, self.stride, padding, self.dilation, self.groups)

    def forward(self, input: Tensor) -> Tensor:
        """Apply the convolution."""
        return self._conv_forward(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        """The sizes, and what is not at its default."""
        parts = [f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"]
        ordinary = {"padding": (0,) * len(self.padding), "dilation": (1,) * len(self.dilation)}
        ordinary |= {"output_padding": (0,) * len(self.output_padding)}
        parts += [f"{name}={getattr(self, name)}" for name, usual in ordinary.items() if getattr(self, name) != usual]
        if self.groups != 1:
            parts.append(f"groups={self.groups}")
        if self.bias is None:
            parts.append("bias=False")
        if self.padding_mode != "zeros":
            parts.append(f"padding_mode={self.padding_mode}")
        return ", ".join(parts)


def _check(
    in_channels: int,
    out_channels: int,
    stride: tuple[int, ...],
    padding: str | tuple[int, ...],
    groups: int,
    padding_mode: str,
) -> None:
    if groups <= 0:
        raise ValueError("groups must be a positive integer")
    if in_channels % groups:
        raise ValueError("in_channels must be divisible by groups")
    if out_channels % groups:
        raise ValueError("out_channels must be divisible by groups")
    if isinstance(padding, str):
        if padding not in _PADDING_NAMES:
            raise ValueError(f"Invalid padding string {padding!r}, should be one of {_PADDING_NAMES}")
        if padding == "same" and any(s != 1 for s in stride):
            raise ValueError("padding='same' is not supported for strided convolutions")
    if padding_mode not in _PADDING_MODES:
        raise ValueError(f"padding_mode must be one of {_PADDING_MODES}, but got padding_mode='{padding_mode}'")


class _Conv(_ConvNd):
    """A convolution that slides its weight over images."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | Iterable[int],
        stride: int | Iterable[int] = 1,
        padding: str | int | Iterable[int] = 0,
        dilation: int | Iterable[int] = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            in_channels,
            out_channels,
            each(kernel_size, self.rank),
            each(stride, self.rank),
            padding if isinstance(padding, str) else each(padding, self.rank),
            each(dilation, self.rank),
            False,
            each(0, self.rank),
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )


class Conv1d(_Conv):
    """A convolution along one spatial dimension: (n, in_channels, length) to (n, out_channels, windows).

    See `functional.conv1d`, and for the parameters `Conv2d`.

    >>> Conv1d(16, 33, 3, stride=2)
    Conv1d(16, 33, kernel_size=(3,), stride=(2,))
    """

    rank = 1


class Conv2d(_Conv):
    """A convolution over images: (n, in_channels, height, width) to (n, out_channels, windows down, windows across).

    `weight` has the shape (out_channels, in_channels / groups, *kernel_size), `bias` (out_channels). Both start uniform
    in (-1/sqrt(k), 1/sqrt(k)) with k = in_channels / groups * items of the kernel.

    Args:
        in_channels: of the images.
        out_channels: of the result.
        kernel_size: of the window; a number, or one for each spatial dimension, as the following ones.
        stride: how far the window moves at a time.
        padding: rows around an image, or "valid" for none, or "same" to keep its size.
        dilation: how far the items of the window are apart.
        groups: parts of the channels that are convolved by themselves.
        bias: whether there is one.
        padding_mode: what the padding holds: "zeros", "reflect", "replicate" or "circular"; see `functional.pad`.
        device: of the parameters.
        dtype: of the parameters.

    Raises ValueError for channels that `groups` does not divide, and for an unknown padding or mode.

    >>> Conv2d(16, 33, (3, 5), padding=(4, 2), bias=False)
    Conv2d(16, 33, kernel_size=(3, 5), stride=(1, 1), padding=(4, 2), bias=False)
    """

    rank = 2


class Conv3d(_Conv):
    """A convolution with three spatial dimensions; see `Conv2d`."""

    rank = 3


class _ConvTransposeNd(_ConvNd):
    """What the transposed convolutions have."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: tuple[int, ...],
        stride: tuple[int, ...],
        padding: str | tuple[int, ...],
        dilation: tuple[int, ...],
        transposed: bool,
        output_padding: tuple[int, ...],
        groups: int,
        bias: bool,
        padding_mode: str,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            transposed,
            output_padding,
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def _output_padding(
        self,
        input: Tensor,
        output_size: Sequence[int] | None,
        stride: Sequence[int],
        padding: Sequence[int],
        kernel_size: Sequence[int],
        num_spatial_dims: int,
        dilation: Sequence[int] | None = None,
    ) -> Sequence[int]:
        """The output padding that makes the result `output_size` large. Raises ValueError where none does."""
        if output_size is None:
            return self.output_padding
        lead = input.dim() - num_spatial_dims if input.dim() == num_spatial_dims + 2 else 1
        wanted = output_size[lead:] if len(output_size) == lead + num_spatial_dims else output_size
        if len(wanted) != num_spatial_dims:
            raise ValueError(
                f"ConvTranspose{num_spatial_dims}D: for {input.dim()}D input, output_size must have {num_spatial_dims} "
                f"or {lead + num_spatial_dims} elements (got {len(wanted)})"
            )
        spread = dilation or (1,) * num_spatial_dims
        rows = zip(input.shape[lead:], stride, padding, spread, kernel_size, strict=True)
        smallest = [(n - 1) * s - 2 * p + d * (k - 1) + 1 for n, s, p, d, k in rows]
        largest = [n + s - 1 for n, s in zip(smallest, stride, strict=True)]
        if any(not low <= n <= high for n, low, high in zip(wanted, smallest, largest, strict=True)):
            raise ValueError(
                f"requested an output size of {wanted}, but valid sizes range from {smallest} to {largest} "
                f"(for an input of {input.size()[2:]})"
            )
        return [n - low for n, low in zip(wanted, smallest, strict=True)]


class _ConvTranspose(_ConvTransposeNd):
    """A transposed convolution."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | Iterable[int],
        stride: int | Iterable[int] = 1,
        padding: int | Iterable[int] = 0,
        output_padding: int | Iterable[int] = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: int | Iterable[int] = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            in_channels,
            out_channels,
            each(kernel_size, self.rank),
            each(stride, self.rank),
            each(padding, self.rank),
            each(dilation, self.rank),
            True,
            each(output_padding, self.rank),
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def forward(self, input: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        """Apply the transposed convolution; `output_size` chooses among the sizes that the stride allows."""
        if self.padding_mode != "zeros":
            raise ValueError(f"Only `zeros` padding mode is supported for ConvTranspose{self.rank}d")
        padding: Any = self.padding
        extra = self._output_padding(
            input, output_size, self.stride, padding, self.kernel_size, self.rank, self.dilation
        )
        function: Callable[..., Tensor] = getattr(F, f"conv_transpose{self.rank}d")
        return function(input, self.weight, self.bias, self.stride, padding, extra, self.groups, self.dilation)


class ConvTranspose1d(_ConvTranspose):
    """A transposed convolution along one spatial dimension; see `ConvTranspose2d`."""

    rank = 1


class ConvTranspose2d(_ConvTranspose):
    """A transposed convolution over images: each item adds the weight, times itself, to the result.

    `weight` has the shape (in_channels, out_channels / groups, *kernel_size). See `functional.conv_transpose2d`, and for
    the parameters `Conv2d`; `output_padding` rows are added at the end of the result.

    >>> ConvTranspose2d(16, 33, 3, stride=2, output_padding=1)
    ConvTranspose2d(16, 33, kernel_size=(3, 3), stride=(2, 2), output_padding=(1, 1))
    """

    rank = 2


class ConvTranspose3d(_ConvTranspose):
    """A transposed convolution with three spatial dimensions; see `ConvTranspose2d`."""

    rank = 3
