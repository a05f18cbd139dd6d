"""Initial values of parameters.

Each function fills its tensor in place, outside the graph, and returns it. Gains and bounds follow Glorot & Bengio
(2010), "Understanding the difficulty of training deep feedforward neural networks", and He et al. (2015), "Delving deep
into rectifiers". A `generator` draws in place of the default one.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

from .. import linalg
from ..autograd.grad_mode import no_grad
from ..creation import empty_like
from ..ops import randperm, where
from ..tensor import Tensor

__all__ = [
    "calculate_gain",
    "constant",
    "constant_",
    "dirac",
    "dirac_",
    "eye",
    "eye_",
    "kaiming_normal",
    "kaiming_normal_",
    "kaiming_uniform",
    "kaiming_uniform_",
    "normal",
    "normal_",
    "ones_",
    "orthogonal",
    "orthogonal_",
    "sparse",
    "sparse_",
    "trunc_normal_",
    "uniform",
    "uniform_",
    "xavier_normal",
    "xavier_normal_",
    "xavier_uniform",
    "xavier_uniform_",
    "zeros_",
]

_UNIT_GAIN = {
    "linear",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "sigmoid",
}


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The factor by which weights grow to make up for what a nonlinearity takes away.

    `param` is the negative slope of 'leaky_relu' (0.01 if not given). Raises ValueError for an unknown nonlinearity.
    """
    if nonlinearity in _UNIT_GAIN:
        return 1
    if nonlinearity == "tanh":
        return 5.0 / 3
    if nonlinearity == "relu":
        return math.sqrt(2.0)
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        if isinstance(slope, bool) or not isinstance(slope, (int, float)):
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + slope**2))
    if nonlinearity == "selu":
        return 3.0 / 4
    raise ValueError(f"Unsupported nonlinearity {nonlinearity}")


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Any = None) -> Tensor:
    """Fill with values uniform in [a, b)."""
    with no_grad():
        return tensor.uniform_(a, b, generator=generator)


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Tensor:
    """Fill with normally distributed values."""
    with no_grad():
        return tensor.normal_(mean, std, generator=generator)


def trunc_normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0, generator: Any = None
) -> Tensor:
    """Fill with values of a normal distribution that lie in [a, b].

    Values outside are drawn again; where few would lie inside, uniform candidates are accepted in proportion to the density
    (Robert (1995), "Simulation of truncated normal variables"). Warns when the mean is more than 2 std from [a, b].
    """
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of values may be incorrect.",
            stacklevel=2,
        )
    low, high = ((bound - mean) / (std * math.sqrt(2)) for bound in (a, b))
    with no_grad():
        if math.erf(high) - math.erf(low) > 0.6:
            low, high = (tensor.new_tensor(bound).item() for bound in (a, b))  # as the dtype can hold them
            return _drawn_until(
                tensor,
                lambda x: x.normal_(mean, std, generator=generator),
                lambda x: (x >= low) & (x <= high),
            )
        peak = _log_density(max(a, min(mean, b)), mean, std)
        return _drawn_until(
            tensor,
            lambda x: x.uniform_(a, b, generator=generator),
            lambda x: empty_like(x).uniform_(generator=generator).log_() <= _log_density(x, mean, std) - peak,
        )


def _log_density(x: Any, mean: float, std: float) -> Any:
    """The logarithm of the normal density, but for a constant."""
    return -0.5 * ((x - mean) / std) ** 2


def _drawn_until(tensor: Tensor, draw: Callable[[Tensor], Tensor], accepts: Callable[[Tensor], Tensor]) -> Tensor:
    """Fill by `draw`, and again where an item is not accepted."""
    accepted = accepts(draw(tensor))
    while not accepted.all():
        candidates = draw(empty_like(tensor))
        tensor.copy_(where(accepted, tensor, candidates))
        accepted = accepted.logical_or(accepts(candidates))
    return tensor


def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill with one value."""
    with no_grad():
        return tensor.fill_(val)


def ones_(tensor: Tensor) -> Tensor:
    """Fill with ones."""
    return constant_(tensor, 1.0)


def zeros_(tensor: Tensor) -> Tensor:
    """Fill with zeros."""
    return constant_(tensor, 0.0)


def eye_(tensor: Tensor) -> Tensor:
    """Fill a matrix with the identity: 1 on the diagonal. Raises ValueError for other ranks."""
    if tensor.dim() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    with no_grad():
        tensor.zero_().diagonal().fill_(1)
    return tensor


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Fill a convolution's weight so that as many channels as possible, in each group, pass unchanged.

    Raises ValueError for weights that do not have 3 to 5 dimensions, and for outputs that cannot be divided by groups.
    """
    if tensor.dim() not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    outputs, _, *kernel = tensor.shape
    if outputs % groups:
        raise ValueError("dim 0 must be divisible by groups")
    center = tuple(size // 2 for size in kernel)
    with no_grad():
        tensor.zero_()
        for group in tensor.split(outputs // groups):
            group[(slice(None), slice(None), *center)].diagonal().fill_(1)
    return tensor


def orthogonal_(tensor: Tensor, gain: float = 1, generator: Any = None) -> Tensor:
    """Fill with a random (semi-)orthogonal matrix times `gain`; trailing dimensions count as one.

    Saxe et al. (2013), "Exact solutions to the nonlinear dynamics of learning in deep linear neural networks"; uniform by
    the signs of Mezzadri (2006), "How to generate random matrices from the classical compact groups". Raises ValueError
    for fewer than 2 dimensions.
    """
    if tensor.dim() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if not tensor.numel():
        return tensor
    rows = tensor.shape[0]
    with no_grad():
        normal = tensor.new_empty((rows, tensor.numel() // rows)).normal_(0, 1, generator=generator)
        is_wide = rows < normal.shape[1]
        q, r = linalg.qr(normal.t() if is_wide else normal)
        q *= r.diagonal().sign()
        tensor.copy_((q.t() if is_wide else q).reshape(tensor.shape))
        return tensor.mul_(gain)


def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Any = None) -> Tensor:
    """Fill a matrix normally, with a share `sparsity` of each column, at random rows, set to zero.

    Martens (2010), "Deep learning via Hessian-free optimization". Raises ValueError for other ranks.
    """
    if tensor.dim() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    with no_grad():
        tensor.normal_(0, std, generator=generator)
        for column in range(columns):
            tensor[randperm(rows)[:zeros], column] = 0
    return tensor


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Fill uniformly within +-gain sqrt(6 / (fan_in + fan_out))."""
    bound = math.sqrt(3.0) * gain * math.sqrt(2.0 / sum(_calculate_fan_in_and_fan_out(tensor)))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Fill normally with the standard deviation gain sqrt(2 / (fan_in + fan_out))."""
    std = gain * math.sqrt(2.0 / sum(_calculate_fan_in_and_fan_out(tensor)))
    return normal_(tensor, 0.0, std, generator)


def kaiming_uniform_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> Tensor:
    """Fill uniformly within +-gain sqrt(3 / fan); `a` is the negative slope of 'leaky_relu'.

    `mode` 'fan_in' keeps the variance of the activations, 'fan_out' that of the gradients.
    """
    if _is_without_elements(tensor):
        return tensor
    bound = math.sqrt(3.0) * calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode))
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> Tensor:
    """Fill normally with the standard deviation gain / sqrt(fan); arguments as `kaiming_uniform_`."""
    if _is_without_elements(tensor):
        return tensor
    std = calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode))
    return normal_(tensor, 0.0, std, generator)


def _is_without_elements(tensor: Tensor) -> bool:
    if 0 not in tensor.shape:
        return False
    warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=3)
    return True


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    modes = ["fan_in", "fan_out"]
    mode = mode.lower()
    if mode not in modes:
        raise ValueError(f"Mode {mode} not supported, please use one of {modes}")
    return _calculate_fan_in_and_fan_out(tensor)[modes.index(mode)]


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    """How many values one output is made of, and how many outputs one input value reaches."""
    if tensor.dim() < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    outputs, inputs, *receptive_field = tensor.shape
    return inputs * math.prod(receptive_field), outputs * math.prod(receptive_field)


def _deprecated(new: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """The name of long ago, without the underscore."""
    old = new.__name__.removesuffix("_")

    def function(*args: Any, **kwargs: Any) -> Tensor:
        warnings.warn(
            f"`nn.init.{old}` is now deprecated in favor of `nn.init.{new.__name__}`.", FutureWarning, stacklevel=2
        )
        return new(*args, **kwargs)

    function.__name__ = function.__qualname__ = old
    function.__doc__ = f"Deprecated: the name of `{new.__name__}` of long ago."
    return function


uniform = _deprecated(uniform_)
normal = _deprecated(normal_)
constant = _deprecated(constant_)
eye = _deprecated(eye_)
dirac = _deprecated(dirac_)
xavier_uniform = _deprecated(xavier_uniform_)
xavier_normal = _deprecated(xavier_normal_)
kaiming_uniform = _deprecated(kaiming_uniform_)
kaiming_normal = _deprecated(kaiming_normal_)
orthogonal = _deprecated(orthogonal_)
sparse = _deprecated(sparse_)
