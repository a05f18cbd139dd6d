"""Losses: nll_loss, mse_loss."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .array import Shape
from .cpu import loop
from .reductions import sum_all
from .registry import Sample, op


# ---------------------------------------------------------------------------------------------------- nll_loss
@loop
def nll_rows(input, target, losses, ignore_index):
    """Loss of each row, and the number of rows that count; `-1 - i` when target i is no class."""
    classes = input.shape[1]
    counted = 0
    for i in range(target.shape[0]):
        t = target[i]
        if t == ignore_index:
            losses[i] = 0
            continue
        if t < 0 or t >= classes:
            return -1 - i
        losses[i] = -input[i, t]
        counted += 1
    return counted


@loop
def nll_rows_backward(out, target, weights, ignore_index):
    """Zeros with each row's weight at its target; `-1 - i` when target i is no class."""
    classes = out.shape[1]
    for i in range(target.shape[0]):
        for j in range(classes):
            out[i, j] = 0
        if target[i] != ignore_index:
            if target[i] < 0 or target[i] >= classes:
                return -1 - i
            out[i, target[i]] = weights[i]
    return 0


def _check_rows(shape: Shape, target: np.ndarray) -> None:
    """The loops read side by side without bounds checks: refuse anything but (n, classes) and n int64 targets."""
    if len(shape) != 2 or target.shape != shape[:1] or target.dtype != np.int64:
        raise RuntimeError(
            f"nll_loss() takes (n, classes) and n int64 targets, got {shape} and {target.dtype} {target.shape}"
        )


def _raise_out_of_bounds(target: np.ndarray, code: int) -> None:
    raise IndexError(f"Target {int(target[-1 - code])} is out of bounds.")


@op(
    samples=[
        Sample(((3, 4), [1, 0, 3]), {"reduction": "mean"}),
        Sample(((3, 4), [1, 0, 3]), {"reduction": "sum"}),
        Sample(((3, 4), [1, -100, 3]), {"reduction": "none"}),
    ],
    reference=lambda x, target, reduction, ignore_index: _nll_reference(x, target, reduction, ignore_index),
    plain=("target",),
)
def nll_loss(input, target, *, reduction="mean", ignore_index=-100):
    """Negative log likelihood: minus the item of each row of (n, classes) log-probabilities at its int64 target.

    Raises IndexError for a target outside [0, classes) that is not `ignore_index`.
    """


def _nll_reference(input: np.ndarray, target: np.ndarray, reduction: str, ignore_index: int) -> np.ndarray:
    counted = target != ignore_index
    losses = np.where(counted, -input[np.arange(len(target)), np.where(counted, target, 0)], 0)
    if reduction == "none":
        return losses
    return np.asarray(losses.sum() / (counted.sum() if reduction == "mean" else 1), input.dtype)


@nll_loss.kernel("cpu")
def _(input: np.ndarray, target: np.ndarray, reduction: str, ignore_index: int) -> np.ndarray:
    _check_rows(input.shape, target)
    losses = np.empty(target.shape, input.dtype)
    counted = nll_rows(np.ascontiguousarray(input), np.ascontiguousarray(target), losses, ignore_index)
    if counted < 0:
        _raise_out_of_bounds(target, counted)
    if reduction == "none":
        return losses
    total: Any = sum_all(losses)
    if reduction == "mean":
        total = total / counted if counted else math.nan
    return np.asarray(total, input.dtype)


@nll_loss.grad("input")
def _(g, target, input_shape, reduction, ignore_index):
    return nll_loss_backward(g, target, shape=input_shape, reduction=reduction, ignore_index=ignore_index)


@op(
    samples=[Sample(((), [1, 0]), {"shape": (2, 3), "reduction": "sum"})],
    reference=lambda g, target, shape, reduction, ignore_index: np.where(
        np.arange(shape[1]) == target[:, None], -g, 0.0
    ),
    linear="jointly",
)
def nll_loss_backward(g, target, *, shape, reduction, ignore_index=-100):
    """Gradient of `nll_loss` for its input. Linear in `g`."""


@nll_loss_backward.kernel("cpu")
def _(g: np.ndarray, target: np.ndarray, shape: Shape, reduction: str, ignore_index: int) -> np.ndarray:
    count = np.count_nonzero(target != ignore_index) if reduction == "mean" else 1
    weights = np.broadcast_to(-g / g.dtype.type(max(count, 1)), target.shape)
    _check_rows(shape, target)
    out = np.empty(shape, g.dtype)
    code = nll_rows_backward(out, np.ascontiguousarray(target), np.ascontiguousarray(weights), ignore_index)
    if code < 0:
        _raise_out_of_bounds(target, code)
    return out


@nll_loss_backward.grad("g")
def _(g, target, reduction, ignore_index):
    return nll_loss(g, target, reduction=reduction, ignore_index=ignore_index)


# ---------------------------------------------------------------------------------------------------- mse_loss
@loop
def squared_difference_sum(x, y):
    """Sum of the squared differences, in blocks."""
    total = _A(0)  # noqa: F821
    n = x.shape[0]
    for start in range(0, n, 256):
        partial = _T(0)  # noqa: F821
        for i in range(start, min(start + 256, n)):
            difference = x[i] - y[i]
            partial += difference * difference
        total += partial
    return total


def _reduce(values: np.ndarray, reduction: str) -> np.ndarray:
    if reduction == "none":
        return values
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(
            values.mean() if reduction == "mean" and values.size else values.sum() / (1 if reduction == "sum" else 0),
            values.dtype,
        )


@op(
    samples=[Sample(((3, 2), (3, 2)), {"reduction": r}) for r in ("mean", "sum", "none")],
    reference=lambda x, y, reduction: _reduce((x - y) ** 2, reduction),
)
def mse_loss(input, target, *, reduction="mean"):
    """Squared difference of two tensors of one shape: its mean, its sum, or ("none") each item."""


@mse_loss.kernel("cpu")
def _(input: np.ndarray, target: np.ndarray, reduction: str) -> np.ndarray:
    if reduction == "none":
        return np.square(input - target)
    total = squared_difference_sum(*(np.ascontiguousarray(a).reshape(-1) for a in (input, target)))
    if reduction == "mean":
        total = total / input.size if input.size else math.nan
    return np.asarray(total, input.dtype)


@mse_loss.grad("input")
def _(g, input, target, reduction):
    return g * (input - target) * _mse_scale(input.shape, reduction)


@mse_loss.grad("target")
def _(g, input, target, reduction):
    return g * (target - input) * _mse_scale(input.shape, reduction)


def _mse_scale(shape: Shape, reduction: str) -> float:
    return 2.0 / max(math.prod(shape), 1) if reduction == "mean" else 2.0


@mse_loss.fused_backward("cpu")
def _(g: np.ndarray, input: np.ndarray, target: np.ndarray, reduction: str, needs: tuple[bool, ...]) -> tuple[Any, ...]:
    first = (input - target) * (g * g.dtype.type(_mse_scale(input.shape, reduction)))
    return (first if needs[0] else None, -first if needs[1] else None)
