"""Items held within bounds: clamp and its halves, fmax, fmin, nan_to_num.

`clamp` passes the gradient at a bound, too. Bounds are numbers or tensors; as in PyTorch their nodes differ.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .arithmetic import where
from .registry import ElementwiseOp, Uniform, elementwise

_LOW, _HIGH = Uniform(-1.1, -0.9), Uniform(0.9, 1.1)
_ITEMS = Uniform(away_from=(-1.0, 1.0))


def _between(input, min, max):
    """`input` where it is within the bounds, else the nearer one; `max` where that is below `min`."""
    if input != input:
        return input
    if min != min or max != max:
        return min + max
    low = min if input < min else input
    return max if low > max else low


def _at_least(input, min):
    """`input` where it is not below `min`, else that."""
    return min if input < min or min != min else input


def _at_most(input, max):
    """`input` where it is not above `max`, else that."""
    return max if input > max or max != max else input


def _declared(name: str, function: Any, node: str, numbers: bool) -> ElementwiseOp:
    bounds = {_between: ("min", "max"), _at_least: ("min",), _at_most: ("max",)}[function]
    ranges = {"min": _LOW, "max": _HIGH}
    references: dict[Any, Any] = {_between: np.clip, _at_least: np.maximum, _at_most: np.minimum}
    made = elementwise(
        samples=(_ITEMS, *[ranges[b] for b in bounds]),
        reference=references[function],
        name=name,
        node=node,
        backward_name=f"clamp_backward{function.__name__}",
        plain=bounds if numbers else (),
        public=(),
    )(function)
    for input, (rule, on_tensors) in _RULES[function].items():
        made.grad(input)(rule)
        made.vjp(input)(on_tensors)
    return made


def _inside(g, input, min, max):  # scalar functions
    return g if min <= input and input <= max else 0


def _below(g, input, min, max):
    return g if min < max and input < min else 0


def _above(g, input, min, max):
    return g if max < min or input > max else 0


def _not_below(g, input, min):
    return g if input >= min else 0


def _under(g, input, min):
    return g if input < min else 0


def _not_above(g, input, max):
    return g if input <= max else 0


def _over(g, input, max):
    return g if input > max else 0


_RULES: dict[Any, dict[str, tuple[Any, Any]]] = {
    _between: {
        "input": (_inside, lambda g, input, min, max: where((input >= min) * (input <= max), g, 0)),
        "min": (_below, lambda g, input, min, max: where((input < min) * (min < max), g, 0)),
        "max": (_above, lambda g, input, min, max: where((input > max) + (max < min), g, 0)),
    },
    _at_least: {
        "input": (_not_below, lambda g, input, min: where(input >= min, g, 0)),
        "min": (_under, lambda g, input, min: where(input < min, g, 0)),
    },
    _at_most: {
        "input": (_not_above, lambda g, input, max: where(input <= max, g, 0)),
        "max": (_over, lambda g, input, max: where(input > max, g, 0)),
    },
}

clamp = _declared("clamp", _between, "ClampBackward1", numbers=True)
clamp_low = _declared("clamp.low", _at_least, "ClampBackward1", numbers=True)
clamp_high = _declared("clamp.high", _at_most, "ClampBackward1", numbers=True)
clamp_tensor = _declared("clamp.Tensor", _between, "ClampBackward0", numbers=False)
clamp_low_tensor = _declared("clamp.low_Tensor", _at_least, "ClampBackward0", numbers=False)
clamp_high_tensor = _declared("clamp.high_Tensor", _at_most, "ClampBackward0", numbers=False)
clamp_min = _declared("clamp_min", _at_least, "ClampMinBackward0", numbers=True)
clamp_min_tensor = _declared("clamp_min.Tensor", _at_least, "ClampMinBackward1", numbers=False)
clamp_max = _declared("clamp_max", _at_most, "ClampMaxBackward0", numbers=True)
clamp_max_tensor = _declared("clamp_max.Tensor", _at_most, "ClampMaxBackward1", numbers=False)


# ---------------------------------------------------------------------------------------------------- fmax, fmin
@elementwise(samples=Uniform(), reference=np.fmax, public=("function", "method"), tensors=("input", "other"))
def fmax(input, other):
    """The larger of two items; where one is NaN, the other. The gradient of equal items goes to `input`."""
    return input if input >= other or other != other else other


@fmax.grad("input")
def _(g, input, other):
    return g if input >= other or other != other else 0


@fmax.vjp("input")
def _(g, input, other):
    return where((input >= other) + (other != other), g, 0)


@fmax.grad("other")
def _(g, input, other):
    return 0 if input >= other or other != other else g


@fmax.vjp("other")
def _(g, input, other):
    return where((input >= other) + (other != other), 0, g)


@elementwise(samples=Uniform(), reference=np.fmin, public=("function", "method"), tensors=("input", "other"))
def fmin(input, other):
    """The smaller of two items; where one is NaN, the other. The gradient of equal items goes to `input`."""
    return input if input <= other or other != other else other


@fmin.grad("input")
def _(g, input, other):
    return g if input <= other or other != other else 0


@fmin.vjp("input")
def _(g, input, other):
    return where((input <= other) + (other != other), g, 0)


@fmin.grad("other")
def _(g, input, other):
    return 0 if input <= other or other != other else g


@fmin.vjp("other")
def _(g, input, other):
    return where((input <= other) + (other != other), 0, g)


# ---------------------------------------------------------------------------------------------------- nan_to_num
@elementwise(
    samples=(Uniform(), Uniform(), Uniform(), Uniform()),
    reference=lambda x, nan, posinf, neginf: np.where(
        np.isnan(x), nan, np.where(x == np.inf, posinf, np.where(x == -np.inf, neginf, x))
    ),
    plain=("nan", "posinf", "neginf"),
    public=(),
)
def nan_to_num(input, nan, posinf, neginf):
    """`input` with numbers for its NaNs and infinities, whose gradients are 0."""
    if input != input:
        return nan
    return posinf if input == math.inf else neginf if input == -math.inf else input


@nan_to_num.grad("input")
def _(g, input):
    return g if input - input == 0 else 0


@nan_to_num.vjp("input")
def _(g, input):
    return where(input - input == 0, g, 0)


for _name in ("nan", "posinf", "neginf"):
    nan_to_num.constant_in(_name)
