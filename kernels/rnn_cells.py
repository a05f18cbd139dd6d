"""A step of Elman's network as one op: two products, and a loop for all the rest."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import blas
from .cpu import loop
from .reductions import sum_to_shape
from .registry import KernelOp, Sample, op


@loop
def tanh_cell_rows(out, product, b_ih, b_hh):
    """tanh(out + product + b_ih + b_hh), written to `out`."""
    for r in range(out.shape[0]):
        row, other = out[r], product[r]
        for j in range(row.shape[0]):
            row[j] = _tanh(row[j] + other[j] + (b_ih[j] + b_hh[j]))  # noqa: F821


@loop
def relu_cell_rows(out, product, b_ih, b_hh):
    """max(0, out + product + b_ih + b_hh), written to `out`; NaN stays NaN."""
    for r in range(out.shape[0]):
        row, other = out[r], product[r]
        for j in range(row.shape[0]):
            total = row[j] + other[j] + (b_ih[j] + b_hh[j])
            row[j] = _T(0) if total < 0 else total  # noqa: F821


@loop
def cell_slopes(g, out, result, is_tanh):
    """The gradient of the sums, from that of the result and the result."""
    if is_tanh:
        for i in range(out.shape[0]):
            result[i] = g[i] * (1 - out[i] * out[i])
    else:
        for i in range(out.shape[0]):
            result[i] = g[i] if out[i] > 0 else _T(0)  # noqa: F821


_SAMPLES = [Sample(((2, 3), (2, 4), (4, 3), (4, 4), (4,), (4,)))]


@op(
    samples=_SAMPLES,
    reference=lambda x, h, w, u, b, c: np.tanh(x @ w.T + b + (h @ u.T + c)),
    node="TanhBackward0",
)
def rnn_tanh_cell(input, hx, w_ih, w_hh, b_ih, b_hh):
    """tanh(input @ w_ih.T + b_ih + hx @ w_hh.T + b_hh)."""


@op(
    samples=_SAMPLES,
    reference=lambda x, h, w, u, b, c: np.maximum(x @ w.T + b + (h @ u.T + c), 0),
    node="ReluBackward0",
)
def rnn_relu_cell(input, hx, w_ih, w_hh, b_ih, b_hh):
    """relu(input @ w_ih.T + b_ih + hx @ w_hh.T + b_hh)."""


def _forward(activate: Any, input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any) -> np.ndarray:
    out, product = blas.dot(input, w_ih.T), blas.dot(hx, w_hh.T)
    if {x.dtype for x in (product, b_ih, b_hh)} != {out.dtype} or not b_ih.shape == b_hh.shape == out.shape[1:]:
        raise RuntimeError("an RNN's cell got operands that do not fit together")  # the loop has no bounds checks
    activate(out, product, np.ascontiguousarray(b_ih), np.ascontiguousarray(b_hh))
    return out


def _declare(cell: KernelOp, activate: Any, is_tanh: bool) -> None:
    """The kernels and gradients of a cell."""

    @cell.kernel("cpu")
    def _(input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any) -> np.ndarray:
        return _forward(activate, input, hx, w_ih, w_hh, b_ih, b_hh)

    @cell.grad("input", "hx", "w_ih", "w_hh", "b_ih", "b_hh")
    def _(g, input, hx, w_ih, w_hh, out):
        d = g * (1 - out * out) if is_tanh else g * (out > 0).to(out.dtype)
        bias = d.sum(0)
        return d @ w_ih, d @ w_hh, d.t() @ input, d.t() @ hx, bias, bias

    @cell.fused_backward("cpu")
    def _(g: Any, input: Any, hx: Any, w_ih: Any, w_hh: Any, out: Any, needs: tuple[bool, ...]) -> tuple[Any, ...]:
        d = np.empty_like(out)
        cell_slopes(np.ascontiguousarray(g).reshape(-1), out.reshape(-1), d.reshape(-1), is_tanh)
        factors = (w_ih, w_hh, input, hx)
        grads = [
            None if not needed else blas.dot(d if k < 2 else d.T, factor)
            for k, (needed, factor) in enumerate(zip(needs, factors, strict=False))
        ]
        if not (needs[4] or needs[5]):
            return (*grads, None, None)
        bias = sum_to_shape(d, d.shape[1:])
        return (*grads, bias if needs[4] else None, bias.copy() if needs[5] else None)


_declare(rnn_tanh_cell, tanh_cell_rows, True)
_declare(rnn_relu_cell, relu_cell_rows, False)
