"""What Python means by odd expressions and odd control flow, and that every printed form of them means the same.

The expected values are those of Python itself, executing the very text; derivatives come from the same text on `Taylor`
numbers. Everything is one function with many outputs, so that it is compiled once.
"""

from __future__ import annotations

import math
import textwrap
from typing import Any

import numpy as np
import pytest
from scalar_programs import compiled, defined
from simt_runtime import SimulatedRuntime, installed
from taylor import TAYLOR_NAMES, Taylor

from numgrad.kernels import cpu, cuda
from numgrad.kernels.derive import vjp
from numgrad.kernels.lower import lower
from numgrad.kernels.scalar_ir import Function, as_python

PARAMETERS = "x, y, n: int, m: int, p: bool, q: bool"
ARGUMENTS = "x, y, n, m, p, q"
POINTS = [
    (1.5, 2.0, 7, 3, True, False),
    (-2.5, 0.7, -7, 3, False, False),
    (0.3, -1.25, 7, -3, True, True),
    (-5.5, -0.4, -7, -3, False, True),
    (3.5, 1.5, 6, 2, True, False),
]

EXPRESSIONS = """
n // m + x
n % m + x
n / m
n // 2 * x + n % -3
n ** 2 + 2 ** 3 * x
x * n ** -2
2 ** m * x
abs(n) * x + abs(-3)
-n + +m - -x
~n * x
(n & 5) | (m ^ 3) << 2 >> 1
n * m % 5 * x
int(x) + int(-x)
round(x)
round(y * 2) * x
round(2.5) + round(3.5) + round(-0.5)
math.floor(x) + math.ceil(y) + math.trunc(x)
math.floor(x) // 2 + math.ceil(x) % 3
math.floor(x) / 2
math.floor(x) ** 2 * y
float(math.floor(x)) + int(math.ceil(y)) + float(int(x))
bool(n - 7) + int(x > 0) + float(p)
max(x, n) + max(n, m) * y
min(2, x, n)
max(p, q) * x
min(p, x)
x // 0.7 + x % 0.7
x // -0.7 + y % -0.7
x // y + x % y
(x > 0) * x + (x > 1) + (x > 0) * (y > 0)
-(x > 0) + (not x) + (x < 0) / 2
p + q - (p - q) + p * q
(p & q) * x + (p | q) + (p ^ q)
p / 2 + p // 2 + p % 2 + -p + abs(q) + p ** 2
x ** 2 + x ** 3 - -x ** 2 + (-x) ** 2
x ** n
x ** p
abs(x) ** 0.5 + abs(x) ** y
-x ** 2 - (-8.0) ** 2
2 ** 3 ** 2 * x + (2 ** x) ** 2
x - (x - (x - 1)) - (y / (y / (y / 2)))
3 - 2 - 1 + 7 // 2 * x + 7 % 4 + 2 ** -1 + 7 / 2 + -7 // 2 + -7 % 3
(x > y) == (y > 0)
((x > y) < p) * x
x > y and y > 1 or not p
not -1 < x <= y or n == m
0 < x < 2 < n
n < m < x or p != q
0 < x < 2 + math.sqrt(x)
(x or y) + (x and y) + (0.0 or y)
(p and x) + (q or y) + (n and m) + (n - n or m)
(x > y and 1) + (x < y or 2) + (x and 2)
1 if x > 0 else 2.5
(x if p else 2) if q else (n if x > 0 else y)
x if x > y else y if y > 1 else x * y
math.inf if x > 3 else -math.inf if x < -3 else -0.0
1e400 if p else -1e400
math.isnan(x) + math.isinf(x - math.inf) * 2 + math.isfinite(y) * 3
math.pi * x + math.e - math.tau
math.copysign(1.0, -0.0 * x) + math.copysign(x, -0.0)
0 - x * 0
x * 12345678901234567890123 + 2 ** 70 * y
n + 2 ** 70
1_000 * x + 0x10 + 0b11 + 1e-3
helper(x) + helper(x, 5) + helper(m=1, x=x) + helper(k=y, x=2)
flagged(x) + flagged(x, False) + flagged(x, x > 1) + flagged(x, flag=q)
repeated(x) + repeated(x, 2) + repeated(y, n=int(x))
exp(x) + math.exp(-abs(x))
_T(x) + kernel(y) + x0(x)
SCALE * x + LIMITS.high - COUNT
"""

HELPERS = """
SCALE = np.float64(0.5)
COUNT = np.int16(3)

class LIMITS:
    high = 4

def helper(x, k=2, *, m=3.0):
    return x * k - m

def flagged(x, flag=True):
    return x if flag else -x

def repeated(x, n: int = 3):
    total = 0
    for i in range(n):
        total += x * i
    return total

def exp(x):
    return x * 2

def _T(x):
    return x + 1

def kernel(x):
    return x + 2

def x0(x0):
    return x0 * x0

def swapped(a, b):
    return b, a
"""

BODIES = """
s = 0.0
for i in range(5, -4, -2):
    s = s + i * x
return s
---
s = 0
for i in range(m, 0, -1):
    s += x / i
for i in range(-2, n):
    s += i
for i in range(0, 10, 3 + p):
    s -= i * y
return s
---
while True:
    x = abs(x) * 1.5 + 1
    if x > 10:
        break
return x
---
for i in range(3):
    return x * (i + 2)
return y
---
while x > 1:
    return x * x
return -x
---
x *= 2
x -= y
x /= 1.5 + y * y
x //= 0.7
x += y
x %= 0.9
x **= 2
return x
---
x, y = y, x
(x, y) = (y * 2, x)
x, y = swapped(x, y)
return x - y * 3
---
a, a = swapped(x, y)
return a
---
a = b = x * y
b += 1
return a * b
---
i = 5
for i in range(4):
    pass
return x * i
---
k = 0
for i in range(3):
    for i in range(2):
        k += i
    k += 10 * i
return x * k
---
for i in range(3):
    i *= 2
    x += i
return x + i
---
k = 3
for i in range(k):
    k = k + 1
    x = x + k
return x * k
---
s = last = 0
for i in range(10):
    if i == 3: continue
    if i == 7: break
    for j in range(i):
        if j == 2: break
        s += x * j
    last = s
return s + last
---
k = 3
while k:
    k -= 1
    x = x * 1.1
return x
---
k = math.floor(abs(x))
s = 0
while k > 0:
    k -= 1
    s += k
return s * x
---
k = abs(n)
while k > 1:
    k = k // 2 if k % 2 == 0 else 3 * k + 1
    x = x * 1.01
return x
---
a = 3
if x > 0:
    a = 0.5
return a // 2 + a * x
---
a = True
if x > 0:
    a = 2
return a + a * x
---
t = x > 1
t = t + 1
t = t * x
return t
---
if x > 0:
    if x > 3:
        return x
    elif x > 1:
        z = 2 * x
    else:
        return 3 * x
    w = z
elif x < -5:
    return -x
else:
    w = x * y
return w * w
---
if not DEBUG:
    return x * y
else:
    return print(x)
---
while 0:
    x = 2 * x
return x
---
max = x * 2
range = max + y
_T = range
i = _T
out0 = i
return max + out0 * i
---
g = x
t1 = y
t = g * t1
x_x = t + t1
return t * x_x
---
z: float = x
z += 1
...
return +z
"""


def whole_text() -> str:
    """All of it as one function, `everything`."""
    outputs = EXPRESSIONS.strip().splitlines()
    functions = [HELPERS]
    for k, body in enumerate(BODIES.strip().split("---\n")):
        functions.append(f"def body_{k}({PARAMETERS}):\n{textwrap.indent(body, '    ')}")
        outputs.append(f"body_{k}({ARGUMENTS})")
    lines = ",\n        ".join(outputs)
    return "\n".join(functions) + f"\ndef everything({PARAMETERS}):\n    return (\n        {lines},\n    )\n"


TEXT = whole_text()
LABELS = [*EXPRESSIONS.strip().splitlines(), *BODIES.strip().split("---\n")]


@pytest.fixture(scope="module")
def everything() -> tuple[Any, Function]:
    function = defined(TEXT, "everything", {"math": math, "np": np, "DEBUG": False})
    return function, lower(function)


def assert_same(found: Any, expected: Any, context: object, tolerance: float = 0.0) -> None:
    """Equal as real numbers, up to a relative tolerance; zeros have the same sign when it is 0."""
    for label, value, reference in zip(LABELS, found, expected, strict=True):
        a, b = float(value), float(reference)
        same = a == b or abs(a - b) <= tolerance * max(1.0, abs(b)) or (a != a and b != b)
        if not tolerance and a == 0:
            same = same and math.copysign(1.0, a) == math.copysign(1.0, b)
        assert same, (label, context, a, b)


@pytest.mark.parametrize("point", POINTS)
def test_printed_python(everything: Any, point: Any) -> None:
    function, lowered = everything
    assert_same(as_python(lowered)(*point), function(*point), point)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_compiled_by_numba(everything: Any, dtype: Any) -> None:
    function, lowered = everything
    kernel = compiled(lowered, dtype)
    for point in POINTS:
        expected = function(*point)
        found = kernel(dtype(point[0]), dtype(point[1]), *point[2:])
        exact = np.float32(point[1]) == point[1]  # then `%` and `//` have the same operands in float32
        if dtype is np.float64 or exact:
            assert_same(found, expected, point, 1e-12 if dtype is np.float64 else 1e-5)


def test_interpreted_as_a_cuda_kernel(everything: Any) -> None:
    function, lowered = everything
    float64 = np.dtype(np.float64)
    with installed(SimulatedRuntime()):
        inputs = [cuda.from_host(np.array(column)) for column in zip(*POINTS, strict=True)]
        outputs = [cuda.empty((len(POINTS),), float64) for _ in LABELS]
        cuda.map(lowered, float64, inputs, outputs)
        found = np.stack([cuda.to_host(out) for out in outputs], axis=1)
    for point, row in zip(POINTS, found, strict=True):
        assert_same(row, function(*point), point, 1e-12)


def test_derivatives(everything: Any) -> None:
    """One gradient for each output: the cotangent picks it."""
    _, lowered = everything
    gradient = as_python(vjp(lowered, (0, 1)))
    on_taylor = defined(TEXT, "everything", {**TAYLOR_NAMES, "np": np, "DEBUG": False})
    for point in POINTS:
        inputs = Taylor.inputs(point[:2])
        for k, value in enumerate(on_taylor(*inputs, *point[2:])):
            expected = inputs[0].like(value)
            found = gradient(*point, *[float(k == j) for j in range(len(LABELS))])
            for a, b, size in zip(found, expected.first, expected.first_size, strict=True):
                assert abs(a - b) <= 1e-9 * (size + 1e-3), (LABELS[k], point, found, expected.first)


@pytest.mark.parametrize("name", ["kernel", "_kernel", "np", "_T", "_A", "_jit", "njit", "i", "x0", "out0", "math"])
def test_names_that_the_file_of_a_kernel_uses(name: str) -> None:
    """A function, its helper and a variable of that name; only the texts are looked at, compiling each would take long."""
    source = f"def {name}(x):\n    return x * 2\n\ndef f({name}_, y):\n    return {name}({name}_) + y\n"
    function = lower(defined(source, "f", {}))
    text = cpu.kernel_source(function, "float64", "vv", "flat")
    scope: dict[str, Any] = {}
    exec(text.replace("from numba import njit", "njit = lambda **_: lambda f: f"), scope)
    out = np.empty(2)
    scope["kernel"](np.array([1.0, 2.0]), np.array([10.0, 20.0]), out)
    assert out.tolist() == [12.0, 24.0]
