"""Convolutions with one to three spatial dimensions, as matrix products over gathered windows.

Everything comes from one form that is linear in each of three things: an image, a weight, and a gradient of the result.
With two of them given it is a map of the third: the convolution (of image and weight), the transposed one (of gradient
and weight: it is the gradient for the image) and the gradient for the weight. Each one's gradients are the two others,
so any order of derivative is there.

A block of images is gathered at a time, as many as fit the second cache: the columns of all images of a batch would be
written to memory and read again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from . import blas
from .array import Shape
from .reductions import sum_to_shape
from .registry import Sample, op, run
from .windows import Windows, window_count

BLOCK_ITEMS = 1 << 18  # of gathered windows: 1 MiB in float32


# ---------------------------------------------------------------------------------------------------- the form
class Form:
    """Windows over images of several channels, each of them multiplied with weights of `groups` groups.

    Images are (n, channels, items), results (n, outputs, positions), weights (groups, outputs / groups, rows): in rows
    the channels of a group and, in each channel, the taps of a window.
    """

    def __init__(self, windows: Windows, channels: int, outputs: int, groups: int) -> None:
        self.windows = windows
        self.channels = channels
        self.outputs = outputs
        self.groups = groups
        self.rows = channels // groups * windows.taps if groups else 0

    def result(self, images: np.ndarray, weight: np.ndarray, bias: np.ndarray | None) -> np.ndarray:
        """The convolution of images with a weight, plus a bias."""
        n = len(images)
        out = np.empty((n, self.outputs, self.windows.positions), images.dtype)
        if not self._has_work(n):
            out[...] = 0 if bias is None else bias[:, None]
            return out
        weight = self._grouped(weight)
        for block in self._blocks(n):
            product = blas.matmul(weight, self._columns(images[block]))
            found = self._apart(product, self.outputs)
            if bias is None:
                out[block] = found
            else:
                np.add(found, bias[:, None], out=out[block])
        return out

    def gradients(
        self, g: np.ndarray, images: np.ndarray | None, weight: np.ndarray | None
    ) -> tuple[np.ndarray | None, np.ndarray | None]:
        """The gradients for images (where `weight` is given) and weight (where `images` are)."""
        n = len(g)
        of_images = None if weight is None else np.empty((n, self.channels, self.windows.items), g.dtype)
        shape = (self.groups, self.outputs // self.groups, self.rows)
        of_weight = None if images is None else np.zeros(shape, g.dtype)
        if not self._has_work(n):
            if of_images is not None:
                of_images[...] = 0
            return of_images, of_weight
        turned = None if weight is None else self._grouped(weight).swapaxes(1, 2)
        for block in self._blocks(n):
            results = self._together(g[block])
            if of_weight is not None and images is not None:
                of_weight += blas.matmul(results, self._columns(images[block]).swapaxes(1, 2))
            if of_images is not None and turned is not None:
                self._scatter(blas.matmul(turned, results), of_images[block])
        return of_images, of_weight

    def _has_work(self, n: int) -> bool:
        return bool(n and self.rows and self.outputs and self.windows.positions)

    def _blocks(self, n: int) -> Iterator[slice]:
        """The images of a batch, some at a time."""
        step = max(BLOCK_ITEMS // (self.channels * self.windows.taps * self.windows.positions), 1)
        for first in range(0, n, step):
            yield slice(first, min(first + step, n))

    def _grouped(self, weight: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(weight).reshape(self.groups, self.outputs // self.groups, self.rows)

    def _columns(self, images: np.ndarray) -> np.ndarray:
        """The windows of some images, (groups, rows, n * positions)."""
        n, positions = len(images), self.windows.positions
        if self.windows.are_items:
            return self._together(images)
        columns = np.empty((self.groups, self.rows, n * positions), images.dtype)
        self.windows.gather(images, columns.reshape(-1), n * positions, positions)
        return columns

    def _scatter(self, columns: np.ndarray, images: np.ndarray) -> None:
        n, positions = len(images), self.windows.positions
        if self.windows.are_items:
            images[...] = self._apart(columns, self.channels)
        else:
            self.windows.scatter(images, np.ascontiguousarray(columns).reshape(-1), n * positions, positions)

    def _together(self, maps: np.ndarray) -> np.ndarray:
        """Maps (n, channels, items) as (groups, channels / groups, n * items)."""
        return np.ascontiguousarray(maps.swapaxes(0, 1)).reshape(self.groups, maps.shape[1] // self.groups, -1)

    def _apart(self, product: np.ndarray, channels: int) -> np.ndarray:
        """What `_together` has put together."""
        n = product.size // (channels * self.windows.positions)
        return product.reshape(channels, n, self.windows.positions).swapaxes(0, 1)


def _flat(maps: np.ndarray) -> np.ndarray:
    """(n, channels, *spatial) as contiguous (n, channels, items)."""
    return np.ascontiguousarray(maps).reshape(*maps.shape[:2], -1 if maps.size else int(np.prod(maps.shape[2:])))


def _form(
    image: Shape, weight: Shape, count: Shape, stride: Shape, padding: Shape, dilation: Shape, groups: int
) -> Form:
    windows = Windows.over(image, count, tuple(weight[2:]), stride, padding, dilation)
    return Form(windows, weight[1] * groups, weight[0], groups)


def result_size(
    image: Shape,
    weight: Shape,
    stride: Shape,
    padding: Shape,
    dilation: Shape,
    transposed: bool,
    output_padding: Shape,
) -> Shape:
    """The spatial shape of a convolution's result, from that of its input and the weight's whole shape."""
    if not transposed:
        return tuple(map(window_count, image, weight[2:], stride, padding, dilation))
    each = zip(image, weight[2:], stride, padding, dilation, output_padding, strict=True)
    return tuple((n - 1) * s - 2 * p + d * (k - 1) + 1 + extra for n, k, s, p, d, extra in each)


def _convolve(
    input: np.ndarray,
    weight: np.ndarray,
    bias: np.ndarray | None,
    stride: Shape,
    padding: Shape,
    dilation: Shape,
    transposed: bool,
    output_padding: Shape,
    groups: int,
) -> np.ndarray:
    spatial = tuple(input.shape[2:])
    size = result_size(spatial, weight.shape, stride, padding, dilation, transposed, output_padding)
    if not transposed:
        form = _form(spatial, weight.shape, size, stride, padding, dilation, groups)
        return form.result(_flat(input), weight, bias).reshape(len(input), weight.shape[0], *size)
    form = _form(size, weight.shape, spatial, stride, padding, dilation, groups)
    found, _ = form.gradients(_flat(input), None, weight)
    assert found is not None
    if bias is not None:
        found += bias[:, None]
    return found.reshape(len(input), form.channels, *size)


# ---------------------------------------------------------------------------------------------------- references
def _reference(x, weight, bias=None, *, stride, padding, dilation, transposed, output_padding, groups):
    """Each tap is a product with a slice of the padded image, or adds one to it."""
    taps, none = weight.shape[2:], (slice(None), slice(None))
    size = result_size(x.shape[2:], weight.shape, stride, padding, dilation, transposed, output_padding)
    image, counts = (size, x.shape[2:]) if transposed else (x.shape[2:], size)
    around = [(p, p + max(d * k, 1)) for p, d, k in zip(padding, dilation, taps, strict=True)]
    outputs = weight.shape[1] * groups if transposed else len(weight)
    out = np.zeros((len(x), outputs, *size), np.result_type(x, weight))
    padded = np.pad(out if transposed else x, [(0, 0), (0, 0), *around])
    inputs, outputs = x.shape[1] // groups, outputs // groups
    for *tap, group in np.ndindex(*taps, groups):
        steps = zip(tap, dilation, counts, stride, strict=True)
        window = tuple(slice(t * d, t * d + (m - 1) * s + 1, s) for t, d, m, s in steps)
        ins, outs = (slice(group * n, (group + 1) * n) for n in (inputs, outputs))
        if transposed:
            padded[(slice(None), outs, *window)] += np.einsum(
                "nc...,co->no...", x[:, ins], weight[(ins, none[0], *tap)]
            )
        else:
            part = padded[(slice(None), ins, *window)]
            out[:, outs] += np.einsum("nc...,oc->no...", part, weight[(outs, none[0], *tap)])
    if transposed:
        out = padded[(*none, *(slice(p, p + n) for p, n in zip(padding, image, strict=True)))]
    return out if bias is None else out + bias.reshape(-1, *(1 for _ in taps))


def _weight_reference(gradient, x, kernel_size, stride, padding, dilation, groups):
    """At each tap, the products of the gradient with a slice of the padded image."""
    found = np.zeros((gradient.shape[1], x.shape[1] // groups, *kernel_size), np.result_type(gradient, x))
    around = [(p, p + d * k) for p, d, k in zip(padding, dilation, kernel_size, strict=True)]
    padded = np.pad(x, [(0, 0), (0, 0), *around])
    inputs, outputs = x.shape[1] // groups, gradient.shape[1] // groups
    for *tap, group in np.ndindex(*kernel_size, groups):
        steps = zip(tap, dilation, gradient.shape[2:], stride, strict=True)
        window = tuple(slice(t * d, t * d + (m - 1) * s + 1, s) for t, d, m, s in steps)
        ins, outs = (slice(group * n, (group + 1) * n) for n in (inputs, outputs))
        part = padded[(slice(None), ins, *window)]
        found[(outs, slice(None), *tap)] = np.einsum("nop,ncp->oc", _flat(gradient[:, outs]), _flat(part))
    return found


def _sample(input: Shape, weight: Shape, bias: Shape | None, **attributes: Any) -> Sample:
    rank = len(weight) - 2
    defaults = {
        "stride": (1,) * rank,
        "padding": (0,) * rank,
        "dilation": (1,) * rank,
        "transposed": False,
        "output_padding": (0,) * rank,
        "groups": 1,
    }
    return Sample((input, weight) if bias is None else (input, weight, bias), {**defaults, **attributes})


_SHAPES: list[tuple[Shape, Shape, dict[str, Any]]] = [
    ((2, 2, 5, 4), (3, 2, 2, 3), {"stride": (2, 1), "padding": (1, 0), "dilation": (1, 1)}),
    ((2, 4, 5), (2, 2, 2), {"groups": 2, "dilation": (2,)}),
    ((1, 2, 2, 2, 3), (2, 1, 1, 2, 2), {"groups": 2, "padding": (0, 1, 0)}),
    ((2, 2, 3, 2), (3, 2, 1, 1), {}),
    ((2, 2, 3, 2), (2, 1, 2, 2), {"transposed": True, "stride": (2, 2), "padding": (1, 0), "output_padding": (1, 0)}),
    ((1, 2, 3), (2, 1, 2), {"transposed": True, "groups": 2, "dilation": (2,), "output_padding": (1,)}),
]


# ---------------------------------------------------------------------------------------------------- convolution
@op(
    samples=[_sample(x, w, None, **a) for x, w, a in _SHAPES],
    reference=_reference,
    name="convolution.no_bias",
    node="ConvolutionBackward0",
    takes_complex=True,
    linear="separately",
)
def convolution_alone(input, weight, *, stride, padding, dilation, transposed, output_padding, groups):
    """`convolution` without a bias."""


@op(
    samples=[_sample(x, w, (w[1] * a.get("groups", 1) if "transposed" in a else w[0],), **a) for x, w, a in _SHAPES],
    reference=_reference,
    takes_complex=True,
)
def convolution(input, weight, bias, *, stride, padding, dilation, transposed, output_padding, groups):
    """(n, channels, *spatial) and (outputs, channels / groups, *size) to (n, outputs, *windows), plus a bias.

    Transposed it is the gradient of that for its input: (n, channels, *windows) and (channels, outputs / groups, *size)
    to (n, outputs, *spatial), with `output_padding` rows more than the last window reaches.
    """


@convolution_alone.kernel("cpu")
def _(input: np.ndarray, weight: np.ndarray, *geometry: Any) -> np.ndarray:
    return _convolve(input, weight, None, *geometry)


convolution.kernel("cpu")(_convolve)


def _input_gradient(g, weight, input_shape, stride, padding, dilation, transposed, output_padding, groups):
    image = tuple(input_shape[2:])
    if transposed:
        found = run(convolution_alone, (g, weight), (stride, padding, dilation, False, output_padding, groups))
        return _within(found, image)
    return _transposed(g, weight, image, stride, padding, dilation, groups)


def _transposed(g, weight, image, stride, padding, dilation, groups):
    """The transposed convolution whose result has the spatial shape `image`."""
    count, shape = tuple(g.shape[2:]), tuple(weight.shape)
    reached = result_size(count, shape, stride, padding, dilation, True, (0,) * len(count))
    rest = tuple(n - m for n, m in zip(image, reached, strict=True))
    return run(convolution_alone, (g, weight), (stride, padding, dilation, True, rest, groups))


def _within(x, size):
    """The first items of each spatial dimension: with output_padding beyond the stride, a window more would fit."""
    for d, n in enumerate(size, 2):
        if x.shape[d] != n:
            x = x.narrow(d, 0, n)
    return x


def _weight_gradient(g, input, weight_shape, stride, padding, dilation, transposed, groups):
    pair = (input, g) if transposed else (g, input)
    return run(convolution_weight, pair, (tuple(weight_shape[2:]), stride, padding, dilation, groups))


for _declared in (convolution_alone, convolution):
    _declared.grad("input")(_input_gradient)
    _declared.grad("weight")(_weight_gradient)


@convolution.grad("bias")
def _(g):
    return g.sum((0, *range(2, g.dim())))


def _gradients(
    g: np.ndarray,
    input: Any,
    weight: Any,
    input_shape: Shape,
    weight_shape: Shape,
    stride: Shape,
    padding: Shape,
    dilation: Shape,
    transposed: bool,
    groups: int,
    needs: tuple[bool, ...],
) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Both gradients at once, so that a block of `g` is read once."""
    image, count = (g.shape, input_shape) if transposed else (input_shape, g.shape)
    form = _form(tuple(image[2:]), weight_shape, tuple(count[2:]), stride, padding, dilation, groups)
    if not transposed:
        of_input, of_weight = form.gradients(_flat(g), _flat(input) if needs[1] else None, weight if needs[0] else None)
    else:
        images = _flat(g)
        of_input = form.result(images, weight, None) if needs[0] else None
        of_weight = form.gradients(_flat(input), images, None)[1] if needs[1] else None
    return (
        None if of_input is None else of_input.reshape(input_shape),
        None if of_weight is None else of_weight.reshape(weight_shape),
    )


@convolution_alone.fused_backward("cpu")
def _(
    g: np.ndarray,
    input: Any,
    weight: Any,
    input_shape: Shape,
    weight_shape: Shape,
    stride: Shape,
    padding: Shape,
    dilation: Shape,
    transposed: bool,
    groups: int,
    needs: tuple[bool, ...],
) -> tuple[Any, ...]:
    return _gradients(g, input, weight, input_shape, weight_shape, stride, padding, dilation, transposed, groups, needs)


@convolution.fused_backward("cpu")
def _(
    g: np.ndarray,
    input: Any,
    weight: Any,
    input_shape: Shape,
    weight_shape: Shape,
    stride: Shape,
    padding: Shape,
    dilation: Shape,
    transposed: bool,
    groups: int,
    needs: tuple[bool, ...],
) -> tuple[Any, ...]:
    first, second = _gradients(
        g, input, weight, input_shape, weight_shape, stride, padding, dilation, transposed, groups, needs
    )
    bias = sum_to_shape(_flat(g), (g.shape[1], 1)).reshape(-1) if needs[2] else None
    return first, second, bias


# ---------------------------------------------------------------------------------------------------- weight
@op(
    samples=[
        Sample(
            ((2, 3, 3, 2), (2, 2, 5, 4)),
            {"kernel_size": (2, 3), "stride": (2, 1), "padding": (1, 0), "dilation": (1, 1), "groups": 1},
        ),
        Sample(
            ((2, 2, 3), (2, 4, 5)),
            {"kernel_size": (2,), "stride": (1,), "padding": (0,), "dilation": (2,), "groups": 2},
        ),
    ],
    reference=_weight_reference,
    takes_complex=True,
    linear="separately",
)
def convolution_weight(gradient, input, *, kernel_size, stride, padding, dilation, groups):
    """The gradient of a convolution for its weight, of the gradient of its result and its input."""


@convolution_weight.kernel("cpu")
def _(
    gradient: np.ndarray,
    input: np.ndarray,
    kernel_size: Shape,
    stride: Shape,
    padding: Shape,
    dilation: Shape,
    groups: int,
) -> np.ndarray:
    shape = (gradient.shape[1], input.shape[1] // groups, *kernel_size)
    form = _form(tuple(input.shape[2:]), shape, tuple(gradient.shape[2:]), stride, padding, dilation, groups)
    found = form.gradients(_flat(gradient), _flat(input), None)[1]
    assert found is not None
    return found.reshape(shape)


@convolution_weight.grad("gradient")
def _(g, input, gradient_shape, stride, padding, dilation, groups):
    none = (0,) * len(stride)
    found = run(convolution_alone, (input, g), (stride, padding, dilation, False, none, groups))
    return _within(found, gradient_shape[2:])


@convolution_weight.grad("input")
def _(g, gradient, input_shape, stride, padding, dilation, groups):
    return _transposed(gradient, g, tuple(input_shape[2:]), stride, padding, dilation, groups)
