"""clamp, clip, clamp_min, clamp_max, nan_to_num: items held within bounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..autograd.grad_mode import mode
from ..autograd.variable import CLASSES
from ..dispatch import dispatch
from ..kernels import bounds
from ..limits import finfo
from ..out import write_out
from .checks import check_held, check_tensor
from .complex_numbers import view_as_complex, view_as_real


def clamp(input: Any, min: Any = None, max: Any = None, *, out: Any = None) -> Any:
    """`input` held between `min` and `max`: numbers, or tensors that broadcast; one of them may be left out.

    The gradient passes where `input` is within the bounds or at one. Where `min` is above `max` the result is `max`.

    Raises:
        RuntimeError: neither bound is given.
        TypeError: one is a number and the other a tensor.

    Example:
        >>> import numgrad as ng
        >>> ng.clamp(ng.tensor([-1.0, 0.5, 2.0]), 0, 1)
        tensor([0.0000, 0.5000, 1.0000])
    """
    return _clamped("clamp", input, min, max, out)


def clip(input: Any, min: Any = None, max: Any = None, *, out: Any = None) -> Any:
    """Another name of `clamp`."""
    return _clamped("clip", input, min, max, out)


def _clamped(name: str, input: Any, min: Any, max: Any, out: Any) -> Any:
    check_tensor(name, input)
    given = [b for b in (min, max) if b is not None]
    if not given:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    tensors = [b.__class__ in CLASSES for b in given]
    if any(tensors) != all(tensors) or not all(
        t or isinstance(b, (int, float)) for t, b in zip(tensors, given, strict=True)
    ):
        raise TypeError(
            f"{name}(): bounds must be two numbers or two tensors, got min={type(min).__name__}, max={type(max).__name__}"
        )
    if input._array.dtype.kind == "b" and not tensors[0] and all(isinstance(b, bool) for b in given):
        raise NotImplementedError("\"clamp_scalar_cpu\" not implemented for 'Bool'")
    check_held(input, *given)
    if len(given) == 2:
        op = bounds.clamp_tensor if tensors[0] else bounds.clamp
    elif min is not None:
        op = bounds.clamp_low_tensor if tensors[0] else bounds.clamp_low
    else:
        op = bounds.clamp_high_tensor if tensors[0] else bounds.clamp_high
    return dispatch(op, (input, *given), (), out)


def clamp_min(input: Any, min: Any, *, out: Any = None) -> Any:
    """`input` where it is not below `min` (a number or a tensor), else that."""
    check_tensor("clamp_min", input)
    check_held(input, min)
    op = bounds.clamp_min_tensor if min.__class__ in CLASSES else bounds.clamp_min
    return dispatch(op, (input, min), (), out)


def clamp_max(input: Any, max: Any, *, out: Any = None) -> Any:
    """`input` where it is not above `max` (a number or a tensor), else that."""
    check_tensor("clamp_max", input)
    check_held(input, max)
    op = bounds.clamp_max_tensor if max.__class__ in CLASSES else bounds.clamp_max
    return dispatch(op, (input, max), (), out)


def nan_to_num(
    input: Any, nan: float | None = None, posinf: float | None = None, neginf: float | None = None, *, out: Any = None
) -> Any:
    """`input` with numbers for NaN (0 by default), inf and -inf (the largest and smallest of the dtype)."""
    check_tensor("nan_to_num", input)
    for name, value in (("nan", nan), ("posinf", posinf), ("neginf", neginf)):
        if value is not None and not isinstance(value, (int, float)):
            raise TypeError(f"nan_to_num(): argument '{name}' must be float, not {type(value).__name__}")
    if input.is_complex():
        return _of_parts(input, (nan, posinf, neginf), out)
    if not input.is_floating_point():
        return input.clone() if out is None else out.copy_(input)
    largest = finfo(input.dtype).max
    values = [
        float(given if given is not None else default)
        for given, default in ((nan, 0), (posinf, largest), (neginf, -largest))
    ]
    return dispatch(bounds.nan_to_num, (input, *values), (), out)


def _of_parts(input: Any, numbers: Sequence[float | None], out: Any) -> Any:
    """`nan_to_num` of both parts of complex numbers. Raises RuntimeError, as PyTorch, when a gradient is wanted."""
    if mode.enabled and input.requires_grad:
        raise RuntimeError("nan_to_num does not support automatic differentiation for outputs with complex dtype.")
    found = view_as_complex(nan_to_num(view_as_real(input), *numbers))
    return found if out is None else write_out("nan_to_num", out, found, (input,))
