"""Which layer of a model an error comes from."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

from .module import Module


def described(module: Module) -> str:
    """A module for a message: its dotted name in the outermost model that is being called, and its repr."""
    name = _name_in(_outermost_caller(), module)
    return f"{name}: {module!r}" if name else repr(module)


def _outermost_caller() -> Module | None:
    frame: FrameType | None = sys._getframe()
    found: Any = None
    while frame is not None:
        caller = frame.f_locals.get("self") if frame.f_code.co_name == "__call__" else None
        found = caller if isinstance(caller, Module) else found
        frame = frame.f_back
    return found


def _name_in(model: Module | None, module: Module) -> str:
    if model is None:
        return ""
    return next((name for name, candidate in model.named_modules() if candidate is module), "")
