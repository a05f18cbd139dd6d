"""A small SIMT interpreter: runs the Python source of a CUDA kernel on NumPy memory, with the checks a GPU does not do.

A kernel is plain Python in the pointer ABI (typed pointers, 64-bit scalars, small integer tuples) that names `cuda`,
`math`, `libdevice` and the number types `f32`, `i64` ... without importing them; `bind` gives it those of this module.
A kernel without barriers runs as plain calls, one a CUDA thread. Otherwise every CUDA thread is a greenlet, so that a
barrier or a warp shuffle costs a switch. Checked are:

* data races in global and shared memory: two accesses of one cell, one of them a write, by threads that no barrier
  orders. Found from the barriers passed, so a race is reported even where this run happened to give the right result;
* indices out of bounds, negative ones too;
* reads of shared memory that nobody wrote (it is filled with 0xFF);
* divergent barriers, barriers that some threads of the block never reach, blocks of more than 1024 threads;
* shuffles that read a lane that does not take part.

`math` has IEEE semantics and keeps float32, as device code does. What this cannot show: the types that a compiler would
infer (see test_cuda_compile.py), the memory model beyond barriers, and speed.

>>> def double(n, x, y):
...     i = cuda.grid(1)
...     if i < n:
...         y[i] = f32(2) * x[i]
>>> y = np.empty(3, np.float32)
>>> launch(bind(double), grid=2, block=2, arguments=[3, np.arange(3, dtype=np.float32), y])
>>> y
array([0., 2., 4.], dtype=float32)
"""

from __future__ import annotations

import contextvars
import math
import random
import sys
import threading
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from greenlet import getcurrent, greenlet
from simt_memory import (
    WARP_SIZE,
    AccessLog,
    DataRace,
    DivergentBarrier,
    OutOfBounds,
    Pointer,
    SharedArray,
    SimulationError,
    Stamp,
    UninitialisedRead,
)

__all__ = [
    "NAMES", "AccessLog", "DataRace", "Dim3", "DivergentBarrier", "Kernel", "OutOfBounds", "Pointer", "SimulationError",
    "UninitialisedRead", "bind", "launch", "now",
]  # fmt: skip

MAX_BLOCK = 1024


class Dim3(NamedTuple):
    """Extents or an index in three dimensions."""

    x: int = 1
    y: int = 1
    z: int = 1

    @property
    def size(self) -> int:
        """Number of points."""
        return self.x * self.y * self.z

    def point(self, linear: int) -> Dim3:
        """The index with this linear position; x runs fastest."""
        return Dim3(linear % self.x, linear // self.x % self.y, linear // (self.x * self.y))


def _dim3(extents: int | Sequence[int]) -> Dim3:
    return Dim3(extents) if isinstance(extents, int) else Dim3(*extents)


# -------------------------------------------------------------------------------------------- the names kernels speak


class IeeeMath:
    """`math` as device code has it: no exceptions, and float32 stays float32."""

    pi, e, inf, nan = math.pi, math.e, math.inf, math.nan
    _NUMPY_NAMES: ClassVar = {
        "fabs": "abs", "pow": "power", "asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2",
        "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh",
    }  # fmt: skip

    def __getattr__(self, name: str) -> Callable[..., Any]:
        function = getattr(np, self._NUMPY_NAMES.get(name, name), None) or _without_exceptions(getattr(math, name))
        setattr(self, name, function)  # the next look-up finds it directly
        return function


def _without_exceptions(function: Callable[..., float]) -> Callable[..., Any]:
    """A function of `math` that NumPy lacks (erf, lgamma ...), returning inf where `math` raises."""

    def call(x: Any) -> Any:
        try:
            result = function(x)
        except (OverflowError, ValueError):
            result = math.inf
        return x.dtype.type(result) if isinstance(x, np.floating) else result

    return call


class Libdevice:
    """The few libdevice functions that kernels use; any other is an AttributeError, not a silent NaN."""

    @staticmethod
    def int_as_float(bits: Any) -> np.float32:
        """The float32 with these bits."""
        return np.uint32(int(bits) & 0xFFFFFFFF).view(np.float32)

    @staticmethod
    def float_as_int(x: Any) -> np.int32:
        """The bits of a float32."""
        return np.float32(x).view(np.int32)

    floor = floorf = staticmethod(np.floor)
    ceil = ceilf = staticmethod(np.ceil)
    trunc = truncf = staticmethod(np.trunc)
    rint = rintf = staticmethod(np.rint)
    exp2 = exp2f = staticmethod(np.exp2)
    cbrt = cbrtf = staticmethod(np.cbrt)


class _Shared:
    @staticmethod
    def array(shape: Any, dtype: Any) -> SharedArray:
        """The block's array of this call site: all its threads get the same one."""
        caller = sys._getframe(1)
        return _running().block.shared_array((caller.f_code, caller.f_lasti), shape, dtype, caller.f_lineno)


class _Atomic:
    @staticmethod
    def add(memory: Any, index: Any, value: Any) -> Any:
        return memory.update(index, lambda old: old + value)

    @staticmethod
    def max(memory: Any, index: Any, value: Any) -> Any:
        return memory.update(index, lambda old: value if value > old else old)

    @staticmethod
    def min(memory: Any, index: Any, value: Any) -> Any:
        return memory.update(index, lambda old: value if value < old else old)

    @staticmethod
    def cas(memory: Any, index: Any, expected: Any, value: Any) -> Any:
        return memory.update(index, lambda old: value if old == expected else old)


class Cuda:
    """What kernels know as `cuda`: the part of `numba.cuda` that they may use."""

    warpsize = WARP_SIZE
    shared = _Shared
    atomic = _Atomic
    threadIdx = property(lambda self: _running().index)
    blockIdx = property(lambda self: _running().block.index)
    blockDim = property(lambda self: _running().block.launch.block)
    gridDim = property(lambda self: _running().block.launch.grid)
    laneid = property(lambda self: _running().lane)

    @staticmethod
    def jit(*_: Any, **options: Any) -> Callable[[Any], Any]:
        """`@cuda.jit(device=True)` marks helpers; here they stay what they are."""
        if not options.get("device"):
            raise SimulationError("only device functions are decorated: whoever loads a kernel compiles it")
        return lambda function: function

    def grid(self, ndim: int) -> Any:
        """Global index of the running thread: an int for one dimension, else a tuple."""
        thread, block, extent = self.threadIdx, self.blockIdx, self.blockDim
        index = tuple(b * e + t for b, e, t in zip(block, extent, thread, strict=True))
        return index[0] if ndim == 1 else index[:ndim]

    def gridsize(self, ndim: int) -> Any:
        """Number of threads of the grid, along each of `ndim` dimensions."""
        extents = tuple(g * b for g, b in zip(self.gridDim, self.blockDim, strict=True))
        return extents[0] if ndim == 1 else extents[:ndim]

    def syncthreads(self) -> None:
        """Barrier of the block."""
        _running().wait("syncthreads")

    def syncthreads_count(self, predicate: Any) -> int:
        """Barrier of the block that counts true predicates."""
        return _running().wait("syncthreads_count", bool(predicate))

    def syncwarp(self) -> None:
        """Barrier of the warp; it orders memory accesses, which shuffles do not."""
        _running().wait("syncwarp")

    def shfl_sync(self, mask: int, value: Any, lane: int) -> Any:
        """The value of a lane."""
        return _running().wait("shfl_sync", (value, int(lane)))

    def shfl_up_sync(self, mask: int, value: Any, delta: int) -> Any:
        """The value of the lane `delta` below; the lowest lanes keep theirs."""
        lane = _running().lane
        return _running().wait("shfl_up_sync", (value, lane - delta if lane >= delta else lane))

    def shfl_down_sync(self, mask: int, value: Any, delta: int) -> Any:
        """The value of the lane `delta` above; the highest lanes keep theirs."""
        lane = _running().lane
        return _running().wait("shfl_down_sync", (value, lane + delta if lane + delta < WARP_SIZE else lane))

    def shfl_xor_sync(self, mask: int, value: Any, lanes: int) -> Any:
        """The value of the lane whose number differs in these bits."""
        return _running().wait("shfl_xor_sync", (value, _running().lane ^ lanes))

    def ballot_sync(self, mask: int, predicate: Any) -> int:
        """One bit for each lane whose predicate is true."""
        return _running().wait("ballot_sync", bool(predicate))


_WARP_OPERATIONS = {"syncwarp", "shfl_sync", "shfl_up_sync", "shfl_down_sync", "shfl_xor_sync", "ballot_sync"}
_BLOCK_OPERATIONS = {"syncthreads", "syncthreads_count"}
_SWITCHING = _WARP_OPERATIONS | _BLOCK_OPERATIONS

NAMES: dict[str, Any] = {
    "cuda": Cuda(),
    "math": IeeeMath(),
    "libdevice": Libdevice,
    "int": np.int64,
    "boolean": np.bool_,
    "f16": np.float16, "f32": np.float32, "f64": np.float64,
    "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
    "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64,
}  # fmt: skip


@dataclass(frozen=True)
class Kernel:
    """A function whose free names are bound to the interpreter's."""

    function: Callable[..., None]
    has_barriers: bool


def bind(source: str | Callable[..., Any], entry: str = "", names: dict[str, Any] | None = None) -> Kernel:
    """Makes a kernel of a function, or of a module's text and the name of its entry point.

    `names` adds to, or replaces, what the interpreter binds. A function's plain helpers are bound as well.
    """
    scope = {**NAMES, **(names or {}), "__name__": "simulated_kernel"}
    if isinstance(source, str):
        exec(compile(source, "<kernel>", "exec"), scope)
        function = scope[entry]
        functions = [value for value in scope.values() if isinstance(value, types.FunctionType)]
    else:
        bound: dict[types.FunctionType, types.FunctionType] = {}
        function = _rebind(source, scope, bound)
        functions = list(bound.values())
    return Kernel(function, any(_SWITCHING & set(f.__code__.co_names) for f in functions))


def _rebind(function: Any, scope: dict[str, Any], bound: dict[Any, Any]) -> Any:
    """A copy of a function in which the placeholders of `scope` win over its own globals."""
    if function not in bound:
        variables = {**function.__globals__, **scope}
        copy = types.FunctionType(
            function.__code__, variables, function.__name__, function.__defaults__, function.__closure__
        )
        bound[function] = copy
        for name in function.__code__.co_names:
            if isinstance(variables.get(name), types.FunctionType):
                variables[name] = _rebind(variables[name], scope, bound)
    return bound[function]


# ---------------------------------------------------------------------------------------------------------- execution


class Thread:
    """One CUDA thread: who it is, and at which barrier it waits."""

    __slots__ = ("block", "coroutine", "index", "linear", "operand", "result", "stamp", "waits_at")

    def __init__(self, block: Block, linear: int) -> None:
        self.block = block
        self.linear = linear
        self.index = block.launch.block.point(linear)
        self.stamp = Stamp(block.linear, linear)
        self.waits_at: tuple[str, Any] | None = None
        self.operand: Any = None
        self.result: Any = None
        self.coroutine: greenlet | None = None

    @property
    def lane(self) -> int:
        """Position in the warp."""
        return self.linear % WARP_SIZE

    @property
    def warp(self) -> int:
        """Number of the warp in its block."""
        return self.linear // WARP_SIZE

    def wait(self, operation: str, operand: Any = None) -> Any:
        """Hands over to the scheduler until the barrier is complete; returns what the operation gives this thread."""
        caller = sys._getframe(2)
        self.waits_at = operation, (caller.f_code.co_name, caller.f_lasti)
        self.operand = operand
        assert self.coroutine is not None and self.coroutine.parent is not None
        self.coroutine.parent.switch()
        return self.result

    def release(self, result: Any = None) -> None:
        """Lets the thread go on when its turn comes."""
        self.waits_at, self.operand, self.result = None, None, result


class Block:
    """One block of threads with its shared memory and its barriers."""

    def __init__(self, launch: Launch, linear: int) -> None:
        self.launch = launch
        self.linear = linear
        self.index = launch.grid.point(linear)
        self._shared: dict[Any, SharedArray] = {}

    def shared_array(self, site: Any, shape: Any, dtype: Any, line: int) -> SharedArray:
        """The shared array made at a call site."""
        if site not in self._shared:
            name = f"shared array of line {line}"
            self._shared[site] = SharedArray(shape, dtype, name, AccessLog(name, now) if self.launch.check else None)
        return self._shared[site]

    def run(self) -> None:
        """Runs all threads to their end."""
        threads = [Thread(self, linear) for linear in self.launch.thread_order()]
        if self.launch.kernel.has_barriers:
            self._run_together(threads)
        else:
            for thread in threads:
                self._switch_to(thread, self.launch.kernel.function, *self.launch.arguments)

    def _switch_to(self, thread: Thread, run: Callable[..., Any], *arguments: Any) -> None:
        _current.thread = thread
        try:
            run(*arguments)
        except Exception as error:
            error.add_note(f"in block {tuple(self.index)}, thread {tuple(thread.index)}")
            raise

    def _run_together(self, threads: list[Thread]) -> None:
        scheduler = getcurrent()
        for thread in threads:
            thread.coroutine = greenlet(self.launch.kernel.function, scheduler)
            thread.coroutine.gr_context = contextvars.copy_context()  # np.errstate is a context variable
            self._switch_to(thread, thread.coroutine.switch, *self.launch.arguments)
        live = [thread for thread in threads if not thread.coroutine.dead]  # type: ignore[union-attr]
        while live:
            self._release(live)
            for thread in live:
                if thread.waits_at is None:
                    self._switch_to(thread, thread.coroutine.switch)  # type: ignore[union-attr]
            live = [thread for thread in live if not thread.coroutine.dead]  # type: ignore[union-attr]

    def _release(self, live: list[Thread]) -> None:
        """Completes the warp operations that can be, or else the barrier of the block. All live threads wait."""
        warps: dict[int, list[Thread]] = {}
        for thread in live:
            warps.setdefault(thread.warp, []).append(thread)
        ready = [warp for warp in warps.values() if any(_operation(thread) in _WARP_OPERATIONS for thread in warp)]
        for warp in ready:
            _require_one_place(warp)
            _complete_warp_operation(warp)
        if not ready:
            _require_one_place(live)
            self._complete_block_operation(live)

    def _complete_block_operation(self, live: list[Thread]) -> None:
        if len(live) != self.launch.block.size:
            raise DivergentBarrier(f"only {len(live)} of {self.launch.block.size} threads reach a barrier of the block")
        result = sum(thread.operand for thread in live) if _operation(live[0]) == "syncthreads_count" else None
        for thread in live:
            thread.stamp = thread.stamp._replace(block_epoch=thread.stamp.block_epoch + 1)
            thread.release(result)


def _operation(thread: Thread) -> str:
    assert thread.waits_at is not None
    return thread.waits_at[0]


def _require_one_place(threads: list[Thread]) -> None:
    places = {thread.waits_at for thread in threads}
    if len(places) > 1:
        raise DivergentBarrier(f"threads of one group wait at different places: {sorted(map(str, places))}")


def _complete_warp_operation(warp: list[Thread]) -> None:
    operation = _operation(warp[0])
    if operation == "syncwarp":
        for thread in warp:
            thread.stamp = thread.stamp._replace(warp_epoch=thread.stamp.warp_epoch + 1)
            thread.release()
        return
    operands = {thread.lane: thread.operand for thread in warp}
    for thread in warp:
        if operation == "ballot_sync":
            thread.release(sum(1 << lane for lane, predicate in operands.items() if predicate))
        else:
            _, source = operands[thread.lane]
            if source not in operands:
                raise SimulationError(f"{operation} of lane {thread.lane} reads lane {source}, which takes no part")
            thread.release(operands[source][0])


@dataclass(frozen=True)
class Launch:
    """A kernel with its geometry and arguments."""

    kernel: Kernel
    grid: Dim3
    block: Dim3
    arguments: list[Any]
    check: bool
    order: str | int

    def thread_order(self) -> list[int]:
        """The order in which threads of a block get their turn."""
        threads = list(range(self.block.size))
        if self.order == "reverse":
            threads.reverse()
        elif self.order != "forward":
            random.Random(self.order).shuffle(threads)
        return threads


class _Current:
    """The running thread. Launches take turns, so one is enough."""

    thread: Thread | None = None


_current = _Current()
_launch_lock = threading.Lock()


def _running() -> Thread:
    thread = _current.thread
    assert thread is not None, "device code ran outside a launch"
    return thread


def now() -> Stamp:
    """Which thread runs, and how many barriers it has passed."""
    return _current.thread.stamp  # type: ignore[union-attr]  # not through _running: this is the hot path


def _pointer(name: str, items: np.ndarray, check: bool) -> Pointer:
    return Pointer(items, 0, AccessLog(name, now) if check else None, name)


def launch(
    kernel: Kernel,
    grid: int | Sequence[int],
    block: int | Sequence[int],
    arguments: Sequence[Any],
    *,
    check: bool = True,
    order: str | int = "forward",
) -> None:
    """Runs a kernel: `arguments` are arrays (1-D and contiguous), `Pointer`s, numbers and tuples of integers.

    `order` is "forward", "reverse" or a seed for a shuffled order. With `check=False` accesses are not logged; bounds
    of global memory are still checked.

    Raises:
        SimulationError: the kernel does what a GPU leaves undefined; the subclass says what.
    """
    grid, block = _dim3(grid), _dim3(block)
    if grid.size == 0 or not 0 < block.size <= MAX_BLOCK:
        raise SimulationError(f"a grid of {tuple(grid)} blocks of {tuple(block)} threads cannot be launched")
    bound = [
        _pointer(f"argument {position}", value, check) if isinstance(value, np.ndarray) else value
        for position, value in enumerate(arguments)
    ]
    run = Launch(kernel, grid, block, bound, check, order)
    with _launch_lock, np.errstate(all="ignore"):
        try:
            for linear in range(grid.size):
                Block(run, linear).run()
        finally:
            _current.thread = None  # it holds the arguments
