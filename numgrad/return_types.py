"""Named tuples that ops with several outputs return. They print as PyTorch's."""

from __future__ import annotations

from typing import Any, NamedTuple


def _shown(result: Any) -> str:
    fields = ",\n".join(f"{name}={value!r}" for name, value in result._asdict().items())
    return f"torch.return_types.{type(result).__name__}(\n{fields})"


class max(NamedTuple):
    """Values and indices of `max` over a dimension."""

    values: Any
    indices: Any

    def __repr__(self) -> str:
        return _shown(self)


class min(NamedTuple):
    """Values and indices of `min` over a dimension."""

    values: Any
    indices: Any

    def __repr__(self) -> str:
        return _shown(self)


class aminmax(NamedTuple):
    """The smallest and the largest items."""

    min: Any
    max: Any

    def __repr__(self) -> str:
        return _shown(self)


class sort(NamedTuple):
    """Items in order and where they were."""

    values: Any
    indices: Any

    def __repr__(self) -> str:
        return _shown(self)


class topk(NamedTuple):
    """The largest items and their indices."""

    values: Any
    indices: Any

    def __repr__(self) -> str:
        return _shown(self)


class kthvalue(NamedTuple):
    """The k-th smallest items and their indices."""

    values: Any
    indices: Any

    def __repr__(self) -> str:
        return _shown(self)


class median(NamedTuple):
    """Medians and their indices."""

    values: Any
    indices: Any

    def __repr__(self) -> str:
        return _shown(self)


class nanmedian(NamedTuple):
    """Medians of numbers and their indices."""

    values: Any
    indices: Any

    def __repr__(self) -> str:
        return _shown(self)


class mode(NamedTuple):
    """The most common items and their indices."""

    values: Any
    indices: Any

    def __repr__(self) -> str:
        return _shown(self)


class cummax(NamedTuple):
    """Running maxima and their indices."""

    values: Any
    indices: Any

    def __repr__(self) -> str:
        return _shown(self)


class cummin(NamedTuple):
    """Running minima and their indices."""

    values: Any
    indices: Any

    def __repr__(self) -> str:
        return _shown(self)
