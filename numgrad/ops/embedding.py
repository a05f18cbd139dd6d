"""Embeddings as functions of tensors: rows looked up in a table, and rows rescaled in place."""

from __future__ import annotations

from typing import Any

from ..autograd.grad_mode import no_grad
from ..call_plans import Call, with_plans
from ..kernels import embedding as kernels
from .checks import check_tensor
from .ordering import unique
from .statistics import norm


@with_plans
def embedding(
    weight: Any, indices: Any, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False
) -> Any:
    """The rows of `weight` (N, D) at int64 or int32 indices of any shape.

    The row `padding_idx` has no gradient. With `scale_grad_by_freq` the gradient of each row is divided by the number of
    times that it is looked up. The gradient is dense also if `sparse`.

    Raises IndexError for an index outside [0, N), RuntimeError for other dtypes and ranks.
    """
    check_tensor("embedding", weight, "weight")
    check_tensor("embedding", indices, "indices", 2)
    if weight.dim() != 2:
        raise RuntimeError("'weight' must be 2-D")
    check_indices("embedding", indices)
    return Call(kernels.embedding, (weight, indices), (int(padding_idx), bool(scale_grad_by_freq)))


def check_indices(name: str, indices: Any) -> None:
    """Raise RuntimeError for indices that are neither int64 nor int32."""
    if indices.dtype.name not in ("int64", "int32"):
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
            f"torch.{indices.dtype.scalar_name}Tensor instead (while checking arguments for {name})"
        )


def embedding_renorm_(input: Any, indices: Any, max_norm: float, norm_type: float) -> Any:
    """Scale the rows at the indices whose norm is above `max_norm` down to it, in place and without a gradient."""
    with no_grad():
        chosen = unique(indices.reshape(-1))
        rows = input.index_select(0, chosen)
        norms = norm(rows, norm_type, 1, True)
        scales = (max_norm / (norms + 1e-7)).masked_fill(norms <= max_norm, 1.0)
        input.index_copy_(0, chosen.long(), rows * scales)
    return input
