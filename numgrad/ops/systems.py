"""`torch.linalg`'s solvers: square and triangular systems, least squares, inverses, determinants.

Matrices are batches (..., n, n) of float32, float64 or complex numbers; gradients are of any order.
"""

from __future__ import annotations

import math
from typing import Any

from .. import return_types
from ..dispatch import dispatch
from ..kernels import pseudoinverse
from ..kernels import systems as kernels
from ..operands import broadcast_shapes
from .checks import check_tensor, written
from .factorizations import _all_written, permuted
from .matrix_checks import check_floats, check_info, check_kernel, check_matrices, check_square


def _check_fit(name: str, A: Any, B: Any, left: bool) -> None:
    if A.shape[-2] != B.shape[-2 if left else -1]:
        a, b = (f"{x.shape[-2]}x{x.shape[-1]}" for x in (A, B))
        equation = "AX = B" if left else "XA = B"
        raise RuntimeError(f"{name}: Incompatible shapes of A and B for the equation {equation} ({a} and {b})")


# ---------------------------------------------------------------------------------------------------- solve
def solve(A: Any, B: Any, *, left: bool = True, out: Any = None) -> Any:
    """X with `A @ X = B`, or `X @ A = B` without `left`. B is (..., n, k), or a batch of vectors (..., n).

    Raises LinAlgError for a singular matrix, RuntimeError for shapes or dtypes that do not fit.

    Example:
        >>> import numgrad as ng
        >>> ng.linalg.solve(ng.tensor([[2.0, 0.0], [0.0, 4.0]]), ng.tensor([2.0, 2.0]))
        tensor([1.0000, 0.5000])
    """
    X, info = _solve("linalg_solve", A, B, left)
    check_info(
        info, lambda batch, _: f"torch.linalg.solve: {batch}The solver failed because the input matrix is singular."
    )
    return written("linalg_solve", X, out)


def solve_ex(A: Any, B: Any, *, left: bool = True, check_errors: bool = False, out: Any = None) -> Any:
    """`solve` that reports failure: (result, info), info 0 or the number of the pivot that is zero."""
    X, info = _solve("linalg_solve_ex", A, B, left)
    if check_errors:
        text = "torch.linalg.solve_ex: {}The solver failed because the input matrix is singular."
        check_info(info, lambda batch, _: text.format(batch))
    return return_types.linalg_solve_ex(*_all_written("linalg_solve_ex", (X, info), out))


def _solve(function: str, A: Any, B: Any, left: bool) -> tuple[Any, Any]:
    check_matrices("linalg.solve", A, function=function)
    check_tensor(function, B, "B", 2)
    check_square("linalg.solve", A)
    check_floats("linalg.solve", A, "lu_cpu")
    if A.dtype is not B.dtype:
        raise RuntimeError(
            "linalg.solve: Expected A and B to have the same dtype, but found A of type "
            f"{A.dtype.scalar_name} and B of type {B.dtype.scalar_name} instead"
        )
    of_vectors = B.dim() == 1 or (A.dim() - 1 == B.dim() and tuple(A.shape[:-1]) == tuple(B.shape))
    if of_vectors:
        if not left:
            raise RuntimeError(
                "linalg.solve: Vector broadcasting of the left hand side is not supported for left=False. In this case "
                "linalg.solve is equivalent to B / A.squeeze(-1)"
            )
        B = B.unsqueeze(-1)
    if B.dim() < 2:
        raise RuntimeError("linalg.solve: The input tensor B must have at least 2 dimensions.")
    _check_fit("linalg.solve", A, B, left)
    broadcast_shapes(tuple(A.shape[:-2]), tuple(B.shape[:-2]))
    X, info = dispatch(kernels.linalg_solve_ex, (A, B), (left,))
    return (X.squeeze(-1) if of_vectors else X), info


def solve_triangular(
    A: Any, B: Any, *, upper: bool, left: bool = True, unitriangular: bool = False, out: Any = None
) -> Any:
    """X with `A @ X = B` (`X @ A = B` without `left`) for a triangular A, of which only that triangle is read.

    `unitriangular` takes A's diagonal as ones. A zero on it gives infinities, no error.
    """
    check_matrices("linalg.solve_triangular", A, function="linalg_solve_triangular")
    check_tensor("linalg_solve_triangular", B, "B", 2)
    check_square("linalg.solve_triangular", A)
    if B.dim() < 2:
        raise RuntimeError("linalg.solve_triangular: The input tensor B must have at least 2 dimensions.")
    _check_fit("linalg.solve_triangular", A, B, left)
    check_kernel("triangular_solve_cpu", A)
    found = dispatch(kernels.linalg_solve_triangular, (A, B), (bool(upper), bool(left), bool(unitriangular)))
    return written("linalg_solve_triangular", found, out)


def lu_solve(LU: Any, pivots: Any, B: Any, *, left: bool = True, adjoint: bool = False, out: Any = None) -> Any:
    """X with `A @ X = B` for A given by `lu_factor`; `X @ A = B` without `left`; A's adjoint with `adjoint`."""
    check_matrices("torch.linalg.lu_solve", LU, "LU", "LU", "linalg_lu_solve")
    check_square("torch.linalg.lu_solve", LU, "LU")
    if LU.dtype is not B.dtype:
        raise RuntimeError(
            f"linalg.lu_solve: Expected LU and B to have the same dtype, but found LU of type {LU.dtype.scalar_name} and B "
            f"of type {B.dtype.scalar_name} instead"
        )
    if pivots.dtype.name != "int32":
        raise RuntimeError("linalg.lu_solve: pivots should be a Tensor of scalar type torch.int32")
    _check_fit("linalg.lu_solve", LU, B, left)
    if not left:
        return written("linalg_lu_solve", lu_solve(LU, pivots, B.mH, adjoint=not adjoint).mH, out)
    if adjoint:
        half = solve_triangular(LU.mH, B, upper=False)
        whole = solve_triangular(LU.mH, half, upper=True, unitriangular=True)
        return written("linalg_lu_solve", permuted(pivots, whole, False), out)
    half = solve_triangular(LU, permuted(pivots, B, True), upper=False, unitriangular=True)
    return written("linalg_lu_solve", solve_triangular(LU, half, upper=True), out)


# ---------------------------------------------------------------------------------------------------- inverse, determinants
def inv(A: Any, *, out: Any = None) -> Any:
    """The inverse. Raises LinAlgError for a singular matrix."""
    inverse, info = _inv("linalg_inv", A)
    _check_inverted("linalg.inv", info)
    return written("linalg_inv", inverse, out)


def inv_ex(A: Any, *, check_errors: bool = False, out: Any = None) -> Any:
    """`inv` that reports failure: (inverse, info), info 0 or the number of the pivot that is zero."""
    inverse, info = _inv("linalg_inv_ex", A)
    if check_errors:
        _check_inverted("linalg.inv_ex", info)
    return return_types.linalg_inv_ex(*_all_written("linalg_inv_ex", (inverse, info), out))


def _inv(function: str, A: Any) -> tuple[Any, Any]:
    check_matrices("linalg.inv", A, function=function)
    check_square("linalg.inv", A)
    check_floats("linalg.inv", A)
    inverse, info = dispatch(kernels.linalg_inv_ex, (A,))
    return inverse, info


def _check_inverted(name: str, info: Any) -> None:
    def describe(batch: str, k: int) -> str:
        return (
            f"{name}: {batch}The diagonal element {k} is zero, the inversion could not be completed because the "
            "input matrix "
            "is singular."
        )

    check_info(info, describe)


def det(A: Any, *, out: Any = None) -> Any:
    """The determinant. Its gradient exists at singular matrices, too."""
    check_matrices("linalg.det", A)
    check_square("linalg.det", A)
    check_floats("linalg.det", A, "lu_cpu")
    return written("linalg_det", dispatch(kernels.linalg_det, (A,)), out)


def slogdet(A: Any, *, out: Any = None) -> Any:
    """The determinant's sign, and the logarithm of its modulus: (0, -inf) for a singular matrix."""
    return return_types.linalg_slogdet(*_all_written("linalg_slogdet", signed_logarithm("linalg_slogdet", A), out))


def signed_logarithm(function: str, A: Any) -> tuple[Any, Any]:
    """What `slogdet` returns, as a plain tuple."""
    check_matrices("linalg.slogdet", A, function=function)
    check_square("linalg.slogdet", A)
    check_floats("linalg.slogdet", A)
    sign, logarithm = dispatch(kernels.linalg_slogdet, (A,))
    return sign, logarithm


# ---------------------------------------------------------------------------------------------------- least squares
_DRIVERS = ("gels", "gelsy", "gelsd", "gelss")


def lstsq(input: Any, b: Any, *, rcond: float | None = None, driver: str | None = None) -> Any:
    """X that minimises the length of `input @ X - b`, of all such the shortest.

    Returns (solution, residuals, rank, singular_values): the residuals are squared lengths, given where the matrix is
    tall and of full rank and the driver is not "gelsy" (the default); the singular values by "gelsd" and "gelss".
    Singular values up to `rcond` times the largest count as zero (default: the dtype's eps times the larger extent).
    """
    check_tensor("linalg_lstsq", input)
    check_tensor("linalg_lstsq", b, "b", 2)
    if input.dim() < 2:
        raise RuntimeError("torch.linalg.lstsq: input must have at least 2 dimensions.")
    if b.dim() < 1:
        raise RuntimeError("torch.linalg.lstsq: other must have at least 1 dimension.")
    if input.dtype is not b.dtype:
        raise RuntimeError(
            "torch.linalg.lstsq: Expected input and other to have the same dtype, but got input's dtype "
            f"{input.dtype.scalar_name} and other's dtype {b.dtype.scalar_name}"
        )
    if not 0 <= input.dim() - b.dim() <= 1:
        raise RuntimeError(
            "torch.linalg.lstsq: input.dim() must be greater or equal to other.dim() and (input.dim() - other.dim()) <= 1"
        )
    of_vectors = input.dim() - b.dim() == 1 and tuple(input.shape[:-1]) == tuple(b.shape)
    target = b.unsqueeze(-1) if of_vectors or b.dim() == 1 else b
    if input.shape[-2] != target.shape[-2]:
        dim = -1 if of_vectors else -2
        raise RuntimeError(f"torch.linalg.lstsq: input.size(-2) should match other.size({dim})")
    if not input.dtype.is_differentiable or input.element_size() < 4:
        raise RuntimeError("This function doesn't handle types other than float and double")
    if driver is not None and driver not in _DRIVERS:
        raise RuntimeError(f"torch.linalg.lstsq: parameter `driver` should be one of ({', '.join(_DRIVERS)})")
    cutoff = _eps(input) * max(input.shape[-2:]) if rcond is None else float(rcond)
    found = dispatch(pseudoinverse.linalg_lstsq, (input, target), (cutoff, driver or "gelsy"))
    solution = found[0].squeeze(-1) if of_vectors else found[0]
    return return_types.linalg_lstsq(solution, *found[1:])


def _eps(x: Any) -> float:
    return math.ldexp(1.0, -52 if x.dtype.name in ("float64", "complex128") else -23)


# ---------------------------------------------------------------------------------------------------- Cholesky factors
def cholesky_solve(B: Any, L: Any, upper: bool = False, *, out: Any = None) -> Any:
    """X with `A @ X = B`, A given by its Cholesky factor: `A = L @ L.mH`, or `U.mH @ U` with `upper`."""
    check_tensor("cholesky_solve", B, "self")
    check_tensor("cholesky_solve", L, "input2", 2)
    for name, x in (("b", B), ("u", L)):
        if x.dim() < 2:
            raise RuntimeError(f"{name} should have at least 2 dimensions, but has {x.dim()} dimensions instead")
    rows, columns = L.shape[-2:]
    if rows != columns:
        raise RuntimeError(f"A must be batches of square matrices, but they are {rows} by {columns} matrices")
    if B.shape[-2] != rows:
        raise RuntimeError(
            f"Incompatible matrix sizes for cholesky_solve: each A matrix is {rows} by {rows} but each b matrix is "
            f"{B.shape[-2]} by {B.shape[-1]}"
        )
    if B.dtype is not L.dtype:
        raise RuntimeError(
            f"Expected b and A to have the same dtype, but found b of type {B.dtype.scalar_name} and A of type "
            f"{L.dtype.scalar_name} instead."
        )
    check_kernel("cholesky_solve_cpu", B)
    return written("cholesky_solve", dispatch(kernels.cholesky_solve, (B, L), (bool(upper),)), out)


def cholesky_inverse(L: Any, upper: bool = False, *, out: Any = None) -> Any:
    """The inverse of the matrix whose Cholesky factor is given."""
    check_matrices("cholesky_inverse", L, tensor_argument="input")
    check_square("cholesky_inverse", L)
    check_kernel("cholesky_inverse_out_cpu", L)
    return written("cholesky_inverse", dispatch(kernels.cholesky_inverse, (L,), (bool(upper),)), out)
