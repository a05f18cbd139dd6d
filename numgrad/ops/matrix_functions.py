"""`torch.linalg`'s functions of whole matrices: exponential, powers, rank, pseudoinverse, condition, tensor equations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..autograd.variable import CLASSES
from ..dispatch import dispatch
from ..kernels import pseudoinverse
from ..kernels import systems as kernels
from .bounds import nan_to_num
from .checks import check_tensor, written
from .factorizations import eigvalsh, svdvals
from .matrix_checks import check_matrices, check_square
from .matrix_norms import matrix_norm
from .systems import _eps, inv, inv_ex, solve


def matrix_exp(A: Any) -> Any:
    """The matrix exponential of square matrices, the sum of `A^k / k!`."""
    check_matrices("linalg.matrix_exp", A, tensor_argument="input")
    check_square("linalg.matrix_exp", A)
    if not A.dtype.is_differentiable:
        raise RuntimeError(
            f"linalg.matrix_exp: Expected a floating point or complex tensor as input. Got {A.dtype.scalar_name}"
        )
    return dispatch(kernels.linalg_matrix_exp, (A,))


def matrix_power(A: Any, n: int, *, out: Any = None) -> Any:
    """The n-th power of square matrices, by repeated squaring; of the inverse for negative n.

    Raises LinAlgError for the negative power of a singular matrix.
    """
    check_matrices("linalg.matrix_power", A, tensor_argument="input")
    if not isinstance(n, int):
        raise TypeError(f"linalg_matrix_power(): argument 'n' (position 2) must be int, not {type(n).__name__}")
    check_square("linalg.matrix_power", A)
    return written("linalg_matrix_power", _power(A, n), out)


def _power(A: Any, n: int) -> Any:
    if n == 0:
        identity = A.clone().zero_()  # with a gradient, which is zero
        identity.diagonal(0, -2, -1).fill_(1)
        return identity
    if n < 0:
        return _power(inv(A), -n)
    if n == 1:
        return A.clone()
    if n == 3:
        return A @ A @ A
    square, found = A, None
    while n:
        n, odd = divmod(n, 2)
        if odd:
            found = square if found is None else found @ square
        if n:
            square = square @ square
    return found


# ---------------------------------------------------------------------------------------------------- singular values
def _magnitudes(A: Any, hermitian: bool) -> Any:
    return eigvalsh(A).abs() if hermitian else svdvals(A)


def _cutoff(A: Any, values: Any, atol: Any, rtol: Any) -> Any:
    """For each matrix the size up to which a singular value counts as zero: the larger of `atol` and `rtol * largest`."""
    if rtol is None:
        usual = _eps(A) * max(A.shape[-2:])
        if atol.__class__ in CLASSES:
            rtol = values.new_full(atol.shape, usual).masked_fill(atol > 0, 0.0)
        else:
            rtol = 0.0 if atol is not None and atol > 0 else usual
    largest = values.amax(-1) if values.shape[-1] else values.sum(-1)
    relative = largest * rtol
    if atol is None:
        return relative
    return relative.clamp(min=atol) if atol.__class__ not in CLASSES else relative.maximum(atol.to(relative.dtype))


def matrix_rank(
    A: Any, tol: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None, out: Any = None
) -> Any:
    """The number of singular values above the larger of `atol` and `rtol` times the largest, int64.

    `rtol` is eps times the larger extent by default, or 0 where `atol` (or its older name `tol`) is given.
    """
    check_tensor("linalg_matrix_rank", A)
    if A.dim() < 2:
        raise RuntimeError("torch.linalg.matrix_rank: The input tensor input must have at least 2 dimensions.")
    if not A.dtype.is_differentiable or A.element_size() < 4:
        raise RuntimeError("This function doesn't handle types other than float and double")
    if tol is not None:
        atol, rtol = tol, 0.0
    values = _magnitudes(A.detach(), hermitian)
    found = (values > _cutoff(A, values, atol, rtol).unsqueeze(-1)).sum(-1)
    return written("linalg_matrix_rank", found, out)


def pinv(
    A: Any, rcond: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None, out: Any = None
) -> Any:
    """The Moore-Penrose inverse, (..., m, n) to (..., n, m); singular values are cut off as by `matrix_rank`.

    `rcond` is an older name of `rtol`. `hermitian` reads the lower triangle alone.
    """
    check_tensor("linalg_pinv", A)
    if A.dim() < 2 or not A.dtype.is_differentiable or A.element_size() < 4:
        raise RuntimeError(
            f"linalg.pinv({A.dtype.scalar_name}{{{list(A.shape)}}}): expected a tensor with 2 or more dimensions of float, "
            "double, cfloat or cdouble types"
        )
    if not A.numel():
        return written("linalg_pinv", A.mT.clone(), out)
    values = _magnitudes(A.detach(), hermitian)
    cutoff = _cutoff(A, values, atol, rtol if rcond is None else rcond)
    return written("linalg_pinv", dispatch(pseudoinverse.linalg_pinv, (A, cutoff.detach()), (bool(hermitian),)), out)


def cond(A: Any, p: Any = None, *, out: Any = None) -> Any:
    """The condition number `norm(A) * norm(inv(A))` in the norm `p`: 2 (also for None), -2, "fro", "nuc", 1, -1, inf, -inf.

    It is infinite for a singular matrix.
    """
    check_matrices("linalg.cond", A)
    if p is None or p in (2, -2):
        values = svdvals(A)
        ends = (values[..., -1], values[..., 0]) if p == -2 else (values[..., 0], values[..., -1])
        return written("linalg_cond", ends[0] / ends[1], out)
    if isinstance(p, str) and p not in ("fro", "nuc"):
        raise RuntimeError(f"linalg.cond got an invalid norm type: {p}")
    if not isinstance(p, str) and p not in (1, -1, math.inf, -math.inf):
        raise RuntimeError(f"linalg.cond got an invalid norm type: {float(p)}")
    check_square(f"linalg.cond(ord={p})", A)
    inverse, info = inv_ex(A)
    inverse = inverse.masked_fill((info > 0)[..., None, None], math.inf)
    found = matrix_norm(A, p) * matrix_norm(inverse, p)
    return written("linalg_cond", nan_to_num(found, math.inf, math.inf, -math.inf), out)


# ---------------------------------------------------------------------------------------------------- tensor equations
def tensorinv(A: Any, ind: int = 2, *, out: Any = None) -> Any:
    """The inverse of `A` as a map between tensors: `tensordot(tensorinv(A, ind), A, ind)` is the identity."""
    check_tensor("linalg_tensorinv", A)
    if ind <= 0:
        raise RuntimeError(f"Expected a strictly positive integer for 'ind', but got {ind}")
    first, second = tuple(A.shape[ind:]), tuple(A.shape[:ind])
    columns, rows = math.prod(first), math.prod(second)
    if rows != columns:
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got "
            f"{columns} != {rows}"
        )
    return written("linalg_tensorinv", inv(A.reshape(rows, columns)).reshape(first + second), out)


def tensorsolve(A: Any, B: Any, dims: Sequence[int] | None = None, *, out: Any = None) -> Any:
    """X with `tensordot(A, X, X.dim()) = B`; `dims` are moved to A's end before."""
    check_tensor("linalg_tensorsolve", A)
    check_tensor("linalg_tensorsolve", B, "other", 2)
    if dims is not None:
        A = A.movedim(tuple(dims), tuple(range(A.dim() - len(dims), A.dim())))
    shape = tuple(A.shape[B.dim() :])
    columns, rows = math.prod(shape), B.numel()
    if columns != math.prod(A.shape[: B.dim()]):
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == "
            "prod(self.shape[:other.ndim]), but got "
            f"{columns} != {math.prod(A.shape[: B.dim()])}"
        )
    return written("linalg_tensorsolve", solve(A.reshape(rows, columns), B.ravel()).reshape(shape), out)
