"""Normalization: of the items of each sample."""

from __future__ import annotations

from collections.abc import Sequence

from ... import ops
from ...tensor import Tensor

__all__ = ["layer_norm"]


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
