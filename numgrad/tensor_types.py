"""`FloatTensor`, `LongTensor` and the like: PyTorch's older names for tensors of one dtype on the CPU.

>>> import numgrad as ng
>>> ng.LongTensor([1, 2]), isinstance(ng.ones(1), ng.FloatTensor)
(tensor([1, 2]), True)
"""

from __future__ import annotations

import functools
import warnings
from typing import Any

from . import creation, interop
from . import dtype as dtypes
from .autograd.variable import CLASSES


class _TensorType(type):
    """The type of these names: calling one makes a tensor, and every tensor of the dtype is an instance of it."""

    dtype: dtypes.dtype

    def __call__(cls, *data: Any, device: Any = None) -> Any:
        """A tensor with the items of a sequence, of a shape (several ints or a `Size`), or of none."""
        if len(data) != 1 or isinstance(data[0], int) or type(data[0]).__name__ == "Size":
            return creation.empty(*data or (0,), dtype=cls.dtype, device=device)
        (given,) = data
        if given.__class__ in CLASSES:
            if given.dtype is not cls.dtype:
                raise TypeError(f"{cls.__name__}(): expected a tensor of {cls.dtype!r}, but got {given.dtype!r}")
            return given.detach()
        if not hasattr(given, "__len__"):
            raise TypeError(f"new(): data must be a sequence (got {type(given).__name__})")
        return interop.tensor(given, dtype=cls.dtype, device=device)

    def __instancecheck__(cls, instance: Any) -> bool:
        return instance.__class__ in CLASSES and instance.dtype is cls.dtype and not instance.is_cuda


def _tensor_type(dtype: dtypes.dtype) -> Any:
    doc = f"Tensors of {dtype.name} on the CPU."
    return _TensorType(dtype.tensor_name, (), {"dtype": dtype, "__module__": "torch", "__doc__": doc})


HalfTensor = _tensor_type(dtypes.float16)
BFloat16Tensor = _tensor_type(dtypes.bfloat16)
FloatTensor = _tensor_type(dtypes.float32)
DoubleTensor = _tensor_type(dtypes.float64)
CharTensor = _tensor_type(dtypes.int8)
ShortTensor = _tensor_type(dtypes.int16)
IntTensor = _tensor_type(dtypes.int32)
LongTensor = _tensor_type(dtypes.int64)
ByteTensor = _tensor_type(dtypes.uint8)
BoolTensor = _tensor_type(dtypes.bool_)


def set_default_tensor_type(t: Any, /) -> None:
    """`set_default_dtype` by the older name of a type, or its text: `"torch.DoubleTensor"`. Deprecated.

    Raises TypeError for what is no float type.
    """
    _warn_deprecated()
    named = {f"torch.{d.tensor_name}": d for d in dtypes.ALL}
    wanted = named.get(t) if isinstance(t, str) else t.dtype if isinstance(t, _TensorType) else None
    if wanted is None:
        raise TypeError("invalid type object: only floating-point types are supported as the default type")
    dtypes.set_default_dtype(wanted)


@functools.cache  # once, as PyTorch
def _warn_deprecated() -> None:
    warnings.warn(
        "torch.set_default_tensor_type() is deprecated as of PyTorch 2.1, please use torch.set_default_dtype() and "
        "torch.set_default_device() as alternatives.",
        UserWarning,
        stacklevel=3,
    )
