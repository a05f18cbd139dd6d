"""Checks for tests: `assert_close`, and gradients against finite differences (`gradcheck`, `gradgradcheck`).

    >>> import numgrad as ng
    >>> from numgrad.testing import assert_close, gradcheck
    >>> x = ng.tensor([1.0, 2.0], dtype=ng.float64, requires_grad=True)
    >>> gradcheck(ng.exp, x)
    True
    >>> assert_close(x.exp().log(), x)

The comparisons themselves are done in plain Python, so that a wrong kernel cannot vouch for itself.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .autograd import GradcheckError, gradcheck, gradgradcheck
from .autograd.variable import CLASSES
from .dtype import bfloat16, complex64, complex128, float16, float32, float64
from .interop import items
from .operands import NUMBERS
from .ops.complex_numbers import view_as_real

__all__ = ["GradcheckError", "assert_close", "gradcheck", "gradgradcheck"]

_TOLERANCES = {  # rtol, atol; other dtypes must be equal
    float16: (1e-3, 1e-5),
    bfloat16: (1.6e-2, 1e-5),
    float32: (1.3e-6, 1e-5),
    float64: (1e-7, 1e-7),
    complex64: (1.3e-6, 1e-5),
    complex128: (1e-7, 1e-7),
}


# ---------------------------------------------------------------------------------------------------- assert_close
def assert_close(
    actual: Any,
    expected: Any,
    *,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """Assert that `abs(actual - expected) <= atol + rtol * abs(expected)` for every item.

    Args:
        actual, expected: two tensors, two Python numbers, or two sequences of them.
        rtol, atol: both or none; the defaults depend on the dtype, float32 `(1.3e-6, 1e-5)`, float64 `(1e-7, 1e-7)`,
            and 0 for the others.
        equal_nan: whether NaN equals NaN.
        check_device, check_dtype, check_stride: whether those have to be equal, too. Shapes always have to.
        msg: replaces the error's text, or makes another one of it.

    Raises:
        AssertionError: they are not close.
        ValueError: one of `rtol` and `atol` alone.
        TypeError: inputs that have no comparison, such as a tensor and a number.
    """
    if (rtol is None) != (atol is None):
        missing = "rtol" if rtol is None else "atol"
        raise ValueError(f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {missing}.")
    checks = {"device": check_device, "dtype": check_dtype, "stride()": check_stride}
    for path, a, e in _pairs(actual, expected, ()):
        text = _mismatch(a, e, rtol, atol, equal_nan, checks)
        if text is None:
            continue
        if path:
            text += f"\n\nThe failure occurred for item {''.join(f'[{i}]' for i in path)}"
        raise AssertionError(msg if isinstance(msg, str) else text if msg is None else msg(text))


def _pairs(actual: Any, expected: Any, path: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], Any, Any]]:
    """The tensors and numbers to compare, and where in nested sequences they are."""
    if isinstance(actual, (tuple, list)) and isinstance(expected, (tuple, list)):
        if len(actual) != len(expected):
            raise AssertionError(f"The length of the sequences mismatch: {len(actual)} != {len(expected)}")
        for i, (a, e) in enumerate(zip(actual, expected, strict=True)):
            yield from _pairs(a, e, (*path, i))
        return
    comparable = (actual.__class__ in CLASSES and expected.__class__ in CLASSES) or (
        isinstance(actual, NUMBERS) and isinstance(expected, NUMBERS)
    )
    if not comparable:
        raise TypeError(f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}.")
    yield path, actual, expected


def _mismatch(
    actual: Any, expected: Any, rtol: float | None, atol: float | None, equal_nan: bool, checks: dict[str, bool]
) -> str | None:
    """What is wrong, in PyTorch's words; None if nothing is."""
    if actual.__class__ not in CLASSES:
        inexact = (float, complex)
        kind: Any = float64 if isinstance(actual, inexact) or isinstance(expected, inexact) else None
        r, a = _tolerances((kind,), rtol, atol)
        return _number_mismatch(actual, expected, r, a, equal_nan)
    found = {x: {"device": x.device, "dtype": x.dtype, "stride()": tuple(x.stride())} for x in (actual, expected)}
    names = ["shape", *(name for name, wanted in checks.items() if wanted)]
    for name in names:
        one, other = (x.shape if name == "shape" else found[x][name] for x in (actual, expected))
        if one != other:
            return f"The values for attribute '{name}' do not match: {one} != {other}."
    r, a = _tolerances((actual.dtype, expected.dtype), rtol, atol)
    return _tensor_mismatch(_flat(actual), _flat(expected), tuple(actual.shape), r, a, equal_nan)


def _tolerances(dtypes: Sequence[Any], rtol: float | None, atol: float | None) -> tuple[float, float]:
    if rtol is not None and atol is not None:
        return rtol, atol
    defaults = [_TOLERANCES.get(dtype, (0.0, 0.0)) for dtype in dtypes]
    return max(r for r, _ in defaults), max(a for _, a in defaults)


def _parts(x: Any) -> list[float]:
    """All items of a tensor, in order; of complex ones both parts: gradients are taken for each."""
    return _flat(view_as_real(x.detach()) if x.dtype.is_complex else x)


def _flat(x: Any) -> list[Any]:
    """All items of a tensor, in order."""
    return items(x.detach().reshape(-1))


def _is_close(actual: complex, expected: complex, rtol: float, atol: float, equal_nan: bool) -> bool:
    if actual == expected:
        return True
    if actual != actual or expected != expected:
        return equal_nan and actual != actual and expected != expected
    return cmath.isfinite(expected) and abs(actual - expected) <= atol + rtol * abs(expected)


def _relative(difference: float, expected: complex) -> float:
    return difference / abs(expected) if expected else math.inf if difference else math.nan


def _number_mismatch(actual: complex, expected: complex, rtol: float, atol: float, equal_nan: bool) -> str | None:
    if _is_close(actual, expected, rtol, atol, equal_nan):
        return None
    difference = abs(actual - expected)
    is_exact = rtol == 0 and atol == 0
    allowed = ["" if is_exact else f" (up to {tolerance} allowed)" for tolerance in (atol, rtol)]
    return (
        f"Scalars are not {'equal' if is_exact else 'close'}!\n\nExpected {expected} but got {actual}.\n"
        f"Absolute difference: {difference}{allowed[0]}\n"
        f"Relative difference: {_relative(difference, expected)}{allowed[1]}"
    )


def _tensor_mismatch(
    actual: list[Any], expected: list[Any], shape: tuple[int, ...], rtol: float, atol: float, equal_nan: bool
) -> str | None:
    wrong = [
        i for i, (a, e) in enumerate(zip(actual, expected, strict=True)) if not _is_close(a, e, rtol, atol, equal_nan)
    ]
    if not wrong:
        return None
    absolute = {i: abs(actual[i] - expected[i]) for i in wrong}
    relative = {i: _relative(absolute[i], expected[i]) for i in wrong}
    is_exact = rtol == 0 and atol == 0
    lines = [f"Tensor-likes are not {'equal' if is_exact else 'close'}!\n"]
    lines.append(f"Mismatched elements: {len(wrong)} / {len(actual)} ({len(wrong) / len(actual):.1%})")
    for kind, values, tolerance in (("absolute", absolute, atol), ("relative", relative, rtol)):
        worst = max(wrong, key=lambda i: (values[i] != values[i], values[i]))  # NaN is the worst
        allowed = "" if is_exact else f" (up to {tolerance} allowed)"
        lines.append(f"Greatest {kind} difference: {values[worst]} at index {_unravel(worst, shape)}{allowed}")
    return "\n".join(lines)


def _unravel(index: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The coordinates of an item from its number in C order."""
    coordinates = []
    for extent in reversed(shape):
        index, coordinate = divmod(index, extent)
        coordinates.append(coordinate)
    return tuple(reversed(coordinates))
