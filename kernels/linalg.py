"""Matrix products. On the CPU they are BLAS's, through NumPy; on CUDA a tiled kernel."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import blas
from .array import Array, Shape
from .complex_numbers import conj
from .prepared import Operand, Prepared
from .reductions import sum_to_shape
from .registry import Sample, op


@op(
    samples=[Sample(((3, 4), (4, 2))), Sample(((1, 1), (1, 5))), Sample(((2, 0), (0, 3)))],
    reference=np.matmul,
    takes_complex=True,
    linear="separately",
)
def mm(input, mat2):
    """Product of two matrices, (n, m) and (m, p) to (n, p)."""


@mm.kernel("cpu")
def _(input: np.ndarray, mat2: np.ndarray) -> np.ndarray:
    return blas.dot(input, mat2)


@mm.prepared
def _(x: Operand, y: Operand) -> Prepared:
    left, right = x.shape, y.shape
    result = Operand((left[0], right[1]), x.dtype)
    return Prepared(lambda a, b: blas.dot(a.reshape(left), b.reshape(right)).reshape(-1), (result,))


@mm.kernel("cuda")
def _(input: Array, mat2: Array) -> Array:
    from . import cuda

    out = cuda.empty((input.shape[0], mat2.shape[1]), input.dtype, input.device)
    cuda.matmul(input, mat2, out)
    return out


@mm.grad("input")
def _(g, mat2):
    return g @ mat2.t()


@mm.grad("mat2")
def _(g, input):
    return input.t() @ g


@mm.fused_backward("cpu")
def _(g: np.ndarray, input: Any, mat2: Any, mat2_strides: Shape, needs: tuple[bool, ...]) -> tuple[Any, ...]:
    first = blas.dot(g, mat2.T) if needs[0] else None
    return first, _second_factor_gradient(g, input, mat2_strides) if needs[1] else None


def _second_factor_gradient(g: np.ndarray, first: np.ndarray, strides: Shape) -> np.ndarray:
    """`first.T @ g`, laid out in memory as the second factor: a transposed weight's gradient then needs no copy."""
    if strides[1] == 1:
        return blas.dot(first.T, g)
    return blas.dot(g.T, first).T


@op(
    samples=[Sample(((3,), (2, 4), (4, 3))), Sample(((2, 3), (2, 4), (4, 3)))],
    reference=lambda b, x, y: b + x @ y,
    takes_complex=True,
)
def addmm(input, mat1, mat2):
    """`input + mat1 @ mat2`, `input` broadcast: (p,) or (n, p), (n, m), (m, p) to (n, p)."""


@addmm.kernel("cpu")
def _(input: np.ndarray, mat1: np.ndarray, mat2: np.ndarray) -> np.ndarray:
    out = blas.dot(mat1, mat2)
    out += input
    return out


@addmm.grad("input")
def _(g, input_shape):
    return g.sum_to_size(input_shape)


@addmm.grad("mat1")
def _(g, mat2):
    return g @ mat2.t()


@addmm.grad("mat2")
def _(g, mat1):
    return mat1.t() @ g


@addmm.fused_backward("cpu")
def _(
    g: np.ndarray, input_shape: Shape, mat1: Any, mat2: Any, mat2_strides: Shape, needs: tuple[bool, ...]
) -> tuple[Any, ...]:
    bias = None
    if needs[0]:
        bias = g.copy() if g.shape == input_shape else sum_to_shape(g, input_shape)  # never the caller's own memory
    first = blas.dot(g, mat2.T) if needs[1] else None
    return bias, first, _second_factor_gradient(g, mat1, mat2_strides) if needs[2] else None


@op(samples=[Sample(((5,), (5,))), Sample(((0,), (0,)))], reference=np.dot, takes_complex=True, linear="separately")
def dot(input, tensor):
    """Inner product of two vectors."""


@dot.kernel("cpu")
def _(input: np.ndarray, tensor: np.ndarray) -> np.ndarray:
    return np.asarray(blas.vector_dot(input, tensor))


@dot.prepared
def _(x: Operand, y: Operand) -> Prepared:
    return Prepared(lambda a, b: np.array([blas.vector_dot(a, b)]), (Operand((), x.dtype),))


@dot.grad("input")
def _(g, tensor):
    return g * tensor


@dot.grad("tensor")
def _(g, input):
    return g * input


@op(samples=[Sample(((5,), (5,)))], reference=np.vdot, takes_complex=True)
def vdot(input, other):
    """Inner product of two vectors, the first one conjugated."""


@vdot.kernel("cpu")
def _(input: np.ndarray, other: np.ndarray) -> np.ndarray:
    return np.asarray(blas.vdot(input, other))


@vdot.grad("input")
def _(g, other):
    return conj(g * other)  # not holomorphic: from a conjugate as `g`, the conjugate of what PyTorch's formula gives


@vdot.grad("other")
def _(g, input):
    return g * conj(input)


@op(samples=[Sample(((3, 4), (4,)))], reference=np.matmul, takes_complex=True, linear="separately")
def mv(input, vec):
    """Product of a matrix (n, m) and a vector (m,)."""


@mv.kernel("cpu")
def _(input: np.ndarray, vec: np.ndarray) -> np.ndarray:
    return np.asarray(blas.vector_dot(input, vec))


@mv.prepared
def _(x: Operand, vec: Operand) -> Prepared:
    return Prepared(lambda a, b: blas.vector_dot(a.reshape(x.shape), b), (Operand(x.shape[:1], x.dtype),))


@mv.grad("input")
def _(g, vec):
    return g.unsqueeze(-1) * vec


@mv.grad("vec")
def _(g, input):
    return mv(input.t(), g)


@op(samples=[Sample(((2, 3, 4), (2, 4, 2)))], reference=np.matmul, takes_complex=True, linear="separately")
def bmm(input, mat2):
    """Products of matrices in a batch, (b, n, m) and (b, m, p) to (b, n, p)."""


@bmm.kernel("cpu")
def _(input: np.ndarray, mat2: np.ndarray) -> np.ndarray:
    return blas.matmul(input, mat2)


@bmm.kernel("cuda")
def _(input: Array, mat2: Array) -> Array:
    from . import cuda

    out = cuda.empty((*input.shape[:2], mat2.shape[2]), input.dtype, input.device)
    cuda.matmul(input, mat2, out)
    return out


@bmm.grad("input")
def _(g, mat2):
    return bmm(g, mat2.mT)


@bmm.grad("mat2")
def _(g, input):
    return bmm(input.mT, g)


@bmm.fused_backward("cpu")
def _(g: np.ndarray, input: Any, mat2: Any, needs: tuple[bool, ...]) -> tuple[Any, ...]:
    return (
        blas.matmul(g, mat2.swapaxes(1, 2)) if needs[0] else None,
        blas.matmul(input.swapaxes(1, 2), g) if needs[1] else None,
    )
