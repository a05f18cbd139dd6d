"""Kernels on arrays, and the table of ops. Shipped as `numgrad.kernels`; knows arrays, knows no graph.

Each family of ops has a file (`arithmetic.py`, `reductions.py` ...). Importing this package fills `registry.OPS`;
nothing is compiled before an op first runs.
"""

if __name__ == "kernels":  # a second copy under the bare name would be a second op table
    raise ImportError("import numgrad.kernels, not kernels")

from . import (  # each import fills the op table with one family
    activations,
    arithmetic,
    bounds,
    combined,
    comparison,
    complex_forms,
    complex_numbers,
    complex_refusals,
    counting,
    draws,
    elementary,
    extrema,
    indexing,
    linalg,
    logic,
    losses,
    movement,
    optimizers,
    ordering,
    rearrangement,
    recurrent,
    reductions,
    rounding,
    scans,
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
    "bounds",
    "combined",
    "comparison",
    "complex_forms",
    "complex_numbers",
    "complex_refusals",
    "counting",
    "draws",
    "elementary",
    "extrema",
    "indexing",
    "linalg",
    "logic",
    "losses",
    "movement",
    "optimizers",
    "ordering",
    "rearrangement",
    "recurrent",
    "reductions",
    "rounding",
    "scans",
    "scatter",
    "selecting",
    "special",
    "statistics",
    "views",
]
