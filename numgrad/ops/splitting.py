"""unbind, split, chunk, tensor_split and their kin: several views of one tensor.

Those of `unbind`, `split` and `chunk` come from one node; PyTorch allows none of them to be written in place.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from .. import viewing
from ..autograd.variable import CLASSES
from ..dispatch import dispatch
from ..kernels import views
from ..viewing import gives_view
from .checks import check_tensor
from .dims import as_sizes, wrap_dim


@gives_view
def unbind(input: Any, dim: int = 0) -> Any:
    """All slices of a dimension, without that dimension, as views.

    Raises IndexError for a 0-d tensor.
    """
    if not input.dim():
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    return views.unbind, (wrap_dim(dim, input.dim()),)


def rows(input: Any) -> Iterator[Any]:
    """What iterating a tensor gives: its slices along the first dimension, those of `unbind`."""
    return viewing.rows(input) if viewing.is_unrecorded(input) else iter(unbind(input))


def split(tensor: Any, split_size_or_sections: Any = None, dim: int = 0, *, split_size: Any = None) -> Any:
    """Parts along a dimension, as views: of one extent (the last may be smaller), or of the extents of a list.

    Example:
        >>> import numgrad as ng
        >>> ng.arange(5).split(2)
        (tensor([0, 1]), tensor([2, 3]), tensor([4]))
    """
    return _parts(tensor, split_size_or_sections if split_size is None else split_size, dim)


@gives_view
def _parts(tensor: Any, size: Any, dim: int) -> Any:
    if isinstance(size, float):
        raise TypeError("split_with_sizes(): argument 'split_sizes' (position 2) must be tuple of ints, not float")
    if not hasattr(size, "__index__"):
        return split_with_sizes(tensor, size, dim)
    return _split(tensor, int(size), dim)


def _split(tensor: Any, size: int, dim: int) -> Any:
    """The view op for parts of one extent, with its attributes."""
    if not tensor.dim():
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    if size < 0:
        raise RuntimeError(f"split expects split_size be non-negative, but got split_size={size}")
    d = wrap_dim(dim, tensor.dim())
    if not size and tensor._array.shape[d]:
        raise RuntimeError(
            f"split_size can only be 0 if dimension size is 0, but got dimension size of {tensor._array.shape[d]}"
        )
    return views.split, (max(size, 1), d)


def split_with_sizes(input: Any, split_sizes: Sequence[int], dim: int = 0) -> tuple[Any, ...]:
    """Parts of the given extents along a dimension, as views.

    Raises RuntimeError when they do not add up to its extent.
    """
    if not input.dim():
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    sizes = as_sizes((tuple(split_sizes),), "split_with_sizes", "split_sizes")
    d = wrap_dim(dim, input.dim())
    extent = input._array.shape[d]
    if any(n < 0 for n in sizes):
        raise RuntimeError(
            f"split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes={list(sizes)}"
        )
    if sum(sizes) != extent:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {extent} (input tensor's size at dimension {d}), but "
            f"got split_sizes={list(sizes)}"
        )
    return dispatch(views.split_with_sizes, (input,), (sizes, d))


@gives_view
def chunk(input: Any, chunks: int, dim: int = 0) -> Any:
    """At most `chunks` parts of equal extent along a dimension (the last may be smaller), as views."""
    check_tensor("chunk", input)
    if not input.dim():
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    d = wrap_dim(dim, input.dim())
    extent = input._array.shape[d]
    if not extent:
        return split_with_sizes(input, (0,) * chunks, d)
    return _split(input, -(-extent // chunks), d)


def tensor_split(
    input: Any, indices_or_sections: Any = None, dim: int = 0, *, sections: Any = None, indices: Any = None
) -> tuple[Any, ...]:
    """Parts along a dimension, as views: a number of nearly equal ones, or cut at the given indices.

    Example:
        >>> import numgrad as ng
        >>> ng.arange(5).tensor_split(2)
        (tensor([0, 1, 2]), tensor([3, 4]))
    """
    check_tensor("tensor_split", input)
    where = next(x for x in (indices_or_sections, sections, indices, ()) if x is not None)
    if not input.dim():
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    d = wrap_dim(dim, input.dim())
    if where.__class__ in CLASSES:
        where = _as_numbers(where)
    extent = input._array.shape[d]
    if isinstance(where, int):
        if where <= 0:
            raise RuntimeError(f"number of sections must be larger than 0, got {where}")
        small, longer = divmod(extent, where)
        where = [small * i + min(i, longer) for i in range(1, where)]
    cuts = [0, *as_sizes((tuple(where),), "tensor_split", "indices"), extent]
    return tuple(_slice(input, d, start, end) for start, end in itertools.pairwise(cuts))


def _as_numbers(where: Any) -> Any:
    """What a tensor of sections or indices says."""
    if where.dtype.name != "int64":
        raise RuntimeError(
            f"tensor_split expected tensor_indices_or_sections to have dtype of long, but got {where.dtype.scalar_name}"
        )
    if where.dim() > 1:
        raise RuntimeError(
            "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or one-dimensional tensor, but got "
            f"a tensor with {where.dim()} dims"
        )
    return where.tolist()


def _slice(x: Any, dim: int, start: int, end: int) -> Any:
    start, end, _ = slice(start, end).indices(x._array.shape[dim])
    return dispatch(views.slice_, (x,), (dim, start, max(start, end), 1))


def hsplit(input: Any, indices_or_sections: Any) -> tuple[Any, ...]:
    """`tensor_split` of the columns: of dimension 1, or of the only one."""
    return _split_dim("hsplit", input, indices_or_sections, 1)


def vsplit(input: Any, indices_or_sections: Any) -> tuple[Any, ...]:
    """`tensor_split` of the rows: dimension 0 of at least two."""
    return _split_dim("vsplit", input, indices_or_sections, 2)


def dsplit(input: Any, indices_or_sections: Any) -> tuple[Any, ...]:
    """`tensor_split` of dimension 2."""
    return _split_dim("dsplit", input, indices_or_sections, 3)


def _split_dim(name: str, input: Any, where: Any, least: int) -> tuple[Any, ...]:
    check_tensor(name, input)
    rank = input.dim()
    if rank < least:
        raise RuntimeError(
            f"torch.{name} requires a tensor with at least {least} dimension, but got a tensor with {rank} dimensions!"
        )
    dim = {"hsplit": min(rank - 1, 1), "vsplit": 0, "dsplit": 2}[name]
    extent = input._array.shape[dim]
    if isinstance(where, int) and (not where or extent % where):
        raise RuntimeError(
            f"torch.{name} attempted to split along dimension {dim}, but the size of the dimension {extent} is not "
            f"divisible by the split_size {where}!"
        )
    return tensor_split(input, where, dim)
