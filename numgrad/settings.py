"""Switches that PyTorch's scripts set. Most choose among implementations, of which numgrad has one: they are kept and shown.

Every kernel here is deterministic, and float32 products are computed in float32.
"""

from __future__ import annotations

import warnings
from typing import Any

_PRECISIONS = ("highest", "high", "medium")
_MODES = ("default", "warn", "error")
_state: dict[str, Any] = {
    "deterministic": 0,
    "precision": "highest",
    "warn_always": False,
    "interop_threads": 1,
}


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Ask for deterministic kernels: all of numgrad's are, so nothing changes but what the questions answer."""
    _state["deterministic"] = (1 if warn_only else 2) if mode else 0


def are_deterministic_algorithms_enabled() -> bool:
    """Whether deterministic kernels were asked for."""
    return bool(_state["deterministic"])


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Whether they were asked for with `warn_only`."""
    return bool(_state["deterministic"] == 1)


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """`use_deterministic_algorithms` by number or name: 0 or "default", 1 or "warn", 2 or "error"."""
    if not isinstance(debug_mode, (int, str)):
        raise TypeError(f"debug_mode must be str or int, but got {type(debug_mode)}")
    if isinstance(debug_mode, str) and debug_mode not in _MODES:
        raise RuntimeError(
            f"invalid value of debug_mode, expected one of `default`, `warn`, `error`, but got {debug_mode}"
        )
    number = _MODES.index(debug_mode) if isinstance(debug_mode, str) else debug_mode
    if number not in (0, 1, 2):
        raise RuntimeError(f"invalid value of debug_mode, expected 0, 1, or 2, but got {number}")
    _state["deterministic"] = number


def get_deterministic_debug_mode() -> int:
    """The number of the mode; see `set_deterministic_debug_mode`."""
    return int(_state["deterministic"])


def set_float32_matmul_precision(precision: str) -> None:
    """Allow less precise products of float32 matrices, "high" or "medium"; numgrad computes "highest" ones in any case."""
    if precision not in _PRECISIONS:
        warnings.warn(
            f"{precision} is not one of 'highest', 'high', or 'medium'; the current setting is kept", stacklevel=2
        )
        return
    _state["precision"] = precision


def get_float32_matmul_precision() -> str:
    """What `set_float32_matmul_precision` was told."""
    return str(_state["precision"])


def set_flush_denormal(mode: bool) -> bool:
    """Whether denormal numbers may be taken as 0 from now on: never, they are computed with. Returns False for True."""
    return not mode


def set_warn_always(b: bool) -> None:
    """Kept for scripts: Python's warning filters decide how often a warning shows."""
    _state["warn_always"] = bool(b)


def is_warn_always_enabled() -> bool:
    """What `set_warn_always` was told."""
    return bool(_state["warn_always"])


def set_num_interop_threads(n: int) -> None:
    """Kept for scripts: numgrad runs one op at a time in each Python thread. Raises RuntimeError unless positive."""
    if n <= 0:
        raise RuntimeError("expected positive number of threads")
    _state["interop_threads"] = int(n)


def get_num_interop_threads() -> int:
    """What `set_num_interop_threads` was told, 1 by default."""
    return int(_state["interop_threads"])
