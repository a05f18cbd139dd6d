"""Borders around tensors: a constant, or the tensor's own items."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..dispatch import dispatch
from ..kernels import padding as kernels
from .checks import check_tensor

_NAMES = {"reflect": "reflection", "replicate": "replication", "circular": "circular"}


def constant_pad_nd(input: Any, pad: Sequence[int], value: float = 0) -> Any:
    """The tensor with a border of `value`: first and last of the last dimension, then of the one before it, ..."""
    check_tensor("constant_pad_nd", input)
    widths = _widths("constant_pad_nd", input, pad)
    if len(widths) > 2 * input.dim():
        raise RuntimeError(
            "Padding length should be less than or equal to two times the input dimension but got padding length "
            f"{len(widths)} and input of dimension {input.dim()}"
        )
    shape = kernels.padded_shape(tuple(input.shape), widths)
    for d, (first, last) in enumerate(kernels.pairs(widths), 1):
        if shape[-d] < 0:
            if input.shape[-d] + min(first, 0) < 0 or input.shape[-d] + min(first, 0) + min(last, 0) < 0:
                raise RuntimeError("narrow(): length must be non-negative.")
            raise RuntimeError(
                f"The input size {input.shape[-d]}, plus negative padding {first} and {last} resulted in a negative "
                f"output size, which is invalid. Check dimension {input.dim() - d} of your input."
            )
    return dispatch(kernels.constant_pad_nd, (input,), (widths, value))


def pad(input: Any, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Any:
    """The tensor with borders; see `numgrad.nn.functional.pad`."""
    check_tensor("pad", input)
    widths = _widths("pad", input, pad)
    if mode == "constant":
        return constant_pad_nd(input, widths, 0 if value is None else value)
    if value is not None:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    if mode not in _NAMES:
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    rank = len(widths) // 2
    if rank not in (1, 2, 3) or input.dim() not in (rank + 1, rank + 2):
        raise NotImplementedError(
            f"Padding size {len(widths)} is not supported for {input.dim()}D input tensor.\n"
            "Supported combinations for non-constant padding:\n"
            "  - 2D or 3D input: padding size = 2 (pads last dimension)\n"
            "  - 3D or 4D input: padding size = 4 (pads last 2 dimensions)\n"
            "  - 4D or 5D input: padding size = 6 (pads last 3 dimensions)"
        )
    _CHECKS[mode](input, widths)
    if input.dtype.name == "bool" and mode != "circular":
        raise NotImplementedError(f"\"{_NAMES[mode]}_pad{rank}d\" not implemented for 'Bool'")
    return dispatch(kernels.with_own_items(mode, rank), (input,), (widths,))


# ---------------------------------------------------------------------------------------------------- checks
def _widths(name: str, input: Any, pad: Any) -> tuple[int, ...]:
    if not isinstance(pad, (tuple, list)):
        raise TypeError(f"{name}(): argument 'pad' (position 2) must be tuple of ints, not {type(pad).__name__}")
    for position, n in enumerate(pad):
        if not hasattr(n, "__index__"):
            raise TypeError(
                f"{name}(): argument 'pad' (position 2) must be tuple of ints, but found element of type "
                f"{type(n).__name__} at pos {position}"
            )
    if len(pad) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    return tuple(int(n) for n in pad)


def _check_not_empty(input: Any, rank: int) -> None:
    if 0 in tuple(input.shape)[-rank - 1 :]:
        raise RuntimeError(
            f"Expected {rank + 1}D or {rank + 2}D (batch mode) tensor with possibly 0 batch size and other non-zero "
            f"dimensions for input, but got: {list(input.shape)}"
        )


def _check_result(input: Any, widths: tuple[int, ...]) -> None:
    rank = len(widths) // 2
    own = tuple(input.shape)[-rank:]
    size = kernels.padded_shape(own, widths)
    if min(size) >= 1:
        return
    letters = "DHW"[3 - rank :]
    before, after = (" ".join(f"{a}: {n}" for a, n in zip(letters, sizes, strict=True)) for sizes in (own, size))
    raise RuntimeError(f"input ({before}) is too small. Calculated output {after}")


def _check_reflection(input: Any, widths: tuple[int, ...]) -> None:
    _check_not_empty(input, len(widths) // 2)
    for d, (first, last) in enumerate(kernels.pairs(widths), 1):
        if first >= input.shape[-d] or last >= input.shape[-d]:
            raise RuntimeError(
                f"Argument #{2 + 2 * d}: Padding size should be less than the corresponding input dimension, but got: "
                f"padding ({first}, {last}) at dimension {input.dim() - d} of input {list(input.shape)}"
            )
    _check_result(input, widths)


def _check_replication(input: Any, widths: tuple[int, ...]) -> None:
    _check_not_empty(input, len(widths) // 2)
    _check_result(input, widths)


def _check_circular(input: Any, widths: tuple[int, ...]) -> None:
    for d, (first, last) in enumerate(kernels.pairs(widths), 1):
        extent = input.shape[-d]
        if first > extent or last > extent:
            raise RuntimeError("Padding value causes wrapping around more than once.")
        if extent + first + last < 0:
            raise RuntimeError("Negative padding value is resulting in an empty dimension")


_CHECKS = {"reflect": _check_reflection, "replicate": _check_replication, "circular": _check_circular}
