"""Normalization of rows: layer_norm and rms_norm, forward and backward in one pass over each row."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .array import Shape
from .cpu import SPLIT, loop
from .prepared import Operand, Prepared
from .registry import Sample, op

_BLOCKS = 32  # of rows, each with sums of its own: the result does not depend on the number of threads


# ---------------------------------------------------------------------------------------------------- layer_norm
@loop(reassoc=True)
def layer_norm_rows(x, start, stop, weight, bias, out, means, rstds, eps):
    """Rows less their mean, divided by their deviation, scaled and shifted."""
    n = x.shape[1]
    for r in range(start, stop):
        row, target = x[r], out[r]
        total = _A(0)  # noqa: F821
        for j in range(n):
            total += row[j]
        mean = total / n
        squares = _A(0)  # noqa: F821
        for j in range(n):
            difference = row[j] - mean
            squares += difference * difference
        rstd = 1 / math.sqrt(squares / n + eps)
        means[r], rstds[r] = mean, rstd
        center, scale = _T(mean), _T(rstd)  # noqa: F821
        for j in range(n):
            target[j] = (row[j] - center) * scale * weight[j] + bias[j]


@loop(reassoc=True)
def layer_norm_rows_backward(g, start, stop, rows, x, weight, means, rstds, dx, dweight, dbias):
    """Gradients, of so many rows for each block from `start` to `stop`; those of weight and bias summed for a block."""
    n = x.shape[1]
    for block in range(start, stop):
        dw, db = dweight[block], dbias[block]
        dw[:] = 0
        db[:] = 0
        for r in range(block * rows, min((block + 1) * rows, x.shape[0])):
            row, grad, target = x[r], g[r], dx[r]
            center, scale = means[r], rstds[r]
            along = across = _A(0)  # noqa: F821
            for j in range(n):
                weighted = grad[j] * weight[j]
                along += weighted * ((row[j] - center) * scale)
                across += weighted
            along_mean, across_mean = _T(along / n), _T(across / n)  # noqa: F821
            for j in range(n):
                normal = (row[j] - center) * scale
                dw[j] += grad[j] * normal
                db[j] += grad[j]
                target[j] = scale * (grad[j] * weight[j] - across_mean - normal * along_mean)


def _layer_norm_reference(input, weight, bias, eps):
    mean = input.mean(-1, keepdims=True)
    rstd = 1 / np.sqrt(input.var(-1, keepdims=True) + input.dtype.type(eps))
    return (input - mean) * rstd * weight + bias, mean, rstd


@op(
    samples=[Sample(((3, 4), (4,), (4,)), {"eps": 1e-5}), Sample(((2, 2, 3), (3,), (3,)), {"eps": 0.1})],
    reference=_layer_norm_reference,
    outputs=3,
    name="layer_norm",
    node="NativeLayerNormBackward0",
)
def layer_norm(input, weight, bias, *, eps):
    """Rows with mean 0 and variance 1, scaled and shifted; and their means and reciprocal deviations.

    Source: J. L. Ba, J. R. Kiros, G. E. Hinton, "Layer normalization" (2016).
    """


layer_norm.non_differentiable_outputs = (1, 2)


def _rows(x: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(x).reshape(math.prod(x.shape[:-1]), x.shape[-1])


@layer_norm.kernel("cpu")
def _(input: np.ndarray, weight: np.ndarray, bias: np.ndarray, eps: float) -> tuple[np.ndarray, ...]:
    x = _rows(input)
    if any(p.shape != x.shape[1:] or p.dtype != x.dtype for p in (weight, bias)):
        raise RuntimeError("layer_norm() got operands that do not fit together")  # the loop has no bounds checks
    out, means, rstds = np.empty_like(x), np.empty(len(x), x.dtype), np.empty(len(x), x.dtype)
    run = layer_norm_rows if x.size < SPLIT else layer_norm_rows.in_units
    if x.size:
        run(x, 0, len(x), np.ascontiguousarray(weight), np.ascontiguousarray(bias), out, means, rstds, float(eps))
    lead = (*input.shape[:-1], 1)
    return out.reshape(input.shape), means.reshape(lead), rstds.reshape(lead)


@layer_norm.prepared
def _(x: Operand, weight: Operand, bias: Operand, eps: float) -> Prepared | None:
    size = math.prod(x.shape)
    if any(p.shape != x.shape[-1:] or p.dtype != x.dtype for p in (weight, bias)) or size >= SPLIT:
        return None
    form = size // x.shape[-1], x.shape[-1]
    rows, run_loop = form[0], layer_norm_rows.compiled(x.dtype)

    def run(items: np.ndarray, factor: np.ndarray, shift: np.ndarray) -> tuple[np.ndarray, ...]:
        out, means, rstds = np.empty(form, x.dtype), np.empty(rows, x.dtype), np.empty(rows, x.dtype)
        run_loop(items.reshape(form), 0, rows, factor, shift, out, means, rstds, eps)
        return out.reshape(size), means, rstds

    lead = Operand((*x.shape[:-1], 1), x.dtype)
    return Prepared(run, (x, lead, lead))


@layer_norm.grad("input", "weight", "bias")
def _(g0, input, weight, input_shape, eps):
    centered = input - input.mean(-1, True)
    rstd = ((centered * centered).mean(-1, True) + eps).rsqrt()
    normal, weighted = centered * rstd, g0 * weight
    dx = rstd * (weighted - weighted.mean(-1, True) - normal * (weighted * normal).mean(-1, True))
    shape = input_shape[-1:]
    return dx, (g0 * normal).sum_to_size(shape), g0.sum_to_size(shape)


@layer_norm.fused_backward("cpu")
def _(
    g0: Any, input: Any, input_shape: Shape, weight: Any, out1: Any, out2: Any, needs: tuple[bool, ...]
) -> tuple[Any, ...]:
    x, g = _rows(input), _rows(g0)
    dx, width = np.empty_like(x), x.shape[1]
    rows = max(-(-len(x) // _BLOCKS), 1)
    blocks = -(-len(x) // rows)
    dweight, dbias = np.empty((blocks, width)), np.empty((blocks, width))
    run = layer_norm_rows_backward if x.size < SPLIT else layer_norm_rows_backward.in_units
    if x.size:
        weight, means, rstds = np.ascontiguousarray(weight), out1.reshape(-1), out2.reshape(-1)
        run(g, 0, blocks, rows, x, weight, means, rstds, dx, dweight, dbias)
    sums = [s.sum(0).astype(x.dtype) if needed else None for s, needed in zip((dweight, dbias), needs[1:], strict=True)]
    return (dx.reshape(input_shape), *sums)


# ---------------------------------------------------------------------------------------------------- rms_norm
@loop(reassoc=True)
def rms_norm_rows(x, start, stop, weight, out, rstds, eps):
    """Rows divided by the root of their mean square, and scaled."""
    n = x.shape[1]
    for r in range(start, stop):
        row, target = x[r], out[r]
        squares = _A(0)  # noqa: F821
        for j in range(n):
            squares += row[j] * row[j]
        rstd = 1 / math.sqrt(squares / n + eps)
        rstds[r] = rstd
        scale = _T(rstd)  # noqa: F821
        for j in range(n):
            target[j] = row[j] * scale * weight[j]


@loop(reassoc=True)
def rms_norm_rows_backward(g, start, stop, rows, x, weight, rstds, dx, dweight):
    """Gradients, of so many rows for each block from `start` to `stop`; that of the weight summed for a block."""
    n = x.shape[1]
    for block in range(start, stop):
        dw = dweight[block]
        dw[:] = 0
        for r in range(block * rows, min((block + 1) * rows, x.shape[0])):
            row, grad, target = x[r], g[r], dx[r]
            scale = rstds[r]
            along = _A(0)  # noqa: F821
            for j in range(n):
                along += grad[j] * weight[j] * (row[j] * scale)
            along_mean = _T(along / n)  # noqa: F821
            for j in range(n):
                normal = row[j] * scale
                dw[j] += grad[j] * normal
                target[j] = scale * (grad[j] * weight[j] - normal * along_mean)


def _rms_norm_reference(input, weight, eps):
    rstd = 1 / np.sqrt((input * input).mean(-1, keepdims=True) + input.dtype.type(eps))
    return input * rstd * weight, rstd


@op(
    samples=[Sample(((3, 4), (4,)), {"eps": 1e-5}), Sample(((2, 2, 3), (3,)), {"eps": 0.1})],
    reference=_rms_norm_reference,
    outputs=2,
    name="rms_norm",
    node="FusedRmsNormBackward0",
)
def rms_norm(input, weight, *, eps):
    """Rows divided by the root of their mean square, and scaled; and the reciprocals of these roots.

    Source: B. Zhang, R. Sennrich, "Root mean square layer normalization" (2019).
    """


rms_norm.non_differentiable_outputs = (1,)


@rms_norm.kernel("cpu")
def _(input: np.ndarray, weight: np.ndarray, eps: float) -> tuple[np.ndarray, ...]:
    x = _rows(input)
    if weight.shape != x.shape[1:] or weight.dtype != x.dtype:
        raise RuntimeError("rms_norm() got operands that do not fit together")  # the loop has no bounds checks
    out, rstds = np.empty_like(x), np.empty(len(x), x.dtype)
    run = rms_norm_rows if x.size < SPLIT else rms_norm_rows.in_units
    if x.size:
        run(x, 0, len(x), np.ascontiguousarray(weight), out, rstds, float(eps))
    return out.reshape(input.shape), rstds.reshape((*input.shape[:-1], 1))


@rms_norm.grad("input", "weight")
def _(g0, input, weight, input_shape, eps):
    rstd = ((input * input).mean(-1, True) + eps).rsqrt()
    normal, weighted = input * rstd, g0 * weight
    dx = rstd * (weighted - normal * (weighted * normal).mean(-1, True))
    return dx, (g0 * normal).sum_to_size(input_shape[-1:])


@rms_norm.fused_backward("cpu")
def _(g0: Any, input: Any, input_shape: Shape, weight: Any, out1: Any, needs: tuple[bool, ...]) -> tuple[Any, ...]:
    x, g = _rows(input), _rows(g0)
    dx, width = np.empty_like(x), x.shape[1]
    rows = max(-(-len(x) // _BLOCKS), 1)
    blocks = -(-len(x) // rows)
    dweight = np.empty((blocks, width))
    run = rms_norm_rows_backward if x.size < SPLIT else rms_norm_rows_backward.in_units
    if x.size:
        run(g, 0, blocks, rows, x, np.ascontiguousarray(weight), out1.reshape(-1), dx, dweight)
    return dx.reshape(input_shape), dweight.sum(0).astype(x.dtype) if needs[1] else None
