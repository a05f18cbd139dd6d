"""`out=`: the tensor that takes a result is resized to its shape, and refused for its dtype."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from . import dtype as dtypes
from .autograd.grad_mode import mode
from .autograd.inplace import check_apart, check_counted, check_self_overlap
from .autograd.variable import CLASSES
from .dtype import FROM_NUMPY
from .kernels.array import Array, contiguous_strides
from .kernels.registry import Op


def prepare_out(op: Op, out: Any, shape: tuple[int, ...], dtype: Any) -> None:
    """Give `out` the shape of a result. Raises RuntimeError, with PyTorch's text, for another dtype than the result's."""
    if out._array.dtype != dtype:
        wanted, given = FROM_NUMPY[dtype], FROM_NUMPY[out._array.dtype]
        raise RuntimeError(f"Expected out tensor to have dtype {wanted.c_name}, but got {given.c_name} instead")
    check_counted(out)
    resize_out(out, shape)


def write_out(name: str, out: Any, found: Any, inputs: Sequence[Any]) -> Any:
    """Write the result of the function `name`, made of several ops, to `out`, which may be of another float dtype.

    Raises RuntimeError, with PyTorch's texts, when a tensor requires a gradient, or `out` overlaps an input.
    """
    if mode.enabled and any(x.requires_grad for x in (*inputs, out)):
        raise RuntimeError(no_out_grad(name))
    check_counted(out)
    resize_out(out, found._array.shape)
    check_out_apart(out, inputs)
    check_castable(out, found._array.dtype)
    out._device.kernels().copy(found._array, out._array)
    out._array.storage.version += 1
    return out


def check_out_apart(out: Any, inputs: Sequence[Any]) -> None:
    """Raise RuntimeError, with PyTorch's text, when `out` (None for none) shares memory with an input or with itself."""
    if out is not None and out.__class__ in CLASSES:
        check_self_overlap(out)
        check_apart(out, inputs)


def no_out_grad(name: str) -> str:
    """The text about `out=` of a function together with a gradient."""
    return (
        f"{name.partition('.')[0]}(): functions with out=... arguments don't support automatic differentiation, but one of "
        "the arguments requires grad."
    )


def check_castable(out: Any, dtype: Any) -> None:
    """Raise RuntimeError, with PyTorch's text, when a result of a NumPy dtype loses its kind in `out`."""
    result, own = FROM_NUMPY[dtype], FROM_NUMPY[out._array.dtype]
    if not dtypes.can_cast(result, own):
        raise RuntimeError(
            f"result type {result.scalar_name} can't be cast to the desired output type {own.scalar_name}"
        )


_OF_THE_RESULT = frozenset({"abs", "bitwise_not", "ceil", "floor", "frac", "neg", "round", "sgn", "sign", "trunc"})
_OF_BOOLS = frozenset({"isneginf", "isposinf", "signbit"})


def check_out_dtype(name: str, out: Any, dtype: Any) -> None:
    """`check_castable` for an elementwise function, some of which take no other dtype than the result's."""
    result, own = FROM_NUMPY[dtype], FROM_NUMPY[out._array.dtype]
    if own is not result:
        if name in _OF_THE_RESULT:
            raise RuntimeError(f"Found dtype {own.scalar_name} but expected {result.scalar_name}")
        if name in _OF_BOOLS:
            raise RuntimeError(f"{name} does not support non-boolean outputs.")
        if name == "nan_to_num":
            raise RuntimeError(
                f"nan_to_num: dtype of out: {own.scalar_name} should be same as input: {result.scalar_name}"
            )
    check_castable(out, dtype)


def resize_out(out: Any, shape: tuple[int, ...]) -> None:
    """Give `out` a shape, with PyTorch's warning when it had items of another one."""
    old = out._array
    if old.shape == shape:
        return
    if old.size:
        warnings.warn(
            f"An output with one or more elements was resized since it had shape {list(old.shape)}, which does not match "
            f"the required output shape {list(shape)}. This behavior is deprecated, and in a future PyTorch release "
            "outputs will not be resized unless they have zero elements. You can explicitly reuse an out tensor t by "
            "resizing it, inplace, to zero elements with t.resize_(0).",
            stacklevel=2,
        )
    resize(out, shape)


def resize(x: Any, shape: tuple[int, ...]) -> None:
    """Give a tensor another shape over its storage, from the same offset; memory of its own when that is too small."""
    old = x._array
    made = Array(None, old.dtype, shape, contiguous_strides(shape), old.offset)
    needed = old.offset + made.size
    if needed > old.storage_items():
        grown = x._device.kernels().empty((needed,), old.dtype, x._device.hardware)
        whole = old.view((old.storage_items(),), (1,), 0)
        x._device.kernels().copy(whole, grown.view(whole.shape, (1,), 0))
        grown.storage.version = old.version
        old = grown
    x._array = old.view(shape, made.strides, made.offset)
