"""`Handle`: an immutable value over a tensor of the engine. It knows Burn's flags; what it can compute is in `methods`."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Self

from .. import creation, interop
from ..autograd.node import gradient_edge
from ..autograd.variable import CLASSES, wrap
from ..device import PLAIN, GradientCheckpointingStrategy
from ..device import device as Device
from ..dtype import dtype as DType
from ..operands import MIXED, Foreign
from ..ops import shaping
from ..panic import Panic
from ..printing import tensor_repr


class Identity:
    """What clones of an untracked handle share: the leaf that any of them becomes by `require_grad`."""

    __slots__ = ("reference",)

    def __init__(self) -> None:
        self.reference: weakref.ref[Any] | None = None

    @property
    def leaf(self) -> Any:
        """The leaf; None when no handle was marked, or nothing needs it any more."""
        return None if self.reference is None else self.reference()


class Handle(Foreign):
    """A value with a device, and with an autodiff context that it got there. Nothing changes a handle.

    Attributes of an engine's tensor that are Burn's are methods here: `shape()`, `dims()`, `dtype()`, `device()`.
    """

    __slots__ = ("_identity", "_leaf", "_tensor", "_version")
    __array_priority__ = 2000
    __array_ufunc__ = None  # NumPy leaves mixed operators to us, which refuse
    __hash__ = object.__hash__

    if TYPE_CHECKING:  # operators and methods are bound by `methods`

        def __getattr__(self, name: str) -> Any: ...
        def __add__(self, other: Any) -> Any: ...
        def __sub__(self, other: Any) -> Any: ...
        def __mul__(self, other: Any) -> Any: ...
        def __truediv__(self, other: Any) -> Any: ...
        def __matmul__(self, other: Any) -> Any: ...
        def __neg__(self) -> Any: ...

    KINDS: ClassVar[str] = ""  # letters of the NumPy kinds that the class holds

    _tensor: Any
    _leaf: Any
    _identity: Identity | None  # made when first asked for
    _version: int

    @classmethod
    def _over(cls, tensor: Any, leaf: Any = None, identity: Identity | None = None) -> Any:
        """A handle of the class over a tensor; `leaf` is where its gradient lands, for one that keeps it."""
        handle = object.__new__(cls)
        handle._tensor = tensor
        handle._leaf = leaf
        handle._identity = identity
        handle._version = tensor._array.version
        return handle

    def __init__(self, *arguments: Any) -> None:
        raise TypeError(f"make a {type(self).__name__} with one of its constructors, such as from_data(data, device)")

    def _read(self) -> Any:
        """The tensor. Raises RuntimeError when its memory was written through the other front door."""
        if self._tensor._array.version != self._version:
            raise RuntimeError(
                f"the memory of a burn.{type(self).__name__} was modified by an inplace operation on a tensor that shares "
                "it: wrap a clone"
            )
        return self._tensor

    # ------------------------------------------------------------------------------------------ conversion
    @classmethod
    def wrap(cls, tensor: Any) -> Any:
        """A handle over a PyTorch-style tensor: same memory, same place in the graph.

        It holds the tensor as it is now: marking the tensor later does not mark the handle. Raises TypeError for anything
        but a tensor of the handle's kind.
        """
        if tensor.__class__ not in CLASSES:
            raise TypeError(f"burn.{cls.__name__}.wrap() takes a numgrad.Tensor, not {type(tensor).__name__}")
        if tensor._array.dtype.kind not in cls.KINDS:
            raise TypeError(f"burn.{cls.__name__}.wrap(): a tensor of dtype {tensor.dtype} is of another kind")
        if tensor.is_require_grad():
            return cls._over(tensor, tensor)
        edge = gradient_edge(tensor) if tensor.is_tracked() else None
        return cls._over(wrap(tensor._array, tensor._device, edge))

    def torch(self) -> Any:
        """The PyTorch-style tensor: same memory, same place in the graph."""
        return self._read()

    @classmethod
    def from_data(cls, data: Any, device: Device, dtype: DType | None = None) -> Any:
        """A handle from numbers in lists, an ndarray, or another handle's `to_data()`."""
        if data.__class__ in CLASSES:
            raise TypeError(MIXED)
        made = interop.tensor(data, dtype=dtype or cls._default_dtype(data), device=_device(device))
        if made._array.dtype.kind not in cls.KINDS:
            raise TypeError(f"burn.{cls.__name__}.from_data(): {made.dtype} is of another kind")
        return cls._over(ranked(made))

    @classmethod
    def _default_dtype(cls, data: Any) -> DType | None:
        raise NotImplementedError

    @classmethod
    def full(cls, shape: Any, value: Any, device: Device, dtype: DType | None = None) -> Any:
        """One number, in a shape of at least one dimension."""
        made = creation.full(shape, value, dtype=dtype or cls._default_dtype(value), device=_device(device))
        return cls._over(ranked(made))

    @classmethod
    def zeros(cls, shape: Any, device: Device, dtype: DType | None = None) -> Any:
        """Zeros."""
        return cls.full(shape, 0, device, dtype)

    @classmethod
    def ones(cls, shape: Any, device: Device, dtype: DType | None = None) -> Any:
        """Ones."""
        return cls.full(shape, 1, device, dtype)

    empty = zeros  # undefined items are of no use to a value

    def to_data(self) -> Any:
        """The items as an ndarray of their own."""
        return self._read().detach().cpu().clone().numpy()

    into_data = to_data

    def to_list(self) -> Any:
        """The items as nested lists."""
        return self._read().tolist()

    def into_scalar(self) -> Any:
        """The only item as a Python number. Raises RuntimeError when there are several."""
        return self._read().item()

    # ------------------------------------------------------------------------------------------ looking
    def shape(self) -> tuple[int, ...]:
        """Extents of the dimensions."""
        return tuple(self._tensor._array.shape)

    dims = shape

    def rank(self) -> int:
        """Number of dimensions."""
        return len(self._tensor._array.shape)

    def dtype(self) -> DType:
        """Type of the items."""
        return self._tensor.dtype

    def device(self) -> Device:
        """Hardware, with the handle's own autodiff context."""
        return self._tensor._device

    def __len__(self) -> int:
        return self._tensor._array.shape[0]

    def __iter__(self) -> Iterator[Self]:
        raise TypeError(f"burn.{type(self).__name__} is not iterable: iter_dim(0) gives its slices")

    def __bool__(self) -> bool:
        raise TypeError(f"the truth of a burn.{type(self).__name__} is not defined: into_scalar() gives its item")

    def __repr__(self) -> str:
        tensor = self._tensor.detach()
        words = [word for word in ("is_require_grad", "is_tracked", "is_autodiff") if getattr(self, word)()]
        text = tensor_repr(
            lambda index: interop.fetch(tensor, index),
            shape=tensor._array.shape,
            dtype_name=tensor.dtype.name,
            kind=tensor.dtype.category,
            device=str(tensor._device),
            prefix=f"{type(self).__name__}(",
        )
        return f"{text[:-1]}, {words[0]})" if words else text

    # ------------------------------------------------------------------------------------------ context
    def clone(self) -> Self:
        """The handle itself: values do not change, so there is nothing to copy."""
        return self

    __copy__ = clone

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        # As in PyTorch the graph is not saved: what was a result comes back untracked.
        return (_restored, (type(self), self.to_data(), self.device(), self.is_require_grad()))

    def is_autodiff(self) -> bool:
        """Whether the handle may take part in autodiff."""
        return self._tensor._device.context.enabled

    def is_tracked(self) -> bool:
        """Whether operations on the handle are recorded. It stays so when the tape was consumed."""
        return self._tensor._requires_grad

    def is_require_grad(self) -> bool:
        """Whether the handle is a leaf that keeps its gradient."""
        return self._leaf is not None

    def autodiff(self) -> Self:
        """The same values with autodiff, untracked; itself when it has it already."""
        if self.is_autodiff():
            return self
        return self._over(wrap(self._read()._array, self._tensor._device.autodiff()))

    def without_autodiff(self) -> Self:
        """The same values as a constant of every operation; itself when it is one."""
        if not self.is_autodiff():
            return self
        return self._over(wrap(self._read()._array, self._tensor._device.without_autodiff()))

    inner = without_autodiff

    @classmethod
    def from_inner(cls, handle: Self) -> Self:
        """`handle.autodiff()`."""
        return handle.autodiff()

    def gradient_checkpointing_strategy(self) -> GradientCheckpointingStrategy | None:
        """How the graph of the handle keeps what gradients read; None without autodiff."""
        return self._tensor._device.context.strategy

    def with_gradient_checkpointing_strategy(self, strategy: GradientCheckpointingStrategy | str) -> Self:
        """The same value, in the same place of the graph, with another strategy. Raises Panic without autodiff."""
        if not self.is_autodiff():
            raise Panic("Tensor::with_gradient_checkpointing_strategy requires autodiff; call Tensor::autodiff first")
        tensor = self._read()
        where = tensor._device.without_autodiff().autodiff()
        if GradientCheckpointingStrategy(strategy) is GradientCheckpointingStrategy.Balanced:
            where = where.gradient_checkpointing()
        edge = gradient_edge(tensor) if self.is_tracked() else None
        return self._over(wrap(tensor._array, where, edge), self._leaf, self._shared_identity())

    def detach(self) -> Self:
        """The same values in a new place outside of the graph; a leaf that keeps its gradient becomes another such leaf."""
        if not self.is_autodiff():
            return self
        fresh = self._over(self._read().detach())
        return fresh._marked() if self.is_require_grad() else fresh

    def _shared_identity(self) -> Identity:
        if self._identity is None:
            self._identity = Identity()
        return self._identity

    def _marked(self) -> Self:
        """An untracked handle as a leaf; the same leaf for all clones."""
        identity, where = self._shared_identity(), self._tensor._device
        leaf = identity.leaf
        if leaf is None:
            leaf = self._read().detach().requires_grad_()
            identity.reference = weakref.ref(leaf)
        tensor = leaf if leaf._device is where else wrap(leaf._array, where, gradient_edge(leaf))
        return self._over(tensor, leaf, identity)

    def to_device(self, device: Device) -> Self:
        """The values on another device, with the context they have. Recorded also when the device is the same.

        So the result of a leaf is no leaf: `h.to_device(d).detach().require_grad()` is one.
        """
        tensor = self._read()
        wanted = _device(device)
        moved = tensor.to(device=wanted)
        return self._over(shaping.view(tensor, tensor.shape) if moved is tensor else moved)


def _device(device: Any) -> Device:
    if not isinstance(device, Device):
        raise TypeError(f"a device is wanted, such as Device.flex().autodiff(), not {type(device).__name__}")
    return device


def _restored(cls: type[Handle], data: Any, device: Device, marked: bool) -> Any:
    """A handle from its pickle."""
    handle = cls.from_data(data, device)
    return handle._marked() if marked else handle


def ranked(tensor: Any) -> Any:
    """A tensor of at least one dimension: Burn has no others."""
    return tensor if tensor._array.shape else shaping.reshape(tensor, (1,))


def plain(tensor: Any) -> Any:
    """The values of a tensor, without autodiff."""
    return wrap(tensor._array, tensor._device.with_context(PLAIN))
