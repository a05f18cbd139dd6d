"""Profiles of training loops: which ops ran how often, how long they took, what memory they asked for, what was compiled.

    >>> import numgrad as ng
    >>> x = ng.ones(100, requires_grad=True)
    >>> with ng.profiler.profile(profile_memory=True) as p:
    ...     x.exp().sum().backward()
    >>> table = p.key_averages().table(sort_by="cpu_time_total", row_limit=10)

An event is one op (`aten::exp`, as PyTorch names it), the backward of one node (`ExpBackward0`), one block labelled with
`record_function`, or one kernel that was compiled or read from disk within an op; its time is the op's `compile_time_total`.
"""

from __future__ import annotations

import json
import os
import socket
import time
import warnings
from collections.abc import Callable, Iterable
from enum import Enum
from types import TracebackType
from typing import Any

from .autograd import profiler as _autograd_profiler
from .autograd.profiler import record_function
from .autograd.profiler_util import DeviceType, EventList

__all__ = [
    "DeviceType",
    "ProfilerAction",
    "ProfilerActivity",
    "profile",
    "record_function",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]


class ProfilerActivity(Enum):
    """What a profile is of."""

    CPU = 0
    XPU = 1
    MTIA = 2
    CUDA = 3
    HPU = 4
    PrivateUse1 = 5


class ProfilerAction(Enum):
    """What a profile does in a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


def supported_activities() -> set[ProfilerActivity]:
    """What can be profiled here: what runs on the CPU."""
    return {ProfilerActivity.CPU}


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
) -> Callable[[int], ProfilerAction]:
    """What to do in each step: skip the first, then in cycles wait, warm up, and record.

    Args:
        wait: steps of a cycle in which nothing is done.
        warmup: steps before the recorded ones.
        active: steps that are recorded.
        repeat: the number of cycles; 0 for as many as there are.
        skip_first: steps before the first cycle.
        skip_first_wait: not 0 leaves out the waiting of the first cycle.

    Raises AssertionError for negative numbers, and for no active steps.
    """
    if wait < 0 or warmup < 0 or active <= 0 or repeat < 0 or skip_first < 0:
        raise AssertionError(
            f"Invalid profiler schedule arguments. Got wait={wait} (need >= 0), warmup={warmup} (need >= 0), "
            f"active={active} (need > 0), repeat={repeat} (need >= 0), skip_first={skip_first} (need >= 0)."
        )
    if warmup == 0:
        warnings.warn("Profiler won't be using warmup, this can skew profiler results", stacklevel=2)
    cycle = wait + warmup + active

    def action(step: int) -> ProfilerAction:
        if step < 0:
            raise AssertionError(f"Step must be non-negative. Got {step}.")
        if step < skip_first:
            return ProfilerAction.NONE
        step -= skip_first
        if skip_first_wait:
            step += wait
        if repeat and step >= repeat * cycle:
            return ProfilerAction.NONE
        step %= cycle
        if step < wait:
            return ProfilerAction.NONE
        if step < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if step < cycle - 1 else ProfilerAction.RECORD_AND_SAVE

    return action


def tensorboard_trace_handler(
    dir_name: str, worker_name: str | None = None, use_gzip: bool = False
) -> Callable[[profile], None]:
    """For `on_trace_ready`: write each trace to a file of its own in a directory, named as TensorBoard's plugin expects.

    Raises RuntimeError, when called, if the directory cannot be made.
    """

    def write(prof: profile) -> None:
        try:
            os.makedirs(dir_name, exist_ok=True)
        except OSError as error:
            raise RuntimeError("Can't create directory: " + dir_name) from error
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        suffix = ".pt.trace.json.gz" if use_gzip else ".pt.trace.json"
        prof.export_chrome_trace(os.path.join(dir_name, f"{worker}.{time.time_ns()}{suffix}"))

    return write


class profile:
    """Profile what the thread does in a `with` block, or in the steps of a schedule.

    Args:
        activities: of what; only `ProfilerActivity.CPU` is there.
        schedule: given a step's number, what to do in it; without one everything is recorded.
        on_trace_ready: called with the profile when a recording is complete.
        record_shapes: note the shapes of inputs.
        profile_memory: note the bytes of the tensors that ops make.
        with_stack: note the lines that ops were called from.
        with_flops: count the operations of products of matrices, of `mul` and of `add`.
        with_modules: taken for PyTorch's sake; it has an effect on TorchScript alone there.
        acc_events: keep the events of earlier cycles.

    Raises AssertionError if no activity is given, and when results are asked for before there are any.
    """

    def __init__(
        self,
        *,
        activities: Iterable[ProfilerActivity] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[[profile], Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        acc_events: bool = False,
    ) -> None:
        wanted = supported_activities() if activities is None else set(activities)
        self.activities = {activity for activity in wanted if isinstance(activity, ProfilerActivity)}
        if not self.activities:
            raise AssertionError("No valid profiler activities found")
        if ProfilerActivity.CPU not in self.activities:
            raise ValueError("numgrad profiles what runs on the CPU: activities must contain ProfilerActivity.CPU")
        self.record_shapes = record_shapes
        self.profile_memory = profile_memory
        self.with_stack = with_stack
        self.with_flops = with_flops
        self.with_modules = with_modules
        self.acc_events = acc_events
        self.schedule = schedule or (lambda step: ProfilerAction.RECORD)
        self.record_steps = schedule is not None
        self.on_trace_ready = on_trace_ready
        self.step_num = 0
        self.current_action = self.schedule(0)
        self.step_rec_fn: record_function | None = None
        self.profiler: _autograd_profiler.profile | None = None
        self._metadata: dict[str, Any] = {}
        self._is_recording = False

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    # ------------------------------------------------------------------------------------------ steps
    def start(self) -> None:
        """Begin with the first step."""
        self._follow(ProfilerAction.NONE, self.current_action)
        self._begin_step()

    def step(self) -> None:
        """The next step of the schedule begins."""
        self._end_step()
        before = self.current_action
        self.current_action = self.schedule(self.step_num + 1)
        self.step_num += 1
        self._follow(before, self.current_action)
        self._begin_step()

    def stop(self) -> None:
        """The last step has ended."""
        self._end_step()
        self._follow(self.current_action, None)

    def _follow(self, before: ProfilerAction, action: ProfilerAction | None) -> None:
        """Go from one step's action to the next one's; to None at the end."""
        recording = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)
        if self._is_recording and (before is ProfilerAction.RECORD_AND_SAVE or action not in recording):
            if action is not None and before is ProfilerAction.RECORD:
                warnings.warn(f"Incorrect schedule: RECORD followed by {action.name}", stacklevel=4)
            self._stop_recording(ready=before is ProfilerAction.RECORD_AND_SAVE or action is None)
        elif before is ProfilerAction.WARMUP and action is ProfilerAction.NONE:
            warnings.warn("Incorrect schedule: WARMUP followed by NONE", stacklevel=4)
        if action in recording and not self._is_recording:
            self._start_recording()

    def _start_recording(self) -> None:
        if self.profiler is None or not self.acc_events:
            self.profiler = _autograd_profiler.profile(
                record_shapes=self.record_shapes,
                profile_memory=self.profile_memory,
                with_stack=self.with_stack,
                with_flops=self.with_flops,
                acc_events=self.acc_events,
            )
        self.profiler.__enter__()
        self._is_recording = True

    def _stop_recording(self, ready: bool) -> None:
        assert self.profiler is not None
        self.profiler.__exit__(None, None, None)
        self._is_recording = False
        if ready and self.on_trace_ready is not None:
            self.on_trace_ready(self)

    def _begin_step(self) -> None:
        if self.record_steps:
            self.step_rec_fn = record_function(f"ProfilerStep#{self.step_num}")
            self.step_rec_fn.__enter__()

    def _end_step(self) -> None:
        if self.step_rec_fn is not None:
            self.step_rec_fn.__exit__(None, None, None)
            self.step_rec_fn = None

    # ------------------------------------------------------------------------------------------ results
    def _recorded(self, what: str) -> _autograd_profiler.profile:
        if self.profiler is None:
            raise AssertionError(f"Profiler must be initialized before {what}")
        return self.profiler

    def events(self) -> EventList:
        """The events of the last recording, in the order in which they began."""
        return self._recorded("accessing events").function_events

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        """The sums over the events of each name: see `EventList.key_averages`."""
        recorded = self._recorded("getting key averages")
        return recorded.key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Write the trace, compressed if the name ends in `.gz`, for `chrome://tracing` and https://ui.perfetto.dev."""
        self._recorded("exporting chrome trace").function_events.export_chrome_trace(path, self._metadata)

    def export_stacks(self, path: str | os.PathLike[str], metric: str = "self_cpu_time_total") -> None:
        """Write the stacks for a flame graph; asks for `with_stack=True`."""
        self._recorded("exporting stacks").export_stacks(path, metric)

    def add_metadata(self, key: str, value: str) -> None:
        """Add a text to what traces say of themselves."""
        self._metadata[key] = value

    def add_metadata_json(self, key: str, value: str) -> None:
        """Add a value, given as JSON, to what traces say of themselves."""
        self._metadata[key] = json.loads(value)
