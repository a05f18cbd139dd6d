"""Anomaly mode: which line of the forward made a node whose backward failed or made the first NaN.

While the mode is on, every node notes the stack it was made on. Beyond PyTorch's mode, results of forward ops can be
checked too: the first op whose result is not finite while its inputs are raises at once.
"""

from __future__ import annotations

import sys
import threading
import traceback
import warnings
from collections.abc import Sequence
from typing import Any

from ..kernels.array import Array
from . import grad_mode, watch
from .variable import CLASSES, wrap

_PACKAGE = __name__.partition(".")[0]
_TRACEBACK = "traceback_"
_PARENT = "parent_"


class _State(threading.local):
    enabled = False
    check_nan = True
    check_forward = False
    evaluating: Any = None  # the node whose backward is running


_state = _State()


def is_anomaly_enabled() -> bool:
    """Whether anomaly mode is on in this thread."""
    return _state.enabled


def is_anomaly_check_nan_enabled() -> bool:
    """Whether anomaly mode, when on, raises for NaN in gradients."""
    return _state.check_nan


def set_anomaly_enabled(mode: bool, check_nan: bool = True, check_forward: bool = False) -> None:
    """Turn anomaly mode on or off in this thread."""
    if mode and not _state.enabled:
        watch.enter()
    elif _state.enabled and not mode:
        watch.leave()
    _state.enabled = bool(mode)
    _state.check_nan = bool(check_nan)
    _state.check_forward = bool(check_forward)


class set_detect_anomaly:
    """Turn anomaly mode on or off, at once; as a context manager, until its end.

    Args:
        mode: whether a backward that fails tells which line of the forward it belongs to.
        check_nan: whether NaN in a gradient is a failure.
        check_forward: whether a forward op whose result has NaN or infinities, while its inputs have none, raises.

    Example:
        >>> import numgrad as ng
        >>> x = ng.tensor([0.0, 1.0])
        >>> with ng.autograd.set_detect_anomaly(True, check_forward=True):
        ...     x.log()
        Traceback (most recent call last):
        RuntimeError: Function 'log' returned 1 nan or infinite value of 2 in its 0th output, from finite inputs of ...
    """

    def __init__(self, mode: bool, check_nan: bool = True, *, check_forward: bool = False) -> None:
        self._previous = (_state.enabled, _state.check_nan, _state.check_forward)
        set_anomaly_enabled(mode, check_nan, check_forward)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        set_anomaly_enabled(*self._previous)


class detect_anomaly:
    """Anomaly mode for a `with` block; it warns, since it slows everything down.

    A backward that raises, or makes the first NaN, warns with the stack of the forward op it belongs to. Arguments as for
    `set_detect_anomaly`.
    """

    def __init__(self, check_nan: bool = True, *, check_forward: bool = False) -> None:
        self._previous = (_state.enabled, _state.check_nan, _state.check_forward)
        self._wanted = (True, check_nan, check_forward)
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for "
            "debugging.",
            stacklevel=2,
        )

    def __enter__(self) -> None:
        set_anomaly_enabled(*self._wanted)

    def __exit__(self, *error: object) -> None:
        set_anomaly_enabled(*self._previous)


# ---------------------------------------------------------------------------------------------------- notes of the forward
def note_forward(node: Any) -> None:
    """Note on a new node the stack it was made on, and the node whose backward made it, when anomaly mode is on."""
    if not _state.enabled:
        return
    node.metadata[_TRACEBACK] = _forward_stack()
    if _state.evaluating is not None:
        node.metadata[_PARENT] = _state.evaluating


def _forward_stack() -> list[str]:
    """The stack as text, down to the user's call of the op."""
    frame: Any = sys._getframe(1)
    while frame.f_back is not None and _is_own(frame):
        frame = frame.f_back
    return traceback.format_stack(frame)


def _is_own(frame: Any) -> bool:
    """Whether a frame runs code of this package, or a method that it generated."""
    module = frame.f_globals.get("__name__") or ""
    return module.partition(".")[0] == _PACKAGE or frame.f_code.co_filename.startswith(f"<{_PACKAGE}")


def checked_apply(node: Any, g: Any, graph: bool) -> Sequence[Any]:
    """`node.apply(g, graph)`; warns of the forward line when it raises, or when it makes NaN, which raises then."""
    previous, _state.evaluating = _state.evaluating, node
    try:
        results = node.apply(g, graph)
        if _state.check_nan:
            _refuse_nan(node, results)
        return results
    except Exception:
        _warn_of_forward(node)
        raise
    finally:
        _state.evaluating = previous


def _refuse_nan(node: Any, results: Sequence[Any]) -> None:
    for i, result in enumerate(results):
        if result is not None and node.edges[i] is not None and _count(_not_equal_itself, result, node.device):
            raise RuntimeError(f"Function '{node.name()}' returned nan values in its {i}th output.")


def _warn_of_forward(node: Any) -> None:
    """Warn with the stack of the forward op; for a node made in a backward, with that of the op it belongs to as well."""
    if _TRACEBACK not in node.metadata:
        warnings.warn(
            f"Error detected in {node.name()}. No forward pass information available. Enable detect anomaly during "
            "forward pass for more information.",
            UserWarning,
            stacklevel=2,
        )
        return
    text = "".join(node.metadata[_TRACEBACK])
    warnings.warn(
        f"Error detected in {node.name()}. Traceback of forward call that caused the error:\n{text}",
        UserWarning,
        stacklevel=2,
    )
    parent = node.metadata.get(_PARENT)
    while parent is not None:
        if _TRACEBACK not in parent.metadata:
            warnings.warn(
                f"\n\nPrevious calculation was induced by {parent.name()}. No forward pass information available. Enable "
                "detect anomaly during forward pass for more information.",
                UserWarning,
                stacklevel=2,
            )
            return
        text = "".join(parent.metadata[_TRACEBACK])
        warnings.warn(
            f"\n\nPrevious calculation was induced by {parent.name()}. Traceback of forward call that induced the previous "
            f"calculation:\n{text}",
            UserWarning,
            stacklevel=2,
        )
        parent = parent.metadata.get(_PARENT)


# ---------------------------------------------------------------------------------------------------- results of the forward
def check_forward(op: Any, inputs: tuple[Any, ...], results: tuple[Any, ...]) -> None:
    """Raise RuntimeError for an op whose result is not finite while all its inputs are, when that is asked for."""
    if not _state.check_forward or _state.evaluating is not None or not _state.enabled:
        return
    for number, result in enumerate(results):
        if result is None or not _is_inexact(result):
            continue
        count = _count(_not_finite, result, None)
        if not count:
            continue
        given = [x for x in inputs if x.__class__ in CLASSES]
        if any(_is_inexact(x) and _count(_not_finite, x, None) for x in given):
            return
        shapes = ", ".join(str(list(x.shape)) for x in given)
        values = "value" if count == 1 else "values"
        raise RuntimeError(
            f"Function '{op.name}' returned {count} nan or infinite {values} of {result.numel()} in its {number}th output, "
            f"from finite inputs of shapes {shapes}"
        )


def _is_inexact(tensor: Any) -> bool:
    return bool(tensor.is_floating_point() or tensor.is_complex())


def _not_equal_itself(tensor: Any) -> Any:
    return tensor != tensor


def _not_finite(tensor: Any) -> Any:
    rest = tensor - tensor  # 0, or NaN for NaN and infinities
    return rest != rest


def _count(condition: Any, value: Any, where: Any) -> int:
    """How many items of an array or tensor fulfil a condition."""
    previous, _state.enabled = _state.enabled, False  # the ops of this question are not questioned
    try:
        with grad_mode.no_grad():
            tensor = wrap(value, where) if isinstance(value, Array) else value
            return int(condition(tensor).sum().item())
    finally:
        _state.enabled = previous
