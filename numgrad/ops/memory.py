"""What a tensor's memory is and how it lies there: storage, formats, and in-place changes of the layout alone."""

from __future__ import annotations

from typing import Any

from ..autograd.inplace import check_writable
from ..autograd.variable import CLASSES
from ..dispatch import dispatch
from ..kernels import movement, views
from ..kernels.array import Array, Storage, contiguous_strides
from ..memory_format import contiguous_format, has_strides, lay_out, wanted_strides
from ..memory_format import memory_format as MemoryFormat
from ..out import resize
from ..storage import UntypedStorage
from ..viewing import view_in_place
from .checks import check_tensor
from .dims import as_sizes, wrap_dim, wrap_dims


# ---------------------------------------------------------------------------------------------------- views, in place
def squeeze_(input: Any, dim: Any = None) -> Any:
    """`squeeze`, in place."""
    if dim is None:
        return view_in_place(views.squeeze_in_place, input, ())
    if isinstance(dim, (tuple, list)):
        return view_in_place(views.squeeze_dims_in_place, input, (wrap_dims(dim, input.dim()),))
    return view_in_place(views.squeeze_fresh_dim, input, (wrap_dim(dim, input.dim()),))


def unsqueeze_(input: Any, dim: int) -> Any:
    """`unsqueeze`, in place."""
    return view_in_place(views.unsqueeze_in_place, input, (wrap_dim(dim, input.dim() + 1),))


def transpose_(input: Any, dim0: int, dim1: int) -> Any:
    """`transpose`, in place."""
    rank = input.dim()
    return view_in_place(views.transpose_in_place, input, (wrap_dim(dim0, rank), wrap_dim(dim1, rank)))


def swapdims_(input: Any, dim0: int, dim1: int) -> Any:
    """Another name of `transpose_`."""
    return transpose_(input, dim0, dim1)


def swapaxes_(input: Any, axis0: int, axis1: int) -> Any:
    """NumPy's name of `transpose_`."""
    return transpose_(input, axis0, axis1)


def t_(input: Any) -> Any:
    """`t`, in place."""
    if input.dim() > 2:
        raise RuntimeError(f"t_() expects a tensor with <= 2 dimensions, but self is {input.dim()}D")
    return view_in_place(views.t_in_place, input, ())


def as_strided_(input: Any, size: Any, stride: Any, storage_offset: int | None = None) -> Any:
    """`as_strided`, in place."""
    offset = input._array.offset if storage_offset is None else storage_offset
    return view_in_place(views.as_strided_in_place, input, (tuple(size), tuple(stride), offset))


# ---------------------------------------------------------------------------------------------------- other memory
def resize_(input: Any, *size: Any, memory_format: Any = contiguous_format) -> Any:
    """Another shape over the same memory, in place; where that is too small, over more, with undefined items at the end.

    Views of the tensor stay with the old memory then. Raises RuntimeError for a tensor that requires a gradient.
    """
    wanted = as_sizes(size, "resize_")
    if input.requires_grad:
        raise RuntimeError("cannot resize variables that require grad")
    if any(n < 0 for n in wanted):
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(wanted)}: {list(wanted)}")
    if input._array.shape != wanted:
        resize(input, wanted)
        input._array.storage.version += 1
    return input


def resize_as_(input: Any, the_template: Any) -> Any:
    """`resize_` to the shape of another tensor."""
    return resize_(input, tuple(the_template.shape))


def set_(input: Any, source: Any = None, storage_offset: int = 0, size: Any = None, stride: Any = None) -> Any:
    """The memory, shape and strides of another tensor, or a storage, in place; without arguments none at all."""
    check_writable(input)
    old = input._array
    if source.__class__ in CLASSES:
        new = source._array
        memory, shape, strides, offset = new.storage, new.shape, new.strides, new.offset
    elif source is None:
        memory, shape, strides, offset = input.new_zeros(0)._array.storage, (0,), (1,), 0
    else:
        memory, offset = source._storage, storage_offset
        shape = (source.nbytes() // old.dtype.itemsize,) if size is None else tuple(size)
        strides = contiguous_strides(shape) if stride is None else tuple(stride)
    storage = Storage(memory.buffer, memory.device)  # it keeps its own counter, as in PyTorch
    storage.version = old.version + 1
    input._array = Array(storage, old.dtype, shape, strides, offset).view(shape, strides, offset)
    return input


def untyped_storage(input: Any) -> UntypedStorage:
    """The memory that the tensor shares with its views."""
    return UntypedStorage(input._array.storage)


def is_set_to(input: Any, tensor: Any) -> bool:
    """Whether two tensors are the same view of the same memory."""
    same = untyped_storage(input) == untyped_storage(tensor)
    return same and input._array.layout == tensor._array.layout


def is_same_size(input: Any, other: Any) -> bool:
    """Whether two tensors have one shape."""
    return bool(input._array.shape == other._array.shape)


def dim_order(input: Any) -> tuple[int, ...]:
    """The dimensions from the slowest to the fastest in memory."""
    strides = input._array.strides
    return tuple(sorted(range(len(strides)), key=lambda d: -strides[d]))


# ---------------------------------------------------------------------------------------------------- formats
def is_contiguous(input: Any, memory_format: Any = contiguous_format) -> bool:
    """Whether the items lie in C order, or in that of `memory_format`, without gaps."""
    if memory_format is contiguous_format:
        return bool(input._array.is_contiguous())
    if isinstance(memory_format, MemoryFormat) and memory_format.order and len(memory_format.order) != input.dim():
        return False
    return has_strides(input, wanted_strides("is_contiguous", memory_format, input._array.shape))


def clone(input: Any, *, memory_format: Any = None) -> Any:
    """A copy, recorded; it lies in memory as the tensor, or as `memory_format` says."""
    check_tensor("clone", input)
    strides = wanted_strides("clone", memory_format, input._array.shape)
    return lay_out(dispatch(movement.clone, (input,)), strides)


def contiguous(input: Any, memory_format: Any = contiguous_format) -> Any:
    """The tensor itself when its items lie in C order (or as `memory_format` says), else a copy that does."""
    if is_contiguous(input, memory_format):
        return input
    return clone(input, memory_format=memory_format)
