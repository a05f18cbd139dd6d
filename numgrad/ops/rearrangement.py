"""flip, roll, rot90, repeat, tile, joining in other directions, triangles, diagonals, meshgrid."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from ..autograd.variable import CLASSES
from ..call_plans import Call, with_plans
from ..dispatch import dispatch
from ..kernels import rearrangement as kernels
from ..kernels import views
from .checks import check_tensor, written
from .dims import as_sizes, wrap_dim, wrap_dims
from .shaping import cat, stack


# ---------------------------------------------------------------------------------------------------- flip, roll
@with_plans
def flip(input: Any, *axes: Any, dims: Any = None) -> Any:
    """Dimensions in reverse order, as a copy: `flip(x, 0, 1)` or `flip(x, dims=(0, 1))`."""
    check_tensor("flip", input)
    given = as_sizes(axes if dims is None else (dims,), "flip", "dims")
    return Call(kernels.flip, (input,), (wrap_dims(given, input.dim()),))


def fliplr(input: Any) -> Any:
    """The second dimension in reverse order."""
    check_tensor("fliplr", input)
    if input.dim() < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return flip(input, 1)


def flipud(input: Any) -> Any:
    """The first dimension in reverse order."""
    check_tensor("flipud", input)
    if input.dim() < 1:
        raise RuntimeError("Input must be >= 1-d.")
    return flip(input, 0)


def rot90(input: Any, k: int = 1, dims: Sequence[int] = (0, 1)) -> Any:
    """The plane of two dimensions turned `k` times by 90 degrees, from the first towards the second."""
    check_tensor("rot90", input)
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if input.dim() < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {input.dim()}")
    first, second = (wrap_dim(d, input.dim()) for d in dims)
    if first == second:
        raise RuntimeError(f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}")
    turns = k % 4
    if turns == 0:
        return input.clone()
    if turns == 2:
        return flip(input, first, second)
    return flip(input, second if turns == 1 else first).transpose(first, second)


@with_plans
def roll(input: Any, shifts: Any, dims: Any = ()) -> Any:
    """Items moved on by `shifts` along `dims`, those at the end to the beginning; without `dims` along all items."""
    check_tensor("roll", input)
    moved = as_sizes((shifts,), "roll", "shifts")
    along = as_sizes((() if dims is None else dims,), "roll", "dims")
    if not moved:
        raise RuntimeError("`shifts` required")
    if not along and len(moved) == 1:
        return Call(kernels.roll, (input,), (moved, ()))
    if len(moved) != len(along):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(moved)}, dims:{len(along)}")
    if not input.dim():
        raise IndexError(f"Dimension specified as {along[0]} but tensor has no dimensions")
    return Call(kernels.roll, (input,), (moved, tuple(wrap_dim(d, input.dim()) for d in along)))


# ---------------------------------------------------------------------------------------------------- repeat
@with_plans
def repeat(input: Any, *repeats: Any) -> Any:
    """The tensor laid side by side as often as each of `repeats` says; more of them than dimensions add dimensions."""
    sizes = as_sizes(repeats, "repeat", "repeats")
    if len(sizes) < input.dim():
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    if any(n < 0 for n in sizes):
        shape = [n * m for n, m in zip(sizes, (1,) * (len(sizes) - input.dim()) + tuple(input.shape), strict=True)]
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(shape)}: {shape}")
    return Call(kernels.repeat, (input,), (sizes,))


def tile(input: Any, *numbers: Any, dims: Any = None) -> Any:
    """`repeat` that takes fewer numbers than dimensions: the missing ones are 1 in front."""
    check_tensor("tile", input)
    sizes = as_sizes(numbers if dims is None else (dims,), "tile", "dims")
    return repeat(input, (1,) * (input.dim() - len(sizes)) + sizes)


def repeat_interleave(
    input: Any, repeats: Any = None, dim: int | None = None, *, output_size: int | None = None
) -> Any:
    """Each item (or slice of `dim`) repeated before the next, `repeats` (an int or a tensor of them) times.

    With one tensor alone, each index as often as the tensor says.
    """
    check_tensor("repeat_interleave", input)
    from ..creation import arange, full

    if repeats is None:
        _check_repeats(input)
        return repeat_interleave(arange(input.shape[0]), input, 0)
    if dim is None:
        input, dim = input.reshape(-1), 0
    d = wrap_dim(dim, input.dim())
    extent = input.shape[d] if input.dim() else 1
    if repeats.__class__ in CLASSES:
        _check_repeats(repeats)
        counts = repeats.reshape(-1)
        if counts.shape[0] == 1:
            counts = counts.expand(extent)
    else:
        if repeats < 0:
            raise RuntimeError("Repeats must be non-negative")
        counts = full((extent,), int(repeats))
    if counts.shape[0] != extent:
        raise RuntimeError(
            f"repeats must have the same size as input along dim, but got repeats.size(0) = {counts.shape[0]} and "
            f"input.size({d}) = {extent}"
        )
    if input.dim() == 0:
        input = input.reshape(1)
    return dispatch(kernels.repeat_items, (input, counts), (d,))


def _check_repeats(repeats: Any) -> None:
    if repeats.dim() > 1:
        raise RuntimeError("repeats must be 0-dim or 1-dim tensor")
    if repeats.dtype.name not in ("int64", "int32"):
        raise RuntimeError("repeats has to be Long or Int tensor")
    if repeats.numel() and bool((repeats < 0).any()):
        raise RuntimeError("repeats can not be negative")


# ---------------------------------------------------------------------------------------------------- joining
def _several(name: str, tensors: Any) -> list[Any]:
    if not isinstance(tensors, (tuple, list)):
        raise TypeError(
            f"{name}(): argument 'tensors' (position 1) must be tuple of Tensors, not {type(tensors).__name__}"
        )
    if not tensors:
        raise RuntimeError(f"{name} expects a non-empty TensorList")
    for i, x in enumerate(tensors):
        check_tensor(name, x, f"tensors[{i}]")
    return list(tensors)


def _at_least(x: Any, rank: int) -> Any:
    """The tensor with dimensions of extent 1 added, as hstack, vstack and dstack want it."""
    if x.dim() >= rank:
        return x
    if rank == 1:
        return x.reshape(1)
    if rank == 2:
        return x.reshape(1, 1) if not x.dim() else x.unsqueeze(0)
    return _at_least(x, 2).unsqueeze(2)


def hstack(tensors: Sequence[Any], *, out: Any = None) -> Any:
    """Tensors joined side by side: along the second dimension, vectors along the first."""
    found = [_at_least(x, 1) for x in _several("hstack", tensors)]
    return written("hstack", cat(found, 0 if found[0].dim() == 1 else 1), out)


def vstack(tensors: Sequence[Any], *, out: Any = None) -> Any:
    """Tensors joined one below the other: along the first dimension, vectors as rows."""
    return written("vstack", cat([_at_least(x, 2) for x in _several("vstack", tensors)], 0), out)


def dstack(tensors: Sequence[Any], *, out: Any = None) -> Any:
    """Tensors joined in depth: along the third dimension."""
    return written("dstack", cat([_at_least(x, 3) for x in _several("dstack", tensors)], 2), out)


def column_stack(tensors: Sequence[Any], *, out: Any = None) -> Any:
    """Vectors joined as columns, and matrices side by side."""
    columns = [x.reshape(-1, 1) if x.dim() <= 1 else x for x in _several("column_stack", tensors)]
    return written("column_stack", cat(columns, 1), out)


row_stack = vstack


def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple[Any, ...]:
    """Vectors as the coordinates of a grid, each expanded to all of it: views.

    Args:
        tensors: 1-D (or 0-d) tensors, or one sequence of them.
        indexing: "ij" for matrix indices, "xy" for Cartesian ones (the first two dimensions exchanged).

    Warns:
        UserWarning: without `indexing`, as PyTorch.
    """
    several = list(tensors[0]) if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)) else list(tensors)
    if indexing is None:
        warnings.warn(
            "torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument.", stacklevel=2
        )
    if indexing not in (None, "ij", "xy"):
        raise RuntimeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    if not several:
        raise ValueError("meshgrid expects a non-empty TensorList")
    for x in several:
        if x.dim() > 1:
            raise RuntimeError(f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {x!r}")
        if x.dtype is not several[0].dtype:
            raise RuntimeError("meshgrid expects all tensors to have the same dtype")
    swapped = indexing == "xy" and len(several) >= 2
    if swapped:
        several[0], several[1] = several[1], several[0]
    shape = tuple(x.numel() for x in several)
    grids = [x.view([-1 if k == d else 1 for k in range(len(shape))]).expand(shape) for d, x in enumerate(several)]
    if swapped:
        grids[0], grids[1] = grids[1], grids[0]
    return tuple(grids)


def cartesian_prod(*tensors: Any) -> Any:
    """All combinations of one item of each vector, one a row."""
    for x in tensors:
        if x.dim() != 1:
            raise RuntimeError(f"Expect a 1D vector, but got shape {list(x.shape)}")
    if len(tensors) == 1:
        return tensors[0]
    return stack([g.reshape(-1) for g in meshgrid(*tensors, indexing="ij")], 1)


@with_plans
def tril(input: Any, diagonal: int = 0, *, out: Any = None) -> Any:
    """Matrices (the last two dimensions) with zeros above a diagonal: 0 the main one, positive ones above it."""
    return _triangle("tril", kernels.tril, input, diagonal, out)


@with_plans
def triu(input: Any, diagonal: int = 0, *, out: Any = None) -> Any:
    """Matrices (the last two dimensions) with zeros below a diagonal."""
    return _triangle("triu", kernels.triu, input, diagonal, out)


def _triangle(name: str, op: Any, input: Any, diagonal: int, out: Any) -> Any:
    check_tensor(name, input)
    if input.dim() < 2:
        raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")
    return Call(op, (input,), (int(diagonal),), out=out)


# ---------------------------------------------------------------------------------------------------- diagonals
def diag_embed(input: Any, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    """The last dimension as the diagonals of matrices in dimensions `dim1` and `dim2` of the result."""
    check_tensor("diag_embed", input)
    rank = input.dim() + 1
    first, second = wrap_dim(dim1, rank), wrap_dim(dim2, rank)
    if first == second:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    extent = input.shape[-1] + abs(offset)
    shape = list(input.shape[:-1])
    for d in sorted((first, second)):
        shape.insert(d, extent)
    return dispatch(views.diag_embed, (input,), (tuple(shape), offset, first, second))


@with_plans
def diag(input: Any, diagonal: int = 0, *, out: Any = None) -> Any:
    """The diagonal of a matrix, as a copy; of a vector, the matrix that has it as its diagonal."""
    check_tensor("diag", input)
    if input.dim() not in (1, 2):
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {input.dim()}D")
    if input.dim() == 1:
        return written("diag", diag_embed(input, diagonal), out)
    call = Call(kernels.diagonal_copy, (input,), (diagonal, 0, 1))
    return call if out is None else written("diag", dispatch(*call[:3]), out)


def diagflat(input: Any, offset: int = 0) -> Any:
    """All items as the diagonal of a matrix."""
    check_tensor("diagflat", input)
    return diag_embed(input.reshape(-1), offset)


@with_plans
def trace(input: Any) -> Any:
    """The sum of a matrix's diagonal. Raises RuntimeError for other ranks."""
    check_tensor("trace", input)
    if input.dim() != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {input.dim()}")
    if input._array.dtype.kind == "b":
        raise NotImplementedError("\"trace\" not implemented for 'Bool'")
    return Call(kernels.trace, (input,))


def block_diag(*tensors: Any) -> Any:
    """Matrices along the diagonal of a larger one, zeros elsewhere; vectors count as rows."""
    from ..creation import zeros

    if not tensors:
        return zeros(1, 0)
    for i, x in enumerate(tensors):
        if x.dim() > 2:
            raise RuntimeError(
                f"torch.block_diag: Input tensors must have 2 or fewer dimensions. Input {i} has {x.dim()} dimensions"
            )
    blocks = [_at_least(x, 2) for x in tensors]
    width = sum(x.shape[1] for x in blocks)
    rows = []
    before = 0
    for x in blocks:
        height, own = x.shape
        left, right = x.new_zeros(height, before), x.new_zeros(height, width - before - own)
        rows.append(cat([left, x, right], 1))
        before += own
    return cat(rows, 0)


def vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:
    """The matrix of powers of a vector, one a column, falling unless `increasing`."""
    check_tensor("vander", x, "x")
    if x.dim() != 1:
        raise RuntimeError("x must be a one-dimensional tensor.")
    n = x.shape[0] if N is None else N
    if n < 0:
        raise RuntimeError("N must be non-negative.")
    columns = powers(x, n)
    if not columns:
        return x.new_zeros(x.shape[0], 0)
    return stack(columns if increasing else columns[::-1], 1)


def powers(x: Any, n: int) -> list[Any]:
    """The powers of a tensor from 0 to n - 1; those of integers and bools are int64."""
    if not x.dtype.is_differentiable:
        x = x.long()
    found = [x.new_ones(x.shape)] if n else []
    for _ in range(n - 1):
        found.append(found[-1] * x)
    return found
