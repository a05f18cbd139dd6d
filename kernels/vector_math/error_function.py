"""erf, erfc, erfinv and gelu.

Both sides of a choice are computed before it is made: where they are written inside of it they are branches, which LLVM
takes for so cheap that on SSE2 it leaves the loop as it is.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .exponential import POLYNOMIALS as EXP_POLYNOMIALS
from .exponential import rounder_of
from .formats import FLOAT32, FLOAT64, Format, inlined, polynomial_of, two_powers_of
from .logarithm import log_float32, log_float64

_ERF_NEAR = {
    FLOAT32: (7.842288e-05, -0.0008006793, 0.0051879627, -0.026853643, 0.112835824, -0.37612626, 0.12837917),
    FLOAT64: (
        -7.779430577455307e-10,
        1.3710960564199875e-08,
        -1.6206309325405216e-07,
        1.6447131020158698e-06,
        -1.4924712260567153e-05,
        0.00012055293574995505,
        -0.0008548325929264272,
        0.0052239776061179105,
        -0.02686617064311151,
        0.11283791670944186,
        -0.3761263890318352,
        0.12837916709551256,
    ),
}
"""erf(x) / x - 1 as a function of x**2, for abs(x) <= 1, highest power first."""

_ERF_FAR = {
    FLOAT32: (
        -2.1626092e-05,
        -0.00013435484,
        0.0010447938,
        0.00015853989,
        -0.013347384,
        0.019843703,
        0.08917903,
        -0.3363467,
        0.33977696,
    ),
    FLOAT64: (
        -2.3527637480989103e-14,
        6.356578672016814e-13,
        -6.295099721655308e-12,
        1.941757004221345e-11,
        1.0794015312776634e-10,
        -8.440975062577965e-10,
        -1.2658012562258275e-09,
        2.502982256791885e-08,
        -3.1003378802938122e-09,
        -6.505441760469286e-07,
        1.1178138705410036e-06,
        1.3302144302697816e-05,
        -4.9198091794560104e-05,
        -0.0001521271650447662,
        0.001085068379409227,
        0.0001731083355525322,
        -0.013364859966670474,
        0.01983771373334477,
        0.08918080332836295,
        -0.33634613707633515,
        0.3397769583948157,
    ),
}
"""erfc(a)**(1/4) as a function of a - 7/4, for a from 1 to where erf is 1."""

_ERFC_FAR = {
    FLOAT32: (221.26021, 8.246439, -75.9743, -20.525774, 19.177462, 20.482216, 10.562249, 3.7494555, 1.0054728),
    FLOAT64: (
        -9008684.651755719,
        -1107143.46132895,
        2533479.0087029813,
        -44455.85152197661,
        -421341.76074535685,
        84561.02785231803,
        52365.12462829141,
        -25056.536505438617,
        -4795.840838047924,
        5539.7666299398325,
        197.26111656420545,
        -1180.662531983982,
        29.722303314774372,
        279.3191160039471,
        6.487872929830352,
        -77.08210373489835,
        -20.49894571563338,
        19.18689305946764,
        20.48207880498989,
        10.562215775682365,
        3.749455623936207,
        1.0054728128507433,
    ),
}
"""exp(x**2) * erfc(x) / u as a function of u - 3/16, u = 1 / (x + 5/2), for x from 15/32 to where erfc is 0."""

_ERFINV_NEAR = {
    FLOAT32: (0.18222466, -0.078413635, 0.0975609, 0.055854168, 0.087509304, 0.12750742, 0.23201461, -0.11377308),
    FLOAT64: (
        0.616489642106869,
        -1.4060001175693468,
        1.6473538867468822,
        -1.1381105241308007,
        0.5806958206543339,
        -0.17119178851846542,
        0.07411051686106614,
        0.018790613784627777,
        0.03295964175360522,
        0.03633750847077968,
        0.04284601610885007,
        0.051730815922711545,
        0.06495963311205698,
        0.086552128934802,
        0.12755617530881558,
        0.23201366653464114,
        -0.11377307454724198,
    ),
}
"""erfinv(x) / x - 1 as a function of x**2, for abs(x) <= 5/8."""

_ERFINV_FAR = {
    FLOAT32: (
        4846.0396,
        1632.1768,
        153.38852,
        -58.442696,
        -47.661217,
        -14.791228,
        -3.4003587,
        0.79284793,
        0.3318117,
    ),
    FLOAT64: (
        -9754991717.716099,
        -20081953432.74609,
        -7811321887.486694,
        -981423358.4264452,
        285969612.6035229,
        160574643.16469282,
        40739786.58970985,
        3465439.545012975,
        -1482185.8400965298,
        -880283.9996426402,
        -218749.1295107188,
        -22889.9458143124,
        9282.203363485176,
        5220.26796305976,
        1523.177046789503,
        152.67903945613992,
        -57.93550591150667,
        -47.66739564242564,
        -14.792141134824117,
        -3.400337864404289,
        0.7928483707367555,
        0.3318116839415035,
    ),
}
"""r - erfinv(x) as a function of 1 / (r + 2) - 1/4, r = sqrt(-log(1 - x)), for x from 5/8 to the number below 1."""

_GELU = (
    2.85964319e-07,
    -7.34059631e-06,
    5.9471342e-05,
    -3.19762803e-05,
    -0.00150820054,
    0.000675529533,
    0.0319263004,
    0.0914578214,
)
"""2**(-1/8) * (1 - erfc(a / sqrt(2))**(1/8)) / a as a function of a, from 0 to 5.75, where erfc is 2**-27.

Fitted so that the largest error of the eighth power is smallest.
"""


def _make_erf(form: Format) -> Any:
    """erf(x) = x + x * near(x**2) up to 1, then 1 - far(x - 7/4)**4.

    The fourth root of erfc is so smooth that a polynomial of low degree reaches from there to where erf rounds to 1,
    without an exponential or a division. (Abramowitz and Stegun, 7.1.28, take the sixteenth root of 1 / erfc; more
    squarings would multiply the rounding error of the root by more than its smaller degree is worth.) Largest error
    seen: 1.4 ulp in float32, 1.3 in float64; 1.7 where multiply-adds are not fused.
    """
    real = form.real
    near, far = polynomial_of(_ERF_NEAR[form]), polynomial_of(_ERF_FAR[form])
    edge, highest, one = real(1.0), real({FLOAT32: 3.9375, FLOAT64: 5.9375}[form]), real(1.0)
    centre = real(1.75)  # as seen from here, the terms of `far` cancel little where erfc is large

    @inlined
    def erf(x: Any) -> Any:
        a = abs(x)
        root = far((highest if a > highest else a) - centre)
        square = root * root
        small, large = a + a * near(a * a), one - square * square
        return math.copysign(small if a < edge else large, x)

    return erf


def _make_erfc(form: Format, erf: Any) -> Any:
    """erfc(x) = 1 - erf(x) up to 15/32, then exp(-x**2) * u * far(u - 3/16), where u = 1 / (x + 5/2).

    exp would multiply the rounding error of x**2 by x**2, so that is split (as in fdlibm's s_erf.c): with x = high + low,
    high**2 is exact, and high**2 - x**2 joins what exp's own reduction leaves of it. What the division for u loses is
    put back in the same product: erfc would show it two to three times as large. Largest error seen: 3.0 ulp in float32
    and float64, 3.4 where multiply-adds are not fused; 2 up to 15/32.
    """
    real = form.real
    far, exp_polynomial = polynomial_of(_ERFC_FAR[form]), polynomial_of(EXP_POLYNOMIALS[form])
    rounder, two_powers = rounder_of(form, 2 * form.exponent_bias), two_powers_of(form)
    edge, highest = real(0.46875), real({FLOAT32: 10.1875, FLOAT64: 27.25}[form])
    shift, centre, one = real(2.5), real(0.1875), real(1.0)
    log2_e, ln2_high, ln2_low = real(1.4426950408889634), real(form.ln2_high), real(form.ln2_low)
    # Adding and subtracting these leaves 8 or 21, and 12 or 27, bits after the point: so few that the square of `high`
    # and its product with `u_high` are exact.
    high_rounder = real({FLOAT32: 1.5 * 2.0 ** (23 - 8), FLOAT64: 1.5 * 2.0 ** (52 - 21)}[form])
    u_rounder = real({FLOAT32: 1.5 * 2.0 ** (23 - 12), FLOAT64: 1.5 * 2.0 ** (52 - 27)}[form])

    @inlined
    def erfc(x: Any) -> Any:
        a = highest if x > highest else x
        high = (a + high_rounder) - high_rounder
        low = a - high
        bottom = high + shift
        u = one / (bottom + low)
        u_high = (u + u_rounder) - u_rounder
        lost = ((one - u_high * bottom) - (u - u_high) * bottom) - u * low
        y = u * far((u - centre) + u * lost)
        square = high * high
        t = rounder - square * log2_e
        n = t - rounder
        r = ((-square - n * ln2_high) - n * ln2_low) - low * (high + a)
        y = y + y * (lost + (r + r * r * exp_polynomial(r)))
        first, second = two_powers(t)
        small, large = one - erf(x), y * first * second
        return small if x < edge else large

    return erfc


def _make_erfinv(form: Format, log: Any) -> Any:
    """erfinv(x) = x + x * near(x**2) up to 5/8, then r - far(1 / (r + 2) - 1/4), where r = sqrt(-log(1 - x)).

    erfinv grows as r does (J. M. Blair, C. A. Edwards, J. H. Johnson, Rational Chebyshev approximations for the inverse
    of the error function, 1976), and the difference is so small that its error counts little. 1 - x is exact there. What
    the square root loses is put back. Largest error seen: 1.6 ulp in float32 and float64.
    """
    real = form.real
    near, far = polynomial_of(_ERFINV_NEAR[form]), polynomial_of(_ERFINV_FAR[form])
    edge, one, shift, centre, infinity = real(0.625), real(1.0), real(2.0), real(0.25), real(np.inf)
    # Adding and subtracting this leaves 9 or 23 bits after the point: so few that the square of `high` is exact.
    rounder = real({FLOAT32: 1.5 * 2.0 ** (23 - 9), FLOAT64: 1.5 * 2.0 ** (52 - 23)}[form])

    @inlined
    def erfinv(x: Any) -> Any:
        a = abs(x)
        square = -log(one - a)
        r = math.sqrt(square)
        high = (r + rounder) - rounder
        lost = (square - high * high) - (r - high) * (r + high)
        small, large = a + a * near(a * a), r - (far(one / (r + shift) - centre) - lost / (r + r))
        large = infinity if a == one else large
        return math.copysign(small if a < edge else large, x)

    return erfinv


def _make_gelu_float32() -> Any:
    """x * Phi(x) = max(x, 0) - a * Phi(-a), with a = abs(x) and Phi the normal distribution function.

    2 * Phi(-a) = (1 - e)**8, and e is so smooth that a polynomial reaches from 0 to where Phi(-a) counts no more. Squaring
    1 - e by e * (2 - e), twice, keeps the error of e from growing where e is small. Each e is scaled so that the root of
    Phi(-a) comes out of the second and no product is left.

    Errors are small beside x, as those of the formula with 1 + erf are: up to 1.8 * 2**-24 * abs(x), 2.0 where
    multiply-adds are not fused (of that formula: 1.9; of PyTorch's kernel: 6.2). From -1 on that is 3.3 ulp (3.4).
    From -8.75 down, to -inf, the result is some -4e-15.
    """
    real, polynomial, top, zero = np.float32, polynomial_of(_GELU), np.float32(8.75), np.float32(0.0)
    first, second, third = real(2 ** (7 / 8)), real(2 ** (3 / 4)), real(2 ** (-1 / 2))

    @inlined
    def gelu(x: Any) -> Any:
        a = abs(x)
        a = top if a > top else a
        e = a * polynomial(a)
        e = e * (first - e)
        root = third - e * (second - e)
        return (zero if x < zero else x) - (a * root) * root

    return gelu


def _make_gelu_float64(erf: Any) -> Any:
    """0.5 * x * (1 + erf(x / sqrt(2))). Errors are up to 2 * 2**-53 * abs(x)."""
    half, one, root_half = 0.5, 1.0, math.sqrt(0.5)

    @inlined
    def gelu(x: Any) -> Any:
        return half * x * (one + erf(x * root_half))

    return gelu


erf_float32, erf_float64 = _make_erf(FLOAT32), _make_erf(FLOAT64)
erfc_float32 = _make_erfc(FLOAT32, erf_float32)
erfc_float64 = _make_erfc(FLOAT64, erf_float64)
erfinv_float32, erfinv_float64 = _make_erfinv(FLOAT32, log_float32), _make_erfinv(FLOAT64, log_float64)
gelu_float32, gelu_float64 = _make_gelu_float32(), _make_gelu_float64(erf_float64)
