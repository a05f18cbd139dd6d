"""Matrices as products: Cholesky, LU, QR, eigenvalues, singular values. LAPACK's, through NumPy and SciPy.

Everything takes batches, (..., m, n). Results are laid out by columns, as LAPACK and PyTorch have them. The gradients
hold for complex matrices too: of a factorization that is no holomorphic function they are written with conjugates.

Sources of the formulas: M. Giles, "An extended collection of matrix derivative results for forward and reverse mode
algorithmic differentiation" (2008); S. Walter, L. Lehmann, "Algorithmic differentiation of linear algebra functions"
(2010).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .movement import cat
from .registry import Sample, op
from .systems import LinAlgError, by_columns, solve, solve_triangular

_POSITIVE_DEFINITE = Sample(([[4.0, 1.0, 0.5], [1.0, 3.0, 0.25], [0.5, 0.25, 2.0]],), {"upper": False})
_SQUARE = [[2.0, 1.0, 0.5], [0.5, 3.0, -1.0], [1.0, -0.5, 4.0]]
_TALL = [[2.0, 1.0], [0.5, 3.0], [1.0, -0.5]]
_WIDE = [[2.0, 1.0, 0.5], [0.5, 3.0, -1.0]]


def skew(x: Any) -> Any:
    """`x - x^H`."""
    return x - x.mH


def halved_diagonal(x: Any) -> Any:
    """`x` with its diagonal divided by two."""
    return x - (x.diagonal(0, -2, -1) * 0.5).diag_embed()


def without_diagonal(x: Any) -> Any:
    """`x` with zeros on its diagonal."""
    return x - x.diagonal(0, -2, -1).diag_embed()


def differences(values: Any) -> Any:
    """`values[j] - values[i]` at (i, j), and infinity on the diagonal, so that dividing by it leaves 0 there."""
    found = values.unsqueeze(-2) - values.unsqueeze(-1)
    return found + (values.detach().real * 0 + float("inf")).diag_embed()


# ---------------------------------------------------------------------------------------------------- Cholesky
def _cholesky_reference(A: np.ndarray, upper: bool) -> tuple[np.ndarray, np.ndarray]:
    lower = np.linalg.cholesky(A)
    return (lower.mT.conj() if upper else lower), np.zeros(A.shape[:-2], np.int32)


@op(
    samples=[_POSITIVE_DEFINITE, Sample(_POSITIVE_DEFINITE.inputs, {"upper": True})],
    reference=_cholesky_reference,
    outputs=2,
    takes_complex=True,
    conjugates=False,
)
def linalg_cholesky_ex(input, *, upper):
    """The triangular L with `L @ L^H` the matrix (or U, `U^H @ U`), and 0 or the order of the minor that is not positive."""


@linalg_cholesky_ex.kernel("cpu")
def _(input: np.ndarray, upper: bool) -> tuple[np.ndarray, np.ndarray]:
    from scipy.linalg import get_lapack_funcs

    (factorize,) = get_lapack_funcs(("potrf",), (input,))
    factors, info = by_columns(input), np.zeros(input.shape[:-2], np.int32)
    for k in np.ndindex(info.shape):
        if input.shape[-1]:
            factors[k], found = factorize(input[k], lower=not upper, clean=True)
            info[k] = found if np.isfinite(factors[k].diagonal()).all() else found or 1
    return factors, info


linalg_cholesky_ex.non_differentiable_outputs = (1,)


@linalg_cholesky_ex.grad("input")
def _(g0, out0, upper):
    # In terms of the lower factor; the upper one is its conjugate transpose. The matrix counts as Hermitian.
    g, lower = (g0.mH, out0.mH) if upper else (g0, out0)
    inner = halved_diagonal((lower.mH @ g).tril())
    inner = (inner + inner.mH) * 0.5
    half = solve_triangular(lower.mH, inner, upper=True, left=True, unitriangular=False)
    return solve_triangular(lower, half, upper=False, left=False, unitriangular=False)


# ---------------------------------------------------------------------------------------------------- LU
def _lu_reference(A: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    from scipy.linalg import lu_factor

    factors, pivots = lu_factor(A)
    return factors, (pivots + 1).astype(np.int32), np.zeros(A.shape[:-2], np.int32)


@op(
    samples=[Sample((matrix,)) for matrix in (_SQUARE, _TALL, _WIDE)],
    reference=_lu_reference,
    outputs=3,
    takes_complex=True,
)
def linalg_lu_factor_ex(A):
    """L without its unit diagonal and U in one matrix, LAPACK's pivots, and 0 or the number of a pivot that is zero."""


@linalg_lu_factor_ex.kernel("cpu")
def _(A: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    from scipy.linalg import get_lapack_funcs

    (factorize,) = get_lapack_funcs(("getrf",), (A,))
    batch, least = A.shape[:-2], min(A.shape[-2:])
    factors, pivots, info = by_columns(A), np.zeros((*batch, least), np.int32), np.zeros(batch, np.int32)
    for k in np.ndindex(batch):
        if not least:
            continue
        factors[k], pivots[k], info[k] = factorize(A[k])
        pivots[k] += 1
    return factors, pivots, info


linalg_lu_factor_ex.non_differentiable_outputs = (1, 2)


@linalg_lu_factor_ex.grad("A")
def _(g0, out0, out1):
    return lu_gradient(g0, g0, out0, out1)


def lu_gradient(g_lower: Any, g_upper: Any, factors: Any, pivots: Any) -> Any:
    """The gradient by A of its factors L (unit, read below the diagonal of its gradient) and U (on it and above).

    What goes beyond a square is a triangular product of the square's factor: its gradient is that of a solve, and takes
    part in the square's.
    """
    m, n = factors.shape[-2:]
    k = min(m, n)
    lower, upper = unit_lower(factors[..., :k, :k]), factors[..., :k, :k].triu()
    g_low, g_up = g_lower[..., :, :k].tril(-1), g_upper[..., :k, :].triu()
    inner_low, inner_up = lower.mT @ g_low[..., :k, :], g_up[..., :, :k] @ upper.mT
    below = right = None
    if m > k:
        below = solve_triangular(upper.mT, g_low[..., k:, :], upper=False, left=False, unitriangular=False)
        inner_up = inner_up - factors[..., k:, :].mT @ g_low[..., k:, :]
    if n > k:
        right = solve_triangular(lower.mT, g_up[..., :, k:], upper=True, left=True, unitriangular=True)
        inner_low = inner_low - g_up[..., :, k:] @ factors[..., :, k:].mT
    square = inner_low.tril(-1) + inner_up.triu()
    square = solve_triangular(lower.mT, square, upper=True, left=True, unitriangular=True)
    square = solve_triangular(upper.mT, square, upper=False, left=False, unitriangular=False)
    whole = square
    if below is not None:
        whole = cat(square, below, dim=factors.dim() - 2)
    if right is not None:
        whole = cat(square, right, dim=factors.dim() - 1)
    return lu_permuted(whole, pivots, transposed=False)


def unit_lower(x: Any) -> Any:
    """The part below the diagonal, and ones on it."""
    ones = x.detach().diagonal(0, -2, -1) * 0 + 1
    return x.tril(-1) + ones.diag_embed()


def permutation_of(pivots: np.ndarray, rows: int) -> np.ndarray:
    """Which row of the matrix is row i of L @ U, from LAPACK's list of swaps: (..., k) to (..., rows)."""
    order = np.broadcast_to(np.arange(rows), (*pivots.shape[:-1], rows)).copy()
    for k in np.ndindex(pivots.shape[:-1]):
        for i, j in enumerate(pivots[k]):
            order[k][[i, j - 1]] = order[k][[j - 1, i]]
    return order


def _permuted(x: np.ndarray, pivots: np.ndarray, transposed: bool) -> np.ndarray:
    order = permutation_of(pivots, x.shape[-2])
    if not transposed:
        order = np.argsort(order, -1)
    batch = np.broadcast_shapes(x.shape[:-2], order.shape[:-1])
    x = np.broadcast_to(x, (*batch, *x.shape[-2:]))
    return np.take_along_axis(x, np.broadcast_to(order, (*batch, order.shape[-1]))[..., None], -2)


def _permuted_reference(x: np.ndarray, pivots: np.ndarray, transposed: bool) -> np.ndarray:
    found, swaps = x.copy(), list(enumerate(pivots))
    for i, j in swaps if transposed else reversed(swaps):  # one after the other, as LAPACK defines the pivots
        found[[i, j - 1]] = found[[j - 1, i]]
    return found


@op(
    samples=[Sample(((3, 2), np.array([2, 3, 3], np.int32)), {"transposed": t}) for t in (False, True)],
    reference=_permuted_reference,
    takes_complex=True,
)
def lu_permuted(input, pivots, *, transposed):
    """`P @ input` for the permutation of an LU factorization's pivots, A = P @ L @ U; or `P.T @ input`."""


lu_permuted.kernel("cpu")(_permuted)


@lu_permuted.grad("input")
def _(g, input_shape, pivots, transposed):
    return lu_permuted(g, pivots, transposed=not transposed).sum_to_size(input_shape)


# ---------------------------------------------------------------------------------------------------- QR
@op(
    samples=[
        *(Sample((matrix,), {"mode": "reduced"}) for matrix in (_SQUARE, _TALL, _WIDE)),
        Sample((_SQUARE,), {"mode": "complete"}),
    ],
    reference=lambda A, mode: tuple(np.linalg.qr(A, mode)),
    outputs=2,
    takes_complex=True,
    conjugates=False,
)
def linalg_qr(A, *, mode):
    """Q with orthonormal columns and the upper triangular R, whose product is the matrix; "r" gives R alone."""


@linalg_qr.kernel("cpu")
def _(A: np.ndarray, mode: str) -> tuple[np.ndarray, np.ndarray]:
    if mode == "r":
        return np.empty(0, A.dtype), by_columns(np.asarray(np.linalg.qr(A, "r")))
    q, r = np.linalg.qr(A, "complete" if mode == "complete" else "reduced")
    return by_columns(q), by_columns(r)


@linalg_qr.grad("A")
def _(g0, g1, out0, out1, mode):
    if mode == "r":
        raise RuntimeError(
            "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. "
            "Please use linalg.qr(A, mode='reduced') if you are going to differentiate through linalg.qr."
        )
    rows, columns = out0.shape[-2], out1.shape[-1]
    if mode == "complete" and rows > columns:
        raise RuntimeError("The QR decomposition is not differentiable when mode='complete' and nrows > ncols.")
    g_q = out0 * 0 if g0 is None else g0
    g_r = out1 * 0 if g1 is None else g1
    if rows >= columns:
        return _qr_gradient(g_q, g_r, out0, out1)
    # R = [U | V] and A = [X | Y] with X = Q U, Y = Q V: the gradient by Y is Q gV, and Q's grows by Y gV^H.
    first, g_v = out1[..., :, :rows], g_r[..., :, rows:]
    y = out0 @ out1[..., :, rows:]
    g_x = _qr_gradient(g_q + y @ g_v.mH, g_r[..., :, :rows], out0, first)
    return cat(g_x, out0 @ g_v, dim=out1.dim() - 1)


def _qr_gradient(g_q: Any, g_r: Any, q: Any, r: Any) -> Any:
    """For at least as many rows as columns: `[gQ + Q copyltu(gR R^H - Q^H gQ)] R^-H`, as Walter and Lehmann have it."""
    inner = (g_r @ r.mH - q.mH @ g_q).triu()
    inner = inner + inner.mH
    # Twice the real part stands on the diagonal now; R's diagonal is real, so one of them is meant.
    inner = inner - (inner.diagonal(0, -2, -1) * 0.5).diag_embed()
    return solve_triangular(r.mH, g_q + q @ inner, upper=False, left=False, unitriangular=False)


def _householder_reference(input: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    from scipy.linalg import qr

    (reflections, factors), _ = qr(input, mode="raw", check_finite=False)
    return reflections, factors


def _lapack_qr(input: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    reflections, factors = np.linalg.qr(input, "raw")
    return np.swapaxes(reflections, -1, -2), factors


@op(
    samples=[Sample((matrix,)) for matrix in (_SQUARE, _TALL, _WIDE)],
    reference=_householder_reference,
    outputs=2,
    takes_complex=True,
    differentiable=False,
)
def geqrf(input):
    """R with the vectors of the reflections below its diagonal, and their factors, as LAPACK keeps Q and R."""


geqrf.kernel("cpu")(_lapack_qr)


# ---------------------------------------------------------------------------------------------------- eigenvalues
@op(
    samples=[Sample(_POSITIVE_DEFINITE.inputs, {"upper": False})],
    reference=lambda A, upper: tuple(np.linalg.eigh(A, "U" if upper else "L")),
    outputs=2,
    takes_complex=True,
    conjugates=False,
)
def linalg_eigh(A, *, upper):
    """Ascending eigenvalues and orthonormal eigenvectors (columns) of Hermitian matrices, of which one triangle is read."""


@linalg_eigh.kernel("cpu")
def _(A: np.ndarray, upper: bool) -> tuple[np.ndarray, np.ndarray]:
    try:
        values, vectors = np.linalg.eigh(A, "U" if upper else "L")
    except np.linalg.LinAlgError:  # of NaNs, for one
        return np.full(A.shape[:-1], np.nan, A.real.dtype), np.full(A.shape, np.nan, A.dtype)
    return values, by_columns(vectors)


@linalg_eigh.grad("A")
def _(g0, g1, out0, out1):
    if g1 is None:
        return (out1 * g0.unsqueeze(-2)) @ out1.mH
    inner = out1.mH @ g1
    _check_phases("linalg_eigh_backward", inner)
    inner = skew(inner) * 0.5 / differences(out0)  # of turned vectors the matrix stays Hermitian
    if g0 is not None:
        inner = inner + g0.diag_embed()
    return out1 @ inner @ out1.mH


@op(
    samples=[Sample(([[2.0, 1.0], [0.5, 3.0]],)), Sample(([[0.5, 2.0], [1.0, -1.5]],))],
    reference=lambda input: tuple(r.astype(np.result_type(r, np.complex64)) for r in np.linalg.eig(input)),
    outputs=2,
    takes_complex=True,
    conjugates=False,
)
def linalg_eig(input):
    """Eigenvalues and eigenvectors (columns of length 1) of square matrices, both complex."""


@linalg_eig.kernel("cpu")
def _(input: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    values, vectors = np.linalg.eig(input)
    kind = np.result_type(input.dtype, np.complex64)
    return values.astype(kind), by_columns(vectors.astype(kind))


@linalg_eig.grad("input")
def _(g0, g1, out0, out1, input_meta):
    if g1 is None:
        inner = g0.diag_embed()
    else:
        inner = out1.mH @ g1
        _check_phases("linalg_eig_backward", inner)
        # A vector's length is fixed at 1: what points along it does not count.
        lengths = inner.diagonal(0, -2, -1).real.diag_embed()
        inner = (inner - out1.mH @ out1 @ lengths.to(inner.dtype)) / differences(out0).conj()
        if g0 is not None:
            inner = inner + g0.diag_embed()
    found = solve(out1.mH, inner @ out1.mH, left=True)
    return found if input_meta[0].startswith("complex") else found.real


def _depends_on_phases(inner: Any) -> bool:
    """Whether a loss depends on the phases of complex vectors, which are arbitrary; within PyTorch's margin."""
    if not inner.is_complex() or not inner.numel():
        return False
    turned = inner.detach().diagonal(0, -2, -1).imag.abs().amax().item()
    return not turned <= 1e-2


def _check_phases(name: str, inner: Any) -> None:
    if _depends_on_phases(inner):
        raise RuntimeError(
            f"{name}: The eigenvectors in the complex case are specified up to multiplication by e^{{i phi}}. The specified "
            "loss function depends on this quantity, so it is ill-defined."
        )


# ---------------------------------------------------------------------------------------------------- singular values
def singular_values(A: np.ndarray, full_matrices: bool = False) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """U, S and V^H. Raises LinAlgError, with PyTorch's text, where LAPACK finds none."""
    try:
        u, s, vh = np.linalg.svd(A, full_matrices)
        return u, s, vh
    except np.linalg.LinAlgError:
        which = "" if A.ndim == 2 else f"(Batch element {_first_bad(A)}): "
        cause = "the input matrix contained non-finite values."
        if np.isfinite(A).all():
            last = min(A.shape[-2:]) - 1
            cause = (
                f"the input matrix is ill-conditioned or has too many repeated singular values (error code: {last})."
            )
        raise LinAlgError(f"linalg.svd: {which}The algorithm failed to converge because {cause}") from None


def _first_bad(A: np.ndarray) -> int:
    bad = ~np.isfinite(A).all((-1, -2)).reshape(-1)
    return int(bad.argmax())


@op(
    samples=[Sample((matrix,), {"full_matrices": False}) for matrix in (_SQUARE, _TALL, _WIDE)],
    reference=lambda A, full_matrices: tuple(np.linalg.svd(A, full_matrices)),
    outputs=3,
    takes_complex=True,
    conjugates=False,
)
def linalg_svd(A, *, full_matrices):
    """U, S and V^H with `A = U diag(S) V^H`: orthonormal vectors around descending singular values."""


@linalg_svd.kernel("cpu")
def _(A: np.ndarray, full_matrices: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    u, s, vh = singular_values(A, full_matrices)
    return by_columns(u), s, by_columns(vh)


@linalg_svd.grad("A")
def _(g0, g1, g2, out0, out1, out2):
    s, k = out1, out1.shape[-1]
    u, vh = out0[..., :, :k], out2[..., :k, :]
    if g0 is None and g2 is None:
        return (u * g1.unsqueeze(-2)) @ vh
    g_u = u * 0 if g0 is None else g0[..., :, :k]
    g_vh = vh * 0 if g2 is None else g2[..., :k, :]
    by_u, by_v = skew(u.mH @ g_u), skew(vh @ g_vh.mH)
    if _depends_on_phases(by_u + by_v):
        raise RuntimeError(
            "svd_backward: The singular vectors in the complex case are specified up to multiplication by e^{i phi}. "
            "The specified loss function depends on this phase term, making it ill-defined."
        )
    rows, columns = s.unsqueeze(-1), s.unsqueeze(-2)
    inner = (by_u * columns + rows * by_v) / differences(s * s)
    if u.is_complex():
        inner = inner + (by_u.diagonal(0, -2, -1) / (2 * s)).diag_embed()
    if g1 is not None:
        inner = inner + g1.diag_embed()
    result = u @ inner @ vh
    if u.shape[-2] > k:
        outside = g_u / columns
        result = result + (outside - u @ (u.mH @ outside)) @ vh
    if vh.shape[-1] > k:
        outside = g_vh / rows
        result = result + u @ (outside - (outside @ vh.mH) @ vh)
    return result
