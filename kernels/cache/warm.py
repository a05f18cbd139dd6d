"""Compiling ahead of need: the kernels of the op table for some dtypes, before a program asks for them."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from .. import cpu, philox
from ..gradient_calls import gradient_runner
from ..registry import OPS, OUT, ElementwiseOp, KernelOp, Op

FLOATS = ("float32", "float64")
DTYPES = (*FLOATS, "int64", "int32", "int16", "int8", "uint8", "bool")
Task = tuple[str, Callable[[], object]]


def tasks(dtypes: Sequence[str], names: Sequence[str] | None = None) -> list[Task]:
    """What to call so that the kernels of ops are compiled, each with a label.

    For an elementwise op these are the flat kernels of equal shapes, of the first operand alone and with a number as the
    second, and for floats those of their first derivatives. What handwritten loops need is found by running the op's
    samples, for floats. Kernels for rows (a bias) and of higher derivatives are left to be compiled when they are met.

    Args:
        dtypes: names among `DTYPES`.
        names: ops of the table; all of them when not given.

    Raises:
        ValueError: for a name that no op has.
    """
    if unknown := [name for name in names or () if name not in OPS]:
        raise ValueError(f"there is no op {unknown[0]!r}")
    found: dict[str, Callable[[], object]] = {}
    for dtype, op in itertools.product(map(np.dtype, dtypes), [OPS[n] for n in names] if names else OPS.values()):
        for label, call in _of_op(op, dtype):
            found.setdefault(label, call)
    if not names:
        for dtype in set(dtypes) & set(FLOATS):
            for kind in ("uniform", "normal"):
                draw = functools.partial(philox.draw, kind, np.dtype(dtype), 1, 0, 0)
                found[f"{kind} {dtype}"] = draw
    return list(found.items())


def _of_op(op: Op, dtype: np.dtype) -> Iterator[Task]:
    is_float = dtype.name in FLOATS
    if isinstance(op, ElementwiseOp):
        if is_float and op.integers_only:
            return
        if is_float or (op.result != "float" and not (dtype.kind == "b" and op.bool_error)):
            yield from _forward(op, dtype)
        if is_float and op.differentiable:
            yield from _gradients(op, dtype)
    elif isinstance(op, KernelOp) and is_float and op.inputs and "cpu" in op.kernels:
        yield f"{op.name} {dtype.name}", lambda: _run_samples(op, dtype)


def _patterns(op: ElementwiseOp) -> list[str]:
    takes_numbers = len(op.inputs) == 2 and set(op.scalar.kinds.values()) == {"real"}
    return ["vv", "vn"] if takes_numbers else ["v" * len(op.inputs)]


def _forward(op: ElementwiseOp, dtype: np.dtype) -> Iterator[Task]:
    result = np.dtype(np.bool_) if op.result == "bool" else dtype
    for pattern in _patterns(op):
        call = functools.partial(cpu.flat_plan, op.scalar, dtype, (result,), pattern)
        yield f"{op.name} {dtype.name} {pattern}", call


def _gradients(op: ElementwiseOp, dtype: np.dtype) -> Iterator[Task]:
    for pattern in _patterns(op):
        wanted = [i for i, letter in enumerate(pattern) if letter == "v" and op.scalar.kinds[op.inputs[i]] == "real"]
        masks = {sum(1 << i for i in group) for n in (1, len(wanted)) for group in itertools.combinations(wanted, n)}
        for mask in sorted(masks - {0}):
            backward = op.backward(mask)
            if backward.op is None:  # the gradient is the incoming one
                continue
            saved = "v" + "".join("v" if i == OUT else pattern[i] for i in backward.saved)
            routes = tuple(r if isinstance(r, int) else None for r in backward.routes)
            call = functools.partial(gradient_runner, backward.op.scalar, dtype, saved, routes)
            names = ", ".join(name for i, name in enumerate(op.inputs) if mask >> i & 1)
            yield f"{op.name} gradient of {names} {dtype.name} {saved}", call


def _run_samples(op: KernelOp, dtype: np.dtype) -> None:
    random = np.random.default_rng(0)
    for sample in op.samples:
        arrays = [_drawn(given, dtype, random) for given in sample.inputs]
        attributes = op.bind_attributes(sample.attributes)
        op.kernels["cpu"](arrays, *attributes) if op.variadic else op.kernels["cpu"](*arrays, *attributes)


def _drawn(given: object, dtype: np.dtype, random: np.random.Generator) -> np.ndarray:
    values = np.asarray(random.normal(size=given) if isinstance(given, tuple) else given)
    return values.astype(dtype) if values.dtype.kind == "f" else values
