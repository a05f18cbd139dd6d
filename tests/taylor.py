"""Numbers that carry exact first and second derivatives through plain Python code, with bounds of rounding errors.

>>> x, y = Taylor.inputs([2.0, 3.0])
>>> z = x * y + TaylorMath.sin(x)
>>> z.first[1], z.hessian(0, 1)[0]
(2.0, 1.0)
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any


class Taylor:
    """A value with its first and second derivatives by `n` inputs.

    Beside each derivative stands the same sum over absolute values: rounding errors are a small multiple of it.
    """

    __slots__ = ("first", "first_size", "second", "second_size", "value")

    def __init__(
        self, value: float, first: list[float], second: list[float], first_size: list[float], second_size: list[float]
    ) -> None:
        self.value = value
        self.first, self.second = first, second
        self.first_size, self.second_size = first_size, second_size

    @staticmethod
    def inputs(values: Sequence[float]) -> list[Taylor]:
        """The inputs themselves. Second derivatives are stored as the upper triangle, row by row."""
        n = len(values)
        unit = [[float(i == j) for j in range(n)] for i in range(n)]
        zero = [0.0] * (n * (n + 1) // 2)
        return [Taylor(float(v), unit[i], zero, unit[i], zero) for i, v in enumerate(values)]

    def hessian(self, i: int, j: int) -> tuple[float, float]:
        """A second derivative and its size."""
        i, j = min(i, j), max(i, j)
        k = i * len(self.first) - i * (i - 1) // 2 + j - i
        return self.second[k], self.second_size[k]

    def mapped(self, value: float, d: float, dd: float) -> Taylor:
        """A function of this number with the first and second derivative given."""
        f, s = self.first, self.first_size
        pairs = list(itertools.combinations_with_replacement(range(len(f)), 2))
        return Taylor(
            value,
            [d * x for x in f],
            [d * h + dd * f[i] * f[j] for h, (i, j) in zip(self.second, pairs, strict=True)],
            [abs(d) * x for x in s],
            [abs(d) * h + abs(dd) * s[i] * s[j] for h, (i, j) in zip(self.second_size, pairs, strict=True)],
        )

    def joined(
        self, other: Taylor, value: float, by: tuple[float, float], second: tuple[float, float, float]
    ) -> Taylor:
        """A function of two numbers, with its derivatives by each, and by both: (aa, ab, bb)."""
        (a, b), (aa, ab, bb) = by, second
        f, g, s, t = self.first, other.first, self.first_size, other.first_size
        pairs = list(itertools.combinations_with_replacement(range(len(f)), 2))

        def curved(
            p: Sequence[float], q: Sequence[float], i: int, j: int, aa: float, ab: float, bb: float
        ) -> float:
            return aa * p[i] * p[j] + ab * (p[i] * q[j] + p[j] * q[i]) + bb * q[i] * q[j]

        return Taylor(
            value,
            [a * x + b * y for x, y in zip(f, g, strict=True)],
            [
                a * h + b * k + curved(f, g, i, j, aa, ab, bb)
                for h, k, (i, j) in zip(self.second, other.second, pairs, strict=True)
            ],
            [abs(a) * x + abs(b) * y for x, y in zip(s, t, strict=True)],
            [
                abs(a) * h + abs(b) * k + curved(s, t, i, j, abs(aa), abs(ab), abs(bb))
                for h, k, (i, j) in zip(self.second_size, other.second_size, pairs, strict=True)
            ],
        )

    def like(self, value: Any) -> Taylor:
        """A constant among the same inputs."""
        if isinstance(value, Taylor):
            return value
        n, m = len(self.first), len(self.second)
        return Taylor(value, [0.0] * n, [0.0] * m, [0.0] * n, [0.0] * m)

    # Arithmetic: the values are computed as Python computes them for floats and ints.

    def __add__(self, other: Any) -> Taylor:
        return self.joined(self.like(other), self.value + raw(other), (1.0, 1.0), (0.0, 0.0, 0.0))

    def __radd__(self, other: Any) -> Taylor:
        return self.like(other).joined(self, raw(other) + self.value, (1.0, 1.0), (0.0, 0.0, 0.0))

    def __sub__(self, other: Any) -> Taylor:
        return self.joined(self.like(other), self.value - raw(other), (1.0, -1.0), (0.0, 0.0, 0.0))

    def __rsub__(self, other: Any) -> Taylor:
        return self.like(other).joined(self, raw(other) - self.value, (1.0, -1.0), (0.0, 0.0, 0.0))

    def __mul__(self, other: Any) -> Taylor:
        b = raw(other)
        return self.joined(self.like(other), self.value * b, (b, self.value), (0.0, 1.0, 0.0))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Taylor:
        return quotient(self, self.like(other))

    def __rtruediv__(self, other: Any) -> Taylor:
        return quotient(self.like(other), self)

    def __pow__(self, other: Any) -> Taylor:
        a, b = self.value, raw(other)
        value = a**b
        if not isinstance(other, Taylor):
            d = 0.0 if b == 0 else b * a ** (b - 1)
            dd = 0.0 if b in (0, 1) else b * (b - 1) * a ** (b - 2)
            return self.mapped(value, d, dd)
        logarithm = math.log(a)  # a real exponent: the base is positive
        mixed = a ** (b - 1) * (1 + b * logarithm)
        return self.joined(
            other, value, (b * a ** (b - 1), value * logarithm),
            (b * (b - 1) * a ** (b - 2), mixed, value * logarithm * logarithm),
        )  # fmt: skip

    def __rpow__(self, other: Any) -> Taylor:
        return self.like(other) ** self

    def __mod__(self, other: Any) -> Taylor:
        b = raw(other)
        return self.joined(self.like(other), self.value % b, (1.0, -(self.value // b)), (0.0, 0.0, 0.0))

    def __floordiv__(self, other: Any) -> float:
        return self.value // raw(other)

    def __rfloordiv__(self, other: Any) -> float:
        return other // self.value

    def __neg__(self) -> Taylor:
        return self.mapped(-self.value, -1.0, 0.0)

    def __pos__(self) -> Taylor:
        return self

    def __abs__(self) -> Taylor:
        return self.mapped(abs(self.value), sign(self.value), 0.0)

    def __lt__(self, other: Any) -> bool:
        return self.value < raw(other)

    def __le__(self, other: Any) -> bool:
        return self.value <= raw(other)

    def __gt__(self, other: Any) -> bool:
        return self.value > raw(other)

    def __ge__(self, other: Any) -> bool:
        return self.value >= raw(other)

    def __eq__(self, other: object) -> bool:
        return self.value == raw(other)

    def __ne__(self, other: object) -> bool:
        return self.value != raw(other)

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        return bool(self.value)

    def __int__(self) -> int:
        return int(self.value)

    def __round__(self) -> int:
        return round(self.value)

    def __floor__(self) -> int:
        return math.floor(self.value)

    def __ceil__(self) -> int:
        return math.ceil(self.value)

    def __trunc__(self) -> int:
        return math.trunc(self.value)


def raw(value: Any) -> Any:
    """The value alone."""
    return value.value if isinstance(value, Taylor) else value


def quotient(a: Taylor, b: Taylor) -> Taylor:
    x, y = a.value, b.value
    value = x / y
    return a.joined(b, value, (1.0 / y, -value / y), (0.0, -1.0 / y / y, 2.0 * value / y / y))


class TaylorMath:
    """The functions of `math` that programs use, for Taylor numbers too."""

    floor, ceil, trunc = staticmethod(math.floor), staticmethod(math.ceil), staticmethod(math.trunc)
    pi, e, tau, inf = math.pi, math.e, math.tau, math.inf

    @staticmethod
    def _predicate(name: str) -> Any:
        return staticmethod(lambda x: getattr(math, name)(raw(x)))

    isnan, isinf, isfinite = _predicate("isnan"), _predicate("isinf"), _predicate("isfinite")

    @staticmethod
    def _unary(name: str, derivatives: Callable[[float, float], tuple[float, float]]) -> Any:
        function = getattr(math, name)

        def call(x: Any) -> Any:
            if not isinstance(x, Taylor):
                return function(x)
            y = function(x.value)
            return x.mapped(y, *derivatives(x.value, y))

        return staticmethod(call)

    sin = _unary("sin", lambda x, y: (math.cos(x), -y))
    cos = _unary("cos", lambda x, y: (-math.sin(x), -y))
    tanh = _unary("tanh", lambda x, y: (1.0 - y * y, -2.0 * y * (1.0 - y * y)))
    exp = _unary("exp", lambda x, y: (y, y))
    atan = _unary("atan", lambda x, y: (1.0 / (1.0 + x * x), -2.0 * x / (1.0 + x * x) ** 2))
    sqrt = _unary("sqrt", lambda x, y: (0.5 / y, -0.25 / (y * x)))
    log1p = _unary("log1p", lambda x, y: (1.0 / (1.0 + x), -1.0 / (1.0 + x) ** 2))

    @staticmethod
    def hypot(a: Any, b: Any) -> Any:
        x, y = raw(a), raw(b)
        r = math.hypot(x, y)
        if not isinstance(a, Taylor) and not isinstance(b, Taylor):
            return r
        a, b = (a, a.like(b)) if isinstance(a, Taylor) else (b.like(a), b)
        return a.joined(b, r, (x / r, y / r), (y * y / r**3, -x * y / r**3, x * x / r**3))

    @staticmethod
    def copysign(a: Any, b: Any) -> Any:
        x = raw(a)
        value = math.copysign(x, raw(b))
        if not isinstance(a, Taylor):
            return value
        return a.mapped(value, sign(x) * math.copysign(1.0, raw(b)), 0.0)


def sign(x: float) -> float:
    return float((x > 0) - (x < 0))


def taylor_float(x: Any) -> Any:
    """`float`, which on a Taylor number could only give the value."""
    return x if isinstance(x, Taylor) else float(x)


def _extremum(function: Callable[..., Any]) -> Callable[..., Any]:
    """`max` or `min`, whose ties share the derivative."""

    def call(*values: Any) -> Any:
        best = values[0]
        for value in values[1:]:
            chosen = function(best, value)
            if best == value and (isinstance(best, Taylor) or isinstance(value, Taylor)):
                either = best if isinstance(best, Taylor) else value
                pair = either.like(best), either.like(value)
                chosen = pair[0].joined(pair[1], raw(chosen), (0.5, 0.5), (0.0, 0.0, 0.0))
            best = chosen
        return best

    return call


TAYLOR_NAMES = {"math": TaylorMath, "float": taylor_float, "max": _extremum(max), "min": _extremum(min)}
