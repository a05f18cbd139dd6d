"""Saving and loading the state of modules."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ..autograd.grad_mode import no_grad
from ..tensor import Tensor
from .parameter import Parameter, is_lazy

if TYPE_CHECKING:
    from .module import Module

__all__ = ["StateDictMethods"]

_EXTRA_STATE = "_extra_state"
_NEVER = (
    "Reached a code path in Module.{name}_extra_state() that should never be called. Please file an issue at "
    "https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml to report this bug."
)
_POSITIONAL = (
    "Positional args are being deprecated, use kwargs instead. Refer to "
    "https://pytorch.org/docs/main/generated/torch.nn.Module.html#torch.nn.Module.state_dict for details."
)


class _IncompatibleKeys(NamedTuple):
    """What did not fit when a state was loaded."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"_IncompatibleKeys(missing_keys={self.missing_keys!r}, unexpected_keys={self.unexpected_keys!r})"


class StateDictMethods:
    """The part of `Module` that saves and loads.

    A module whose state changed shape between versions raises `_version` and overrides `_load_from_state_dict`, which
    finds the version that was saved in `local_metadata`.
    """

    _version: int = 1
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _non_persistent_buffers_set: set[str]
    _modules: dict[str, Module | None]
    _state_dict_hooks: OrderedDict[int, Any]
    _state_dict_pre_hooks: OrderedDict[int, Any]
    _load_state_dict_pre_hooks: OrderedDict[int, Any]
    _load_state_dict_post_hooks: OrderedDict[int, Any]

    def state_dict(self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> Any:
        """Parameters, persistent buffers and extra states of this module and all below it, by dotted name.

        The tensors share memory with the module's; with `keep_vars` they are the very objects, with their gradients.
        A mapping given as `destination` is filled and returned. Positional arguments are deprecated.
        """
        if args:
            warnings.warn(_POSITIONAL, FutureWarning, stacklevel=2)
            given = dict(zip(("destination", "prefix", "keep_vars"), args, strict=False))
            destination = given.get("destination") if destination is None else destination
            prefix, keep_vars = prefix or given.get("prefix", ""), keep_vars or given.get("keep_vars", False)
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        local_metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = local_metadata
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in self._state_dict_hooks.values():
            result = hook(self, destination, prefix, local_metadata)
            if result is not None and getattr(hook, "_from_public_api", False):
                raise RuntimeError("state_dict post-hook must return None")
            destination = destination if result is None else result
        return destination

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        """Write this module's own tensors, not those below it."""
        for name, tensor in self._own_state().items():
            destination[prefix + name] = tensor if keep_vars else tensor.detach()
        if self._overrides("get_extra_state"):
            destination[prefix + _EXTRA_STATE] = self.get_extra_state()

    def get_extra_state(self) -> Any:
        """What else belongs to the module's state; a subclass that has such overrides this and `set_extra_state`."""
        raise RuntimeError(_NEVER.format(name="get"))

    def set_extra_state(self, state: Any) -> None:
        """Take over what `get_extra_state` gave; `load_state_dict` calls it."""
        raise RuntimeError(_NEVER.format(name="set"))

    def _overrides(self, name: str) -> bool:
        return getattr(type(self), name) is not getattr(StateDictMethods, name)

    def _own_state(self) -> dict[str, Tensor]:
        persistent = {k: v for k, v in self._buffers.items() if k not in self._non_persistent_buffers_set}
        return {name: value for name, value in {**self._parameters, **persistent}.items() if value is not None}

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> _IncompatibleKeys:
        """Copy a state into this module's tensors; with `assign`, put its tensors in their place.

        Returns the missing and the unexpected keys. Raises RuntimeError naming everything that does not fit: shapes
        always, keys where `strict`. What does fit has been copied by then, as in PyTorch.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        missing_keys: list[str] = []
        unexpected_keys: list[str] = []
        errors: list[str] = []
        metadata = getattr(state_dict, "_metadata", {})

        def load(module: StateDictMethods, state: dict[str, Any], prefix: str) -> None:
            local_metadata = dict(metadata.get(prefix[:-1], {}))
            if assign:
                local_metadata["assign_to_params_buffers"] = True
            module._load_from_state_dict(state, prefix, local_metadata, True, missing_keys, unexpected_keys, errors)
            for name, child in module._modules.items():
                if child is not None:
                    below = f"{prefix}{name}."
                    load(child, {key: value for key, value in state.items() if key.startswith(below)}, below)
            incompatible = _IncompatibleKeys(missing_keys, unexpected_keys)
            for hook in module._load_state_dict_post_hooks.values():
                if hook(module, incompatible) is not None:
                    raise AssertionError(
                        "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return new "
                        "values, if incompatible_keys need to be modified, it should be done inplace."
                    )

        load(self, dict(state_dict), "")
        if strict:
            reports = (("Missing", missing_keys), ("Unexpected", unexpected_keys))
            errors[:0] = [f"{what} key(s) in state_dict: {_quoted(keys)}. " for what, keys in reports if keys]
        if errors:
            name = type(self).__name__
            raise RuntimeError(f"Error(s) in loading state_dict for {name}:\n\t" + "\n\t".join(errors))
        return _IncompatibleKeys(missing_keys, unexpected_keys)

    def _load_from_state_dict(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Load this module's own tensors, adding to the three lists what does not fit."""
        for hook in self._load_state_dict_pre_hooks.values():
            hook(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        own_state = self._own_state()
        assign = local_metadata.get("assign_to_params_buffers", False)
        for name, tensor in own_state.items():
            key = prefix + name
            if key in state_dict:
                error = self._load_tensor(name, tensor, key, state_dict[key], assign)
                if error is not None:
                    error_msgs.append(error)
            elif strict:
                missing_keys.append(key)
        extra = prefix + _EXTRA_STATE
        if self._overrides("set_extra_state"):
            if extra in state_dict:
                self.set_extra_state(state_dict[extra])
            elif strict:
                missing_keys.append(extra)
        elif strict and extra in state_dict:
            unexpected_keys.append(extra)
        if not strict:
            return
        for key in state_dict:
            if key.startswith(prefix) and key != extra:
                name, dot, _ = key[len(prefix) :].partition(".")
                if name not in (self._modules if dot else own_state):
                    unexpected_keys.append(key)

    def _load_tensor(self, name: str, tensor: Tensor, key: str, loaded: Any, assign: bool) -> str | None:
        """Copy or assign one tensor; says what went wrong."""
        if not isinstance(loaded, Tensor):
            return (
                f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object from '
                f"checkpoint but received {type(loaded)}"
            )
        has_shape = not is_lazy(tensor)
        if has_shape and tensor.dim() == 0 and tuple(loaded.shape) == (1,):
            loaded = loaded[0]  # PyTorch before 0.4 had no 0-d tensors
        if has_shape and loaded.shape != tensor.shape:
            return (
                f"size mismatch for {key}: copying a param with shape {loaded.shape} from checkpoint, "
                f"the shape in current model is {tensor.shape}."
            )
        try:
            with no_grad():
                if assign:
                    setattr(self, name, _like(tensor, loaded))
                else:
                    tensor.copy_(loaded)
        except Exception as error:
            return (
                f'While copying the parameter named "{key}", whose dimensions in the model are {tensor.size()} and '
                f"whose dimensions in the checkpoint are {loaded.size()}, an exception occurred : {error.args}."
            )
        return None


def _like(tensor: Tensor, loaded: Tensor) -> Tensor:
    """The loaded tensor as what it replaces: a parameter (frozen or not) for a parameter."""
    if not isinstance(tensor, Parameter):
        return loaded
    if isinstance(loaded, Parameter):
        return loaded.requires_grad_(tensor.requires_grad)
    return Parameter(loaded, requires_grad=tensor.requires_grad)


def _quoted(keys: list[str]) -> str:
    return ", ".join(f'"{key}"' for key in keys)
