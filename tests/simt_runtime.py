"""The 'cuda' device of a machine without a GPU: the runtime interface of `numgrad.kernels.cuda` on the interpreter.

>>> with installed(SimulatedRuntime()) as runtime:
...     x = cuda.from_host(np.arange(3.0))
...     cuda.copy(x, x)
...     cuda.to_host(x), runtime.launches
(array([0., 1., 2.]), 2)
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import simt

from numgrad.kernels import cuda
from numgrad.kernels.cuda import ENTRY, Geometry

POISON = 0xFF  # NaN as a float, -1 as an integer


class SimulatedBuffer:
    """Device memory. Fresh and released bytes are poisoned, so that whoever reads them shows it."""

    def __init__(self, nbytes: int) -> None:
        self.memory = np.full(nbytes, POISON, np.uint8)
        self.is_released = False

    def items(self, dtype: Any) -> np.ndarray:
        """The memory as a 1-D array of whole items.

        Raises:
            SimulationError: the buffer was released.
        """
        if self.is_released:
            raise simt.SimulationError("device memory is used after its release")
        dtype = np.dtype(dtype)
        return self.memory[: len(self.memory) // dtype.itemsize * dtype.itemsize].view(dtype)


class SimulatedRuntime:
    """Allocates, copies and launches as the GPU's runtime does, in small blocks that are quick to interpret.

    `order` is the order of the threads of a block ("forward", "reverse" or a seed); `check=False` turns the race
    detector off. `launches` and `live_bytes` count, for tests.
    """

    def __init__(self, *, check: bool = True, order: str | int = "forward", geometry: Geometry | None = None) -> None:
        self.check = check
        self.order = order
        self.geometry = geometry or Geometry(map_block=4, map_grid=2, reduce_block=8, reduce_segment=64, tile=4)
        self.launches = 0
        self.live_bytes = 0

    def alloc(self, nbytes: int) -> SimulatedBuffer:
        """Fresh memory."""
        self.live_bytes += nbytes
        return SimulatedBuffer(nbytes)

    def release(self, buffer: SimulatedBuffer) -> None:
        """Ends a buffer's life: any later use is an error."""
        self.live_bytes -= len(buffer.memory)
        buffer.memory.fill(POISON)
        buffer.is_released = True

    def to_device(self, host: np.ndarray) -> SimulatedBuffer:
        """A buffer with the bytes of a contiguous array."""
        buffer = self.alloc(host.nbytes)
        buffer.memory[:] = host.reshape(-1).view(np.uint8)
        return buffer

    def to_host(self, buffer: SimulatedBuffer, dtype: np.dtype, count: int, offset: int) -> np.ndarray:
        """A copy of `count` items from item `offset` on."""
        return buffer.items(dtype)[offset : offset + count].copy()

    def kernel(self, source: str, signature: str) -> tuple[simt.Kernel, list[str]]:
        """What `launch` takes: the bound entry point of a kernel's text, and its parameters' types."""
        return simt.bind(source, ENTRY), signature.split()

    def launch(self, handle: Any, grid: Any, block: Any, *arguments: Any) -> None:
        """Runs a kernel to its end.

        Raises:
            TypeError: number or types of the arguments do not match the signature.
            SimulationError: the kernel does what a GPU leaves undefined.
        """
        kernel, parameters = handle
        if len(parameters) != len(arguments):
            raise TypeError(f"the kernel takes {len(parameters)} arguments, not {len(arguments)}")
        logs: dict[int, simt.AccessLog] = {}
        bound = [
            self._argument(k, code, value, logs)
            for k, (code, value) in enumerate(zip(parameters, arguments, strict=True))
        ]
        self.launches += 1
        simt.launch(kernel, grid, block, bound, check=self.check, order=self.order)

    def _argument(self, position: int, code: str, value: Any, logs: dict[int, simt.AccessLog]) -> Any:
        """An argument as the kernel sees it. Pointers into one buffer share a log: they may alias."""
        if code.startswith("*"):
            buffer, offset = value
            name = f"argument {position}"
            log = logs.setdefault(id(buffer), simt.AccessLog(f"bytes of {name}", simt.now)) if self.check else None
            return simt.Pointer(buffer.items(code[1:]), offset, log, name)
        scalar, _, length = code.partition("x")
        if length:
            if len(value) != int(length):
                raise TypeError(f"argument {position} needs {length} integers, not {len(value)}")
            return tuple(_scalar(position, scalar, item) for item in value)
        return _scalar(position, code, value)


@contextlib.contextmanager
def installed(runtime: SimulatedRuntime | None) -> Iterator[Any]:
    """Installs a runtime for a block, and afterwards what was there before."""
    before = cuda.runtime() if cuda.is_available() else None
    cuda.install(runtime)
    try:
        yield runtime
    finally:
        cuda.install(before)


def _scalar(position: int, code: str, value: Any) -> int | float:
    """A Python number which the type of the parameter can hold."""
    if code == "f8":
        return float(value)
    if type(value) is not int:
        raise TypeError(f"argument {position} must be an int, not {type(value).__name__}")
    limits = np.iinfo(code)
    if not limits.min <= value <= limits.max:
        raise TypeError(f"argument {position}: {value} does not fit into {limits.dtype}")
    return value
