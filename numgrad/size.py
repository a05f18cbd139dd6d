"""`Size`, the shape of a tensor."""

from __future__ import annotations

import math
from typing import Any


class Size(tuple[int, ...]):
    """A shape: a tuple of ints that prints as PyTorch's, `torch.Size([2, 3])`."""

    __slots__ = ()

    def numel(self) -> int:
        """Number of items of a tensor of this shape."""
        return math.prod(self)

    def __repr__(self) -> str:
        return f"torch.Size([{', '.join(map(str, self))}])"

    __str__ = __repr__

    def __getitem__(self, key: Any) -> Any:
        item = tuple.__getitem__(self, key)
        return Size(item) if isinstance(key, slice) else item

    def __add__(self, other: Any) -> Size:
        return Size(tuple.__add__(self, tuple(other)))
