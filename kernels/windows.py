"""Windows that move over an image: gathered into the columns of a matrix ("im2col"), and scattered back by addition.

Convolutions are matrix products of such columns; `fold` and `unfold` are the columns themselves. Images have three
spatial dimensions here, of which the first ones may have one item: the loops then cost nothing more.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .array import Shape
from .cpu import SPLIT, loop
from .registry import Sample, op


@loop
def gather_windows(images, columns, windows, start, stop, channels, row_step, image_step):
    """Copy what each tap of the windows meets to a row of `columns`; the padding around an image is 0.

    A unit is one channel of one image. `windows` has the rows of `Windows`; `columns` is flat: its rows, one a channel
    and tap, begin `row_step` items apart, and within them the images `image_step` apart.
    """
    depth, height, width = windows[0, 0], windows[0, 1], windows[0, 2]
    across = windows[1, 2]
    for unit in range(start, stop):
        n = unit // channels
        taps = windows[2, 0] * windows[2, 1] * windows[2, 2]
        row = (unit - n * channels) * taps * row_step + n * image_step
        for d in range(windows[2, 0]):
            for h in range(windows[2, 1]):
                for w in range(windows[2, 2]):
                    step = windows[3, 2]
                    shift = w * windows[5, 2] - windows[4, 2]
                    low = min(max((step - 1 - shift) // step, 0), across)  # the windows whose tap is in the image
                    high = max(min((width - 1 - shift) // step + 1, across), low)
                    target = row
                    for i in range(windows[1, 0]):
                        z = i * windows[3, 0] + d * windows[5, 0] - windows[4, 0]
                        for j in range(windows[1, 1]):
                            y = j * windows[3, 1] + h * windows[5, 1] - windows[4, 1]
                            out = columns[target : target + across]
                            target += across
                            if z < 0 or z >= depth or y < 0 or y >= height or low == high:
                                out[:] = 0
                                continue
                            first = (z * height + y) * width + low * step + shift
                            last = (z * height + y) * width + (high - 1) * step + shift
                            line = images[unit, first : last + 1]
                            out[:low] = 0
                            inner = out[low:high]
                            if step == 1:
                                for k in range(high - low):
                                    inner[k] = line[k]
                            else:
                                for k in range(high - low):
                                    inner[k] = line[k * step]
                            out[high:] = 0
                    row += row_step


@loop
def scatter_windows(images, columns, windows, start, stop, channels, row_step, image_step):
    """Add each row of `columns` to where `gather_windows` would read it; `images` are set to 0 before."""
    depth, height, width = windows[0, 0], windows[0, 1], windows[0, 2]
    across = windows[1, 2]
    for unit in range(start, stop):
        images[unit, :] = 0
        n = unit // channels
        taps = windows[2, 0] * windows[2, 1] * windows[2, 2]
        row = (unit - n * channels) * taps * row_step + n * image_step
        for d in range(windows[2, 0]):
            for h in range(windows[2, 1]):
                for w in range(windows[2, 2]):
                    step = windows[3, 2]
                    shift = w * windows[5, 2] - windows[4, 2]
                    low = min(max((step - 1 - shift) // step, 0), across)
                    high = max(min((width - 1 - shift) // step + 1, across), low)
                    source = row
                    for i in range(windows[1, 0]):
                        z = i * windows[3, 0] + d * windows[5, 0] - windows[4, 0]
                        for j in range(windows[1, 1]):
                            y = j * windows[3, 1] + h * windows[5, 1] - windows[4, 1]
                            given = columns[source + low : source + high]
                            source += across
                            if z < 0 or z >= depth or y < 0 or y >= height or low == high:
                                continue
                            first = (z * height + y) * width + low * step + shift
                            last = (z * height + y) * width + (high - 1) * step + shift
                            line = images[unit, first : last + 1]
                            if step == 1:
                                for k in range(high - low):
                                    line[k] += given[k]
                            else:
                                for k in range(high - low):
                                    line[k * step] += given[k]
                    row += row_step


class Windows(NamedTuple):
    """Windows over an image: a number for each of the three spatial dimensions, in items."""

    image: Shape
    counts: Shape
    size: Shape
    stride: Shape
    padding: Shape
    dilation: Shape

    @classmethod
    def over(cls, image: Shape, counts: Shape, size: Shape, stride: Shape, padding: Shape, dilation: Shape) -> Windows:
        """The windows of an image with at most three dimensions; those that lack are put in front."""
        lead = 3 - len(image)
        ones, zeros = (1,) * lead, (0,) * lead
        return cls(ones + image, ones + counts, ones + size, ones + stride, zeros + padding, ones + dilation)

    @property
    def items(self) -> int:
        """Items of an image's channel."""
        return self.image[0] * self.image[1] * self.image[2]

    @property
    def positions(self) -> int:
        """How many windows there are."""
        return self.counts[0] * self.counts[1] * self.counts[2]

    @property
    def taps(self) -> int:
        """Items of a window."""
        return self.size[0] * self.size[1] * self.size[2]

    @property
    def are_items(self) -> bool:
        """Whether the windows are the items themselves, in order."""
        return self.taps == 1 and self.counts == self.image and not any(self.padding) and self.stride == (1, 1, 1)

    def gather(self, images: np.ndarray, columns: np.ndarray, row_step: int, image_step: int) -> None:
        """Fill the flat `columns` from contiguous images (n, channels, items). See `gather_windows`."""
        self._move(gather_windows, images, columns, row_step, image_step)

    def scatter(self, images: np.ndarray, columns: np.ndarray, row_step: int, image_step: int) -> None:
        """Fill contiguous images (n, channels, items) with sums of the flat `columns`. See `scatter_windows`."""
        self._move(scatter_windows, images, columns, row_step, image_step)

    def _move(self, move, images, columns, row_step, image_step):
        channels = images.shape[1]
        units = images.shape[0] * channels
        call = move.in_units if columns.size >= SPLIT else move
        numbers = np.array(self, np.int64)
        call(images.reshape(units, -1), columns, numbers, 0, units, channels, row_step, image_step)


def window_count(extent: int, size: int, stride: int, padding: int, dilation: int) -> int:
    """How many windows fit into an image's extent."""
    return (extent + 2 * padding - dilation * (size - 1) - 1) // stride + 1


# ---------------------------------------------------------------------------------------------------- unfold, fold
def _counts(image: Shape, size: Shape, stride: Shape, padding: Shape, dilation: Shape) -> Shape:
    return tuple(map(window_count, image, size, stride, padding, dilation))


def _im2col_reference(x, kernel_size, dilation, padding, stride):
    spread = np.lib.stride_tricks.sliding_window_view(
        np.pad(x, [(0, 0), (0, 0), *((p, p) for p in padding)]),
        [d * (k - 1) + 1 for k, d in zip(kernel_size, dilation, strict=True)],
        (2, 3),
    )[:, :, :: stride[0], :: stride[1], :: dilation[0], :: dilation[1]]
    return spread.transpose(0, 1, 4, 5, 2, 3).reshape(x.shape[0], x.shape[1] * np.prod(kernel_size), -1)


@op(
    samples=[
        Sample(((2, 3, 5, 4),), {"kernel_size": (2, 3), "dilation": (2, 1), "padding": (1, 0), "stride": (1, 2)}),
        Sample(((1, 1, 3, 3),), {"kernel_size": (2, 2), "dilation": (1, 1), "padding": (0, 0), "stride": (1, 1)}),
    ],
    reference=_im2col_reference,
    takes_complex=True,
    node="Im2ColBackward0",
    linear="jointly",
)
def im2col(input, *, kernel_size, dilation, padding, stride):
    """The windows of images (n, channels, height, width) as columns (n, channels * taps, windows)."""


@im2col.kernel("cpu")
def _(input: np.ndarray, kernel_size: Shape, dilation: Shape, padding: Shape, stride: Shape) -> np.ndarray:
    n, channels, *image = input.shape
    counts = _counts(tuple(image), kernel_size, stride, padding, dilation)
    windows = Windows.over(tuple(image), counts, kernel_size, stride, padding, dilation)
    rows = channels * windows.taps
    columns = np.empty((n, rows, windows.positions), input.dtype)
    if columns.size:
        images = np.ascontiguousarray(input).reshape(n, channels, -1)
        windows.gather(images, columns.reshape(-1), windows.positions, rows * windows.positions)
    return columns


@im2col.grad("input")
def _(g, input_shape, kernel_size, dilation, padding, stride):
    return col2im(
        g,
        output_size=tuple(input_shape[2:]),
        kernel_size=kernel_size,
        dilation=dilation,
        padding=padding,
        stride=stride,
    )


def _col2im_reference(g, output_size, kernel_size, dilation, padding, stride):
    channels = g.shape[1] // int(np.prod(kernel_size))
    places = np.arange(1, int(np.prod(output_size)) + 1, dtype=np.float64).reshape(1, 1, *output_size)
    where = _im2col_reference(places, kernel_size, dilation, padding, stride)[0].astype(int).ravel()
    out = np.zeros((g.shape[0], channels, places.size + 1), g.dtype)
    np.add.at(out, (slice(None), slice(None), where), g.reshape(g.shape[0], channels, -1))
    return out[:, :, 1:].reshape(g.shape[0], channels, *output_size)


@op(
    samples=[
        Sample(
            ((2, 6, 10),),
            {
                "output_size": (5, 4),
                "kernel_size": (2, 3),
                "dilation": (2, 1),
                "padding": (1, 1),
                "stride": (1, 2),
            },
        )
    ],
    reference=_col2im_reference,
    takes_complex=True,
    node="Col2ImBackward0",
    linear="jointly",
)
def col2im(input, *, output_size, kernel_size, dilation, padding, stride):
    """Images (n, channels, height, width) that are sums of the windows in columns (n, channels * taps, windows)."""


@col2im.kernel("cpu")
def _(
    input: np.ndarray, output_size: Shape, kernel_size: Shape, dilation: Shape, padding: Shape, stride: Shape
) -> np.ndarray:
    counts = _counts(output_size, kernel_size, stride, padding, dilation)
    windows = Windows.over(output_size, counts, kernel_size, stride, padding, dilation)
    n, rows = input.shape[:2]
    images = np.empty((n, rows // windows.taps, windows.items), input.dtype)
    if images.size:
        columns = np.ascontiguousarray(input).reshape(-1)
        windows.scatter(images, columns, windows.positions, rows * windows.positions)
    return images.reshape(*images.shape[:2], *output_size)


@col2im.grad("input")
def _(g, kernel_size, dilation, padding, stride):
    return im2col(g, kernel_size=kernel_size, dilation=dilation, padding=padding, stride=stride)
