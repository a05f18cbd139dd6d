"""lgamma and digamma."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .formats import FLOAT32, FLOAT64, Format, inlined, polynomial_of, split_of
from .logarithm import _POLYNOMIALS as _LOG_POLYNOMIALS
from .logarithm import log_float32, log_float64

_LGAMMA_NEAR = {
    FLOAT32: (
        0.00020343655,
        -0.00037012974,
        -3.9906896e-05,
        0.00015377598,
        0.00059788214,
        -0.0011123375,
        0.0013395122,
        -0.0022803023,
        0.0042341747,
        -0.0076439506,
        0.014145182,
        -0.02745067,
        0.057412896,
        -0.1384472,
        -0.025755191,
    ),
    FLOAT64: (
        1.7848102669459953e-07,
        -3.3131201083528545e-07,
        -7.255452141240673e-07,
        1.456718333534337e-06,
        1.6908799795252526e-06,
        -3.5763569418025067e-06,
        -2.0263373137745156e-06,
        4.767310370348896e-06,
        2.4049892314694657e-06,
        -5.646478504418932e-06,
        -1.405453232806635e-07,
        1.6609415538533905e-06,
        3.5494923569815637e-06,
        -6.657057804770024e-06,
        7.804718977275335e-06,
        -1.2458842428623347e-05,
        2.1679272356823482e-05,
        -3.595412531501187e-05,
        5.932617643876851e-05,
        -9.876172239960374e-05,
        0.00016525152557454484,
        -0.0002778407488162268,
        0.00046998790026071244,
        -0.0008009016690690802,
        0.001377220538747969,
        -0.0023955330422468267,
        0.004229715709100064,
        -0.007622480361531488,
        0.01414519545709947,
        -0.027452425453409365,
        0.057412915220457675,
        -0.13844715293951274,
        -0.025755191339411523,
    ),
}
"""lgamma(y) / ((y - 1) * (y - 2)) - 1/2 as a function of y - 25/16, for 0.65 <= y <= 2.5."""

_LGAMMA_FAR = {
    FLOAT32: (0.0007056558, -0.0027732754, 0.08333326),
    FLOAT64: (
        -0.0014791792222299098,
        0.0008281785128793109,
        -0.0005950213500930154,
        0.0007936489904654361,
        -0.002777777770661478,
        0.08333333333332353,
    ),
}
"""What Stirling's formula lacks, times x, as a function of 1 / x**2."""

_DIGAMMA_NEAR = {
    FLOAT32: (
        0.0008696774,
        -0.0015800822,
        0.001175696,
        -0.0019630096,
        0.0045745545,
        -0.00812278,
        0.013977433,
        -0.024854014,
        0.044799294,
        -0.08228818,
        0.1571202,
        -0.32625458,
        -0.14181678,
    ),
    FLOAT64: (
        7.377983166286492e-07,
        -1.2498383427908645e-06,
        -6.146384146662185e-07,
        9.245874374209489e-07,
        3.1110783324815458e-06,
        -5.200203636754667e-06,
        4.425745292489956e-06,
        -7.975221179338637e-06,
        1.6959093548392433e-05,
        -2.9540641376684596e-05,
        5.0388403391350914e-05,
        -8.825082286045987e-05,
        0.00015487592945565652,
        -0.00027112267768774587,
        0.00047467328885778643,
        -0.0008314921406201736,
        0.0014573754892425973,
        -0.0025566870353653215,
        0.00449181365550191,
        -0.007910468742189215,
        0.013985786185739927,
        -0.024890048490244815,
        0.04479965445275083,
        -0.08228558635575757,
        0.15712011335204276,
        -0.3262546278681058,
        -0.14181678287370048,
    ),
}
"""(digamma(y) - digamma(root)) / (y - root) - 1 as a function of y - 7/4, for 1 <= y <= 2.5."""

_DIGAMMA_FAR = {
    FLOAT32: (0.0033983146, -0.00830624, 0.08333294),
    FLOAT64: (
        0.0530654041767464,
        -0.020050073596046793,
        0.007555891463033184,
        -0.004166452113763106,
        0.003968252701392984,
        -0.008333333329704696,
        0.08333333333332969,
    ),
}
"""(log(x) - 1 / (2 * x) - digamma(x)) * x**2 as a function of 1 / x**2."""

_SIN = {
    FLOAT32: (-0.00222797, 0.026111428, -0.19074652, 0.81174207, -1.644934, 1.0),
    FLOAT64: (
        2.4493076271635087e-07,
        -6.972000462636014e-06,
        0.00014842780087190492,
        -0.0023460808868250747,
        0.026147847804529983,
        -0.19075182412143055,
        0.8117424252833373,
        -1.6449340668482262,
        1.0,
    ),
}
"""sin(pi * r) / (pi * r) as a function of r**2, for r <= 1/2."""

_SIN_QUARTER = {
    FLOAT32: (-0.18761209, 0.8116277, -1.6449329, 1.0),
    FLOAT64: (
        0.00014690454180291653,
        -0.002345949677189353,
        0.026147842194636485,
        -0.19075182399833226,
        0.8117424252820543,
        -1.6449340668482213,
        1.0,
    ),
}
"""sin(pi * r) / (pi * r) as a function of r**2, for r <= 1/4."""

_COS_QUARTER = {
    FLOAT32: (0.22974521, -1.3348359, 4.0586987, -4.934802, 1.0),
    FLOAT64: (
        -0.00010355601651604254,
        0.001929463229559964,
        -0.02580688543599477,
        0.23533063018159828,
        -1.335262768851713,
        4.058712126416745,
        -4.934802200544679,
        1.0,
    ),
}
"""cos(pi * r) as a function of r**2, for r <= 1/4."""

_FAR_FROM = {FLOAT32: 3.5, FLOAT64: 6.5}
"""Where the asymptotic series take over: DLMF 5.11.1 and 5.11.2."""
_NEAR_TO = 2.5
_DIGAMMA_ROOT = {FLOAT32: (0.46163213, -1.2036052e-08), FLOAT64: (0.46163214496836236, 1.5020545501373212e-17)}
"""The number next to the positive zero of digamma, less 1, and what digamma is there."""


def _make_log_parts(form: Format) -> Any:
    """log(x) for positive x as three numbers to add: e * ln 2 (but for a small part), f, and small parts.

    x = 2**e * (1 + f); the first two are exact, and log(1 + f) = f - ... as in `logarithm`.
    """
    real, info = form.real, np.finfo(form.real)  # type: ignore[call-overload]
    polynomial, split = polynomial_of(_LOG_POLYNOMIALS[form]), split_of(form)
    smallest_normal = info.smallest_normal
    rescale, rescaled_exponent = real(2.0 ** (form.mantissa_bits + 1)), real(form.mantissa_bits + 1)
    one, two = real(1.0), real(2.0)
    ln2_high, ln2_low = real(form.ln2_high), real(form.ln2_low)

    @inlined
    def log_parts(x: Any) -> Any:
        is_subnormal = x < smallest_normal
        m, e = split(x * rescale if is_subnormal else x)
        e = e - rescaled_exponent if is_subnormal else e
        f = m - one
        s = f / (two + f)
        z = s * s
        return e * ln2_high, f, e * ln2_low - s * (f - z * polynomial(z))

    return log_parts


def _steps(form: Format) -> int:
    """How many steps of the recurrence lead from `_FAR_FROM` (and 1 more) to `_NEAR_TO`."""
    return math.ceil(_FAR_FROM[form] + 1 - _NEAR_TO)


def _make_distance(form: Format) -> Any:
    """The distance of x from the nearest integer, with the sign that x has beyond that integer (x >= 0)."""
    real = form.real
    rounder, zero = real(2.0**form.mantissa_bits), real(0.0)

    @inlined
    def distance(x: Any) -> Any:
        return zero if x >= rounder else x - ((x + rounder) - rounder)

    return distance


def _make_lgamma(form: Format) -> Any:
    """lgamma(x), the logarithm of abs(gamma(x)).

    Near its zeros 1 and 2, a polynomial times (x - 1) * (x - 2). Steps of the recurrence lead there from both sides:
    lgamma(x) = log((x - 1) ... (x - n)) + lgamma(x - n), and lgamma(x) = lgamma(x + 1) - log(x) up to 0.65, where these
    sums cancel little. From `_FAR_FROM` on, Stirling's formula as x * (log(x) - 1) + ..., with the logarithm in more
    than working precision.

    Below 0 by reflection: with a = -x, lgamma(x) = -log(sin(pi * a) / pi) - lgamma(a + 1) (DLMF 5.5.3). The same steps
    give lgamma(a + 1), and a + 1 is never rounded. Between -2 and 0 the error stays within 3 ulp. Below, the two terms
    cancel near the zeros of lgamma, next to each negative integer; the error is at most 3 ulp of the larger term.
    """
    real = form.real
    near, far, sine = (polynomial_of(table[form]) for table in (_LGAMMA_NEAR, _LGAMMA_FAR, _SIN))
    log_parts, distance, steps = _make_log_parts(form), _make_distance(form), _steps(form)
    low_to, near_to, far_from = real(0.65), real(_NEAR_TO - 1), real(_FAR_FROM[form])
    zero, quarter, half, one, infinity = real(0.0), real(0.25), real(0.5), real(1.0), real(np.inf)
    centre, constant = real(0.5625), real(math.log(2 * math.pi) / 4)

    @inlined
    def lgamma(x: Any) -> Any:
        a = abs(x)
        is_positive, is_far = x > zero, a >= far_from
        is_low = is_positive & (a < low_to)
        y = a - one if is_positive & (a >= low_to) else a  # lgamma(y + 1) is wanted
        product = one
        for _ in range(steps):
            is_above = y >= near_to
            product = product * y if is_above else product
            y = y - one if is_above else y
        # log(a) - 1, log(a) or log(product) is high + low.
        exponent_part, f, rest = log_parts(a if is_low | is_far else product)
        base = exponent_part - one if is_far else exponent_part
        high = base + f
        low = (f - (high - base)) + rest
        zeros = y * y - y if y < half else y * (y - one)  # rounds little near either
        by_steps = half * zeros + zeros * near(y - centre)
        by_steps = (by_steps - low) - high if is_low else (by_steps + low) + high
        # Stirling's formula for a or a + 1, halved so that it overflows no earlier than its double.
        inverse, half_a, shift = one / a, half * a, -quarter if is_positive else quarter
        small_parts = ((half_a + shift) * low + shift * high) + (
            (constant + shift) + half * inverse * far(inverse * inverse)
        )
        by_stirling = half_a * high + small_parts
        result = by_stirling + by_stirling if is_far else by_steps
        r = abs(distance(a))
        s = r * sine(r * r)
        exponent_part, f, rest = log_parts(s)
        result = result if is_positive else -(exponent_part + (f + (rest + result)))
        # Infinite for x = +-inf, 0 and negative integers; NaN for NaN.
        return result if (a < infinity) & (is_positive | (s > zero)) else infinity if a == a else x

    return lgamma


def _make_digamma(form: Format, log: Any) -> Any:
    """digamma(x), the derivative of lgamma. Steps and series are those of `_make_lgamma`.

    Next to the zero near 1.46, digamma(root) is added to a polynomial times x - root, root being the number closest to
    that zero. Below 0 by reflection: with a = -x, digamma(x) = digamma(a + 1) + pi / tan(pi * a) (DLMF 5.5.4), where
    the tangent is a sine over a cosine, or its inverse for the complement. The two terms cancel near the zeros between
    negative integers; the error is at most 3 ulp of the larger term.
    """
    real = form.real
    near, far = polynomial_of(_DIGAMMA_NEAR[form]), polynomial_of(_DIGAMMA_FAR[form])
    sine, cosine = polynomial_of(_SIN_QUARTER[form]), polynomial_of(_COS_QUARTER[form])
    distance, steps = _make_distance(form), _steps(form)
    root, at_root = map(real, _DIGAMMA_ROOT[form])
    near_to, far_from, centre = real(_NEAR_TO - 1), real(_FAR_FROM[form]), real(0.75)
    zero, quarter, half, one = real(0.0), real(0.25), real(0.5), real(1.0)
    pi_square, nan = real(math.pi**2), real(np.nan)

    @inlined
    def digamma(x: Any) -> Any:
        a = abs(x)
        is_positive, is_low = x > zero, (x > zero) & (x < one)
        y = a - one if x >= one else a  # digamma(y + 1) is wanted
        # The sum of the steps 1 / y, or the step -1 / x, as one fraction.
        top, bottom = -one if is_low else zero, a if is_low else one
        for _ in range(steps):
            is_above = y >= near_to
            top = top * y + bottom if is_above else top
            bottom = bottom * y if is_above else bottom
            y = y - one if is_above else y
        d = y - root
        by_steps = (d + (d * near(y - centre) + at_root)) + top / bottom
        inverse = one / a
        z = inverse * inverse
        by_series = log(a) + ((-half if is_positive else half) * inverse - z * far(z))
        result = by_series if a >= far_from else by_steps
        signed = distance(a)
        r = abs(signed)
        is_steep = r < quarter
        q = r if is_steep else half - r
        s, c = q * sine(q * q), cosine(q * q)  # s is sin(pi * q) / pi
        cotangent = math.copysign((c if is_steep else pi_square * s) / (s if is_steep else c), signed)
        reflected = nan if r == zero else result + cotangent
        reflected = -one / x if x == zero else reflected
        return result if is_positive else reflected

    return digamma


lgamma_float32, lgamma_float64 = _make_lgamma(FLOAT32), _make_lgamma(FLOAT64)
digamma_float32, digamma_float64 = _make_digamma(FLOAT32, log_float32), _make_digamma(FLOAT64, log_float64)
