"""Named tuples that ops with several outputs return. They print as PyTorch's."""

from __future__ import annotations

from typing import Any, NamedTuple


class max(NamedTuple):
    """Values and indices of `max` over a dimension."""

    values: Any
    indices: Any

    def __repr__(self) -> str:
        return f"torch.return_types.max(\nvalues={self.values!r},\nindices={self.indices!r})"
