"""Parametrizations that are often asked for: `weight_norm` and `spectral_norm`."""

from __future__ import annotations

from typing import Any

from ...autograd.grad_mode import no_grad
from ...linalg import vector_norm
from ...ops import norm_except_dim
from ...tensor import Tensor
from ..module import Module
from .parametrize import register_parametrization

__all__ = ["spectral_norm", "weight_norm"]


class _WeightNorm(Module):
    """g v / |v|, with one norm for each part along `dim`."""

    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        """The weight of norms g and directions v."""
        return weight_v * (weight_g / norm_except_dim(weight_v, 2, self.dim))

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        """Norms and directions of a weight."""
        return norm_except_dim(weight, 2, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Train a weight as norms times directions, `g * v / |v|`, with a norm for each part along `dim` (None: one for all).

    The norms are `module.parametrizations[name].original0`, the directions `original1`. Source: Salimans & Kingma (2016),
    "Weight normalization: a simple reparameterization to accelerate training of deep neural networks".
    """
    register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def rename(state_dict: dict[str, Any], prefix: str, *rest: Any) -> None:
        """Load states that were saved when the two were called weight_g and weight_v."""
        old = [f"{prefix}{name}_{part}" for part in "gv"]
        if all(key in state_dict for key in old):
            for position, key in enumerate(old):
                state_dict[f"{prefix}parametrizations.{name}.original{position}"] = state_dict.pop(key)

    module._register_load_state_dict_pre_hook(rename)
    return module


class _SpectralNorm(Module):
    """A weight divided by an estimate of its largest singular value."""

    _u: Tensor
    _v: Tensor

    def __init__(self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        rank = weight.dim()
        if not -rank <= dim < rank:
            raise IndexError(f"Dimension out of range (expected to be in range of [-{rank}, {rank - 1}] but got {dim})")
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.dim = dim % rank
        self.eps = eps
        if rank > 1:
            self.n_power_iterations = n_power_iterations
            matrix = self._matrix(weight)
            for buffer, size in zip(("_u", "_v"), matrix.shape, strict=True):
                self.register_buffer(buffer, self._normalized(matrix.detach().new_empty(size).normal_(0, 1)))
            self._iterate(matrix, 15)

    def _matrix(self, weight: Tensor) -> Tensor:
        return weight.movedim(self.dim, 0).flatten(1)

    def _normalized(self, x: Tensor) -> Tensor:
        return x / vector_norm(x).clamp_min(self.eps)

    @no_grad()
    def _iterate(self, matrix: Tensor, times: int) -> None:
        """Improve the singular vectors, in place, by the power method."""
        for _ in range(times):
            self._u.copy_(self._normalized(matrix.mv(self._v)))
            self._v.copy_(self._normalized(matrix.mH.mv(self._u)))

    def forward(self, weight: Tensor) -> Tensor:
        """The weight divided by its norm. In training mode the estimate is improved before."""
        if weight.dim() == 1:
            return self._normalized(weight)
        matrix = self._matrix(weight)
        if self.training:
            self._iterate(matrix, self.n_power_iterations)
        u, v = self._u.clone(), self._v.clone()  # so that a second forward before the backward may change them
        return weight / u.vdot(matrix.mv(v))

    def right_inverse(self, value: Tensor) -> Tensor:
        """The value itself, taken to be normalized."""
        return value


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Module:
    """Divide a weight by its largest singular value, which the power method estimates, whenever it is read.

    `dim` counts the outputs (0, for transposed convolutions 1); the other dimensions are taken together. Source: Miyato et
    al. (2018), "Spectral normalization for generative adversarial networks".

    Raises ValueError for a name that the module does not have.
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if dim is None:
        dim = 1 if any(cls.__name__.startswith("ConvTranspose") for cls in type(module).__mro__) else 0
    return register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))
