"""Operators and methods of handles: functions of the engine's tensors, lifted to handles."""

from __future__ import annotations

import operator
from collections.abc import Callable
from types import FunctionType
from typing import Any

from .. import ops
from ..autograd.variable import CLASSES
from ..operands import NUMBERS
from ..ops.table import public_ops
from ..tensor import Tensor as EngineTensor
from . import functions
from .handle import MIXED, Handle, ranked
from .tensor import Tensor, handle_of


def _quotient(x: Any, other: Any) -> Any:
    tensor = other if isinstance(x, NUMBERS) else x
    return ops.div(x, other, rounding_mode=None if tensor.is_floating_point() else "trunc")


_OPERATORS: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "truediv": _quotient,
    "mod": operator.mod,
    "pow": operator.pow,
    "matmul": operator.matmul,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
    "lshift": operator.lshift,
    "rshift": operator.rshift,
}
_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
_UNARY: dict[str, Callable[..., Any]] = {
    "__neg__": operator.neg,
    "__abs__": operator.abs,
    "__invert__": operator.invert,
}


def call(function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Call a function of tensors: handles go in as their tensors, and the results come as handles.

    Raises TypeError for tensors of the other front door.
    """
    return _handles(function(*map(_tensors, arguments), **{name: _tensors(x) for name, x in options.items()}))


def lift(function: Callable[..., Any], *, one_kind: bool = False) -> Callable[..., Any]:
    """A function of tensors as one of handles; see `call`. With `one_kind` it refuses handles of different classes."""

    def lifted(*arguments: Any, **options: Any) -> Any:
        if one_kind:
            _check_kinds(arguments)
        return call(function, *arguments, **options)

    lifted.__name__ = function.__name__
    lifted.__doc__ = function.__doc__
    return lifted


def _tensors(value: Any) -> Any:
    """An argument with the tensors of handles for the handles."""
    if isinstance(value, Handle):
        return value._read()
    if value.__class__ in CLASSES:
        raise TypeError(MIXED)
    if isinstance(value, (list, tuple)):
        return type(value)([_tensors(x) for x in value])
    return value


def _handles(result: Any) -> Any:
    """A result with handles for the tensors."""
    if result.__class__ in CLASSES:
        return handle_of(ranked(result))
    if isinstance(result, tuple):
        return tuple(_handles(x) for x in result)
    return result


def _check_kinds(arguments: Any, first: Any = None) -> Any:
    """Raise TypeError for handles of different classes, those in lists included; gives the class of the first."""
    for x in arguments:
        if isinstance(x, (list, tuple)):
            first = _check_kinds(x, first)
        elif isinstance(x, Handle):
            if first is not None and first is not type(x):
                raise TypeError(
                    f"burn.{first.__name__} and burn.{type(x).__name__} do not mix in one operation: convert with "
                    "float(), int() or bool()"
                )
            first = type(x)
    return first


def _operator(function: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Any, other: Any) -> Any:
        operand = _operand(self, other)
        return operand if operand is NotImplemented else handle_of(ranked(function(self._read(), operand)))

    return method


def _reflected(function: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Any, other: Any) -> Any:
        operand = _operand(self, other)
        return operand if operand is NotImplemented else handle_of(ranked(function(operand, self._read())))

    return method


def _operand(handle: Any, other: Any) -> Any:
    """The other operand of an operator: a tensor, a number, or NotImplemented. Raises TypeError for other tensors."""
    if other.__class__ is handle.__class__:
        return other._read()
    if isinstance(other, NUMBERS):
        return other
    if other.__class__ in CLASSES:
        raise TypeError(MIXED)
    _check_kinds((handle, other))
    return NotImplemented


def _method_of(name: str) -> Callable[..., Any]:
    """The method of the engine's tensor."""
    found: Callable[..., Any] = getattr(EngineTensor, name)
    return found


def bind() -> None:
    """Give handles their operators and methods."""
    methods: dict[str, Callable[..., Any]] = {}
    for op in public_ops():
        if "method" in op.public:
            methods |= {name: lift(_method_of(name), one_kind=True) for name in (op.name, *op.aliases)}
    for name, engine_name in functions.RENAMED.items():
        methods[name] = lift(_method_of(engine_name), one_kind=True)
    own = vars(functions)
    names = [name for name, value in own.items() if isinstance(value, FunctionType) and not name.startswith("_")]
    methods |= {name: lift(own[name]) for name in names}
    for name, binary in _OPERATORS.items():
        methods[f"__{name}__"] = _operator(binary)
        methods[f"__r{name}__"] = _reflected(binary)
    for name in _COMPARISONS:
        methods[f"__{name}__"] = _operator(getattr(operator, name))
    for name, unary in _UNARY.items():
        methods[name] = lift(unary)
    for name, method in methods.items():
        method.__name__ = name
        method.__qualname__ = f"Handle.{name}"
        setattr(Handle, name, method)
    Tensor.powi = lift(_method_of("__pow__"))  # type: ignore[attr-defined]
    Handle.cat = staticmethod(lift(ops.cat, one_kind=True))  # type: ignore[attr-defined]
    Handle.stack = staticmethod(lift(ops.stack, one_kind=True))  # type: ignore[attr-defined]
