"""`torch.linalg`'s norms of vectors and matrices."""

from __future__ import annotations

import math
from typing import Any

from . import statistics
from .checks import check_tensor, written
from .dims import wrap_dim
from .factorizations import svdvals


def vector_norm(
    x: Any, ord: float = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, out: Any = None
) -> Any:
    """The vector norm `sum(abs(x) ** ord) ** (1 / ord)` of all items, or over `dim` (an int or several)."""
    check_tensor("linalg_vector_norm", x, "self")
    if not hasattr(ord, "__float__"):
        raise TypeError(f"linalg_vector_norm(): argument 'ord' (position 2) must be Number, not {type(ord).__name__}")
    return statistics.norm(x, ord, dim, keepdim, out, dtype)


def matrix_norm(
    A: Any, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False, *, dtype: Any = None, out: Any = None
) -> Any:
    """The norm of matrices in two dimensions.

    Args:
        A: a tensor of floats with two dimensions or more.
        ord: "fro"; 1, -1, inf, -inf: the largest (smallest) sum of magnitudes of a column or of a row; 2, -2: the largest
            (smallest) singular value; "nuc": their sum.
        dim: the two dimensions.
        keepdim: whether they stay, with extent 1.
        dtype: a dtype to cast to before.
        out: a tensor for the result.

    Raises:
        RuntimeError: another order, fewer dimensions, the same dimension twice.
    """
    check_tensor("linalg_matrix_norm", A, "self")
    if A.dim() < 2:
        raise RuntimeError("linalg.matrix_norm: The input tensor A must have at least 2 dimensions.")
    if not A.dtype.is_differentiable:
        raise RuntimeError(
            f"linalg.matrix_norm: Expected a floating point or complex tensor as input. Got {A.dtype.scalar_name}"
        )
    if len(dim) != 2:
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {' '.join(map(str, dim))}")
    first, second = (wrap_dim(d, A.dim()) for d in dim)
    if first == second:
        raise RuntimeError(f"linalg.matrix_norm: dims must be different. Got ({first}, {second})")
    if dtype is not None:
        A = A.to(dtype)
    if ord == "fro":
        return statistics.norm(A, 2, (first, second), keepdim, out)
    if ord in ("nuc", 2, -2):
        return written("linalg_matrix_norm", _norm_of_values(A, ord, (first, second), keepdim), out)
    if ord not in (1, -1, math.inf, -math.inf):
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    summed, kept = (first, second) if abs(ord) == 1 else (second, first)
    sums = A.abs().sum(summed, keepdim=keepdim)
    if not keepdim and summed < kept:
        kept -= 1
    found = sums.amax(kept, keepdim) if ord > 0 else sums.amin(kept, keepdim)
    return written("linalg_matrix_norm", found, out)


def _norm_of_values(A: Any, ord: Any, dims: tuple[int, int], keepdim: bool) -> Any:
    values = svdvals(A.movedim(dims, (-2, -1)))
    found = values.sum(-1) if ord == "nuc" else values.amax(-1) if ord == 2 else values.amin(-1)
    if keepdim:
        for d in sorted(dims):
            found = found.unsqueeze(d)
    return found


def norm(A: Any, ord: Any = None, dim: Any = None, keepdim: bool = False, *, out: Any = None, dtype: Any = None) -> Any:
    """A vector norm, or a matrix norm where `dim` names two dimensions (or a matrix is given with an `ord` alone)."""
    check_tensor("linalg_norm", A, "self")
    if dim is not None:
        dims = (dim,) if isinstance(dim, int) else tuple(dim)
        if len(dims) not in (1, 2):
            raise RuntimeError("linalg.norm: If dim is specified, it must be of length 1 or 2. Got " + str(list(dims)))
        if ord is None or len(dims) == 1:
            return vector_norm(A, 2 if ord is None else ord, dims, keepdim, dtype=dtype, out=out)
        return matrix_norm(A, ord, dims, keepdim, dtype=dtype, out=out)
    if ord is None:
        return vector_norm(A, 2, None, keepdim, dtype=dtype, out=out)
    if isinstance(ord, str) or A.dim() == 2:
        return matrix_norm(A, ord, (-2, -1), keepdim, dtype=dtype, out=out)
    if A.dim() != 1:
        raise RuntimeError("linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got "
                           f"{A.dim()}D.")  # fmt: skip
    return vector_norm(A, ord, None, keepdim, dtype=dtype, out=out)
