"""How tensors are shown: PyTorch's layout, character for character.

`tensor_repr` turns numbers into the text that `repr(tensor)` returns. It knows no array library: the caller hands it a
function that reads a block of the tensor as nested Python lists, and of a large tensor only the corners that are shown
are ever read.

    >>> rows = [[1.0, 2.5], [3.0, -4.0]]
    >>> print(tensor_repr(lambda index: rows, shape=(2, 2), dtype_name="float32", kind="float"))
    tensor([[ 1.0000,  2.5000],
            [ 3.0000, -4.0000]])

The rules (when numbers are written as `1.`, as `1.0000` or as `1.0000e+00`, where lines break, which suffixes follow)
are those of PyTorch 2.13's `torch/_tensor_str.py`; the oracle tests compare the two texts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["get_printoptions", "printoptions", "set_printoptions", "tensor_repr"]

Fetch = Callable[[tuple[slice, ...]], Any]
"""Reads a block: one slice a dimension in, nested lists of Python numbers out (a bare number for a 0-d tensor)."""


@dataclass
class _PrintOptions:
    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None
    shape: bool = False


_options = _PrintOptions()

_PROFILES: dict[str, dict[str, Any]] = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": math.inf, "edgeitems": 3, "linewidth": 80},
}


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
    *,
    shape: bool | None = None,
) -> None:
    """Set how tensors are shown, from now on and in every thread.

    `precision` is the number of decimals; a tensor of more than `threshold` elements is summarised to its first and
    last `edgeitems` along each dimension; lines break at `linewidth` characters. `profile` ('default', 'short' or
    'full') sets these four first. What is None stays as it is, with one exception that is PyTorch's: `sci_mode` is set
    on every call, so leaving it out returns to the automatic choice between plain and scientific notation. `shape=True`,
    which PyTorch lacks, adds the shape to every tensor, in the form that empty ones have there: `size=(2, 3)`.
    """
    for name, value in _PROFILES.get(profile or "", {}).items():
        setattr(_options, name, value)
    given = {
        "precision": precision,
        "threshold": threshold,
        "edgeitems": edgeitems,
        "linewidth": linewidth,
        "shape": shape,
    }
    for name, value in given.items():
        if value is not None:
            setattr(_options, name, value)
    _options.sci_mode = sci_mode


def get_printoptions() -> dict[str, Any]:
    """The options in force, as keyword arguments for `set_printoptions`."""
    return asdict(_options)


@contextmanager
def printoptions(**options: Any) -> Iterator[None]:
    """Set print options inside a `with` block; takes what `set_printoptions` takes.

    >>> with printoptions(precision=2):
    ...     print(tensor_repr(lambda index: [0.125], shape=(1,), dtype_name="float32", kind="float"))
    tensor([0.12])
    """
    before = get_printoptions()
    set_printoptions(**options)
    try:
        yield
    finally:
        set_printoptions(**before)


def tensor_repr(
    data: Fetch,
    *,
    shape: tuple[int, ...],
    dtype_name: str,
    kind: str,
    device: str = "cpu",
    default_dtype_name: str = "float32",
    requires_grad: bool = False,
    grad_fn_name: str | None = None,
    prefix: str = "tensor(",
) -> str:
    """The text of a tensor.

    `data` reads a block: it is called with one slice a dimension, all with positive bounds or `slice(None)`, and
    returns nested lists of Python numbers. `kind` is 'float', 'complex', 'int' or 'bool'. `prefix` may hold several
    lines (`"Parameter containing:\\ntensor("`); what follows is indented by its last one.
    """
    indent = len(prefix) - (prefix.rfind("\n") + 1)
    numel = math.prod(shape)
    contents = _contents(data, shape, kind, indent) if numel else "[]"

    suffixes = []
    if device != "cpu":
        suffixes.append(f"device='{device}'")
    # Brackets alone cannot tell (2, 0) from (0, 2), nor "..." alone any shape.
    if _options.shape or (numel == 0 and len(shape) != 1) or (numel > 0 and _options.edgeitems == 0):
        suffixes.append(f"size={tuple(shape)}")
    if not _is_implied(dtype_name, default_dtype_name, is_empty=numel == 0):
        suffixes.append(f"dtype=torch.{dtype_name}")
    if grad_fn_name is not None:
        suffixes.append(f"grad_fn=<{grad_fn_name}>")
    elif requires_grad:
        suffixes.append("requires_grad=True")
    return _with_suffixes(prefix + contents, suffixes, indent)


def _is_implied(dtype_name: str, default: str, is_empty: bool) -> bool:
    """Whether a reader can tell the dtype from the numbers; there are none in an empty tensor."""
    if is_empty:
        return dtype_name == default
    default_complex = "complex128" if default == "float64" else "complex64"
    return dtype_name in (default, default_complex, "int64", "bool")


def _with_suffixes(text: str, suffixes: Sequence[str], indent: int) -> str:
    """Append the suffixes and the closing bracket, starting a new line before a suffix that would not fit."""
    parts = [text]
    line_length = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if line_length + len(suffix) + 2 > _options.linewidth:
            parts.append(",\n" + " " * indent + suffix)
            line_length = indent + len(suffix)
        else:
            parts.append(", " + suffix)
            line_length += len(suffix) + 2
    return "".join(parts) + ")"


def _contents(data: Fetch, shape: tuple[int, ...], kind: str, indent: int) -> str:
    """The bracketed numbers of a tensor that has some."""
    edge = _options.edgeitems if math.prod(shape) > _options.threshold else None
    if edge == 0 and shape:
        return "[...]"
    values = data((slice(None),) * len(shape)) if edge is None else _corners(data, shape, edge)
    return _render(values, shape, indent, edge, _layout(list(_flatten(values, len(shape))), kind))


# Reading what is shown


def _corners(data: Fetch, shape: tuple[int, ...], edge: int, index: tuple[slice, ...] = ()) -> Any:
    """The first and last `edge` items along every dimension longer than both, as one nested list."""
    axis = len(index)
    if axis == len(shape):
        return data(index)
    length = shape[axis]
    if length <= 2 * edge:
        return _corners(data, shape, edge, (*index, slice(None)))
    head = _corners(data, shape, edge, (*index, slice(0, edge)))
    tail = _corners(data, shape, edge, (*index, slice(length - edge, length)))
    return _join(head, tail, axis)


def _join(head: list[Any], tail: list[Any], axis: int) -> list[Any]:
    if axis == 0:
        return head + tail
    return [_join(a, b, axis - 1) for a, b in zip(head, tail, strict=True)]


def _flatten(values: Any, ndim: int) -> Iterator[Any]:
    if ndim == 0:
        yield values
    elif ndim == 1:
        yield from values
    else:
        for item in values:
            yield from _flatten(item, ndim - 1)


# Writing one number


@dataclass
class _Layout:
    """How every number of one tensor is written: all of them get the same width."""

    width: int
    write: Callable[[Any], str]


def _layout(values: list[Any], kind: str) -> _Layout:
    if kind == "float":
        return _float_layout(values)
    if kind == "complex":
        return _complex_layout(values)
    width = max(len(str(value)) for value in values)
    return _Layout(width, lambda value: str(value).rjust(width))


def _float_layout(values: list[float]) -> _Layout:
    """Choose between `1.`, `1.0000` and `1.0000e+00` for all values together.

    Zeros, infinities and NaN have no say: they are padded to the width that the others need, or simply stand over.
    """
    deciding = [value for value in values if value != 0 and math.isfinite(value)]
    if not deciding:
        return _Layout(1, _write_whole)
    precision = _options.precision
    write: Callable[[float], str]
    if _is_scientific(deciding):
        write = f"{{:.{precision}e}}".format
    elif all(value.is_integer() for value in deciding):
        write = _write_whole
    else:
        write = f"{{:.{precision}f}}".format
    width = max(len(write(value)) for value in deciding)
    return _Layout(width, lambda value: write(value).rjust(width))


def _is_scientific(deciding: list[float]) -> bool:
    if _options.sci_mode is not None:
        return _options.sci_mode
    smallest, largest = min(map(abs, deciding)), max(map(abs, deciding))
    return largest / smallest > 1000.0 or largest > 1.0e8 or smallest < 1.0e-4


def _write_whole(value: float) -> str:
    """`2.`: the point says that it is a floating number; `inf` and `nan` need none."""
    return f"{value:.0f}" + ("." if math.isfinite(value) else "")


def _complex_layout(values: list[complex]) -> _Layout:
    """Real and imaginary parts each choose their own notation and width."""
    real, imag = _float_layout([value.real for value in values]), _float_layout([value.imag for value in values])

    def write(value: complex) -> str:
        imaginary = imag.write(value.imag).lstrip() + "j"
        return real.write(value.real) + ("" if imaginary[0] == "-" else "+") + imaginary

    return _Layout(real.width + imag.width + 1, write)


# Writing rows and blocks


def _render(values: Any, shape: tuple[int, ...], indent: int, edge: int | None, layout: _Layout) -> str:
    if not shape:
        return layout.write(values)
    is_row = len(shape) == 1
    if is_row:
        items = [layout.write(value) for value in values]
    else:
        items = [_render(item, shape[1:], indent + 1, edge, layout) for item in values]
    if edge is not None and shape[0] > 2 * edge:
        items.insert(edge, " ..." if is_row else "...")

    new_line = "\n" + " " * (indent + 1)
    if not is_row:
        # A block of n dimensions is followed by n - 1 line ends, so an empty line parts matrices.
        return "[" + ("," + "\n" * (len(shape) - 2) + new_line).join(items) + "]"
    per_line = max(1, (_options.linewidth - indent) // (layout.width + 2))
    lines = [", ".join(items[start : start + per_line]) for start in range(0, len(items), per_line)]
    return "[" + ("," + new_line).join(lines) + "]"
