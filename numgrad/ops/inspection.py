"""Questions about tensors and dtypes: `is_tensor`, `is_complex`, `numel`, `result_type`, `layout` and such."""

from __future__ import annotations

from typing import Any

from .. import dtype as dtypes
from ..autograd.variable import CLASSES
from ..storage import UntypedStorage
from .checks import check_tensor


def is_tensor(obj: object) -> bool:
    """Whether an object is a tensor."""
    return obj.__class__ in CLASSES


def is_floating_point(input: Any) -> bool:
    """Whether a tensor's dtype is a float; complex ones are not."""
    check_tensor("is_floating_point", input)
    return bool(input.dtype.is_floating_point)


def is_complex(input: Any) -> bool:
    """Whether a tensor's dtype is complex."""
    check_tensor("is_complex", input)
    return bool(input.dtype.is_complex)


def is_signed(input: Any) -> bool:
    """Whether a tensor's dtype has negative numbers."""
    check_tensor("is_signed", input)
    return bool(input.dtype.is_signed)


def is_nonzero(input: Any) -> bool:
    """Whether the only item of a tensor is not 0. Raises RuntimeError when there are several, or none."""
    check_tensor("is_nonzero", input)
    return bool(input)


def numel(input: Any) -> int:
    """Number of items of a tensor."""
    check_tensor("numel", input)
    return int(input._array.size)


def get_device(input: Any) -> int:
    """The number of a tensor's card, -1 on the CPU."""
    check_tensor("get_device", input)
    return -1 if input._device.type == "cpu" else int(input._device.index or 0)


def is_storage(obj: object) -> bool:
    """Whether an object is a storage."""
    return isinstance(obj, UntypedStorage)


def typename(obj: Any) -> str:
    """How PyTorch names the type of an object: 'int', 'torch.FloatTensor', 'package.module.Class'."""
    if is_tensor(obj):
        return str(obj.type())
    kind = obj if hasattr(obj, "__qualname__") else type(obj)  # a class or a function names itself
    return str(kind.__qualname__ if kind.__module__ in ("builtins", None) else f"{kind.__module__}.{kind.__qualname__}")


class layout:
    """How a tensor's items are kept: all of them, at strides. There is one, `numgrad.strided`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "torch.strided"

    def __reduce__(self) -> str:
        return "strided"


strided = layout()

PROPERTIES: dict[str, Any] = {  # of every tensor, about what there is none of but in PyTorch
    "layout": strided,
    "name": None,
    "is_meta": False,
    **dict.fromkeys(("is_sparse", "is_sparse_csr", "is_quantized", "is_nested", "is_mkldnn"), False),
    **dict.fromkeys(("is_xla", "is_xpu", "is_mps", "is_ipu", "is_mtia", "is_maia", "is_vulkan"), False),
}


def is_pinned(self: Any, device: Any = None) -> bool:
    """Whether the memory is locked for copies to a device: never."""
    return False


def is_shared(self: Any) -> bool:
    """Whether other processes share the memory: those of a device do, as in PyTorch; the CPU's are this process's own."""
    return bool(self.is_cuda)


def dense_dim(self: Any) -> int:
    """Number of dimensions."""
    return int(self.dim())


def to_dense(self: Any, dtype: Any = None, *, masked_grad: bool = True) -> Any:
    """The tensor itself: there are no sparse ones."""
    return self if dtype is None else self.to(dtype)


def result_type(*args: Any, **named: Any) -> dtypes.dtype:
    """The dtype of arithmetic on two operands, each a tensor or a number: `result_type(tensor, other)`.

    Raises TypeError for anything else.

    Example:
        >>> import numgrad as ng
        >>> ng.result_type(ng.tensor([1, 2]), 1.0)
        torch.float32
    """
    operands = (*args, *named.values())
    allowed = {"tensor", "other", "scalar", "scalar1", "scalar2"}
    dims: list[dtypes.dtype] = []
    zeros: list[dtypes.dtype] = []
    numbers: list[dtypes.dtype] = []
    for x in operands:
        if x.__class__ in CLASSES:
            (dims if x.dim() else zeros).append(x.dtype)
        elif isinstance(x, (bool, int, float, complex)):
            numbers.append(dtypes.of_number(x))
    if len(dims) + len(zeros) + len(numbers) != 2 or len(operands) != 2 or named.keys() - allowed:
        given = ", ".join(type(x).__name__ for x in operands)
        raise TypeError(f"result_type() received an invalid combination of arguments - got ({given})")
    return dtypes.promote(dims, zeros, numbers)
