"""The programs of docs/kernels.md run, print what the page says, and compute what mathematics says."""

from __future__ import annotations

from typing import Any

import mpmath
import pytest
from pages import Page

PAGE = Page("kernels.md")
named, run = PAGE.named, PAGE.run


def test_every_program_is_found():
    assert len(PAGE.programs) == PAGE.count == 8


@pytest.mark.parametrize("part", ["def softclip", "def bad", "def gauss", "def bessel_j0"])
def test_programs_print_what_the_page_says(part):
    source, expected = named(part)
    assert run(source)[1] == expected


def test_the_printed_source_is_that_of_the_gradient():
    source, _ = named("def cube")
    scope, printed = run(source)
    assert printed.strip() == scope["cube"].source(1, "float64").strip()
    assert "cube_backward" in printed


def test_huber():
    source, expected = named("def huber")
    scope, printed = run(source)
    assert printed == expected
    distance = [0.0, 0.5, 2.0, 4.0]
    assert scope["loss"].tolist() == [0.5 * d * d if d < 1 else d - 0.5 for d in distance]
    assert scope["delta"].grad.item() == sum(d - 1 for d in distance if d >= 1)


def test_black_scholes_against_mpmath():
    source, expected = named("def call_price")
    scope, printed = run(source)
    assert printed == expected

    def exact(spot: Any, strike: Any, rate: Any, sigma: Any, time: Any) -> Any:
        spread = sigma * mpmath.sqrt(time)
        d1 = (mpmath.log(spot / strike) + (rate + sigma**2 / 2) * time) / spread
        return spot * mpmath.ncdf(d1) - strike * mpmath.exp(-rate * time) * mpmath.ncdf(d1 - spread)

    def derivative(orders: tuple[int, ...], strike: float = 110.0) -> float:
        return float(mpmath.diff(exact, (110.0, strike, 0.03, 0.25, 0.75), orders))

    with mpmath.workdps(40):
        greeks = {
            "gamma": (2, 0, 0, 0, 0), "vanna": (1, 0, 0, 1, 0), "volga": (0, 0, 0, 2, 0),
            "speed": (3, 0, 0, 0, 0), "zomma": (2, 0, 0, 1, 0), "ultima": (0, 0, 0, 3, 0),
        }  # fmt: skip
        assert scope["greeks"].keys() == greeks.keys()
        for name, orders in greeks.items():
            assert scope["greeks"][name].item() == pytest.approx(derivative(orders), rel=1e-9), name
        for name, position in {"spot": 0, "rate": 2, "sigma": 3, "time": 4}.items():
            orders = tuple(int(i == position) for i in range(5))
            total = sum(derivative(orders, strike) for strike in (90.0, 110.0, 130.0))
            assert scope[name].grad.item() == pytest.approx(total, rel=1e-12), name


def test_kepler_against_mpmath():
    source, expected = named("def eccentric_anomaly")
    scope, printed = run(source)
    assert printed == expected
    for i, mean in enumerate(scope["mean"].tolist()):
        exact = mpmath.findroot(lambda x, mean=mean: x - 0.6 * mpmath.sin(x) - mean, mean)
        slope = 1 / (1 - 0.6 * mpmath.cos(exact))
        assert scope["x"][i].item() == pytest.approx(float(exact), rel=1e-14)
        assert scope["slope"][i].item() == pytest.approx(float(slope), rel=1e-12)
        curvature = -(slope**3) * 0.6 * mpmath.sin(exact)
        assert scope["curvature"][i].item() == pytest.approx(float(curvature), rel=1e-10)
