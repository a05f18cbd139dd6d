"""The CPUs that this process may use, and the one that the calling thread is on."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable
from pathlib import Path

_UNLIMITED = 1 << 30


def usable_cpus() -> int:
    """How many CPUs this process may use: those of its affinity, and of a container's share of time (Linux)."""
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(min(cpus, quota(Path("/"))), 1)


def quota(root: Path) -> int:
    """How many CPUs a container's share of time amounts to, rounded up; a large number without a limit.

    With more threads than that, all of them are stopped for the rest of each period of 0.1 s.
    """
    quotas = []
    try:
        for line in (root / "proc/self/cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            if controllers and "cpu" not in controllers.split(","):
                continue
            base = root / "sys/fs/cgroup" / ("cpu" if controllers else "")  # version 1 names controllers, 2 none
            group = base / path.lstrip("/")
            # In a container the path is often the host's, which is not to be seen: then the root is the container's.
            quotas += [_quota(g) for g in (group, *group.parents) if g.is_relative_to(base)]
    except (OSError, ValueError):
        pass
    return min(quotas, default=_UNLIMITED)


def _quota(group: Path) -> int:
    if (group / "cpu.max").is_file():
        quota, period = (group / "cpu.max").read_text().split()
    elif (group / "cpu.cfs_quota_us").is_file():
        quota, period = ((group / f"cpu.cfs_{name}_us").read_text() for name in ("quota", "period"))
    else:
        return _UNLIMITED
    return _UNLIMITED if quota == "max" or int(quota) <= 0 else -(-int(quota) // int(period))


def _find_current_cpu() -> Callable[[], int] | None:
    if sys.platform != "linux":
        return None
    try:
        return ctypes.PyDLL(None).sched_getcpu  # 0.1 us; CDLL would let go of the interpreter lock
    except (AttributeError, OSError):
        return None


current_cpu = _find_current_cpu()
"""The number of the CPU that the calling thread is on; None where the system cannot tell, or bind threads to CPUs."""
