"""The front end: a plain Python scalar function becomes a `Function` of the scalar IR.

The accepted language is a closed subset of Python: numbers and booleans in local variables, arithmetic, comparisons,
`and`/`or`/`not`, conditional expressions, `if`, `while`, `for` over `range`, `break`, `continue`, early `return`,
several returned values, functions of `math`, and calls of other such functions. Everything else is refused with a
`DifferentiationError` that shows the line. Captured numbers and functions are frozen when the function is lowered.
"""

from __future__ import annotations

import ast
import builtins
import functools
import inspect
import linecache
import types
import weakref
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from .scalar_checks import check_bound, check_kinds
from .scalar_expression import PRIMITIVES, ExpressionLowering, describe
from .scalar_function import (
    DifferentiationError,
    Function,
    Names,
    Operand,
    Statement,
    error_at,
    falls_through,
    without_dead_code,
)


def lower(function: Callable[..., Any]) -> Function:
    """Lower a plain Python function (or what Numba's `njit` made of it) to a `Function`; the same one every time.

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
    if not isinstance(plain, types.FunctionType):
        raise DifferentiationError(
            f"{function!r} is not a Python function: only functions written in Python can be lowered"
        )
    return plain


_lowered: weakref.WeakKeyDictionary[Callable[..., Any], Function] = weakref.WeakKeyDictionary()


def _lower(function: Callable[..., Any], callers: tuple[Callable[..., Any], ...]) -> Function:
    known = _lowered.get(function)
    if known is None:
        known = _lowered[function] = _FunctionLowering(function, callers).lowered()
    return known


# ---------------------------------------------------------------------------------------------------- source text


@functools.lru_cache(maxsize=64)
def _parsed(text: str) -> ast.Module:
    return ast.parse(text)


def _definition(function: Any) -> ast.FunctionDef | ast.Lambda:
    """The syntax tree of a function, from its file: line numbers are then the file's own."""
    code = function.__code__
    linecache.checkcache(code.co_filename)
    text = "".join(linecache.getlines(code.co_filename, function.__globals__))
    if not text:
        raise DifferentiationError(
            f"the source of '{function.__qualname__}' is not available: define it in a file or a notebook cell"
        )
    found: list[ast.FunctionDef | ast.Lambda] = []
    for node in ast.walk(_parsed(text)):
        if isinstance(node, ast.FunctionDef) and node.name == code.co_name:
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            found += [node] * (first == code.co_firstlineno)
        elif isinstance(node, ast.Lambda) and code.co_name == "<lambda>" and node.lineno == code.co_firstlineno:
            found.append(node)
    if len(found) > 1:  # several lambdas on one line: the columns tell which
        positions = set(code.co_positions())
        found = [node for node in found if isinstance(node, ast.Lambda) and _span(node.body) in positions]
    if not found:
        raise error_at(f"the source of '{function.__qualname__}' has changed", code.co_filename, code.co_firstlineno)
    return found[0]


def _span(node: ast.expr) -> tuple[int | None, int | None, int | None, int | None]:
    return node.lineno, node.end_lineno, node.col_offset, node.end_col_offset


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
        self.definition = _definition(function)
        captured = inspect.getclosurevars(function).nonlocals
        self.scope = {**vars(builtins), **function.__globals__, **captured}
        self.outputs: int | None = None
        self.depth = 0
        arguments = self.definition.args
        if arguments.vararg or arguments.kwarg:
            self.fail(self.definition, "*args and **kwargs are not supported: name each parameter")
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
            case ast.Expr():
                self.fail(node, "this expression has no effect: a scalar function only computes what it returns")
            case _:
                self.fail(
                    node, f"{describe(node)} cannot be used in a scalar function: it computes with single numbers"
                )

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
            self.block(node.body)

        self.statements.append(Statement("loop", (), (), line, self.in_block(body)))

    def for_loop(self, node: ast.For) -> None:
        if node.orelse:
            self.fail(node.orelse[0], "'else' after a loop is not supported")
        iterable = node.iter
        if not (isinstance(iterable, ast.Call) and self.resolved(iterable.func) is range and not iterable.keywords):
            self.fail(node, "a 'for' loop must run over range(...)")
        name = self.target_name(node.target)
        line, bounds = self.line, [self.expression(bound) for bound in iterable.args]
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
        """What a global name, or an attribute of a module or class, stands for; None if nothing."""
        if isinstance(node, ast.Name):
            return None if node.id in self.environment else self.scope.get(node.id)
        if isinstance(node, ast.Attribute):
            owner = self.resolved(node.value)
            return getattr(owner, node.attr, None) if inspect.ismodule(owner) or inspect.isclass(owner) else None
        return None

    def captured_number(self, node: ast.Name | ast.Attribute) -> Operand:
        value, name = self.resolved(node), ast.unparse(node)
        number = _as_number(value)
        if number is not None:
            return number
        if value is not None:
            self.fail(
                node, f"'{name}' is a {type(value).__name__}: only numbers can be captured; pass it as an argument"
            )
        if isinstance(node, ast.Attribute) and self.resolved(node.value) is None:
            self.fail(node, f"'{name}': numbers have no attributes in a scalar function")
        self.fail(node, f"name '{name}' is not defined")

    def helper(self, node: ast.Call) -> Function | None:
        """The lowered function that is called; None if it is no function written in Python."""
        callee = self.resolved(node.func)
        plain = getattr(callee, "py_func", callee)
        if not isinstance(plain, types.FunctionType) or _primitive(callee) is not None:
            return None
        if plain in self.callers:
            self.fail(node, f"'{ast.unparse(node.func)}' calls itself: recursion is not supported, write a loop")
        return _lower(plain, self.callers)

    def helper_outputs(self, node: ast.Call) -> int:
        helper = self.helper(node)
        return 1 if helper is None else helper.outputs

    def call(self, node: ast.Call, outputs: int) -> Sequence[Operand]:
        callee, name = self.resolved(node.func), ast.unparse(node.func)
        primitive = _primitive(callee)
        helper = self.helper(node)
        found = 1 if helper is None else helper.outputs
        if primitive is None and helper is None:
            if callee is None:
                self.fail(node, f"'{name}' is not a function that can be called here")
            self.fail(
                node, f"no derivative is known for '{name}': use functions of math, or a helper written in plain Python"
            )
        if found != outputs:
            self.fail(node, f"'{name}' returns {found} value{'s' * (found > 1)}, but {outputs} expected here")
        if primitive is not None:
            return (self.primitive(node, primitive),)
        assert helper is not None
        targets = tuple(self.names("t") for _ in range(outputs))
        arguments = self.bound_arguments(node, getattr(callee, "py_func", callee))
        self.statements.append(
            Statement("call", targets, tuple(arguments[p] for p in helper.parameters), self.line, callee=helper)
        )
        return targets

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


def _primitive(callee: Any) -> str | None:
    try:
        return PRIMITIVES.get(callee)
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
