"""Complex numbers: their parts, conjugates and angles, and how to make them of real ones.

Gradients follow PyTorch's convention: of a real loss L for z = x + iy it is dL/dx + i dL/dy.
"""

from __future__ import annotations

from typing import Any

from .. import dtype as dtypes
from ..dispatch import dispatch
from ..kernels import complex_numbers as kernels
from ..operands import broadcast_shapes
from .checks import check_tensor, check_tensors
from .shaping import expand, select


def real(input: Any) -> Any:
    """The real parts, as a view; a real tensor itself."""
    check_tensor("real", input)
    return select(view_as_real(input), -1, 0) if input.is_complex() else input


def imag(input: Any) -> Any:
    """The imaginary parts, as a view. Raises RuntimeError for a real tensor."""
    check_tensor("imag", input)
    if not input.is_complex():
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    return select(view_as_real(input), -1, 1)


def view_as_real(input: Any) -> Any:
    """Complex numbers as pairs of real ones in a new last dimension, as a view.

    Example:
        >>> import numgrad as ng
        >>> ng.view_as_real(ng.tensor([1 + 2j]))
        tensor([[1., 2.]])
    """
    check_tensor("view_as_real", input)
    if not input.is_complex():
        raise RuntimeError("view_as_real is only supported for complex tensors")
    return dispatch(kernels.view_as_real, (input,))


def view_as_complex(input: Any) -> Any:
    """Pairs of float32 or float64 numbers in the last dimension as complex ones, as a view.

    Raises RuntimeError for other dtypes, another last dimension, and strides that a view cannot have.
    """
    check_tensor("view_as_complex", input)
    if input.dtype is dtypes.float16:
        raise NotImplementedError(
            "view_as_complex() of float16 would be complex32, which numgrad does not have: convert with .float() first"
        )
    if input.dtype not in (dtypes.float32, dtypes.float64):
        raise RuntimeError(
            "view_as_complex is only supported for half, float and double tensors, but got a tensor of scalar type: "
            f"{input.dtype.scalar_name}"
        )
    return dispatch(kernels.view_as_complex, (input,))


def conj(input: Any) -> Any:
    """Complex conjugates; a real tensor itself."""
    check_tensor("conj", input)
    return dispatch(kernels.conj, (input,)) if input.is_complex() else input


def conj_physical(input: Any, *, out: Any = None) -> Any:
    """Complex conjugates; a real tensor itself."""
    check_tensor("conj_physical", input)
    if out is None and not input.is_complex():
        return input
    return dispatch(kernels.conj_physical, (input,), (), out)


def resolve_conj(input: Any) -> Any:
    """The tensor itself: conjugates are computed at once, never put off."""
    check_tensor("resolve_conj", input)
    return input


def resolve_neg(input: Any) -> Any:
    """The tensor itself: negations are computed at once, never put off."""
    check_tensor("resolve_neg", input)
    return input


def is_conj(input: Any) -> bool:
    """Whether a conjugate is put off: never."""
    check_tensor("is_conj", input)
    return False


def is_neg(input: Any) -> bool:
    """Whether a negation is put off: never."""
    check_tensor("is_neg", input)
    return False


def isreal(input: Any) -> Any:
    """Whether each imaginary part is 0, as bools."""
    check_tensor("isreal", input)
    return imag(input) == 0 if input.is_complex() else input.new_ones(input.shape, dtype=dtypes.bool_)


def complex(real: Any, imag: Any, *, out: Any = None) -> Any:
    """Complex numbers of their real and imaginary parts, which broadcast.

    Raises RuntimeError for parts that are no floats or differ in dtype.

    Example:
        >>> import numgrad as ng
        >>> ng.complex(ng.tensor([1.0]), ng.tensor([2.0]))
        tensor([1.+2.j])
    """
    check_tensors("complex", real=real, imag=imag)
    return dispatch(kernels.from_parts, _parts(real, imag), (), out)


def polar(abs: Any, angle: Any, *, out: Any = None) -> Any:
    """Complex numbers of their absolute values and angles, which broadcast. Raises as `complex`."""
    check_tensors("polar", abs=abs, angle=angle)
    return dispatch(kernels.polar, _parts(abs, angle), (), out)


def _parts(first: Any, second: Any) -> tuple[Any, Any]:
    if not (first.is_floating_point() and second.is_floating_point()):
        raise RuntimeError(
            "Expected both inputs to be Half, Float or Double tensors but got "
            f"{first.dtype.scalar_name} and {second.dtype.scalar_name}"
        )
    if first.dtype is not second.dtype:
        raise RuntimeError(
            f"Expected object of scalar type {first.dtype.scalar_name} but got scalar type {second.dtype.scalar_name} "
            "for second argument"
        )
    shape = broadcast_shapes(tuple(first.shape), tuple(second.shape))
    return expand(first, shape), expand(second, shape)
