"""Comparisons: they return bool and have no gradient."""

from __future__ import annotations

import numpy as np

from .registry import Uniform, elementwise


@elementwise(samples=Uniform(), reference=np.equal, result="bool", differentiable=False)
def eq(input, other):
    """Whether the items are equal. NaN equals nothing."""
    return input == other


@elementwise(samples=Uniform(), reference=np.not_equal, result="bool", differentiable=False, aliases=("not_equal",))
def ne(input, other):
    """Whether the items differ."""
    return input != other


@elementwise(samples=Uniform(), reference=np.less, result="bool", differentiable=False, aliases=("less",))
def lt(input, other):
    """`input < other`, item by item."""
    return input < other


@elementwise(samples=Uniform(), reference=np.less_equal, result="bool", differentiable=False, aliases=("less_equal",))
def le(input, other):
    """`input <= other`, item by item."""
    return input <= other


@elementwise(samples=Uniform(), reference=np.greater, result="bool", differentiable=False, aliases=("greater",))
def gt(input, other):
    """`input > other`, item by item."""
    return input > other


@elementwise(
    samples=Uniform(), reference=np.greater_equal, result="bool", differentiable=False, aliases=("greater_equal",)
)
def ge(input, other):
    """`input >= other`, item by item."""
    return input >= other
