"""Ops about complex numbers: conjugates, angles, signs, parts as views, and how to make them of real ones.

`conj` copies: there is no lazy conjugate.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .array import Layout, Shape
from .registry import Sample, Uniform, elementwise, op
from .view_ops import view as view_op


# ---------------------------------------------------------------------------------------------------- elementwise
@elementwise(samples=Uniform(), reference=np.conjugate, public=())
def conj(input):
    """Complex conjugate; real numbers are their own."""
    return input


@conj.grad("input", composite=True)
def _(g):
    return g


@elementwise(samples=Uniform(), reference=np.conjugate, public=("in-place",))
def conj_physical(input):
    """Complex conjugate, in memory of its own; real numbers are their own."""
    return input


@conj_physical.grad("input", composite=True)
def _(g):
    return g


@elementwise(
    samples=Uniform(away_from=(0.0,)),
    reference=lambda x: np.where(np.isnan(x), x, np.where(x < 0, math.pi, 0)),
    result="float",
    public=("function", "method"),
)
def angle(input):
    """Angle of a complex number in [-pi, pi]; of real ones 0 or, below 0, pi. Its gradient at 0 is 0."""
    return math.pi if input < 0 else input if input != input else 0


angle.constant_in("input")


@elementwise(samples=Uniform(away_from=(0.0,)), reference=lambda x: np.where(np.isnan(x), 0, np.sign(x)))
def sgn(input):
    """`input / abs(input)`, 0 of 0; the sign of real numbers. The gradient of real numbers is 0."""
    return 1 if input > 0 else -1 if input < 0 else 0


sgn.constant_in("input")


# ---------------------------------------------------------------------------------------------------- views
_COMPLEX: dict[np.dtype, np.dtype] = {
    np.dtype(np.float32): np.dtype(np.complex64),
    np.dtype(np.float64): np.dtype(np.complex128),
}
_REAL = {c: r for r, c in _COMPLEX.items()}


@view_op(
    samples=[Sample(([[1 + 2j, 3.0], [0.5j, -1.0]],))],
    reference=lambda x: np.stack([x.real, x.imag], -1),
    dtype=lambda given: _REAL[given],
)
def view_as_real(shape: Shape, strides: Shape, offset: int) -> Layout:
    """Complex numbers as pairs of real ones, in a new last dimension."""
    return (*shape, 2), (*(2 * s for s in strides), 1), 2 * offset


@view_as_real.grad
def _(g: Any) -> Any:
    return view_as_complex(g.contiguous())


@view_op(
    samples=[Sample(((3, 2),))],
    reference=lambda x: x[..., 0] + 1j * x[..., 1],
    dtype=lambda given: _COMPLEX[given],
)
def view_as_complex(shape: Shape, strides: Shape, offset: int) -> Layout:
    """Pairs of real numbers, which the last dimension holds side by side, as complex ones."""
    if not shape:
        raise RuntimeError("Input tensor must have one or more dimensions")
    if shape[-1] != 2:
        raise RuntimeError("Tensor must have a last dimension of size 2")
    if strides[-1] != 1:
        raise RuntimeError("Tensor must have a last dimension with stride 1")
    if any(s % 2 for s in strides[:-1]):
        raise RuntimeError("Tensor must have a stride divisible by 2 for all but last dimension")
    if offset % 2:
        raise RuntimeError("Tensor must have a storage_offset divisible by 2")
    return shape[:-1], tuple(s // 2 for s in strides[:-1]), offset // 2


@view_as_complex.grad
def _(g: Any) -> Any:
    return view_as_real(g)


# ---------------------------------------------------------------------------------------------------- from real numbers
@op(samples=[Sample(((2, 3), (2, 3)))], reference=lambda x, y: x + 1j * y, name="complex")
def from_parts(real, imag):
    """Complex numbers of their real and imaginary parts."""


@from_parts.kernel("cpu")
def _(real: np.ndarray, imag: np.ndarray) -> np.ndarray:
    return _joined(real, imag)


def _joined(real: np.ndarray, imag: np.ndarray) -> np.ndarray:
    out: np.ndarray = np.empty(real.shape, _COMPLEX[real.dtype])
    out.real, out.imag = real, imag
    return out


@from_parts.grad("real")
def _(g):
    return g.real


@from_parts.grad("imag")
def _(g):
    return g.imag


@op(samples=[Sample(((2, 3), (2, 3)))], reference=lambda r, phi: r * np.exp(1j * phi))
def polar(abs, angle):
    """Complex numbers of their absolute values and angles."""


@polar.kernel("cpu")
def _(abs: np.ndarray, angle: np.ndarray) -> np.ndarray:
    return _joined(abs * np.cos(angle), abs * np.sin(angle))


@polar.grad("abs")
def _(g, angle):
    return g.real * angle.cos() + g.imag * angle.sin()


@polar.grad("angle")
def _(g, abs, angle):
    return abs * (g.imag * angle.cos() - g.real * angle.sin())
