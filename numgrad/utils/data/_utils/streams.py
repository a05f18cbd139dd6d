"""Random streams of a worker thread's own, behind the functions that everyone draws from.

A dataset that calls `random.random()` or `np.random.rand()` draws from one stream of the process. In a worker process
that stream is the worker's; in a worker thread it would be shared, and what a sample gets would depend on which thread came
first. So from the first worker thread on, these functions ask which thread calls them: a worker draws from its own stream,
every other thread from the one that it always had. (Only functions that are called through their module are led there.)
"""

from __future__ import annotations

import functools
import random
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import Any

from ....interop import random_functions
from ....kernels.locks import fork_safe_lock
from ....random import Generator, use_in_this_thread


@dataclass(frozen=True, slots=True)
class Streams:
    """What a worker thread draws from; `get_worker_info().rng`."""

    random_generator: random.Random
    torch_generator: Generator
    numpy_generator: Any


class _Own(threading.local):
    """The streams of this thread, by module; none for a thread that is no worker."""

    by_module: Mapping[str, Any] = {}


_own = _Own()
_led: set[str] = set()
_leading = fork_safe_lock()


def numpy_seed(base_seed: int, worker: int) -> list[int]:
    """What NumPy's stream of a worker is seeded with: not what Python's is, whose generator is of the same kind."""
    return [worker, base_seed % 2**32, base_seed >> 32]


def begin(base_seed: int, worker: int) -> Streams:
    """Give this thread streams of its own."""
    seed = base_seed + worker
    numpy_random, shared, other_names = random_functions()
    streams = Streams(random.Random(seed), Generator().manual_seed(seed), type(shared)(numpy_seed(base_seed, worker)))
    _lead(random, random._inst, {})
    _lead(numpy_random, shared, other_names)
    _own.by_module = {"random": streams.random_generator, numpy_random.__name__: streams.numpy_generator}
    use_in_this_thread(streams.torch_generator)
    return streams


def _lead(module: ModuleType, shared: Any, other_names: Mapping[str, str]) -> None:
    """Let the functions of a module that draw from `shared` draw from the calling thread's stream."""
    with _leading:
        if module.__name__ in _led:
            return
        _led.add(module.__name__)
        for name, function in vars(module).copy().items():
            if getattr(function, "__self__", None) is shared:
                setattr(module, name, _Led(module.__name__, name, function.__name__, function))
            elif name in other_names:
                setattr(module, name, _Led(module.__name__, name, other_names[name], function))


class _Led:
    """A function of a module that draws from the calling thread's stream.

    It is equal to the function that it stands for, by which Numba finds what to compile in its place.
    """

    def __init__(self, module: str, name: str, method: str, shared: Callable[..., Any]) -> None:
        functools.update_wrapper(self, shared)
        self._place = module, name
        self._method = method
        self._shared = shared

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        own = _own.by_module.get(self._place[0])
        return (self._shared if own is None else getattr(own, self._method))(*args, **kwargs)

    def __eq__(self, other: object) -> bool:
        return self is other or bool(self._shared == other)

    def __hash__(self) -> int:
        return hash(self._shared)

    def __reduce__(self) -> tuple[Any, ...]:
        return _found, self._place


def _found(module: str, name: str) -> Any:
    """A function from its pickle."""
    return getattr(import_module(module), name)
