"""tanh."""

from __future__ import annotations

import math
from typing import Any

from .exponential import exp_float32, exp_float64
from .formats import FLOAT32, FLOAT64, Format, inlined, polynomial_of

_TANH_NUMERATORS = {FLOAT32: (-14.0, -315.0), FLOAT64: (-1.0, -594.0, -45045.0, -675675.0)}
"""The truncated continued fraction x / (1 + x**2 / (3 + x**2 / (5 + ...))) is x + x * z * numerator / denominator,
z = x**2 (Lambert, 1761). Its coefficients are exact integers."""
_TANH_DENOMINATORS = {FLOAT32: (15.0, 420.0, 945.0), FLOAT64: (1.0, 630.0, 51975.0, 945945.0, 2027025.0)}


def _make_tanh(form: Format, exp: Any) -> Any:
    """tanh(x) = 1 - 2 / (exp(2 * x) + 1); near 0, where that cancels, a continued fraction; one division for both."""
    real = form.real
    numerator, denominator = polynomial_of(_TANH_NUMERATORS[form]), polynomial_of(_TANH_DENOMINATORS[form])
    one, two, boundary = real(1.0), real(2.0), real(0.625)

    @inlined
    def tanh(x: Any) -> Any:
        a = abs(x)
        is_small = a < boundary
        z = a * a
        top = a * z * numerator(z) if is_small else -two
        bottom = denominator(z) if is_small else exp(a + a) + one
        return math.copysign((a if is_small else one) + top / bottom, x)

    return tanh


tanh_float32 = _make_tanh(FLOAT32, exp_float32)
tanh_float64 = _make_tanh(FLOAT64, exp_float64)
