"""Guards: where a scalar function may be computed by primitives that are right for a limited range of arguments only.

The vector math's sin, cos and tan are accurate up to some argument, its `%` and `//` of reals up to some quotient; beyond,
the C library's must do. A guard is a scalar function of the same parameters that tells, for one item, whether an argument
goes beyond. A kernel asks it about a block of items before it computes them, so that the rare block takes another loop, and
an output may be an input's memory.
The guard computes only what those arguments depend on: for `g * cos(x)` it is one comparison.

>>> import math
>>> from .lower import lower
>>> from .scalar_printer import as_python
>>> def wave(x, y):
...     return y * math.sin(x * x)
>>> print(as_python(beyond(lower(wave), frozenset({"sin"}), 100.0)).__doc__)
def wave_beyond(x, y):
    found = False
    found = found | (abs(x * x) > 100.0)
    return found
<BLANKLINE>
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from .scalar_function import (
    CONTROL,
    Function,
    Names,
    Statement,
    callees,
    join,
    literal_kind,
    narrowed,
    pruned,
    variable_kinds,
    variables,
    walk,
)

_DIVISIONS = frozenset({"%", "//"})  # of integers they are other operations, and right for all


def uses(function: Function, primitives: Collection[str]) -> bool:
    """Whether a function, or one that it calls, uses any of the primitives."""
    return any(_is_meant(s, function, primitives) for s in walk(function.body)) or any(
        uses(f, primitives) for f in callees(function)
    )


def _is_meant(statement: Statement, function: Function, primitives: Collection[str]) -> bool:
    """Whether a statement of a function is one of the primitives: a division is, if it is one of reals."""
    if statement.op not in primitives:
        return False
    if statement.op not in _DIVISIONS:
        return True
    kinds = variable_kinds(function)
    return join(kinds[arg] if isinstance(arg, str) else literal_kind(arg) for arg in statement.args) == "real"


def beyond(function: Function, primitives: frozenset[str], limit: float) -> Function:
    """The function of the same parameters that tells whether an argument of a primitive exceeds `limit` in size."""
    flag = narrowed(_flagged(function, primitives, limit), (function.outputs,))
    return pruned(flag, function.parameters)


def _flagged(function: Function, primitives: frozenset[str], limit: float) -> Function:
    """The function with one more output: whether an argument met on the way exceeds the limit."""
    key = ("beyond", primitives, limit)
    if key not in function.memo:
        function.memo[key] = _Flagging(function, primitives, limit).flagged()
    result: Function = function.memo[key]
    return result


class _Flagging:
    """One pass over a function that adds the output."""

    def __init__(self, function: Function, primitives: frozenset[str], limit: float) -> None:
        self.function, self.primitives, self.limit = function, primitives, limit
        self.names = Names(variables(function))
        self.flag = self.names("found")

    def flagged(self) -> Function:
        function = self.function
        body = [Statement("id", (self.flag,), (False,)), *self.block(function.body)]
        name = f"{function.name}_beyond"
        return Function(name, function.parameters, body, function.outputs + 1, function.kinds, function.file)

    def block(self, body: Sequence[Statement]) -> list[Statement]:
        return [new for statement in body for new in self.statement(statement)]

    def statement(self, statement: Statement) -> list[Statement]:
        op, targets, args, line = statement.op, statement.targets, statement.args, statement.line
        if _is_meant(statement, self.function, self.primitives):  # before it: it may overwrite its own argument
            return [*self.compared(statement), statement]
        if statement.callee is not None and uses(statement.callee, self.primitives):
            found = self.names("t")
            callee = _flagged(statement.callee, self.primitives, self.limit)
            return [Statement("call", (*targets, found), args, line, callee=callee), self.noted(found, line)]
        if op == "return":
            return [Statement("return", (), (*args, self.flag), line)]
        if op in CONTROL:
            return [Statement(op, targets, args, line, self.block(statement.body), self.block(statement.orelse))]
        return [statement]

    def compared(self, statement: Statement) -> list[Statement]:
        """What notes whether the argument, or the quotient of two, exceeds the limit."""
        args, line, names = statement.args, statement.line, self.names
        divided = []
        if statement.op in _DIVISIONS:
            quotient = names("t")
            divided = [Statement("/", (quotient,), args, line)]
            args = (quotient,)
        size, found = names("t"), names("t")
        sized = [Statement("abs", (size,), args, line), Statement(">", (found,), (size, self.limit), line)]
        return [*divided, *sized, self.noted(found, line)]

    def noted(self, found: str, line: int) -> Statement:
        return Statement("|", (self.flag,), (self.flag, found), line)


def respelled(function: Function, primitives: Mapping[str, str]) -> Function:
    """The same function with other primitives: `{"sin": "near_sin"}` puts `near_sin` where `sin` was."""

    def block(body: Sequence[Statement]) -> list[Statement]:
        return [
            Statement(
                primitives[s.op] if _is_meant(s, function, primitives) else s.op,
                s.targets,
                s.args,
                s.line,
                block(s.body),
                block(s.orelse),
                s.callee and respelled(s.callee, primitives),
            )
            for s in body
        ]

    if not uses(function, primitives):
        return function
    key = ("respelled", *primitives.items())
    if key not in function.memo:
        body = block(function.body)
        copy = Function(function.name, function.parameters, body, function.outputs, function.kinds, function.file)
        function.memo[key] = copy
    result: Function = function.memo[key]
    return result
