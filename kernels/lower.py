"""The front end: a plain Python scalar function becomes a `Function` of the scalar IR.

The accepted language is a closed subset of Python: numbers and booleans in local variables, arithmetic, comparisons,
`and`/`or`/`not`, conditional expressions, `if`, `while`, `for` over `range`, `break`, `continue`, early `return`,
several returned values, functions of `math`, and calls of other such functions. Everything else is refused with a
`DifferentiationError` that shows the line. Captured numbers and functions are frozen when the function is lowered.

Three kinds of callee are not primitives of the language: a helper written in Python, which is lowered too; an elementwise
op of the user's, which brings its `scalar_function`; and a compiled function whose derivative is `REGISTERED`.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import types
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from .function_source import definition
from .scalar_checks import check_bound, check_kinds
from .scalar_expression import PRIMITIVES, ExpressionLowering, refusal, unknown
from .scalar_function import (
    DifferentiationError,
    Function,
    Names,
    Opaque,
    Operand,
    Statement,
    error_at,
    falls_through,
    without_dead_code,
)

REGISTERED: dict[Any, Opaque] = {}
"""Compiled functions with a declared derivative; see `user_ops.register_derivative`."""


def lower(function: Callable[..., Any]) -> Function:
    """Lower a plain Python function (or what Numba's `njit` made of it) to a `Function`.

    It is the same one every time, until a number or a function that the source names has been replaced.

    Parameters annotated `int` or `bool` are of that kind, all others of the op's dtype. Keyword-only parameters follow
    the positional ones.

    >>> def scaled(x, k: int = 2):
    ...     return k * abs(x)
    >>> lower(scaled)
    <scalar function scaled(x, k) -> 1>

    Raises:
        DifferentiationError: The function, or one that it calls, uses something outside the accepted language.
    """
    plain = plain_function(function)
    try:
        return _lower(plain, ())
    except RecursionError:
        code = plain.__code__
        raise error_at(
            "the code is nested too deeply: split it into helpers", code.co_filename, code.co_firstlineno
        ) from None


def plain_function(function: Callable[..., Any]) -> Callable[..., Any]:
    """The Python function in a Numba dispatcher or in anything else that has a `py_func`."""
    plain = getattr(function, "py_func", function)
    if isinstance(plain, staticmethod):
        raise DifferentiationError(f"{plain.__name__!r} is a staticmethod already: put @staticmethod on top, not below")
    if not isinstance(plain, types.FunctionType):
        raise DifferentiationError(
            f"{function!r} is not a Python function: only functions of numbers written in Python can be lowered; wrap it "
            "in one"
        )
    if _takes_tensors(plain):
        raise DifferentiationError(f"'{plain.__name__}' takes tensors already: it is no function of single numbers")
    return plain


class _Lowered:
    """A lowered function, and what the names in its source stood for then."""

    def __init__(self, function: Function, captured: dict[str, Any]) -> None:
        self.function = function
        self.captured = captured

    def is_current(self, python: Callable[..., Any]) -> bool:
        """Whether every name still stands for the same, in the helpers too."""
        for path, value in self.captured.items():
            found = captured_value(python, path)
            if found is not value and not (
                type(found) is type(value) and isinstance(found, float | int) and repr(found) == repr(value)
            ):
                return False
            plain = getattr(found, "py_func", found)
            helper = _lowered.get(plain) if isinstance(plain, types.FunctionType) else None
            if helper is not None and not helper.is_current(plain):
                return False
        return True


_lowered: weakref.WeakKeyDictionary[Callable[..., Any], _Lowered] = weakref.WeakKeyDictionary()
MISSING = object()


def _lower(function: Callable[..., Any], callers: tuple[Callable[..., Any], ...]) -> Function:
    known = _lowered.get(function)
    if known is None or not known.is_current(function):
        lowering = _FunctionLowering(function, callers)
        known = _lowered[function] = _Lowered(lowering.lowered(), lowering.captured)
    return known.function


def forget() -> None:
    """Lower every function anew: what a call stands for has changed. Ops that exist keep what they have."""
    _lowered.clear()


def captured_value(function: Any, path: str) -> Any:
    """What a global or captured name, or a dotted path through modules and classes, stands for; `MISSING` if nothing."""
    name, *attributes = path.split(".")
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    if name in cells:
        try:
            value = cells[name].cell_contents
        except ValueError:  # assigned further down in the enclosing function
            return MISSING
    else:
        value = function.__globals__.get(name, getattr(builtins, name, MISSING))
    for attribute in attributes:
        value = getattr(value, attribute, MISSING) if inspect.ismodule(value) or inspect.isclass(value) else MISSING
    return value


def _annotated_kind(annotation: ast.expr | None) -> str:
    if isinstance(annotation, ast.Constant):  # written as a string
        name = annotation.value
    else:
        name = annotation.id if isinstance(annotation, ast.Name) else None
    return name if name in ("int", "bool") else "real"


# ---------------------------------------------------------------------------------------------------- functions


_DEEPEST = 80  # blocks within blocks; derivatives add a few, and Python parses 100 levels of indentation


class _FunctionLowering(ExpressionLowering):
    """Lowers one function definition."""

    def __init__(self, function: Any, callers: tuple[Callable[..., Any], ...]) -> None:
        self.function, self.callers = function, (*callers, function)
        self.file = function.__code__.co_filename
        self.definition = definition(function)
        self.captured: dict[str, Any] = {}
        self.outputs: int | None = None
        self.depth = 0
        arguments = self.definition.args
        if arguments.vararg or arguments.kwarg:
            self.fail(self.definition, "*args and **kwargs are not supported: name each parameter, a number each")
        parameters = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        self.parameters = [parameter.arg for parameter in parameters]
        self.kinds = {parameter.arg: _annotated_kind(parameter.annotation) for parameter in parameters}
        stored = _stored_names(self.definition)
        self.assigned = {name for name, in_for in stored if not in_for}
        local = {name: name for name in (*self.parameters, *(name for name, _ in stored))}
        super().__init__(Names(local), dict(local))

    def fail(self, node: ast.AST, message: str) -> NoReturn:
        raise error_at(message, self.file, getattr(node, "lineno", self.definition.lineno))

    def lowered(self) -> Function:
        """The whole function, checked and without dead code."""
        definition = self.definition
        if isinstance(definition, ast.Lambda):
            self.line = definition.body.lineno
            self.return_values(definition.body, definition.body)
        else:
            self.block(definition.body)
        if self.outputs is None:
            self.fail(definition, "a scalar function must return a number")
        if falls_through(self.statements):
            self.fail(
                definition, "a scalar function must return a number on every path; this one can end without a return"
            )
        name = self.function.__name__.replace("<lambda>", "lambda_")
        function = Function(name, self.parameters, self.statements, self.outputs, self.kinds, self.file)
        check_bound(function)
        check_kinds(function)
        return without_dead_code(function)

    # -- statements

    def in_block(self, write: Callable[[], object]) -> list[Statement]:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise RecursionError
        try:
            return super().in_block(write)
        finally:
            self.depth -= 1

    def block(self, body: Sequence[ast.stmt]) -> None:
        for node in body:
            self.line = node.lineno
            self.statement(node)

    def statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Assign(targets=[target], value=value):
                self.assign(target, value)
            case ast.Assign(targets=targets, value=value):
                result = self.emit("id", self.expression(value))
                for target in targets:
                    self.emit("id", result, target=self.target_name(target))
            case ast.AnnAssign(target=target, value=value):
                if value is not None:
                    self.assign(target, value)
            case ast.AugAssign(target=target, op=kind, value=value):
                name = self.target_name(target)
                old = self.expression(ast.copy_location(ast.Name(name, ast.Load()), target))
                self.store(name, self.binary(node, kind, old, self.expression(value)))
            case ast.If():
                self.conditional(node)
            case ast.While():
                self.while_loop(node)
            case ast.For():
                self.for_loop(node)
            case ast.Return(value=value):
                if value is None:
                    self.fail(node, "a scalar function must return a number")
                self.return_values(node, value)
            case ast.Break() | ast.Continue():
                self.statements.append(Statement(type(node).__name__.lower(), line=self.line))
            case ast.Pass() | ast.Expr(value=ast.Constant()):
                pass
            case ast.Expr(value=ast.Yield() | ast.YieldFrom() | ast.Await() as value):
                self.fail(node, refusal(value))
            case ast.Expr():
                self.fail(node, "this expression has no effect: a scalar function only computes what it returns")
            case _:
                self.fail(node, refusal(node))

    def target_name(self, target: ast.expr) -> str:
        if not isinstance(target, ast.Name):
            self.fail(target, "only local variables can be assigned: return what you compute instead of storing it")
        return target.id

    def store(self, name: str, value: Operand) -> None:
        """`name = value`, by renaming the temporary just made where that is all it takes."""
        last = self.statements[-1] if self.statements else None
        if last is not None and last.targets == (value,) and value not in self.environment:
            self.statements[-1] = Statement(last.op, (name,), last.args, last.line, callee=last.callee)
        else:
            self.emit("id", value, target=name)

    def assign(self, target: ast.expr, value: ast.expr) -> None:
        if not isinstance(target, ast.Tuple):
            self.store(self.target_name(target), self.expression(value))
            return
        names = [self.target_name(element) for element in target.elts]
        if isinstance(value, ast.Tuple):
            if len(value.elts) != len(names):
                self.fail(value, f"cannot unpack {len(value.elts)} values into {len(names)} names")
            values: Sequence[Operand] = [self.emit("id", self.expression(element)) for element in value.elts]
        elif isinstance(value, ast.Call):
            values = self.call(value, len(names))
        else:
            self.fail(value, "only a tuple or the result of a call can be unpacked")
        for name, item in zip(names, values, strict=True):
            self.emit("id", item, target=name)

    def conditional(self, node: ast.If) -> None:
        line, condition = self.line, self.expression(node.test)
        if not isinstance(condition, str):  # a captured constant: what it rules out need not even be supported
            self.block(node.body if condition else node.orelse)
            return
        body = self.in_block(lambda: self.block(node.body))
        orelse = self.in_block(lambda: self.block(node.orelse))
        self.statements.append(Statement("if", (), (condition,), line, body, orelse))

    def while_loop(self, node: ast.While) -> None:
        if node.orelse:
            self.fail(node.orelse[0], "'else' after a loop is not supported")
        line = self.line

        def body() -> None:
            condition = self.expression(node.test)
            if isinstance(condition, str):
                self.statements.append(Statement("if", (), (condition,), line, [], [Statement("break", line=line)]))
            elif not condition:
                self.statements.append(Statement("break", line=line))
                return
            self.block(node.body)

        self.statements.append(Statement("loop", (), (), line, self.in_block(body)))

    def for_loop(self, node: ast.For) -> None:
        if node.orelse:
            self.fail(node.orelse[0], "'else' after a loop is not supported")
        iterable = node.iter
        if not (isinstance(iterable, ast.Call) and self.resolved(iterable.func) is range and not iterable.keywords):
            self.fail(node, "a 'for' loop must run over range(...)")
        if not 1 <= len(iterable.args) <= 3 or any(isinstance(bound, ast.Starred) for bound in iterable.args):
            self.fail(node, "range() takes one to three integers here")
        name = self.target_name(node.target)
        line, bounds = self.line, [self.expression(bound) for bound in iterable.args]
        if bounds[2:] == [0]:
            self.fail(node, "range() needs a step that is not 0")
        counter = self.names(f"{name}_next") if name in self.assigned else name  # Python lets the body change it

        def body() -> None:
            if counter != name:
                self.emit("id", counter, target=name)
            self.block(node.body)

        self.statements.append(Statement("for", (counter,), tuple(bounds), line, self.in_block(body)))

    def return_values(self, node: ast.AST, value: ast.expr) -> None:
        elements = value.elts if isinstance(value, ast.Tuple) else [value]
        values: Sequence[Operand]
        if len(elements) == 1 and isinstance(value, ast.Call) and self.helper_outputs(value) > 1:
            values = self.call(value, self.helper_outputs(value))
        else:
            values = [self.expression(element) for element in elements]
        if self.outputs not in (None, len(values)) or not values:
            self.fail(node, f"every return must give the same number of values; this gives {len(values)}")
        self.outputs = len(values)
        self.statements.append(Statement("return", (), tuple(values), self.line))

    # -- names and calls

    def resolved(self, node: ast.expr) -> Any:
        """What a global name or an attribute of a module stands for; `MISSING` if nothing."""
        inner = node
        while isinstance(inner, ast.Attribute):
            inner = inner.value
        if not isinstance(inner, ast.Name) or inner.id in self.environment:
            return MISSING
        path = ast.unparse(node)
        value = self.captured[path] = captured_value(self.function, path)
        return value

    def captured_number(self, node: ast.Name | ast.Attribute) -> Operand:
        value, name = self.resolved(node), ast.unparse(node)
        number = _as_number(value)
        if number is not None:
            return number
        if value is not MISSING:
            self.fail(
                node, f"'{name}' is a {type(value).__name__}: only real numbers can be captured; pass it as an argument"
            )
        if isinstance(node, ast.Attribute) and not inspect.ismodule(self.resolved(node.value)):
            self.fail(
                node, f"'{name}': numbers have no attributes in a scalar function; pass it as an argument of its own"
            )
        self.fail(node, f"name '{name}' is not defined: it must be before this function is")

    def helper(self, node: ast.Call) -> Function | None:
        """The lowered or opaque function that is called; None if it is neither."""
        callee = self.resolved(node.func)
        opaque: Opaque | None = _entry(REGISTERED, callee)
        if opaque is not None:
            opaque.settle()
            return opaque
        scalar = getattr(callee, "scalar_function", None)
        plain = getattr(callee, "py_func", callee)
        if self.is_itself(node.func) or plain in self.callers:
            self.fail(node, f"'{ast.unparse(node.func)}' calls itself: recursion is not supported, write a loop")
        if isinstance(scalar, Function):
            return scalar
        if not isinstance(plain, types.FunctionType) or _entry(PRIMITIVES, callee) is not None or _takes_tensors(plain):
            return None
        return _lower(plain, self.callers)

    def is_itself(self, callee: ast.expr) -> bool:
        """Whether a call is of the function that is being defined: its name stands for nothing yet, or for an older one."""
        plain = self.function
        name = plain.__name__
        if not isinstance(callee, ast.Name) or callee.id != name or callee.id in self.environment:
            return False
        return name in plain.__code__.co_freevars or plain.__qualname__ == name

    def helper_outputs(self, node: ast.Call) -> int:
        helper = self.helper(node)
        return 1 if helper is None else helper.outputs

    def call(self, node: ast.Call, outputs: int) -> Sequence[Operand]:
        callee, name = self.resolved(node.func), ast.unparse(node.func)
        helper = self.helper(node)
        primitive = _entry(PRIMITIVES, callee) if helper is None else None
        found = 1 if helper is None else helper.outputs
        if primitive is None and helper is None:
            self.fail(node, self.not_callable(node, callee))
        if found != outputs:
            self.fail(node, f"'{name}' returns {found} value{'s' * (found > 1)}, but {outputs} expected here")
        if primitive is not None:
            return (self.primitive(node, primitive),)
        assert helper is not None
        targets = tuple(self.names("t") for _ in range(outputs))
        if isinstance(helper, Opaque):
            operands = self.plain_arguments(node, helper)
        else:
            signed = getattr(callee, "__wrapped__", callee) if hasattr(callee, "scalar_function") else callee
            arguments = self.bound_arguments(node, getattr(signed, "py_func", signed))
            operands = tuple(arguments[p] for p in helper.parameters)
        self.statements.append(Statement("call", targets, operands, self.line, callee=helper))
        return targets

    def not_callable(self, node: ast.Call, callee: Any) -> str:
        """The message about a call of something that a scalar function cannot call."""
        name = ast.unparse(node.func)
        if isinstance(node.func, ast.Lambda):
            return refusal(node.func)
        if callee is MISSING:
            root = name.partition(".")[0]
            if root in self.environment:
                what = "a number" if name == root else f"a method, and '{root}' a number: use a function of math"
                return f"'{name}' is not a function that can be called here: it is {what}"
            return f"'{name}' is not a function that can be called here: it must be defined before this one"
        if _takes_tensors(callee):
            return f"'{name}' takes tensors: use the function of math of that name on single numbers"
        return unknown(name, callee)

    def plain_arguments(self, node: ast.Call, opaque: Opaque) -> tuple[Operand, ...]:
        """The operands of a compiled function, which takes positional arguments only."""
        count = len(opaque.parameters)
        if node.keywords or any(isinstance(arg, ast.Starred) for arg in node.args) or len(node.args) != count:
            self.fail(node, f"'{ast.unparse(node.func)}' takes {count} plain positional number{'s' * (count > 1)} here")
        return tuple(self.expression(arg) for arg in node.args)

    def bound_arguments(self, node: ast.Call, plain: Callable[..., Any]) -> dict[str, Operand]:
        """The operand for each parameter of a helper, defaults included."""
        if any(isinstance(arg, ast.Starred) for arg in node.args) or any(k.arg is None for k in node.keywords):
            self.fail(node, "*args and **kwargs are not supported: name each argument")
        try:
            given = inspect.signature(plain).bind(*node.args, **{str(k.arg): k.value for k in node.keywords})
        except TypeError as error:
            self.fail(node, f"{plain.__name__}(): {error}")
        operands = {name: self.expression(value) for name, value in given.arguments.items()}
        for name, parameter in inspect.signature(plain).parameters.items():
            if name not in operands:
                default = _as_number(parameter.default)
                if default is None:
                    self.fail(node, f"the default of '{name}' is not a number: pass it as an argument")
                operands[name] = default
        return operands


def _as_number(value: Any) -> bool | int | float | None:
    """A captured value as a literal; None if it is no real number."""
    if isinstance(value, np.bool_ | np.integer | np.floating):
        value = value.item()
    if isinstance(value, bool):
        return value
    return int(value) if isinstance(value, int) else float(value) if isinstance(value, float) else None


def _takes_tensors(callee: Any) -> bool:
    """Whether something is a public function of the layers above: `numgrad.exp` instead of `math.exp`."""
    package = __package__.rpartition(".")[0]
    module = getattr(callee, "__module__", None) or ""
    return module == package or (module.startswith(f"{package}.") and not module.startswith(f"{__package__}."))


def _entry(table: Mapping[Any, Any], callee: Any) -> Any:
    try:
        return table.get(callee)
    except TypeError:  # not hashable
        return None


def _stored_names(node: ast.AST) -> list[tuple[str, bool]]:
    """The names assigned in a node, and whether as the target of a `for`."""
    targets = {id(inner.target) for inner in ast.walk(node) if isinstance(inner, ast.For)}
    return [
        (inner.id, id(inner) in targets)
        for inner in ast.walk(node)
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store)
    ]
