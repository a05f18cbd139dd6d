"""Whether anything looks on while ops run, such as hooks on saved tensors and anomaly mode.

`watching` is read for every op, so it is a plain list, true while any thread watches; what is watched for is each
thread's own.
"""

from __future__ import annotations

watching: list[None] = []


def enter() -> None:
    """Have ops watched, until as many calls of `leave`."""
    watching.append(None)


def leave() -> None:
    """Take back one `enter`."""
    watching.pop()
