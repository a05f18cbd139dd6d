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
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .autograd import grad, no_grad
from .autograd.variable import CLASSES
from .dtype import bfloat16, complex64, complex128, float16, float32, float64
from .interop import items
from .operands import NUMBERS
from .ops.complex_numbers import view_as_real
from .ops.sampling import randn
from .random import Generator

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


# ---------------------------------------------------------------------------------------------------- gradients
class GradcheckError(RuntimeError):
    """A gradient differs from finite differences."""


def gradcheck(
    func: Callable[..., Any],
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    directions: int = 2,
) -> bool:
    """Check the gradients of a function against finite differences along random directions.

    For a random weight `v` of the outputs and a random direction `u` of an input, the derivative of `sum(v * func(x))`
    along `u` is `sum(u * gradient)` by backward, and `(f(x + eps * u) - f(x - eps * u)) / (2 * eps)` by central
    differences. Each costs two calls of the function, whatever the sizes; a wrong gradient escapes only where its error
    is orthogonal to every direction drawn.

    Args:
        func: takes the inputs, returns a tensor or several.
        inputs: a tensor or a tuple; those that require gradients are checked, and should be float64.
        eps: step along a direction, whose items are drawn from a normal distribution.
        atol, rtol: the numbers may differ by `atol + rtol * abs(numerical)`.
        raise_exception: return False instead of raising, if it is False.
        directions: how many are tried for each input.

    Returns:
        True if all gradients agree.

    Raises:
        GradcheckError: they do not; it names the input and both numbers.
        ValueError: no input requires a gradient.

    Example:
        >>> import numgrad as ng
        >>> x = ng.tensor([0.5], dtype=ng.float64, requires_grad=True)
        >>> ng.testing.gradcheck(lambda x: x * x.detach(), x, raise_exception=False)
        False
    """
    given = _as_tuple(inputs)
    checked = [i for i, x in enumerate(given) if x.__class__ in CLASSES and x.requires_grad]
    if not checked:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of the them have "
            "requires_grad=True."
        )
    for i in checked:
        if given[i].dtype not in (float64, complex128):
            warnings.warn(
                f"Input #{i} requires gradient and is not a double precision floating point or complex. This check "
                "will likely fail if all the inputs are not of double precision floating point or complex. ",
                UserWarning,
                stacklevel=2,
            )
    generator = Generator()  # a stream of its own: the check neither disturbs nor depends on the user's draws
    for _ in range(directions):
        try:
            _check_directions(func, given, checked, eps, atol, rtol, generator)
        except GradcheckError:
            if raise_exception:
                raise
            return False
    return True


def _check_directions(
    func: Callable[..., Any],
    inputs: tuple[Any, ...],
    checked: list[int],
    eps: float,
    atol: float,
    rtol: float,
    generator: Generator,
) -> None:
    """Compare both derivatives once for each input. Raises GradcheckError."""
    outputs = _float_outputs(func(*inputs))
    weights = [_random_like(out, generator) for out in outputs]
    differentiable = [(out, v) for out, v in zip(outputs, weights, strict=True) if out.requires_grad]
    gradients: Sequence[Any] = [None] * len(checked)
    if differentiable:
        roots, cotangents = zip(*differentiable, strict=True)
        gradients = grad(roots, [inputs[i] for i in checked], cotangents, allow_unused=True)
    for i, gradient in zip(checked, gradients, strict=True):
        x = inputs[i]
        if gradient is not None and (gradient.shape != x.shape or gradient.dtype is not x.dtype):
            raise GradcheckError(
                f"gradcheck: the gradient of input {i} has shape {gradient.shape} and dtype {gradient.dtype}, the "
                f"input {x.shape} and {x.dtype}"
            )
        direction = _random_like(x, generator)
        analytical = 0.0 if gradient is None else _inner([gradient], [direction])
        ahead, behind = (
            _inner(_float_outputs(func(*inputs[:i], _moved(x, direction, step), *inputs[i + 1 :])), weights)
            for step in (eps, -eps)
        )
        numerical = (ahead - behind) / (2 * eps)
        if not abs(analytical - numerical) <= atol + rtol * abs(numerical):
            raise GradcheckError(
                f"gradcheck: the gradient of input {i} is wrong: along a random direction it gives {analytical!r}, "
                f"finite differences give {numerical!r} (off by {abs(analytical - numerical):.3g}, allowed "
                f"{atol + rtol * abs(numerical):.3g})"
            )


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    directions: int = 2,
) -> bool:
    """Check second derivatives: `gradcheck` of the gradients of `func`, as functions of inputs and `grad_outputs`.

    Arguments, result and errors are those of `gradcheck`; `grad_outputs` are random unless given.

    Example:
        >>> import numgrad as ng
        >>> x = ng.tensor([0.5], dtype=ng.float64, requires_grad=True)
        >>> ng.testing.gradgradcheck(ng.tanh, x)
        True
    """
    given = _as_tuple(inputs)
    with no_grad():
        outputs = _float_outputs(func(*given))
    if grad_outputs is None:
        generator = Generator().manual_seed(1)
        weights = tuple(_random_like(out, generator).requires_grad_() for out in outputs)
    else:
        weights = _as_tuple(grad_outputs)

    def gradients(*arguments: Any) -> tuple[Any, ...]:
        xs, vs = arguments[: len(given)], arguments[len(given) :]
        wanted = [x for x in xs if x.__class__ in CLASSES and x.requires_grad]
        pairs = [(out, v) for out, v in zip(_float_outputs(func(*xs)), vs, strict=True) if out.requires_grad]
        roots, cotangents = zip(*pairs, strict=True)
        return grad(roots, wanted, cotangents, create_graph=True, materialize_grads=True)

    return gradcheck(
        gradients,
        (*given, *weights),
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        directions=directions,
    )


def _as_tuple(values: Any) -> tuple[Any, ...]:
    return tuple(values) if isinstance(values, (tuple, list)) else (values,)


def _float_outputs(values: Any) -> tuple[Any, ...]:
    """Those results that may have gradients."""
    return tuple(x for x in _as_tuple(values) if x.dtype.is_differentiable)


def _random_like(x: Any, generator: Generator) -> Any:
    return randn(x.shape, generator=generator, dtype=x.dtype).to(device=x.device)


def _moved(x: Any, direction: Any, step: float) -> Any:
    """`x + step * direction` as a new leaf."""
    return (x.detach() + direction * step).requires_grad_()


def _inner(xs: Sequence[Any], weights: Sequence[Any]) -> float:
    """The sum of all products of items, rounded once."""
    return math.fsum(a * b for x, v in zip(xs, weights, strict=True) for a, b in zip(_parts(x), _parts(v), strict=True))
