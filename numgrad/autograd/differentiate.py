"""`backward` and `grad`: the public ways to run the engine, with their checks."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from ..dtype import FROM_NUMPY
from ..kernels.backends import backend
from ..size import Size
from .engine import run_backward
from .node import gradient_edge
from .variable import CLASSES, wrap


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Any = None,
) -> None:
    """Compute gradients and add them to the `.grad` of the leaves.

    Args:
        tensors: a tensor or several, the roots.
        grad_tensors: the gradient of each root; None for a root of one item means 1.
        retain_graph: keep saved tensors for another backward; defaults to `create_graph`.
        create_graph: record the backward, for higher derivatives.
        inputs: only these tensors accumulate gradients.

    Raises:
        RuntimeError: a root that requires no gradient, or has several items and no gradient given; a graph whose saved
            tensors were freed; a saved tensor that was modified since. No `.grad` has changed then.

    Example:
        >>> import numgrad as ng
        >>> w = ng.tensor([3.0], requires_grad=True)
        >>> ng.autograd.backward(w * w)
        >>> w.grad
        tensor([6.])
    """
    if grad_variables is not None:
        warnings.warn("`grad_variables` is deprecated. Use `grad_tensors` instead.", FutureWarning, stacklevel=2)
        if grad_tensors is not None:
            raise RuntimeError(
                "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to `backward()`. Please only use "
                "`grad_tensors`."
            )
        grad_tensors = grad_variables
    wanted = None
    if inputs is not None:
        wanted = _sequence(inputs)
        if not wanted:
            raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
        check_inputs(wanted)
        for x in wanted:
            x.retain_grad()  # a result among the inputs keeps its gradient from now on, as in PyTorch
    roots = _sequence(tensors)
    given = _sequence(grad_tensors) if grad_tensors is not None else (None,) * len(roots)
    gradients = make_gradients(roots, given)
    keep = create_graph if retain_graph is None else bool(retain_graph)
    if create_graph:
        warnings.warn(
            "Using backward() with create_graph=True will create a reference cycle between the parameter and its "
            "gradient which can cause a memory leak. We recommend using autograd.grad when creating the graph to avoid "
            "this. If you have to use this function, make sure to reset the .grad fields of your parameters to None "
            "after use to break the cycle and avoid the leak.",
            UserWarning,
            stacklevel=3,
        )
    run_backward(root_edges(roots), gradients, keep_graph=keep, create_graph=bool(create_graph), inputs=wanted)


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Any, ...]:
    """The gradients of `outputs` for each of `inputs`, as a tuple. No `.grad` is touched.

    Args:
        outputs, inputs: a tensor or several.
        grad_outputs: the gradient of each output; None for an output of one item means 1.
        retain_graph, create_graph: as for `backward`.
        allow_unused: give None for an input that the outputs do not depend on, instead of raising.
        materialize_grads: give zeros for it.

    Raises:
        RuntimeError: as `backward`, and for an input that is not used.

    Example:
        >>> import numgrad as ng
        >>> x = ng.tensor([3.0], requires_grad=True)
        >>> ng.autograd.grad(x**2, x)
        (tensor([6.]),)
    """
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
        )
    allow_unused = materialize_grads if allow_unused is None else allow_unused
    if not only_inputs:
        warnings.warn(
            "only_inputs argument is deprecated and is ignored now (defaults to True). To accumulate gradient for other "
            "parts of the graph, please use torch.autograd.backward.",
            FutureWarning,
            stacklevel=2,
        )
    if is_grads_batched:
        raise NotImplementedError("is_grads_batched=True is not supported yet: call grad once for each gradient")
    roots = _sequence(outputs)
    wanted = _sequence(inputs)
    if not wanted:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    check_inputs(wanted)
    given = _sequence(grad_outputs) if grad_outputs is not None else (None,) * len(roots)
    gradients = make_gradients(roots, given)
    keep = create_graph if retain_graph is None else bool(retain_graph)
    results = run_backward(
        root_edges(roots),
        gradients,
        keep_graph=keep,
        create_graph=bool(create_graph),
        inputs=wanted,
        accumulate_grad=False,
    )
    if materialize_grads:
        return tuple(x.new_zeros(x.shape) if g is None else g for g, x in zip(results, wanted, strict=True))
    for i, g in enumerate(results):
        if g is None and not allow_unused:
            raise RuntimeError(
                f"The differentiated Tensor at index {i} appears to not have been used in the graph. Set "
                "allow_unused=True if this is the desired behavior."
            )
    return tuple(results)


def _sequence(values: Any) -> tuple[Any, ...]:
    return (values,) if values.__class__ in CLASSES or isinstance(values, str) else tuple(values)


def check_inputs(inputs: Sequence[Any]) -> None:
    """Raise RuntimeError, with PyTorch's text, for something among `inputs` that is no tensor."""
    for x in inputs:
        if x.__class__ not in CLASSES:
            raise RuntimeError(f"all inputs have to be Tensors or GradientEdges, but got {type(x).__name__}")


def root_edges(roots: Sequence[Any]) -> list[Any]:
    """Where backward starts. Raises RuntimeError, with PyTorch's text, for a root that was not recorded."""
    edges = []
    for i, root in enumerate(roots):
        edge = gradient_edge(root)
        if edge is None:
            raise RuntimeError(f"element {i} of tensors does not require grad and does not have a grad_fn")
        edges.append(edge)
    return edges


def make_gradients(roots: Sequence[Any], given: Sequence[Any]) -> list[Any]:
    """The gradient to start from at each root. Raises RuntimeError and TypeError with PyTorch's texts."""
    for g in given:
        if g is not None and g.__class__ not in CLASSES:
            raise TypeError(f"gradients can be either Tensors or None, but got {type(g).__name__}")
    if len(given) != len(roots):
        raise RuntimeError(f"got {len(roots)} tensors and {len(given)} gradients")
    found = []
    for i, (root, g) in enumerate(zip(roots, given, strict=True)):
        if g is None:
            if root._requires_grad or root._view is not None:
                found.append(_implicit(root))
            else:
                found.append(None)
            continue
        if g._array.shape != root._array.shape:
            raise RuntimeError(
                f"Mismatch in shape: grad_output[{i}] has a shape of {Size(g._array.shape)} and output[{i}] has a shape "
                f"of {Size(root._array.shape)}."
            )
        if g._device.hardware != root._device.hardware:
            raise RuntimeError(f"invalid gradient at index {i} - expected device {root._device} but got {g._device}")
        found.append(g if g._array.dtype is root._array.dtype else g.to(root.dtype))
    return found


def _implicit(root: Any) -> Any:
    if root._array.size != 1:
        raise RuntimeError("grad can be implicitly created only for scalar outputs")
    return make_ones(root)


def make_ones(root: Any) -> Any:
    """The gradient of a tensor's sum for the tensor itself."""
    array = root._array
    loops = backend(array.device)
    one = loops.empty(array.shape, array.dtype, array.device)
    loops.fill(one, 1)
    return wrap(one, root._device)


def warn_non_leaf_grad() -> None:
    """Warn, as PyTorch, about reading `.grad` of a result that does not retain it."""
    warnings.warn(
        "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't be "
        "populated during autograd.backward(). If you indeed want the .grad field to be populated for a non-leaf Tensor, "
        "use .retain_grad() on the non-leaf Tensor. If you access the non-leaf Tensor by mistake, make sure you access "
        "the leaf Tensor instead. See github.com/pytorch/pytorch/pull/30531 for more information.",
        UserWarning,
        stacklevel=3,
    )


def check_assigned_grad(tensor: Any, value: Any) -> None:
    """Raise, with PyTorch's texts, when `value` cannot be the `.grad` of `tensor`."""
    if value is None:
        return
    if value.__class__ not in CLASSES:
        raise TypeError(f"assigned grad expected to be a Tensor or None but got grad of type {type(value).__name__}")
    if value is tensor:
        raise RuntimeError("can't assign Variable as its own grad")
    own, given = FROM_NUMPY[tensor._array.dtype], FROM_NUMPY[value._array.dtype]
    if own is not given:
        raise RuntimeError(
            f"attempting to assign a gradient with dtype '{given.c_name}' to a tensor with grad_dtype "
            f"'{own.scalar_name}'. The gradient must match the tensor's grad_dtype (defaults to the tensor's dtype). You "
            "can set the tensor's grad_dtype attribute with a specific dtype, or None to allow any dtype. Set grad_dtype "
            "with caution. Diverging the dtypes of a tensor and its gradient may break downstream systems that assume "
            "they match."
        )
    if value._device.type != tensor._device.type:
        raise RuntimeError(
            f"attempting to assign a gradient with device type '{value._device.type}' to a tensor with device type "
            f"'{tensor._device.type}'. Please ensure that the gradient and the tensor are on the same device"
        )
    if value._array.shape != tensor._array.shape:
        raise RuntimeError(
            f"attempting to assign a gradient of size '{list(value._array.shape)}' to a tensor of size "
            f"'{list(tensor._array.shape)}'. Please ensure that the gradient and the tensor are the same size"
        )
