"""A bar for training loops: how far they are, and what the loss is."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from typing import Any, Generic, TypeVar

Item = TypeVar("Item")


class Progress(Generic[Item]):
    """An iterable that shows how far it has been walked through; made by `progress`."""

    def __init__(self, iterable: Iterable[Item], options: dict[str, Any]) -> None:
        self._iterable = iterable
        self._options = options
        self._values: dict[str, Any] = {}
        self._bar: Any = None

    def __len__(self) -> int:
        return len(self._iterable)  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[Item]:
        try:
            from tqdm import tqdm
        except ImportError:
            yield from self._walk_plainly()
            return
        self._bar = tqdm(self._iterable, **self._options)
        try:
            yield from self._bar
        finally:
            self._bar.close()

    def show(self, **values: Any) -> None:
        """Show values beside the bar: numbers, tensors of one item, and texts."""
        self._values = values
        if self._bar is not None:
            self._bar.set_postfix_str(self._text(), refresh=False)

    def _text(self) -> str:
        return ", ".join(f"{name}={_short(value)}" for name, value in self._values.items())

    def _walk_plainly(self) -> Iterator[Item]:
        """Without tqdm: one line at the end."""
        start, count = time.perf_counter(), 0
        for item in self._iterable:
            yield item
            count += 1
        if not self._options.get("disable"):
            label = f"{self._options['desc']}: " if self._options.get("desc") else ""
            took = time.perf_counter() - start
            line = f"{label}{count} {self._options['unit']} in {took:.1f} s {self._text()}".rstrip()
            print(line, file=self._options.get("file") or sys.stderr)


def _short(value: Any) -> str:
    if hasattr(value, "item"):
        value = value.item()
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def progress(
    iterable: Iterable[Item], desc: str | None = None, *, unit: str = "batch", disable: bool = False, **options: Any
) -> Progress[Item]:
    """Walk through batches, or anything else, with a bar that tqdm draws; without tqdm one line is printed at the end.

    Args:
        iterable: a DataLoader, a range, and so on.
        desc: a text before the bar.
        unit: what one item is.
        disable: show nothing.
        options: what else tqdm takes.

    Example:
        >>> import numgrad as ng
        >>> batches = ng.utils.progress(range(3), "epoch 1", disable=True)
        >>> for batch in batches:
        ...     batches.show(loss=ng.tensor(0.25), accuracy=0.5)
    """
    return Progress(iterable, {"desc": desc, "unit": unit, "disable": disable, **options})
