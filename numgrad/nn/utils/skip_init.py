"""Modules whose values will be overwritten anyway."""

from __future__ import annotations

import inspect
from typing import Any

from ...random import get_rng_state, set_rng_state
from ..module import Module

__all__ = ["skip_init"]


def skip_init(module_cls: type[Module], *args: Any, **kwargs: Any) -> Any:
    """A module with parameters and buffers of unspecified values; the random state stays as it is.

    Raises RuntimeError for what is no class of modules, or one that takes no `device`.
    """
    if not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    before = get_rng_state()
    module = module_cls(*args, **kwargs)
    set_rng_state(before)
    return module
