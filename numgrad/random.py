"""Generators of random numbers: the same numbers on every device and for any number of threads.

A generator is a seed and how far its stream has been drawn, and nothing else: see `numgrad.kernels.philox`.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from . import dtype as dtypes
from . import interop
from .autograd.variable import CLASSES
from .device import device as Device
from .kernels.locks import fork_safe_lock

__all__ = ["fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state"]

DEFAULT_SEED = 67280421310721  # PyTorch's
STATE_BYTES = 16


class Generator:
    """A stream of random numbers: a seed, and how far the stream has been drawn.

    Draws of several threads from one generator are safe, and take disjoint parts of the stream.

    Example:
        >>> import numgrad as ng
        >>> g = ng.Generator().manual_seed(7)
        >>> ng.rand(2, generator=g).shape
        torch.Size([2])
    """

    def __init__(self, device: Any = "cpu") -> None:
        self._device = Device(device).concrete()
        self._seed = DEFAULT_SEED
        self._counter = 0
        self._lock = fork_safe_lock()

    @property
    def device(self) -> Device:
        """Where the tensors drawn from it are."""
        return self._device

    def manual_seed(self, seed: int) -> Generator:
        """Start the stream of `seed` from its beginning.

        Raises RuntimeError for anything but an int, ValueError beyond 64 bits. A negative seed counts from 2**64.
        """
        if not isinstance(seed, int):
            raise RuntimeError(f"manual_seed expected a long, but got {type(seed).__name__}")
        if not -(2**63) <= seed < 2**64:
            raise ValueError("Overflow when unpacking long long")
        self._set(seed % 2**64, 0)
        return self

    def seed(self) -> int:
        """Start the stream of a seed drawn from the operating system, and return it."""
        value = int.from_bytes(os.urandom(8), "little")
        self.manual_seed(value)
        return value

    def initial_seed(self) -> int:
        """The seed of the stream."""
        return self._seed

    def get_state(self) -> Any:
        """Seed and position as a uint8 tensor of 16 items, for `set_state`."""
        with self._lock:
            state = self._seed.to_bytes(8, "little") + self._counter.to_bytes(8, "little")
        return interop.tensor(list(state), dtype=dtypes.uint8)

    def set_state(self, new_state: Any) -> Generator:
        """Go to where another generator, or this one, was when it gave `new_state`.

        Raises TypeError for anything but a uint8 tensor, RuntimeError for one of another size.
        """
        if new_state.__class__ not in CLASSES:
            raise TypeError(f"expected a torch.ByteTensor, but got {type(new_state).__name__}")
        if new_state.dtype is not dtypes.uint8 or new_state._device.type != "cpu":
            raise TypeError("RNG state must be a torch.ByteTensor")
        if new_state.numel() != STATE_BYTES:
            raise RuntimeError(
                f"Expected a CPUGeneratorImplState of size {STATE_BYTES} but found the input RNG state size to be "
                f"{new_state.numel()}"
            )
        state = bytes(new_state.tolist())
        self._set(int.from_bytes(state[:8], "little"), int.from_bytes(state[8:], "little"))
        return self

    def clone_state(self) -> Generator:
        """A new generator at the same place of the same stream."""
        with self._lock:
            return _restored(str(self._device), self._seed, self._counter)

    def advance(self, positions: int) -> tuple[int, int]:
        """Reserve `positions` blocks of the stream: (seed, counter of the first)."""
        with self._lock:
            seed, counter = self._seed, self._counter
            self._counter = (counter + positions) % 2**64
        return seed, counter

    def _set(self, seed: int, counter: int) -> None:
        with self._lock:
            self._seed, self._counter = seed, counter

    def __reduce__(self) -> tuple[Callable[..., Generator], tuple[Any, ...]]:
        with self._lock:
            return _restored, (str(self._device), self._seed, self._counter)


def _restored(device: str, seed: int, counter: int) -> Generator:
    """A generator from its pickle."""
    made = Generator(device)
    made._set(seed, counter)
    return made


default_generator = Generator()  # for tensors on every device: one seed gives the same numbers everywhere


class _Thread(threading.local):
    """What this thread draws from in place of the default generator."""

    generator: Generator | None = None


_thread = _Thread()


def use_in_this_thread(generator: Generator) -> None:
    """Let `generator` be this thread's default, and no other's: workers of a `DataLoader` have one each."""
    _thread.generator = generator


def _default() -> Generator:
    return _thread.generator or default_generator


def chosen(generator: Any, where: Device, name: str) -> Generator:
    """The generator of a draw of the function `name` on a device: the given one, or the default.

    Raises TypeError when it is none, RuntimeError when it is one for another device.
    """
    if generator is None:
        return _default()
    if not isinstance(generator, Generator):
        raise TypeError(f"{name}(): argument 'generator' must be torch.Generator, not {type(generator).__name__}")
    if generator._device.type != where.type:
        raise RuntimeError(f"Expected a '{where.type}' device type for generator but found '{generator._device.type}'")
    return generator


def manual_seed(seed: Any) -> Generator:
    """Seed the default generator, from which tensors on every device are drawn, and return it.

    Raises ValueError for what is no number, and beyond 64 bits.
    """
    return _default().manual_seed(int(seed))


def seed() -> int:
    """Seed the default generator from the operating system, and return the seed."""
    return _default().seed()


def initial_seed() -> int:
    """The seed of the default generator."""
    return _default().initial_seed()


def get_rng_state() -> Any:
    """Where the default generator is, as a uint8 tensor."""
    return _default().get_state()


def set_rng_state(new_state: Any) -> None:
    """Set the default generator to a state from `get_rng_state`. Errors are those of `Generator.set_state`."""
    _default().set_state(new_state)


@contextmanager
def fork_rng(
    devices: Iterable[Any] | None = None,
    enabled: bool = True,
    _caller: str = "fork_rng",
    _devices_kw: str = "devices",
    device_type: str = "cuda",
) -> Iterator[None]:
    """Put the default generator back, at the end of a `with` block, to where it was at its beginning.

    Every device draws from that one generator, so `devices` and `device_type` select nothing. With `enabled=False`
    nothing is done.

    Example:
        >>> import numgrad as ng
        >>> with ng.random.fork_rng():
        ...     first = ng.rand(3)
        >>> bool((first == ng.rand(3)).all())
        True
    """
    del devices, _caller, _devices_kw, device_type
    if not enabled:
        yield
        return
    state = _default().clone_state()
    try:
        yield
    finally:
        _default()._set(state._seed, state._counter)
