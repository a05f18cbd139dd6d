"""Ops that make, copy and join data: full, clone, copy_, fill_, casts, cat, stack, and gradients of views."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import cpu
from .array import Array, Layout, Shape, storage_extent
from .backends import backend
from .prepared import Operand, Prepared
from .registry import Sample, Uniform, elementwise, op


# ---------------------------------------------------------------------------------------------------- elementwise
@elementwise(samples=Uniform(), reference=np.copy, public=())
def clone(input):
    """A copy with memory of its own."""
    return input


@clone.grad("input", composite=True)
def _(g):
    return g


@elementwise(
    samples=Uniform(),
    reference=lambda x, y: np.broadcast_to(y, x.shape),
    result="first",
    node="CopyBackwards",
    public=(),
)
def copy(input, src):
    """`src`, in the shape and dtype of `input`: what `input.copy_(src)` writes."""
    return src


copy.constant_in("input")


@copy.grad("src", composite=True)
def _(g):
    return g


@elementwise(samples=Uniform(), reference=lambda x, y: np.broadcast_to(y, x.shape), result="first", node="FillBackward2",
             public=("in-place",), plain=("value",), takes_expanded=True)  # fmt: skip
def fill(input, value):
    """`value` everywhere, in the shape and dtype of `input`: what `input.fill_(value)` writes."""
    return value


fill.constant_in("input")


@fill.grad("value", composite=True)
def _(g):
    return g


@elementwise(samples=Uniform(), reference=lambda x, y: np.broadcast_to(y, x.shape), result="first",
             name="fill.Tensor", node="FillBackward3", public=())  # fmt: skip
def fill_tensor(input, value):
    """`fill` with the item of a 0-d tensor."""
    return value


fill_tensor.constant_in("input")


@fill_tensor.grad("value", composite=True)
def _(g):
    return g


@elementwise(samples=Uniform(), reference=np.zeros_like, result="first", public=("in-place",), takes_expanded=True)
def zero(input):
    """Zeros: what `input.zero_()` writes."""
    return 0


zero.constant_in("input")


# ---------------------------------------------------------------------------------------------------- factories, casts
@op(samples=[Sample((), {"size": (2, 3), "fill_value": 1.5, "dtype": "float32", "device": "cpu"})],
    reference=lambda size, fill_value, dtype, device: np.full(size, fill_value, dtype),
    differentiable=False, moves=True)  # fmt: skip
def full(*, size, fill_value, dtype, device):
    """A new tensor with every item `fill_value`; None leaves the items undefined."""


@full.kernel("cpu")
@full.kernel("cuda")
def _(size: Shape, fill_value: Any, dtype: str, device: str) -> Array:
    loops, items = backend(device), np.dtype(dtype)
    if items.kind == "c":  # no kernel fills complex numbers on a device
        return loops.from_host(np.full(size, fill_value or 0, dtype), device)
    out: Array = loops.empty(size, items, device)
    if fill_value is not None:
        loops.fill(out, fill_value)
    return out


@op(samples=[Sample((), {"start": 0, "end": 5, "step": 2, "dtype": "int64", "device": "cpu"})],
    reference=lambda start, end, step, dtype, device: np.arange(start, end, step).astype(dtype),
    differentiable=False, moves=True)  # fmt: skip
def arange(*, start, end, step, dtype, device):
    """Numbers from `start` up to but not including `end`, `step` apart."""


@arange.kernel("cpu")
@arange.kernel("cuda")
def _(start: float, end: float, step: float, dtype: str, device: str) -> Array:
    if start.__class__ is int and end.__class__ is int and step.__class__ is int and dtype == "int64":
        return backend(device).from_host(np.arange(start, end, step), device)
    # start + i * step in float64, as PyTorch counts: the length never depends on rounding of a running sum.
    count = max(0, math.ceil((end - start) / step))
    values = start + np.arange(count) * step
    return backend(device).from_host(values.astype(dtype), device)


@op(samples=[Sample(((2, 3),), {"dtype": "float64", "device": "cpu"})],
    reference=lambda x, dtype, device: x.astype(dtype), node="ToCopyBackward0", moves=True, linear="jointly")  # fmt: skip
def to_copy(input, *, dtype, device):
    """A copy in another dtype, on another device, or both."""


@to_copy.kernel("cpu")
def _(input: np.ndarray, dtype: str, device: str) -> Array:
    with np.errstate(invalid="ignore", over="ignore"):
        values = np.array(cpu.real_part(input, np.dtype(dtype)), dtype, order="K")
    return backend(device).from_host(values, device)


@to_copy.prepared
def _(x: Operand, dtype: str, device: str) -> Prepared | None:
    wanted = np.dtype(dtype)
    if device != cpu.DEVICE or "c" in (x.dtype.kind, wanted.kind):
        return None
    result = (Operand(x.shape, wanted),)
    from_integers = x.dtype.kind in "iub" and (wanted.kind in "iu" or wanted.itemsize > 2)
    if np.can_cast(x.dtype, wanted) or wanted.kind == "b" or from_integers:  # nothing that NumPy would warn of
        return Prepared(lambda items: items.astype(wanted), result)

    def run(items: np.ndarray) -> np.ndarray:
        with np.errstate(invalid="ignore", over="ignore"):
            return items.astype(wanted)

    return Prepared(run, result)


@to_copy.kernel("cuda")
def _(input: Array, dtype: str, device: str) -> Array:
    from . import cuda

    if device.startswith("cuda") and "c" not in (input.dtype.kind, np.dtype(dtype).kind):
        out = cuda.empty(input.shape, np.dtype(dtype), device)
        cuda.copy(input, out)
        return out
    with np.errstate(invalid="ignore", over="ignore"):
        values = cpu.real_part(cuda.to_host(input), np.dtype(dtype)).astype(dtype)
    return backend(device).from_host(values, device)


@to_copy.grad("input")
def _(g, input_meta):
    dtype, device = input_meta
    return to_copy(g, dtype=dtype, device=device)


# ---------------------------------------------------------------------------------------------------- joining
@op(samples=[Sample(((2, 3), (1, 3)), {"dim": 0}), Sample(((2, 1), (2, 3), (2, 0)), {"dim": 1})],
    reference=lambda *tensors, dim: np.concatenate(tensors, dim), moves=True, linear="jointly")  # fmt: skip
def cat(*tensors, dim=0):
    """Tensors joined along an existing dimension."""


@cat.kernel("cpu")
def _(tensors: Sequence[np.ndarray], dim: int) -> np.ndarray:
    return np.ascontiguousarray(np.concatenate(tensors, dim))


@cat.prepared
def _(*given: Any) -> Prepared:
    *tensors, dim = given
    shape = tensors[0].shape
    extent = sum(x.shape[dim] for x in tensors)
    return _prepared_join(tensors, math.prod(shape[:dim]), (*shape[:dim], extent, *shape[dim + 1 :]))


def _prepared_join(tensors: Sequence[Operand], rows: int, shape: Shape) -> Prepared:
    """Contiguous arrays of as many rows side by side."""
    result = (Operand(shape, tensors[0].dtype),)
    if rows == 1:
        return Prepared(lambda *flats: np.concatenate(flats), result)
    return Prepared(lambda *flats: np.concatenate([x.reshape(rows, -1) for x in flats], 1).reshape(-1), result)


@cat.kernel("cuda")
def _(tensors: Sequence[Array], dim: int) -> Array:
    return _joined(tensors, dim, sum(x.shape[dim] for x in tensors))


def _joined(tensors: Sequence[Array], dim: int, extent: int) -> Array:
    """Arrays copied side by side along a dimension of a new array, which has this extent there."""
    shape = tensors[0].shape
    loops = backend(tensors[0].device)
    out = loops.empty((*shape[:dim], extent, *shape[dim + 1 :]), tensors[0].dtype, tensors[0].device)
    start = 0
    for x in tensors:
        if x.size:
            loops.copy(x, out.view(x.shape, out.strides, out.offset + start * out.strides[dim]))
        start += x.shape[dim]
    return out


@cat.grad("tensors")
def _(g, tensors_shape, dim):
    start = 0
    parts = []
    for shape in tensors_shape:
        if shape == (0,) and g.dim() != 1:  # a legacy empty tensor, which joins anything
            parts.append(g.new_zeros(shape))
            continue
        parts.append(g.narrow(dim, start, shape[dim]))
        start += shape[dim]
    return parts


@op(
    samples=[Sample(((2, 3), (2, 3)), {"dim": 1})],
    reference=lambda *tensors, dim: np.stack(tensors, dim),
    moves=True,
    linear="jointly",
)
def stack(*tensors, dim=0):
    """Tensors of one shape joined along a new dimension."""


@stack.kernel("cpu")
def _(tensors: Sequence[np.ndarray], dim: int) -> np.ndarray:
    shape = tensors[0].shape
    result = np.empty((*shape[:dim], len(tensors), *shape[dim:]), tensors[0].dtype)  # in C order, whatever theirs is
    if not dim and shape:
        np.concatenate(tensors, out=result.reshape(len(tensors) * shape[0], *shape[1:]))
    else:
        index = (*[slice(None)] * dim, None)
        np.concatenate([x[index] for x in tensors], dim, out=result)
    return result


@stack.prepared
def _(*given: Any) -> Prepared:
    *tensors, dim = given
    shape = tensors[0].shape
    return _prepared_join(tensors, math.prod(shape[:dim]), (*shape[:dim], len(tensors), *shape[dim:]))


@stack.kernel("cuda")
def _(tensors: Sequence[Array], dim: int) -> Array:
    expanded = []
    for x in tensors:
        step = x.shape[dim] * x.strides[dim] if dim < len(x.shape) else 1
        expanded.append(
            x.view((*x.shape[:dim], 1, *x.shape[dim:]), (*x.strides[:dim], step, *x.strides[dim:]), x.offset)
        )
    return _joined(expanded, dim, len(expanded))


@stack.grad("tensors")
def _(g, dim):
    return g.unbind(dim)


@stack.grad_of_arrays
def _(g: Array, dim: int) -> list[Array]:
    shape, strides = g.shape[:dim] + g.shape[dim + 1 :], g.strides[:dim] + g.strides[dim + 1 :]
    return [g.view(shape, strides, g.offset + i * g.strides[dim]) for i in range(g.shape[dim])]


# ---------------------------------------------------------------------------------------------------- of views
def scatter_view(g: Any, shape: Shape, layout: Layout) -> Array:
    """Zeros of `shape` with `g` written through `layout`, a view of a contiguous array: the gradient of such a view."""
    source = g if isinstance(g, Array) else cpu.from_host(g)
    loops = backend(source.device)
    out = loops.empty(shape, source.dtype, source.device)
    loops.fill(out, 0)
    loops.copy(source, out.view(*layout))
    return out


@op(samples=[Sample(((2, 2),), {"shape": (3, 2), "strides": (2, 1), "layout": ((2, 2), (1, 1), 0)})],
    reference=lambda g, **_: np.array([[g[0, 0], g[0, 1] + g[1, 0]], [g[1, 1], 0], [0, 0]], g.dtype),
    takes_complex=True, linear="jointly")  # fmt: skip
def as_strided_backward(g, *, shape, strides, layout):
    """Gradient of `as_strided`: items of `g` are added where `layout` reads one element several times.

    `shape` and `strides` are the input's, `layout` is relative to its first item and may begin before it. What it reads
    beside the input's items is lost. Where the input itself shows one element several times (an expanded tensor), each of
    its items receives an equal share.
    """


@as_strided_backward.kernel("cpu")
def _(g: np.ndarray, shape: Shape, strides: Shape, layout: Layout) -> np.ndarray:
    size, stride, offset = layout
    start, extent = _memory(shape, strides, layout)
    memory = np.zeros(extent, g.dtype)
    np.add.at(memory, _elements(size, stride) + (offset - start), g)
    read = _elements(shape, strides) - start
    counts = np.zeros(extent, np.int64)
    np.add.at(counts, read, 1)
    return memory[read] / counts[read].astype(g.dtype)


@as_strided_backward.grad("g")
def _(g, shape, strides, layout):
    # The adjoint: what arrives for the items that show one element is averaged, then read through the layout.
    size, stride, offset = layout
    start, extent = _memory(shape, strides, layout)
    memory = {"shape": (extent,), "strides": (1,), "layout": (shape, strides, -start)}
    total = as_strided_backward(g, **memory)
    if not _keeps_apart(shape, strides):
        counts = as_strided_backward(g.new_ones(shape), **memory)
        total = total / counts.masked_fill(counts == 0, 1)
    return total.as_strided(size, stride, offset - start)


def _memory(shape: Shape, strides: Shape, layout: Layout) -> tuple[int, int]:
    """The part of a storage that an input and a layout touch: its first element, from the input's first item, and extent."""
    size, stride, offset = layout
    start = min(0, offset)
    return start, max(storage_extent((shape, strides, -start)), storage_extent((size, stride, offset - start)))


def _keeps_apart(shape: Shape, strides: Shape) -> bool:
    """Whether each stride steps over all that the smaller ones reach, so that no element is shown twice."""
    reach = 0
    for stride, extent in sorted((s, n) for n, s in zip(shape, strides, strict=True) if n > 1):
        if stride <= reach:
            return False
        reach += (extent - 1) * stride
    return True


def _elements(shape: Shape, strides: Shape) -> np.ndarray:
    """The storage index of each item of a layout."""
    index = np.zeros(shape, np.int64)
    for axis, (extent, stride) in enumerate(zip(shape, strides, strict=True)):
        index += (np.arange(extent) * stride).reshape([-1 if a == axis else 1 for a in range(len(shape))])
    return index


@op(samples=[Sample(((2, 3),), {"strides": (1, 2)})], reference=lambda x, strides: x, moves=True, linear="jointly")
def to_strides(input, *, strides):
    """A copy laid out in memory with the given strides."""


@to_strides.kernel("cpu")
def _(input: np.ndarray, strides: Shape) -> Array:
    out = cpu.empty((storage_extent((input.shape, strides, 0)),), input.dtype).view(input.shape, strides, 0)
    out.ndarray[...] = input
    return out


@to_strides.grad("input")
def _(g):
    return g
