"""Activation functions that are among `torch.*`: celu, selu, hardshrink, prelu, rrelu, threshold, and in-place forms."""

from __future__ import annotations

from typing import Any

from ..dispatch import dispatch
from ..kernels import activations as kernels
from .checks import check_tensor

__all__ = [
    "celu",
    "celu_",
    "hardshrink",
    "prelu",
    "rrelu",
    "rrelu_",
    "selu",
    "selu_",
    "threshold",
    "threshold_",
]

SELU_ALPHA = 1.6732632423543772848170429916717  # Klambauer et al. (2017), "Self-normalizing neural networks"
SELU_SCALE = 1.0507009873554804934193349852946


def celu(input: Any, alpha: float = 1.0) -> Any:
    """`x` where it is positive, `alpha * (exp(x / alpha) - 1)` elsewhere. Raises RuntimeError for an alpha of 0."""
    return _celu(input, alpha, None)


def celu_(input: Any, alpha: float = 1.0) -> Any:
    """`celu`, in place."""
    return _celu(input, alpha, input)


def _celu(input: Any, alpha: float, out: Any) -> Any:
    check_tensor("celu", input)
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    return dispatch(kernels.celu, (input, float(alpha), 1.0, 1.0 / alpha), (), out)


def selu(input: Any) -> Any:
    """`elu` with the constants that keep mean and variance of a layer's outputs."""
    return _selu(input, None)


def selu_(input: Any) -> Any:
    """`selu`, in place."""
    return _selu(input, input)


def _selu(input: Any, out: Any) -> Any:
    check_tensor("selu", input)
    return dispatch(kernels.elu, (input, SELU_ALPHA, SELU_SCALE, 1.0), (), out)


def threshold(input: Any, threshold: float, value: float, *, out: Any = None) -> Any:
    """`x` where it is above the threshold, `value` elsewhere."""
    check_tensor("threshold", input)
    if input.dtype.name == "bool":
        raise NotImplementedError("\"threshold_cpu\" not implemented for 'Bool'")
    if not input.is_floating_point():
        threshold, value = int(threshold), int(value)
    return dispatch(kernels.threshold, (input, threshold, value), (), out)


def threshold_(input: Any, threshold: float, value: float) -> Any:
    """`threshold`, in place."""
    from . import activations

    return activations.threshold(input, threshold, value, out=input)


def hardshrink(input: Any, lambd: float = 0.5, *, out: Any = None) -> Any:
    """0 between `-lambd` and `lambd`, `x` elsewhere."""
    check_tensor("hardshrink", input)
    return dispatch(kernels.hardshrink, (input, lambd), (), out)


def prelu(input: Any, weight: Any) -> Any:
    """`x` where it is positive, `weight * x` elsewhere; a weight of several items has one for each index of dimension 1.

    Raises RuntimeError for weights that do not fit.
    """
    check_tensor("prelu", input)
    check_tensor("prelu", weight, "weight", 2)
    if input.dtype is not weight.dtype:
        raise RuntimeError(
            f"prelu: Type promoting not supported. Got {input.dtype.scalar_name} and {weight.dtype.scalar_name}"
        )
    if weight.dim() > 1:
        raise RuntimeError(f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight.dim()}")
    if weight.numel() != 1:
        if input.dim() == 0:
            raise RuntimeError("Not allow zero-dim input tensor.")
        channels = input.shape[1] if input.dim() > 1 else 1
        if channels != weight.numel():
            raise RuntimeError(
                "Mismatch of parameter numbers and input channel size. Found parameter numbers = "
                f"{weight.numel()} and channel size = {channels}."
            )
    if input.dim() > 1:
        weight = weight.reshape((1, weight.numel()) + (1,) * (input.dim() - 2))
    elif weight.dim() > input.dim():
        weight = weight.reshape(())
    return dispatch(kernels.prelu, (input, weight))


def rrelu(input: Any, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False, generator: Any = None) -> Any:
    """`x` where it is positive, elsewhere `a * x` with `a` drawn from [lower, upper) in training, else their mean."""
    return _rrelu(input, lower, upper, training, generator, None)


def rrelu_(
    input: Any, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False, generator: Any = None
) -> Any:
    """`rrelu`, in place."""
    return _rrelu(input, lower, upper, training, generator, input)


def _rrelu(input: Any, lower: float, upper: float, training: bool, generator: Any, out: Any) -> Any:
    check_tensor("rrelu_with_noise", input)
    if lower > upper:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")
    if not training:
        return dispatch(kernels.leaky_relu, (input, (lower + upper) / 2), (), out)
    slopes = input.detach().new_empty(input.shape).uniform_(lower, upper, generator=generator)
    return dispatch(kernels.prelu, (input, slopes), (), out)
