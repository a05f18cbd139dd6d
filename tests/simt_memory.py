"""Memory of the SIMT interpreter: device memory and shared memory that notice what a GPU would let pass.

An `AccessLog` finds data races. It compares accesses by the barriers that their threads had passed, not by what
happened to run first, so it reports a race even when the result came out right.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

WARP_SIZE = 32


class SimulationError(Exception):
    """A kernel did what a GPU leaves undefined."""


class DataRace(SimulationError):
    """Two threads touched a cell, one of them wrote it, and no barrier lies between."""


class OutOfBounds(SimulationError):
    """An index outside its memory."""


class UninitialisedRead(SimulationError):
    """Shared memory was read before anyone wrote it."""


class DivergentBarrier(SimulationError):
    """The threads of a block, or of a warp, do not all arrive at the same barrier."""


class Stamp(NamedTuple):
    """When an access happened: by which thread, after how many barriers of its block and its warp."""

    block: int
    thread: int
    block_epoch: int = 0
    warp_epoch: int = 0

    def is_ordered_before(self, later: Stamp) -> bool:
        """Whether a barrier, or program order, lies between this access and a later one of this run."""
        block, thread, block_epoch, warp_epoch = self
        if block != later[0]:
            return False  # nothing orders two blocks of one launch
        if thread == later[1] or block_epoch != later[2]:
            return True
        return warp_epoch != later[3] and thread // WARP_SIZE == later[1] // WARP_SIZE

    def __str__(self) -> str:
        return f"thread {self.thread} of block {self.block}"


Cell = int | tuple[int, ...]
Accesses = dict[tuple[int, int], Stamp]


class AccessLog:
    """The accesses of one memory in one launch.

    `now` gives the stamp of the running thread. Of each cell the log keeps the last plain write, and the last read and
    atomic update of every thread. That is enough: an access which is ordered after a thread's last one is ordered after
    all its earlier ones.
    """

    def __init__(self, name: str, now: Callable[[], Stamp]) -> None:
        self.name = name
        self.now = now
        self._writes: dict[Cell, Stamp] = {}
        self._reads: dict[Cell, Accesses] = {}
        self._updates: dict[Cell, Accesses] = {}

    def read(self, cell: Cell) -> None:
        """Notes a plain read; DataRace when another thread's write is not ordered before it."""
        stamp = self.now()
        self._check_write(cell, stamp, "reads")
        self._check_others(self._updates.get(cell), cell, stamp, "reads", "updated")
        readers = self._reads.get(cell)
        if readers is None:
            readers = self._reads[cell] = {}
        readers[stamp[:2]] = stamp

    def write(self, cell: Cell) -> None:
        """Notes a plain write; DataRace when any other access is not ordered before it."""
        stamp = self.now()
        self._check_write(cell, stamp, "writes")
        self._check_others(self._updates.get(cell), cell, stamp, "writes", "updated")
        self._check_others(self._reads.get(cell), cell, stamp, "writes", "read")
        self._writes[cell] = stamp

    def update(self, cell: Cell) -> None:
        """Notes an atomic update: it may meet other atomic updates, but no plain access."""
        stamp = self.now()
        self._check_write(cell, stamp, "updates")
        self._check_others(self._reads.get(cell), cell, stamp, "updates", "read")
        self._updates.setdefault(cell, {})[stamp[:2]] = stamp

    def is_written(self, cell: Cell) -> bool:
        """Whether a cell was ever plainly written."""
        return cell in self._writes

    def _check_write(self, cell: Cell, stamp: Stamp, verb: str) -> None:
        write = self._writes.get(cell)
        if write is not None and not write.is_ordered_before(stamp):
            self._report(cell, stamp, verb, write, "wrote")

    def _check_others(self, accesses: Accesses | None, cell: Cell, stamp: Stamp, verb: str, did: str) -> None:
        if accesses is not None:
            for other in accesses.values():
                if not other.is_ordered_before(stamp):
                    self._report(cell, stamp, verb, other, did)

    def _report(self, cell: Cell, stamp: Stamp, verb: str, other: Stamp, did: str) -> None:
        raise DataRace(f"{self.name}[{cell}]: {stamp} {verb} what {other} {did}, with no barrier between")


class Pointer:
    """What a kernel sees of a typed pointer: the items of a buffer, counted from an offset.

    `items` is the whole buffer as a 1-D array, so that negative strides may step back from the offset.
    """

    def __init__(
        self, items: np.ndarray, offset: int = 0, log: AccessLog | None = None, name: str = "argument"
    ) -> None:
        self.items = items
        self.offset = offset
        self.log = log
        self.name = name

    def _position(self, index: Any) -> int:
        position = self.offset + operator.index(index)
        if not 0 <= position < len(self.items):
            raise OutOfBounds(f"{self.name}[{index}] lies outside the {len(self.items)} items of its buffer")
        return position

    def __getitem__(self, index: Any) -> Any:
        position = self._position(index)
        if self.log is not None:
            self.log.read(position * self.items.itemsize)
        return self.items[position]

    def __setitem__(self, index: Any, value: Any) -> None:
        position = self._position(index)
        if self.log is not None:
            self.log.write(position * self.items.itemsize)
        self.items[position] = value

    def update(self, index: Any, function: Callable[[Any], Any]) -> Any:
        """Replaces an item by a function of itself in one step; returns the old one."""
        position = self._position(index)
        if self.log is not None:
            self.log.update(position * self.items.itemsize)
        old = self.items[position]
        self.items[position] = function(old)
        return old


class SharedArray:
    """A `cuda.shared.array` of one block. Without a log only NumPy's own bounds are checked."""

    def __init__(self, shape: Any, dtype: Any, name: str, log: AccessLog | None) -> None:
        self.items = np.empty(shape, dtype)
        self.items.view(np.uint8).fill(0xFF)
        self.name = name
        self.log = log
        self._cells: dict[Any, Cell] = {}  # the indices that were found to be inside

    def _cell(self, index: Any) -> Cell:
        """The index as the key of its cell."""
        cell = self._cells.get(index)
        if cell is None:
            cell = self._cells[index] = self._checked_cell(index)
        return cell

    def _checked_cell(self, index: Any) -> Cell:
        cell = tuple(map(operator.index, index)) if isinstance(index, tuple) else (operator.index(index),)
        shape = self.items.shape
        if len(cell) != len(shape) or any(not 0 <= i < extent for i, extent in zip(cell, shape, strict=True)):
            raise OutOfBounds(f"{self.name}[{index}] lies outside its shape {shape}")
        return cell

    def __getitem__(self, index: Any) -> Any:
        if self.log is not None:
            cell = self._cell(index)
            self.log.read(cell)
            self._require_written(cell)
        return self.items[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        if self.log is not None:
            self.log.write(self._cell(index))
        self.items[index] = value

    def update(self, index: Any, function: Callable[[Any], Any]) -> Any:
        """Replaces an item by a function of itself in one step; returns the old one."""
        if self.log is not None:
            cell = self._cell(index)
            self.log.update(cell)
            self._require_written(cell)
        old = self.items[index]
        self.items[index] = function(old)
        return old

    def _require_written(self, cell: Cell) -> None:
        if self.log is not None and not self.log.is_written(cell):
            raise UninitialisedRead(f"{self.name}{list(cell)} was never written")
