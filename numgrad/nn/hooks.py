"""Hooks of modules: around forward and backward, around loading and saving, of one module and of all."""

from __future__ import annotations

import functools
import warnings
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

from ..autograd.hooks import RemovableHandle
from .backward_hooks import BackwardHook, register_on_output

__all__ = [
    "register_module_backward_hook",
    "register_module_buffer_registration_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]

Hook = Callable[..., Any]
Table = OrderedDict[int, Any]

_CALL_TABLES = (
    "_forward_hooks",
    "_forward_hooks_with_kwargs",
    "_forward_hooks_always_called",
    "_forward_pre_hooks",
    "_forward_pre_hooks_with_kwargs",
    "_backward_hooks",
    "_backward_pre_hooks",
)
_STATE_TABLES = (
    "_state_dict_hooks",
    "_state_dict_pre_hooks",
    "_load_state_dict_pre_hooks",
    "_load_state_dict_post_hooks",
)
_MIXED = "Cannot use both regular backward hooks and full backward hooks {where}. Please use only one of them."
_ON_ONE = _MIXED.format(where="on a single Module")
_ON_ALL = _MIXED.format(where="as a global Module hook")


def hook_tables() -> dict[str, Any]:
    """The empty tables that a new module begins with."""
    tables: dict[str, Any] = {name: OrderedDict() for name in (*_CALL_TABLES, *_STATE_TABLES)}
    tables["_is_full_backward_hook"] = None
    return tables


# Hooks that run for every module, before the module's own.
_everywhere: Any = SimpleNamespace(
    **hook_tables(), registration={kind: OrderedDict() for kind in ("parameter", "buffer", "module")}
)


def registered(kind: str, module: Any, name: str, value: Any) -> Any:
    """What is registered under a name, after global hooks have seen, and perhaps replaced, it."""
    for hook in _everywhere.registration[kind].values():
        result = hook(module, name, value)
        value = value if result is None else result
    return value


def _added(table: Table, hook: Hook, prepend: bool = False, extra: Any = None) -> RemovableHandle:
    handle = RemovableHandle(table, extra_dict=extra)
    table[handle.id] = hook
    if prepend:
        table.move_to_end(handle.id, last=False)
    return handle


class HookMethods:
    """The part of `Module` that is called, and runs hooks around that."""

    forward: Callable[..., Any]
    _forward_hooks: Table
    _forward_hooks_with_kwargs: Table
    _forward_hooks_always_called: Table
    _forward_pre_hooks: Table
    _forward_pre_hooks_with_kwargs: Table
    _backward_hooks: Table
    _backward_pre_hooks: Table
    _state_dict_hooks: Table
    _state_dict_pre_hooks: Table
    _load_state_dict_pre_hooks: Table
    _load_state_dict_post_hooks: Table
    _is_full_backward_hook: bool | None

    # Calling

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the forward pre-hooks, `forward` and the forward hooks, and set up backward hooks."""
        if not (
            self._forward_hooks
            or self._forward_pre_hooks
            or self._backward_hooks
            or self._backward_pre_hooks
            or _everywhere._forward_hooks
            or _everywhere._forward_pre_hooks
            or _everywhere._backward_hooks
            or _everywhere._backward_pre_hooks
        ):
            return self.forward(*args, **kwargs)
        return _HookedCall(self, args, kwargs).run()

    # Registration

    def register_forward_pre_hook(
        self, hook: Hook, *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Run `hook(module, args)` before `forward`; what it returns replaces the arguments.

        With `with_kwargs` it is called as `hook(module, args, kwargs)` and returns None or both.
        """
        handle = _added(self._forward_pre_hooks, hook, prepend, self._forward_pre_hooks_with_kwargs)
        if with_kwargs:
            self._forward_pre_hooks_with_kwargs[handle.id] = True
        return handle

    def register_forward_hook(
        self, hook: Hook, *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> RemovableHandle:
        """Run `hook(module, args, output)` after `forward`; what it returns replaces the output.

        With `with_kwargs` it is called as `hook(module, args, kwargs, output)`; with `always_call` it also runs when
        `forward` raised.
        """
        options = [self._forward_hooks_with_kwargs, self._forward_hooks_always_called]
        handle = _added(self._forward_hooks, hook, prepend, options)
        for table, is_wanted in zip(options, (with_kwargs, always_call), strict=True):
            if is_wanted:
                table[handle.id] = True
        return handle

    def register_full_backward_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Run `hook(module, grad_input, grad_output)` when the gradients of the inputs are known.

        A tuple that it returns replaces `grad_input`. Neither inputs nor outputs of the module may be written in place.
        """
        if self._is_full_backward_hook is False:
            raise RuntimeError(_ON_ONE)
        self._is_full_backward_hook = True
        return _added(self._backward_hooks, hook, prepend)

    def register_full_backward_pre_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Run `hook(module, grad_output)` before the backward of the module; a tuple that it returns replaces it."""
        return _added(self._backward_pre_hooks, hook, prepend)

    def register_backward_hook(self, hook: Hook) -> RemovableHandle:
        """Deprecated: a hook on the last node of the module alone. Use `register_full_backward_hook`."""
        if self._is_full_backward_hook is True:
            raise RuntimeError(_ON_ONE)
        self._is_full_backward_hook = False
        return _added(self._backward_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Hook) -> RemovableHandle:
        """Run `hook(module, prefix, keep_vars)` before `state_dict` reads the module."""
        return _added(self._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(self, hook: Any) -> RemovableHandle:
        """Run `hook(module, state_dict, prefix, local_metadata)` when `state_dict` has read the module; returns None."""
        hook._from_public_api = True
        return _added(self._state_dict_hooks, hook)

    def _register_state_dict_hook(self, hook: Any) -> RemovableHandle:
        """As `register_state_dict_post_hook`, but what the hook of the module that is asked returns is the result."""
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError(
                "Cannot register the same function as the state dict post hook that was previously registered via "
                "register_state_dict_post_hook"
            )
        return _added(self._state_dict_hooks, hook)

    def register_load_state_dict_pre_hook(self, hook: Hook) -> RemovableHandle:
        """Run a hook before the module is loaded.

        It is called as `hook(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys,
        error_msgs)` and may change these.
        """
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def _register_load_state_dict_pre_hook(self, hook: Hook, with_module: bool = False) -> RemovableHandle:
        return _added(self._load_state_dict_pre_hooks, _WrappedHook(hook, self if with_module else None))

    def register_load_state_dict_post_hook(self, hook: Hook) -> RemovableHandle:
        """Run `hook(module, incompatible_keys)` when the module was loaded; it may change the two lists of keys."""
        return _added(self._load_state_dict_post_hooks, hook)


class _WrappedHook:
    """A hook that is given its module, which it does not keep alive."""

    def __init__(self, hook: Hook, module: Any = None) -> None:
        self.hook = hook
        functools.update_wrapper(self, hook)
        self.with_module = module is not None
        if module is not None:
            self.module = weakref.ref(module)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self.with_module:
            return self.hook(*args, **kwargs)
        module = self.module()
        if module is None:
            raise RuntimeError("You are trying to call the hook of a dead Module!")
        return self.hook(module, *args, **kwargs)

    def __getstate__(self) -> dict[str, Any]:
        state = {"hook": self.hook, "with_module": self.with_module}
        return state | ({"module": self.module()} if self.with_module else {})

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.hook, self.with_module = state["hook"], state["with_module"]
        if self.with_module:
            if state["module"] is None:
                raise RuntimeError("You are trying to revive the hook of a dead Module!")
            self.module = weakref.ref(state["module"])


# Running


class _HookedCall:
    """One call of a module that has hooks."""

    def __init__(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.module = module
        self.args = args
        self.kwargs = kwargs
        self.result: Any = None
        self.called: set[int] = set()

    def run(self) -> Any:
        try:
            return self._run()
        except Exception:
            self._run_always_called()
            raise

    def _run(self) -> Any:
        module = self.module
        full = [
            h for owner in (_everywhere, module) if owner._is_full_backward_hook for h in owner._backward_hooks.values()
        ]
        before = [h for owner in (_everywhere, module) for h in owner._backward_pre_hooks.values()]
        self._run_forward_pre_hooks()
        backward_hook = BackwardHook(module, full, before) if full or before else None
        if backward_hook is not None:
            self.args = backward_hook.setup_input_hook(self.args)
        self.result = module.forward(*self.args, **self.kwargs)
        for owner, number, hook in self._hooks("_forward_hooks"):
            self.called.add(number)
            self._run_forward_hook(owner, number, hook)
        if backward_hook is not None:
            self.result = backward_hook.setup_output_hook(self.result)
        for owner in (_everywhere, module):
            if owner._is_full_backward_hook is False:
                for hook in owner._backward_hooks.values():
                    register_on_output(self.args, self.result, _WrappedHook(hook, module))
        return self.result

    def _hooks(self, table: str) -> Iterator[tuple[Any, int, Hook]]:
        """The global hooks of a kind, then the module's."""
        for owner in (_everywhere, self.module):
            for number, hook in list(getattr(owner, table).items()):
                yield owner, number, hook

    def _run_forward_pre_hooks(self) -> None:
        for owner, number, hook in self._hooks("_forward_pre_hooks"):
            if number in owner._forward_pre_hooks_with_kwargs:
                changed = hook(self.module, self.args, self.kwargs)
                if changed is None:
                    continue
                if not (isinstance(changed, tuple) and len(changed) == 2):
                    raise RuntimeError(
                        f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {changed}."
                    )
                self.args, self.kwargs = changed
            else:
                changed = hook(self.module, self.args)
                if changed is not None:
                    self.args = changed if isinstance(changed, tuple) else (changed,)

    def _run_forward_hook(self, owner: Any, number: int, hook: Hook) -> None:
        if number in owner._forward_hooks_with_kwargs:
            changed = hook(self.module, self.args, self.kwargs, self.result)
        else:
            changed = hook(self.module, self.args, self.result)
        if changed is not None:
            self.result = changed

    def _run_always_called(self) -> None:
        """Run the hooks that are always called and were not; what they raise must not hide the error on its way."""
        for owner, number, hook in self._hooks("_forward_hooks"):
            if number not in owner._forward_hooks_always_called or number in self.called:
                continue
            try:
                self._run_forward_hook(owner, number, hook)
            except Exception as error:
                which = "global module" if owner is _everywhere else "module"
                warnings.warn(
                    f"{which} forward hook with ``always_call=True`` raised an exception that was silenced as another "
                    f"error was raised in forward: {error}",
                    stacklevel=4,
                )


# Hooks of all modules


def register_module_forward_pre_hook(hook: Hook) -> RemovableHandle:
    """Run `hook(module, args)` before the forward of every module; what it returns replaces the arguments."""
    return _added(_everywhere._forward_pre_hooks, hook)


def register_module_forward_hook(
    hook: Hook, *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Run `hook(module, args, output)` after the forward of every module. See `Module.register_forward_hook`."""
    options = [_everywhere._forward_hooks_with_kwargs, _everywhere._forward_hooks_always_called]
    handle = _added(_everywhere._forward_hooks, hook, extra=options)
    for table, is_wanted in zip(options, (with_kwargs, always_call), strict=True):
        if is_wanted:
            table[handle.id] = True
    return handle


def register_module_full_backward_hook(hook: Hook) -> RemovableHandle:
    """Run `hook(module, grad_input, grad_output)` for every module. See `Module.register_full_backward_hook`."""
    if _everywhere._is_full_backward_hook is False:
        raise RuntimeError(_ON_ALL)
    _everywhere._is_full_backward_hook = True
    return _added(_everywhere._backward_hooks, hook)


def register_module_full_backward_pre_hook(hook: Hook) -> RemovableHandle:
    """Run `hook(module, grad_output)` for every module. See `Module.register_full_backward_pre_hook`."""
    return _added(_everywhere._backward_pre_hooks, hook)


def register_module_backward_hook(hook: Hook) -> RemovableHandle:
    """Deprecated: a hook on the last node of every module. Use `register_module_full_backward_hook`."""
    if _everywhere._is_full_backward_hook is True:
        raise RuntimeError(_ON_ALL)
    _everywhere._is_full_backward_hook = False
    return _added(_everywhere._backward_hooks, hook)


def register_module_parameter_registration_hook(hook: Hook) -> RemovableHandle:
    """Run `hook(module, name, parameter)` whenever a parameter is registered; what it returns is registered instead."""
    return _added(_everywhere.registration["parameter"], hook)


def register_module_buffer_registration_hook(hook: Hook) -> RemovableHandle:
    """Run `hook(module, name, buffer)` whenever a buffer is registered; what it returns is registered instead."""
    return _added(_everywhere.registration["buffer"], hook)


def register_module_module_registration_hook(hook: Hook) -> RemovableHandle:
    """Run `hook(module, name, child)` whenever a child is registered; what it returns is registered instead."""
    return _added(_everywhere.registration["module"], hook)
