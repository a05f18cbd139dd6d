"""cumsum, cumprod, logcumsumexp, cummax, cummin, diff, trapezoid."""

from __future__ import annotations

import math
from typing import Any

from .. import return_types
from ..call_plans import Call, with_plans
from ..dispatch import dispatch
from ..kernels import scans
from .checks import check_tensor, written
from .dims import wrap_dim
from .shaping import cat


@with_plans
def cumsum(input: Any, dim: int, *, dtype: Any = None, out: Any = None) -> Any:
    """Sums of the items up to each one along `dim`. Integers and bools give int64; `dtype` casts first.

    Example:
        >>> import numgrad as ng
        >>> ng.tensor([1.0, 2.0, 3.0]).cumsum(0)
        tensor([1., 3., 6.])
    """
    return _scan("cumsum", scans.cumsum, input, dim, dtype, out)


@with_plans
def cumprod(input: Any, dim: int, *, dtype: Any = None, out: Any = None) -> Any:
    """Products of the items up to each one along `dim`. See `cumsum` for the arguments."""
    return _scan("cumprod", scans.cumprod, input, dim, dtype, out)


def _scan(name: str, op: Any, input: Any, dim: int, dtype: Any, out: Any) -> Any:
    check_tensor(name, input)
    if dtype is None and out is not None:
        dtype = out.dtype
    if dtype is not None:
        input = input.to(dtype)
    call = Call(op, (input,), (wrap_dim(dim, input.dim()),))
    return call if dtype is None else written(name, dispatch(*call[:3]).to(dtype), out)


@with_plans
def logcumsumexp(input: Any, dim: int, *, out: Any = None) -> Any:
    """Logarithms of the sums of exponentials up to each item along `dim`; of complex ones by all pairs of items.

    Raises NotImplementedError for integers.
    """
    check_tensor("logcumsumexp", input)
    d = wrap_dim(dim, input.dim())
    if input.is_complex():
        return written("logcumsumexp", _complex_logcumsumexp(input, d), out)
    if not input.is_floating_point():
        raise NotImplementedError(f"\"logcumsumexp_out_cpu\" not implemented for '{input.dtype.scalar_name}'")
    return Call(scans.logcumsumexp, (input,), (d,), out=out)


def _complex_logcumsumexp(input: Any, dim: int) -> Any:
    if not input.dim() or not input.numel():
        return input.clone()
    n = input.shape[dim]
    pairs = input.transpose(dim, -1).unsqueeze(-2).expand(*input.transpose(dim, -1).shape[:-1], n, n)
    later = input.real.new_ones((n, n)).triu(1) > 0
    return pairs.masked_fill(later, -math.inf).logsumexp(-1).transpose(dim, -1)


@with_plans
def cummax(input: Any, dim: int, *, out: Any = None) -> Any:
    """The largest of the items up to each one along `dim`, and the last index of it."""
    check_tensor("cummax", input)
    return Call(scans.cummax, (input,), (wrap_dim(dim, input.dim()),), return_types.cummax, out)


@with_plans
def cummin(input: Any, dim: int, *, out: Any = None) -> Any:
    """The smallest of the items up to each one along `dim`, and the last index of it."""
    check_tensor("cummin", input)
    return Call(scans.cummin, (input,), (wrap_dim(dim, input.dim()),), return_types.cummin, out)


# ---------------------------------------------------------------------------------------------------- differences
def diff(input: Any, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """Differences of neighbours along `dim`, `n` times over; `prepend` and `append` are joined to the input first."""
    check_tensor("diff", input)
    if not input.dim():
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    d = wrap_dim(dim, input.dim())
    parts = [x for x in (prepend, input, append) if x is not None]
    if not n:
        return input.clone()
    found = cat(parts, d) if len(parts) > 1 else input
    for _ in range(min(n, found.shape[d])):
        length = max(found.shape[d] - 1, 0)
        later, earlier = found.narrow(d, min(1, found.shape[d]), length), found.narrow(d, 0, length)
        found = later ^ earlier if found._array.dtype.kind == "b" else later - earlier
    return found


def trapezoid(y: Any, x: Any = None, *, dx: Any = None, dim: int = -1) -> Any:
    """The integral along `dim` by the trapezoidal rule, at points `x` or at distances `dx` (1 by default).

    Raises TypeError for both `x` and `dx`.
    """
    heights, scale, d = _trapezoids("trapezoid", y, x, dx, dim)
    return heights.sum(d) * scale


def cumulative_trapezoid(y: Any, x: Any = None, *, dx: Any = None, dim: int = -1) -> Any:
    """The integrals up to each point but the first along `dim`, see `trapezoid`."""
    heights, scale, d = _trapezoids("cumulative_trapezoid", y, x, dx, dim)
    return heights.cumsum(d) * scale


def _trapezoids(name: str, y: Any, x: Any, dx: Any, dim: int) -> tuple[Any, float, int]:
    """Twice the areas of the trapezoids, but for a factor where they are all equally wide; that; the dimension."""
    check_tensor(name, y)
    if x is not None and dx is not None:
        raise TypeError(f"{name}(): x and dx say the same thing: give one of them")
    if y._array.dtype.kind == "b" or (x is not None and x._array.dtype.kind == "b"):
        raise RuntimeError(f"{name}: received a bool input for {'`y`' if y._array.dtype.kind == 'b' else '`x`'}, "
                           "but bool is not supported")  # fmt: skip
    d = wrap_dim(dim, y.dim())
    length = max(y.shape[d] - 1, 0)
    pairs = y.narrow(d, min(1, y.shape[d]), length) + y.narrow(d, 0, length)
    if x is None:
        return pairs, (1 if dx is None else dx) / 2.0, d
    if x.dim() < y.dim():
        if x.dim() == 1 and x.shape[0] != y.shape[d]:
            raise RuntimeError(f"{name}: There must be one `x` value for each sample point")
        if x.dim() == 1:
            x = x.reshape([-1 if k == d else 1 for k in range(y.dim())])
        else:
            x = x.reshape((1,) * (y.dim() - x.dim()) + tuple(x.shape))
    e = d - y.dim() + x.dim()
    if x.shape[e] != y.shape[d]:
        raise RuntimeError(f"{name}: There must be one `x` value for each sample point")
    widths = x.narrow(e, min(1, x.shape[e]), length) - x.narrow(e, 0, length)
    return pairs * widths, 0.5, d
