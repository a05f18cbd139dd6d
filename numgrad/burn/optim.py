"""Gradients by parameter, their accumulation over several batches, and optimizers that give a new module."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from .. import optim
from ..device import device as Device
from .gradients import Gradients
from .handle import plain
from .module import Module
from .param import Param, ParamId
from .tensor import Tensor

M = TypeVar("M", bound=Module)


class GradientsParams:
    """Gradients of a module, by the ids of its parameters: what an optimizer takes."""

    def __init__(self) -> None:
        self._entries: dict[ParamId, Tensor] = {}

    @classmethod
    def from_grads(cls, gradients: Gradients, module: Module) -> GradientsParams:
        """Take a module's gradients out of the container that backward gave.

        Parameters that do not require gradients, or have none there, are left out.
        """
        return cls.from_params(gradients, module, [param.id for param in module.visit()])

    from_module = from_grads

    @classmethod
    def from_params(cls, gradients: Gradients, module: Module, ids: Iterable[ParamId]) -> GradientsParams:
        """`from_grads` for some of the parameters."""
        wanted = set(ids)
        found = cls()
        for param in module.visit():
            if param.id in wanted and param.is_require_grad():
                gradient = param.val().grad_remove(gradients)
                if gradient is not None:
                    found.register(param.id, gradient)
        return found

    def get(self, id: ParamId) -> Tensor | None:
        """The gradient of a parameter, or None."""
        return self._entries.get(id)

    def remove(self, id: ParamId) -> Tensor | None:
        """`get`, taken out of the container."""
        return self._entries.pop(id, None)

    def register(self, id: ParamId, gradient: Tensor) -> None:
        """Set the gradient of a parameter."""
        self._entries[id] = gradient

    def is_empty(self) -> bool:
        """Whether there is no gradient at all."""
        return not self._entries

    def to_device(self, device: Device) -> GradientsParams:
        """The gradients on another device."""
        moved = GradientsParams()
        for id, gradient in self._entries.items():
            moved.register(id, gradient.to_device(device))
        return moved

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        return f"GradientsParams({', '.join(map(str, self._entries))})"


class GradientsAccumulator:
    """The sums of the gradients of several batches."""

    def __init__(self) -> None:
        self._sums = GradientsParams()

    def accumulate(self, module: Module, gradients: GradientsParams) -> None:
        """Add a batch's gradients, taking them out of their container."""
        for param in module.visit():
            gradient = gradients.remove(param.id)
            if gradient is None:
                continue
            present = self._sums.remove(param.id)
            self._sums.register(param.id, gradient if present is None else present + gradient)

    def grads(self) -> GradientsParams:
        """The sums so far; the next batch starts from nothing."""
        found, self._sums = self._sums, GradientsParams()
        return found


class ModuleOptimizer:
    """An optimizer of modules: `step` gives the module after an update. Its state is kept by parameter id."""

    def __init__(self, make: Callable[[list[Any]], optim.Optimizer]) -> None:
        self._make = make
        self._optimizer: optim.Optimizer | None = None
        self._states: dict[ParamId, dict[str, Any]] = {}

    def step(self, lr: float, module: M, gradients: GradientsParams) -> M:
        """The module with every parameter updated that has a gradient; all others are the same as before.

        Args:
            lr: the learning rate of this step.
            module: the module; it does not change.
            gradients: its gradients, which are used up.

        Raises:
            ValueError: a learning rate below 0.
        """
        if not lr >= 0:
            raise ValueError(f"Invalid learning rate: {lr}")
        updated: dict[ParamId, Any] = {}
        for param in module.visit():
            gradient = gradients.remove(param.id)
            if gradient is not None:
                value = plain(param.value).clone()  # the old module keeps its own
                value.grad = plain(gradient.torch())
                updated[param.id] = value
        if not updated:
            return module
        self._update(lr, updated)
        return module.map(lambda param: _after(param, updated))

    def _update(self, lr: float, values: dict[ParamId, Any]) -> None:
        """Update the values in place."""
        if self._optimizer is None:
            self._optimizer = self._make(list(values.values()))
        (group,) = self._optimizer.param_groups
        group["params"], group["lr"] = list(values.values()), lr
        states = {value: self._states.get(id, {}) for id, value in values.items()}
        self._optimizer.state = defaultdict(dict, states)
        self._optimizer.step()
        for id, value in values.items():
            self._states[id] = self._optimizer.state[value]
        group["params"], self._optimizer.state = [], defaultdict(dict)


def _after(param: Param, updated: dict[ParamId, Any]) -> Param:
    return param.replaced(updated[param.id]._array) if param.id in updated else param


@dataclass(frozen=True)
class SgdConfig:
    """Stochastic gradient descent; the arguments are those of `numgrad.optim.SGD`."""

    momentum: float = 0.0
    dampening: float = 0.0
    weight_decay: float = 0.0
    nesterov: bool = False

    def init(self) -> ModuleOptimizer:
        """A new optimizer."""
        return ModuleOptimizer(lambda values: optim.SGD(values, **asdict(self)))


@dataclass(frozen=True)
class AdamConfig:
    """Adam, with Burn's defaults."""

    beta_1: float = 0.9
    beta_2: float = 0.999
    epsilon: float = 1e-5
    weight_decay: float = 0.0

    def init(self) -> ModuleOptimizer:
        """A new optimizer."""
        return ModuleOptimizer(lambda values: optim.Adam(values, **self._options()))

    def _options(self) -> dict[str, Any]:
        return {"betas": (self.beta_1, self.beta_2), "eps": self.epsilon, "weight_decay": self.weight_decay}


@dataclass(frozen=True)
class AdamWConfig(AdamConfig):
    """Adam with decoupled weight decay, with Burn's defaults."""

    weight_decay: float = 1e-4

    def init(self) -> ModuleOptimizer:
        """A new optimizer."""
        return ModuleOptimizer(lambda values: optim.AdamW(values, **self._options()))
