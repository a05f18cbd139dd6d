"""Changing the dtype, the device or the memory of all parameters and buffers of a module."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any, NoReturn, Self

from ..autograd.grad_mode import no_grad
from ..creation import empty_like
from ..device import device as Device
from ..dtype import as_dtype, bfloat16, float16, float32, float64
from ..memory_format import memory_format as MemoryFormat
from ..ops.checks import invalid_combination
from ..tensor import Tensor
from .parameter import Parameter

__all__ = ["ConversionMethods"]

_FORMS = (
    ("device", "dtype", "non_blocking", "copy"),
    ("dtype", "non_blocking", "copy"),
    ("tensor", "non_blocking", "copy"),
)
_FITS: dict[str, Callable[[Any], bool]] = {
    "device": lambda value: value is None or (isinstance(value, (str, int, Device)) and not isinstance(value, bool)),
    "dtype": lambda value: value is None or as_dtype(value) is not None,
    "tensor": lambda value: isinstance(value, Tensor),
    "non_blocking": lambda value: isinstance(value, bool),
    "copy": lambda value: isinstance(value, bool),
    "memory_format": lambda value: value is None or isinstance(value, MemoryFormat),
}
_SIGNATURES = (
    "(torch.device device = None, torch.dtype dtype = None, bool non_blocking = False, bool copy = False, *, "
    "torch.memory_format memory_format = None)",
    "(torch.dtype dtype, bool non_blocking = False, bool copy = False, *, torch.memory_format memory_format = None)",
    "(Tensor tensor, bool non_blocking = False, bool copy = False, *, torch.memory_format memory_format = None)",
)
_COMPLEX = (
    "Complex modules are a new feature under active development whose design may change, and some modules might not work "
    "as expected when using complex tensors as parameters or buffers. Please file an issue at "
    "https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml if a complex module does not work as expected."
)


class ConversionMethods:
    """The part of `Module` that converts. Parameters stay the objects they are; buffers are replaced."""

    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    children: Callable[[], Iterator[Any]]

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Replace every parameter, gradient and buffer by `fn` of it; parameters stay the same objects."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        for parameter in self._parameters.values():
            if parameter is None:
                continue
            gradient = parameter.grad
            with no_grad():
                parameter.data = fn(parameter)
                if gradient is not None:
                    gradient.data = fn(gradient)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Move and convert in place: `to(device=None, dtype=None, non_blocking=False)`, `to(dtype)` or `to(tensor)`.

        A dtype converts floating and complex tensors only; integers keep theirs. `memory_format` (a keyword) lays out
        tensors of 4 and 5 dimensions. Raises TypeError for other arguments, and for a dtype that is not floating.
        """
        given = _destination(args, kwargs)
        device, dtype, layout = given.get("device"), as_dtype(given.get("dtype")), given.get("memory_format")
        if "tensor" in given:
            device, dtype = given["tensor"].device, given["tensor"].dtype
        if dtype is not None and not dtype.is_differentiable:
            raise TypeError(
                f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}"
            )
        if dtype is not None and dtype.is_complex:
            warnings.warn(_COMPLEX, stacklevel=2)

        def convert(tensor: Tensor) -> Tensor:
            wanted = dtype if tensor.is_floating_point() or tensor.is_complex() else None
            return tensor.to(device, wanted, memory_format=layout if layout and tensor.dim() in (4, 5) else None)

        return self._apply(convert)

    def type(self, dst_type: Any) -> Self:
        """Convert all parameters and buffers, integers too, to a dtype or a tensor type such as 'torch.DoubleTensor'."""
        return self._apply(lambda tensor: tensor.type(dst_type))

    def float(self) -> Self:
        """Convert all floating parameters and buffers to float32."""
        return self._apply(lambda tensor: tensor.to(float32) if tensor.is_floating_point() else tensor)

    def double(self) -> Self:
        """Convert all floating parameters and buffers to float64."""
        return self._apply(lambda tensor: tensor.to(float64) if tensor.is_floating_point() else tensor)

    def half(self) -> Self:
        """Convert all floating parameters and buffers to float16."""
        return self._apply(lambda tensor: tensor.to(float16) if tensor.is_floating_point() else tensor)

    def bfloat16(self) -> Self:
        """Convert all floating parameters and buffers to bfloat16."""
        return self._apply(lambda tensor: tensor.to(bfloat16) if tensor.is_floating_point() else tensor)

    def cpu(self) -> Self:
        """Move to the CPU."""
        return self._apply(lambda tensor: tensor.to("cpu"))

    def cuda(self, device: Any = None) -> Self:
        """Move to a CUDA device, by its number; the current one by default."""
        return self._apply(lambda tensor: tensor.cuda(device))

    def to_empty(self, *, device: Any, recurse: bool = True) -> Self:
        """Move to a device without the values: parameters and buffers have undefined items there."""
        return self._apply(lambda tensor: empty_like(tensor, device=device), recurse=recurse)

    def share_memory(self) -> NoReturn:
        """Not there: raises NotImplementedError, since memory of tensors is not shared between processes."""
        raise NotImplementedError(
            "Module.share_memory() is not supported: numgrad's tensors have no memory that processes share. Send "
            "state_dict() to the other process instead."
        )


def _destination(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments of `to` by name, in the first of its forms that they fit."""
    for names in _FORMS:
        given = dict(zip(names, args, strict=False)) | kwargs
        is_whole = len(given) == len(args) + len(kwargs)  # none too many, none given twice
        if is_whole and set(given) <= {*names, "memory_format"} and all(_FITS[n](v) for n, v in given.items()):
            if "copy" in given:
                raise RuntimeError(".to() does not accept copy argument")
            return given
    raise invalid_combination("to", args, kwargs, _SIGNATURES)
