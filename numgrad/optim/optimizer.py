"""`Optimizer`: groups of parameters with their options, the state of each parameter, and saving both.

Names, structure of the state dict and messages are PyTorch's. Two things are stricter: loading a state dict copies its
tensors, so that training on does not change the saved ones, and state whose shape is not its parameter's is refused.
"""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any

from ..autograd.profiler import record_function
from ..autograd.watch import watching
from ..dtype import float32
from ..ops.inspection import typename
from ..tensor import Tensor
from .hooks import Hooked, register_optimizer_step_post_hook, register_optimizer_step_pre_hook

__all__ = ["Optimizer", "register_optimizer_step_post_hook", "register_optimizer_step_pre_hook", "required"]

Params = Iterable[Any]  # of tensors, of (name, tensor) pairs, or of groups: dicts with "params" and options
Group = dict[str, Any]
StateDict = dict[str, Any]


class _Required:
    """What stands in the defaults for an option that every group has to give itself."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = _Required()


class Optimizer(Hooked):
    """Base class of the optimizers.

    Attributes:
        param_groups: one dict a group, with its "params" and its options. Options may be changed between steps.
        state: what the optimizer keeps for each parameter, by parameter.
        defaults: the options of a group that gives none of its own.

    A new optimizer gives its options to `__init__` and overrides `step`.

    Raises:
        ValueError: no parameters at all, a parameter in two groups, a tensor that is the result of an op, or a group
            without an option that is `required`.
        TypeError: something that is no tensor, or a single tensor in place of a list.
    """

    state: defaultdict[Any, dict[str, Any]]
    param_groups: list[Group]

    def __init__(self, params: Params, defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        self._reset_hooks()
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                + typename(params)
            )
        self.state = defaultdict(dict)
        self.param_groups = []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    # ------------------------------------------------------------------------------------------ stepping
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update every parameter that has a gradient; those whose gradient is None stay as they are.

        Args:
            closure: evaluates the model anew, with gradients; its loss is returned.
        """
        raise NotImplementedError

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters; with `set_to_none=False`, fill them with zeros instead.

        The two are not the same to an optimizer: a zero gradient still decays weights and momentum, None does nothing.
        """
        if watching:
            with record_function(f"Optimizer.zero_grad#{type(self).__name__}.zero_grad"):
                self._forget_gradients(set_to_none)
        else:
            self._forget_gradients(set_to_none)

    def _forget_gradients(self, set_to_none: bool) -> None:
        for group in self.param_groups:
            for param in group["params"]:
                if set_to_none:
                    param._grad = None
                elif param.grad is not None:
                    _clear(param.grad)

    # ------------------------------------------------------------------------------------------ groups
    def add_param_group(self, param_group: Group) -> None:
        """Add a dict with "params" (a tensor, or an ordered collection of them) and the options that differ."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        _list_params(param_group)
        for param in param_group["params"]:
            self._check_param(param)
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
            param_group.setdefault(name, default)
        own = {id(p) for p in param_group["params"]}
        if len(own) != len(param_group["params"]):
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this will cause an error; "
                "see github.com/pytorch/pytorch/issues/40967 for more information",
                stacklevel=3,
            )
        for group in self.param_groups:
            if ("param_names" in param_group) != ("param_names" in group):
                raise ValueError(
                    "all optimizer param groups should be with/without names. cannot add param group "
                    f"{'with' if 'param_names' in param_group else 'without'} names to the optimizer"
                )
        if not own.isdisjoint(id(p) for group in self.param_groups for p in group["params"]):
            raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(param_group)

    def _check_param(self, param: Any) -> None:
        if not isinstance(param, Tensor):
            raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {typename(param)}")
        if not (self.defaults.get("differentiable") or param.is_leaf or param.retains_grad):
            raise ValueError("can't optimize a non-leaf Tensor")

    # ------------------------------------------------------------------------------------------ saving
    def state_dict(self) -> StateDict:
        """State and groups with numbers in place of the parameters, in the order of the groups.

        The tensors in it are the optimizer's own: copy them to keep them as they are.
        """
        for before in self._optimizer_state_dict_pre_hooks.values():
            before(self)
        numbers: dict[int, int] = {}
        for group in self.param_groups:
            start = len(numbers)
            for i, param in enumerate(group["params"], start):
                numbers.setdefault(id(param), i)
        groups = [{**group, "params": [numbers[id(p)] for p in group["params"]]} for group in self.param_groups]
        state = {numbers[id(k)] if isinstance(k, Tensor) else k: v for k, v in self.state.items()}
        state_dict = {"state": state, "param_groups": [_params_last(group) for group in groups]}
        for after in self._optimizer_state_dict_post_hooks.values():
            changed = after(self, state_dict)
            state_dict = state_dict if changed is None else changed
        return state_dict

    def load_state_dict(self, state_dict: StateDict) -> None:
        """Continue from what `state_dict` returned, for parameters of equal number, order and shapes.

        Raises ValueError when groups or state do not fit.
        """
        state_dict = state_dict.copy()
        for before in self._optimizer_load_state_dict_pre_hooks.values():
            changed = before(self, state_dict)
            state_dict = state_dict if changed is None else changed
        groups, saved = self.param_groups, deepcopy(state_dict["param_groups"])
        _check_sizes(groups, saved)
        params = {
            number: param
            for group, new in zip(groups, saved, strict=True)
            for number, param in zip(new["params"], group["params"], strict=True)
        }
        state: defaultdict[Any, dict[str, Any]] = defaultdict(dict)
        for key, value in state_dict["state"].items():
            if key in params:
                state[params[key]] = self._fitted(value, params[key], key)
            else:
                state[key] = value
        for group, new in zip(groups, saved, strict=True):
            new["params"] = group["params"]
            if "param_names" in group:
                new.setdefault("param_names", group["param_names"])
        self.__setstate__({"state": state, "param_groups": saved})
        for after in self._optimizer_load_state_dict_post_hooks.values():
            after(self)

    def _fitted(self, value: Any, param: Any, number: Any, name: str = "") -> Any:
        """A copy of saved state with its tensors in the parameter's dtype and on its device.

        A step count keeps its own dtype and device, unless the group's options `capturable` or `fused` say otherwise.
        """
        if isinstance(value, Tensor):
            if name != "step":
                dtype = param.dtype if param.is_floating_point() else None
                return value.detach().to(device=param.device, dtype=dtype, copy=True)
            group = next(group for group in self.param_groups if any(p is param for p in group["params"]))
            if group.get("capturable") or group.get("fused"):
                return value.detach().to(device=param.device, dtype=float32, copy=True)
            return value.detach().clone()
        if isinstance(value, dict):
            return {key: self._fitted(item, param, number, key) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return type(value)(self._fitted(item, param, number) for item in value)
        return value

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if "_optimizer_step_pre_hooks" not in self.__dict__:  # a copy, or one from a pickle
            self._reset_hooks()

    def __repr__(self) -> str:
        text = f"{type(self).__name__} ("
        for i, group in enumerate(self.param_groups):
            options = "".join(f"    {name}: {group[name]}\n" for name in sorted(group) if name != "params")
            text += f"\nParameter Group {i}\n{options}"
        return text + ")"


def _clear(grad: Any) -> None:
    if grad.grad_fn is not None:
        grad.detach_()
    else:
        grad.requires_grad_(False)
    grad.zero_()


def _list_params(group: Group) -> None:
    """Make `group["params"]` a list of tensors, with `group["param_names"]` beside it when they came with names."""
    params = group["params"]
    if isinstance(params, set):
        raise TypeError(
            "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets "
            "will change between runs. Please use a list instead."
        )
    given = [params] if isinstance(params, Tensor) else list(params)
    names = [p[0] for p in given if isinstance(p, tuple)]
    group["params"] = [p[1] if isinstance(p, tuple) else p for p in given]
    if not names:
        return
    if len(names) != len(given):
        raise ValueError("all optimizer params should be with/without names. Some param names are missing")
    group["param_names"] = names


def _params_last(group: Group) -> Group:
    """The group with "params" as its last key, where PyTorch puts it."""
    group["params"] = group.pop("params")
    return group


def _check_sizes(groups: list[Group], saved: list[Group]) -> None:
    """Raise ValueError unless the saved groups have as many parameters each as the optimizer's."""
    if len(groups) != len(saved):
        error = ValueError("loaded state dict has a different number of parameter groups")
        error.add_note(f"the optimizer has {len(groups)}, the state dict {len(saved)}")
        raise error
    for i, (group, new) in enumerate(zip(groups, saved, strict=True)):
        own, others = len(group["params"]), len(new["params"])
        if own == others:
            continue
        error = ValueError(
            "loaded state dict contains a parameter group that doesn't match the size of optimizer's group"
        )
        error.add_note(f"group {i} has {own} parameters in the optimizer and {others} in the state dict")
        if "param_names" in new:
            error.add_note(f"those of the state dict are {', '.join(new['param_names'])}")
        raise error
