"""The small language that scalar kernels are made of: statements, and analyses over them.

`lower.lower` turns a plain Python function into a `Function`, `derive.vjp` turns one `Function` into another, and
`scalar_printer.print_module` writes any of them as Python source again, for one dtype and one device. A statement is
an operation on variables and literals (`t1 = exp(x)`), or control flow with nested blocks. Nothing has side effects,
so a statement whose targets are not needed can go, and an expression may be moved to where it is used.

Values have one of four *kinds*: `bool`, `whole` (an integer kept as a real: what `math.floor` gives), `int` (int64),
and `real` (the op's dtype, printed as a cast to `_T`). Literals and ints that meet a real are cast to it, because
`1.0` or `1` left as written would turn a float32 kernel into a float64 one.
"""

from __future__ import annotations

import linecache
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Operand = str | bool | int | float
"""A variable's name, or a literal."""

KINDS = ("bool", "whole", "int", "real")
COMPARISONS = frozenset({"<", "<=", ">", ">=", "==", "!="})
PREDICATES = frozenset({"not", "bool", "isnan", "isinf", "isfinite"})
ROUNDINGS = frozenset({"floor", "ceil", "trunc", "round"})
BITWISE = frozenset({"&", "|", "^", "<<", ">>", "~"})
CONTROL = frozenset({"if", "loop", "for", "break", "continue", "return"})
_SAME_KIND = frozenset({"id", "detach", "max", "min"})
_ARITHMETIC = frozenset({"neg", "abs", "+", "-", "*", "//", "%"})


class DifferentiationError(TypeError):
    """A scalar function cannot be lowered or differentiated. The message says where, why, and what to do."""


def error_at(message: str, file: str, line: int) -> DifferentiationError:
    """Make a `DifferentiationError` that shows the offending line, as a traceback would.

    >>> print(error_at("no such thing", "nowhere.py", 3))
    no such thing
      File "nowhere.py", line 3
    """
    source = linecache.getline(file, line).strip()
    return DifferentiationError(f'{message}\n  File "{file}", line {line}' + (f"\n    {source}" if source else ""))


@dataclass(slots=True, eq=False)
class Statement:
    """One operation. Statements are never changed once they are part of a `Function`.

    `op` is a primitive (`"+"`, `"exp"`, `"id"`; `"detach"` is the identity without a derivative), `"call"` of another
    `Function`, or control flow: `"if"` (args[0] decides between `body` and `orelse`), `"loop"` (`body` for ever), `"for"`
    (targets[0] over range(*args)), `"break"`, `"continue"`, `"return"`.
    """

    op: str
    targets: tuple[str, ...] = ()
    args: tuple[Operand, ...] = ()
    line: int = 0
    body: list[Statement] = field(default_factory=list)
    orelse: list[Statement] = field(default_factory=list)
    callee: Function | None = None


class Function:
    """A scalar function: named parameters with kinds, a body, and `outputs` returned values. Hashable by identity.

    `memo` holds what was derived from it (kinds, vjp, ...): one `Function` gives one vjp, however often it is asked.
    `partials` holds derivatives that were declared instead of derived: for a parameter, one function for each output,
    of all parameters and then all results. While it is `declarable` more of them may come, so calls keep it whole.
    `cached` says whether what is compiled from it may be kept on disk.
    """

    __slots__ = (
        "__weakref__", "body", "cached", "declarable", "file", "kinds", "memo", "name", "outputs", "parameters", "partials",
    )  # fmt: skip

    def __init__(
        self,
        name: str,
        parameters: Sequence[str],
        body: list[Statement],
        outputs: int,
        kinds: Mapping[str, str] | None = None,
        file: str = "<derived>",
        cached: bool = True,
    ) -> None:
        self.name = name
        self.parameters = tuple(parameters)
        self.body = body
        self.outputs = outputs
        self.kinds = {name: (kinds or {}).get(name, "real") for name in self.parameters}
        self.file = file
        self.cached = cached
        self.declarable = False
        self.partials: dict[str, tuple[Function, ...]] = {}
        self.memo: dict[Any, Any] = {}

    def variant(self, name: str, parameters: Sequence[str], body: list[Statement], outputs: int) -> Function:
        """A function made from this one: kinds of parameters, file and caching stay."""
        return Function(name, parameters, body, outputs, self.kinds, self.file, self.cached)

    def returns_parameter(self, name: str) -> bool:
        """Whether the function is the identity in one parameter: it only returns it, unchanged."""
        body = self.body
        return len(body) == 1 and body[0].op == "return" and body[0].args == (name,) and self.outputs == 1

    def __repr__(self) -> str:
        return f"<scalar function {self.name}({', '.join(self.parameters)}) -> {self.outputs}>"


class Opaque(Function):
    """A compiled function of reals that is called and never looked into; its derivatives are declared.

    `spelling` is how a text calls it: `math.fmod`, or a name to which whoever loads the text binds `implementation`.
    `declare` sets `partials`, when a function that calls this one is lowered: they may call functions registered later.
    """

    __slots__ = ("_declare", "implementation", "spelling")

    def __init__(
        self,
        name: str,
        parameters: Sequence[str],
        spelling: str,
        implementation: Callable[..., Any],
        declare: Callable[[Opaque], None],
    ) -> None:
        in_math = spelling.startswith("math.")  # only these are the same in every process
        super().__init__(name, parameters, [], 1, cached=in_math)
        self.spelling = spelling
        self.implementation = implementation
        self._declare: Callable[[Opaque], None] | None = declare
        self.memo |= {"live": self, "reads": self.parameters, "output_kinds": ("real",)}  # there is no body to ask

    def settle(self) -> None:
        """See that the derivatives are there, or being made by a caller."""
        declare, self._declare = self._declare, None
        if declare is not None:
            try:
                declare(self)
            except BaseException:
                self._declare = declare
                raise


class Names:
    """Fresh variable names: `Names(taken)("t")` is `"t"`, then `"t1"`, `"t2"`, ..., skipping those taken."""

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken = set(taken)
        self._next: Counter[str] = Counter()

    def __call__(self, base: str) -> str:
        """A name like `base` that was not given before."""
        name = base
        while name in self._taken:
            self._next[base] += 1
            name = f"{base}{self._next[base]}"
        self._taken.add(name)
        return name


def walk(body: Iterable[Statement]) -> Iterator[Statement]:
    """Every statement of a block and of the blocks nested in it, in source order."""
    pending = [iter(body)]  # not recursive: `yield from` would pass each statement up through every level
    while pending:
        for statement in pending[-1]:
            yield statement
            if statement.body or statement.orelse:
                pending += (iter(statement.orelse), iter(statement.body))
                break
        else:
            pending.pop()


def variables(function: Function) -> set[str]:
    """Every name a function binds."""
    return set(function.parameters).union(*(statement.targets for statement in walk(function.body)))


def variable_names(args: Iterable[Operand]) -> set[str]:
    """The variables among operands."""
    return {arg for arg in args if isinstance(arg, str)}


def falls_through(body: Sequence[Statement]) -> bool:
    """Whether control can reach the end of a block."""
    for statement in body:
        if statement.op in ("return", "break", "continue"):
            return False
        if statement.op == "if" and not (falls_through(statement.body) or falls_through(statement.orelse)):
            return False
        if statement.op == "loop" and not breaks(statement.body):
            return False
    return True


def breaks(body: Sequence[Statement]) -> bool:
    """Whether a block leaves the loop it is in; inner loops keep their own breaks."""
    return any(s.op == "break" or (s.op == "if" and (breaks(s.body) or breaks(s.orelse))) for s in body)


def reachable(body: Sequence[Statement]) -> Sequence[Statement]:
    """A block without what comes after a statement that never lets control past."""
    for position, statement in enumerate(body):
        if not falls_through((statement,)):
            return body[: position + 1]
    return body


def join(kinds: Iterable[str]) -> str:
    """The kind that holds values of all the kinds given; kinds only climb, bool < whole < int < real."""
    return max(kinds, key=KINDS.index, default="bool")


def literal_kind(value: bool | int | float) -> str:
    """The kind of a literal as written: the same as its Python type."""
    return "bool" if isinstance(value, bool) else "int" if isinstance(value, int) else "real"


def result_kinds(statement: Statement, kind: Callable[[Operand], str]) -> tuple[str, ...]:
    """The kinds of what a statement computes, from the kinds of its operands."""
    op, args = statement.op, statement.args
    if statement.callee is not None:
        return output_kinds(statement.callee)
    if op in COMPARISONS or op in PREDICATES:
        return ("bool",)
    if op == "int" or op == "for":
        return ("int",)
    common = join(map(kind, args))
    if op in ROUNDINGS:
        return ("whole" if common in ("real", "whole") else "int",)
    if op in _SAME_KIND or (op in ("neg", "abs") and common == "whole"):
        return (common,)
    if op in BITWISE:
        logical = common == "bool" and op in ("&", "|", "^")
        return ("bool" if logical else join((common, "int")),)
    if op in _ARITHMETIC or (op == "**" and _is_natural(args[1])):
        return (join((common, "int")),)
    return ("real",)


def _is_natural(value: Operand) -> bool:
    return isinstance(value, int) and value >= 0


def variable_kinds(function: Function) -> dict[str, str]:
    """The kind of every variable: the join over all its assignments, by iteration to a fixed point."""
    if "variable_kinds" not in function.memo:
        known = dict(function.kinds)

        def kind(operand: Operand) -> str:
            return known.get(operand, "bool") if isinstance(operand, str) else literal_kind(operand)

        assignments = [statement for statement in walk(function.body) if statement.targets]
        changed = True
        while changed:
            changed = False
            for statement in assignments:
                for target, result in zip(statement.targets, result_kinds(statement, kind), strict=True):
                    climbed = join((known.get(target, "bool"), result))
                    changed |= known.get(target) != climbed
                    known[target] = climbed
        for statement in walk(function.body):
            for name in variable_names(statement.args):
                known.setdefault(name, "real")  # read where no assignment reaches: an error when that line runs
        function.memo["variable_kinds"] = known
    kinds: dict[str, str] = function.memo["variable_kinds"]
    return kinds


def output_kinds(function: Function) -> tuple[str, ...]:
    """The kind of each returned value: the join over all return statements."""
    if "output_kinds" not in function.memo:
        known = variable_kinds(function)
        returns = [statement.args for statement in walk(function.body) if statement.op == "return"]
        function.memo["output_kinds"] = tuple(
            join(known[arg] if isinstance(arg, str) else literal_kind(arg) for arg in column)
            for column in zip(*returns, strict=True)
        )
    kinds: tuple[str, ...] = function.memo["output_kinds"]
    return kinds


class _DeadCode:
    """Backward liveness over structured code; rebuilds blocks with only the statements that matter."""

    def block(
        self, body: Sequence[Statement], live: set[str], at_break: set[str], at_continue: set[str]
    ) -> tuple[list[Statement], set[str]]:
        """The needed part of a block, and what is live before it, given what is live after it and at its exits."""
        kept: list[Statement] = []
        for statement in reversed(reachable(body)):
            if statement.op == "return":
                kept, live = [statement], variable_names(statement.args)
            elif statement.op == "break":
                kept, live = [statement], set(at_break)
            elif statement.op == "continue":
                kept, live = [statement], set(at_continue)
            else:
                shorter, live = self.statement(statement, live, at_break, at_continue)
                if shorter is not None:
                    kept.append(shorter)
        return kept[::-1], live

    def statement(
        self, statement: Statement, live: set[str], at_break: set[str], at_continue: set[str]
    ) -> tuple[Statement | None, set[str]]:
        """One statement, or None if nothing needs it, and what is live before it."""
        if statement.op == "if":
            body, live_body = self.block(statement.body, live, at_break, at_continue)
            orelse, live_orelse = self.block(statement.orelse, live, at_break, at_continue)
            if not body and not orelse:
                return None, live
            return _with(statement, body=body, orelse=orelse), live_body | live_orelse | variable_names(statement.args)
        if statement.op in ("loop", "for"):
            return self.loop(statement, live)
        needed = tuple(index for index, target in enumerate(statement.targets) if target in live)
        if not needed:
            return None, live
        if statement.callee is not None:
            statement = _narrow_call(statement, needed)
        return statement, (live - set(statement.targets)) | variable_names(statement.args)

    def loop(self, loop: Statement, live: set[str]) -> tuple[Statement | None, set[str]]:
        inner = list(walk(loop.body))
        changed = set(loop.targets).union(*(statement.targets for statement in inner))
        if not changed & live and not any(statement.op == "return" for statement in inner):
            return None, live
        head = set(live) if loop.op == "for" else set()  # only a `for` may run zero times
        while True:  # what one iteration needs, the one before it must provide
            body, needed = self.block(loop.body, head, live, head)
            grown = head | (needed - set(loop.targets))
            if grown == head:
                return _with(loop, body=body), head | variable_names(loop.args)
            head = grown


def _with(statement: Statement, body: list[Statement], orelse: list[Statement] | None = None) -> Statement:
    return Statement(statement.op, statement.targets, statement.args, statement.line, body, orelse or [])


def _narrow_call(statement: Statement, needed: tuple[int, ...]) -> Statement:
    """The same call of a callee that computes only the needed outputs and takes only what those read."""
    callee = statement.callee
    assert callee is not None
    if callee.partials or callee.declarable:  # for all its outputs
        return statement
    narrow = narrowed(callee, needed)
    by_name = dict(zip(callee.parameters, statement.args, strict=True))
    targets = tuple(statement.targets[index] for index in needed)
    return Statement("call", targets, tuple(by_name[name] for name in narrow.parameters), statement.line, callee=narrow)


def without_dead_code(function: Function) -> Function:
    """The same function without statements that no returned value depends on (calls are narrowed, too)."""
    if "live" not in function.memo:
        body, live = _DeadCode().block(function.body, set(), set(), set())
        clean = function.variant(function.name, function.parameters, body, function.outputs)
        clean.memo["live"] = clean
        clean.memo["reads"] = tuple(name for name in function.parameters if name in live)
        function.memo["live"] = clean
    clean = function.memo["live"]
    return clean


def reads(function: Function) -> tuple[str, ...]:
    """The parameters that the outputs really depend on, in order: what a graph must save to call it later."""
    names: tuple[str, ...] = without_dead_code(function).memo["reads"]
    return names


def pruned(function: Function, parameters: Sequence[str]) -> Function:
    """The same function without dead code, taking exactly `parameters`, in that order.

    Raises:
        ValueError: `parameters` misses one that the function reads.
    """
    parameters = tuple(parameters)
    key = ("pruned", parameters)
    if key not in function.memo:
        missing = [name for name in reads(function) if name not in parameters]
        if missing:
            raise ValueError(f"{function.name} reads {', '.join(missing)}, which the new parameters lack")
        clean = without_dead_code(function)
        if parameters != clean.parameters:
            clean = function.variant(function.name, parameters, clean.body, function.outputs)
        function.memo[key] = clean
    result: Function = function.memo[key]
    return result


def narrowed(function: Function, outputs: tuple[int, ...]) -> Function:
    """The function that returns only the outputs with the given positions and takes only what those read."""
    key = ("narrowed", outputs)
    if key not in function.memo:
        narrow = function
        if outputs != tuple(range(function.outputs)):
            body = _narrowed_returns(function.body, outputs)
            narrow = function.variant(function.name, function.parameters, body, len(outputs))
        function.memo[key] = pruned(narrow, reads(narrow))
    result: Function = function.memo[key]
    return result


def _narrowed_returns(body: list[Statement], outputs: tuple[int, ...]) -> list[Statement]:
    result = []
    for statement in body:
        if statement.op == "return":
            statement = Statement("return", (), tuple(statement.args[k] for k in outputs), statement.line)
        elif statement.op in CONTROL:
            inner, orelse = (_narrowed_returns(block, outputs) for block in (statement.body, statement.orelse))
            statement = _with(statement, inner, orelse)
        result.append(statement)
    return result


def callees(function: Function) -> Iterator[Function]:
    """The functions that a function calls directly."""
    for statement in walk(function.body):
        if statement.callee is not None:
            yield statement.callee


def settle(functions: Iterable[Function]) -> None:
    """Derivatives are being taken: none may be declared any more of these functions and of what they call."""
    seen: set[Function] = set()
    waiting = list(functions)
    while waiting:
        function = waiting.pop()
        if function not in seen:
            seen.add(function)
            function.declarable = False
            waiting.extend(callees(function))
            waiting.extend(partial for partials in function.partials.values() for partial in partials)


def closure(
    functions: Iterable[Function], also: Callable[[Function], Iterable[Function]] = lambda function: ()
) -> dict[Function, None]:
    """Functions and all that they call, callees first; `also` gives what else a function needs."""
    found: dict[Function, None] = {}

    def visit(function: Function) -> None:
        if function not in found:
            for callee in (*callees(function), *also(function)):
                visit(callee)
            found[function] = None

    for function in functions:
        visit(function)
    return found


def is_cacheable(function: Function) -> bool:
    """Whether the text of a function says all of it, in every process: no part is bound to a compiled object."""
    return all(part.cached for part in closure([function]))


def bindings(function: Function) -> dict[str, Callable[..., Any]]:
    """What the names that a function's text leaves open stand for: the opaque functions it calls."""
    opaque = [part for part in closure([function]) if isinstance(part, Opaque)]
    return {part.spelling: part.implementation for part in opaque if not part.cached}
