"""Datasets for tests of loaders, in a module that spawned processes can import."""

from __future__ import annotations

import os
import random
import signal
import time
from typing import Any

import numpy as np

import numgrad as ng
from numgrad.utils.data import Dataset, IterableDataset, get_worker_info


class Draws(Dataset[Any]):
    """One number from each generator that a dataset may call."""

    def __init__(self, length: int = 16) -> None:
        self.length = length

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> Any:
        return np.random.rand(), np.random.randn(), random.random(), ng.rand(()).item(), float(np.random.randint(2**62))


class Worker(Dataset[Any]):
    def __len__(self) -> int:
        return 6

    def __getitem__(self, index: int) -> Any:
        info = get_worker_info()
        assert info is not None
        return index, info.id, info.seed - ng.initial_seed(), info.num_workers, os.getpid()


class Parts(IterableDataset[int]):
    def __iter__(self) -> Any:
        info = get_worker_info()
        assert info is not None
        return iter(range(info.id, 10 + 3 * info.id, info.num_workers))


class LocalError(Exception):
    """Made of more than a text."""

    def __init__(self, first: int, second: int) -> None:
        super().__init__(first, second)


class Faults(Dataset[Any]):
    """Something that goes wrong at index 1."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> Any:
        if index == 1:
            if self.kind == "raise":
                raise ValueError("at index 1")
            if self.kind == "other":
                raise LocalError(1, 2)
            if self.kind == "exit":
                raise SystemExit(3)
            if self.kind == "lambda":
                return lambda: 0
            if self.kind == "sleep":
                time.sleep(30)
            if self.kind == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
        return index


def as_they_are(samples: list[Any]) -> list[Any]:
    return samples
