"""`to`, `type` and the methods named after dtypes: the same numbers in another dtype, on another device, or both."""

from __future__ import annotations

import builtins
import functools
import warnings
from collections.abc import Callable
from typing import Any

from .. import dtype as dtypes
from ..autograd.variable import CLASSES
from ..call_plans import Call, with_plans
from ..device import device as Device
from ..dispatch import dispatch
from ..kernels import movement
from ..memory_format import has_strides, lay_out, wanted_strides

_TYPE_NAMES = {f"torch.{d.tensor_name}": d for d in dtypes.ALL}


def to(
    self: Any,
    *args: Any,
    device: Any = None,
    dtype: Any = None,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: Any = None,
) -> Any:
    """The tensor in another dtype, on another device, or both; itself when nothing changes.

    `to(dtype)`, `to(device)`, `to(device, dtype)`, `to(other)`, each followed by `non_blocking` and `copy`;
    `memory_format` says how a copy lies in memory, by default as the tensor. The autodiff context stays the tensor's own.
    Of complex numbers real dtypes keep the real part, with a warning.

    Raises:
        TypeError: arguments that are none of these.
        RuntimeError: a text that names no device.
    """
    flags = []
    for position, value in enumerate(args):
        named = dtypes.as_dtype(value)
        if isinstance(value, bool):
            flags.append(value)
        elif value.__class__ in CLASSES and not position:
            device, dtype = value._device, value.dtype
        elif named is not None and dtype is None:
            dtype = named
        elif not position and (value is None or isinstance(value, (str, Device))):
            device = value
        elif value is not None:
            raise TypeError(f"to() received an invalid combination of arguments - got {value.__class__.__name__}")
    copy = copy or flags[1:] == [True]
    wanted = self.dtype if dtype is None else dtypes.as_dtype(dtype)
    if wanted is None:
        raise TypeError(f"to() received an invalid combination of arguments - got (dtype={dtype.__class__.__name__}, )")
    where = self._device if device is None else Device(device).concrete()
    strides = wanted_strides("to", memory_format, self._array.shape)
    if not copy and wanted is self.dtype and where.hardware == self._device.hardware and has_strides(self, strides):
        return self
    return _converted(self, wanted, where, strides)


def _converted(self: Any, wanted: dtypes.dtype, where: Device, strides: Any) -> Any:
    """A copy in a dtype and on a device, with these strides or, for None, laid out as the tensor."""
    where.kernels()
    warn_discarded(self.dtype, wanted)
    attributes = wanted.name, where.hardware
    moves = where.hardware != self._device.hardware
    found = dispatch(movement.to_copy, (self,), attributes) if moves else _copied(self, *attributes)
    return found if strides is None else lay_out(found, strides)


@with_plans
def _copied(x: Any, dtype: str, hardware: str) -> Any:
    """A copy on the same hardware."""
    return Call(movement.to_copy, (x,), (dtype, hardware))


def warn_discarded(given: dtypes.dtype, wanted: dtypes.dtype) -> None:
    """Warn, the first time, that a cast of complex numbers to a real dtype keeps the real part alone."""
    if given.is_complex and not (wanted.is_complex or wanted is dtypes.bool_):
        warn_of_real_parts()


@functools.cache  # once, as PyTorch
def warn_of_real_parts() -> None:
    """Warn that imaginary parts were discarded."""
    warnings.warn("Casting complex values to real discards the imaginary part", UserWarning, stacklevel=5)


def type(self: Any, dtype: Any = None, non_blocking: bool = False, *, memory_format: Any = None) -> Any:
    """PyTorch's name of the tensor type, `torch.FloatTensor`; with a dtype, or such a name, the tensor in it.

    Raises ValueError for another name, TypeError for what is neither a name nor a dtype.
    """
    if dtype is None:
        return f"torch.{'cuda.' if self.is_cuda else ''}{self.dtype.tensor_name}"
    if isinstance(dtype, str):
        wanted = _TYPE_NAMES.get(dtype)
    else:
        wanted = getattr(dtype, "dtype", dtype)  # a type such as `FloatTensor` has one
        if not isinstance(wanted, (dtypes.dtype, builtins.type)):
            raise TypeError("dtype must be a type, str, or dtype object")
    if not isinstance(wanted, dtypes.dtype):
        raise ValueError(f"invalid type: '{getattr(dtype, '__name__', dtype)}'")
    return to(self, wanted, memory_format=memory_format)


def type_as(self: Any, other: Any) -> Any:
    """The tensor in the dtype and on the device of another."""
    return to(self, other)


def _cast(name: str, wanted: dtypes.dtype) -> Callable[..., Any]:
    def method(self: Any, *, memory_format: Any = None) -> Any:
        if memory_format is None:
            return self if self.dtype is wanted else _converted(self, wanted, self._device, None)
        wanted_strides(name, memory_format, self._array.shape)  # for its errors
        return to(self, wanted, memory_format=memory_format)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"The tensor as {wanted.name}."
    return method


METHODS: dict[str, Callable[..., Any]] = {
    "to": to,
    "type": type,
    "type_as": type_as,
    **{
        name: _cast(name, wanted)
        for name, wanted in {
            "half": dtypes.float16,
            "bfloat16": dtypes.bfloat16,
            "float": dtypes.float32,
            "double": dtypes.float64,
            "cfloat": dtypes.complex64,
            "cdouble": dtypes.complex128,
            "char": dtypes.int8,
            "short": dtypes.int16,
            "int": dtypes.int32,
            "long": dtypes.int64,
            "byte": dtypes.uint8,
            "bool": dtypes.bool_,
        }.items()
    },
}
