"""Gradients of many parameters, limited together in norm or one by one in value."""

from __future__ import annotations

import types
import warnings
from collections.abc import Iterable

from ...autograd.grad_mode import no_grad
from ...interop import tensor
from ...linalg import vector_norm
from ...ops import stack
from ...tensor import Tensor

__all__ = ["clip_grad_norm", "clip_grad_norm_", "clip_grad_value_"]

Tensors = Tensor | Iterable[Tensor]


@no_grad()
def clip_grad_norm_(
    parameters: Tensors,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale gradients in place so that their norm, of all together, is at most `max_norm`; returns the norm before.

    Parameters without a gradient do not count; the norm of nothing is 0. Raises RuntimeError for an infinite norm or NaN
    with `error_if_nonfinite`. `foreach` has no effect.

    >>> weight = ones(4, requires_grad=True)
    >>> weight.grad = full((4,), 3.0)
    >>> clip_grad_norm_([weight], max_norm=1.0), weight.grad
    (tensor(6.), tensor([0.5000, 0.5000, 0.5000, 0.5000]))
    """
    is_generator = isinstance(parameters, types.GeneratorType)
    parameters = _listed(parameters)
    if is_generator and not parameters:
        warnings.warn("`parameters` is an empty generator, no gradient clipping will occur.", stacklevel=3)
    total_norm = get_total_norm([p.grad for p in parameters if p.grad is not None], norm_type, error_if_nonfinite)
    clip_grads_with_norm_(parameters, max_norm, total_norm)
    return total_norm


def clip_grad_norm(
    parameters: Tensors,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Deprecated: the name of `clip_grad_norm_` of long ago."""
    warnings.warn(
        "`torch.nn.utils.clip_grad_norm` is now deprecated in favor of `torch.nn.utils.clip_grad_norm_`.",
        FutureWarning,
        stacklevel=2,
    )
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


@no_grad()
def get_total_norm(
    tensors: Tensors, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None
) -> Tensor:
    """The norm of several tensors as if they were one vector; 0 for none, and for those without items.

    Raises RuntimeError for an infinite norm or NaN with `error_if_nonfinite`.
    """
    tensors = _listed(tensors)
    norm_type = float(norm_type)
    if not tensors:
        return tensor(0.0)
    first = tensors[0]
    filled = [t for t in tensors if t.numel()]
    if not filled:
        return first.new_zeros(())
    norms = [vector_norm(t, norm_type).to(first.device) for t in filled]
    total_norm = vector_norm(stack(norms), norm_type)
    if error_if_nonfinite and not total_norm.isfinite():
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, so it cannot be clipped. "
            "To disable this error and scale the gradients by the non-finite norm anyway, set `error_if_nonfinite=False`"
        )
    return total_norm


@no_grad()
def clip_grads_with_norm_(
    parameters: Tensors, max_norm: float, total_norm: Tensor, foreach: bool | None = None
) -> None:
    """Scale gradients in place by max_norm / (total_norm + 1e-6), where that is less than 1."""
    gradients = [p.grad for p in _listed(parameters) if p.grad is not None]
    if not gradients:
        return
    factor = (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)
    for gradient in gradients:
        gradient.mul_(factor.to(gradient.device))


@no_grad()
def clip_grad_value_(parameters: Tensors, clip_value: float, foreach: bool | None = None) -> None:
    """Clamp every item of the gradients to [-clip_value, clip_value], in place."""
    clip_value = float(clip_value)
    for parameter in _listed(parameters):
        if parameter.grad is not None:
            parameter.grad.clamp_(-clip_value, clip_value)


def _listed(tensors: Tensors) -> list[Tensor]:
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)
