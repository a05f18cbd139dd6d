"""What the transforms check of their arguments and of what a function returns, with PyTorch's texts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ..autograd.grad_mode import mode
from ..autograd.variable import CLASSES
from ..pytree import leaves

Argnums = int | tuple[int, ...]


@contextmanager
def transforming() -> Iterator[None]:
    """While a transformed function runs, `backward()` and `requires_grad_()` are refused."""
    mode.transforms += 1
    try:
        yield
    finally:
        mode.transforms -= 1


def chosen(args: tuple[Any, ...], argnums: Any) -> tuple[list[int], Any]:
    """The positions of the arguments to differentiate by, and those arguments: one, or a tuple of them."""
    if isinstance(argnums, int):
        position = _position(argnums, len(args))
        return [position], args[position]
    if not isinstance(argnums, tuple):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    if not argnums:
        raise RuntimeError("argnums must be non-empty, got argnums=()")
    positions = [_position(n, len(args)) for n in argnums]
    if len(set(positions)) != len(positions):
        raise RuntimeError(f"argnums elements must be unique, got {argnums}")
    return positions, tuple(args[n] for n in positions)


def _position(argnum: Any, count: int) -> int:
    if not isinstance(argnum, int):
        raise RuntimeError(f"argnum must be int, got: {type(argnum)}")
    if not -count <= argnum < count:
        raise RuntimeError(f"Got argnum={argnum}, but only {count} positional inputs")
    return argnum % count


def replaced(args: tuple[Any, ...], positions: Sequence[int], argnums: Any, values: Any) -> tuple[Any, ...]:
    """The arguments with others at the positions that `chosen` gave."""
    found = list(args)
    for position, value in zip(positions, (values,) if isinstance(argnums, int) else values, strict=True):
        found[position] = value
    return tuple(found)


def differentiable(flat: Sequence[Any]) -> None:
    """Raise when something to differentiate by is no tensor of floating point numbers."""
    for x in flat:
        if x.__class__ not in CLASSES:
            raise ValueError(f"Thing passed to transform API must be Tensor, got {type(x)}")
        if not x._differentiable():
            raise RuntimeError("only Tensors of floating point dtype can require gradients")


def tensors_only(tree: Any, what: str) -> None:
    """Raise RuntimeError when a nest holds anything but tensors; `what` begins the text."""
    for x in leaves(tree):
        if x.__class__ not in CLASSES:
            raise RuntimeError(f"{what}got unsupported type {type(x)}")


def with_aux(result: Any, has_aux: bool, name: str) -> tuple[Any, Any]:
    """What a function returned as its output and what comes along with it, which is None without `has_aux`."""
    if not has_aux:
        return result, None
    if not (isinstance(result, tuple) and len(result) == 2):
        raise RuntimeError(f"{name}: output of function f should be a tuple: (output, aux) if has_aux is True")
    output, aux = result
    tensors_only(aux, "Expected tensors, ")
    return output, aux


def name_of(func: Callable[..., Any]) -> str:
    """What texts call a function."""
    return getattr(func, "__name__", None) or repr(func)
