"""Backward hooks of modules: identity nodes around a module's inputs and outputs, on which the hooks hang."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from ..autograd.function import Function
from ..autograd.grad_mode import is_grad_enabled
from ..tensor import Tensor

_FEWER = "of the grad_{what}. Please use register_full_backward_hook to get the documented behavior."
_DEPRECATED = "is deprecated and will be removed in future versions. This hook will be missing some "


class BackwardHookFunction(Function):
    """The identity on several tensors, as one node."""

    @staticmethod
    def forward(ctx: Any, *args: Any) -> Any:
        """The tensors as they are."""
        ctx.mark_non_differentiable(*[arg for arg in args if not arg.requires_grad])
        return args

    @staticmethod
    def backward(ctx: Any, *args: Any) -> Any:
        """The gradients as they are."""
        return args


class BackwardHook:
    """The backward hooks of one call of a module.

    `hooks` see the gradients of inputs and outputs, at the node around the inputs; `pre_hooks` those of the outputs.
    """

    def __init__(
        self, module: Any, hooks: Sequence[Callable[..., Any]], pre_hooks: Sequence[Callable[..., Any]]
    ) -> None:
        self.module = module
        self.hooks = hooks
        self.pre_hooks = pre_hooks
        self.grad_outputs: tuple[Any, ...] | None = None
        self.inputs: list[int] | None = None  # where tensors are among the arguments; None when none is tracked
        self.input_count = 0
        self.outputs: list[int] | None = None
        self.output_count = 0

    def setup_input_hook(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments, behind a node that runs the hooks."""
        self.input_count = len(args)
        found, self.inputs = _behind_node(args, self._at_inputs)
        return found

    def setup_output_hook(self, result: Any) -> Any:
        """The result, behind a node that notes its gradients and runs the pre-hooks."""
        if not isinstance(result, (Tensor, tuple)):
            warnings.warn(
                "For backward hooks to be called, module output should be a Tensor or a tuple of Tensors but received "
                f"{type(result)}",
                stacklevel=5,
            )
        outputs = result if isinstance(result, tuple) else (result,)
        self.output_count = len(outputs)
        found, self.outputs = _behind_node(outputs, self._at_outputs)
        return found if isinstance(result, tuple) else found[0]

    def _at_inputs(self, grad_inputs: tuple[Any, ...], _: Any) -> Any:
        if self.grad_outputs is None or self.inputs is None:
            return None  # the gradient came another way than through the outputs, as in a double backward
        gradients = _spread(self.inputs, grad_inputs, self.input_count)
        for hook in self.hooks:
            result = hook(self.module, gradients, self.grad_outputs)
            if result is None:
                continue
            if len(result) != len(gradients):
                raise RuntimeError(
                    f"Backward hook returned an invalid number of grad_input, got {len(result)}, but expected "
                    f"{len(gradients)}"
                )
            gradients = result
        self.grad_outputs = None
        return tuple(gradients[i] for i in self.inputs)

    def _at_outputs(self, _: Any, grad_outputs: tuple[Any, ...]) -> Any:
        assert self.outputs is not None
        gradients = _spread(self.outputs, grad_outputs, self.output_count)
        for hook in self.pre_hooks:
            result = hook(self.module, gradients)
            if result is None:
                continue
            if len(result) != self.output_count:
                raise RuntimeError(
                    f"Backward pre hook returned an invalid number of grad_output, got {len(result)}, but expected "
                    f"{self.output_count}"
                )
            gradients = result
        self.grad_outputs = gradients
        if self.inputs is None:
            self._without_inputs()
        return tuple(gradients[i] for i in self.outputs)

    def _without_inputs(self) -> None:
        """Run the hooks at the outputs, since no input is tracked."""
        warnings.warn(
            "Full backward hook is firing when gradients are computed with respect to module outputs since no inputs "
            "require gradients. See https://docs.pytorch.org/docs/main/generated/torch.nn.Module.html#torch.nn.Module."
            "register_full_backward_hook for more details.",
            stacklevel=5,
        )
        gradients = (None,) * self.input_count
        for hook in self.hooks:
            result = hook(self.module, gradients, self.grad_outputs)
            if result is not None and not (isinstance(result, tuple) and all(x is None for x in result)):
                raise RuntimeError(
                    "Backward hook for Modules where no input requires gradient should always return None or None for all "
                    "gradients."
                )
        self.grad_outputs = None


def _spread(indices: Sequence[int], values: Sequence[Any], count: int) -> tuple[Any, ...]:
    found = [None] * count
    for i, value in zip(indices, values, strict=True):
        found[i] = value
    return tuple(found)


def _behind_node(args: tuple[Any, ...], hook: Callable[..., Any]) -> tuple[Any, list[int] | None]:
    """The values with their tensors behind one identity node that has a hook, and where the tensors are."""
    indices = [i for i, arg in enumerate(args) if isinstance(arg, Tensor)]
    tensors = [args[i] for i in indices]
    if not (is_grad_enabled() and any(t.requires_grad for t in tensors)):
        return args, None
    found = list(args)
    for i, tensor in zip(indices, BackwardHookFunction.apply(*tensors), strict=True):
        found[i] = tensor
        node = tensor.grad_fn
        if node is not None and hook is not None:
            node.register_hook(hook)
            hook = None  # type: ignore[assignment]  # all of them share the node
    return (tuple(found) if type(args) is tuple else type(args)(*found)), indices


# ---------------------------------------------------------------------------------------------------- the old kind
def register_on_output(args: Any, result: Any, hook: Callable[..., Any]) -> None:
    """Register a deprecated backward hook: on the node of the (first) result, whatever that node is."""
    first = result
    while not isinstance(first, Tensor):
        first = next(v for v in first.values() if isinstance(v, Tensor)) if isinstance(first, dict) else first[0]
    node = first.grad_fn
    if node is None:
        return
    node.register_hook(hook)
    text = _what_is_missed(args, result, node)
    if text:
        warnings.warn(text, FutureWarning, stacklevel=5)


def _what_is_missed(args: Any, result: Any, node: Any) -> str | None:
    """PyTorch's warning about gradients that such a hook does not see."""
    start = "Using non-full backward hooks on a Module that does not"
    results, inputs = _tensors(result), _tensors(args)
    if results is None:
        return f"{start} return a single Tensor or a tuple of Tensors {_DEPRECATED}{_FEWER.format(what='output')}"
    if inputs is None:
        return f"{start} take as input a single Tensor or a tuple of Tensors {_DEPRECATED}{_FEWER.format(what='input')}"
    nodes = {r.grad_fn for r in results if r.grad_fn is not None}
    if not nodes or (len(nodes) == 1 and node not in nodes):
        return (
            f"Using a non-full backward hook when outputs are nested in python data structure {_DEPRECATED}grad_output."
        )
    if len(nodes) > 1:
        return (
            f"Using a non-full backward hook when outputs are generated by different autograd Nodes {_DEPRECATED}"
            "grad_output. Please use register_full_backward_hook to get the documented behavior."
        )
    if {i.grad_fn for i in inputs if i.grad_fn is not None} != {n for n, _ in node.next_functions}:
        return (
            f"Using a non-full backward hook when the forward contains multiple autograd Nodes {_DEPRECATED}grad_input. "
            "Please use register_full_backward_hook to get the documented behavior."
        )
    return None


def _tensors(values: Any) -> tuple[Any, ...] | None:
    """A tensor or a tuple of tensors as a tuple; None for anything else."""
    if isinstance(values, Tensor):
        return (values,)
    return values if isinstance(values, tuple) and all(isinstance(v, Tensor) for v in values) else None
