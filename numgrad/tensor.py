"""`Tensor`: PyTorch's tensor over numgrad's arrays and graph.

Attributes and conversions are here; operators and the methods of ops are bound at the end, from `ops/` and the op table.
"""

from __future__ import annotations

import builtins
import warnings
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator
from numbers import Number
from typing import TYPE_CHECKING, Any

from . import copying, interop, notebook
from . import dtype as dtypes
from .autograd import differentiate, grad_attribute
from .autograd.grad_mode import is_inference_mode_enabled, mode
from .autograd.hooks import RemovableHandle, add_hook
from .autograd.node import gradient_edge
from .autograd.variable import CLASSES, Variable, is_inference, set_tensor_class, wrap
from .device import device as Device
from .dispatch import dispatch
from .dtype import FROM_NUMPY
from .kernels import movement
from .kernels.array import Array, Storage
from .kernels.cpu import LAST_COMPILED
from .operands import NUMBERS
from .ops import casts, indexing, methods, splitting
from .ops.dims import wrap_dim
from .printing import tensor_repr
from .size import Size

_DETACH_HINT = (
    " If you want to use a computed variable in a subgraph that doesn't require differentiation use var_no_grad = "
    "var.detach()."
)
_IN_TRANSFORM = (
    "You are attempting to call Tensor.requires_grad_() (or perhaps using torch.autograd.functional.* APIs) inside of a "
    "function being transformed by a functorch transform. This is unsupported, please attempt to use the functorch "
    "transforms (e.g. grad, vjp, jacrev, jacfwd, hessian) or call requires_grad_() outside of a function being transformed "
    "instead."
)


class _read_only(property):
    """A property that answers an assignment with PyTorch's text."""

    def __set__(self, tensor: Any, value: Any) -> None:
        name = self.fget.__name__ if self.fget else ""
        raise AttributeError(f"attribute '{name}' of 'torch._C.TensorBase' objects is not writable")


class Tensor(Variable):
    """An n-d array that records how it was computed.

    Make one with `numgrad.tensor`, a factory such as `numgrad.zeros`, or an op on others.

    Example:
        >>> import numgrad as ng
        >>> x = ng.tensor([1.0, 2.0], requires_grad=True)
        >>> (x * x).sum().backward()
        >>> x.grad
        tensor([2., 4.])
    """

    __slots__ = ()
    __module__ = "numgrad"  # where users find it, as texts that name the class say
    __array_priority__ = 1000
    __hash__ = object.__hash__  # until the end of this file, where `==` is bound

    if TYPE_CHECKING:  # operators and the methods of ops are bound at the end of this file

        def __getattr__(self, name: str) -> Any: ...
        def __add__(self, other: Any) -> Any: ...
        def __radd__(self, other: Any) -> Any: ...
        def __sub__(self, other: Any) -> Any: ...
        def __rsub__(self, other: Any) -> Any: ...
        def __mul__(self, other: Any) -> Any: ...
        def __rmul__(self, other: Any) -> Any: ...
        def __truediv__(self, other: Any) -> Any: ...
        def __rtruediv__(self, other: Any) -> Any: ...
        def __pow__(self, exponent: Any) -> Any: ...
        def __rpow__(self, base: Any) -> Any: ...
        def __matmul__(self, other: Any) -> Any: ...
        def __lt__(self, other: Any) -> Any: ...
        def __le__(self, other: Any) -> Any: ...
        def __gt__(self, other: Any) -> Any: ...
        def __ge__(self, other: Any) -> Any: ...
        def __neg__(self) -> Any: ...

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        CLASSES.add(cls)

    def __new__(cls, *data: Any) -> Any:
        """A tensor of the default dtype: `Tensor([1, 2])` with these items, `Tensor(2, 3)` undefined of this shape."""
        from .creation import empty

        if len(data) == 1 and not isinstance(data[0], int):
            if data[0].__class__ in CLASSES:
                return cls._make_subclass(cls, data[0])
            return cls._make_subclass(cls, interop.tensor(data[0], dtype=dtypes.get_default_dtype()))
        return cls._make_subclass(cls, empty(*data) if data else empty(0))

    @staticmethod
    def _make_subclass(cls: type, data: Any, requires_grad: bool = False) -> Any:
        """A leaf of class `cls` that shares memory with `data`."""
        made: Any = object.__new__(cls)
        made._array = data._array
        made._device = data._device
        made._edge = None
        made._requires_grad = False
        made._view = None
        return made._mark_leaf(requires_grad)

    # ------------------------------------------------------------------------------------------ attributes
    @_read_only
    def shape(self) -> Size:
        """Extents of the dimensions."""
        return Size(self._array.shape)

    def size(self, dim: int | None = None) -> Any:
        """The shape, or the extent of one dimension."""
        if dim is None:
            return Size(self._array.shape)
        if not self._array.shape:
            raise IndexError("Dimension specified as 0 but tensor has no dimensions")
        return self._array.shape[wrap_dim(dim, self.dim())]

    @_read_only
    def dtype(self) -> dtypes.dtype:
        """Type of the items."""
        return FROM_NUMPY[self._array.dtype]

    @_read_only
    def device(self) -> Device:
        """Where the items are, and the autodiff context they carry."""
        return self._device

    @property
    def is_cuda(self) -> bool:
        """Whether the items are on a CUDA device."""
        return self._device.type == "cuda"

    def dim(self) -> int:
        """Number of dimensions."""
        return len(self._array.shape)

    ndim = property(dim)
    ndimension = dim

    def numel(self) -> int:
        """Number of items."""
        return self._array.size

    nelement = numel

    def stride(self, dim: int | None = None) -> Any:
        """Strides in items, or that of one dimension."""
        strides = self._array.strides
        return strides if dim is None else strides[wrap_dim(dim, self.dim())]

    def storage_offset(self) -> int:
        """Index in the storage of the first item."""
        return self._array.offset

    def element_size(self) -> int:
        """Bytes of an item."""
        return self._array.dtype.itemsize

    itemsize = property(element_size)

    @property
    def nbytes(self) -> int:
        """Bytes of all items."""
        return self._array.size * self._array.dtype.itemsize

    def data_ptr(self) -> int:
        """Address of the first item (CPU)."""
        return self._array.ndarray.ctypes.data

    def is_floating_point(self) -> bool:
        """Whether the dtype is a float."""
        return FROM_NUMPY[self._array.dtype].is_floating_point

    def is_complex(self) -> bool:
        """Whether the dtype is complex."""
        return FROM_NUMPY[self._array.dtype].is_complex

    def is_signed(self) -> bool:
        """Whether the dtype has negative numbers."""
        return FROM_NUMPY[self._array.dtype].is_signed

    # ------------------------------------------------------------------------------------------ place in the graph
    @property
    def requires_grad(self) -> bool:
        """Whether gradients are wanted: of a leaf so marked, and of every result that was recorded."""
        if self._requires_grad:
            return True
        view = self._view  # one whose base was written since gets its history anew from there
        return view is not None and view.version != self._array.version and bool(view.base.requires_grad)

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if not isinstance(value, bool):
            raise RuntimeError("requires_grad must be a bool")
        if self.grad_fn is not None:
            remedy = "" if value else _DETACH_HINT
            raise RuntimeError(f"you can only change requires_grad flags of leaf variables.{remedy}")
        if value and not self._differentiable():
            raise RuntimeError("only Tensors of floating point and complex dtype can require gradients")
        self._check_tracked(value)
        self._requires_grad = value

    def _check_tracked(self, requires_grad: builtins.bool) -> None:
        if requires_grad and is_inference(self) and not is_inference_mode_enabled():
            raise RuntimeError("Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.")

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        """Mark a leaf as wanting gradients, or not. Raises RuntimeError for a result, and for integers."""
        if not isinstance(requires_grad, bool):
            raise TypeError(
                "requires_grad_(): argument 'requires_grad' (position 1) must be bool, not "
                f"{type(requires_grad).__name__}"
            )
        if requires_grad and mode.transforms:
            raise RuntimeError(_IN_TRANSFORM)
        if self.grad_fn is not None:
            if not requires_grad:
                raise RuntimeError(f"you can only change requires_grad flags of leaf variables.{_DETACH_HINT}")
            return self
        if requires_grad and not self._differentiable():
            raise RuntimeError("only Tensors of floating point dtype can require gradients")
        self._check_tracked(requires_grad)
        self._requires_grad = requires_grad
        return self

    def _mark_leaf(self, requires_grad: bool) -> Any:
        """Mark a tensor that was just made, as a factory's `requires_grad=` does."""
        if requires_grad:
            if not self._differentiable():
                raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
            self._requires_grad = True
        return self

    def _differentiable(self) -> bool:
        return FROM_NUMPY[self._array.dtype].is_differentiable

    @_read_only
    def is_leaf(self) -> bool:
        """Whether no recorded op made the tensor."""
        return self.grad_fn is None

    @_read_only
    def grad_fn(self) -> Any:
        """The node of the op that made the tensor; None for a leaf."""
        if self._view is not None:
            gradient_edge(self)
        return None if self._edge is None else self._edge[0]

    @_read_only
    def output_nr(self) -> int:
        """Which output of `grad_fn` the tensor is."""
        return 0 if self._edge is None else self._edge[1]

    @property
    def _version(self) -> int:
        if is_inference(self):
            raise RuntimeError("Inference tensors do not track version counter.")
        return self._array.version

    def is_inference(self) -> builtins.bool:
        """Whether the tensor was made in `inference_mode`, or is a view of one that was."""
        return is_inference(self)

    @property
    def _base(self) -> Any:
        return None if self._view is None else self._view.base

    def _is_view(self) -> bool:
        return self._view is not None

    @property
    def grad(self) -> Any:
        """The gradient that `backward` accumulated; None before."""
        if self._grad is None and self._edge is not None and not self._retains_grad:
            grad_attribute.warn_non_leaf_grad()
        return self._grad

    @grad.setter
    def grad(self, value: Any) -> None:
        grad_attribute.check_assigned_grad(self, value)
        self._grad = value

    @grad.deleter
    def grad(self) -> None:
        self._grad = None

    @property
    def grad_dtype(self) -> Any:
        """The dtype that gradients of a leaf are cast to; None lets them be of any. Its own unless set."""
        if not self.is_leaf:
            raise RuntimeError("grad_dtype can only be accessed on leaf tensors.")
        return grad_attribute.grad_dtype(self)

    @grad_dtype.setter
    def grad_dtype(self, value: Any) -> None:
        grad_attribute.check_grad_dtype(self, value)
        self._grad_dtype = value

    @property
    def data(self) -> Any:
        """The same memory as a tensor outside the graph. Writes through it are not seen by autograd's checks."""
        if self._array.__class__ is not Array:
            from .autograd.batching import check_data

            check_data(self)
            return self.detach()
        old = self._array
        storage = Storage(old.storage.buffer, old.storage.device)
        return wrap(Array(storage, old.dtype, old.shape, old.strides, old.offset, old.flat), self._device)

    @data.setter
    def data(self, value: Any) -> None:
        if self._requires_grad and not value._differentiable():
            raise RuntimeError("data set to a tensor that requires gradients must be floating point or complex dtype")
        new = value._array
        storage = Storage(new.storage.buffer, new.device)
        storage.version = self._array.version  # the tensor keeps its own counter, and a view its history
        self._array = Array(storage, new.dtype, new.shape, new.strides, new.offset, new.flat)
        self._device = value._device

    def detach(self) -> Any:
        """The same memory as a leaf outside the graph; version counters stay shared."""
        if self._array.__class__ is not Array:
            return self._array.level.detached(self)
        return wrap(self._array, self._device)

    def detach_(self) -> Any:
        """Take the tensor out of the graph, in place. Raises RuntimeError for a view."""
        if self._view is not None:
            raise RuntimeError(
                "Can't detach views in-place. Use detach() instead. If you are using DistributedDataParallel (DDP) for "
                "training, and gradient_as_bucket_view is set as True, gradients are views of DDP buckets, and hence "
                "detach_() cannot be called on these gradients. To fix this error, please refer to the "
                "Optimizer.zero_grad() function in torch/optim/optimizer.py as the solution."
            )
        self._edge = None
        self._requires_grad = False
        return self

    def retain_grad(self) -> None:
        """Keep the gradient of a result in `.grad`, as seen after all its hooks. A leaf's is kept anyway."""
        if not self.requires_grad:
            raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
        if self.is_leaf or self._retains_grad:
            return
        assert self._edge is not None
        node, number = self._edge
        node.get_hooks().retaining[number] = weakref.ref(self)
        self._retains_grad = True

    @property
    def retains_grad(self) -> bool:
        """Whether `retain_grad` was called on a result."""
        return self._retains_grad

    def register_hook(self, hook: Callable[[Any], Any]) -> RemovableHandle:
        """Call `hook(gradient)` whenever the tensor's total gradient is known; what it returns, if not None, replaces it.

        Raises RuntimeError for a tensor that requires no gradient.
        """
        if not self.requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        node, number = gradient_edge(self)  # type: ignore[misc]
        hooks = node.get_hooks()
        if self._edge is None:
            self._hooks = hooks  # a leaf keeps its hooks; its AccumulateGrad comes and goes with graphs
        return add_hook(hooks.tensor.setdefault(number, OrderedDict()), hook)

    def register_post_accumulate_grad_hook(self, hook: Callable[[Any], Any]) -> RemovableHandle:
        """Call `hook(leaf)` whenever a backward has written the leaf's `.grad`; it must return None.

        Raises RuntimeError for a tensor that requires no gradient, and for one that is no leaf.
        """
        if not self.requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        if self.grad_fn is not None:
            raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
        node, _ = gradient_edge(self)  # type: ignore[misc]
        self._hooks = node.get_hooks()
        return add_hook(self._hooks.accumulated, hook)

    def backward(
        self, gradient: Any = None, retain_graph: bool | None = None, create_graph: bool = False, inputs: Any = None
    ) -> None:
        """Compute the gradients of this tensor and add them to the leaves' `.grad`. See `autograd.backward`."""
        differentiate.backward(self, gradient, retain_graph, create_graph, inputs=inputs)

    # ------------------------------------------------------------------------------------------ conversion
    def numpy(self, *, force: builtins.bool = False) -> Any:
        """The ndarray that shares memory with a CPU tensor. `force` detaches and moves it first."""
        return interop.to_numpy(self.detach().cpu() if force else self)

    def __array__(self, dtype: Any = None, copy: builtins.bool | None = None) -> Any:
        return interop.as_ndarray(self, dtype, copy)

    def __array_ufunc__(self, function: Any, method: str, *inputs: Any, **options: Any) -> Any:
        return interop.ufunc(function, method, *inputs, **options)

    def __array_namespace__(self, *, api_version: Any = None) -> Any:
        from . import array_api  # needs the whole of numgrad

        return array_api

    def __dlpack__(
        self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: builtins.bool | None = None
    ) -> Any:
        return interop.to_dlpack(self, stream, max_version, dl_device, copy)

    def __dlpack_device__(self) -> tuple[builtins.int, builtins.int]:
        return interop.dlpack_device(self)

    def tolist(self) -> Any:
        """The items as nested lists of Python numbers."""
        return interop.items(self)

    def item(self) -> Any:
        """The only item as a Python number. Raises RuntimeError when there are several."""
        flat = self._array.flat
        if flat is not None and len(flat) == 1 and flat.dtype.num <= LAST_COMPILED:
            return flat.item()
        if self._array.size != 1:
            raise RuntimeError(f"a Tensor with {self._array.size} elements cannot be converted to Scalar")
        if self._array.__class__ is not Array:
            from .autograd.batching import check_item

            check_item(self)
        found = interop.items(self)
        while isinstance(found, list):
            found = found[0]
        return found

    def _to_numpy_dtype(self, dtype: Any) -> Any:
        """The tensor in the dtype that a NumPy dtype names; of complex numbers real dtypes keep the real part."""
        return dispatch(movement.to_copy, (self,), (FROM_NUMPY[dtype].name, self._device.hardware))

    def cpu(self) -> Any:
        """The tensor on the CPU."""
        return self.to(device="cpu")

    def cuda(self, device: Any = None) -> Any:
        """The tensor on a CUDA device."""
        return self.to(device="cuda" if device is None else device)

    def copy_(self, src: Any, non_blocking: builtins.bool = False) -> Any:
        """Write the items of `src` (broadcast, cast) to the tensor, in place."""
        if src.__class__ in CLASSES and src._device.hardware != self._device.hardware:
            src = src.to(device=self._device)
        if src.__class__ in CLASSES:
            casts.warn_discarded(src.dtype, self.dtype)
        return dispatch(movement.copy, (self, src), (), self)

    def fill_(self, value: Any) -> Any:
        """Set every item to a number or to a 0-d tensor, in place."""
        if value.__class__ in CLASSES and value.dim():
            raise RuntimeError(
                f"fill_ only supports 0-dimension value tensor but got tensor with {value.dim()} dimensions."
            )
        if value.__class__ in CLASSES:
            return dispatch(movement.fill_tensor, (self, value), (), self)
        self._check_number(value)
        return dispatch(movement.fill, (self, value), (), self)

    def _check_number(self, value: Any) -> None:
        """Raise RuntimeError, with PyTorch's text, for a Python number that the dtype does not reach to."""
        if isinstance(value, NUMBERS):
            self.dtype.check_holds(value)

    # ------------------------------------------------------------------------------------------ looking
    def __repr__(self) -> str:
        if self._array.__class__ is not Array:
            return self._array.level.shown(self)
        try:
            name = None if self.grad_fn is None else self.grad_fn.name().rsplit("::", 1)[-1]
        except RuntimeError:  # a view that has lost its history
            name = "Invalid"
        return tensor_repr(
            lambda index: interop.fetch(self, index),
            shape=self._array.shape,
            dtype_name=self.dtype.name,
            kind=self.dtype.category,
            device=str(self._device),
            default_dtype_name=dtypes.get_default_dtype().name,
            requires_grad=self.requires_grad,
            grad_fn_name=name,
        )

    def __format__(self, spec: str) -> str:
        if not self.dim() and type(self) is Tensor:
            return format(self.item(), spec)
        return object.__format__(self, spec)

    def _repr_html_(self) -> str:
        return notebook.html(self)

    def __deepcopy__(self, memo: dict[builtins.int, Any]) -> Any:
        return copying.deep(self, memo)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return copying.reduced(self)

    def __len__(self) -> Any:
        if not self.dim():
            raise TypeError("len() of a 0-d tensor")
        return self._array.shape[0]

    def __iter__(self) -> Iterator[Any]:
        if not self.dim():
            raise TypeError("iteration over a 0-d tensor")
        return splitting.rows(self)

    def __reversed__(self) -> Any:
        return self.flip(0) if self.dim() else self

    def __bool__(self) -> Any:
        flat = self._array.flat
        if flat is not None and len(flat) == 1:
            return bool(flat[0])
        if self._array.size != 1:
            what = "more than one value" if self._array.size else "no values"
            raise RuntimeError(f"Boolean value of Tensor with {what} is ambiguous")
        if self._array.__class__ is not Array:
            from .autograd.batching import check_control_flow

            check_control_flow(self)
        return bool(self.item())

    def _scalar(self, kind: Any, c_name: str) -> Any:
        """The only item, for Python's `kind` of number, which is less than the tensor: it has no graph."""
        if self._array.size != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        if self.requires_grad and kind is not int:
            warnings.warn(
                "Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior.\n"
                "Consider using tensor.detach() first.",
                UserWarning,
                stacklevel=3,
            )
        item = self.item()
        if isinstance(item, complex) and kind is not complex:
            if item.imag:
                raise RuntimeError(f"value cannot be converted to type {c_name} without overflow")
            item = item.real
        return kind(item)

    def __float__(self) -> Any:
        return self._scalar(float, "double")

    def __int__(self) -> Any:
        return self._scalar(int, "int64_t")

    def __complex__(self) -> Any:
        return self._scalar(complex, "c10::complex<double>")

    def __index__(self) -> Any:
        if self._differentiable() or self._array.size != 1:
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self.item())

    def __contains__(self, value: Any) -> Any:
        if not isinstance(value, (Tensor, Number)):
            raise RuntimeError(
                f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(value)}."
            )
        found: Any = self == value
        return bool(found.any())

    def __getitem__(self, index: Any) -> Any:
        return indexing.get(self, index)

    def __setitem__(self, index: Any, value: Any) -> None:
        indexing.put(self, index, value)

    def __delitem__(self, index: Any) -> None:
        raise TypeError("Tensor does not support deleting items")


set_tensor_class(Tensor)
methods.bind(Tensor)
