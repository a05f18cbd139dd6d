"""The container that `Tensor.backward` returns."""

from __future__ import annotations

from typing import Any

from .. import autograd
from .handle import Handle


class Gradients(autograd.Gradients):
    """Gradients by handle, without autodiff. Only handles that keep their gradient find one."""

    __slots__ = ()

    def replace(self, x: Any, gradient: Any) -> None:
        """Set the gradient of `x`; for a handle that keeps none nothing would read it, and nothing is set."""
        if x.is_require_grad():
            super().replace(x, gradient)

    def _key(self, x: Any) -> int:
        if not isinstance(x, Handle):
            raise TypeError(f"gradients are found by the handle they belong to, not by {type(x).__name__}")
        return id(x._leaf)

    def _shape(self, x: Any) -> tuple[int, ...]:
        return x.shape()
