"""Items in other places: flip, roll, repeat, tril, triu, copies of diagonals, trace."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from .array import Shape
from .prepared import MOST_PLACES, Operand, Prepared, of_places
from .registry import Sample, op
from .views import diag_embed


# ---------------------------------------------------------------------------------------------------- flip, roll
@op(
    samples=[Sample(((2, 3),), {"dims": (1,)}), Sample(((2, 3, 2),), {"dims": (0, 2)})],
    reference=lambda x, dims: np.flip(x, dims),
    moves=True,
)
def flip(input, *, dims):
    """Dimensions in reverse order, as a copy."""


@flip.kernel("cpu")
def _(input: np.ndarray, dims: Shape) -> np.ndarray:
    return np.flip(input, dims).copy()


flip.prepared(of_places(np.flip))


@flip.grad("input")
def _(g, dims):
    return flip(g, dims=dims)


@op(
    samples=[
        Sample(((2, 3),), {"shifts": (1,), "dims": (1,)}),
        Sample(((2, 3),), {"shifts": (1, -2), "dims": (0, 1)}),
        Sample(((2, 3),), {"shifts": (2,), "dims": ()}),
    ],
    reference=lambda x, shifts, dims: np.roll(x, shifts, dims or None),
    moves=True,
)
def roll(input, *, shifts, dims):
    """Items moved on along dimensions, those at the end to the beginning; without dimensions along all items."""


@roll.kernel("cpu")
def _(input: np.ndarray, shifts: Shape, dims: Shape) -> np.ndarray:
    return np.roll(input, shifts, dims or None)


roll.prepared(of_places(roll.kernels["cpu"]))


@roll.grad("input")
def _(g, shifts, dims):
    return roll(g, shifts=tuple(-s for s in shifts), dims=dims)


# ---------------------------------------------------------------------------------------------------- repeat
@op(
    samples=[Sample(((2, 3),), {"repeats": (2, 1)}), Sample(((3,),), {"repeats": (2, 0, 3)})],
    reference=lambda x, repeats: np.tile(x, repeats),
    moves=True,
)
def repeat(input, *, repeats):
    """The tensor laid side by side `repeats` times in each dimension; there may be more than it has."""


@repeat.kernel("cpu")
def _(input: np.ndarray, repeats: Shape) -> np.ndarray:
    return np.tile(input, repeats)


repeat.prepared(of_places(np.tile))


@repeat.grad("input")
def _(g, input_shape, repeats):
    if 0 in repeats:
        return g.new_zeros(input_shape)
    lead = len(repeats) - len(input_shape)
    split = [n for pair in zip(repeats, (1,) * lead + tuple(input_shape), strict=True) for n in pair]
    dims = tuple(range(0, len(split), 2))
    return (g.reshape(split).sum(dims) if dims else g).reshape(input_shape)


def _sum_repeats(g: np.ndarray, counts: np.ndarray, dim: int) -> np.ndarray:
    out = np.zeros((*g.shape[:dim], len(counts), *g.shape[dim + 1 :]), g.dtype)
    np.add.at(np.moveaxis(out, dim, 0), np.repeat(np.arange(len(counts)), counts), np.moveaxis(g, dim, 0))
    return out


@op(
    samples=[Sample(((2, 3), [2, 0, 1]), {"dim": 1})],
    reference=lambda x, counts, dim: np.repeat(x, counts, dim),
    moves=True,
)
def repeat_items(input, counts, *, dim):
    """Each slice of a dimension as often as `counts` says."""


@repeat_items.kernel("cpu")
def _(input: np.ndarray, counts: np.ndarray, dim: int) -> np.ndarray:
    return np.repeat(input, counts, dim)


@repeat_items.grad("input")
def _(g, counts, dim):
    return sum_repeats(g, counts, dim=dim)


@op(samples=[Sample(((2, 3), [2, 0, 1]), {"dim": 1})], reference=_sum_repeats, takes_complex=True)
def sum_repeats(g, counts, *, dim):
    """Sums of as many slices of a dimension as `counts` says: the gradient of `repeat_items`."""


sum_repeats.kernel("cpu")(_sum_repeats)


@sum_repeats.grad("g")
def _(g, counts, dim):
    return repeat_items(g, counts, dim=dim)


# ---------------------------------------------------------------------------------------------------- triangles
_TRIANGLES = [Sample(((3, 4),), {"diagonal": 0}), Sample(((2, 3, 3),), {"diagonal": -1})]


@op(samples=_TRIANGLES, reference=lambda x, diagonal: np.tril(x, diagonal), moves=True)
def tril(input, *, diagonal):
    """Matrices with zeros above a diagonal."""


@tril.kernel("cpu")
def _(input: np.ndarray, diagonal: int) -> np.ndarray:
    return np.tril(input, diagonal)


@tril.prepared
def _(x: Operand, diagonal: int) -> Prepared | None:
    return _prepared_triangle(np.tril, x, diagonal)


def _prepared_triangle(triangle: Callable[..., np.ndarray], x: Operand, diagonal: int) -> Prepared | None:
    """The items where the triangle is, zeros elsewhere."""
    if math.prod(x.shape) > MOST_PLACES:
        return None
    kept, zero = triangle(np.ones(x.shape, bool), diagonal).reshape(-1), np.zeros((), x.dtype)
    return Prepared(lambda items: np.where(kept, items, zero), (x,))


@tril.grad("input")
def _(g, diagonal):
    return tril(g, diagonal=diagonal)


@op(samples=_TRIANGLES, reference=lambda x, diagonal: np.triu(x, diagonal), moves=True)
def triu(input, *, diagonal):
    """Matrices with zeros below a diagonal."""


@triu.kernel("cpu")
def _(input: np.ndarray, diagonal: int) -> np.ndarray:
    return np.triu(input, diagonal)


@triu.prepared
def _(x: Operand, diagonal: int) -> Prepared | None:
    return _prepared_triangle(np.triu, x, diagonal)


@triu.grad("input")
def _(g, diagonal):
    return triu(g, diagonal=diagonal)


# ---------------------------------------------------------------------------------------------------- diagonals
@op(
    samples=[
        Sample(((3, 4),), {"offset": 1, "dim1": 0, "dim2": 1}),
        Sample(((2, 3, 4),), {"offset": -1, "dim1": 2, "dim2": 0}),
    ],
    reference=lambda x, offset, dim1, dim2: np.diagonal(x, offset, dim1, dim2),
    moves=True,
)
def diagonal_copy(input, *, offset, dim1, dim2):
    """The diagonals of two dimensions, which they leave for a last one."""


@diagonal_copy.kernel("cpu")
def _(input: np.ndarray, offset: int, dim1: int, dim2: int) -> np.ndarray:
    return np.diagonal(input, offset, dim1, dim2).copy()


@diagonal_copy.grad("input")
def _(g, input_shape, offset, dim1, dim2):
    return diag_embed(g, shape=input_shape, offset_of=offset, dim1=dim1, dim2=dim2)


@op(samples=[Sample(((3, 3),)), Sample(((2, 4),))], reference=np.trace, takes_complex=True)
def trace(input):
    """The sum of a matrix's diagonal."""


@trace.kernel("cpu")
def _(input: np.ndarray) -> np.ndarray:
    if input.dtype.kind in "fc":  # in double precision
        return np.asarray(np.trace(input, dtype=np.result_type(input.dtype, np.float64)), input.dtype)
    return np.asarray(np.trace(input, dtype=np.int64))


@trace.prepared
def _(x: Operand) -> Prepared | None:
    if x.dtype.kind == "c":
        return None
    total = np.dtype(np.float64 if x.dtype.kind == "f" else np.int64)
    result = Operand((), x.dtype if x.dtype.kind == "f" else total)
    rows, columns = x.shape

    def run(items: np.ndarray) -> np.ndarray:
        diagonal = items[: rows * columns : columns + 1][: min(rows, columns)]
        return np.array([np.add.reduce(diagonal, dtype=total)], result.dtype)

    return Prepared(run, (result,))


@trace.grad("input")
def _(g, input_shape):
    diagonal = g.expand(min(input_shape))
    return diag_embed(diagonal, shape=input_shape, offset_of=0, dim1=0, dim2=1)
