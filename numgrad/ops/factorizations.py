"""`torch.linalg`'s factorizations: Cholesky, LU, QR, eigenvalues, singular values. All take batches (..., m, n).

Matrices are tensors of float32, float64 or complex numbers. Everything has gradients of any order, which are finite where
eigenvalues and singular values differ.
"""

from __future__ import annotations

from typing import Any

from .. import return_types
from ..creation import eye
from ..dispatch import dispatch
from ..kernels import factorizations as kernels
from .checks import check_bool, check_tensor, written
from .matrix_checks import check_floats, check_info, check_kernel, check_matrices, check_square


def _all_written(name: str, found: tuple[Any, ...], out: Any) -> tuple[Any, ...]:
    return found if out is None else tuple(written(name, f, o) for f, o in zip(found, out, strict=True))


# ---------------------------------------------------------------------------------------------------- Cholesky
def cholesky(A: Any, *, upper: bool = False, out: Any = None) -> Any:
    """The lower triangular L with `L @ L.mH = A` for Hermitian positive definite A, of which the lower triangle is read.

    With `upper` the upper triangular U with `U.mH @ U = A`, from the upper triangle. The gradient is Hermitian.
    Raises LinAlgError for a matrix that is not positive definite.

    Example:
        >>> import numgrad as ng
        >>> ng.linalg.cholesky(ng.tensor([[4.0, 2.0], [2.0, 5.0]]))
        tensor([[2., 0.],
                [1., 2.]])
    """
    L, info = _cholesky("linalg.cholesky", A, upper)
    _check_positive("linalg.cholesky", info)
    return written("linalg_cholesky", L, out)


def cholesky_ex(A: Any, *, upper: bool = False, check_errors: bool = False, out: Any = None) -> Any:
    """`cholesky` that reports failure: (L, info), info 0 or the order of the minor that is not positive definite."""
    L, info = _cholesky("linalg.cholesky", A, upper)
    if check_errors:
        _check_positive("linalg.cholesky_ex", info)
    return return_types.linalg_cholesky_ex(*_all_written("linalg_cholesky_ex", (L, info), out))


def _cholesky(name: str, A: Any, upper: bool) -> tuple[Any, Any]:
    check_matrices(name, A, tensor_argument="input")
    check_square(name, A)
    check_floats(name, A, "cholesky_cpu")
    L, info = dispatch(kernels.linalg_cholesky_ex, (A,), (bool(upper),))
    return L, info


def _check_positive(name: str, info: Any) -> None:
    def describe(batch: str, order: int) -> str:
        return (
            f"{name}: {batch}The factorization could not be completed because the input is not positive-definite "
            "(the leading "
            f"minor of order {order} is not positive-definite)."
        )

    check_info(info, describe)


# ---------------------------------------------------------------------------------------------------- LU
def lu_factor(A: Any, *, pivot: bool = True, out: Any = None) -> Any:
    """The LU factorization with row swaps as LAPACK has it: (LU, pivots), for `lu_solve` and `lu_unpack`.

    L's unit diagonal is not stored; `pivots` (int32, from 1) are the rows swapped in turn.
    Raises RuntimeError where U has a zero on its diagonal.
    """
    LU, pivots, info = _lu_factor(A, pivot)

    def describe(batch: str, k: int) -> str:
        return (
            f"torch.linalg.lu_factor: {batch}U[{k},{k}] is zero and using it on lu_solve would result in a division "
            "by zero. "
            "If you still want to perform the factorization, consider calling linalg.lu(A, pivot) or "
            "linalg.lu_factor_ex(A, pivot)"
        )

    check_info(info, describe, RuntimeError)
    return return_types.linalg_lu_factor(*_all_written("linalg_lu_factor", (LU, pivots), out))


def lu_factor_ex(A: Any, *, pivot: bool = True, check_errors: bool = False, out: Any = None) -> Any:
    """`lu_factor` that reports failure: (LU, pivots, info), info 0 or the number of the zero on U's diagonal."""
    found = _lu_factor(A, pivot)
    if check_errors:
        check_info(
            found[2],
            lambda batch, k: (
                f"torch.linalg.lu_factor_ex: {batch}The factorization could not be completed because U[{k},{k}] is zero."
            ),
            RuntimeError,
        )
    return return_types.linalg_lu_factor_ex(*_all_written("linalg_lu_factor_ex", found, out))


def _lu_factor(A: Any, pivot: bool) -> tuple[Any, Any, Any]:
    check_tensor("linalg_lu_factor", A, "A")
    if A.dim() < 2:
        raise RuntimeError(
            f"torch.lu_factor: Expected tensor with 2 or more dimensions. Got size: {list(A.shape)} instead"
        )
    check_kernel("lu_cpu", A)
    if not pivot:
        raise RuntimeError("linalg.lu_factor: LU without pivoting is not implemented on the CPU")
    LU, pivots, info = dispatch(kernels.linalg_lu_factor_ex, (A,))
    return LU, pivots, info


def lu(A: Any, *, pivot: bool = True, out: Any = None) -> Any:
    """P, L and U with `A = P @ L @ U`: a permutation, a unit lower and an upper triangular (or trapezoidal) matrix."""
    LU, pivots, _ = _lu_factor(A, pivot)
    return return_types.linalg_lu(*_all_written("linalg_lu", unpacked(LU, pivots), out))


def unpacked(LU: Any, pivots: Any) -> tuple[Any, Any, Any]:
    """The three matrices of an LU factorization."""
    m, n = LU.shape[-2:]
    k = min(m, n)
    identity = eye(m, dtype=LU.dtype, device=LU.device).expand(*LU.shape[:-2], m, m)
    P = dispatch(kernels.lu_permuted, (identity, pivots), (False,))
    return P, _unit_lower(LU[..., :, :k]), LU[..., :k, :].triu()


def _unit_lower(x: Any) -> Any:
    return x.tril(-1) + eye(*x.shape[-2:], dtype=x.dtype, device=x.device)


def permuted(pivots: Any, B: Any, transposed: bool) -> Any:
    """`P @ B`, or `P.T @ B`, for the permutation of an LU factorization."""
    return dispatch(kernels.lu_permuted, (B, pivots), (transposed,))


# ---------------------------------------------------------------------------------------------------- QR
def qr(A: Any, mode: str = "reduced", *, out: Any = None) -> Any:
    """Q with orthonormal columns and the upper triangular R with `A = Q @ R`.

    With k = min(m, n): "reduced" gives (m, k) and (k, n), "complete" (m, m) and (m, n), "r" an empty Q.
    Raises RuntimeError for another mode; the gradient is refused for "r" and for "complete" of tall matrices.
    """
    return return_types.linalg_qr(*_qr(A, mode, out))


def _qr(A: Any, mode: str, out: Any) -> tuple[Any, ...]:
    check_matrices("linalg.qr", A)
    check_floats("linalg.qr", A, "geqrf_cpu")
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'"
        )
    return _all_written("linalg_qr", dispatch(kernels.linalg_qr, (A,), (mode,)), out)


# ---------------------------------------------------------------------------------------------------- eigenvalues
def eigh(A: Any, UPLO: str = "L", *, out: Any = None) -> Any:
    """Ascending eigenvalues (real) and orthonormal eigenvectors (columns) of Hermitian matrices.

    Only the triangle `UPLO`, "L" or "U", is read; the gradient is Hermitian. Gradients through the vectors are finite
    only where the eigenvalues differ, and for complex vectors the loss must not depend on their phases (RuntimeError).
    """
    return return_types.linalg_eigh(*_all_written("linalg_eigh", _eigh(A, UPLO), out))


def eigvalsh(A: Any, UPLO: str = "L", *, out: Any = None) -> Any:
    """The eigenvalues of `eigh`."""
    return written("linalg_eigvalsh", _eigh(A, UPLO, "linalg_eigvalsh")[0], out)


def _eigh(A: Any, UPLO: str, function: str = "linalg_eigh") -> tuple[Any, Any]:
    check_matrices("linalg.eigh", A, tensor_argument="input", function=function)
    check_square("linalg.eigh", A)
    if UPLO.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    check_kernel("linalg_eigh_cpu", A)
    values, vectors = dispatch(kernels.linalg_eigh, (A,), (UPLO.upper() == "U",))
    return values, vectors


def eig(A: Any, *, out: Any = None) -> Any:
    """Eigenvalues and eigenvectors (columns of length 1) of square matrices, complex, in no particular order.

    Raises RuntimeError for infinities and NaNs.
    """
    return return_types.linalg_eig(*_all_written("linalg_eig", _eig(A, "linalg_eig"), out))


def eigvals(A: Any, *, out: Any = None) -> Any:
    """The eigenvalues of `eig`."""
    return written("linalg_eigvals", _eig(A, "linalg_eigvals")[0], out)


def _eig(A: Any, function: str) -> tuple[Any, Any]:
    check_matrices("linalg.eig", A, tensor_argument="input", function=function)
    check_square("linalg.eig", A)
    if not A.dtype.is_differentiable:
        raise RuntimeError(f"Unknown Complex ScalarType for {A.dtype.scalar_name}")
    check_kernel("linalg_eig_out_cpu", A)
    if not A.detach().isfinite().all().item():
        raise RuntimeError("torch.linalg.eig: input tensor should not contain infs or NaNs.")
    values, vectors = dispatch(kernels.linalg_eig, (A,))
    return values, vectors


# ---------------------------------------------------------------------------------------------------- singular values
def svd(A: Any, full_matrices: bool = True, *, driver: str | None = None, out: Any = None) -> Any:
    """U, S and Vh with `A = U @ diag(S) @ Vh`: orthonormal vectors around descending singular values, which are real.

    With `full_matrices` U is (m, m) and Vh (n, n), else (m, k) and (k, n), k = min(m, n). Gradients through the vectors are
    finite only where the singular values differ. Raises LinAlgError for matrices that are not finite.
    """
    if not isinstance(full_matrices, bool):
        check_bool("linalg_svd", "full_matrices", full_matrices)
    return return_types.linalg_svd(*_all_written("linalg_svd", _svd(A, full_matrices, driver, "linalg_svd"), out))


def svdvals(A: Any, *, driver: str | None = None, out: Any = None) -> Any:
    """The singular values of `svd`."""
    return written("linalg_svdvals", _svd(A, False, driver, "linalg_svdvals")[1], out)


def _svd(A: Any, full_matrices: bool, driver: str | None, function: str) -> tuple[Any, Any, Any]:
    check_matrices("linalg.svd", A, function=function)
    check_floats("linalg.svd", A, "linalg_svd_cpu")
    if driver is not None:
        raise RuntimeError(
            "torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend."
        )
    U, S, Vh = dispatch(kernels.linalg_svd, (A,), (full_matrices,))
    return U, S, Vh


def householder_product(A: Any, tau: Any, *, out: Any = None) -> Any:
    """The first n columns of the product of the reflections `1 - tau[i] v v^H`, v below A's diagonal, as LAPACK keeps Q.

    A is (..., m, n) with m >= n, tau (..., k) with k <= n. Raises RuntimeError for other shapes.
    """
    check_tensor("linalg_householder_product", A, "input")
    check_tensor("linalg_householder_product", tau, "tau", 2)
    if A.dim() < 2:
        raise RuntimeError("torch.linalg.householder_product: input must have at least 2 dimensions.")
    m, n = A.shape[-2:]
    if m < n:
        raise RuntimeError(
            "torch.linalg.householder_product: input.shape[-2] must be greater than or equal to input.shape[-1]"
        )
    if n < tau.shape[-1]:
        raise RuntimeError(
            "torch.linalg.householder_product: input.shape[-1] must be greater than or equal to tau.shape[-1]"
        )
    if A.dim() - tau.dim() != 1:
        raise RuntimeError(
            "torch.linalg.householder_product: Expected tau to have one dimension less than input, but got tau.ndim "
            "equal to "
            f"{tau.dim()} and input.ndim is equal to {A.dim()}"
        )
    if A.dtype is not tau.dtype:
        raise RuntimeError(
            f"torch.linalg.householder_product: tau dtype {tau.dtype.c_name} does not match input dtype {A.dtype.c_name}"
        )
    vectors = _unit_lower(A)
    found = eye(m, n, dtype=A.dtype, device=A.device) + vectors * 0
    for i in reversed(range(tau.shape[-1])):
        v = vectors[..., :, i : i + 1]
        found = found - tau[..., i, None, None] * (v @ (v.mH @ found))
    return written("linalg_householder_product", found, out)
