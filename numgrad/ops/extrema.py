"""max, min, amax, amin, aminmax, argmax, argmin: public functions over the ops that find extremes."""

from __future__ import annotations

from typing import Any

from .. import return_types
from ..autograd.variable import CLASSES
from ..call_plans import Call, with_plans
from ..dispatch import dispatch
from ..kernels import arithmetic, extrema
from ..kernels.array import Array
from .checks import check_bool, check_tensor
from .dims import reduced_dims, wrap_dim
from .reductions import resolve


@with_plans
def max(
    input: Any,
    dim: Any = None,
    keepdim: bool = False,
    *,
    other: Any = None,
    out: Any = None,
    axis: Any = None,
    keepdims: bool = False,
) -> Any:
    """The largest item; with `dim` the largest along it and their first indices; with a tensor, `maximum`.

    A NaN among the items is the result. Equal items share the gradient of `max()`; that of `max(dim)` goes to the first.

    Raises:
        RuntimeError: all items of an empty tensor.
        IndexError: a dimension of extent 0, or out of range.

    Example:
        >>> import numgrad as ng
        >>> ng.tensor([[1.0, 5.0], [4.0, 2.0]]).max(1).indices
        tensor([1, 0])
    """
    dim, keepdim = _checked("max", input, dim, axis, keepdim, keepdims)
    if dim.__class__ in CLASSES:
        other = dim
    if other is not None:
        return dispatch(arithmetic.maximum, (input, other), (), out)
    if dim is None:
        return Call(extrema.max_all, (input,), out=out)
    return _with_indices("max", extrema.max_dim, input, dim, keepdim, out)


@with_plans
def min(
    input: Any,
    dim: Any = None,
    keepdim: bool = False,
    *,
    other: Any = None,
    out: Any = None,
    axis: Any = None,
    keepdims: bool = False,
) -> Any:
    """The smallest item; with `dim` the smallest along it and their first indices; with a tensor, `minimum`.

    See `max` for NaN, equal items and errors.
    """
    dim, keepdim = _checked("min", input, dim, axis, keepdim, keepdims)
    if dim.__class__ in CLASSES:
        other = dim
    if other is not None:
        return dispatch(arithmetic.minimum, (input, other), (), out)
    if dim is None:
        return Call(extrema.min_all, (input,), out=out)
    return _with_indices("min", extrema.min_dim, input, dim, keepdim, out)


def _checked(name: str, input: Any, dim: Any, axis: Any, keepdim: bool, keepdims: bool) -> tuple[Any, bool]:
    check_tensor(name, input)
    return resolve(name, dim, axis, keepdim, keepdims)


def _with_indices(name: str, op: Any, input: Any, dim: Any, keepdim: bool, out: Any) -> Call:
    d = wrap_dim(dim, input.dim())
    _check_extents(f"{name}()", input, (d,))
    return Call(op, (input,), (d, keepdim), getattr(return_types, name), out)


def _check_extents(caller: str, input: Any, dims: tuple[int, ...]) -> None:
    """Raise IndexError when a dimension to reduce has no items: there is no largest of nothing."""
    for d in dims:
        if input.dim() and not input.shape[d]:
            raise IndexError(f"{caller}: Expected reduction dim {d} to have non-zero size.")


@with_plans
def amax(
    input: Any, dim: Any = (), keepdim: bool = False, *, out: Any = None, axis: Any = None, keepdims: bool = False
) -> Any:
    """The largest items over one dimension or several, all by default. Equal ones share the gradient.

    Raises:
        RuntimeError: all items of an empty tensor.
        IndexError: a dimension of extent 0, or out of range.

    Example:
        >>> import numgrad as ng
        >>> ng.tensor([[1.0, 5.0], [4.0, 2.0]]).amax((0, 1))
        tensor(5.)
    """
    return _over_dims("amax", extrema.amax, input, dim, axis, keepdim, keepdims, out)


@with_plans
def amin(
    input: Any, dim: Any = (), keepdim: bool = False, *, out: Any = None, axis: Any = None, keepdims: bool = False
) -> Any:
    """The smallest items over one dimension or several, all by default. See `amax`."""
    return _over_dims("amin", extrema.amin, input, dim, axis, keepdim, keepdims, out)


def _over_dims(name: str, op: Any, input: Any, dim: Any, axis: Any, keepdim: bool, keepdims: bool, out: Any) -> Any:
    dim, keepdim = _checked(name, input, dim, axis, keepdim, keepdims)
    dims = reduced_dims(name, dim, input.dim())
    if len(dims) == input.dim() and (dim is None or dim in ((), [])) and not input.numel():
        raise RuntimeError(
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the "
            "'dim' argument."
        )
    _check_extents(f"{name}()", input, dims)
    if out is not None and out.dtype != input.dtype:
        raise RuntimeError(
            f"Expected the dtype for input and out to match, but got {input.dtype.scalar_name} for input's dtype and "
            f"{out.dtype.scalar_name} for out's dtype."
        )
    return Call(op, (input,), (dims, keepdim), out=out)


@with_plans
def aminmax(input: Any, *, dim: int | None = None, keepdim: bool = False, out: Any = None) -> Any:
    """The smallest and the largest items, of all or along `dim`: a named tuple `(min, max)`.

    Raises:
        RuntimeError: all items of an empty tensor.
        IndexError: a dimension of extent 0, or out of range.
    """
    check_tensor("aminmax", input)
    check_bool("aminmax", "keepdim", keepdim)
    if dim is None and not input.numel():
        raise RuntimeError(
            "aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity."
        )
    dims = reduced_dims("aminmax", dim if dim is None else wrap_dim(dim, input.dim()), input.dim())
    _check_extents("aminmax", input, dims)
    return Call(extrema.aminmax, (input,), (dims, keepdim), return_types.aminmax, out)


@with_plans
def argmax(
    input: Any,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    out: Any = None,
    axis: int | None = None,
    keepdims: bool = False,
) -> Any:
    """First index (int64) of the largest item, of all items (counted in C order) or along `dim`; NaN is the largest.

    Raises:
        RuntimeError: bools.
        IndexError: all items of an empty tensor; a dimension of extent 0, or out of range.
    """
    return _index("argmax", extrema.argmax, input, dim, axis, keepdim, keepdims, out)


@with_plans
def argmin(
    input: Any,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    out: Any = None,
    axis: int | None = None,
    keepdims: bool = False,
) -> Any:
    """First index (int64) of the smallest item, of all items (counted in C order) or along `dim`; NaN is the smallest.

    Raises as `argmax`.
    """
    return _index("argmin", extrema.argmin, input, dim, axis, keepdim, keepdims, out)


def _index(name: str, op: Any, input: Any, dim: Any, axis: Any, keepdim: bool, keepdims: bool, out: Any) -> Any:
    dim, keepdim = _checked(name, input, dim, axis, keepdim, keepdims)
    if input.dtype.name == "bool":
        raise RuntimeError(f"{name}(): does not support bool input")
    if dim is None:
        if not input.numel():
            raise IndexError(f"{name}(): Expected reduction dim to be specified for input.numel() == 0.")
        if input._array.__class__ is Array:
            return Call(op, (input,), (None, keepdim), out=out)
        flat = dispatch(op, (input.detach().reshape(-1),), (0, False))  # a rule for batches knows dimensions only
        return flat.reshape((1,) * input.dim()) if keepdim else flat
    if isinstance(dim, bool) or not hasattr(dim, "__index__"):
        raise TypeError(f"{name}(): argument 'dim' (position 1) must be int, not {type(dim).__name__}")
    d = wrap_dim(dim, input.dim())
    _check_extents(f"{name}()", input, (d,))
    return Call(op, (input,), (d, keepdim), out=out)
