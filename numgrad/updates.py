"""Ops that write parts of their first input: `index_put`, `scatter` and their kind, out of place, in place and with `out=`.

Out of place the kernel writes to a copy of the input, in place to the input itself, whose history it then becomes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .autograd.grad_mode import mode
from .autograd.inplace import check_apart, check_self_overlap, check_writable, rebase
from .autograd.node import gradient_edge
from .autograd.op_node import save_plan
from .autograd.tracing import innermost, run_at
from .autograd.variable import wrap, wrap_new
from .device import device
from .dtype import FROM_NUMPY
from .kernel_calls import run_kernel
from .kernels.array import Array, dense_order, is_contiguous
from .kernels.registry import KernelOp
from .kernels.unbroadcast import cloned
from .operands import device_of
from .out import no_out_grad, prepare_out
from .recording import arrays_of, record


def update(op: KernelOp, inputs: tuple[Any, ...], attributes: tuple[Any, ...], out: Any) -> Any:
    """Run an op that updates its first input; `out` may be that input."""
    if mode.levels and (level := innermost(inputs if out is None else (*inputs, out))) is not None:
        return run_at(level, op, inputs, attributes, out)
    where = device_of(op, inputs)
    kernel = op.kernels.get(where.type)
    if kernel is None:
        raise NotImplementedError(f"{op.name}() has no {where.type} kernel yet: move its operands with .to('cpu')")
    arrays = arrays_of(inputs)
    edges, mask = _edges(op, inputs, where)
    if out is inputs[0]:
        target = _writable(op, inputs)
        if mask and "input" in [name for name, _ in save_plan(op, mask).inputs]:
            arrays[0] = cloned(target)  # the op overwrites what its gradient reads
    elif out is not None:
        target = _copied_to(op, inputs, out)
    else:
        target = _copy(arrays[0], where, op.keeps_layout)
    if out is None or target.size:
        run_kernel(op, kernel, [target.ndarray, *[a.ndarray for a in arrays[1:]]], attributes, (0,))
    if out is not None:
        target.storage.version += 1
    if not mask:
        return wrap_new(target, where) if out is None else out
    node = record(op, mask, arrays, (target,), attributes, edges, where)
    if out is None:
        return wrap(target, where, (node, 0))
    rebase(out, node)
    return out


def _edges(op: KernelOp, inputs: Sequence[Any], where: device) -> tuple[list[Any], int]:
    if (
        not mode.enabled
        or not op.differentiable
        or not where.context.enabled
        or not FROM_NUMPY[inputs[0]._array.dtype].is_differentiable
    ):
        return [], 0
    edges = [gradient_edge(x) for x in inputs]
    return edges, sum(1 << i for i, edge in enumerate(edges) if edge is not None)


def _writable(op: KernelOp, inputs: Sequence[Any]) -> Array:
    target = inputs[0]
    check_writable(target, inputs[1:])
    if not op.takes_expanded:
        check_self_overlap(target)
    check_apart(target, inputs[1:])
    return target._array


def _copied_to(op: KernelOp, inputs: Sequence[Any], out: Any) -> Array:
    """The array of `out`, with the items of the first input."""
    first = inputs[0]
    if mode.enabled and any(x.requires_grad for x in (*inputs, out)):
        raise RuntimeError(no_out_grad(op.name))
    prepare_out(op, out, first._array.shape, first._array.dtype)
    check_self_overlap(out)
    check_apart(out, inputs[1:])
    out._device.kernels().copy(first._array, out._array)
    return out._array


def _copy(array: Array, where: device, keeps_layout: bool) -> Array:
    loops = where.kernels()
    shape, strides = array.shape, array.strides
    if keeps_layout and not is_contiguous(shape, strides) and dense_order(shape, strides) is not None:
        made = loops.empty_strided(shape, strides, array.dtype)
    else:
        made = loops.empty(shape, array.dtype, where.hardware)
    if array.size:
        loops.copy(array, made)
    return made
