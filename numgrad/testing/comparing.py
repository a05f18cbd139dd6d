"""`assert_close`. The comparison is done in plain Python, so that a wrong kernel cannot vouch for itself."""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ..autograd.variable import CLASSES
from ..dtype import bfloat16, complex64, complex128, float16, float32, float64, promote_types
from ..interop import from_numpy, is_ndarray, items, tensor

_TOLERANCES = {  # rtol, atol; other dtypes must be equal
    float16: (1e-3, 1e-5),
    bfloat16: (1.6e-2, 1e-5),
    float32: (1.3e-6, 1e-5),
    float64: (1e-7, 1e-7),
    complex64: (1.3e-6, 1e-5),
    complex128: (1e-7, 1e-7),
}
_NUMBERS = (bool, int, float, complex)


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """Assert that `abs(actual - expected) <= atol + rtol * abs(expected)` for every item.

    Args:
        actual, expected: two tensors, ndarrays, Python numbers or Nones, or two sequences or mappings of them.
        allow_subclasses: whether a tensor may be compared with one of a subclass.
        rtol, atol: both or none; the defaults depend on the dtype, float32 `(1.3e-6, 1e-5)`, float64 `(1e-7, 1e-7)`,
            float16 `(1e-3, 1e-5)`, bfloat16 `(1.6e-2, 1e-5)`, and 0 for integers and bools.
        equal_nan: whether NaN equals NaN.
        check_device, check_dtype, check_stride: whether those have to be equal, too. Shapes always have to.
        check_layout: nothing; all tensors are strided.
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
    for path, a, e in list(_pairs(actual, expected, (), allow_subclasses)):
        text = _mismatch(a, e, rtol, atol, equal_nan, checks)
        if text is None:
            continue
        if path:
            text += f"\n\nThe failure occurred for item {''.join(f'[{i!r}]' for i in path)}"
        raise AssertionError(msg if isinstance(msg, str) else text if msg is None else msg(text))


# ---------------------------------------------------------------------------------------------------- pairs
Path = tuple[Any, ...]


def _pairs(actual: Any, expected: Any, path: Path, subclasses: bool) -> Iterator[tuple[Path, Any, Any]]:
    """The tensors and numbers to compare, and where in nested sequences and mappings they are."""
    if _both(actual, expected, Sequence) and not _both(actual, expected, str):
        if len(actual) != len(expected):
            raise AssertionError(f"The length of the sequences mismatch: {len(actual)} != {len(expected)}")
        for i, (a, e) in enumerate(zip(actual, expected, strict=True)):
            yield from _pairs(a, e, (*path, i), subclasses)
        return
    if _both(actual, expected, Mapping):
        _check_keys(actual, expected)
        for key in actual:
            yield from _pairs(actual[key], expected[key], (*path, key), subclasses)
        return
    yield (path, *_comparable(actual, expected, subclasses))


def _both(actual: Any, expected: Any, kind: type) -> bool:
    return isinstance(actual, kind) and isinstance(expected, kind)


def _check_keys(actual: Mapping[Any, Any], expected: Mapping[Any, Any]) -> None:
    missing = sorted(expected.keys() - actual.keys(), key=str)
    additional = sorted(actual.keys() - expected.keys(), key=str)
    if missing or additional:
        raise AssertionError(
            f"The keys of the mappings do not match:\nMissing keys in the actual mapping: {missing}\nAdditional keys in "
            f"the actual mapping: {additional}"
        )


def _comparable(actual: Any, expected: Any, subclasses: bool) -> tuple[Any, Any]:
    """Two values, ndarrays as tensors. Raises TypeError where there is no comparison."""
    if actual is None or expected is None:
        return actual, expected
    if is_ndarray(actual) and is_ndarray(expected):
        return from_numpy(actual.copy()), from_numpy(expected.copy())
    related = isinstance(actual, type(expected)) or isinstance(expected, type(actual))
    tensors = actual.__class__ in CLASSES and expected.__class__ in CLASSES
    if tensors and (type(actual) is type(expected) or (subclasses and related)):
        return actual, expected
    if _both(actual, expected, _NUMBERS):  # type: ignore[arg-type]
        return actual, expected
    raise TypeError(f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}.")


# ---------------------------------------------------------------------------------------------------- differences
def _mismatch(
    actual: Any, expected: Any, rtol: float | None, atol: float | None, equal_nan: bool, checks: dict[str, bool]
) -> str | None:
    """What is wrong, in PyTorch's words; None if nothing is."""
    if actual is None or expected is None:
        return None if actual is expected else f"None mismatch: {actual} is not {expected}"
    if actual.__class__ not in CLASSES:
        if checks["dtype"] and type(actual) is not type(expected):
            return f"The (d)types do not match: {type(actual)} != {type(expected)}."
        kinds = {type(x) for x in (actual, expected)}
        r, a = _tolerances((complex128 if complex in kinds else float64 if float in kinds else None,), rtol, atol)
        return _number_mismatch(actual, expected, r, a, equal_nan)
    found = {id(x): {"device": x.device, "dtype": x.dtype, "stride()": tuple(x.stride())} for x in (actual, expected)}
    names = ["shape", *(name for name, wanted in checks.items() if wanted)]
    for name in names:
        one, other = (x.shape if name == "shape" else found[id(x)][name] for x in (actual, expected))
        if one != other:
            return f"The values for attribute '{name}' do not match: {one} != {other}."
    r, a = _tolerances((actual.dtype, expected.dtype), rtol, atol)
    dtype = promote_types(actual.dtype, expected.dtype)
    if not actual.dim():
        return _number_mismatch(items(actual.detach()), items(expected.detach()), r, a, equal_nan)
    return _tensor_mismatch(_flat(actual), _flat(expected), tuple(actual.shape), r, a, equal_nan, dtype)


def _tolerances(dtypes: Sequence[Any], rtol: float | None, atol: float | None) -> tuple[float, float]:
    if rtol is not None and atol is not None:
        return rtol, atol
    defaults = [_TOLERANCES.get(dtype, (0.0, 0.0)) for dtype in dtypes]
    return max(r for r, _ in defaults), max(a for _, a in defaults)


def _flat(x: Any) -> list[Any]:
    """All items of a tensor, in order."""
    return items(x.detach().reshape(-1))


def _is_close(actual: Any, expected: Any, rtol: float, atol: float, equal_nan: bool) -> bool:
    if actual == expected:
        return True
    if actual != actual or expected != expected:
        return bool(equal_nan and actual != actual and expected != expected)
    return cmath.isfinite(expected) and abs(actual - expected) <= atol + rtol * abs(expected)


def _relative(difference: float, expected: Any) -> float:
    return difference / abs(expected) if expected else math.inf if difference else math.nan


def _number_mismatch(actual: Any, expected: Any, rtol: float, atol: float, equal_nan: bool) -> str | None:
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
    actual: list[Any],
    expected: list[Any],
    shape: tuple[int, ...],
    rtol: float,
    atol: float,
    equal_nan: bool,
    dtype: Any,
) -> str | None:
    wrong = [
        i for i, (a, e) in enumerate(zip(actual, expected, strict=True)) if not _is_close(a, e, rtol, atol, equal_nan)
    ]
    if not wrong:
        return None
    real = {complex64: float32, complex128: float64}.get(dtype, dtype)
    absolute = {i: _rounded(abs(actual[i] - expected[i]), real) for i in wrong}
    relative = {i: _rounded(_relative(absolute[i], expected[i]), real) for i in wrong}
    is_exact = rtol == 0 and atol == 0
    lines = [f"Tensor-likes are not {'equal' if is_exact else 'close'}!\n"]
    lines.append(f"Mismatched elements: {len(wrong)} / {len(actual)} ({len(wrong) / len(actual):.1%})")
    for kind, values, tolerance in (("absolute", absolute, atol), ("relative", relative, rtol)):
        worst = max(wrong, key=lambda i: (values[i] != values[i], values[i]))  # NaN is the worst
        allowed = "" if is_exact else f" (up to {tolerance} allowed)"
        lines.append(f"Greatest {kind} difference: {values[worst]} at index {_unravel(worst, shape)}{allowed}")
    return "\n".join(lines)


def _rounded(value: Any, dtype: Any) -> Any:
    """A difference as the tensors' own dtype has it; of integers it is an integer, and a ratio of them a float32."""
    if isinstance(value, int):
        return value
    return items(tensor([value], dtype=dtype if dtype.is_floating_point else float32))[0]


def _unravel(index: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The coordinates of an item from its number in C order."""
    coordinates = []
    for extent in reversed(shape):
        index, coordinate = divmod(index, extent)
        coordinates.append(coordinate)
    return tuple(reversed(coordinates))
