"""Normalization of channels, as functions of tensors: batch_norm, group_norm, instance_norm."""

from __future__ import annotations

from typing import Any

from ..autograd.grad_mode import no_grad
from ..dispatch import dispatch
from ..dtype import bfloat16, float16, float32
from ..kernels import channel_normalization as kernels
from .checks import check_tensor
from .normalization import _check_dtypes

__all__ = ["batch_norm", "group_norm", "instance_norm", "native_batch_norm", "native_group_norm"]


def batch_norm(
    input: Any,
    weight: Any,
    bias: Any,
    running_mean: Any,
    running_var: Any,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool = True,
) -> Any:
    """Channels (dimension 1) with mean 0 and variance 1, scaled and shifted; see `nn.functional.batch_norm`.

    In `training` the statistics are those of the input, and the running ones move towards them by `momentum`: the mean,
    and the variance with correction 1. Raises RuntimeError for parameters that do not fit.
    """
    check_tensor("batch_norm", input)
    return native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)[0]


def native_batch_norm(
    input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: bool, momentum: float, eps: float
) -> tuple[Any, Any, Any]:
    """`batch_norm`, the means, and the reciprocals of the deviations (both empty outside of training)."""
    check_tensor("native_batch_norm", input)
    channels = input.size(1) if input.dim() > 1 or (training and input.numel()) else 0
    named = {"running_mean": running_mean, "running_var": running_var, "weight": weight, "bias": bias}
    for name, values in named.items():
        if values is None and name.startswith("running") and not training:
            raise RuntimeError(f"{name} must be defined in evaluation mode")
        if values is not None and values.numel() != channels:
            raise RuntimeError(f"{name} should contain {channels} elements not {values.numel()}")
    if not input.is_floating_point():
        raise NotImplementedError(f"\"batch_norm\" not implemented for '{input.dtype.scalar_name}'")
    for name in ("running_mean", "running_var"):
        if named[name] is not None and named[name].requires_grad:
            raise RuntimeError(
                f"The function 'native_batch_norm' is not differentiable with respect to argument '{name}'. "
                "This input cannot have requires_grad True."
            )
    for pair in ((weight, bias), (running_mean, running_var)):
        _check_dtypes(input, *pair)
    if input.dim() < 2:
        return input.clone(), input.new_empty(0), input.new_empty(0)
    factor, shift = _factors(input, weight, bias, channels)
    if training:
        out, mean, var = dispatch(kernels.batch_norm, (input, factor, shift), (float(eps),))
        count = input.numel() // max(channels, 1)
        if not count:
            return out, mean, var
        _move(running_mean, mean, momentum)
        _move(running_var, var * (count / max(count - 1, 1)), momentum)
        return out, mean, (var + eps).rsqrt()
    operands = [input, factor, shift, running_mean, running_var]
    if running_mean.dtype is not input.dtype or running_var.dtype is not input.dtype:  # wider ones keep their digits
        given = (input, factor if weight is None else weight, shift if bias is None else bias, *operands[3:])
        operands = [x.to(float32) for x in given]
    out = dispatch(kernels.batch_norm_by_statistics, tuple(operands), (float(eps),)).to(input.dtype)
    return out, input.new_empty(0), input.new_empty(0)


def _factors(input: Any, weight: Any, bias: Any, channels: int) -> tuple[Any, Any]:
    """Weight and bias in the input's dtype, or the ones and zeros that stand for them."""
    if input.dtype in (float16, bfloat16):  # parameters may be wider: the kernel computes in float32 anyway
        weight, bias = (p if p is None or p.dtype is input.dtype else p.to(input.dtype) for p in (weight, bias))
    factor = input.new_ones(channels) if weight is None else weight
    return factor, input.new_zeros(channels) if bias is None else bias


def _move(running: Any, new: Any, momentum: float) -> None:
    """Move a running statistic towards a new one, in place."""
    if running is None:
        return
    with no_grad():
        running.copy_(running * (1 - momentum) + new.detach().to(running.dtype) * momentum)


def group_norm(
    input: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5, cudnn_enabled: bool = True
) -> Any:
    """Groups of channels (dimension 1) of each sample with mean 0 and variance 1; channels scaled and shifted.

    Raises RuntimeError for channels that do not divide into the groups, and for parameters that do not fit.
    """
    check_tensor("group_norm", input)
    channels = input.size(1)
    if num_groups <= 0:
        raise RuntimeError(f"Expected num groups to be greater than 0, got {num_groups}")
    if channels % num_groups:
        raise RuntimeError(
            "Expected number of channels in input to be divisible by num_groups, but got input of shape "
            f"{list(input.shape)} "
            f"and num_groups={num_groups}"
        )
    for name, p in (("weight", weight), ("bias", bias)):
        if p is not None and (p.dim() != 1 or p.numel() != channels):
            raise RuntimeError(
                f"Expected {name} to be a vector of size equal to the number of channels in input, but got {name} of shape "
                f"{list(p.shape)} and input of shape {list(input.shape)}"
            )
    if not input.is_floating_point():
        raise NotImplementedError(f"\"GroupNormKernelImpl\" not implemented for '{input.dtype.scalar_name}'")
    _check_dtypes(input, weight, bias)
    factors = _factors(input, weight, bias, channels)
    return dispatch(kernels.group_norm, (input, *factors), (int(num_groups), float(eps)))[0]


def native_group_norm(
    input: Any, weight: Any, bias: Any, N: int, C: int, HxW: int, group: int, eps: float
) -> tuple[Any, Any, Any]:
    """`group_norm` of (N, C, ...), the means, and the reciprocals of the deviations, (N, group)."""
    out, mean, rstd = dispatch(kernels.group_norm, (input, *_factors(input, weight, bias, C)), (int(group), float(eps)))
    return out, mean, rstd


def instance_norm(
    input: Any,
    weight: Any,
    bias: Any,
    running_mean: Any,
    running_var: Any,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool = True,
) -> Any:
    """Each channel of each sample with mean 0 and variance 1, scaled and shifted; see `nn.functional.instance_norm`.

    The running statistics move towards the means over the samples. Raises RuntimeError without statistics to use.
    """
    check_tensor("instance_norm", input)
    if not use_input_stats and (running_mean is None or running_var is None):
        raise RuntimeError("Expected running_mean and running_var to be defined when use_input_stats is false")
    samples, channels = input.shape[:2]
    apart = input.reshape(1, samples * channels, *input.shape[2:])
    repeated = [None if x is None else x.repeat(samples) for x in (weight, bias, running_mean, running_var)]
    factor, shift, mean, var = repeated
    out = batch_norm(apart, factor, shift, mean, var, use_input_stats, momentum, eps)
    if use_input_stats:
        for running, moved in ((running_mean, mean), (running_var, var)):
            if running is not None and moved is not None:
                with no_grad():
                    running.copy_(moved.view(samples, channels).mean(0))
    return out.view(input.shape)
