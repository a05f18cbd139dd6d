"""Embeddings: rows looked up in a table by index, one by one or in bags."""

from __future__ import annotations

import warnings

from ... import ops
from ...dispatch import dispatch
from ...kernels import embedding as kernels
from ...ops.embedding import check_indices
from ...tensor import Tensor

__all__ = ["embedding", "embedding_bag"]


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """The rows of `weight` (N, D) at the indices `input`, of any shape.

    The row `padding_idx` has no gradient. Rows whose norm is above `max_norm` are scaled down to it first, in place. With
    `scale_grad_by_freq` the gradient of a row is divided by the number of times that it is looked up. The gradient is
    dense also if `sparse`.

    Raises IndexError for an index outside [0, N), AssertionError for such a `padding_idx`.
    """
    if padding_idx is not None:
        rows = weight.size(0)
        if not -rows <= padding_idx < max(rows, 1):
            raise AssertionError("Padding_idx must be within num_embeddings")
        padding_idx = padding_idx + rows if padding_idx < 0 else padding_idx
    if max_norm is not None:
        ops.embedding_renorm_(weight, input, max_norm, norm_type)
    return ops.embedding(weight, input, -1 if padding_idx is None else padding_idx, scale_grad_by_freq, sparse)


# ---------------------------------------------------------------------------------------------------- bags
def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """The sum, mean or maximum ("max") of the rows of `weight` in each bag of indices; 0 for an empty bag.

    A matrix of indices has a bag in each row; of a vector, the bags begin at the `offsets` (which name the end, too, if
    `include_last_offset`). Indices equal to `padding_idx` are in no bag. `per_sample_weights` multiply the rows of a sum.
    The other arguments are those of `embedding`.

    Raises ValueError and RuntimeError, with PyTorch's texts, for arguments that do not fit together.
    """
    if weight.dtype.name == "int64" and input.is_floating_point():
        warnings.warn(
            "Argument order of nn.functional.embedding_bag was changed. Usage `embedding_bag(weight, input, ...)` is "
            "deprecated, and should now be `embedding_bag(input, weight, ...)`.",
            stacklevel=2,
        )
        weight, input = input, weight
    if per_sample_weights is not None and input.size() != per_sample_weights.size():
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({per_sample_weights.shape}) is not None, then it must have the same "
            f"shape as the input ({input.shape})"
        )
    if weight.dim() != 2:
        raise ValueError(f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.dim()}")
    input, bags, count = _bags(input, offsets, include_last_offset)
    _check_mode(mode, scale_grad_by_freq, sparse)
    if max_norm is not None:
        ops.embedding_renorm_(weight, input, max_norm, norm_type)
    if per_sample_weights is not None:
        _check_weights(per_sample_weights, weight, mode)
        per_sample_weights = per_sample_weights.reshape(-1)
    check_indices("embedding_bag", input)
    rows = weight.shape[0]
    if padding_idx is not None:
        if not -rows <= padding_idx < rows:
            raise RuntimeError(
                f"padding_idx must be within the number of embeddings, -{rows} through {rows - 1}, but got {padding_idx}"
            )
        kept = input != padding_idx % rows
        input, bags = input.masked_select(kept), bags.masked_select(kept)
        per_sample_weights = None if per_sample_weights is None else per_sample_weights.masked_select(kept)
    members = ops.embedding(weight, input, -1, scale_grad_by_freq)
    if mode == "max":
        return dispatch(kernels.bag_maxima, (members, bags), (count,))[0]
    if mode == "mean":
        sizes = ops.bincount(bags, minlength=count).index_select(0, bags)
        members = members / sizes.to(members.dtype).unsqueeze(1)
    elif per_sample_weights is not None:
        members = members * per_sample_weights.unsqueeze(1)
    return dispatch(kernels.bag_sums, (members, bags), (count,))


def _bags(input: Tensor, offsets: Tensor | None, include_last_offset: bool) -> tuple[Tensor, Tensor, int]:
    """The indices in a row, the number of the bag of each, and how many bags there are."""
    if input.dim() == 2:
        if offsets is not None:
            raise ValueError(
                "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length "
                f"sequences. However, found offsets of type {type(offsets)}"
            )
        count, width = input.shape
        return input.reshape(-1), ops.repeat_interleave(_count_up(count, input), width), count
    if input.dim() != 1:
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.dim()}")
    if offsets is None:
        raise ValueError("offsets has to be a 1D Tensor but got None")
    if offsets.dim() != 1:
        raise ValueError("offsets has to be a 1D Tensor")
    count = offsets.shape[0] - include_last_offset
    if offsets.shape[0]:
        _check_offsets(offsets, input.shape[0])
    starts = offsets[:count].long().contiguous()
    bags = ops.searchsorted(starts, _count_up(input.shape[0], input), right=True) - 1
    return input, bags, count


def _count_up(size: int, like: Tensor) -> Tensor:
    return like.new_ones(size).long().cumsum(0) - 1


def _check_offsets(offsets: Tensor, size: int) -> None:
    first, last = int(offsets[0]), int(offsets[-1])
    if first != 0:
        raise RuntimeError(
            "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. However, got "
            f"{first}"
        )
    if last > size:
        raise RuntimeError(f"offsets[-1] can not be greater than input's length {size} but got offsets[-1] of {last}")
    if bool((offsets[1:] < offsets[:-1]).any()):
        raise RuntimeError("embedding_bag: the offsets must not decrease")


def _check_mode(mode: str, scale_grad_by_freq: bool, sparse: bool) -> None:
    if mode not in ("sum", "mean", "max"):
        raise ValueError("mode has to be one of sum, mean or max")
    if mode == "max" and scale_grad_by_freq:
        raise ValueError("max mode does not support scaling the gradient by the frequency")
    if mode == "max" and sparse:
        raise ValueError("max mode does not support sparse weights")


def _check_weights(per_sample_weights: Tensor, weight: Tensor, mode: str) -> None:
    if mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' (got "
            f"mode='{mode}'). Please open a feature request on GitHub."
        )
    if per_sample_weights.dtype is not weight.dtype:
        raise RuntimeError(
            "Expected tensor for argument #1 'weight' to have the same type as tensor for argument #1 "
            f"'per_sample_weights'; but type torch.{weight.dtype.scalar_name}Tensor does not equal "
            f"torch.{per_sample_weights.dtype.scalar_name}Tensor (while checking arguments for embedding_bag)"
        )
