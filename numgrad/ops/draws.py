"""What the random functions share: a draw from a generator, and checks of their arguments."""

from __future__ import annotations

import math
import warnings
from typing import Any

from .. import dtype as dtypes
from ..autograd.grad_mode import mode
from ..autograd.variable import CLASSES
from ..device import CPU, device
from ..dispatch import create, dispatch
from ..kernels import draws
from ..random import chosen


def draw(
    name: str,
    kind: str,
    size: tuple[int, ...],
    dtype: dtypes.dtype,
    where: Any,
    generator: Any,
    bounds: tuple[int, int] = (0, 0),
    out: Any = None,
) -> Any:
    """A new tensor of random items, for the function `name`.

    `kind` is "uniform" (in [0, 1)), "normal" (mean 0, variance 1) or "integers" (in [low, high), the `bounds`).
    """
    target = CPU if where is None else device(where).concrete()

    def items(size: tuple[int, ...]) -> Any:
        positions = draws.positions(kind, dtype.numpy, math.prod(size))
        stream = chosen(generator, target, name).advance(positions)
        attributes = (size, kind, dtype.name, *bounds, *stream)
        if out is None:
            return create(draws.draw, attributes, target)
        return dispatch(draws.draw, (), (*attributes, target), out)

    if mode.levels:
        from ..autograd.batching import drawn

        return drawn(items, size)
    return items(size)


def integers(
    name: str, size: tuple[int, ...], dtype: dtypes.dtype, where: Any, generator: Any, low: int, last: int
) -> Any:
    """A new tensor of integers from `low` to `last`, both included, in any dtype."""
    high = min(last + 1, low + 2**64 - 1)
    drawn = draw(name, "integers", size, dtypes.int64, where, generator, (low, high))
    return drawn if dtype is dtypes.int64 else drawn.to(dtype)


def real(name: str, argument: str, position: int, value: Any) -> float:
    """A number, given as one or as a tensor of one item. Raises TypeError for anything else."""
    is_number = value.numel() == 1 and not value.dim() if value.__class__ in CLASSES else hasattr(value, "__float__")
    if not is_number:
        kind = "Tensor" if value.__class__ in CLASSES else type(value).__name__
        raise TypeError(f"{name}(): argument '{argument}' (position {position}) must be float, not {kind}")
    return value if isinstance(value, (int, float)) else float(value)


def refuse_integers(kernel: str, dtype: dtypes.dtype) -> None:
    """Raise NotImplementedError in the name of PyTorch's kernel, for a dtype that has no continuous distribution."""
    if not (dtype.is_floating_point or dtype.is_complex):
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{dtype.scalar_name}'")


def refuse_complex(kernel: str, dtype: dtypes.dtype) -> None:
    """Raise NotImplementedError in the name of PyTorch's kernel, for complex numbers."""
    if dtype.is_complex:
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{dtype.scalar_name}'")


def shown(value: float) -> str:
    """A number as C++ prints it in PyTorch's messages: `-1`, `0.5`, `3e+38`."""
    return f"{value:g}"


def check_std(std: float) -> None:
    """Raise RuntimeError for a negative standard deviation."""
    if not std >= 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {shown(std)}")


def check_integer_bounds(dtype: dtypes.dtype, low: int, high: int) -> None:
    """Raise RuntimeError, with PyTorch's texts, for an empty [low, high) and for bounds that `dtype` does not hold.

    Floats beyond the integers that they hold exactly are warned of, as there.
    """
    if dtype.is_complex:
        raise RuntimeError("check_random_bounds handles only integral, floating-point and boolean types")
    if low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    smallest, largest = draws.integer_range(dtype.numpy)
    for name, value in (("from", low), ("to - 1", high - 1)):
        if smallest <= value <= largest:
            continue
        if not dtype.is_floating_point:
            raise RuntimeError(f"{name} is out of bounds for {dtype.c_name}")
        digits = largest.bit_length() - 1
        warnings.warn(
            f"{name} is out of bounds [-(2^{digits}), 2^{digits}]. Due to precision limitations {dtype.c_name} can support "
            "discrete uniform distribution only within this range. This warning will become an error in version 1.7 "
            "release, please fix the code in advance",
            UserWarning,
            stacklevel=3,
        )
