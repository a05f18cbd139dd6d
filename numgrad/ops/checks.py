"""Checks that an argument is a tensor, with PyTorch's texts."""

from __future__ import annotations

from typing import Any

from ..autograd.grad_mode import mode
from ..autograd.variable import CLASSES


def check_tensor(name: str, value: Any, argument: str = "input", position: int = 1) -> None:
    """Raise TypeError when an argument of the function `name` is no tensor."""
    if value.__class__ not in CLASSES:
        raise TypeError(
            f"{name}(): argument '{argument}' (position {position}) must be Tensor, not {type(value).__name__}"
        )


def check_tensors(name: str, **arguments: Any) -> None:
    """`check_tensor` for several arguments, in the function's order."""
    for position, (argument, value) in enumerate(arguments.items(), 1):
        check_tensor(name, value, argument, position)


def check_bool(name: str, argument: str, value: Any) -> None:
    """Raise TypeError when an argument of the function `name` is no bool."""
    if not isinstance(value, bool):
        raise TypeError(f"{name}(): argument '{argument}' must be bool, not {type(value).__name__}")


def written(name: str, found: Any, out: Any) -> Any:
    """A result, copied to `out` where that is given. Raises RuntimeError when a gradient is wanted, or for another shape."""
    if out is None:
        return found
    check_tensor(name, out, "out")
    if mode.enabled and (found.requires_grad or out.requires_grad):
        raise RuntimeError(
            f"{name}(): functions with out=... arguments don't support automatic differentiation, but one of the arguments "
            "requires grad."
        )
    if out._array.shape != found._array.shape:
        raise RuntimeError(
            f"{name}(): out has shape {list(out.shape)}, the result {list(found.shape)}: give it that shape"
        )
    return out.copy_(found)
