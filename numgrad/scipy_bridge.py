"""Functions of tensors for optimisers that take functions of NumPy arrays."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .autograd import enable_grad, grad
from .autograd.variable import CLASSES
from .dtype import float64
from .interop import tensor, to_numpy


def value_and_grad(f: Callable[..., Any]) -> Callable[..., tuple[float, Any]]:
    """The function that computes a value and its gradient in NumPy's terms, as `scipy.optimize.minimize(jac=True)` asks.

    Args:
        f: takes a float64 tensor, and returns a tensor of one item. What else it is called with is handed on.

    Returns:
        A function of an ndarray (or of what makes one) and of further arguments. It returns the value as a Python float,
        and the gradient as a contiguous float64 ndarray of the array's shape; it is 0 where `f` does not depend on it.

    Raises (when called):
        TypeError: `f` returns no tensor.
        RuntimeError: `f` returns more than one item, or complex numbers.

    Example:
        >>> import numpy as np
        >>> import numgrad as ng
        >>> from scipy.optimize import minimize
        >>> rosenbrock = lambda x: (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2
        >>> found = minimize(ng.value_and_grad(rosenbrock), np.zeros(2), jac=True)
        >>> found.x.round(3)
        array([1., 1.])
    """

    @functools.wraps(f)
    def wrapped(x: Any, *args: Any, **kwargs: Any) -> tuple[float, Any]:
        given = tensor(x, dtype=float64, requires_grad=True)
        with enable_grad():
            value = f(given, *args, **kwargs)
        _check(f, value)
        (gradient,) = (
            grad(value, given, materialize_grads=True) if value.requires_grad else (given.new_zeros(given.shape),)
        )
        return float(value.item()), to_numpy(gradient.detach().contiguous())

    return wrapped


def _check(f: Any, value: Any) -> None:
    name = getattr(f, "__name__", "f")
    if value.__class__ not in CLASSES:
        raise TypeError(f"value_and_grad({name}): expected a tensor of one item, got {type(value).__name__}")
    if value.numel() != 1 or value.is_complex():
        raise RuntimeError(
            f"value_and_grad({name}): expected a tensor of one real item, got shape {list(value.shape)} and dtype "
            f"{value.dtype}: sum() it, or weigh its items"
        )
