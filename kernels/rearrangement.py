"""Items in other places: flip, roll, repeat, tril, triu, copies of diagonals, trace."""

from __future__ import annotations

import math

import numpy as np

from .array import Shape
from .blocks import as_bits
from .cpu import SPLIT, loop
from .prepared import Operand, Prepared, of_places
from .registry import Sample, op
from .views import diag_embed

_LEAST = 4096  # items below which NumPy reverses as fast


# ---------------------------------------------------------------------------------------------------- flip, roll
@op(
    samples=[Sample(((2, 3),), {"dims": (1,)}), Sample(((2, 3, 2),), {"dims": (0, 2)})],
    reference=lambda x, dims: np.flip(x, dims),
    moves=True,
)
def flip(input, *, dims):
    """Dimensions in reverse order, as a copy."""


@loop
def _reverse(x, out, start, stop):
    size, last = np.uint64(x.shape[1]), np.uint64(x.shape[1] - 1)
    for r in range(start, stop):
        row, reversed_row = x[r], out[r]
        for i in range(np.uint64(0), size):  # unsigned, so that `last - i` is not asked whether it counts from the end
            reversed_row[i] = row[last - i]


@flip.kernel("cpu")
def _(input: np.ndarray, dims: Shape) -> np.ndarray:
    if input.size < _LEAST or input.itemsize > 8 or input.ndim - 1 not in dims:
        return np.flip(input, dims).copy()
    # NumPy moves rows as a whole, but reverses them item by item: the loop takes 0.4 of its time.
    rows = np.ascontiguousarray(np.flip(input, tuple(d for d in dims if d != input.ndim - 1)))
    out = np.empty_like(rows)
    shape = -1, input.shape[-1]
    reverse = _reverse if input.size < SPLIT else _reverse.in_units
    reverse(as_bits(rows).reshape(shape), as_bits(out).reshape(shape), 0, rows.size // rows.shape[-1])
    return out


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


@loop
def _triangles(x, out, diagonal, lower, start, stop):
    """Rows of matrices with zeros on one side of a diagonal, those from `start` to `stop` of all matrices in turn."""
    height, width = x.shape[1], x.shape[2]
    for row in range(start, stop):
        b = row // height
        i = row - b * height
        edge = max(0, min(width, i + diagonal + 1 if lower else i + diagonal))
        first, last = (0, edge) if lower else (edge, width)
        for j in range(first):
            out[b, i, j] = 0
        for j in range(first, last):
            out[b, i, j] = x[b, i, j]
        for j in range(last, width):
            out[b, i, j] = 0


def _triangle(x: np.ndarray, diagonal: int, lower: bool) -> np.ndarray:
    if x.itemsize > 8 or x.ndim < 2 or not x.size:
        return np.tril(x, diagonal) if lower else np.triu(x, diagonal)
    out = np.empty(x.shape, x.dtype)
    matrices = -1, *x.shape[-2:]
    operands = as_bits(np.ascontiguousarray(x)).reshape(matrices), as_bits(out).reshape(matrices)
    triangles = _triangles if x.size < SPLIT else _triangles.in_units
    triangles(*operands, diagonal, lower, 0, x.size // x.shape[-1])
    return out


@tril.kernel("cpu")
def _(input: np.ndarray, diagonal: int) -> np.ndarray:
    return _triangle(input, diagonal, True)


@tril.prepared
def _(x: Operand, diagonal: int) -> Prepared | None:
    return _prepared_triangle(x, diagonal, True)


def _prepared_triangle(x: Operand, diagonal: int, lower: bool) -> Prepared | None:
    """`_triangle` of a contiguous array."""
    size, form = math.prod(x.shape), (math.prod(x.shape[:-2]), *x.shape[-2:])
    if x.dtype.itemsize > 8 or size >= SPLIT:
        return None
    bits, rows = np.dtype(f"u{x.dtype.itemsize}"), form[0] * form[1]
    triangles = _triangles.compiled(bits)

    def run(items: np.ndarray) -> np.ndarray:
        out = np.empty(form, bits)
        triangles(items.view(bits).reshape(form), out, diagonal, lower, 0, rows)
        return out.view(x.dtype).reshape(size)

    return Prepared(run, (x,))


@tril.grad("input")
def _(g, diagonal):
    return tril(g, diagonal=diagonal)


@tril.fused_backward("cpu")
def _(g: np.ndarray, diagonal: int, needs: tuple[bool, ...]) -> tuple[np.ndarray]:
    return (_triangle(g, diagonal, True),)


@op(samples=_TRIANGLES, reference=lambda x, diagonal: np.triu(x, diagonal), moves=True)
def triu(input, *, diagonal):
    """Matrices with zeros below a diagonal."""


@triu.kernel("cpu")
def _(input: np.ndarray, diagonal: int) -> np.ndarray:
    return _triangle(input, diagonal, False)


@triu.prepared
def _(x: Operand, diagonal: int) -> Prepared | None:
    return _prepared_triangle(x, diagonal, False)


@triu.grad("input")
def _(g, diagonal):
    return triu(g, diagonal=diagonal)


@triu.fused_backward("cpu")
def _(g: np.ndarray, diagonal: int, needs: tuple[bool, ...]) -> tuple[np.ndarray]:
    return (_triangle(g, diagonal, False),)


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


diagonal_copy.prepared(of_places(np.diagonal))


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
