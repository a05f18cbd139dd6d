"""Products over chosen dimensions: outer, inner, kron, tensordot, einsum, cross, addmv and its kin, cdist."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..dispatch import dispatch
from ..dtype import bool_
from ..kernels import arithmetic
from .checks import check_tensors, written
from .dims import wrap_dim
from .linalg import bmm, matmul, mv
from .shaping import cat, expanded_size


# ---------------------------------------------------------------------------------------------------- of two
def outer(input: Any, vec2: Any, *, out: Any = None) -> Any:
    """The products of each item of one vector with each of another, (n,) and (m,) to (n, m)."""
    check_tensors("outer", input=input, vec2=vec2)
    for name, x in (("self", input), ("vec2", vec2)):
        if x.dim() != 1:
            raise RuntimeError(f"outer: Expected 1-D argument {name}, but got {x.dim()}-D")
    return dispatch(arithmetic.mul, (input.reshape(-1, 1), vec2), (), out)


ger = outer


def inner(input: Any, other: Any, *, out: Any = None) -> Any:
    """Products summed over the last dimensions of both; with a 0-d tensor the plain product."""
    check_tensors("inner", input=input, other=other)
    if input.dtype is not other.dtype:
        raise RuntimeError("both inputs should have same dtype")
    if not input.dim() or not other.dim():
        return dispatch(arithmetic.mul, (input, other), (), out)
    if input.shape[-1] != other.shape[-1]:
        raise RuntimeError(
            "inner() the last dimension must match on both input tensors but got shapes "
            f"{list(input.shape)} and {list(other.shape)}"
        )
    return tensordot(input, other, ([-1], [-1]), out=out)


def kron(input: Any, other: Any, *, out: Any = None) -> Any:
    """The Kronecker product: every item of `input` times all of `other`."""
    check_tensors("kron", input=input, other=other)
    rank = max(input.dim(), other.dim())
    a, b = ((1,) * (rank - x.dim()) + tuple(x.shape) for x in (input, other))
    left = input.reshape([n for m in a for n in (m, 1)])
    right = other.reshape([n for m in b for n in (1, m)])
    found = (left * right).reshape([m * n for m, n in zip(a, b, strict=True)])
    return written("kron", found, out)


def cross(input: Any, other: Any, dim: int | None = None, *, out: Any = None) -> Any:
    """The cross product of vectors of three items along `dim`, by default the first dimension that has three."""
    check_tensors("cross", input=input, other=other)
    if dim is None:
        dim = next((d for d, n in enumerate(input.shape) if n == 3), None)
        if dim is None:
            raise RuntimeError("no dimension of size 3 in input")
    return linalg_cross(input, other, dim=dim, out=out)


def linalg_cross(input: Any, other: Any, *, dim: int = -1, out: Any = None) -> Any:
    """The cross product of vectors of three items along `dim`; both are broadcast."""
    check_tensors("linalg_cross", input=input, other=other)
    if input.dim() != other.dim():
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    d = wrap_dim(dim, input.dim())
    if input.shape[d] != 3 or other.shape[d] != 3:
        raise RuntimeError(
            f"linalg.cross: inputs dimension {d if dim >= 0 else dim} must have length 3. Got {input.shape[d]} and "
            f"{other.shape[d]}"
        )
    a, b = ([x.narrow(d, k, 1) for k in range(3)] for x in (input, other))
    parts = [a[i] * b[j] - a[j] * b[i] for i, j in ((1, 2), (2, 0), (0, 1))]
    found = cat(parts, d)
    return written("linalg_cross", found, out)


# ---------------------------------------------------------------------------------------------------- added to a third
def _weighted(name: str, input: Any, product: Any, beta: float, alpha: float, out: Any) -> Any:
    """`beta * input + alpha * product`. With `beta` 0 the input does not count, NaN included."""
    if not product.dtype.is_differentiable:
        whole = bool if product.dtype is bool_ else int
        beta, alpha = whole(beta), whole(alpha)
    for factor in (beta, alpha):
        if isinstance(factor, complex):
            product.dtype.check_holds(factor)
    scaled = product if alpha == 1 else product * alpha
    if not beta:
        found = scaled + input.new_zeros(())
    else:
        found = (input if beta == 1 else input * beta) + scaled
    return written(name, found, out)


def addmv(input: Any, mat: Any, vec: Any, *, beta: float = 1, alpha: float = 1, out: Any = None) -> Any:
    """`beta * input + alpha * (mat @ vec)`, `input` broadcast."""
    check_tensors("addmv", input=input, mat=mat, vec=vec)
    if mat.dim() != 2 or vec.dim() != 1 or input.dim() > 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got {input.dim()}, {mat.dim()}, {vec.dim()}")
    if mat.shape[1] != vec.shape[0] or (input.numel() not in (1, mat.shape[0])):
        extent = input.shape[0] if input.dim() else 1
        raise RuntimeError(
            f"size mismatch, got input ({extent}), mat ({mat.shape[0]}x{mat.shape[1]}), vec ({vec.shape[0]})"
        )
    return _weighted("addmv", input, mv(mat, vec), beta, alpha, out)


def addr(input: Any, vec1: Any, vec2: Any, *, beta: float = 1, alpha: float = 1, out: Any = None) -> Any:
    """`beta * input + alpha * outer(vec1, vec2)`, `input` broadcast."""
    check_tensors("addr", input=input, vec1=vec1, vec2=vec2)
    for name, x in (("vec1", vec1), ("vec2", vec2)):
        if x.dim() != 1:
            raise RuntimeError(f"addr: Expected 1-D argument {name}, but got {x.dim()}-D")
    expanded_size(input, (vec1.shape[0], vec2.shape[0]))  # for its errors
    product = vec1.reshape(-1, 1) * vec2
    return _weighted("addr", input, product, beta, alpha, out)


def baddbmm(input: Any, batch1: Any, batch2: Any, *, beta: float = 1, alpha: float = 1, out: Any = None) -> Any:
    """`beta * input + alpha * bmm(batch1, batch2)`, `input` broadcast."""
    check_tensors("baddbmm", input=input, batch1=batch1, batch2=batch2)
    product = bmm(batch1, batch2)
    expanded_size(input, tuple(product.shape))  # for its errors
    return _weighted("baddbmm", input, product, beta, alpha, out)


def addbmm(input: Any, batch1: Any, batch2: Any, *, beta: float = 1, alpha: float = 1, out: Any = None) -> Any:
    """`beta * input + alpha * bmm(batch1, batch2).sum(0)`, `input` broadcast."""
    check_tensors("addbmm", input=input, batch1=batch1, batch2=batch2)
    if batch1.dim() == 3 and batch2.dim() == 3 and batch1.shape[0] != batch2.shape[0]:
        raise RuntimeError(
            f"batch1 and batch2 must have same number of batches, got {batch1.shape[0]} and {batch2.shape[0]}"
        )
    product = bmm(batch1, batch2).sum(0)
    if product.dtype is not batch1.dtype:
        product = product.to(batch1.dtype)
    expanded_size(input, tuple(product.shape))  # for its errors
    return _weighted("addbmm", input, product, beta, alpha, out)


# ---------------------------------------------------------------------------------------------------- tensordot
def tensordot(a: Any, b: Any, dims: Any = 2, out: Any = None) -> Any:
    """Products summed over dimensions of both tensors.

    Args:
        a, b: tensors.
        dims: a number n: the last n of `a` with the first n of `b`; or two lists of dimensions.
        out: a tensor for the result.

    Raises:
        RuntimeError: dimensions of different extents, or lists of different lengths.

    Example:
        >>> import numgrad as ng
        >>> ng.tensordot(ng.ones(2, 3), ng.ones(3, 4), 1).shape
        torch.Size([2, 4])
    """
    check_tensors("tensordot", a=a, b=b)
    first, second = _contracted(a, b, dims)
    if len(first) != len(second):
        raise RuntimeError("both dimension lists should have same length")
    one, two = ([wrap_dim(d, x.dim()) for d in given] for x, given in ((a, first), (b, second)))
    for d, e, given, other in zip(one, two, first, second, strict=True):
        if a.shape[d] == 1:
            b = b.sum(e, keepdim=True, dtype=b.dtype)
        elif b.shape[e] == 1:
            a = a.sum(d, keepdim=True, dtype=a.dtype)
        elif a.shape[d] != b.shape[e]:
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {a.shape[d]} in dim {given} and second has size "
                f"{b.shape[e]} in dim {other}"
            )
    rest_a = [d for d in range(a.dim()) if d not in one]
    rest_b = [d for d in range(b.dim()) if d not in two]
    size = math.prod(a.shape[d] for d in one)
    left = a.permute([*rest_a, *one]).reshape(math.prod(a.shape[d] for d in rest_a), size)
    right = b.permute([*two, *rest_b]).reshape(size, math.prod(b.shape[d] for d in rest_b))
    found = matmul(left, right).reshape([*(a.shape[d] for d in rest_a), *(b.shape[d] for d in rest_b)])
    return written("tensordot", found, out)


def _contracted(a: Any, b: Any, dims: Any) -> tuple[Sequence[int], Sequence[int]]:
    if isinstance(dims, (tuple, list)):
        return tuple([d] if isinstance(d, int) else list(d) for d in dims)  # type: ignore[return-value]
    if hasattr(dims, "tolist"):
        found = dims.tolist()
        return (found[0], found[1]) if isinstance(found, list) else _contracted(a, b, found)
    if dims < 0:
        raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
    if dims > min(a.dim(), b.dim()):
        raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
    return list(range(-dims, 0)), list(range(dims))


# ---------------------------------------------------------------------------------------------------- chains, distances
def chain_matmul(*matrices: Any, out: Any = None) -> Any:
    """The product of several matrices, in the order of multiplications that costs least."""
    return multi_dot(matrices, out=out)


def multi_dot(tensors: Sequence[Any], *, out: Any = None) -> Any:
    """The product of two or more matrices (the first and the last may be vectors), in the cheapest order."""
    from .einsum import einsum

    several = list(tensors)
    if len(several) < 2:
        raise RuntimeError("multi_dot(): expected at least 2 tensors but got " + str(len(several)))
    for k, x in enumerate(several):
        ends = k in (0, len(several) - 1)
        if x.dim() not in ((1, 2) if ends else (2,)):
            place = "the first and last tensors" if ends else f"tensor {k}"
            raise RuntimeError(f"multi_dot(): {place} must be {'1D or 2D' if ends else '2D'} but got {x.dim()}D")
        if k and several[k - 1].shape[-1] != x.shape[0]:
            a, b = several[k - 1].shape, x.shape
            raise RuntimeError(
                f"multi_dot(): tensors {k - 1} and {k} with shapes {list(a)} and {list(b)} cannot be multiplied"
            )
    operands: list[Any] = []
    for k, x in enumerate(several):
        operands += [x, [k, k + 1] if x.dim() == 2 else [k or 1]]
    kept = [0] * (several[0].dim() == 2) + [len(several)] * (several[-1].dim() == 2)
    found = einsum(*operands, kept)
    return written("multi_dot", found, out)


def dist(input: Any, other: Any, p: float = 2) -> Any:
    """The `p`-norm of the difference of two tensors, broadcast."""
    check_tensors("dist", input=input, other=other)
    return (input - other).norm(p)


def cdist(x1: Any, x2: Any, p: float = 2.0, compute_mode: str | None = None) -> Any:
    """The distances (in the `p`-norm) of each row of `x1` (..., n, m) to each row of `x2` (..., r, m): (..., n, r)."""
    check_tensors("cdist", x1=x1, x2=x2)
    for name, x in (("X1", x1), ("X2", x2)):
        if x.dim() < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, {name} got: {x.dim()}D")
        if not x.is_floating_point():
            raise RuntimeError(f"cdist only supports floating-point dtypes, {name} got: {x.dtype.scalar_name}")
    if x1.shape[-1] != x2.shape[-1]:
        raise RuntimeError(f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}")
    if p < 0:
        raise RuntimeError("cdist only supports non-negative p values")
    difference = x1.unsqueeze(-2) - x2.unsqueeze(-3)
    if not difference.shape[-1]:
        return difference.sum(-1)
    return difference.norm(p, dim=-1)


def vecdot(x: Any, y: Any, *, dim: int = -1, out: Any = None) -> Any:
    """Products summed along `dim`, of complex numbers those with the conjugates of `x`; both are broadcast."""
    check_tensors("linalg_vecdot", x=x, y=y)
    found = (x.conj() * y).sum(dim)
    return written("vecdot", found, out)
