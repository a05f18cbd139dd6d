"""Checks that an argument is a tensor, with PyTorch's texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..autograd.variable import CLASSES
from ..device import device
from ..dtype import dtype, get_default_dtype
from ..memory_format import memory_format
from ..operands import MIXED, Foreign
from ..out import write_out
from ..size import Size


def check_tensor(name: str, value: Any, argument: str = "input", position: int = 1) -> None:
    """Raise TypeError when an argument of the function `name` is no tensor."""
    if value.__class__ not in CLASSES:
        if isinstance(value, Foreign):
            raise TypeError(MIXED)
        raise TypeError(
            f"{name}(): argument '{argument}' (position {position}) must be Tensor, not {type(value).__name__}"
        )


def check_tensors(name: str, **arguments: Any) -> None:
    """`check_tensor` for several arguments, in the function's order."""
    for position, (argument, value) in enumerate(arguments.items(), 1):
        check_tensor(name, value, argument, position)


def check_held(input: Any, *numbers: Any) -> None:
    """Raise RuntimeError, with PyTorch's text, for a number beside a tensor that the dtype of all does not reach to."""
    own = input.dtype
    if not own.is_differentiable and any(number.__class__ is float for number in numbers):
        own = get_default_dtype()
    for number in numbers:
        if number.__class__ is int or number.__class__ is float:
            own.check_holds(number)


def check_bool(name: str, argument: str, value: Any) -> None:
    """Raise TypeError when an argument of the function `name` is no bool."""
    if not isinstance(value, bool):
        raise TypeError(f"{name}(): argument '{argument}' must be bool, not {type(value).__name__}")


def invalid_combination(
    name: str, given: Sequence[Any], named: Mapping[str, Any], signatures: Sequence[str]
) -> TypeError:
    """PyTorch's error for arguments that fit none of the signatures of the function `name`."""
    kinds = [_kind(value) for value in given] + [f"{key}={_kind(value)}" for key, value in named.items()]
    got = ", ".join(kinds) + (", " if named and not given else "")
    expected = "".join(f" * {signature}\n" for signature in signatures)
    return TypeError(
        f"{name}() received an invalid combination of arguments - got ({got}), but expected one of:\n{expected}"
    )


def _kind(value: Any) -> str:
    if value.__class__ in CLASSES:
        return "Tensor"
    kind = type(value).__name__
    return f"torch.{kind}" if isinstance(value, (Size, dtype, device, memory_format)) else kind


def written(name: str, found: Any, out: Any) -> Any:
    """A result, written to `out` (see `write_out`) where that is given."""
    if out is None:
        return found
    check_tensor(name, out, "out")
    return write_out(name, out, found, (found,))
