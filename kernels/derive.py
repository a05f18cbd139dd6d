"""Derivatives of scalar functions, by tangent mode: a `Function` in, a `Function` out, so any order is reapplication.

Each real variable `v` that depends on an input `x` gets a companion `v_x`, its partial derivative, computed right after
it. Control flow stays as it is. That needs no tape, so the derivative runs wherever the function does, in a CUDA thread
too; and dead code elimination leaves of the function itself only what its derivative reads.

Conventions at kinks: the derivative of `abs` at 0 is 0, ties of `max` and `min` share 0.5 each, rounding is flat.
"""

from __future__ import annotations

import ast
import functools
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from .lower import lower
from .scalar_expression import ExpressionLowering
from .scalar_function import (
    CONTROL,
    Function,
    Names,
    Operand,
    Statement,
    join,
    variable_kinds,
    variables,
    walk,
    without_dead_code,
)

RULES: dict[str, tuple[str, ...]] = {
    "id": ("1.0",),
    "float": ("1.0",),
    "neg": ("-1.0",),
    "+": ("1.0", "1.0"),
    "-": ("1.0", "-1.0"),
    "*": ("b", "a"),
    "times": ("b", "a"),
    "/": ("1.0 / b", "-y / b"),
    "%": ("1.0", "-(a // b)"),
    "**": ("0.0 if b == 0 else b * a ** (b - 1)", "0.0 if a == 0 and b >= 0 else y * log(a)"),
    "abs": ("1.0 if a > 0 else (-1.0 if a < 0 else 0.0)",),
    "max": ("1.0 if a > b else (0.5 if a == b else 0.0)", "1.0 if a < b else (0.5 if a == b else 0.0)"),
    "min": ("1.0 if a < b else (0.5 if a == b else 0.0)", "1.0 if a > b else (0.5 if a == b else 0.0)"),
    "copysign": ("copysign(1.0, a) * copysign(1.0, b) if a != 0 else 0.0", "0.0"),
    "hypot": ("a / y", "b / y"),
    "sqrt": ("0.5 / y",),
    "exp": ("y",),
    "exp2": (f"y * {math.log(2)!r}",),
    "expm1": ("y + 1.0",),
    "log": ("1.0 / a",),
    "log2": (f"1.0 / (a * {math.log(2)!r})",),
    "log10": (f"1.0 / (a * {math.log(10)!r})",),
    "log1p": ("1.0 / (1.0 + a)",),
    "sin": ("cos(a)",),
    "cos": ("-sin(a)",),
    "tan": ("1.0 + y * y",),
    "asin": ("1.0 / sqrt(1.0 - a * a)",),
    "acos": ("-1.0 / sqrt(1.0 - a * a)",),
    "atan": ("1.0 / (1.0 + a * a)",),
    "atan2": ("b / (a * a + b * b)", "-a / (a * a + b * b)"),
    "sinh": ("cosh(a)",),
    "cosh": ("sinh(a)",),
    "tanh": ("1.0 - y * y",),
    "asinh": ("1.0 / sqrt(a * a + 1.0)",),
    "acosh": ("1.0 / sqrt(a * a - 1.0)",),
    "atanh": ("1.0 / (1.0 - a * a)",),
    "erf": (f"{2 / math.sqrt(math.pi)!r} * exp(-a * a)",),
    "erfc": (f"{-2 / math.sqrt(math.pi)!r} * exp(-a * a)",),
    "gamma": ("y * digamma(a)",),
    "lgamma": ("digamma(a)",),
}
"""The partial derivative of each primitive by each operand, in terms of operands `a`, `b` and result `y`.

A rule is written in the language it serves, so it differentiates too. What is not here (`floor`, `//`, comparisons,
bitwise operators ...) is flat wherever it has a derivative. See NIST DLMF, sections 4.20, 4.34, 5.2 and 7.10.
"""


def digamma(x):
    """Logarithmic derivative of gamma: recurrence, reflection (DLMF 5.5.2, 5.5.4), asymptotics (5.11.2)."""
    reflected = 0.0
    if x <= 0:
        reflected = -math.pi / math.tan(math.pi * x)
        x = 1 - x
    shift = 0.0
    while x < 6:
        shift -= 1 / x
        x += 1
    f = 1 / (x * x)
    series = f * (1 / 12 - f * (1 / 120 - f * (1 / 252 - f * (1 / 240 - f / 132))))
    return reflected + shift + math.log(x) - 0.5 / x - series


_HELPERS = {"digamma": digamma}


@functools.cache
def _parsed(rule: str) -> ast.expr:
    return ast.parse(rule, mode="eval").body


class _Rules(ExpressionLowering):
    """Emits statements for partial derivatives, folding zeros and ones as it goes."""

    def call(self, node: ast.Call, outputs: int) -> Sequence[Operand]:
        assert isinstance(node.func, ast.Name)
        if node.func.id not in _HELPERS:
            return super().call(node, outputs)
        target = self.names("t")
        args = tuple(self.expression(arg) for arg in node.args)
        self.statements.append(Statement("call", (target,), args, self.line, callee=lower(_HELPERS[node.func.id])))
        return (target,)

    def partial(self, statement: Statement, position: int, result: str) -> Operand:
        """The derivative of a primitive by the operand at `position`, given the variable that holds its result."""
        second = statement.args[-1]
        if not isinstance(second, str) and position == 0:  # a literal says more than the rule knows
            if statement.op == "**":
                return self.power_rule(statement.args[0], second)
            if statement.op == "/" and second != 0:
                return 1.0 / second
        rule = _parsed(RULES[statement.op][position])
        if isinstance(rule, ast.Constant):
            return float(rule.value)  # type: ignore[arg-type]
        self.environment = {**dict(zip("ab", statement.args, strict=False)), "y": result}
        return self.expression(rule)

    def power_rule(self, base: Operand, exponent: bool | int | float) -> Operand:
        if exponent in (0, 1):
            return float(exponent)
        lower_power = base if exponent == 2 else self.emit("**", base, exponent - 1)
        return self.multiply(float(exponent), lower_power)

    def multiply(self, left: Operand, right: Operand) -> Operand:
        for factor, other in ((left, right), (right, left)):
            if isinstance(factor, str):
                continue
            if factor == 0:
                return 0.0
            if factor == 1:
                return other
            if not isinstance(other, str):
                return float(factor * other)
            if factor == -1:
                return self.emit("neg", other)
        return self.emit("times", left, right)

    def sum_of_products(self, pairs: Iterable[tuple[Operand, Operand]]) -> Operand:
        total: Operand = 0.0
        for left, right in pairs:
            product = self.multiply(left, right)
            if _is_zero(total):
                total = product
            elif not _is_zero(product):
                literals = not isinstance(total, str) and not isinstance(product, str)
                total = total + product if literals else self.emit("+", total, product)  # type: ignore[operator]
        return total

    def store(self, target: str, value: Operand, since: int) -> None:
        """`target = value`; the last statement is renamed if it made the value, and not before position `since`."""
        last = self.statements[-1] if len(self.statements) > since else None
        if last is not None and last.targets == (value,) and last.op not in CONTROL:
            self.statements[-1] = Statement(last.op, (target,), last.args, last.line, callee=last.callee)
        else:
            self.emit("id", value, target=target)


def _is_zero(operand: Operand) -> bool:
    return not isinstance(operand, str) and operand == 0


class _Tangents:
    """One pass over a function that adds the partial derivatives by the parameters at positions `wrt`."""

    def __init__(self, function: Function, wrt: Sequence[int], taken: Iterable[str] = ()) -> None:
        self.function = function
        self.inputs = [function.parameters[position] for position in wrt]
        self.kinds = variable_kinds(function)
        self.names = Names([*variables(function), *taken])
        self.rules = _Rules(self.names, {})
        self.writes = Counter(name for statement in walk(function.body) for name in statement.targets)
        self.depends = self.dependence()
        self.tangents: dict[tuple[str, int], Operand] = {}

    def dependence(self) -> dict[str, set[int]]:
        """For each real variable the inputs it may depend on, by iteration to a fixed point."""
        depends: dict[str, set[int]] = {name: set() for name in self.kinds}
        for index, name in enumerate(self.inputs):
            if self.kinds[name] == "real":
                depends[name].add(index)
        assignments = [s for s in walk(self.function.body) if s.op in RULES or s.callee is not None]
        changed = True
        while changed:
            changed = False
            for statement in assignments:
                sources = {index for arg in statement.args if isinstance(arg, str) for index in depends[arg]}
                for target in statement.targets:
                    if self.kinds[target] == "real" and not sources <= depends[target]:
                        depends[target] |= sources
                        changed = True
        return depends

    def active(self, operand: Operand) -> set[int]:
        return self.depends[operand] if isinstance(operand, str) else set()

    def tangent(self, operand: Operand, index: int) -> Operand:
        """The derivative of an operand by input `index`."""
        if not isinstance(operand, str) or index not in self.depends[operand]:
            return 0.0
        if not self.writes[operand]:
            return 1.0
        key = (operand, index)
        if key not in self.tangents:
            self.tangents[key] = self.names(f"{operand}_{self.inputs[index]}")
        return self.tangents[key]

    def store_tangent(self, name: str, index: int, value: Operand, since: int) -> None:
        """Assign the tangent of a variable; a constant one of a variable that is written once needs no statement."""
        once = self.writes[name] == 1 and name not in self.function.parameters
        if once and not isinstance(value, str) and (name, index) not in self.tangents:
            self.tangents[name, index] = value
            return
        target = self.tangent(name, index)
        assert isinstance(target, str)
        self.rules.store(target, value, since)

    def transformed(self, cotangents: Sequence[str] | None) -> list[Statement]:
        """The new body. Returns give values and partials, or partials contracted with `cotangents`."""

        def write() -> None:
            for name in self.function.parameters:
                if self.writes[name]:  # an input that is overwritten has a varying derivative
                    for index in sorted(self.depends[name]):
                        self.store_tangent(name, index, 1.0 if self.inputs[index] == name else 0.0, 0)
            self.block(self.function.body, cotangents)

        return self.rules.in_block(write)

    def block(self, body: Sequence[Statement], cotangents: Sequence[str] | None) -> None:
        for statement in body:
            self.rules.line = statement.line
            if statement.op == "return":
                values = self.returned(statement.args, cotangents)
                self.rules.statements.append(Statement("return", (), tuple(values), statement.line))
            elif statement.op in CONTROL:
                body, orelse = (
                    self.rules.in_block(functools.partial(self.block, inner, cotangents))
                    for inner in (statement.body, statement.orelse)
                )
                copy = Statement(statement.op, statement.targets, statement.args, statement.line, body, orelse)
                self.rules.statements.append(copy)
            else:
                self.assignment(statement)

    def returned(self, values: Sequence[Operand], cotangents: Sequence[str] | None) -> list[Operand]:
        inputs = range(len(self.inputs))
        if cotangents is None:
            return [*values, *(self.tangent(value, index) for value in values for index in inputs)]
        return [
            self.rules.sum_of_products((g, self.tangent(v, index)) for g, v in zip(cotangents, values, strict=True))
            for index in inputs
        ]

    def assignment(self, statement: Statement) -> None:
        """The statement, then the tangents of its targets, from values and tangents before the assignment."""
        rules, targets = self.rules, statement.targets
        live = sorted(set().union(*map(self.active, targets)))
        if not live:
            rules.statements.append(statement)
            return
        overwrites = bool(set(targets) & set(statement.args))
        results = tuple(self.names("t") for _ in targets) if overwrites else targets
        positions = [position for position, arg in enumerate(statement.args) if self.active(arg)]
        if statement.callee is not None:
            partials = self.call_partials(statement, positions, results)
        else:
            rules.statements.append(Statement(statement.op, results, statement.args, statement.line))
            if statement.op in RULES:
                partials = [[rules.partial(statement, position, results[0]) for position in positions]]
            else:  # flat, but the variable also has assignments that are not
                partials, positions = [[]], []
        delayed = []
        for target, row in zip(targets, partials, strict=True):
            for index in sorted(self.active(target)):
                start = len(rules.statements)
                tangents = (self.tangent(statement.args[position], index) for position in positions)
                value = rules.sum_of_products(zip(row, tangents, strict=True))
                if overwrites and len(targets) > 1:  # the next target still needs the old tangents
                    delayed.append((target, index, rules.emit("id", value)))
                else:
                    self.store_tangent(target, index, value, start)
        for target, index, value in delayed:
            self.store_tangent(target, index, value, len(rules.statements))
        if overwrites:
            for target, result in zip(targets, results, strict=True):
                rules.emit("id", result, target=target)

    def call_partials(
        self, statement: Statement, positions: list[int], results: tuple[str, ...]
    ) -> list[list[Operand]]:
        """Calls the derivative of a helper instead of the helper; gives the partials of each output."""
        callee = statement.callee
        assert callee is not None
        positions[:] = [p for p in positions if callee.kinds[callee.parameters[p]] == "real"]
        derivative = jacobian(callee, positions)
        partials = [[self.names("t") for _ in positions] for _ in results]
        targets = (*results, *(name for row in partials for name in row))
        self.rules.statements.append(Statement("call", targets, statement.args, statement.line, callee=derivative))
        return [list(row) for row in partials]


def jacobian(function: Function, wrt: Sequence[int]) -> Function:
    """The function that returns all values of `function`, then the partials of each by parameters `wrt`.

    >>> from .scalar_printer import as_python
    >>> def product(x, y):
    ...     return x * y
    >>> as_python(jacobian(lower(product), (0, 1)))(2.0, 3.0)
    (6.0, 3.0, 2.0)
    """
    key = ("jacobian", tuple(wrt))
    if key not in function.memo:
        declared = any(function.parameters[position] in function.partials for position in wrt)
        body = _declared_jacobian(function, wrt) if declared else _Tangents(function, wrt).transformed(None)
        outputs = function.outputs * (1 + len(key[1]))
        derived = function.variant(f"{function.name}_jacobian", function.parameters, body, outputs)
        function.memo[key] = without_dead_code(derived)
    result: Function = function.memo[key]
    return result


def _declared_jacobian(function: Function, wrt: Sequence[int]) -> list[Statement]:
    """The body of a jacobian that calls the declared derivatives, and derives the others."""
    fresh, parameters = Names(function.parameters), function.parameters
    derived = [position for position in wrt if parameters[position] not in function.partials]
    callee = function
    if derived:
        body = _Tangents(function, derived).transformed(None)
        callee = function.variant(f"{function.name}_derived", parameters, body, function.outputs * (1 + len(derived)))
    results = tuple(fresh("r") for _ in range(function.outputs))
    columns = {position: [fresh("t") for _ in results] for position in wrt}
    partials = [columns[position][k] for k in range(function.outputs) for position in derived]
    statements = [Statement("call", (*results, *partials), parameters, callee=callee)]
    for position in wrt:
        for target, partial in zip(columns[position], function.partials.get(parameters[position], ()), strict=False):
            statements.append(Statement("call", (target,), (*parameters, *results), callee=partial))
    rows = [columns[position][k] for k in range(function.outputs) for position in wrt]
    return [*statements, Statement("return", (), (*results, *rows))]


def vjp(function: Function, wrt: Sequence[int]) -> Function:
    """The gradient function: parameters of `function` and a cotangent for each output in, one gradient per `wrt` out.

    The cotangents are called `g`, or `g0`, `g1`, ... for several outputs; with one more `g` in front if those are
    taken, as in the vjp of a vjp. `reads` tells what the gradient really depends on.

    >>> from .scalar_function import reads
    >>> def product(x, y):
    ...     return x * y
    >>> gradient = vjp(lower(product), (0,))
    >>> gradient.parameters, reads(gradient)
    (('x', 'y', 'g'), ('y', 'g'))
    """
    key = ("vjp", tuple(wrt))
    if key not in function.memo:
        cotangents = _cotangent_names(function)
        body = _Tangents(function, wrt, cotangents).transformed(cotangents)
        parameters = (*function.parameters, *cotangents)
        derived = function.variant(f"{function.name}_vjp", parameters, body, len(key[1]))
        function.memo[key] = without_dead_code(derived)
    result: Function = function.memo[key]
    return result


def _cotangent_names(function: Function) -> list[str]:
    taken, prefix = variables(function), "g"
    while True:
        names = [prefix] if function.outputs == 1 else [f"{prefix}{k}" for k in range(function.outputs)]
        if not taken.intersection(names):
            return names
        prefix += "g"


def combine(
    name: str,
    parameters: Sequence[str],
    parts: Sequence[tuple[Function, Sequence[Operand]]],
    kinds: Mapping[str, str] | None = None,
) -> Function:
    """One function that calls each part with the named parameters and returns all their outputs, in order.

    Args:
        name: Name of the new function.
        parameters: Its parameters.
        parts: Functions, each with what it is called with in its own order: parameters of the new one, or literals.
        kinds: Kinds of the parameters; by default what the parts take them for.
    """
    found: dict[str, str] = {}
    body: list[Statement] = []
    fresh = Names(parameters)
    returned: list[str] = []
    for part, arguments in parts:
        for argument, parameter in zip(arguments, part.parameters, strict=True):
            if isinstance(argument, str):
                found[argument] = join((found.get(argument, "bool"), part.kinds[parameter]))
        targets = tuple(fresh("t") for _ in range(part.outputs))
        body.append(Statement("call", targets, tuple(arguments), callee=part))
        returned.extend(targets)
    body.append(Statement("return", (), tuple(returned)))
    cached = all(part.cached for part, _ in parts)
    combined = Function(name, parameters, body, len(returned), {**found, **(kinds or {})}, cached=cached)
    return without_dead_code(combined)
