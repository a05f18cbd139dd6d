"""Writes scalar functions as Python source, for one dtype and one device.

The text goes into a generated module, after a header that defines what the `Dialect` names. It is meant to be read:
single-use temporaries become subexpressions, two-sided assignments conditional expressions, guarded loops `while`s.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .lower import lower
from .scalar_function import (
    BITWISE,
    COMPARISONS,
    CONTROL,
    PREDICATES,
    ROUNDINGS,
    Function,
    Names,
    Opaque,
    Operand,
    Statement,
    bindings,
    closure,
    error_at,
    join,
    literal_kind,
    output_kinds,
    result_kinds,
    variable_kinds,
    variable_names,
    variables,
    walk,
)
from .special_functions import PORTABLE


@dataclass(frozen=True)
class Dialect:
    """How source is spelled for one device.

    The file that the text goes into defines the decorator, the cast, and every name in `functions`, and imports `math`.

    Args:
        name: For messages and cache names, such as `"cpu"`.
        decorator: Written above each `def`, such as `"@_jit"`; may be empty.
        cast: The name that casts a value to the op's dtype, such as `"_T"`.
        functions: Spelling of primitives, such as `{"exp": "_exp"}`; what is missing is spelled `math.exp`, or printed
            as a helper where `math` lacks it. `floor`, `ceil`, `trunc` and `round` given here must return the dtype of
            their argument. `pow` is `a ** b` with a real exponent.
        reserved: Other names of the file, under which no function or variable may be printed.
    """

    name: str
    decorator: str = "@_jit"
    cast: str = "_T"
    functions: Mapping[str, str] = field(default_factory=dict)
    reserved: frozenset[str] = frozenset()

    @property
    def names(self) -> frozenset[str]:
        """Every name that means something in the file."""
        return self.reserved | {self.cast, self.decorator.lstrip("@"), *self.functions.values()}


PYTHON = Dialect("python", decorator="")
"""Plain Python, for tests and reference values: `_T` is `float`."""

_BUILTINS = frozenset({"abs", "bool", "float", "int", "math", "range", "round"})
_CONDITIONAL, _OR, _AND, _NOT, _COMPARE, _UNARY, _POWER, _ATOM = 0, 1, 2, 3, 4, 11, 12, 13
_LEVELS = {"|": 5, "^": 6, "&": 7, "<<": 8, ">>": 8, "+": 9, "-": 9, "*": 10, "/": 10, "//": 10, "%": 10}
_LONGEST = 96
_LONGEST_TUPLE = 30  # Python makes longer ones from lists, which Numba follows only if no item has a branch in it
_INDENT = "    "


@dataclass(frozen=True, slots=True)
class _Text:
    """An expression's source, how tightly its outermost operator binds, and the variables it reads."""

    text: str
    level: int
    names: frozenset[str]

    def at(self, level: int) -> str:
        """The source, in parentheses if it binds less tightly than `level`."""
        return self.text if self.level >= level else f"({self.text})"


@dataclass(frozen=True, slots=True)
class _Assign:
    target: str
    value: _Text


@dataclass(frozen=True, slots=True)
class _Guard:
    """`if not condition: break`, which becomes a `while` header when it comes first in a loop."""

    condition: _Text


_Item = str | _Assign | _Guard


class _Printer:
    """Writes one function. Temporaries that are used once, in the block that makes them, become subexpressions."""

    def __init__(self, function: Function, dtype: str, dialect: Dialect, names: Mapping[Function, str]) -> None:
        reserved = _BUILTINS | dialect.names | set(names.values())
        self.name, self.function = names[function], _without_clashes(function, reserved)
        self.dialect, self.names = dialect, names
        self.integral = dtype == "bool" or dtype.startswith(("int", "uint"))
        self.bare_floats = dtype == "float64"
        self.kinds = variable_kinds(self.function)
        self.pending: dict[str, _Text] = {}
        self.single_use = self._single_use()

    def _single_use(self) -> set[str]:
        uses: Counter[str] = Counter()
        definitions: Counter[str] = Counter(self.function.parameters)
        for statement in walk(self.function.body):
            uses.update(arg for arg in statement.args if isinstance(arg, str))
            definitions.update(statement.targets)
            definitions.subtract(
                _settled(statement.body) & _settled(statement.orelse)
            )  # a conditional expression is one definition
        return {name for name, count in uses.items() if count == 1 and definitions[name] == 1}

    def source(self) -> str:
        header = f"def {self.name}({', '.join(self.function.parameters)}):"
        decorator = [self.dialect.decorator] if self.dialect.decorator else []
        lines = _lines(self.block(self.function.body))
        return "\n".join([*decorator, header, *(_INDENT + line for line in lines)]) + "\n"

    # -- statements

    def block(self, body: Sequence[Statement]) -> list[_Item]:
        outer, self.pending = self.pending, {}
        items: list[_Item] = []
        used_later = variable_names(arg for statement in body for arg in statement.args)
        for statement in body:
            used_later -= self.single_use & variable_names(statement.args)
            self.statement(statement, items, used_later)
        self.materialise(items, list(self.pending))
        self.pending = outer
        return items

    def statement(self, statement: Statement, items: list[_Item], used_later: set[str]) -> None:
        op = statement.op
        if op == "if":
            self.conditional(statement, items, used_later)
        elif op == "loop":
            self.materialise_overwritten(items, statement)
            body = self.block(statement.body)
            header = "while True:"
            if body and isinstance(body[0], _Guard):
                header = f"while {body.pop(0).condition.text}:"  # type: ignore[union-attr]
            items.extend([header, *_indented(body)])
        elif op == "for":
            self.materialise_overwritten(items, statement)
            bounds = ", ".join(self.operand(arg, "int").text for arg in statement.args)
            header = f"for {statement.targets[0]} in range({bounds}):"
            items.extend([header, *_indented(self.block(statement.body))])
        elif op == "return":
            if len(statement.args) > _LONGEST_TUPLE:
                self.materialise(items, [arg for arg in statement.args if isinstance(arg, str) and arg in self.pending])
            wanted = output_kinds(self.function)
            values = [self.operand(arg, kind).at(0) for arg, kind in zip(statement.args, wanted, strict=True)]
            items.append(f"return {', '.join(values)}")
        elif op in CONTROL:
            items.append(op)
        elif len(statement.targets) != 1:
            value = self.call(statement)
            self.materialise_overwritten(items, statement)
            items.append(f"{', '.join(statement.targets)} = {value.text}")
        else:
            self.assign(statement.targets[0], self.value(statement, items), items, used_later)

    def assign(self, target: str, value: _Text, items: list[_Item], used_later: set[str]) -> None:
        if target in self.single_use and target in used_later and len(value.text) <= _LONGEST:
            self.pending[target] = value
            return
        if value.text == target:  # a parameter detached
            return
        overwritten = [name for name, text in self.pending.items() if target in text.names]
        self.materialise(items, overwritten)
        items.append(_Assign(target, value))

    def conditional(self, statement: Statement, items: list[_Item], used_later: set[str]) -> None:
        condition = self.operand(statement.args[0], "bool")
        body, orelse = self.block(statement.body), self.block(statement.orelse)
        choices = _choices(condition, body, orelse)
        if choices is not None:
            for target, value in choices:
                self.assign(target, value, items, used_later)
            return
        self.materialise_overwritten(items, statement)
        if not body and orelse == ["break"]:
            items.append(_Guard(condition))
            return
        if body:
            items.extend([f"if {condition.text}:", *_indented(body)])
        else:
            items.extend([f"if not {condition.at(_COMPARE)}:", *_indented(orelse)])
            return
        if len(statement.orelse) == 1 and statement.orelse[0].op == "if" and str(orelse[0]).startswith("if "):
            items.extend(["el" + str(orelse[0]), *orelse[1:]])
        elif orelse:
            items.extend(["else:", *_indented(orelse)])

    def materialise(self, items: list[_Item], names: Sequence[str]) -> None:
        """Give held-back expressions a line of their own after all."""
        for name in names:
            items.append(_Assign(name, self.pending.pop(name)))

    def materialise_overwritten(self, items: list[_Item], statement: Statement) -> None:
        changed = {name for inner in walk([statement]) for name in inner.targets}
        self.materialise(items, [name for name, text in self.pending.items() if text.names & changed])

    # -- expressions

    def kind(self, operand: Operand) -> str:
        return self.kinds[operand] if isinstance(operand, str) else literal_kind(operand)

    def operand(self, operand: Operand, wanted: str) -> _Text:
        """An operand, converted to the kind that its use wants."""
        if not isinstance(operand, str):
            return self.literal(operand, wanted)
        text = self.pending.pop(operand, None)
        if text is None:
            text = _Text(operand, _ATOM, frozenset({operand}))
        return self.converted(text, self.kind(operand), wanted)

    def converted(self, text: _Text, kind: str, wanted: str) -> _Text:
        if wanted in ("real", "whole") and kind in ("bool", "int") and not self.integral:
            return _Text(f"{self.dialect.cast}({text.text})", _ATOM, text.names)
        if wanted == "int" and kind in ("whole", "bool"):
            return _Text(f"int({text.text})", _ATOM, text.names)
        return text

    def literal(self, value: bool | int | float, wanted: str) -> _Text:
        if wanted in ("bool", "int") and isinstance(value, int):
            text = repr(int(value) if wanted == "int" else value)
        elif self.integral and math.isfinite(value):
            text = repr(int(value)) if value == int(value) else repr(float(value))
        else:
            value = float(value)
            text = spelled(value)
            if not (self.bare_floats or self.integral):
                return _Text(f"{self.dialect.cast}({text})", _ATOM, frozenset())
        return _Text(text, _UNARY if text.startswith("-") else _ATOM, frozenset())

    def value(self, statement: Statement, items: list[_Item]) -> _Text:
        """The right-hand side of an assignment, converted to the kind of its target."""
        target_kind = self.kinds[statement.targets[0]]
        if statement.op == "id":
            return self.operand(statement.args[0], target_kind)
        if statement.callee is not None:
            return self.converted(self.call(statement), output_kinds(statement.callee)[0], target_kind)
        (kind,) = result_kinds(statement, self.kind)
        return self.converted(self.expression(statement, kind, items), kind, target_kind)

    def call(self, statement: Statement) -> _Text:
        callee = statement.callee
        assert callee is not None
        wanted = (callee.kinds[name] for name in callee.parameters)
        text = self.applied(
            self.names[callee], [self.operand(a, k) for a, k in zip(statement.args, wanted, strict=True)]
        )
        if isinstance(callee, Opaque):  # compiled apart, it may answer in another dtype
            return _Text(f"{self.dialect.cast}({text.text})", _ATOM, text.names)
        return text

    def applied(self, function: str, args: Sequence[_Text]) -> _Text:
        return _Text(f"{function}({', '.join(arg.text for arg in args)})", _ATOM, _all_names(args))

    def expression(self, statement: Statement, kind: str, items: list[_Item]) -> _Text:
        op, args = statement.op, statement.args
        wanted = self.operand_kind(statement, kind)
        if op in ("max", "min"):
            return self.extremum(op, args, wanted, items)
        if op == "**":
            return self.power(args, wanted)
        if op in BITWISE and kind == "real" and not self.integral:
            raise error_at(
                f"'{op}' needs integers or booleans, and this kernel computes with real numbers",
                self.function.file,
                statement.line,
            )
        texts = [self.operand(arg, wanted) for arg in args]
        names = _all_names(texts)
        if op in ("float", "detach") or (op == "int" and wanted == "int"):  # the operand was converted
            return texts[0]
        if op in ROUNDINGS:
            return self.rounding(op, texts[0], kind)
        if op == "neg" or op == "~":
            sign = "-" if op == "neg" else "~"
            return _Text(sign + texts[0].at(_POWER), _UNARY, names)
        if op == "not":
            return _Text(f"not {texts[0].at(_NOT)}", _NOT, names)
        if op == "bool":
            zero = self.literal(0, wanted).text
            return texts[0] if wanted == "bool" else _Text(f"{texts[0].at(_COMPARE + 1)} != {zero}", _COMPARE, names)
        if op in COMPARISONS or op in _LEVELS:
            level = _LEVELS.get(op, _COMPARE)
            left = level + 1 if op in COMPARISONS else level  # a < b < c would be a chain
            return _Text(f"{texts[0].at(left)} {op} {texts[1].at(level + 1)}", level, names)
        return self.applied(self.spelled(op), texts)

    def spelled(self, op: str) -> str:
        """The name of a function."""
        if op in self.dialect.functions:
            return self.dialect.functions[op]
        if op in PORTABLE:
            return self.names[lower(PORTABLE[op])]
        return op if op in _BUILTINS else f"math.{op}"

    def operand_kind(self, statement: Statement, kind: str) -> str:
        op = statement.op
        if op in COMPARISONS:
            common = join(map(self.kind, statement.args))
            mixed = any(self.kind(arg) == "whole" for arg in statement.args)
            return "real" if mixed or common == "real" else common
        if op in PREDICATES:
            return "real" if op.startswith("is") else join(map(self.kind, statement.args))
        if op == "int":
            return "real" if self.kind(statement.args[0]) in ("real", "whole") else "int"
        return "real" if kind == "whole" else kind

    def extremum(self, op: str, args: Sequence[Operand], wanted: str, items: list[_Item]) -> _Text:
        """max(a, b) as Python defines it, NaN included; the builtin of a compiler may answer otherwise."""
        self.materialise(items, [arg for arg in args if isinstance(arg, str) and arg in self.pending])
        first, second = (self.operand(arg, wanted) for arg in args)
        sign = ">" if op == "max" else "<"
        test = _Text(f"{second.at(_UNARY)} {sign} {first.at(_UNARY)}", _COMPARE, _all_names((first, second)))
        return _conditional(test, second, first)

    def power(self, args: Sequence[Operand], wanted: str) -> _Text:
        base, exponent = self.operand(args[0], wanted), args[1]
        if isinstance(exponent, int):  # stays a literal int: repeated multiplication in the base's own dtype
            return _Text(f"{base.at(_ATOM)} ** {int(exponent)}", _POWER, base.names)
        spelled = self.operand(exponent, wanted)
        if "pow" in self.dialect.functions and wanted == "real":
            return self.applied(self.dialect.functions["pow"], (base, spelled))
        return _Text(f"{base.at(_ATOM)} ** {spelled.at(_UNARY)}", _POWER, base.names | spelled.names)

    def rounding(self, op: str, text: _Text, kind: str) -> _Text:
        if kind == "int":
            return text
        if op in self.dialect.functions:
            return self.applied(self.dialect.functions[op], (text,))
        plain = self.applied("round" if op == "round" else f"math.{op}", (text,))  # gives an int
        return self.converted(plain, "int", "real")


def _without_clashes(function: Function, reserved: frozenset[str]) -> Function:
    """The function with variables renamed that would hide a function or builtin its text uses."""
    taken = variables(function)
    clashes = sorted(taken & reserved)
    if not clashes:
        return function
    fresh = Names(taken | reserved)
    new_names = {name: fresh(name) for name in clashes}

    def rename(name: Operand) -> Any:
        return new_names.get(name, name) if isinstance(name, str) else name

    def renamed(body: list[Statement]) -> list[Statement]:
        return [
            Statement(s.op, tuple(map(rename, s.targets)), tuple(map(rename, s.args)), s.line, renamed(s.body),
                      renamed(s.orelse), s.callee)
            for s in body
        ]  # fmt: skip

    kinds = {rename(name): kind for name, kind in function.kinds.items()}
    parameters = [rename(name) for name in function.parameters]
    return Function(function.name, parameters, renamed(function.body), function.outputs, kinds, function.file)


def _all_names(texts: Iterable[_Text]) -> frozenset[str]:
    return frozenset().union(*(text.names for text in texts))


def spelled(value: bool | int | float) -> str:
    """A number as source text that needs no more than `math`."""
    if math.isfinite(value):
        return repr(value)
    return "math.nan" if math.isnan(value) else "math.inf" if value > 0 else "-math.inf"


def _settled(body: Sequence[Statement]) -> set[str]:
    """What a block assigns whichever way it goes."""
    names: set[str] = set()
    for statement in body:
        names.update(statement.targets if statement.op not in CONTROL else ())
        names.update(_settled(statement.body) & _settled(statement.orelse) if statement.op == "if" else ())
    return names


def _choices(condition: _Text, body: Sequence[_Item], orelse: Sequence[_Item]) -> list[tuple[str, _Text]] | None:
    """An `if` as conditional expressions, where both sides assign the same few variables and that reads well."""
    first, second = _assignments(body), _assignments(orelse)
    if first is None or second is None or first.keys() != second.keys() or not first:
        return None
    read = condition.names.union(*(text.names for text in (*first.values(), *second.values())))
    if len(first) > 1 and (read & first.keys() or len(condition.text) > _LONGEST // 4):
        return None  # one assignment would change what the next one reads
    for name, text in first.items():
        if text.level == _CONDITIONAL or len(text.text) + len(second[name].text) > _LONGEST:
            return None
    return [(name, _conditional(condition, text, second[name])) for name, text in first.items()]


def _assignments(items: Sequence[_Item]) -> dict[str, _Text] | None:
    """A block of assignments to different variables; None for any other block."""
    found = {item.target: item.value for item in items if isinstance(item, _Assign)}
    return found if len(found) == len(items) else None


def _conditional(condition: _Text, body: _Text, orelse: _Text) -> _Text:
    names = condition.names | body.names | orelse.names
    if orelse.text == "False":
        return _Text(f"{condition.at(_AND)} and {body.at(_NOT)}", _AND, names)
    if body.text == "True":
        return _Text(f"{condition.at(_OR)} or {orelse.at(_AND)}", _OR, names)
    return _Text(f"{body.at(_OR)} if {condition.at(_OR)} else {orelse.at(_CONDITIONAL)}", _CONDITIONAL, names)


def _lines(items: Sequence[_Item]) -> list[str]:
    lines: list[str] = []
    for item in items:
        if isinstance(item, _Assign):
            lines.append(f"{item.target} = {item.value.text}")
        elif isinstance(item, _Guard):
            lines.extend([f"if not {item.condition.at(_COMPARE)}:", _INDENT + "break"])
        else:
            lines.append(item)
    return lines or ["pass"]


def _indented(items: Sequence[_Item]) -> list[str]:
    return [_INDENT + line for line in _lines(items)]


def _portable(function: Function, dialect: Dialect) -> Iterator[Function]:
    """The special functions that a function calls, and that the dialect has no name for."""
    for statement in walk(function.body):
        if statement.op in PORTABLE and statement.op not in dialect.functions:
            yield lower(PORTABLE[statement.op])


def print_module(functions: Sequence[Function], dtype: str, dialect: Dialect) -> tuple[str, dict[Function, str]]:
    """Source text of functions and the helpers they call, and the printed name of each.

    The text has no imports: the caller puts a header before it that imports `math` and defines what `dialect` names.
    The same functions give the same text in every process, so that a cache may be named by its hash.

    Raises:
        DifferentiationError: Bitwise operators on reals, and `dtype` is not an integer type.
    """
    parts = closure(functions, lambda part: _portable(part, dialect))
    names: dict[Function, str] = {part: part.spelling for part in parts if isinstance(part, Opaque)}
    fresh = Names(_BUILTINS | dialect.names | set(names.values()))
    printed = [part for part in parts if part not in names]
    names |= {part: fresh(part.name) for part in printed}
    text = "\n\n".join(_Printer(part, dtype, dialect, names).source() for part in printed)
    return text, names


def as_python(function: Function) -> Callable[..., Any]:
    """The function as plain Python on floats, for tests and reference values.

    It raises where Python does (`1.0 / 0.0`, `math.log(-1.0)`), and its text is in its `__doc__`.
    """
    if "python" not in function.memo:
        text, names = print_module([function], "float64", PYTHON)
        namespace: dict[str, Any] = {"math": math, "_T": float, **bindings(function)}
        exec(compile(text, f"<{function.name}>", "exec"), namespace)
        result = namespace[names[function]]
        result.__doc__ = text
        function.memo["python"] = result
    compiled: Callable[..., Any] = function.memo["python"]
    return compiled
