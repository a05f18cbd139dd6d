"""Burn's tensors: `Tensor` of floats, `IntTensor` and `BoolTensor`."""

from __future__ import annotations

from typing import Any, Self

from ..autograd.differentiate import make_ones
from ..autograd.edges import OutputMeta
from ..autograd.flags import Advice
from ..autograd.node import gradient_edge
from ..device import device as Device
from ..dtype import bool_, get_default_dtype, int64
from ..dtype import dtype as DType
from ..panic import Panic
from . import tape
from .distribution import Distribution
from .gradients import Gradients
from .handle import Handle, plain

_SIMILAR = "there is a method is_require_grad with a similar name; float() gives a tensor that can require a gradient"


class Tensor(Handle):
    """Floats. Made on a device with autodiff it may take part; `require_grad` makes a leaf of it.

    Example:
        >>> from numgrad import Device, burn
        >>> x = burn.Tensor.from_floats([1.0, 2.0], Device.flex().autodiff()).require_grad()
        >>> x.grad((x * x).sum().backward())
        Tensor([2., 4.])
    """

    __slots__ = ()
    KINDS = "fcV"

    @classmethod
    def _default_dtype(cls, data: Any) -> DType | None:
        own = getattr(data, "dtype", None)
        return None if own is not None and own.kind in cls.KINDS else get_default_dtype()

    @classmethod
    def from_floats(cls, floats: Any, device: Device) -> Self:
        """A tensor of the default float dtype."""
        return cls.from_data(floats, device, get_default_dtype())

    @classmethod
    def random(cls, shape: Any, distribution: Distribution, device: Device) -> Self:
        """Random floats, from `Distribution.Default()`, `.Uniform(low, high)`, `.Normal(mean, std)` or `.Bernoulli(p)`."""
        return cls.zeros(shape, device).random_like(distribution)

    def random_like(self, distribution: Distribution) -> Self:
        """Random floats of the same shape, dtype, device and context."""
        return self._over(distribution.draw(self._read().detach().clone()))

    # ------------------------------------------------------------------------------------------ graph
    def require_grad(self) -> Self:
        """The same values as a leaf that keeps its gradient; itself when it is one. Operations before are not recorded.

        Raises Panic without autodiff, and for the result of a recorded operation.
        """
        if not self.is_autodiff():
            raise Panic("Tensor::require_grad requires autodiff; call Tensor::autodiff first")
        if self.is_require_grad():
            return self
        if self.is_tracked():
            raise Panic("Can't convert a non leaf tensor into a tracked tensor")
        return self._marked()

    def set_require_grad(self, require_grad: bool) -> Self:
        """`require_grad()`, or the same values untracked: cut from the graph if they were a result."""
        if require_grad:
            return self.require_grad()
        return self._over(self._read().detach()) if self.is_autodiff() else self

    def backward(self) -> Gradients:
        """The gradients of the sum of the items, for the leaves they depend on. Consumes the recorded operations.

        Raises Panic, before anything runs, for an untracked tensor, and when one of the operations was consumed before.
        """
        if not self.is_tracked():
            raise Panic(
                "Tensor::backward requires a tracked autodiff tensor; call Tensor::autodiff().require_grad() on the source "
                "leaf before computing the output"
            )
        tensor = self._read()
        found = tape.differentiate(
            gradient_edge(tensor), make_ones(OutputMeta(tensor._array.shape, tensor._array.dtype, tensor._device))
        )
        return Gradients([(self._over(leaf, leaf), self._over(plain(g))) for leaf, g in found])

    def grad(self, gradients: Gradients) -> Self | None:
        """The tensor's gradient, without autodiff; None for one that keeps none, and where there is none."""
        return gradients.get(self)

    def grad_remove(self, gradients: Gradients) -> Self | None:
        """`grad`, taken out of the container."""
        return gradients.pop(self, None)

    def grad_replace(self, gradients: Gradients, gradient: Self) -> None:
        """Set the tensor's gradient. Raises Panic for one with autodiff, and when the tensor has none."""
        if gradient.is_autodiff():
            raise Panic("replacement gradients must use the inner backend")
        if not self.is_autodiff():
            raise Panic("Requires autodiff tensor.")
        own, given = self.device(), gradient.device()
        if own != given:
            raise Panic(f"The provided tensors are not on the same backend. Got backends {own} and {given}.")
        gradients.replace(self, gradient)


class IntTensor(Handle):
    """Integers. They carry an autodiff context, for what is made of them, and have no gradients."""

    __slots__ = ()
    KINDS = "iu"

    require_grad = Advice(_SIMILAR)
    set_require_grad = Advice("float() gives a tensor that can")

    @classmethod
    def _default_dtype(cls, data: Any) -> DType | None:
        own = getattr(data, "dtype", None)
        return None if own is not None and own.kind in cls.KINDS else int64

    @classmethod
    def from_ints(cls, ints: Any, device: Device) -> Self:
        """A tensor of 64-bit integers."""
        return cls.from_data(ints, device, int64)

    @classmethod
    def arange(cls, integers: range, device: Device) -> Self:
        """The integers of a range."""
        return cls.from_ints(list(integers), device)


class BoolTensor(Handle):
    """Truth values: masks, and what comparisons give."""

    __slots__ = ()
    KINDS = "b"

    require_grad = Advice(_SIMILAR)
    set_require_grad = Advice("float() gives a tensor that can")

    @classmethod
    def _default_dtype(cls, data: Any) -> DType | None:
        return bool_

    @classmethod
    def from_bools(cls, bools: Any, device: Device) -> Self:
        """A tensor of truth values."""
        return cls.from_data(bools, device, bool_)


def handle_of(tensor: Any) -> Any:
    """The handle, of the class that its dtype asks for, over an operation's result."""
    kind = tensor._array.dtype.kind
    cls = BoolTensor if kind == "b" else IntTensor if kind in "iu" else Tensor
    return cls._over(tensor)
