"""Datasets: what gives samples by index, or one after the other, and what is made of other datasets."""

from __future__ import annotations

import itertools
import math
import warnings
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar, cast

from ...interop import tensor
from ...ops import randperm
from ...random import Generator
from ...tensor import Tensor

__all__ = [
    "ChainDataset",
    "ConcatDataset",
    "Dataset",
    "IterableDataset",
    "StackDataset",
    "Subset",
    "TensorDataset",
    "random_split",
]

T_co = TypeVar("T_co", covariant=True)


class Dataset(Generic[T_co]):
    """What gives a sample for a key; a subclass has `__getitem__`, and `__len__` where a sampler is to draw from it.

    One that can give many samples at once has `__getitems__(indices)` also, a list of samples.

    Example:
        >>> class Squares(Dataset[int]):
        ...     def __getitem__(self, index):
        ...         return index**2
        ...     def __len__(self):
        ...         return 5
        >>> [batch.tolist() for batch in DataLoader(Squares(), batch_size=2)]
        [[0, 1], [4, 9], [16]]
    """

    def __getitem__(self, index: Any) -> T_co:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other: Dataset[Any]) -> Dataset[Any]:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T_co], Iterable[T_co]):
    """What gives samples one after the other; a subclass has `__iter__`.

    Every worker of a `DataLoader` iterates a copy of its own: `get_worker_info()` tells a copy which part it is to give.
    """

    def __add__(self, other: Dataset[Any]) -> Dataset[Any]:
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple[Tensor, ...]]):
    """Rows of tensors: sample `i` is the tuple of `tensor[i]`.

    Raises AssertionError for tensors of unequal length.
    """

    tensors: tuple[Tensor, ...]

    def __init__(self, *tensors: Tensor) -> None:
        if any(tensors[0].size(0) != tensor.size(0) for tensor in tensors):
            raise AssertionError("Size mismatch between tensors")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self) -> int:
        return int(self.tensors[0].size(0))

    def collated(self, indices: Sequence[int]) -> list[Tensor] | None:
        """What `default_collate` makes of these samples, taken from each tensor at once; None where only it can tell."""
        is_plain = type(self).__getitem__ is TensorDataset.__getitem__ and set(map(type, indices)) == {int}
        if not is_plain or any(x.requires_grad for x in self.tensors):
            return None
        rows = tensor(indices)
        return [x[rows] for x in self.tensors]


class StackDataset(Dataset[Any]):
    """Samples of several datasets side by side: a tuple of them, or a dict for datasets given by name.

    Raises ValueError for datasets of unequal length, and for both forms at once.
    """

    datasets: tuple[Any, ...] | dict[str, Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args and kwargs:
            raise ValueError(
                "Supported either ``tuple``- (via ``args``) or``dict``- (via ``kwargs``) like input/output, but both "
                "types are given."
            )
        if not args and not kwargs:
            raise ValueError("At least one dataset should be passed")
        self.datasets = args or kwargs
        lengths = [len(dataset) for _, dataset in self._named()]
        self._length = lengths[0]
        if any(length != self._length for length in lengths):
            raise ValueError("Size mismatch between datasets")

    def _named(self) -> list[tuple[Any, Any]]:
        return list(self.datasets.items() if isinstance(self.datasets, dict) else enumerate(self.datasets))

    def __getitem__(self, index: Any) -> Any:
        return self._sample({name: dataset[index] for name, dataset in self._named()})

    def __getitems__(self, indices: Sequence[Any]) -> list[Any]:
        """Samples at these indices."""
        columns = {name: self._column(dataset, indices) for name, dataset in self._named()}
        return [self._sample({name: column[i] for name, column in columns.items()}) for i in range(len(indices))]

    def _column(self, dataset: Any, indices: Sequence[Any]) -> Sequence[Any]:
        if not callable(getattr(dataset, "__getitems__", None)):
            return [dataset[index] for index in indices]
        items = dataset.__getitems__(indices)
        if len(items) != len(indices):
            raise ValueError(f"Nested dataset's output size mismatch. Expected {len(indices)}, got {len(items)}")
        return cast(Sequence[Any], items)

    def _sample(self, items: dict[Any, Any]) -> Any:
        return items if isinstance(self.datasets, dict) else tuple(items.values())

    def __len__(self) -> int:
        return self._length


class ConcatDataset(Dataset[T_co]):
    """Datasets one after the other; `a + b` of two datasets is one.

    Raises AssertionError for no datasets, and for an `IterableDataset`.
    """

    datasets: list[Any]
    cumulative_sizes: list[int]

    @staticmethod
    def cumsum(sequence: Iterable[Any]) -> list[int]:
        """Where each dataset ends."""
        return list(itertools.accumulate(len(part) for part in sequence))

    def __init__(self, datasets: Iterable[Dataset[Any]]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(dataset, IterableDataset) for dataset in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = self.cumsum(self.datasets)

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, idx: int) -> T_co:
        if idx < 0:
            if -idx > len(self):
                raise ValueError("absolute value of index should not exceed dataset length")
            idx += len(self)
        part = bisect_right(self.cumulative_sizes, idx)
        start = self.cumulative_sizes[part - 1] if part else 0
        return cast(T_co, self.datasets[part][idx - start])

    @property
    def cummulative_sizes(self) -> list[int]:
        """The old spelling of `cumulative_sizes`; it warns."""
        warnings.warn(
            "`cummulative_sizes` attribute is renamed to `cumulative_sizes`", category=FutureWarning, stacklevel=2
        )
        return self.cumulative_sizes


class ChainDataset(IterableDataset[T_co]):
    """Iterable datasets one after the other. Raises AssertionError, when it comes to it, for one of another kind."""

    def __init__(self, datasets: Iterable[Dataset[Any]]) -> None:
        self.datasets = datasets

    def _checked(self) -> Iterator[Any]:
        for dataset in self.datasets:
            if not isinstance(dataset, IterableDataset):
                raise AssertionError("ChainDataset only supports IterableDataset")
            yield dataset

    def __iter__(self) -> Iterator[T_co]:
        for dataset in self._checked():
            yield from dataset

    def __len__(self) -> int:
        return sum(len(dataset) for dataset in self._checked())


class Subset(Dataset[T_co]):
    """The samples of a dataset at some indices.

    Raises NotImplementedError for a subclass that overrides `__getitem__` alone: a `DataLoader` asks `__getitems__`.
    """

    dataset: Any
    indices: Sequence[int]

    def __init__(self, dataset: Dataset[T_co], indices: Sequence[int]) -> None:
        self.dataset = dataset
        self.indices = indices
        if type(self).__getitem__ is not Subset.__getitem__ and type(self).__getitems__ is Subset.__getitems__:
            raise NotImplementedError(
                f"{type(self).__name__} overrides __getitem__ but not __getitems__. When subclassing Subset and overriding "
                "__getitem__, you must also override __getitems__ to ensure DataLoader works correctly with your custom "
                "logic. A simple implementation:\n\ndef __getitems__(self, indices):\n    return [self.__getitem__(idx) "
                "for idx in indices]"
            )

    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, list):
            return self.dataset[[self.indices[i] for i in idx]]
        return self.dataset[self.indices[idx]]

    def __getitems__(self, indices: Sequence[int]) -> list[T_co]:
        """Samples at these indices of the subset."""
        chosen = [self.indices[i] for i in indices]
        if callable(getattr(self.dataset, "__getitems__", None)):
            return cast(list[T_co], self.dataset.__getitems__(chosen))
        return [self.dataset[index] for index in chosen]

    def collated(self, indices: Sequence[int]) -> Any:
        """What `default_collate` makes of these samples, where the dataset can tell at once; None where it cannot."""
        is_plain = type(self).__getitems__ is Subset.__getitems__ and isinstance(self.dataset, TensorDataset | Subset)
        return self.dataset.collated([self.indices[i] for i in indices]) if is_plain else None

    def __len__(self) -> int:
        return len(self.indices)


def random_split(
    dataset: Dataset[Any], lengths: Sequence[int | float], generator: Generator | None = None
) -> list[Subset[Any]]:
    """Parts of a dataset, of these lengths, with samples drawn at random.

    Fractions that sum up to 1 are lengths, too: each rounded down, and what is left over goes to the first parts.

    Raises ValueError for lengths that do not sum up to that of the dataset.

    Example:
        >>> [len(part) for part in random_split(range(10), [0.75, 0.25])]
        [8, 2]
    """
    count = len(dataset)  # type: ignore[arg-type]
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        lengths = _lengths_of(lengths, count)
    if sum(lengths) != count:
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    indices = randperm(count, generator=generator).tolist()
    ends = itertools.accumulate(cast(Sequence[int], lengths))
    return [Subset(dataset, indices[end - int(length) : end]) for end, length in zip(ends, lengths, strict=True)]


def _lengths_of(fractions: Sequence[float], count: int) -> list[int]:
    for number, fraction in enumerate(fractions):
        if fraction < 0 or fraction > 1:
            raise ValueError(f"Fraction at index {number} is not between 0 and 1")
    lengths = [math.floor(count * fraction) for fraction in fractions]
    for number in range(count - sum(lengths)):
        lengths[number % len(lengths)] += 1
    for number, length in enumerate(lengths):
        if not length:
            warnings.warn(
                f"Length of split at index {number} is 0. This might result in an empty dataset.", stacklevel=3
            )
    return lengths
