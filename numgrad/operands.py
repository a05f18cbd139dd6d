"""What the operands of an op agree on: device and autodiff context, dtype, shape, and whether a target may be written."""

from __future__ import annotations

from typing import Any

from . import dtype as dtypes
from .autograd.grad_mode import mode
from .autograd.inplace import check_counted, check_overlap, check_self_overlap, check_writable
from .autograd.variable import CLASSES
from .device import CPU, device, merge_contexts
from .dtype import FROM_NUMPY
from .interop import as_operand
from .kernels.registry import ElementwiseOp, Op
from .out import check_castable, check_out_dtype, no_out_grad, resize_out

NUMBERS = (bool, int, float, complex)  # exactly these: NumPy's scalars are converted first


MIXED = (
    "numgrad.Tensor and numgrad.burn.Tensor do not mix in one operation: convert with burn.Tensor.wrap(t), which gives a "
    "handle, or with h.torch(), which gives a tensor; neither copies"
)


class Foreign:
    """A tensor of the other front door. Where the engine looks for the array of its own tensors, it finds the advice."""

    __slots__ = ("__weakref__",)

    @property
    def _array(self) -> Any:
        raise TypeError(MIXED)


def device_of(op: Op, inputs: Any) -> device:
    """The device of an op's result; contexts of the operands merge. Raises RuntimeError for two kinds of hardware."""
    found: device | None = None
    scalar: device | None = None
    for x in inputs:
        if x.__class__ not in CLASSES:
            continue
        where = x._device
        if where is found:
            continue
        if where.type == "cpu" and not x._array.shape:
            if scalar is not None:  # 0-d CPU tensors go along with any device
                where = scalar.with_context(merge_contexts(scalar.context, where.context))
            scalar = where
            continue
        if found is None:
            found = where
            continue
        if found.hardware != where.hardware:
            raise RuntimeError(
                f"Expected all tensors to be on the same device, but found at least two devices, {found} and {where}!"
            )
        found = found.with_context(merge_contexts(found.context, where.context))
    if found is None:
        return scalar or CPU
    if scalar is not None and scalar.context is not found.context:
        found = found.with_context(merge_contexts(found.context, scalar.context))
    return found


def kernel_operand(x: Any, where: device) -> Any:
    """What a kernel gets for an input: an array on its device, or a Python number."""
    if x.__class__ not in CLASSES:
        return x
    array = x._array
    if array.storage.device != where.hardware:
        return array.ndarray.item()
    return array


def converted(op: ElementwiseOp, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The inputs with NumPy's scalars and arrays made into numbers and tensors. Raises TypeError for anything else."""
    like = next((x for x in inputs if x.__class__ in CLASSES), None)
    found = []
    for i, x in enumerate(inputs):
        value = x if x.__class__ in CLASSES or x.__class__ in NUMBERS else as_operand(x, like, op.takes_arrays)
        if value is NotImplemented:
            raise not_a_tensor(op, op.inputs[i], x)
        found.append(value)
    return tuple(found)


def not_a_tensor(op: ElementwiseOp, name: str, value: Any, in_place: bool = False) -> TypeError:
    """The error about an input that is no tensor, with PyTorch's text: a method that writes does not count its tensor."""
    if isinstance(value, Foreign):
        return TypeError(MIXED)
    public, position = op.name.partition(".")[0], op.inputs.index(name) + 1
    if in_place and position > 1:
        public, position = f"{public}_", position - 1
    return TypeError(f"{public}(): argument '{name}' (position {position}) must be Tensor, not {type_name(value)}")


def type_name(value: Any) -> str:
    """What C calls the type of a value: a type that is not made at run time names its module, too."""
    kind = type(value)
    is_made = kind.__flags__ & 1 << 9  # Py_TPFLAGS_HEAPTYPE
    return kind.__name__ if is_made or kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"


_resolved: dict[Any, tuple[Any, tuple[Any, ...]]] = {}


def resolve_dtypes(op: ElementwiseOp, inputs: tuple[Any, ...], where: device) -> tuple[Any, tuple[Any, ...]]:
    """The NumPy dtype to compute in, and that of each result.

    Raises TypeError for a real number where the op takes an integer or a bool, NotImplementedError for complex numbers
    where it takes none.
    """
    key = (
        op,
        dtypes.get_default_dtype(),
        *[(x._array.dtype, not x._array.shape) if x.__class__ in CLASSES else x.__class__ for x in inputs],
    )
    found = _resolved.get(key)
    if found is None:
        found = _resolved[key] = _promote(op, inputs)
    if found[0].kind == "c" and where.type != "cpu":
        raise on_cpu_alone(op)
    return found


def on_cpu_alone(op: Op) -> NotImplementedError:
    """The error about complex numbers on another device."""
    return NotImplementedError(f"{op.name}() takes complex tensors on the CPU alone: move its operands with .to('cpu')")


def _promote(op: ElementwiseOp, inputs: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
    if op.result == "first":
        first = inputs[0]._array.dtype
        _check_complex(op, FROM_NUMPY[first])
        return first, (first,)
    dims: list[dtypes.dtype] = []
    zeros: list[dtypes.dtype] = []
    numbers: list[dtypes.dtype] = []
    for i, x in enumerate(inputs):
        kind = op.scalar.kinds.get(op.inputs[i], "real")
        if kind != "real":
            _check_kind(op, i, kind, x)
            continue
        if x.__class__ in CLASSES:
            (dims if x._array.shape else zeros).append(FROM_NUMPY[x._array.dtype])
        else:
            numbers.append(dtypes.of_number(x))
    if not (dims or zeros or numbers):
        numbers.append(dtypes.get_default_dtype())  # what integers and bools alone are computed in, where it matters
    promoted = dtypes.promote(dims, zeros, numbers)
    if op.bool_error is not None:
        _refuse_bools(op.bool_error, [d is dtypes.bool_ for d in dims + zeros + numbers])
    if op.floating_only and not (of_tensors := dtypes.promote(dims, zeros, [])).is_differentiable:
        raise NotImplementedError(f"\"{op.floating_only}\" not implemented for '{of_tensors.scalar_name}'")
    if op.integers_only and promoted.is_differentiable:
        raise NotImplementedError(f"\"{op.integers_only}\" not implemented for '{promoted.scalar_name}'")
    if op.result == "float" and not promoted.is_differentiable:
        promoted = dtypes.get_default_dtype()
    _check_complex(op, promoted)
    real = promoted.to_real() if promoted.is_complex and op.complex_form.result == "real" else promoted
    own = {"real": real, "int": dtypes.int64, "bool": dtypes.bool_}
    return promoted.numpy, tuple(own[kind].numpy for kind in op.output_kinds)


def check_before_kernel(op: ElementwiseOp, inputs: tuple[Any, ...], out: Any) -> None:
    """Raise what PyTorch finds wrong before it looks for a kernel: shapes that do not fit, a target that cannot take the
    result. For an op that has no kernel for the inputs' dtypes.
    """
    shape = broadcast(op, inputs)
    if out is None:
        return
    given = [x for x in inputs if x.__class__ in CLASSES]
    dims, zeros = (
        [FROM_NUMPY[x._array.dtype] for x in given if bool(x._array.shape) is wide] for wide in (True, False)
    )
    numbers = [dtypes.of_number(x) for x in inputs if x.__class__ not in CLASSES]
    check_target(op, inputs, out, shape, dtypes.promote(dims, zeros, numbers).numpy, out is inputs[0])


def _check_complex(op: ElementwiseOp, computed_in: dtypes.dtype) -> None:
    """Raise what an op says of complex numbers, if it takes none."""
    if computed_in.is_complex and op.complex_form is None:
        raise op.complex_refusal(computed_in.scalar_name)


def _check_kind(op: ElementwiseOp, position: int, kind: str, x: Any) -> None:
    """Raise TypeError when a real number is given for a parameter that is annotated `int` or `bool`."""
    if x.__class__ is float or (x.__class__ in CLASSES and FROM_NUMPY[x._array.dtype].is_floating_point):
        given = "a float" if x.__class__ is float else f"a {FROM_NUMPY[x._array.dtype].name} tensor"
        raise TypeError(
            f"{op.name}(): argument '{op.inputs[position]}' (position {position + 1}) is annotated {kind}, but got "
            f"{given}: convert it, or take the annotation away"
        )


def _refuse_bools(error: Exception, bools: list[bool]) -> None:
    """Raise an op's own error for bool operands: with two texts, one for any bool and one for bools alone."""
    one, *two = error.args
    if two and any(bools):
        raise type(error)(two[0] if len(bools) > 1 and all(bools) else one)
    if all(bools):
        raise type(error)(one)


def broadcast(op: Op, inputs: tuple[Any, ...]) -> tuple[int, ...]:
    """The common shape of the inputs. Raises RuntimeError with PyTorch's text when there is none."""
    shape: tuple[int, ...] = ()
    for x in inputs:
        if x.__class__ not in CLASSES or x._array.shape == shape:
            continue
        shape = broadcast_shapes(shape, x._array.shape)
    return shape


def broadcast_shapes(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that two shapes broadcast to. Raises RuntimeError, with PyTorch's text."""
    rank = max(len(a), len(b))
    padded = [(1,) * (rank - len(s)) + tuple(s) for s in (a, b)]
    out = []
    for d, (m, n) in enumerate(zip(*padded, strict=True)):
        if m != n and m != 1 and n != 1:
            raise RuntimeError(
                f"The size of tensor a ({m}) must match the size of tensor b ({n}) at non-singleton dimension {d}"
            )
        out.append(n if m == 1 else m)
    return tuple(out)


def check_target(
    op: ElementwiseOp, inputs: tuple[Any, ...], out: Any, shape: tuple[int, ...], dtype: Any, in_place: bool
) -> None:
    """Raise RuntimeError, with PyTorch's texts, when `out` cannot take a result of this shape and NumPy dtype.

    TypeError when it is no tensor.
    """
    if out.__class__ not in CLASSES:
        raise TypeError(f"{op.name}(): argument 'out' must be Tensor, not {type(out).__name__}")
    if in_place:
        check_writable(out, inputs)
    elif mode.enabled and any(x.__class__ in CLASSES and x.requires_grad for x in (*inputs, out)):
        raise RuntimeError(no_out_grad(op.name))
    if not in_place:
        check_counted(out)
        check_out_dtype(op.name, out, dtype)
        resize_out(out, shape)
    if not op.takes_expanded:
        check_self_overlap(out)
    check_overlap(out, inputs)
    if out._array.shape != shape:
        raise RuntimeError(
            f"output with shape [{', '.join(map(str, out._array.shape))}] doesn't match the broadcast shape "
            f"[{', '.join(map(str, shape))}]"
        )
    check_castable(out, dtype)
