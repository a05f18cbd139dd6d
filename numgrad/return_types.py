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
