"""Dropout: the noise that an input is multiplied by, and the product with a mask."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .array import Array, Shape
from .backends import backend
from .draws import items
from .folds import mapped
from .registry import Sample, Uniform, elementwise, op


def _kept(unit, keep, scale):
    return scale if unit < keep else 0


def _noise_reference(size: Shape, keep: float, scale: float, dtype: str, **stream: Any) -> np.ndarray:
    return np.full(size, scale if keep else 0, dtype)


_STREAM = {"seed": 5, "counter": 3, "device": "cpu"}


@op(
    samples=[Sample((), {"size": (2, 3), "keep": keep, "scale": 2.0, "dtype": "float32", **_STREAM}) for keep in (0.0, 1.0)],
    reference=_noise_reference,
    differentiable=False,
)  # fmt: skip
def dropout_noise(*, size, keep, scale, dtype, seed, counter, device):
    """A new tensor whose items are `scale` with the probability `keep`, and else 0."""


@dropout_noise.kernel("cpu")
@dropout_noise.kernel("cuda")
def _(size: Shape, keep: float, scale: float, dtype: str, seed: int, counter: int, device: str) -> Array:
    unit = items("uniform", np.dtype(np.float32), math.prod(size), seed, counter)
    noise = mapped(_kept, unit, keep, scale).astype(dtype, copy=False)
    return backend(device).from_host(noise.reshape(size), device)


@elementwise(
    samples=Uniform(),
    reference=lambda x, mask, scale: x * np.where(mask, scale, 0),
    public=(),
    plain=("mask", "scale"),
    bool_error=None,
)
def native_dropout(input, mask: bool, scale):
    """`input` times `scale` where the mask is True, and times 0 elsewhere."""
    return input * (scale if mask else 0)
