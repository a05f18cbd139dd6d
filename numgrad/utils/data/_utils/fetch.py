"""Fetchers: indices in, a batch out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..dataset import IterableDataset, Subset, TensorDataset
from .collate import default_collate, has_defaults


class Fetcher:
    """Gets the samples of a batch, or one sample, from a dataset with keys."""

    def __init__(self, dataset: Any, is_batched: bool, collate_fn: Callable[[Any], Any], drop_last: bool) -> None:
        self.dataset = dataset
        self.is_batched = is_batched
        self.collate_fn = collate_fn
        self.drop_last = drop_last

    def fetch(self, index: Any) -> Any:
        """The batch of some indices, or what one index gives."""
        if not self.is_batched:
            return self.collate_fn(self.dataset[index])
        if self.collate_fn is default_collate and isinstance(self.dataset, TensorDataset | Subset) and has_defaults():
            batch = self.dataset.collated(index)
            if batch is not None:
                return batch
        if getattr(self.dataset, "__getitems__", None):
            return self.collate_fn(self.dataset.__getitems__(index))
        return self.collate_fn([self.dataset[i] for i in index])


class IterableFetcher(Fetcher):
    """Takes the next samples of an iterable dataset, as many as it is given indices."""

    def __init__(self, dataset: Any, is_batched: bool, collate_fn: Callable[[Any], Any], drop_last: bool) -> None:
        super().__init__(dataset, is_batched, collate_fn, drop_last)
        self.samples = iter(dataset)
        self.has_ended = False

    def fetch(self, index: Any) -> Any:
        """The next batch, or the next sample. Raises StopIteration at the end."""
        if self.has_ended:
            raise StopIteration
        if not self.is_batched:
            return self.collate_fn(next(self.samples))
        samples = []
        for _ in index:
            try:
                samples.append(next(self.samples))
            except StopIteration:
                self.has_ended = True
                break
        if not samples or (self.drop_last and len(samples) < len(index)):
            raise StopIteration
        return self.collate_fn(samples)


def fetcher(dataset: Any, is_batched: bool, collate_fn: Callable[[Any], Any], drop_last: bool) -> Fetcher:
    """What gets batches from a dataset of either kind."""
    kind = IterableFetcher if isinstance(dataset, IterableDataset) else Fetcher
    return kind(dataset, is_batched, collate_fn, drop_last)
