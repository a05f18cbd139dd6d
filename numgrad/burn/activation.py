"""Activations and losses over handles."""

from __future__ import annotations

from typing import Any

from .. import ops
from ..nn import functional as F
from .methods import lift


def _softmax(x: Any, dim: int) -> Any:
    return ops.exp(ops.log_softmax(x, dim))


relu = lift(F.relu)
gelu = lift(F.gelu)
sigmoid = lift(F.sigmoid)
silu = lift(F.silu)
softplus = lift(F.softplus)
tanh = lift(F.tanh)
log_softmax = lift(ops.log_softmax)
softmax = lift(_softmax)
cross_entropy = lift(F.cross_entropy)
mse_loss = lift(F.mse_loss)
