"""Keeping compiled kernels for the dispatcher's fast path: contiguous operands of one shape and dtype, and numbers."""

from __future__ import annotations

from typing import Any

from .autograd.op_node import node_class
from .autograd.several import SeveralNode
from .device import device
from .kernels import cpu
from .kernels.array import Array
from .kernels.registry import ElementwiseOp
from .operands import NUMBERS


def keep_flat_plan(
    op: ElementwiseOp,
    inputs: tuple[Any, ...],
    operands: list[Any],
    compute: Any,
    targets: list[Array],
    where: device,
    out: Any,
) -> None:
    """Keep the compiled kernel for the fast path, when this call was one that it can serve next time."""
    target = targets[0]
    if compute not in cpu.COMPILED:
        return
    if out is not None or where.type != "cpu" or target.flat is None or not target.flat.size:
        return
    pattern = ""
    for x, given in zip(operands, inputs, strict=True):
        if given.__class__ in NUMBERS:
            # An integer beside floats is converted by the kernel's own argument; a float beside integers is not.
            pattern += "n"
        elif isinstance(x, Array) and x.dtype is compute and x.shape == target.shape and x.flat is not None:
            pattern += "v"
        else:
            return
    few = op.outputs == 1 and len(inputs) <= 2
    if "v" not in pattern or (few and pattern[0] == "n"):
        return
    key: Any = (compute, *map(type, inputs))
    if few:
        key = (compute, inputs[1].__class__) if pattern == "vn" else compute
    if key in op.flat_plans or (op.bool_error and compute.kind == "b") or len(op.scalar.parameters) != len(inputs):
        return
    kinds = [op.scalar.kinds.get(p, "real") for p in op.scalar.parameters]
    if any(kind != "real" and (few or letter == "v") for kind, letter in zip(kinds, pattern, strict=True)):
        return
    node_class(op, SeveralNode if op.outputs > 1 else None)
    op.flat_plans[key] = cpu.flat_plan(op.scalar, compute, tuple(t.dtype for t in targets), pattern)
