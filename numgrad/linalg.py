"""Linear algebra under PyTorch's names, `torch.linalg.*`."""

from __future__ import annotations

from typing import Any

from .kernels.systems import LinAlgError
from .ops.checks import check_tensor
from .ops.contractions import linalg_cross as cross
from .ops.contractions import multi_dot, vecdot
from .ops.dimensions import linalg_diagonal as diagonal
from .ops.factorizations import (
    cholesky,
    cholesky_ex,
    eig,
    eigh,
    eigvals,
    eigvalsh,
    householder_product,
    lu,
    lu_factor,
    lu_factor_ex,
    qr,
    svd,
    svdvals,
)
from .ops.linalg import matmul
from .ops.matrix_functions import cond, matrix_exp, matrix_power, matrix_rank, pinv, tensorinv, tensorsolve
from .ops.matrix_norms import matrix_norm, norm, vector_norm
from .ops.rearrangement import powers
from .ops.shaping import stack
from .ops.systems import det, inv, inv_ex, lstsq, lu_solve, slogdet, solve, solve_ex, solve_triangular

__all__ = [
    "LinAlgError",
    "cholesky",
    "cholesky_ex",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "householder_product",
    "inv",
    "inv_ex",
    "lstsq",
    "lu",
    "lu_factor",
    "lu_factor_ex",
    "lu_solve",
    "matmul",
    "matrix_exp",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "multi_dot",
    "norm",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "solve_ex",
    "solve_triangular",
    "svd",
    "svdvals",
    "tensorinv",
    "tensorsolve",
    "vander",
    "vecdot",
    "vector_norm",
]


def vander(x: Any, N: int | None = None) -> Any:
    """The matrices of rising powers of the last dimension's items, one a column: (..., n) to (..., n, N)."""
    check_tensor("linalg_vander", x, "x")
    if not x.dim():
        x = x.reshape(1)
    n = x.shape[-1] if N is None else N
    if n < 2 and N is not None:
        raise RuntimeError("N must be greater than 1.")
    return stack(powers(x, n), -1)
