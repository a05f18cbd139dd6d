"""Rows looked up in a table, and bags of rows added up or maximised."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import counting
from .array import Shape
from .blocks import first_outside, is_compiled, prepared_take, take_blocks
from .cpu import loop
from .prepared import Operand, Prepared
from .registry import Sample, op
from .selecting import index_select, refuse


# ---------------------------------------------------------------------------------------------------- loops
@loop
def add_rows(source, positions, out, skipped):
    """Add each row to the one at its position, but for the position `skipped`."""
    for i in range(positions.shape[0]):
        p = positions[i]
        if p != skipped:
            row = source[i]
            target = out[p]
            for k in range(row.shape[0]):
                target[k] += row[k]


@loop
def largest_of_rows(source, positions, out, where):
    """The first of the largest items that come to each place of `out`, and its row; `where` is -1 at first."""
    for i in range(positions.shape[0]):
        p = positions[i]
        for k in range(source.shape[1]):
            if where[p, k] < 0 or source[i, k] > out[p, k]:
                out[p, k] = source[i, k]
                where[p, k] = i


def _positions(indices: np.ndarray, rows: int) -> np.ndarray:
    """Indices as contiguous int64, 1-D. Raises IndexError for one outside [0, rows)."""
    flat = np.ascontiguousarray(indices, np.int64).reshape(-1)
    if first_outside(flat, 0, rows) >= 0:
        refuse(flat)
    return flat


def _added(source: np.ndarray, positions: np.ndarray, rows: int, skipped: int) -> np.ndarray:
    out = np.zeros((rows, source.shape[1]), source.dtype)
    if is_compiled(source.dtype):
        add_rows(np.ascontiguousarray(source), positions, out, skipped)
    else:
        counted = positions != skipped
        np.add.at(out, positions[counted], source[counted])
    return out


# ---------------------------------------------------------------------------------------------------- embedding
@op(
    samples=[
        Sample(((4, 3), [[1, 3], [0, 1]])),
        Sample(((4, 3), [1, 3, 1]), {"padding_idx": 2}),
        Sample(((4, 3), [1, 3, 0]), {"scale_grad_by_freq": True}),
    ],
    reference=lambda weight, indices, **_: weight[indices],
    plain=("indices",),
    moves=True,
)
def embedding(weight, indices, *, padding_idx=-1, scale_grad_by_freq=False):
    """The rows of `weight` at the indices. The row `padding_idx` has no gradient.

    With `scale_grad_by_freq` the gradient of each row is divided by the number of times that it was looked up.
    """


@embedding.kernel("cpu")
def _(weight: np.ndarray, indices: np.ndarray, padding_idx: int, scale_grad_by_freq: bool) -> np.ndarray:
    positions = _positions(indices, len(weight))
    rows = take_blocks(np.ascontiguousarray(weight)[None], positions)
    return rows.reshape(*indices.shape, weight.shape[1])


@embedding.prepared
def _(weight: Operand, indices: Operand, padding_idx: int, scale_grad_by_freq: bool) -> Prepared | None:
    return prepared_take(weight, (1, *weight.shape), indices, 0, refuse, (*indices.shape, weight.shape[1]))


@embedding.grad("weight")
def _(g, indices, weight_shape, padding_idx, scale_grad_by_freq):
    if scale_grad_by_freq:
        flat = indices.reshape(-1).long()
        counts = index_select(counting.bincount(flat, minlength=weight_shape[0]), flat, dim=0)
        g = g / counts.to(g.dtype).reshape((*indices.shape, 1))
    return embedding_dense_backward(g, indices, num_weights=weight_shape[0], padding_idx=padding_idx)


@embedding.fused_backward("cpu")
def _(
    g: np.ndarray,
    indices: np.ndarray,
    weight_shape: Shape,
    padding_idx: int,
    scale_grad_by_freq: bool,
    needs: tuple[bool, ...],
) -> tuple[Any, ...]:
    positions = _positions(indices, weight_shape[0])
    rows = g.reshape(-1, weight_shape[1])
    if scale_grad_by_freq:
        rows = rows / np.bincount(positions)[positions].astype(g.dtype)[:, None]
    return (_added(rows, positions, weight_shape[0], padding_idx), None)


def _backward_reference(g: np.ndarray, indices: np.ndarray, num_weights: int, padding_idx: int) -> np.ndarray:
    out = np.zeros((num_weights, g.shape[-1]), g.dtype)
    np.add.at(out, indices, g * (indices != padding_idx)[..., None])
    return out


@op(
    samples=[
        Sample(((2, 2, 3), [[1, 3], [0, 1]]), {"num_weights": 4}),
        Sample(((3, 3), [1, 3, 1]), {"num_weights": 4, "padding_idx": 1}),
    ],
    reference=_backward_reference,
    plain=("indices",),
    linear="jointly",
)
def embedding_dense_backward(g, indices, *, num_weights, padding_idx=-1):
    """Zeros with the rows of `g` added at the indices: the gradient of `embedding`. Linear in `g`."""


@embedding_dense_backward.kernel("cpu")
def _(g: np.ndarray, indices: np.ndarray, num_weights: int, padding_idx: int) -> np.ndarray:
    return _added(g.reshape(-1, g.shape[-1]), _positions(indices, num_weights), num_weights, padding_idx)


@embedding_dense_backward.grad("g")
def _(g, indices, padding_idx):
    rows = embedding(g, indices, padding_idx=padding_idx)
    return rows if padding_idx < 0 else rows.masked_fill((indices == padding_idx).unsqueeze(-1), 0)


# ---------------------------------------------------------------------------------------------------- bags
_BAGS = Sample(((4, 3), [0, 0, 2, 2]), {"count": 3})


def _sum_reference(rows: np.ndarray, bags: np.ndarray, count: int) -> np.ndarray:
    return _backward_reference(rows, bags, count, -1)


@op(samples=[_BAGS], reference=_sum_reference, plain=("bags",), node="EmbeddingBagBackward0", linear="jointly")
def bag_sums(rows, bags, *, count):
    """The rows of each of `count` bags added up; `bags` says for each row which one it is in."""


@bag_sums.kernel("cpu")
def _(rows: np.ndarray, bags: np.ndarray, count: int) -> np.ndarray:
    return _added(rows, _positions(bags, count), count, -1)


@bag_sums.grad("rows")
def _(g, bags):
    return embedding(g, bags)


def _largest_reference(rows: np.ndarray, bags: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    out, where = np.zeros((count, rows.shape[1]), rows.dtype), np.full((count, rows.shape[1]), -1)
    for bag in set(bags.tolist()):
        members = np.flatnonzero(bags == bag)
        where[bag] = members[np.argmax(rows[members], 0)]
        out[bag] = np.take_along_axis(rows, where[bag][None], 0)
    return out, where


@op(samples=[_BAGS], reference=_largest_reference, plain=("bags",), node="EmbeddingBagBackward0", outputs=2)
def bag_maxima(rows, bags, *, count):
    """The largest items of each of `count` bags, 0 of an empty one; and the rows they are in, -1 of an empty one.

    The first of equal ones gets the gradient.
    """


bag_maxima.non_differentiable_outputs = (1,)


@bag_maxima.kernel("cpu")
def _(rows: np.ndarray, bags: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    out = np.zeros((count, rows.shape[1]), rows.dtype)
    where = np.full(out.shape, -1)
    largest_of_rows(np.ascontiguousarray(rows), _positions(bags, count), out, where)
    return out, where


@bag_maxima.grad("rows")
def _(g0, out1, rows_shape):
    found = out1 >= 0
    return g0.new_zeros(rows_shape).scatter_add(0, out1 * found, g0 * found)
