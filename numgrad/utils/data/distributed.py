"""A sampler for several processes that share a dataset."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from ...ops import randperm
from ...random import Generator
from .sampler import Sampler

__all__ = ["DistributedSampler"]


class DistributedSampler(Sampler[int]):
    """The indices of one of several processes that share a dataset: every `num_replicas`-th, from number `rank` on.

    All processes shuffle alike, by `seed` and the epoch that `set_epoch` told. Each gets as many indices as the others:
    without `drop_last` some come twice, with it some are left out.

    Raises RuntimeError without `num_replicas` and `rank`, as there are no groups of processes; ValueError for a rank that
    is not below `num_replicas`.
    """

    def __init__(
        self,
        dataset: Any,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        if num_replicas is None or rank is None:
            raise RuntimeError("Requires distributed package to be available")
        if rank >= num_replicas or rank < 0:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
        self.dataset = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.epoch = 0
        self.drop_last = drop_last
        count = len(dataset)
        self.num_samples = count // num_replicas if drop_last else -(-count // num_replicas)
        self.total_size = self.num_samples * num_replicas
        self.shuffle = shuffle
        self.seed = seed

    def __iter__(self) -> Iterator[int]:
        count = len(self.dataset)
        if self.shuffle:
            generator = Generator().manual_seed(self.seed + self.epoch)
            indices = randperm(count, generator=generator).tolist()
        else:
            indices = list(range(count))
        repeated = itertools.islice(itertools.cycle(indices), self.total_size)
        return itertools.islice(repeated, self.rank, None, self.num_replicas)

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Tell which epoch begins: each is shuffled otherwise."""
        self.epoch = epoch
