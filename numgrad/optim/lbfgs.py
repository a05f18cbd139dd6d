"""L-BFGS: quasi-Newton steps from the last gradients, with a line search."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..autograd.grad_mode import enable_grad, no_grad
from ..creation import zeros
from ..memory_format import contiguous_format
from ..ops import cat, view_as_real
from .fused import as_number, check_lr
from .optimizer import Group, Optimizer, Params

__all__ = ["LBFGS"]

Closure = Callable[[], Any]
Evaluate = Callable[[Any], "Point"]  # of a step length


class LBFGS(Optimizer):
    """Quasi-Newton steps: the inverse Hessian is estimated from the last `history_size` changes of the gradient.

    A step takes up to `max_iter` iterations, and calls the closure up to `max_eval` times (1.25 * max_iter unless given).
    It ends early when no gradient is above `tolerance_grad`, or parameters or loss change by less than
    `tolerance_change`. `line_search_fn` is None, for steps of length `lr`, or "strong_wolfe".

    Sources: J. Nocedal, S. Wright, "Numerical optimization" (2006), algorithms 7.4, 3.5 and 3.6.

    >>> w = tensor([1.0], requires_grad=True)
    >>> optimizer = LBFGS([w], line_search_fn="strong_wolfe")
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = ((w - 3) ** 2).sum()
    ...     loss.backward()
    ...     return loss
    >>> loss = optimizer.step(closure)
    >>> w
    tensor([3.], requires_grad=True)

    Raises:
        ValueError: a negative learning rate, or several groups.
        RuntimeError: an unknown line search, in the step.
    """

    def __init__(
        self,
        params: Params,
        lr: Any = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        check_lr(lr)
        defaults = {
            "lr": lr,
            "max_iter": max_iter,
            "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change,
            "history_size": history_size,
            "line_search_fn": line_search_fn,
        }
        super().__init__(params, defaults)
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")

    @no_grad()
    def step(self, closure: Closure) -> Any:
        """Take up to `max_iter` iterations; the loss that the closure gave at first is returned.

        Args:
            closure: clears the gradients, evaluates the model and the gradients anew, and returns the loss.
        """
        group = self.param_groups[0]
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        evaluate = enable_grad()(closure)
        first_loss = evaluate()
        state["func_evals"] += 1
        gradient = self._flat_gradient()
        if gradient.abs().max() <= group["tolerance_grad"]:
            return first_loss
        self._iterate(group, state, evaluate, as_number(first_loss), gradient)
        return first_loss

    def _iterate(self, group: Group, state: dict[str, Any], closure: Closure, loss: float, gradient: Any) -> None:
        tolerance = group["tolerance_change"]
        evaluations = 1
        for iteration in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            if state["n_iter"] == 1:
                state.update(d=gradient.neg(), t=None, old_dirs=[], old_stps=[], ro=[], H_diag=1)
                length = min(1.0, 1.0 / gradient.abs().sum()) * group["lr"]
            else:
                _update_history(state, gradient, group["history_size"])
                state["d"] = _direction(state, gradient, group["history_size"])
                length = group["lr"]
            state["prev_flat_grad"] = gradient.clone(memory_format=contiguous_format)
            state["prev_loss"] = before = loss
            state["t"], direction = length, state["d"]
            slope = gradient.dot(direction)
            if slope > -tolerance:
                return
            calls = 0
            if group["line_search_fn"] is not None:
                most = group["max_eval"] - evaluations
                found, calls = self._search(group, closure, Point(0, loss, gradient, slope), direction, length, most)
                loss, gradient, state["t"] = found.loss, found.gradient, found.t
                self._move(found.t, direction)
            else:
                self._move(length, direction)
                if iteration != group["max_iter"]:
                    loss, gradient, calls = as_number(closure()), self._flat_gradient(), 1
            evaluations += calls
            state["func_evals"] += calls
            if (
                evaluations >= group["max_eval"]
                or gradient.abs().max() <= group["tolerance_grad"]
                or direction.mul(state["t"]).abs().max() <= tolerance
                or abs(loss - before) < tolerance
            ):
                return

    def _search(
        self, group: Group, closure: Closure, start: Point, direction: Any, length: Any, most: int
    ) -> tuple[Point, int]:
        if group["line_search_fn"] != "strong_wolfe":
            raise RuntimeError("only 'strong_wolfe' is supported")
        begin = [param.clone(memory_format=contiguous_format) for param in self._params]

        def evaluate(t: Any) -> Point:
            self._move(t, direction)
            loss, gradient = as_number(closure()), self._flat_gradient()
            for param, value in zip(self._params, begin, strict=True):
                param.copy_(value)
            return Point(t, loss, gradient, gradient.dot(direction))

        return _strong_wolfe(evaluate, start, length, float(direction.abs().max()), most)

    # ------------------------------------------------------------------------------------------ parameters as one vector
    @property
    def _params(self) -> list[Any]:
        params: list[Any] = self.param_groups[0]["params"]
        return params

    def _flat_gradient(self) -> Any:
        """The gradients of all parameters as one vector; complex ones as pairs."""
        parts = []
        for param in self._params:
            gradient = zeros(param.shape, dtype=param.dtype, device=param.device) if param.grad is None else param.grad
            parts.append((view_as_real(gradient) if gradient.is_complex() else gradient).reshape(-1))
        return cat(parts, 0)

    def _move(self, length: Any, direction: Any) -> None:
        offset = 0
        for param in self._params:
            target = view_as_real(param) if param.is_complex() else param
            size = target.numel()
            target.add_(direction[offset : offset + size].view_as(target), alpha=length)
            offset += size


# ---------------------------------------------------------------------------------------------------- the direction
def _update_history(state: dict[str, Any], gradient: Any, most: int) -> None:
    """Take in the last step and the change of the gradient, if the curvature along it is positive."""
    change, moved = gradient.sub(state["prev_flat_grad"]), state["d"].mul(state["t"])
    curvature = change.dot(moved)
    if curvature > 1e-10:
        history = state["old_dirs"], state["old_stps"], state["ro"]
        for values, new in zip(history, (change, moved, 1.0 / curvature), strict=True):
            if len(values) == most:
                values.pop(0)
            values.append(new)
        state["H_diag"] = curvature / change.dot(change)


def _direction(state: dict[str, Any], gradient: Any, most: int) -> Any:
    """Minus the inverse Hessian's estimate times the gradient, by two loops over the history."""
    changes, moves, ro = state["old_dirs"], state["old_stps"], state["ro"]
    alphas = state.setdefault("al", [None] * most)
    q = gradient.neg()
    for i in range(len(changes) - 1, -1, -1):
        alphas[i] = moves[i].dot(q) * ro[i]
        q.add_(changes[i], alpha=-alphas[i])
    direction = q.mul(state["H_diag"])
    for i in range(len(changes)):
        direction.add_(moves[i], alpha=alphas[i] - changes[i].dot(direction) * ro[i])
    return direction


# ---------------------------------------------------------------------------------------------------- the line search
@dataclass(frozen=True)
class Point:
    """A point of the line: step length, loss, gradient, and its slope along the line."""

    t: Any
    loss: float
    gradient: Any
    slope: Any


_DECREASE, _CURVATURE = 1e-4, 0.9  # Wolfe's constants, c1 and c2
_SHORTEST = 1e-9  # the interval that is still searched, times the direction's largest item


def _strong_wolfe(evaluate: Evaluate, start: Point, length: Any, scale: float, most: int) -> tuple[Point, int]:
    """A point where the loss has fallen enough and the slope is small, and how often the closure was called.

    First the length grows until there is such a point, or an interval that has one; then the interval shrinks.
    """
    point, before = evaluate(length), start
    calls = 1
    ends: list[Point] | None = None
    for i in range(most):
        if _is_too_high(point, start) or (i > 1 and point.loss >= before.loss):
            ends = [before, point]
            break
        if abs(point.slope) <= -_CURVATURE * start.slope:
            return point, calls
        if point.slope >= 0:
            ends = [before, point]
            break
        low, high = point.t + 0.01 * (point.t - before.t), point.t * 10
        following = _cubic_minimum(before, point, (low, high))
        before, point = point, evaluate(following)
        calls += 1
    if ends is None:
        return _better_of([start, point]), calls
    return _zoom(evaluate, start, ends, scale, calls, most)


def _zoom(
    evaluate: Evaluate, start: Point, ends: list[Point], scale: float, calls: int, most: int
) -> tuple[Point, int]:
    """Shrink an interval to a point that will do."""
    low = 0 if ends[0].loss <= ends[1].loss else 1
    is_near_end = False
    while calls - 1 < most:
        lengths = [end.t for end in ends]
        if abs(lengths[1] - lengths[0]) * scale < _SHORTEST:
            break
        t = _cubic_minimum(ends[0], ends[1])
        left, right = min(lengths), max(lengths)
        margin = 0.1 * (right - left)
        if min(right - t, t - left) < margin:  # too near an end for the second time, or outside
            if is_near_end or t >= right or t <= left:
                t = right - margin if abs(t - right) < abs(t - left) else left + margin
                is_near_end = False
            else:
                is_near_end = True
        else:
            is_near_end = False
        point = evaluate(t)
        calls += 1
        high = 1 - low
        if _is_too_high(point, start) or point.loss >= ends[low].loss:
            ends[high] = point
            low = 0 if ends[0].loss <= ends[1].loss else 1
            continue
        is_done = bool(abs(point.slope) <= -_CURVATURE * start.slope)
        if not is_done and point.slope * (ends[high].t - ends[low].t) >= 0:
            ends[high] = ends[low]
        ends[low] = point
        if is_done:
            break
    return ends[low], calls


def _is_too_high(point: Point, start: Point) -> bool:
    """Whether the loss has not fallen enough: Armijo's condition does not hold."""
    return bool(point.loss > start.loss + _DECREASE * point.t * start.slope)


def _better_of(points: list[Point]) -> Point:
    return points[0] if points[0].loss <= points[1].loss else points[1]


def _cubic_minimum(a: Point, b: Point, bounds: tuple[Any, Any] | None = None) -> Any:
    """Where the cubic through two points, with their slopes, is least within bounds, or between the points."""
    a, b = (a, b) if a.t <= b.t else (b, a)
    least, most = (a.t, b.t) if bounds is None else bounds
    d1 = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.t - b.t)
    square = d1**2 - a.slope * b.slope
    if not square >= 0:
        return (least + most) / 2.0
    d2 = square.sqrt()
    found = b.t - (b.t - a.t) * ((b.slope + d2 - d1) / (b.slope - a.slope + 2 * d2))
    return min(max(found, least), most)
