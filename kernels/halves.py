"""The half-precision dtypes, float16 and bfloat16: they store numbers, and what computes on them computes in float32.

Elementwise loops convert block by block (`cpu.map`); the kernels of other ops are run through `in_float32`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from .array import Array

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
HALVES = frozenset((np.dtype(np.float16), BFLOAT16))
_FLOAT32 = np.dtype(np.float32)
_LAST_WIDE = np.dtype(np.float64).num  # NumPy's numbers of the halves are greater


def computed_in(dtype: np.dtype) -> np.dtype:
    """The dtype that kernels for `dtype` compute in: float32 for the halves, itself for all others."""
    return _FLOAT32 if dtype in HALVES else dtype


def computed_together(dtypes: Sequence[np.dtype]) -> np.dtype:
    """The dtype that a kernel computes in for arrays of several."""
    return np.result_type(*[computed_in(dtype) for dtype in dtypes])


def in_float32(kernel: Callable[..., Any], arguments: Sequence[Any], written: Sequence[int] = ()) -> Any:
    """`kernel(*arguments)` with halves given as float32, and what it returns in float32 rounded to them.

    Args:
        kernel: takes ndarrays and other values; returns an array, several, or None for none.
        arguments: for it.
        written: numbers of the arguments that it writes.
    """
    for x in arguments:  # most often there is none, and this is asked in every backward
        if x.__class__ is np.ndarray and x.dtype.num > _LAST_WIDE and x.dtype in HALVES:
            half = x.dtype
            break
    else:
        return kernel(*arguments)
    widened = [x.astype(_FLOAT32) if isinstance(x, np.ndarray) and x.dtype in HALVES else x for x in arguments]
    results = kernel(*widened)
    with np.errstate(over="ignore", invalid="ignore"):
        for i in written:
            if arguments[i].dtype in HALVES:
                arguments[i][...] = widened[i]
        return _rounded(results, half)


def _rounded(result: Any, half: np.dtype) -> Any:
    if isinstance(result, (tuple, list)):
        return tuple(_rounded(x, half) for x in result)
    if isinstance(result, Array):
        result = result.ndarray if result.dtype == _FLOAT32 else result
    is_wide = isinstance(result, (np.ndarray, np.generic)) and result.dtype == _FLOAT32
    return result.astype(half) if is_wide else result
