"""Calls of the kernels that ops bring themselves: which dtypes they are given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .dtype import FROM_NUMPY
from .kernels import cpu
from .kernels.array import Array
from .kernels.halves import in_float32
from .kernels.registry import KernelOp
from .operands import on_cpu_alone


def run_kernel(
    op: KernelOp, kernel: Any, arguments: list[Any], attributes: tuple[Any, ...], writes: Sequence[int] = ()
) -> Any:
    """Call a kernel that writes the arguments `writes`; halves become float32 on the way, unless the op only moves items.

    Raises what the op says of complex numbers if it does not take them.
    """
    if op.moves or all(a.dtype in cpu.COMPILED for a in arguments):
        return kernel(arguments, *attributes) if op.variadic else kernel(*arguments, *attributes)
    given = next((a for a in arguments if a.dtype.kind == "c"), None)
    if given is not None and not op.takes_complex:
        raise op.complex_refusal(FROM_NUMPY[given.dtype].scalar_name)
    if given.__class__ is Array:
        raise on_cpu_alone(op)
    if op.variadic:
        return in_float32(lambda *arrays: kernel(arrays, *attributes), arguments)
    return in_float32(kernel, [*arguments, *attributes], writes)
