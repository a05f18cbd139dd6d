"""Factories: zeros, ones, full, empty, arange, and their `*_like` forms.

`layout` and `pin_memory` are taken as PyTorch's scripts give them, and choose nothing: every tensor is strided, and
memory of the CPU is copied to a device without being pinned.
"""

from __future__ import annotations

import builtins
import math
import warnings
from collections.abc import Callable
from typing import Any

from . import dtype as dtypes
from .autograd.grad_mode import mode
from .autograd.variable import CLASSES, wrap_new
from .autograd.watch import watching
from .device import default, device
from .dispatch import create, dispatch
from .kernels import counting, cpu, movement, views
from .kernels.array import Array, contiguous_strides, dense_array, dense_order
from .memory_format import lay_out, preserve_format, wanted_strides
from .ops.dims import as_sizes
from .out import no_out_grad, resize, write_out
from .plans import Plans, are_ints

_layouts = Plans()  # what is asked of a size and a dtype, for the CPU


def _filled(name: str, size: tuple[Any, ...], value: Any, dtype: Any, where: Any, requires_grad: bool) -> Any:
    """A tensor of a size, as factories are given it, with every item `value`, or undefined ones for None."""
    wanted = dtypes.get_default_dtype() if dtype is None else as_dtype(dtype, name)
    target = default.device if where is None else device(where).concrete()
    if isinstance(value, complex) and not wanted.is_complex:
        value = value.real
    if target.type != "cpu" or watching or wanted.is_complex or not are_ints(size):
        result = create(movement.full, (sizes(name, size), value, wanted.name), target)
        return result._mark_leaf(True) if requires_grad else result
    layout = _layouts.get((size, wanted))
    if layout is None:
        shape = sizes(name, size)
        layout = wanted.numpy, math.prod(shape), shape, contiguous_strides(shape)
        _layouts.keep((size, wanted), layout)
    kind, count, shape, strides = layout
    array = dense_array(cpu.empty_flat(count, kind), kind, shape, strides)
    if value is not None:
        cpu.fill(array, value)
    result = wrap_new(array, target)
    return result._mark_leaf(True) if requires_grad else result


def as_dtype(dtype: Any, name: str) -> dtypes.dtype:
    """The dtype that an argument of the function `name` gives. Raises TypeError when it is none."""
    found = dtypes.as_dtype(dtype)
    if found is None:
        raise TypeError(f"{name}(): argument 'dtype' must be torch.dtype, not {type(dtype).__name__}")
    return found


def sizes(name: str, size: tuple[Any, ...]) -> tuple[int, ...]:
    """The shape that a factory is asked for. Raises with PyTorch's texts: TypeError for no ints, RuntimeError below 0."""
    found = as_sizes(size, name)
    if found and min(found) < 0:
        if name == "zeros":
            raise RuntimeError("zeros: Dimension size must be non-negative.")
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(found)}: {list(found)}")
    return found


def zeros(
    *size: Any,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """A tensor of zeros: `zeros(2, 3)` or `zeros((2, 3))`."""
    return _filled("zeros", size, 0, dtype, device, requires_grad)


def ones(
    *size: Any,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """A tensor of ones: `ones(2, 3)` or `ones((2, 3))`."""
    return _filled("ones", size, 1, dtype, device, requires_grad)


def empty(
    *size: Any,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """A tensor with undefined items."""
    return _filled("empty", size, None, dtype, device, requires_grad)


def full(
    size: Any,
    fill_value: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """A tensor with every item `fill_value`, of its dtype unless one is given."""
    if not isinstance(size, (tuple, list)):
        raise TypeError(f"full(): argument 'size' (position 1) must be tuple of ints, not {type(size).__name__}")
    fill_value = _fill_number("full", fill_value)
    if dtype is None:
        dtype = dtypes.of_number(fill_value)
    as_dtype(dtype, "full").check_holds(fill_value)
    return _filled("full", (size,), fill_value, dtype, device, requires_grad)


def _fill_number(name: str, value: Any) -> Any:
    """A number, given as one or as a tensor of one item. Raises TypeError for anything else."""
    if value.__class__ in CLASSES:
        return value.item()
    if not hasattr(value, "__float__") and not isinstance(value, complex):
        raise TypeError(f"{name}(): argument 'fill_value' (position 2) must be Number, not {type(value).__name__}")
    return value


def in_layout_of(x: Any, make: Callable[[tuple[int, ...]], Any]) -> Any:
    """A tensor of the shape and, as PyTorch's `*_like`, in the layout of `x`, from `make(shape)`, a contiguous one."""
    array = x._array
    order = None if array.is_contiguous() else dense_order(array.shape, array.strides)
    if order is None:
        return make(array.shape)
    # Made in the memory order of x, then seen in its order of dimensions.
    made = make(tuple(array.shape[d] for d in order))
    inverse = tuple(order.index(d) for d in builtins.range(len(order)))
    return dispatch(views.permute, (made,), (inverse,)).detach()


def _like(name: str, x: Any, value: Any, dtype: Any, where: Any, requires_grad: bool, memory_format: Any) -> Any:
    if x.__class__ not in CLASSES:
        raise TypeError(f"{name}(): argument 'input' (position 1) must be Tensor, not {type(x).__name__}")
    dtype = x.dtype if dtype is None else dtype
    where = x._device if where is None else where
    if x._array.flat is not None and memory_format is preserve_format:
        return _filled(name, x._array.shape, value, dtype, where, requires_grad)
    if x._array.__class__ is not Array:
        from .autograd.batching import made_like

        made = made_like(x, lambda shape: _filled(name, shape, value, dtype, where, False), x._array.shape)
        return made._mark_leaf(requires_grad)
    if memory_format is not preserve_format:
        made = _filled(name, x._array.shape, value, dtype, where, False)
        return lay_out(made, wanted_strides(name, memory_format, x._array.shape))._mark_leaf(requires_grad)
    return in_layout_of(x, lambda shape: _filled(name, shape, value, dtype, where, False))._mark_leaf(requires_grad)


def new_filled(
    name: str, x: Any, size: tuple[Any, ...], value: Any, dtype: Any, where: Any, requires_grad: bool
) -> Any:
    """What `x.new_zeros(*size)` and `x.new_ones(*size)` return: a tensor of the dtype and on the device of `x`."""
    where = x._device if where is None else where

    def make(shape: tuple[int, ...]) -> Any:
        return _filled(name, shape, value, dtype or x.dtype, where, False)

    shape = sizes(name, size)
    if x._array.__class__ is Array:
        return make(shape)._mark_leaf(requires_grad)
    from .autograd.batching import made_like

    made = made_like(x, make, shape)
    return made._mark_leaf(requires_grad)


def zeros_like(
    input: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
    memory_format: Any = preserve_format,
) -> Any:
    """Zeros with the shape, dtype and device of `input`; it never inherits `requires_grad`."""
    return _like("zeros_like", input, 0, dtype, device, requires_grad, memory_format)


def ones_like(
    input: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
    memory_format: Any = preserve_format,
) -> Any:
    """Ones with the shape, dtype and device of `input`."""
    return _like("ones_like", input, 1, dtype, device, requires_grad, memory_format)


def empty_like(
    input: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
    memory_format: Any = preserve_format,
) -> Any:
    """Undefined items with the shape, dtype and device of `input`."""
    return _like("empty_like", input, None, dtype, device, requires_grad, memory_format)


def full_like(
    input: Any,
    fill_value: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
    memory_format: Any = preserve_format,
) -> Any:
    """`fill_value` with the shape, dtype and device of `input`."""
    return _like("full_like", input, _fill_number("full_like", fill_value), dtype, device, requires_grad, memory_format)


def arange(
    start: Any,
    end: Any = None,
    step: Any = 1,
    *,
    out: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """Numbers from `start` (0 when only one is given) up to but not including `end`.

    Ints give int64, floats the default dtype. Raises RuntimeError for a step of 0 or of the wrong sign.

    Example:
        >>> import numgrad as ng
        >>> ng.arange(1, 4)
        tensor([1, 2, 3])
    """
    if end is None:
        start, end = 0, start
    are_ints = start.__class__ is int and end.__class__ is int and step.__class__ is int
    if not are_ints:
        for name, value in (("start", start), ("end", end), ("step", step)):
            if not hasattr(value, "__float__"):
                raise TypeError(f"arange(): argument '{name}' (position 1) must be Number, not {type(value).__name__}")
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if not are_ints and not (math.isfinite(start) and math.isfinite(end)):
        raise RuntimeError(f"unsupported range: {start} -> {end}")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    if out is not None:
        if dtype is not None and as_dtype(dtype, "arange") is not out.dtype:
            raise RuntimeError(
                f"dtype {as_dtype(dtype, 'arange').scalar_name} does not match dtype of out parameter "
                f"({out.dtype.scalar_name})"
            )
        dtype = out.dtype
    if dtype is None:
        integers = are_ints or all(isinstance(v, int) for v in (start, end, step))
        wanted = dtypes.int64 if integers else dtypes.get_default_dtype()
    else:
        wanted = as_dtype(dtype, "arange")
        if wanted.is_complex:
            raise NotImplementedError(f"\"arange_cpu\" not implemented for '{wanted.scalar_name}'")
        if not wanted.is_differentiable:
            # As PyTorch: only int64 is counted in whole numbers.
            count = math.ceil((end - start) / step)
            start, end, step = int(start), int(end), int(step)
            if step == 0:
                raise ValueError("step must be nonzero")
            if wanted is not dtypes.int64:
                end = start + count * step
    target = default.device if device is None else _device(device).concrete()
    result = create(movement.arange, (start, end, step, wanted.name), target)
    if out is not None:
        return _counted_to(out, result)
    return result._mark_leaf(True) if requires_grad else result


def _counted_to(out: Any, result: Any) -> Any:
    """Write the result of `arange` to `out`, of any shape, with PyTorch's own warning where it has to be resized."""
    if mode.enabled and out.requires_grad:
        raise RuntimeError(no_out_grad("aten::arange"))
    count = result.numel()
    if out.numel() not in (0, count):
        warnings.warn(
            f"The number of elements in the out tensor of shape {list(out.shape)} is {out.numel()} which does not match "
            f"the computed number of elements {count}. Note that this may occur as a result of rounding error. The out "
            f"tensor will be resized to a tensor of shape ({count},).",
            stacklevel=3,
        )
    if out.numel() != count:
        resize(out, (count,))
    return write_out("aten::arange", out, result.reshape(out.shape), ())


def _factory(op: Any, name: str, attributes: tuple[Any, ...], dtype: Any, where: Any, requires_grad: bool) -> Any:
    wanted = dtypes.get_default_dtype() if dtype is None else as_dtype(dtype, name)
    target = default.device if where is None else _device(where).concrete()
    result = create(op, (*attributes, wanted.name), target)
    return result._mark_leaf(True) if requires_grad else result


def eye(
    n: int,
    m: int | None = None,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """The n by m matrix (m is n by default) with ones on its diagonal. Raises RuntimeError for negative extents."""
    for name, value in (("n", n), ("m", m)):
        if value is not None and value < 0:
            raise RuntimeError(f"{name} must be greater or equal to 0, got {value}")
    return _factory(counting.eye, "eye", ((n, n if m is None else m),), dtype, device, requires_grad)


def linspace(
    start: Any,
    end: Any,
    steps: int,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """`steps` numbers from `start` to `end` (numbers or 0-d tensors), both included, at equal distances.

    With a complex bound they are complex. Raises RuntimeError for a real `dtype` then.

    Example:
        >>> import numgrad as ng
        >>> ng.linspace(0, 1, 5)
        tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])
    """
    bounds = _bounds("linspace", start, end, steps)
    dtype = _dtype_between("linspace", bounds, dtype)
    for bound in bounds:
        (dtypes.get_default_dtype() if dtype is None else as_dtype(dtype, "linspace")).check_holds(bound)
    return _factory(counting.linspace, "linspace", (*bounds, int(steps)), dtype, device, requires_grad)


def logspace(
    start: Any,
    end: Any,
    steps: int,
    base: float = 10.0,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """`base` to the powers that `linspace(start, end, steps)` gives."""
    bounds = _bounds("logspace", start, end, steps)
    dtype = _dtype_between("logspace", bounds, dtype)
    return _factory(counting.logspace, "logspace", (*bounds, int(steps), float(base)), dtype, device, requires_grad)


def _bounds(name: str, start: Any, end: Any, steps: int) -> tuple[Any, Any]:
    if not hasattr(steps, "__index__"):
        kinds = ", ".join(type(value).__name__ for value in (start, end, steps))
        raise TypeError(f"{name}() received an invalid combination of arguments - got ({kinds}): steps must be an int")
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    found = []
    for which, value in (("start", start), ("end", end)):
        if value.__class__ in CLASSES:
            if value.dim():
                raise RuntimeError(
                    f"{name} only supports 0-dimensional start and end tensors, but got {which} with {value.dim()} "
                    "dimension(s)."
                )
            value = value.item()
        found.append(value)
    return found[0], found[1]


def _dtype_between(name: str, bounds: tuple[Any, ...], dtype: Any) -> Any:
    """The dtype of numbers between bounds, None for the default: complex ones need a complex dtype."""
    if not any(isinstance(x, complex) for x in bounds):
        return dtype
    inferred = dtypes.complex128 if dtypes.get_default_dtype() is dtypes.float64 else dtypes.complex64
    if dtype is not None and not as_dtype(dtype, name).is_complex:
        raise RuntimeError(
            f"torch.{name}(): inferred dtype {inferred.c_name} can't be safely cast to passed dtype "
            f"{as_dtype(dtype, name).scalar_name}"
        )
    return inferred if dtype is None else dtype


def tril_indices(row: int, col: int, offset: int = 0, *, dtype: Any = None, device: Any = None) -> Any:
    """Rows and columns, as (2, n) int64, of the items of a matrix on and below a diagonal."""
    return _triangle(row, col, offset, True, dtype, device)


def triu_indices(row: int, col: int, offset: int = 0, *, dtype: Any = None, device: Any = None) -> Any:
    """Rows and columns, as (2, n) int64, of the items of a matrix on and above a diagonal."""
    return _triangle(row, col, offset, False, dtype, device)


def _triangle(row: int, col: int, offset: int, lower: bool, dtype: Any, device: Any) -> Any:
    for name, value in (("row", row), ("col", col)):
        if value < 0:
            raise RuntimeError(f"{name} must be non-negative, got{value}")
    name = "tril_indices" if lower else "triu_indices"
    wanted = dtypes.int64 if dtype is None else dtype
    return _factory(counting.triangle_indices, name, (row, col, offset, lower), wanted, device, False)


_device = device


def range(
    start: Any,
    end: Any = None,
    step: Any = 1,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Any:
    """Numbers from `start` up to and including `end`, of the default dtype. Deprecated in favour of `arange`."""
    warnings.warn(
        "torch.range is deprecated and will be removed in a future release because its behavior is inconsistent with "
        "Python's range builtin. Instead, use torch.arange, which produces values in [start, end).",
        stacklevel=2,
    )
    if end is None:
        start, end = 0, start
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    wanted = dtypes.get_default_dtype() if dtype is None else dtype
    count = math.floor((end - start) / step) + 1
    counted = arange(count, dtype=dtypes.float64, device=device) * step + start
    return counted.to(wanted)._mark_leaf(requires_grad)


def scalar_tensor(
    s: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """A 0-d tensor of a number, of the default dtype."""
    if not hasattr(s, "__float__") and not isinstance(s, complex):
        raise TypeError(f"scalar_tensor(): argument 's' (position 1) must be Number, not {type(s).__name__}")
    return _filled("scalar_tensor", (), s, dtype, device, requires_grad)


def empty_strided(
    size: Any,
    stride: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """Undefined items with these strides, in as much memory as they span. Raises RuntimeError for negative ones."""
    shape, strides = tuple(size), tuple(stride)
    if len(shape) != len(strides):
        raise RuntimeError(
            f"dimensionality of sizes ({len(shape)}) must match dimensionality of strides ({len(strides)})"
        )
    span = 1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True)) if math.prod(shape) else 0
    memory = empty(span, dtype=dtype, device=device)
    return memory.as_strided(shape, strides).detach()._mark_leaf(requires_grad)


def empty_permuted(
    size: Any,
    physical_layout: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """Undefined items without gaps; `physical_layout` lists the dimensions from the slowest in memory to the fastest."""
    shape, order = tuple(size), tuple(physical_layout)
    if len(order) != len(shape):
        raise RuntimeError(
            "Number of dimensions in size does not match the length of the physical_layout; i.e. len(size) = "
            f"{len(shape)} is not equal to len(physical_layout) = {len(order)}"
        )
    for d in order:
        if not 0 <= d < len(shape):
            raise RuntimeError(
                f"Dimension out of range (expected to be between 0 and {len(shape) - 1}, but got {d} at index "
                f"{order.index(d)}).  NB: negative dims not currently supported; file an issue if you want it."
            )
    if len(set(order)) != len(order):
        raise RuntimeError("Duplicate dim not allowed")
    made = empty(tuple(shape[d] for d in order), dtype=dtype, device=device)
    inverse = tuple(order.index(d) for d in builtins.range(len(order)))
    return made.permute(inverse).detach()._mark_leaf(requires_grad)
