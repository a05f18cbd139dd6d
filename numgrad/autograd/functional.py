"""Jacobians, Hessians and their products with vectors, of functions of tensors: PyTorch's `autograd.functional`.

All of them take a function of one or several tensors that returns one or several, and follow one convention: a single
tensor gives a single tensor, a tuple gives a tuple. With `strict=True` an output that does not depend on an input raises;
otherwise its derivative is 0.

    >>> import numgrad as ng
    >>> from numgrad.autograd.functional import hessian, jacobian
    >>> jacobian(lambda x: x**2, ng.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    >>> hessian(lambda x: (x**3).sum(), ng.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from . import functional_checks as checks
from .basis import basis
from .differentiate import grad
from .functional_checks import as_tensors
from .grad_mode import enable_grad, mode, set_grad_enabled
from .jacobians import forward_jacobian, jacobian_blocks, split_rows, unpacked

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

_ONE_OUTPUT = (
    "The vector v can only be None if the user-provided function returns a single Tensor with a single element."
)
_ONE_INPUT = (
    "The vector v can only be None if the input to the user-provided function is a single Tensor with a single element."
)


def vjp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The function's value, and the product of a vector with its Jacobian.

    Args:
        func: takes the inputs, returns a tensor or a tuple of them.
        inputs: a tensor or a tuple.
        v: shaped as the outputs; may be left out for a single output of one item.
        create_graph: make both results differentiable.
        strict: raise for an input that an output does not depend on.

    Returns:
        `(func(*inputs), product)`, the product shaped as the inputs.

    Raises:
        TypeError: inputs or outputs that are no tensors.
        RuntimeError: `v` of wrong length or shape; what `strict` refuses.

    Example:
        >>> import numgrad as ng
        >>> ng.autograd.functional.vjp(lambda x: x * x, ng.tensor([1.0, 2.0]), ng.ones(2))
        (tensor([1., 4.]), tensor([2., 4.]))
    """
    with enable_grad():
        call = _Call("vjp", func, inputs, create_graph, strict)
        vector = call.vector(v, call.outputs, call.several_outputs, _ONE_OUTPUT)
    with set_grad_enabled(create_graph or mode.enabled):
        found = _grad(call.outputs, call.inputs, vector, create_graph)
        product = checks.filled(found, call.inputs, strict, create_graph, "back")
    return call.value(), call.result(product, call.several_inputs)


def jvp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The function's value, and the product of its Jacobian with a vector, by backward twice.

    Arguments, results and errors are those of `vjp`, except that `v` is shaped as the inputs and the product as the
    outputs. `func.jvp` and `forward_ad` need one pass only.

    Example:
        >>> import numgrad as ng
        >>> ng.autograd.functional.jvp(lambda x: x * x, ng.tensor([1.0, 2.0]), ng.ones(2))
        (tensor([1., 4.]), tensor([2., 4.]))
    """
    with enable_grad():
        call = _Call("jvp", None, inputs, create_graph, strict)
        vector = call.vector(v, call.inputs, call.several_inputs, _ONE_INPUT)
        call.run(func)
        seeds = _zeros_to_differentiate(call.outputs)
        gradients = _grad(call.outputs, call.inputs, seeds, create_graph=True)
        checks.dependent(gradients, "grad_inputs", strict)
    with set_grad_enabled(create_graph or mode.enabled):
        found = _grad(gradients, seeds, vector, create_graph)
        product = checks.filled(found, call.outputs, strict, create_graph, "back_trick")
    return call.value(), call.result(product, call.several_outputs)


def vhp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The value of a function that returns one number, and the product of a vector with its Hessian.

    Arguments, results and errors are those of `vjp`, with `v` and the product shaped as the inputs.

    Example:
        >>> import numgrad as ng
        >>> ng.autograd.functional.vhp(lambda x: (x**3).sum(), ng.tensor([1.0, 2.0]), ng.ones(2))
        (tensor(9.), tensor([ 6., 12.]))
    """
    with enable_grad():
        call, vector, gradients = _gradients_of_one(func, "vhp", inputs, v, create_graph, strict)
    with set_grad_enabled(create_graph or mode.enabled):
        found = _grad(gradients, call.inputs, vector, create_graph)
        product = checks.filled(found, call.inputs, strict, create_graph, "double_back")
    return call.value(), call.result(product, call.several_inputs)


def hvp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The value of a function that returns one number, and the product of its Hessian with a vector.

    As `vhp`, which is the same for a Hessian that is symmetric and needs one backward less.

    Example:
        >>> import numgrad as ng
        >>> ng.autograd.functional.hvp(lambda x: (x**3).sum(), ng.tensor([1.0, 2.0]), ng.ones(2))
        (tensor(9.), tensor([ 6., 12.]))
    """
    with enable_grad():
        call, vector, gradients = _gradients_of_one(func, "hvp", inputs, v, create_graph, strict)
        seeds = _zeros_to_differentiate(call.inputs)
        twice = _grad(gradients, call.inputs, seeds, create_graph=True)
    with set_grad_enabled(create_graph or mode.enabled):
        found = _grad(twice, seeds, vector, create_graph)
        product = checks.filled(found, call.inputs, strict, create_graph, "double_back_trick")
    return call.value(), call.result(product, call.several_inputs)


def jacobian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """All first derivatives of a function.

    Args:
        func: takes the inputs, returns a tensor or a tuple of them.
        inputs: a tensor or a tuple.
        create_graph: make the result differentiable.
        strict: raise for an input that an output does not depend on.
        vectorize: compute all rows in one batched backward instead of one after the other.
        strategy: "reverse-mode", row by row; or, vectorized only, "forward-mode", column by column.

    Returns:
        For one input and one output a tensor of shape `output.shape + input.shape`; a tuple over the outputs, the
        inputs, or both (outputs first) where they are tuples.

    Raises:
        TypeError: inputs or outputs that are no tensors.
        RuntimeError: what `strict` refuses, and `strict` together with `vectorize` or forward mode.
        AssertionError: an unknown strategy.
        NotImplementedError: forward mode with `create_graph`, or without `vectorize`.
    """
    checks.jacobian_strategy(strategy)
    if strategy == "forward-mode":
        checks.forward_options(create_graph, strict)
        return forward_jacobian(func, inputs, vectorize)
    with enable_grad():
        call = _Call("jacobian", func, inputs, create_graph, strict)
        if vectorize:
            if strict:
                raise RuntimeError(
                    "torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not supported together. "
                    "Please either set `strict=False` or `vectorize=False`."
                )
            found = _batched_rows(call)
        else:
            found = jacobian_blocks(call.outputs, call.inputs, strict, create_graph)
    if not create_graph:
        found = tuple(tuple(block.detach() for block in blocks) for blocks in found)
    return unpacked(found, call.several_outputs, call.several_inputs)


def hessian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """All second derivatives of a function that returns one number.

    Arguments and errors are those of `jacobian`, which runs twice; `outer_jacobian_strategy` is for the outer one. Blocks
    for pairs of inputs come in a tuple of tuples.

    Example:
        >>> import numgrad as ng
        >>> ng.autograd.functional.hessian(lambda x: x.prod(), ng.tensor([2.0, 3.0]))
        tensor([[0., 1.],
                [1., 0.]])
    """
    several, given = as_tensors(inputs, "inputs", "hessian")
    if outer_jacobian_strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode".')

    def one_number(*xs: Any) -> Any:
        out = func(*xs)
        _check_one_number(out, "hessian", strict)
        return out.squeeze()

    def gradient(*xs: Any) -> Any:
        if outer_jacobian_strategy == "forward-mode":
            xs = tuple(x.requires_grad_(True) for x in xs)
        rows = jacobian(one_number, xs, create_graph=True)
        checks.dependent(rows, "jacobian", strict)
        return rows

    blocks = jacobian(gradient, given, create_graph, strict, vectorize, outer_jacobian_strategy)
    return unpacked(blocks, several, several)


# ---------------------------------------------------------------------------------------------------- parts
class _Call:
    """One call of the user's function on inputs that are ready to be differentiated.

    Attributes:
        inputs, outputs: tuples of tensors.
        several_inputs, several_outputs: whether the user gave, and the function returned, a tuple.
    """

    outputs: tuple[Any, ...]
    several_outputs: bool

    def __init__(
        self, name: str, func: Callable[..., Any] | None, inputs: Any, create_graph: bool, strict: bool
    ) -> None:
        self.name = name
        self.create_graph = create_graph
        self.strict = strict
        self.several_inputs, given = as_tensors(inputs, "inputs", name)
        self.inputs = _prepared(given, create_graph, need_graph=True)
        if func is not None:
            self.run(func)

    def run(self, func: Callable[..., Any]) -> None:
        """Call the function and check what it returns."""
        outputs = func(*self.inputs)
        self.several_outputs, self.outputs = as_tensors(outputs, "outputs of the user-provided function", self.name)
        checks.dependent(self.outputs, "outputs", self.strict)

    def vector(self, v: Any, like: Sequence[Any], several: bool, missing: str) -> tuple[Any, ...] | None:
        """The user's vector, checked against the tensors it is to be shaped as; None for the number 1."""
        if v is None:
            if len(like) != 1 or like[0].numel() != 1:
                raise RuntimeError(missing)
            return None
        _, given = as_tensors(v, "v", self.name)
        vector = _prepared(given, self.create_graph, need_graph=False)
        checks.vector(vector, like, several)
        return vector

    def value(self) -> Any:
        """What the function returned."""
        return self.result(self.outputs, self.several_outputs)

    def result(self, tensors: Sequence[Any], several: bool) -> Any:
        """Tensors as the user gets them: out of the graph unless it was asked for, alone unless there are several."""
        found = tuple(tensors) if self.create_graph else tuple(x.detach() for x in tensors)
        return found if several else found[0]


def _prepared(tensors: Sequence[Any], create_graph: bool, need_graph: bool) -> tuple[Any, ...]:
    """Tensors to differentiate by, that are not the user's own: a hook or `.grad` of those is no concern of ours."""
    return tuple(
        x.view_as(x) if create_graph and x.requires_grad else x.detach().requires_grad_(need_graph) for x in tensors
    )


def _zeros_to_differentiate(tensors: Sequence[Any]) -> tuple[Any, ...]:
    """The point at which a vector-Jacobian product is differentiated by its vector: it is linear, any would do."""
    return tuple(x.new_zeros(x.shape).requires_grad_() for x in tensors)


def _grad(
    outputs: Sequence[Any], inputs: Sequence[Any], vector: Sequence[Any] | None, create_graph: bool
) -> tuple[Any, ...]:
    """`autograd.grad` of those outputs that depend on anything; None for an input that they do not depend on."""
    vector = (None,) * len(outputs) if vector is None else vector
    pairs = [(y, v) for y, v in zip(outputs, vector, strict=True) if y is not None and y.requires_grad]
    if not pairs:
        return (None,) * len(inputs)
    roots, seeds = zip(*pairs, strict=True)
    return grad(roots, inputs, seeds, allow_unused=True, create_graph=create_graph)


def _check_one_number(out: Any, name: str, strict: bool) -> None:
    several, outputs = as_tensors(out, "outputs of the user-provided function", name)
    checks.dependent(outputs, "outputs", strict)
    checks.one_number(outputs, several, name)


def _gradients_of_one(
    func: Callable[..., Any], name: str, inputs: Any, v: Any, create_graph: bool, strict: bool
) -> tuple[_Call, tuple[Any, ...] | None, tuple[Any, ...]]:
    """What `vhp` and `hvp` begin with: the call, the checked vector, and the recorded gradient."""
    call = _Call(name, None, inputs, create_graph, strict)
    vector = call.vector(v, call.inputs, call.several_inputs, _ONE_INPUT)
    call.run(func)
    checks.one_number(call.outputs, call.several_outputs, name)
    gradients = _grad(call.outputs, call.inputs, None, create_graph=True)
    checks.dependent(gradients, "jacobian", strict)
    return call, vector, gradients


def _batched_rows(call: _Call) -> tuple[tuple[Any, ...], ...]:
    """The Jacobian's blocks, all rows from one backward."""
    flat = tuple(y.reshape(-1) for y in call.outputs)
    sizes = [y.numel() for y in call.outputs]
    pairs = [(y, v) for y, v in zip(flat, basis(call.outputs), strict=True) if y.requires_grad]
    found: Sequence[Any] = (None,) * len(call.inputs)
    if pairs:
        roots, seeds = zip(*pairs, strict=True)
        found = grad(
            roots, call.inputs, seeds, allow_unused=True, create_graph=call.create_graph, is_grads_batched=True
        )
    rows = [x.new_zeros((sum(sizes), *x.shape)) if g is None else g for g, x in zip(found, call.inputs, strict=True)]
    return split_rows(rows, call.outputs, call.inputs)
