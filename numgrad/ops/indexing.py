"""`x[...]` and `x[...] = value`, with every index that PyTorch takes, and slices with negative steps.

An index is taken apart in two steps, as in PyTorch. Ints, slices, None and Ellipsis make a view. What remains are index
tensors for some of the view's dimensions; `index` and `index_put` read and write at them.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from .. import interop
from ..autograd.grad_mode import mode
from ..autograd.inplace import check_counted, shows_items_twice
from ..autograd.variable import CLASSES, describe, wrap_new
from ..autograd.watch import watching
from ..call_plans import Call, with_plans
from ..dispatch import create, dispatch
from ..kernels import indexing as kernels
from ..kernels import movement, views
from ..kernels.array import Array
from ..kernels.blocks import check_bounds
from ..kernels.cpu import fill, from_host
from ..kernels.indexing import indexed_shape
from ..operands import broadcast_shapes
from ..plans import Plans
from ..viewing import by_plan, row, several_steps
from .shaping import expanded_size, view

_ZERO_DIM = (
    "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a 0-dim tensor "
    "to a number"
)
_SEQUENCE = (
    "Using a non-tuple sequence for multidimensional indexing is deprecated and will be changed in pytorch 2.9; use "
    "x[tuple(seq)] instead of x[seq]. In pytorch 2.9 this will be interpreted as tensor index, x[torch.tensor(seq)], which "
    "will result either in an error or a different result"
)
_EXPANDED = (
    "Use of index_put_ on expanded tensors is deprecated. Please clone() the tensor before performing this operation. "
    "This also applies to advanced indexing e.g. tensor[indices] = tensor"
)
_BYTES = "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead."


# ---------------------------------------------------------------------------------------------------- x[...]
_views = Plans()
_FEW = 4096  # items of a mask up to which NumPy's way with it is the faster one


def get(input: Any, index: Any) -> Any:
    """`input[index]`: a view for ints, slices, None and Ellipsis, else a copy."""
    if index.__class__ is int:
        return row(input, _in_range(index, 0, 0, input._array.shape))
    array, key = input._array, _key_of(index)
    if key is not None and array.__class__ is Array:
        key = array.shape, array.strides, key
        plan = _views.get(key)
        if plan is not None and not watching:
            return by_plan(input, plan, plan.shift, plan.attributes)
    if index.__class__ in CLASSES and index.dim() and input.dim() and index.dtype.name == "int64":
        return _at(input, index)
    if (
        index.__class__ in CLASSES
        and index._array.dtype.kind == "b"
        and array.flat is not None
        and input._device is index._device
        and _is_quick_index(array, index._array)
        and not watching
        and not (mode.enabled and (input._requires_grad or input._view is not None))
    ):
        return wrap_new(from_host(array.flat[index._array.flat]), input._device)
    found = _Indexed(input)
    if index.__class__ is slice and (index.step is None or (index.step.__class__ is int and index.step > 0)):
        found.cut(0, index, always=True)
    else:
        found.apply(_as_tuple(index))
    if not found.tensors and not found.reversed:
        if not found.steps:
            found.see(views.alias)
        if key is not None and array.__class__ is Array:
            _views.keep(key, several_steps(array, found.steps))
        return found.view
    result = found.view
    for dim in found.reversed:
        result = _flip(result, dim)
    if not found.tensors:
        return result
    dims, positions = found.positions()
    return dispatch(kernels.index, (result, positions), (dims,))


@with_plans
def _at(input: Any, positions: Any) -> Any:
    return Call(kernels.index, (input, positions), ((0,),))


def _key_of(index: Any) -> tuple[Any, ...] | None:
    """An index of ints, slices of ints, None and Ellipsis as something that can be looked up; None for any other."""
    key: list[Any] = []
    for item in index if index.__class__ is tuple else (index,):
        if item.__class__ is int or item is None or item is Ellipsis:
            key.append(item)
        elif item.__class__ is slice:
            bounds = item.start, item.stop, item.step
            for x in bounds:
                if x is not None and x.__class__ is not int:
                    return None
            key.append(bounds)
        else:
            return None
    return tuple(key)


def put(input: Any, index: Any, value: Any) -> None:
    """`input[index] = value`, of a tensor (broadcast, cast to the dtype unless index tensors are used) or a number."""
    if value.__class__ not in CLASSES:
        if _fill(input, index, value):
            return
        value = _scalar(input, value)
    if index is False:
        return
    if index is Ellipsis:
        _copy_to(input, value)
        return
    if index is True:
        index = None
    found = _Indexed(input)
    found.apply(_as_tuple(index))
    if not found.tensors:
        for dim in found.reversed:
            value = _flip_of(value, dim - found.view.dim())
        _copy_to(found.view, value)
        return
    dims, positions = found.positions()
    target = found.view
    shape = indexed_shape(target._array.shape, dims, positions._array.shape)
    for dim in found.reversed:
        value = _flip_of(value, found.result_dim(dim, dims, positions.dim()) - len(shape))
    trimmed = _without_leading_ones(value._array.shape)
    if trimmed != value._array.shape:
        value = view(value, trimmed)
    _index_put(target, found.tensors, dims, positions, value, False, target)


def _fill(input: Any, index: Any, value: Any) -> bool:
    """Write a number to a part of a contiguous tensor on the CPU that no graph knows; False where anything else is asked."""
    array, view = input._array, input._view
    if array.flat is None or watching:
        return False
    if mode.enabled and (input.requires_grad or (view is not None and view.base.requires_grad)):
        return False
    positions = index._array if index.__class__ in CLASSES else None
    if positions is None:
        if index.__class__ is not int and _key_of(index) is None:
            return False
    elif not _is_quick_index(array, positions):
        return False
    kind = array.dtype.kind
    if not (kind == "f" and value.__class__ is float) and not (kind in "fi" and value.__class__ is int):
        return False
    if not -(1 << 63) <= value < 1 << 63 and value.__class__ is int:
        return False
    input._check_number(value)
    check_counted(input)
    if positions is None:
        fill(get(input, index)._array, value)
    elif positions.dtype.kind == "b":
        array.flat[positions.flat] = value
    else:
        check_bounds(positions.ndarray, array.shape[0], "dimension 0")
        array.ndarray[positions.ndarray] = value
    array.storage.version += 1
    return True


def _is_quick_index(array: Array, positions: Array) -> bool:
    """Whether an index is contiguous, in other memory, and a mask of few items, all there are, or int64 positions of the
    first dimension.
    """
    if positions.flat is None or not array.size or positions.storage is array.storage:
        return False
    if positions.dtype.kind == "b":
        return positions.shape == array.shape != () and len(positions.flat) <= _FEW
    return positions.dtype.name == "int64" and bool(positions.shape) and bool(array.shape)


def _scalar(input: Any, value: Any) -> Any:
    """A Python number as a tensor of the dtype of `input`. Raises TypeError for anything but a number."""
    if not isinstance(value, (int, float, complex)):
        try:
            value = int(value.__index__())
        except (AttributeError, TypeError):
            kind = describe(input).partition(" ")[0].replace("numgrad", "torch")
            raise TypeError(f"can't assign a {_type_name(value)} to a {kind}") from None
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
        raise ValueError("Overflow when unpacking long long")
    input._check_number(value)
    if not isinstance(value, complex) and value < 0 and not input.dtype.is_signed:
        value = int(value) % 256 if input.dtype.name == "uint8" else True
    return create(movement.full, ((), value, input.dtype.name), input._device)


def _copy_to(target: Any, value: Any) -> None:
    """Write `value`, whose leading dimensions of extent 1 do not count, to a view."""
    shape, wanted = value._array.shape, target._array.shape
    if not shape and wanted:
        target.fill_(value)
        return
    if shape != wanted:
        value = view(value, _without_leading_ones(shape))
        value = dispatch(views.expand, (value,), (expanded_size(value, wanted),))
    target.copy_(value)


def _without_leading_ones(shape: tuple[int, ...]) -> tuple[int, ...]:
    first = next((d for d, n in enumerate(shape) if n != 1), len(shape))
    return shape[first:]


# ---------------------------------------------------------------------------------------------------- parsing
class _Indexed:
    """What an index makes of a tensor.

    Attributes:
        view: the tensor seen through its ints, slices and None.
        tensors: index tensors, by the first of the view's dimensions that each stands for (a mask may stand for several).
        reversed: dimensions of the view whose slice runs backwards: the view runs forwards.
        steps: the view ops that made the view, with their attributes.
    """

    def __init__(self, input: Any) -> None:
        self.input = input
        self.view = input
        self.steps: list[tuple[Any, tuple[Any, ...]]] = []
        self.tensors: dict[int, Any] = {}
        self.reversed: list[int] = []

    def see(self, op: Any, *attributes: Any) -> None:
        """Put a view op on top of the view."""
        self.view = dispatch(op, (self.view,), attributes)
        self.steps.append((op, attributes))

    def apply(self, items: Sequence[Any]) -> None:
        """Apply the items of an index from left to right. Raises IndexError with PyTorch's texts."""
        rank = self.input.dim()
        used = sum(map(_dims_used, items))
        if used > rank:
            if not rank and len(items) == 1:
                if isinstance(items[0], slice):
                    raise IndexError("slice() cannot be applied to a 0-dim tensor.")
                if _is_int(items[0]):
                    raise IndexError(_ZERO_DIM)
            raise IndexError(f"too many indices for tensor of dimension {rank}")
        dim = 0
        for position, item in enumerate(items):
            if item is None:
                self.see(views.unsqueeze, dim)
                dim += 1
            elif item is Ellipsis:
                dim += rank - used
            elif isinstance(item, slice):
                self.cut(dim, item)
                dim += 1
            elif item.__class__ in CLASSES or isinstance(item, bool) or _is_sequence(item):
                dim = self._tensor(dim, position, item)
            else:
                self._select(dim, _as_int(item), position)

    def cut(self, dim: int, item: slice, always: bool = False) -> None:
        """Apply a slice; one of everything is no view op, unless `always`."""
        shape = self.view._array.shape
        if not shape:
            raise IndexError("slice() cannot be applied to a 0-dim tensor.")
        start, stop, step = _as_slice_index(item.start), _as_slice_index(item.stop), _as_slice_index(item.step)
        if step == 0:
            raise ValueError("slice step cannot be zero")
        run = range(*slice(start, stop, step).indices(shape[dim]))
        if run.step > 0:
            if always or item.start or (run.start, run.stop, run.step) != (0, shape[dim], 1):
                self.see(views.slice_, dim, run.start, max(run.start, run.stop), run.step)
            return
        first = run[-1] if run else 0
        self.see(views.slice_, dim, first, run[0] + 1 if run else first, -run.step)
        self.reversed.append(dim)

    def _select(self, dim: int, index: int, position: int) -> None:
        self.see(views.select, dim, _in_range(index, dim, position, self.view._array.shape))

    def _tensor(self, dim: int, position: int, item: Any) -> int:
        """Note an index tensor at `dim` (a 0-d one is an int or a bool); the dimension after it."""
        tensor = item
        if item.__class__ not in CLASSES:
            if isinstance(item, bool):
                return self._bool(dim, item)
            tensor = interop.index_tensor(item, self.input._device)
        kind = tensor._array.dtype.kind
        if not tensor.dim() and kind in "iub":
            if tensor.dtype.name in ("bool", "uint8"):
                return self._bool(dim, bool(tensor.item()))
            self._select(dim, tensor.item(), position)
            return dim
        self.tensors[dim] = tensor
        return dim + (tensor.dim() if tensor.dtype.name in ("bool", "uint8") else 1)

    def _bool(self, dim: int, value: bool) -> int:
        """A single bool: a new dimension of extent 1, or of 0."""
        self.see(views.unsqueeze, dim)
        self.tensors[dim] = dispatch(movement.full, (), ((int(value),), 0, "int64", self.input._device))
        return dim + 1

    def positions(self) -> tuple[tuple[int, ...], Any]:
        """The dimensions that are indexed, and the positions in them; see `kernels.indexing`."""
        return joined(self.view, self.tensors)

    @staticmethod
    def result_dim(dim: int, dims: tuple[int, ...], index_rank: int) -> int:
        """Where a dimension of the view that is not indexed stands in the result."""
        first = dims[0] if dims == tuple(range(dims[0], dims[0] + len(dims))) else 0
        rest = dim - sum(d < dim for d in dims)
        return rest if rest < first else rest + index_rank


def joined(x: Any, tensors: dict[int, Any]) -> tuple[tuple[int, ...], Any]:
    """The dimensions of `x` that are indexed, and the positions in them.

    `tensors` are index tensors by the first dimension that each stands for. Raises IndexError with PyTorch's texts.
    """
    shape = x._array.shape
    dims: list[int] = []
    masks = 0
    for dim, tensor in tensors.items():
        name = tensor.dtype.name
        if name not in ("int64", "int32", "bool", "uint8"):
            raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
        if name == "uint8":
            warnings.warn(_BYTES, stacklevel=4)
        if name in ("bool", "uint8"):
            masks += 1
            own = tensor._array.shape
            for j, n in enumerate(own):
                if dim + j >= len(shape) or n != shape[dim + j]:
                    raise IndexError(
                        f"The shape of the mask {list(own)} at index {j} does not match the shape of the indexed tensor "
                        f"{list(shape)} at index {dim + j}"
                    )
            dims.extend(range(dim, dim + len(own)))
        else:
            dims.append(dim)
    sizes = tuple(shape[d] for d in dims)
    found = tuple(tensors.values())
    if len(found) == 1 and not masks and found[0].dtype.name == "int64":
        return tuple(dims), found[0]
    rest = [n for d, n in enumerate(shape) if d not in dims]
    return tuple(dims), dispatch(kernels.join_indices, found, (sizes, 0 not in rest))


def _as_tuple(index: Any) -> tuple[Any, ...]:
    """The items of an index. A list that holds sequences, slices, None or Ellipsis counts as a tuple, with a warning."""
    if isinstance(index, tuple):
        return index
    if index.__class__ in CLASSES or not _is_sequence(index) or hasattr(index, "__array__") or len(index) >= 32:
        return (index,)
    for item in index:
        if (
            item is None
            or item is Ellipsis
            or isinstance(item, slice)
            or _is_sequence(item)
            or item.__class__ in CLASSES
        ):
            warnings.warn(_SEQUENCE, stacklevel=4)
            return tuple(index)
    return (index,)


def _is_sequence(item: Any) -> bool:
    """What PyTorch makes an index tensor of: whatever has a length and items, but no dict and no set."""
    return (
        hasattr(item, "__getitem__") and hasattr(item, "__len__") and not isinstance(item, dict) and not _is_int(item)
    )


def _is_int(item: Any) -> bool:
    if isinstance(item, bool) or item.__class__ in CLASSES:
        return False
    return isinstance(item, int) or (hasattr(item, "__index__") and not hasattr(item, "__len__"))


def _dims_used(item: Any) -> int:
    if item is None or item is Ellipsis or isinstance(item, bool):
        return 0
    if item.__class__ in CLASSES and item.dtype.name in ("bool", "uint8"):
        return item.dim()
    return 1


def _as_int(item: Any) -> int:
    try:
        return int(item.__index__())
    except (AttributeError, TypeError):
        raise IndexError(
            "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got "
            f"{_type_name(item)})"
        ) from None


def _as_slice_index(value: Any) -> Any:
    if value is None or isinstance(value, int):
        return value
    try:
        return int(value.__index__())
    except (AttributeError, TypeError):
        raise TypeError("slice indices must be integers or None or have an __index__ method") from None


def _type_name(value: Any) -> str:
    """A type as C names it: with its module where it is not one of Python's own, nor a class written in Python."""
    kind = type(value)
    is_written_in_python = kind.__flags__ & 1 << 9
    return (
        kind.__name__ if is_written_in_python or kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
    )


# ---------------------------------------------------------------------------------------------------- steps
def _in_range(index: int, dim: int, position: int, shape: tuple[int, ...]) -> int:
    """An index of a dimension, counted from its beginning. Raises IndexError, with PyTorch's text, beyond its extent."""
    if not shape:
        raise IndexError(_ZERO_DIM)
    extent = shape[dim]
    if not -extent <= index < extent:
        raise IndexError(f"index {index} is out of bounds for dimension {position} with size {extent}")
    return index + extent if index < 0 else index


def _flip(x: Any, dim: int) -> Any:
    """The items of a dimension in reverse order, as a copy."""
    last = x._array.shape[dim] - 1
    order = dispatch(movement.arange, (), (last, -1, -1, "int64", x._device))
    return dispatch(kernels.index, (x, order), ((dim,),))


def _flip_of(value: Any, dim: int) -> Any:
    """`_flip` of a value that is broadcast: `dim` counts from the right, and may be one that it repeats along."""
    own = value.dim() + dim
    return _flip(value, own) if own >= 0 and value._array.shape[own] > 1 else value


# ---------------------------------------------------------------------------------------------------- index_put
def _tensors_of(input: Any, indices: Any, name: str) -> dict[int, Any]:
    """The index tensors of a call of `index_put` by their dimensions."""
    if not isinstance(indices, (tuple, list)):
        raise TypeError(
            f"{name}(): argument 'indices' (position {1 + (name[-1] != '_')}) must be tuple of Tensors, not "
            f"{type(indices).__name__}"
        )
    tensors = {}
    dim = 0
    for number, index in enumerate(indices):
        if index.__class__ not in CLASSES:
            raise TypeError(
                f"expected Tensor as element {number} in argument {int(name[-1] != '_')}, but got {type(index).__name__}"
            )
        tensors[dim] = index
        dim += index.dim() if index.dtype.name in ("bool", "uint8") else 1
    if dim > input.dim():
        raise IndexError(f"too many indices for tensor of dimension {input.dim()} (got {dim})")
    return tensors


def _index_put(
    input: Any, tensors: dict[int, Any], dims: tuple[int, ...], positions: Any, values: Any, accumulate: bool, out: Any
) -> Any:
    """Write values at positions. Raises RuntimeError, with PyTorch's texts, for a shape or dtype that does not fit."""
    if out is not None and shows_items_twice(out._array):
        warnings.warn(_EXPANDED, stacklevel=4)
    shape = indexed_shape(input._array.shape, dims, positions._array.shape)
    mask_alone = len(tensors) == 1 and next(iter(tensors.values())).dtype.name in ("bool", "uint8")
    if mask_alone and not accumulate and values.numel() == 1:
        if next(iter(tensors.values())).dtype.name == "uint8":
            raise RuntimeError("masked_fill_ only supports boolean masks, but got mask with dtype unsigned char")
        values = values.to(input.dtype)
        values = values if values.dim() <= len(shape) else view(values, ())
    elif not _broadcasts(values._array.shape, shape):
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(values.shape)} cannot be broadcast to indexing result of shape "
            f"{list(shape)}"
        )
    if values.dtype is not input.dtype:
        raise RuntimeError(
            "Index put requires the source and destination dtypes match, got "
            f"{input.dtype.scalar_name} for the destination and {values.dtype.scalar_name} for the source."
        )
    return dispatch(kernels.index_put, (input, positions, values), (dims, accumulate), out)


def _broadcasts(own: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    try:
        return broadcast_shapes(own, shape) == shape
    except RuntimeError:
        return False


def index_put(input: Any, indices: Any, values: Any, accumulate: bool = False) -> Any:
    """`input` with `input[indices] = values` done; with `accumulate`, values are added, at equal indices all of them.

    Args:
        input: a tensor.
        indices: index tensors (int64, int32 or bool), one for each dimension from the first.
        values: a tensor of the same dtype that broadcasts to `input[indices]`.
        accumulate: add instead of replace.

    Raises:
        IndexError: an index out of range, indices that do not broadcast together.
        RuntimeError: values of another dtype, or that do not broadcast.

    Example:
        >>> import numgrad as ng
        >>> ng.zeros(3).index_put((ng.tensor([0, 0]),), ng.tensor([1.0, 2.0]), accumulate=True)
        tensor([3., 0., 0.])
    """
    tensors = _tensors_of(input, indices, "index_put")
    return _index_put(input, tensors, *joined(input, tensors), values, accumulate, None)


def index_put_(input: Any, indices: Any, values: Any, accumulate: bool = False) -> Any:
    """`index_put` in place."""
    tensors = _tensors_of(input, indices, "index_put_")
    return _index_put(input, tensors, *joined(input, tensors), values, accumulate, input)
