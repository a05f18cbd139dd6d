"""What the front end accepts and refuses, and how scalar functions are printed."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scalar_programs import defined

from numgrad.kernels.derive import vjp
from numgrad.kernels.lower import lower
from numgrad.kernels.scalar_ir import (
    PYTHON,
    Dialect,
    DifferentiationError,
    Function,
    as_python,
    output_kinds,
    print_module,
    reads,
)


def square(x):
    return x * x


def product(x, y):
    return x * y


def product_and_ratio(a, b):
    return a * b, a / b


def test_kinds_of_parameters_and_outputs() -> None:
    def chosen(condition: bool, n: int, x):
        return x if condition else n

    def less(input, other):
        return input < other

    assert lower(chosen).kinds == {"condition": "bool", "n": "int", "x": "real"}
    assert output_kinds(lower(less)) == ("bool",)
    assert as_python(vjp(lower(chosen), (1, 2)))(True, 3, 2.0, 1.0) == (0.0, 1.0)


# ---------------------------------------------------------------------------------------------------- printing


def printed(function: Callable[..., Any] | Function, dtype: str = "float32") -> str:
    lowered = function if isinstance(function, Function) else lower(function)
    return print_module([lowered], dtype, PYTHON)[0]


def test_literals_are_weak() -> None:
    def mixed(x, n: int):
        return 2 * x + n / 3 + 1.5

    expected = "def mixed(x, n):\n    return _T(2.0) * x + _T(n) / _T(3.0) + _T(1.5)\n"
    assert printed(mixed) == expected
    assert printed(mixed, "float64") == "def mixed(x, n):\n    return 2.0 * x + _T(n) / 3.0 + 1.5\n"


def test_integer_kernels_keep_integers() -> None:
    def add(input, other, *, alpha=1):
        return input + 2.0 * alpha * other

    assert printed(add, "int64") == "def add(input, other, alpha):\n    return input + 2 * alpha * other\n"


def test_text_reads_like_the_source() -> None:
    def readable(x, y):
        if (x > 0 and y > 0) or not x < y:
            s = max(x, y)
        elif x == y:
            s = -((x - y) ** 2)
        else:
            s = x - (y - 1.0)
        while s > 1.0:
            s = s / 2.0
        return s

    assert printed(readable, "float64") == textwrap.dedent(
        """\
        def readable(x, y):
            if x > 0.0 and y > 0.0 or not x < y:
                s = y if y > x else x
            else:
                s = -(x - y) ** 2 if x == y else x - (y - 1.0)
            while s > 1.0:
                s = s / 2.0
            return s
        """
    )


def test_dialect_spells_primitives() -> None:
    def spelled(x, _exp):
        return math.exp(x) + math.floor(x) + x**_exp

    dialect = Dialect("cpu", "@_jit", "_T", {"exp": "_exp", "floor": "_floor", "pow": "_pow"})
    text, names = print_module([lower(spelled)], "float32", dialect)
    assert text == "@_jit\ndef spelled(x, _exp1):\n    return _exp(x) + _floor(x) + _pow(x, _exp1)\n"
    assert names == {lower(spelled): "spelled"}


def test_rounded_values_may_count() -> None:
    def stairs(x):
        k = math.floor(x)
        s = 0.0
        for i in range(k):
            s += i * x
        return s + k

    assert as_python(lower(stairs))(3.5) == stairs(3.5)
    assert "range(int(k))" in printed(stairs)


def test_one_module_holds_helpers_once() -> None:
    def calls(x):
        return square(x) + square(square(x))

    text, names = print_module([lower(calls), vjp(lower(calls), (0,))], "float64", PYTHON)
    assert text.count("def square(") == 1
    assert names[lower(calls)] == "calls"


def test_bitwise_operators() -> None:
    def both(a: bool, b: bool):
        return a & b | (not a)

    def masked(x):
        return x & 3

    assert as_python(lower(both))(True, False) is False
    assert "x & 3" in printed(masked, "int64")
    with pytest.raises(DifferentiationError, match="'&' needs integers or booleans"):
        printed(masked)


# ---------------------------------------------------------------------------------------------------- refusals

VECTOR = np.zeros(3)


def even(n):
    return n == 0 or odd(n - 1)


def odd(n):
    return n != 0 and even(n - 1)


def real_steps(x, n):
    for _ in range(n):
        x = x * x
    return x


REFUSED = {
    "x = [x, x]\nreturn x": "a list cannot be used",
    "return x[0]": "indexing cannot be used",
    "return VECTOR * x": "'VECTOR' is a ndarray: only real numbers can be captured; pass it as an argument",
    "return VECTOR[0] * x": "indexing cannot be used",
    "x[0] = 1.0\nreturn x": "only local variables can be assigned",
    "return math.comb(x)": "no derivative is known for 'math.comb'",
    "return np.maximum(x, 1.0)": "'np.maximum' is for arrays: write 'max",
    "print(x)\nreturn x": "this expression has no effect",
    "for v in (1.0, 2.0):\n    x = x * v\nreturn x": "must run over range",
    "for i in range(3):\n    x = x * i\nelse:\n    x = 1.0\nreturn x": "'else' after a loop",
    "for i in range(x):\n    x = x * i\nreturn x": r"range\(\) needs integers",
    "return x * 'a'": "the constant 'a' is not a real number",
    "return x * 1j": "the constant 1j is not a real number",
    "if x > 0:\n    return x, x\nreturn x": "every return must give the same number",
    "if x > 0:\n    return x": "on every path",
    "x = x * x": "must return a number",
    "return None": "the constant None is not a real number",
    "return": "must return a number",
    "return x * undefined_name": "name 'undefined_name' is not defined",
    "return undefined_function(x)": "'undefined_function' is not a function",
    "return product(x)": "missing a required argument: 'y'",
    "return product_and_ratio(x, x) + 1": "returns 2 values, but 1 expected",
    "a, b = square(x)\nreturn a": "returns 1 value, but 2 expected",
    "a, b = x, x, x\nreturn a": "cannot unpack 3 values into 2 names",
    "def inner(y):\n    return y\nreturn inner(x)": "a nested function cannot be used",
    "if x < 0:\n    raise ValueError\nreturn x": "raise cannot be used",
    "try:\n    return x\nexcept ValueError:\n    return 0.0": "try/except cannot be used",
    "return x.real": "'x.real': numbers have no attributes",
    "return even(x)": "'even' calls itself",
    "y = z * x\nz = x\nreturn y": "local variable 'z' may be read before it is assigned",
    "if x > 0:\n    z = x\n    return z\nreturn z": "local variable 'z' may be read before it is assigned",
    "while x > 1:\n    z = x\n    x = x / 2\nreturn z": "local variable 'z' may be read before it is assigned",
    "for i in range(int(x)):\n    z = x\nreturn z": "local variable 'z' may be read before it is assigned",
    "for i in range(3):\n    if x > i:\n        continue\n    z = x\nreturn z": "local variable 'z' may be read",
    "for i in range():\n    x = x * i\nreturn x": r"range\(\) takes one to three integers",
    "for i in range(0, 9, 0):\n    x = x * i\nreturn x": r"range\(\) needs a step that is not 0",
    "return x * 10 ** 400": "an integer this large",
    "return x * 2 ** 10 ** 9": "an integer this large",
    "return float('one') * x": "'one' is no number",
    "return x @ x": "the operator MatMult",
    "return 1.0 if x is None else x": "the comparison Is",
    "return math.atan2(x)": "'math.atan2' takes 2",
    "return max(x)": "'max' takes at least 2",
    "return real_steps(x, 3)": r"range\(\) needs integers: convert with int\(...\), or annotate the parameter",
    "return square(*x)": r"\*args and \*\*kwargs",
    "return sum([x for i in range(3)])": "no derivative is known for 'sum'",
}


@pytest.mark.parametrize(("body", "message"), REFUSED.items(), ids=lambda text: text.replace("\n", "; "))
def test_refusals_show_the_line(body: str, message: str) -> None:
    source = f"def refused(x):\n{textwrap.indent(body, '    ')}\n"
    function = defined(source, "refused", {**globals()})
    with pytest.raises(DifferentiationError, match=message) as caught:
        lower(function)
    shown = str(caught.value).splitlines()
    assert len(shown) == 3
    assert shown[1].startswith('  File "')
    assert isinstance(caught.value, TypeError)


def test_a_refusal_names_file_and_line() -> None:
    def bad(x):
        y = x + 1
        return math.comb(y)

    with pytest.raises(DifferentiationError) as caught:
        lower(bad)
    line = bad.__code__.co_firstlineno + 2
    assert str(caught.value) == (
        "no derivative is known for 'math.comb': use functions of math, or a helper written in plain Python, or give "
        "one with register_derivative\n"
        f'  File "{__file__}", line {line}\n'
        "    return math.comb(y)"
    )


def test_functions_without_source_are_refused() -> None:
    scope: dict[str, Any] = {}
    exec("def hidden(x):\n    return x", scope)
    with pytest.raises(DifferentiationError, match="the source of 'hidden' is not available"):
        lower(scope["hidden"])
    with pytest.raises(DifferentiationError, match="is not a Python function"):
        lower(math.exp)


def test_variable_arguments_are_refused() -> None:
    def starred(*x):
        return 1.0

    with pytest.raises(DifferentiationError, match="name each parameter"):
        lower(starred)


def test_what_no_path_reaches_does_not_count() -> None:
    def settled(x, y):
        u = y
        if x > 0:
            return x
        else:
            return 2 * x
        return u

    assert reads(lower(settled)) == ("x",)
    assert reads(vjp(lower(settled), (0,))) == ("x", "g")


def test_a_choice_of_factors_is_left_alone_in_the_function_itself() -> None:
    def masked(x):
        return x * (1.0 if x > 0 else 0.0)

    assert math.isnan(as_python(lower(masked))(-math.inf))


def test_what_nests_too_deeply_is_refused_with_its_line() -> None:
    branches = "".join(f"    elif x < {i}:\n        y = {i}.0\n" for i in range(1, 300))
    source = f"def deep(x):\n    if x < 0:\n        y = x\n{branches}    return y * x\n"
    with pytest.raises(DifferentiationError, match=r"nested too deeply: split it into helpers\n.*line 1\n    def deep"):
        lower(defined(source, "deep", {}))


def test_long_sums_and_many_statements_are_no_nesting() -> None:
    sums = " + ".join(["x"] * 1500)
    steps = "".join(f"    v{i} = x * {i}.0\n    x = x + 0.0001 * v{i}\n" for i in range(500))
    source = f"def long(x):\n{steps}    return {sums}\n"
    function = defined(source, "long", {})
    assert as_python(lower(function))(0.5) == function(0.5)
    gradient = as_python(vjp(lower(function), (0,)))(0.5, 1.0)
    assert gradient == pytest.approx(function(1.0))  # it is linear


def test_captured_constants_decide_what_is_lowered() -> None:
    source = """
def checked(x):
    if DEBUG:
        print(x)
    while 0:
        x = [x]
    return x * SETTINGS.scale if not DEBUG else x + float("inf")
"""

    class Settings:
        scale = 4

    function = defined(source, "checked", {"DEBUG": False, "SETTINGS": Settings})
    assert printed(function, "float64") == "def checked(x):\n    return x * 4.0\n"
