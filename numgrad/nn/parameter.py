"""Tensors that a module trains."""

from __future__ import annotations

from typing import Any

from ..creation import empty
from ..tensor import Tensor

__all__ = ["Parameter"]


class Parameter(Tensor):
    """A leaf tensor that becomes a parameter of the module it is assigned to.

    It shares the memory of `data`, and requires gradients also when it is made inside `no_grad()`.

    >>> Parameter(tensor([1.0, 2.0]))
    Parameter containing:
    tensor([1., 2.], requires_grad=True)

    Raises RuntimeError for a dtype that can have no gradient, unless `requires_grad=False`.
    """

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Parameter:
        """Wrap `data`; none gives an empty tensor, as PyTorch does."""
        return Tensor._make_subclass(cls, empty(0) if data is None else data, requires_grad)

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.detach().clone(), self.requires_grad)
        return memo[id(self)]

    def __repr__(self) -> str:
        return "Parameter containing:\n" + super().__repr__()
