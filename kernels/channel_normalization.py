"""Normalization of channels: batch_norm over all samples, group_norm over groups of channels of each sample.

Arrays are seen as (samples, channels, positions). Statistics are summed in float64.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .array import Shape
from .cpu import SPLIT, loop
from .registry import Sample, op


def _by_channel(x: np.ndarray) -> np.ndarray:
    """The array as (samples, channels, positions)."""
    return np.ascontiguousarray(x).reshape(x.shape[0], x.shape[1], math.prod(x.shape[2:]))


def _run(kernel: Any, size: int, first: np.ndarray, units: int, *rest: Any) -> None:
    """A loop over `units` channels or groups, on several threads when the work is large."""
    (kernel if size < SPLIT else kernel.in_units)(first, 0, units, *rest)


# ---------------------------------------------------------------------------------------------------- batch_norm
@loop(reassoc=True)
def channel_statistics(x, start, stop, means, variances):
    """Mean and variance (of correction 0) of each channel."""
    count = x.shape[0] * x.shape[2]
    if x.shape[2] == 1:  # channels lie side by side: many at once
        for c in range(start, stop):
            means[c] = 0
            variances[c] = 0
        for n in range(x.shape[0]):
            for c in range(start, stop):
                means[c] += x[n, c, 0]
        for c in range(start, stop):
            means[c] /= count
        for n in range(x.shape[0]):
            for c in range(start, stop):
                difference = x[n, c, 0] - means[c]
                variances[c] += difference * difference
        for c in range(start, stop):
            variances[c] /= count
    else:
        for c in range(start, stop):
            total = 0.0
            for n in range(x.shape[0]):
                part = _A(0)  # noqa: F821
                for i in range(x.shape[2]):
                    part += x[n, c, i]
                total += part
            mean = total / count
            squares = 0.0
            for n in range(x.shape[0]):
                part = _A(0)  # noqa: F821
                for i in range(x.shape[2]):
                    difference = x[n, c, i] - mean
                    part += difference * difference
                squares += part
            means[c] = mean
            variances[c] = squares / count


@loop
def channels_scaled(x, start, stop, means, scales, shifts, out):
    """Each channel less its mean, times its scale, plus its shift."""
    for n in range(x.shape[0]):
        for c in range(start, stop):
            center, scale, shift = _T(means[c]), _T(scales[c]), _T(shifts[c])  # noqa: F821
            for i in range(x.shape[2]):
                out[n, c, i] = (x[n, c, i] - center) * scale + shift


@loop(reassoc=True)
def channel_gradient_sums(g, start, stop, x, means, rstds, along, across):
    """For each channel the sums of `g` times the normalized items, and of `g`."""
    for c in range(start, stop):
        along[c] = 0
        across[c] = 0
    for n in range(x.shape[0]):
        for c in range(start, stop):
            center, scale = _T(means[c]), _T(rstds[c])  # noqa: F821
            first = second = _A(0)  # noqa: F821
            for i in range(x.shape[2]):
                first += g[n, c, i] * ((x[n, c, i] - center) * scale)
                second += g[n, c, i]
            along[c] += first
            across[c] += second


@loop
def channels_backward(g, start, stop, x, means, rstds, scales, along, across, dx):
    """`scale * (g - across - normalized * along)`, both means over the channel."""
    for n in range(x.shape[0]):
        for c in range(start, stop):
            center, rstd, scale = _T(means[c]), _T(rstds[c]), _T(scales[c])  # noqa: F821
            first, second = _T(along[c]), _T(across[c])  # noqa: F821
            for i in range(x.shape[2]):
                dx[n, c, i] = scale * (g[n, c, i] - second - (x[n, c, i] - center) * rstd * first)


def _batch_norm_reference(input, weight, bias, eps):
    axes = tuple(d for d in range(input.ndim) if d != 1)
    shape = (1, -1) + (1,) * (input.ndim - 2)
    mean, var = input.mean(axes), input.var(axes)
    normal = (input - mean.reshape(shape)) / np.sqrt(var.reshape(shape) + input.dtype.type(eps))
    return normal * weight.reshape(shape) + bias.reshape(shape), mean, var


@op(
    samples=[Sample(((4, 3), (3,), (3,)), {"eps": 1e-5}), Sample(((2, 3, 2, 2), (3,), (3,)), {"eps": 0.1})],
    reference=_batch_norm_reference,
    outputs=3,
    name="batch_norm",
    node="NativeBatchNormBackward0",
)
def batch_norm(input, weight, bias, *, eps):
    """Channels (dimension 1) with mean 0 and variance 1, scaled and shifted; and their means and variances.

    Source: S. Ioffe, C. Szegedy, "Batch normalization" (2015).
    """


batch_norm.non_differentiable_outputs = (1, 2)


@batch_norm.kernel("cpu")
def _(input: np.ndarray, weight: np.ndarray, bias: np.ndarray, eps: float) -> tuple[np.ndarray, ...]:
    x = _by_channel(input)
    channels = x.shape[1]
    means, variances = np.zeros(channels), np.zeros(channels)
    if x.size:
        _run(channel_statistics, x.size, x, channels, means, variances)
    out = _scaled(x, weight, bias, means, variances, eps).reshape(input.shape)
    return out, means.astype(x.dtype), variances.astype(x.dtype)


def _scaled(x: np.ndarray, weight: Any, bias: Any, means: Any, variances: Any, eps: float) -> np.ndarray:
    out, channels = np.empty_like(x), x.shape[1]
    scales = weight.astype(np.float64) / np.sqrt(variances.astype(np.float64) + eps)
    if any(p.shape != (channels,) for p in (means, scales, bias)):
        raise RuntimeError("batch_norm() got operands that do not fit together")  # the loop has no bounds checks
    if x.size:
        _run(channels_scaled, x.size, x, channels, means.astype(np.float64), scales, bias.astype(np.float64), out)
    return out


def _over_channels(x: Any) -> tuple[int, ...]:
    return tuple(d for d in range(x.dim()) if d != 1)


def _along_channels(x: Any, values: Any) -> Any:
    """Values of each channel, as they broadcast against `x`."""
    return values.reshape((1, values.shape[0]) + (1,) * (x.dim() - 2))


@batch_norm.grad("input", "weight", "bias")
def _(g0, input, weight, eps):
    dims = _over_channels(input)
    centered = input - input.mean(dims, True)
    rstd = ((centered * centered).mean(dims, True) + eps).rsqrt()
    normal, weighted = centered * rstd, g0 * _along_channels(input, weight)
    dx = rstd * (weighted - weighted.mean(dims, True) - normal * (weighted * normal).mean(dims, True))
    return dx, (g0 * normal).sum(dims), g0.sum(dims)


@batch_norm.fused_backward("cpu")
def _(g0: Any, input: Any, input_shape: Shape, weight: Any, out1: Any, out2: Any, eps: float, needs: Any) -> Any:
    x, g = _by_channel(input), _by_channel(g0)
    channels, count = x.shape[1], max(x.shape[0] * x.shape[2], 1)
    along, across, dx = np.zeros(channels), np.zeros(channels), np.empty_like(x)
    means, rstds = out1.astype(np.float64), 1 / np.sqrt(out2.astype(np.float64) + eps)
    if x.size:
        _run(channel_gradient_sums, x.size, g, channels, x, means, rstds, along, across)
        scales = weight.astype(np.float64) * rstds
        _run(channels_backward, x.size, g, channels, x, means, rstds, scales, along / count, across / count, dx)
    return dx.reshape(input_shape), along.astype(x.dtype), across.astype(x.dtype)


def _by_statistics_reference(input, weight, bias, running_mean, running_var, eps):
    shape = (1, -1) + (1,) * (input.ndim - 2)
    scale = weight / np.sqrt(running_var + input.dtype.type(eps))
    return (input - running_mean.reshape(shape)) * scale.reshape(shape) + bias.reshape(shape)


@op(
    samples=[
        Sample(((4, 3), (3,), (3,), [0.5, 0.0, -1.0], [1.0, 2.0, 0.5]), {"eps": 1e-5}),
        Sample(((2, 3, 2, 2), (3,), (3,), [0.5, 0.0, -1.0], [1.0, 2.0, 0.5]), {"eps": 0.1}),
    ],
    reference=_by_statistics_reference,
    name="batch_norm.statistics",
    node="NativeBatchNormBackward0",
    plain=("running_mean", "running_var"),
)
def batch_norm_by_statistics(input, weight, bias, running_mean, running_var, *, eps):
    """Channels normalized by statistics that are given."""


@batch_norm_by_statistics.kernel("cpu")
def _(input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, eps: float) -> np.ndarray:
    return _scaled(_by_channel(input), weight, bias, running_mean, running_var, eps).reshape(input.shape)


@batch_norm_by_statistics.grad("input", "weight", "bias")
def _(g, input, weight, running_mean, running_var, eps):
    dims = _over_channels(input)
    rstd = _along_channels(input, (running_var + eps).rsqrt())
    normal = (input - _along_channels(input, running_mean)) * rstd
    return g * rstd * _along_channels(input, weight), (g * normal).sum(dims), g.sum(dims)


# ---------------------------------------------------------------------------------------------------- group_norm
@loop(reassoc=True)
def group_norm_groups(x, start, stop, weight, bias, out, means, rstds, eps):
    """Each group of channels with mean 0 and variance 1, its channels scaled and shifted."""
    channels, positions = x.shape[1], x.shape[2]
    count = channels * positions
    for r in range(start, stop):
        group = r % weight.shape[0]
        total = 0.0
        for c in range(channels):
            part = _A(0)  # noqa: F821
            for i in range(positions):
                part += x[r, c, i]
            total += part
        mean = total / count
        squares = 0.0
        for c in range(channels):
            part = _A(0)  # noqa: F821
            for i in range(positions):
                difference = x[r, c, i] - mean
                part += difference * difference
            squares += part
        rstd = 1 / math.sqrt(squares / count + eps)
        means[r], rstds[r] = mean, rstd
        center = _T(mean)  # noqa: F821
        for c in range(channels):
            scale, shift = _T(rstd * weight[group, c]), bias[group, c]  # noqa: F821
            for i in range(positions):
                out[r, c, i] = (x[r, c, i] - center) * scale + shift


@loop(reassoc=True)
def group_norm_backward_groups(g, start, stop, x, weight, means, rstds, dx, dweight, dbias):
    """Gradients; those of weight and bias for each sample."""
    channels, positions = x.shape[1], x.shape[2]
    count = channels * positions
    for r in range(start, stop):
        group = r % weight.shape[0]
        center, rstd = _T(means[r]), _T(rstds[r])  # noqa: F821
        along = across = 0.0
        for c in range(channels):
            first = second = _A(0)  # noqa: F821
            for i in range(positions):
                first += g[r, c, i] * ((x[r, c, i] - center) * rstd)
                second += g[r, c, i]
            dweight[r, c], dbias[r, c] = first, second
            along += first * weight[group, c]
            across += second * weight[group, c]
        along_mean, across_mean = _T(along / count), _T(across / count)  # noqa: F821
        for c in range(channels):
            factor = weight[group, c]
            for i in range(positions):
                normal = (x[r, c, i] - center) * rstd
                dx[r, c, i] = rstd * (g[r, c, i] * factor - across_mean - normal * along_mean)


def _by_group(x: np.ndarray, groups: int) -> np.ndarray:
    """The array as (samples * groups, channels of a group, positions)."""
    channels = x.shape[1] // groups
    return np.ascontiguousarray(x).reshape(x.shape[0] * groups, channels, math.prod(x.shape[2:]))


def _group_norm_reference(input, weight, bias, groups, eps):
    x = input.reshape(input.shape[0], groups, -1)
    mean, rstd = x.mean(-1), 1 / np.sqrt(x.var(-1) + input.dtype.type(eps))
    normal = ((x - mean[..., None]) * rstd[..., None]).reshape(input.shape)
    shape = (1, -1) + (1,) * (input.ndim - 2)
    return normal * weight.reshape(shape) + bias.reshape(shape), mean, rstd


@op(
    samples=[
        Sample(((2, 4, 3), (4,), (4,)), {"groups": 2, "eps": 1e-5}),
        Sample(((2, 3, 2, 2), (3,), (3,)), {"groups": 1, "eps": 0.1}),
    ],
    reference=_group_norm_reference,
    outputs=3,
    name="group_norm",
    node="NativeGroupNormBackward0",
)
def group_norm(input, weight, bias, *, groups, eps):
    """Groups of channels of each sample with mean 0 and variance 1, scaled and shifted; means and reciprocal deviations.

    Source: Y. Wu, K. He, "Group normalization" (2018).
    """


group_norm.non_differentiable_outputs = (1, 2)


@group_norm.kernel("cpu")
def _(input: np.ndarray, weight: np.ndarray, bias: np.ndarray, groups: int, eps: float) -> tuple[np.ndarray, ...]:
    x = _by_group(input, groups)
    if any(p.size != input.shape[1] or p.dtype != x.dtype for p in (weight, bias)):
        raise RuntimeError("group_norm() got operands that do not fit together")  # the loop has no bounds checks
    out, means, rstds = np.empty_like(x), np.zeros(len(x)), np.zeros(len(x))
    if x.size:
        shape = (groups, x.shape[1])
        factors = [np.ascontiguousarray(p).reshape(shape) for p in (weight, bias)]
        _run(group_norm_groups, x.size, x, len(x), *factors, out, means, rstds, float(eps))
    lead = (input.shape[0], groups)
    return out.reshape(input.shape), means.astype(x.dtype).reshape(lead), rstds.astype(x.dtype).reshape(lead)


@group_norm.grad("input", "weight", "bias")
def _(g0, input, weight, groups, eps):
    dims = _over_channels(input)
    grouped = (input.shape[0], groups, input.numel() // max(input.shape[0] * groups, 1))
    rows, weighted = input.reshape(grouped), (g0 * _along_channels(input, weight)).reshape(grouped)
    centered = rows - rows.mean(-1, True)
    rstd = ((centered * centered).mean(-1, True) + eps).rsqrt()
    normal = centered * rstd
    dx = rstd * (weighted - weighted.mean(-1, True) - normal * (weighted * normal).mean(-1, True))
    return dx.reshape(input.shape), (g0 * normal.reshape(input.shape)).sum(dims), g0.sum(dims)


@group_norm.fused_backward("cpu")
def _(
    g0: Any, input: Any, input_shape: Shape, weight: Any, out1: Any, out2: Any, groups: int, needs: Any
) -> tuple[Any, ...]:
    x, g = _by_group(input, groups), _by_group(g0, groups)
    dx = np.empty_like(x)
    dweight, dbias = np.zeros((len(x), x.shape[1])), np.zeros((len(x), x.shape[1]))
    if x.size:
        factor = np.ascontiguousarray(weight).reshape(groups, x.shape[1])
        means, rstds = out1.reshape(-1).astype(np.float64), out2.reshape(-1).astype(np.float64)
        _run(group_norm_backward_groups, x.size, g, len(x), x, factor, means, rstds, dx, dweight, dbias)
    sums = [s.reshape(input_shape[0], input_shape[1]).sum(0).astype(x.dtype) for s in (dweight, dbias)]
    return dx.reshape(input_shape), *sums
