"""Elementwise functions, reductions and products."""

import math
from collections.abc import Callable
from typing import Any

from benchmarks.case import Case, Step

FUNCTIONS = ("exp", "log", "tanh", "erf", "sigmoid", "gelu", "softplus", "sin")
ROOT_HALF = math.sqrt(0.5)


def function_of(library: Any, name: str) -> Callable[..., Any]:
    """A function by its name, in the namespace of the library or of its `nn.functional`."""
    return getattr(library, name, None) or getattr(library.nn.functional, name)


def sample(library: Any, size: int) -> Any:
    """Items in [0.1, 3), where every function of the table is defined."""
    library.manual_seed(0)
    return library.rand(size) * 2.9 + 0.1


def elementwise(library: Any, name: str, size: int, operands: int = 1) -> Step:
    """A function of tensors of `size` items, without a graph."""
    function, arguments = function_of(library, name), [sample(library, size) for _ in range(operands)]
    return lambda: function(*arguments)


def elementwise_backward(library: Any, name: str, size: int) -> Step:
    """The same with its gradient."""
    function, x, ones = function_of(library, name), sample(library, size).requires_grad_(), library.ones(size)

    def step() -> None:
        x.grad = None
        function(x).backward(ones)

    return step


def reduction(library: Any, name: str, dim: int) -> Step:
    """A reduction of a (1024, 1024) tensor along one dimension, without a graph."""
    function, x = getattr(library, name), library.randn(1024, 1024)
    return lambda: function(x, dim)


def black_scholes(library: Any) -> Step:
    """Prices of 10^6 call options and their gradients by all five inputs: eager in PyTorch, one kernel in numgrad."""
    library.manual_seed(0)
    size = 10**6
    spot, strike = library.rand(size) * 50 + 75, library.rand(size) * 50 + 75
    years, rate, volatility = library.rand(size) + 0.5, library.rand(size) * 0.05, library.rand(size) * 0.3 + 0.1
    inputs = [x.requires_grad_() for x in (spot, strike, years, rate, volatility)]
    price, ones = call_price_function(library), library.ones(size)

    def step() -> None:
        for x in inputs:
            x.grad = None
        price(*inputs).backward(ones)

    return step


def call_price_function(library: Any) -> Callable[..., Any]:
    """The Black-Scholes formula, as each library's users would write it."""
    if library.__name__ == "numgrad":
        return library.elementwise(call_price)

    def eager(spot: Any, strike: Any, years: Any, rate: Any, volatility: Any) -> Any:
        spread = volatility * years.sqrt()
        d1 = ((spot / strike).log() + (rate + 0.5 * volatility**2) * years) / spread
        d2 = d1 - spread
        discounted = strike * (-rate * years).exp()
        return spot * 0.5 * (1 + (d1 * ROOT_HALF).erf()) - discounted * 0.5 * (1 + (d2 * ROOT_HALF).erf())

    return eager


def call_price(spot, strike, years, rate, volatility):  # type: ignore[no-untyped-def]  # a scalar function
    """Black and Scholes (1973): the price of a European call option."""
    spread = volatility * math.sqrt(years)
    d1 = (math.log(spot / strike) + (rate + 0.5 * volatility**2) * years) / spread
    d2 = d1 - spread
    discounted = strike * math.exp(-rate * years)
    return spot * 0.5 * (1 + math.erf(d1 * ROOT_HALF)) - discounted * 0.5 * (1 + math.erf(d2 * ROOT_HALF))


def square_matmul(library: Any, n: int) -> Step:
    """A product of two (n, n) matrices, without a graph."""
    a, b = library.randn(n, n), library.randn(n, n)
    return lambda: a @ b


CASES = [
    *(
        Case(f"{name} 2^20", lambda library, name=name: elementwise(library, name, 2**20), at_most=0.5)
        for name in FUNCTIONS
    ),
    *(
        Case(
            f"{name} 2^20 + backward",
            lambda library, name=name: elementwise_backward(library, name, 2**20),
            at_most=1.0,
        )
        for name in FUNCTIONS
    ),
    *(
        Case(f"{name} 2^20", lambda library, name=name: elementwise(library, name, 2**20, operands=2), 1.0, (2,))
        for name in ("add", "mul")
    ),
    Case("Black-Scholes, 5 gradients", black_scholes, at_most=0.25),
    *(
        Case(f"{name} {label} axis", lambda library, name=name, dim=dim: reduction(library, name, dim), at_most=1.0)
        for name in ("sum", "max")
        for label, dim in (("inner", 1), ("outer", 0))
    ),
    *(
        Case(f"{name} of {label}", lambda library, name=name, size=size: elementwise(library, name, size))
        for name, label, size in (("exp", "1024", 1024), ("sum", "1024", 1024), ("sum", "2^20", 2**20))
    ),
    *(Case(f"matmul {n}x{n}", lambda library, n=n: square_matmul(library, n)) for n in (64, 512)),
]
