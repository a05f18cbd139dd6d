"""`backward` and `grad`: the public ways to run the engine, with their checks."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from ..dtype import FROM_NUMPY
from ..kernels.backends import backend
from ..size import Size
from .edges import GradientEdge, OutputMeta
from .engine import run_backward
from .grad_mode import mode
from .node import gradient_edge
from .tracing import innermost
from .variable import CLASSES, Edge, wrap


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
        tensors: a tensor or several, the roots; a `GradientEdge` stands for one.
        grad_tensors: the gradient of each root; None for a root of one item means 1.
        retain_graph: keep saved tensors for another backward; defaults to `create_graph`.
        create_graph: record the backward, for higher derivatives.
        inputs: only these tensors, a sequence or the values of a dict, accumulate gradients.

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
    if mode.transforms:
        raise RuntimeError(
            "backward() called inside a functorch transform. This is not supported, please use functorch.grad or "
            "functorch.vjp instead or call backward() outside of functorch transforms."
        )
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
        wanted = _inputs(inputs, "backward")
    roots = _sequence(tensors)
    gradients = make_gradients(roots, _gradients(grad_tensors, len(roots)))
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
    edges = root_edges(roots)
    if wanted is not None:
        check_inputs(wanted)
        for x in wanted:
            if x.__class__ in CLASSES:
                x.retain_grad()  # a result among the inputs keeps its gradient from now on, as in PyTorch
    targets = None if wanted is None else input_edges(wanted)
    run_backward(edges, gradients, keep_graph=keep, create_graph=bool(create_graph), inputs=targets)


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
) -> Any:
    """The gradients of `outputs` for each of `inputs`, as a tuple, or as a dict where `inputs` is one.

    No `.grad` is touched.

    Args:
        outputs, inputs: a tensor or several; a `GradientEdge` stands for one.
        grad_outputs: the gradient of each output; None for an output of one item means 1.
        retain_graph, create_graph: as for `backward`.
        allow_unused: give None for an input that the outputs do not depend on, instead of raising.
        is_grads_batched: each of `grad_outputs` is a batch of gradients along its first dimension, and so are the results.
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
    roots = _sequence(outputs)
    wanted = _inputs(inputs, "grad")
    given = _gradients(grad_outputs, len(roots))
    keep = create_graph if retain_graph is None else bool(retain_graph)
    if is_grads_batched:
        results = _batched(roots, wanted, given, bool(create_graph), keep)
    else:
        results = _run(roots, wanted, given, bool(create_graph), keep)
    for i, g in enumerate(results):
        if g is None and not allow_unused:
            raise RuntimeError(
                f"The differentiated Tensor at index {i} appears to not have been used in the graph. Set "
                "allow_unused=True if this is the desired behavior."
            )
    if materialize_grads:
        results = [_materialized(g, x, bool(create_graph)) for g, x in zip(results, wanted, strict=True)]
    return dict(zip(inputs, results, strict=True)) if type(inputs) is dict else tuple(results)


def _run(
    roots: Sequence[Any], wanted: Sequence[Any], given: Sequence[Any], create_graph: bool, keep: bool
) -> list[Any]:
    """What `grad` returns, before it is checked for what was not used."""
    gradients = make_gradients(roots, given)
    edges = root_edges(roots)
    check_inputs(wanted)
    targets = input_edges(wanted)
    if innermost((*roots, *wanted, *gradients)) is not None:
        from .pullback import pull

        return pull(roots, wanted, gradients, create_graph, keep)
    return run_backward(
        edges, gradients, keep_graph=keep, create_graph=create_graph, inputs=targets, accumulate_grad=False
    )


def _batched(
    roots: Sequence[Any], wanted: Sequence[Any], given: Sequence[Any], create_graph: bool, keep: bool
) -> list[Any]:
    """`_run` for many gradients of the outputs at once, which are stacked along a first dimension."""
    from .batching import BatchLevel, peeled

    _check_batched(roots, given)
    level = BatchLevel(next(g._array.shape[0] for g in given if g is not None))
    with level.entered():
        members = [None if g is None else level.batched(g, 0) for g in given]
        found = _run(roots, wanted, members, create_graph, keep)
        return [None if g is None else peeled(g, level) for g in found]


def _check_batched(roots: Sequence[Any], given: Sequence[Any]) -> None:
    """Raise RuntimeError, with PyTorch's text, when the items of a batch do not have the shape of their output."""
    for i, (root, g) in enumerate(zip(roots, given, strict=False)):
        if g.__class__ not in CLASSES:
            continue
        if not g._array.shape:
            raise IndexError(
                "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a "
                "0-dim tensor to a number"
            )
        shape = _meta(root).shape
        if g._array.shape[1:] != shape:
            raise RuntimeError(
                "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch dimension. "
                "The sizes of the remaining dimensions are expected to match the shape of corresponding output, but a "
                f"mismatch was detected: grad_output[{i}] has a shape of {Size(g._array.shape[2:])} and output[{i}] has a "
                f"shape of {Size(shape)}. If you only want some tensors in `grad_output` to be considered batched, "
                "consider using vmap."
            )


def _materialized(g: Any, x: Any, requires_grad: bool) -> Any:
    if g is not None:
        return g
    if isinstance(x, GradientEdge):
        raise RuntimeError("materialize_grads cannot be used when the given input is a GradientEdge")
    return x.new_zeros(x.shape, requires_grad=requires_grad)


def _is_one(value: Any) -> bool:
    return value.__class__ in CLASSES or isinstance(value, GradientEdge)


def _sequence(values: Any) -> tuple[Any, ...]:
    return (values,) if _is_one(values) else tuple(values)


def _gradients(values: Any, count: int) -> tuple[Any, ...]:
    if values is None:
        return (None,) * count
    return (values,) if values.__class__ in CLASSES else tuple(values)


def _inputs(inputs: Any, caller: str) -> tuple[Any, ...]:
    """The inputs as a tuple. Raises TypeError and RuntimeError with PyTorch's texts."""
    if type(inputs) is dict:
        inputs = list(inputs.values())
    elif isinstance(inputs, Mapping):
        raise TypeError(
            f"`inputs` argument to `{caller}()` must be a dict, not {type(inputs).__name__}. Other Mapping types are not "
            "supported."
        )
    wanted = _sequence(inputs)
    if not wanted:
        raise RuntimeError(f"`inputs` argument to `{caller}()` cannot be empty.")
    return wanted


def check_inputs(inputs: Sequence[Any]) -> None:
    """Raise RuntimeError, with PyTorch's text, for something among `inputs` that is no tensor."""
    for x in inputs:
        if not _is_one(x):
            raise RuntimeError(f"all inputs have to be Tensors or GradientEdges, but got {type(x).__name__}")


def input_edges(inputs: Sequence[Any]) -> list[Edge]:
    """Where the gradients of inputs arrive. Raises RuntimeError for one that requires none."""
    edges = []
    for x in inputs:
        edge = (x.node, x.output_nr) if isinstance(x, GradientEdge) else gradient_edge(x)
        if edge is None:
            raise RuntimeError("One of the differentiated Tensors does not require grad")
        edges.append(edge)
    return edges


def root_edges(roots: Sequence[Any]) -> list[Any]:
    """Where backward starts. Raises RuntimeError, with PyTorch's text, for a root that was not recorded."""
    edges = []
    for i, root in enumerate(roots):
        edge = (root.node, root.output_nr) if isinstance(root, GradientEdge) else gradient_edge(root)
        if edge is None:
            raise RuntimeError(f"element {i} of tensors does not require grad and does not have a grad_fn")
        edges.append(edge)
    return edges


def _meta(root: Any) -> OutputMeta:
    """Shape, dtype and device of a root's gradient."""
    if root.__class__ in CLASSES:
        return OutputMeta(root._array.shape, root._array.dtype, root._device)
    if not isinstance(root, GradientEdge):
        raise AssertionError("Expected output to be a torch.Tensor")
    if root.meta is None:
        raise RuntimeError(
            "this GradientEdge does not tell what its gradient looks like: make it with autograd.graph.get_gradient_edge()"
        )
    return root.meta


def make_gradients(roots: Sequence[Any], given: Sequence[Any]) -> list[Any]:
    """The gradient to start from at each root. Raises RuntimeError and TypeError with PyTorch's texts."""
    found = []
    for i, (root, g) in enumerate(zip(roots, given, strict=False)):
        if g is None:
            meta = _meta(root)
            is_tracked = isinstance(root, GradientEdge) or root._requires_grad or root._view is not None
            found.append(_implicit(meta) if is_tracked else None)
        elif g.__class__ in CLASSES:
            found.append(_explicit(i, _meta(root), g))
        else:
            raise TypeError(f"gradients can be either Tensors or None, but got {type(g).__name__}")
    if len(given) < len(roots):
        raise RuntimeError(f"got {len(roots)} tensors and {len(given)} gradients")
    return found


def _explicit(i: int, meta: OutputMeta, g: Any) -> Any:
    """A gradient that was given, cast to what it belongs to."""
    if g._array.shape != meta.shape:
        raise RuntimeError(
            f"Mismatch in shape: grad_output[{i}] has a shape of {Size(g._array.shape)} and output[{i}] has a shape of "
            f"{Size(meta.shape)}."
        )
    own, wanted = FROM_NUMPY[g._array.dtype], FROM_NUMPY[meta.dtype]
    if own.is_complex != wanted.is_complex:
        raise RuntimeError(
            "For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in dtype: "
            f"grad_output[{i}] has a dtype of {own} and output[{i}] has a dtype of {wanted}."
        )
    if g._device.hardware != meta.device.hardware:
        raise RuntimeError(f"invalid gradient at index {i} - expected device {meta.device} but got {g._device}")
    return g if own is wanted else g.to(wanted)


def _implicit(meta: OutputMeta) -> Any:
    """The gradient 1 of a root of one real item."""
    if math.prod(meta.shape) != 1:
        raise RuntimeError("grad can be implicitly created only for scalar outputs")
    dtype = FROM_NUMPY[meta.dtype]
    if not dtype.is_floating_point:
        raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {dtype}")
    return make_ones(meta)


def make_ones(meta: OutputMeta) -> Any:
    """The gradient of a tensor's sum for the tensor itself."""
    loops = backend(meta.device.hardware)
    one = loops.empty(meta.shape, meta.dtype, meta.device.hardware)
    loops.fill(one, 1)
    return wrap(one, meta.device)
