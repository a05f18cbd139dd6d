"""Activation functions."""

from __future__ import annotations

import math
import warnings
from typing import Any

from ... import ops
from ...dispatch import dispatch
from ...kernels import activations
from ...limits import finfo
from ...ops.activations import celu_, hardshrink, prelu, rrelu_, selu_, threshold_
from ...ops.checks import check_tensor
from ...tensor import Tensor

__all__ = [
    "celu",
    "celu_",
    "elu",
    "elu_",
    "gelu",
    "glu",
    "gumbel_softmax",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "hardtanh_",
    "leaky_relu",
    "leaky_relu_",
    "logsigmoid",
    "mish",
    "prelu",
    "relu",
    "relu6",
    "relu_",
    "rrelu",
    "rrelu_",
    "selu",
    "selu_",
    "sigmoid",
    "silu",
    "softplus",
    "softshrink",
    "softsign",
    "tanh",
    "tanhshrink",
    "threshold",
    "threshold_",
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


def _number(function: str, argument: str, value: Any) -> float:
    """A number, checked. Raises TypeError with PyTorch's text."""
    if not isinstance(value, (int, float)):
        raise TypeError(f"{function}(): argument '{argument}' must be Number, not {type(value).__name__}")
    return value


def _named(input: Any, text: str) -> Any:
    """The input, checked; what an op says of its argument is said in the name of the function `text`."""
    check_tensor(text, input)
    return input


def relu_(input: Tensor) -> Tensor:
    """`relu`, in place."""
    return input.relu_()


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """min(max(x, 0), 6), elementwise."""
    return hardtanh(input, 0.0, 6.0, inplace)


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """x between two bounds, elementwise; its gradient at a bound is 0.

    Raises ValueError for bounds in the wrong order, RuntimeError for bools.
    """
    _named(input, "hardtanh")
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    if input.dtype.name == "bool":
        raise RuntimeError("Bool inputs not supported for hardtanh")
    if not input.is_floating_point():
        if input.dtype.name == "uint8" and min_val < 0:
            raise RuntimeError("cannot do hardtanh on an unsigned type with negative limits")
        min_val, max_val = int(min_val), int(max_val)
    return dispatch(activations.hardtanh, (input, min_val, max_val), (), input if inplace else None)


def hardtanh_(input: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """`hardtanh`, in place."""
    return hardtanh(input, min_val, max_val, True)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """x where it is positive, `negative_slope * x` elsewhere. Raises NotImplementedError for integers."""
    slope = _number("leaky_relu", "negative_slope", negative_slope)
    return dispatch(activations.leaky_relu, (_named(input, "leaky_relu"), slope), (), input if inplace else None)


def leaky_relu_(input: Tensor, negative_slope: float = 0.01) -> Tensor:
    """`leaky_relu`, in place."""
    return leaky_relu(input, negative_slope, True)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """x where it is positive, `alpha * (exp(x) - 1)` elsewhere. Raises NotImplementedError for integers."""
    factors = (_number("elu", "alpha", alpha), 1.0, 1.0)
    return dispatch(activations.elu, (_named(input, "elu"), *factors), (), input if inplace else None)


def elu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """`elu`, in place."""
    return elu(input, alpha, True)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """x where it is positive, `alpha * (exp(x / alpha) - 1)` elsewhere."""
    return celu_(input, alpha) if inplace else ops.celu(input, alpha)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """`elu` with the constants of self-normalizing networks."""
    return selu_(input) if inplace else ops.selu(input)


def rrelu(
    input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, inplace: bool = False
) -> Tensor:
    """x where it is positive, elsewhere `a * x` with `a` drawn from [lower, upper) in training, else their mean."""
    return (rrelu_ if inplace else ops.rrelu)(input, lower, upper, training)


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """x where it is above the threshold, `value` elsewhere."""
    return threshold_(input, threshold, value) if inplace else ops.threshold(input, threshold, value)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """x * relu6(x + 3) / 6, elementwise. Raises NotImplementedError for integers."""
    return dispatch(activations.hardswish, (_named(input, "hardswish"),), (), input if inplace else None)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """relu6(x + 3) / 6, elementwise. Raises NotImplementedError for integers."""
    return dispatch(activations.hardsigmoid, (_named(input, "hardsigmoid"),), (), input if inplace else None)


def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """0 between `-lambd` and `lambd`, nearer to 0 by `lambd` elsewhere. Raises RuntimeError for a `lambd` out of range."""
    _named(input, "softshrink")
    largest = finfo(input.dtype).max if input.is_floating_point() else math.inf
    if input.is_floating_point() and not 0 <= lambd <= largest:
        raise RuntimeError(
            f"lambda must be in range [0, {largest:.6g}] for input dtype {input.dtype.scalar_name}, but found {lambd:g}"
        )
    return dispatch(activations.softshrink, (input, lambd))


def tanhshrink(input: Tensor) -> Tensor:
    """x - tanh(x), elementwise."""
    return input - input.tanh()


def softsign(input: Tensor) -> Tensor:
    """x / (1 + abs(x)), elementwise."""
    return input / (input.abs() + 1)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """x * tanh(softplus(x)), elementwise. Raises NotImplementedError for integers."""
    return dispatch(activations.mish, (_named(input, "mish"),), (), input if inplace else None)


def logsigmoid(input: Tensor) -> Tensor:
    """log(sigmoid(x)), elementwise, without overflow. Raises NotImplementedError for integers."""
    return dispatch(activations.log_sigmoid, (_named(input, "log_sigmoid"),))


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """The first half of a dimension times the sigmoid of the second (Dauphin et al., 2017).

    Raises RuntimeError for a 0-d input and for an odd extent.
    """
    _named(input, "glu")
    if not input.dim():
        raise RuntimeError("glu does not support 0-dimensional tensors")
    extent = input.shape[dim]
    if extent % 2:
        place = dim + input.dim() if dim < 0 else dim
        raise RuntimeError(f"Halving dimension must be even, but dimension {place} is size {extent}")
    if not (input.is_floating_point() or input.is_complex()):
        raise NotImplementedError(f"\"glu_cpu\" not implemented for '{input.dtype.scalar_name}'")
    first, second = input.chunk(2, dim)
    return first * second.sigmoid()


def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """Samples of one-hot vectors, made smooth: softmax of `(logits + g) / tau` with g from Gumbel's distribution.

    With `hard` they are one-hot vectors, whose gradient is the smooth ones' (Jang et al., 2017).
    """
    if eps != 1e-10:
        warnings.warn("`eps` parameter is deprecated and has no effect.", stacklevel=2)
    gumbels = -logits.detach().new_empty(logits.shape).exponential_().log()
    soft = ((logits + gumbels) / tau).softmax(dim)
    if not hard:
        return soft
    chosen = soft.max(dim, keepdim=True)[1]
    one_hot = logits.detach().new_zeros(logits.shape).scatter_(dim, chosen, 1.0)
    return one_hot - soft.detach() + soft
