"""`Function`: ops with a forward and a backward of the user's own."""

from __future__ import annotations

import inspect
import warnings
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from ..kernels.array import Array
from ..kernels.backends import backend
from . import grad_mode
from .engine import lend
from .function_levels import NEEDS_SETUP, apply_at
from .inplace import rebase
from .node import FREED, AccumulateGrad, Node, gradient_edge, raise_modified, saved_versions
from .observers import observe_node
from .once_differentiable import once_differentiable
from .saved import ALREADY_SET, PackedArray, pairs
from .saved_attributes import NOTHING_SAVED, SavedTensor
from .tracing import innermost
from .validation import validated
from .variable import CLASSES, FUNCTION, SEVERAL, Edge, ViewInfo, wrap
from .view_rules import check_history
from .watch import watching

__all__ = ["Function", "FunctionCtx", "InplaceFunction", "once_differentiable"]

_LEGACY = (
    "Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd function with "
    "static forward method. (Example: https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)"
)
_DIRTY_LOST = (
    "Some elements marked as dirty during the forward method were not returned as output. The inputs that are modified "
    "inplace must all be outputs of the Function."
)
_DIRTY_OTHERS = (
    "ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that have been mutated should be passed "
    "to ctx.mark_dirty()."
)
_DIRTY_VIEW = (
    "If your Function modifies inplace an input that is a view of another Tensor, your Function cannot return more than "
    "one Tensor. This is not supported by the current autograd engine. You should either make sure the input is not a "
    "view (using .clone() for example) or make your Function only return one Tensor (potentially splitting it into two "
    "Functions: one doing the inplace that returns a single Tensor and a second one that does the other operations). You "
    "can ask on the forum https://discuss.pytorch.org/ if you need help to do this change."
)
_SAVED_INPUT = (
    "An input that has been returned as-is as output is being saved for backward. This is not supported if you override "
    "setup_context. You should return and save a view of the input instead, e.g. with x.view_as(x) or setup ctx inside "
    "the forward function itself."
)
_ONCE_ACCESSED = (
    "saved_tensors can only be accessed once when clear_saved_tensors_on_access=True is set on the autograd.Function. "
    "Either access saved_tensors only once, or set clear_saved_tensors_on_access=False."
)


# ---------------------------------------------------------------------------------------------------- the context
class FunctionCtx:
    """What `forward` tells `backward`: tensors by `save_for_backward`, anything else as attributes.

    Attributes:
        needs_input_grad: for each argument of `apply`, whether a gradient is wanted.
        saved_tensors: what was saved, with the place in the graph that it had.
        materialize_grads: whether `backward` is given zeros, or None, for an output that has no gradient.
    """

    materialize_grads: bool = True
    to_save: tuple[Any, ...] | None = None
    saved_for_forward: tuple[Any, ...] | None = None
    non_differentiable: tuple[Any, ...] | None = None
    dirty_tensors: tuple[Any, ...] | None = None

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors (or None) for `backward`; the last call counts. What else is kept goes into attributes."""
        self.to_save = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        """Keep tensors for `jvp`."""
        for tensor in tensors:
            if not (tensor is None or tensor.__class__ in CLASSES):
                raise AssertionError(
                    "save_for_forward expects all arguments to be tensors; you should save non-tensors as attributes on "
                    "ctx."
                )
        self.saved_for_forward = tensors

    def mark_dirty(self, *args: Any) -> None:
        """Say which inputs `forward` has written in place; all of them must be returned."""
        self.dirty_tensors = args

    def mark_shared_storage(self, *pairs: Any) -> None:
        """Nothing: what shares storage is known. Deprecated."""
        warnings.warn(
            "`mark_shared_storage` is deprecated. Tensors with shared storages are automatically tracked. Note that calls "
            "to `set_()` are not tracked",
            FutureWarning,
            stacklevel=2,
        )

    def mark_non_differentiable(self, *args: Any) -> None:
        """Say which outputs require no gradient, such as indices."""
        self.non_differentiable = args

    def set_materialize_grads(self, value: bool) -> None:
        """Whether `backward` gets zeros (True, as at first) or None for an output without a gradient."""
        self.materialize_grads = value


class BackwardCFunction(FunctionCtx):
    """The context of one call; what concerns the graph it looks up at its node, which it does not keep alive."""

    _forward_cls: Any
    _node: weakref.ref[FunctionNode] | None = None
    needs_input_grad: tuple[bool, ...] = ()

    def _owner(self) -> FunctionNode:
        node = None if self._node is None else self._node()
        if node is None:
            raise RuntimeError(FREED)
        return node

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """The tensors that were saved. Raises RuntimeError when they were freed, or written in place since."""
        if self.saved_for_forward is not None and self._node is None:
            return self.saved_for_forward
        return () if self._node is None else self._owner().open_saved()

    @property
    def _raw_saved_tensors(self) -> tuple[Any, ...]:
        return self._owner().raw_saved()

    @property
    def next_functions(self) -> Any:
        """See `Node.next_functions`."""
        return self._owner().next_functions

    @property
    def metadata(self) -> dict[Any, Any]:
        """See `Node.metadata`."""
        return self._owner().metadata

    def name(self) -> str:
        """The name of the node."""
        return type(self).__name__

    def register_hook(self, fn: Callable[..., Any]) -> Any:
        """See `Node.register_hook`."""
        return self._owner().register_hook(fn)

    def register_prehook(self, fn: Callable[..., Any]) -> Any:
        """See `Node.register_prehook`."""
        return self._owner().register_prehook(fn)


# ---------------------------------------------------------------------------------------------------- what is saved
class _Saved:
    """A tensor that a Function saved. An output is kept as its array, since the tensor would keep its own node."""

    def __init__(self, tensor: Any, node: FunctionNode) -> None:
        edge = tensor._edge
        self.output = edge[1] if edge is not None and edge[0] is node else None
        self.array: Array = tensor._array
        self.device = tensor._device
        self.version = saved_versions([self.array])[0]
        self.tensor = None if self.output is not None else tensor
        self.edge = None if self.output is not None else gradient_edge(tensor)
        self.packed: PackedArray | None = None
        if pairs.stack:
            self.pack(*pairs.stack[-1])

    def pack(self, pack: Callable[[Any], Any], unpack: Callable[[Any], Any]) -> None:
        """Give the tensor to a pair of hooks."""
        if self.packed is not None:
            raise RuntimeError(ALREADY_SET)
        tensor = wrap(self.array, self.device) if self.tensor is None else self.tensor
        self.packed = PackedArray(tensor, pack, unpack)
        self.tensor = None

    def open(self, node: FunctionNode) -> Any:
        """The tensor, at its place in the graph."""
        edge: Edge | None = self.edge if self.output is None else (node, self.output)
        if self.packed is not None:
            return wrap(self.packed.open(), self.device, edge)
        if self.array.version != self.version:
            producer = None if edge is None or isinstance(edge[0], AccumulateGrad) else edge[0].name()
            raise_modified(self.array, self.version, producer, self.output is not None)
        return self.tensor if self.tensor is not None else wrap(self.array, self.device, edge)


# ---------------------------------------------------------------------------------------------------- the node
class FunctionNode(Node):
    """The node of one call of a `Function`. Attributes of its context are readable on it."""

    __slots__ = ("accessed", "arguments", "context", "input_metas", "metas", "variables")

    def __init__(
        self, context: BackwardCFunction, inputs: Sequence[Any], arguments: Sequence[bool], device: Any
    ) -> None:
        super().__init__(tuple(gradient_edge(x) for x in inputs), None, device)
        self.context = context
        self.arguments = arguments  # for each argument of `apply`, whether it was a tensor
        self.input_metas = [(x._array.shape, x._array.dtype, x._device) for x in inputs]
        self.metas: list[Any] = []  # for each output its shape, dtype and device; None for what is no tensor
        self.variables: list[_Saved | None] | None = []
        self.accessed = False
        context._node = weakref.ref(self)

    def name(self) -> str:
        """See `Node.name`."""
        return type(self).__name__

    def __repr__(self) -> str:
        return f"<{__name__}.{type(self).__name__} object at {id(self):#x}>"

    def __getattr__(self, name: str) -> Any:
        if name == "context":
            raise AttributeError(name)
        try:
            return getattr(self.context, name)
        except AttributeError:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'") from None

    def save(self, tensors: Any) -> None:
        """Keep what the context was given to save."""
        if tensors is None:
            return
        for i, tensor in enumerate(tensors):
            if not (tensor is None or tensor.__class__ in CLASSES):
                raise TypeError(
                    f"save_for_backward can only save variables, but argument {i} is of type {type(tensor).__name__}"
                )
        self.variables = [None if t is None else _Saved(t, self) for t in tensors]

    def release(self) -> None:
        """See `Node.release`."""
        self.variables = None

    def _kept(self) -> list[_Saved | None]:
        if self.variables is None:
            raise RuntimeError(_ONCE_ACCESSED if self.accessed else FREED)
        return self.variables

    def open_saved(self) -> tuple[Any, ...]:
        """The tensors that were saved."""
        opened = tuple(None if s is None else s.open(self) for s in self._kept())
        if self.context._forward_cls.clear_saved_tensors_on_access:
            self.variables = None
            self.accessed = True
        return opened

    def raw_saved(self) -> tuple[SavedTensor, ...]:
        """The saved tensors as objects that take hooks."""
        return tuple(SavedTensor(_refuse if s is None else s.pack) for s in self._kept())

    def apply(self, g: Any, graph: bool) -> Sequence[Any]:
        """See `Node.apply`."""
        slots = [g] if self.outputs == 1 else list(g)
        gradients = [self._gradient(x, meta) for x, meta in zip(slots, self.metas, strict=True)]
        cls = self.context._forward_cls
        function = _backward_of(cls)
        results = function(self.context, gradients) if cls.boxed_grads_call else function(self.context, *gradients)
        if not isinstance(results, tuple):
            results = (results,)
        found = self._checked(results)
        if graph:
            return found
        arrays = [None if r is None else r._array for r in found]
        for array in arrays:
            if array is not None:
                array.shared = True  # the user's code may have kept it
        return arrays

    def _gradient(self, g: Any, meta: Any) -> Any:
        """The gradient of one output as `backward` gets it."""
        if g is not None:
            return lend(g, self.device)
        if meta is None or not self.context.materialize_grads:
            return None
        shape, dtype, device = meta
        loops = backend(device.hardware)
        zeros = loops.empty(shape, dtype, device.hardware)
        loops.fill(zeros, 0)
        return wrap(zeros, device)

    def _checked(self, results: tuple[Any, ...]) -> list[Any]:
        """The gradients for the tensors among the arguments. Raises RuntimeError, with PyTorch's texts."""
        name, count = self.name(), len(self.arguments)
        if len(results) > count and all(r is None for r in results[count:]):
            results = results[:count]
        if len(results) != count:
            raise RuntimeError(
                f"function {name} returned an incorrect number of gradients (expected {count}, got {len(results)})"
            )
        found = []
        for i, (result, is_tensor) in enumerate(zip(results, self.arguments, strict=True)):
            if not is_tensor:
                if result is not None:
                    raise RuntimeError(
                        f"function {name} returned a gradient different than None at position {i + 1}, but the "
                        "corresponding forward input was not a Variable"
                    )
                continue
            if result is not None and result.__class__ not in CLASSES:
                raise RuntimeError(f"expected Variable or None (got {type(result).__name__})")
            found.append(result)
        return validated(name, found, self.edges, self.input_metas)


def _refuse(pack: Callable[[Any], Any], unpack: Callable[[Any], Any]) -> None:
    raise RuntimeError(NOTHING_SAVED)


def _backward_of(cls: Any) -> Callable[..., Any]:
    own_backward, own_vjp = cls.backward is not Function.backward, cls.vjp is not Function.vjp
    if own_backward and own_vjp:
        raise RuntimeError(
            "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only implement one of "
            "them."
        )
    return cls.vjp if own_vjp else cls.backward


# ---------------------------------------------------------------------------------------------------- functions
class FunctionMeta(type):
    """Gives every Function the classes of its contexts and of its nodes, which are named after it."""

    def __init__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> None:
        super().__init__(name, bases, namespace)
        cls._backward_cls: Any = type(f"{name}Backward", (BackwardCFunction,), {"_forward_cls": cls})
        cls._node_cls: Any = type(
            f"{name}Backward", (FunctionNode,), {"__slots__": (), "__doc__": f"Node of `{name}`."}
        )


class Function(metaclass=FunctionMeta):
    """An op with a forward and a backward of its own: subclass it, define both as static methods, and call `apply`.

    `forward(ctx, *args)` gets the arguments of `apply` and computes without recording; `backward(ctx, *gradients)` gets
    a gradient for each output and returns one (or None) for each argument. Alternatively `forward(*args)` computes alone
    and `setup_context(ctx, inputs, output)` notes what `backward` needs.

    Attributes:
        generate_vmap_rule: whether `vmap` may run forward and backward themselves on batches.
        clear_saved_tensors_on_access: let go of saved tensors as soon as they were asked for.
        boxed_grads_call: give `backward` one list of gradients instead of arguments.

    Example:
        >>> import numgrad as ng
        >>> class Cube(ng.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         ctx.save_for_backward(x)
        ...         return x**3
        ...
        ...     @staticmethod
        ...     def backward(ctx, g):
        ...         (x,) = ctx.saved_tensors
        ...         return g * 3 * x**2
        >>> x = ng.tensor([2.0], requires_grad=True)
        >>> Cube.apply(x).backward()
        >>> x.grad
        tensor([12.])
    """

    generate_vmap_rule: bool = False
    clear_saved_tensors_on_access: bool = False
    boxed_grads_call: bool = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warnings.warn(
            f"{self.__class__} should not be instantiated. Methods on autograd functions are all static, so you should "
            "invoke them on the class itself. Instantiating an autograd function will raise an error in a future version "
            "of PyTorch.",
            DeprecationWarning,
            stacklevel=2,
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Raises RuntimeError: instances are not called since PyTorch 1.3."""
        raise RuntimeError(_LEGACY)

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the outputs; to be defined by every Function."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """Note what `backward` needs, when `forward` takes no context."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """A gradient for each argument of `apply`, from one for each output."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function to use it with "
            "backward mode AD."
        )

    vjp = backward

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """A tangent for each output, from one for each argument of `apply`."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with forward mode AD."
        )

    @staticmethod
    def vmap(info: Any, in_dims: Any, *args: Any) -> Any:
        """Outputs and their batch dimensions, from arguments with batch dimensions."""
        raise NotImplementedError(
            "To use autograd.Function with vmap, you must either override the vmap staticmethod or set "
            "generate_vmap_rule=True."
        )

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run the function and record it."""
        has_setup = cls.setup_context is not Function.setup_context
        if grad_mode.mode.transforms and not has_setup:
            raise RuntimeError(NEEDS_SETUP)
        if has_setup:
            bound = inspect.signature(cls.forward).bind(*args, **kwargs)
            bound.apply_defaults()
            args, kwargs = bound.args, bound.kwargs
        if kwargs:
            args = _positional(cls.forward, args, kwargs, has_setup)
        return cls._call(args, has_setup)

    @classmethod
    def _call(cls, args: tuple[Any, ...], has_setup: bool) -> Any:
        level = innermost(args) if grad_mode.mode.levels else None
        if level is not None:
            return apply_at(level, cls, Function, args)
        return cls._with_context(args, has_setup)[1]

    @classmethod
    def _with_context(cls, args: tuple[Any, ...], has_setup: bool) -> tuple[Any, Any]:
        call = _Call(cls, args)
        return call.context, call.run(has_setup)


def _positional(forward: Any, args: tuple[Any, ...], kwargs: dict[str, Any], has_setup: bool) -> tuple[Any, ...]:
    """The arguments of `apply` by their positions in `forward`. Raises TypeError, with PyTorch's texts."""
    parameters = list(inspect.signature(forward).parameters.values())[0 if has_setup else 1 :]
    names = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    for name in kwargs:
        if name not in names:
            raise TypeError(f"forward() got an unexpected keyword argument '{name}'")
        if name in names[: len(args)]:
            raise TypeError(f"forward() got multiple values for argument '{name}'")
    found = list(args)
    for position in range(len(args), 1 + max(names.index(name) for name in kwargs)):
        if names[position] not in kwargs:
            raise TypeError(f"forward() missing required argument: '{names[position]}' (position {position})")
        found.append(kwargs[names[position]])
    return tuple(found)


class InplaceFunction(Function):
    """A `Function` whose instances remember whether they write in place; kept for old code."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


class _Call:
    """One call of a Function: its context, its node when it is recorded, and how outputs become tensors of the graph."""

    def __init__(self, cls: Any, args: tuple[Any, ...]) -> None:
        self.args = args
        self.inputs = [a for a in args if a.__class__ in CLASSES]
        self.context = cls._backward_cls()
        self.context.needs_input_grad = tuple(a.__class__ in CLASSES and a.requires_grad for a in args)
        self.cls = cls
        self.node: FunctionNode | None = None
        self.has_setup = False

    def run(self, has_setup: bool) -> Any:
        """What `apply` returns."""
        cls, context, self.has_setup = self.cls, self.context, has_setup
        if grad_mode.mode.enabled and any(context.needs_input_grad):
            arguments = [a.__class__ in CLASSES for a in self.args]
            self.node = cls._node_cls(context, self.inputs, arguments, self.inputs[0]._device)
        with grad_mode.no_grad():
            if has_setup:
                output = cls.forward(*self.args)
                cls.setup_context(context, self.args, output)
            else:
                output = cls.forward(context, *self.args)
        outputs = output if isinstance(output, tuple) else (output,)
        found = self._wrap(outputs)
        if self.node is not None:
            self.node.save(context.to_save)
            context.to_save = None
            if watching:
                observe_node(self.node)
        return found if isinstance(output, tuple) else found[0]

    def _wrap(self, outputs: tuple[Any, ...]) -> tuple[Any, ...]:
        """The outputs with their place in the graph."""
        dirty = self.context.dirty_tensors or ()
        if not isinstance(dirty, tuple):
            raise TypeError(
                f"autograd internal error: expected dirty_tensors to be a tuple, got {type(dirty).__name__}"
            )
        for i, tensor in enumerate(dirty):
            if tensor.__class__ not in CLASSES:
                raise RuntimeError(
                    f"mark_dirty can only accept variables, but argument {i} is of type {type(tensor).__name__}"
                )
            tensor._array.storage.version += 1
        for tensor in self.context.non_differentiable or ():
            if tensor.__class__ not in CLASSES:
                raise RuntimeError(
                    f"mark_non_differentiable only accepts variable arguments, but got {type(tensor).__name__}"
                )
        if self.node is not None and len(outputs) != 1:
            self.node.outputs = len(outputs)
        found = tuple(
            self._place(i, x, dirty, len(outputs)) if x.__class__ in CLASSES else x for i, x in enumerate(outputs)
        )
        if not all(any(d is x for x in outputs) for d in dirty):
            raise RuntimeError(_DIRTY_LOST)
        if self.node is not None:
            self.node.metas = [
                (x._array.shape, x._array.dtype, x._device) if x.__class__ in CLASSES else None for x in found
            ]
            self._note_views(outputs, found, dirty)
        return found

    def _place(self, number: int, x: Any, dirty: tuple[Any, ...], count: int) -> Any:
        """One output with its place in the graph."""
        is_input, is_dirty = any(x is a for a in self.inputs), any(x is d for d in dirty)
        skipped = self.context.non_differentiable or ()
        if self.node is None or not x._differentiable() or any(x is n for n in skipped):
            return self._place_constant(x, is_input and not is_dirty)
        edge = (self.node, number)
        if is_dirty:
            if x.is_leaf and x.requires_grad:
                raise RuntimeError("a leaf Variable that requires grad has been used in an in-place operation.")
            if not is_input:
                warnings.warn(_DIRTY_OTHERS, UserWarning, stacklevel=4)
            if x._view is not None:
                if count > 1:
                    raise RuntimeError(_DIRTY_VIEW)
                check_history(x)
            rebase(x, self.node)
            return x
        if is_input:
            x = self._view_of(x)
        x._edge = edge
        x._requires_grad = True
        return x

    def _place_constant(self, x: Any, is_returned_input: bool) -> Any:
        """An output that requires no gradient; an input that requires one is returned as an alias that does not."""
        if not x.requires_grad:
            return self._view_of(x) if is_returned_input else x
        if any(x is a for a in self.inputs):
            return x.detach()
        return x if x._view is not None else x.detach_()

    def _view_of(self, x: Any) -> Any:
        """A view of an input that is returned as it came."""
        saved = self.context.to_save or ()
        if self.has_setup and any(x is s for s in saved):
            raise RuntimeError(_SAVED_INPUT)
        view = wrap(x._array, x._device)
        base = x if x._view is None else x._view.base
        view._view = ViewInfo(base, x._array.storage.version, FUNCTION)
        return view

    def _note_views(self, outputs: tuple[Any, ...], found: tuple[Any, ...], dirty: tuple[Any, ...]) -> None:
        """Mark the outputs that are views: writing one would go round the Function's backward."""
        views = [x for x in found if x.__class__ in CLASSES and x._view is not None and not any(x is d for d in dirty)]
        recorded = sum(x.__class__ in CLASSES and x._edge is not None and x._edge[0] is self.node for x in found)
        for x in views:
            x._view.creation = SEVERAL if recorded > 1 else FUNCTION
