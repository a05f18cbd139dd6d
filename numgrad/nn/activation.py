"""Activation functions as modules."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

from ..creation import empty
from ..tensor import Tensor
from . import functional as F
from . import init
from .module import Module
from .parameter import Parameter

__all__ = [
    "CELU",
    "ELU",
    "GELU",
    "GLU",
    "SELU",
    "Hardshrink",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "LeakyReLU",
    "LogSigmoid",
    "Mish",
    "PReLU",
    "RReLU",
    "ReLU",
    "ReLU6",
    "SiLU",
    "Sigmoid",
    "Softplus",
    "Softshrink",
    "Softsign",
    "Tanh",
    "Tanhshrink",
    "Threshold",
]


class _InPlace(Module):
    """A function that may overwrite its input; `_shown` are the options that its repr gives before `inplace=True`."""

    inplace: bool
    _shown: ClassVar[tuple[str, ...]] = ()

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def extra_repr(self) -> str:
        """The options, and `inplace=True` where it is so."""
        parts = [f"{name}={getattr(self, name)}" for name in self._shown]
        return ", ".join([*parts, "inplace=True"] if self.inplace else parts)


class ReLU(_InPlace):
    """max(0, x), elementwise; `inplace=True` overwrites its input."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function."""
        return F.relu(input, inplace=self.inplace)


class RReLU(_InPlace):
    """Leaky relu with a slope drawn from [lower, upper) in training, and their mean else; see `functional.rrelu`."""

    _shown = ("lower", "upper")

    def __init__(self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.lower = lower
        self.upper = upper

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function."""
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)


class Hardtanh(_InPlace):
    """x between two bounds; `min_value` and `max_value` are older names of theirs. Raises ValueError for an empty range."""

    _shown: ClassVar[tuple[str, ...]] = ("min_val", "max_val")

    def __init__(
        self,
        min_val: float = -1.0,
        max_val: float = 1.0,
        inplace: bool = False,
        min_value: float | None = None,
        max_value: float | None = None,
    ) -> None:
        super().__init__(inplace)
        if min_value is not None:
            warnings.warn(
                "keyword argument `min_value` is deprecated and rename to `min_val`", FutureWarning, stacklevel=2
            )
            min_val = min_value
        if max_value is not None:
            warnings.warn(
                "keyword argument `max_value` is deprecated and rename to `max_val`", FutureWarning, stacklevel=2
            )
            max_val = max_value
        self.min_val = min_val
        self.max_val = max_val
        if not self.max_val > self.min_val:
            raise AssertionError("max_val must be greater than min_val")

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function."""
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)


class ReLU6(Hardtanh):
    """min(max(x, 0), 6), elementwise."""

    _shown = ()

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)


class LeakyReLU(_InPlace):
    """x where it is positive, `negative_slope * x` elsewhere."""

    _shown = ("negative_slope",)

    def __init__(self, negative_slope: float = 1e-2, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.negative_slope = negative_slope

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function."""
        return F.leaky_relu(input, self.negative_slope, self.inplace)


class ELU(_InPlace):
    """x where it is positive, `alpha * (exp(x) - 1)` elsewhere."""

    _shown = ("alpha",)

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.alpha = alpha

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function."""
        return F.elu(input, self.alpha, self.inplace)


class CELU(_InPlace):
    """x where it is positive, `alpha * (exp(x / alpha) - 1)` elsewhere."""

    _shown = ("alpha",)

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.alpha = alpha

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function."""
        return F.celu(input, self.alpha, self.inplace)


class SELU(_InPlace):
    """`ELU` with the constants of self-normalizing networks."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function."""
        return F.selu(input, self.inplace)


class SiLU(_InPlace):
    """x * sigmoid(x), also called swish."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function."""
        return F.silu(input, self.inplace)


class Mish(_InPlace):
    """x * tanh(softplus(x))."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function."""
        return F.mish(input, self.inplace)


class Threshold(_InPlace):
    """x where it is above the threshold, `value` elsewhere."""

    _shown = ("threshold", "value")

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.threshold = threshold
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function."""
        return F.threshold(input, self.threshold, self.value, self.inplace)


class Hardswish(_InPlace):
    """x * relu6(x + 3) / 6."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function."""
        return F.hardswish(input, self.inplace)

    def extra_repr(self) -> str:
        """Nothing, as PyTorch's."""
        return ""


class Hardsigmoid(_InPlace):
    """relu6(x + 3) / 6."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function."""
        return F.hardsigmoid(input, self.inplace)

    def extra_repr(self) -> str:
        """Nothing, as PyTorch's."""
        return ""


class Tanh(Module):
    """Hyperbolic tangent, elementwise."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function."""
        return F.tanh(input)


class Sigmoid(Module):
    """Logistic function 1 / (1 + exp(-x)), elementwise."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function."""
        return F.sigmoid(input)


class LogSigmoid(Module):
    """log(sigmoid(x)), elementwise."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function."""
        return F.logsigmoid(input)


class Tanhshrink(Module):
    """x - tanh(x), elementwise."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function."""
        return F.tanhshrink(input)


class Softsign(Module):
    """x / (1 + abs(x)), elementwise."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function."""
        return F.softsign(input)


class _Shrink(Module):
    """Holds `lambd`, the half width of what becomes 0."""

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def extra_repr(self) -> str:
        """The width."""
        return str(self.lambd)


class Hardshrink(_Shrink):
    """0 between `-lambd` and `lambd`, x elsewhere."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function."""
        return F.hardshrink(input, self.lambd)


class Softshrink(_Shrink):
    """0 between `-lambd` and `lambd`, nearer to 0 by `lambd` elsewhere."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function."""
        return F.softshrink(input, self.lambd)


class Softplus(Module):
    """log(1 + exp(beta * x)) / beta; x itself where beta * x is above the threshold."""

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta = beta
        self.threshold = threshold

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function."""
        return F.softplus(input, self.beta, self.threshold)

    def extra_repr(self) -> str:
        """Both options."""
        return f"beta={self.beta}, threshold={self.threshold}"


class GELU(Module):
    """x * P(X <= x) for a normally distributed X; `approximate="tanh"` takes an approximation of it."""

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function."""
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self) -> str:
        """Which approximation."""
        return f"approximate={self.approximate!r}"


class GLU(Module):
    """The first half of a dimension times the sigmoid of the second."""

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function."""
        return F.glu(input, self.dim)

    def extra_repr(self) -> str:
        """The dimension."""
        return f"dim={self.dim}"


class PReLU(Module):
    """x where it is positive, `weight * x` elsewhere; one weight, or one for each index of dimension 1, all learned.

    `weight` has the shape (num_parameters,) and begins as `init`.
    """

    weight: Parameter

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        self.weight = Parameter(empty(num_parameters, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the weights to what they were at first."""
        init.constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function."""
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        """The number of weights."""
        return f"num_parameters={self.num_parameters}"
