"""The functions behind the modules, with PyTorch's argument names and defaults.

Each is one call into `numgrad.ops`; what is done here is what PyTorch does in Python: older argument names, warnings.
"""

from __future__ import annotations

import warnings
from typing import Any

from .. import ops
from ..dispatch import dispatch
from ..kernels import activations
from ..operands import broadcast_shapes
from ..ops import losses
from ..ops.checks import check_tensor
from ..ops.counting import one_hot
from ..ops.linalg import linear
from ..tensor import Tensor

__all__ = [
    "cross_entropy",
    "gelu",
    "linear",
    "log_softmax",
    "mse_loss",
    "nll_loss",
    "one_hot",
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


def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """(input - target)^2, reduced; with `weight`, the mean is the weighted mean.

    Warns when the two differ in size, since broadcasting them is rarely meant. Raises ValueError for an unknown
    reduction or a weight of another size.
    """
    if target.size() != input.size():
        warnings.warn(
            f"Using a target size ({target.size()}) that is different to the input size ({input.size()}). "
            "This will likely lead to incorrect results due to broadcasting. "
            "Please ensure they have the same size.",
            stacklevel=2,
        )
        common = broadcast_shapes(tuple(input.shape), tuple(target.shape))
        input, target = input.expand(common), target.expand(common)
    reduction = resolve_reduction(size_average, reduce, reduction)
    if weight is None:
        _check_reduction(reduction)
        return losses.mse_loss(input, target, reduction=reduction)
    return _weighted_mse_loss(input, target, weight, reduction)


def _weighted_mse_loss(input: Tensor, target: Tensor, weight: Tensor, reduction: str) -> Tensor:
    if weight.size() != input.size():
        raise ValueError("Weights and input must have the same size.")
    weighted = (input - target) ** 2 * weight
    if reduction == "none":
        return weighted
    if reduction == "sum":
        return weighted.sum()
    if reduction == "mean":
        return weighted.sum() / weight.sum()
    raise ValueError(f"Invalid reduction mode: {reduction}. Expected one of 'none', 'mean', 'sum'.")


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """-log_softmax(input)[target]: logits of shape (N, C) or (C), class indices of shape (N) or ().

    Targets equal to `ignore_index` do not count.

    Raises ValueError for an unknown reduction, and NotImplementedError for class weights and label smoothing, which are
    not there yet.
    """
    reduction = resolve_reduction(size_average, reduce, reduction)
    _check_reduction(reduction)
    missing = {"weight": weight is not None, "label_smoothing": label_smoothing}
    for name, is_wanted in missing.items():
        if is_wanted:
            raise NotImplementedError(f"cross_entropy: argument '{name}' is not implemented; leave it at its default")
    return losses.cross_entropy(input, target, ignore_index=int(ignore_index), reduction=reduction)


def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """-input[target] for log-probabilities of shape (N, C) or (C); targets and errors as for `cross_entropy`."""
    reduction = resolve_reduction(size_average, reduce, reduction)
    _check_reduction(reduction)
    if weight is not None:
        raise NotImplementedError("nll_loss: argument 'weight' is not implemented; leave it at its default")
    return losses.nll_loss(input, target, ignore_index=int(ignore_index), reduction=reduction)


def resolve_reduction(size_average: bool | None, reduce: bool | None, reduction: str) -> str:
    """The reduction meant by PyTorch's older flags, with its warning; `reduction` itself where neither is given."""
    if size_average is None and reduce is None:
        return reduction
    if reduce is False:
        meant = "none"
    else:
        meant = "sum" if size_average is False else "mean"
    warnings.warn(
        f"size_average and reduce args will be deprecated, please use reduction='{meant}' instead.", stacklevel=3
    )
    return meant


def _check_reduction(reduction: str) -> None:
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
