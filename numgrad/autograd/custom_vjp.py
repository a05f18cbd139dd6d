"""`custom_vjp`: a plain function with a gradient rule of its own, under JAX's names."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from . import grad_mode
from .function import Function, FunctionMeta
from .variable import CLASSES


class custom_vjp:
    """Give a function its own reverse-mode rule, in two functions as JAX does.

    `fwd(*args)` returns the function's output and residuals, which may be any Python structure; `bwd(residuals, g)`, given
    them and the gradient of the output, returns a gradient (or None) for each argument. Arguments named in
    `nondiff_argnums` take no gradient: `bwd` gets them first, as JAX passes them.

    The residuals' tensors are kept as they are; gradients of higher order go through `bwd` where it computes from
    arguments and outputs.

    Raises:
        RuntimeError: a call before `defvjp`, or a wrong number of gradients.

    Example:
        >>> import numgrad as ng
        >>> @ng.custom_vjp
        ... def log1pexp(x):
        ...     return (1 + x.exp()).log()
        >>> def forward(x):
        ...     return log1pexp(x), x
        >>> def backward(x, g):
        ...     return (g * x.sigmoid(),)
        >>> log1pexp.defvjp(forward, backward)
        >>> x = ng.tensor([100.0], requires_grad=True)
        >>> log1pexp(x).backward()
        >>> x.grad
        tensor([1.])
    """

    def __init__(self, fun: Callable[..., Any], nondiff_argnums: Sequence[int] = ()) -> None:
        functools.update_wrapper(self, fun)
        self.fun = fun
        self.name = getattr(fun, "__name__", type(fun).__name__)
        self.nondiff_argnums = tuple(nondiff_argnums)
        self._rule: Any = None

    def defvjp(self, fwd: Callable[..., Any], bwd: Callable[..., Any]) -> None:
        """Set the two rules: `fwd(*args) -> (output, residuals)` and `bwd(residuals, g) -> gradients`."""
        self._rule = _rule(self.name, fwd, bwd, self.nondiff_argnums)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The function's output, recorded with the rules."""
        if self._rule is None:
            raise RuntimeError(
                f"No VJP defined for custom_vjp function {self.name} using defvjp: call {self.name}.defvjp(fwd, bwd)"
            )
        bound = inspect.signature(self.fun).bind(*args, **kwargs)
        bound.apply_defaults()
        recorded = any(a.__class__ in CLASSES and a.requires_grad for a in bound.args)
        if not grad_mode.is_grad_enabled() or not recorded:
            return self.fun(*bound.args, **bound.kwargs)
        return self._rule.apply(*bound.args, **bound.kwargs)


def _rule(name: str, fwd: Callable[..., Any], bwd: Callable[..., Any], skipped: tuple[int, ...]) -> Any:
    """The Function that runs a pair of rules."""

    def forward(ctx: Any, *args: Any) -> Any:
        output, residuals = fwd(*args)
        ctx.several = isinstance(output, (tuple, list))
        outputs = tuple(output) if ctx.several else (output,)
        tensors: list[Any] = []
        ctx.residuals = _map(residuals, lambda t: _Kept(_index(tensors, t)))
        ctx.constants = tuple(args[i] for i in skipped)
        ctx.count = len(args)
        ctx.save_for_backward(*tensors)
        return outputs if ctx.several else output

    def backward(ctx: Any, *gradients: Any) -> Any:
        tensors = ctx.saved_tensors
        residuals = _unmap(ctx.residuals, tensors)
        given = bwd(*ctx.constants, residuals, gradients if ctx.several else gradients[0])
        given = tuple(given) if isinstance(given, (tuple, list)) else (given,)
        wanted = ctx.count - len(skipped)
        if len(given) != wanted:
            raise RuntimeError(
                f"the bwd rule of custom_vjp function {name} returned {len(given)} gradients for {wanted} arguments: return "
                "a tuple with one (or None) for each"
            )
        found = iter(given)
        return tuple(None if i in skipped else next(found) for i in range(ctx.count))

    members = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return FunctionMeta(name, (Function,), members)


class _Kept:
    """Stands for a saved tensor among residuals."""

    def __init__(self, index: int) -> None:
        self.index = index


def _index(tensors: list[Any], tensor: Any) -> int:
    tensors.append(tensor)
    return len(tensors) - 1


def _map(values: Any, tensor: Callable[[Any], Any]) -> Any:
    """A structure of tuples, lists and dicts with its tensors replaced."""
    if values.__class__ in CLASSES:
        return tensor(values)
    if isinstance(values, tuple):
        mapped = [_map(v, tensor) for v in values]
        return type(values)(*mapped) if hasattr(values, "_fields") else tuple(mapped)
    if isinstance(values, list):
        return [_map(v, tensor) for v in values]
    if isinstance(values, dict):
        return {k: _map(v, tensor) for k, v in values.items()}
    return values


def _unmap(values: Any, tensors: Sequence[Any]) -> Any:
    """The inverse of `_map`."""
    if isinstance(values, _Kept):
        return tensors[values.index]
    if isinstance(values, tuple):
        mapped = [_unmap(v, tensors) for v in values]
        return type(values)(*mapped) if hasattr(values, "_fields") else tuple(mapped)
    if isinstance(values, list):
        return [_unmap(v, tensors) for v in values]
    if isinstance(values, dict):
        return {k: _unmap(v, tensors) for k, v in values.items()}
    return values
