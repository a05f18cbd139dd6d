"""Activation functions."""

from __future__ import annotations

from ... import ops
from ...dispatch import dispatch
from ...kernels import activations
from ...ops.checks import check_tensor
from ...tensor import Tensor

__all__ = [
    "gelu",
    "relu",
    "sigmoid",
    "silu",
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
