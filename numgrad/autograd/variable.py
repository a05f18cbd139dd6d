"""What autograd knows of a tensor: its data, its device, and its place in the graph. `numgrad.Tensor` adds the rest."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from ..device import device
from ..dtype import FROM_NUMPY
from ..kernels.array import UNCOUNTED, Array
from .flags import AutodiffFlags
from .grad_mode import inferring, mode

if TYPE_CHECKING:
    from .node import Node

Edge = tuple["Node", int]
# How a view was made, where that limits what may be done with it.
NO_GRAD, INFERENCE, FUNCTION, SEVERAL = "no_grad", "inference", "function", "several"


class ViewInfo:
    """That a tensor is a differentiable view of `base`, and how it was made.

    `version` is the storage's version for which the view's `grad_fn` is valid: when the base has been written in place
    since, the view's history is made anew from the base's. `creation` is `NO_GRAD` for a view that was made without
    recording, `INFERENCE` for one made in inference mode, `FUNCTION` for one made in a custom Function, or an input that
    it returned, `SEVERAL` for one of several that an op gave at once, and "" for any other; see `view_rules`.
    """

    __slots__ = ("base", "creation", "version")

    def __init__(self, base: Any, version: int, creation: str) -> None:
        self.base = base
        self.version = version
        self.creation = creation


class Variable(AutodiffFlags):
    """A tensor as autograd sees it.

    `_edge` is `(grad_fn, output_nr)` of a recorded result, None for a leaf. `_requires_grad` is kept beside it because
    the dispatcher reads it for every operand. `_view` is None for a tensor that is no view. Everything rare lives in the
    instance's `__dict__`, with the defaults below.
    """

    __slots__ = ("__dict__", "__weakref__", "_array", "_device", "_edge", "_requires_grad", "_view")

    def __new__(cls, data: Any, requires_grad: bool = False) -> Any:
        """`data` as a leaf; the form of old code, which asked for it before tensors could require gradients."""
        return tensor_class._make_subclass(tensor_class, data, requires_grad)

    _array: Array
    _device: device
    _edge: Edge | None
    _requires_grad: bool
    _view: ViewInfo | None
    _grad: Any = None
    _hooks: Any = None  # hooks of a leaf; those of a result hang on its node
    _accumulator: weakref.ref[Any] | None = None
    _retains_grad = False
    _grad_dtype: Any = ...  # Ellipsis: the tensor's own


tensor_class: Any = None
CLASSES: Any = set()  # Tensor and its subclasses; membership is how the dispatcher tells tensors from numbers


def set_tensor_class(cls: type[Variable]) -> None:
    """Set the class that `wrap` makes. Called once, by `numgrad.tensor`."""
    global tensor_class
    tensor_class = cls
    CLASSES.add(cls)


def wrap(array: Array, where: device, edge: Edge | None = None, new: Any = object.__new__) -> Any:
    """A new tensor over an array: a leaf that requires no gradient, or the recorded output of a node."""
    tensor = new(tensor_class)
    tensor._array = array
    tensor._device = where
    tensor._edge = edge
    tensor._requires_grad = edge is not None
    tensor._view = None
    return tensor


def wrap_new(array: Array, where: device, new: Any = object.__new__) -> Any:
    """`wrap` for memory that was just made: in inference mode the tensor is an inference tensor."""
    if inferring and mode.inference:
        array.storage.version = UNCOUNTED
    tensor = new(tensor_class)
    tensor._array = array
    tensor._device = where
    tensor._edge = None
    tensor._requires_grad = False
    tensor._view = None
    return tensor


def is_inference(variable: Any) -> bool:
    """Whether a tensor was made in inference mode, or is a view of one that was."""
    return bool(variable._array.version < 0)


def describe(variable: Any) -> str:
    """`torch.FloatTensor [2, 3]` with numgrad's name, as in messages about modified tensors."""
    array = variable if isinstance(variable, Array) else variable._array
    prefix = "numgrad.cuda" if array.device.startswith("cuda") else "numgrad"
    return f"{prefix}.{FROM_NUMPY[array.dtype].tensor_name} [{', '.join(map(str, array.shape))}]"
