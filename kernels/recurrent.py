"""Recurrent layers: Elman's, LSTM and GRU over all steps of a sequence in one op, in one direction.

Their input is what the weights of the input have made of it, biases included: one matrix product for all steps. What is
left to do step by step is the product with the last hidden state and the gates.

The rows of a sequence stand one time step below the other: (steps, batch, width), or (rows, width) where `batch_sizes`
tells how many of the sequences, sorted from the longest to the shortest, reach each step. `reverse` runs from the last step
to the first. The gates that an op computes are outputs, too, so that its gradient reads them and itself has gradients.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from . import blas
from .array import Shape
from .cpu import loop
from .movement import cat
from .reductions import sum_to_shape
from .registry import Sample, op


# ---------------------------------------------------------------------------------------------------- time steps
class Step(NamedTuple):
    """`size` rows from `start` on: the first `carried` continue those from `before` on, all others begin."""

    start: int
    size: int
    before: int
    carried: int

    @property
    def rows(self) -> slice:
        """Its rows among those of all steps."""
        return slice(self.start, self.start + self.size)


def time_steps(lead: Shape, batch_sizes: tuple[int, ...] | None, reverse: bool) -> list[Step]:
    """The steps in the order of computation, of (steps, batch) or, with `batch_sizes`, (rows,)."""
    sizes = (lead[1],) * lead[0] if batch_sizes is None else batch_sizes
    spans = list(zip(accumulate(sizes, initial=0), sizes, strict=False))
    steps = []
    before = carried = 0
    for start, size in reversed(spans) if reverse else spans:
        steps.append(Step(start, size, before, min(size, carried)))
        before, carried = start, size
    return steps


def previous(values: Any, initial: Any, step: Step, join: Callable[[Sequence[Any]], Any]) -> Any:
    """What the rows of a step follow: `values` of the step before, and `initial` ones for sequences that begin."""
    if not step.carried:
        return initial[: step.size]
    carried = values[step.before : step.before + step.carried]
    return carried if step.carried == step.size else join([carried, initial[step.carried : step.size]])


def _all_previous(values: Any, initial: Any, steps: Sequence[Step], join: Callable[[Sequence[Any]], Any]) -> Any:
    """What all rows follow, in the order of `values`."""
    return join([previous(values, initial, step, join) for step in sorted(steps)])


def _join_tensors(parts: Sequence[Any]) -> Any:
    return cat(*parts, dim=0)


def _rows(x: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(x).reshape(-1, x.shape[-1])


def _tensor_rows(x: Any) -> Any:
    return x.reshape(-1, x.shape[-1])


def _zeros_for_none(g: Any, like: Any) -> Any:
    return like.new_zeros(like.shape) if g is None else g


def _updated(carry: Any, new: Any) -> Any:
    """The gradient of the last states: its first rows are `new`."""
    return new if len(new) == len(carry) else _join_tensors([new, carry[len(new) :]])


def _check(name: str, gates: int, batch_sizes: tuple[int, ...] | None, input: np.ndarray, weight: np.ndarray,
           *states: np.ndarray) -> None:  # fmt: skip
    """Raise RuntimeError for what does not fit together: the loops read side by side without bounds checks."""
    width = weight.shape[-1]
    batch = input.shape[1] if batch_sizes is None else batch_sizes[0]
    rows = len(input) if batch_sizes is None else sum(batch_sizes)
    if (
        input.shape[-1] != gates * width
        or weight.shape != (gates * width, width)
        or len(input) != rows
        or any(x.shape != (batch, width) for x in states)
        or any(x.dtype != input.dtype for x in (weight, *states))
    ):
        shapes = ", ".join(f"{x.dtype} {x.shape}" for x in (input, weight, *states))
        raise RuntimeError(f"{name}() of {batch} sequences got operands that do not fit together: {shapes}")


# ---------------------------------------------------------------------------------------------------- LSTM
@loop
def lstm_rows(gates, x, last, cells, hidden):
    """A step of an LSTM. `gates` holds the products with the hidden state first, and the gates in the end."""
    n = cells.shape[1]
    for r in range(cells.shape[0]):
        row, given = gates[r], x[r]
        i, f, g, o = row[:n], row[n : 2 * n], row[2 * n : 3 * n], row[3 * n :]
        before, cell, result = last[r], cells[r], hidden[r]
        for j in range(4 * n):
            row[j] += given[j]
        for j in range(2 * n):  # loops that begin in the middle of a row would not be vectorised
            row[j] = _sigmoid(row[j])  # noqa: F821
        for j in range(n):
            g[j] = _tanh(g[j])  # noqa: F821
        for j in range(n):
            o[j] = _sigmoid(o[j])  # noqa: F821
        for j in range(n):
            c = f[j] * before[j] + i[j] * g[j]
            cell[j] = c
            result[j] = o[j] * _tanh(c)  # noqa: F821


@loop
def lstm_rows_backward(result, gates, last, cells, dh, dc):
    """Adds to `result` gradients of the gates, then makes it that of their sums; `dc` becomes that of `last`."""
    n = cells.shape[1]
    for r in range(cells.shape[0]):
        row = gates[r]
        i, f, g, o = row[:n], row[n : 2 * n], row[2 * n : 3 * n], row[3 * n :]
        row = result[r]
        di, df, dg, do = row[:n], row[n : 2 * n], row[2 * n : 3 * n], row[3 * n :]
        before, cell, grad, carried = last[r], cells[r], dh[r], dc[r]
        for j in range(n):
            t = _tanh(cell[j])  # noqa: F821
            d = carried[j] + grad[j] * o[j] * (1 - t * t)
            di[j] = (di[j] + d * g[j]) * i[j] * (1 - i[j])
            df[j] = (df[j] + d * before[j]) * f[j] * (1 - f[j])
            dg[j] = (dg[j] + d * i[j]) * (1 - g[j] * g[j])
            do[j] = (do[j] + grad[j] * t) * o[j] * (1 - o[j])
            carried[j] = d * f[j]


def _logistic(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def _lstm_reference(input, hx, cx, weight, batch_sizes, reverse):
    rows = input.reshape(-1, input.shape[-1])
    gates, hidden = np.empty_like(rows), np.empty((len(rows), hx.shape[1]), rows.dtype)
    cells = np.empty_like(hidden)
    for step in time_steps(input.shape, batch_sizes, reverse):
        h, c = (previous(values, x, step, np.concatenate) for values, x in ((hidden, hx), (cells, cx)))
        i, f, g, o = np.split(rows[step.rows] + h @ weight.T, 4, axis=1)
        i, f, g, o = _logistic(i), _logistic(f), np.tanh(g), _logistic(o)
        gates[step.rows] = np.concatenate([i, f, g, o], 1)
        cells[step.rows] = f * c + i * g
        hidden[step.rows] = o * np.tanh(cells[step.rows])
    return tuple(x.reshape(*input.shape[:-1], -1) for x in (hidden, cells, gates))


@op(
    samples=[
        Sample(((3, 2, 8), (2, 2), (2, 2), (8, 2))),
        Sample(((6, 8), (3, 2), (3, 2), (8, 2)), {"batch_sizes": (3, 2, 1)}),
        Sample(((6, 8), (3, 2), (3, 2), (8, 2)), {"batch_sizes": (3, 2, 1), "reverse": True}),
    ],
    reference=_lstm_reference,
    outputs=3,
    node="MkldnnRnnLayerBackward0",
)
def lstm(input, hx, cx, weight, *, batch_sizes=None, reverse=False):
    """Hidden states, cells and gates of an LSTM over a sequence.

    Source: S. Hochreiter, J. Schmidhuber, "Long short-term memory" (1997); the forget gate: Gers et al. (2000).
    """


@lstm.kernel("cpu")
def _(
    input: np.ndarray,
    hx: np.ndarray,
    cx: np.ndarray,
    weight: np.ndarray,
    batch_sizes: tuple[int, ...] | None,
    reverse: bool,
) -> tuple[np.ndarray, ...]:
    _check("lstm", 4, batch_sizes, input, weight, hx, cx)
    x, hx, cx = _rows(input), _rows(hx), _rows(cx)
    gates, cells = np.empty_like(x), np.empty((len(x), cx.shape[1]), x.dtype)
    hidden = np.empty_like(cells)
    factor = np.ascontiguousarray(weight.T)  # halves the time of each product
    for step in time_steps(input.shape, batch_sizes, reverse):
        rows = step.rows
        blas.dot(previous(hidden, hx, step, np.concatenate), factor, gates[rows])
        lstm_rows(gates[rows], x[rows], previous(cells, cx, step, np.concatenate), cells[rows], hidden[rows])
    return tuple(a.reshape(*input.shape[:-1], a.shape[1]) for a in (hidden, cells, gates))


@lstm.grad("input", "hx", "cx", "weight")
def _(g0, g1, g2, hx, cx, weight, out0, out1, out2, batch_sizes, reverse):
    steps = time_steps(out0.shape, batch_sizes, reverse)
    hidden, cells, gates = _tensor_rows(out0), _tensor_rows(out1), _tensor_rows(out2)
    g_hidden, g_cells, g_gates = (
        _tensor_rows(_zeros_for_none(g, out)) for g, out in ((g0, out0), (g1, out1), (g2, out2))
    )
    dh, dc = hx.new_zeros(hx.shape), cx.new_zeros(cx.shape)
    parts = {}
    for step in reversed(steps):
        rows = step.rows
        i, f, g, o = gates[rows].chunk(4, 1)
        gi, gf, gg, go = g_gates[rows].chunk(4, 1)
        last, t = previous(cells, cx, step, _join_tensors), cells[rows].tanh()
        grad = dh[: step.size] + g_hidden[rows]
        d = dc[: step.size] + g_cells[rows] + grad * o * (1 - t * t)
        pre = [(gi + d * g) * i * (1 - i), (gf + d * last) * f * (1 - f), (gg + d * i) * (1 - g * g)]
        parts[step.start] = cat(*pre, (go + grad * t) * o * (1 - o), dim=1)
        dh, dc = _updated(dh, parts[step.start] @ weight), _updated(dc, d * f)
    result = _join_tensors([parts[start] for start in sorted(parts)])
    dw = result.t() @ _all_previous(hidden, hx, steps, _join_tensors)
    return result.reshape(out2.shape), dh, dc, dw


@lstm.fused_backward("cpu")
def _(
    g0: Any, g1: Any, g2: Any, hx: Any, cx: Any, weight: Any, out0: Any, out1: Any, out2: Any,
    batch_sizes: tuple[int, ...] | None, reverse: bool, needs: tuple[bool, ...],
) -> tuple[Any, ...]:  # fmt: skip
    steps = time_steps(out0.shape, batch_sizes, reverse)
    hidden, cells, gates = _rows(out0), _rows(out1), _rows(out2)
    hx, cx = _rows(hx), _rows(cx)
    result = np.zeros_like(gates) if g2 is None else _rows(g2).copy()
    g_hidden, g_cells = (None if g is None else _rows(g) for g in (g0, g1))
    dh, dc = np.zeros_like(hx), np.zeros_like(cx)
    for step in reversed(steps):
        rows, grad, carried = step.rows, dh[: step.size], dc[: step.size]
        if g_hidden is not None:
            grad += g_hidden[rows]
        if g_cells is not None:
            carried += g_cells[rows]
        last = previous(cells, cx, step, np.concatenate)
        lstm_rows_backward(result[rows], gates[rows], last, cells[rows], grad, carried)
        blas.dot(result[rows], weight, grad)
    dw = blas.dot(result.T, _all_previous(hidden, hx, steps, np.concatenate)) if needs[3] else None
    return result.reshape(out2.shape), dh, dc, dw


# ---------------------------------------------------------------------------------------------------- GRU
@loop
def gru_rows(gates, x, product, last, hidden):
    """A step of a GRU. `product` is the hidden state's with bias; its last third is kept with the gates."""
    n = hidden.shape[1]
    for r in range(hidden.shape[0]):
        row, given, own = gates[r], x[r], product[r]
        reset, z, new, kept = row[:n], row[n : 2 * n], row[2 * n : 3 * n], row[3 * n :]
        given_new, own_new = given[2 * n :], own[2 * n :]
        before, result = last[r], hidden[r]
        for j in range(2 * n):
            row[j] = _sigmoid(own[j] + given[j])  # noqa: F821
        for j in range(n):
            kept[j] = own_new[j]
            new[j] = _tanh(reset[j] * own_new[j] + given_new[j])  # noqa: F821
        for j in range(n):
            result[j] = new[j] + z[j] * (before[j] - new[j])


@loop
def gru_rows_backward(dproduct, dx, gates, last, dh):
    """Gradients of both sums of a step, from those of its gates in `dx` and (the product) in the last part of `dproduct`.

    `dh` becomes what the last hidden state gets by the update gate.
    """
    n = last.shape[1]
    for r in range(last.shape[0]):
        row, grad, before = gates[r], dh[r], last[r]
        reset, z, new, product = row[:n], row[n : 2 * n], row[2 * n : 3 * n], row[3 * n :]
        row = dx[r]
        dr, dz, dn = row[:n], row[n : 2 * n], row[2 * n : 3 * n]
        row = dproduct[r]
        pr, pz, pn = row[:n], row[n : 2 * n], row[2 * n : 3 * n]
        for j in range(n):
            d = (dn[j] + grad[j] * (1 - z[j])) * (1 - new[j] * new[j])
            dn[j] = d
            dr[j] = (dr[j] + d * product[j]) * reset[j] * (1 - reset[j])
            dz[j] = (dz[j] + grad[j] * (before[j] - new[j])) * z[j] * (1 - z[j])
            pr[j] = dr[j]
            pz[j] = dz[j]
            pn[j] += d * reset[j]
            grad[j] *= z[j]


def _gru_reference(input, hx, weight, bias, batch_sizes, reverse):
    rows, n = input.reshape(-1, input.shape[-1]), hx.shape[1]
    gates, hidden = np.empty((len(rows), 4 * n), rows.dtype), np.empty((len(rows), n), rows.dtype)
    for step in time_steps(input.shape, batch_sizes, reverse):
        h = previous(hidden, hx, step, np.concatenate)
        x, product = rows[step.rows], h @ weight.T + bias
        rz = _logistic(x[:, : 2 * n] + product[:, : 2 * n])
        new = np.tanh(x[:, 2 * n :] + rz[:, :n] * product[:, 2 * n :])
        gates[step.rows] = np.concatenate([rz, new, product[:, 2 * n :]], 1)
        hidden[step.rows] = new + rz[:, n:] * (h - new)
    return tuple(x.reshape(*input.shape[:-1], -1) for x in (hidden, gates))


@op(
    samples=[
        Sample(((3, 2, 6), (2, 2), (6, 2), (6,))),
        Sample(((6, 6), (3, 2), (6, 2), (6,)), {"batch_sizes": (3, 2, 1)}),
        Sample(((6, 6), (3, 2), (6, 2), (6,)), {"batch_sizes": (3, 2, 1), "reverse": True}),
    ],
    reference=_gru_reference,
    outputs=2,
)
def gru(input, hx, weight, bias, *, batch_sizes=None, reverse=False):
    """Hidden states, and gates with the product that the reset gate scales, of a GRU over a sequence.

    Source: K. Cho et al., "Learning phrase representations using RNN encoder-decoder" (2014); the reset gate is applied
    after the product, as cuDNN does it.
    """


@gru.kernel("cpu")
def _(
    input: np.ndarray,
    hx: np.ndarray,
    weight: np.ndarray,
    bias: np.ndarray,
    batch_sizes: tuple[int, ...] | None,
    reverse: bool,
) -> tuple[np.ndarray, ...]:
    _check("gru", 3, batch_sizes, input, weight, hx)
    x, hx, n = _rows(input), _rows(hx), hx.shape[1]
    gates, hidden = np.empty((len(x), 4 * n), x.dtype), np.empty((len(x), n), x.dtype)
    factor = np.ascontiguousarray(weight.T)
    for step in time_steps(input.shape, batch_sizes, reverse):
        rows, h = step.rows, previous(hidden, hx, step, np.concatenate)
        product = blas.dot(h, factor)
        product += bias
        gru_rows(gates[rows], x[rows], product, h, hidden[rows])
    return tuple(a.reshape(*input.shape[:-1], a.shape[1]) for a in (hidden, gates))


@gru.grad("input", "hx", "weight", "bias")
def _(g0, g1, hx, weight, out0, out1, batch_sizes, reverse):
    steps = time_steps(out0.shape, batch_sizes, reverse)
    hidden, gates = _tensor_rows(out0), _tensor_rows(out1)
    g_hidden, g_gates = (_tensor_rows(_zeros_for_none(g, out)) for g, out in ((g0, out0), (g1, out1)))
    dh = hx.new_zeros(hx.shape)
    inner, outer = {}, {}
    for step in reversed(steps):
        rows = step.rows
        r, z, new, product = gates[rows].chunk(4, 1)
        gr, gz, gn, gp = g_gates[rows].chunk(4, 1)
        last = previous(hidden, hx, step, _join_tensors)
        grad = dh[: step.size] + g_hidden[rows]
        dn = (gn + grad * (1 - z)) * (1 - new * new)
        dr = (gr + dn * product) * r * (1 - r)
        dz = (gz + grad * (last - new)) * z * (1 - z)
        outer[step.start] = cat(dr, dz, dn, dim=1)
        inner[step.start] = cat(dr, dz, gp + dn * r, dim=1)
        dh = _updated(dh, grad * z + inner[step.start] @ weight)
    dx, dproduct = (_join_tensors([parts[start] for start in sorted(parts)]) for parts in (outer, inner))
    dw = dproduct.t() @ _all_previous(hidden, hx, steps, _join_tensors)
    return dx.reshape(*out0.shape[:-1], dx.shape[1]), dh, dw, dproduct.sum(0)


@gru.fused_backward("cpu")
def _(
    g0: Any, g1: Any, hx: Any, weight: Any, out0: Any, out1: Any,
    batch_sizes: tuple[int, ...] | None, reverse: bool, needs: tuple[bool, ...],
) -> tuple[Any, ...]:  # fmt: skip
    steps = time_steps(out0.shape, batch_sizes, reverse)
    hidden, gates, hx = _rows(out0), _rows(out1), _rows(hx)
    n = hidden.shape[1]
    dx, dproduct = np.zeros((len(hidden), 3 * n), hidden.dtype), np.zeros((len(hidden), 3 * n), hidden.dtype)
    if g1 is not None:
        g = _rows(g1)
        dx[:], dproduct[:, 2 * n :] = g[:, : 3 * n], g[:, 3 * n :]
    g_hidden = None if g0 is None else _rows(g0)
    dh = np.zeros_like(hx)
    for step in reversed(steps):
        rows, grad = step.rows, dh[: step.size]
        if g_hidden is not None:
            grad += g_hidden[rows]
        gru_rows_backward(dproduct[rows], dx[rows], gates[rows], previous(hidden, hx, step, np.concatenate), grad)
        grad += blas.dot(dproduct[rows], weight)
    dw = blas.dot(dproduct.T, _all_previous(hidden, hx, steps, np.concatenate)) if needs[2] else None
    return dx.reshape(*out0.shape[:-1], 3 * n), dh, dw, sum_to_shape(dproduct, (3 * n,)) if needs[3] else None


# ---------------------------------------------------------------------------------------------------- Elman's network
@loop
def tanh_rows(hidden, x):
    """tanh(hidden + x), written to `hidden`."""
    for i in range(hidden.shape[0]):
        hidden[i] = _tanh(hidden[i] + x[i])  # noqa: F821


def _rnn_reference(input, hx, weight, activation, batch_sizes, reverse):
    rows = input.reshape(-1, input.shape[-1])
    hidden = np.empty_like(rows)
    for step in time_steps(input.shape, batch_sizes, reverse):
        total = rows[step.rows] + previous(hidden, hx, step, np.concatenate) @ weight.T
        hidden[step.rows] = np.tanh(total) if activation == "tanh" else np.maximum(total, 0)
    return hidden.reshape(*input.shape[:-1], -1)


@op(
    samples=[
        Sample(((3, 2, 3), (2, 3), (3, 3)), {"activation": "tanh"}),
        Sample(((3, 2, 3), (2, 3), (3, 3)), {"activation": "relu"}),
        Sample(((6, 3), (3, 3), (3, 3)), {"activation": "tanh", "batch_sizes": (3, 2, 1), "reverse": True}),
    ],
    reference=_rnn_reference,
)
def rnn(input, hx, weight, *, activation, batch_sizes=None, reverse=False):
    """Hidden states of a recurrent network over a sequence: the activation, "tanh" or "relu", of the sum.

    Source: J. L. Elman, "Finding structure in time" (1990).
    """


@rnn.kernel("cpu")
def _(
    input: np.ndarray,
    hx: np.ndarray,
    weight: np.ndarray,
    activation: str,
    batch_sizes: tuple[int, ...] | None,
    reverse: bool,
) -> np.ndarray:
    _check("rnn", 1, batch_sizes, input, weight, hx)
    x, hx = _rows(input), _rows(hx)
    hidden = np.empty_like(x)
    factor = np.ascontiguousarray(weight.T)
    for step in time_steps(input.shape, batch_sizes, reverse):
        rows = hidden[step.rows]
        blas.dot(previous(hidden, hx, step, np.concatenate), factor, rows)
        if activation == "tanh":
            tanh_rows(rows.reshape(-1), x[step.rows].reshape(-1))
        else:
            rows += x[step.rows]
            np.maximum(rows, 0, out=rows)
    return hidden.reshape(input.shape)


@rnn.grad("input", "hx", "weight")
def _(g, hx, weight, out, activation, batch_sizes, reverse):
    steps = time_steps(out.shape, batch_sizes, reverse)
    hidden, g_hidden = _tensor_rows(out), _tensor_rows(g)
    slope = 1 - hidden * hidden if activation == "tanh" else (hidden > 0).to(hidden.dtype)
    dh = hx.new_zeros(hx.shape)
    parts = {}
    for step in reversed(steps):
        rows = step.rows
        parts[step.start] = (dh[: step.size] + g_hidden[rows]) * slope[rows]
        dh = _updated(dh, parts[step.start] @ weight)
    result = _join_tensors([parts[start] for start in sorted(parts)])
    return result.reshape(out.shape), dh, result.t() @ _all_previous(hidden, hx, steps, _join_tensors)


@rnn.fused_backward("cpu")
def _(
    g: np.ndarray, hx: Any, weight: Any, out: Any, activation: str,
    batch_sizes: tuple[int, ...] | None, reverse: bool, needs: tuple[bool, ...],
) -> tuple[Any, ...]:  # fmt: skip
    steps = time_steps(out.shape, batch_sizes, reverse)
    hidden, hx = _rows(out), _rows(hx)
    slope = 1 - hidden * hidden if activation == "tanh" else (hidden > 0).astype(hidden.dtype)
    result = _rows(g).copy()
    dh = np.zeros_like(hx)
    for step in reversed(steps):
        rows, grad = result[step.rows], dh[: step.size]
        rows += grad
        rows *= slope[step.rows]
        blas.dot(rows, weight, grad)
    dw = blas.dot(result.T, _all_previous(hidden, hx, steps, np.concatenate)) if needs[2] else None
    return result.reshape(out.shape), dh, dw


# ---------------------------------------------------------------------------------------------------- packing
def _pack(input: np.ndarray, batch_sizes: tuple[int, ...]) -> np.ndarray:
    return np.concatenate([row[:size] for row, size in zip(input, batch_sizes, strict=False)])


@op(
    samples=[Sample(((4, 3, 2),), {"batch_sizes": (3, 2, 1)})],
    reference=_pack,
    moves=True,
    linear="jointly",
)
def pack_padded_sequence(input, *, batch_sizes):
    """Of (steps, batch, ...) the rows that belong to a sequence, one step after the other: (rows, ...)."""


@pack_padded_sequence.kernel("cpu")
def _(input: np.ndarray, batch_sizes: tuple[int, ...]) -> np.ndarray:
    return _pack(input, batch_sizes)


@pack_padded_sequence.grad("input")
def _(g, input_shape, batch_sizes):
    return unpack_sequence(g, shape=input_shape, batch_sizes=batch_sizes)


def _unpack(g: np.ndarray, shape: Shape, batch_sizes: tuple[int, ...]) -> np.ndarray:
    out = np.zeros(shape, g.dtype)
    for t, (stop, size) in enumerate(zip(accumulate(batch_sizes), batch_sizes, strict=True)):
        out[t, :size] = g[stop - size : stop]
    return out


@op(
    samples=[Sample(((6, 2),), {"shape": (4, 3, 2), "batch_sizes": (3, 2, 1)})],
    reference=_unpack,
    moves=True,
    linear="jointly",
)
def unpack_sequence(g, *, shape, batch_sizes):
    """The gradient of `pack_padded_sequence`: the rows in their places, and zeros."""


@unpack_sequence.kernel("cpu")
def _(g: np.ndarray, shape: Shape, batch_sizes: tuple[int, ...]) -> np.ndarray:
    return _unpack(g, shape, batch_sizes)


@unpack_sequence.grad("g")
def _(g, batch_sizes):
    return pack_padded_sequence(g, batch_sizes=batch_sizes)
