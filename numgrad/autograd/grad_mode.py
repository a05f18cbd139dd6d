"""Whether ops are recorded: `no_grad`, `enable_grad`, `set_grad_enabled`. The mode is a thread's own."""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any


class _Mode(threading.local):
    """A thread's own state: whether ops are recorded and tangents carried on, the running levels (`tracing.py`), and how
    many transforms of `func` are running."""

    enabled = True
    forward_enabled = True
    levels: tuple[Any, ...] = ()
    transforms = 0


mode = _Mode()


def is_grad_enabled() -> bool:
    """Whether ops of this thread are recorded at present."""
    return mode.enabled


class _GradMode:
    """A context manager that sets the mode; also a decorator, for generators too."""

    _enabled: bool

    def __enter__(self) -> None:
        self._previous = mode.enabled
        mode.enabled = self._enabled

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        mode.enabled = self._previous

    def _fresh(self) -> _GradMode:
        return self.__class__()

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        if inspect.isgeneratorfunction(function):
            return self._wrap_generator(function)

        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with self._fresh():
                return function(*args, **kwargs)

        return wrapped

    def _wrap_generator(self, function: Callable[..., Any]) -> Callable[..., Any]:
        # The mode holds while the generator's own code runs, never between two of its items.
        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            generator = function(*args, **kwargs)
            try:
                with self._fresh():
                    item = generator.send(None)
                while True:
                    try:
                        request = yield item
                    except GeneratorExit:
                        with self._fresh():
                            generator.close()
                        raise
                    except BaseException as error:
                        with self._fresh():
                            item = generator.throw(error)
                    else:
                        with self._fresh():
                            item = generator.send(request)
            except StopIteration as stop:
                return stop.value

        return wrapped


class no_grad(_GradMode):
    """Ops inside are not recorded: their results do not require gradients.

    Use it as `with no_grad():`, `@no_grad()` or `@no_grad`.

    Example:
        >>> import numgrad as ng
        >>> x = ng.ones(2, requires_grad=True)
        >>> with ng.no_grad():
        ...     (x * 2).requires_grad
        False
    """

    _enabled = False

    def __new__(cls, function: Callable[..., Any] | None = None) -> Any:
        """A context manager, or `function` decorated."""
        self = super().__new__(cls)
        return self if function is None else self(function)


class enable_grad(_GradMode):
    """Ops inside are recorded, also within `no_grad`."""

    _enabled = True

    def __new__(cls, function: Callable[..., Any] | None = None) -> Any:
        """A context manager, or `function` decorated."""
        self = super().__new__(cls)
        return self if function is None else self(function)


class set_grad_enabled(_GradMode):
    """Set the mode to `mode`, at once; as a context manager, until its end."""

    def __init__(self, mode: bool) -> None:
        self._before = _swap(mode)
        self._enabled = mode

    def __enter__(self) -> None:
        self._previous = self._before
        mode.enabled = self._enabled

    def _fresh(self) -> _GradMode:
        return set_grad_enabled(self._enabled)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """`function` decorated; the mode that the constructor set is taken back."""
        mode.enabled = self._before
        return super().__call__(function)


def _swap(enabled: bool) -> bool:
    previous = mode.enabled
    mode.enabled = bool(enabled)
    return previous
