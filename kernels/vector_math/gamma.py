"""lgamma and digamma."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .formats import FLOAT32, FLOAT64, Format, inlined, polynomial_of
from .logarithm import log_float32, log_float64, make_split, make_tail

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

_NEAR_TO = 2.5
_FAR_FROM = {FLOAT32: 3.5, FLOAT64: 6.5}
"""From here on the asymptotic series of DLMF 5.11.1 and 5.11.2 do; below, steps of 1 lead down to `_NEAR_TO`."""
_STEPS = {form: math.ceil(far_from + 1 - _NEAR_TO) for form, far_from in _FAR_FROM.items()}
_DIGAMMA_ROOT = {FLOAT32: (0.46163213, -1.2036052e-08), FLOAT64: (0.46163214496836236, 1.5020545501373212e-17)}
"""The number closest to the positive zero of digamma, less 1, and what digamma is there."""


def _make_log_parts(form: Format) -> Any:
    """log(x) for positive x as three numbers to add: e * ln 2 (but for a small part), f, and small parts.

    x = 2**e * (1 + f); the first two are exact.
    """
    split, tail = make_split(form), make_tail(form)
    one, ln2_high, ln2_low = form.real(1.0), form.real(form.ln2_high), form.real(form.ln2_low)

    @inlined
    def log_parts(x: Any) -> Any:
        m, e = split(x)
        f = m - one
        return e * ln2_high, f, e * ln2_low - tail(f)

    return log_parts


def _make_distance(form: Format) -> Any:
    """What a >= 0 is beyond the integer closest to it, between -1/2 and 1/2."""
    real = form.real
    rounder, zero = real(2.0**form.mantissa_bits), real(0.0)

    @inlined
    def distance(a: Any) -> Any:
        return zero if a >= rounder else a - ((a + rounder) - rounder)

    return distance


# ---------------------------------------------------------------------------------------------------- lgamma
def _make_lgamma_by_steps(form: Format, log_parts: Any) -> Any:
    """lgamma(y + 1) for 0 <= y <= `_FAR_FROM`, or lgamma(y) = lgamma(y + 1) - log(y) for 0 < y < 0.65.

    Next to the zeros of lgamma(y + 1), 0 and 1, it is a polynomial times y * (y - 1). From above, steps lead there:
    lgamma(y + 1) = log(y (y - 1) ...) + lgamma(y - n + 1). None of these sums cancels much.
    """
    real = form.real
    near, steps, near_to = polynomial_of(_LGAMMA_NEAR[form]), _STEPS[form], real(_NEAR_TO - 1)
    centre, half, one = real(0.5625), real(0.5), real(1.0)

    @inlined
    def by_steps(y: Any, is_less_log: Any) -> Any:
        product = y if is_less_log else one
        for _ in range(steps):
            is_above = y >= near_to
            product = product * y if is_above else product
            y = y - one if is_above else y
        exponent_part, f, rest = log_parts(product)
        high = exponent_part + f
        low = (f - (high - exponent_part)) + rest
        zeros = y * y - y if y < half else y * (y - one)  # rounds little near either
        result = half * zeros + zeros * near(y - centre)
        return (result - low) - high if is_less_log else (result + low) + high

    return by_steps


def _make_stirling(form: Format, log_parts: Any) -> Any:
    """lgamma(a), or lgamma(a + 1) = lgamma(a) + log(a), for a >= `_FAR_FROM`.

    As (a - 1/2) * (log(a) - 1) + ..., with log(a) - 1 in more than working precision. Half of that is computed, which
    overflows no earlier than the result.
    """
    real = form.real
    far, constant = polynomial_of(_LGAMMA_FAR[form]), real(math.log(2 * math.pi) / 4)
    quarter, half, one = real(0.25), real(0.5), real(1.0)

    @inlined
    def stirling(a: Any, is_plus_one: Any) -> Any:
        exponent_part, f, rest = log_parts(a)
        base = exponent_part - one
        high = base + f
        low = (f - (high - base)) + rest
        shift = quarter if is_plus_one else -quarter
        inverse, half_a = one / a, half * a
        rest = (constant + shift) + half * inverse * far(inverse * inverse)
        result = half_a * high + (((half_a + shift) * low + shift * high) + rest)
        return result + result

    return stirling


def _make_lgamma(form: Format) -> Any:
    """lgamma(x), the logarithm of abs(gamma(x)). Largest error seen for x > 0: 1.7 ulp in float32, 1.6 in float64; 1.9
    where multiply-adds are not fused.

    Below 0 by reflection: with a = -x, lgamma(x) = -log(sin(pi * a) / pi) - lgamma(a + 1) (DLMF 5.5.3), where a + 1 is
    never rounded. Between -2 and 0 that is within 3 ulp. Further down the two terms cancel near the zeros of lgamma,
    next to each negative integer: there the error is up to 3 ulp of the larger term.
    """
    real = form.real
    log_parts, distance, sine = _make_log_parts(form), _make_distance(form), polynomial_of(_SIN[form])
    by_steps, stirling = _make_lgamma_by_steps(form, log_parts), _make_stirling(form, log_parts)
    low_to, far_from = real(0.65), real(_FAR_FROM[form])
    zero, one, infinity = real(0.0), real(1.0), real(np.inf)

    @inlined
    def lgamma(x: Any) -> Any:
        a = abs(x)
        is_positive = x > zero
        near = by_steps(a - one if x >= low_to else a, is_positive & (a < low_to))
        far = stirling(a, not is_positive)
        y = far if a >= far_from else near
        r = abs(distance(a))
        s = r * sine(r * r)
        exponent_part, f, rest = log_parts(s)
        reflected = -(exponent_part + (f + (rest + y)))
        y = y if is_positive else reflected
        is_pole = (a == infinity) | ((s == zero) & (x <= zero))
        return infinity if is_pole else y

    return lgamma


# ---------------------------------------------------------------------------------------------------- digamma
def _make_positive_digamma(form: Format, log: Any) -> Any:
    """digamma(a) for a > 0, or digamma(a + 1) = digamma(a) + 1 / a for a >= 0.

    Next to the positive zero it is digamma(root) and a polynomial times a - root, root being the number closest to the
    zero. Steps of 1 / (a - k) lead there from above, and a step of -1 / a from below 1.
    """
    real = form.real
    near, far = polynomial_of(_DIGAMMA_NEAR[form]), polynomial_of(_DIGAMMA_FAR[form])
    steps, near_to, far_from = _STEPS[form], real(_NEAR_TO - 1), real(_FAR_FROM[form])
    root, at_root = map(real, _DIGAMMA_ROOT[form])
    centre, zero, half, one = real(0.75), real(0.0), real(0.5), real(1.0)

    @inlined
    def positive_digamma(a: Any, is_plus_one: Any) -> Any:
        inverse = one / a
        is_low = a < one
        y = a if is_low | is_plus_one else a - one  # steps lead to digamma(y + 1)
        total = zero if is_plus_one or not is_low else -inverse
        for _ in range(steps):  # a division each: one for all, of a sum of fractions, loses another ulp
            is_above = y >= near_to
            total = total + one / y if is_above else total
            y = y - one if is_above else y
        d = y - root
        by_steps = (d + (d * near(y - centre) + at_root)) + total
        z = inverse * inverse
        by_series = log(a) + ((half if is_plus_one else -half) * inverse - z * far(z))
        return by_series if a >= far_from else by_steps

    return positive_digamma


def _make_cotangent(form: Format) -> Any:
    """pi / tan(pi * a) for a >= 0: a cosine over a sine, or for the complement of r > 1/4 a sine over a cosine."""
    real = form.real
    distance = _make_distance(form)
    sine, cosine = polynomial_of(_SIN_QUARTER[form]), polynomial_of(_COS_QUARTER[form])
    quarter, half, pi_square = real(0.25), real(0.5), real(math.pi**2)

    @inlined
    def cotangent(a: Any) -> Any:
        signed = distance(a)
        r = abs(signed)
        is_steep = r < quarter
        q = r if is_steep else half - r
        s, c = q * sine(q * q), cosine(q * q)  # s is sin(pi * q) / pi
        return math.copysign((c if is_steep else pi_square * s) / (s if is_steep else c), signed)

    return cotangent


def _make_digamma(form: Format, log: Any) -> Any:
    """digamma(x), the derivative of lgamma. Largest error seen for x > 0: 1.8 ulp in float32, 1.7 in float64.

    Below 0 by reflection: with a = -x, digamma(x) = digamma(a + 1) + pi / tan(pi * a) (DLMF 5.5.4). The two terms cancel
    near the zeros between negative integers: there the error is up to 4 ulp of the larger term.
    """
    real = form.real
    positive_digamma, cotangent = _make_positive_digamma(form, log), _make_cotangent(form)
    zero, one, infinity, nan = real(0.0), real(1.0), real(np.inf), real(np.nan)
    smallest = real(2.0 ** -(form.mantissa_bits + 2))  # closer to 0, digamma(x) is -1 / x

    @inlined
    def digamma(x: Any) -> Any:
        a = abs(x)
        is_positive = x > zero
        y = positive_digamma(a, not is_positive)
        slope = cotangent(a)
        reflected = nan if abs(slope) == infinity else y + slope
        reflected = -one / x if a < smallest else reflected
        return y if is_positive else reflected

    return digamma


lgamma_float32, lgamma_float64 = _make_lgamma(FLOAT32), _make_lgamma(FLOAT64)
digamma_float32, digamma_float64 = _make_digamma(FLOAT32, log_float32), _make_digamma(FLOAT64, log_float64)
