"""var, std, var_mean, std_mean, norm, logsumexp: public functions over the statistical reductions."""

from __future__ import annotations

import math
import warnings
from typing import Any

from ..call_plans import Call, with_plans
from ..dispatch import dispatch
from ..dtype import get_default_dtype
from ..kernels import statistics
from .arithmetic import where
from .checks import check_bool, check_tensor, written
from .dims import reduced_dims, wrap_dim
from .reductions import resolve


@with_plans
def var(
    input: Any,
    dim: Any = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
    out: Any = None,
    axis: Any = None,
    keepdims: bool = False,
) -> Any:
    """Variance over all dimensions, or over `dim`: squared deviations divided by their number less `correction`.

    Args:
        input: a tensor of floats.
        dim: the dimensions to reduce. A bool is taken as `unbiased`, as in PyTorch's `var(unbiased)`.
        unbiased: False for a correction of 0, True for one of 1.
        keepdim: whether they stay, with extent 1.
        correction: what is subtracted from the number of items, 1 by default. It may be no int.
        out: a tensor for the result.

    Raises:
        RuntimeError: integers and bools.
        TypeError: both `unbiased` and `correction`.

    Warns:
        UserWarning: the divisor is not positive; the result is inf or NaN.

    Example:
        >>> import numgrad as ng
        >>> ng.tensor([1.0, 2.0, 3.0, 4.0]).var(correction=0)
        tensor(1.2500)
    """
    dims, correction, keepdim, kept = _moment("var", input, dim, axis, unbiased, correction, keepdim, keepdims)
    if input.is_complex():
        return _complex_var(input, dims, correction, keepdim)
    return Call(statistics.var, (_of(input, out),), (dims, correction, keepdim), out=out, kept=kept)


@with_plans
def std(
    input: Any,
    dim: Any = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
    out: Any = None,
    axis: Any = None,
    keepdims: bool = False,
) -> Any:
    """Standard deviation, the root of `var`: see there. Its gradient is 0 where it is 0."""
    dims, correction, keepdim, kept = _moment("std", input, dim, axis, unbiased, correction, keepdim, keepdims)
    if input.is_complex():
        return _complex_std(input, dims, correction, keepdim)
    return Call(statistics.std, (_of(input, out),), (dims, correction, keepdim), out=out, kept=kept)


@with_plans
def var_mean(
    input: Any,
    dim: Any = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
    axis: Any = None,
    keepdims: bool = False,
) -> Any:
    """`var` and `mean` in one."""
    dims, correction, keepdim, kept = _moment("var_mean", input, dim, axis, unbiased, correction, keepdim, keepdims)
    if input.is_complex():
        return _complex_var(input, dims, correction, keepdim), input.mean(dims, keepdim)
    return Call(statistics.var_mean, (input,), (dims, correction, keepdim), kept=kept)


@with_plans
def std_mean(
    input: Any,
    dim: Any = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
    axis: Any = None,
    keepdims: bool = False,
) -> Any:
    """`std` and `mean` in one."""
    dims, correction, keepdim, kept = _moment("std_mean", input, dim, axis, unbiased, correction, keepdim, keepdims)
    if input.is_complex():
        return _complex_std(input, dims, correction, keepdim), input.mean(dims, keepdim)
    return Call(statistics.std_mean, (input,), (dims, correction, keepdim), kept=kept)


def _complex_var(input: Any, dims: tuple[int, ...], correction: float, keepdim: bool) -> Any:
    """The variance of complex numbers, that of both parts together."""
    real, imag = (dispatch(statistics.var, (x,), (dims, correction, keepdim)) for x in (input.real, input.imag))
    return real + imag


def _complex_std(input: Any, dims: tuple[int, ...], correction: float, keepdim: bool) -> Any:
    return _complex_var(input, dims, correction, keepdim).sqrt()


def _of(input: Any, out: Any) -> Any:
    """The input in the dtype of `out`, as PyTorch computes it then."""
    return input if out is None else input.to(out.dtype)


def _moment(
    name: str,
    input: Any,
    dim: Any,
    axis: Any,
    unbiased: bool | None,
    correction: float | None,
    keepdim: bool,
    keepdims: bool,
) -> tuple[tuple[int, ...], float, bool, bool]:
    """The dimensions, correction and `keepdim` of a variance, from PyTorch's three overloads, and that nothing was warned
    of.
    """
    check_tensor(name, input)
    if not input.dtype.is_differentiable:
        subject = name if "mean" in name else "std and var"
        raise RuntimeError(f"{subject} only support floating point and complex dtypes")
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    dim, keepdim = resolve(name, dim, axis, keepdim, keepdims)
    if unbiased is not None:
        if correction is not None:
            raise TypeError(f"{name}(): unbiased and correction say the same thing: give one of them")
        check_bool(name, "unbiased", unbiased)
        correction = float(unbiased)
    correction = 1.0 if correction is None else float(correction)
    dims = reduced_dims(name, dim, input.dim())
    results = math.prod(n for d, n in enumerate(input.shape) if d not in dims)
    is_possible = input.numel() // (results or 1) > correction
    if not is_possible:
        warnings.warn(
            f"{name}(): degrees of freedom is <= 0. Correction should be strictly less than the reduction factor (input "
            "numel divided by output numel).",
            stacklevel=4,
        )
    return dims, correction, keepdim, is_possible


def renorm(input: Any, p: float, dim: int, maxnorm: float, *, out: Any = None) -> Any:
    """`input` with each slice along `dim` scaled down to a `p`-norm of `maxnorm`, where it is larger.

    Raises RuntimeError for a norm that is not positive, a negative `maxnorm`, and fewer than two dimensions.
    """
    check_tensor("renorm", input)
    if p <= 0:
        raise RuntimeError("renorm: non-positive-norm not supported")
    if maxnorm < 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm:g}")
    if input.dim() < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {input.dim()} dimensions")
    kept = wrap_dim(dim, input.dim())
    size = norm(input, p, tuple(d for d in range(input.dim()) if d != kept), keepdim=True)
    scale = where(size > maxnorm, maxnorm / (size + 1e-7), 1.0)
    return written("renorm", input * scale, out)


def norm_except_dim(v: Any, pow: int = 2, dim: int = 0) -> Any:
    """The norms of the slices along a dimension (-1: of everything), with as many dimensions as `v`; for weight_norm."""
    if dim == -1:
        return norm(v, pow)
    return norm(v, pow, tuple(d for d in range(v.dim()) if d != wrap_dim(dim, v.dim())), keepdim=True)


@with_plans
def norm(
    input: Any,
    p: Any = "fro",
    dim: Any = None,
    keepdim: bool = False,
    out: Any = None,
    dtype: Any = None,
) -> Any:
    """The vector norm `sum(abs(x) ** p) ** (1 / p)` of all items, or over `dim`.

    Args:
        input: a tensor of floats.
        p: any number: 0 counts what is not 0, inf and -inf give the largest and the smallest magnitude. "fro" is 2.
        dim: the dimensions to reduce.
        keepdim: whether they stay, with extent 1.
        out: a tensor for the result.
        dtype: a wider dtype to compute in.

    Raises:
        RuntimeError: integers and bools, an unknown name of a norm, a norm of nothing that has no value.

    Example:
        >>> import numgrad as ng
        >>> ng.tensor([3.0, 4.0]).norm()
        tensor(5.)
    """
    check_tensor("norm", input)
    check_bool("norm", "keepdim", keepdim)
    if p == "nuc":
        from .matrix_norms import matrix_norm

        dims = tuple(range(input.dim())) if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)
        return matrix_norm(input, "nuc", dims, keepdim, dtype=dtype, out=out)
    order = _order(p, dim)
    dims = reduced_dims("norm", dim, input.dim())
    if not input.dtype.is_differentiable:
        raise RuntimeError(
            f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got {input.dtype.scalar_name}"
        )
    if dtype is not None:
        _check_norm_dtype(input.dtype, dtype)
        input = input.to(dtype)
    if input.is_complex():
        input = input.abs()
    if order < 0 or order == math.inf:
        _check_identity(input, order, dims, dim)
    return Call(statistics.vector_norm, (_of(input, out),), (order, dims, keepdim), out=out)


def _order(p: Any, dim: Any) -> float:
    """The number that `p` is or names. Raises with PyTorch's texts for what is neither."""
    if p is None:
        return 2.0
    if p == "fro":
        if isinstance(dim, (tuple, list)) and len(dim) > 2:
            raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {' '.join(map(str, dim))}")
        return 2.0
    if isinstance(p, str):
        raise RuntimeError(f"linalg.matrix_norm: Order {p} not supported.")
    if not hasattr(p, "__float__"):
        raise TypeError(f"linalg_vector_norm(): argument 'ord' (position 2) must be Number, not {type(p).__name__}")
    return float(p)


def _check_norm_dtype(given: Any, wanted: Any) -> None:
    if not wanted.is_differentiable:
        raise RuntimeError(
            f"linalg.vector_norm: dtype should be floating point or complex, but got {wanted.scalar_name}"
        )
    if wanted.itemsize < given.itemsize:
        raise RuntimeError(
            f"linalg.vector_norm: the dtype of the input ({given.scalar_name}) should be convertible without narrowing to "
            f"the specified dtype ({wanted.scalar_name})"
        )


def _check_identity(input: Any, order: float, dims: tuple[int, ...], dim: Any) -> None:
    """Raise RuntimeError, with PyTorch's texts, for a norm of nothing that would be infinite."""
    if input.numel():
        return
    shown = f"{order:g}"
    if dim is None or dim in ((), []):
        raise RuntimeError(
            f"linalg.vector_norm cannot compute the {shown} norm on an empty tensor because the operation does not have an "
            "identity"
        )
    for d in dims:
        if not input.shape[d]:
            raise RuntimeError(
                f"linalg.vector_norm cannot compute the {shown} norm on the dimension {d}because this dimension is empty "
                "and the operation does not have an identity"
            )


@with_plans
def logsumexp(
    input: Any, dim: Any, keepdim: bool = False, *, out: Any = None, axis: Any = None, keepdims: bool = False
) -> Any:
    """Logarithm of the sum of exponentials over one dimension or several, without overflow. Integers become floats.

    Of -inf alone it is -inf, and its gradient 0.

    Example:
        >>> import numgrad as ng
        >>> ng.tensor([1000.0, 1000.0]).logsumexp(0)
        tensor(1000.6931)
    """
    check_tensor("logsumexp", input)
    dim, keepdim = resolve("logsumexp", dim, axis, keepdim, keepdims)
    dims = reduced_dims("logsumexp", dim, input.dim())
    if input.is_complex():
        largest = input.detach().real.amax(dims, True)
        shift = where(largest.abs() == math.inf, 0, largest)
        return (input - shift).exp().sum(dims, keepdim).log() + (shift if keepdim else shift.squeeze(dims))
    if not input.is_floating_point():
        input = input.to(get_default_dtype())
    return Call(statistics.logsumexp, (_of(input, out),), (dims, keepdim), out=out)
