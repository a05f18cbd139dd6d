"""The `.grad` of a tensor: what may be assigned to it, and of what dtype it is."""

from __future__ import annotations

import warnings
from typing import Any

from ..dtype import FROM_NUMPY, dtype
from .variable import CLASSES


def warn_non_leaf_grad() -> None:
    """Warn, as PyTorch, about reading `.grad` of a result that does not retain it."""
    warnings.warn(
        "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't be "
        "populated during autograd.backward(). If you indeed want the .grad field to be populated for a non-leaf Tensor, "
        "use .retain_grad() on the non-leaf Tensor. If you access the non-leaf Tensor by mistake, make sure you access "
        "the leaf Tensor instead. See github.com/pytorch/pytorch/pull/30531 for more information.",
        UserWarning,
        stacklevel=3,
    )


def check_assigned_grad(tensor: Any, value: Any) -> None:
    """Raise, with PyTorch's texts, when `value` cannot be the `.grad` of `tensor`."""
    if value is None:
        return
    if value.__class__ not in CLASSES:
        raise TypeError(f"assigned grad expected to be a Tensor or None but got grad of type {type(value).__name__}")
    if value is tensor:
        raise RuntimeError("can't assign Variable as its own grad")
    own, given = grad_dtype(tensor), FROM_NUMPY[value._array.dtype]
    if own is not None and own is not given:
        raise RuntimeError(
            f"attempting to assign a gradient with dtype '{given.c_name}' to a tensor with grad_dtype "
            f"'{own.scalar_name}'. The gradient must match the tensor's grad_dtype (defaults to the tensor's dtype). You "
            "can set the tensor's grad_dtype attribute with a specific dtype, or None to allow any dtype. Set grad_dtype "
            "with caution. Diverging the dtypes of a tensor and its gradient may break downstream systems that assume "
            "they match."
        )
    if value._device.type != tensor._device.type:
        raise RuntimeError(
            f"attempting to assign a gradient with device type '{value._device.type}' to a tensor with device type "
            f"'{tensor._device.type}'. Please ensure that the gradient and the tensor are on the same device"
        )
    if value._array.shape != tensor._array.shape:
        raise RuntimeError(
            f"attempting to assign a gradient of size '{list(value._array.shape)}' to a tensor of size "
            f"'{list(tensor._array.shape)}'. Please ensure that the gradient and the tensor are the same size"
        )


def grad_dtype(tensor: Any) -> dtype | None:
    """The dtype that a leaf's gradient is cast to: the tensor's unless set; None for any."""
    return FROM_NUMPY[tensor._array.dtype] if tensor._grad_dtype is Ellipsis else tensor._grad_dtype


def check_grad_dtype(tensor: Any, value: Any) -> None:
    """Raise RuntimeError, with PyTorch's texts, when `value` cannot be a leaf's `grad_dtype`."""
    if not tensor.is_leaf:
        raise RuntimeError("grad_dtype can only be set on leaf tensors.")
    if not (value is None or isinstance(value, dtype)):
        raise RuntimeError(f"grad_dtype must be a torch.dtype or None, but got {type(value).__name__}")
    if value is None or tensor._grad is None:
        return
    given = FROM_NUMPY[tensor._grad._array.dtype]
    if given is not value:
        raise RuntimeError(
            f"Cannot set grad_dtype to '{value.scalar_name}' because there is already a gradient with dtype "
            f"'{given.c_name}'. Please clear the gradient (.grad = None) before changing grad_dtype, or ensure the new "
            "grad_dtype matches the existing gradient's dtype."
        )
