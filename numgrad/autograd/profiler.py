"""Profiles of a block of code: which ops and nodes ran how often, how long they took, and what they made.

`numgrad.profiler` is the newer door to the same, with a schedule for training loops.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from types import TracebackType
from typing import Any

from . import profiling
from .profiler_util import DeviceType, EventList, FunctionEvent, FunctionEventAvg, events_of

__all__ = ["DeviceType", "EventList", "FunctionEvent", "FunctionEventAvg", "profile", "record_function"]


class profile:
    """Profile what the thread does in a `with` block.

    Args:
        enabled: False makes it do nothing.
        use_cpu: must stay True: what runs on the CPU is what is timed.
        record_shapes: note the shapes of inputs.
        with_flops: count the operations of products of matrices, of `mul` and of `add`.
        profile_memory: note the bytes of the tensors that ops make.
        with_stack: note the lines that ops were called from.
        with_modules: taken for PyTorch's sake; it has an effect on TorchScript alone there.

    Raises RuntimeError when entered twice.

    Example:
        >>> import numgrad as ng
        >>> x = ng.ones(3, requires_grad=True)
        >>> with ng.autograd.profiler.profile() as p:
        ...     (x * x).sum().backward()
        >>> [event.key for event in p.key_averages() if "Mul" in event.key]
        ['MulBackward0']
    """

    def __init__(
        self,
        enabled: bool = True,
        *,
        use_cpu: bool = True,
        record_shapes: bool = False,
        with_flops: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_modules: bool = False,
        acc_events: bool = False,
    ) -> None:
        if not use_cpu:
            raise ValueError("profile(use_cpu=False): what runs on the CPU is the only thing that is profiled")
        self.enabled = enabled
        self.entered = False
        self.record_shapes = record_shapes
        self.with_flops = with_flops
        self.record_shapes |= with_flops
        self.profile_memory = profile_memory
        self.with_stack = with_stack
        self.with_modules = with_modules
        self.acc_events = acc_events
        self._recorder: profiling.Recorder | None = None
        self._events: EventList | None = None

    def __enter__(self) -> profile | None:
        if not self.enabled:
            return None
        if self.entered:
            raise RuntimeError("Profiler context manager is not reentrant")
        self.entered = True
        self._recorder = profiling.Recorder(
            shapes=self.record_shapes, memory=self.profile_memory, stack=self.with_stack, flops=self.with_flops
        )
        self._recorder.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        recorder, self._recorder = self._recorder, None
        if recorder is None:
            return
        recorder.stop()
        before = self._events if self.acc_events and self._events is not None else EventList()
        found = events_of(
            recorder, profile_memory=self.profile_memory, with_flops=self.with_flops, first=len(before) + 1
        )
        self._events = EventList([*before, *found], profile_memory=self.profile_memory, with_flops=self.with_flops)
        self.entered = not self.acc_events

    def __repr__(self) -> str:
        if self._events is None:
            return "<unfinished profiler_legacy.profile>" if self.entered else "<unfinished torch.autograd.profile>"
        return repr(self._events)

    def __str__(self) -> str:
        return self.__repr__() if self._events is None else str(self._events)

    @property
    def function_events(self) -> EventList:
        """The events, in the order in which they began. Raises RuntimeError before the end of the block."""
        if self._events is None:
            raise RuntimeError("Profiler didn't finish running")
        return self._events

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds of all events."""
        return self.function_events.self_cpu_time_total

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int | None = 75,
        max_name_column_width: int | None = 55,
        max_shapes_column_width: int | None = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
        time_unit: str | None = None,
    ) -> str:
        """The events as a table: see `EventList.table`."""
        return self.function_events.table(
            sort_by, row_limit, max_src_column_width, max_name_column_width, max_shapes_column_width, header,
            top_level_events_only, time_unit,
        )  # fmt: skip

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        """The sums over the events of each name: see `EventList.key_averages`."""
        return self.function_events.key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def total_average(self) -> FunctionEventAvg:
        """The sum over all events."""
        return self.function_events.total_average()

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Write the events as a trace for a viewer: see `EventList.export_chrome_trace`."""
        self.function_events.export_chrome_trace(path)

    def export_stacks(self, path: str | os.PathLike[str], metric: str = "self_cpu_time_total") -> None:
        """Write the stacks for a flame graph. Raises RuntimeError without `with_stack`."""
        if not self.with_stack:
            raise AssertionError("export_stacks() requires with_stack=True")
        self.function_events.export_stacks(path, metric)


class record_function:
    """Label a block of code in profiles; also a decorator.

    Args:
        name: the label.
        args: what to note beside it.

    Example:
        >>> import numgrad as ng
        >>> with ng.profiler.profile() as p, ng.profiler.record_function("twice"):
        ...     y = ng.ones(3) * 2
        >>> [event.name for event in p.events() if event.cpu_parent is None]
        ['twice']
    """

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name = name
        self.args = args
        self._open: tuple[profiling.Recorder, profiling.Note] | None = None

    def __enter__(self) -> record_function:
        recorder = profiling.current()
        if recorder is not None:
            self._open = recorder, recorder.begin(self.name, "user_annotation")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._open is not None:
            recorder, note = self._open
            self._open = None
            recorder.end(note)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function within the label, whenever it is called."""

        @functools.wraps(function)
        def labelled(*args: Any, **kwargs: Any) -> Any:
            with record_function(self.name, self.args):
                return function(*args, **kwargs)

        return labelled
