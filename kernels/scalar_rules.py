"""Partial derivatives of the primitives: the table of rules, and the arithmetic of the chain rule that uses it."""

from __future__ import annotations

import ast
import functools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from .lower import lower
from .scalar_expression import ExpressionLowering
from .scalar_function import CONTROL, Operand, Statement
from .special_functions import trigamma

RULES: dict[str, tuple[str, ...]] = {
    "id": ("1.0",),
    "float": ("1.0",),
    "neg": ("-1.0",),
    "+": ("1.0", "1.0"),
    "-": ("1.0", "-1.0"),
    "*": ("b", "a"),
    "/": ("1.0 / b", "-y / b"),
    "%": ("1.0", "-(a // b)"),
    "**": ("0.0 if b == 0 else b * a ** (b - 1)", "0.0 if a == 0 and b >= 0 else y * log(a)"),
    "abs": ("1.0 if a > 0 else (-1.0 if a < 0 else 0.0)",),
    "max": ("1.0 if a > b else (0.5 if a == b else 0.0)", "1.0 if a < b else (0.5 if a == b else 0.0)"),
    "min": ("1.0 if a < b else (0.5 if a == b else 0.0)", "1.0 if a > b else (0.5 if a == b else 0.0)"),
    "copysign": ("copysign(1.0, a) * copysign(1.0, b) if a != 0 else 0.0", "0.0"),
    "hypot": ("a / y", "b / y"),
    "sqrt": ("0.5 / y",),
    "cbrt": ("1.0 / (3.0 * y * y)",),
    "exp": ("y",),
    "exp2": (f"y * {math.log(2)!r}",),
    "expm1": ("y + 1.0",),
    "sigmoid": ("y * (1.0 - y)",),
    "softplus": ("sigmoid(a)",),
    "log": ("1.0 / a",),
    "log2": (f"1.0 / (a * {math.log(2)!r})",),
    "log10": (f"1.0 / (a * {math.log(10)!r})",),
    "log1p": ("1.0 / (1.0 + a)",),
    "sin": ("cos(a)",),
    "cos": ("-sin(a)",),
    "tan": ("1.0 + y * y",),
    "asin": ("1.0 / sqrt((1.0 - a) * (1.0 + a))",),
    "acos": ("-1.0 / sqrt((1.0 - a) * (1.0 + a))",),
    "atan": ("1.0 / (1.0 + a * a)",),
    "atan2": ("b / (a * a + b * b)", "-a / (a * a + b * b)"),
    "sinh": ("cosh(a)",),
    "cosh": ("sinh(a)",),
    "tanh": ("1.0 - y * y",),
    "asinh": ("1.0 / sqrt(a * a + 1.0)",),
    "acosh": ("1.0 / sqrt((a - 1.0) * (a + 1.0))",),
    "atanh": ("1.0 / ((1.0 - a) * (1.0 + a))",),
    "erf": (f"{2 / math.sqrt(math.pi)!r} * exp(-a * a)",),
    "erfc": (f"{-2 / math.sqrt(math.pi)!r} * exp(-a * a)",),
    "erfinv": (f"{math.sqrt(math.pi) / 2!r} * exp(y * y)",),
    "gelu": (f"0.5 * (1.0 + erf({math.sqrt(0.5)!r} * a)) + {1 / math.sqrt(2 * math.pi)!r} * a * exp(-0.5 * a * a)",),
    "gamma": ("y * digamma(a)",),
    "lgamma": ("digamma(a)",),
    "digamma": ("trigamma(a)",),
}
"""The partial derivative of each primitive by each operand, in terms of operands `a`, `b` and result `y`.

A rule is written in the language it serves, so it differentiates too. What is not here (`floor`, `//`, comparisons,
bitwise operators ...) is flat wherever it has a derivative. See NIST DLMF, sections 4.20, 4.34, 5.2 and 7.10.
"""


_HELPERS = {"trigamma": trigamma}


@functools.cache
def _parsed(rule: str) -> ast.expr:
    return ast.parse(rule, mode="eval").body


@functools.cache
def _is_choice(rule: ast.expr) -> bool:
    """Whether a rule only chooses between constants."""
    if isinstance(rule, ast.IfExp):
        return _is_choice(rule.body) and _is_choice(rule.orelse)
    return isinstance(rule, ast.Constant | ast.UnaryOp)


@dataclass(frozen=True)
class Choice:
    """A partial derivative that is one of several constants, such as the 1 or 0 of `max`.

    It is no number until it is multiplied: each side multiplies for itself, so that a 0 makes 0 of an infinity, too.
    """

    rule: ast.expr
    environment: Mapping[str, Operand]


Partial = Operand | Choice


class Rules(ExpressionLowering):
    """Emits statements for partial derivatives and their products, folding zeros and ones as it goes."""

    def call(self, node: ast.Call, outputs: int) -> Sequence[Operand]:
        """See `ExpressionLowering.call`: rules call primitives, and the helpers above."""
        assert isinstance(node.func, ast.Name)
        if node.func.id not in _HELPERS:
            return super().call(node, outputs)
        target = self.names("t")
        args = tuple(self.expression(arg) for arg in node.args)
        self.statements.append(Statement("call", (target,), args, self.line, callee=lower(_HELPERS[node.func.id])))
        return (target,)

    def partial(self, statement: Statement, position: int, result: str) -> Partial:
        """The derivative of a primitive by the operand at `position`, given the variable that holds its result."""
        known = self.of_literal(statement, position, result)
        if known is not None:
            return known
        rule = _parsed(RULES[statement.op][position])
        environment = {**dict(zip("ab", statement.args, strict=False)), "y": result}
        if isinstance(rule, ast.IfExp) and _is_choice(rule):
            return Choice(rule, environment)
        return self.evaluated(rule, environment)

    def evaluated(self, rule: ast.expr, environment: Mapping[str, Operand]) -> Operand:
        """The value of a rule, or of a part of one, for the operands given."""
        self.environment = dict(environment)
        return self.expression(rule)

    def of_literal(self, statement: Statement, position: int, result: str) -> Operand | None:
        """What is simpler than the rule because the other operand is a literal; None if nothing is."""
        if len(statement.args) != 2:
            return None
        other = statement.args[1 - position]
        if isinstance(other, str):
            return None
        if statement.op == "**" and position == 0:
            return self.power_rule(statement.args[0], other)
        if statement.op == "/" and position == 0 and other != 0:
            return 1.0 / other
        if statement.op == "/" and position == 1 and other == 1:  # no second division
            return self.emit("neg", self.emit("*", result, result))
        return None

    def power_rule(self, base: Operand, exponent: bool | int | float) -> Operand:
        """The derivative of `base ** exponent` by its base."""
        if exponent in (0, 1):
            return float(exponent)
        lower_power = base if exponent == 2 else self.emit("**", base, exponent - 1)
        return self.multiply(float(exponent), lower_power)

    def multiply(self, partial: Partial, factor: Operand) -> Operand:
        """`partial * factor`."""
        if isinstance(partial, Choice):
            return self.choose(partial.rule, partial.environment, factor)
        for left, right in ((partial, factor), (factor, partial)):
            if isinstance(left, str):
                continue
            if left == 0:
                return 0.0
            if left == 1:
                return right
            if not isinstance(right, str):
                return float(left * right)
            if left == -1:
                return self.emit("neg", right)
        return self.emit("*", partial, factor)

    def choose(self, rule: ast.expr, environment: Mapping[str, Operand], factor: Operand) -> Operand:
        """A choice between constants times a factor: a choice between products."""
        if not isinstance(rule, ast.IfExp):
            return self.multiply(self.evaluated(rule, environment), factor)
        return self.branch(
            self.evaluated(rule.test, environment),
            lambda: self.choose(rule.body, environment, factor),
            lambda: self.choose(rule.orelse, environment, factor),
        )

    def add(self, left: Operand, right: Operand) -> Operand:
        """`left + right`."""
        if is_zero(left):
            return right
        if is_zero(right):
            return left
        literals = not isinstance(left, str) and not isinstance(right, str)
        return left + right if literals else self.emit("+", left, right)  # type: ignore[operator]

    def sum_of_products(self, pairs: Iterable[tuple[Partial, Operand]]) -> Operand:
        """The chain rule: the sum of all `partial * factor`."""
        total: Operand = 0.0
        for partial, factor in pairs:
            total = self.add(total, self.multiply(partial, factor))
        return total

    def store(self, target: str, value: Operand, since: int) -> None:
        """`target = value`; the last statement is renamed if it made the value, and not before position `since`."""
        last = self.statements[-1] if len(self.statements) > since else None
        if last is not None and last.targets == (value,) and last.op not in CONTROL:
            self.statements[-1] = Statement(last.op, (target,), last.args, last.line, callee=last.callee)
        else:
            self.emit("id", value, target=target)


def is_zero(operand: Operand) -> bool:
    """Whether an operand is the literal 0."""
    return not isinstance(operand, str) and operand == 0
