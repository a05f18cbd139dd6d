"""sort, argsort, msort, topk, kthvalue, median, nanmedian, mode, quantile, nanquantile, unique, unique_consecutive."""

from __future__ import annotations

from typing import Any

from .. import return_types
from ..autograd.variable import CLASSES
from ..call_plans import Call, with_plans
from ..dispatch import dispatch
from ..dtype import int64
from ..kernels import ordering, scatter
from ..out import check_out_apart
from .arithmetic import where
from .checks import check_tensor, written
from .dims import wrap_dim
from .shaping import stack


# ---------------------------------------------------------------------------------------------------- sort
@with_plans
def sort(input: Any, dim: int = -1, descending: bool = False, stable: bool | None = None, *, out: Any = None) -> Any:
    """The items of a dimension in order, and the indices where they were: `(values, indices)`.

    NaN is the largest. Equal items always keep their order here, also without `stable`.

    Example:
        >>> import numgrad as ng
        >>> ng.tensor([3.0, 1.0, 2.0]).sort().indices
        tensor([1, 2, 0])
    """
    check_tensor("sort", input)
    op = ordering.sort if stable is None else ordering.stable_sort
    attributes = (wrap_dim(dim, input.dim()), bool(descending))
    return Call(op, (input,), attributes, return_types.sort, out)


@with_plans
def argsort(input: Any, dim: int = -1, descending: bool = False, stable: bool = False) -> Any:
    """The indices (int64) that put a dimension in order."""
    check_tensor("argsort", input)
    return Call(ordering.argsort, (input,), (wrap_dim(dim, input.dim()), bool(descending)))


def msort(input: Any, *, out: Any = None) -> Any:
    """The items of the first dimension in order."""
    check_tensor("msort", input)
    values, _ = dispatch(ordering.sort, (input,), (0, False))
    return written("msort", values, out)


@with_plans
def topk(input: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True, *, out: Any = None) -> Any:
    """The `k` largest (or smallest) items of a dimension and their indices, in order also where `sorted` is False.

    Raises RuntimeError for a `k` that the dimension does not have.
    """
    check_tensor("topk", input)
    d = wrap_dim(dim, input.dim())
    if not 0 <= k <= (input.shape[d] if input.dim() else 1):
        raise RuntimeError("selected index k out of range")
    if input._array.dtype.kind == "b":
        raise RuntimeError("topk does not support bool dtypes on CPU")
    return Call(ordering.topk, (input,), (int(k), d, bool(largest)), return_types.topk, out)


def kthvalue(input: Any, k: int, dim: int = -1, keepdim: bool = False, *, out: Any = None) -> Any:
    """The k-th smallest item of a dimension (1 is the smallest), and its index."""
    check_tensor("kthvalue", input)
    d = wrap_dim(dim, input.dim())
    if not 1 <= k <= (input.shape[d] if input.dim() else 1):
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {d}")
    for one in out or ():
        check_out_apart(one, (input,))
    return return_types.kthvalue(*dispatch(ordering.kthvalue, (input,), (int(k), d, keepdim), out))


# ---------------------------------------------------------------------------------------------------- middle
def median(input: Any, dim: int | None = None, keepdim: bool = False, *, out: Any = None) -> Any:
    """The lower median of all items; with `dim` of each row of it, and the indices. NaN if any item is.

    The gradient of `median()` is shared by items equal to it, that of `median(dim)` goes to one.

    Example:
        >>> import numgrad as ng
        >>> ng.tensor([4.0, 1.0, 3.0, 2.0]).median()
        tensor(2.)
    """
    return _middle("median", ordering.median_all, ordering.median_dim, input, dim, keepdim, out)


def nanmedian(input: Any, dim: int | None = None, keepdim: bool = False, *, out: Any = None) -> Any:
    """`median` of the items that are not NaN."""
    return _middle("nanmedian", ordering.nanmedian_all, ordering.nanmedian_dim, input, dim, keepdim, out)


def _middle(name: str, every: Any, along: Any, input: Any, dim: Any, keepdim: bool, out: Any) -> Any:
    check_tensor(name, input)
    if input._array.dtype.kind == "b":
        raise NotImplementedError("\"median_cpu\" not implemented for 'Bool'")
    if dim is None:
        return dispatch(every, (input,), (), out)
    d = _reduced(name, input, dim)
    return getattr(return_types, name)(*dispatch(along, (input,), (d, keepdim), out))


def _reduced(name: str, input: Any, dim: int) -> int:
    d = wrap_dim(dim, input.dim())
    if input.dim() and not input.shape[d]:
        raise IndexError(f"{name}(): Expected reduction dim {d} to have non-zero size.")
    return d


def mode(input: Any, dim: int = -1, keepdim: bool = False, *, out: Any = None) -> Any:
    """The most common item of each row of a dimension (the smallest of several), and the last index of it."""
    check_tensor("mode", input)
    return return_types.mode(*dispatch(ordering.mode, (input,), (_reduced("mode", input, dim), keepdim), out))


# ---------------------------------------------------------------------------------------------------- quantiles
_INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


def quantile(
    input: Any, q: Any, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear", out: Any = None
) -> Any:
    """The `q`-th quantiles of all items, or along `dim`: `q` of the items are below. NaN if any item is.

    Args:
        input: a tensor of float32 or float64.
        q: a number in [0, 1], or a 1-D tensor of them, whose dimension the result has first.
        dim: the dimension to reduce.
        keepdim: whether it stays, with extent 1.
        interpolation: what to do between two items: "linear", "lower", "higher", "midpoint", "nearest".
        out: a tensor for the result.

    Raises:
        RuntimeError: another dtype, nothing to take a quantile of, `q` out of range.
    """
    return _quantile("quantile", input, q, dim, keepdim, interpolation, out, ignore_nan=False)


def nanquantile(
    input: Any, q: Any, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear", out: Any = None
) -> Any:
    """`quantile` of the items that are not NaN."""
    return _quantile("nanquantile", input, q, dim, keepdim, interpolation, out, ignore_nan=True)


def _quantile(
    name: str, input: Any, q: Any, dim: Any, keepdim: bool, interpolation: str, out: Any, ignore_nan: bool
) -> Any:
    check_tensor(name, input)
    scalar = q.__class__ not in CLASSES
    _check_quantile(name, input, q, dim, interpolation)
    levels = input.new_full((1,), q) if scalar else q.reshape(-1)
    shape = tuple(input.shape)
    if dim is None:
        rows = input.reshape(-1)
        kept = (1,) * len(shape) if keepdim else ()
    else:
        d = wrap_dim(dim, input.dim())
        rows = input.unsqueeze(0) if not shape else input.transpose(d, -1)
        kept = shape[:d] + (1,) * keepdim + shape[d + 1 :] if shape else ()
        if shape:  # put the reduced dimension last, the others in their order
            rows = input.permute([*range(d), *range(d + 1, len(shape)), d])
    found = _ranked(rows, levels, interpolation, ignore_nan)
    order = (found.dim() - 1, *range(found.dim() - 1))
    front = found.permute(order).reshape((levels.numel(), *kept))
    result = front.squeeze(0) if scalar or not q.dim() else front
    return written(name, result, out)


def _check_quantile(name: str, input: Any, q: Any, dim: Any, interpolation: str) -> None:
    if not input.numel() and (dim is None or not input.shape[wrap_dim(dim, input.dim())]):
        raise RuntimeError(f"{name}() input tensor must be non-empty")
    if input.dtype.name not in ("float32", "float64"):
        raise RuntimeError(f"{name}() input tensor must be either float or double dtype")
    if interpolation not in _INTERPOLATIONS:
        raise RuntimeError(
            f"{name}() interpolation must be one of linear, lower, higher, midpoint or nearest, but got {interpolation}"
        )
    if q.__class__ not in CLASSES:
        if not 0 <= q <= 1:
            raise RuntimeError(f"{name}() q must be in the range [0, 1] but got {q:g}")
        return
    if q.dim() > 1:
        raise RuntimeError(f"{name}() q must be a scalar or 1D tensor")
    if q.dtype is not input.dtype:
        raise RuntimeError(f"{name}() q tensor must be same dtype as the input tensor")
    if not bool(((q >= 0) * (q <= 1)).all()):
        raise RuntimeError(f"{name}() q values must be in the range [0, 1]")


def _ranked(rows: Any, levels: Any, interpolation: str, ignore_nan: bool) -> Any:
    """The quantiles of the last dimension, one for each level, in a last dimension."""
    values, _ = dispatch(ordering.sort, (rows,), (rows.dim() - 1, False))
    n = rows.shape[-1]
    nan = rows.detach() != rows.detach()
    if ignore_nan:
        last = ((~nan).sum(-1, keepdim=True) - 1).clamp(min=0).to(rows.dtype)
        ranks = levels * last
    else:
        ranks = where(nan.any(-1, keepdim=True), float(n - 1), levels * (n - 1))
    if interpolation == "nearest":
        ranks = ranks.round()
    below = ranks.ceil() if interpolation == "higher" else ranks.floor()
    lower = _picked(values, below)
    if interpolation in ("lower", "higher", "nearest"):
        return lower
    upper = _picked(values, ranks.ceil())
    weight = lower.new_full((), 0.5) if interpolation == "midpoint" else ranks - below
    return lower.lerp(upper, weight.expand(lower.shape))


def _picked(values: Any, ranks: Any) -> Any:
    index = ranks.long().expand((*values.shape[:-1], ranks.shape[-1]))
    return dispatch(scatter.gather, (values, index), (values.dim() - 1,))


# ---------------------------------------------------------------------------------------------------- unique
def unique(
    input: Any,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """The different items (or slices of `dim`) in order.

    Args:
        input: a tensor.
        sorted: accepted; the result is always in order.
        return_inverse: whether to give, second, which of them each item (or slice) is.
        return_counts: whether to give, last, how many there are of each.
        dim: the dimension whose slices are compared.

    Example:
        >>> import numgrad as ng
        >>> ng.unique(ng.tensor([2, 1, 2]), return_counts=True)
        (tensor([1, 2]), tensor([1, 2]))
    """
    check_tensor("unique", input)
    if dim is None:
        found = dispatch(ordering.unique, (input,), (not (return_inverse or return_counts),))
    else:
        found = dispatch(ordering.unique_dim, (input,), (wrap_dim(dim, input.dim()),))
    return _wanted(found, return_inverse, return_counts)


def unique_consecutive(
    input: Any, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """The first of each run of equal items (or slices of `dim`). See `unique` for the arguments."""
    check_tensor("unique_consecutive", input)
    d = None if dim is None else wrap_dim(dim, input.dim())
    return _wanted(dispatch(ordering.unique_consecutive, (input,), (d,)), return_inverse, return_counts)


def _wanted(found: tuple[Any, ...], return_inverse: bool, return_counts: bool) -> Any:
    values, inverse, counts = found
    if not return_inverse and not return_counts:
        return values
    return (values, *((inverse,) if return_inverse else ()), *((counts,) if return_counts else ()))


# ---------------------------------------------------------------------------------------------------- combinations
def combinations(input: Any, r: int = 2, with_replacement: bool = False) -> Any:
    """All ways to choose `r` items of a vector, in their order, one a row."""
    import itertools

    check_tensor("combinations", input)
    if input.dim() != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(input.shape)}")
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    from ..interop import tensor

    chosen = list(choose(range(input.shape[0]), r))
    if not r:
        return input.new_zeros((0,))
    columns = [
        dispatch(scatter.gather, (input, tensor([row[k] for row in chosen], dtype=int64)), (0,)) for k in range(r)
    ]
    return stack(columns, 1)
