"""`Module`: parameters and how to use them, as a value. Training gives another module, and leaves the old one as it is."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any, Self

from .. import nn
from ..device import device as Device
from ..tensor import Tensor as EngineTensor
from .methods import call
from .param import Param
from .tensor import handle_of


class Module:
    """Base class of modules. Parameters (`Param`), modules, and lists and tuples of them among the attributes are its own.

    A module of your own defines `forward` over handles; `Layer` makes one of any `numgrad.nn.Module`.

    Example:
        >>> from numgrad import Device, burn
        >>> class Scale(burn.Module):
        ...     def __init__(self, device):
        ...         self.factor = burn.Param.from_tensor(burn.Tensor.from_floats([2.0], device))
        ...     def forward(self, x):
        ...         return x * self.factor.val()
        >>> device = Device.flex().autodiff()
        >>> module = Scale(device)
        >>> gradients = module(burn.Tensor.from_floats([1.0, 3.0], device)).sum().backward()
        >>> module.factor.val().grad(gradients)
        Tensor([4.])
    """

    def forward(self, *inputs: Any) -> Any:
        """What the module computes."""
        raise NotImplementedError(f"burn.Module {type(self).__name__} has no forward")

    def __call__(self, *inputs: Any, **options: Any) -> Any:
        """`forward`."""
        return self.forward(*inputs, **options)

    # ------------------------------------------------------------------------------------------ parameters
    def visit(self) -> Iterator[Param]:
        """All parameters, each once."""
        seen = set()
        for param in _params_in(list(vars(self).values())):
            if param.id not in seen:
                seen.add(param.id)
                yield param

    def map(self, function: Callable[[Param], Param]) -> Self:
        """The module with `function(param)` for each parameter; one that is used twice is replaced by one, too."""
        made: dict[Any, Param] = {}

        def once(param: Param) -> Param:
            if param.id not in made:
                made[param.id] = function(param)
            return made[param.id]

        return self._mapped(once)

    def _mapped(self, function: Callable[[Param], Param]) -> Self:
        new = copy.copy(self)
        for name, value in vars(self).items():
            vars(new)[name] = _mapped(value, function)
        return new

    def num_params(self) -> int:
        """Number of items of all parameters."""
        return sum(param.value.numel() for param in self.visit())

    # ------------------------------------------------------------------------------------------ flags and devices
    def no_grad(self) -> Self:
        """The module with all parameters frozen, until they are asked to train again."""
        return self.map(lambda param: param.set_require_grad(False))

    def valid(self) -> Self:
        """The module without autodiff, for evaluation."""
        return self.map(Param.valid)._with_training(False)

    def train(self) -> Self:
        """The module with autodiff; frozen parameters stay frozen."""
        return self.map(Param.train)._with_training(True)

    def _with_training(self, training: bool) -> Self:
        """Set, on a module that was just made, whether layers behave as in training."""
        for module in _modules_in(list(vars(self).values())):
            module._with_training(training)
        return self

    def fork(self, device: Device) -> Self:
        """The module on a device, with parameters that are leaves and can be trained."""
        return self.map(lambda param: param.fork(device))

    def to_device(self, device: Device) -> Self:
        """The module on a device, with parameters that are results: gradients flow to this module's. See `fork`."""
        return self.map(lambda param: param.to_device(device))

    def devices(self) -> list[Device]:
        """The devices that parameters are on, each once."""
        return list(dict.fromkeys(param.value._device for param in self.visit()))


class Layer(Module):
    """A `numgrad.nn.Module` as a value.

    Its parameters are attributes that are `Param`s, its children attributes that are layers; everything else is the
    wrapped module's.
    """

    _layer: nn.Module
    _params: dict[int, Param]

    def __init__(self, layer: nn.Module, params: dict[int, Param] | None = None) -> None:
        self._layer = layer
        self._params = {id(p): Param(p, p.requires_grad) for p in layer.parameters()} if params is None else params

    @classmethod
    def init(cls, make: Callable[[], nn.Module], device: Device) -> Self:
        """The layer that `make()` gives, with its parameters on the device and in the device's context."""
        return cls(make()).map(lambda param: param.placed(device))

    def forward(self, *inputs: Any, **options: Any) -> Any:
        """Call the wrapped module on the tensors of handles."""
        return call(self._layer, *inputs, **options)

    def torch(self) -> nn.Module:
        """The wrapped module, which shares its parameters' memory."""
        return self._layer

    def visit(self) -> Iterator[Param]:
        """All parameters, each once."""
        return iter([self._params[id(p)] for p in _own_parameters(self._layer)])

    def _mapped(self, function: Callable[[Param], Param]) -> Self:
        replaced = {id(p): function(self._params[id(p)]) for p in _own_parameters(self._layer)}
        values = {number: param.value for number, param in replaced.items()}
        layer = _rebuilt(self._layer, values, {})
        return type(self)(layer, {id(param.value): param for param in replaced.values()})

    def _with_training(self, training: bool) -> Self:
        self._layer.train(training)
        return self

    def __getstate__(self) -> Any:
        return self._layer, list(self._params.values())

    def __setstate__(self, state: Any) -> None:
        self._layer, params = state
        self._params = {id(param.value): param for param in params}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in ("_layer", "_params"):
            raise AttributeError(name)
        found = getattr(self._layer, name)
        if id(found) in self._params:
            return self._params[id(found)]
        if isinstance(found, nn.Module):
            return Layer(found, self._params)
        return handle_of(found) if isinstance(found, EngineTensor) else found

    def __repr__(self) -> str:
        return repr(self._layer)


def _own_parameters(layer: nn.Module) -> list[Any]:
    """The tensors in a module's places for parameters, each once; they may be results after `to_device`."""
    found: dict[int, Any] = {}
    for module in layer.modules():
        found |= {id(p): p for p in module._parameters.values() if p is not None}
    return list(found.values())


def _rebuilt(layer: nn.Module, values: dict[int, Any], made: dict[int, nn.Module]) -> nn.Module:
    """The module with other values for its parameters. Everything else is shared, buffers too."""
    if id(layer) not in made:
        new = made[id(layer)] = object.__new__(type(layer))
        vars(new).update(vars(layer))
        vars(new)["_parameters"] = {name: None if p is None else values[id(p)] for name, p in layer._parameters.items()}
        vars(new)["_modules"] = {
            name: None if child is None else _rebuilt(child, values, made) for name, child in layer._modules.items()
        }
    return made[id(layer)]


def _params_in(value: Any) -> Iterator[Param]:
    if isinstance(value, Param):
        yield value
    elif isinstance(value, Module):
        yield from value.visit()
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _params_in(item)


def _modules_in(value: Any) -> Iterator[Module]:
    if isinstance(value, Module):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _modules_in(item)


def _mapped(value: Any, function: Callable[[Param], Param]) -> Any:
    if isinstance(value, Param):
        return function(value)
    if isinstance(value, Module):
        return value._mapped(function)
    if isinstance(value, (list, tuple)):
        return type(value)([_mapped(item, function) for item in value])
    return value
