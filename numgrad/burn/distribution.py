"""What random tensors are drawn from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Distribution:
    """A distribution of floats. The draws are those of the default generator, which `numgrad.manual_seed` seeds."""

    __slots__ = ("draw",)

    def __init__(self, draw: Callable[[Any], Any]) -> None:
        self.draw = draw

    @classmethod
    def Default(cls) -> Distribution:
        """Uniform in [0, 1)."""
        return cls.Uniform(0.0, 1.0)

    @classmethod
    def Uniform(cls, low: float, high: float) -> Distribution:
        """Uniform in [low, high)."""
        return cls(lambda x: x.uniform_(low, high))

    @classmethod
    def Normal(cls, mean: float, std: float) -> Distribution:
        """Normal."""
        return cls(lambda x: x.normal_(mean, std))

    @classmethod
    def Bernoulli(cls, probability: float) -> Distribution:
        """1 with the given probability, else 0."""
        return cls(lambda x: x.bernoulli_(probability))
