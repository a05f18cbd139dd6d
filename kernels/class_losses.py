"""Negative log likelihood of class indices: `nll_loss` for (n, classes) or (classes), `nll_loss2d` for (n, classes, h, w).

Both are one pair of loops over (n, classes, positions). With class weights they are ops of their own, since a weight is a
tensor.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .array import Shape
from .cpu import loop
from .prepared import Operand, Prepared
from .registry import Sample, op


# ---------------------------------------------------------------------------------------------------- loops
@loop
def nll_items(input, target, weight, losses, totals, ignore_index):
    """The loss at each position, sums of losses and weights; the number of the first target that is no class, or -1."""
    width = target.shape[1]
    weighted = weight.shape[0] > 0
    total = 0.0
    counted = 0.0
    for i in range(target.shape[0]):
        for s in range(width):
            t = target[i, s]
            if t == ignore_index:
                losses[i, s] = 0
                continue
            if t < 0 or t >= input.shape[1]:
                return i * width + s
            w = weight[t] if weighted else _T(1)  # noqa: F821
            losses[i, s] = -input[i, t, s] * w
            total += losses[i, s]
            counted += w
    totals[0] = total
    totals[1] = counted
    return -1


@loop
def nll_gradient(out, target, weight, g, ignore_index):
    """Write `-g`, one number or one for each, times its weight at each target; returns as `nll_items` does."""
    width = target.shape[1]
    single = g.shape[0] == 1
    weighted = weight.shape[0] > 0
    for i in range(target.shape[0]):
        for s in range(width):
            t = target[i, s]
            if t == ignore_index:
                continue
            if t < 0 or t >= out.shape[1]:
                return i * width + s
            out[i, t, s] = -g[0 if single else i * width + s] * (weight[t] if weighted else _T(1))  # noqa: F821
    return -1


# ---------------------------------------------------------------------------------------------------- on arrays
def _classes(shape: Shape) -> int:
    return shape[1] if len(shape) > 1 else shape[0]


def _forms(shape: Shape, target: np.ndarray, weight: np.ndarray | None, dtype: np.dtype) -> tuple[Shape, Any, Any]:
    """The shape (n, classes, positions), and contiguous targets (n, positions) and weights (none: of size 0) for the loops.

    They read side by side without bounds checks, so this raises RuntimeError for what does not fit.
    """
    rows = shape[:1] + shape[2:] if len(shape) > 1 else ()
    fits = target.shape == rows or (len(shape) == 1 and target.shape == (1,))
    fits = fits and bool(shape) and (weight is None or weight.shape == (_classes(shape),))
    if not fits or target.dtype != np.int64:
        raise RuntimeError(
            f"nll_loss() takes (n, classes, ...), int64 targets (n, ...) and maybe a weight for each class, got {shape}, "
            f"{target.dtype} {target.shape}" + ("" if weight is None else f" and {weight.shape}")
        )
    n, positions = (shape[0], math.prod(shape[2:])) if len(shape) > 1 else (1, 1)
    weights = np.empty(0, dtype) if weight is None else np.ascontiguousarray(weight, dtype)
    return (n, _classes(shape), positions), np.ascontiguousarray(target).reshape(n, positions), weights


def _raise_out_of_bounds(target: np.ndarray, number: int) -> None:
    raise IndexError(f"Target {int(target.flat[number])} is out of bounds.")


def _forward(
    input: np.ndarray, target: np.ndarray, weight: np.ndarray | None, reduction: str, ignore_index: int
) -> np.ndarray:
    form, targets, weights = _forms(input.shape, target, weight, input.dtype)
    losses, totals = np.empty(targets.shape, input.dtype), np.empty(2)
    found = nll_items(np.ascontiguousarray(input).reshape(form), targets, weights, losses, totals, ignore_index)
    if found >= 0:
        _raise_out_of_bounds(targets, found)
    if reduction == "none":
        return losses.reshape(target.shape if input.ndim > 1 else ())
    return _reduced(totals, reduction, input.dtype)


def _prepared(x: Operand, target: Operand, reduction: str, ignore_index: int) -> Prepared | None:
    """`_forward` of contiguous operands without weights."""
    shape = x.shape
    form = (shape[0], shape[1], math.prod(shape[2:])) if len(shape) > 1 else (1, shape[0], 1)
    wanted = shape[:1] + shape[2:] if len(shape) > 1 else ()
    if target.shape != wanted or target.dtype != np.int64:
        return None
    positions = form[0], form[2]
    nothing, run_loop = np.empty(0, x.dtype), nll_items.compiled(x.dtype)

    def run(items: np.ndarray, targets: np.ndarray) -> np.ndarray:
        losses, totals = np.empty(positions, x.dtype), np.empty(2)
        found = run_loop(items.reshape(form), targets.reshape(positions), nothing, losses, totals, ignore_index)
        if found >= 0:
            _raise_out_of_bounds(targets, found)
        return losses.reshape(-1) if reduction == "none" else _reduced(totals, reduction, x.dtype).reshape(1)

    return Prepared(run, (Operand(wanted if reduction == "none" else (), x.dtype),))


def _reduced(totals: np.ndarray, reduction: str, dtype: np.dtype) -> np.ndarray:
    """The sum of the losses, or their mean, from the sums of losses and weights."""
    total, counted = totals.tolist()
    if reduction == "mean":
        total = total / counted if counted else math.nan
    return np.array(total, dtype)


def _backward(
    g: np.ndarray, target: np.ndarray, weight: np.ndarray | None, shape: Shape, reduction: str, ignore_index: int
) -> np.ndarray:
    form, targets, weights = _forms(shape, target, weight, g.dtype)
    if reduction == "mean":
        counted = targets != ignore_index
        total = np.count_nonzero(counted) if weight is None else weight[targets[counted]].sum(dtype=np.float64)
        g = g / g.dtype.type(total) if total else np.full_like(g, math.nan)
    out = np.zeros(form, g.dtype)
    found = nll_gradient(out, targets, weights, np.ascontiguousarray(g).reshape(-1), ignore_index)
    if found >= 0:
        _raise_out_of_bounds(targets, found)
    return out.reshape(shape)


def _reference(
    x: np.ndarray, target: np.ndarray, weight: np.ndarray | None = None, *, reduction: str, ignore_index: int
) -> np.ndarray:
    counted = target != ignore_index
    known = np.where(counted, target, 0)
    weights = counted * (1 if weight is None else weight[known])
    losses = -np.take_along_axis(x, known[:, None], 1)[:, 0] * weights
    if reduction == "none":
        return losses.astype(x.dtype)
    return np.asarray(losses.sum() / (weights.sum() if reduction == "mean" else 1), x.dtype)


# ---------------------------------------------------------------------------------------------------- ops
_ROWS = [
    Sample(((3, 4), [1, 0, 3]), {"reduction": "mean"}),
    Sample(((3, 4), [1, 0, 3]), {"reduction": "sum"}),
    Sample(((3, 4), [1, -100, 3]), {"reduction": "none"}),
]
_IMAGES = [
    Sample(((2, 3, 1, 2), [[[1, 0]], [[2, -100]]]), {"reduction": "mean"}),
    Sample(((2, 3, 1, 2), [[[1, 0]], [[2, 1]]]), {"reduction": "none"}),
]
_CLASS_WEIGHTS = [0.5, 2.0, 1.5, 0.25]


def _weighted(samples: list[Sample]) -> list[Sample]:
    return [Sample((*s.inputs, _CLASS_WEIGHTS[: s.inputs[0][1]]), s.attributes) for s in samples]


@op(samples=_ROWS, reference=_reference, plain=("target",))
def nll_loss(input, target, *, reduction="mean", ignore_index=-100):
    """Negative log likelihood: minus the item of each row of (n, classes) log-probabilities at its int64 target.

    Raises IndexError for a target outside [0, classes) that is not `ignore_index`.
    """


@op(samples=_IMAGES, reference=_reference, plain=("target",), node="NllLoss2DBackward0")
def nll_loss2d(input, target, *, reduction="mean", ignore_index=-100):
    """`nll_loss` at each position of (n, classes, h, w)."""


@op(samples=_weighted(_ROWS), reference=_reference, plain=("target", "weight"), name="nll_loss.weight",
    node="NllLossBackward0")  # fmt: skip
def nll_loss_weight(input, target, weight, *, reduction="mean", ignore_index=-100):
    """`nll_loss` with a weight for each class; the mean is the weighted one."""


@op(samples=_weighted(_IMAGES), reference=_reference, plain=("target", "weight"), name="nll_loss2d.weight",
    node="NllLoss2DBackward0")  # fmt: skip
def nll_loss2d_weight(input, target, weight, *, reduction="mean", ignore_index=-100):
    """`nll_loss2d` with a weight for each class; the mean is the weighted one."""


def _gradient_reference(
    g: np.ndarray, target: np.ndarray, weight: Any = None, *, shape: Shape, reduction: str, ignore_index: int
) -> np.ndarray:
    weights = np.ones(shape[1], g.dtype) if weight is None else weight
    return np.where(np.arange(shape[1]) == target[:, None], -g * weights, 0).astype(g.dtype)


_GRADIENT = Sample(((), [1, 0]), {"shape": (2, 3), "reduction": "sum"})


@op(samples=[_GRADIENT], reference=_gradient_reference, linear="jointly")
def nll_loss_backward(g, target, *, shape, reduction, ignore_index=-100):
    """Gradient of `nll_loss` and `nll_loss2d` for their input, of the given shape. Linear in `g`."""


@op(samples=[Sample((*_GRADIENT.inputs, _CLASS_WEIGHTS[:3]), _GRADIENT.attributes)], reference=_gradient_reference,
    name="nll_loss_backward.weight", linear="separately")  # fmt: skip
def nll_loss_backward_weight(g, target, weight, *, shape, reduction, ignore_index=-100):
    """`nll_loss_backward` with class weights."""


@nll_loss.kernel("cpu")
@nll_loss2d.kernel("cpu")
def _(input: np.ndarray, target: np.ndarray, reduction: str, ignore_index: int) -> np.ndarray:
    return _forward(input, target, None, reduction, ignore_index)


nll_loss.prepared(_prepared)
nll_loss2d.prepared(_prepared)


@nll_loss_weight.kernel("cpu")
@nll_loss2d_weight.kernel("cpu")
def _(input: np.ndarray, target: np.ndarray, weight: np.ndarray, reduction: str, ignore_index: int) -> np.ndarray:
    return _forward(input, target, weight, reduction, ignore_index)


@nll_loss_backward.kernel("cpu")
def _(g: np.ndarray, target: np.ndarray, shape: Shape, reduction: str, ignore_index: int) -> np.ndarray:
    return _backward(g, target, None, shape, reduction, ignore_index)


@nll_loss_backward_weight.kernel("cpu")
def _(
    g: np.ndarray, target: np.ndarray, weight: np.ndarray, shape: Shape, reduction: str, ignore_index: int
) -> np.ndarray:
    return _backward(g, target, weight, shape, reduction, ignore_index)


@nll_loss.grad("input")
@nll_loss2d.grad("input")
def _(g, target, input_shape, reduction, ignore_index):
    return nll_loss_backward(g, target, shape=input_shape, reduction=reduction, ignore_index=ignore_index)


@nll_loss_weight.grad("input")
@nll_loss2d_weight.grad("input")
def _(g, target, weight, input_shape, reduction, ignore_index):
    return nll_loss_backward_weight(
        g, target, weight, shape=input_shape, reduction=reduction, ignore_index=ignore_index
    )


@nll_loss.fused_backward("cpu")
@nll_loss2d.fused_backward("cpu")
def _(
    g: np.ndarray,
    target: np.ndarray,
    input_shape: Shape,
    reduction: str,
    ignore_index: int,
    needs: tuple[bool, ...],
) -> tuple[Any, ...]:
    return (_backward(g, target, None, input_shape, reduction, ignore_index), None)


@nll_loss_weight.fused_backward("cpu")
@nll_loss2d_weight.fused_backward("cpu")
def _(
    g: np.ndarray,
    target: np.ndarray,
    weight: np.ndarray,
    input_shape: Shape,
    reduction: str,
    ignore_index: int,
    needs: tuple[bool, ...],
) -> tuple[Any, ...]:
    return (_backward(g, target, weight, input_shape, reduction, ignore_index), None, None)


@nll_loss_backward.grad("g")
def _(g, target, shape, reduction, ignore_index):
    forward = nll_loss if len(shape) < 3 else nll_loss2d
    return forward(g, target, reduction=reduction, ignore_index=ignore_index)


@nll_loss_backward_weight.grad("g")
def _(g, target, weight, shape, reduction, ignore_index):
    forward = nll_loss_weight if len(shape) < 3 else nll_loss2d_weight
    return forward(g, target, weight, reduction=reduction, ignore_index=ignore_index)
