"""Public functions and methods made from the op table: one for each elementwise op that declares itself public."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from typing import Any

from ..autograd.variable import CLASSES
from ..dispatch import dispatch
from ..kernels import OPS
from ..kernels.registry import ElementwiseOp
from ..operands import not_a_tensor


def _define(name: str, source: str, op: ElementwiseOp, where: str) -> Callable[..., Any]:
    namespace: dict[str, Any] = {"dispatch": dispatch, "op": op, "CLASSES": CLASSES, "not_a_tensor": not_a_tensor}
    file = f"<numgrad {where} {name}>"
    exec(compile(source, file, "exec"), namespace)
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)  # for tracebacks and inspect.getsource
    function = namespace[name]
    function.__doc__ = op.doc
    function.__module__ = "numgrad"
    return function


def function_of(op: ElementwiseOp) -> Callable[..., Any]:
    """`numgrad.f(input, ..., *, out=None)`, for some without `out`."""
    names = ", ".join(op.inputs)
    option, out = (", *, out=None", "out") if op.takes_out else ("", "None")
    check = (
        "    if input.__class__ not in CLASSES:\n        raise not_a_tensor(op, op.inputs[0], input)\n"
        if len(op.inputs) == 1
        else ""
    )
    source = f"def {op.name}({names}{option}):\n{check}    return dispatch(op, ({names},), (), {out})\n"
    return _define(op.name, source, op, "function")


def method_of(op: ElementwiseOp) -> Callable[..., Any]:
    """`Tensor.f(...)`, the first input being the tensor itself."""
    names = ", ".join(("self", *op.inputs[1:]))
    source = f"def {op.name}({names}):\n    return dispatch(op, ({names},))\n"
    return _define(op.name, source, op, "method")


def in_place_method_of(op: ElementwiseOp) -> Callable[..., Any]:
    """`Tensor.f_(...)`, which writes the result to the tensor itself and returns it."""
    names = ", ".join(("self", *op.inputs[1:]))
    source = f"def {op.name}_({names}):\n    return dispatch(op, ({names},), (), self)\n"
    return _define(f"{op.name}_", source, op, "method")


def public_ops() -> list[ElementwiseOp]:
    """The elementwise ops that users reach by name."""
    return [op for op in OPS.values() if isinstance(op, ElementwiseOp) and op.public]


def in_place_function_of(op: ElementwiseOp) -> Callable[..., Any]:
    """`numgrad.f_(input)` of an op of one input."""
    source = f"def {op.name}_(input):\n    return dispatch(op, (input,), (), input)\n"
    return _define(f"{op.name}_", source, op, "function")


def _under_all_names(op: ElementwiseOp, made: Any, suffix: str = "") -> dict[str, Any]:
    return {f"{name}{suffix}": made for name in (op.name, *op.aliases)}


FUNCTIONS: dict[str, Callable[..., Any]] = {}
for _op in public_ops():
    if "function" in _op.public:
        FUNCTIONS |= _under_all_names(_op, function_of(_op))
    if "in-place" in _op.public and len(_op.inputs) == 1:
        FUNCTIONS |= _under_all_names(_op, in_place_function_of(_op), "_")


def bind_methods(cls: type) -> None:
    """Give a tensor class the methods of the table, where it defines none of that name itself."""
    methods: dict[str, Any] = {}
    for op in public_ops():
        if "method" in op.public:
            methods |= _under_all_names(op, method_of(op))
        if "in-place" in op.public:
            methods |= _under_all_names(op, in_place_method_of(op), "_")
    for name, method in methods.items():
        if name not in cls.__dict__:
            setattr(cls, name, method)
