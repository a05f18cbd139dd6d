"""`DataLoader`: batches of a dataset, in some order, made here or by workers."""

from __future__ import annotations

import multiprocessing
import warnings
import weakref
from collections.abc import Callable, Iterable
from itertools import cycle, repeat
from multiprocessing.context import BaseContext
from queue import Empty
from typing import Any, Generic, TypeVar

from ...kernels.cpus import usable_cpus
from ...random import Generator
from ._utils.collate import default_collate, default_convert
from ._utils.crews import Crew, Processes, Threads
from ._utils.fetch import fetcher
from ._utils.worker import BEGINNING, Ended, Failure, Plan, Task, get_worker_info
from .dataset import IterableDataset
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler, drawn_seed

__all__ = ["DataLoader", "default_collate", "default_convert", "get_worker_info"]

T_co = TypeVar("T_co", covariant=True)
THREADS_A_CPU = 8  # that do not need a warning
_FIXED = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")


class _NoIndices(Sampler[None]):
    """In place of indices for an iterable dataset."""

    def __iter__(self) -> Any:
        return repeat(None)


class DataLoader(Generic[T_co]):
    """Batches of a dataset's samples: iterate it once for each pass over the data.

    Args:
        dataset: a `Dataset`, or anything with `__getitem__` and `__len__`; or an `IterableDataset`.
        batch_size: samples in a batch; None gives samples, not batches.
        shuffle: whether each pass has another order.
        sampler: what gives the indices, in place of `shuffle`.
        batch_sampler: what gives lists of indices, in place of `batch_size`, `shuffle`, `sampler` and `drop_last`.
        num_workers: how many workers make batches ahead of time; with 0 they are made when asked for.
        collate_fn: makes a batch of a list of samples; `default_collate` if None.
        pin_memory: taken for PyTorch's sake; there is no pinned memory.
        drop_last: whether a last batch that is shorter is left out.
        timeout: seconds to wait for a batch from the workers; for ever if 0.
        worker_init_fn: called with its number in each worker, after seeding.
        multiprocessing_context: None for workers that are threads of this process, the name of a start method ("spawn",
            "forkserver", "fork") or a context of `multiprocessing` for processes.
        generator: draws the order, and the seed of the workers; the default generator if None.
        prefetch_factor: batches that each worker makes ahead (2 if None).
        persistent_workers: whether the workers go on from one pass to the next.
        pin_memory_device: not used.
        in_order: whether batches come in the order of their indices; if not, in the order in which they are ready.

    Each worker has a copy of the dataset and is seeded by its number and a seed that is drawn at the beginning of a pass:
    numgrad's default generator, and Python's and NumPy's functions, draw from streams of its own. An exception in a
    worker is raised here, with its type, and with the worker's traceback in its text.

    Raises ValueError, with PyTorch's texts, for arguments that exclude each other.

    Example:
        >>> loader = DataLoader(range(5), batch_size=2)
        >>> [batch.tolist() for batch in loader], len(loader)
        ([[0, 1], [2, 3], [4]], 3)
    """

    dataset: Any
    batch_size: int | None
    num_workers: int
    pin_memory: bool
    drop_last: bool
    timeout: float
    sampler: Any
    pin_memory_device: str
    prefetch_factor: int | None
    _iterator: _MultiProcessingDataLoaderIter | None
    _is_complete = False

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable[Any] | None = None,
        batch_sampler: Iterable[Any] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: str | BaseContext | None = None,
        generator: Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        _check_workers(num_workers, timeout, prefetch_factor, persistent_workers)
        self.dataset = dataset
        self.num_workers = num_workers
        self.prefetch_factor = 2 if num_workers and prefetch_factor is None else prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.in_order = in_order
        self._is_iterable = isinstance(dataset, IterableDataset)
        if self._is_iterable:
            _check_iterable(shuffle, sampler, batch_sampler)
        _check_batches(batch_size, shuffle, sampler, batch_sampler, drop_last)
        if batch_sampler is not None:
            batch_size, drop_last = None, False
        if sampler is None:
            sampler = self._default_sampler(bool(shuffle), generator)
        if batch_size is not None and batch_sampler is None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        self.generator = generator
        if collate_fn is None:
            collate_fn = default_collate if self._auto_collation else default_convert
        self.collate_fn = collate_fn
        self.persistent_workers = persistent_workers
        self._told_length: int | None = None  # what `len` said of an iterable dataset
        self._iterator = None
        self._is_complete = True
        self.check_worker_number_rationality()

    def _default_sampler(self, shuffle: bool, generator: Generator | None) -> Sampler[Any]:
        if self._is_iterable:
            return _NoIndices()
        return RandomSampler(self.dataset, generator=generator) if shuffle else SequentialSampler(self.dataset)

    @property
    def multiprocessing_context(self) -> BaseContext | None:
        """What worker processes are started by; None when the workers are threads."""
        return self._context

    @multiprocessing_context.setter
    def multiprocessing_context(self, context: str | BaseContext | None) -> None:
        if context is None:
            self._context = None
            return
        if not self.num_workers:
            raise ValueError(
                "multiprocessing_context can only be used with multi-process loading (num_workers > 0), but got "
                f"num_workers={self.num_workers}"
            )
        if isinstance(context, str):
            methods = multiprocessing.get_all_start_methods()
            if context not in methods:
                raise ValueError(
                    f"multiprocessing_context option should specify a valid start method in {methods!r}, but got "
                    f"multiprocessing_context={context!r}"
                )
            context = multiprocessing.get_context(context)
        if not isinstance(context, BaseContext):
            raise TypeError(
                "multiprocessing_context option should be a valid context object or a string specifying the start method, "
                f"but got multiprocessing_context={context}"
            )
        self._context = context

    def __setattr__(self, attr: str, val: Any) -> None:
        if self._is_complete and attr in _FIXED:
            raise ValueError(f"{attr} attribute should not be set after {self.__class__.__name__} is initialized")
        super().__setattr__(attr, val)

    @property
    def _auto_collation(self) -> bool:
        return self.batch_sampler is not None

    @property
    def _index_sampler(self) -> Any:
        """What gives the index of each batch, or of each sample."""
        return self.sampler if self.batch_sampler is None else self.batch_sampler

    def __iter__(self) -> _SingleProcessDataLoaderIter:
        if not self.persistent_workers:
            return self._get_iterator()
        if self._iterator is None:
            self._iterator = _MultiProcessingDataLoaderIter(self)
        else:
            self._iterator.begin(self)
        return self._iterator

    def _get_iterator(self) -> _SingleProcessDataLoaderIter:
        return _MultiProcessingDataLoaderIter(self) if self.num_workers else _SingleProcessDataLoaderIter(self)

    def __len__(self) -> int:
        if not self._is_iterable:
            return len(self._index_sampler)
        length = self._told_length = len(self.dataset)
        if self.batch_size is None:
            return length
        return length // self.batch_size if self.drop_last else -(-length // self.batch_size)

    def check_worker_number_rationality(self) -> None:
        """Warn of more worker processes than CPUs, and of very many threads, which cost less."""
        most = usable_cpus() * (THREADS_A_CPU if self._context is None else 1)
        if self.num_workers <= most:
            return
        kind = "threads" if self._context is None else "processes"
        warnings.warn(
            f"This DataLoader will create {self.num_workers} worker {kind} in total. Our suggested max number of worker in "
            f"current system is {most}, which is smaller than what this DataLoader is going to create. Please "
            "be aware that excessive worker creation might get DataLoader running slow or even freeze, lower the worker "
            "number to avoid potential slowness/freeze if necessary.",
            stacklevel=3,
        )


# ---------------------------------------------------------------------------------------------------- arguments
def _check_workers(count: int, timeout: float, prefetch_factor: int | None, is_persistent: bool) -> None:
    if count < 0:
        raise ValueError("num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.")
    if timeout < 0:
        raise ValueError("timeout option should be non-negative")
    if not count and prefetch_factor is not None:
        raise ValueError(
            "prefetch_factor option could only be specified in multiprocessing.let num_workers > 0 to enable "
            "multiprocessing, otherwise set prefetch_factor to None."
        )
    if prefetch_factor is not None and prefetch_factor < 0:
        raise ValueError("prefetch_factor option should be non-negative")
    if is_persistent and not count:
        raise ValueError("persistent_workers option needs num_workers > 0")


def _check_iterable(shuffle: Any, sampler: Any, batch_sampler: Any) -> None:
    given = {"shuffle": shuffle or None, "sampler": sampler, "batch_sampler": batch_sampler}
    for name, value in given.items():
        if value is not None:
            raise ValueError(
                f"DataLoader with IterableDataset: expected unspecified {name} option, but got {name}={value}"
            )


def _check_batches(batch_size: Any, shuffle: Any, sampler: Any, batch_sampler: Any, drop_last: bool) -> None:
    if sampler is not None and shuffle:
        raise ValueError("sampler option is mutually exclusive with shuffle")
    if batch_sampler is not None and (batch_size != 1 or shuffle or sampler is not None or drop_last):
        raise ValueError("batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last")
    if batch_sampler is None and batch_size is None and drop_last:
        raise ValueError("batch_size=None option disables auto-batching and is mutually exclusive with drop_last")


# ---------------------------------------------------------------------------------------------------- passes
class _SingleProcessDataLoaderIter:
    """A pass over a loader's data, each batch made when it is asked for."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        self._plan = Plan(
            loader.dataset,
            loader._auto_collation,
            loader.collate_fn,
            loader.drop_last,
            drawn_seed(loader.generator),
            loader.worker_init_fn,
            loader.num_workers,
        )
        self._timeout = loader.timeout
        self._index_sampler = loader._index_sampler
        self._indices = iter(self._index_sampler)
        self._told_length = loader._told_length if loader._is_iterable else None
        self._count = 0
        if loader.pin_memory:
            _warn_of_pinning(loader.pin_memory_device)
        self._prepare(loader)

    def _prepare(self, loader: DataLoader[Any]) -> None:
        if self._timeout:
            raise AssertionError("_SingleProcessDataLoaderIter requires timeout == 0")
        plan = self._plan
        self._fetcher = fetcher(plan.dataset, plan.is_batched, plan.collate_fn, plan.drop_last)

    def _next(self) -> Any:
        return self._fetcher.fetch(next(self._indices))

    def __iter__(self) -> _SingleProcessDataLoaderIter:
        return self

    def __next__(self) -> Any:
        data = self._next()
        self._count += 1
        if self._told_length is not None and self._count > self._told_length:
            self._warn_of_length()
        return data

    def __len__(self) -> int:
        return len(self._index_sampler)

    def __getstate__(self) -> Any:
        raise NotImplementedError("{} cannot be pickled", self.__class__.__name__)

    def _warn_of_length(self) -> None:
        help = (
            "For multiprocessing data-loading, this could be caused by not properly configuring the IterableDataset replica "
            "at each worker. Please see "
            "https://pytorch.org/docs/stable/data.html#torch.utils.data.IterableDataset for examples."
        )
        warnings.warn(
            f"Length of IterableDataset {self._plan.dataset} was reported to be {self._told_length}(when accessing "
            f"len(dataloader)), but {self._count} samples have been fetched. {help if self._plan.num_workers else ''}",
            stacklevel=3,
        )


def _warn_of_pinning(device: str) -> None:
    if device:
        warnings.warn(
            "pin_memory_device is deprecated, the current accelerator will be used as the device,ignore "
            f"pin_memory_device='{device}'.",
            stacklevel=5,
        )
    warnings.warn(
        "'pin_memory' argument is set as true but no accelerator is found, then device pinned memory won't be used.",
        stacklevel=5,
    )


class _MultiProcessingDataLoaderIter(_SingleProcessDataLoaderIter):
    """A pass over a loader's data, whose batches are made by workers ahead of time.

    Every task is answered once. A pass has a number, so that answers to an earlier one that was broken off are told apart.
    """

    def _prepare(self, loader: DataLoader[Any]) -> None:
        if not loader.prefetch_factor:
            raise AssertionError("prefetch_factor must be greater than 0 for MultiProcessingDataLoaderIter")
        context = loader.multiprocessing_context
        self._ahead = loader.prefetch_factor * loader.num_workers
        self._in_order = loader.in_order
        self._is_persistent = loader.persistent_workers
        self._crew: Crew = Threads(self._plan) if context is None else Processes(self._plan, context)
        self._stop = weakref.finalize(self, self._crew.stop)  # when the loop is left, and at the latest at exit
        self._epoch = 0
        self._send_first()

    def begin(self, loader: DataLoader[Any]) -> None:
        """Begin another pass with the same workers."""
        self._indices = iter(self._index_sampler)
        self._told_length = loader._told_length if loader._is_iterable else None
        self._count = 0
        self._epoch += 1
        for worker in range(self._plan.num_workers):
            self._crew.send(worker, Task(self._epoch, BEGINNING, None))
        self._send_first()

    def _send_first(self) -> None:
        self._sent = 0
        self._next_number = 0
        self._ready: dict[int, Any] = {}  # what came before its turn
        self._open = [0] * self._plan.num_workers  # tasks of each worker without an answer
        self._is_active = [True] * self._plan.num_workers
        self._turns = cycle(range(self._plan.num_workers))
        for _ in range(self._ahead):
            self._send_next()

    def _send_next(self) -> None:
        """Give the next task to the worker whose turn it is, or, if order does not matter, to the one with the fewest."""
        if not any(self._is_active):
            return
        try:
            indices = next(self._indices)
        except StopIteration:
            return
        worker = next(worker for worker in self._turns if self._is_active[worker])
        if not self._in_order:
            worker = min((w for w, is_active in enumerate(self._is_active) if is_active), key=self._open.__getitem__)
        self._crew.send(worker, Task(self._epoch, self._sent, indices))
        self._open[worker] += 1
        self._sent += 1

    def _next(self) -> Any:
        while self._next_number in self._ready or any(self._open):
            if self._next_number in self._ready:
                data = self._ready.pop(self._next_number)
            else:
                number, data = self._receive()
                if self._in_order and number != self._next_number:
                    self._ready[number] = data
                    continue
            self._next_number += 1
            if isinstance(data, Ended):
                continue
            self._send_next()
            if isinstance(data, Failure):
                data.reraise()
            return data
        if not self._is_persistent:
            self._stop()
        raise StopIteration

    def _receive(self) -> tuple[int, Any]:
        """The number and the outcome of a task of this pass."""
        while True:
            try:
                answer = self._crew.receive(self._timeout or None)
            except Empty:
                raise RuntimeError(f"DataLoader timed out after {self._timeout} seconds") from None
            if answer.epoch == self._epoch:
                break
        self._open[answer.worker] -= 1
        if isinstance(answer.data, Ended) and self._is_active[answer.worker]:
            self._is_active[answer.worker] = False
            self._send_next()
        return answer.number, answer.data
