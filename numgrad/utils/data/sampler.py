"""Samplers: in which order a dataset's samples are taken, and which of them make a batch."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence, Sized
from typing import Any, Generic, TypeVar, cast

from ...creation import empty
from ...dtype import float64, int64
from ...interop import as_tensor
from ...ops import multinomial, randint, randperm
from ...random import Generator
from ...tensor import Tensor

__all__ = [
    "BatchSampler",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "SubsetRandomSampler",
    "WeightedRandomSampler",
]

T_co = TypeVar("T_co", covariant=True)
DRAWN_AT_ONCE = 32  # PyTorch's, so that a generator goes on from the same place


class Sampler(Generic[T_co]):
    """What gives indices of samples, or lists of them, in some order; a subclass has `__iter__`, and maybe `__len__`."""

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError


class SequentialSampler(Sampler[int]):
    """All indices of `data_source`, in order."""

    data_source: Sized

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """Indices of `data_source` in random order; with `replacement`, each drawn from all of them.

    Args:
        data_source: what the indices are of.
        replacement: whether an index may come again before all others came.
        num_samples: how many are drawn; as many as there are if None.
        generator: what draws them; if None, one that is seeded by the default generator at each pass.

    Raises TypeError for a `replacement` that is no bool, ValueError for a `num_samples` below 1.
    """

    data_source: Sized
    replacement: bool

    def __init__(
        self,
        data_source: Sized,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: Generator | None = None,
    ) -> None:
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        if not isinstance(self.replacement, bool):
            raise TypeError(f"replacement should be a boolean value, but got replacement={self.replacement}")
        if not isinstance(self.num_samples, int) or self.num_samples <= 0:
            raise ValueError(f"num_samples should be a positive integer value, but got num_samples={self.num_samples}")

    @property
    def num_samples(self) -> int:
        """How many indices a pass gives."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        count = len(self.data_source)
        generator = self.generator
        if generator is None:
            generator = Generator().manual_seed(drawn_seed())
        if self.replacement:
            rounds, rest = divmod(self.num_samples, DRAWN_AT_ONCE)
            for size in (*itertools.repeat(DRAWN_AT_ONCE, rounds), rest):
                yield from randint(high=count, size=(size,), dtype=int64, generator=generator).tolist()
        else:
            rounds, rest = divmod(self.num_samples, count)
            for size in (*itertools.repeat(count, rounds), rest):
                yield from randperm(count, generator=generator).tolist()[:size]

    def __len__(self) -> int:
        return self.num_samples


def drawn_seed(generator: Generator | None = None) -> int:
    """A seed from a generator, or from the default one."""
    return int(empty((), dtype=int64).random_(generator=generator).item())


class SubsetRandomSampler(Sampler[int]):
    """The given indices in random order."""

    indices: Sequence[int]

    def __init__(self, indices: Sequence[int], generator: Generator | None = None) -> None:
        self.indices = indices
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        for i in randperm(len(self.indices), generator=self.generator).tolist():
            yield self.indices[i]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """`num_samples` indices of `weights`, each drawn with a probability in proportion to its weight.

    Raises ValueError for a `num_samples` below 1, for a `replacement` that is no bool and for weights that are not 1-d.
    """

    weights: Tensor
    num_samples: int
    replacement: bool

    def __init__(
        self,
        weights: Sequence[float] | Tensor,
        num_samples: int,
        replacement: bool = True,
        generator: Generator | None = None,
    ) -> None:
        _check_positive("num_samples", num_samples)
        _check_bool("replacement", replacement)
        self.weights = as_tensor(weights, dtype=float64)
        if self.weights.dim() != 1:
            raise ValueError(
                f"weights should be a 1d sequence but given weights have shape {tuple(self.weights.shape)}"
            )
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        yield from multinomial(self.weights, self.num_samples, self.replacement, generator=self.generator).tolist()

    def __len__(self) -> int:
        return self.num_samples


def _check_positive(name: str, value: Any) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
        raise ValueError(f"{name} should be a positive integer value, but got {name}={value}")


def _check_bool(name: str, value: Any) -> None:
    if not isinstance(value, bool):
        raise ValueError(f"{name} should be a boolean value, but got {name}={value}")


class BatchSampler(Sampler[list[int]]):
    """Lists of `batch_size` indices that another sampler, or any iterable, gives; the last one may be shorter.

    Raises ValueError for a `batch_size` below 1 and a `drop_last` that is no bool.

    Example:
        >>> list(BatchSampler(range(5), batch_size=2, drop_last=False))
        [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler: Iterable[Any], batch_size: int, drop_last: bool) -> None:
        _check_positive("batch_size", batch_size)
        _check_bool("drop_last", drop_last)
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list[int]]:
        indices = iter(self.sampler)
        while batch := [*itertools.islice(indices, self.batch_size)]:
            if self.drop_last and len(batch) < self.batch_size:
                return
            yield batch

    def __len__(self) -> int:
        count = len(cast(Sized, self.sampler))
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)
