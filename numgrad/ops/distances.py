"""Distances and similarities of vectors: pairwise_distance, pdist, cosine_similarity."""

from __future__ import annotations

from typing import Any

from ..autograd.grad_mode import no_grad
from ..creation import triu_indices
from ..operands import broadcast_shapes
from .checks import check_tensor
from .inspection import result_type
from .statistics import norm


def pairwise_distance(x1: Any, x2: Any, p: float = 2, eps: float = 1e-6, keepdim: bool = False) -> Any:
    """The p-norm of `x1 - x2 + eps` along the last dimension.

    Example:
        >>> import numgrad as ng
        >>> ng.pairwise_distance(ng.zeros(1, 2), ng.tensor([[3.0, 4.0]]))
        tensor([5.0000])
    """
    check_tensor("pairwise_distance", x1, "x1")
    check_tensor("pairwise_distance", x2, "x2", 2)
    last = max(x1.dim(), x2.dim(), 1) - 1
    return norm(x1 - x2 + eps, p, last, keepdim)


def pdist(input: Any, p: float = 2) -> Any:
    """The p-norm distances of all pairs of rows: (0, 1), (0, 2), ... (n - 2, n - 1).

    Raises RuntimeError for anything but a matrix of floats, and for a negative `p`.
    """
    check_tensor("pdist", input)
    if input.dim() != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {input.dim()}D")
    if not input.dtype.is_floating_point:
        raise RuntimeError("pdist only supports floating-point dtypes")
    if p < 0:
        raise RuntimeError("pdist only supports non-negative p values")
    rows = input.shape[0]
    first, second = triu_indices(rows, rows, 1, device=input.device).unbind(0)
    return norm(input.index_select(0, first) - input.index_select(0, second), p, 1)


def cosine_similarity(x1: Any, x2: Any, dim: int = 1, eps: float = 1e-8) -> Any:
    """The cosine of the angle between two tensors' vectors along `dim`. Norms below `eps` count as `eps`."""
    check_tensor("cosine_similarity", x1, "x1")
    check_tensor("cosine_similarity", x2, "x2", 2)
    common = result_type(x1, x2)
    if not common.is_floating_point:
        raise RuntimeError(f"expected common dtype to be floating point, yet common dtype is {common.scalar_name}")
    shape = broadcast_shapes(tuple(x1.shape), tuple(x2.shape))
    units = []
    for x in (x1, x2):
        x = x.to(common).expand(shape)
        length = norm(x, 2, dim, True).clone()
        with no_grad():
            length.clamp_min_(eps)
        units.append(x / length)
    return (units[0] * units[1]).sum(dim)
