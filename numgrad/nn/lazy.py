"""Modules whose input sizes come with the first input."""

from __future__ import annotations

import itertools
from typing import Any

from .parameter import is_lazy

__all__ = ["LazyModuleMixin"]


class LazyModuleMixin:
    """What a lazy module is besides its ordinary class, which it becomes (`cls_to_become`) with the first call.

    A subclass makes `UninitializedParameter`s and overrides `initialize_parameters`, which gives them their shapes from
    the arguments of that call. Loading a state initializes them, too.

    >>> layer = LazyLinear(3)
    >>> layer.weight
    <UninitializedParameter>
    >>> layer(ones(5, 2)).shape, layer
    (torch.Size([5, 3]), Linear(in_features=2, out_features=3, bias=True))
    """

    cls_to_become: type[Any] | None = None

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._load_hook = self._register_load_state_dict_pre_hook(self._lazy_load_hook)
        self._initialize_hook = self.register_forward_pre_hook(self._infer_parameters, with_kwargs=True)

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Give the parameters their shapes, from the arguments of the first call."""
        raise NotImplementedError(f"initialize_parameters is not implemented for {type(self).__name__}")

    def has_uninitialized_params(self: Any) -> bool:
        """Whether a parameter or buffer has no shape yet."""
        return any(map(is_lazy, itertools.chain(self._parameters.values(), self._buffers.values())))

    def _save_to_state_dict(self: Any, destination: Any, prefix: str, keep_vars: bool) -> None:
        for name, tensor in self._own_state().items():
            destination[prefix + name] = tensor if is_lazy(tensor) or keep_vars else tensor.detach()

    def _lazy_load_hook(self: Any, state_dict: dict[str, Any], prefix: str, *rest: Any) -> None:
        """Give parameters the shapes of those that are loaded."""
        for name, tensor in itertools.chain(self._parameters.items(), self._buffers.items()):
            loaded = state_dict.get(prefix + name)
            if loaded is not None and is_lazy(tensor) and not is_lazy(loaded):
                tensor.materialize(loaded.shape)

    def _infer_parameters(self: Any, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None) -> None:
        module.initialize_parameters(*args, **(kwargs or {}))
        if module.has_uninitialized_params():
            raise RuntimeError(f"module {self._get_name()} has not been fully initialized")
        module._initialize_hook.remove()
        module._load_hook.remove()
        del module._initialize_hook, module._load_hook
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become
