"""Systems of equations and their kin: triangular systems, inverse, determinants, Cholesky's factors, the exponential.

Everything takes batches, (..., n, n). The solvers are LAPACK's, through NumPy and SciPy.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .movement import cat, stack
from .registry import Sample, op

_SQUARE = [[2.0, 1.0, 0.5], [0.5, 3.0, -1.0], [1.0, -0.5, 4.0]]
_LOWER = [[2.0, 0.0, 0.0], [0.5, 3.0, 0.0], [1.0, -0.5, 4.0]]


class LinAlgError(RuntimeError):
    """A matrix that has no such factorization or inverse."""


def by_columns(x: np.ndarray) -> np.ndarray:
    """A copy of the matrices, each laid out column after column."""
    return np.swapaxes(np.array(np.swapaxes(x, -1, -2), order="C"), -1, -2)


def zero_pivots(A: np.ndarray) -> np.ndarray:
    """For each matrix 0, or the number of the first pivot of its LU factorization that is zero."""
    from scipy.linalg import get_lapack_funcs

    (factorize,) = get_lapack_funcs(("getrf",), (A,))
    info = np.zeros(A.shape[:-2], np.int32)
    for k in np.ndindex(info.shape):
        if A.shape[-1]:
            info[k] = factorize(A[k])[2]
    return info


# ---------------------------------------------------------------------------------------------------- solve
def _solved(A: np.ndarray, B: np.ndarray, left: bool) -> tuple[np.ndarray, np.ndarray]:
    info = np.zeros(A.shape[:-2], np.int32)
    if not left:
        found, info = _solved(np.swapaxes(A, -1, -2), np.swapaxes(B, -1, -2), True)
        return np.swapaxes(found, -1, -2), info
    try:
        return by_columns(np.linalg.solve(A, B)), info
    except np.linalg.LinAlgError:
        info = zero_pivots(A)
        regular = np.where((info != 0)[..., None, None], np.eye(A.shape[-1], dtype=A.dtype), A)
        found = np.linalg.solve(regular, B)
        singular = np.broadcast_to((info != 0)[..., None, None], found.shape)
        return by_columns(np.where(singular, np.asarray(np.nan, found.dtype), found)), info


def _solve_reference(A: np.ndarray, B: np.ndarray, left: bool) -> tuple[np.ndarray, np.ndarray]:
    found = np.linalg.solve(A, B) if left else np.linalg.solve(A.mT, B.mT).mT
    return found, np.zeros(A.shape[:-2], np.int32)


@op(
    samples=[
        Sample((_SQUARE, (3, 2)), {"left": True}),
        Sample((_SQUARE, (2, 3)), {"left": False}),
        Sample((_SQUARE, (2, 3, 1)), {"left": True}),
    ],
    reference=_solve_reference,
    outputs=2,
    takes_complex=True,
)
def linalg_solve_ex(A, B, *, left):
    """X with `A @ X = B` (or `X @ A = B`), NaN where A is singular, and 0 or the number of A's pivot that is zero."""


linalg_solve_ex.kernel("cpu")(_solved)
linalg_solve_ex.non_differentiable_outputs = (1,)


@linalg_solve_ex.grad("A")
def _(g0, A, out0, left):
    by_b = solve(A.mT, g0, left=left)
    by_a = -(by_b @ out0.mT if left else out0.mT @ by_b)
    return by_a.sum_to_size(A.shape)


@linalg_solve_ex.grad("B")
def _(g0, A, B_shape, left):
    return solve(A.mT, g0, left=left).sum_to_size(B_shape)


def solve(A: Any, B: Any, *, left: bool) -> Any:
    """The solution alone."""
    return linalg_solve_ex(A, B, left=left)[0]


# ---------------------------------------------------------------------------------------------------- triangular systems
def _triangular(A: np.ndarray, B: np.ndarray, upper: bool, left: bool, unitriangular: bool) -> np.ndarray:
    from scipy.linalg import get_lapack_funcs

    if not left:
        A, B, upper = np.swapaxes(A, -1, -2), np.swapaxes(B, -1, -2), not upper
    batch = np.broadcast_shapes(A.shape[:-2], B.shape[:-2])
    A = np.broadcast_to(A, (*batch, *A.shape[-2:]))
    found = by_columns(np.broadcast_to(B, (*batch, *B.shape[-2:])))
    (backsolve,) = get_lapack_funcs(("trtrs",), (A, B))
    for k in np.ndindex(batch):
        if not found[k].size:
            continue
        solution, info = backsolve(A[k], found[k], lower=not upper, unitdiag=unitriangular)
        found[k] = solution if not info else _substituted(A[k], found[k], upper, unitriangular)
    return found if left else np.swapaxes(found, -1, -2)


def _substituted(A: np.ndarray, B: np.ndarray, upper: bool, unitriangular: bool) -> np.ndarray:
    """By substitution, of a matrix with a zero on its diagonal: LAPACK stops there, PyTorch divides by it."""
    found = np.array(B)
    with np.errstate(all="ignore"):
        for i in reversed(range(len(A))) if upper else range(len(A)):
            others = slice(i + 1, None) if upper else slice(0, i)
            found[i] -= A[i, others] @ found[others]
            if not unitriangular:
                found[i] /= A[i, i]
    return found


def _triangular_reference(A: np.ndarray, B: np.ndarray, upper: bool, left: bool, unitriangular: bool) -> np.ndarray:
    A = np.triu(A) if upper else np.tril(A)
    if unitriangular:
        A = np.where(np.eye(A.shape[-1], dtype=bool), np.ones((), A.dtype), A)
    return np.linalg.solve(A, B) if left else np.linalg.solve(A.mT, B.mT).mT


@op(
    samples=[
        Sample((_LOWER, (3, 2)), {"upper": False, "left": True, "unitriangular": False}),
        Sample((_SQUARE, (2, 3)), {"upper": True, "left": False, "unitriangular": False}),
        Sample((_SQUARE, (2, 3, 1)), {"upper": False, "left": True, "unitriangular": True}),
    ],
    reference=_triangular_reference,
    takes_complex=True,
)
def linalg_solve_triangular(A, B, *, upper, left, unitriangular):
    """X with `A @ X = B` (or `X @ A = B`) for a triangular A, of which only that triangle is read."""


linalg_solve_triangular.kernel("cpu")(_triangular)
solve_triangular = linalg_solve_triangular


@linalg_solve_triangular.grad("A")
def _(g, A, out, upper, left, unitriangular):
    by_b = solve_triangular(A.mT, g, upper=not upper, left=left, unitriangular=unitriangular)
    by_a = -(by_b @ out.mT if left else out.mT @ by_b)
    edge = int(unitriangular)
    return (by_a.triu(edge) if upper else by_a.tril(-edge)).sum_to_size(A.shape)


@linalg_solve_triangular.grad("B")
def _(g, A, B_shape, upper, left, unitriangular):
    by_b = solve_triangular(A.mT, g, upper=not upper, left=left, unitriangular=unitriangular)
    return by_b.sum_to_size(B_shape)


# ---------------------------------------------------------------------------------------------------- inverse
@op(
    samples=[Sample((_SQUARE,))],
    reference=lambda A: (np.linalg.inv(A), np.zeros(A.shape[:-2], np.int32)),
    outputs=2,
    takes_complex=True,
)
def linalg_inv_ex(A):
    """The inverse, and 0 or the number of the pivot that is zero."""


@linalg_inv_ex.kernel("cpu")
def _(A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    identity = np.broadcast_to(np.eye(A.shape[-1], dtype=A.dtype), A.shape)
    return _solved(A, identity, True)


linalg_inv_ex.non_differentiable_outputs = (1,)


@linalg_inv_ex.grad("A")
def _(g0, out0):
    return -(out0.mT @ g0 @ out0.mT)


# ---------------------------------------------------------------------------------------------------- determinants
@op(samples=[Sample((_SQUARE,)), Sample(((2, 2, 2),))], reference=np.linalg.det, takes_complex=True)
def linalg_det(A):
    """The determinant."""


@linalg_det.kernel("cpu")
def _(A: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore"):
        return np.asarray(np.linalg.det(A))


@linalg_det.grad("A")
def _(g, A, out):
    # Rounding hides that a matrix is singular, and then a solve is worth nothing: small ones never meet it.
    if A.shape[-1] <= 3 or (out.detach() == 0).any().item():
        return g.unsqueeze(-1).unsqueeze(-1) * _cofactors(A)
    return solve(A.mT, (g * out).unsqueeze(-1).expand(A.shape[:-1]).diag_embed(), left=True)


def _cofactors(A: Any) -> Any:
    """The determinant's derivatives, without a division: `d(det)/dA` at singular matrices, too.

    The cofactor at (i, j) is, up to its sign, the determinant of what is left without row i and column j.
    """
    n = A.shape[-1]
    if n < 2:
        return A * 0 + 1
    rows = []
    for i in range(n):
        others = cat(A[..., :i, :], A[..., i + 1 :, :], dim=A.dim() - 2)
        minors = [
            _determinant(cat(others[..., :, :j], others[..., :, j + 1 :], dim=A.dim() - 1)) * (-1) ** (i + j)
            for j in range(n)
        ]
        rows.append(stack(*minors, dim=A.dim() - 2))
    return stack(*rows, dim=A.dim() - 2)


def _determinant(A: Any) -> Any:
    """The determinant; up to (3, 3) as a polynomial, so that one that is 0 but for rounding has its derivatives, too."""
    n = A.shape[-1]
    if n > 3:
        return linalg_det(A)
    if n == 1:
        return A[..., 0, 0]
    if n == 2:
        return A[..., 0, 0] * A[..., 1, 1] - A[..., 0, 1] * A[..., 1, 0]
    rest = A[..., 1:, :]
    minors = [_determinant(rest[..., :, list(columns)]) for columns in ((1, 2), (0, 2), (0, 1))]
    return A[..., 0, 0] * minors[0] - A[..., 0, 1] * minors[1] + A[..., 0, 2] * minors[2]


@op(
    samples=[Sample((_SQUARE,)), Sample(((2, 2, 2),))],
    reference=lambda A: tuple(np.linalg.slogdet(A)),
    outputs=2,
    takes_complex=True,
    conjugates=False,
)
def linalg_slogdet(A):
    """The sign of the determinant (of modulus 1 for complex matrices) and the logarithm of its modulus."""


@linalg_slogdet.kernel("cpu")
def _(A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    with np.errstate(invalid="ignore"):
        sign, logarithm = np.linalg.slogdet(A)
    return np.asarray(sign), np.asarray(logarithm)


@linalg_slogdet.grad("A")
def _(g0, g1, A, out0, out1):
    scale = out1 * 0 if g1 is None else g1
    if g0 is not None and out0.is_complex():
        scale = scale - (g0.conj() * out0).imag * 1j
    scale = scale.to(A.dtype)
    return solve(A.mH, scale.unsqueeze(-1).expand(A.shape[:-1]).diag_embed(), left=True)


# ---------------------------------------------------------------------------------------------------- Cholesky factors
def _of_factor(L: np.ndarray, upper: bool) -> np.ndarray:
    lower = np.triu(L).conj().swapaxes(-1, -2) if upper else np.tril(L)
    return lower @ lower.conj().swapaxes(-1, -2)


def _cholesky_solved(B: np.ndarray, L: np.ndarray, upper: bool) -> np.ndarray:
    lower = np.swapaxes(L.conj(), -1, -2) if upper else L
    half = _triangular(lower, B, False, True, False)
    return _triangular(np.swapaxes(lower.conj(), -1, -2), half, True, True, False)


@op(
    samples=[Sample(((3, 2), _LOWER), {"upper": False}), Sample(((3, 2), _SQUARE), {"upper": True})],
    reference=lambda B, L, upper: np.linalg.solve(_of_factor(L, upper), B),
    takes_complex=True,
    conjugates=False,
)
def cholesky_solve(input, input2, *, upper):
    """X with `A @ X = input`, A given by its Cholesky factor `input2`."""


cholesky_solve.kernel("cpu")(_cholesky_solved)


@cholesky_solve.grad("input")
def _(g, input_shape, input2, upper):
    return cholesky_solve(g, input2, upper=upper).sum_to_size(input_shape)


@cholesky_solve.grad("input2")
def _(g, input2, out, upper):
    by_matrix = cholesky_solve(g, input2, upper=upper) @ out.mH
    return _by_factor(-by_matrix, input2, upper).sum_to_size(input2.shape)


def _by_factor(by_matrix: Any, L: Any, upper: bool) -> Any:
    """The gradient by the factor, from that by A = L @ L^H (U^H @ U)."""
    both = by_matrix + by_matrix.mH
    return (L.triu() @ both).triu() if upper else (both @ L.tril()).tril()


def _cholesky_inverse(L: np.ndarray, upper: bool) -> np.ndarray:
    identity = np.broadcast_to(np.eye(L.shape[-1], dtype=L.dtype), L.shape)
    return _cholesky_solved(identity, L, upper)


@op(
    samples=[Sample((_LOWER,), {"upper": False}), Sample((_SQUARE,), {"upper": True})],
    reference=lambda L, upper: np.linalg.inv(_of_factor(L, upper)),
    takes_complex=True,
    conjugates=False,
)
def cholesky_inverse(input, *, upper):
    """The inverse of the matrix whose Cholesky factor is given."""


cholesky_inverse.kernel("cpu")(_cholesky_inverse)


@cholesky_inverse.grad("input")
def _(g, input, out, upper):
    return _by_factor(-(out @ g @ out), input, upper)


# ---------------------------------------------------------------------------------------------------- exponential
def _matrix_exp(A: np.ndarray) -> np.ndarray:
    from scipy.linalg import expm

    if not A.size:
        return A.copy()
    finite = np.isfinite(A).all((-1, -2))[..., None, None]
    found = expm(np.where(finite, A, np.zeros((), A.dtype)))  # SciPy raises, or looks at the zeros around a NaN
    return np.ascontiguousarray(np.where(finite, found, np.asarray(np.nan, A.dtype)))


def _exp_by_series(A: np.ndarray) -> np.ndarray:
    """The sum of `A^k / k!` in long doubles."""
    wide = A.astype(np.clongdouble if A.dtype.kind == "c" else np.longdouble)
    term = total = np.zeros_like(wide) + np.eye(A.shape[-1], dtype=wide.dtype)
    for k in range(1, 80):
        term = term @ wide / k
        total = total + term
    return total.astype(A.dtype)


@op(
    samples=[
        Sample(([[0.25, 0.5], [-0.125, 0.5]],)),
        Sample(([[[0.25, 0.0], [0.5, -0.25]], [[0.0, 0.5], [0.0, 0.0]]],)),
    ],
    reference=_exp_by_series,
    takes_complex=True,
)
def linalg_matrix_exp(input):
    """The matrix exponential, the sum of `A^k / k!`."""


linalg_matrix_exp.kernel("cpu")(_matrix_exp)


@linalg_matrix_exp.grad("input")
def _(g, input):
    # exp([[X, E], [0, X]]) has the derivative of exp at X towards E above its diagonal (R. Mathias, 1996).
    n, last = input.shape[-1], input.dim() - 1
    x = input.mT
    above = cat(x, g, dim=last)
    below = cat(x * 0, x, dim=last)
    return linalg_matrix_exp(cat(above, below, dim=last - 1))[..., :n, n:]
