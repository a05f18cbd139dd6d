"""Methods that fill a tensor with random numbers, in place: `uniform_`, `normal_`, `bernoulli_` and the like.

Each is recorded as a node of its own, with gradient 0, as any in-place op: versions rise, leaves and views are guarded.
"""

from __future__ import annotations

import functools
import math
from typing import Any

from .. import dtype as dtypes
from ..autograd.variable import CLASSES
from ..dispatch import dispatch
from ..kernels import draws as kernels
from ..limits import finfo
from .checks import invalid_combination
from .draws import check_integer_bounds, check_std, draw, integers, real, refuse_complex, refuse_integers, shown
from .sampling import trials


def _drawn(x: Any, name: str, kind: str, generator: Any, dtype: dtypes.dtype | None = None) -> Any:
    return draw(name, kind, x._array.shape, dtype or x.dtype, x._device, generator)


def _exact_unit(x: Any, name: str, generator: Any) -> Any:
    """Numbers in (0, 1) in float64, for distribution functions to be inverted at them."""
    unit = _drawn(x, name, "uniform", generator, dtypes.float64)
    return unit.where(unit > 0, 2.0**-54)


def _written(op: Any, x: Any, values: Any) -> Any:
    """`x` with drawn values, of its shape, in its memory: 3 us, of the 20 of an op, where nothing can be recorded."""
    target, source = x._array, values._array
    recorded = x._requires_grad or x._view is not None
    if recorded or target.flat is None or source.flat is None or x._device is not values._device:
        return dispatch(op, (x, values), (), x)
    target.flat[...] = source.flat
    target.storage.version += 1
    return x


@functools.cache  # asked for at every call, and finfo computes it
def _largest(dtype: dtypes.dtype) -> float:
    return finfo(dtype).max


def uniform_(self: Any, *bounds: Any, generator: Any = None, **named: Any) -> Any:
    """Fill with numbers drawn evenly from [from, to): `x.uniform_(from=0, to=1)`.

    Raises RuntimeError for bounds in the wrong order and beyond the dtype, NotImplementedError for integers.
    """
    if len(bounds) > 2:
        raise TypeError(f"uniform_() takes from 0 to 2 positional arguments but {len(bounds)} were given")
    given = dict(zip(("from", "to"), bounds, strict=False))
    for name, value in named.items():
        if name not in ("from", "to") or name in given:
            reason = "multiple values for" if name in given else "an unexpected keyword"
            raise TypeError(f"uniform_() got {reason} argument '{name}'")
        given[name] = value
    low, high = real("uniform_", "from", 1, given.get("from", 0.0)), real("uniform_", "to", 2, given.get("to", 1.0))
    refuse_integers("check_uniform_bounds", self.dtype)
    _check_interval(self.dtype, low, high)
    values = _drawn(self, "uniform_", "uniform", generator)
    if (low, high) != (0, 1):
        values = values * (high - low) + _of_each_part(low, self.dtype)
    return _written(kernels.uniform_, self, values)


def _of_each_part(value: float, dtype: dtypes.dtype) -> Any:
    return complex(value, value) if dtype.is_complex else value


def _check_interval(dtype: dtypes.dtype, low: float, high: float) -> None:
    largest = _largest(dtype)
    for name, value in (("from", low), ("to", high)):
        if not abs(value) <= largest:
            raise RuntimeError(f"{name} is out of bounds for {dtype.c_name}")
    if low > high:
        raise RuntimeError(
            f"uniform_ expects to return a [from, to) range, but found from={shown(low)} > to={shown(high)}"
        )
    if high - low > largest:
        raise RuntimeError(
            f"uniform_ expects to-from <= std::numeric_limits<{dtype.scalar_name}>::max(), but found to={shown(high)} and "
            f"from={shown(low)} which result in to-from to exceed the limit"
        )


def normal_(self: Any, mean: float = 0, std: float = 1, *, generator: Any = None) -> Any:
    """Fill with numbers drawn from a normal distribution. Raises RuntimeError for a negative `std`."""
    mean, std = real("normal_", "mean", 1, mean), real("normal_", "std", 2, std)
    check_std(std)
    refuse_integers("normal_kernel_cpu", self.dtype)
    values = _drawn(self, "normal_", "normal", generator)
    if (mean, std) != (0, 1):
        values = values * std + _of_each_part(mean, self.dtype)
    return _written(kernels.normal_, self, values)


def log_normal_(self: Any, mean: float = 1, std: float = 2, *, generator: Any = None) -> Any:
    """Fill with numbers whose logarithms are normal with this mean and std. Raises RuntimeError unless `std > 0`."""
    mean, std = real("log_normal_", "mean", 1, mean), real("log_normal_", "std", 2, std)
    if not std > 0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={shown(std)}")
    refuse_integers("log_normal_cpu", self.dtype)
    refuse_complex("log_normal_cpu", self.dtype)
    values = (_drawn(self, "log_normal_", "normal", generator) * std + mean).exp()
    return _written(kernels.log_normal_, self, values)


def exponential_(self: Any, lambd: float = 1, *, generator: Any = None) -> Any:
    """Fill with numbers drawn from the exponential distribution of rate `lambd`; none is 0.

    Raises RuntimeError for integers, and unless `lambd > 0`.
    """
    lambd = real("exponential_", "lambd", 1, lambd)
    if not self.is_floating_point():
        raise RuntimeError(
            "Exponential distribution is a continuous probability distribution. dtype must be a floating point but you "
            f"specified {self.dtype.scalar_name}"
        )
    if not lambd > 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={shown(lambd)}")
    values = (-_exact_unit(self, "exponential_", generator)).log1p() / -lambd
    return _written(kernels.exponential_, self, values)


def geometric_(self: Any, p: float, *, generator: Any = None) -> Any:
    """Fill with the number of trials, 1 or more, up to the first success, each with probability `p`.

    Raises RuntimeError unless `0 < p < 1`, NotImplementedError for bool.
    """
    p = real("geometric_", "p", 1, p)
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={shown(p)}")
    if self.dtype is dtypes.bool_:
        raise NotImplementedError("\"geometric_cpu\" not implemented for 'Bool'")
    refuse_complex("geometric_cpu", self.dtype)
    failures = (-_exact_unit(self, "geometric_", generator)).log1p() / math.log1p(-p)
    return _written(kernels.geometric_, self, failures.long() + 1)


def cauchy_(self: Any, median: float = 0, sigma: float = 1, *, generator: Any = None) -> Any:
    """Fill with numbers drawn from a Cauchy distribution. Raises RuntimeError for integers, and unless `sigma > 0`."""
    median, sigma = real("cauchy_", "median", 1, median), real("cauchy_", "sigma", 2, sigma)
    if not sigma > 0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={shown(sigma)}")
    if not self.is_floating_point():
        raise RuntimeError(
            "Cauchy distribution is a continuous probability distribution. dtype must be a floating point but you "
            f"specified {self.dtype.c_name}"
        )
    angle = (_exact_unit(self, "cauchy_", generator) - 0.5) * math.pi
    return _written(kernels.cauchy_, self, angle.sin() / angle.cos() * sigma + median)


_RANDOMS = (
    "(*, torch.Generator generator = None)",
    "(int from, int to, *, torch.Generator generator = None)",
    "(int to, *, torch.Generator generator = None)",
)


def random_(self: Any, *bounds: Any, generator: Any = None, **named: Any) -> Any:
    """Fill with integers: `random_()` from 0 to the largest that the dtype holds, `random_(to)` and `random_(from, to)`
    in [from, to).

    Of a float dtype these are the integers up to 2**24 (float32), 2**53 (float64). Raises RuntimeError for an empty
    range and for bounds that the dtype does not hold.
    """
    given = dict(zip(("to",) if len(bounds) == 1 and "to" not in named else ("from", "to"), bounds, strict=False))
    given |= named
    low, high = given.get("from"), given.get("to")
    is_known = len(bounds) <= 2 and given.keys() <= {"from", "to"} and len(given) == len(bounds) + len(named)
    if not is_known or any(isinstance(b, float) or not hasattr(b, "__index__") for b in (low, high) if b is not None):
        raise invalid_combination("random_", bounds, named, _RANDOMS)
    refuse_complex("random_kernel_cpu", self.dtype)
    op = kernels.random_ if not given else kernels.random_from if "from" in given else kernels.random_to
    smallest = 0 if low is None else int(low)
    last = kernels.integer_range(self.dtype.numpy)[1] if high is None else int(high) - 1
    check_integer_bounds(self.dtype, smallest, last + 1)
    values = integers("random_", self._array.shape, self.dtype, self._device, generator, smallest, last)
    return dispatch(op, (self, values), (), self)


_BERNOULLIS = (
    "(Tensor p, *, torch.Generator generator = None)",
    "(float p = 0.5, *, torch.Generator generator = None)",
)


def bernoulli_(self: Any, p: Any = 0.5, *, generator: Any = None) -> Any:
    """Fill with 1 where a draw with probability `p` succeeds, else 0. A tensor `p` is broadcast.

    Raises RuntimeError for a probability outside [0, 1], and for a `p` that is not of the tensor's shape.
    """
    if p.__class__ in CLASSES:
        values = trials("bernoulli_", p, self._array.shape, generator)
        return dispatch(kernels.bernoulli_tensor, (self, p, values), (), self)
    if not hasattr(p, "__float__"):
        raise invalid_combination("bernoulli_", (p,), {}, _BERNOULLIS)
    if not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={shown(p)}")
    refuse_complex("bernoulli_scalar_cpu_", self.dtype)
    values = _drawn(self, "bernoulli_", "uniform", generator, dtypes.float32) < p
    return _written(kernels.bernoulli_number, self, values)
