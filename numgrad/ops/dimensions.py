"""Views that move, join, split or repeat dimensions, made of the view ops: movedim, diagonal, unfold, broadcast_to, ..."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

from ..dispatch import dispatch
from ..kernels import views
from ..operands import broadcast_shapes as _broadcast_two
from ..size import Size
from ..viewing import gives_view
from .checks import check_tensor
from .dims import as_sizes, wrap_dim
from .shaping import expand, permute, reshape, transpose, unsqueeze, view


# ---------------------------------------------------------------------------------------------------- order
def swapaxes(input: Any, axis0: int, axis1: int) -> Any:
    """NumPy's name of `transpose`."""
    return transpose(input, axis0, axis1)


def swapdims(input: Any, dim0: int, dim1: int) -> Any:
    """Another name of `transpose`."""
    return transpose(input, dim0, dim1)


def movedim(input: Any, source: Any, destination: Any) -> Any:
    """Dimensions moved to other places, the rest keeping their order, as a view.

    Example:
        >>> import numgrad as ng
        >>> ng.zeros(2, 3, 4).movedim(0, -1).shape
        torch.Size([3, 4, 2])
    """
    check_tensor("movedim", input)
    if isinstance(source, int) != isinstance(destination, int):
        raise TypeError("movedim(): source and destination must be two ints or two tuples of ints")
    source, destination = ((x,) if isinstance(x, int) else tuple(x) for x in (source, destination))
    if len(source) != len(destination):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({list(source)} dims) should contain the same number of "
            f"dims as destination ({list(destination)} dims)"
        )
    rank = input.dim()
    from_, to = (tuple(wrap_dim(d, rank) for d in dims) for dims in (source, destination))
    for name, dims, given in (("source", from_, source), ("destination", to, destination)):
        if len(set(dims)) < len(dims):
            raise RuntimeError(f"movedim: repeated dim in `{name}` ({list(given)})")
    if not rank:
        return dispatch(views.alias, (input,))
    places = dict(zip(to, from_, strict=True))
    rest = iter(d for d in range(rank) if d not in from_)
    return permute(input, tuple(places[d] if d in places else next(rest) for d in range(rank)))


def moveaxis(input: Any, source: Any, destination: Any) -> Any:
    """NumPy's name of `movedim`."""
    return movedim(input, source, destination)


def adjoint(input: Any) -> Any:
    """The last two dimensions exchanged, complex items conjugated."""
    check_tensor("adjoint", input)
    return _conjugate_transpose(input, "adjoint()", "adjoint()")


def _conjugate_transpose(input: Any, name: str, deprecated: str) -> Any:
    if not input.dim():
        warnings.warn(f"{deprecated} is deprecated on 0-D tensors. Consider using x.conj().", stacklevel=4)
        return input.conj() if input.is_complex() else input
    if input.dim() < 2:
        raise RuntimeError(
            f"tensor.{name} is only supported on matrices or batches of matrices. Got {input.dim()}-D tensor."
        )
    swapped = transpose(input, -2, -1)
    return swapped.conj() if input.is_complex() else swapped


def T(input: Any) -> Any:
    """Dimensions in reverse order; PyTorch deprecates it for any number of dimensions but two."""
    rank = len(input._array.shape)
    if rank == 2:
        return permute(input, 1, 0)
    if not rank:
        warnings.warn(
            "Tensor.T is deprecated on 0-D tensors. This function is the identity in these cases.", stacklevel=3
        )
    else:
        warnings.warn(
            "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated and it will throw "
            "an error in a future release. Consider `x.mT` to transpose batches of matrices or "
            "`x.permute(*torch.arange(x.ndim - 1, -1, -1))` to reverse the dimensions of a tensor.",
            stacklevel=3,
        )
    return permute(input, *reversed(range(rank)))


def mT(input: Any) -> Any:
    """The last two dimensions exchanged."""
    if not input.dim():
        warnings.warn(
            "Tensor.mT is deprecated on 0-D tensors. This function is the identity in these cases.", stacklevel=3
        )
        return input
    if input.dim() < 2:
        raise RuntimeError(
            f"tensor.mT is only supported on matrices or batches of matrices. Got {input.dim()}-D tensor."
        )
    return transpose(input, -2, -1)


def mH(input: Any) -> Any:
    """The last two dimensions exchanged, complex items conjugated."""
    return _conjugate_transpose(input, "mH", "Tensor.mH")


def H(input: Any) -> Any:
    """The transpose of a matrix, complex items conjugated."""
    if input.dim() not in (0, 2):
        remedy = " For batches of matrices, consider using tensor.mH" if input.dim() > 2 else ""
        raise RuntimeError(f"tensor.H is only supported on matrices (2-D tensors). Got {input.dim()}-D tensor.{remedy}")
    return _conjugate_transpose(input, "H", "Tensor.H")


# ---------------------------------------------------------------------------------------------------- diagonal, windows
@gives_view
def diagonal(input: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    """The diagonal of two dimensions, as the last dimension of a view; `offset` above 0 means to the right of it."""
    check_tensor("diagonal", input)
    first, second = wrap_dim(dim1, input.dim()), wrap_dim(dim2, input.dim())
    if first == second:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    return views.diagonal, (offset, first, second)


def linalg_diagonal(A: Any, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    """`diagonal` of the last two dimensions."""
    return diagonal(A, offset, dim1, dim2)


@gives_view
def unfold(input: Any, dimension: int, size: int, step: int) -> Any:
    """Windows of `size` items along a dimension, one every `step` items, as a view; their items are the last dimension."""
    d = wrap_dim(dimension, input.dim())
    extent = input._array.shape[d] if input.dim() else 1
    if size < 0:
        raise RuntimeError(f"size is {size} but must be >= 0")
    if size > extent:
        raise RuntimeError(f"maximum size for tensor at dimension {d} is {extent} but size is {size}")
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    return views.unfold, (d, size, step)


# ---------------------------------------------------------------------------------------------------- joining, splitting
def ravel(input: Any) -> Any:
    """All items as a vector: a view where the items lie in C order, else a copy."""
    check_tensor("ravel", input)
    return view(input.contiguous(), -1)


def unflatten(input: Any, dim: int, sizes: Sequence[int]) -> Any:
    """One dimension split into several, one of which may be -1.

    Example:
        >>> import numgrad as ng
        >>> ng.zeros(2, 6).unflatten(1, (3, -1)).shape
        torch.Size([2, 3, 2])
    """
    check_tensor("unflatten", input)
    if not isinstance(sizes, (tuple, list)):
        raise TypeError(f"unflatten(): argument 'sizes' (position 2) must be tuple of ints, not {type(sizes).__name__}")
    wanted = as_sizes((sizes,), "unflatten", "sizes")
    d = wrap_dim(dim, input.dim())
    if not wanted:
        raise RuntimeError("unflatten: sizes must be non-empty")
    shape = input._array.shape
    if wanted.count(-1) > 1:
        raise RuntimeError("only one dimension can be inferred")
    extent = shape[d] if shape else 1
    known = math.prod(n for n in wanted if n != -1)
    if (-1 in wanted and (not known or extent % known)) or (-1 not in wanted and known != extent):
        raise RuntimeError(
            f"unflatten: Provided sizes {list(wanted)} don't multiply up to the size of dim {d} ({extent}) in the input "
            "tensor"
        )
    found = tuple(extent // known if n == -1 else n for n in wanted)
    return view(input, (*shape[:d], *found, *shape[d + 1 :]))


# ---------------------------------------------------------------------------------------------------- broadcasting
def broadcast_to(input: Any, size: Sequence[int]) -> Any:
    """`expand` to a shape."""
    check_tensor("broadcast_to", input)
    return expand(input, tuple(size))


def broadcast_shapes(*shapes: Any) -> Size:
    """The shape that several shapes broadcast to; an int counts as a shape of one dimension.

    Raises RuntimeError when there is none.
    """
    result: list[int] = []
    for number, shape in enumerate(shapes):
        own = (shape,) if isinstance(shape, int) else tuple(shape)
        result = [1] * (len(own) - len(result)) + result
        for i in range(-1, -1 - len(own), -1):
            if own[i] not in (1, result[i]):
                if result[i] != 1:
                    raise RuntimeError(
                        f"Attempting to broadcast a dimension of length {own[i]} at {i}! Mismatching argument at index "
                        f"{number} had {own}; but expected shape should be broadcastable to {result}"
                    )
                result[i] = own[i]
    return Size(result)


def broadcast_tensors(*tensors: Any) -> tuple[Any, ...]:
    """All tensors expanded to their common shape, as views. Raises RuntimeError when there is none."""
    if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
        tensors = tuple(tensors[0])
    shape: tuple[int, ...] = ()
    for x in tensors:
        shape = _broadcast_two(shape, x._array.shape)
    return tuple(x if x._array.shape == shape else expand(x, shape) for x in tensors)


def atleast_1d(*tensors: Any) -> Any:
    """Tensors with at least one dimension; one for one, a tuple for several."""
    return _each(tensors, lambda x: x if x.dim() else reshape(x, 1))


def atleast_2d(*tensors: Any) -> Any:
    """Tensors with at least two dimensions: a vector becomes a row."""
    return _each(tensors, _as_2d)


def atleast_3d(*tensors: Any) -> Any:
    """Tensors with at least three dimensions: a vector becomes `(1, n, 1)`, a matrix `(m, n, 1)`."""
    return _each(tensors, lambda x: x if x.dim() > 2 else unsqueeze(_as_2d(x), -1))


def _as_2d(x: Any) -> Any:
    if x.dim() > 1:
        return x
    return unsqueeze(x, 0) if x.dim() else reshape(x, 1, 1)


def _each(tensors: tuple[Any, ...], change: Any) -> Any:
    if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
        return tuple(map(change, tensors[0]))
    found = tuple(map(change, tensors))
    return found[0] if len(found) == 1 else found
