"""Scaled dot product attention: products by BLAS, and a loop for what is between them, forward and backward.

The weights are kept for the gradient: at (batch, heads, steps, steps) they are what an attention without a loop of its own
keeps several times over. A loop in blocks that computes them again was not faster at lengths that fit a CPU.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from . import blas
from .array import Shape
from .cpu import SPLIT, Loop, loop
from .reductions import sum_to_shape
from .registry import Sample, op
from .softmax import ORDERED_BITS


# ---------------------------------------------------------------------------------------------------- loops
def attention_weights(scores, start, stop, scale, height, is_causal):
    """Makes each row its softmax, scaled first; all 0 where all is -inf. Causal: in matrices of so many rows.

    Items after the last that a row may see become 0.
    """
    factor = _T(scale)  # noqa: F821
    for r in range(start, stop):
        whole = scores[r]
        n = whole.shape[0]
        if is_causal:
            n = min(r % height + 1, n)
        row = whole[:n]
        # Comparisons of floats do not vectorise as a reduction, those of integers do. What they miss of NaNs, the sum shows.
        highest = _Signed(-_HIGHEST)  # noqa: F821
        for i in range(n):
            scaled = row[i] * factor
            row[i] = scaled
            item = _Signed(_ordered(_T(scaled).view(_Signed)))  # noqa: F821
            highest = item if item > highest else highest
        top = _Signed(_ordered(highest)).view(_T)  # noqa: F821
        if top == -np.inf:
            top = _T(0)  # noqa: F821
        total = _A(0)  # noqa: F821
        for first in range(0, n, 1024):
            items = row[first : first + 1024]
            part = _T(0)  # noqa: F821
            for i in range(items.shape[0]):
                exponential = _exp(items[i] - top)  # noqa: F821
                items[i] = exponential
                part += exponential
            total += part
        share = _T(1 / total) if total != 0 else _T(0)  # noqa: F821
        for i in range(n):
            row[i] *= share
        hidden = whole[n:]
        for i in range(hidden.shape[0]):
            hidden[i] = 0 * share  # NaN in a row that has one, as everywhere in it


attention_rows = Loop(attention_weights, reassoc=True, given=ORDERED_BITS)


@loop(reassoc=True)
def attention_rows_backward(grads, weights, start, stop, scale):
    """Makes gradients of weights those of scores: `scale * weights * (grads - sum(grads * weights))` in each row."""
    factor = _T(scale)  # noqa: F821
    for r in range(start, stop):
        row, weight = grads[r], weights[r]
        n = row.shape[0]
        total = _A(0)  # noqa: F821
        for first in range(0, n, 1024):
            items, parts = row[first : first + 1024], weight[first : first + 1024]
            part = _T(0)  # noqa: F821
            for i in range(items.shape[0]):
                part += items[i] * parts[i]
            total += part
        shift = _T(total)  # noqa: F821
        for i in range(n):
            row[i] = factor * weight[i] * (row[i] - shift)


# ---------------------------------------------------------------------------------------------------- on arrays
def _forward(query: Any, key: Any, value: Any, mask: Any, is_causal: bool, scale: float) -> tuple[np.ndarray, ...]:
    _check(query, key, value)
    scores = blas.matmul(query, _turned(key))
    if mask is not None:
        scores *= scores.dtype.type(scale)
        scores += mask
        scale = 1.0
    rows = _rows(scores)
    run = attention_rows if scores.size < SPLIT else attention_rows.in_units
    run(rows, 0, len(rows), float(scale), query.shape[-2], is_causal)
    out = np.empty_like(query, shape=(*query.shape[:-1], value.shape[-1]))  # in the memory order of the query
    return blas.matmul(scores, value, out), scores


def _turned(x: np.ndarray) -> np.ndarray:
    """The transposed matrices, copied: BLAS takes 0.6 of the time then."""
    return np.ascontiguousarray(x.swapaxes(-1, -2))


def _rows(x: np.ndarray) -> np.ndarray:
    return x.reshape(math.prod(x.shape[:-1]), x.shape[-1])


def _check(query: np.ndarray, *others: np.ndarray) -> None:
    """Raise RuntimeError unless batches and dtypes are the same: BLAS and the loops would take anything."""
    if any(x.shape[:-2] != query.shape[:-2] or x.dtype != query.dtype for x in others):
        shapes = ", ".join(f"{x.dtype} {x.shape}" for x in (query, *others))
        raise RuntimeError(f"scaled_dot_product_attention() got operands that do not fit together: {shapes}")


def _backward(
    g: Any,
    g_weights: Any,
    query: Any,
    key: Any,
    value: Any,
    weights: Any,
    scale: float,
    mask_shape: Shape | None = None,
) -> tuple[Any, ...]:
    """Gradients of query, key and value, and of a mask of some shape."""
    if g is None:
        grads, dv = np.array(g_weights, order="C"), np.zeros_like(value)
    else:
        grads = blas.matmul(g, _turned(value))
        dv = blas.matmul(weights.swapaxes(-1, -2), g, np.empty_like(value))
        if g_weights is not None:
            grads += g_weights
    rows, weight_rows = _rows(grads), _rows(np.ascontiguousarray(weights))
    run = attention_rows_backward if grads.size < SPLIT else attention_rows_backward.in_units
    run(rows, weight_rows, 0, len(rows), 1.0 if mask_shape is not None else float(scale))
    dmask = None
    if mask_shape is not None:
        dmask = sum_to_shape(grads, mask_shape) if mask_shape != grads.shape else grads.copy()
        grads *= grads.dtype.type(scale)
    dq = blas.matmul(grads, key, np.empty_like(query))
    return dq, blas.matmul(grads.swapaxes(-1, -2), query, np.empty_like(key)), dv, dmask


# ---------------------------------------------------------------------------------------------------- without a mask
def _reference(query, key, value, is_causal, scale, attn_mask=0.0):
    scores = query @ key.swapaxes(-1, -2) * scale + attn_mask
    if is_causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    return weights @ value, weights


_SHAPES = ((2, 3, 2), (2, 4, 2), (2, 4, 3))


@op(
    samples=[Sample(_SHAPES, {"is_causal": c, "scale": 0.7}) for c in (False, True)],
    reference=_reference,
    outputs=2,
    node="ScaledDotProductFlashAttentionForCpuBackward0",
)
def scaled_dot_product_attention(query, key, value, *, is_causal, scale):
    """softmax(scale * query @ key.mT) @ value, and the softmax; causal: row i of it ends with column i.

    (..., m, k), (..., n, k) and (..., n, p) to (..., m, p).

    Source: A. Vaswani et al., "Attention is all you need" (2017).
    """


@scaled_dot_product_attention.kernel("cpu")
def _(query: np.ndarray, key: np.ndarray, value: np.ndarray, is_causal: bool, scale: float) -> tuple[np.ndarray, ...]:
    return _forward(query, key, value, None, is_causal, scale)


@scaled_dot_product_attention.grad("query", "key", "value")
def _(g0, g1, query, key, value, out1, scale):
    ds, dv = _gradients(g0, g1, value, out1)
    return (ds @ key) * scale, (ds.mT @ query) * scale, dv


def _gradients(g: Any, g_weights: Any, value: Any, weights: Any) -> tuple[Any, Any]:
    """Gradients of the scores and of the value, from those of output and weights."""
    grads = None if g is None else g @ value.mT
    dv = value.new_zeros(value.shape) if g is None else weights.mT @ g
    if g_weights is not None:
        grads = g_weights if grads is None else grads + g_weights
    return weights * (grads - (grads * weights).sum(-1, True)), dv


@scaled_dot_product_attention.fused_backward("cpu")
def _(
    g0: Any, g1: Any, query: Any, key: Any, value: Any, out1: Any, scale: float, needs: tuple[bool, ...]
) -> tuple[Any, ...]:
    return _backward(g0, g1, query, key, value, out1, scale)[:3]


# ---------------------------------------------------------------------------------------------------- with a mask
@op(
    samples=[
        Sample((*_SHAPES, (3, 4)), {"is_causal": False, "scale": 0.7}),
        Sample((*_SHAPES, (2, 1, 4)), {"is_causal": True, "scale": 0.7}),
    ],
    reference=lambda query, key, value, attn_mask, is_causal, scale: _reference(
        query, key, value, is_causal, scale, attn_mask
    ),
    outputs=2,
    name="scaled_dot_product_attention.mask",
    node="ScaledDotProductFlashAttentionForCpuBackward0",
)
def masked_attention(query, key, value, attn_mask, *, is_causal, scale):
    """`scaled_dot_product_attention` with `attn_mask`, broadcast, added to the scaled products."""


@masked_attention.kernel("cpu")
def _(
    query: np.ndarray, key: np.ndarray, value: np.ndarray, attn_mask: np.ndarray, is_causal: bool, scale: float
) -> tuple[np.ndarray, ...]:
    return _forward(query, key, value, attn_mask, is_causal, scale)


@masked_attention.grad("query", "key", "value", "attn_mask")
def _(g0, g1, query, key, value, attn_mask_shape, out1, scale):
    ds, dv = _gradients(g0, g1, value, out1)
    return (ds @ key) * scale, (ds.mT @ query) * scale, dv, ds.sum_to_size(attn_mask_shape)


@masked_attention.fused_backward("cpu")
def _(
    g0: Any, g1: Any, query: Any, key: Any, value: Any, attn_mask_shape: Shape, out1: Any, scale: float,
    needs: tuple[bool, ...],
) -> tuple[Any, ...]:  # fmt: skip
    if needs[3]:
        return _backward(g0, g1, query, key, value, out1, scale, attn_mask_shape)
    return (*_backward(g0, g1, query, key, value, out1, scale)[:3], None)
