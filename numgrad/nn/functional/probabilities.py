"""softmax, which turns scores into probabilities, its logarithm, and softmin."""

from __future__ import annotations

import warnings
from typing import Any

from ...ops import probabilities as ops
from ...tensor import Tensor

__all__ = ["log_softmax", "softmax", "softmin"]


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """exp(x) / sum(exp(x)) along `dim`, computed without overflow; `dtype` converts the input first.

    Without `dim` PyTorch's old choice is made (0 for 0, 1 and 3 dimensions, else 1), with its warning.
    """
    return ops.softmax(input, _chosen(dim, "softmax", input, _stacklevel), dtype)


def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """log(softmax(x)) along `dim`, computed without overflow; `dim` and `dtype` as for `softmax`."""
    return ops.log_softmax(input, _chosen(dim, "log_softmax", input, _stacklevel), dtype)


def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """softmax(-x) along `dim`; `dim` and `dtype` as for `softmax`."""
    return ops.softmax(-input, _chosen(dim, "softmin", input, _stacklevel), dtype)


def _chosen(dim: int | None, name: str, input: Tensor, stacklevel: int) -> int:
    if dim is not None:
        return dim
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.",
        stacklevel=stacklevel,
    )
    return 0 if input.dim() in (0, 1, 3) else 1
