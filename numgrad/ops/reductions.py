"""sum, mean, nansum, nanmean, prod, any, all, count_nonzero: public functions over the reduction ops.

`dim` is an int or several; None and () mean all dimensions. `axis` and `keepdims` are NumPy's names for the arguments.
"""

from __future__ import annotations

from typing import Any

from ..call_plans import Call, with_plans
from ..dispatch import dispatch
from ..kernels import comparison, reductions
from .checks import check_bool, check_tensor
from .dims import reduced_dims, wrap_dim


@with_plans
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

    Args:
        input: a tensor.
        dim: the dimensions to reduce.
        keepdim: whether they stay, with extent 1.
        dtype: the dtype to cast to before.
        out: a tensor for the result.

    Example:
        >>> import numgrad as ng
        >>> ng.ones(2, 3).sum(1)
        tensor([3., 3.])
    """
    check_tensor("sum", input)
    return _add("sum", reductions.sum, reductions.sum_dim, input, dim, axis, keepdim, keepdims, dtype, out)


@with_plans
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

    Raises RuntimeError for integer and bool tensors, unless `dtype` is a float dtype. See `sum` for the arguments.
    """
    check_tensor("mean", input)
    if not (input.dtype if dtype is None else dtype).is_differentiable:
        which, given = ("Input", input.dtype) if dtype is None else ("Optional", dtype)
        raise RuntimeError(
            f"mean(): could not infer output dtype. {which} dtype must be either a floating point or complex dtype. "
            f"Got: {given.scalar_name}"
        )
    return _add("mean", reductions.mean, reductions.mean_dim, input, dim, axis, keepdim, keepdims, dtype, out)


def _add(
    name: str,
    every: Any,
    over: Any,
    input: Any,
    dim: Any,
    axis: Any,
    keepdim: bool,
    keepdims: bool,
    dtype: Any,
    out: Any,
) -> Any:
    """Run the op that reduces everything, or the one over some dimensions: their nodes differ."""
    dim, keepdim = resolve(name, dim, axis, keepdim, keepdims)
    if dtype is None and out is not None:
        dtype = out.dtype
    if dtype is not None:
        input = input.to(dtype)
    call = Call(every, (input,))
    if dim is not None or keepdim:
        call = Call(over, (input,), (reduced_dims(name, dim, input.dim()), keepdim))
    if dtype is None:
        return call
    found = dispatch(*call[:3], out)
    return found if dtype is None else found.to(dtype)  # small integers are added and multiplied as int64


def resolve(name: str, dim: Any, axis: Any, keepdim: bool, keepdims: bool) -> tuple[Any, bool]:
    """`dim` and `keepdim`, given under PyTorch's names or NumPy's. Raises TypeError for a `keepdim` that is no bool."""
    check_bool(name, "keepdim", keepdim)
    check_bool(name, "keepdims", keepdims)
    return (dim if axis is None else axis), keepdim or keepdims


@with_plans
def nansum(
    input: Any,
    dim: Any = None,
    keepdim: bool = False,
    *,
    dtype: Any = None,
    out: Any = None,
    axis: Any = None,
    keepdims: bool = False,
) -> Any:
    """`sum` of the items that are not NaN.

    Example:
        >>> import numgrad as ng
        >>> ng.tensor([1.0, float("nan"), 2.0]).nansum()
        tensor(3.)
    """
    check_tensor("nansum", input)
    if input.is_complex():
        raise RuntimeError("nansum on CPU does not support complex inputs")
    dim, keepdim = resolve("nansum", dim, axis, keepdim, keepdims)
    if dtype is not None:
        input = input.to(dtype)
    call = Call(reductions.nansum, (input,), (reduced_dims("nansum", dim, input.dim()), keepdim))
    if dtype is out is None:
        return call
    found = dispatch(*call[:3], out)
    return found if dtype is None else found.to(dtype)


def nanmean(
    input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, axis: Any = None, keepdims: bool = False
) -> Any:
    """`mean` of the items that are not NaN. Raises RuntimeError for integer and bool tensors."""
    check_tensor("nanmean", input)
    if not input.dtype.is_differentiable:
        raise RuntimeError(
            f"nanmean(): expected input to have floating point or complex dtype but got {input.dtype.scalar_name}"
        )
    dim, keepdim = resolve("nanmean", dim, axis, keepdim, keepdims)
    return nansum(input, dim, keepdim, dtype=dtype) / sum(input.detach() == input.detach(), dim, keepdim)


@with_plans
def prod(
    input: Any,
    dim: Any = None,
    keepdim: bool = False,
    *,
    dtype: Any = None,
    out: Any = None,
    axis: Any = None,
    keepdims: bool = False,
) -> Any:
    """Product of all items, or along one dimension. Integers and bools multiply to int64. See `sum` for the arguments.

    Its gradient is exact at zeros.

    Example:
        >>> import numgrad as ng
        >>> ng.tensor([[1.0, 2.0], [3.0, 4.0]]).prod(1)
        tensor([ 2., 12.])
    """
    check_tensor("prod", input)
    dim, keepdim = resolve("prod", dim, axis, keepdim, keepdims)
    if dtype is None and out is not None:
        dtype = out.dtype
    if dtype is not None:
        input = input.to(dtype)
    if dim is None:
        if keepdim:
            raise TypeError("prod(): keepdim needs a dim")
        call = Call(reductions.prod, (input,))
    else:
        call = Call(reductions.prod_dim, (input,), (wrap_dim(dim, input.dim()), keepdim))
    if dtype is None:
        return call
    found = dispatch(*call[:3], out)
    return found if dtype is None else found.to(dtype)


@with_plans
def any(
    input: Any, dim: Any = None, keepdim: bool = False, *, out: Any = None, axis: Any = None, keepdims: bool = False
) -> Any:
    """Whether any item is not 0, of all items or over `dim`; NaN is not 0.

    Returns:
        bools; for uint8 tensors uint8, as in PyTorch.

    Example:
        >>> import numgrad as ng
        >>> ng.tensor([[0.0, 1.0], [0.0, 0.0]]).any(1)
        tensor([ True, False])
    """
    return _truth("any", reductions.any_dims, input, dim, axis, keepdim, keepdims, out)


@with_plans
def all(
    input: Any, dim: Any = None, keepdim: bool = False, *, out: Any = None, axis: Any = None, keepdims: bool = False
) -> Any:
    """Whether every item is not 0, of all items or over `dim`; NaN is not 0. Of nothing it is True.

    Returns:
        bools; for uint8 tensors uint8, as in PyTorch.
    """
    return _truth("all", reductions.all_dims, input, dim, axis, keepdim, keepdims, out)


def _truth(name: str, op: Any, input: Any, dim: Any, axis: Any, keepdim: bool, keepdims: bool, out: Any) -> Any:
    check_tensor(name, input)
    dim, keepdim = resolve(name, dim, axis, keepdim, keepdims)
    nothing = isinstance(dim, (tuple, list)) and not dim  # here alone () reduces no dimension
    dims = () if nothing else reduced_dims(name, dim, input.dim())
    if out is not None and out.dtype.name not in ("bool", "uint8"):
        raise RuntimeError(f"{name} only supports bool tensor for result, got: {out.dtype.scalar_name}")
    if out is not None and (out.dtype.name == "uint8") != (input.dtype.name == "uint8"):
        input = dispatch(comparison.ne, (input, 0)).to(out.dtype)
    return Call(op, (input,), (dims, keepdim), out=out)


@with_plans
def count_nonzero(input: Any, dim: Any = None, *, axis: Any = None) -> Any:
    """The number (int64) of items that are not 0, of all items or over `dim`; NaN is not 0."""
    check_tensor("count_nonzero", input)
    dims = reduced_dims("count_nonzero", dim if axis is None else axis, input.dim())
    return Call(reductions.count_nonzero, (input,), (dims,))
