"""Checks that an argument is a tensor, with PyTorch's texts."""

from __future__ import annotations

from typing import Any

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
