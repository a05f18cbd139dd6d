"""Derivatives in tangent mode, which any control flow allows: partials are computed along with the values.

Each real variable `v` that depends on an input `x` gets a companion `v_x`, its partial derivative, computed right after
it. Control flow stays as it is. That needs no tape, so the derivative of a loop runs wherever the loop does, in a CUDA
thread too. It costs a pass of arithmetic for every input (`adjoint` has the mode that does not).
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from .scalar_function import CONTROL, Function, Names, Operand, Statement, variable_kinds, variables, walk
from .scalar_rules import RULES, Partial, Rules


class Tangents:
    """One pass over a function that adds the partial derivatives by the parameters at positions `wrt`.

    Args:
        function: what to differentiate.
        wrt: positions of the parameters to differentiate by.
        jacobian: gives the derivative that stands for a helper that is called, `jacobian(helper, positions)`.
        taken: names that the new body may not bind.
    """

    def __init__(
        self,
        function: Function,
        wrt: Sequence[int],
        jacobian: Callable[[Function, Sequence[int]], Function],
        taken: Iterable[str] = (),
    ) -> None:
        self.function = function
        self.jacobian = jacobian
        self.inputs = [function.parameters[position] for position in wrt]
        self.kinds = variable_kinds(function)
        self.names = Names([*variables(function), *taken])
        self.rules = Rules(self.names, {})
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
        """The inputs that an operand depends on."""
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
        """Emit a block with its tangents."""
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
        """What to return in place of `values`."""
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
    ) -> list[list[Partial]]:
        """Calls the derivative of a helper instead of the helper; gives the partials of each output."""
        callee = statement.callee
        assert callee is not None
        positions[:] = [p for p in positions if callee.kinds[callee.parameters[p]] == "real"]
        derivative = self.jacobian(callee, positions)
        partials = [[self.names("t") for _ in positions] for _ in results]
        targets = (*results, *(name for row in partials for name in row))
        self.rules.statements.append(Statement("call", targets, statement.args, statement.line, callee=derivative))
        return [list(row) for row in partials]
