"""`torch.compile`: kernels are compiled already, and steps are recorded anew each time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def compile(
    model: Any = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: Any = "inductor",
    mode: str | None = None,
    options: Any = None,
    disable: bool = False,
) -> Any:
    """The function or module itself: every kernel is compiled when it first runs, whatever calls it.

    Without `model` a decorator. The options choose nothing.
    """
    if model is None:
        decorate: Callable[[Any], Any] = lambda given: given
        return decorate
    if not callable(model):
        raise RuntimeError("torch.compile(): the model must be a callable, but got " + type(model).__name__)
    return model
