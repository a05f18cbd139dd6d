"""What the front end refuses after lowering: reads of unassigned variables, and reals where integers must stand."""

from __future__ import annotations

from collections.abc import Sequence

from .scalar_function import Function, Operand, Statement, error_at, literal_kind, variable_kinds, variable_names, walk

_Names = frozenset[str]


def check_bound(function: Function) -> None:
    """Refuse reads of variables that some path leaves unassigned: compiled code would take whatever is there.

    Raises:
        DifferentiationError: There is such a read. A `for` is taken to run only if its bounds are literals that say so.
    """
    _Assigned(function).block(function.body, frozenset(function.parameters), [], [])


class _Assigned:
    """Which variables are assigned on every path, followed through structured code."""

    def __init__(self, function: Function) -> None:
        self.file = function.file

    def block(
        self, body: Sequence[Statement], names: _Names, at_break: list[_Names], at_continue: list[_Names]
    ) -> _Names | None:
        """What holds at the end of a block, None if no path leads there. What holds at its exits is collected."""
        for statement in body:
            for name in sorted(variable_names(statement.args) - names):
                raise error_at(
                    f"local variable '{name}' may be read before it is assigned: assign it on every path to this line",
                    self.file,
                    statement.line,
                )
            after: _Names | None = names | frozenset(statement.targets)
            if statement.op == "if":
                sides = (statement.body, statement.orelse)
                after = _on_all([self.block(side, names, at_break, at_continue) for side in sides])
            elif statement.op in ("loop", "for"):
                after = self.loop(statement, names)
            elif statement.op == "break":
                at_break.append(names)
                after = None
            elif statement.op == "continue":
                at_continue.append(names)
                after = None
            if after is None or statement.op == "return":
                return None
            names = after
        return names

    def loop(self, statement: Statement, names: _Names) -> _Names | None:
        """What holds after a loop. Later iterations begin with no less than the first."""
        at_break: list[_Names] = []
        ends: list[_Names] = []
        end = self.block(statement.body, names | frozenset(statement.targets), at_break, ends)
        if statement.op == "loop":
            return _on_all(at_break)
        return _on_all([*at_break, *ends, end, None if _certainly_runs(statement) else names])


def _certainly_runs(loop: Statement) -> bool:
    bounds = [arg for arg in loop.args if isinstance(arg, int)]
    return len(bounds) == len(loop.args) and 0 not in bounds[2:] and len(range(*bounds)) > 0


def _on_all(paths: Sequence[_Names | None]) -> _Names | None:
    """What holds on all paths that there are."""
    taken = [path for path in paths if path is not None]
    return frozenset.intersection(*taken) if taken else None


def check_kinds(function: Function) -> None:
    """Refuse a real where only an integer or a bool can stand."""
    kinds = variable_kinds(function)

    def is_real(operand: Operand) -> bool:
        return (kinds[operand] if isinstance(operand, str) else literal_kind(operand)) == "real"

    for statement in walk(function.body):
        if statement.op == "for" and any(map(is_real, statement.args)):
            raise error_at(
                "range() needs integers: convert with int(...), or annotate the parameter with ': int'",
                function.file,
                statement.line,
            )
        if statement.callee is not None:
            for argument, (name, kind) in zip(statement.args, statement.callee.kinds.items(), strict=True):
                if kind != "real" and is_real(argument):
                    raise error_at(
                        f"parameter '{name}' of '{statement.callee.name}' is annotated {kind}, but gets a real number",
                        function.file,
                        statement.line,
                    )
