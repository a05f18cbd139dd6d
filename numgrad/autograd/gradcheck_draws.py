"""The random vectors of `gradcheck`, which neither disturb nor depend on the user's draws."""

from __future__ import annotations

from typing import Any

from ..kernels.draws import draw
from ..kernels.movement import stack

_SEED = 67280421310721


def projection(x: Any, number: int) -> Any:
    """A positive vector of length 1 with a component for each item of `x`."""
    vector = _drawn(x, number).reshape(-1)
    return vector / (vector * vector).sum().sqrt()


def _drawn(x: Any, number: int) -> Any:
    """Real numbers in [0, 1), in the shape of `x` and the dtype of its parts."""
    real = x.detach().abs() if x.is_complex() else x.detach()
    items = draw(
        size=tuple(x.shape), kind="uniform", dtype="float64", low=0, high=0, seed=_SEED, counter=number << 32,
        device=x.device.concrete(),
    )  # fmt: skip
    return items.to(real.dtype)


def random_vector(y: Any, number: int, with_gaps: bool) -> Any:
    """A random gradient for an output, with items between -1 and 1."""
    vector = _drawn(y, 1000 + number) * 2 - 1
    if y.is_complex():
        vector = vector + 1j * (_drawn(y, 2000 + number) * 2 - 1)
    if with_gaps and vector.numel() > 1:
        vector = stack(vector, vector, dim=vector.dim()).select(-1, 0)
    return vector.detach().requires_grad_()
