"""Pooling: the largest item, or the mean, of each window."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...ops import pooling
from ...ops.pooling import adaptive_avg_pool1d, avg_pool1d
from ...tensor import Tensor
from ..sizes import each

__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool1d_with_indices",
    "adaptive_max_pool2d",
    "adaptive_max_pool2d_with_indices",
    "adaptive_max_pool3d",
    "adaptive_max_pool3d_with_indices",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "lp_pool1d",
    "lp_pool2d",
    "lp_pool3d",
    "max_pool1d",
    "max_pool1d_with_indices",
    "max_pool2d",
    "max_pool2d_with_indices",
    "max_pool3d",
    "max_pool3d_with_indices",
    "max_unpool1d",
    "max_unpool2d",
    "max_unpool3d",
]


# ---------------------------------------------------------------------------------------------------- max_pool
def max_pool1d_with_indices(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Tensor, Tensor]:
    """The largest item of each window of (n, channels, length), and its place in its row."""
    return pooling.max_pool1d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool2d_with_indices(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Tensor, Tensor]:
    """The largest item of each window of (n, channels, height, width), and its place in its image."""
    return pooling.max_pool2d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool3d_with_indices(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Tensor, Tensor]:
    """The largest item of each window of (n, channels, depth, height, width), and its place in its image."""
    return pooling.max_pool3d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool1d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest item of each window of (n, channels, length); see `numgrad.max_pool2d`.

    With `return_indices` also the place of each in its row.
    """
    if return_indices:
        return pooling.max_pool1d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)
    return pooling.max_pool1d(input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool2d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest item of each window of (n, channels, height, width); see `numgrad.max_pool2d`.

    With `return_indices` also the place of each in its image.
    """
    found = pooling.max_pool2d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)
    return found if return_indices else found[0]


def max_pool3d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest item of each window of (n, channels, depth, height, width); see `numgrad.max_pool2d`.

    With `return_indices` also the place of each in its image.
    """
    found = pooling.max_pool3d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)
    return found if return_indices else found[0]


# ---------------------------------------------------------------------------------------------------- max_unpool
def max_unpool1d(
    input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Tensor:
    """Zeros with the items that `max_pool1d` has taken at their places; see `max_unpool2d`."""
    (length,) = _unpooled_size(1, input, kernel_size, stride, padding, output_size)
    return pooling.max_unpool(2, input.unsqueeze(-1), indices.unsqueeze(-1), (length, 1)).squeeze(-1)


def max_unpool2d(
    input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Tensor:
    """Zeros with the items that `max_pool2d` has taken, at the places that it returned.

    The image's size is the smallest that so many windows have; `output_size` chooses another that has as many.

    Raises ValueError for one that has not, RuntimeError for places outside the image.
    """
    return pooling.max_unpool(2, input, indices, _unpooled_size(2, input, kernel_size, stride, padding, output_size))


def max_unpool3d(
    input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Tensor:
    """`max_unpool2d` with three spatial dimensions."""
    return pooling.max_unpool(3, input, indices, _unpooled_size(3, input, kernel_size, stride, padding, output_size))


def _unpooled_size(
    rank: int, input: Tensor, kernel_size: Any, stride: Any, padding: Any, output_size: Any
) -> tuple[int, ...]:
    size, around = each(kernel_size, rank), each(padding, rank)
    steps = size if stride is None else each(stride, rank)
    rows = zip(input.shape[-rank:], size, steps, around, strict=False)
    usual = tuple((n - 1) * s + k - 2 * p for n, k, s, p in rows)
    if output_size is None:
        return usual
    wanted = output_size[2:] if len(output_size) == rank + 2 else output_size
    if len(wanted) != rank:
        raise ValueError(
            f"output_size should be a sequence containing {rank} or {rank + 2} elements, but it has a length of "
            f"'{len(wanted)}'"
        )
    for d, (n, own, s) in enumerate(zip(wanted, usual, steps, strict=True)):
        if not own - s < n < own + s:
            raise ValueError(f'invalid output_size "{wanted}" (dim {d} must be between {own - s} and {own + s})')
    return tuple(wanted)


# ---------------------------------------------------------------------------------------------------- avg_pool
def avg_pool2d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """The mean of each window of images.

    Args:
        input: (n, channels, height, width) or (channels, height, width).
        kernel_size: of a window; a number, or one for each spatial dimension, as the following ones.
        stride: how far a window moves at a time; by default its size.
        padding: rows of zeros around an image.
        ceil_mode: whether a window may reach beyond the image's end (it begins within it, though).
        count_include_pad: whether the zeros of the padding count in the mean; what lies beyond it never does.
        divisor_override: what sums are divided by, instead of the number of items.

    Returns:
        (n, channels, windows down, windows across).

    Raises:
        RuntimeError: shapes and numbers that do not fit, a divisor of 0.
        NotImplementedError: integers other than int64, of which the mean is rounded towards 0.
    """
    return pooling.avg_pool(2, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def avg_pool3d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """The mean of each window of (n, channels, depth, height, width); see `avg_pool2d`."""
    return pooling.avg_pool(3, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


# ---------------------------------------------------------------------------------------------------- adaptive
def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """The means of windows that share images of (n, channels, height, width) as evenly as they can.

    `output_size` is how many there are down and across, or one number for both; None is the image's own.
    Window i of m over n items has those from floor(i * n / m) to ceil((i + 1) * n / m).
    """
    return pooling.adaptive_avg_pool(2, input, _with_own_sizes("adaptive_avg_pool2d: ", output_size, input, 2))


def adaptive_avg_pool3d(input: Tensor, output_size: Any) -> Tensor:
    """`adaptive_avg_pool2d` with three spatial dimensions."""
    return pooling.adaptive_avg_pool(3, input, _with_own_sizes("adaptive_avg_pool3d: ", output_size, input, 3))


def adaptive_max_pool1d_with_indices(
    input: Tensor, output_size: Any, return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """The largest items of windows that share (n, channels, length), and their places."""
    return pooling.adaptive_max_pool1d(input, output_size)


def adaptive_max_pool2d_with_indices(
    input: Tensor, output_size: Any, return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """The largest items of windows that share (n, channels, height, width), and their places."""
    return pooling.adaptive_max_pool(2, input, _with_own_sizes("adaptive_max_pool2d(): ", output_size, input, 2))


def adaptive_max_pool3d_with_indices(
    input: Tensor, output_size: Any, return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """The largest items of windows that share (n, channels, depth, height, width), and their places."""
    return pooling.adaptive_max_pool(3, input, _with_own_sizes("adaptive_max_pool3d(): ", output_size, input, 3))


def adaptive_max_pool1d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """The largest items of windows that share (n, channels, length); with `return_indices` also their places."""
    found = adaptive_max_pool1d_with_indices(input, output_size)
    return found if return_indices else found[0]


def adaptive_max_pool2d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """The largest items of windows that share images; see `adaptive_avg_pool2d`. `return_indices` gives their places."""
    found = adaptive_max_pool2d_with_indices(input, output_size)
    return found if return_indices else found[0]


def adaptive_max_pool3d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """`adaptive_max_pool2d` with three spatial dimensions."""
    found = adaptive_max_pool3d_with_indices(input, output_size)
    return found if return_indices else found[0]


def _with_own_sizes(name: str, output_size: Any, input: Tensor, rank: int) -> tuple[int, ...]:
    """A number for each spatial dimension, the input's where None is given; errors begin with `name`."""
    if isinstance(output_size, int):
        return (output_size,) * rank
    if len(output_size) != rank:
        what = "internal error: output_size.size()" if "max" in name else "output_size"
        raise RuntimeError(f"{name}{what} must be {rank}")
    if len(input.shape) <= len(output_size):
        raise ValueError(f"Input dimension should be at least {len(output_size) + 1}")
    own = input.shape[-len(output_size) :]
    return tuple(n if size is None else size for size, n in zip(output_size, own, strict=True))


# ---------------------------------------------------------------------------------------------------- lp_pool
def lp_pool1d(input: Tensor, norm_type: float, kernel_size: int, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """The norm of each window of (n, channels, length): (sum of x^norm_type)^(1 / norm_type)."""
    return _lp_pool(avg_pool1d, max_pool1d, input, norm_type, kernel_size, stride, ceil_mode, kernel_size)


def lp_pool2d(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """The norm of each window of (n, channels, height, width): (sum of x^norm_type)^(1 / norm_type)."""
    height, width = (kernel_size,) * 2 if isinstance(kernel_size, int) else kernel_size
    return _lp_pool(avg_pool2d, max_pool2d, input, norm_type, kernel_size, stride, ceil_mode, height * width)


def lp_pool3d(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """The norm of each window of (n, channels, depth, height, width): (sum of x^norm_type)^(1 / norm_type)."""
    depth, height, width = (kernel_size,) * 3 if isinstance(kernel_size, int) else kernel_size
    return _lp_pool(avg_pool3d, max_pool3d, input, norm_type, kernel_size, stride, ceil_mode, depth * height * width)


def _lp_pool(
    mean: Callable[..., Tensor],
    largest: Callable[..., Tensor],
    input: Tensor,
    norm_type: float,
    kernel_size: Any,
    stride: Any,
    ceil_mode: bool,
    items: int,
) -> Tensor:
    if norm_type == float("inf"):
        return largest(input.abs(), kernel_size, stride, 0, 1, ceil_mode)
    if norm_type == -float("inf"):
        return -largest(-input.abs(), kernel_size, stride, 0, 1, ceil_mode)
    out = mean(input.pow(norm_type), kernel_size, stride, 0, ceil_mode)
    return (out.sign() * out.abs().relu()).mul(items).pow(1.0 / norm_type)
