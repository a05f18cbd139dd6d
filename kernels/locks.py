"""Locks that a fork cannot leave held."""

from __future__ import annotations

import os
import threading
from typing import Any


def fork_safe_lock() -> Any:
    """A re-entrant lock that is free in a forked child, whatever thread of the parent held it at the time of the fork."""
    lock = threading.RLock()
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=lock._at_fork_reinit)  # type: ignore[attr-defined]  # the stdlib's own way
    return lock
