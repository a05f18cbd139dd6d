"""Dropout as functions of tensors: of items, of whole features, and the kind that keeps mean and variance.

What is dropped depends on the default generator. Without training, with `p` = 0 and for an empty tensor the result is the
input itself.
"""

from __future__ import annotations

import math
from typing import Any

from ..autograd.grad_mode import mode
from ..device import device
from ..dispatch import dispatch
from ..dtype import dtype, float32
from ..kernels import draws
from ..kernels import dropout as kernels
from ..random import chosen
from .checks import check_tensor
from .draws import draw, refuse_complex

_SELU = 1.7580993408473766  # minus the value that SELU tends to: scale times alpha (Klambauer et al., 2017)


def dropout(input: Any, p: float, train: bool) -> Any:
    """Items are 0 with the probability `p`, and else divided by 1 - p (Srivastava et al., 2014).

    Raises RuntimeError for a `p` outside [0, 1] and for integers.

    Example:
        >>> import numgrad as ng
        >>> ng.dropout(ng.ones(3), 1.0, True)
        tensor([0., 0., 0.])
    """
    return _dropped("dropout", input, p, train)


def dropout_(input: Any, p: float, train: bool) -> Any:
    """`dropout` in place."""
    return _dropped("dropout_", input, p, train, in_place=True)


def feature_dropout(input: Any, p: float, train: bool) -> Any:
    """`dropout` of whole features: of all that belongs to an index of the first two dimensions (Tompson et al., 2015)."""
    return _dropped("feature_dropout", input, p, train, feature=True)


def feature_dropout_(input: Any, p: float, train: bool) -> Any:
    """`feature_dropout` in place."""
    return _dropped("feature_dropout_", input, p, train, feature=True, in_place=True)


def alpha_dropout(input: Any, p: float, train: bool) -> Any:
    """Items take SELU's limit with the probability `p`; then all are scaled and shifted, so that mean and variance stay.

    (Klambauer et al., 2017.) Raises RuntimeError for a `p` outside [0, 1] and for integers.
    """
    return _dropped("alpha_dropout", input, p, train, alpha=True)


def alpha_dropout_(input: Any, p: float, train: bool) -> Any:
    """`alpha_dropout` in place."""
    return _dropped("alpha_dropout_", input, p, train, alpha=True, in_place=True)


def feature_alpha_dropout(input: Any, p: float, train: bool) -> Any:
    """`alpha_dropout` of whole features."""
    return _dropped("feature_alpha_dropout", input, p, train, feature=True, alpha=True)


def feature_alpha_dropout_(input: Any, p: float, train: bool) -> Any:
    """`feature_alpha_dropout` in place."""
    return _dropped("feature_alpha_dropout_", input, p, train, feature=True, alpha=True, in_place=True)


def native_dropout(input: Any, p: float, train: bool | None) -> tuple[Any, Any]:
    """The result of `dropout`, and which items were kept."""
    check_tensor("native_dropout", input)
    if train is None or train:
        if not 0 <= p <= 1:
            raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={1 - p:g}")
        _check_floating(input)
        mask = draw("native_dropout", "uniform", tuple(input.shape), float32, input._device, None) < 1 - p
        scale = 1 / (1 - p) if p < 1 else 0.0
    else:
        mask, scale = input.detach().new_ones(input.shape).bool(), 1.0
    return dispatch(kernels.native_dropout, (input, mask, scale)), mask


def _dropped(
    name: str, input: Any, p: Any, train: Any, feature: bool = False, alpha: bool = False, in_place: bool = False
) -> Any:
    check_tensor(name, input)
    if not 0 <= p <= 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p:g}")
    if p == 0 or not train or not input.numel():
        return input
    p = float(p)
    if p == 1:
        zero = input.detach().new_zeros(())
        return input.mul_(zero) if in_place else input * zero
    if feature and input.dim() < 2:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    refuse_complex("bernoulli_scalar_cpu_", input.dtype)
    _check_floating(input)
    shape = tuple(input.shape)
    if feature:
        shape = shape[:2] + (1,) * (len(shape) - 2)
    noise = _noise(name, shape, 1 - p, 1.0 if alpha else 1 / (1 - p), input.dtype, input._device)
    if not alpha:
        return input.mul_(noise) if in_place else input * noise
    scale = 1 / math.sqrt((_SELU * _SELU * p + 1) * (1 - p))
    shift = (noise - 1) * (_SELU * scale) + _SELU * scale * p
    noise = noise * scale
    return input.mul_(noise).add_(shift) if in_place else input * noise + shift


def _check_floating(input: Any) -> None:
    if not input.dtype.is_floating_point:
        raise RuntimeError(f"result type Float can't be cast to the desired output type {input.dtype.scalar_name}")


def _noise(name: str, size: tuple[int, ...], keep: float, scale: float, items: dtype, where: Any) -> Any:
    """Items that are `scale` with the probability `keep`, and else 0."""
    target = device(where).concrete()

    def drawn(size: tuple[int, ...]) -> Any:
        stream = chosen(None, target, name).advance(draws.positions("uniform", float32.numpy, math.prod(size)))
        return dispatch(kernels.dropout_noise, (), (size, keep, scale, items.name, *stream, target))

    if mode.levels:
        from ..autograd import batching

        return batching.drawn(drawn, size)
    return drawn(size)
