"""Normalization: of channels over a batch, and of the items of each sample."""

from __future__ import annotations

from collections.abc import Sequence

from ... import ops
from ...ops.checks import written
from ...tensor import Tensor
from .padding import pad

__all__ = [
    "batch_norm",
    "group_norm",
    "instance_norm",
    "layer_norm",
    "local_response_norm",
    "normalize",
    "rms_norm",
]


def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """The items over the last dimensions, of `normalized_shape`, with mean 0 and variance 1, scaled and shifted.

    Raises RuntimeError for shapes and dtypes that do not fit, NotImplementedError for integers.
    """
    return ops.layer_norm(input, normalized_shape, weight, bias, eps)


def rms_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """The items over the last dimensions divided by the root of their mean square, and scaled by `weight`."""
    return ops.rms_norm(input, normalized_shape, weight, eps)


def group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    """Groups of channels of each sample (N, C, ...) with mean 0 and variance 1; each channel scaled and shifted.

    Raises ValueError for groups of a single item, RuntimeError for shapes that do not fit.
    """
    if input.dim() < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {input.dim()}")
    _check_several([input.shape[0] * input.shape[1] // num_groups, num_groups, *input.shape[2:]], list(input.shape))
    return ops.group_norm(input, num_groups, weight, bias, eps)


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Channels (N, C, ...) with mean 0 and variance 1, scaled by `weight` and shifted by `bias`, both (C).

    In `training` by the input's own statistics (the variance of correction 0), towards which the running ones move by
    `momentum` (there the variance is that of correction 1); else by the running ones.

    Raises ValueError for a single item per channel in training, RuntimeError for parameters that do not fit.
    """
    if training:
        if (running_mean is None) != (running_var is None):
            raise ValueError("running_mean and running_var must either both be None or neither be None")
        _check_several(list(input.shape), input.shape)
        if eps <= 0.0:
            raise ValueError(f"batch_norm eps must be positive during training, but got {eps}")
    elif eps < 0.0:
        raise ValueError(f"batch_norm eps must be non-negative, but got {eps}")
    return ops.batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)


def _check_several(sizes: list[int], shown: object) -> None:
    """Raise ValueError, with PyTorch's text, unless each channel has more than one item (or none at all)."""
    count = sizes[0]
    for n in sizes[2:]:
        count *= n
    if count == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {shown}")


def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Each channel of each sample (N, C, ...) with mean 0 and variance 1, scaled and shifted.

    Raises ValueError for channels of a single item, unless running statistics are used.
    """
    if use_input_stats:
        count = 1
        for n in input.shape[2:]:
            count *= n
        if count == 1:
            raise ValueError(f"Expected more than 1 spatial element when training, got input size {input.shape}")
    return ops.instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps)


def local_response_norm(input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """Items divided by `(k + alpha * mean of squares over `size` neighbouring channels) ** beta`.

    Source: A. Krizhevsky, I. Sutskever, G. Hinton, "ImageNet classification" (2012). Raises ValueError below three
    dimensions.
    """
    if input.dim() < 3:
        raise ValueError(
            f"Expected 3D or higher dimensionality                          input (got {input.dim()} dimensions)"
        )
    if not input.numel():
        return input
    squares = pad(input * input, (0, 0) * (input.dim() - 2) + (size // 2, (size - 1) // 2))
    sums = squares.unfold(1, size, 1).sum(-1)
    means = sums / size if input.is_floating_point() else sums // size
    return input / (means * alpha + k) ** beta


def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: Tensor | None = None) -> Tensor:
    """Vectors along `dim` divided by their `p`-norm, or by `eps` where that is larger."""
    size = input.norm(p, dim, keepdim=True).clamp_min(eps)
    return written("normalize", input / size.expand_as(input), out)
