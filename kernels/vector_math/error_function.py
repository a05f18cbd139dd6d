"""erf, erfc and erfinv."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .exponential import _POLYNOMIALS as _EXP_POLYNOMIALS
from .formats import FLOAT32, FLOAT64, Format, inlined, polynomial_of, power_of_two_of
from .logarithm import log_float32, log_float64

_ERF_NEAR = {
    FLOAT32: (
        -7.957205e-06,
        0.00010577322,
        -0.000837358,
        0.005212089,
        -0.026861632,
        0.11283703,
        -0.37612632,
        0.12837917,
    ),
    FLOAT64: (
        -3.497478672279636e-12,
        8.157109065218987e-11,
        -1.197922165155085e-09,
        1.475585289968146e-08,
        -1.6359955665875644e-07,
        1.6461636715220476e-06,
        -1.492562292641243e-05,
        0.0001205533187965467,
        -0.0008548326993298294,
        0.005223977624906185,
        -0.026866170645074006,
        0.11283791670954806,
        -0.3761263890318374,
        0.1283791670955126,
    ),
}
"""erf(x) / x - 1 as a function of x**2, for abs(x) <= 19/16, highest power first."""

_ERF_FAR = {
    FLOAT32: (0.00016906978, -8.0223355e-05, -0.0038185273, 0.009468214, 0.041766252, -0.24704884, 0.3612701),
    FLOAT64: (
        1.035270238813462e-12,
        1.2627268616879366e-11,
        3.2025942435795e-11,
        1.309716407096751e-10,
        2.189675906159258e-09,
        -1.3899807283638075e-09,
        -7.872707425958195e-08,
        3.5848657339189757e-07,
        1.9261944572822127e-06,
        -2.0451208960922744e-05,
        1.3544785495810942e-05,
        0.0005208191650857734,
        -0.0021488817008967044,
        -0.0032600210368634247,
        0.049410146838396486,
        -0.14941724726954736,
        0.16181634114290322,
    ),
}
"""erfc(a)**(1/8) as a function of a - centre, for a from 19/16 to where erf is 1."""

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


def _make_erf(form: Format) -> Any:
    """erf(x) = x + x * near(x**2) up to 19/16, then 1 - far(x - centre)**8.

    The eighth root of erfc is so smooth that a polynomial of low degree reaches from there to where erf rounds to 1,
    without an exponential or a division. (Abramowitz and Stegun, 7.1.28, take the sixteenth root of 1 / erfc; more
    squarings would multiply the rounding error of the root by more than its smaller degree is worth.)
    """
    real = form.real
    near, far = polynomial_of(_ERF_NEAR[form]), polynomial_of(_ERF_FAR[form])
    boundary, top = 1.1875, {FLOAT32: 3.9375, FLOAT64: 5.9375}[form]
    edge, highest, centre, one = real(boundary), real(top), real((boundary + top) / 2), real(1.0)

    @inlined
    def erf(x: Any) -> Any:
        a = abs(x)
        root = far((highest if a > highest else a) - centre)
        square = root * root
        fourth = square * square
        return math.copysign(a + a * near(a * a) if a < edge else one - fourth * fourth, x)

    return erf


def _make_erfc(form: Format, erf: Any) -> Any:
    """erfc(x) = 1 - erf(x) up to 15/32, then exp(-x**2) * u * far(u), where u = 1 / (x + 5/2).

    exp would multiply the rounding error of x**2 by x**2, so that is split (as in fdlibm's s_erf.c): with x = high + low,
    high**2 is exact, and high**2 - x**2 joins what exp's own reduction leaves of it. What the division for u loses is
    put back in the same product: erfc would show it two to three times as large.
    """
    real = form.real
    far, exp_polynomial = polynomial_of(_ERFC_FAR[form]), polynomial_of(_EXP_POLYNOMIALS[form])
    power_of_two = power_of_two_of(form.mantissa_bits)
    edge, highest = real(0.46875), real({FLOAT32: 10.1875, FLOAT64: 27.25}[form])
    shift, centre, half, one = real(2.5), real(0.1875), real(0.5), real(1.0)
    rounder = real(1.5 * 2.0**form.mantissa_bits)
    biased_rounder = real(1.5 * 2.0**form.mantissa_bits + form.exponent_bias)
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
        n = (rounder - square * log2_e) - rounder
        r = ((-square - n * ln2_high) - n * ln2_low) - low * (high + a)
        y = y + y * (lost + (r + r * r * exp_polynomial(r)))
        first = n * half + biased_rounder
        second = (n - (first - biased_rounder)) + biased_rounder
        y = y * power_of_two(first) * power_of_two(second)
        return one - erf(x) if x < edge else y

    return erfc


def _make_erfinv(form: Format, log: Any) -> Any:
    """erfinv(x) = x + x * near(x**2) up to 5/8, then r - far(1 / (r + 2)), where r = sqrt(-log(1 - x)).

    erfinv grows as r does (J. M. Blair, C. A. Edwards, J. H. Johnson, Rational Chebyshev approximations for the inverse
    of the error function, 1976), and the difference is so small that its error counts little. 1 - x is exact there. What
    the square root loses is put back.
    """
    real = form.real
    near, far = polynomial_of(_ERFINV_NEAR[form]), polynomial_of(_ERFINV_FAR[form])
    edge, one, shift, centre, infinity = real(0.625), real(1.0), real(2.0), real(0.25), real(np.inf)
    rounder = real(
        {FLOAT32: 1.5 * 2.0 ** (23 - 9), FLOAT64: 1.5 * 2.0 ** (52 - 23)}[form]
    )  # the square of `high` is exact

    @inlined
    def erfinv(x: Any) -> Any:
        a = abs(x)
        square = -log(one - a)
        r = math.sqrt(square)
        high = (r + rounder) - rounder
        lost = (square - high * high) - (r - high) * (r + high)
        y = r - (far(one / (r + shift) - centre) - lost / (r + r))
        y = a + a * near(a * a) if a < edge else y
        return math.copysign(infinity if a == one else y, x)

    return erfinv


erf_float32, erf_float64 = _make_erf(FLOAT32), _make_erf(FLOAT64)
erfc_float32 = _make_erfc(FLOAT32, erf_float32)
erfc_float64 = _make_erfc(FLOAT64, erf_float64)
erfinv_float32, erfinv_float64 = _make_erfinv(FLOAT32, log_float32), _make_erfinv(FLOAT64, log_float64)
