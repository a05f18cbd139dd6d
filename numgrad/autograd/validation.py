"""Whether gradients that user code returned fit what they are gradients of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..dtype import FROM_NUMPY

Meta = tuple[tuple[int, ...], Any, Any]  # shape, NumPy dtype and device of a tensor


def validated(name: str, gradients: Sequence[Any], edges: Sequence[Any], metas: Sequence[Meta]) -> list[Any]:
    """Gradients (tensors or None) summed and cast to what they belong to; None where no gradient is wanted.

    Raises RuntimeError, with PyTorch's texts, for one of a shape or on a device that does not fit.
    """
    found: list[Any] = []
    for i, (g, edge, (shape, dtype, device)) in enumerate(zip(gradients, edges, metas, strict=True)):
        if g is None or edge is None:
            found.append(None)
            continue
        given = g._array
        if given.shape != shape:
            if not _broadcasts_to(shape, given.shape):
                raise RuntimeError(
                    f"Function {name} returned an invalid gradient at index {i} - got {list(given.shape)} but expected "
                    f"shape compatible with {list(shape)}"
                )
            g = g.sum_to_size(shape)
        if given.dtype is not dtype:
            g = g.real if given.dtype.kind == "c" and dtype.kind != "c" else g
            g = g.to(FROM_NUMPY[dtype])
        if g._device.hardware != device.hardware:
            raise RuntimeError(
                f"Function {name} returned an invalid gradient at index {i} - expected device {device} but got {g._device}"
            )
        found.append(g)
    return found


def _broadcasts_to(shape: tuple[int, ...], larger: tuple[int, ...]) -> bool:
    lead = len(larger) - len(shape)
    return lead >= 0 and all(n in (1, m) for n, m in zip(shape, larger[lead:], strict=True))
