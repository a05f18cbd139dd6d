"""Linear algebra where LAPACK leaves something open: NaN, singular matrices, empty ones, complex gradients.

Expected values are from the mathematics; PyTorch's own samples are in tests/oracle/test_oracle_op_db.py.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import numgrad as ng
from numgrad.testing import gradcheck, gradgradcheck

NAN = math.nan


def matrix(*shape: int, seed: int = 0, dtype: type = complex) -> ng.Tensor:
    rng = np.random.default_rng(seed)
    items = rng.normal(size=shape) + (1j * rng.normal(size=shape) if dtype is complex else 0)
    return ng.tensor(items, requires_grad=True)


def hermitian(x: ng.Tensor) -> ng.Tensor:
    return (x + x.mH) / 2


# ---------------------------------------------------------------------------------------------------- identities
def test_factors_multiply_to_the_matrix():
    A = matrix(2, 4, 3).detach()
    U, S, Vh = ng.linalg.svd(A, full_matrices=False)
    ng.testing.assert_close((U * S.unsqueeze(-2).to(U.dtype)) @ Vh, A)
    Q, R = ng.linalg.qr(A)
    ng.testing.assert_close(Q @ R, A)
    P, L, U = ng.linalg.lu(A)
    ng.testing.assert_close(P @ L @ U, A)
    square = matrix(2, 3, 3).detach()
    values, vectors = ng.linalg.eig(square)
    ng.testing.assert_close(square @ vectors, vectors * values.unsqueeze(-2))
    values, vectors = ng.linalg.eigh(hermitian(square))
    ng.testing.assert_close(hermitian(square) @ vectors, vectors * values.unsqueeze(-2).to(vectors.dtype))
    L = ng.linalg.cholesky(square @ square.mH)
    ng.testing.assert_close(L @ L.mH, square @ square.mH)


def test_solutions_solve():
    A, B = matrix(3, 3).detach(), matrix(3, 2, seed=1).detach()
    ng.testing.assert_close(A @ ng.linalg.solve(A, B), B)
    ng.testing.assert_close(ng.linalg.solve(A, B.mT, left=False) @ A, B.mT)
    ng.testing.assert_close(ng.linalg.lu_solve(*ng.linalg.lu_factor(A), B), ng.linalg.solve(A, B))
    ng.testing.assert_close(ng.linalg.lu_solve(*ng.linalg.lu_factor(A), B, adjoint=True), ng.linalg.solve(A.mH, B))
    ng.testing.assert_close(ng.linalg.matrix_exp(ng.zeros(2, 2)), ng.eye(2))


# ---------------------------------------------------------------------------------------------------- complex gradients
@pytest.mark.parametrize(
    "function",
    [
        lambda A: ng.linalg.cholesky(A @ A.mH + ng.eye(3, dtype=A.dtype)),
        lambda A: ng.linalg.eigh(hermitian(A))[0],
        lambda A: ng.linalg.eigh(hermitian(A))[1].abs(),
        lambda A: ng.linalg.eig(A)[0],
        lambda A: ng.linalg.eig(A)[1].abs(),
        lambda A: ng.linalg.svdvals(A),
        lambda A: ng.linalg.svd(A[:, :2], full_matrices=False)[0].abs(),
        lambda A: ng.linalg.svd(A[:2], full_matrices=False)[2].abs(),
        lambda A: ng.linalg.qr(A),
        lambda A: ng.linalg.qr(A[:2]),
        lambda A: ng.linalg.lu_factor(A)[0],
        lambda A: ng.linalg.inv(A),
        lambda A: ng.linalg.det(A),
        lambda A: ng.linalg.slogdet(A),
        lambda A: ng.linalg.pinv(A[:, :2]),
        lambda A: ng.linalg.solve(A, A.mH),
        lambda A: ng.linalg.solve_triangular(A, A.mT, upper=True),
        lambda A: ng.linalg.matrix_exp(A),
        lambda A: ng.cholesky_solve(A, A.mT.conj()),
        lambda A: ng.cholesky_inverse(A),
        lambda A: ng.linalg.lstsq(A[:, :2], A[:, 2:])[0],
        lambda A: ng.linalg.householder_product(A[:, :2], A[2, :2]),
    ],
)
def test_complex_gradients_are_those_of_finite_differences(function):
    A = matrix(3, 3)
    gradcheck(function, (A,), fast_mode=True, eps=1e-5, atol=1e-6, rtol=1e-5)
    gradgradcheck(function, (A,), fast_mode=True, eps=1e-5, atol=1e-6, rtol=1e-5)


# ---------------------------------------------------------------------------------------------------- singular
@pytest.mark.parametrize("rank", [0, 1, 2])
def test_the_determinant_has_its_gradient_at_singular_matrices(rank):
    """It is the matrix of cofactors: by finite differences, as the determinant is a polynomial."""
    A = (matrix(3, rank, dtype=float) @ matrix(rank, 3, seed=1, dtype=float)).detach().clone()
    A[:, 2] = 0  # so that the determinant is 0 without rounding
    assert ng.linalg.det(A).item() == 0
    gradcheck(ng.linalg.det, (A.requires_grad_(),), eps=1e-4, atol=1e-7)
    gradgradcheck(ng.linalg.det, (A,), eps=1e-4, atol=1e-7)


def test_a_singular_matrix_is_named():
    A = ng.eye(2).repeat(3, 1, 1)
    A[2] = ng.tensor([[1.0, 2.0], [2.0, 4.0]])
    with pytest.raises(ng.linalg.LinAlgError, match=r"linalg.inv: \(Batch element 2\): The diagonal element 2 is zero"):
        ng.linalg.inv(A)
    inverse, info = ng.linalg.inv_ex(A)
    assert info.tolist() == [0, 0, 2]
    assert inverse[:2].isfinite().all() and not inverse[2].isfinite().any()
    assert ng.linalg.cond(A, 1).isinf().tolist() == [False, False, True]
    assert ng.linalg.slogdet(A).logabsdet[2] == -math.inf


def test_a_zero_on_a_triangles_diagonal_divides():
    A = ng.tensor([[1.0, 0.0], [1.0, 0.0]])
    assert ng.linalg.solve_triangular(A, ng.tensor([[1.0], [3.0]]), upper=False).tolist() == [[1.0], [math.inf]]


# ---------------------------------------------------------------------------------------------------- NaN
def test_nan_is_refused_or_stays():
    A = ng.tensor([[1.0, NAN], [NAN, 2.0]])
    for refused in (ng.linalg.svd, ng.linalg.svdvals, ng.linalg.pinv):
        with pytest.raises(ng.linalg.LinAlgError, match=r"linalg.svd: The algorithm failed to converge because the input"):
            refused(A)
    with pytest.raises(ng.linalg.LinAlgError, match="leading minor of order 1"):
        ng.linalg.cholesky(ng.tensor([[NAN, 0.0], [0.0, 1.0]]))
    with pytest.raises(RuntimeError, match="should not contain infs or NaNs"):
        ng.linalg.eig(A)
    assert ng.linalg.eigh(A).eigenvalues.isnan().all()
    assert ng.linalg.det(A).isnan()
    batch = ng.stack([ng.zeros(2, 2), ng.tensor([[0.0, NAN], [0.0, 0.0]])])
    assert ng.linalg.matrix_exp(batch).isnan().all(-1).all(-1).tolist() == [False, True]
    assert ng.linalg.matrix_exp(batch)[0].tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize("name", ["inv", "svdvals", "eigvalsh", "cholesky", "matrix_exp", "pinv", "det"])
def test_empty_batches(name):
    found = getattr(ng.linalg, name)(ng.zeros(0, 3, 3))
    assert found.shape[0] == 0
    assert found.dtype is ng.float32


def test_a_gradient_that_depends_on_arbitrary_phases_is_refused():
    with pytest.raises(RuntimeError, match="linalg_eigh_backward: The eigenvectors in the complex case"):
        ng.linalg.eigh(hermitian(matrix(3, 3)))[1].real.sum().backward()
    with pytest.raises(RuntimeError, match="svd_backward: The singular vectors in the complex case"):
        ng.linalg.svd(matrix(3, 3))[0].real.sum().backward()


def test_an_input_without_a_derivative_says_so():
    """Nothing passes silently: PyTorch's text of derivatives that are not implemented."""
    op = ng.kernels.OPS["linalg_pinv"]
    with pytest.raises(RuntimeError, match="the derivative for 'cutoff' is not implemented"):
        op(ng.eye(2), ng.tensor(0.1, requires_grad=True), hermitian=False).sum().backward()
