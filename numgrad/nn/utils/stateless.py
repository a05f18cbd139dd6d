"""Calls of a module with other parameters and buffers than its own."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ..module import Module

__all__ = ["functional_call"]


def functional_call(
    module: Module,
    parameters_and_buffers: dict[str, Any],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """The deprecated name of `numgrad.func.functional_call`."""
    warnings.warn(
        "`torch.nn.utils.stateless.functional_call` is deprecated as of PyTorch 2.0 and will be removed in a future "
        "version of PyTorch. Please use `torch.func.functional_call` instead which is a drop-in replacement.",
        FutureWarning,
        stacklevel=2,
    )
    return call_with(module, parameters_and_buffers, args, kwargs, tie_weights, strict)


def call_with(
    module: Module,
    tensors: dict[str, Any],
    args: Any,
    kwargs: dict[str, Any] | None,
    tie_weights: bool,
    strict: bool,
) -> Any:
    """`functional_call`: call a module with the given tensors in the place of its own, by name.

    What the module assigns to itself meanwhile is found in `tensors` afterwards.
    """
    positional = () if args is None else args if isinstance(args, tuple) else (args,)
    with _swapped(module, tensors, tie_weights, strict):
        return module(*positional, **(kwargs or {}))


@contextmanager
def _swapped(module: Module, tensors: dict[str, Any], tie_weights: bool, strict: bool) -> Iterator[None]:
    given = _with_tied(module, tensors) if tie_weights else dict(tensors)
    if strict:
        _check_names(module, given)
    places = {name: place for name in given if (place := _place(module, name)) is not None}
    before = {name: table[key] for name, (table, key) in places.items()}
    try:
        for name, (table, key) in places.items():
            table[key] = given[name]
        yield
    finally:
        for name, (table, key) in places.items():
            if name in tensors:
                tensors[name] = table[key]
            table[key] = before[name]


def _place(module: Module, name: str) -> tuple[dict[str, Any], str] | None:
    """The table that holds a parameter or buffer, and its key there; None if there is none of that name."""
    *path, key = name.split(".")
    owner: Any = module
    for part in path:
        owner = owner._modules.get(part)
        if owner is None:
            return None
    for table in (owner._parameters, owner._buffers):
        if key in table:
            return table, key
    return None


def _named(module: Module) -> dict[str, Any]:
    return {
        **dict(module.named_parameters(remove_duplicate=False)),
        **dict(module.named_buffers(remove_duplicate=False)),
    }


def _with_tied(module: Module, tensors: Mapping[str, Any]) -> dict[str, Any]:
    """The given tensors under all names of what they replace: a module may hold one tensor under several."""
    names: dict[int, list[str]] = {}
    for name, tensor in _named(module).items():
        names.setdefault(id(tensor), []).append(name)
    found = dict(tensors)
    for tied in names.values():
        given = [name for name in tied if name in tensors]
        if len({id(tensors[name]) for name in given}) > 1:
            raise ValueError(
                f"functional_call got multiple values for keys {sorted(tied)}, which are tied. Consider using "
                "tie_weights=False"
            )
        if given:
            found.update(dict.fromkeys(tied, tensors[given[0]]))
    return found


def _check_names(module: Module, given: Mapping[str, Any]) -> None:
    own = _named(module)
    unexpected = [name for name in given if name not in own]
    missing = [name for name in own if name not in given]
    texts = [
        f"{what} key(s): {', '.join(map(repr, names))}."
        for what, names in (("Unexpected", unexpected), ("Missing", missing))
        if names
    ]
    if texts:
        joined = "\n\t".join(texts)
        raise RuntimeError(f"Error(s) in reparametrizing for {module._get_name()}:\n\t{joined}")
