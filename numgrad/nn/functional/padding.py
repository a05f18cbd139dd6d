"""Borders around tensors."""

from __future__ import annotations

from collections.abc import Sequence

from ...ops import padding
from ...tensor import Tensor

__all__ = ["pad"]


def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """The tensor with borders.

    Args:
        input: the tensor; in modes other than "constant" its spatial dimensions come after those of batch and channels.
        pad: first and last of the last dimension, then of the one before it, ...; negative numbers take items away.
        mode: what the borders hold: "constant", `value`; "reflect", the items mirrored at the outermost ones;
            "replicate", the outermost ones; "circular", those from the other side.
        value: the constant, 0 by default.

    Raises:
        RuntimeError: borders that do not fit the tensor, a value without a constant.
        NotImplementedError: another mode, a number of dimensions that a mode does not take.

    Example:
        >>> import numgrad as ng
        >>> ng.nn.functional.pad(ng.tensor([[1.0, 2.0, 3.0]]), (1, 2), mode="reflect")
        tensor([[2., 1., 2., 3., 2., 1.]])
    """
    return padding.pad(input, pad, mode, value)
