"""What `autograd.functional` refuses, with PyTorch's texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .variable import CLASSES


def as_tensors(values: Any, what: str, name: str) -> tuple[bool, tuple[Any, ...]]:
    """Whether a tuple was given, and the tensors. Raises TypeError for anything but tensors."""
    several = isinstance(values, tuple)
    found = values if several else (values,)
    for i, x in enumerate(found):
        if x.__class__ not in CLASSES:
            which = f"value at index {i}" if several else f"given {what}"
            raise TypeError(
                f"The {what} given to {name} must be either a Tensor or a tuple of Tensors but the {which} has type "
                f"{type(x)}."
            )
    return several, found


def vector(v: Sequence[Any], like: Sequence[Any], several: bool) -> None:
    """Raise RuntimeError when a vector has not the length and shapes of the tensors it goes with."""
    if len(like) != len(v):
        if several:
            raise RuntimeError(f"v is a tuple of invalid length: should be {len(like)} but got {len(v)}.")
        raise RuntimeError("The given v should contain a single Tensor.")
    for i, (given, wanted) in enumerate(zip(v, like, strict=True)):
        if given.shape != wanted.shape:
            entry = f"Entry {i} in " if several else ""
            raise RuntimeError(f"{entry}v has invalid size: should be {wanted.shape} but got {given.shape}.")


def one_number(outputs: Sequence[Any], several: bool, name: str) -> None:
    """Raise RuntimeError when a function that should return one number returns anything else."""
    if several:
        raise RuntimeError(f"The function given to {name} should return a single Tensor")
    if outputs[0].numel() != 1:
        raise RuntimeError(f"The Tensor returned by the function given to {name} should contain a single element")


_INDEPENDENT = {
    "outputs": (
        "Output {} of the user-provided function does not require gradients. The outputs must be computed in a "
        "differentiable manner from the input when running in strict mode."
    ),
    "grad_inputs": (
        "The gradient with respect to input {} is independent of the inputs of the user-provided function. This is not "
        "allowed in strict mode."
    ),
    "jacobian": (
        "While computing the hessian, found that the jacobian of the user-provided function with respect to input {} is "
        "independent of the input. This is not allowed in strict mode. You should ensure that your function is twice "
        "differentiable and that the jacobian depends on the inputs (this would be violated by a linear function for "
        "example)."
    ),
}


def dependent(tensors: Any, what: str, strict: bool) -> None:
    """Under `strict`, raise RuntimeError when one of the tensors does not depend on the inputs."""
    if not strict:
        return
    for i, x in enumerate(tensors):
        if x is None:
            raise RuntimeError(
                f"The output of the user-provided function is independent of input {i}. This is not allowed in strict "
                "mode."
            )
        if not x.requires_grad:
            raise RuntimeError(_INDEPENDENT[what].format(i))


_ABSENT = {
    "back": "The output of the user-provided function is independent of input {}. This is not allowed in strict mode.",
    "back_trick": (
        "The gradient with respect to the input is independent of entry {} in the grad_outputs when using the double "
        "backward trick to compute forward mode gradients. This is not allowed in strict mode."
    ),
    "double_back": (
        "The jacobian of the user-provided function is independent of input {}. This is not allowed in strict mode."
    ),
    "double_back_trick": (
        "The hessian of the user-provided function is independent of entry {} in the grad_jacobian. This is not allowed "
        "in strict mode as it prevents from using the double backward trick to replace forward mode AD."
    ),
}


def filled(
    gradients: Sequence[Any], like: Sequence[Any], strict: bool, create_graph: bool, stage: str
) -> tuple[Any, ...]:
    """Gradients with zeros for those that are None; under `strict` raises RuntimeError instead."""
    found = []
    for i, (g, x) in enumerate(zip(gradients, like, strict=True)):
        if g is None:
            if strict:
                raise RuntimeError(_ABSENT[stage].format(i))
            g = x.new_zeros(x.shape)
        elif strict and create_graph and not g.requires_grad:
            what = "hessian" if stage.startswith("double") else "jacobian"
            raise RuntimeError(
                f"The {what} of the user-provided function is independent of input {i}. This is not allowed in strict "
                "mode when create_graph=True."
            )
        found.append(g)
    return tuple(found)


def jacobian_strategy(strategy: str) -> None:
    """Raise AssertionError for a strategy that there is not."""
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your function has more outputs '
            'than inputs, "forward-mode" tends to be more performant. Otherwise, prefer to use "reverse-mode".'
        )


def forward_options(create_graph: bool, strict: bool) -> None:
    """Raise for what forward mode cannot be combined with."""
    if create_graph:
        raise NotImplementedError(
            'torch.autograd.functional.jacobian: `create_graph=True` and `strategy="forward-mode"` are not supported '
            'together (yet). Please either set `create_graph=False` or `strategy="reverse-mode"`.'
        )
    if strict:
        raise RuntimeError(
            'torch.autograd.functional.jacobian: `strict=True` and `strategy="forward-mode"` are not supported together '
            '(yet). Please either set `strict=False` or `strategy="reverse-mode"`.'
        )
