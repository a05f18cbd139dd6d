"""Views, and joining of tensors: public functions over the view ops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..autograd.tracing import memory
from ..autograd.variable import CLASSES, wrap
from ..dispatch import dispatch
from ..dtype import can_cast
from ..dtype import common as common_dtype
from ..dtype import dtype as _dtype
from ..kernels import movement, views
from ..kernels.array import broadcast_axes, storage_extent
from ..kernels.views import view_strides
from ..memory_format import contiguous_format
from ..operands import MIXED, Foreign
from ..out import write_out
from ..viewing import gives_view
from .dims import as_sizes, infer_size, wrap_dim, wrap_dims


@gives_view
def view(input: Any, *size: Any, dtype: Any = None, **named: Any) -> Any:
    """The same items under another shape, sharing memory. One size may be -1.

    With a dtype instead of a shape the same memory read in it: no step of the graph, so that no gradient passes.
    """
    size = named_sizes("view", size, named, "size")
    if dtype is not None or (len(size) == 1 and isinstance(size[0], _dtype)):
        return view_as_dtype(input, size[0] if dtype is None else dtype)
    array = input._array
    return views.view, (infer_size(as_sizes(size, "view"), array.size),)


def named_sizes(name: str, sizes: tuple[Any, ...], named: dict[str, Any], argument: str) -> tuple[Any, ...]:
    """Sizes that may also be given by name. Raises TypeError for another name."""
    if argument in named and not sizes:
        sizes = (named.pop(argument),)
    if named:
        raise TypeError(f"{name}() got an unexpected keyword argument '{next(iter(named))}'")
    return sizes


def view_as_dtype(input: Any, wanted: Any) -> Any:
    """The memory of a tensor read in another dtype; the last dimension grows or shrinks with the size of an item.

    Raises RuntimeError, with PyTorch's texts, when the layout does not allow it.
    """
    array = input._array
    old, new = input.dtype, wanted
    shape, strides, offset = array.layout
    ratio = old.itemsize / new.itemsize
    if ratio != 1:
        reason = f"to view {old.scalar_name} as {new.scalar_name} (different element sizes)"
        if not shape:
            raise RuntimeError(f"self.dim() cannot be 0 {reason}")
        if strides[-1] != 1:
            raise RuntimeError(f"self.stride(-1) must be 1 {reason}, but got {strides[-1]}")
        parts = new.itemsize // old.itemsize
        if ratio < 1:
            if shape[-1] % parts:
                raise RuntimeError(f"self.size(-1) must be divisible by {parts} {reason}, but got {shape[-1]}")
            if offset % parts:
                raise RuntimeError(f"self.storage_offset() must be divisible by {parts} {reason}, but got {offset}")
            for d, s in enumerate(strides[:-1]):
                if s % parts:
                    raise RuntimeError(f"self.stride({d}) must be divisible by {parts} {reason}, but got {s}")
        shape = (*shape[:-1], int(shape[-1] * ratio))
        strides = (*(int(s * ratio) for s in strides[:-1]), 1)
        offset = int(offset * ratio)
    return wrap(array.view(shape, strides, offset, new.numpy), input._device)


@gives_view
def reshape(input: Any, *shape: Any, **named: Any) -> Any:
    """The same items under another shape: a view where the layout allows it, else a copy."""
    shape = named_sizes("reshape", shape, named, "shape")
    return _reshaped(input, infer_size(as_sizes(shape, "reshape", "shape"), input._array.size))


def _reshaped(input: Any, size: tuple[int, ...]) -> Any:
    """The view op for another shape, with its attributes, or a copy."""
    array = input._array
    if array.is_contiguous():
        return views.view, (size,)
    if view_strides(array.shape, array.strides, size) is None:
        return fresh_view(views.unsafe_view, input.clone(memory_format=contiguous_format), size)
    return views.reshape_alias, (size,)


def fresh_view(op: Any, input: Any, attribute: Any) -> Any:
    """A view op on a result that nobody else holds, so that it counts as no view: it may be detached in place."""
    result = dispatch(op, (input,), (attribute,))
    result._view = None
    return result


@gives_view
def t(input: Any) -> Any:
    """Transpose of a matrix, as a view. Raises RuntimeError for more than two dimensions."""
    if input.dim() > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {input.dim()}D")
    return views.t, ()


@gives_view
def transpose(input: Any, dim0: int, dim1: int) -> Any:
    """Two dimensions exchanged, as a view."""
    rank = input.dim()
    return views.transpose, (wrap_dim(dim0, rank), wrap_dim(dim1, rank))


@gives_view
def permute(input: Any, *dims: Any, **named: Any) -> Any:
    """Dimensions in another order, as a view."""
    dims = named_sizes("permute", dims, named, "dims")
    order = as_sizes(dims, "permute", "dims")
    rank = input.dim()
    if len(order) != rank:
        raise RuntimeError(
            f"permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
            f"ordering of dimensions i.e. input.dim() = {rank} is not equal to len(dims) = {len(order)}"
        )
    wrapped = tuple(wrap_dim(d, rank) for d in order)
    if len(set(wrapped)) != rank:
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    return views.permute, (wrapped,)


@gives_view
def squeeze(input: Any, dim: Any = None) -> Any:
    """Without dimensions of extent 1: all, or those named."""
    if dim is None:
        return views.squeeze, ()
    if isinstance(dim, (tuple, list)):
        return views.squeeze_dims, (wrap_dims(dim, input.dim()),)
    return views.squeeze_dim, (wrap_dim(dim, input.dim()),)


@gives_view
def unsqueeze(input: Any, dim: int) -> Any:
    """With a new dimension of extent 1 at `dim`."""
    if not hasattr(dim, "__index__"):
        raise TypeError(f"unsqueeze(): argument 'dim' (position 1) must be int, not {type(dim).__name__}")
    return views.unsqueeze, (wrap_dim(dim, input.dim() + 1),)


@gives_view
def expand(input: Any, *sizes: Any, implicit: bool = False, **named: Any) -> Any:
    """Dimensions of extent 1 repeated to `sizes`, as a view; -1 keeps an extent. `implicit` has no effect."""
    sizes = named_sizes("expand", sizes, named, "size")
    size = expanded_size(input, as_sizes(sizes, "expand"))
    return views.expand, (size,)


def expanded_size(input: Any, size: tuple[int, ...]) -> tuple[int, ...]:
    """`size` with its -1 replaced. Raises RuntimeError, with PyTorch's texts, when `input` does not expand to it."""
    shape = input._array.shape
    lead = len(size) - len(shape)
    if lead < 0:
        raise RuntimeError(
            f"expand({_tensor_text(input)}, size={list(size)}): the number of sizes provided ({len(size)}) must be "
            f"greater or equal to the number of dimensions in the tensor ({len(shape)})"
        )
    out = list(size)
    for d, new in enumerate(size):
        old = shape[d - lead] if d >= lead else None
        if new < 0 and (old is None or new == -1):
            if old is None:
                raise RuntimeError(
                    f"The expanded size of the tensor ({new}) isn't allowed in a leading, non-existing dimension {d}"
                )
            out[d] = old
        elif old is not None and old not in (1, new):
            raise RuntimeError(
                f"The expanded size of the tensor ({new}) must match the existing size ({old}) at non-singleton "
                f"dimension {d}.  Target sizes: {list(size)}.  Tensor sizes: {list(shape)}"
            )
    return tuple(out)


def _tensor_text(input: Any) -> str:
    return f"torch.{input.dtype.tensor_name}{{{list(input.shape)}}}"


@gives_view
def flatten(input: Any, start_dim: int = 0, end_dim: int = -1) -> Any:
    """Dimensions from `start_dim` to `end_dim` joined into one."""
    rank = input.dim()
    if not rank:
        return _reshaped(input, (1,))
    start, end = wrap_dim(start_dim, rank), wrap_dim(end_dim, rank)
    if start > end:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if start == end:
        return input
    shape = input._array.shape
    joined = 1
    for n in shape[start : end + 1]:
        joined *= n
    return _reshaped(input, (*shape[:start], joined, *shape[end + 1 :]))


@gives_view
def select(input: Any, dim: int, index: int) -> Any:
    """The slice at `index` of a dimension, without that dimension, as a view."""
    rank = input.dim()
    if not rank:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    d = wrap_dim(dim, rank)
    extent = input._array.shape[d]
    if not -extent <= index < extent:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(input._array.shape)} at dimension {d}"
        )
    return views.select, (d, index + extent if index < 0 else index)


@gives_view
def narrow(input: Any, dim: int, start: Any, length: int) -> Any:
    """`length` items of a dimension from `start`, as a view."""
    if not input.dim():
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    d = wrap_dim(dim, input.dim())
    extent = input._array.shape[d]
    if start.__class__ in CLASSES:
        start = int(start.item())
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    if not -extent <= start <= extent:
        raise IndexError(f"start out of range (expected to be in range of [{-extent}, {extent}], but got {start})")
    first = start + extent if start < 0 else start
    if first + length > extent:
        raise RuntimeError(f"start ({first}) + length ({length}) exceeds dimension size ({extent}).")
    return views.slice_, (d, first, first + length, 1)


def as_strided(input: Any, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None) -> Any:
    """Any layout over the tensor's storage, as a view."""
    offset = input._array.offset if storage_offset is None else storage_offset
    layout = (tuple(size), tuple(stride), offset)
    if len(layout[0]) != len(layout[1]):
        raise RuntimeError("mismatch in length of strides and shape")
    if any(s < 0 for s in layout[1]):
        raise RuntimeError(
            f"as_strided: Negative strides are not supported at the moment, got strides: {list(layout[1])}"
        )
    if any(n < 0 for n in layout[0]):
        raise RuntimeError(
            f"Storage size calculation overflowed with sizes={list(layout[0])} and strides={list(layout[1])}"
        )
    if offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {offset}")
    buffer, reach = memory(input._array)
    itemsize = input._array.dtype.itemsize
    needed = (storage_extent(layout) + reach) * itemsize
    if needed > getattr(buffer, "nbytes", needed):
        raise RuntimeError(
            f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {offset}, and itemsize {itemsize} "
            f"requiring a storage size of {storage_extent(layout) * itemsize} are out of bounds for storage of "
            f"size {buffer.nbytes}"
        )
    return dispatch(views.as_strided, (input,), layout)


def sum_to_size(input: Any, *size: Any) -> Any:
    """The sum over the dimensions along which `size` was broadcast to the tensor's shape."""
    target = as_sizes(size, "sum_to_size")
    shape = input._array.shape
    if not target:
        return input.sum()
    if shape == target:
        return input
    lead = len(shape) - len(target)
    if lead < 0 or any(n not in (1, m) for n, m in zip(target, shape[lead:], strict=True)):
        raise RuntimeError(f"size {{{list(target)}}} is not expandable to size {{{list(shape)}}}.")
    dims = broadcast_axes(shape, target)
    out = input.sum(dims, True) if dims else input
    return out.view(target) if lead else out


def _promoted(tensors: Sequence[Any]) -> tuple[Any, ...]:
    first = tensors[0]._array.dtype
    if all(x._array.dtype is first for x in tensors):
        return tuple(tensors)
    common = tensors[0].dtype
    for x in tensors[1:]:
        common = common_dtype(common, x.dtype)
    return tuple(x if x.dtype is common else x.to(common) for x in tensors)


def _check_tensors(name: str, tensors: Any) -> None:
    if not isinstance(tensors, (tuple, list)):
        raise TypeError(
            f"{name}(): argument 'tensors' (position 1) must be tuple of Tensors, not {type(tensors).__name__}"
        )
    for i, x in enumerate(tensors):
        if x.__class__ in CLASSES:
            continue
        if isinstance(x, Foreign):
            raise TypeError(MIXED)
        raise TypeError(f"expected Tensor as element {i} in argument 0, but got {type(x).__name__}")


def cat(tensors: Sequence[Any], dim: int = 0, *, out: Any = None, axis: int | None = None) -> Any:
    """Tensors joined along an existing dimension; their other extents must be equal. `axis` is NumPy's name of `dim`."""
    if axis is not None:
        dim = axis
    if out is not None:
        return _joined_to("cat", out, cat(tensors, dim), tensors)
    _check_tensors("cat", tensors)
    if not tensors:
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    for i, x in enumerate(tensors):
        if not x.dim():
            raise RuntimeError(f"zero-dimensional tensor (at position {i}) cannot be concatenated")
    real = [x for x in tensors if x._array.shape != (0,)] or list(tensors[:1])
    first = real[0]._array.shape
    d = wrap_dim(dim, len(first))
    for i, x in enumerate(real[1:], 1):
        shape = x._array.shape
        if len(shape) != len(first):
            raise RuntimeError(f"Tensors must have same number of dimensions: got {len(first)} and {len(shape)}")
        for e in range(len(first)):
            if e != d and shape[e] != first[e]:
                raise RuntimeError(
                    f"Sizes of tensors must match except in dimension {d}. Expected size {first[e]} but got size "
                    f"{shape[e]} for tensor number {i} in the list."
                )
    return dispatch(movement.cat, _promoted(real), (d,))


def concat(tensors: Sequence[Any], dim: int = 0, *, out: Any = None, axis: int | None = None) -> Any:
    """Another name of `cat`."""
    return cat(tensors, dim, out=out, axis=axis)


concatenate = concat


def _joined_to(name: str, out: Any, found: Any, tensors: Sequence[Any]) -> Any:
    """Write what `cat` or `stack` gives to `out`."""
    if not can_cast(found.dtype, out.dtype):
        raise TypeError(f"torch.cat(): input types can't be cast to the desired output type {out.dtype.scalar_name}")
    return write_out(name, out, found, tensors)


def stack(tensors: Sequence[Any], dim: int = 0, *, out: Any = None) -> Any:
    """Tensors of one shape joined along a new dimension."""
    if out is not None:
        return _joined_to("stack", out, stack(tensors, dim), tensors)
    _check_tensors("stack", tensors)
    if not tensors:
        raise RuntimeError("stack expects a non-empty TensorList")
    first = tensors[0]._array.shape
    for i, x in enumerate(tensors):
        if x._array.shape != first:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(first)} at entry 0 and "
                f"{list(x._array.shape)} at entry {i}"
            )
    return dispatch(movement.stack, _promoted(tensors), (wrap_dim(dim, len(first) + 1),))
