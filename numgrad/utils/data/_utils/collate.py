"""Batches: samples in a list become tensors with one more dimension, in whatever containers the samples are."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

from ....dtype import float64
from ....interop import ARRAY, SCALARS, as_tensor, tensor
from ....ops import stack
from ....tensor import Tensor

__all__ = ["collate", "default_collate", "default_collate_fn_map", "default_convert"]

CollateFunctions = dict[Any, Callable[..., Any]]
_NO_NUMBERS = re.compile(r"[SaUO]")  # NumPy's dtypes of strings and objects
_WHAT_A_BATCH_HOLDS = "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"


def default_convert(data: Any) -> Any:
    """`data` with its NumPy arrays and scalars as tensors, in the same containers; anything else as it is.

    This is how a `DataLoader` without batches (`batch_size=None`) treats a sample. Tuples become lists, as in batches.

    Example:
        >>> import numpy as np
        >>> default_convert({"x": np.arange(2), "label": "a"})
        {'x': tensor([0, 1]), 'label': 'a'}
    """
    kind = type(data)
    if isinstance(data, Tensor):
        return data
    if kind.__module__ == "numpy" and kind.__name__ not in ("str_", "string_"):
        is_text = isinstance(data, ARRAY) and _NO_NUMBERS.search(data.dtype.str)
        return data if is_text else as_tensor(data)
    if isinstance(data, Mapping):
        return _mapping(data, lambda key: default_convert(data[key]))
    if isinstance(data, tuple):
        parts = [default_convert(part) for part in data]
        return kind(*parts) if hasattr(data, "_fields") else parts
    if isinstance(data, Sequence) and not isinstance(data, str | bytes):
        return _sequence(data, [default_convert(part) for part in data])
    return data


def _mapping(like: Mapping[Any, Any], value: Callable[[Any], Any]) -> Any:
    """A mapping of the kind of another, with new values."""
    values = {key: value(key) for key in like}
    try:
        if isinstance(like, MutableMapping):
            made = copy.copy(like)  # it may have attributes of its own
            made.update(values)
            return made
        return type(like)(values)  # type: ignore[call-arg]
    except TypeError:
        return values


def _sequence(like: Sequence[Any], values: list[Any]) -> Any:
    """A sequence of the kind of another, with new items."""
    try:
        if isinstance(like, MutableSequence):
            made = copy.copy(like)
            for i, value in enumerate(values):
                made[i] = value
            return made
        return type(like)(values)  # type: ignore[call-arg]
    except TypeError:  # such as a range
        return values


def collate(batch: Any, *, collate_fn_map: CollateFunctions | None = None) -> Any:
    """A batch of samples, by the function that `collate_fn_map` has for the class of the first, or for a class above it.

    Samples in containers are collated part by part, and the batch is such a container (a list in place of a tuple).

    Raises RuntimeError for sequences of unequal length, TypeError for what no function is for.
    """
    first = batch[0]
    kind = type(first)
    functions = collate_fn_map or {}
    if kind in functions:
        return functions[kind](batch, collate_fn_map=collate_fn_map)
    for of_kind, function in functions.items():
        if isinstance(first, of_kind):
            return function(batch, collate_fn_map=collate_fn_map)
    if isinstance(first, Mapping):
        return _mapping(first, lambda key: collate([sample[key] for sample in batch], collate_fn_map=collate_fn_map))
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return kind(*(collate(part, collate_fn_map=collate_fn_map) for part in zip(*batch, strict=False)))
    if isinstance(first, Sequence):
        if any(len(sample) != len(first) for sample in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        parts = [collate(part, collate_fn_map=collate_fn_map) for part in zip(*batch, strict=True)]
        return parts if isinstance(first, tuple) else _sequence(first, parts)
    raise TypeError(_WHAT_A_BATCH_HOLDS.format(kind))


# These have PyTorch's names: a function of a user's own may call them.
def collate_tensor_fn(batch: Any, *, collate_fn_map: CollateFunctions | None = None) -> Any:
    """Tensors stacked."""
    return stack(batch, 0)


def collate_numpy_array_fn(batch: Any, *, collate_fn_map: CollateFunctions | None = None) -> Any:
    """Arrays as one tensor, by the function for tensors. Raises TypeError for arrays of strings or objects."""
    if _NO_NUMBERS.search(batch[0].dtype.str):
        raise TypeError(_WHAT_A_BATCH_HOLDS.format(batch[0].dtype))
    return collate([as_tensor(array) for array in batch], collate_fn_map=collate_fn_map)


def collate_numpy_scalar_fn(batch: Any, *, collate_fn_map: CollateFunctions | None = None) -> Any:
    """NumPy's scalars as a tensor."""
    return as_tensor(batch)


def collate_float_fn(batch: Any, *, collate_fn_map: CollateFunctions | None = None) -> Any:
    """Floats as a float64 tensor."""
    return tensor(batch, dtype=float64)


def collate_int_fn(batch: Any, *, collate_fn_map: CollateFunctions | None = None) -> Any:
    """Integers, or bools, as a tensor."""
    return tensor(batch)


def collate_str_fn(batch: Any, *, collate_fn_map: CollateFunctions | None = None) -> Any:
    """Strings and bytes as they are."""
    return batch


default_collate_fn_map: CollateFunctions = {
    Tensor: collate_tensor_fn,
    ARRAY: collate_numpy_array_fn,
    SCALARS: collate_numpy_scalar_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}
_AS_MADE = dict(default_collate_fn_map)


def has_defaults() -> bool:
    """Whether nobody changed `default_collate_fn_map`."""
    return default_collate_fn_map == _AS_MADE


def default_collate(batch: Any) -> Any:
    """A list of samples as a batch: tensors, arrays and numbers become tensors with one more dimension in front.

    Strings and bytes stay a list; in mappings, sequences and named tuples every part is collated by itself. More
    classes can be given a function in `_utils.collate.default_collate_fn_map`.

    Raises TypeError for samples of another class, RuntimeError for sequences of unequal length.

    Example:
        >>> default_collate([{"x": 1, "y": "a"}, {"x": 2, "y": "b"}])
        {'x': tensor([1, 2]), 'y': ['a', 'b']}
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)
