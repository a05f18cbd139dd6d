"""Normalization, as functions of tensors."""

from __future__ import annotations

import math
from typing import Any

from ..autograd.variable import CLASSES
from ..call_plans import Call, with_plans
from ..dispatch import dispatch
from ..dtype import bfloat16, float16, float32
from ..kernels import normalization as kernels
from ..limits import finfo
from .checks import check_tensor


@with_plans
def layer_norm(
    input: Any,
    normalized_shape: Any,
    weight: Any = None,
    bias: Any = None,
    eps: float = 1e-5,
    cudnn_enable: bool = True,
) -> Any:
    """The items over the last dimensions, of `normalized_shape`, with mean 0 and variance 1, scaled and shifted.

    `cudnn_enable` is taken as PyTorch takes it, and chooses nothing.

    Raises RuntimeError for shapes and dtypes that do not fit, NotImplementedError for integers.

    Example:
        >>> import numgrad as ng
        >>> ng.layer_norm(ng.tensor([1.0, 3.0]), (2,))
        tensor([-1.0000,  1.0000])
    """
    shape = _checked_shape("layer_norm", input, normalized_shape, weight, bias, eps)
    if len(shape) > 1 or any(p is not None and p.dtype is not input.dtype for p in (weight, bias)):
        return native_layer_norm(input, normalized_shape, weight, bias, eps, _name="layer_norm")[0]
    factor = input.new_ones(shape) if weight is None else weight
    shift = input.new_zeros(shape) if bias is None else bias
    made = tuple(x for x, given in ((factor, weight), (shift, bias)) if given is None)
    return Call(kernels.layer_norm, (input, factor, shift), (float(eps),), _first_of_three, constants=made)


def _first_of_three(first: Any, second: Any, third: Any) -> Any:
    return first


def native_layer_norm(
    input: Any, normalized_shape: Any, weight: Any, bias: Any, eps: float, *, _name: str = "native_layer_norm"
) -> tuple[Any, Any, Any]:
    """`layer_norm`, the means, and the reciprocals of the deviations."""
    shape = _checked_shape(_name, input, normalized_shape, weight, bias, eps)
    dtype = input.dtype
    if dtype in (float16, bfloat16):  # parameters may be wider: the kernel computes in float32 anyway
        weight, bias = (p if p is None or p.dtype is dtype else p.to(dtype) for p in (weight, bias))
    width = math.prod(shape)
    lead = tuple(input.shape[: input.dim() - len(shape)])
    rows = input if len(shape) == 1 else input.reshape(*lead, width)
    flat = [p if p is None or len(shape) == 1 else p.reshape(width) for p in (weight, bias)]
    factor = rows.new_ones(width) if flat[0] is None else flat[0]
    shift = rows.new_zeros(width) if flat[1] is None else flat[1]
    out, mean, rstd = dispatch(kernels.layer_norm, (rows, factor, shift), (float(eps),))
    if len(shape) == 1:
        return out, mean, rstd
    ones = (1,) * len(shape)
    return out.reshape(input.shape), mean.reshape(*lead, *ones), rstd.reshape(*lead, *ones)


def _checked_shape(name: str, input: Any, normalized_shape: Any, weight: Any, bias: Any, eps: Any) -> tuple[int, ...]:
    check_tensor(name, input)
    if not isinstance(normalized_shape, (tuple, list)):
        kind = type(normalized_shape).__name__
        raise TypeError(f"{name}(): argument 'normalized_shape' (position 2) must be tuple of ints, not {kind}")
    for position, n in enumerate(normalized_shape):
        if not hasattr(n, "__index__"):
            raise TypeError(
                f"{name}(): argument 'normalized_shape' (position 2) must be tuple of ints, but found element of type "
                f"{type(n).__name__} at pos {position}"
            )
    for position, (argument, p) in enumerate((("weight", weight), ("bias", bias)), 3):
        if p is not None and p.__class__ not in CLASSES:
            check_tensor(name, p, argument, position)
    if not isinstance(eps, (int, float)):
        raise TypeError(f"{name}(): argument 'eps' (position 5) must be float, not {type(eps).__name__}")
    shape = tuple(normalized_shape)
    if not shape:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got "
            "normalized_shape = []"
        )
    for argument, p in (("weight", weight), ("bias", bias)):
        if p is not None and p._array.shape != shape:
            raise RuntimeError(
                f"Expected {argument} to be of same shape as normalized_shape, but got {argument} of shape "
                f"{list(p.shape)} and normalized_shape = {list(shape)}"
            )
    if input._array.shape[max(input.dim() - len(shape), 0) :] != shape:
        sizes = ", ".join(map(str, shape))
        raise RuntimeError(
            f"Given normalized_shape={list(shape)}, expected input with shape [*, {sizes}], but got input of "
            f"size{list(input.shape)}"
        )
    if not input.is_floating_point():
        raise NotImplementedError(f"\"LayerNormKernelImpl\" not implemented for '{input.dtype.scalar_name}'")
    _check_dtypes(input, weight, bias)
    return shape


def _check_dtypes(input: Any, weight: Any, bias: Any) -> None:
    for p in (weight, bias):
        if p is None or p.dtype is input.dtype:
            continue
        if input.dtype in (float16, bfloat16) and p.dtype is float32:
            continue
        if input.dtype is float32:
            raise RuntimeError("mixed dtype (CPU): expect parameter to have scalar type of Float")
        raise RuntimeError("mixed dtype (CPU): all inputs must share same datatype.")


def rms_norm(input: Any, normalized_shape: Any, weight: Any = None, eps: float | None = None) -> Any:
    """The items over the last dimensions divided by the root of their mean square, and scaled.

    The square is that of the number, also of a complex one. `eps` is that of the dtype by default.
    Raises RuntimeError for shapes that do not fit, NotImplementedError for integers.
    """
    check_tensor("rms_norm", input)
    shape = tuple(normalized_shape)
    _check_rms_shapes(input, shape, weight)
    if input.is_complex():
        return _complex_rms_norm(input, shape, weight, eps)
    if not input.is_floating_point():
        raise NotImplementedError(f"\"rms_norm\" not implemented for '{input.dtype.scalar_name}'")
    dtype = input.dtype
    if eps is None:  # halves are computed in float32
        eps = float(finfo(float32 if dtype in (float16, bfloat16) else dtype).eps)
    width = math.prod(shape)
    rows = input if len(shape) == 1 else input.reshape(*input.shape[: input.dim() - len(shape)], width)
    factor = rows.new_ones(width) if weight is None else weight.reshape(width).to(dtype)
    out = dispatch(kernels.rms_norm, (rows, factor), (float(eps),))[0]
    return out if len(shape) == 1 else out.reshape(input.shape)


def _complex_rms_norm(input: Any, shape: tuple[int, ...], weight: Any, eps: float | None) -> Any:
    dims = tuple(range(-len(shape), 0))
    added = float(finfo(input.dtype).eps) if eps is None else eps
    out = input * ((input * input).mean(dims, keepdim=True) + added).rsqrt()
    return out if weight is None else out * weight


def _check_rms_shapes(input: Any, shape: tuple[int, ...], weight: Any) -> None:
    if not shape:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got "
            "normalized_shape = []"
        )
    if weight is not None and weight._array.shape != shape:
        raise RuntimeError(
            f"Expected weight to be of same shape as normalized_shape, but got weight of shape {list(weight.shape)} and "
            f"normalized_shape = {list(shape)}"
        )
    if input._array.shape[max(input.dim() - len(shape), 0) :] != shape:
        sizes = ", ".join(map(str, shape))
        raise RuntimeError(
            f"Given normalized_shape={list(shape)}, expected input with shape [*{sizes}], but got input of "
            f"size{list(input.shape)}"
        )
