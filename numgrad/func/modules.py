"""Modules as functions of their parameters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from ..nn.utils.stateless import call_with
from ..ops import stack


def functional_call(
    module: Any,
    parameter_and_buffer_dicts: dict[str, Any] | Sequence[dict[str, Any]],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call a module with other parameters and buffers than its own.

    Args:
        module: the module.
        parameter_and_buffer_dicts: tensors by name, in a dict or several; what is not named stays the module's own. What
            the module assigns to itself meanwhile is found here afterwards.
        args: the arguments of the call; what is no tuple is the only one.
        kwargs: its keyword arguments.
        tie_weights: a tensor that the module holds under several names is replaced under all of them.
        strict: raise RuntimeError unless exactly the module's parameters and buffers are named.

    Raises:
        ValueError: a name in several dicts; different tensors for tied names.

    Example:
        >>> import numgrad as ng
        >>> module = ng.nn.Linear(2, 1)
        >>> tensors = {"weight": ng.ones(1, 2), "bias": ng.zeros(1)}
        >>> ng.func.functional_call(module, tensors, ng.ones(2))
        tensor([2.])
    """
    dicts = parameter_and_buffer_dicts
    if not isinstance(dicts, (dict, Sequence)):
        raise ValueError(
            f"Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got {type(dicts)}"
        )
    tensors = dicts if isinstance(dicts, dict) else _joined(dicts)
    return call_with(module, tensors, args, kwargs, tie_weights, strict)


def _joined(dicts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    if not all(isinstance(d, dict) for d in dicts):
        raise ValueError("Expected all elements of parameter_and_buffer_dicts to be dictionaries")
    repeated = [name for name, count in Counter(name for d in dicts for name in d).items() if count > 1]
    if repeated:
        raise ValueError(f"{repeated} appeared in multiple dictionaries; behavior of functional call is ambiguous")
    return {name: tensor for d in dicts for name, tensor in d.items()}


def stack_module_state(models: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The parameters and the buffers of several modules of one class, stacked by name: an ensemble for `vmap`.

    Stacked parameters are new leaves, which an optimizer can train.

    Raises RuntimeError for no models, and for models of several classes or modes.

    Example:
        >>> import numgrad as ng
        >>> models = [ng.nn.Linear(2, 1) for _ in range(3)]
        >>> params, buffers = ng.func.stack_module_state(models)
        >>> params["weight"].shape
        torch.Size([3, 1, 2])
    """
    if len(models) == 0:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if len({model.training for model in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if len({type(model) for model in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    return (
        _stacked([dict(model.named_parameters()) for model in models]),
        _stacked([dict(model.named_buffers()) for model in models]),
    )


def _stacked(tables: list[dict[str, Any]]) -> dict[str, Any]:
    return {name: _stacked_leaf([table[name] for table in tables], name) for name in tables[0]}


def _stacked_leaf(tensors: list[Any], name: str) -> Any:
    wanted = {x.requires_grad for x in tensors}
    if len(wanted) > 1:
        raise RuntimeError(f"Expected {name} from each model to have the same .requires_grad")
    result = stack(tensors)
    return result.detach().requires_grad_() if wanted == {True} else result
