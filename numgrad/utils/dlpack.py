"""DLPack: memory shared with tensors and arrays of other libraries."""

from __future__ import annotations

from typing import Any

from .. import interop
from ..interop import from_dlpack
from ..ops.checks import check_tensor

__all__ = ["from_dlpack", "to_dlpack"]


def to_dlpack(tensor: Any) -> Any:
    """A DLPack capsule over the memory of a CPU tensor, which one consumer may take. It carries no graph."""
    check_tensor("_to_dlpack", tensor, "data")
    return interop.to_dlpack(tensor.detach(), None, None, None, None)
