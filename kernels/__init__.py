"""Kernels on arrays, and the table of ops. Shipped as `numgrad.kernels`; knows arrays, knows no graph.

Each family of ops has a file (`arithmetic.py`, `reductions.py` ...). Importing this package fills `registry.OPS`;
nothing is compiled before an op first runs.
"""

if __name__ == "kernels":  # a second copy under the bare name would be a second op table
    raise ImportError("import numgrad.kernels, not kernels")

from . import (  # each import fills the op table with one family
    activations,
    arithmetic,
    comparison,
    elementary,
    extrema,
    indexing,
    linalg,
    losses,
    movement,
    optimizers,
    reductions,
    scatter,
    selecting,
    special,
    statistics,
    views,
)
from .registry import OPS

__all__ = [
    "OPS",
    "activations",
    "arithmetic",
    "comparison",
    "elementary",
    "extrema",
    "indexing",
    "linalg",
    "losses",
    "movement",
    "optimizers",
    "reductions",
    "scatter",
    "selecting",
    "special",
    "statistics",
    "views",
]
