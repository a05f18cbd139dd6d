"""Jacobians by central differences, for `gradcheck`."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from ..kernels.movement import stack
from .variable import CLASSES

Function = Callable[..., Any]


def as_tuple(values: Any) -> tuple[Any, ...]:
    """One value or several, as a tuple."""
    return tuple(values) if isinstance(values, (tuple, list)) else (values,)


def is_differentiable(x: Any) -> bool:
    """Whether a value is a tensor of floating point or complex numbers."""
    return x.__class__ in CLASSES and x._differentiable()


def differentiable_outputs(values: Any) -> tuple[Any, ...]:
    """Those of a function's results that require gradients."""
    return tuple(y for y in as_tuple(values) if y.requires_grad)


def checked_indices(inputs: Sequence[Any]) -> list[int]:
    """Positions of the inputs that require gradients."""
    return [i for i, x in enumerate(inputs) if x.__class__ in CLASSES and x.requires_grad]


def jacobian(func: Function, inputs: tuple[Any, ...], index: int, outputs: Sequence[Any], eps: float) -> list[Any]:
    """For each differentiable output the Jacobian by one input, of shape (items of the input, items of the output)."""
    x = inputs[index]
    memory = x.data
    columns: list[list[Any]] = []
    for position in itertools.product(*map(range, x.shape)):
        entry = memory
        for i in position:
            entry = entry.select(0, i)
        columns.append(_directional(func, inputs, entry, eps, 1, f"on index {position} ", eps))
    found = []
    for k, out in enumerate(outputs):
        if is_differentiable(out):
            dtype = x.dtype if x.is_complex() else out.dtype
            rows = [column[k].to(dtype) for column in columns]
            found.append(stack(*rows, dim=0) if rows else out.detach().new_zeros((0, out.numel()), dtype=dtype))
    return found


def along(func: Function, inputs: tuple[Any, ...], index: int, direction: Any, eps: float) -> list[Any]:
    """For each output the derivative along a direction of one input, by central differences, as a vector.

    The direction of a complex input is a pair: of its real part and of its imaginary part.
    """
    x = inputs[index]
    memory = x.data
    if x.is_complex():
        steps = tuple(part.reshape(x.shape) * eps for part in direction)
        return _directional(func, inputs, memory, steps, 1, "", eps)
    return _directional(func, inputs, memory, direction.reshape(x.shape) * eps, 1, "", eps)


def _directional(
    func: Function, inputs: tuple[Any, ...], entry: Any, step: Any, norm: float, where: str, eps: float
) -> list[Any]:
    real, imaginary = step if isinstance(step, tuple) else (step, step)
    by_real = _difference(func, inputs, entry, real, eps, where)
    if not entry.is_complex():
        return by_real
    by_imaginary = _difference(func, inputs, entry, imaginary * 1j, eps, where)
    return [dx + dy * 1j for dx, dy in zip(by_real, by_imaginary, strict=True)]


def _difference(func: Function, inputs: tuple[Any, ...], entry: Any, step: Any, eps: float, where: str) -> list[Any]:
    """`(f(x + step) - f(x - step)) / (2 * eps)` for each output, `entry` being memory of an input."""
    original = entry.clone()
    try:
        entry.copy_(original - step)
        behind = _evaluated(func, inputs)
        entry.copy_(original + step)
        ahead = _evaluated(func, inputs)
    finally:
        entry.copy_(original)
    for one, other in zip(behind, ahead, strict=True):
        _check_alike(one, other, eps, where)
    return [
        ((b - a) / (2 * eps)).detach().reshape(-1) if is_differentiable(b) else b.reshape(-1)
        for a, b in zip(behind, ahead, strict=True)
    ]


def _evaluated(func: Function, inputs: tuple[Any, ...]) -> list[Any]:
    return [y.clone() for y in as_tuple(func(*inputs))]


def _check_alike(one: Any, other: Any, eps: float, where: str) -> None:
    for name, a, b in (("shape", one.shape, other.shape), ("dtype", one.dtype, other.dtype)):
        if a != b:
            raise AssertionError(
                f"Expected `func` to return outputs with the same {name} when inputs are perturbed {where}by {eps}, but "
                f"got: {name}s {a} and {b}."
            )
