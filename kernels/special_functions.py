"""Functions that Python's `math` lacks, as scalar functions: sigmoid, softplus, gelu, erfinv, digamma, trigamma.

Calls of those in `PORTABLE` are primitives, as calls of `math` are: the CPU's kernels have them in `vector_math`. Where
that has no say (on CUDA, in plain Python), what is written here is printed into the text that calls them.
"""

from __future__ import annotations

import math

_SQRT_HALF = math.sqrt(0.5)


def sigmoid(x):
    """Logistic function, 1 / (1 + exp(-x)). The exponential here never overflows."""
    e = math.exp(-abs(x))
    return (1 if x >= 0 else e) / (1 + e)


def softplus(x):
    """log(1 + exp(x)). The exponential here never overflows."""
    return (x if x > 0 else 0) + math.log1p(math.exp(-abs(x)))


def gelu(x):
    """x times the normal distribution function of x."""
    return 0.5 * x * (1 + math.erf(x * _SQRT_HALF))


def erfinv(x):
    """Inverse of erf: the estimate of S. Winitzki (2008), good to 0.002, and three steps of Halley's method."""
    a = abs(x)
    if a >= 1:
        return x * math.inf if a == 1 else math.nan
    logarithm = math.log((1 - a) * (1 + a))
    half = 2 / (math.pi * 0.147) + logarithm / 2
    y = math.sqrt(math.sqrt(half * half - logarithm / 0.147) - half)
    for _ in range(3):
        excess = math.erf(y) - a if a < 0.5 else (1 - a) - math.erfc(y)
        step = excess * math.exp(y * y) * (math.sqrt(math.pi) / 2)
        y -= step / (1 + y * step)
    return math.copysign(y, x)


def digamma(x):
    """Logarithmic derivative of gamma: reflection, recurrence and asymptotic series (DLMF 5.5.4, 5.5.2, 5.11.2)."""
    if x == 0:
        return math.copysign(math.inf, -x)
    y = 1 - x if x < 0 else x
    shift = 0.0
    while y < 12:
        shift += 1 / y
        y += 1
    z = 1 / (y * y)
    series = z * (1 / 12 - z * (1 / 120 - z * (1 / 252 - z * (1 / 240 - z * (1 / 132 - z * (691 / 32760 - z / 12))))))
    result = math.log(y) - 0.5 / y - series - shift
    if x < 0:
        r = x - round(x)
        return math.nan if r == 0 else result - cotangent(r)
    return result


def trigamma(x):
    """Derivative of digamma, by the same steps (DLMF 5.15.5, 5.15.6, 5.15.8)."""
    y = 1 - x if x <= 0 else x
    shift = 0.0
    while y < 12:
        shift += 1 / (y * y)
        y += 1
    z = 1 / (y * y)
    series = z * (1 / 6 - z * (1 / 30 - z * (1 / 42 - z * (1 / 30 - z * (5 / 66 - z * (691 / 2730 - z * 7 / 6))))))
    result = (1 + 0.5 / y + series) / y + shift
    if x <= 0:
        r = x - round(x)
        return math.inf if r == 0 else math.pi * math.pi + cotangent(r) ** 2 - result
    return result


def cotangent(r):
    """pi / tan(pi * r) for abs(r) <= 1/2: its poles at 0 and +-1, and the powers of r that the others add up to.

    This is the sum of DLMF 4.22.3, the coefficients being zeta(2 * k) - 1. A GPU's tangent would bring its reduction of
    large arguments along, in float64.
    """
    z = r * r
    tail = z * (
        3.8172932649998402e-06 + z * (9.539620338727961e-07 + z * (2.3845050272773299e-07 + z * 5.960818905125948e-08))
    )
    tail = z * (0.000246086553308048 + z * (6.124813505870483e-05 + z * (1.528225940865187e-05 + tail)))
    tail = z * (0.017343061984449138 + z * (0.004077356197944339 + z * (0.0009945751278180853 + tail)))
    return 1 / r - 2 * r * (1 / (1 - z) + (0.6449340668482264 + z * (0.08232323371113819 + tail)))


PORTABLE = {"sigmoid": sigmoid, "softplus": softplus, "gelu": gelu, "erfinv": erfinv, "digamma": digamma}
