"""Hooks of optimizers: before and after a step, a state dict, and the loading of one."""

from __future__ import annotations

import functools
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from ..autograd.hooks import RemovableHandle
from ..autograd.profiler import record_function
from ..autograd.watch import watching

__all__ = ["Hooked", "register_optimizer_step_post_hook", "register_optimizer_step_pre_hook"]

Hook = Callable[..., Any]
Table = OrderedDict[int, Hook]

_before_every_step: Table = OrderedDict()
_after_every_step: Table = OrderedDict()


def register_optimizer_step_pre_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(optimizer, args, kwargs)` before each step of every optimizer.

    It returns None, or the arguments of `step` to use instead, as `(args, kwargs)`. The handle returned removes it.
    """
    return _added(_before_every_step, hook)


def register_optimizer_step_post_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(optimizer, args, kwargs)` after each step of every optimizer. The handle returned removes it."""
    return _added(_after_every_step, hook)


class Hooked:
    """The hooks that one optimizer has. A subclass's own `step` calls them, too."""

    _optimizer_step_pre_hooks: Table
    _optimizer_step_post_hooks: Table
    _optimizer_state_dict_pre_hooks: Table
    _optimizer_state_dict_post_hooks: Table
    _optimizer_load_state_dict_pre_hooks: Table
    _optimizer_load_state_dict_post_hooks: Table

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "step" in cls.__dict__:
            cls.step = _with_hooks(cls.__dict__["step"])  # type: ignore[attr-defined]

    def _reset_hooks(self) -> None:
        for name in Hooked.__annotations__:
            setattr(self, name, OrderedDict())

    def register_step_pre_hook(self, hook: Hook) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` before each step.

        It returns None, or the arguments of `step` to use instead, as `(args, kwargs)`. The handle returned removes it.
        """
        return _added(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Hook) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` after each step. The handle returned removes it."""
        return _added(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer)` before `state_dict`; with `prepend` before the hooks that there are."""
        return _added(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer, state_dict)` on what `state_dict` gives; it may return another one."""
        return _added(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer, state_dict)` on a shallow copy of what is to be loaded; it may return another one."""
        return _added(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer)` when `load_state_dict` has loaded."""
        return _added(self._optimizer_load_state_dict_post_hooks, hook, prepend)


def _with_hooks(step: Hook) -> Hook:
    @functools.wraps(step)
    def hooked(*args: Any, **kwargs: Any) -> Any:
        if watching:
            with record_function(f"Optimizer.step#{type(args[0]).__name__}.step"):
                return _step(step, args, kwargs)
        return _step(step, args, kwargs)

    hooked.hooked = True  # type: ignore[attr-defined]
    return hooked


def _step(step: Hook, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A step with the hooks before and after it; `args` begins with the optimizer."""
    optimizer = args[0]
    if not (
        optimizer._optimizer_step_pre_hooks
        or optimizer._optimizer_step_post_hooks
        or _before_every_step
        or _after_every_step
    ):
        return step(*args, **kwargs)
    for hook in (*_before_every_step.values(), *optimizer._optimizer_step_pre_hooks.values()):
        changed = hook(optimizer, args, kwargs)
        if changed is not None:
            args, kwargs = _arguments(step, changed)
    result = step(*args, **kwargs)
    for hook in (*optimizer._optimizer_step_post_hooks.values(), *_after_every_step.values()):
        hook(optimizer, args, kwargs)
    return result


def _arguments(step: Hook, changed: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """What a hook gives as the arguments of `step`, the optimizer first. Raises RuntimeError unless it is a pair."""
    if isinstance(changed, tuple) and len(changed) == 2:
        return changed
    raise RuntimeError(f"{step} must return None or a tuple of (new_args, new_kwargs), but got {changed}.")


def _added(table: Table, hook: Hook, prepend: bool = False) -> RemovableHandle:
    handle = RemovableHandle(table)
    table[handle.id] = hook
    if prepend:
        table.move_to_end(handle.id, last=False)
    return handle
