"""The data under a tensor: a strided n-d array on one hardware device. It knows no graph.

`Storage` is the memory, shared by every view of it, with the version counter that autograd compares. `Array` is one
view of a storage: dtype, shape, strides and offset, both in *elements*. Kernels take and return `Array`s on every
device; on the CPU an array also carries the NumPy view that Numba kernels read.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

Shape = tuple[int, ...]


class Storage:
    """Memory of one device, and how often it was written in place.

    `buffer` is a 1-D contiguous ndarray on the CPU and the runtime's handle elsewhere. `writer` names the node of the
    last recorded in-place write, for the message about a modified saved tensor. `shared` is set as soon as two
    owners may see the memory: the engine steals a gradient only when it is not.
    """

    __slots__ = ("__weakref__", "buffer", "device", "shared", "version", "writer")

    def __init__(self, buffer: Any, device: str) -> None:
        self.buffer = buffer
        self.device = device
        self.version = 0
        self.writer: str | None = None
        self.shared = False


class Array:
    """A strided view of a `Storage`.

    `flat` is the 1-D ndarray of all items when they lie densely, in order, on the CPU; None otherwise. It is what flat
    kernels read, so it is made together with a fresh array. `ndarray` is the n-d NumPy view, made when first asked for.
    """

    __slots__ = ("_ndarray", "dtype", "flat", "offset", "shape", "storage", "strides")

    def __init__(
        self, storage: Storage, dtype: np.dtype, shape: Shape, strides: Shape, offset: int = 0, flat: Any = None
    ) -> None:
        self.storage = storage
        self.dtype = dtype
        self.shape = shape
        self.strides = strides
        self.offset = offset
        self.flat = flat
        self._ndarray = None

    @property
    def device(self) -> str:
        """Hardware device, such as `"cpu"` or `"cuda:0"`."""
        return self.storage.device

    @property
    def size(self) -> int:
        """Number of items."""
        return math.prod(self.shape)

    @property
    def ndarray(self) -> np.ndarray:
        """The NumPy view of a CPU array (shares its memory)."""
        view = self._ndarray
        if view is None:
            view = self._ndarray = self._make_ndarray()
        return view

    def _make_ndarray(self) -> np.ndarray:
        if self.flat is not None:
            return self.flat.reshape(self.shape)
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

    def view(self, shape: Shape, strides: Shape, offset: int) -> Array:
        """Another view of the same storage (not checked against its bounds)."""
        flat = None
        if self.storage.device == "cpu" and is_contiguous(shape, strides):
            flat = self.storage.buffer[offset : offset + math.prod(shape)]
        return Array(self.storage, self.dtype, shape, strides, offset, flat)


def is_contiguous(shape: Shape, strides: Shape) -> bool:
    """Whether a layout is C-contiguous, as PyTorch's `Tensor.is_contiguous`: empty layouts are."""
    if 0 in shape:
        return True
    expected = 1
    for extent, stride in zip(reversed(shape), reversed(strides), strict=True):
        if extent != 1:
            if stride != expected:
                return False
            expected *= extent
    return True


def contiguous_strides(shape: Sequence[int]) -> Shape:
    """Strides in elements of a C-contiguous array: `contiguous_strides((2, 3)) == (3, 1)`. An extent of 0 counts as 1."""
    strides = []
    step = 1
    for extent in reversed(shape):
        strides.append(step)
        step *= extent or 1
    return tuple(reversed(strides))
