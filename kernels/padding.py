"""Borders around tensors: a constant, or the items of the tensor itself mirrored, repeated or taken from the other side.

`pad` is as in PyTorch: first and last of the last dimension, then of the one before it, ... A negative number takes
items away.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .array import Shape
from .registry import KernelOp, Sample, op

MODES = {"reflect": "reflection", "replicate": "replication", "circular": "circular"}


def pairs(pad: Shape) -> list[tuple[int, int]]:
    """First and last of each dimension, the last dimension first."""
    return list(zip(pad[::2], pad[1::2], strict=True))


def padded_shape(shape: Shape, pad: Shape) -> Shape:
    """The shape with its borders."""
    out = list(shape)
    for d, (first, last) in enumerate(pairs(pad), 1):
        out[-d] += first + last
    return tuple(out)


# ---------------------------------------------------------------------------------------------------- constant
def _constant_reference(x: np.ndarray, pad: Shape, value: float) -> np.ndarray:
    widths = [(0, 0)] * (x.ndim - len(pad) // 2) + pairs(pad)[::-1]
    wide = np.pad(x, [(max(a, 0), max(b, 0)) for a, b in widths], constant_values=value)
    return wide[tuple(slice(max(-a, 0), n - max(-b, 0)) for (a, b), n in zip(widths, wide.shape, strict=True))]


@op(
    samples=[
        Sample(((2, 3),), {"pad": (1, 2), "value": 0.5}),
        Sample(((2, 3, 2),), {"pad": (-1, 1, 2, -2)}),
    ],
    reference=_constant_reference,
    node="ConstantPadNdBackward0",
    moves=True,
)
def constant_pad_nd(input, *, pad, value=0):
    """The tensor with a border of one value."""


@constant_pad_nd.kernel("cpu")
def _(input: np.ndarray, pad: Shape, value: Any) -> np.ndarray:
    out = np.empty(padded_shape(input.shape, pad), input.dtype)
    source, target = [slice(None)] * input.ndim, [slice(None)] * input.ndim
    out[...] = value
    for d, (first, last) in enumerate(pairs(pad), 1):
        source[-d] = slice(max(-first, 0), input.shape[-d] - max(-last, 0))
        target[-d] = slice(max(first, 0), out.shape[-d] - max(last, 0))
    out[tuple(target)] = input[tuple(source)]
    return out


@constant_pad_nd.grad("input")
def _(g, pad):
    return constant_pad_nd(g, pad=tuple(-n for n in pad))


# ---------------------------------------------------------------------------------------------------- own items
def _sources(extent: int, first: int, last: int, mode: str) -> np.ndarray:
    """Which item of a dimension each item of the padded one is."""
    if mode == "circular":
        kept = np.arange(extent)[max(-first, 0) : extent - max(-last, 0)]
        return kept[np.arange(-max(first, 0), len(kept) + max(last, 0)) % len(kept)]
    numbers = np.arange(-first, extent + last)
    if mode == "replicate":
        return np.clip(numbers, 0, extent - 1)
    inner = extent - 1
    return inner - abs(inner - abs(numbers))


def _padded(input: np.ndarray, pad: Shape, mode: str) -> np.ndarray:
    for d, (first, last) in enumerate(pairs(pad), 1):
        if first or last:
            input = np.take(input, _sources(input.shape[-d], first, last, mode), -d)
    return input


def _numpy_padded(x: np.ndarray, pad: Shape, mode: str) -> np.ndarray:
    widths = [(0, 0)] * (x.ndim - len(pad) // 2) + pairs(pad)[::-1]
    cropped = x[tuple(slice(max(-a, 0), n - max(-b, 0)) for (a, b), n in zip(widths, x.shape, strict=True))]
    names: Any = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}
    return np.pad(cropped, [(max(a, 0), max(b, 0)) for a, b in widths], names[mode])


@op(
    samples=[Sample(((2, 4, 5),), {"sizes": (2, 2, 3), "pad": (1, 1, 1, 1), "mode": mode}) for mode in MODES],
    reference=lambda x, sizes, pad, mode: _numpy_summed(x, sizes, pad, mode),
    takes_complex=True,
    linear="jointly",
)
def pad_backward(input, *, sizes, pad, mode):
    """Each item of a tensor of shape `sizes` as the sum of the items that padding made of it."""


def _numpy_summed(x: np.ndarray, sizes: Shape, pad: Shape, mode: str) -> np.ndarray:
    out = np.zeros(sizes, x.dtype)
    numbers = np.arange(out.size).reshape(sizes)
    np.add.at(out.reshape(-1), _numpy_padded(numbers, pad, mode), x)
    return out


@pad_backward.kernel("cpu")
def _(input: np.ndarray, sizes: Shape, pad: Shape, mode: str) -> np.ndarray:
    for d, (first, last) in enumerate(pairs(pad), 1):
        if first or last:
            input = _summed(input, sizes[-d], _sources(sizes[-d], first, last, mode), max(first, 0), -d)
    return input if any(pad) else input.copy()


def _summed(g: np.ndarray, extent: int, sources: np.ndarray, begin: int, dim: int) -> np.ndarray:
    """The sums along one dimension: the inner part goes to where it was as a whole, the borders item by item."""
    g = np.moveaxis(g, dim, 0)
    out = np.zeros((extent, *g.shape[1:]), g.dtype)
    numbers = np.arange(len(sources))
    inner = numbers[(sources == sources[begin] + numbers - begin) & (numbers >= begin)] if len(sources) > begin else []
    count = len(inner)
    if count:
        out[sources[begin] : sources[begin] + count] = g[begin : begin + count]
    for j in (*range(begin), *range(begin + count, len(sources))):
        out[sources[j]] += g[j]
    return np.moveaxis(out, 0, dim)


@pad_backward.grad("input")
def _(g, pad, mode):
    return with_own_items(mode, len(pad) // 2)(g, pad=pad)


def _own_items(mode: str, rank: int) -> KernelOp:
    name = MODES[mode]
    sizes = (2, *(3, 2, 3)[3 - rank :])

    @op(
        samples=[
            Sample((sizes,), {"pad": (1, 2, 1, 0, 1, 1)[: 2 * rank]}),
            Sample((sizes,), {"pad": (-1, 0) * rank}),
        ],
        reference=lambda x, pad: _numpy_padded(x, pad, mode),
        name=f"{name}_pad{rank}d",
        node="CopySlices" if mode == "circular" else f"{name.capitalize()}Pad{rank}DBackward0",
        moves=True,
        linear="jointly",
    )
    def padded(input, *, pad):
        """The tensor with borders of its own items."""

    @padded.kernel("cpu")
    def _(input: np.ndarray, pad: Shape) -> np.ndarray:
        return _padded(input, pad, mode)

    @padded.grad("input")
    def _(g, input_shape, pad):
        return pad_backward(g, sizes=tuple(input_shape), pad=pad, mode=mode)

    return padded


_OWN_ITEMS = {(mode, rank): _own_items(mode, rank) for mode in MODES for rank in (1, 2, 3)}


def with_own_items(mode: str, rank: int) -> KernelOp:
    """The op that pads the last `rank` dimensions in a mode: "reflect", "replicate" or "circular"."""
    return _OWN_ITEMS[mode, rank]
