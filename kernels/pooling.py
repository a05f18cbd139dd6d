"""The largest items of windows, with their places: max_pool, adaptive_max_pool, and max_unpool, which puts them back.

A NaN in a window is its largest item; of equal ones it is the first. Padding is never one. Places count the items of an
image's channel, as `max_unpool` takes them.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .array import Shape
from .cpu import SPLIT, loop
from .registry import KernelOp, Sample, op


@loop
def largest_of_windows(images, values, places, bounds, steps, extents, start, stop):
    """The largest item of each window and its place; a unit is one channel of one image.

    `bounds` are first and last (excluded) of the windows along each dimension in turn, `steps` how far a window's items
    are apart in it, `extents` the image's size.
    """
    depth, height = steps[1, 0], steps[1, 1]  # how many windows there are
    across = steps[1, 2]
    for unit in range(start, stop):
        image = images[unit]
        target = 0
        for i in range(depth):
            for j in range(depth, depth + height):
                for k in range(depth + height, depth + height + across):
                    place = (bounds[i, 0] * extents[1] + bounds[j, 0]) * extents[2] + bounds[k, 0]
                    best = image[place]
                    for z in range(bounds[i, 0], bounds[i, 1], steps[0, 0]):
                        for y in range(bounds[j, 0], bounds[j, 1], steps[0, 1]):
                            row = (z * extents[1] + y) * extents[2]
                            for x in range(row + bounds[k, 0], row + bounds[k, 1], steps[0, 2]):
                                item = image[x]
                                if item > best or item != item:
                                    best = item
                                    place = x
                    values[unit, target] = best
                    places[unit, target] = place
                    target += 1


@loop
def add_at_places(images, values, places, start, stop):
    """Images of zeros with values added at their places; a unit is one channel of one image."""
    for unit in range(start, stop):
        image = images[unit]
        image[:] = 0
        for i in range(values.shape[1]):
            image[places[unit, i]] += values[unit, i]


def pooled_size(extent: int, size: int, stride: int, padding: int, dilation: int, ceil_mode: bool) -> int:
    """How many windows a pooling has along a dimension: with `ceil_mode` one more may begin within the image."""
    room = extent + 2 * padding - dilation * (size - 1) - 1
    count = (room + (stride - 1 if ceil_mode else 0)) // stride + 1
    if ceil_mode and (count - 1) * stride >= extent + padding:
        count -= 1
    return count


def _window_bounds(extent: int, count: int, size: int, stride: int, padding: int, dilation: int) -> np.ndarray:
    first = np.arange(count, dtype=np.int64) * stride - padding
    last = np.minimum(first + dilation * (size - 1) + 1, extent)
    first += np.maximum(-(first // dilation), 0) * dilation  # the first item of a window that is in the image
    return np.stack([first, last], 1)


def adaptive_bounds(extent: int, count: int) -> np.ndarray:
    """First and last (excluded) of `count` windows that share an extent as evenly as integers allow."""
    numbers = np.arange(count, dtype=np.int64)
    return np.stack([numbers * extent // count, -(-(numbers + 1) * extent // count)], 1)


def _largest(input: np.ndarray, bounds: list[np.ndarray], dilation: Shape) -> tuple[np.ndarray, np.ndarray]:
    """Values and places for windows along the last dimensions."""
    rank = len(bounds)
    lead, image = input.shape[:-rank], input.shape[-rank:]
    counts = tuple(map(len, bounds))
    units, positions = math.prod(lead), math.prod(counts)
    values, places = np.empty((units, positions), input.dtype), np.empty((units, positions), np.int64)
    if values.size:
        one = [np.array([[0, 1]])] * (3 - rank)
        steps = np.array([(1,) * (3 - rank) + dilation, (1,) * (3 - rank) + counts])
        images = np.ascontiguousarray(input).reshape(units, -1)
        extents = np.array((1,) * (3 - rank) + image)
        call = largest_of_windows.in_units if images.size >= SPLIT else largest_of_windows
        call(images, values, places, np.concatenate([*one, *bounds]), steps, extents, 0, units)
    return values.reshape(lead + counts), places.reshape(lead + counts)


def _gradient(g: np.ndarray, places: np.ndarray, shape: Shape, rank: int) -> np.ndarray:
    units = math.prod(shape[:-rank])
    out = np.empty((units, math.prod(shape[-rank:])), g.dtype)
    if g.size:
        values = np.ascontiguousarray(g).reshape(units, -1)
        call = add_at_places.in_units if out.size >= SPLIT else add_at_places
        call(out, values, np.ascontiguousarray(places).reshape(units, -1), 0, units)
    else:
        out[...] = 0
    return out.reshape(shape)


def _gradient_over_tensors(g: Any, places: Any, shape: Shape, rank: int) -> Any:
    image = g.new_zeros((*shape[:-rank], math.prod(shape[-rank:])))
    return image.scatter_add(-1, places.flatten(-rank), g.flatten(-rank)).reshape(shape)


def _reference(x: np.ndarray, bounds: list[np.ndarray], dilation: Shape) -> tuple[np.ndarray, np.ndarray]:
    """Each window by itself: its places are those of the items that it shows of an image of numbers."""
    rank = len(bounds)
    counts = tuple(map(len, bounds))
    values = np.empty((*x.shape[:-rank], *counts), x.dtype)
    places = np.empty(values.shape, np.int64)
    numbers = np.arange(math.prod(x.shape[-rank:])).reshape(x.shape[-rank:])
    for position in np.ndindex(*counts):
        window: Any = tuple(slice(b[i, 0], b[i, 1], d) for b, i, d in zip(bounds, position, dilation, strict=True))
        items = x[(..., *window)].reshape(*x.shape[:-rank], -1)
        values[(..., *position)] = items.max(-1)
        places[(..., *position)] = numbers[window].ravel()[items.argmax(-1)]
    return values, places


def _max_pool_bounds(
    shape: Shape, kernel_size: Shape, stride: Shape, padding: Shape, dilation: Shape, ceil_mode: bool
) -> list[np.ndarray]:
    found = []
    for n, k, s, p, d in zip(shape[-len(kernel_size) :], kernel_size, stride, padding, dilation, strict=True):
        found.append(_window_bounds(n, pooled_size(n, k, s, p, d, ceil_mode), k, s, p, d))
    return found


def _declare_gradients(pool: KernelOp, rank: int) -> KernelOp:
    """Both forms of the gradient of a pooling that returns values and places."""

    @pool.grad("input")
    def _(g0, out1, input_shape):
        return _gradient_over_tensors(g0, out1, tuple(input_shape), rank)

    @pool.fused_backward("cpu")
    def _(g0: np.ndarray, out1: np.ndarray, input_shape: Shape, needs: tuple[bool, ...]) -> tuple[Any, ...]:
        return (_gradient(g0, out1, input_shape, rank),)

    pool.non_differentiable_outputs = (1,)
    return pool


# ---------------------------------------------------------------------------------------------------- max_pool
def _max_pool(rank: int) -> KernelOp:
    def reference(x, kernel_size, stride, padding, dilation, ceil_mode):
        return _reference(x, _max_pool_bounds(x.shape, kernel_size, stride, padding, dilation, ceil_mode), dilation)

    def attributes(*numbers: int, ceil_mode: bool = False) -> dict[str, Any]:
        names = ("kernel_size", "stride", "padding", "dilation")
        return {**{name: (n,) * rank for name, n in zip(names, numbers, strict=True)}, "ceil_mode": ceil_mode}

    image = (5, 4, 3)[3 - rank :]

    @op(
        samples=[
            Sample(((2, 2, *image),), attributes(2, 2, 1, 1, ceil_mode=True)),
            Sample(((2, *image),), attributes(2, 1, 0, 2)),
        ],
        reference=reference,
        name=f"max_pool{rank}d_with_indices",
        node=f"MaxPool{rank}DWithIndicesBackward0",
        outputs=2,
    )
    def pool(input, *, kernel_size, stride, padding, dilation, ceil_mode):
        """The largest item of each window over the last dimensions, and its place in them."""

    @pool.kernel("cpu")
    def _(
        input: np.ndarray, kernel_size: Shape, stride: Shape, padding: Shape, dilation: Shape, ceil_mode: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        bounds = _max_pool_bounds(input.shape, kernel_size, stride, padding, dilation, ceil_mode)
        return _largest(input, bounds, dilation)

    return _declare_gradients(pool, rank)


max_pool2d_with_indices = _max_pool(2)
max_pool3d_with_indices = _max_pool(3)


# ---------------------------------------------------------------------------------------------------- adaptive_max_pool
def _adaptive_max_pool(rank: int) -> KernelOp:
    def bounds_of(shape: Shape, output_size: Shape) -> list[np.ndarray]:
        return [adaptive_bounds(n, m) for n, m in zip(shape[-rank:], output_size, strict=True)]

    ones = (1,) * rank

    @op(
        samples=[Sample(((2, 2, *(5, 4, 3)[3 - rank :]),), {"output_size": (3, 2, 2)[3 - rank :]})],
        reference=lambda x, output_size: _reference(x, bounds_of(x.shape, output_size), ones),
        name=f"adaptive_max_pool{rank}d",
        node=f"AdaptiveMaxPool{rank}DBackward0",
        outputs=2,
    )
    def pool(input, *, output_size):
        """The largest item of each of so many windows that share the last dimensions, and its place in them."""

    @pool.kernel("cpu")
    def _(input: np.ndarray, output_size: Shape) -> tuple[np.ndarray, np.ndarray]:
        return _largest(input, bounds_of(input.shape, output_size), ones)

    return _declare_gradients(pool, rank)


adaptive_max_pool2d = _adaptive_max_pool(2)
adaptive_max_pool3d = _adaptive_max_pool(3)


# ---------------------------------------------------------------------------------------------------- max_unpool
def _unpool_reference(x: np.ndarray, indices: np.ndarray, output_size: Shape) -> np.ndarray:
    lead = x.shape[: x.ndim - len(output_size)]
    out = np.zeros((*lead, math.prod(output_size)), x.dtype)
    np.put_along_axis(out, indices.reshape(*lead, -1), x.reshape(*lead, -1), -1)
    return out.reshape(*lead, *output_size)


def _max_unpool(rank: int) -> KernelOp:
    ones = (1,) * (rank - 2)

    @op(
        samples=[Sample(((1, 2, *ones, 1, 2), [[[[0, 5]], [[3, 1]]]] if rank == 2 else [[[[[0, 5]]], [[[3, 1]]]]]),
                        {"output_size": (*ones, 2, 3)})],
        reference=_unpool_reference,
        name=f"max_unpool{rank}d",
        node=f"MaxUnpool{rank}DBackward0",
        plain=("indices",),
        moves=True,
        linear="jointly",
    )  # fmt: skip
    def unpool(input, indices, *, output_size):
        """Zeros with the items at places of an image: what `max_pool` has taken is put back."""

    @unpool.kernel("cpu")
    def _(input: np.ndarray, indices: np.ndarray, output_size: Shape) -> np.ndarray:
        items = math.prod(output_size)
        outside = indices[(indices < 0) | (indices >= items)]
        if outside.size:
            sizes = "x".join(map(str, output_size))
            raise RuntimeError(f"Found an invalid max index: {outside[0]} (output volumes are of size {sizes})")
        return _unpool_reference(input, indices, output_size)

    @unpool.grad("input")
    def _(g, indices, input_shape):
        return g.flatten(-rank).gather(-1, indices.flatten(-rank)).reshape(tuple(input_shape))

    return unpool


max_unpool2d = _max_unpool(2)
max_unpool3d = _max_unpool(3)
