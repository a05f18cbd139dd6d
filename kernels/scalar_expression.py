"""Lowering of expressions: one Python expression becomes statements of the scalar IR and an operand.

Functions (`lower`) and derivative rules (`derive`) are written in the same expressions, so both build on this.
"""

from __future__ import annotations

import ast
import functools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from .scalar_function import DifferentiationError, Names, Operand, Statement
from .special_functions import PORTABLE

_BINARY = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>",
}  # fmt: skip
_UNARY = {ast.USub: "neg", ast.UAdd: "id", ast.Not: "not", ast.Invert: "~"}
_COMPARISONS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
_PYTHON: dict[str, Callable[..., Any]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
    "%": operator.mod, "**": operator.pow, "&": operator.and_, "|": operator.or_, "^": operator.xor,
    "<<": operator.lshift, ">>": operator.rshift, "neg": operator.neg, "id": operator.pos, "not": operator.not_,
    "~": operator.invert,
}  # fmt: skip
_MOST_BITS = 1024  # of a folded integer: beyond it is infinity as a real

_MATH = (
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "ceil", "copysign", "cos", "cosh", "erf", "erfc",
    "exp", "exp2", "expm1", "floor", "gamma", "hypot", "isfinite", "isinf", "isnan", "lgamma", "log", "log10", "log1p",
    "log2", "sin", "sinh", "sqrt", "tan", "tanh", "trunc",
)  # fmt: skip
_NUMPY_NAMES = {
    "acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh", "atan": "arctan", "atan2": "arctan2",
    "atanh": "arctanh",
}  # fmt: skip
_TWO_OPERANDS = frozenset({"atan2", "copysign", "hypot", "pow"})
_ANY_NUMBER = frozenset({"max", "min"})


def _primitives() -> dict[Any, str]:
    table: dict[Any, str] = {
        abs: "abs", max: "max", min: "min", round: "round", pow: "pow", float: "float", int: "int", bool: "bool",
        math.fabs: "abs", math.pow: "pow", np.abs: "abs", np.power: "pow",
    }  # fmt: skip
    for name in _MATH:
        table[getattr(math, name)] = name
        on_numpy = getattr(np, _NUMPY_NAMES.get(name, name), None)
        if on_numpy is not None:
            table[on_numpy] = name
    return table | {function: name for name, function in PORTABLE.items()}


PRIMITIVES = _primitives()
"""What a callable means as an IR op. `np.maximum` is missing on purpose: it treats NaN otherwise than `max`."""


class ExpressionLowering:
    """Turns expressions into statements appended to the current block.

    Args:
        names: Makes the names of temporaries.
        environment: Operands that names stand for.
    """

    def __init__(self, names: Names, environment: dict[str, Operand]) -> None:
        self.names = names
        self.environment = environment
        self.statements: list[Statement] = []
        self.line = 0

    def fail(self, node: ast.AST, message: str) -> NoReturn:
        """Refuse a construct."""
        raise DifferentiationError(message)

    def emit(self, op: str, *args: Operand, target: str | None = None) -> str:
        """Append `target = op(*args)`, with a fresh temporary unless a target is named."""
        target = target or self.names("t")
        self.statements.append(Statement(op, (target,), args, self.line))
        return target

    def in_block(self, write: Callable[[], object]) -> list[Statement]:
        """The statements that `write` appends, as a block of their own."""
        outer, self.statements = self.statements, []
        try:
            write()
            return self.statements
        finally:
            self.statements = outer

    def branch(self, condition: Operand, body: Callable[[], Operand], orelse: Callable[[], Operand]) -> Operand:
        """A conditional expression: only the side that `condition` picks is evaluated."""
        if not isinstance(condition, str):
            return body() if condition else orelse()
        target = self.names("t")
        first = self.in_block(lambda: self.emit("id", body(), target=target))
        second = self.in_block(lambda: self.emit("id", orelse(), target=target))
        self.statements.append(Statement("if", (), (condition,), self.line, first, second))
        return target

    def expression(self, node: ast.expr) -> Operand:
        """Lower an expression; gives the variable or literal that holds its value."""
        value = self.lowered_expression(node)
        if isinstance(value, int) and not -(2**63) <= value < 2**63:  # no int64 holds it, but a real may
            try:
                return float(value)
            except OverflowError:
                self.fail(node, "an integer this large is no number of the kernel")
        return value

    def lowered_expression(self, node: ast.expr) -> Operand:
        """An expression by its form."""
        match node:
            case ast.Constant(value=bool() | int() | float() as value):
                return value
            case ast.Constant(value=value):
                self.fail(node, f"the constant {value!r} is not a real number")
            case ast.Name(id=name) if name in self.environment:
                return self.environment[name]
            case ast.Name() | ast.Attribute():
                return self.captured_number(node)
            case ast.BinOp():
                return self.binary_chain(node)
            case ast.UnaryOp(op=kind, operand=operand):
                return self.folded(node, _UNARY[type(kind)], self.expression(operand))
            case ast.IfExp(test=test, body=body, orelse=orelse):
                condition = self.expression(test)
                return self.branch(condition, lambda: self.expression(body), lambda: self.expression(orelse))
            case ast.BoolOp(op=kind, values=values):
                return self.boolean(isinstance(kind, ast.And), values)
            case ast.Compare():
                return self.comparison(node)
            case ast.Call():
                return self.call(node, 1)[0]
        self.fail(node, refusal(node))

    def binary_chain(self, node: ast.BinOp) -> Operand:
        """`a + b + c + ...`, which nests to the left, without recursion."""
        chain = [node]
        while isinstance(chain[-1].left, ast.BinOp):
            chain.append(chain[-1].left)
        value = self.expression(chain[-1].left)
        for link in reversed(chain):
            value = self.binary(link, link.op, value, self.expression(link.right))
        return value

    def binary(self, node: ast.AST, kind: ast.operator, left: Operand, right: Operand) -> Operand:
        """`left op right`."""
        op = _BINARY.get(type(kind))
        if op is None:
            self.fail(node, f"the operator {type(kind).__name__} is not supported between numbers")
        return self.folded(node, op, left, right)

    def folded(self, node: ast.AST, op: str, *args: Operand) -> Operand:
        """`op(*args)`; of literals it is a literal, computed as Python does."""
        if any(isinstance(arg, str) for arg in args):
            return self.emit(op, *args)
        try:
            value = _folded(op, *args)
        except OverflowError:
            self.fail(node, "an integer this large is no number of the kernel")
        return self.emit(op, *args) if value is None else value

    def boolean(self, conjunction: bool, values: Sequence[ast.expr]) -> Operand:
        """`and` or `or` of values, evaluated only as far as needed."""
        first = self.expression(values[0])
        if len(values) == 1:
            return first
        decided: Operand = first if not _is_condition(values[0]) else not conjunction
        rest = functools.partial(self.boolean, conjunction, values[1:])
        if conjunction:
            return self.branch(first, rest, lambda: decided)
        return self.branch(first, lambda: decided, rest)

    def comparison(self, node: ast.Compare) -> Operand:
        """A comparison, or a chain of them, evaluated only as far as needed."""
        return self.compared(node, self.expression(node.left), 0)

    def compared(self, node: ast.Compare, left: Operand, position: int) -> Operand:
        """The rest of a chain, from the operand `left` on."""
        op = _COMPARISONS.get(type(node.ops[position]))
        if op is None:
            self.fail(node, f"the comparison {type(node.ops[position]).__name__} is not supported between numbers")
        right = self.expression(node.comparators[position])
        link = self.folded(node, op, left, right)
        if position + 1 == len(node.ops):
            return link
        return self.branch(link, lambda: self.compared(node, right, position + 1), lambda: False)

    def primitive(self, node: ast.Call, op: str) -> Operand:
        """A call of a known function: `max(a, b, c)` becomes two steps, `pow(a, b)` is `a ** b`."""
        if node.keywords or any(isinstance(arg, ast.Starred) for arg in node.args):
            self.fail(node, f"'{ast.unparse(node.func)}' takes plain positional numbers here")
        count = len(node.args)
        if op == "log" and count == 2:  # to a base, which Python computes so too
            number, base = (self.emit("log", self.expression(arg)) for arg in node.args)
            return self.emit("/", number, base)
        expected = 2 if op in _TWO_OPERANDS | _ANY_NUMBER else 1
        if count < expected or (count > expected and op not in _ANY_NUMBER):
            least = "at least " if op in _ANY_NUMBER else ""
            self.fail(node, f"'{ast.unparse(node.func)}' takes {least}{expected} number{'s' * (expected > 1)} here")
        if op == "float" and isinstance(node.args[0], ast.Constant) and isinstance(node.args[0].value, str):
            try:
                return float(node.args[0].value)  # float("inf"), and "nan"
            except ValueError:
                self.fail(node, f"{node.args[0].value!r} is no number")
        args = [self.expression(arg) for arg in node.args]
        if op in _ANY_NUMBER:
            return functools.reduce(lambda left, right: self.emit(op, left, right), args)
        return self.emit("**" if op == "pow" else op, *args)

    def captured_number(self, node: ast.Name | ast.Attribute) -> Operand:
        """A name that is not a local variable."""
        self.fail(node, f"name '{ast.unparse(node)}' is not defined")

    def call(self, node: ast.Call, outputs: int) -> Sequence[Operand]:
        """Lower a call that must give the number of `outputs`."""
        assert isinstance(node.func, ast.Name)
        return (self.primitive(node, node.func.id),)


def _folded(op: str, *args: Any) -> bool | int | float | None:
    """The value of an operation on literals; None where Python gives no real number, and a kernel NaN or infinity.

    Raises:
        OverflowError: It is an integer beyond all reals.
    """
    if op in ("**", "<<") and all(isinstance(arg, int) for arg in args):
        base, count = args
        if abs(base) > 1 and count * abs(base).bit_length() > 2 * _MOST_BITS:  # Python would take its time
            raise OverflowError
    try:
        value = _PYTHON[op](*args)
    except (ArithmeticError, ValueError, TypeError):
        return None
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        raise OverflowError
    return value if isinstance(value, bool | int | float) else None


def _is_condition(node: ast.expr) -> bool:
    """Whether an expression is certainly a bool, so that `a and b` is `b if a else False`."""
    if isinstance(node, ast.BoolOp):
        return all(map(_is_condition, node.values))
    return isinstance(node, ast.Compare) or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not))


_INSTEAD = {
    np.where: "a if condition else b", np.maximum: "max(a, b)", np.minimum: "min(a, b)",
    np.clip: "min(max(x, low), high)", np.sign: "math.copysign(1.0, x)",
}  # fmt: skip


def unknown(name: str, callee: Any) -> str:
    """The message about a call of a function that is no part of the language, and what to write instead."""
    try:
        instead = _INSTEAD.get(callee)
    except TypeError:  # not hashable
        instead = None
    if instead is not None:
        return f"'{name}' is for arrays: write '{instead}' for single numbers"
    return (
        f"no derivative is known for '{name}': use functions of math, or a helper written in plain Python, or give one with "
        "register_derivative"
    )


_ONE_NUMBER = "it computes with single numbers, one variable each"
_EVERY_PATH = "return a number on every path instead, such as math.nan"
_OUTSIDE = "define it outside, where it can be called as a helper"
_REFUSED = {
    "Subscript": ("indexing", "pass the item as an argument of its own"),
    "List": ("a list", _ONE_NUMBER), "Dict": ("a dict", _ONE_NUMBER), "Set": ("a set", _ONE_NUMBER),
    "ListComp": ("a comprehension", "write a loop"), "DictComp": ("a comprehension", "write a loop"),
    "SetComp": ("a comprehension", "write a loop"), "GeneratorExp": ("a comprehension", "write a loop"),
    "Tuple": ("a tuple (other than returned)", _ONE_NUMBER), "Starred": ("a starred expression", _ONE_NUMBER),
    "JoinedStr": ("an f-string", "it has numbers and no text"),
    "Lambda": ("a nested function", _OUTSIDE), "FunctionDef": ("a nested function", _OUTSIDE),
    "AsyncFunctionDef": ("a nested function", _OUTSIDE), "ClassDef": ("a class", _OUTSIDE),
    "Try": ("try/except", _EVERY_PATH), "TryStar": ("try/except", _EVERY_PATH), "Raise": ("raise", _EVERY_PATH),
    "Assert": ("assert", _EVERY_PATH), "With": ("with", "nothing but arithmetic happens in it"),
    "Global": ("global", "return the value instead"), "Nonlocal": ("nonlocal", "return the value instead"),
    "Delete": ("del", "leave it out"), "Import": ("import", "import at the top of the file"),
    "ImportFrom": ("import", "import at the top of the file"), "Match": ("match", "use if and elif"),
    "NamedExpr": ("an assignment expression", "assign on a line of its own"),
    "Yield": ("yield", "it returns its numbers once"), "YieldFrom": ("yield", "it returns its numbers once"),
    "Await": ("await", "it returns its numbers once"),
}  # fmt: skip


def refusal(node: ast.AST) -> str:
    """The message about a construct outside the language, and what to write instead."""
    kind = type(node).__name__
    name, remedy = _REFUSED.get(kind, (f"'{kind}'", _ONE_NUMBER))
    return f"{name} cannot be used in a scalar function: {remedy}"
