"""Public functions and methods made from the op table: one for each elementwise op that declares itself public."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..autograd.variable import CLASSES
from ..dispatch import dispatch
from ..kernels import OPS
from ..kernels.registry import ElementwiseOp


def _define(name: str, source: str, op: ElementwiseOp, where: str) -> Callable[..., Any]:
    namespace: dict[str, Any] = {"dispatch": dispatch, "op": op, "CLASSES": CLASSES, "not_a_tensor": not_a_tensor}
    exec(compile(source, f"<numgrad {where} {name}>", "exec"), namespace)
    function = namespace[name]
    function.__doc__ = op.doc
    function.__module__ = "numgrad"
    return function


def not_a_tensor(op: ElementwiseOp, value: Any) -> TypeError:
    """The error about a first argument that is no tensor."""
    return TypeError(f"{op.name}(): argument '{op.inputs[0]}' (position 1) must be Tensor, not {type(value).__name__}")


def function_of(op: ElementwiseOp) -> Callable[..., Any]:
    """`numgrad.f(input, ..., *, out=None)`."""
    names = ", ".join(op.inputs)
    check = (
        "    if input.__class__ not in CLASSES:\n        raise not_a_tensor(op, input)\n" if len(op.inputs) == 1 else ""
    )
    source = f"def {op.name}({names}, *, out=None):\n{check}    return dispatch(op, ({names},), (), out)\n"
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


FUNCTIONS = {op.name: function_of(op) for op in public_ops() if "function" in op.public}


def bind_methods(cls: type) -> None:
    """Give a tensor class the methods of the table, where it defines none of that name itself."""
    for op in public_ops():
        if "method" in op.public and op.name not in cls.__dict__:
            setattr(cls, op.name, method_of(op))
        if "in-place" in op.public and f"{op.name}_" not in cls.__dict__:
            setattr(cls, f"{op.name}_", in_place_method_of(op))
