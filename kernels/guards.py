"""Guards: whether a scalar function may be computed with primitives that are right for a limited range only.

The vector math's sin, cos and tan are accurate up to some argument; beyond, the C library's must do. A guard is a scalar
function of the same parameters that tells, for one item, whether an argument goes beyond. A kernel asks it for a block
of items before it computes them, so that the rare block takes another loop and an output may share memory with an input.
The guard computes only what those arguments depend on: for `g * cos(x)` it is one comparison.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from .scalar_function import CONTROL, Function, Names, Statement, callees, narrowed, pruned, variables, walk


def uses(function: Function, primitives: Collection[str]) -> bool:
    """Whether a function, or one that it calls, uses any of the primitives."""
    return any(s.op in primitives for s in walk(function.body)) or any(uses(f, primitives) for f in callees(function))


def loops(function: Function) -> bool:
    """Whether a function, or one that it calls, has a loop. LLVM does not vectorise a kernel of such a function."""
    return uses(function, ("loop", "for"))


def beyond(function: Function, primitives: frozenset[str], limit: float) -> Function:
    """The function of the same parameters that tells whether an argument of a primitive exceeds `limit` in size.

    >>> import math
    >>> from .lower import lower
    >>> from .scalar_printer import as_python
    >>> def wave(x, y):
    ...     return y * math.sin(x * x)
    >>> too_large = as_python(beyond(lower(wave), frozenset({"sin"}), 100.0))
    >>> too_large(9.0, 1e9), too_large(11.0, 1.0)
    (False, True)
    """
    key = ("beyond", primitives, limit)
    if key not in function.memo:
        flag = narrowed(_Flagging(function, primitives, limit).flagged(), (function.outputs,))
        function.memo[key] = pruned(flag, function.parameters)
    result: Function = function.memo[key]
    return result


class _Flagging:
    """Adds one more output to a function: whether an argument met on the way exceeds the limit."""

    def __init__(self, function: Function, primitives: frozenset[str], limit: float) -> None:
        self.function, self.primitives, self.limit = function, primitives, limit
        self.names = Names(variables(function))
        self.flag = self.names("beyond")

    def flagged(self) -> Function:
        function = self.function
        body = [Statement("id", (self.flag,), (False,)), *self.block(function.body)]
        name = f"{function.name}_beyond"
        return Function(name, function.parameters, body, function.outputs + 1, function.kinds, function.file)

    def block(self, body: Sequence[Statement]) -> list[Statement]:
        return [new for statement in body for new in self.statement(statement)]

    def statement(self, statement: Statement) -> list[Statement]:
        op, targets, args, line = statement.op, statement.targets, statement.args, statement.line
        if op in self.primitives:  # before the statement: it may overwrite its own argument
            size, found = self.names("t"), self.names("t")
            return [
                Statement("abs", (size,), args, line),
                Statement(">", (found,), (size, self.limit), line),
                self.noted(found, line),
                statement,
            ]
        if statement.callee is not None and uses(statement.callee, self.primitives):
            found = self.names("t")
            callee = _Flagging(statement.callee, self.primitives, self.limit).flagged()
            return [Statement("call", (*targets, found), args, line, callee=callee), self.noted(found, line)]
        if op == "return":
            return [Statement("return", (), (*args, self.flag), line)]
        if op in CONTROL:
            return [Statement(op, targets, args, line, self.block(statement.body), self.block(statement.orelse))]
        return [statement]

    def noted(self, found: str, line: int) -> Statement:
        return Statement("|", (self.flag,), (self.flag, found), line)
