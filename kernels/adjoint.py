"""Derivatives in reverse mode, for functions without loops: one backward sweep gives the gradients of all inputs.

The function is first made *straight-line*: one exit, its loop-free helpers written out in place, and every variable
assigned once (where two branches meet, both assign one new variable). Then nothing that the sweep reads was ever
overwritten, so it needs no tape: it follows the values as plain statements, an `if` of the function as another `if`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from .scalar_function import (
    Function,
    Names,
    Opaque,
    Operand,
    Statement,
    falls_through,
    join,
    literal_kind,
    result_kinds,
    variable_kinds,
    walk,
)
from .scalar_rules import RULES, Choice, Partial, Rules, is_zero

_MOST_STATEMENTS = 5000  # helpers written out again and again would make kernels that take minutes to compile
_DEEPEST = 24  # blocks within blocks, which a sequence of early returns becomes; Python parses 100 levels

_Environment = dict[str, Operand]


class _NotStraight(Exception):
    """A function that has no straight-line form of reasonable size."""


# ---------------------------------------------------------------------------------------------- straight-line form


@dataclass(frozen=True)
class StraightLine:
    """A function with one exit whose variables are assigned once.

    Attributes:
        body: statements; both sides of an `if` assign what it leaves behind.
        results: the operands that it returns.
        kinds: the kind of every variable.
    """

    body: list[Statement]
    results: list[Operand]
    kinds: dict[str, str]


def straight_line(function: Function, taken: Iterable[str] = ()) -> StraightLine | None:
    """The straight-line form of a function, or None if it has loops or would become too large.

    Its parameters keep their names; `taken` are other names that it may not bind.
    """
    if _has_loops(function):
        return None
    rewriter = _Rewriter(Names([*function.parameters, *taken]), function.kinds)
    try:
        body, results = rewriter.inlined(function, function.parameters, 0)
    except _NotStraight:
        return None
    return StraightLine(body, results, rewriter.kinds)


def _has_loops(function: Function) -> bool:
    if "has_loops" not in function.memo:
        function.memo["has_loops"] = any(statement.op in ("loop", "for") for statement in walk(function.body))
    found: bool = function.memo["has_loops"]
    return found


def _may_be_inlined(callee: Function) -> bool:
    """Whether nothing is lost: a loop is differentiated where it stands, and declared derivatives belong to a call."""
    return not (_has_loops(callee) or callee.partials or isinstance(callee, Opaque))


def _result(position: int) -> str:
    """What a returned value is called in an environment: no variable has such a name."""
    return f"result {position}"


class _Rewriter:
    """Renames what a function and its helpers assign. A copy `a = b` is no statement: `a` then stands for `b`."""

    def __init__(self, names: Names, kinds: dict[str, str]) -> None:
        self.names = names
        self.kinds = dict(kinds)
        self.count = 0  # of statements

    def inlined(self, function: Function, args: Sequence[Operand], depth: int) -> tuple[list[Statement], list[Operand]]:
        """The statements of a function called with these operands, and what it returns."""
        block = _Block(self, variable_kinds(function), {}, depth)
        for parameter, arg in zip(function.parameters, args, strict=True):
            block.bind(parameter, block.converted(arg, function.kinds[parameter], 0), 0)
        block.run(function.body)
        return block.statements, [block.environment[_result(position)] for position in range(function.outputs)]

    def kind(self, operand: Operand) -> str:
        return self.kinds[operand] if isinstance(operand, str) else literal_kind(operand)


class _Block:
    """One block while it is rewritten: its new statements, and what each name of the function stands for in it."""

    def __init__(self, rewriter: _Rewriter, kinds: dict[str, str], environment: _Environment, depth: int) -> None:
        self.rewriter = rewriter
        self.kinds = kinds  # of the variables of the function as written
        self.environment = environment
        self.depth = depth
        self.statements: list[Statement] = []
        if depth > _DEEPEST:
            raise _NotStraight

    def run(self, body: Sequence[Statement]) -> None:
        for position, statement in enumerate(body):
            args = tuple(map(self.read, statement.args))
            if statement.op == "return":
                self.environment.update((_result(position), arg) for position, arg in enumerate(args))
            elif statement.op == "if":
                if _returns(statement):  # what follows belongs to the sides that go on: then there is one exit
                    self.conditional(statement, args[0], body[position + 1 :])
                    return
                self.conditional(statement, args[0], ())
            elif statement.op == "id":
                self.bind(statement.targets[0], args[0], statement.line)
            elif statement.callee is not None and _may_be_inlined(statement.callee):
                inner, results = self.rewriter.inlined(statement.callee, args, self.depth)
                self.statements += inner
                self.bind_all(statement, results)
            else:
                targets = tuple(self.rewriter.names(target) for target in statement.targets)
                self.emit(Statement(statement.op, targets, args, statement.line, callee=statement.callee))
                self.bind_all(statement, targets)

    def read(self, operand: Operand) -> Operand:
        if not isinstance(operand, str):
            return operand
        if operand not in self.environment:
            raise _NotStraight  # unbound on this path, which is an error only when it is taken
        return self.environment[operand]

    def emit(self, statement: Statement, kinds: Sequence[str] = ()) -> None:
        rewriter = self.rewriter
        rewriter.count += 1
        if rewriter.count > _MOST_STATEMENTS:
            raise _NotStraight
        rewriter.kinds.update(zip(statement.targets, kinds or result_kinds(statement, rewriter.kind), strict=True))
        self.statements.append(statement)

    def bind_all(self, statement: Statement, values: Sequence[Operand]) -> None:
        for target, value in zip(statement.targets, values, strict=True):
            self.bind(target, value, statement.line)

    def bind(self, name: str, value: Operand, line: int) -> None:
        self.environment[name] = self.converted(value, self.kinds[name], line)

    def converted(self, value: Operand, wanted: str, line: int) -> Operand:
        """A value as the kind of the variable that it is assigned to, which may take values of other kinds elsewhere."""
        kind = self.rewriter.kind(value)
        if wanted not in ("real", "int") or kind in ("real", wanted):
            return value
        if not isinstance(value, str):
            return float(value) if wanted == "real" else int(value)
        target = self.rewriter.names("t")
        self.emit(Statement("float" if wanted == "real" else "int", (target,), (value,), line))
        return target

    def conditional(self, statement: Statement, condition: Operand, rest: Sequence[Statement]) -> None:
        """An `if`, after which one name stands for what each variable has become on either side."""
        sides = []
        for side in (statement.body, statement.orelse):
            block = _Block(self.rewriter, self.kinds, dict(self.environment), self.depth + 1)
            block.run([*side, *rest] if falls_through(side) else side)
            sides.append(block)
        first, second = sides
        for name in dict.fromkeys((*first.environment, *second.environment)):
            self.environment[name] = self.merged(name, first, second, statement.line)
        if first.statements or second.statements:
            line = statement.line
            self.statements.append(Statement("if", (), (condition,), line, first.statements, second.statements))

    def merged(self, name: str, first: _Block, second: _Block, line: int) -> Operand:
        values = [side.environment[name] for side in (first, second) if name in side.environment]
        if len(values) == 1 or _same(*values):  # a name bound on one side only can be read after that side only
            return values[0]
        new = self.rewriter.names(name.partition(" ")[0])
        kind = join(map(self.rewriter.kind, values))
        for side, value in zip((first, second), values, strict=True):
            side.emit(Statement("id", (new,), (value,), line), (kind,))
        return new


def _returns(statement: Statement) -> bool:
    return any(inner.op == "return" for inner in walk((statement,)))


def _same(first: Operand, second: Operand) -> bool:
    """Whether two operands are one: 0.0, -0.0 and 0 are three."""
    return type(first) is type(second) and repr(first) == repr(second)


# ---------------------------------------------------------------------------------------------- the sweep


class Adjoints:
    """The backward sweep over a straight-line function.

    Args:
        straight: the function.
        wrt: the parameters to differentiate by.
        jacobian: gives the derivative that stands for a helper with loops, `jacobian(helper, positions)`.
        taken: names that the new statements may not bind.
    """

    def __init__(
        self,
        straight: StraightLine,
        wrt: Sequence[str],
        jacobian: Callable[[Function, Sequence[int]], Function],
        taken: Iterable[str],
    ) -> None:
        self.straight = straight
        self.wrt = wrt
        self.jacobian = jacobian
        self.active = {name for name in wrt if straight.kinds[name] == "real"}
        self._find_active(straight.body)
        self.names = Names([*straight.kinds, *taken])
        self.rules = Rules(self.names, {})
        self.partials: dict[int, list[list[Partial]]] = {}  # of the outputs of each call of a helper with loops

    def _find_active(self, body: Sequence[Statement]) -> None:
        """Which real variables depend on the inputs; in order, since each is assigned before it is read."""
        for statement in body:
            self._find_active(statement.body)
            self._find_active(statement.orelse)
            if (statement.op in RULES or statement.callee is not None) and not self.active.isdisjoint(statement.args):
                self.active.update(name for name in statement.targets if self.straight.kinds[name] == "real")

    def body(self, cotangents: Sequence[Operand]) -> tuple[list[Statement], list[Operand]]:
        """The statements of the function and the sweep, and the gradient for each input, contracted with `cotangents`."""
        gradients: list[Operand] = []

        def write() -> None:
            self.rules.statements.extend(self.forward(self.straight.body))
            adjoints: dict[str, Operand] = {}
            for result, cotangent in zip(self.straight.results, cotangents, strict=True):
                self.accumulate(adjoints, result, 1.0, cotangent)
            self.sweep(self.straight.body, adjoints)
            gradients.extend(adjoints.get(name, 0.0) for name in self.wrt)

        return self.rules.in_block(write), gradients

    def forward(self, body: Sequence[Statement]) -> list[Statement]:
        """The function's own statements. Helpers with loops give their partials along with their values."""
        new = []
        for statement in body:
            if statement.op == "if":
                inner, orelse = self.forward(statement.body), self.forward(statement.orelse)
                new.append(Statement("if", (), statement.args, statement.line, inner, orelse))
            elif statement.callee is not None and not self.active.isdisjoint(statement.targets):
                new.append(self.call(statement, statement.callee))
            else:
                new.append(statement)
        return new

    def call(self, statement: Statement, callee: Function) -> Statement:
        """The call of a helper's derivative in place of the helper."""
        positions = self.positions(statement)
        partials = [[self.names("t") for _ in positions] for _ in statement.targets]
        self.partials[id(statement)] = [list(row) for row in partials]
        targets = (*statement.targets, *(name for row in partials for name in row))
        derivative = self.jacobian(callee, positions)
        return Statement("call", targets, statement.args, statement.line, callee=derivative)

    def positions(self, statement: Statement) -> list[int]:
        """The operands of a statement that the gradient goes on to."""
        callee = statement.callee
        return [
            position
            for position, arg in enumerate(statement.args)
            if arg in self.active and (callee is None or callee.kinds[callee.parameters[position]] == "real")
        ]

    def accumulate(self, adjoints: dict[str, Operand], operand: Operand, partial: Partial, adjoint: Operand) -> None:
        """Add `partial * adjoint` to the adjoint of an operand."""
        if isinstance(operand, str) and operand in self.active:
            adjoints[operand] = self.rules.add(adjoints.get(operand, 0.0), self.rules.multiply(partial, adjoint))

    def sweep(self, body: Sequence[Statement], adjoints: dict[str, Operand]) -> None:
        """Go through a block backwards: from the adjoints of what it computed to those of what it read."""
        for statement in reversed(body):
            self.rules.line = statement.line
            if statement.op == "if":
                self.sweep_sides(statement, adjoints)
            else:
                self.sweep_assignment(statement, adjoints)

    def sweep_assignment(self, statement: Statement, adjoints: dict[str, Operand]) -> None:
        """Backwards through one operation or call: what arrives at its targets goes on to its operands."""
        incoming = [adjoints.pop(target, 0.0) for target in statement.targets]
        if all(map(is_zero, incoming)):
            return
        positions = self.positions(statement)
        if statement.callee is not None:
            rows = self.partials[id(statement)]
        else:
            rows = [[self.rules.partial(statement, position, statement.targets[0]) for position in positions]]
        for row, adjoint in zip(rows, incoming, strict=True):
            for operand, partial in self.by_operand([statement.args[p] for p in positions], row):
                self.accumulate(adjoints, operand, partial, adjoint)

    def by_operand(self, operands: Sequence[Operand], row: Sequence[Partial]) -> Iterable[tuple[Operand, Partial]]:
        """Each operand once, with its partial derivative: for `x * x` that is `x + x`."""
        numbers = [partial for partial in row if not isinstance(partial, Choice)]
        if len(set(operands)) == 1 and len(numbers) == len(row):
            return [(operands[0], functools.reduce(self.rules.add, numbers))]
        return zip(operands, row, strict=True)

    def sweep_sides(self, statement: Statement, adjoints: dict[str, Operand]) -> None:
        """Backwards through an `if`: adjoints that its sides change differently become one variable that both assign."""
        sides: list[tuple[list[Statement], dict[str, Operand]]] = []
        for side in (statement.body, statement.orelse):
            inner = dict(adjoints)
            statements = self.rules.in_block(functools.partial(self.sweep, side, inner))
            sides.append((statements, inner))
        (body, first), (orelse, second) = sides
        local = {name for each in walk((statement,)) for name in each.targets}
        for name in local:
            adjoints.pop(name, None)
        for name in dict.fromkeys((*first, *second)):
            if name in local:
                continue
            values = first.get(name, 0.0), second.get(name, 0.0)
            adjoints[name] = values[0]
            if not _same(*values):
                adjoints[name] = merged = self.names("t")
                body.append(Statement("id", (merged,), values[:1], statement.line))
                orelse.append(Statement("id", (merged,), values[1:], statement.line))
        if body or orelse:
            self.rules.statements.append(Statement("if", (), statement.args, statement.line, body, orelse))
