"""gather, scatter, scatter_add, scatter_reduce, take_along_dim: items at an index of their own along one dimension."""

from __future__ import annotations

import warnings
from typing import Any

from ..autograd.variable import CLASSES
from ..call_plans import Call, run_call, with_plans
from ..dispatch import dispatch
from ..kernels import movement, views
from ..kernels import scatter as kernels
from ..operands import broadcast_shapes
from ..out import check_out_apart
from .checks import check_tensor
from .dims import wrap_dim
from .selecting import check_slices
from .shaping import expand, reshape

_REDUCTIONS = ("sum", "prod", "mean", "amax", "amin")
_DEPRECATED = (
    "The reduce argument of torch.scatter with Tensor src is deprecated and will be removed in a future PyTorch release. "
    "Use torch.scatter_reduce instead for more reduction options."
)


@with_plans
def gather(input: Any, dim: int, index: Any, *, sparse_grad: bool = False, out: Any = None) -> Any:
    """Items along `dim`, each at its own index: `out[i, j] = input[index[i, j], j]` for `dim=0`.

    Args:
        input: a tensor.
        dim: the dimension that the index is of.
        index: int64 or int32, of the rank of `input`; along the other dimensions no longer than it.
        sparse_grad: has no effect: gradients are dense.
        out: a tensor for the result.

    Raises:
        RuntimeError: an index out of range or negative, another rank or dtype.

    Example:
        >>> import numgrad as ng
        >>> ng.tensor([[1, 2], [3, 4]]).gather(1, ng.tensor([[0, 0], [1, 0]]))
        tensor([[1, 1],
                [4, 3]])
    """
    check_tensor("gather", input)
    d = wrap_dim(dim, input.dim())
    check_tensor("gather", index, "index", 3)
    _check_index("gather", input, index, "input")
    if not _fits(index, input, d):
        raise RuntimeError(
            f"Size does not match at dimension {_too_long(index, input, d)} expected index {list(index.shape)} to be no "
            f"larger than self {list(input.shape)} apart from dimension {d}"
        )
    check_out_apart(out, (input, index))
    return Call(kernels.gather, (input, index), (d,), out=out)


def _check_index(name: str, input: Any, index: Any, what: str) -> None:
    if index.numel() and index.dtype.name not in ("int64", "int32"):
        raise RuntimeError(f"{name}(): Expected dtype int32/int64 for index")
    if index.numel() and max(index.dim(), 1) != max(input.dim(), 1):
        raise RuntimeError(f"Index tensor must have the same number of dimensions as {what} tensor")


def _too_long(index: Any, input: Any, dim: int) -> int:
    """The first dimension but `dim` along which the index is longer than the input; -1 if there is none."""
    pairs = zip(index._array.shape, input._array.shape, strict=False)
    return next((d for d, (n, limit) in enumerate(pairs) if d != dim and n > limit), -1)


def _fits(index: Any, input: Any, dim: int) -> bool:
    return not index.numel() or _too_long(index, input, dim) < 0


def scatter(
    input: Any, dim: int, index: Any, src: Any = None, *, value: Any = None, reduce: str | None = None, out: Any = None
) -> Any:
    """`input` with items of `src`, or a number, written along `dim`: `out[index[i, j], j] = src[i, j]` for `dim=0`.

    `reduce="add"` or `"multiply"` combines them with what is there. At equal indices the last one stands.

    Raises:
        RuntimeError: an index out of range or negative, another rank or dtype.
    """
    return _scatter("scatter", input, dim, index, src, value, reduce, out)


def scatter_(input: Any, dim: int, index: Any, src: Any = None, *, value: Any = None, reduce: str | None = None) -> Any:
    """`scatter` in place."""
    return _scatter("scatter_", input, dim, index, src, value, reduce, input)


def _scatter(name: str, input: Any, dim: int, index: Any, src: Any, value: Any, reduce: str | None, out: Any) -> Any:
    check_tensor(name, input)
    d = wrap_dim(dim, input.dim())
    check_tensor(name, index, "index", 3)
    if src is None:
        src = value
    if src.__class__ in CLASSES:
        src = _checked_src("scatter", input, d, index, src)
    else:
        _check_index("scatter", input, index, "self")
        _check_fits(input, d, index)
    if reduce is not None:
        if reduce not in ("add", "multiply"):
            raise RuntimeError("reduce argument must be either add or multiply.")
        if src.__class__ in CLASSES:
            warnings.warn(_DEPRECATED, stacklevel=3)
        else:
            src = dispatch(movement.full, (), (index._array.shape, src, input.dtype.name, input._device))
        return dispatch(
            kernels.scatter_reduce, (input, index, src), (d, "sum" if reduce == "add" else "prod", True), out
        )
    if src.__class__ in CLASSES:
        return dispatch(kernels.scatter, (input, index, src), (d,), out)
    input._check_number(src)
    return dispatch(kernels.scatter_value, (input, index), (d, src), out)


def _check_fits(input: Any, dim: int, index: Any, src: Any = None) -> None:
    sized = "" if src is None else f" and to be no larger size than src {list(src.shape)}"
    if not _fits(index, input, dim) or (src is not None and not _fits(index, src, -1)):
        raise RuntimeError(
            f"Expected index {list(index.shape)} to be no larger than self {list(input.shape)} apart from dimension {dim}"
            f"{sized}"
        )


def _checked_src(name: str, input: Any, dim: int, index: Any, src: Any) -> Any:
    """`src`, cut to the shape of `index`. Raises RuntimeError, with PyTorch's texts, when the three do not fit."""
    if index.numel():
        _check_index("scatter", input, index, "self")
        if max(index.dim(), 1) != max(src.dim(), 1):
            raise RuntimeError("Index tensor must have the same number of dimensions as src tensor")
        _check_fits(input, dim, index, src)
    if src.dtype is not input.dtype:
        raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
    for d, n in enumerate(index._array.shape):
        if index.numel() and src.dim() and src._array.shape[d] != n:
            src = dispatch(views.slice_, (src,), (d, 0, n, 1))
    return src if src.dim() or not index.dim() else expand(src, tuple(index.shape))


@with_plans
def scatter_add(input: Any, dim: int, index: Any, src: Any, *, out: Any = None) -> Any:
    """`input` with items of `src` added along `dim`; at equal indices all of them are. See `scatter`.

    Example:
        >>> import numgrad as ng
        >>> ng.zeros(3).scatter_add(0, ng.tensor([0, 0, 2]), ng.ones(3))
        tensor([2., 0., 1.])
    """
    return _scatter_add("scatter_add", input, dim, index, src, out)


def scatter_add_(input: Any, dim: int, index: Any, src: Any) -> Any:
    """`scatter_add` in place."""
    return run_call(_scatter_add("scatter_add_", input, dim, index, src, input))


def _scatter_add(name: str, input: Any, dim: int, index: Any, src: Any, out: Any) -> Any:
    check_tensor(name, input)
    d = wrap_dim(dim, input.dim())
    check_tensor(name, index, "index", 3)
    check_tensor(name, src, "src", 3 if name[-1] == "_" else 4)
    return Call(kernels.scatter_add, (input, index, _checked_src("scatter", input, d, index, src)), (d,), out=out)


def scatter_reduce(
    input: Any, dim: int, index: Any, src: Any, reduce: str, *, include_self: bool = True, out: Any = None
) -> Any:
    """`input` with items of `src` combined into it along `dim`.

    Args:
        input, dim, index, src: see `scatter`.
        reduce: "sum", "prod", "mean", "amax" or "amin".
        include_self: whether the items of `input` take part; else those that an index reaches are replaced.
        out: a tensor for the result.

    Example:
        >>> import numgrad as ng
        >>> ng.ones(2).scatter_reduce(0, ng.tensor([0, 0, 1]), ng.tensor([4.0, 2.0, 3.0]), "mean", include_self=False)
        tensor([3., 3.])
    """
    return _scatter_reduce("scatter_reduce", input, dim, index, src, reduce, include_self, out)


def scatter_reduce_(input: Any, dim: int, index: Any, src: Any, reduce: str, *, include_self: bool = True) -> Any:
    """`scatter_reduce` in place."""
    return _scatter_reduce("scatter_reduce_", input, dim, index, src, reduce, include_self, input)


def _scatter_reduce(
    name: str, input: Any, dim: int, index: Any, src: Any, reduce: Any, include_self: bool, out: Any
) -> Any:
    check_tensor(name, input)
    if not isinstance(reduce, str):
        raise TypeError(f"{name}(): argument 'reduce' (position 4) must be str, not {type(reduce).__name__}")
    d = wrap_dim(dim, input.dim())
    src = _checked_src(name, input, d, index, src)
    if reduce not in _REDUCTIONS:
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    if input.is_complex() and reduce in ("amax", "amin"):
        raise NotImplementedError(
            f"\"scatter_gather_tensor_cpu_reduce_{reduce}\" not implemented for '{input.dtype.scalar_name}'"
        )
    return dispatch(kernels.scatter_reduce, (input, index, src), (d, reduce, include_self), out)


def index_reduce(
    input: Any, dim: int, index: Any, source: Any, reduce: str, *, include_self: bool = True, out: Any = None
) -> Any:
    """`input` with slices of `source` combined into it at the indices of a vector: `scatter_reduce` of whole slices.

    `reduce` is "prod", "mean", "amax" or "amin". Raises as `index_add`.
    """
    return _index_reduce("index_reduce", input, dim, index, source, reduce, include_self, out)


def index_reduce_(input: Any, dim: int, index: Any, source: Any, reduce: str, *, include_self: bool = True) -> Any:
    """`index_reduce` in place."""
    return _index_reduce("index_reduce_", input, dim, index, source, reduce, include_self, input)


def _index_reduce(
    name: str, input: Any, dim: int, index: Any, source: Any, reduce: str, include_self: bool, out: Any
) -> Any:
    d = check_slices(name, "index_reduce_", input, dim, index, source)
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}.")
    extent = input.shape[d] if input.dim() else 1
    if index.numel() and not bool(((index >= 0) & (index < extent)).all()):
        raise IndexError("index out of range in self")
    if not input.dim():
        index, source = index.reshape(()), source.reshape(())
    else:
        shape = [1] * source.dim()
        shape[d] = index.numel()
        index = expand(reshape(index.long(), shape), tuple(source.shape))
    return dispatch(kernels.scatter_reduce, (input, index, source), (d, reduce, include_self), out)


def take_along_dim(input: Any, indices: Any, dim: int | None = None, *, out: Any = None) -> Any:
    """Items along `dim`, as `gather`, with `input` and `indices` broadcast; without `dim` of the flattened input.

    Example:
        >>> import numgrad as ng
        >>> x = ng.tensor([[1.0, 5.0], [4.0, 2.0]])
        >>> x.take_along_dim(x.argmax(1, keepdim=True), 1)
        tensor([[5.],
                [4.]])
    """
    check_tensor("take_along_dim", input)
    check_tensor("take_along_dim", indices, "indices", 2)
    if indices.dtype.name != "int64":
        raise RuntimeError(
            f"torch.take_along_dim(): dtype of indices should be Long but got {indices.dtype.scalar_name}"
        )
    if dim is None:
        return gather(reshape(input, -1), 0, reshape(indices, -1), out=out)
    if input.dim() != indices.dim():
        raise RuntimeError(
            "torch.take_along_dim(): input and indices should have the same number of dimensions, but got "
            f"{input.dim()} dimensions for input, and {indices.dim()} dimensions for indices"
        )
    d = wrap_dim(dim, input.dim())
    own, wanted = list(input._array.shape), list(indices._array.shape)
    size, own[d : d + 1] = own[d : d + 1], wanted[d : d + 1]  # any number of indices along `dim`
    common = list(broadcast_shapes(tuple(own), tuple(wanted)))
    indices = expand(indices, tuple(common))
    if size and size[0]:  # they wrap around, as PyTorch's
        indices = indices % size[0]
    common[d : d + 1] = size
    return gather(expand(input, tuple(common)), d, indices, out=out)
