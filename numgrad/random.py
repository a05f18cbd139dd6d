"""Random tensors from a counter-based generator: the same numbers on every device and for any number of threads."""

from __future__ import annotations

import math
import os
from typing import Any

from . import dtype as dtypes
from .autograd.variable import wrap
from .creation import as_dtype, sizes
from .device import CPU, device
from .kernels import philox
from .kernels.locks import fork_safe_lock
from .ops.complex_numbers import view_as_complex


class Generator:
    """A stream of random numbers: a seed, and how far the stream has been drawn.

    Example:
        >>> import numgrad as ng
        >>> g = ng.Generator().manual_seed(7)
        >>> ng.rand(2, generator=g).shape
        torch.Size([2])
    """

    def __init__(self, device: Any = "cpu") -> None:
        self._seed = 67280421310721  # PyTorch's default seed
        self._counter = 0
        self._lock = fork_safe_lock()

    def manual_seed(self, seed: int) -> Generator:
        """Start the stream of `seed` from its beginning."""
        self._seed = int(seed) % 2**64
        self._counter = 0
        return self

    def seed(self) -> int:
        """Start the stream of a seed drawn from the operating system, and return it."""
        value = int.from_bytes(os.urandom(8), "little")
        self.manual_seed(value)
        return value

    def initial_seed(self) -> int:
        """The seed of the stream."""
        return self._seed

    def advance(self, positions: int) -> tuple[int, int]:
        """Reserve `positions` blocks of the stream: (seed, counter of the first)."""
        with self._lock:
            counter = self._counter
            self._counter += positions
        return self._seed, counter


default_generator = Generator()


def manual_seed(seed: int) -> Generator:
    """Seed the default generator and return it."""
    return default_generator.manual_seed(seed)


def seed() -> int:
    """Seed the default generator from the operating system."""
    return default_generator.seed()


def initial_seed() -> int:
    """The seed of the default generator."""
    return default_generator.initial_seed()


def draw(
    kind: str, size: tuple[int, ...], dtype: Any, where: Any, generator: Generator | None, low: int = 0, high: int = 0
) -> Any:
    """A tensor of random items: "uniform" in [0, 1), "normal" (0, 1), or "integers" in [low, high).

    Halves are drawn as float32. Parts of complex items have half the variance.
    """
    if dtype.is_complex:
        parts = draw(kind, (*size, 2), dtype.to_real(), where, generator, low, high)
        return view_as_complex(parts * math.sqrt(0.5) if kind == "normal" else parts).detach()
    if dtype.is_floating_point and dtype.itemsize == 2:
        return draw(kind, size, dtypes.float32, where, generator, low, high).to(dtype)
    source = default_generator if generator is None else generator
    count = math.prod(size)
    target = CPU if where is None else device(where).concrete()
    start, counter = source.advance(philox.positions(kind, dtype.numpy, count))
    values = philox.draw(kind, dtype.numpy, count, start, counter, low, high)
    return wrap(target.kernels().from_host(values.reshape(size), target.hardware), target)


def _float_dtype(name: str, dtype: Any) -> Any:
    wanted = dtypes.get_default_dtype() if dtype is None else as_dtype(dtype, name)
    if not wanted.is_differentiable:
        raise NotImplementedError(f"random draws of dtype {wanted!r}: use randint, or draw floats and convert them")
    return wanted


def rand(
    *size: Any, generator: Generator | None = None, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Any:
    """Numbers drawn evenly from [0, 1)."""
    out = draw("uniform", sizes("rand", size), _float_dtype("rand", dtype), device, generator)
    return out._mark_leaf(requires_grad)


def randn(
    *size: Any, generator: Generator | None = None, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Any:
    """Numbers drawn from the normal distribution with mean 0 and variance 1."""
    out = draw("normal", sizes("randn", size), _float_dtype("randn", dtype), device, generator)
    return out._mark_leaf(requires_grad)


def randint(
    low: Any,
    high: Any = None,
    size: Any = None,
    *,
    generator: Generator | None = None,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Any:
    """Integers drawn evenly from [low, high): `randint(high, size)` or `randint(low, high, size)`.

    Raises RuntimeError for an empty range.
    """
    if size is None:
        low, high, size = 0, low, high
    if high is None or size is None:
        raise TypeError("randint(): needs high and size: randint(high, size) or randint(low, high, size)")
    if low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    out = draw("integers", sizes("randint", (size,)), dtypes.int64, device, generator, low, high)
    wanted = dtypes.int64 if dtype is None else as_dtype(dtype, "randint")
    return (out if wanted is dtypes.int64 else out.to(wanted))._mark_leaf(requires_grad)


def rand_like(input: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Any:
    """`rand` with the shape, dtype and device of `input`."""
    return rand(
        input._array.shape,
        dtype=dtype or input.dtype,
        device=input._device if device is None else device,
        requires_grad=requires_grad,
    )


def randn_like(input: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Any:
    """`randn` with the shape, dtype and device of `input`."""
    return randn(
        input._array.shape,
        dtype=dtype or input.dtype,
        device=input._device if device is None else device,
        requires_grad=requires_grad,
    )
