"""sum, mean, max, argmax: public functions over the reduction ops."""

from __future__ import annotations

from typing import Any

from ..autograd.variable import CLASSES
from ..dispatch import dispatch
from ..kernels import arithmetic, reductions
from ..return_types import max as max_result
from .checks import check_tensor
from .dims import wrap_dim, wrap_dims


def _reduce(whole: Any, over: Any, input: Any, dim: Any, keepdim: bool, out: Any) -> Any:
    """Run the op that reduces all dimensions, or the one over some: no `dim`, None and () mean all."""
    if dim is None and not keepdim:
        return dispatch(whole, (input,), (), out)
    everything = dim is None or (isinstance(dim, (tuple, list)) and not dim)
    dims = tuple(range(input.dim())) if everything else wrap_dims(dim, input.dim())
    return dispatch(over, (input,), (dims if input.dim() else (), bool(keepdim)), out)


def sum(
    input: Any,
    dim: Any = None,
    keepdim: bool = False,
    *,
    dtype: Any = None,
    out: Any = None,
    axis: Any = None,
    keepdims: bool = False,
) -> Any:
    """Sum over all dimensions, or over `dim` (an int or several). Integers and bools sum to int64.

    Example:
        >>> import numgrad as ng
        >>> ng.ones(2, 3).sum(1)
        tensor([3., 3.])
    """
    check_tensor("sum", input)
    dim, keepdim = dim if axis is None else axis, keepdim or keepdims  # NumPy's names
    if dtype is not None:
        input = input.to(dtype)
    return _reduce(reductions.sum, reductions.sum_dim, input, dim, keepdim, out)


def mean(
    input: Any,
    dim: Any = None,
    keepdim: bool = False,
    *,
    dtype: Any = None,
    out: Any = None,
    axis: Any = None,
    keepdims: bool = False,
) -> Any:
    """Mean over all dimensions, or over `dim`. The mean of nothing is NaN.

    Raises RuntimeError for integer and bool tensors.
    """
    check_tensor("mean", input)
    dim, keepdim = dim if axis is None else axis, keepdim or keepdims  # NumPy's names
    if dtype is not None:
        input = input.to(dtype)
    if not input.dtype.is_floating_point:
        which = "Input" if dtype is None else "Optional"
        raise RuntimeError(
            f"mean(): could not infer output dtype. {which} dtype must be either a floating point or complex dtype. "
            f"Got: {input.dtype.scalar_name}"
        )
    return _reduce(reductions.mean, reductions.mean_dim, input, dim, keepdim, out)


def max(
    input: Any, dim: Any = None, keepdim: bool = False, *, other: Any = None, axis: Any = None, keepdims: bool = False
) -> Any:
    """The largest item; with `dim` the largest along it and their first indices; with a tensor, `maximum`.

    Raises:
        RuntimeError: all items of an empty tensor.
        IndexError: a dimension of extent 0, or out of range.
    """
    check_tensor("max", input)
    dim, keepdim = dim if axis is None else axis, keepdim or keepdims
    if dim.__class__ in CLASSES:
        other = dim
    if other is not None:
        return dispatch(arithmetic.maximum, (input, other))
    if dim is None:
        return dispatch(reductions.max, (input,))
    d = wrap_dim(dim, input.dim())
    _check_extent("max", input, d)
    return max_result(*dispatch(reductions.max_dim, (input,), (d, bool(keepdim))))


def argmax(
    input: Any, dim: int | None = None, keepdim: bool = False, *, axis: int | None = None, keepdims: bool = False
) -> Any:
    """First index of the largest item, of all items or along `dim`."""
    check_tensor("argmax", input)
    dim, keepdim = dim if axis is None else axis, keepdim or keepdims
    if input._array.dtype.kind == "b":
        raise RuntimeError("argmax(): does not support bool input")
    if dim is None:
        if not input.numel():
            raise IndexError("argmax(): Expected reduction dim to be specified for input.numel() == 0.")
        flat = dispatch(reductions.argmax, (input.detach().reshape(-1),), (0, False))
        return flat.reshape((1,) * input.dim()) if keepdim else flat
    d = wrap_dim(dim, input.dim())
    _check_extent("argmax", input, d)
    return dispatch(reductions.argmax, (input,), (d, bool(keepdim)))


def _check_extent(name: str, input: Any, dim: int) -> None:
    if input.dim() and not input.shape[dim]:
        raise IndexError(f"{name}(): Expected reduction dim {dim} to have non-zero size.")
