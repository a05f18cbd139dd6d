"""The workers of one pass over a `DataLoader`, or of several: threads, or processes."""

from __future__ import annotations

import contextlib
import copy
import threading
import time
from multiprocessing.connection import Connection, wait
from queue import Empty, SimpleQueue
from typing import Any, Protocol

from ..dataset import Dataset
from .worker import Answer, Inbox, Plan, Task, work_in_process, work_in_thread

PATIENCE = 5.0  # seconds that workers have to end
_NOT_PICKLED = (
    "Worker processes get the dataset, collate_fn and worker_init_fn as pickles. Without multiprocessing_context= the "
    "workers are threads, which need none."
)


class Crew(Protocol):
    """Workers, by number. They do not know who reads their answers, so nothing keeps a reader that was dropped."""

    def send(self, worker: int, task: Task) -> None:
        """Give a worker a task."""

    def receive(self, timeout: float | None) -> Answer:
        """The next answer of any worker. Raises queue.Empty after so many seconds without."""

    def stop(self) -> None:
        """End the workers, and wait for them. Tasks that they have not begun are dropped."""


class Threads:
    """Workers that are threads of this process."""

    def __init__(self, plan: Plan) -> None:
        self._answers: SimpleQueue[Answer] = SimpleQueue()
        self._inboxes = [Inbox() for _ in range(plan.num_workers)]
        self._threads = [
            threading.Thread(
                target=work_in_thread,
                args=(plan, worker, own_copy(plan.dataset), inbox, self._answers.put),
                name=f"DataLoader worker {worker}",
                daemon=True,
            )
            for worker, inbox in enumerate(self._inboxes)
        ]
        for thread in self._threads:
            thread.start()

    def send(self, worker: int, task: Task) -> None:
        """Give a worker a task."""
        self._inboxes[worker].put(task)

    def receive(self, timeout: float | None) -> Answer:
        """The next answer of any worker. Raises queue.Empty after so many seconds without."""
        return self._answers.get(timeout=timeout)

    def stop(self) -> None:
        """End the threads, and wait for the batches that they are at."""
        for inbox in self._inboxes:
            inbox.close()
        end = time.monotonic() + PATIENCE
        for thread in self._threads:
            if thread is not threading.current_thread() and thread.is_alive():
                thread.join(max(0.0, end - time.monotonic()))


def own_copy(dataset: Any) -> Any:
    """A worker thread's copy of a dataset and of the datasets in it; what else they hold is shared."""
    if not isinstance(dataset, Dataset):
        return dataset
    copied = copy.copy(dataset)
    for name, value in vars(copied).copy().items():
        if isinstance(value, Dataset):
            setattr(copied, name, own_copy(value))
        elif isinstance(value, list | tuple) and any(isinstance(part, Dataset) for part in value):
            setattr(copied, name, type(value)(own_copy(part) for part in value))
        elif isinstance(value, dict) and any(isinstance(part, Dataset) for part in value.values()):
            setattr(copied, name, {key: own_copy(part) for key, part in value.items()})
    return copied


class Processes:
    """Workers that are processes, each at the end of a pipe."""

    def __init__(self, plan: Plan, context: Any) -> None:
        self._connections: list[Connection] = []
        self._processes: list[Any] = []
        try:
            for worker in range(plan.num_workers):
                self._start(plan, worker, context)
        except BaseException as error:
            self.stop()
            if not isinstance(error, OSError):
                error.add_note(_NOT_PICKLED)
            raise

    def _start(self, plan: Plan, worker: int, context: Any) -> None:
        ours, theirs = context.Pipe()
        process = context.Process(target=work_in_process, args=(plan, worker, theirs), daemon=True)
        try:
            process.start()
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()  # so that the pipe ends with the worker
        self._connections.append(ours)
        self._processes.append(process)

    def send(self, worker: int, task: Task) -> None:
        """Give a worker a task. Raises RuntimeError if it has ended."""
        try:
            self._connections[worker].send(task)
        except OSError:
            raise self._ended(self._connections[worker]) from None

    def receive(self, timeout: float | None) -> Answer:
        """The next answer of any worker. Raises queue.Empty after so many seconds without, RuntimeError if one ended."""
        ready: list[Any] = wait(self._connections, timeout)
        if not ready:
            raise Empty
        try:
            answer: Answer = ready[0].recv()
        except (EOFError, OSError):
            raise self._ended(ready[0]) from None
        return answer

    def _ended(self, connection: Any) -> RuntimeError:
        process = self._processes[self._connections.index(connection)]
        process.join(PATIENCE)
        error = RuntimeError(f"DataLoader worker (pid(s) {process.pid}) exited unexpectedly")
        error.add_note(f"Its exit code is {process.exitcode}; a negative one is the signal that killed it.")
        return error

    def stop(self) -> None:
        """End the processes, and wait for the batches that they are at; after some seconds they are terminated."""
        for connection in self._connections:
            with contextlib.suppress(OSError):  # it has ended already
                connection.send(None)
            connection.close()
        end = time.monotonic() + PATIENCE
        for process in self._processes:
            process.join(max(0.0, end - time.monotonic()))
            if process.is_alive():
                process.terminate()
                process.join()
        self._connections, self._processes = [], []
