"""What a tensor's memory is and how it lies there: storage, formats, and in-place changes of the layout alone."""

from __future__ import annotations

import warnings
from typing import Any

from ..autograd.grad_mode import mode
from ..autograd.inplace import check_writable
from ..autograd.variable import CLASSES, wrap_new
from ..autograd.watch import watching
from ..dispatch import dispatch
from ..kernels import movement, views
from ..kernels.array import Array, Storage, contiguous_strides
from ..memory_format import contiguous_format, has_strides, lay_out, wanted_strides
from ..memory_format import memory_format as MemoryFormat
from ..out import resize as resize_memory
from ..size import Size
from ..storage import TypedStorage, UntypedStorage
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
        resize_memory(input, wanted)
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
    array = input._array
    strides = wanted_strides("clone", memory_format, array.shape)
    if strides is not None and array.__class__ is Array and not watching and not (mode.enabled and input.requires_grad):
        target = input._device.kernels().empty(array.shape, array.dtype, input._device.hardware)
        if target.strides != strides:
            target = target.view(array.shape, strides, 0)
        input._device.kernels().copy(array, target)
        return wrap_new(target, input._device)
    return lay_out(dispatch(movement.clone, (input,)), strides)


def contiguous(input: Any, memory_format: Any = contiguous_format) -> Any:
    """The tensor itself when its items lie in C order (or as `memory_format` says), else a copy that does."""
    if is_contiguous(input, memory_format):
        return input
    return clone(input, memory_format=memory_format)


# ---------------------------------------------------------------------------------------------------- filling
def fill(input: Any, value: Any) -> Any:
    """A tensor like `input` with every item `value`, a number or a 0-d tensor; its gradient is that of `value` alone."""
    check_tensor("fill", input)
    return input.clone().fill_(value)


def fill_(input: Any, value: Any) -> Any:
    """Set every item, in place; see `Tensor.fill_`."""
    check_tensor("fill_", input)
    return input.fill_(value)


def fill_diagonal_(self: Any, fill_value: float, wrap: bool = False) -> Any:
    """Set the items whose indices are all equal; with `wrap` those of a tall matrix that follow after each square, too.

    Raises RuntimeError for fewer than two dimensions, and for several of different extents.
    """
    if self.dim() < 2:
        raise RuntimeError("dimensions must larger than 1")
    if self.dim() > 2 and len(set(self.shape)) > 1:
        raise RuntimeError("all dimensions of input must be of equal length")
    step = sum(self.stride())
    self.as_strided((min(self.shape),), (step,)).fill_(fill_value)
    if wrap and self.dim() == 2 and self.shape[0] > self.shape[1] + 1:
        rows, columns = self.shape
        for start in range(columns + 1, rows, columns + 1):
            self[start:].diagonal().fill_(fill_value)
    return self


def detach(input: Any) -> Any:
    """A view outside the graph; see `Tensor.detach`."""
    check_tensor("detach", input)
    return input.detach()


def detach_(input: Any) -> Any:
    """Take a tensor out of the graph, in place."""
    check_tensor("detach_", input)
    return input.detach_()


# ---------------------------------------------------------------------------------------------------- older methods
def storage(self: Any) -> TypedStorage:
    """The memory as items. Deprecated in PyTorch, with its warning: `untyped_storage` gives the bytes."""
    warnings.warn(
        "TypedStorage is deprecated. It will be removed in the future and UntypedStorage will be the only storage "
        "class. This "
        "should only matter to you if you are using storages directly.  To access UntypedStorage directly, use "
        "tensor.untyped_storage() instead of tensor.storage()",
        stacklevel=2,
    )
    memory = self._array.storage
    whole = Array(memory, self._array.dtype, (memory.buffer.nbytes // self.element_size(),), (1,))
    return TypedStorage(wrap_new(whole, self._device))


def as_subclass(self: Any, cls: Any) -> Any:
    """The same items and history under another class of tensors. Raises TypeError for what is none."""
    if not isinstance(cls, type) or cls not in CLASSES:
        raise TypeError(f"as_subclass expects a subclass of Tensor, but got {cls!r}")
    made = self.view_as(self)
    made.__class__ = cls
    return made


def new(self: Any, *data: Any) -> Any:
    """A tensor of this one's dtype: of items, of a shape (undefined items), or empty. `new_tensor` says which."""
    if not data:
        return self.new_empty(0)
    if len(data) == 1 and not isinstance(data[0], (int, Size)):
        given = data[0]
        return given.detach().to(self.dtype) if given.__class__ in CLASSES else self.new_tensor(given)
    return self.new_empty(*data)


def resize(self: Any, *sizes: Any) -> Any:
    """`reshape` to as many items, by its older name."""
    return self.reshape(*sizes)


def resize_as(self: Any, tensor: Any) -> Any:
    """`resize` to the shape of another tensor."""
    return self.reshape(tuple(tensor.shape))


def apply_(self: Any, function: Any) -> Any:
    """Replace each item by `function(item)`, one at a time in Python, in place. Raises TypeError off the CPU."""
    if self.is_cuda:
        raise TypeError("apply_ is only implemented on CPU tensors")
    if self.requires_grad:
        raise RuntimeError("Can't call apply_() on Variable that requires grad. Use var.detach().apply_() instead.")
    return self.copy_(self.new_tensor([function(x) for x in self.reshape(-1).tolist()]).reshape(self.shape))


def map_(self: Any, tensor: Any, function: Any) -> Any:
    """Replace each item by `function(item, other item)`, one at a time in Python, in place."""
    if self.requires_grad or tensor.requires_grad:
        raise RuntimeError("Can't call map_() on Variable that requires grad. Use var.detach().map_() instead.")
    pairs = zip(self.reshape(-1).tolist(), tensor.expand(self.shape).reshape(-1).tolist(), strict=True)
    return self.copy_(self.new_tensor([function(a, b) for a, b in pairs]).reshape(self.shape))


def new_empty_strided(self: Any, size: Any, stride: Any, **options: Any) -> Any:
    """Undefined items with these strides, with this tensor's dtype and device."""
    from ..creation import empty_strided

    return empty_strided(size, stride, **{"dtype": self.dtype, "device": self._device, **options})


def share_memory_(self: Any) -> Any:
    """The tensor itself. Memory of the CPU is not moved: processes share it only by `fork`."""
    return self


def pin_memory(self: Any, device: Any = None) -> Any:
    """The tensor itself on a machine with CUDA: its memory is copied without being pinned.

    Raises RuntimeError, with PyTorch's text, where no device is.
    """
    from ..cuda import is_available

    if not is_available():
        raise RuntimeError("Cannot access accelerator device when none is available.")
    return self
