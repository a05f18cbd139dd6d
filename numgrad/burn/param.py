"""`Param`: a tensor of a module, with an identity that outlives its values and the wish to train it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from ..autograd.variable import wrap
from ..device import AUTODIFF, Context
from ..device import device as Device
from ..nn.parameter import Parameter
from ..panic import Panic
from .handle import Handle
from .tensor import Tensor, handle_of


@dataclass(frozen=True)
class ParamId:
    """What a parameter is called in containers of gradients and in the state of optimizers; unique across processes."""

    text: str = field(default_factory=lambda: uuid4().hex)


class Param:
    """A parameter: a value, never changed. Every method gives another one with the same id.

    The wish to train it is kept apart from the tensor's flag: without autodiff it is remembered, and the tensor is plain.

    Attributes:
        id: its identity.
        wanted: whether it is to be trained.
        context: the autodiff context it trains in, which `train` restores after `valid`.
        value: the engine's tensor.
    """

    __slots__ = ("context", "id", "value", "wanted")

    def __init__(self, value: Any, wanted: bool, *, id: ParamId | None = None, context: Context | None = None) -> None:
        own = value._device.context
        self.id = ParamId() if id is None else id
        self.wanted = wanted
        self.context: Context = context or (own if own.enabled else AUTODIFF)
        self.value = value

    @classmethod
    def from_tensor(cls, handle: Tensor) -> Param:
        """A parameter to be trained, from a handle. Raises Panic for the result of a recorded operation."""
        if not isinstance(handle, Handle):
            raise TypeError(f"Param.from_tensor() takes a burn.Tensor, not {type(handle).__name__}")
        if handle.is_tracked() and not handle.is_require_grad():
            raise Panic("Can't convert a non leaf tensor into a tracked tensor")
        return cls(leaf(handle.torch()._array, handle.device(), True), True)

    def val(self) -> Any:
        """The value as a handle: a leaf when it is to be trained and has autodiff."""
        return Tensor.wrap(self.value) if self.value.is_floating_point() else handle_of(self.value)

    def shape(self) -> tuple[int, ...]:
        """Extents of the dimensions."""
        return tuple(self.value._array.shape)

    def is_require_grad(self) -> bool:
        """Whether the value is a leaf that gets a gradient."""
        return self.value.is_require_grad()

    def set_require_grad(self, require_grad: bool) -> Param:
        """The parameter with or without the wish to train it. On a device without autodiff it is only noted."""
        return self._with(self.value._array, self.value._device, require_grad)

    def replaced(self, array: Any) -> Param:
        """The parameter with other items."""
        return self._with(array, self.value._device, self.wanted)

    def valid(self) -> Param:
        """The parameter without autodiff."""
        return self._with(self.value._array, self.value._device.without_autodiff(), self.wanted)

    def train(self) -> Param:
        """The parameter in the context it trains in."""
        return self._with(self.value._array, self.value._device.with_context(self.context), self.wanted)

    def placed(self, device: Device) -> Param:
        """The parameter of a new module on a device, in the device's context."""
        moved = self.value.detach().to(device=device)
        return Param(
            leaf(moved._array, moved._device.with_context(device.context), self.wanted), self.wanted, id=self.id
        )

    def fork(self, device: Device) -> Param:
        """The parameter on a device, as a leaf of its own. Its context stays."""
        moved = self.value.detach().to(device=device)
        copied = moved.clone() if moved._array.storage is self.value._array.storage else moved
        return self._with(copied._array, copied._device, self.wanted)

    def to_device(self, device: Device) -> Param:
        """The parameter on a device, as the result of moving it: gradients flow to where it came from."""
        return Param(self.val().to_device(device).torch(), self.wanted, id=self.id, context=self.context)

    def _with(self, array: Any, where: Device, wanted: bool) -> Param:
        return Param(leaf(array, where, wanted), wanted, id=self.id, context=self.context)

    def __repr__(self) -> str:
        return f"Param({self.id}, {self.val()!r})"


def leaf(array: Any, where: Device, wanted: bool) -> Any:
    """A parameter for the engine's modules over an array, marked if that is wanted and the device has autodiff."""
    return Parameter(wrap(array, where), wanted and where.context.enabled)
