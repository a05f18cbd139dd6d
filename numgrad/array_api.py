"""The namespace that `tensor.__array_namespace__()` gives: numgrad under the names of the array API standard.

Libraries that are written against the standard (https://data-apis.org/array-api) take tensors through it: einops by its
`einops.array_api` functions, scikit-learn by the estimators that have array API support. What the two sides name alike is
numgrad's own; here stands what the standard calls otherwise: `axis` and `keepdims`, `concat`, `permute_dims`, `astype`.
What no function here or in numgrad serves raises AttributeError.

    >>> import numgrad as ng
    >>> xp = ng.ones(2, 3).__array_namespace__()
    >>> xp.sum(xp.permute_dims(ng.ones(2, 3), (1, 0)), axis=0)
    tensor([3., 3.])
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable
from typing import Any

import numgrad as _package

numgrad: Any = _package  # most of its functions are made from the op table, where a type checker finds none
__array_api_version__ = "2024.12"
e, pi, inf, nan, newaxis = math.e, math.pi, math.inf, math.nan, None

_RENAMED = {
    "acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh", "atan": "arctan", "atan2": "arctan2",
    "atanh": "arctanh", "bitwise_invert": "bitwise_not", "divide": "div", "greater_equal": "ge",
    "less_equal": "le", "not_equal": "ne", "equal": "eq", "greater": "gt", "less": "lt", "multiply": "mul",
    "subtract": "sub", "negative": "neg", "permute_dims": "permute",
}  # fmt: skip
"""numgrad's names of what the standard calls otherwise, where numgrad does not have the standard's name as well."""


def __getattr__(name: str) -> Any:
    if not name.startswith("_") and (found := getattr(numgrad, name, None)) is not None:
        return found
    renamed = getattr(numgrad, _RENAMED.get(name, ""), None)
    if renamed is None:
        raise AttributeError(f"numgrad's array API namespace has no {name!r}")
    return renamed


# ---------------------------------------------------------------------------------------------------- facts
class _Info:
    """What the standard asks a namespace for: its devices and dtypes."""

    def capabilities(self) -> dict[str, Any]:
        """What the standard leaves open."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> Any:
        """Where new arrays are."""
        return numgrad.device("cpu")

    def default_dtypes(self, *, device: Any = None) -> dict[str, Any]:
        """The dtypes of new arrays."""
        real = numgrad.get_default_dtype()
        found = {"real floating": real, "integral": numgrad.int64, "indexing": numgrad.int64}
        return {**found, "complex floating": real.to_complex()}

    def devices(self) -> list[Any]:
        """All devices that can be used."""
        return [numgrad.device("cpu"), *(numgrad.device("cuda", i) for i in range(numgrad.cuda.device_count()))]

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, Any]:
        """The dtypes of the standard, of a kind or of several."""
        names = [name for one in _KINDS.values() for name in one]
        found = {name: numgrad.bool if name == "bool" else getattr(numgrad, name) for name in names}
        return {name: d for name, d in found.items() if kind is None or isdtype(d, kind)}


_KINDS = {
    "bool": ("bool",),
    "signed integer": ("int8", "int16", "int32", "int64"),
    "unsigned integer": ("uint8",),
    "real floating": ("float32", "float64"),
    "complex floating": ("complex64", "complex128"),
}
_UNIONS = {
    "integral": ("signed integer", "unsigned integer"),
    "numeric": ("signed integer", "unsigned integer", "real floating", "complex floating"),
}


def __array_namespace_info__() -> _Info:
    """Devices and dtypes."""
    return _Info()


def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether a dtype is of a kind, such as "real floating", or of one of several.

    Raises ValueError for an unknown kind.
    """
    if isinstance(kind, tuple):
        return builtins.any(isdtype(dtype, one) for one in kind)
    if not isinstance(kind, str):
        return dtype is kind
    if kind not in _KINDS and kind not in _UNIONS:
        raise ValueError(f"unknown kind of dtype {kind!r}; there are: {', '.join([*_KINDS, *_UNIONS])}")
    own = {"int": "signed integer" if dtype.is_signed else "unsigned integer", "bool": "bool"}
    found = own.get(dtype.category, "real floating" if dtype.is_floating_point else "complex floating")
    return found in _UNIONS.get(kind, (kind,))


def result_type(*arrays_and_dtypes: Any) -> Any:
    """The dtype that arrays, dtypes and numbers promote to."""
    first, *others = (numgrad.empty((1,), dtype=x) if isinstance(x, numgrad.dtype) else x for x in arrays_and_dtypes)
    for other in others:
        first = numgrad.empty((1,), dtype=numgrad.result_type(first, other))
    return first.dtype if isinstance(first, numgrad.Tensor) else numgrad.asarray(first).dtype


def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    """The array in another dtype."""
    return x.to(dtype=dtype, device=device, copy=copy)


# ---------------------------------------------------------------------------------------------------- shapes
def reshape(x: Any, /, shape: Any, *, copy: bool | None = None) -> Any:
    """The items in another shape."""
    return x.clone().reshape(shape) if copy else numgrad.reshape(x, tuple(shape))


def expand_dims(x: Any, /, *, axis: int = 0) -> Any:
    """A new axis of length 1."""
    return numgrad.unsqueeze(x, axis)


def squeeze(x: Any, /, axis: Any) -> Any:
    """Axes of length 1 taken away. Raises ValueError for a longer one."""
    axes = axis if isinstance(axis, tuple) else (axis,)
    if builtins.any(x.shape[one] != 1 for one in axes):
        raise ValueError("an axis to squeeze must have length 1")
    return numgrad.squeeze(x, axes)


def concat(arrays: Any, /, *, axis: int | None = 0) -> Any:
    """Arrays joined along an axis; flattened first for None."""
    arrays = [x.reshape(-1) for x in arrays] if axis is None else list(arrays)
    wanted = result_type(*arrays)
    return numgrad.cat([x.to(dtype=wanted) for x in arrays], 0 if axis is None else axis)


def stack(arrays: Any, /, *, axis: int = 0) -> Any:
    """Arrays of one shape joined along a new axis."""
    return numgrad.stack(list(arrays), axis)


def broadcast_to(x: Any, /, shape: Any) -> Any:
    """The items repeated to a shape, without a copy."""
    return x.expand(tuple(shape))


def matrix_transpose(x: Any, /) -> Any:
    """The last two axes exchanged."""
    return x.mT


def take(x: Any, indices: Any, /, *, axis: int = -1) -> Any:
    """The items at positions along an axis."""
    return x[(*[slice(None)] * (axis % x.ndim), indices)]


# ---------------------------------------------------------------------------------------------------- reductions
def _reduction(name: str) -> Callable[..., Any]:
    def reduce(x: Any, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
        options = {} if dtype is None else {"dtype": dtype}
        if axis is None and not keepdims:
            return getattr(numgrad, name)(x, **options)
        axes = tuple(range(x.ndim)) if axis is None else axis
        return getattr(numgrad, name)(x, axes, keepdims, **options)

    reduce.__name__ = name
    reduce.__doc__ = f"`numgrad.{name}` along axes."
    return reduce


sum, mean = _reduction("sum"), _reduction("mean")
all, any = _reduction("all"), _reduction("any")
min, max = _reduction("amin"), _reduction("amax")


def prod(x: Any, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    """The product along axes, one after another."""
    axes = range(x.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    for one in sorted((a % x.ndim for a in axes), reverse=True):
        x = numgrad.prod(x, one, keepdims, dtype=dtype)
    return x


def _deviation(name: str) -> Callable[..., Any]:
    def reduce(x: Any, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Any:
        return getattr(numgrad, name)(x, axis, correction=correction, keepdim=keepdims)

    reduce.__name__ = name
    reduce.__doc__ = f"`numgrad.{name}` along axes, by default of the whole population."
    return reduce


var, std = _deviation("var"), _deviation("std")


def argmax(x: Any, /, *, axis: int | None = None, keepdims: bool = False) -> Any:
    """The position of the largest item."""
    return numgrad.argmax(x, axis, keepdims)


def argmin(x: Any, /, *, axis: int | None = None, keepdims: bool = False) -> Any:
    """The position of the smallest item."""
    return numgrad.argmin(x, axis, keepdims)


def count_nonzero(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    """How many items are not 0."""
    return sum(x != 0, axis=axis, keepdims=keepdims)


# ---------------------------------------------------------------------------------------------------- sorting, sets
def sort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    """The items in order along an axis."""
    return numgrad.sort(x, dim=axis, descending=descending, stable=stable)[0]


def argsort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    """The positions of the items in order."""
    return numgrad.sort(x, dim=axis, descending=descending, stable=stable)[1]


def unique_values(x: Any, /) -> Any:
    """The different items, in order."""
    return numgrad.unique(x)


def unique_inverse(x: Any, /) -> Any:
    """The different items, and for each item which of them it is."""
    return numgrad.unique(x, return_inverse=True)


def unique_counts(x: Any, /) -> Any:
    """The different items, and how often each comes."""
    return numgrad.unique(x, return_counts=True)
