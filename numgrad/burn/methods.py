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


def _check_kinds(arguments: Any) -> None:
    first: Any = None
    for x in arguments:
        if not isinstance(x, Handle):
            continue
        if first is not None and first is not type(x):
            raise TypeError(
                f"burn.{first.__name__} and burn.{type(x).__name__} do not mix in one operation: convert with float(), "
                "int() or bool()"
            )
        first = type(x)


def _operator(function: Callable[..., Any], *, reflected: bool = False) -> Callable[..., Any]:
    lifted = lift(function, one_kind=True)

    def method(self: Any, other: Any) -> Any:
        if not (isinstance(other, Handle) or other.__class__ in CLASSES or isinstance(other, NUMBERS)):
            return NotImplemented
        return lifted(other, self) if reflected else lifted(self, other)

    return method


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
        methods[f"__r{name}__"] = _operator(binary, reflected=True)
    for name in _COMPARISONS:
        methods[f"__{name}__"] = _operator(getattr(operator, name))
    for name, unary in _UNARY.items():
        methods[name] = lift(unary)
    for name, method in methods.items():
        method.__name__ = name
        method.__qualname__ = f"Handle.{name}"
        setattr(Handle, name, method)
    Tensor.powi = lift(_method_of("__pow__"))  # type: ignore[attr-defined]
    Handle.cat = staticmethod(lift(ops.cat))  # type: ignore[attr-defined]
    Handle.stack = staticmethod(lift(ops.stack))  # type: ignore[attr-defined]
