"""Matrix products: matmul and the ops that it chooses from."""

from __future__ import annotations

import math
from typing import Any, NoReturn

from ..autograd.variable import CLASSES
from ..call_plans import Call, with_plans
from ..dispatch import dispatch
from ..kernels import linalg as kernels
from ..kernels import views
from ..operands import broadcast_shapes
from ..out import write_out
from .checks import check_tensor, check_tensors, written
from .shaping import expanded_size, fresh_view


def _check_dtypes(a: Any, b: Any) -> None:
    if a.dtype is not b.dtype:
        raise RuntimeError(f"expected m1 and m2 to have the same dtype, but got: {a.dtype.c_name} != {b.dtype.c_name}")


def _check_not_bool(name: str, x: Any) -> None:
    if x.dtype.name == "bool":
        raise NotImplementedError(f"\"{name}\" not implemented for 'Bool'")


@with_plans
def mm(input: Any, mat2: Any, *, out: Any = None) -> Any:
    """Product of two matrices. Raises RuntimeError for other ranks, for shapes that do not fit, and for two dtypes."""
    if input.__class__ not in CLASSES or mat2.__class__ not in CLASSES:
        check_tensors("mm", input=input, mat2=mat2)
    if input.dim() != 2:
        raise RuntimeError("self must be a matrix")
    if mat2.dim() != 2:
        raise RuntimeError("mat2 must be a matrix")
    a, b = input._array.shape, mat2._array.shape
    if a[1] != b[0]:
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({a[0]}x{a[1]} and {b[0]}x{b[1]})")
    if input._array.dtype is not mat2._array.dtype:
        _check_dtypes(input, mat2)
    if input._array.dtype.kind == "b":
        _check_not_bool("addmm_impl_cpu_", input)
    return Call(kernels.mm, (input, mat2), out=out)


@with_plans
def addmm(input: Any, mat1: Any, mat2: Any, *, beta: float = 1, alpha: float = 1, out: Any = None) -> Any:
    """`beta * input + alpha * (mat1 @ mat2)`, `input` broadcast."""
    if input.__class__ not in CLASSES or mat1.__class__ not in CLASSES or mat2.__class__ not in CLASSES:
        check_tensors("addmm", input=input, mat1=mat1, mat2=mat2)
    a, b = mat1._array.shape, mat2._array.shape
    if len(a) != 2:
        raise RuntimeError(f"mat1 must be a matrix, got {len(a)}-D tensor")
    if len(b) != 2:
        raise RuntimeError(f"mat2 must be a matrix, got {len(b)}-D tensor")
    if a[1] != b[0]:
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({a[0]}x{a[1]} and {b[0]}x{b[1]})")
    dtype = mat1._array.dtype
    if input._array.dtype is not dtype or mat2._array.dtype is not dtype:
        if input.dtype is not mat2.dtype:
            raise RuntimeError(
                f"self and mat2 must have the same dtype, but got {input.dtype.scalar_name} and {mat2.dtype.scalar_name}"
            )
        raise RuntimeError(
            f"mat1 and mat2 must have the same dtype, but got {mat1.dtype.scalar_name} and {mat2.dtype.scalar_name}"
        )
    if input._array.shape != (b[1],):
        expanded_size(input, (a[0], b[1]))  # for its errors
    if dtype.kind == "b":
        _check_not_bool("addmm_impl_cpu_", mat1)
    if dtype.kind in "iu":
        beta, alpha = int(beta), int(alpha)
    if (beta != 1 or alpha != 1) and input.dtype.is_floating_point and input.element_size() == 2:
        wide = addmm(input.float(), mat1.float(), mat2.float(), beta=beta, alpha=alpha)  # rounded once, at the end
        return written("addmm", wide.to(input.dtype), out)
    if beta != 1:
        input = input * beta if beta else input.new_zeros(input.shape)  # so that its NaNs do not count
    if alpha != 1:
        mat1 = mat1 * alpha
    return Call(kernels.addmm, (input, mat1, mat2), out=out)


@with_plans
def dot(input: Any, tensor: Any, *, out: Any = None) -> Any:
    """Inner product of two vectors of equal length."""
    if input.__class__ not in CLASSES or tensor.__class__ not in CLASSES:
        check_tensors("dot", input=input, tensor=tensor)
    _check_vectors("dot", input, tensor)
    return Call(kernels.dot, (input, tensor), out=out)


def vdot(input: Any, other: Any, *, out: Any = None) -> Any:
    """Inner product of two vectors of equal length, the first one conjugated."""
    check_tensors("vdot", input=input, other=other)
    if not (input.is_complex() or other.is_complex()):
        return dot(input, other, out=out)
    _check_vectors("vdot", input, other)
    return dispatch(kernels.vdot, (input, other), (), out)


def _check_vectors(name: str, input: Any, tensor: Any) -> None:
    if input.dim() != 1 or tensor.dim() != 1:
        raise RuntimeError(f"1D tensors expected, but got {input.dim()}D and {tensor.dim()}D tensors")
    if input.dtype is not tensor.dtype:
        raise RuntimeError(
            "dot : expected both vectors to have same dtype, but found "
            f"{input.dtype.scalar_name} and {tensor.dtype.scalar_name}"
        )
    _check_not_bool(name, input)
    if input.shape != tensor.shape:
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor [{input.numel()}] and src [{tensor.numel()}] to have the same "
            f"number of elements, but got {input.numel()} and {tensor.numel()} elements respectively"
        )


@with_plans
def mv(input: Any, vec: Any, *, out: Any = None) -> Any:
    """Product of a matrix and a vector."""
    if input.__class__ not in CLASSES or vec.__class__ not in CLASSES:
        check_tensors("mv", input=input, vec=vec)
    if input.dim() != 2 or vec.dim() != 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got {1}, {input.dim()}, {vec.dim()}")
    if input.shape[1] != vec.shape[0]:
        raise RuntimeError(
            f"size mismatch, got input ({input.shape[0]}), mat ({input.shape[0]}x{input.shape[1]}), vec ({vec.shape[0]})"
        )
    if input.dtype is not vec.dtype:
        own, other = vec.dtype.scalar_name, input.dtype.scalar_name
        raise RuntimeError(f"addmv input tensors must have the same dtype, but got {own}, {other}, and {own}")
    return Call(kernels.mv, (input, vec), out=out)


@with_plans
def bmm(input: Any, mat2: Any, *, out: Any = None) -> Any:
    """Products of the matrices of two batches."""
    if input.__class__ not in CLASSES or mat2.__class__ not in CLASSES:
        check_tensors("bmm", input=input, mat2=mat2)
    if input.dim() != 3 or mat2.dim() != 3:
        raise RuntimeError("batch1 must be a 3D tensor" if input.dim() != 3 else "batch2 must be a 3D tensor")
    a, b = input.shape, mat2.shape
    if a[0] != b[0] or a[2] != b[1]:
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{a[0]}, {a[2]}] but got: [{b[0]}, {b[1]}]."
        )
    if input.dtype is not mat2.dtype:
        raise RuntimeError(f"expected scalar type {input.dtype.scalar_name} but found {mat2.dtype.scalar_name}")
    return Call(kernels.bmm, (input, mat2), out=out)


def matmul(input: Any, other: Any, *, out: Any = None) -> Any:
    """Matrix product by rank: vectors to a number, matrices to a matrix, more dimensions as broadcast batches.

    Example:
        >>> import numgrad as ng
        >>> ng.ones(2, 3) @ ng.ones(3)
        tensor([3., 3.])
    """
    if input.__class__ not in CLASSES or other.__class__ not in CLASSES:
        check_tensors("matmul", input=input, other=other)
    if out is not None:
        return write_out("matmul", out, matmul(input, other), (input, other))
    left, right = input.dim(), other.dim()
    if left == 2 and right == 2:
        return mm(input, other)
    if not left or not right:
        raise RuntimeError(f"both arguments to matmul need to be at least 1D, but they are {left}D and {right}D")
    if left == 1 and right == 1:
        return dot(input, other)
    if left == 2 and right == 1:
        return mv(input, other)
    if left == 1 and right == 2:
        product = fresh_view(views.squeeze_fresh_dim, mm(input.unsqueeze(0), other), 0)
        product._array.storage.version += 1  # PyTorch squeezes in place, and its message about versions shows it
        return product
    return _batched(input, other)


def _batched(input: Any, other: Any) -> Any:
    if input.dim() == 1:
        return _batched(input.unsqueeze(0), other).squeeze(-2)
    height = math.prod(input.shape[:-1])
    if other.dim() == 1:
        rows = input.reshape(height, input.shape[-1])
        return fresh_view(views.unsafe_view, mv(rows, other), tuple(input.shape[:-1]))
    if other.dim() == 2:  # one matrix for the whole batch: a single product of the rows
        rows = input.reshape(height, input.shape[-1])
        return fresh_view(views.unsafe_view, mm(rows, other), (*input.shape[:-1], other.shape[-1]))
    batch = broadcast_shapes(tuple(input.shape[:-2]), tuple(other.shape[:-2]))
    count = math.prod(batch)
    a = input.expand(*batch, *input.shape[-2:]).reshape(count, *input.shape[-2:])
    b = other.expand(*batch, *other.shape[-2:]).reshape(count, *other.shape[-2:])
    return fresh_view(views.unsafe_view, bmm(a, b), (*batch, input.shape[-2], other.shape[-1]))


def linear(input: Any, weight: Any, bias: Any = None) -> Any:
    """`input @ weight.T + bias` over the last dimension, with weight (out_features, in_features): the dense layer.

    Weight may be a vector, which gives one feature without a dimension. Raises RuntimeError for shapes that do not fit and
    for two dtypes.
    """
    if input.__class__ not in CLASSES or weight.__class__ not in CLASSES:
        check_tensors("linear", input=input, weight=weight)
    shape, width = input._array.shape, weight._array.shape
    if bias is None:
        return matmul(input, weight.t()) if shape else _refuse_numbers(len(width))
    if bias.__class__ not in CLASSES:
        check_tensor("linear", bias, "bias", 3)
    if len(shape) == 2:
        return addmm(bias, input, weight.t())
    if len(width) == 2 and len(bias._array.shape) == 1 and shape:
        rows = input.reshape(math.prod(shape[:-1]), shape[-1])
        return addmm(bias, rows, weight.t()).view(*shape[:-1], width[0])
    return matmul(input, weight.t()) + bias if shape else _refuse_numbers(len(width))


def _refuse_numbers(rank: int) -> NoReturn:
    raise RuntimeError(f"both arguments to linear need to be at least 1D, but they are 0D and {rank}D")


def bilinear(input1: Any, input2: Any, weight: Any, bias: Any = None) -> Any:
    """`input1 @ weight[k] @ input2 + bias[k]` for every output feature k, over the last dimensions.

    Weight has the shape (out_features, in1_features, in2_features); the inputs agree in all dimensions but the last.
    Raises RuntimeError for shapes that do not fit and for different dtypes.
    """
    check_tensors("bilinear", input1=input1, input2=input2, weight=weight)
    if bias is not None:
        check_tensor("bilinear", bias, "bias", 4)
    _check_bilinear(input1, input2, weight, bias)
    outputs, first, second = weight.shape
    batch = input1.shape[:-1]
    rows = math.prod(batch)
    left = input1.reshape(rows, first) @ weight.transpose(0, 1).reshape(first, outputs * second)
    right = input2.reshape(rows, 1, second)
    out = (left.view(rows, outputs, second) * right).sum(-1, dtype=weight.dtype).view(*batch, outputs)
    return out if bias is None else out + bias


def _check_bilinear(input1: Any, input2: Any, weight: Any, bias: Any) -> None:
    name = "bilinear()"
    given = {"input1": input1, "input2": input2, "weight": weight, **({} if bias is None else {"bias": bias})}
    if len({x.dtype for x in given.values()}) > 1:
        kinds = ", ".join(f"{key}: {x.dtype.c_name}" for key, x in given.items())
        raise RuntimeError(f"All tensors must have the same dtype, got {kinds}")
    if input1.dim() != input2.dim():
        raise RuntimeError(f"{name}: input dimensions do not match: got {input1.dim()} and {input2.dim()}")
    for d, (a, b) in enumerate(zip(input1.shape[:-1], input2.shape[:-1], strict=True)):
        if a != b:
            raise RuntimeError(f"{name}: input batch dimensions do not match at dim {d}: got {a} and {b}")
    for position, (key, x) in enumerate((("input1", input1), ("input2", input2)), 1):
        if x.size(-1) != weight.size(position):
            raise RuntimeError(
                f"{name}: {key} size does not match weight size: got {x.size(-1)} but expected {weight.size(position)}"
            )
    if bias is not None and bias.size(0) != weight.size(0):
        raise RuntimeError(
            f"{name}: bias size does not match weight size: got {bias.size(0)} but expected {weight.size(0)}"
        )
