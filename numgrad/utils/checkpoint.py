"""Checkpointing: a part of a forward pass keeps its inputs only, and is computed again when backward needs the rest.

    >>> import numgrad as ng
    >>> from numgrad.utils.checkpoint import checkpoint
    >>> x = ng.tensor([1.0, 2.0], requires_grad=True)
    >>> checkpoint(lambda t: (t * t).sin(), x, use_reentrant=False).sum().backward()
    >>> x.grad
    tensor([ 1.0806, -2.6146])

There are two ways. With `use_reentrant=False` the forward is recorded as always, but what its nodes save is left to hooks,
which run the function again at the first need. With `use_reentrant=True` the forward is not recorded; its one node runs
the function again and a backward through that.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

from .. import autograd, random
from ..autograd.engine import current_pass
from ..autograd.grad_mode import enable_grad, is_grad_enabled, no_grad
from ..autograd.variable import CLASSES
from ..nn.container import Sequential
from .recomputation import CheckpointError, Frame, metadata

__all__ = [
    "CheckpointError",
    "CheckpointFunction",
    "check_backward_validity",
    "checkpoint",
    "checkpoint_sequential",
    "detach_variable",
    "noop_context_fn",
    "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop",
]

Contexts = tuple[AbstractContextManager[Any], AbstractContextManager[Any]]

_DETERMINISM_CHECKS: dict[str, Callable[[Any], Any]] = {"default": metadata, "none": lambda _: None}
_SUPPRESSED = (
    "torch.utils.checkpoint: the forward context provided by context_fn suppressed an exception raised during the "
    "checkpointed forward. This is not supported because checkpoint cannot return a value for a failed forward."
)
_REENTRANT_GRAD = (
    "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an `inputs` parameter to "
    ".backward(). To resolve this error, you can either set use_reentrant=False, or call .backward() without passing the "
    "`inputs` argument."
)


class _Settings:
    """What the context managers below set for all threads; None leaves it to the arguments of `checkpoint`."""

    early_stop: bool | None = None
    debug: bool | None = None


def noop_context_fn() -> Contexts:
    """Two contexts that do nothing: the default of `context_fn`."""
    return contextlib.nullcontext(), contextlib.nullcontext()


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Callable[[], Contexts] = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    **kwargs: Any,
) -> Any:
    """Call a function so that only its arguments are kept for backward, which calls it again.

    Args:
        function: what to call. Called again it must compute the same.
        args: its arguments.
        use_reentrant: how; False is recommended and can do everything. Should be given.
        context_fn: returns the contexts in which the function is called first and again.
        determinism_check: "default" compares shapes, dtypes and devices of what is saved both times, "none" does not.
        debug: name, where the two calls differ, what each has saved and where.
        early_stop: end the second call as soon as all that was saved is there again.
        kwargs: `preserve_rng_state=True` lets random functions draw the same numbers again; others go to the function,
            unless `use_reentrant`.

    Returns:
        What the function returns.

    Raises:
        ValueError: options that the chosen way does not have.
        CheckpointError: in backward, when the second call saved other tensors than the first.
        RuntimeError: in backward, for `use_reentrant=True` under `autograd.grad` or `backward(inputs=)`.
    """
    if use_reentrant is None:
        warnings.warn(
            "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. Starting in PyTorch 2.9, "
            "calling checkpoint without use_reentrant will raise an exception. use_reentrant=False is recommended, but if "
            "you need to preserve the current default behavior, you can pass use_reentrant=True. Refer to docs for more "
            "details on the differences between the two variants.",
            UserWarning,
            stacklevel=2,
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if not use_reentrant:
        return _recorded(function, args, kwargs, preserve, context_fn, determinism_check, debug, early_stop)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    if context_fn is not noop_context_fn or debug is not False:
        raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
    return CheckpointFunction.apply(function, preserve, *args)


def _recorded(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    preserve: bool,
    context_fn: Callable[[], Contexts],
    determinism_check: str,
    debug: bool,
    early_stop: bool,
) -> Any:
    """`checkpoint(use_reentrant=False)`."""
    debug = debug if _Settings.debug is None else _Settings.debug
    if debug and context_fn is not noop_context_fn:
        raise ValueError("debug=True is incompatible with non-default context_fn")
    if determinism_check not in _DETERMINISM_CHECKS:
        raise ValueError(f"determinism_check should be one of {list(_DETERMINISM_CHECKS)}, but got {determinism_check}")
    first, again = context_fn()
    state = random.get_rng_state() if preserve else None

    def recompute(*given: Any) -> None:
        with _drawing_from(state), again:
            function(*given, **kwargs)

    if not is_grad_enabled():
        return function(*args, **kwargs)
    stops = early_stop if _Settings.early_stop is None else _Settings.early_stop
    frame = Frame(recompute, args, _DETERMINISM_CHECKS[determinism_check], stops, debug)
    result: list[Any] = []
    with frame.saving(), first:
        result.append(function(*args, **kwargs))
    if not result:
        raise RuntimeError(_SUPPRESSED)
    frame.is_complete = True
    return result[0]


@contextlib.contextmanager
def _drawing_from(state: Any) -> Iterator[None]:
    """Random functions draw from a state, and from where they were again afterwards; None changes nothing."""
    with random.fork_rng(enabled=state is not None):
        if state is not None:
            random.set_rng_state(state)
        yield


# ---------------------------------------------------------------------------------------------------- reentrant
class CheckpointFunction(autograd.Function):
    """The node of `checkpoint(use_reentrant=True)`: its backward computes the function again, and a backward through it."""

    @staticmethod
    def forward(ctx: Any, run_function: Callable[..., Any], preserve_rng_state: bool, *args: Any) -> Any:
        """Call the function without recording."""
        check_backward_validity(args)
        ctx.run_function = run_function
        ctx.state = random.get_rng_state() if preserve_rng_state else None
        ctx.arguments = [None if x.__class__ in CLASSES else x for x in args]
        ctx.places = [i for i, x in enumerate(args) if x.__class__ in CLASSES]
        ctx.save_for_backward(*[args[i] for i in ctx.places])
        with no_grad():
            return run_function(*args)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        """Call it again, recorded, and run backward from its outputs."""
        if current_pass().inputs is not None:
            raise RuntimeError(_REENTRANT_GRAD)
        arguments = list(ctx.arguments)
        for i, x in zip(ctx.places, ctx.saved_tensors, strict=True):
            arguments[i] = x
        inputs = detach_variable(tuple(arguments))
        with _drawing_from(ctx.state), enable_grad():
            outputs = ctx.run_function(*inputs)
        several = outputs if isinstance(outputs, tuple) else (outputs,)
        pairs = [(y, g) for y, g in zip(several, gradients, strict=True) if y.__class__ in CLASSES and y.requires_grad]
        if not pairs:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        autograd.backward([y for y, _ in pairs], [g for _, g in pairs])
        return (None, None, *[x.grad if x.__class__ in CLASSES else None for x in inputs])


def detach_variable(inputs: Any) -> tuple[Any, ...]:
    """The same values as leaves that require gradients where the inputs do. Raises RuntimeError unless given a tuple."""
    if not isinstance(inputs, tuple):
        raise RuntimeError(f"Only tuple of tensors is supported. Got Unsupported input type: {type(inputs).__name__}")
    return tuple(x.detach().requires_grad_(x.requires_grad) if x.__class__ in CLASSES else x for x in inputs)


def check_backward_validity(inputs: Iterable[Any]) -> None:
    """Warn when no input requires a gradient."""
    if not any(x.requires_grad for x in inputs if x.__class__ in CLASSES):
        warnings.warn("None of the inputs have requires_grad=True. Gradients will be None", UserWarning, stacklevel=2)


# ---------------------------------------------------------------------------------------------------- sequences
def checkpoint_sequential(
    functions: Sequence[Callable[..., Any]] | Sequential,
    segments: int,
    input: Any,
    use_reentrant: bool | None = None,
    **kwargs: Any,
) -> Any:
    """Call functions one after the other, in segments that are checkpointed, but for the last.

    Args:
        functions: a `Sequential`, or functions of one argument.
        segments: how many segments of equal length; the last takes the rest.
        input: what the first function is called with.
        use_reentrant: as for `checkpoint`; should be given.
        kwargs: `preserve_rng_state`. Raises ValueError for anything else.

    Example:
        >>> import numgrad as ng
        >>> x = ng.tensor([1.0, 2.0], requires_grad=True)
        >>> steps = [lambda t: t * 2, lambda t: t * t]
        >>> ng.utils.checkpoint.checkpoint_sequential(steps, 2, x, use_reentrant=False)
        tensor([ 4., 16.], grad_fn=<MulBackward0>)
    """
    if use_reentrant is None:
        warnings.warn(
            "torch.utils.checkpoint.checkpoint_sequential: the use_reentrant parameter should be passed explicitly. In "
            "version 2.9 we will raise an exception if use_reentrant is not passed. use_reentrant=False is recommended, "
            "but if you need to preserve the current default behavior, you can pass use_reentrant=True. Refer to docs for "
            "more details on the differences between the two variants.",
            UserWarning,
            stacklevel=2,
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    steps = list(functions.children()) if isinstance(functions, Sequential) else list(functions)
    length = len(steps) // segments
    done = 0
    for start in range(0, length * (segments - 1), length):
        done = start + length
        input = checkpoint(_in_turn(steps[start:done]), input, use_reentrant=use_reentrant, preserve_rng_state=preserve)
    return _in_turn(steps[done:])(input)


def _in_turn(steps: Sequence[Callable[..., Any]]) -> Callable[[Any], Any]:
    def run(value: Any) -> Any:
        for step in steps:
            value = step(value)
        return value

    return run


# ---------------------------------------------------------------------------------------------------- settings
@contextlib.contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """Whether second calls end as soon as they can, in place of the arguments of the `checkpoint` calls inside."""
    before, _Settings.early_stop = _Settings.early_stop, enable
    try:
        yield
    finally:
        _Settings.early_stop = before


@contextlib.contextmanager
def set_checkpoint_debug_enabled(enabled: bool | None) -> Iterator[None]:
    """The `debug` of all `checkpoint` calls inside; None leaves it to their arguments."""
    before, _Settings.debug = _Settings.debug, enabled
    try:
        yield
    finally:
        _Settings.debug = before
