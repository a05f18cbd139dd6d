"""unfold and fold: images as columns of windows, and back by addition; shuffles between channels and space."""

from __future__ import annotations

from typing import Any

from ..dispatch import dispatch
from ..kernels import shuffling, windows
from .checks import check_tensor


def unfold(input: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Any:
    """The windows of images (n, channels, height, width) as columns; see `numgrad.nn.functional.unfold`."""
    check_tensor("im2col", input)
    numbers = _numbers(kernel_size, dilation, padding, stride)
    shape = list(input.shape)
    if len(shape) not in (3, 4) or 0 in shape[-3:]:
        if len(shape) < 3:
            low, high = -max(len(shape), 1), max(len(shape), 1) - 1
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{low}, {high}], but got {len(shape)})"
            )
        raise RuntimeError(
            "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, but "
            f"got: {shape}"
        )
    counts = _counts(tuple(shape[-2:]), *numbers)
    if min(counts) < 1:
        size, spread, around, _ = numbers
        raise RuntimeError(
            f"Given input with spatial size {tuple(shape[-2:])}, kernel_size={size}, dilation={spread}, padding={around}, "
            f"calculated shape of the array of sliding blocks as {counts}, but its components must be at least one."
        )
    _check_not_integers("im2col_out_cpu", input)
    if input.dim() == 4:
        return dispatch(windows.im2col, (input,), numbers)
    return dispatch(windows.im2col, (input.unsqueeze(0),), numbers).squeeze(0)


def fold(input: Any, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Any:
    """Images as the sums of the windows in columns; see `numgrad.nn.functional.fold`."""
    check_tensor("col2im", input)
    image = _pair("output_size", output_size)
    numbers = _numbers(kernel_size, dilation, padding, stride)
    shape = list(input.shape)
    if len(shape) not in (2, 3) or 0 in shape[-2:]:
        raise RuntimeError(
            "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero dimensions for "
            f"input, but got: {shape}"
        )
    size, spread, around, steps = numbers
    if shape[-2] % (size[0] * size[1]):
        raise RuntimeError(
            "Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got "
            f"input.size(1)={shape[-2]} and kernel_size={size}."
        )
    counts = _counts(image, *numbers)
    if counts[0] * counts[1] != shape[-1]:
        raise RuntimeError(
            f"Given output_size={image}, kernel_size={size}, dilation={spread}, padding={around}, stride={steps}, "
            "expected size of input's dimension 2 to match the calculated number of sliding blocks "
            f"{counts[0]} * {counts[1]} = {counts[0] * counts[1]}, but got input.size(2)={shape[-1]}."
        )
    _check_not_integers("col2im_out_cpu", input)
    if input.dim() == 3:
        return dispatch(windows.col2im, (input,), (image, *numbers))
    return dispatch(windows.col2im, (input.unsqueeze(0),), (image, *numbers)).squeeze(0)


def _pair(name: str, value: Any) -> tuple[int, int]:
    given = tuple(value) if isinstance(value, (tuple, list)) else (value, value)
    if len(given) != 2:
        raise RuntimeError(f"It is expected {name} equals to 2, but got size {len(given)}")
    return int(given[0]), int(given[1])


def _numbers(kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> tuple[tuple[int, int], ...]:
    """Kernel size, dilation, padding and stride, two numbers each."""
    size, spread = _pair("kernel_size", kernel_size), _pair("dilation", dilation)
    around, steps = _pair("padding", padding), _pair("stride", stride)
    for name, kind, (down, across) in (
        ("kernel size", "kernel", size),
        ("dilation", "dilation", spread),
        ("stride", "stride", steps),
    ):
        if min(down, across) <= 0:
            raise RuntimeError(
                f"{name} should be greater than zero, but got {kind}_height: {down} {kind}_width: {across}"
            )
    if min(around) < 0:
        raise RuntimeError(f"padding should be non-negative, but got pad_height: {around[0]} pad_width: {around[1]}")
    return size, spread, around, steps


def _counts(
    image: tuple[int, ...],
    size: tuple[int, ...],
    spread: tuple[int, ...],
    around: tuple[int, ...],
    steps: tuple[int, ...],
) -> tuple[int, ...]:
    return tuple(map(windows.window_count, image, size, steps, around, spread))


def _check_not_integers(name: str, input: Any) -> None:
    if not (input.dtype.is_floating_point or input.dtype.is_complex or input.dtype.name == "bool"):
        raise NotImplementedError(f"\"{name}\" not implemented for '{input.dtype.scalar_name}'")


# ---------------------------------------------------------------------------------------------------- shuffles
def pixel_shuffle(input: Any, upscale_factor: int) -> Any:
    """(..., channels * r^2, height, width) to (..., channels, height * r, width * r), for r the factor."""
    check_tensor("pixel_shuffle", input)
    if input.dim() < 3:
        raise RuntimeError(
            f"pixel_shuffle expects input to have at least 3 dimensions, but got input with {input.dim()} dimension(s)"
        )
    if upscale_factor <= 0:
        raise RuntimeError(f"pixel_shuffle expects a positive upscale_factor, but got {upscale_factor}")
    if input.shape[-3] % upscale_factor**2:
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, but "
            f"input.size(-3)={input.shape[-3]} is not divisible by {upscale_factor**2}"
        )
    return dispatch(shuffling.pixel_shuffle, (input,), (upscale_factor,))


def pixel_unshuffle(input: Any, downscale_factor: int) -> Any:
    """(..., channels, height * r, width * r) to (..., channels * r^2, height, width), for r the factor."""
    check_tensor("pixel_unshuffle", input)
    if input.dim() < 3:
        raise RuntimeError(
            f"pixel_unshuffle expects input to have at least 3 dimensions, but got input with {input.dim()} dimension(s)"
        )
    if downscale_factor <= 0:
        raise RuntimeError(f"pixel_unshuffle expects a positive downscale_factor, but got {downscale_factor}")
    for name, d in (("height", -2), ("width", -1)):
        if input.shape[d] % downscale_factor:
            raise RuntimeError(
                f"pixel_unshuffle expects {name} to be divisible by downscale_factor, but "
                f"input.size({d})={input.shape[d]} is not divisible by {downscale_factor}"
            )
    return dispatch(shuffling.pixel_unshuffle, (input,), (downscale_factor,))


def channel_shuffle(input: Any, groups: int) -> Any:
    """The channels of (n, channels, ...) in another order: the first of each of so many groups, then the second, ..."""
    check_tensor("channel_shuffle", input)
    if input.dim() <= 2:
        raise RuntimeError(f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(input.shape)}")
    if groups <= 0:
        raise RuntimeError(f"Number of groups to divide channels in must be positive. Value of groups:{groups}")
    if input.shape[1] % groups:
        raise RuntimeError(
            f"Number of channels must be divisible by groups. Got {input.shape[1]} channels and {groups} groups."
        )
    return dispatch(shuffling.channel_shuffle, (input,), (groups,))
