"""Scans along a dimension: cumsum, cumprod, logcumsumexp, cummax, cummin."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from .arithmetic import where
from .array import around
from .cpu import Loop, loop
from .movement import cat, stack
from .prepared import Operand, Prepared
from .registry import Sample, op
from .scatter import scatter_add

_SCANNED = [Sample(((3, 4),), {"dim": 1}), Sample(((2, 3, 2),), {"dim": 1}), Sample(((),), {"dim": 0})]


def _blocks(x: np.ndarray, dim: int) -> np.ndarray:
    """A contiguous array as (before, n, after) around a dimension; a 0-d one is a row of one."""
    if not x.shape:
        return x.reshape(1, 1, 1)
    return np.ascontiguousarray(x).reshape(math.prod(x.shape[:dim]), x.shape[dim], math.prod(x.shape[dim + 1 :]))


def _scanned(scan: Callable[..., None], x: np.ndarray, dim: int, total: type) -> np.ndarray:
    """What a loop over (before, n, after) writes; `total` is the dtype that it keeps running totals in."""
    blocks = _blocks(x, dim)
    out = np.empty_like(blocks)
    if blocks.size:
        scan(blocks, out, np.empty(blocks.shape[2], total))
    return out.reshape(x.shape)


def _prepared(scan: Loop, x: Operand, dim: int) -> Prepared | None:
    """`_scanned` of a contiguous array of floats."""
    if x.dtype.kind != "f":
        return None
    blocks = around(x.shape, dim)
    size = math.prod(blocks)
    run_loop = scan.compiled(x.dtype)

    def run(items: np.ndarray) -> np.ndarray:
        out = np.empty(blocks, x.dtype)
        run_loop(items.reshape(blocks), out, np.empty(blocks[2]))
        return out.reshape(size)

    return Prepared(run, (x,))


def _widened(x: np.ndarray) -> np.ndarray:
    """Integers and bools are added and multiplied as int64."""
    return x if x.dtype.kind in "fc" else x.astype(np.int64, copy=False)


def _total(x: np.ndarray) -> type:
    return {"f": np.float64, "c": np.complex128}.get(x.dtype.kind, np.int64)


def _reversed_cumsum(x, dim):
    """Sums from each item to the end."""
    return cumsum(x.flip(dim), dim=dim).flip(dim) if x.dim() else x


# ---------------------------------------------------------------------------------------------------- cumsum
@loop
def cumsum_blocks(x, out, totals):
    """Running sums along the middle axis, kept in the accumulators' dtype."""
    for b in range(x.shape[0]):
        if x.shape[2] == 1:
            total = _A(0)  # noqa: F821
            for i in range(x.shape[1]):
                total += x[b, i, 0]
                out[b, i, 0] = total
        else:
            for j in range(x.shape[2]):
                totals[j] = 0
            for i in range(x.shape[1]):
                for j in range(x.shape[2]):
                    totals[j] += x[b, i, j]
                    out[b, i, j] = totals[j]


@op(samples=_SCANNED, reference=lambda x, dim: np.cumsum(x, dim) if x.shape else x, takes_complex=True)
def cumsum(input, *, dim):
    """Sums of the items up to each one along a dimension."""


@cumsum.kernel("cpu")
def _(input: np.ndarray, dim: int) -> np.ndarray:
    x = _widened(input)
    return _scanned(cumsum_blocks, x, dim, _total(x))


@cumsum.prepared
def _(x: Operand, dim: int) -> Prepared | None:
    return _prepared(cumsum_blocks, x, dim)


@cumsum.grad("input")
def _(g, dim):
    return _reversed_cumsum(g, dim)


@cumsum.fused_backward("cpu")
def _(g: np.ndarray, dim: int, needs: tuple[bool, ...]) -> tuple[np.ndarray]:
    if not g.ndim:
        return (g,)
    return (np.flip(_scanned(cumsum_blocks, np.flip(g, dim), dim, _total(g)), dim),)


# ---------------------------------------------------------------------------------------------------- cumprod
@loop
def cumprod_blocks(x, out, totals):
    """Running products along the middle axis."""
    for b in range(x.shape[0]):
        if x.shape[2] == 1:
            total = _A(1)  # noqa: F821
            for i in range(x.shape[1]):
                total *= x[b, i, 0]
                out[b, i, 0] = total
        else:
            for j in range(x.shape[2]):
                totals[j] = 1
            for i in range(x.shape[1]):
                for j in range(x.shape[2]):
                    totals[j] *= x[b, i, j]
                    out[b, i, j] = totals[j]


@op(samples=_SCANNED, reference=lambda x, dim: np.cumprod(x, dim) if x.shape else x, takes_complex=True)
def cumprod(input, *, dim):
    """Products of the items up to each one along a dimension. Its gradient is exact at zeros."""


@cumprod.kernel("cpu")
def _(input: np.ndarray, dim: int) -> np.ndarray:
    x = _widened(input)
    return _scanned(cumprod_blocks, x, dim, _total(x))


@cumprod.prepared
def _(x: Operand, dim: int) -> Prepared | None:
    return _prepared(cumprod_blocks, x, dim)


@cumprod.grad("input")
def _(g, input, out, dim):
    if not input.dim():
        return g
    if not (input == 0).any():
        return _reversed_cumsum(g * out, dim) / input
    parts = [_cumprod_gradient_at(g, input, dim, k) for k in range(input.shape[dim])]
    return stack(*parts, dim=dim) if parts else g.new_zeros(input.shape)


def _cumprod_gradient_at(g, input, dim, k):
    """The gradient for the k-th item: products of all the others, added up from k on. No division."""
    n = input.shape[dim]
    later = input.narrow(dim, k + 1, n - k - 1)
    ones = g.new_ones(tuple(1 if d == dim else m for d, m in enumerate(input.shape)))
    products = cumprod(cat(ones, later, dim=dim), dim=dim)
    before = input.narrow(dim, 0, k).prod(dim, True)
    return (g.narrow(dim, k, n - k) * products * before).sum(dim)


# ---------------------------------------------------------------------------------------------------- logcumsumexp
@loop
def logcumsumexp_blocks(x, out, totals):
    """Running logarithms of sums of exponentials along the middle axis."""
    for b in range(x.shape[0]):
        for j in range(x.shape[2]):
            totals[j] = -np.inf
        for i in range(x.shape[1]):
            for j in range(x.shape[2]):
                a = x[b, i, j]
                t = totals[j]
                if a != t or abs(a) != np.inf:
                    largest = a if a > t or a != a else t
                    t = largest + math.log1p(math.exp(-abs(a - t)))
                totals[j] = t
                out[b, i, j] = t


@op(samples=_SCANNED, reference=lambda x, dim: np.logaddexp.accumulate(x, dim) if x.shape else x)
def logcumsumexp(input, *, dim):
    """Logarithms of the sums of exponentials up to each item along a dimension, without overflow."""


@logcumsumexp.kernel("cpu")
def _(input: np.ndarray, dim: int) -> np.ndarray:
    return _scanned(logcumsumexp_blocks, input, dim, np.float64)


@loop
def logcumsumexp_gradient_blocks(g, x, out, result, totals):
    """Sums of g[j] * exp(x[i] - out[j]) over j >= i: each from the next one, by factors of at most 1."""
    n = x.shape[1]
    for b in range(x.shape[0]):
        for j in range(x.shape[2]):
            totals[j] = 0
        for i in range(n - 1, -1, -1):
            for j in range(x.shape[2]):
                now = out[b, i, j]
                if i + 1 < n and now != out[b, i + 1, j]:
                    totals[j] *= math.exp(now - out[b, i + 1, j])
                totals[j] += g[b, i, j]
                result[b, i, j] = 0 if now == -np.inf else math.exp(x[b, i, j] - now) * totals[j]


@logcumsumexp.fused_backward("cpu")
def _(g: np.ndarray, input: np.ndarray, out: np.ndarray, dim: int, needs: tuple[bool, ...]) -> tuple[np.ndarray]:
    blocks = [_blocks(x, dim) for x in (g, input, out)]
    result = np.empty_like(blocks[0])
    if result.size:
        logcumsumexp_gradient_blocks(*blocks, result, np.empty(result.shape[2], np.float64))
    return (result.reshape(input.shape),)


@logcumsumexp.grad("input")
def _(g, input, out, dim):
    if not input.dim():
        return g
    # By all pairs: higher derivatives and forward mode want a formula that is linear in `g`, at 0 too.
    n = input.shape[dim]
    later = g.new_ones((n, n)).triu() > 0
    finite = where(out == -math.inf, 0, out)
    exponents = input.transpose(dim, -1).unsqueeze(-1) - finite.transpose(dim, -1).unsqueeze(-2)
    weights = where(later, exponents, -math.inf).exp()
    return (weights * g.transpose(dim, -1).unsqueeze(-2)).sum(-1).transpose(dim, -1)


# ---------------------------------------------------------------------------------------------------- cummax, cummin
@loop
def cummax_blocks(x, out, indices):
    """Running maxima along the middle axis, and the last indices of them; NaN stays."""
    for b in range(x.shape[0]):
        if x.shape[2] == 1:
            i = 0
            while i < x.shape[1]:  # a branch that is seldom taken: a selection would wait for the one before
                best = x[b, i, 0]
                place = i
                while True:
                    out[b, i, 0] = best
                    indices[b, i, 0] = place
                    i += 1
                    if i == x.shape[1] or x[b, i, 0] >= best or x[b, i, 0] != x[b, i, 0]:
                        break
        else:
            for j in range(x.shape[2]):
                out[b, 0, j] = x[b, 0, j]
                indices[b, 0, j] = 0
            for i in range(1, x.shape[1]):
                for j in range(x.shape[2]):
                    item = x[b, i, j]
                    best = out[b, i - 1, j]
                    replaces = (item >= best) | (item != item)
                    out[b, i, j] = item if replaces else best
                    indices[b, i, j] = i if replaces else indices[b, i - 1, j]


@loop
def cummin_blocks(x, out, indices):
    """Running minima along the middle axis, and the last indices of them; NaN stays."""
    for b in range(x.shape[0]):
        if x.shape[2] == 1:
            i = 0
            while i < x.shape[1]:  # a branch that is seldom taken: a selection would wait for the one before
                best = x[b, i, 0]
                place = i
                while True:
                    out[b, i, 0] = best
                    indices[b, i, 0] = place
                    i += 1
                    if i == x.shape[1] or x[b, i, 0] <= best or x[b, i, 0] != x[b, i, 0]:
                        break
        else:
            for j in range(x.shape[2]):
                out[b, 0, j] = x[b, 0, j]
                indices[b, 0, j] = 0
            for i in range(1, x.shape[1]):
                for j in range(x.shape[2]):
                    item = x[b, i, j]
                    best = out[b, i - 1, j]
                    replaces = (item <= best) | (item != item)
                    out[b, i, j] = item if replaces else best
                    indices[b, i, j] = i if replaces else indices[b, i - 1, j]


def _running(scan: Callable[..., None], x: np.ndarray, dim: int) -> tuple[np.ndarray, np.ndarray]:
    blocks = _blocks(x, dim)
    out, indices = np.empty_like(blocks), np.empty(blocks.shape, np.int64)
    if blocks.size:
        scan(blocks, out, indices)
    return out.reshape(x.shape), indices.reshape(x.shape)


def _reference(x: np.ndarray, dim: int, best: np.ufunc) -> tuple[np.ndarray, np.ndarray]:
    if not x.shape:
        return x, np.zeros((), np.int64)
    values = best.accumulate(x, dim)
    here = (x == values) | (x != x)
    places = np.where(here, np.arange(x.shape[dim]).reshape([-1 if d == dim else 1 for d in range(x.ndim)]), 0)
    return values, np.maximum.accumulate(places, dim)


@op(samples=_SCANNED, reference=lambda x, dim: _reference(x, dim, np.maximum), outputs=2)
def cummax(input, *, dim):
    """The largest of the items up to each one along a dimension, and the last index of it; NaN stays."""


@cummax.kernel("cpu")
def _(input: np.ndarray, dim: int) -> tuple[np.ndarray, np.ndarray]:
    return _running(cummax_blocks, input, dim)


@op(samples=_SCANNED, reference=lambda x, dim: _reference(x, dim, np.minimum), outputs=2)
def cummin(input, *, dim):
    """The smallest of the items up to each one along a dimension, and the last index of it; NaN stays."""


@cummin.kernel("cpu")
def _(input: np.ndarray, dim: int) -> tuple[np.ndarray, np.ndarray]:
    return _running(cummin_blocks, input, dim)


for _one in (cummax, cummin):
    _one.non_differentiable_outputs = (1,)

    @_one.grad("input")
    def _(g0, out1, input_shape, dim):
        return scatter_add(g0.new_zeros(input_shape), out1, g0, dim=dim)
