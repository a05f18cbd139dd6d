"""The one door: every op on tensors comes through `dispatch`.

It finds the device and the autodiff context of the operands, the dtype to compute in, runs the kernel, and records a node
when an operand requires a gradient. It is also the hot path, so the common case (contiguous operands of one shape and
dtype) is decided by identity checks and one look-up of a small key: dtype and the classes of the operands.
"""

from __future__ import annotations

from inspect import Parameter, Signature
from types import FunctionType
from typing import Any

from .autograd import profiling, variable
from .autograd.checkpointing import checkpoint
from .autograd.complex_node import ComplexRecorder, complex_node_class
from .autograd.elementwise_node import Recorder, elementwise_node
from .autograd.grad_mode import mode
from .autograd.inplace import check_writable, rebase
from .autograd.node import gradient_edge, saved_versions
from .autograd.observers import before_write, observe
from .autograd.op_node import node_class
from .autograd.several import SeveralNode, SeveralRecorder
from .autograd.tracing import innermost, run_at
from .autograd.variable import CLASSES, wrap, wrap_new
from .autograd.watch import watching
from .broadcast_calls import by_plan, keep_plan, planned
from .device import AUTODIFF, BALANCED, PLAIN, device
from .dtype import FROM_NUMPY
from .flat_plans import keep_flat_plan
from .kernel_calls import run_kernel
from .kernels import cpu, threads
from .kernels.array import Array, dense_array, elementwise_strides, is_contiguous
from .kernels.cpu import LAST_COMPILED, SPLIT, empty_flat, empty_small
from .kernels.registry import OUT, ElementwiseOp, KernelOp, Op, install_dispatcher
from .kernels.unbroadcast import cloned
from .operands import (
    NUMBERS,
    broadcast,
    check_before_kernel,
    check_target,
    converted,
    device_of,
    kernel_operand,
    not_a_tensor,
    resolve_dtypes,
)
from .out import no_out_grad, prepare_out
from .recording import arrays_of, record
from .updates import update
from .viewing import view


def dispatch(op: Any, inputs: tuple[Any, ...], attributes: tuple[Any, ...] = (), out: Any = None) -> Any:
    """Run an op.

    Args:
        op: a row of the op table.
        inputs: tensors; Python numbers where an elementwise op takes them.
        attributes: the op's plain arguments, in declared order.
        out: the tensor to write to. `inputs[0]` itself makes the op an in-place one, which is recorded.

    Returns:
        A tensor, or a tuple of tensors for an op with several outputs.
    """
    if watching:
        return _watched(op, inputs, attributes, out)
    if op.elementwise:
        if out is None:
            count = len(inputs)
            if count == 2:
                return binary(inputs[0], inputs[1], op)
            if count == 1:
                return unary(op, inputs[0])
            return nary(op, inputs)
        return _elementwise(op, inputs, out)
    if op.is_view:
        return view(op, inputs[0], attributes)
    if op.updates:
        return update(op, inputs, attributes, out)
    return _general(op, inputs, attributes, out)


def create(op: KernelOp, attributes: tuple[Any, ...], where: device) -> Any:
    """`dispatch(op, (), (*attributes, where))`: without operands nothing is looked up, and nothing recorded."""
    if watching or where.type != "cpu":
        return dispatch(op, (), (*attributes, where))
    return wrap_new(op.kernels["cpu"](*attributes, where.hardware), where)


def _watched(op: Any, inputs: tuple[Any, ...], attributes: tuple[Any, ...], out: Any) -> Any:
    """`dispatch` while something looks on."""
    recorder = profiling.current()
    if recorder is None:
        return _observed(op, inputs, attributes, out)
    return recorder.op(_observed, op, inputs, attributes, out)


def _observed(op: Any, inputs: tuple[Any, ...], attributes: tuple[Any, ...], out: Any) -> Any:
    """An op by the general way, then shown to the observers."""
    if out.__class__ in CLASSES:
        before_write(out)
    if op.elementwise:
        result = _elementwise(op, inputs, out)
    elif op.is_view:
        result = view(op, inputs[0], attributes)
    elif op.updates:
        result = update(op, inputs, attributes, out)
    else:
        for i in op.writes:
            before_write(inputs[i])
        result = _general(op, inputs, attributes, out)
    observe(op, inputs, result, out is not None)
    return result


# ---------------------------------------------------------------------------------------------------- the fast path
# One flat kernel, no broadcasting, no casting. These functions are written out rather than looped over operands: at
# 512 items the kernel takes 0.2 us, and a loop over two operands as much again.
def binary(first: Any, second: Any, op: ElementwiseOp, convert: Any = None, new: Any = object.__new__) -> Any:
    """`dispatch(op, (first, second))` for an elementwise op. The operators of `Tensor` are copies of it with `op` bound.

    `convert(second, first)` is what an operator makes of an operand that is neither tensor nor number.
    """
    if watching or first.__class__ not in CLASSES:
        return _off_the_fast_path(op, first, second, convert)
    a = first._array
    x = a.flat
    if second.__class__ in CLASSES:
        b = second._array
        y = b.flat
        plan = op.flat_plans.get(a.dtype)
        if (
            plan is None
            or x is None
            or y is None
            or a.dtype is not b.dtype
            or a.shape != b.shape
            or first._device is not second._device
        ):
            other = op.broadcast_plans.get((a.dtype, a.shape, b.dtype, b.shape))
            if other is None or x is None or y is None or first._device is not second._device:
                return _elementwise(op, (first, second), None)
            return by_plan(op, other, (first, second), first._device)
        recorded = first._requires_grad or second._requires_grad or first._view is not None or second._view is not None
    else:
        b = y = second
        plan = op.flat_plans.get((a.dtype, second.__class__))
        if plan is None or x is None:
            return _off_the_fast_path(op, first, second, convert)
        recorded = first._requires_grad or first._view is not None
    dtype = plan.dtype
    if len(x) < SPLIT:
        flat = empty_small(len(x), dtype)
        plan.kernel(x, y, flat)
    else:
        flat = empty_flat(len(x), dtype)
        threads.run(plan.kernel, (x, y, flat), len(x))
    result = dense_array(flat, dtype, a.shape, a.strides)
    where = first._device
    if not recorded or not mode.enabled:
        return wrap_new(result, where)
    edge = first._edge
    if edge is None or first._view is not None:
        edge = gradient_edge(first)
    edge2 = None
    if b is not second:
        edge2 = second._edge
        if edge2 is None or second._view is not None:
            edge2 = gradient_edge(second)
    if edge is None:
        mask = 0 if edge2 is None else 2
    else:
        mask = 1 if edge2 is None else 3
    recorder = plan.recorders.get(mask)
    if recorder is None or where.context is not AUTODIFF:
        recorder = _new_recorder(op, plan, mask, where)
        if recorder is None:
            return wrap_new(result, where)
        if where.context is BALANCED:
            return _recorded(op, recorder, (edge, edge2), [a, b], [result], where, None)
    keeps = recorder.keeps
    if keeps == 2:
        saved: Any = (b,)
        written = b is not second and b._storage is not None and b._storage.version
    elif keeps == 3:
        saved = (a, b)
        written = (a._storage is not None and a._storage.version) or (
            b is not second and b._storage is not None and b._storage.version
        )
    elif keeps:
        saved = [a if i == 0 else b if i == 1 else result for i in recorder.saves]
        written = any(saved_versions(saved))
    else:
        saved = written = ()
    node = elementwise_node(op.node_class, recorder, (edge, edge2), saved, where)
    if written:
        node.versions = saved_versions(saved)
    tensor = new(variable.tensor_class)  # `wrap`, written out
    tensor._array = result
    tensor._device = where
    tensor._edge = (node, 0)
    tensor._requires_grad = True
    tensor._view = None
    return tensor


def _off_the_fast_path(op: ElementwiseOp, first: Any, second: Any, convert: Any) -> Any:
    """The rest of `binary`."""
    if convert is not None and second.__class__ not in CLASSES and second.__class__ not in NUMBERS:
        second = convert(second, first)
        if second is NotImplemented:
            return NotImplemented
    if watching:
        return _watched(op, (first, second), (), None)
    return _elementwise(op, (first, second), None)


_OPERATOR_SIGNATURE = Signature([Parameter(name, Parameter.POSITIONAL_ONLY) for name in ("self", "other")])


def operator(op: ElementwiseOp, convert: Any) -> Any:
    """A copy of `binary` with the op bound: one call less for every operator than a closure would take."""
    copy = FunctionType(binary.__code__, binary.__globals__, op.name, (op, convert, object.__new__))
    copy.__doc__ = op.doc
    copy.__signature__ = _OPERATOR_SIGNATURE  # type: ignore[attr-defined]
    return copy


def unary(op: ElementwiseOp, first: Any) -> Any:
    """`dispatch(op, (first,))` for an elementwise op."""
    if first.__class__ not in CLASSES:
        return _elementwise(op, (first,), None)
    a = first._array
    plan = op.flat_plans.get(a.dtype)
    x = a.flat
    if x is None or plan is None:
        return _elementwise(op, (first,), None)
    dtype = plan.dtype
    if len(x) < SPLIT:
        flat = empty_small(len(x), dtype)
        plan.kernel(x, flat)
    else:
        flat = empty_flat(len(x), dtype)
        threads.run(plan.kernel, (x, flat), len(x))
    result = dense_array(flat, dtype, a.shape, a.strides)
    where = first._device
    if not (first._requires_grad or first._view is not None) or not mode.enabled:
        return wrap_new(result, where)
    edge = gradient_edge(first)
    mask = 0 if edge is None else 1
    recorder = plan.recorders.get(mask)
    if recorder is None or where.context is not AUTODIFF:
        recorder = _new_recorder(op, plan, mask, where)
        if recorder is None:
            return wrap_new(result, where)
        if where.context is BALANCED:
            return _recorded(op, recorder, (edge,), [a], [result], where, None)
    saved = [a if i == 0 else result for i in recorder.saves]
    node = elementwise_node(op.node_class, recorder, (edge,), saved, where)
    if a._storage is not None and a._storage.version:
        node.versions = saved_versions(saved)
    return wrap(result, where, (node, 0))


def nary(op: ElementwiseOp, inputs: tuple[Any, ...]) -> Any:
    """`dispatch(op, inputs)` for an elementwise op of more than two inputs, or with several outputs."""
    lead: Any = None
    operands = []
    recorded = False
    for x in inputs:
        if x.__class__ not in CLASSES:
            operands.append(x)
            continue
        a = x._array
        if lead is None:
            lead = x
            dtype, shape, where = a.dtype, a.shape, x._device
        elif a.dtype is not dtype or a.shape != shape or x._device is not where:
            return _elementwise(op, inputs, None)
        operands.append(a.flat)
        recorded = recorded or x._requires_grad or x._view is not None
    plan = None if lead is None else op.flat_plans.get((dtype, *map(type, inputs)))
    if plan is None or any(x is None for x in operands):
        return _elementwise(op, inputs, None)
    size = len(lead._array.flat)
    flats = [empty_flat(size, result) for result in plan.dtypes]
    cpu.call(plan.kernel, [*operands, *flats], size)
    strides = lead._array.strides
    targets = [dense_array(flat, flat.dtype, shape, strides) for flat in flats]
    edges, mask = _edges(op, inputs, where) if recorded else ((), 0)
    if not mask:
        results = [wrap_new(target, where) for target in targets]
        return results[0] if op.outputs == 1 else tuple(results)
    arrays = [x._array if x.__class__ in CLASSES else x for x in inputs]
    recorder = plan.recorders.get(mask)
    if recorder is None:
        made = Recorder(op, mask, dtype, plan.pattern) if op.outputs == 1 else SeveralRecorder(op, mask, dtype)
        recorder = plan.recorders[mask] = made
    return _recorded(op, recorder, edges, arrays, targets, where, None)


def _recorded(
    op: ElementwiseOp, recorder: Any, edges: Any, operands: list[Any], targets: list[Array], where: device, meta: Any
) -> Any:
    """The result or results of an elementwise op, with their node."""
    saved = [operands[i] if i >= 0 else targets[OUT - i] for i in recorder.saves]
    node = elementwise_node(node_class(op, SeveralNode if op.outputs > 1 else None), recorder, edges, saved, where)
    node.meta = meta
    if any(versions := saved_versions(saved)):
        node.versions = versions
    if where.context is BALANCED:
        checkpoint(node, op, operands, (), targets)
    if op.outputs == 1:
        return wrap(targets[0], where, (node, 0))
    return tuple(
        wrap(target, where, (node, k) if kind == "real" else None)
        for k, (target, kind) in enumerate(zip(targets, op.output_kinds, strict=True))
    )


def _new_recorder(op: ElementwiseOp, plan: cpu.FlatPlan, mask: int, where: device) -> Recorder | None:
    """The recorder for a plan and the inputs that need gradients; None when the call is not to be recorded."""
    if not mask or not op.differentiable or where.context is PLAIN:
        return None
    recorder = plan.recorders.get(mask)
    if recorder is None:
        recorder = plan.recorders[mask] = Recorder(op, mask, plan.dtype, plan.pattern)
    return recorder


def _recorder_for(op: ElementwiseOp, mask: int, compute: Any, pattern: str) -> Any:
    return ComplexRecorder(op, mask) if compute.kind == "c" else Recorder(op, mask, compute, pattern)


def _elementwise(op: ElementwiseOp, inputs: tuple[Any, ...], out: Any) -> Any:
    """The general case: broadcasting, promotion, any layout and device, `out=` and in-place."""
    if mode.levels and (level := innermost((*inputs, out))) is not None:
        return run_at(level, op, inputs, (), out)
    if (found := planned(op, inputs, out)) is not None:
        return found
    given = inputs
    if any(x.__class__ not in CLASSES and x.__class__ not in NUMBERS for x in inputs):
        inputs = converted(op, inputs)
    for name in op.tensors:
        if inputs[op.inputs.index(name)].__class__ not in CLASSES:
            raise not_a_tensor(op, name, given[op.inputs.index(name)], out is not None and out is given[0])
    where = device_of(op, inputs)
    try:
        compute, result_dtypes = resolve_dtypes(op, inputs, where)
    except NotImplementedError:
        check_before_kernel(op, inputs, out)
        raise
    shape = broadcast(op, inputs)
    operands = [kernel_operand(x, where) for x in inputs]
    if op.outputs != 1:
        if out is not None:
            raise TypeError(f"{op.name}() has {op.outputs} outputs: out= is for functions with one")
        return _several_elementwise(op, inputs, operands, shape, compute, result_dtypes, where)
    result_dtype = result_dtypes[0]
    in_place = out is not None and out is inputs[0]
    loops = where.kernels()
    if out is None:
        target = _allocate(loops, inputs, shape, result_dtype, where)
    else:
        check_target(op, inputs, out, shape, result_dtype, in_place)
        target = out._array
    edges, mask = _edges(op, inputs, where) if FROM_NUMPY[result_dtype].is_differentiable else ((), 0)
    saved: list[Any] = []
    recorder = None
    if mask:
        if out is not None and not in_place:
            raise RuntimeError(no_out_grad(op.name))
        pattern = "".join("v" if isinstance(x, Array) else "n" for x in operands)
        key = (compute, pattern, mask)
        recorder = op.recorders.get(key)
        if recorder is None:
            recorder = op.recorders[key] = _recorder_for(op, mask, compute, pattern)
        for i in recorder.saves:
            value = target if i == OUT else operands[i]
            if in_place and i == 0 and isinstance(value, Array):
                value = cloned(value)  # the op overwrites what its gradient reads
            saved.append(value)
    versions = saved_versions(saved)
    if 0 not in shape:
        found = target
        if target.dtype is not result_dtype and compute.kind in "iub":  # integers wrap around before they are cast
            found = loops.empty(shape, result_dtype, where.hardware)
        if compute.kind == "c":
            op.complex_form.run(op, compute, operands, found)
        else:
            loops.map(op.scalar, compute, operands, [found])
        if found is not target:
            loops.copy(found, target)
    keep_flat_plan(op, inputs, operands, compute, [target], where, out)
    if where.type == "cpu" and (out is None or in_place):
        keep_plan(op, inputs, operands, compute, target, _input_meta(inputs, operands, shape, compute, target))
    if out is not None:
        target.storage.version += 1
    if recorder is None:
        if out is not None:
            return out
        return wrap_new(target, where)
    cls = complex_node_class(op) if compute.kind == "c" else node_class(op)
    node = elementwise_node(cls, recorder, edges, saved, where)
    node.meta = _input_meta(inputs, operands, shape, compute, target)
    if in_place and OUT in recorder.saves:
        versions[recorder.saves.index(OUT)] += 1
    if any(versions):
        node.versions = versions
    if in_place:
        rebase(out, node)
        return out
    if where.context is BALANCED:
        checkpoint(node, op, operands, (), [target])
    return wrap(target, where, (node, 0))


def _several_elementwise(
    op: ElementwiseOp,
    inputs: tuple[Any, ...],
    operands: list[Any],
    shape: tuple[int, ...],
    compute: Any,
    dtypes: tuple[Any, ...],
    where: device,
) -> tuple[Any, ...]:
    """The rest of `_elementwise` for an op with several outputs; those of integers and bools have no gradient."""
    loops = where.kernels()
    targets = [_allocate(loops, inputs, shape, dtype, where) for dtype in dtypes]
    edges, mask = _edges(op, inputs, where)
    if 0 not in shape:
        loops.map(op.scalar, compute, operands, targets)
    keep_flat_plan(op, inputs, operands, compute, targets, where, None)
    if not mask:
        return tuple(wrap_new(target, where) for target in targets)
    recorder = op.recorders.get((compute, mask))
    if recorder is None:
        recorder = op.recorders[compute, mask] = SeveralRecorder(op, mask, compute)
    meta = _input_meta(inputs, operands, shape, compute, targets[0])
    return _recorded(op, recorder, edges, operands, targets, where, meta)


def _allocate(loops: Any, inputs: tuple[Any, ...], shape: tuple[int, ...], dtype: Any, where: device) -> Array:
    """The result's array: contiguous, unless operands are laid out otherwise."""
    if where.type == "cpu" and len(shape) > 1 and 0 not in shape:
        arrays = [x._array for x in inputs if x.__class__ in CLASSES and x._array.shape]
        if any(a.flat is None for a in arrays):
            strides = elementwise_strides(shape, [(a.shape, a.strides) for a in arrays])
            if not is_contiguous(shape, strides):
                return cpu.empty_strided(shape, strides, dtype)
    return loops.empty(shape, dtype, where.hardware)


def _edges(op: Op, inputs: Any, where: device) -> tuple[tuple[Any, ...], int]:
    """Gradient edges of the inputs, and the bits of those that have one; none when the op is not to be recorded."""
    if not mode.enabled or not op.differentiable or not where.context.enabled:
        return (), 0
    edges = tuple(gradient_edge(x) if x.__class__ in CLASSES else None for x in inputs)
    mask = sum(1 << i for i, e in enumerate(edges) if e is not None)
    return edges, mask


def _input_meta(inputs: tuple[Any, ...], operands: list[Any], shape: Any, compute: Any, target: Array) -> Any:
    """None when every operand is flat, of the result's shape and of the dtype computed in; else how each one was."""
    flat = target.flat is not None and compute in cpu.COMPILED
    meta: list[Any] = []
    for x, value in zip(inputs, operands, strict=True):
        if x.__class__ not in CLASSES:
            meta.append(None)
            continue
        array = x._array
        meta.append((array.shape, array.dtype))
        flat = flat and value is array and array.flat is not None and array.shape == shape and array.dtype is compute
    return None if flat else meta


# ---------------------------------------------------------------------------------------------------- other ops
def _general(op: KernelOp, inputs: tuple[Any, ...], attributes: tuple[Any, ...], out: Any) -> Any:
    """Run an op that brings its own kernels."""
    if mode.levels and (level := innermost(inputs if out is None else (*inputs, out))) is not None:
        return run_at(level, op, inputs, attributes, out)
    if inputs:
        where = inputs[0]._device
        for x in inputs:
            if x._device is not where:
                where = device_of(op, inputs)
                break
    else:
        where = attributes[-1]
        where.kernels()
        attributes = (*attributes[:-1], where.hardware)
    kernel = op.kernels.get(where.type)
    if kernel is None:
        raise NotImplementedError(f"{op.name}() has no {where.type} kernel yet: move its operands with .to('cpu')")
    recording = mode.enabled
    if op.writes:
        for i in op.writes:
            storage = inputs[i]._array._storage
            if recording or (storage is not None and storage.version < 0):  # an optimizer's step asks nothing
                check_writable(inputs[i])
    arguments: list[Any] = [x._array for x in inputs]
    mask = 0
    edges: list[Any] = []
    if recording and op.differentiable and where.context is not PLAIN:
        for i, x in enumerate(inputs):
            edge = gradient_edge(x)
            edges.append(edge)
            if edge is not None:
                mask |= 1 << i
    if where.type == "cpu":
        arguments = [a.ndarray for a in arguments]
    is_direct = op.moves
    if not is_direct:
        for a in arguments:
            if a.dtype.num > LAST_COMPILED:
                break
        else:
            is_direct = True
    if is_direct:
        results = kernel(arguments, *attributes) if op.variadic else kernel(*arguments, *attributes)
    else:
        results = run_kernel(op, kernel, arguments, attributes, op.writes)
    if op.writes:
        for i in op.writes:
            inputs[i]._array.storage.version += 1
        return None
    if op.outputs > 1:
        if out is not None:
            found = [r if isinstance(r, Array) else cpu.from_host(r) for r in results]
            return tuple([_copy_to_out(op, inputs, r, target) for r, target in zip(found, out, strict=True)])
        return _several(op, inputs, attributes, edges, mask, where, results)
    found = results if results.__class__ is Array else cpu.from_host(results)
    if found.device != where.hardware:  # the op moved its operand
        where = device(found.device).with_context(where.context)
    if out is not None:
        return _copy_to_out(op, inputs, found, out)
    if not mask or not (found.dtype.kind in "fc" or FROM_NUMPY[found.dtype].is_differentiable):
        return wrap_new(found, where)
    node = record(op, mask, arrays_of(inputs), (found,), attributes, edges, where)
    return wrap(found, where, (node, 0))


def _several(
    op: KernelOp, inputs: tuple[Any, ...], attributes: Any, edges: list[Any], mask: int, where: device, results: Any
) -> tuple[Any, ...]:
    """The tensors of an op with several outputs."""
    found = [r if isinstance(r, Array) else cpu.from_host(r) for r in results]
    if not mask:
        return tuple(wrap_new(a, where) for a in found)
    node = record(op, mask, arrays_of(inputs), found, attributes, edges, where)
    return tuple(
        wrap(a, where) if k in op.non_differentiable_outputs else wrap(a, where, (node, k)) for k, a in enumerate(found)
    )


def _copy_to_out(op: KernelOp, inputs: tuple[Any, ...], found: Array, out: Any) -> Any:
    if mode.enabled and any(x.__class__ in CLASSES and x.requires_grad for x in (*inputs, out)):
        raise RuntimeError(no_out_grad(op.name))
    prepare_out(op, out, found.shape, found.dtype)
    out._device.kernels().copy(found, out._array)
    out._array.storage.version += 1
    return out


install_dispatcher(dispatch)
