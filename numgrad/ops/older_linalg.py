"""The names that linear algebra has outside `torch.linalg`: `torch.svd`, `torch.inverse`, and the methods of tensors."""

from __future__ import annotations

from typing import Any

from .. import return_types
from ..dispatch import dispatch
from ..kernels import factorizations as kernels
from ..kernels.arithmetic import where
from .checks import check_tensor, written
from .factorizations import _all_written, _check_positive, _lu_factor, _qr, _svd, householder_product, unpacked
from .matrix_checks import check_matrices, check_square
from .matrix_functions import matrix_exp, matrix_power, pinv
from .matrix_norms import matrix_norm
from .statistics import norm
from .systems import det, inv, signed_logarithm, solve_triangular
from .systems import lu_solve as solve_by_factors

__all__ = [
    "cholesky",
    "det",
    "frobenius_norm",
    "geqrf",
    "inverse",
    "logdet",
    "lu",
    "lu_solve",
    "lu_unpack",
    "matrix_exp",
    "matrix_power",
    "nuclear_norm",
    "orgqr",
    "pinverse",
    "qr",
    "slogdet",
    "svd",
    "triangular_solve",
]

orgqr = householder_product


def inverse(input: Any, *, out: Any = None) -> Any:
    """The inverse; see `linalg.inv`."""
    return inv(input, out=out)


def pinverse(input: Any, rcond: float = 1e-15) -> Any:
    """The Moore-Penrose inverse; see `linalg.pinv`."""
    return pinv(input, rcond)


def logdet(input: Any) -> Any:
    """The logarithm of the determinant: NaN where that is negative, -inf where it is 0; the principal one of a complex."""
    check_tensor("logdet", input)
    if input.dim() < 2:
        raise RuntimeError("logdet: The input tensor A must have at least 2 dimensions.")
    check_square("logdet", input)
    sign, logarithm = signed_logarithm("logdet", input)
    if input.is_complex():
        return logarithm + sign.log()
    return where(sign == -1, float("nan"), logarithm)


def slogdet(input: Any) -> Any:
    """The determinant's sign and the logarithm of its modulus; see `linalg.slogdet`."""
    return return_types.slogdet(*signed_logarithm("slogdet", input))


def svd(input: Any, some: bool = True, compute_uv: bool = True, *, out: Any = None) -> Any:
    """U, S and V (not its adjoint) with `input = U @ diag(S) @ V.mH`; `linalg.svd` is the newer function.

    `some` leaves out the vectors beyond the least extent. Without `compute_uv` U and V are zeros.
    """
    check_tensor("svd", input)
    if input.dim() < 2:
        raise RuntimeError(
            f"linalg.svd: input should have at least 2 dimensions, but has {input.dim()} dimensions instead"
        )
    if not compute_uv:
        batch, (m, n) = tuple(input.shape[:-2]), input.shape[-2:]
        S = _svd(input, False, None, "svd")[1]
        return return_types.svd(
            *_all_written("svd", (input.new_zeros((*batch, m, m)), S, input.new_zeros((*batch, n, n))), out)
        )
    U, S, Vh = _svd(input, not some, None, "svd")
    return return_types.svd(*_all_written("svd", (U, S, Vh.mH), out))


def qr(input: Any, some: bool = True, *, out: Any = None) -> Any:
    """Q and R; see `linalg.qr`, whose "reduced" is `some`."""
    return return_types.qr(*_qr(input, "reduced" if some else "complete", out))


def cholesky(input: Any, upper: bool = False, *, out: Any = None) -> Any:
    """The Cholesky factor; see `linalg.cholesky`."""
    check_tensor("cholesky", input)
    if input.dim() < 2:
        raise RuntimeError("cholesky: The input tensor A must have at least 2 dimensions.")
    check_square("cholesky", input)
    L, info = dispatch(kernels.linalg_cholesky_ex, (input,), (bool(upper),))
    _check_positive("cholesky", info)
    return written("cholesky", L, out)


def lu(A: Any, *args: Any, pivot: bool = True, get_infos: bool = False, out: Any = None) -> Any:
    """The factorization (LU, pivots), and `info` with `get_infos`; see `linalg.lu_factor_ex`."""
    if args:
        pivot, get_infos = (*args, get_infos)[:2]
    found = _lu_factor(A, pivot)
    return _all_written("lu", found if get_infos else found[:2], out)


def lu_unpack(
    LU_data: Any, LU_pivots: Any, unpack_data: bool = True, unpack_pivots: bool = True, *, out: Any = None
) -> Any:
    """P, L and U of what `linalg.lu_factor` returned; empty tensors for what is not asked for."""
    check_matrices("torch.lu_unpack", LU_data, "LU_data", "LU_data", "lu_unpack")
    if unpack_pivots and LU_pivots.dtype.name != "int32":
        raise RuntimeError(
            "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype.\n"
            "Note: this function is intended to be used with the output produced by torch.linalg.lu_factor"
        )
    P, L, U = unpacked(LU_data, LU_pivots)
    empty = LU_data.new_zeros(0)
    found = (P if unpack_pivots else empty, *((L, U) if unpack_data else (empty, empty)))
    return return_types.lu_unpack(*_all_written("lu_unpack", found, out))


def lu_solve(b: Any, LU_data: Any, LU_pivots: Any, *, out: Any = None) -> Any:
    """The solution of `A @ X = b`, A given by its factorization; see `linalg.lu_solve`."""
    return solve_by_factors(LU_data, LU_pivots, b, out=out)


def triangular_solve(
    b: Any, A: Any, upper: bool = True, transpose: bool = False, unitriangular: bool = False, *, out: Any = None
) -> Any:
    """(solution, copy of A) of a triangular system; `linalg.solve_triangular` is the newer function."""
    check_tensor("triangular_solve", b, "self")
    check_tensor("triangular_solve", A, "A", 2)
    if transpose:
        X = solve_triangular(A.mT, b, upper=not upper, unitriangular=unitriangular)
    else:
        X = solve_triangular(A, b, upper=upper, unitriangular=unitriangular)
    return return_types.triangular_solve(*_all_written("triangular_solve", (X, A.clone()), out))


def nuclear_norm(input: Any, dim: Any = (-2, -1), keepdim: bool = False, *, out: Any = None) -> Any:
    """The sum of the singular values."""
    return matrix_norm(input, "nuc", dim, keepdim, out=out)


def frobenius_norm(input: Any, dim: Any, keepdim: bool = False, *, out: Any = None) -> Any:
    """The root of the sum of squares over one or two dimensions."""
    return norm(input, "fro", dim, keepdim, out=out)


def geqrf(input: Any, *, out: Any = None) -> Any:
    """LAPACK's form of a QR factorization: R with the reflections below its diagonal, and their factors. No gradient."""
    check_matrices("torch.geqrf", input, "input", "input", "geqrf")
    return return_types.geqrf(*_all_written("geqrf", dispatch(kernels.geqrf, (input,)), out))
