"""Exchange with NumPy and with Python lists. One of the few files that name NumPy."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from . import dtype as dtypes
from .autograd.variable import CLASSES, wrap_new
from .device import CPU, default, device
from .device import device as _device
from .dtype import FROM_NUMPY
from .kernels import cpu
from .nested_lists import as_array, type_name


def from_numpy(array: Any) -> Any:
    """A CPU tensor that shares memory with an ndarray.

    An array that NumPy marks read-only, or with negative strides, is copied: its memory is never written.

    Raises TypeError for another type and for a dtype that tensors do not have, ValueError for another byte order and for
    strides that are no multiple of the item size.

    Example:
        >>> import numpy as np, numgrad as ng
        >>> ng.from_numpy(np.arange(3))
        tensor([0, 1, 2])
    """
    if not isinstance(array, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type_name(array)})")
    _check_dtype(array)
    if any(s % array.itemsize for s in array.strides):
        raise ValueError(
            "given numpy array strides not a multiple of the element byte size. Copy the numpy array to reallocate the "
            "memory."
        )
    if not array.flags.writeable:
        array = array.copy()
    return wrap_new(cpu.from_host(_native(array)), CPU)


def _native(array: np.ndarray) -> np.ndarray:
    """The array under NumPy's one dtype object of its kind, by which kernels are found."""
    native = _NATIVE[array.dtype]
    return array.view(native) if array.dtype is not native else array


_NATIVE = {d: d for d in FROM_NUMPY}


def _check_dtype(array: np.ndarray) -> None:
    if not array.dtype.isnative:
        raise ValueError(
            "given numpy array has byte order different from the native byte order. Conversion between byte orders is "
            "currently not supported."
        )
    if array.dtype not in FROM_NUMPY:
        names = [d.name for d in sorted(dtypes.ALL, key=_as_listed) if d.name != "bfloat16"]
        raise TypeError(
            f"can't convert np.ndarray of type numpy.{array.dtype.type.__name__}. The only supported types are: "
            f"{', '.join(names[:-1])}, and {names[-1]}."
        )


def _as_listed(d: dtypes.dtype) -> Any:
    """PyTorch's order: floats, complex numbers, signed and unsigned integers, bool; larger ones first, but for complex."""
    kind = d.numpy.kind
    return "fVciub".index(kind), d.itemsize if kind == "c" else -d.itemsize


def tensor(
    data: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """A new leaf tensor that copies `data`: a number, nested lists, an ndarray or a tensor.

    Floats take the default dtype, ints int64.

    Raises:
        ValueError: lists of unequal length.
        RuntimeError: `requires_grad` with an integer dtype.

    Example:
        >>> import numgrad as ng
        >>> ng.tensor([[1.0, 2.0], [3.0, 4.0]])
        tensor([[1., 2.],
                [3., 4.]])
    """
    if data.__class__ in CLASSES:
        warnings.warn(
            "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
            "sourceTensor.detach().clone().requires_grad_(True), rather than torch.tensor(sourceTensor).",
            UserWarning,
            stacklevel=2,
        )
        values = data.detach().cpu()._array.ndarray
        device = data._device if device is None else device
    else:
        values = as_array(data, dtypes.as_dtype(dtype))
    return _new(values, dtype, device, requires_grad)


def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Any:
    """`data` as a tensor, without a copy where its memory can be shared."""
    if data.__class__ in CLASSES:
        return data.to(device=device, dtype=dtype)
    if isinstance(data, np.ndarray):
        return from_numpy(data).to(device=device, dtype=dtype)
    return tensor(data, dtype=dtype, device=device)


def asarray(
    obj: Any, *, dtype: Any = None, device: Any = None, copy: bool | None = None, requires_grad: bool | None = None
) -> Any:
    """`obj` as a tensor: a tensor, an ndarray, anything with `__dlpack__` or the buffer protocol, or nested lists.

    Memory is shared where it can be, unless `copy=True`. What is shared keeps its graph unless `requires_grad` is False.

    Raises ValueError when `copy=False` and it cannot be shared.

    Example:
        >>> import numpy as np, numgrad as ng
        >>> a = np.zeros(2)
        >>> ng.asarray(a)[0] = 5
        >>> a
        array([5., 0.])
    """
    shared = _sharing(obj, dtype)
    if shared is None:
        if copy is False:
            raise ValueError("can't alias arbitrary sequence into a tensor.")
        return tensor(obj, dtype=dtype, device=device, requires_grad=bool(requires_grad))
    wanted = shared.dtype if dtype is None else _checked_dtype("asarray", dtype)
    where = shared._device if device is None else _device(device).concrete()
    if copy is False and wanted is not shared.dtype:
        raise ValueError(
            f"can't alias tensor with dtype '{shared.dtype.scalar_name}' into dtype '{wanted.scalar_name}'."
        )
    if copy is False and where.hardware != shared._device.hardware:
        raise ValueError(f"can't alias tensor from device '{shared._device}' to '{where}'.")
    result = shared.to(device=where, dtype=wanted, copy=bool(copy))
    if requires_grad is None:
        if obj.__class__ in CLASSES and obj.requires_grad:
            warnings.warn(
                "torch.asarray: unspecified requires_grad now defaults to obj.requires_grad instead of False. Pass "
                "requires_grad=False explicitly to get the old behavior and silence this warning.",
                UserWarning,
                stacklevel=2,
            )
        return result
    if not requires_grad:
        return result.detach() if result.requires_grad else result
    return result if result.requires_grad else result.requires_grad_()


def _sharing(obj: Any, dtype: Any) -> Any:
    """A tensor over the memory of `obj`, or None where it shows none."""
    if obj.__class__ in CLASSES:
        return obj
    if isinstance(obj, np.generic):
        return from_numpy(np.array(obj))
    if isinstance(obj, np.ndarray):
        return from_numpy(obj)
    if hasattr(obj, "__dlpack__"):
        return from_dlpack(obj)
    try:
        memoryview(obj)
    except TypeError:
        return None
    return frombuffer(obj, dtype=dtypes.get_default_dtype() if dtype is None else dtype)


def frombuffer(buffer: Any, *, dtype: Any, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Any:
    """A 1-d tensor that shares memory with an object of the buffer protocol, such as a `bytearray`.

    `count` items (all for -1) from byte `offset` on. Read-only memory, such as that of `bytes`, is copied.

    Raises ValueError for an object without buffer, for an empty one and for a part that is not in it.

    Example:
        >>> import numgrad as ng
        >>> ng.frombuffer(bytearray([1, 0, 2, 0]), dtype=ng.int16)
        tensor([1, 2], dtype=torch.int16)
    """
    wanted = _checked_dtype("frombuffer", dtype)
    try:
        view = memoryview(buffer)
    except TypeError:
        raise ValueError("object does not implement Python buffer protocol.") from None
    length, size = view.nbytes, wanted.itemsize
    if not length or not count:
        raise ValueError(f"both buffer length ({length}) and count ({count}) must not be 0")
    if not 0 <= offset < length:
        raise ValueError(
            f"offset ({offset} bytes) must be non-negative and no greater than buffer length ({length} bytes) minus 1"
        )
    if count < 0 and (length - offset) % size:
        raise ValueError(
            f"buffer length ({length - offset} bytes) after offset ({offset} bytes) must be a multiple of element size "
            f"({size})"
        )
    if count > 0 and offset + count * size > length:
        raise ValueError(
            f"requested buffer length ({count} * {size} bytes) after offset ({offset} bytes) must not be greater than "
            f"actual buffer length ({length} bytes)"
        )
    values = np.frombuffer(view, wanted.numpy, count, offset)
    if not values.flags.writeable:
        values = values.copy()
    return wrap_new(cpu.from_host(values), CPU)._mark_leaf(requires_grad)


def _checked_dtype(name: str, dtype: Any) -> dtypes.dtype:
    found = dtypes.as_dtype(dtype)
    if found is None:
        raise TypeError(f"{name}(): argument 'dtype' must be torch.dtype, not {type(dtype).__name__}")
    return found


# ---------------------------------------------------------------------------------------------------- DLPack
_INVALID_CAPSULE = (
    "from_dlpack received an invalid capsule. Note that DLTensor capsules can be consumed only once, so you might have "
    "already constructed a tensor from it once."
)


class _Capsule:
    """A bare DLPack capsule with the methods that `numpy.from_dlpack` asks for."""

    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule

    def __dlpack__(self, **options: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return _DLPACK_CPU


class _Writable:
    """The memory of an array that another library lent without a word on whether it may be written."""

    def __init__(self, array: np.ndarray) -> None:
        interface = dict(array.__array_interface__)
        interface["data"] = (interface["data"][0], False)
        self.__array_interface__ = interface
        self.owner = array


_DLPACK_CPU = (1, 0)  # kDLCPU and its index
_DLPACK_CUDA = 2
_VERSIONED = "dltensor_versioned"


def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Any:
    """A tensor that shares memory with an array of another library, by the DLPack protocol, or with a DLPack capsule.

    An array whose owner says that it is read-only is copied.

    Raises RuntimeError for what is neither, and for a capsule that was consumed before; BufferError where the owner does
    not export, and for memory that is not on the CPU.

    Example:
        >>> import numpy as np, numgrad as ng
        >>> ng.from_dlpack(np.arange(3))
        tensor([0, 1, 2])
    """
    if hasattr(ext_tensor, "__dlpack__"):
        if int(ext_tensor.__dlpack_device__()[0]) != _DLPACK_CPU[0]:
            raise BufferError("from_dlpack takes memory of the CPU only: move it there first")
        capsule = _export(ext_tensor)
    elif type(ext_tensor).__name__ == "PyCapsule":
        capsule = ext_tensor
    else:
        raise RuntimeError(_INVALID_CAPSULE)
    is_versioned = _VERSIONED in repr(capsule)
    try:
        found = np.from_dlpack(_Capsule(capsule))
    except ValueError:
        raise RuntimeError(_INVALID_CAPSULE) from None
    if not is_versioned and not found.flags.writeable:  # the older protocol cannot say; NumPy then takes the safe side
        found = np.asarray(_Writable(found))
    result = from_numpy(found).to(device=device)
    return result.clone() if copy and result._array.ndarray.base is not None else result


def _export(owner: Any) -> Any:
    try:
        return owner.__dlpack__(max_version=(1, 0))
    except TypeError:  # a library of before version 1
        return owner.__dlpack__()


def dlpack_device(x: Any) -> tuple[int, int]:
    """DLPack's numbers of the device type (1 for the CPU, 2 for CUDA) and of the device."""
    return _DLPACK_CPU if x._device.type == "cpu" else (_DLPACK_CUDA, x._device.index)


def to_dlpack(x: Any, stream: Any, max_version: Any, dl_device: Any, copy: bool | None) -> Any:
    """A capsule over the memory of a CPU tensor. Raises BufferError, as PyTorch, for one that requires a gradient."""
    if x.requires_grad:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    if stream is not None and not isinstance(stream, int):
        raise TypeError("stream must be ``int`` or ``none``")
    if x._device.type != "cpu":
        raise BufferError(f"DLPack export of a tensor on {x._device} is not supported yet: use tensor.cpu()")
    if stream not in (None, -1):
        raise AssertionError("stream should be None on cpu.")
    return x._array.ndarray.__dlpack__(max_version=max_version, dl_device=dl_device, copy=copy)


# ---------------------------------------------------------------------------------------------------- new tensors
def index_tensor(data: Any, where: Any) -> Any:
    """A list, range, tuple or ndarray as an index: bools and uint8 as they are, any other numbers as int64."""
    values = as_array(data, None)
    if values.dtype not in (np.bool_, np.uint8):
        values = values.astype(np.int64)
    return _new(values, None, where, False)


def _new(values: np.ndarray, dtype: Any, where: Any, requires_grad: bool) -> Any:
    wanted = None if dtype is None else _checked_dtype("tensor", dtype)
    _check_dtype(values)
    values = np.array(values, dtype=values.dtype if wanted is None else wanted.numpy, order="C")
    target = default.device if where is None else device(where).concrete()
    result = wrap_new(target.kernels().from_host(_native(values), target.hardware), target)
    return result._mark_leaf(requires_grad)


def to_numpy(x: Any) -> Any:
    """The ndarray that shares memory with a CPU tensor. Raises RuntimeError for one that requires a gradient."""
    if x.requires_grad:
        raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
    if x._device.type != "cpu":
        raise TypeError(
            f"can't convert {x._device} device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory "
            "first."
        )
    if x.dtype is dtypes.bfloat16:
        raise TypeError("Got unsupported ScalarType BFloat16")
    return x._array.ndarray.view()


def as_ndarray(x: Any, dtype: Any, copy: bool | None) -> Any:
    """What `numpy.asarray(x)` gives: the memory of a CPU tensor, or a copy in another dtype.

    Raises ValueError where `copy` is False and one is needed.
    """
    found = to_numpy(x)
    if copy is False and dtype is not None and np.dtype(dtype) != found.dtype:
        raise ValueError("Unable to avoid copy while creating an array as requested.")
    return found if dtype is None and not copy else found.astype(dtype or found.dtype, copy=bool(copy))


def is_ndarray(value: Any) -> bool:
    """Whether a value is an ndarray."""
    return isinstance(value, np.ndarray)


def as_operand(value: Any, like: Any, alone: bool = False) -> Any:
    """A NumPy scalar as a Python number, an ndarray as a tensor beside `like`; NotImplemented for anything else.

    With `alone` an ndarray needs no tensor to stand beside: it becomes one on the CPU. One of a dtype that no tensor has is
    then a TypeError.
    """
    if isinstance(value, np.generic):
        return value.item()
    kind: Any
    for kind in (bool, int, float, complex):  # a subclass, such as an IntEnum
        if isinstance(value, kind):
            return kind(value)
    if isinstance(value, np.ndarray) and (alone or (like is not None and value.dtype in FROM_NUMPY)):
        return from_numpy(value) if like is None else from_numpy(value).to(like._device)
    return NotImplemented


_OPERATORS: dict[str, Callable[..., Any]] = {
    "absolute": operator.abs, "add": operator.add, "bitwise_and": operator.and_, "bitwise_or": operator.or_,
    "bitwise_xor": operator.xor, "divide": operator.truediv, "equal": operator.eq, "floor_divide": operator.floordiv,
    "greater": operator.gt, "greater_equal": operator.ge, "invert": operator.invert, "left_shift": operator.lshift,
    "less": operator.lt, "less_equal": operator.le, "matmul": operator.matmul, "multiply": operator.mul,
    "negative": operator.neg, "not_equal": operator.ne, "positive": operator.pos, "power": operator.pow,
    "remainder": operator.mod, "right_shift": operator.rshift, "subtract": operator.sub,
}  # fmt: skip
"""Python's operators by the names of NumPy's functions: what `ndarray * tensor` asks for."""


def ufunc(function: Any, method: str, *inputs: Any, **options: Any) -> Any:
    """A NumPy function of arrays of which one is a tensor.

    An operator gives a tensor, with its graph. Any other function is computed by NumPy on the tensors' memory, and gives
    tensors outside the graph; so for tensors that require gradients it raises RuntimeError, as `numpy()` does.
    """
    if method == "__call__" and not options and function.__name__ in _OPERATORS:
        like = next(x for x in inputs if x.__class__ in CLASSES)
        operands = [x if x.__class__ in CLASSES else as_operand(x, like) for x in inputs]
        if not any(x is NotImplemented for x in operands):
            return _OPERATORS[function.__name__](*operands)
    outs = options.get("out", ())
    if outs:
        options["out"] = tuple(_bare(x) for x in outs)
    found = getattr(function, method)(*map(_bare, inputs), **options)
    if outs:
        for out in outs:
            if out.__class__ in CLASSES:
                out._array.storage.version += 1
        return outs[0] if len(outs) == 1 else outs
    if isinstance(found, tuple):
        return tuple(_tensor_of(x) for x in found)
    return _tensor_of(found)


def _bare(value: Any) -> Any:
    return to_numpy(value) if value.__class__ in CLASSES else value


def _tensor_of(value: Any) -> Any:
    """A result of NumPy's as a tensor, or itself where no tensor has its dtype."""
    found = np.asarray(value)
    return from_numpy(found) if found.dtype in FROM_NUMPY else value


def fetch(x: Any, index: tuple[slice, ...]) -> Any:
    """Nested lists of a part of a tensor, for printing; of another device no more than that part is fetched."""
    shape, strides, offset = x._array.layout
    for dim, part in enumerate(index):
        start, stop, _ = part.indices(shape[dim])
        offset += start * strides[dim]
        shape = (*shape[:dim], stop - start, *shape[dim + 1 :])
    return x._device.kernels().to_host(x._array.view(shape, strides, offset)).tolist()


# ---------------------------------------------------------------------------------------------------- NumPy's classes
ARRAY = np.ndarray
SCALARS = (np.bool_, np.number, np.object_)  # strings are none


def random_functions() -> tuple[Any, Any, dict[str, str]]:
    """NumPy's module of random functions, the stream that they draw from, and the methods under another name there."""
    return np.random, np.random.mtrand._rand, {"seed": "seed", "ranf": "random_sample", "sample": "random_sample"}


def items(x: Any) -> Any:
    """All items of a tensor as nested Python lists, or a number."""
    return x._device.kernels().to_host(x._array).tolist()


def extent(x: Any) -> tuple[Any, Any, int]:
    """The smallest and the largest item of a tensor, without NaN, and how many items are NaN. It has some items."""
    values = x._device.kernels().to_host(x._array)
    if not x.dtype.is_floating_point:
        return values.min().item(), values.max().item(), 0
    nans = int(np.count_nonzero(np.isnan(values)))
    return float(np.fmin.reduce(values, axis=None)), float(np.fmax.reduce(values, axis=None)), nans
