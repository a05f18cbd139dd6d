"""The pseudoinverse and least squares, by singular values."""

from __future__ import annotations

from typing import Any

import numpy as np

from .factorizations import linalg_svd, singular_values
from .registry import Sample, op
from .systems import by_columns

_SQUARE = [[2.0, 1.0, 0.5], [0.5, 3.0, -1.0], [1.0, -0.5, 4.0]]
_TALL = [[2.0, 1.0], [0.5, 3.0], [1.0, -0.5]]
_WIDE = [[2.0, 1.0, 0.5], [0.5, 3.0, -1.0]]


def _pseudoinverse(A: np.ndarray, cutoff: np.ndarray, hermitian: bool = False) -> np.ndarray:
    if hermitian:  # as LAPACK reads it: the imaginary parts of the diagonal do not count
        below = np.tril(A, -1)
        A = below + np.swapaxes(below.conj(), -1, -2) + np.tril(np.triu(A)).real
    u, s, vh = singular_values(A)
    kept = s > cutoff[..., None]
    with np.errstate(divide="ignore"):
        inverse = np.where(kept, 1 / s, 0).astype(s.dtype)
    return np.swapaxes(vh.conj(), -1, -2) @ (inverse[..., None] * np.swapaxes(u.conj(), -1, -2))


@op(
    samples=[Sample((matrix, 1e-6), {"hermitian": False}) for matrix in (_TALL, _SQUARE, _WIDE)],
    reference=lambda A, cutoff, hermitian: np.linalg.pinv(A),
    takes_complex=True,
    conjugates=False,
)
def linalg_pinv(A, cutoff, *, hermitian):
    """The Moore-Penrose inverse; singular values up to `cutoff`, one for each matrix, count as zero.

    Of Hermitian matrices the lower triangle is read; their gradient is that of any matrix.
    """


linalg_pinv.kernel("cpu")(_pseudoinverse)


@linalg_pinv.grad("A")
def _(g, A, out):
    return pinv_gradient(g, A, out)


def pinv_gradient(g: Any, A: Any, inverse: Any) -> Any:
    """The gradient by A of its pseudoinverse, for matrices around A of equal rank.

    Source: G. Golub, V. Pereyra, "The differentiation of pseudo-inverses and nonlinear least squares problems whose
    variables separate" (1973): dA+ = -A+ dA A+ + A+ A+^H dA^H (1 - A A+) + (1 - A+ A) dA^H A+^H A+, transposed.
    """
    adjoint, g_adjoint = inverse.mH, g.mH
    found = -(adjoint @ g @ adjoint)
    tall = g_adjoint @ inverse @ adjoint
    wide = adjoint @ inverse @ g_adjoint
    return found + (tall - A @ (inverse @ tall)) + (wide - (wide @ inverse) @ A)


# ---------------------------------------------------------------------------------------------------- least squares
def _least_squares(
    A: np.ndarray, B: np.ndarray, rcond: float, driver: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    _, s, _ = singular_values(A)
    largest = s.max(-1, initial=0)
    inverse = _pseudoinverse(A, rcond * largest)
    solution = inverse @ B
    ranks = (s > rcond * largest[..., None]).sum(-1).astype(np.int64)
    over = A.shape[-2] > A.shape[-1] and driver != "gelsy" and bool((ranks == A.shape[-1]).all())
    residuals = (abs(A @ solution - B) ** 2).sum(-2) if over else np.empty(0, s.dtype)
    shown = s if driver in ("gelsd", "gelss") else np.empty(0, s.dtype)
    return by_columns(solution), residuals, ranks if driver != "gels" else np.empty(0, np.int64), shown


def _least_squares_reference(A: np.ndarray, B: np.ndarray, rcond: float, driver: str) -> tuple[np.ndarray, ...]:
    solution, residuals, rank, values = np.linalg.lstsq(A, B, rcond)
    plain = driver == "gelsy"
    none = np.empty(0, A.dtype)
    return solution, none if plain else residuals, np.asarray(rank, np.int64), none if plain else values


@op(
    samples=[Sample((_TALL, (3, 2)), {"rcond": 1e-6, "driver": driver}) for driver in ("gelsy", "gelsd")],
    reference=_least_squares_reference,
    outputs=4,
    takes_complex=True,
    conjugates=False,
)
def linalg_lstsq(input, b, *, rcond, driver):
    """The X of least norm that minimises the length of `input @ X - b`; squared lengths, ranks, singular values."""


linalg_lstsq.kernel("cpu")(_least_squares)
linalg_lstsq.non_differentiable_outputs = (2, 3)


@linalg_lstsq.grad("input")
def _(g0, g1, input, b, out0, rcond):
    found = input * 0
    if g0 is not None:
        found = found + pinv_gradient(g0 @ b.mH, input, _pinv(input, rcond))
    if g1 is not None and g1.numel():
        found = found + 2 * ((input @ out0 - b) * g1.unsqueeze(-2)) @ out0.mH
    return found


@linalg_lstsq.grad("b")
def _(g0, g1, input, b, out0, rcond):
    found = b * 0
    if g0 is not None:
        found = found + _pinv(input, rcond).mH @ g0
    if g1 is not None and g1.numel():
        found = found - 2 * ((input @ out0 - b) * g1.unsqueeze(-2))
    return found


def _pinv(A: Any, rcond: float) -> Any:
    largest = linalg_svd(A.detach(), full_matrices=False)[1].amax(-1)
    return linalg_pinv(A, largest * rcond, hermitian=False)
