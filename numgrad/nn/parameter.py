"""Tensors that belong to a module: parameters, which it trains, and buffers, which it does not."""

from __future__ import annotations

from typing import Any

from ..autograd.variable import Variable, wrap
from ..creation import empty
from ..device import device as Device
from ..dtype import dtype as DType
from ..tensor import Tensor

__all__ = ["Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter"]


class Parameter(Tensor):
    """A leaf tensor that becomes a parameter of the module it is assigned to.

    It shares the memory of `data`, and requires gradients also when it is made inside `no_grad()`.

    >>> Parameter(tensor([1.0, 2.0]))
    Parameter containing:
    tensor([1., 2.], requires_grad=True)

    Raises RuntimeError for a dtype that can have no gradient, unless `requires_grad=False`.
    """

    __slots__ = ()

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Parameter:
        """Wrap `data`; none gives an empty tensor, as PyTorch does."""
        if not isinstance(requires_grad, bool):
            raise TypeError(
                "_make_subclass(): argument 'require_grad' (position 3) must be bool, not "
                f"{type(requires_grad).__name__}"
            )
        return Tensor._make_subclass(cls, empty(0) if data is None else data.detach(), requires_grad)

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.detach().clone(), self.requires_grad)
        return memo[id(self)]

    def __repr__(self) -> str:
        return "Parameter containing:\n" + super().__repr__()


class _BufferType(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Tensor) and getattr(instance, "_is_buffer", False)


class Buffer(Tensor, metaclass=_BufferType):
    """A tensor that becomes a buffer of the module it is assigned to; see `Module.register_buffer`.

    What is made is a plain tensor that shares the memory of `data` and remembers whether it is `persistent`.
    """

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Any:
        """Mark `data`; none gives an empty tensor."""
        data = empty(0) if data is None else data
        return _marked(data.detach().requires_grad_(data.requires_grad), persistent)


def _marked(tensor: Any, persistent: bool) -> Any:
    tensor.persistent = persistent
    tensor._is_buffer = True
    return tensor


class UninitializedTensorMixin:
    """A parameter or buffer whose shape comes with the first input of its lazy module.

    It knows its dtype and device, may change them, and refuses everything else.
    """

    __slots__ = ()
    cls_to_become: type
    _device: Device
    requires_grad: bool

    def materialize(self, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Become an ordinary tensor of a shape, with undefined items."""
        device, dtype = device or self.data.device, dtype or self.data.dtype
        self.data = empty(shape, device=device, dtype=dtype)
        self.__class__ = self.cls_to_become

    @property
    def _array(self) -> Any:
        raise ValueError(
            "Attempted to use an uninitialized parameter. This error happens when you are using a `LazyModule` or "
            f"explicitly manipulating `torch.nn.parameter.{type(self).__name__}` objects. When using LazyModules Call "
            "`forward` with a dummy batch to initialize the parameters before calling torch functions"
        )

    @_array.setter
    def _array(self, array: Any) -> None:
        Variable._array.__set__(self, array)  # the slot that the property hides

    @property
    def data(self) -> Any:
        """A tensor without items that has the dtype and the device."""
        return wrap(Variable._array.__get__(self), self._device)

    @data.setter
    def data(self, value: Tensor) -> None:
        self._array, self._device = value._array, value._device  # type: ignore[misc]  # a slot of Variable

    @property
    def dtype(self) -> DType:
        """The dtype that it will have."""
        return self.data.dtype

    @property
    def shape(self) -> Any:
        """Not known yet: raises RuntimeError."""
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in "
            "`load_state_dict` when trying to load an uninitialized parameter into an initialized one. Call `forward` to "
            "initialize the parameters before accessing their attributes."
        )

    def to(self, *args: Any, **kwargs: Any) -> Any:
        """What `data` would be in another dtype or on another device."""
        return self.data.to(*args, **kwargs)

    def type(self, dtype: Any = None) -> Any:
        """As `to`; without a dtype the name of the tensor type."""
        return self.data.type(dtype)

    def cuda(self, device: Any = None) -> Any:
        """What `data` would be on a CUDA device."""
        return self.data.cuda(device)

    def _differentiable(self) -> bool:
        return self.dtype.is_differentiable

    def is_floating_point(self) -> bool:
        """Whether the dtype is a float."""
        return self.dtype.is_floating_point

    def is_complex(self) -> bool:
        """Whether the dtype is complex."""
        return self.dtype.is_complex

    def copy_(self, src: Any, non_blocking: bool = False) -> Any:
        """There are no items to write: a state of uninitialized parameters can be loaded."""
        return self

    def size(self) -> Any:
        """The size of a tensor without items."""
        return self.data.size()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def __reduce_ex__(self, protocol: Any) -> Any:
        return type(self), (self.requires_grad, self.data.device, self.data.dtype)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.requires_grad, self.data.device, self.data.dtype)  # type: ignore[call-arg]
        return memo[id(self)]


def is_lazy(param: object) -> bool:
    """Whether a parameter or buffer has no shape yet."""
    return isinstance(param, UninitializedTensorMixin)


class UninitializedParameter(UninitializedTensorMixin, Parameter):  # type: ignore[misc]
    """A parameter of a lazy module whose shape is not known yet."""

    __slots__ = ()
    cls_to_become = Parameter

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> Any:
        """A parameter that will have this dtype, on this device."""
        return Tensor._make_subclass(cls, empty(0, device=device, dtype=dtype), requires_grad)


class UninitializedBuffer(UninitializedTensorMixin, Tensor):  # type: ignore[misc]
    """A buffer of a lazy module whose shape is not known yet."""

    __slots__ = ()
    cls_to_become = Tensor

    def __new__(
        cls, requires_grad: bool = False, device: Any = None, dtype: Any = None, persistent: bool = True
    ) -> Any:
        """A buffer that will have this dtype, on this device."""
        return _marked(Tensor._make_subclass(cls, empty(0, device=device, dtype=dtype), requires_grad), persistent)
