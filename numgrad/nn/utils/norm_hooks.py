"""The older `weight_norm` and `spectral_norm`: hooks that compute the weight before each forward.

`parametrizations` has the newer ones, which compute it whenever it is read.
"""

from __future__ import annotations

import warnings
from typing import Any

from ...autograd.grad_mode import no_grad
from ...linalg import vector_norm
from ...ops import norm_except_dim
from ...tensor import Tensor
from ..module import Module
from ..parameter import Parameter, is_lazy

__all__ = ["remove_spectral_norm", "remove_weight_norm", "spectral_norm", "weight_norm"]


class _Computed:
    """A forward pre-hook that sets the attribute `name` of its module, which is no parameter any more."""

    kind: str

    def __init__(self, name: str, dim: int) -> None:
        self.name = name
        self.dim = dim

    def register(self, module: Module) -> None:
        """Put the hook in; raises RuntimeError when the weight has one of its kind."""
        if any(isinstance(hook, type(self)) and hook.name == self.name for hook in module._forward_pre_hooks.values()):
            raise RuntimeError(f"Cannot register two {self.kind} hooks on the same parameter {self.name}")
        weight = getattr(module, self.name)
        if weight is None:
            raise ValueError(f"`{type(self).__name__}` cannot be applied as parameter `{self.name}` is None")
        if is_lazy(weight):
            raise ValueError(
                f"The module passed to `{type(self).__name__}` can't have uninitialized parameters. Make sure to run the "
                f"dummy forward before applying {self.kind.replace('_norm', '')} normalization"
            )
        self.split(module, weight)
        module.register_forward_pre_hook(self)

    def split(self, module: Module, weight: Any) -> None:
        """Replace the weight by the parameters that it is computed from."""
        raise NotImplementedError

    def weight(self, module: Any, improve: bool) -> Tensor:
        """The weight, from its parameters."""
        raise NotImplementedError

    def merge(self, module: Module) -> None:
        """Make the weight a parameter again."""
        raise NotImplementedError

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.weight(module, module.training))


class WeightNorm(_Computed):
    """g v / |v|."""

    kind = "weight_norm"

    def split(self, module: Module, weight: Any) -> None:
        """See `_Computed`."""
        del module._parameters[self.name]
        norms = norm_except_dim(weight, 2, self.dim)
        module.register_parameter(self.name + "_g", Parameter(norms.detach()))
        module.register_parameter(self.name + "_v", Parameter(weight.detach()))
        setattr(module, self.name, self.weight(module, False))

    def weight(self, module: Any, improve: bool) -> Tensor:
        """See `_Computed`."""
        g, v = getattr(module, self.name + "_g"), getattr(module, self.name + "_v")
        return v * (g / norm_except_dim(v, 2, self.dim))

    def merge(self, module: Module) -> None:
        """See `_Computed`."""
        weight = self.weight(module, False)
        for name in (self.name, self.name + "_g", self.name + "_v"):
            delattr(module, name)
        setattr(module, self.name, Parameter(weight.detach()))


class SpectralNorm(_Computed):
    """The weight divided by an estimate of its largest singular value, which every forward in training mode improves."""

    kind = "spectral_norm"
    _version = 1

    def __init__(self, name: str, n_power_iterations: int, dim: int, eps: float) -> None:
        super().__init__(name, dim)
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.n_power_iterations = n_power_iterations
        self.eps = eps

    def split(self, module: Module, weight: Any) -> None:
        """See `_Computed`."""
        matrix = self._matrix(weight.detach())
        delattr(module, self.name)
        module.register_parameter(self.name + "_orig", weight)
        setattr(module, self.name, weight.detach())
        for part, size in zip("uv", matrix.shape, strict=True):
            start = self._normalized(matrix.new_empty(size).normal_(0, 1))
            module.register_buffer(f"{self.name}_{part}", start)
        module._register_state_dict_hook(self.note_version)

    def note_version(self, module: Module, state_dict: Any, prefix: str, local_metadata: dict[str, Any]) -> None:
        """Tell in a state's metadata how the weight is kept."""
        local_metadata.setdefault("spectral_norm", {})[self.name + ".version"] = self._version

    def _matrix(self, weight: Tensor) -> Tensor:
        return weight.movedim(self.dim, 0).reshape(weight.shape[self.dim], -1)

    def _normalized(self, x: Tensor) -> Tensor:
        return x / vector_norm(x).clamp_min(self.eps)

    def weight(self, module: Any, improve: bool) -> Tensor:
        """See `_Computed`."""
        weight, u, v = (getattr(module, self.name + part) for part in ("_orig", "_u", "_v"))
        matrix = self._matrix(weight)
        if improve:
            with no_grad():
                for _ in range(self.n_power_iterations):
                    v.copy_(self._normalized(matrix.t().mv(u)))
                    u.copy_(self._normalized(matrix.mv(v)))
                u, v = u.clone(), v.clone()  # so that a second forward before the backward may change them
        return weight / u.dot(matrix.mv(v))

    def merge(self, module: Module) -> None:
        """See `_Computed`."""
        with no_grad():
            weight = self.weight(module, False)
        for name in (self.name, self.name + "_u", self.name + "_v", self.name + "_orig"):
            delattr(module, name)
        module.register_parameter(self.name, Parameter(weight.detach()))
        for number, hook in list(module._state_dict_hooks.items()):
            if hook == self.note_version:
                del module._state_dict_hooks[number]


def _remove(kind: type[_Computed], module: Module, name: str) -> Module:
    for number, hook in module._forward_pre_hooks.items():
        if isinstance(hook, kind) and hook.name == name:
            hook.merge(module)
            del module._forward_pre_hooks[number]
            return module
    raise ValueError(f"{kind.kind} of '{name}' not found in {module}")


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Deprecated: `parametrizations.weight_norm` by a hook; the parameters are `weight_g` and `weight_v`.

    Raises RuntimeError for a second hook on the same weight, ValueError for one without a shape.
    """
    warnings.warn(
        "`torch.nn.utils.weight_norm` is deprecated in favor of `torch.nn.utils.parametrizations.weight_norm`.",
        FutureWarning,
        stacklevel=2,
    )
    WeightNorm(name, -1 if dim is None else dim).register(module)
    return module


def remove_weight_norm(module: Module, name: str = "weight") -> Module:
    """Make the weight an ordinary parameter again. Raises ValueError when it has no such hook."""
    return _remove(WeightNorm, module, name)


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Module:
    """`parametrizations.spectral_norm` by a hook; the parameter is `weight_orig`, with buffers `weight_u` and `weight_v`.

    Raises RuntimeError for a second hook on the same weight, ValueError for one that is None or without a shape.
    """
    if dim is None:
        dim = 1 if any(cls.__name__.startswith("ConvTranspose") for cls in type(module).__mro__) else 0
    SpectralNorm(name, n_power_iterations, dim, eps).register(module)
    return module


def remove_spectral_norm(module: Module, name: str = "weight") -> Module:
    """Make the weight an ordinary parameter again. Raises ValueError when it has no such hook."""
    return _remove(SpectralNorm, module, name)
