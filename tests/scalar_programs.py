"""Random scalar programs.

`random_program(rng)` writes a plain Python function in the language that `numgrad.kernels.lower` accepts, with helpers.
`Program.run` calls it on floats, `Program.differentiate` on `Taylor` numbers: the very same text, executed by Python, with
values, gradients and Hessians by the chain rule, and bounds of what rounding can do to them.
"""

from __future__ import annotations

import itertools
import linecache
import math
import random
from collections.abc import Callable, Sequence
from typing import Any

import numba
import numpy as np
from taylor import TAYLOR_NAMES, Taylor

from numgrad.kernels.scalar_ir import Dialect, Function, print_module

_serial = itertools.count()


def defined(source: str, name: str, scope: dict[str, Any]) -> Any:
    """Define a function from text, with its lines where tracebacks look for them."""
    file = f"<{name} {next(_serial)}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    exec(compile(source, file, "exec"), scope)
    return scope[name]


def compiled(function: Function, dtype: Any) -> Any:
    """A scalar function as an njit function, with `math` as Numba has it."""
    text, names = print_module([function], np.dtype(dtype).name, Dialect("test"))
    namespace = {"math": math, "_T": dtype, "_jit": numba.njit(error_model="numpy")}
    exec(text, namespace)
    return namespace[names[function]]


class Helper:
    """A helper's name and how it may be called."""

    def __init__(self, name: str, parameters: str, outputs: int = 1) -> None:
        self.name, self.parameters, self.outputs = name, parameters, outputs


class Writer:
    """Writes one function: statements and expressions of the three types, drawn at random.

    Expressions are real, int or bool; integers stay small (products are taken modulo something), names are read only
    where they are bound on every path.
    """

    def __init__(self, rng: random.Random, helpers: Sequence[Helper], outputs: int) -> None:
        self.rng, self.helpers, self.outputs = rng, helpers, outputs
        self.names: dict[str, list[str]] = {"real": [], "int": [], "bool": []}
        self.lines: list[str] = []
        self.fresh = itertools.count()

    def function(self, name: str, parameters: str, statements: int = 5) -> str:
        """The text of a whole function; `parameters` as in a `def`, annotated `int` or `bool` where they are that."""
        for part in parameters.split(", "):
            words = part.replace("=", " ").split()
            if words[0] != "*":
                kind = words[1] if words[0].endswith(":") else "real"
                self.names[kind].append(words[0].rstrip(":"))
        self.lines = [f"def {name}({parameters}):"]
        self.block(1, statements, loop=False)
        self.returned(1)
        return "\n".join(self.lines) + "\n"

    # -- expressions

    def pick(self, forms: Sequence[tuple[float, Callable[[], str]]]) -> str:
        return self.rng.choices([form for _, form in forms], [weight for weight, _ in forms])[0]()

    def real(self, depth: int = 0) -> str:
        rng = self.rng
        if depth > 2 or rng.random() < 0.3:
            return rng.choice(self.names["real"])
        sub = lambda: self.real(depth + 1)
        whole = lambda: self.integer(depth + 1)
        test = lambda: self.condition(depth + 1)
        forms: list[tuple[float, Callable[[], str]]] = [
            (4, lambda: f"{rng.uniform(-2, 2):.3f}"),
            (4, lambda: f"({rng.choice(self.names['real'])} {rng.choice('+-*')} {rng.randint(1, 3)})"),
            (26, lambda: f"({sub()} {rng.choice('+-*')} {sub()})"),
            (4, lambda: f"({whole()} * {sub()})"),
            (10, lambda: f"math.{rng.choice(['sin', 'cos', 'tanh', 'atan'])}({sub()})"),
            (2, lambda: f"math.exp(-abs({sub()}))"),
            (2, lambda: f"math.sqrt(1.0 + {sub()} ** 2)"),
            (2, lambda: f"math.log1p({sub()} ** 2)"),
            (1, lambda: f"math.hypot({sub()}, 1.5)"),
            (1, lambda: f"math.copysign({sub()}, {sub()})"),
            (4, lambda: f"({sub()} / (1.5 + ({sub()}) ** 2))"),
            (1, lambda: f"({rng.choice([1, 1.0, 3])} / (1 + {sub()} ** 2))"),
            (1, lambda: f"(0.5 + math.tanh({sub()}) ** 2) ** math.sin({sub()})"),
            (1, lambda: f"math.tanh({sub()}) ** {rng.choice([0, 1, 2, 3])}"),
            (5, lambda: f"({sub()} if {test()} else {sub()})"),
            (1, lambda: f"({sub()} if {test()} else {whole()})"),
            (3, lambda: f"{rng.choice(['max', 'min'])}({sub()}, {sub()})"),
            (1, lambda: f"{rng.choice(['max', 'min'])}({sub()}, {whole()}, {sub()})"),
            (2, lambda: f"abs({sub()})"),
            (1, lambda: f"-{sub()}"),
            (1, lambda: f"+{sub()}"),
            (1, lambda: f"(0.5 * math.{rng.choice(['floor', 'ceil', 'trunc'])}({sub()}))"),
            (1, lambda: f"(math.tanh({sub()}) % 0.3)"),
            (1, lambda: f"(math.tanh({sub()}) // 0.3)"),
            (1, lambda: f"(round({sub()}) * 0.25)"),
            (1, lambda: f"float({whole()})"),
            (1, lambda: f"({whole()} / {rng.randint(2, 5)})"),
            (2, lambda: f"(({test()}) * {sub()})"),
            (1, lambda: f"({sub()} {rng.choice(['or', 'and'])} {sub()})"),
        ]
        single = [helper for helper in self.helpers if helper.outputs == 1]
        if single:
            forms.append((5, lambda: self.call(rng.choice(single), depth)))
        return self.pick(forms)

    def call(self, helper: Helper, depth: int) -> str:
        """A call with positional, keyword and left-out arguments."""
        arguments, keywords = [], False
        for part in helper.parameters.split(", "):
            words = part.replace("=", " ").split()
            if words[0] == "*":
                keywords = True
                continue
            if "=" in part and self.rng.random() < 0.4:
                keywords = True  # what follows has to be named
                continue
            kind = words[1] if words[0].endswith(":") else "real"
            value = self.real(depth + 1) if kind == "real" else self.integer(depth + 1)
            keywords = keywords or self.rng.random() < 0.1
            arguments.append(f"{words[0].rstrip(':')}={value}" if keywords else value)
        return f"{helper.name}({', '.join(arguments)})"

    def integer(self, depth: int = 0) -> str:
        rng = self.rng
        if depth > 2 or not self.names["int"] or rng.random() < 0.3:
            return rng.choice([*self.names["int"], str(rng.randint(-3, 4))])
        sub = lambda: self.integer(depth + 1)
        return self.pick(
            [
                (4, lambda: f"({sub()} {rng.choice('+-')} {sub()})"),
                (2, lambda: f"({sub()} * {sub()} % {rng.choice([-5, 3, 7])})"),
                (1, lambda: f"({sub()} // {rng.choice([-3, 2, 4])})"),
                (1, lambda: f"({sub()} % {rng.choice([-4, 3, 5])})"),
                (1, lambda: f"-{sub()}"),
                (1, lambda: f"abs({sub()})"),
                (1, lambda: f"{rng.choice(['max', 'min'])}({sub()}, {sub()})"),
                (1, lambda: f"int(3.0 * math.tanh({self.real(depth + 1)}))"),
                (1, lambda: f"math.floor(2.0 * math.sin({self.real(depth + 1)}))"),
                (1, lambda: f"round(2.0 * math.sin({self.real(depth + 1)}))"),
                (1, lambda: f"({sub()} if {self.condition(depth + 1)} else {sub()})"),
                (1, lambda: f"int({self.condition(depth + 1)})"),
                (1, lambda: f"(({self.condition(depth + 1)}) + {sub()})"),
                (1, lambda: f"({sub()} & {rng.randint(1, 7)})"),
            ]
        )

    def condition(self, depth: int = 0) -> str:
        rng = self.rng
        sub = lambda: self.real(depth + 1)
        forms: list[tuple[float, Callable[[], str]]] = [(10, lambda: f"{sub()} {rng.choice('<>')} {sub()}")]
        if depth < 3:
            forms += [
                (2, lambda: f"{sub()} {rng.choice(['<', '<='])} {sub()} {rng.choice(['<', '<=', '>'])} {sub()}"),
                (2, lambda: f"{self.integer(depth + 1)} {rng.choice(['==', '!=', '<', '>='])} {self.integer(depth + 1)}"),
                (2, lambda: f"({self.condition(depth + 1)} {rng.choice(['and', 'or'])} {self.condition(depth + 1)})"),
                (1, lambda: f"(not {self.condition(depth + 1)})"),
                (1, lambda: f"(({self.condition(depth + 1)}) {rng.choice(['==', '!='])} ({self.condition(depth + 1)}))"),
                (1, lambda: f"bool({self.integer(depth + 1)})"),
            ]
        if self.names["bool"]:
            forms.append((4, lambda: rng.choice(self.names["bool"])))
        return self.pick(forms)

    # -- statements

    def line(self, indent: int, text: str) -> None:
        self.lines.append("    " * indent + text)

    def returned(self, indent: int) -> None:
        values = [f"math.tanh({self.real()}) + {self.real()}" for _ in range(self.outputs)]
        self.line(indent, f"return {', '.join(values)}")

    def block(self, indent: int, statements: int, loop: bool) -> None:
        """Some statements; `loop` tells whether break and continue may be among them."""
        self.line(indent, "pass")
        for _ in range(self.rng.randint(1, statements)):
            forms: list[tuple[float, Callable[[], object]]] = [
                (40, lambda: self.assignment(indent)),
                (5, lambda: self.augmented(indent)),
                (6, lambda: self.swap(indent)),
                (5, lambda: self.whole_assignment(indent)),
            ]
            if indent < 4:
                forms += [(16, lambda: self.branch(indent, loop)), (10, lambda: self.counted(indent))]
                forms += [(5, lambda: self.conditional_loop(indent))]
            if indent > 1:
                forms += [(2, lambda: self.guarded(indent, lambda inner: self.returned(inner)))]
            if loop:
                word = self.rng.choice(["break", "continue"])
                forms += [(6, lambda word=word: self.guarded(indent, lambda inner: self.line(inner, word)))]  # type: ignore[misc]
            self.rng.choices([form for _, form in forms], [weight for weight, _ in forms])[0]()

    def guarded(self, indent: int, write: Callable[[int], object]) -> None:
        self.line(indent, f"if {self.condition()}:")
        write(indent + 1)

    def target(self, indent: int, kind: str, new: str) -> str:
        """A variable to assign; a new one only where every later line of the function follows."""
        if not self.names[kind] or (indent == 1 and self.rng.random() < 0.3):
            if indent == 1:
                return f"{new}{next(self.fresh)}"
            return ""
        return self.rng.choice(self.names[kind])

    def bind(self, kind: str, name: str) -> None:
        if name not in self.names[kind]:
            self.names[kind].append(name)

    def assignment(self, indent: int) -> None:
        name = self.target(indent, "real", "v")
        value = f"math.tanh({self.real()})" if self.rng.random() < 0.3 else self.real()
        self.line(indent, f"{name} = {value}")
        self.bind("real", name)

    def augmented(self, indent: int) -> None:
        name = self.rng.choice(self.names["real"])
        operator = self.rng.choice(["+=", "-=", "*=", "/="])
        value = f"(1.5 + {self.real()} ** 2)" if operator == "/=" else self.real()
        self.line(indent, f"{name} {operator} {value}")
        if self.rng.random() < 0.3:
            self.line(indent, f"{name} = math.tanh({name})")
            self.line(indent, f"{name} **= {self.rng.choice([2, 3])}")

    def swap(self, indent: int) -> None:
        several = [helper for helper in self.helpers if helper.outputs == 2]
        if len(self.names["real"]) < 2:
            return
        first, second = self.rng.sample(self.names["real"], 2)
        if several and self.rng.random() < 0.5:
            self.line(indent, f"{first}, {second} = {self.call(self.rng.choice(several), 1)}")
        else:
            self.line(indent, f"{first}, {second} = {second}, math.tanh({first})")

    def whole_assignment(self, indent: int) -> None:
        kind, text = self.rng.choice([("int", self.integer()), ("bool", self.condition())])
        name = self.target(indent, kind, {"int": "k", "bool": "b"}[kind])
        if name:
            self.line(indent, f"{name} = {text}" + (" % 9" if kind == "int" else ""))
            self.bind(kind, name)

    def branch(self, indent: int, loop: bool) -> None:
        self.guarded(indent, lambda inner: self.block(inner, 3, loop))
        while self.rng.random() < 0.25:
            self.line(indent, f"elif {self.condition()}:")
            self.block(indent + 1, 2, loop)
        if self.rng.random() < 0.5:
            self.line(indent, "else:")
            self.block(indent + 1, 3, loop)

    def counted(self, indent: int) -> None:
        rng, name = self.rng, f"i{indent}"
        bounds = rng.choice(
            [
                f"{rng.randint(1, 4)}",
                f"{rng.randint(0, 2)}, {rng.randint(1, 4)}",
                f"{rng.randint(1, 4)}, {rng.randint(-2, 1)}, -1",
                f"0, {rng.randint(3, 6)}, 2",
                f"{self.integer()} % 4",
            ]
        )
        self.line(indent, f"for {name} in range({bounds}):")
        before = list(self.names["int"])
        self.names["int"].append(name)
        self.block(indent + 1, 3, loop=True)
        if rng.random() < 0.1:
            self.line(indent + 1, f"{name} = {name} + 1")
        self.names["int"] = before

    def conditional_loop(self, indent: int) -> None:
        counter = f"w{next(self.fresh)}"
        self.line(indent, f"{counter} = 0")
        if self.rng.random() < 0.3:
            self.line(indent, "while True:")
            self.line(indent + 1, f"{counter} += 1")
            self.line(indent + 1, f"if {counter} > {self.rng.randint(1, 3)}:")
            self.line(indent + 2, "break")
        else:
            self.line(indent, f"while {counter} < 4 and ({self.condition()}):")
            self.line(indent + 1, f"{counter} += 1")
        self.block(indent + 1, 3, loop=True)  # which never writes the counter


HELPERS = [
    Helper("h1", "x, k=0.7"),
    Helper("h2", "x, y=1.5, *, m: int = 2"),
    Helper("h3", "x, y", outputs=2),
]


class Program:
    """A random function of three reals, an int and a bool.

    Attributes:
        source: its text, with that of its helpers.
        function: what the text defines.
        outputs: how many values it returns.
    """

    parameters = "x0, x1, x2, n: int, flag: bool"

    def __init__(self, rng: random.Random) -> None:
        self.outputs = rng.choice([1, 1, 2])
        parts = [
            Writer(rng, HELPERS[:position], helper.outputs).function(helper.name, helper.parameters, 2)
            for position, helper in enumerate(HELPERS)
        ]
        parts.append(Writer(rng, HELPERS, self.outputs).function("program", self.parameters))
        self.source = "\n\n".join(parts)
        self.function = defined(self.source, "program", {"math": math})
        self._on_taylor = defined(self.source, "program", dict(TAYLOR_NAMES))

    def point(self, rng: random.Random) -> list[Any]:
        """Arguments for it."""
        return [*(rng.uniform(-1.5, 1.5) for _ in range(3)), rng.randint(-3, 5), rng.random() < 0.5]

    def run(self, point: Sequence[Any]) -> tuple[float, ...]:
        """Its values, as Python computes them."""
        found = self.function(*point)
        return found if self.outputs > 1 else (found,)

    def differentiate(self, point: Sequence[Any]) -> list[Taylor]:
        """Its values with derivatives by the three reals."""
        inputs = Taylor.inputs(point[:3])
        found = self._on_taylor(*inputs, *point[3:])
        return [inputs[0].like(value) for value in (found if self.outputs > 1 else (found,))]
