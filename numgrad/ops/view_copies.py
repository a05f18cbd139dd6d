"""Views that are copies: `permute_copy` and such, and `select_scatter` and such, which write into a copy of the base.

The first give what the view of that name shows, in memory of its own. The second give the base with one view of it replaced:
the gradient of the base is 0 there, and the source's is what the view of the gradient shows.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..autograd.grad_mode import mode
from ..kernels import views
from ..memory_format import contiguous_format
from . import complex_numbers, dimensions, shaping, splitting
from .checks import check_tensor, written

__all__ = [
    "alias_copy",
    "as_strided_copy",
    "as_strided_scatter",
    "detach_copy",
    "diagonal_copy",
    "diagonal_scatter",
    "expand_copy",
    "narrow_copy",
    "permute_copy",
    "select_copy",
    "select_scatter",
    "slice_copy",
    "slice_scatter",
    "split_copy",
    "split_with_sizes_copy",
    "squeeze_copy",
    "t_copy",
    "transpose_copy",
    "unbind_copy",
    "unfold_copy",
    "unsafe_chunk",
    "unsafe_split",
    "unsafe_split_with_sizes",
    "unsqueeze_copy",
    "view_as_complex_copy",
    "view_as_real_copy",
    "view_copy",
]


def _copied(input: Any, shown: Any, node_name: str) -> Any:
    """A copy of one view, or of several."""
    if isinstance(shown, tuple):
        return tuple(_copied(input, x, node_name) for x in shown)
    if mode.levels or not shown.requires_grad or shown is input:
        return shown.clone(memory_format=contiguous_format)
    copy = shown.detach().clone(memory_format=contiguous_format)
    if copy.is_floating_point() or copy.is_complex():
        # The gradient of the copy is that of the view, so the view's own node serves; nobody else has it.
        node, number = shown._edge
        if not isinstance(node, _Copied):
            kind: Any = type(node)
            node.__class__ = _node_class(kind, node_name)
        copy._edge, copy._requires_grad = (node, number), True
    return copy


class _Copied:
    """What tells the node of a copy from that of a view."""

    __slots__ = ()


@functools.cache
def _node_class(view: type, name: str) -> type:
    """The class of the nodes of copies of a view: the view's under PyTorch's name for it."""
    return type(name or f"{view.__name__}_copy", (_Copied, view), {"__slots__": (), "__doc__": view.__doc__})


def _copying(view: Callable[..., Any], name: str, node_name: str = "") -> Callable[..., Any]:
    """The function that copies what a view shows. `node_name` is that of its nodes, if it is not the view's with `_copy`."""

    def copy(input: Any, *args: Any, out: Any = None, **options: Any) -> Any:
        check_tensor(name, input)
        return written(name, _copied(input, view(input, *args, **options), node_name), out)

    copy.__name__ = copy.__qualname__ = name
    copy.__doc__ = f"A copy of what `{name.removesuffix('_copy')}` shows."
    return copy


def _copying_all(split: Callable[..., Any], name: str, node_name: str = "") -> Callable[..., Any]:
    """The function that copies each of several views."""

    def copies(input: Any, *args: Any, out: Any = None, **options: Any) -> Any:
        check_tensor(name, input)
        parts = _copied(input, tuple(split(input, *args, **options)), node_name)
        if out is None:
            return parts
        if len(out) != len(parts):
            kind = _OVERLOADS.get(name, "Tensor")
            raise RuntimeError(f"{name}_{kind}_out expected an out= argument of size {len(parts)}, got size {len(out)}")
        for part, target in zip(parts, out, strict=True):
            written(name, part, target)
        return None

    copies.__name__ = copies.__qualname__ = name
    copies.__doc__ = f"Copies of what `{name.removesuffix('_copy').removeprefix('unsafe_')}` shows."
    return copies


_OVERLOADS = {"unbind_copy": "int"}  # what PyTorch adds to the name in a message


def _sliced(input: Any, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Any:
    return input[(slice(None),) * (dim % max(input.dim(), 1)) + (slice(start, end, step),)]


alias_copy = _copying(views.alias, "alias_copy")
as_strided_copy = _copying(shaping.as_strided, "as_strided_copy")
detach_copy = _copying(lambda x: x.detach(), "detach_copy")
diagonal_copy = _copying(dimensions.diagonal, "diagonal_copy")
expand_copy = _copying(shaping.expand, "expand_copy")
narrow_copy = _copying(shaping.narrow, "narrow_copy", "NarrowCopyBackward0")
permute_copy = _copying(shaping.permute, "permute_copy")
select_copy = _copying(shaping.select, "select_copy")
slice_copy = _copying(_sliced, "slice_copy", "SliceBackward0_copy")
squeeze_copy = _copying(shaping.squeeze, "squeeze_copy")
t_copy = _copying(shaping.t, "t_copy")
transpose_copy = _copying(shaping.transpose, "transpose_copy")
unfold_copy = _copying(dimensions.unfold, "unfold_copy")
unsqueeze_copy = _copying(shaping.unsqueeze, "unsqueeze_copy")
view_as_complex_copy = _copying(complex_numbers.view_as_complex, "view_as_complex_copy")
view_as_real_copy = _copying(complex_numbers.view_as_real, "view_as_real_copy")
view_copy = _copying(shaping.view, "view_copy")

split_copy = _copying_all(splitting.split, "split_copy")
split_with_sizes_copy = _copying_all(splitting.split_with_sizes, "split_with_sizes_copy")
unbind_copy = _copying_all(splitting.unbind, "unbind_copy")
unsafe_chunk = _copying_all(splitting.chunk, "unsafe_chunk", "UnsafeSplitBackward0")
unsafe_split = _copying_all(splitting.split, "unsafe_split", "UnsafeSplitBackward0")
unsafe_split_with_sizes = _copying_all(
    splitting.split_with_sizes, "unsafe_split_with_sizes", "UnsafeSplitWithSizesBackward0"
)


# ---------------------------------------------------------------------------------------------------- scatter
def _scattered(name: str, input: Any, src: Any, view: Callable[[Any], Any], out: Any) -> Any:
    """A copy of `input` whose view holds `src`. Raises RuntimeError for another shape than the view's."""
    check_tensor(name, input)
    check_tensor(name, src, "src", 2)
    found = input.clone()
    target = view(found)
    if tuple(target.shape) != tuple(src.shape):
        raise RuntimeError(
            f"expected src to have a size equal to the slice of self. src size = {list(src.shape)}, "
            f"slice size = {list(target.shape)}"
        )
    target.copy_(src)
    return written(name, found, out)


def select_scatter(input: Any, src: Any, dim: int, index: int, *, out: Any = None) -> Any:
    """`input` with `src` in place of `input.select(dim, index)`."""
    return _scattered("select_scatter", input, src, lambda x: shaping.select(x, dim, index), out)


def slice_scatter(
    input: Any,
    src: Any,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
    *,
    out: Any = None,
) -> Any:
    """`input` with `src` in place of the slice `start:end:step` of a dimension."""
    return _scattered("slice_scatter", input, src, lambda x: _sliced(x, dim, start, end, step), out)


def diagonal_scatter(input: Any, src: Any, offset: int = 0, dim1: int = 0, dim2: int = 1, *, out: Any = None) -> Any:
    """`input` with `src` in place of its diagonal."""
    return _scattered("diagonal_scatter", input, src, lambda x: dimensions.diagonal(x, offset, dim1, dim2), out)


def as_strided_scatter(
    input: Any, src: Any, size: Any, stride: Any, storage_offset: int | None = None, *, out: Any = None
) -> Any:
    """`input` with `src` in place of its `as_strided` view."""
    return _scattered(
        "as_strided_scatter", input, src, lambda x: shaping.as_strided(x, size, stride, storage_offset), out
    )
