"""The events of a profile, their averages, and the table and the trace that show them."""

from __future__ import annotations

import gzip
import itertools
import json
import os
from collections import defaultdict
from collections.abc import Callable, Iterable
from enum import Enum
from typing import Any

from .profiling import Note, Recorder

__all__ = ["DeviceType", "EventList", "FunctionEvent", "FunctionEventAvg", "Interval"]


class DeviceType(Enum):
    """Where an event ran."""

    CPU = 0
    CUDA = 1


class Interval:
    """When an event began and ended, in microseconds from the start of the profile."""

    def __init__(self, start: float, end: float) -> None:
        self.start = start
        self.end = end

    def elapsed_us(self) -> float:
        """Microseconds from start to end."""
        return self.end - self.start


class Totals:
    """What events and their averages share: sums over calls, in microseconds and bytes, and texts of the times."""

    key: str
    count: int
    cpu_time_total: float
    self_cpu_time_total: float
    compile_time_total: float  # numgrad's own: of the time, what went into kernels that were compiled or read from disk
    cpu_memory_usage: int  # bytes of the tensors that were made; what was freed is not taken off
    self_cpu_memory_usage: int
    flops: int
    input_shapes: Any
    stack: list[str]
    cpu_parent: FunctionEvent | None

    device_type = DeviceType.CPU
    use_device: str | None = None
    device_time_total = self_device_time_total = 0.0
    device_memory_usage = self_device_memory_usage = 0
    node_id = -1
    overload_name = ""
    is_async = is_remote = is_legacy = False

    @property
    def cpu_time(self) -> float:
        """Microseconds of a call, on average."""
        return self.cpu_time_total / self.count if self.count else 0.0

    @property
    def device_time(self) -> float:
        """Microseconds of a call on the device, on average."""
        return self.device_time_total / self.count if self.count else 0.0

    @property
    def cpu_time_str(self) -> str:
        """`cpu_time` with its unit."""
        return _time(self.cpu_time)

    @property
    def cpu_time_total_str(self) -> str:
        """`cpu_time_total` with its unit."""
        return _time(self.cpu_time_total)

    @property
    def self_cpu_time_total_str(self) -> str:
        """`self_cpu_time_total` with its unit."""
        return _time(self.self_cpu_time_total)


class FunctionEvent(Totals):
    """One call of an op, of a node's backward or of a labelled block; or one kernel that was compiled or loaded."""

    count = 1

    def __init__(self, number: int, note: Note, began: int, thread: int) -> None:
        self.id = number
        self.name = self.key = self.trace_name = note.name
        self.time_range = Interval((note.start - began) / 1000, (note.end - began) / 1000)
        self.thread = thread
        self.cpu_parent = None
        self.cpu_children: list[FunctionEvent] = []
        self.input_shapes = note.shapes
        self.stack = note.stack
        self.flops = note.flops
        self.sequence_nr = note.sequence
        self.category = note.category
        self.is_user_annotation = note.category == "user_annotation"
        self._made = note.memory

    @property
    def cpu_time_total(self) -> float:  # type: ignore[override]
        """Microseconds from its start to its end."""
        return self.time_range.elapsed_us()

    @property
    def self_cpu_time_total(self) -> float:  # type: ignore[override]
        """`cpu_time_total` without that of the events within it."""
        return self.cpu_time_total - sum(child.cpu_time_total for child in self.cpu_children)

    @property
    def compile_time_total(self) -> float:  # type: ignore[override]
        """Microseconds that went into compiling kernels or reading them from disk."""
        if self.category == "kernel":
            return self.cpu_time_total
        return sum(child.compile_time_total for child in self.cpu_children)

    @property
    def cpu_memory_usage(self) -> int:  # type: ignore[override]
        """Bytes of the tensors made, those of the events within it included."""
        return max(self._made, sum(child.cpu_memory_usage for child in self.cpu_children))

    @property
    def self_cpu_memory_usage(self) -> int:  # type: ignore[override]
        """`cpu_memory_usage` without that of the events within it."""
        return self.cpu_memory_usage - sum(child.cpu_memory_usage for child in self.cpu_children)

    def __repr__(self) -> str:
        return (
            f"<FunctionEvent id={self.id} name={self.name} device_type={self.device_type} cpu_time={self.cpu_time_str} "
            f"start_us={self.time_range.start} end_us={self.time_range.end} "
            f"cpu_children={[child.id for child in self.cpu_children]} thread={self.thread} "
            f"input_shapes={self.input_shapes} cpu_memory_usage={self.cpu_memory_usage} seq_nr={self.sequence_nr}>"
        )


class FunctionEventAvg(Totals):
    """The sums over all events with one name."""

    def __init__(self) -> None:
        self.key = ""
        self.count = 0
        self.cpu_time_total = self.self_cpu_time_total = self.compile_time_total = 0.0
        self.cpu_memory_usage = self.self_cpu_memory_usage = self.flops = 0
        self.input_shapes = None
        self.stack = []
        self.cpu_parent = None
        self.is_user_annotation = False

    def add(self, other: Totals) -> FunctionEventAvg:
        """Add an event, or other sums."""
        if not self.count:
            self.key, self.input_shapes, self.stack = other.key, other.input_shapes, other.stack
            self.cpu_parent = other.cpu_parent
            self.is_user_annotation = getattr(other, "is_user_annotation", False)
        for name in (
            "count", "cpu_time_total", "self_cpu_time_total", "compile_time_total", "cpu_memory_usage",
            "self_cpu_memory_usage", "flops",
        ):  # fmt: skip
            setattr(self, name, getattr(self, name) + getattr(other, name))
        return self

    def __iadd__(self, other: Totals) -> FunctionEventAvg:
        return self.add(other)

    def __repr__(self) -> str:
        return (
            f"<FunctionEventAvg key={self.key} self_cpu_time={self.self_cpu_time_total_str} cpu_time={self.cpu_time_str} "
            f"input_shapes={self.input_shapes or ''} cpu_memory_usage={self.cpu_memory_usage}>"
        )


class EventList(list[Any]):
    """Events in the order in which they began, or their averages."""

    def __init__(self, events: Iterable[Any] = (), *, profile_memory: bool = False, with_flops: bool = False) -> None:
        super().__init__(events)
        self._profile_memory = profile_memory
        self._with_flops = with_flops

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds of all events."""
        return sum(event.self_cpu_time_total for event in self)

    def key_averages(
        self, group_by_input_shapes: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        """The sums over the events of each name; of each name and input shapes, or stack of `group_by_stack_n` lines.

        Ops have one overload each here: `group_by_overload_name` changes nothing.
        """
        groups: dict[Any, FunctionEventAvg] = defaultdict(FunctionEventAvg)
        for event in self:
            shapes = str(event.input_shapes) if group_by_input_shapes else ""
            groups[event.key, event.is_user_annotation, shapes, *event.stack[:group_by_stack_n]].add(event)
        for group in groups.values():
            group.stack = group.stack[:group_by_stack_n]
            if not group_by_input_shapes:
                group.input_shapes = ""
        return EventList(groups.values(), profile_memory=self._profile_memory, with_flops=self._with_flops)

    def total_average(self) -> FunctionEventAvg:
        """The sum over all."""
        total = FunctionEventAvg()
        for event in self:
            total += event
            total.key = "Total"
        return total

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
        """The events as a table.

        Args:
            sort_by: an attribute of the events, such as "cpu_time_total", "self_cpu_memory_usage", "count" and
                "compile_time_total"; the largest comes first.
            row_limit: how many rows at most; -1 for all.
            max_src_column_width: the widest that the column of source lines may become; None for any width.
            max_name_column_width: the same of names.
            max_shapes_column_width: the same of input shapes.
            header: a line above the table.
            top_level_events_only: leave out events that are within others.
            time_unit: "s", "ms" or "us" for all times; by default each has the one that fits.

        Raises AttributeError if `sort_by` names no attribute.
        """
        if not self:
            return ""
        events = list(self)
        if sort_by is not None:
            name = sort_by.replace("cuda", "device")
            events.sort(key=lambda event: getattr(event, name), reverse=True)
        whole = sum(event.self_cpu_time_total for event in events)
        shown = [event for event in events if not (top_level_events_only and event.cpu_parent is not None)]
        columns = self._columns(events, whole, max_name_column_width, max_shapes_column_width, time_unit)
        widths, right = [width for _, width, _ in columns], ">" * len(columns)
        rows = [[cell(event) for _, _, cell in columns] for event in shown[: row_limit if row_limit >= 0 else None]]
        if any(event.stack for event in events):
            columns.append(("Source Location", 0, lambda event: ""))
            widths.append(_fitting([line for event in events for line in event.stack], max_src_column_width))
            right += "<"
            rows = list(_with_stacks(rows, shown, widths[-1]))
        return _lines(
            [title for title, _, _ in columns], rows, widths, right,
            above=header, top_level=top_level_events_only, below=f"Self CPU time total: {_time(whole, time_unit)}",
        )  # fmt: skip

    def _columns(
        self, events: list[Any], whole: float, widest_name: int | None, widest_shapes: int | None, unit: str | None
    ) -> list[tuple[str, int, Callable[[Any], str]]]:
        """The title, the width and the text of each column."""
        name_width = _fitting([event.key for event in events], widest_name)
        shapes_width = _fitting([str(event.input_shapes) for event in events], widest_shapes)
        columns: list[tuple[str, int, Callable[[Any], str]]] = [
            ("Name", name_width, lambda event: _shortened(event.key, widest_name)),
            ("Self CPU %", 12, lambda event: _share(event.self_cpu_time_total, whole)),
            ("Self CPU", 12, lambda event: _time(event.self_cpu_time_total, unit)),
            ("CPU total %", 12, lambda event: _share(event.cpu_time_total, whole)),
            ("CPU total", 12, lambda event: _time(event.cpu_time_total, unit)),
            ("CPU time avg", 12, lambda event: _time(event.cpu_time, unit)),
        ]
        if any(event.compile_time_total for event in events):
            columns.append(("Compile time", 12, lambda event: _time(event.compile_time_total, unit)))
        if self._profile_memory:
            columns.append(("CPU Mem", 12, lambda event: _memory(event.cpu_memory_usage)))
            columns.append(("Self CPU Mem", 12, lambda event: _memory(event.self_cpu_memory_usage)))
        columns.append(("# of Calls", 12, lambda event: str(event.count)))
        if any(event.input_shapes for event in events):
            columns.append(("Input Shapes", shapes_width, lambda event: str(event.input_shapes)[:shapes_width]))
        counted = [event.flops for event in events if event.flops]
        if self._with_flops and counted:
            prefix, scale = next(unit for unit in _FLOPS if min(counted) >= unit[1])
            columns.append(
                (f"Total {prefix}FLOPs", 12, lambda event: f"{event.flops / scale:8.3f}" if event.flops else "--")
            )
        return columns

    def export_chrome_trace(self, path: str | os.PathLike[str], metadata: dict[str, Any] | None = None) -> None:
        """Write the events as a trace, which `chrome://tracing` and https://ui.perfetto.dev show.

        The file is compressed if its name ends in `.gz`; `metadata` is what the trace says of itself.
        """
        process = os.getpid()
        threads = {event.thread for event in self}
        trace: list[dict[str, Any]] = [
            {"ph": "M", "name": "process_name", "pid": process, "tid": 0, "ts": 0, "args": {"name": "python"}},
            *(
                {"ph": "M", "name": "thread_name", "pid": process, "tid": t, "ts": 0, "args": {"name": f"thread {t}"}}
                for t in threads
            ),
        ]
        for event in self:
            details = {"External id": event.id, "Sequence number": event.sequence_nr, "Input Dims": event.input_shapes}
            if event.stack:
                details["Call stack"] = ";".join(event.stack)
            if self._profile_memory:
                details["Bytes"] = event.cpu_memory_usage
            trace.append(
                {
                    "ph": "X", "cat": event.category, "name": event.name, "pid": process, "tid": event.thread,
                    "ts": event.time_range.start, "dur": event.cpu_time_total, "args": details,
                }
            )  # fmt: skip
        whole = {"schemaVersion": 1, "displayTimeUnit": "ms", **(metadata or {}), "traceEvents": trace}
        opened = gzip.open if os.fspath(path).endswith(".gz") else open
        with opened(path, "wt", encoding="utf-8") as file:
            json.dump(whole, file)

    def export_stacks(self, path: str | os.PathLike[str], metric: str = "self_cpu_time_total") -> None:
        """Write a line for each stack, as flame graphs are drawn from: its calls, the outermost first, and the metric.

        Raises ValueError for a metric other than those of `supported_export_stacks_metrics`.
        """
        if metric not in self.supported_export_stacks_metrics():
            raise ValueError(f"metric should be one of: {self.supported_export_stacks_metrics()!s}")
        with open(path, "w", encoding="utf-8") as file:
            for event in self:
                if event.stack and int(getattr(event, metric)) > 0:
                    calls = [line.translate(str.maketrans(" ;\t\n", "____")) for line in reversed(event.stack)]
                    file.write(f"{';'.join(calls)} {int(getattr(event, metric))}\n")

    def supported_export_stacks_metrics(self) -> list[str]:
        """What `export_stacks` can write."""
        return ["self_cpu_time_total", "self_cuda_time_total", "self_xpu_time_total", "self_privateuse1_time_total"]

    def __str__(self) -> str:
        return self.table()


def events_of(recorder: Recorder, *, profile_memory: bool, with_flops: bool, first: int = 1) -> EventList:
    """The events of a recorder's notes, numbered from `first`."""
    events: dict[Note, FunctionEvent] = {}
    for number, note in enumerate(sorted(recorder.notes, key=lambda note: note.start), first):
        event = events[note] = FunctionEvent(number, note, recorder.began, recorder.thread)
        if note.parent is not None:
            event.cpu_parent = events[note.parent]
            event.cpu_parent.cpu_children.append(event)
    return EventList(events.values(), profile_memory=profile_memory, with_flops=with_flops)


# ---------------------------------------------------------------------------------------------------- texts
_FLOPS = (("T", 1e12), ("G", 1e9), ("M", 1e6), ("K", 1e3), ("", 1.0))


def _time(microseconds: float, unit: str | None = None) -> str:
    if unit == "s" or (unit is None and microseconds >= 1e6):
        return f"{microseconds / 1e6:.3f}s"
    if unit == "ms" or (unit is None and microseconds >= 1e3):
        return f"{microseconds / 1e3:.3f}ms"
    return f"{microseconds:.3f}us"


def _share(part: float, whole: float) -> str:
    return f"{part / whole:.2%}" if whole else "NaN"


def _memory(count: int) -> str:
    for unit, size in (("GB", 2**30), ("MB", 2**20), ("KB", 2**10)):
        if abs(count) >= size:
            return f"{count / size:.2f} {unit}"
    return f"{count} B"


def _fitting(texts: list[str], widest: int | None) -> int:
    width = max(map(len, texts)) + 4
    return width if widest is None else min(width, widest)


def _shortened(name: str, widest: int | None) -> str:
    return name if widest is None or len(name) < widest - 3 else name[: widest - 3] + "..."


def _with_stacks(rows: list[list[str]], events: list[Any], width: int) -> Iterable[list[str]]:
    """The rows with a line for each of the stack's, and an empty one below."""
    for row, event in zip(rows, events, strict=False):  # rows may be limited
        lines = [line if len(line) <= width else "..." + line[len(line) - width + 3 :] for line in event.stack]
        for cells, line in itertools.zip_longest([row], lines or [""], fillvalue=None):
            yield [*(cells or [""] * len(row)), line or ""]
        yield [""] * (len(row) + 1)


def _lines(
    titles: list[str], rows: Iterable[list[str]], widths: list[int], sides: str, *, above: str | None, top_level: bool,
    below: str,
) -> str:  # fmt: skip
    """A table as text: every column as wide as it is told, and two spaces after each."""

    def line(cells: list[str]) -> str:
        return "".join(f"{cell:{side}{width}}  " for cell, width, side in zip(cells, widths, sides, strict=True))

    rule = line(["-" * width for width in widths])
    double = "=" * (sum(widths) + 2 * len(widths) - 2)
    heads = [] if above is None else [double, above]
    if top_level:
        heads += [double, "This report only display top-level ops statistics"]
    return "\n".join([*heads, rule, line(titles), rule, *map(line, rows), rule, below, ""])
