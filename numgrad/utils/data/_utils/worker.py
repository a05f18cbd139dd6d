"""Workers of a `DataLoader`: what one does, in a thread or in a process, and what it tells of itself."""

from __future__ import annotations

import contextlib
import os
import random
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from queue import SimpleQueue
from typing import Any, NamedTuple

from ....interop import random_functions
from ....kernels.threads import set_num_threads
from ....random import manual_seed
from . import streams
from .fetch import Fetcher, IterableFetcher, fetcher

WATCH = 5.0  # seconds after which a process looks whether there still is someone to work for


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """What `get_worker_info` tells of a worker.

    Attributes:
        id: its number, from 0 on.
        num_workers: how many there are.
        seed: what its generators were seeded with.
        dataset: its copy of the dataset. In a thread the tensors and files in it are those of all workers.
        rng: a thread's own generators: Python's, numgrad's and NumPy's; None in a process.
        worker_method: "thread" or "multiprocessing".
    """

    id: int
    num_workers: int
    seed: int
    dataset: Any
    rng: streams.Streams | None = None
    worker_method: str | None = "multiprocessing"


class _Here(threading.local):
    """The worker that this thread is."""

    info: WorkerInfo | None = None


_here = _Here()
_process: WorkerInfo | None = None  # the worker that this process is


def get_worker_info() -> WorkerInfo | None:
    """What worker of a `DataLoader` this is: a `WorkerInfo`, or None in code that no worker runs."""
    return _here.info or _process


class Plan(NamedTuple):
    """What all workers of a loader do."""

    dataset: Any
    is_batched: bool
    collate_fn: Callable[[Any], Any]
    drop_last: bool
    base_seed: int
    init_fn: Callable[[int], None] | None
    num_workers: int


class Task(NamedTuple):
    """The indices of a batch, its number, and that of the pass. Without indices: the pass begins."""

    epoch: int
    number: int
    indices: Any


BEGINNING = -1  # the number of a task that only says that another pass begins


class Answer(NamedTuple):
    """What came of a task: a batch, a `Failure` or `ENDED`."""

    epoch: int
    number: int
    worker: int
    data: Any


class Ended:
    """In place of a batch: the worker's iterable dataset has no more samples."""


class _Said(str):
    """A text that a KeyError shows as it is, with its line breaks."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class Failure:
    """In place of a batch: the exception that was raised, as its type and its traceback's text."""

    def __init__(self, error: BaseException, worker: int) -> None:
        self.kind = type(error)
        self.text = f"Caught {self.kind.__name__} in DataLoader worker process {worker}.\nOriginal " + "".join(
            traceback.format_exception(error)
        )

    def reraise(self) -> None:
        """Raise an exception of the same type, or a RuntimeError if that is not made of a text."""
        if self.kind is not KeyError and getattr(self.kind, "message", None):
            raise self.kind(message=self.text)  # type: ignore[call-arg]
        try:
            error = self.kind(_Said(self.text) if self.kind is KeyError else self.text)
        except Exception:
            raise RuntimeError(self.text) from None
        raise error


class Inbox:
    """The tasks of a worker. Once it is closed there are none, whatever was put in before."""

    def __init__(self) -> None:
        self._tasks: SimpleQueue[Task | None] = SimpleQueue()
        self._is_closed = False

    def put(self, task: Task) -> None:
        """Add a task."""
        self._tasks.put(task)

    def close(self) -> None:
        """Let the worker end."""
        self._is_closed = True
        self._tasks.put(None)

    def get(self) -> Task | None:
        """The next task; None at the end."""
        task = self._tasks.get()
        return None if self._is_closed else task


def work(plan: Plan, worker: int, inbox: Inbox, answer: Callable[[Answer], Any]) -> None:
    """Do tasks until there are no more, and answer each of them."""
    fetch: Fetcher | None = None
    failure = None
    try:
        if plan.init_fn is not None:
            plan.init_fn(worker)
    except BaseException as error:
        failure = Failure(error, worker)
    while (task := inbox.get()) is not None:
        data: Any
        try:
            if task.number == BEGINNING:
                fetch = None
                continue
            if failure is not None:
                data = failure
            else:
                if fetch is None:
                    info = get_worker_info()
                    assert info is not None
                    fetch = fetcher(info.dataset, plan.is_batched, plan.collate_fn, plan.drop_last)
                data = fetch.fetch(task.indices)
        except BaseException as error:
            is_end = isinstance(error, StopIteration) and isinstance(fetch, IterableFetcher)
            data = Ended() if is_end else Failure(error, worker)
        answer(Answer(task.epoch, task.number, worker, data))
        del data


def work_in_thread(plan: Plan, worker: int, dataset: Any, inbox: Inbox, answer: Callable[[Answer], Any]) -> None:
    """What a worker thread runs."""
    own = streams.begin(plan.base_seed, worker)
    _here.info = WorkerInfo(worker, plan.num_workers, plan.base_seed + worker, dataset, own, "thread")
    work(plan, worker, inbox, answer)


def work_in_process(plan: Plan, worker: int, connection: Connection) -> None:
    """What a worker process runs."""
    global _process
    set_num_threads(1)
    seed = plan.base_seed + worker
    random.seed(seed)
    manual_seed(seed)
    random_functions()[0].seed(streams.numpy_seed(plan.base_seed, worker))
    _process = WorkerInfo(worker, plan.num_workers, seed, plan.dataset)
    inbox = Inbox()
    threading.Thread(target=_read, args=(connection, inbox, os.getppid()), daemon=True).start()

    def answer(found: Answer) -> None:
        try:
            connection.send(found)
        except OSError:  # nobody is there to read it
            inbox.close()
        except Exception as error:  # what cannot be pickled
            connection.send(found._replace(data=Failure(RuntimeError(_told(found.data, error)), worker)))

    with contextlib.suppress(KeyboardInterrupt):  # the main process has it, too
        work(plan, worker, inbox, answer)


def _told(data: Any, error: Exception) -> str:
    """Why an answer could not be sent."""
    return data.text if isinstance(data, Failure) else f"a batch cannot be sent to the main process: {error}"


def _read(connection: Connection, inbox: Inbox, parent: int) -> None:
    """Put what comes into the inbox, always, so that the main process never waits for this one to read."""
    try:
        while os.getppid() == parent:
            if connection.poll(WATCH):
                task = connection.recv()
                if task is None:
                    break
                inbox.put(task)
    except (EOFError, OSError):
        pass
    inbox.close()
