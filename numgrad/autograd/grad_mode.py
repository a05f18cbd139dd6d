"""Whether ops are recorded: `no_grad`, `enable_grad`, `set_grad_enabled`, `inference_mode`. The mode is a thread's own."""

from __future__ import annotations

import functools
import inspect
import threading
import warnings
from collections.abc import Callable
from types import TracebackType
from typing import Any

_CLASSES = (
    "Decorating classes is deprecated and will be disabled in future versions. You should only decorate functions or "
    "methods. To preserve the current behavior of class decoration, you can directly decorate the `__init__` method and "
    "nothing else."
)


class _Mode(threading.local):
    """What the thread is in.

    Attributes:
        enabled: whether ops are recorded: asked for, and not in inference mode. The dispatcher reads it for every op.
        grad: whether recording is asked for.
        inference: whether inference mode is on.
        forward_enabled: whether tangents are carried on.
        levels: the running batches and dual levels (see `tracing.py`), from the outermost on.
        transforms: how many transforms of `func` are running.
    """

    enabled = True
    grad = True
    inference = False
    forward_enabled = True
    levels: tuple[Any, ...] = ()
    transforms = 0

    def set(self, grad: bool, inference: bool) -> None:
        self.grad = grad
        self.inference = inference
        self.enabled = grad and not inference


mode = _Mode()
inferring: list[None] = []  # true while any thread is in inference mode


def is_grad_enabled() -> bool:
    """Whether ops of this thread are recorded at present (in inference mode they are not, whatever this says)."""
    return mode.grad


def is_inference_mode_enabled() -> bool:
    """Whether this thread is in inference mode."""
    return mode.inference


class _Decorator:
    """A context manager that is also a decorator, for generators too."""

    def __enter__(self) -> None:
        raise NotImplementedError

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        raise NotImplementedError

    def clone(self) -> Any:
        """A context manager of the same kind and arguments: each call of a decorated function uses a fresh one."""
        return self.__class__()

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """`function` decorated."""
        if inspect.isgeneratorfunction(function):
            return self._wrap_generator(function)
        if inspect.isclass(function):
            warnings.warn(_CLASSES, FutureWarning, stacklevel=2)
            constructor = function
            function = lambda *args, **kwargs: constructor(*args, **kwargs)

        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with self.clone():
                return function(*args, **kwargs)

        return wrapped

    def _wrap_generator(self, function: Callable[..., Any]) -> Callable[..., Any]:
        # The mode holds while the generator's own code runs, never between two of its items.
        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            generator = function(*args, **kwargs)
            try:
                with self.clone():
                    item = generator.send(None)
                while True:
                    try:
                        request = yield item
                    except GeneratorExit:
                        with self.clone():
                            generator.close()
                        raise
                    except BaseException as error:
                        with self.clone():
                            item = generator.throw(error)
                    else:
                        with self.clone():
                            item = generator.send(request)
            except StopIteration as stop:
                return stop.value

        return wrapped


class _GradMode(_Decorator):
    """A context manager that sets whether ops are recorded; a decorator with and without parentheses."""

    _enabled: bool

    def __new__(cls, function: Callable[..., Any] | None = None) -> Any:
        """A context manager, or `function` decorated."""
        self = super().__new__(cls)
        return self if function is None else cls()(function)

    def __enter__(self) -> None:
        self.prev = mode.grad
        mode.set(self._enabled, mode.inference)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        mode.set(self.prev, mode.inference)


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


class enable_grad(_GradMode):
    """Ops inside are recorded, also within `no_grad`."""

    _enabled = True


class set_grad_enabled(_Decorator):
    """Set the mode to `mode`, at once; as a context manager, until its end. Raises TypeError for what is no bool."""

    def __init__(self, mode: bool) -> None:
        if not isinstance(mode, bool):
            raise TypeError(
                f"set_grad_enabled(): argument 'enabled' (position 1) must be bool, not {type(mode).__name__}"
            )
        self.mode = mode
        self.prev = _set_grad(mode)

    def __enter__(self) -> None:
        _set_grad(self.mode)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        _set_grad(self.prev)

    def clone(self) -> set_grad_enabled:
        """See `_Decorator.clone`."""
        return self.__class__(self.mode)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """`function` decorated; the mode that the constructor set is taken back."""
        _set_grad(self.prev)
        return super().__call__(function)

    def __repr__(self) -> str:
        return f"{type(self).__module__}.{type(self).__name__}(mode={self.mode})"


def _set_grad(enabled: bool) -> bool:
    """Set whether ops are recorded; the answer is what was set before."""
    previous = mode.grad
    mode.set(enabled, mode.inference)
    return previous


class inference_mode(_Decorator):
    """Ops inside are not recorded, and the tensors they make can never be used in a recorded computation.

    Such inference tensors have no version counter: they cannot be written in place outside, nor saved for backward;
    `clone()` makes a normal tensor of one. `inference_mode(False)` inside is normal mode again.

    Example:
        >>> import numgrad as ng
        >>> with ng.inference_mode():
        ...     y = ng.ones(2) * 2
        >>> y.is_inference()
        True
    """

    def __new__(cls, mode: Any = True) -> Any:
        """A context manager, or the function `mode` decorated."""
        return super().__new__(cls) if isinstance(mode, bool) else cls()(mode)

    def __init__(self, mode: bool = True) -> None:
        self.mode = mode

    def __enter__(self) -> None:
        self._previous = (mode.grad, mode.inference)
        inferring.append(None)
        mode.set(not self.mode, self.mode)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        inferring.pop()
        mode.set(*self._previous)

    def clone(self) -> inference_mode:
        """See `_Decorator.clone`."""
        return self.__class__(self.mode)


class set_multithreading_enabled(_Decorator):
    """Taken for PyTorch's sake: a backward always runs in the thread that calls it."""

    def __init__(self, mode: bool) -> None:
        self.mode = mode

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        pass

    def clone(self) -> set_multithreading_enabled:
        """See `_Decorator.clone`."""
        return self.__class__(self.mode)
