"""Images as columns of windows, and items moved between channels and space."""

from __future__ import annotations

from typing import Any

from ...ops import folding
from ...ops.folding import channel_shuffle, pixel_shuffle, pixel_unshuffle
from ...tensor import Tensor

__all__ = ["channel_shuffle", "fold", "native_channel_shuffle", "pixel_shuffle", "pixel_unshuffle", "unfold"]

native_channel_shuffle = channel_shuffle


def unfold(input: Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Tensor:
    """The windows of images (n, channels, height, width) as columns, (n, channels * items of a window, windows).

    Raises RuntimeError for shapes and numbers that do not fit.

    Example:
        >>> import numgrad as ng
        >>> ng.nn.functional.unfold(ng.arange(4.0).reshape(1, 1, 2, 2), 2)
        tensor([[[0.],
                 [1.],
                 [2.],
                 [3.]]])
    """
    return folding.unfold(input, kernel_size, dilation, padding, stride)


def fold(
    input: Tensor, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Tensor:
    """Images of `output_size` as the sums of the windows in columns (n, channels * items of a window, windows).

    It is the gradient of `unfold`. Raises RuntimeError for shapes and numbers that do not fit.
    """
    return folding.fold(input, output_size, kernel_size, dilation, padding, stride)
