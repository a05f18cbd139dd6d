"""Images of another size by interpolation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..dispatch import dispatch
from ..kernels import resampling as kernels

_KINDS = {"bilinear": "linear", "trilinear": "linear", "bicubic": "cubic"}


def upsample(
    input: Any, mode: str, output_size: Sequence[int] | None, factors: Sequence[float] | None, align_corners: bool
) -> Any:
    """Images of `output_size`, or larger by `factors`; see `numgrad.nn.functional.interpolate`."""
    own = tuple(input.shape[2:])
    rank, kind = len(own), _KINDS.get(mode, mode)
    if output_size is None:
        assert factors is not None
        output_size = [int(n * f) for n, f in zip(own, factors, strict=True)]
    size = tuple(int(n) for n in output_size)
    _check_sizes(input, own, size)
    is_byte = input.dtype.name == "uint8" and kind.startswith("nearest")
    if not (input.dtype.is_floating_point or is_byte):
        name = f"upsample_{mode.replace('-', '_')}{rank}d"
        if rank == 2 and kind != "cubic":
            name += "_channels_last"
        raise NotImplementedError(f"\"{name}\" not implemented for '{input.dtype.scalar_name}'")
    scales = () if factors is None else tuple(float(f) for f in factors)
    way = kernels.Interpolation(kind, size, align_corners, scales)
    return dispatch(kernels.UPSAMPLE[kind, rank], (input,), (way,))


def _check_sizes(input: Any, own: tuple[int, ...], size: tuple[int, ...]) -> None:
    if min(own) < 1 or min(size) < 1:
        letters = "DHW"[3 - len(own) :]
        before, after = (", ".join(f"{a}: {n}" for a, n in zip(letters, sizes, strict=True)) for sizes in (own, size))
        raise RuntimeError(
            f"Input and output sizes should be greater than 0, but got input ({before}) output ({after})"
        )
    if input.shape[1] == 0:
        raise RuntimeError(
            f"Non-empty {input.dim()}D data tensor expected but got a tensor with sizes {list(input.shape)}"
        )
