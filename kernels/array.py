"""The data under a tensor: a strided n-d array on one hardware device. It knows no graph.

`Storage` is the memory, shared by every view of it, with the version counter that autograd compares. `Array` is one
view of a storage: dtype, shape, strides and offset, both in *elements*. Kernels take and return `Array`s on every
device; on the CPU an array also carries the NumPy view that Numba kernels read.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .locks import fork_safe_lock

Shape = tuple[int, ...]
Layout = tuple[Shape, Shape, int]  # shape, strides, offset


UNCOUNTED = -(1 << 62)  # the version at first of memory whose writes nobody counts; it stays negative


class Storage:
    """Memory of one device, and how often it was written in place.

    `buffer` is a 1-D contiguous ndarray on the CPU and the runtime's handle elsewhere. `writer` tells, for the message
    about a modified saved tensor, of the last recorded in-place write: the name of the node that the base tensor then
    had, and the identity of its array.
    """

    __slots__ = ("__weakref__", "buffer", "device", "version", "writer")

    def __init__(self, buffer: Any, device: str) -> None:
        self.buffer = buffer
        self.device = device
        self.version = 0
        self.writer: tuple[str, Any] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.buffer, self.device)


def _restored(buffer: np.ndarray, device: str) -> Storage:
    """A storage from its pickle. A pickle makes its own dtype object; kernels are found by NumPy's one of each kind."""
    return Storage(buffer.view(np.dtype(buffer.dtype.type)), device)


class Array:
    """A strided view of a `Storage`.

    `flat` is the 1-D ndarray of all items when they lie densely, in order, on the CPU; None otherwise. It is what flat
    kernels read, so it is made together with a fresh array.

    A fresh CPU array has no `Storage` yet (0.12 us, which most results never need): it gets one when it is first viewed,
    written in place or asked for it. Until then its version is 0.

    `shared` is set as soon as two owners may see the array: the engine takes over a gradient only when it is not.
    """

    __slots__ = ("_ndarray", "_storage", "dtype", "flat", "offset", "shape", "shared", "strides")

    _ndarray: np.ndarray

    def __init__(
        self, storage: Storage | None, dtype: np.dtype, shape: Shape, strides: Shape, offset: int = 0, flat: Any = None
    ) -> None:
        self._storage = storage
        self.dtype = dtype
        self.shape = shape
        self.strides = strides
        self.offset = offset
        self.flat = flat
        self.shared = False

    @property
    def storage(self) -> Storage:
        """The memory, made known on first use."""
        storage = self._storage
        if storage is None:
            with _making_storage:
                storage = self._storage
                if storage is None:
                    storage = self._storage = Storage(self.flat, "cpu")
        return storage

    @property
    def version(self) -> int:
        """How often the memory was written in place."""
        storage = self._storage
        return 0 if storage is None else storage.version

    @property
    def device(self) -> str:
        """Hardware device, such as `"cpu"` or `"cuda:0"`."""
        storage = self._storage
        return "cpu" if storage is None else storage.device

    @property
    def size(self) -> int:
        """Number of items."""
        return math.prod(self.shape)

    @property
    def ndarray(self) -> np.ndarray:
        """The n-d NumPy view of a CPU array (shares its memory), made when first asked for."""
        try:
            return self._ndarray
        except AttributeError:
            self._ndarray = self._make_ndarray()
            return self._ndarray

    def _make_ndarray(self) -> np.ndarray:
        if self.flat is not None:
            return self.flat.reshape(self.shape)
        buffer = self.storage.buffer
        if len(self.shape) == 2 and buffer.dtype is self.dtype and self.strides == (1, self.shape[0]):
            items = buffer[self.offset : self.offset + self.size]
            return items.reshape(-1, self.shape[0]).T  # a matrix transposed: 1 us less than what follows
        itemsize = self.dtype.itemsize
        return np.ndarray(
            self.shape,
            self.dtype,
            self.storage.buffer,
            self.offset * itemsize,
            tuple(s * itemsize for s in self.strides),
        )

    def is_contiguous(self) -> bool:
        """Whether the items lie in C order without gaps (strides of length-1 axes do not matter)."""
        return self.flat is not None or is_contiguous(self.shape, self.strides)

    @property
    def layout(self) -> Layout:
        """Shape, strides and offset."""
        return self.shape, self.strides, self.offset

    def storage_items(self) -> int:
        """Number of items that the storage holds (CPU)."""
        return self.storage.buffer.nbytes // self.dtype.itemsize

    def view(self, shape: Shape, strides: Shape, offset: int, dtype: np.dtype | None = None) -> Array:
        """Another view of the same storage (not checked against its bounds), maybe as items of another dtype."""
        storage = self.storage
        dtype = self.dtype if dtype is None else dtype
        flat = None
        if storage.device == "cpu" and is_contiguous(shape, strides):
            buffer, size = storage.buffer, math.prod(shape)
            if buffer.dtype is dtype:
                flat = buffer[offset : offset + size]
            else:
                flat = np.ndarray((size,), dtype, buffer, offset * dtype.itemsize if size else 0)
        return Array(storage, dtype, shape, strides, offset, flat)

    def memory(self) -> np.ndarray:
        """All items of a CPU array that lies densely in some order of its dimensions, in memory order."""
        return self.view((self.size,), (1,), self.offset).flat


def dense_array(flat: np.ndarray, dtype: np.dtype, shape: Shape, strides: Shape, new: Any = object.__new__) -> Array:
    """`Array(None, dtype, shape, strides, 0, flat)`, a fresh CPU array, made in three quarters of the time."""
    array = new(Array)  # a call of the class costs more than this function: 0.25 against 0.18 us
    array._storage = None
    array.dtype = dtype
    array.shape = shape
    array.strides = strides
    array.offset = 0
    array.flat = flat
    array.shared = False
    return array


_making_storage = fork_safe_lock()  # two threads that view one array must agree on its storage


def is_contiguous(shape: Shape, strides: Shape) -> bool:
    """Whether a layout is C-contiguous, as PyTorch's `Tensor.is_contiguous`: empty layouts are."""
    if not shape or 0 in shape:
        return True
    if len(shape) == 1:
        return strides[0] == 1 or shape[0] == 1
    if len(shape) == 2:
        return (shape[1] == 1 or strides[1] == 1) and (shape[0] == 1 or strides[0] == shape[1])
    expected = 1
    for extent, stride in zip(reversed(shape), reversed(strides), strict=True):
        if extent != 1:
            if stride != expected:
                return False
            expected *= extent
    return True


@functools.lru_cache(4096)
def broadcast_axes(shape: Shape, source: Shape) -> Shape:
    """The axes of `shape` along which an array of shape `source` was repeated to it: those to sum in its gradient."""
    lead = len(shape) - len(source)
    return (*range(lead), *(lead + d for d, n in enumerate(source) if n == 1 and shape[lead + d] != 1))


def dense_order(shape: Shape, strides: Shape) -> Shape | None:
    """The dimensions from the slowest to the fastest of a layout without gaps and overlaps; None for any other layout."""
    order = sorted(range(len(shape)), key=lambda d: (strides[d], shape[d]), reverse=True)
    expected = 1
    for d in reversed(order):
        if shape[d] != 1:
            if strides[d] != expected:
                return None
            expected *= shape[d]
    return tuple(order)


def elementwise_strides(shape: Shape, layouts: Sequence[tuple[Shape, Shape]]) -> Shape:
    """Strides of the result of an elementwise op on operands with these (shape, strides), as PyTorch lays it out.

    Dimensions are sorted by the operands' strides, the first operand that tells two of them apart deciding; where none
    does they keep C order. (The rule of PyTorch's TensorIterator.)
    """
    rank = len(shape)
    broadcast = []
    for own, strides in layouts:
        lead = rank - len(own)
        padded = (0,) * lead + strides
        broadcast.append(tuple(0 if d < lead or (own[d - lead] == 1 != shape[d]) else padded[d] for d in range(rank)))
    order = list(reversed(range(rank)))  # from the fastest dimension to the slowest
    for i in range(1, rank):
        moving = i
        for j in range(i - 1, -1, -1):
            decision = _compare(order[j], order[moving], shape, broadcast)
            if decision > 0:
                order[j], order[moving] = order[moving], order[j]
                moving = j
            elif decision < 0:
                break
    result = [0] * rank
    step = 1
    for d in order:
        result[d] = step
        step *= shape[d]
    return tuple(result)


def _compare(first: int, second: int, shape: Shape, layouts: Sequence[Shape]) -> int:
    """1 when dimension `first` should be slower than `second`, -1 when faster, 0 when no operand tells."""
    for strides in layouts:
        a, b = strides[first], strides[second]
        if a == 0 or b == 0:
            continue
        if a != b:
            return 1 if a > b else -1
        if shape[first] > shape[second]:
            return 1
    return 0


def contiguous_strides(shape: Sequence[int]) -> Shape:
    """Strides in elements of a C-contiguous array: `contiguous_strides((2, 3)) == (3, 1)`. An extent of 0 counts as 1."""
    rank = len(shape)
    if rank == 2:
        return (shape[1] or 1, 1)
    if rank < 2:
        return (1,) * rank
    strides = []
    step = 1
    for extent in reversed(shape):
        strides.append(step)
        step *= extent or 1
    return tuple(reversed(strides))


def around(shape: Shape, dim: int) -> Shape:
    """A contiguous shape as (before, extent, after) around a dimension; a 0-d one is one item."""
    if not shape:
        return 1, 1, 1
    return math.prod(shape[:dim]), shape[dim], math.prod(shape[dim + 1 :])


def storage_extent(layout: Layout) -> int:
    """One past the last element of the storage that a layout touches."""
    shape, strides, offset = layout
    if math.prod(shape) == 0:
        return offset
    return offset + 1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
