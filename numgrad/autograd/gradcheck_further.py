"""What `gradcheck` checks besides values: inputs, absent gradients, gradients of zero, and batches of gradients."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from ..dtype import complex128, float64
from ..kernels.movement import stack
from . import gradcheck_texts as texts
from .differentiate import grad
from .forward_ad import dual_level, make_dual, unpack_dual
from .gradcheck_draws import random_vector
from .gradcheck_numerical import Function, as_tuple, checked_indices, differentiable_outputs
from .gradcheck_texts import GradcheckError
from .node import Node, gradient_edge
from .variable import CLASSES, wrap


def inputs(given: Sequence[Any]) -> None:
    """Raise ValueError when none requires a gradient, RuntimeError for one that shows an item several times."""
    wanted = checked_indices(given)
    for i in wanted:
        x = given[i]
        if x.dtype not in (float64, complex128):
            warnings.warn(
                f"Input #{i} requires gradient and is not a double precision floating point or complex. This check will "
                "likely fail if all the inputs are not of double precision floating point or complex. ",
                UserWarning,
                stacklevel=3,
            )
        if any(step == 0 and extent > 1 for step, extent in zip(x.stride(), x.shape, strict=True)):
            raise RuntimeError(
                f"The {i}th input has a dimension with stride 0. gradcheck only supports inputs that are non-overlapping to "
                "be able to compute the numerical gradients correctly. You should call .contiguous on the input before "
                "passing it to gradcheck."
            )
    if not wanted:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True."
        )


def zero_gradients(outputs: Sequence[Any], inputs: Sequence[Any], masked: bool) -> None:
    """Gradients must be linear in those of the outputs, so 0 where these are."""
    if not outputs:
        return
    variables = [inputs[i] for i in checked_indices(inputs)]
    zeros = [y.detach().new_zeros(y.shape) for y in outputs]
    for g, x in zip(grad(outputs, variables, zeros, allow_unused=True), variables, strict=True):
        if g is None:
            continue
        if not (g.allclose(g.new_zeros(g.shape)) if masked else (g == 0).all().item()):
            raise GradcheckError("backward not multiplied by grad_output")
        if g.dtype is not x.dtype:
            raise GradcheckError("grad is incorrect type")
        if g.device != x.device:
            raise GradcheckError("grad is incorrect device")
        if g.shape != x.shape:
            raise GradcheckError("grad is incorrect size")


class _UndefinedGrad(Node):
    """Passes no gradient on, as if the tensor before it had not been used."""

    __slots__ = ()

    def apply(self, g: Any, graph: bool) -> Sequence[Any]:
        """None; see `Node.apply`."""
        return (None,)


def _without_gradient(y: Any) -> Any:
    return wrap(y._array, y._device, (_UndefinedGrad((gradient_edge(y),), (), y._device), 0))


def undefined_gradients(func: Function, inputs: Sequence[Any]) -> None:
    """Outputs that receive no gradient must count as if it were 0: all of them, and each alone."""
    count = len(differentiable_outputs(func(*inputs)))
    if not count:
        return
    choices: list[set[int]] = [set(range(count))]
    if count > 1:
        choices += [{i} for i in range(count)]
    variables = [inputs[i] for i in checked_indices(inputs)]
    for absent in choices:
        outputs = differentiable_outputs(func(*inputs))
        roots = [_without_gradient(y) if i in absent else y for i, y in enumerate(outputs)]
        zeros = [y.detach().new_zeros(y.shape) for y in outputs]
        try:
            found = grad(roots, variables, zeros, allow_unused=True)
        except RuntimeError as error:
            warnings.warn(texts.UNDEFINED_GRADIENTS, UserWarning, stacklevel=3)
            raise GradcheckError(
                f"Expected backward function to handle undefined output grads. {texts.NOTES}"
            ) from error
        if any(g is not None and not (g == 0).all().item() for g in found):
            warnings.warn(texts.UNDEFINED_GRADIENTS, UserWarning, stacklevel=3)
            raise GradcheckError(
                "Expected all input grads to be undefined or zero when all output grads are undefined or zero. "
                f"{texts.NOTES}"
            )


def batched_backward(inputs: Sequence[Any], output: Any, number: int) -> None:
    """Two gradients at once must give what they give one by one."""
    variables = [inputs[i] for i in checked_indices(inputs)]
    seeds = [random_vector(output, 10 * k, False).detach() for k in range(2)]

    def zeros(gradients: Sequence[Any], lead: tuple[int, ...]) -> list[Any]:
        return [
            x.detach().new_zeros((*lead, *x.shape)) if g is None else g
            for g, x in zip(gradients, variables, strict=True)
        ]

    one_by_one = [zeros(grad(output, variables, v, retain_graph=True, allow_unused=True), ()) for v in seeds]
    try:
        at_once = grad(
            output, variables, stack(*seeds, dim=0), retain_graph=True, allow_unused=True, is_grads_batched=True
        )
    except RuntimeError as error:
        raise GradcheckError(f"While computing batched gradients, got: {error}\n\n{texts.BATCHED_FAILED}") from error
    _compare_batches(zeros(at_once, (2,)), one_by_one, number, texts.BATCHED_FAILED)


def batched_forward(func: Function, inputs: Sequence[Any]) -> None:
    """Two tangents at once must give what they give one by one."""
    for i in checked_indices(inputs):
        x = inputs[i]

        def jvp(tangent: Any, i: int = i, x: Any = x) -> list[Any]:
            with dual_level():
                dual = make_dual(x.detach(), tangent)
                given = [dual if k == i else y.detach() if y.__class__ in CLASSES else y for k, y in enumerate(inputs)]
                parts = [unpack_dual(y) for y in as_tuple(func(*given)) if y is not None]
            return [p.detach().new_zeros(p.shape) if t is None else t for p, t in parts]

        tangents = [random_vector(x, 10 * k, False).detach() for k in range(2)]
        one_by_one = [jvp(t) for t in tangents]
        from .batching import BatchLevel, peeled

        level = BatchLevel(2)
        try:
            with level.entered():
                at_once = [peeled(t, level) for t in jvp(level.batched(stack(*tangents, dim=0), 0))]
        except RuntimeError as error:
            raise GradcheckError(
                f"While computing batched gradients, got: {error}\n\n{texts.BATCHED_FORWARD_FAILED}"
            ) from error
        _compare_batches(at_once, one_by_one, i, texts.BATCHED_FORWARD_FAILED)


def _compare_batches(at_once: Sequence[Any], one_by_one: Sequence[Sequence[Any]], number: int, reason: str) -> None:
    for k, got in enumerate(at_once):
        expected = stack(*[several[k] for several in one_by_one], dim=0)
        if not got.allclose(expected):
            raise GradcheckError(
                texts.BATCHED_DIFFERS.format(output=number, input=k, reason=reason, got=got, expected=expected)
            )
