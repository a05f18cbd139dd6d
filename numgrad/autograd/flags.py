"""What both front doors can ask of a tensor, and Burn's names that a PyTorch-style tensor answers with advice."""

from __future__ import annotations

from typing import Any


class Advice:
    """An attribute that is not there: reading it raises AttributeError with a hint, so `hasattr` says no."""

    def __init__(self, hint: str) -> None:
        self.hint = hint

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        raise AttributeError(
            f"{owner.__name__!r} object has no attribute {self.name!r}: {self.hint}", name=self.name, obj=instance
        )


_MARKING = "mark this tensor itself with requires_grad_(), or take a marked handle, burn.Tensor.wrap(t).require_grad()"


class AutodiffFlags:
    """Burn's three questions, each of which implies the next: `is_require_grad`, `is_tracked`, `is_autodiff`."""

    __slots__ = ()

    def is_autodiff(self: Any) -> bool:
        """Whether the tensor may take part in autodiff."""
        return self._device.context.enabled

    def is_tracked(self: Any) -> bool:
        """Whether ops on the tensor are recorded: `requires_grad`, unless its device has no autodiff."""
        return self._device.context.enabled and self.requires_grad

    def is_require_grad(self: Any) -> bool:
        """Whether the tensor is a leaf whose gradient is wanted."""
        return self.is_tracked() and self.is_leaf

    require_grad = Advice(_MARKING)
    set_require_grad = Advice(_MARKING)
