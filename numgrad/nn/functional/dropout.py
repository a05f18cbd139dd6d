"""Dropout: items or whole features are dropped at random while training."""

from __future__ import annotations

import warnings

from ... import ops
from ...tensor import Tensor

__all__ = ["alpha_dropout", "dropout", "dropout1d", "dropout2d", "dropout3d", "feature_alpha_dropout"]


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Items are 0 with the probability `p`, and else divided by 1 - p (Srivastava et al., 2014).

    Raises ValueError for a `p` outside [0, 1], RuntimeError for integers.
    """
    check_probability(p)
    return (ops.dropout_ if inplace else ops.dropout)(input, p, training)


def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Items take SELU's limit with the probability `p`, scaled and shifted so that mean and variance stay.

    (Klambauer et al., 2017.) Raises as `dropout` does.
    """
    check_probability(p)
    return (ops.alpha_dropout_ if inplace else ops.alpha_dropout)(input, p, training)


def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """`alpha_dropout` of whole features: of all that belongs to an index of the first two dimensions."""
    check_probability(p)
    return (ops.feature_alpha_dropout_ if inplace else ops.feature_alpha_dropout)(input, p, training)


def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """`dropout` of whole channels of (N, C, L) or (C, L). Raises RuntimeError for other ranks."""
    check_probability(p)
    rank = input.dim()
    if rank not in (2, 3):
        raise RuntimeError(
            f"dropout1d: Expected 2D or 3D input, but received a {rank}D input. Note that dropout1d exists to provide "
            "channel-wise dropout on inputs with 1 spatial dimension, a channel dimension, and an optional batch dimension "
            "(i.e. 2D or 3D inputs)."
        )
    return _of_features(input, p, training, inplace, rank == 3)


def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """`dropout` of whole channels of (N, C, H, W); (N, C, L) is taken too, with PyTorch's warning, as are other ranks."""
    check_probability(p)
    rank = input.dim()
    if rank not in (3, 4):
        _warn_of_rank("dropout2d", rank, "2", "3D or 4D")
    if rank == 3:
        warnings.warn(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout behavior is desired - "
            "input is interpreted as shape (N, C, L), where C is the channel dim. This behavior will change in a future "
            "release to interpret the input as one without a batch dimension, i.e. shape (C, H, W). To maintain the 1D "
            "channel-wise dropout behavior, please switch to using dropout1d instead.",
            stacklevel=2,
        )
    return _of_features(input, p, training, inplace, True)


def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """`dropout` of whole channels of (N, C, D, H, W) or (C, D, H, W); other ranks are taken with PyTorch's warning."""
    check_probability(p)
    rank = input.dim()
    if rank not in (4, 5):
        _warn_of_rank("dropout3d", rank, "3", "4D or 5D")
    return _of_features(input, p, training, inplace, rank == 5)


def check_probability(p: float) -> None:
    """Raise ValueError for a number outside [0, 1]."""
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def _warn_of_rank(name: str, rank: int, spatial: str, ranks: str) -> None:
    warnings.warn(
        f"{name}: Received a {rank}-D input to {name}, which is deprecated and will result in an error in a future release. "
        f"To retain the behavior and silence this warning, please use dropout instead. Note that {name} exists to provide "
        f"channel-wise dropout on inputs with {spatial} spatial dimensions, a channel dimension, and an optional batch "
        f"dimension (i.e. {ranks} inputs).",
        stacklevel=3,
    )


def _of_features(input: Tensor, p: float, training: bool, inplace: bool, is_batched: bool) -> Tensor:
    if not is_batched:
        input = input.unsqueeze_(0) if inplace else input.unsqueeze(0)
    result = (ops.feature_dropout_ if inplace else ops.feature_dropout)(input, p, training)
    if not is_batched:
        result = result.squeeze_(0) if inplace else result.squeeze(0)
    return result
