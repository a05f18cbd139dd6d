"""Activation functions, and softmax, which turns scores into probabilities."""

from __future__ import annotations

import warnings
from typing import Any

from ... import ops
from ...dispatch import dispatch
from ...kernels import activations
from ...ops import losses
from ...ops.checks import check_tensor
from ...tensor import Tensor

__all__ = [
    "gelu",
    "log_softmax",
    "relu",
    "sigmoid",
    "silu",
    "softmax",
    "softplus",
    "tanh",
]


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """max(0, x), elementwise; its gradient at 0 is 0."""
    return input.relu_() if inplace else ops.relu(input)


def sigmoid(input: Tensor) -> Tensor:
    """1 / (1 + exp(-x)), elementwise."""
    return ops.sigmoid(input)


def tanh(input: Tensor) -> Tensor:
    """Hyperbolic tangent, elementwise."""
    return ops.tanh(input)


def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """x * P(X <= x) for a normally distributed X, elementwise; `approximate="tanh"` takes an approximation of it.

    Raises RuntimeError for any other `approximate`, NotImplementedError for integers.
    """
    check_tensor("gelu", input)
    if not isinstance(approximate, str):
        raise TypeError(f"gelu(): argument 'approximate' must be str, not {type(approximate).__name__}")
    if approximate not in ("none", "tanh"):
        raise RuntimeError("approximate argument must be either none or tanh.")
    return dispatch(activations.gelu if approximate == "none" else activations.gelu_tanh, (input,))


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """x * sigmoid(x), elementwise. Raises NotImplementedError for integers."""
    check_tensor("silu", input)
    return dispatch(activations.silu, (input,), (), input if inplace else None)


def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """log(1 + exp(beta * x)) / beta, elementwise; x itself where beta * x is above the threshold.

    Raises TypeError for a `beta` or `threshold` that is no number, NotImplementedError for integers.
    """
    check_tensor("softplus", input)
    for name, value in (("beta", beta), ("threshold", threshold)):
        if not isinstance(value, (int, float)):
            raise TypeError(f"softplus(): argument '{name}' must be Number, not {type(value).__name__}")
    return dispatch(activations.softplus, (input, beta, threshold))


def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """log(softmax(x)) along `dim`, computed without overflow; `dtype` converts the input first.

    Without `dim` PyTorch's old choice is made (0 for 0, 1 and 3 dimensions, else 1), with its warning.
    """
    if dim is None:
        warnings.warn(
            "Implicit dimension choice for log_softmax has been deprecated. "
            "Change the call to include dim=X as an argument.",
            stacklevel=_stacklevel - 1,
        )
        dim = 0 if input.dim() in (0, 1, 3) else 1
    return losses.log_softmax(input if dtype is None else input.to(dtype), dim)


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """exp(x) / sum(exp(x)) along `dim`, computed without overflow; `dtype` converts the input first.

    Without `dim` PyTorch's old choice is made (0 for 0, 1 and 3 dimensions, else 1), with its warning.
    """
    if dim is None:
        warnings.warn(
            "Implicit dimension choice for softmax has been deprecated. Change the call to include dim=X as an argument.",
            stacklevel=_stacklevel - 1,
        )
        dim = 0 if input.dim() in (0, 1, 3) else 1
    return ops.softmax(input, dim, dtype)
