"""Items moved between channels and space, and between channels: pixel_shuffle, pixel_unshuffle, channel_shuffle."""

from __future__ import annotations

import numpy as np

from .registry import Sample, op


def _shuffled(x: np.ndarray, factor: int) -> np.ndarray:
    *lead, channels, height, width = x.shape
    split = x.reshape(*lead, channels // factor**2, factor, factor, height, width)
    n = len(lead)
    moved = split.transpose(*range(n), n, n + 3, n + 1, n + 4, n + 2)
    return moved.reshape(*lead, channels // factor**2, height * factor, width * factor)


def _unshuffled(x: np.ndarray, factor: int) -> np.ndarray:
    *lead, channels, height, width = x.shape
    split = x.reshape(*lead, channels, height // factor, factor, width // factor, factor)
    n = len(lead)
    moved = split.transpose(*range(n), n, n + 2, n + 4, n + 1, n + 3)
    return moved.reshape(*lead, channels * factor**2, height // factor, width // factor)


def _shuffled_reference(x: np.ndarray, upscale_factor: int) -> np.ndarray:
    r = upscale_factor
    *lead, channels, height, width = x.shape
    out = np.empty((*lead, channels // r**2, height * r, width * r), x.dtype)
    for i, j in np.ndindex(r, r):
        out[..., i::r, j::r] = x[..., i * r + j :: r**2, :, :]
    return out


def _unshuffled_reference(x: np.ndarray, downscale_factor: int) -> np.ndarray:
    r = downscale_factor
    *lead, channels, height, width = x.shape
    out = np.empty((*lead, channels * r**2, height // r, width // r), x.dtype)
    for i, j in np.ndindex(r, r):
        out[..., i * r + j :: r**2, :, :] = x[..., i::r, j::r]
    return out


@op(
    samples=[Sample(((2, 8, 2, 3),), {"upscale_factor": 2}), Sample(((9, 1, 2),), {"upscale_factor": 3})],
    reference=_shuffled_reference,
    moves=True,
)
def pixel_shuffle(input, *, upscale_factor):
    """(..., channels * r^2, height, width) to (..., channels, height * r, width * r)."""


@pixel_shuffle.kernel("cpu")
def _(input: np.ndarray, upscale_factor: int) -> np.ndarray:
    return _shuffled(input, upscale_factor)


@pixel_shuffle.grad("input")
def _(g, upscale_factor):
    return pixel_unshuffle(g, downscale_factor=upscale_factor)


@op(
    samples=[Sample(((2, 2, 4, 6),), {"downscale_factor": 2}), Sample(((1, 3, 6),), {"downscale_factor": 3})],
    reference=_unshuffled_reference,
    moves=True,
)
def pixel_unshuffle(input, *, downscale_factor):
    """(..., channels, height * r, width * r) to (..., channels * r^2, height, width)."""


@pixel_unshuffle.kernel("cpu")
def _(input: np.ndarray, downscale_factor: int) -> np.ndarray:
    return _unshuffled(input, downscale_factor)


@pixel_unshuffle.grad("input")
def _(g, downscale_factor):
    return pixel_shuffle(g, upscale_factor=downscale_factor)


@op(
    samples=[Sample(((2, 6, 2),), {"groups": 2}), Sample(((1, 4, 1, 2),), {"groups": 4})],
    reference=lambda x, groups: np.concatenate(
        [x[:, i :: x.shape[1] // groups] for i in range(x.shape[1] // groups)], 1
    ),
    moves=True,
)
def channel_shuffle(input, *, groups):
    """The channels of `groups` groups taken in turns: the first of each, then the second of each, ..."""


@channel_shuffle.kernel("cpu")
def _(input: np.ndarray, groups: int) -> np.ndarray:
    n, channels, *image = input.shape
    return input.reshape(n, groups, channels // groups, *image).swapaxes(1, 2).reshape(input.shape)


@channel_shuffle.grad("input")
def _(g, input_shape, groups):
    return channel_shuffle(g, groups=input_shape[1] // groups)
