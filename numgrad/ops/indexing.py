"""`x[...]` with ints, slices, None and Ellipsis: always a view."""

from __future__ import annotations

from typing import Any

from ..dispatch import dispatch
from ..kernels import views


def _expand_ellipsis(index: tuple[Any, ...], rank: int) -> list[Any]:
    used = sum(1 for item in index if item is not None and item is not Ellipsis)
    if used > rank:
        if not rank and len(index) == 1:
            raise IndexError(
                "slice() cannot be applied to a 0-dim tensor."
                if isinstance(index[0], slice)
                else "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to "
                "convert a 0-dim tensor to a number"
            )
        raise IndexError(f"too many indices for tensor of dimension {rank}")
    missing = [slice(None)] * (rank - used)
    if not any(item is Ellipsis for item in index):
        return [*index, *missing]
    where = next(i for i, item in enumerate(index) if item is Ellipsis)
    rest = index[where + 1 :]
    if any(item is Ellipsis for item in rest):
        raise IndexError("an index can only have a single ellipsis ('...')")
    return [*index[:where], *missing, *rest]


def get(input: Any, index: Any) -> Any:
    """The view of `input` that an index of ints, slices, None and Ellipsis names."""
    if isinstance(index, slice) and input.dim():
        return _slice(input, 0, index, always=True)
    items = index if isinstance(index, tuple) else (index,)
    result = input
    dim = 0
    for position, item in enumerate(_expand_ellipsis(items, input.dim())):
        if item is None:
            result = dispatch(views.unsqueeze, (result,), (dim,))
            dim += 1
        elif isinstance(item, slice):
            result = _slice(result, dim, item)
            dim += 1
        else:
            result = _select(result, dim, item, position)
    return result if result is not input else dispatch(views.alias, (input,))


def _slice(x: Any, dim: int, item: slice, always: bool = False) -> Any:
    extent = x._array.shape[dim]
    step = 1 if item.step is None else item.step
    if step == 0:
        raise ValueError("slice step cannot be zero")
    if step < 0:
        raise ValueError("step must be greater than zero")
    start, end, step = item.indices(extent)
    if (start, end, step) == (0, extent, 1) and not always and not item.start:
        return x
    return dispatch(views.slice_, (x,), (dim, start, max(start, end), step))


def _select(x: Any, dim: int, item: Any, position: int) -> Any:
    if isinstance(item, bool):
        raise NotImplementedError("indexing with a bool is not supported yet: use numgrad.where, or basic slices")
    try:
        index = item.__index__()
    except (AttributeError, TypeError):
        if isinstance(item, (float, str)) or item is Ellipsis:
            raise IndexError(
                "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got "
                f"{type(item).__name__})"
            ) from None
        raise NotImplementedError(
            f"indexing with {type(item).__name__} is not supported yet: only ints, slices, None and Ellipsis are"
        ) from None
    extent = x._array.shape[dim]
    if not -extent <= index < extent:
        raise IndexError(f"index {index} is out of bounds for dimension {position} with size {extent}")
    return dispatch(views.select, (x,), (dim, index + extent if index < 0 else index))


def put(input: Any, index: Any, value: Any) -> None:
    """`input[index] = value`. A whole tensor (`x[:] = value`, `x[...] = value`) is written itself, not through a view."""
    items = index if isinstance(index, tuple) else (index,)
    expanded = _expand_ellipsis(items, input.dim())
    if len(expanded) == input.dim() and all(map(_is_whole, expanded, input._array.shape)):
        input.copy_(value)
    else:
        get(input, index).copy_(value)


def _is_whole(item: Any, extent: int) -> bool:
    return (
        isinstance(item, slice)
        and not item.start
        and item.step in (None, 1)
        and (item.stop is None or item.stop >= extent)
    )
