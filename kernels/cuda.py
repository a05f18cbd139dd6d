"""Loops for CUDA devices, under the names of `cpu.py`: the host's side of kernels whose texts `cuda_kernels` makes.

Nothing here knows a compiler or a driver. A `Runtime` does: it owns memory, compiles texts, and launches. `install`
puts one in place; without one there is no CUDA device, and whatever asks for it gets PyTorch's error. A GPU's runtime
compiles the texts, that of the tests interprets them.

>>> is_available()
False
>>> empty((2, 3), np.dtype("float32"))
Traceback (most recent call last):
    ...
AssertionError: Torch not compiled with CUDA enabled
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from . import cuda_kernels, lower, scalar_ir
from .array import Array, Shape, Storage, contiguous_strides
from .cuda_kernels import ENTRY, Form, accumulate_dtype, map_source

__all__ = [
    "ENTRY", "Form", "Geometry", "Runtime", "collapse", "contiguous", "copy", "empty", "empty_strided", "fill",
    "from_host", "install", "is_available", "map", "map_source", "matmul", "reduce_sum", "reshaped", "runtime",
    "to_host",
]  # fmt: skip

DEVICE = "cuda:0"
_WIDE = 2**31  # from here on a counter of items needs 64 bits
_MOST_PARTS = 65535  # extent of a grid's second dimension


@dataclass(frozen=True)
class Geometry:
    """How launches are cut. A policy of the runtime: kernels are right for any of it, only their speed depends on it.

    Attributes:
        map_block: threads of an elementwise block.
        map_grid: most blocks of an elementwise grid; threads loop over the rest.
        reduce_block: threads that sum one segment; a power of two.
        reduce_segment: longest segment summed by one block. Longer rows are summed in two passes.
        tile: a product's block computes tile x tile items.
    """

    map_block: int = 256
    map_grid: int = 4096
    reduce_block: int = 256
    reduce_segment: int = 16384
    tile: int = 16


class Runtime(Protocol):
    """What a CUDA device does for this module. Buffers and handles are the runtime's own objects.

    In `launch` the argument for a pointer is a pair (buffer, offset in items); for a scalar it is a Python number, for
    a tuple a tuple of integers.
    """

    geometry: Geometry

    def alloc(self, nbytes: int) -> Any:
        """Fresh memory, maybe of no bytes."""

    def release(self, buffer: Any) -> None:
        """Takes memory back. Launches that were already made may still use it."""

    def to_device(self, host: np.ndarray) -> Any:
        """A new buffer with the bytes of a C-contiguous array."""

    def to_host(self, buffer: Any, dtype: np.dtype, count: int, offset: int) -> np.ndarray:
        """A 1-D copy of `count` items from item `offset` on, when all earlier launches are done."""

    def kernel(self, source: str, signature: str) -> Any:
        """A handle of the entry point of a text (see `cuda_kernels`)."""

    def launch(self, handle: Any, grid: int | Sequence[int], block: int | Sequence[int], *arguments: Any) -> None:
        """Starts a kernel."""


class _Device:
    """The installed runtime, and the kernels it was given."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self.handles: dict[Hashable, Any] = {}


_device: _Device | None = None


def install(runtime: Runtime | None) -> None:
    """Sets the runtime of the CUDA device; None takes it away. Arrays made before keep the runtime that made them."""
    global _device
    _device = None if runtime is None else _Device(runtime)


def is_available() -> bool:
    """Whether a runtime is installed."""
    return _device is not None


def _installed() -> _Device:
    if _device is None:
        raise AssertionError("Torch not compiled with CUDA enabled")
    return _device


def runtime() -> Runtime:
    """The installed runtime.

    Raises:
        AssertionError: there is none; the text is PyTorch's of a build without CUDA.
    """
    return _installed().runtime


# ------------------------------------------------------------------------------------------------------------- arrays


class _Buffer:
    """Owns a runtime's buffer: it is released when the last storage that holds it dies."""

    __slots__ = ("handle", "runtime")

    def __init__(self, runtime: Runtime, handle: Any) -> None:
        self.runtime = runtime
        self.handle = handle

    def __del__(self) -> None:
        self.runtime.release(self.handle)


def _wrap(runtime: Runtime, handle: Any, dtype: np.dtype, shape: Shape, device: str) -> Array:
    return Array(Storage(_Buffer(runtime, handle), device), dtype, shape, contiguous_strides(shape))


def empty(shape: Shape, dtype: np.dtype, device: str = DEVICE) -> Array:
    """A new contiguous array with undefined items."""
    owner = runtime()
    return _wrap(owner, owner.alloc(math.prod(shape) * dtype.itemsize), dtype, shape, device)


def empty_strided(shape: Shape, strides: Shape, dtype: np.dtype, device: str = DEVICE) -> Array:
    """A new array with the given dense strides, a permutation of the contiguous ones."""
    return empty(shape, dtype, device).view(shape, strides, 0)


def from_host(values: np.ndarray, device: str = DEVICE) -> Array:
    """A contiguous copy of an ndarray on the device."""
    owner = runtime()
    return _wrap(owner, owner.to_device(np.ascontiguousarray(values)), values.dtype, values.shape, device)


def to_host(array: Array) -> np.ndarray:
    """A copy of an array as an ndarray. What lies between the items of a sparse view is not transferred."""
    if array.size == 0:
        return np.empty(array.shape, array.dtype)
    steps = [stride * (extent - 1) for stride, extent in zip(array.strides, array.shape, strict=True)]
    lowest = sum(step for step in steps if step < 0)
    span = 1 + sum(abs(step) for step in steps)
    if span > 2 * array.size:
        return to_host(contiguous(array))
    buffer: _Buffer = array.storage.buffer
    items = buffer.runtime.to_host(buffer.handle, array.dtype, span, array.offset + lowest)
    strides = tuple(stride * array.dtype.itemsize for stride in array.strides)
    return np.lib.stride_tricks.as_strided(items[-lowest:], array.shape, strides).copy()


def contiguous(array: Array) -> Array:
    """The array itself if it is contiguous, else a contiguous copy."""
    if array.is_contiguous():
        return array
    dense = empty(array.shape, array.dtype, array.device)
    copy(array, dense)
    return dense


def reshaped(array: Array, shape: Shape) -> Array:
    """A contiguous array seen in another shape of equal size."""
    return array.view(shape, contiguous_strides(shape), array.offset)


def _pointer(array: Array) -> tuple[Any, int]:
    return array.storage.buffer.handle, array.offset


def _broadcast_strides(array: Array, shape: Shape) -> Shape:
    """Strides of an array that repeats its axes of extent 1, and leading axes it lacks, to fill a shape.

    Raises:
        ValueError: it does not broadcast to the shape.
    """
    missing = len(shape) - len(array.shape)
    if missing < 0 or any(n not in (1, m) for n, m in zip(array.shape, shape[missing:], strict=True)):
        raise ValueError(f"an array of shape {array.shape} does not broadcast to {shape}")
    return (0,) * missing + tuple(0 if n == 1 else s for n, s in zip(array.shape, array.strides, strict=True))


def collapse(shape: Shape, strides: Sequence[Shape]) -> tuple[Shape, list[Shape]]:
    """The same items in the same order with as few axes as every one of several layouts allows.

    >>> collapse((2, 3, 1, 4), [(12, 4, 4, 1), (0, 4, 0, 1)])
    ((2, 12), [(12, 1), (0, 1)])
    """
    extents: list[int] = []
    steps: list[tuple[int, ...]] = []  # for each kept axis, its stride in every layout
    for extent, step in zip(shape, zip(*strides, strict=True), strict=True):
        if extent == 1:
            continue
        if extents and all(outer == inner * extent for outer, inner in zip(steps[-1], step, strict=True)):
            extents[-1] *= extent
            steps[-1] = step
        else:
            extents.append(extent)
            steps.append(step)
    return tuple(extents), [tuple(step[k] for step in steps) for k in range(len(strides))]


def _in_memory_order(shape: Shape, strides: Sequence[Shape]) -> tuple[Shape, list[Shape]]:
    """Axes sorted by their stride in the last layout, that of an output: neighbouring threads write side by side."""
    order = sorted(range(len(shape)), key=lambda axis: -abs(strides[-1][axis]))
    return tuple(shape[axis] for axis in order), [tuple(layout[axis] for axis in order) for layout in strides]


# -------------------------------------------------------------------------------------------------------- elementwise


def map(  # the same name as in cpu.py
    function: scalar_ir.Function, dtype: np.dtype, inputs: Sequence[Any], outputs: Sequence[Array]
) -> None:
    """Write `function(*inputs)` to `outputs`, item by item.

    Args:
        function: scalar function, computed in `dtype` (half types in float32).
        dtype: the dtype that "real" parameters are cast to.
        inputs: arrays that broadcast to the outputs' shape (of any dtype and strides), or Python numbers.
        outputs: arrays of one shape. They may be the very same view as an input, but not overlap one otherwise.
    """
    shape = outputs[0].shape
    if 0 in shape:
        return
    device = _installed()
    values = [value if isinstance(value, (Array, float, int)) else value.item() for value in inputs]
    form, layout = _arrange(shape, [*(value for value in values if isinstance(value, Array)), *outputs])
    sources = tuple([_source_type(value) for value in values])
    results = tuple([output.dtype for output in outputs])
    key = function, dtype, sources, results, form
    handle = device.handles.get(key)
    if handle is None:
        handle = device.handles[key] = device.runtime.kernel(*map_source(function, dtype, sources, results, form))
    geometry = device.runtime.geometry
    size = math.prod(shape)
    blocks = min(-(-size // geometry.map_block), geometry.map_grid)
    arguments = [_argument(value) for value in (*values, *outputs)]
    device.runtime.launch(handle, blocks, geometry.map_block, size, *arguments, *layout)


def _arrange(shape: Shape, arrays: Sequence[Array]) -> tuple[Form, list[tuple[int, ...]]]:
    """The form of the loop that walks arrays together, and its last arguments: shape and strides if it is strided."""
    if all(array.shape == shape and array.is_contiguous() for array in arrays):
        return Form(), []
    extents, strides = collapse(*_in_memory_order(shape, [_broadcast_strides(array, shape) for array in arrays]))
    if all(steps == (1,) for steps in strides):
        return Form(), []
    if not extents:
        extents, strides = (1,), [(0,)] * len(arrays)
    return Form(len(extents), math.prod(shape) >= _WIDE), [extents, *strides]


def _source_type(value: Any) -> np.dtype | type:
    return value.dtype if isinstance(value, Array) else float if isinstance(value, float) else int


def _argument(value: Any) -> Any:
    return _pointer(value) if isinstance(value, Array) else value if isinstance(value, float) else int(value)


def _as_number(x: float) -> float:
    return x


def _as_bool(x: bool) -> bool:
    """What is not 0 is True."""
    return x


def copy(source: Array, target: Array) -> None:
    """Copy items, broadcasting and casting. A bool target is True where the source is not 0."""
    if source.storage is target.storage:  # they may overlap
        source = _detached(source)
    _assign(source, target)


def fill(target: Array, value: float | int | bool) -> None:
    """Set all items to a Python number."""
    _assign(value, target)


def _assign(source: Any, target: Array) -> None:
    if target.dtype.kind == "b":
        map(lower.lower(_as_bool), target.dtype, [source], [target])
    else:
        map(lower.lower(_as_number), accumulate_dtype(target.dtype), [source], [target])


def _detached(array: Array) -> Array:
    dense = empty(array.shape, array.dtype, array.device)
    _assign(array, dense)
    return dense


# --------------------------------------------------------------------------------------------- reductions and products


def reduce_sum(source: Array, axes: Sequence[int], out: Array) -> None:
    """out = the sum of `source` over `axes`.

    The order of the additions depends on shapes alone, so results are the same on every run. float32 is summed in
    float32, by threads, blocks and segments in turn, so that errors grow far slower than with the length.

    Args:
        source: array of any dtype and strides.
        axes: axes to sum over, non-negative; those left make the shape of `out`, in order.
        out: float sums are made in its dtype (half types in float32), sums of integers and bools in int64.
    """
    kept = [axis for axis in range(len(source.shape)) if axis not in axes]
    if out.shape != tuple(source.shape[axis] for axis in kept):
        raise ValueError(f"the sum of shape {source.shape} over axes {tuple(axes)} does not fit into {out.shape}")
    if out.size == 0:
        return
    if not out.is_contiguous():
        dense = empty(out.shape, out.dtype, out.device)
        reduce_sum(source, axes, dense)
        copy(dense, out)
        return
    source = _permuted(source, [*kept, *axes])
    rows, columns = out.size, math.prod(source.shape[len(kept) :])
    row_stride = _single_stride(source.shape[: len(kept)], source.strides[: len(kept)])
    column_stride = _single_stride(source.shape[len(kept) :], source.strides[len(kept) :])
    if row_stride is None or column_stride is None:
        source = contiguous(source)
        row_stride, column_stride = columns, 1
    _sum_rows(source, out, rows, columns, row_stride, column_stride)


def _permuted(array: Array, axes: Sequence[int]) -> Array:
    shape = tuple(array.shape[axis] for axis in axes)
    return array.view(shape, tuple(array.strides[axis] for axis in axes), array.offset)


def _single_stride(shape: Shape, strides: Shape) -> int | None:
    """The stride that walks some axes in C order, or None if it takes more than one."""
    if 0 in shape:
        return 0
    extents, (steps,) = collapse(shape, [strides])
    return None if len(extents) > 1 else steps[0] if steps else 0


def _sum_rows(source: Array, out: Array, rows: int, columns: int, row_stride: int, column_stride: int) -> None:
    """Sums rows into a contiguous `out`, by way of segments where they are long."""
    device = _installed()
    geometry = device.runtime.geometry
    segment = max(geometry.reduce_segment, -(-columns // _MOST_PARTS))
    parts = -(-columns // segment)
    target = out if parts <= 1 else empty((rows, parts), accumulate_dtype(out.dtype), out.device)
    key = sum, source.dtype, target.dtype, geometry.reduce_block
    handle = device.handles.get(key)
    if handle is None:
        text = cuda_kernels.reduce_sum_source(source.dtype, target.dtype, geometry.reduce_block)
        handle = device.handles[key] = device.runtime.kernel(*text)
    grid = rows, max(parts, 1)
    numbers = columns, segment, row_stride, column_stride
    device.runtime.launch(handle, grid, geometry.reduce_block, _pointer(source), _pointer(target), *numbers)
    if target is not out:
        _sum_rows(target, out, rows, parts, parts, 1)


def matmul(a: Array, b: Array, out: Array) -> None:
    """out = a @ b for matrices of any strides; leading axes of `a` and `b` broadcast to those of `out`.

    Float products are summed in the dtype of `out` (half types in float32), integers in int64. `a` and `b` have one
    dtype.
    """
    rows, columns = out.shape[-2:]
    inner = a.shape[-1]
    if a.shape[-2:] != (rows, inner) or b.shape[-2:] != (inner, columns) or a.dtype != b.dtype:
        raise ValueError(f"no product of {a.dtype}{a.shape} and {b.dtype}{b.shape} in {out.shape}")
    if out.size == 0:
        return
    device = _installed()
    tile = device.runtime.geometry.tile
    key = "matmul", a.dtype, out.dtype, tile
    handle = device.handles.get(key)
    if handle is None:
        handle = device.handles[key] = device.runtime.kernel(*cuda_kernels.matmul_source(a.dtype, out.dtype, tile))
    blocks = -(-rows // tile) * -(-columns // tile)
    batch = out.shape[:-2]
    layouts = [_broadcast_strides(array, (*batch, *array.shape[-2:])) for array in (a, b, out)]
    matrix_strides = [array.strides[-2:] for array in (a, b, out)]
    for index in np.ndindex(batch):
        pointers = [
            (array.storage.buffer.handle, array.offset + sum(i * s for i, s in zip(index, layout, strict=False)))
            for array, layout in zip((a, b, out), layouts, strict=True)
        ]
        device.runtime.launch(handle, blocks, (tile, tile), *pointers, rows, columns, inner, *matrix_strides)
