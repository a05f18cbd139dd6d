"""Rounding, signs and division with a whole quotient. All are flat wherever they have a derivative."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .arithmetic import where
from .registry import ElementwiseOp, Sample, Uniform, elementwise, op

_BETWEEN = Uniform(away_from=(-2.0, -1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0))
_DIVISOR = Uniform(0.6, 1.0)


def _no_bool(kernel: str) -> NotImplementedError:
    return NotImplementedError(f"\"{kernel}\" not implemented for 'Bool'")


# ---------------------------------------------------------------------------------------------------- rounding
@elementwise(samples=_BETWEEN, reference=np.floor, bool_error=_no_bool("floor_vml_cpu"))
def floor(input):
    """The largest whole number that is not above `input`. Its gradient is 0."""
    return math.floor(input)


floor.constant_in("input")


@elementwise(samples=_BETWEEN, reference=np.ceil, bool_error=_no_bool("ceil_vml_cpu"))
def ceil(input):
    """The smallest whole number that is not below `input`. Its gradient is 0."""
    return math.ceil(input)


ceil.constant_in("input")


@elementwise(samples=_BETWEEN, reference=np.trunc, aliases=("fix",), bool_error=_no_bool("trunc_vml_cpu"))
def trunc(input):
    """`input` without its fraction. Its gradient is 0."""
    return math.trunc(input)


trunc.constant_in("input")


@elementwise(samples=_BETWEEN, reference=np.round, name="round", bool_error=_no_bool("round_vml_cpu"), public=())
def round_(input):
    """The nearest whole number, the even one of two. Its gradient is 0."""
    return round(input)


round_.constant_in("input")


@elementwise(
    samples=(_BETWEEN, Uniform(10, 100)),
    reference=lambda x, scale: np.round(x * scale) / scale,
    name="round.decimals",
    node="RoundBackward1",
    plain=("scale",),
    floating_only="round_cpu",
    public=(),
)
def round_decimals(input, scale):
    """The nearest multiple of `1 / scale`; of `scale` itself, negated, where it is negative."""
    if scale < 0:
        return round(input / -scale) * -scale
    return round(input * scale) / scale


round_decimals.constant_in("input")


@elementwise(samples=_BETWEEN, reference=lambda x: x - np.trunc(x), floating_only="frac_cpu")
def frac(input):
    """The fraction of `input`, with its sign. Its gradient is 1."""
    return input - math.trunc(input)


@frac.grad("input", composite=True)
def _(g):
    return g


# ---------------------------------------------------------------------------------------------------- signs
@elementwise(
    samples=Uniform(away_from=(0.0,)),
    reference=lambda x: x < 0 if x.dtype.kind != "f" else np.signbit(x),
    result="bool",
    differentiable=False,
    public=("function", "method"),
)
def signbit(input):
    """Whether the sign bit is set: of negative numbers, and of -0.0."""
    return math.copysign(1.0, input) < 0


@elementwise(
    samples=Uniform(away_from=(0.0,)),
    reference=lambda x, y: np.where(x == 0, y, x > 0),
    tensors=("input", "values"),
    public=(),
)
def heaviside(input, values):
    """0 below 0 (and of NaN), 1 above it, and `values` at it.

    Its gradient is 0, that of `values` the incoming one at 0.
    """
    if input == 0:
        return values
    return 1 if input > 0 else 0


heaviside.constant_in("input")


@heaviside.grad("values")
def _(g, input):
    return g if input == 0 else 0


@heaviside.vjp("values")
def _(g, input):
    return where(input == 0, g, 0)


def _copysign(input, other):
    """The magnitude of `input` with the sign of `other`."""
    return math.copysign(input, other)


def _copysign_gradient(g, input, other):  # a scalar function
    return 0 if input == 0 else g * (math.copysign(1.0, input) * math.copysign(1.0, other))


def _as_copysign(name: str, **options: Any) -> ElementwiseOp:
    made = elementwise(
        samples=Uniform(away_from=(0.0,)),
        reference=np.copysign,
        name=name,
        result="float",
        backward_name="copysign_backward",
        public=(),
        **options,
    )(_copysign)
    made.grad("input")(_copysign_gradient)
    made.constant_in("other")
    return made


copysign = _as_copysign("copysign", node="CopysignBackward1", plain=("other",))
copysign_tensor = _as_copysign("copysign.Tensor", node="CopysignBackward0")


@op(samples=[Sample(((3, 4), (3, 4)))], reference=np.nextafter)
def nextafter(input, other):
    """The next number after `input` in the direction of `other`, both of one shape and dtype.

    Its gradient is 1 for `input`, but where the two are equal, and 0 for `other`.
    """


@nextafter.kernel("cpu")
def _(input: np.ndarray, other: np.ndarray) -> np.ndarray:
    return np.nextafter(input, other)


@nextafter.grad("input")
def _(g, input, other):
    return where(input == other, 0, g)


@nextafter.grad("other")
def _(g):
    return g.new_zeros(g.shape)


# ---------------------------------------------------------------------------------------------------- whole quotients
def _quotient(name: str, kernel: str, rounded: Any, reference: Any) -> ElementwiseOp:
    made = elementwise(
        samples=(_BETWEEN, _DIVISOR),
        reference=reference,
        name=name,
        node="DivBackward2",
        tensors=(),
        bool_error=_no_bool(kernel),
        public=(),
    )(rounded)
    made.constant_in("input")
    made.constant_in("other")
    return made


def _div_floor(input, other):
    """The quotient rounded down. Its gradients are 0."""
    return input // other


def _div_trunc(input, other):
    """The quotient without its fraction. Its gradients are 0."""
    return math.trunc(input / other)


def _trunc_divide(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.trunc(x / y).astype(np.result_type(x, y))


div_floor = _quotient("div.floor", "div_floor_cpu", _div_floor, np.floor_divide)
div_trunc = _quotient("div.trunc", "div_trunc_cpu", _div_trunc, _trunc_divide)


def _c_remainder(a, b):
    """What is left of `a` by whole multiples of `b`, with the sign of `a`: C's fmod."""
    rest = abs(a) % abs(b)
    if rest == abs(a):
        return a  # -0.0, too
    return -rest if a < 0 else rest


def _fmod(input, other):
    """The remainder of a division, with the sign of `input`."""
    return _c_remainder(input, other)


def _remainder(input, other):
    """The remainder of a division, with the sign of `other`, as Python's `%`."""
    rest = _c_remainder(input, other)
    return rest + other if rest != 0 and (rest < 0) != (other < 0) else rest


def _as_remainder(name: str, function: Any, reference: Any, kernel: str, **options: Any) -> ElementwiseOp:
    made = elementwise(
        samples=(_BETWEEN, _DIVISOR),
        reference=reference,
        name=name,
        bool_error=_no_bool(kernel),
        backward_name=f"{kernel}_backward",
        public=(),
        **options,
    )(function)
    made.grad("input", composite=True)(_pass)
    return made


def _pass(g):
    return g


remainder = _as_remainder(
    "remainder", _remainder, np.remainder, "remainder_cpu", node="RemainderBackward0", plain=("other",)
)
remainder_tensor = _as_remainder(
    "remainder.Tensor", _remainder, np.remainder, "remainder_cpu", node="RemainderBackward1", tensors=()
)
fmod = _as_remainder("fmod", _fmod, np.fmod, "fmod_cpu", node="FmodBackward0", plain=("other",))
fmod_tensor = _as_remainder("fmod.Tensor", _fmod, np.fmod, "fmod_cpu", node="FmodBackward1")

for _op in (remainder, remainder_tensor):

    @_op.grad("other")
    def _(g, input, other):
        return -g * (input // other)

    @_op.vjp("other")
    def _(g, input, other):
        return -g * div_floor(input, other)


for _op in (fmod, fmod_tensor):

    @_op.grad("other")
    def _(g, input, other):
        return -g * math.trunc(input / other)

    @_op.vjp("other")
    def _(g, input, other):
        return -g * div_trunc(input, other)
