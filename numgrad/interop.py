"""Exchange with NumPy and with Python lists. One of the few files that name NumPy."""

from __future__ import annotations

import functools
import warnings
from typing import Any

import numpy as np

from . import dtype as dtypes
from .autograd.variable import CLASSES, wrap
from .device import CPU, device
from .dtype import FROM_NUMPY
from .kernels import cpu


def from_numpy(array: Any) -> Any:
    """A CPU tensor that shares memory with an ndarray.

    An array that NumPy marks read-only, or with negative strides, is copied: its memory is never written.

    Raises TypeError for another type and for a dtype that tensors do not have.

    Example:
        >>> import numpy as np, numgrad as ng
        >>> ng.from_numpy(np.arange(3))
        tensor([0, 1, 2])
    """
    if not isinstance(array, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(array).__name__})")
    _check_dtype(array)
    if not array.flags.writeable:
        array = array.copy()
    return wrap(cpu.from_host(_native(array)), CPU)


def _native(array: np.ndarray) -> np.ndarray:
    """The array under NumPy's one dtype object of its kind, by which kernels are found."""
    native = next(d for d in FROM_NUMPY if d == array.dtype)
    return array.view(native) if array.dtype is not native else array


def _check_dtype(array: np.ndarray) -> None:
    if not array.dtype.isnative:
        raise ValueError(
            "given numpy array has byte order different from the native byte order. Conversion between byte orders is "
            "currently not supported."
        )
    if array.dtype not in FROM_NUMPY:
        names = ", ".join(d.name for d in dtypes.ALL)
        raise TypeError(
            f"can't convert np.ndarray of type numpy.{array.dtype.type.__name__}. The only supported types are: {names}."
        )


def tensor(data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Any:
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
        values = _as_array(data, dtypes.as_dtype(dtype))
    return _new(values, dtype, device, requires_grad)


def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Any:
    """`data` as a tensor, without a copy where its memory can be shared."""
    if data.__class__ in CLASSES:
        return data.to(device=device, dtype=dtype)
    if isinstance(data, np.ndarray) and data.dtype in FROM_NUMPY:
        return from_numpy(data).to(device=device, dtype=dtype)
    return tensor(data, dtype=dtype, device=device)


def _new(values: np.ndarray, dtype: Any, where: Any, requires_grad: bool) -> Any:
    wanted = None if dtype is None else dtypes.as_dtype(dtype)
    if dtype is not None and wanted is None:
        raise TypeError(f"tensor(): argument 'dtype' must be torch.dtype, not {type(dtype).__name__}")
    values = np.array(values, dtype=values.dtype if wanted is None else wanted.numpy, order="C")
    _check_dtype(values)
    target = CPU if where is None else device(where).concrete()
    target.kernels()
    result = wrap(target.kernels().from_host(_native(values), target.hardware), target)
    return result._mark_leaf(requires_grad)


def _as_array(data: Any, wanted: dtypes.dtype | None) -> np.ndarray:
    """Numbers in nested lists as an ndarray, of the wanted dtype at once: on the way through another, digits are lost.

    Without one, the items decide together: Python's numbers by their kind, NumPy's and tensors by their own dtypes.
    """
    if isinstance(data, (np.ndarray, np.generic)):
        return np.asarray(data)
    shape = _shape_of(data)
    flat: list[Any] = []
    found: set[dtypes.dtype] = set()
    _flatten(data, shape, 0, flat, found)
    if wanted is None:
        wanted = functools.reduce(dtypes.common, found) if found else dtypes.get_default_dtype()
    try:
        with np.errstate(over="ignore"):
            return np.array(_parts(flat, wanted), dtype=wanted.numpy).reshape(shape)
    except OverflowError:
        raise ValueError("Overflow when unpacking long long") from None


def _parts(flat: list[Any], wanted: dtypes.dtype) -> list[Any]:
    """The numbers themselves. Raises TypeError for complex ones among what is to be real."""
    if (
        not wanted.is_complex
        and wanted is not dtypes.bool_
        and any(isinstance(x, (complex, np.complexfloating)) for x in flat)
    ):
        raise TypeError("must be real number, not complex")
    return flat


def _is_sequence(data: Any) -> bool:
    return isinstance(data, (list, tuple, range)) or (isinstance(data, np.ndarray) and data.ndim > 0)


def _is_nested(data: Any) -> bool:
    return _is_sequence(data) or (data.__class__ in CLASSES and data.dim() > 0)


def _shape_of(data: Any) -> tuple[int, ...]:
    shape: list[int] = []
    while _is_nested(data):
        shape.append(len(data))
        if not len(data):
            break
        data = data[0]
    return tuple(shape)


def _flatten(data: Any, shape: tuple[int, ...], depth: int, out: list[Any], found: set[dtypes.dtype]) -> None:
    """Append the numbers of nested lists to `out`, and their dtypes to `found`.

    Raises, with PyTorch's texts, where they do not fill `shape`.
    """
    if depth == len(shape):
        number = _number(data)
        out.append(number)
        own: Any = getattr(data, "dtype", None)
        if data.__class__ in CLASSES:
            found.add(own)
        else:
            found.add(FROM_NUMPY[own] if own in FROM_NUMPY else dtypes.of_number(number))
        return
    if not _is_nested(data):
        raise TypeError("not a sequence")
    if len(data) != shape[depth]:
        raise ValueError(f"expected sequence of length {shape[depth]} at dim {depth} (got {len(data)})")
    for item in data:
        _flatten(item, shape, depth + 1, out, found)


def _number(value: Any) -> Any:
    if isinstance(value, (bool, int, float, complex, np.generic)):
        return value
    if _is_sequence(value):
        raise TypeError(f"'{type(value).__name__}' object cannot be interpreted as an integer")
    if value.__class__ in CLASSES or isinstance(value, np.ndarray):
        return value.item()
    if isinstance(value, str):
        raise TypeError("new(): invalid data type 'str'")
    raise RuntimeError(f"Could not infer dtype of {type(value).__name__}")


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


def fetch(x: Any, index: tuple[slice, ...]) -> Any:
    """Nested lists of a part of a tensor, for printing."""
    loops = x._device.kernels()
    return loops.to_host(x._array)[index].tolist()


def items(x: Any) -> Any:
    """All items of a tensor as nested Python lists, or a number."""
    return x._device.kernels().to_host(x._array).tolist()
