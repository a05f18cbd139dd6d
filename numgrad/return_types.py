"""Named tuples that ops with several outputs return. They print as PyTorch's."""

from __future__ import annotations

from collections import namedtuple
from typing import Any, NamedTuple


def _shown(result: Any) -> str:
    fields = ",\n".join(f"{name}={value!r}" for name, value in result._asdict().items())
    return f"torch.return_types.{type(result).__name__}(\n{fields})"


class max(NamedTuple):
    """Values and indices of `max` over a dimension."""

    values: Any
    indices: Any

    def __repr__(self) -> str:
        return _shown(self)


class min(NamedTuple):
    """Values and indices of `min` over a dimension."""

    values: Any
    indices: Any

    def __repr__(self) -> str:
        return _shown(self)


class aminmax(NamedTuple):
    """The smallest and the largest items."""

    min: Any
    max: Any

    def __repr__(self) -> str:
        return _shown(self)


class sort(NamedTuple):
    """Items in order and where they were."""

    values: Any
    indices: Any

    def __repr__(self) -> str:
        return _shown(self)


class topk(NamedTuple):
    """The largest items and their indices."""

    values: Any
    indices: Any

    def __repr__(self) -> str:
        return _shown(self)


class kthvalue(NamedTuple):
    """The k-th smallest items and their indices."""

    values: Any
    indices: Any

    def __repr__(self) -> str:
        return _shown(self)


class median(NamedTuple):
    """Medians and their indices."""

    values: Any
    indices: Any

    def __repr__(self) -> str:
        return _shown(self)


class nanmedian(NamedTuple):
    """Medians of numbers and their indices."""

    values: Any
    indices: Any

    def __repr__(self) -> str:
        return _shown(self)


class mode(NamedTuple):
    """The most common items and their indices."""

    values: Any
    indices: Any

    def __repr__(self) -> str:
        return _shown(self)


class cummax(NamedTuple):
    """Running maxima and their indices."""

    values: Any
    indices: Any

    def __repr__(self) -> str:
        return _shown(self)


class cummin(NamedTuple):
    """Running minima and their indices."""

    values: Any
    indices: Any

    def __repr__(self) -> str:
        return _shown(self)


def _named(name: str, fields: str, doc: str) -> Any:
    """A named tuple of `torch.linalg`, which prints as PyTorch's."""
    return type(name, (namedtuple(name, fields),), {"__repr__": _shown, "__slots__": (), "__doc__": doc})


geqrf = _named("geqrf", "a tau", "A QR factorization as LAPACK has it.")
histogram = _named("histogram", "hist bin_edges", "Counts and the edges of the bins.")
linalg_cholesky_ex = _named("linalg_cholesky_ex", "L info", "The factor, and where it ends.")
linalg_eig = _named("linalg_eig", "eigenvalues eigenvectors", "Eigenvalues and eigenvectors.")
linalg_eigh = _named("linalg_eigh", "eigenvalues eigenvectors", "Eigenvalues and eigenvectors.")
linalg_inv_ex = _named("linalg_inv_ex", "inverse info", "The inverse, and the pivot that is zero.")
linalg_lstsq = _named("linalg_lstsq", "solution residuals rank singular_values", "A least squares problem's solution.")
linalg_lu = _named("linalg_lu", "P L U", "The factors of an LU factorization.")
linalg_lu_factor = _named("linalg_lu_factor", "LU pivots", "An LU factorization as LAPACK has it.")
linalg_lu_factor_ex = _named(
    "linalg_lu_factor_ex", "LU pivots info", "An LU factorization, and the pivot that is zero."
)
linalg_qr = _named("linalg_qr", "Q R", "The factors of a QR factorization.")
linalg_slogdet = _named("linalg_slogdet", "sign logabsdet", "Sign and logarithm of a determinant.")
linalg_solve_ex = _named("linalg_solve_ex", "result info", "The solution, and the pivot that is zero.")
linalg_svd = _named("linalg_svd", "U S Vh", "A singular value decomposition.")
lu_unpack = _named("lu_unpack", "P L U", "The factors of an LU factorization.")
qr = _named("qr", "Q R", "The factors of a QR factorization.")
slogdet = _named("slogdet", "sign logabsdet", "Sign and logarithm of a determinant.")
svd = _named("svd", "U S V", "A singular value decomposition.")
triangular_solve = _named("triangular_solve", "solution cloned_coefficient", "The solution, and the matrix.")
