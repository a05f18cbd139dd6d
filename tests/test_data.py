"""Loading data: workers, their random streams, what becomes of errors, and of loops that are left early."""

from __future__ import annotations

import gc
import multiprocessing
import pickle
import random
import threading
import weakref
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from datasets import Draws, Faults, LocalError, Parts, Worker, as_they_are
from processes import output

import numgrad as ng
from numgrad.kernels.cpus import usable_cpus
from numgrad.utils.data import (
    ConcatDataset,
    DataLoader,
    Dataset,
    IterableDataset,
    Subset,
    TensorDataset,
    get_worker_info,
    random_split,
)
from numgrad.utils.data._utils import crews

METHODS = [None, "spawn", "fork"]


@pytest.fixture(autouse=True)
def _no_worker_is_left():
    before = threading.active_count()
    yield
    gc.collect()
    assert threading.active_count() <= before
    assert not multiprocessing.active_children()


# ---------------------------------------------------------------------------------------------------- random streams
def drawn(seed: int, method: str | None, passes: int = 2, **options: Any) -> list[float]:
    ng.manual_seed(seed)
    loader = DataLoader(Draws(), batch_size=2, multiprocessing_context=method, **options)
    return [number for _ in range(passes) for batch in loader for column in batch for number in column.tolist()]


@pytest.mark.filterwarnings("ignore:This DataLoader will create")
@pytest.mark.parametrize("method", METHODS, ids=str)
def test_workers_draw_differently_and_repeatably(method):
    """Two passes of four workers draw different numbers, of NumPy and Python as well; a seed gives them again."""
    workers, passes = (2, 1) if method == "spawn" else (4, 2)  # each of those takes seconds to start
    first = drawn(0, method, passes, num_workers=workers)
    assert len(first) == passes * 16 * 5
    assert len(set(first)) == len(first)
    if method != "spawn":
        assert drawn(0, method, num_workers=4) == first
        assert not set(drawn(1, method, num_workers=4)) & set(first)


def test_threads_and_processes_draw_the_same():
    assert drawn(3, None, passes=1, num_workers=2) == drawn(3, "fork", passes=1, num_workers=2)


def test_persistent_workers_go_on_drawing():
    first = drawn(0, None, num_workers=3, persistent_workers=True)
    assert len(set(first)) == len(first)
    assert drawn(0, None, num_workers=3, persistent_workers=True) == first


def test_other_threads_keep_their_streams():
    """While workers run, and after: what the main thread draws does not depend on them."""
    ng.manual_seed(1)
    np.random.seed(2)
    expected_numpy, expected = np.random.RandomState(2).rand(3).tolist(), ng.Generator().manual_seed(1)
    ng.empty((), dtype=ng.int64).random_(generator=expected)  # the workers' seed
    for _ in DataLoader(Draws(4), num_workers=2):
        pass
    assert [np.random.rand() for _ in range(3)] == expected_numpy
    assert ng.rand(2).tolist() == ng.rand(2, generator=expected).tolist()


def test_a_worker_can_seed_its_own_streams():
    def start(worker: int) -> None:
        np.random.seed(ng.initial_seed() % 2**32)
        ng.manual_seed(7)

    ng.manual_seed(0)
    values = list(DataLoader(Draws(4), num_workers=2, worker_init_fn=start))
    assert values[0][3] == values[1][3] == ng.rand((), generator=ng.Generator().manual_seed(7)).item()
    assert values[0][0] != values[1][0]
    assert ng.initial_seed() == 0


COMPILING = """
import random, numba, numpy as np
from numgrad.utils.data import DataLoader
before = [numba.njit(lambda: np.random.rand()), np.random.rand]
before[0]()
list(DataLoader(range(4), num_workers=1))
assert np.random.rand is not before[1]
print(0 < numba.njit(lambda: np.random.rand() + random.random() + np.random.uniform(0, 1))() < 3)
"""


def test_functions_with_random_numbers_are_compiled_as_before():
    """Numba finds what to compile by the functions of both modules, in whose place others stand now."""
    assert output(COMPILING) == "True\n"


def test_random_functions_stay_what_they_were():
    list(DataLoader(range(2), num_workers=1))
    for function in (np.random.rand, np.random.sample, random.gauss):
        assert pickle.loads(pickle.dumps(function)) is function
    assert np.random.rand.__name__ == "rand"
    expected = np.random.RandomState(0)
    np.random.seed(0)
    assert np.random.sample() == expected.random_sample()
    assert np.random.get_state()[1].tolist() == expected.get_state()[1].tolist()


# ---------------------------------------------------------------------------------------------------- workers
@pytest.mark.parametrize("method", METHODS, ids=str)
def test_what_workers_are_told(method):
    loader = DataLoader(Worker(), num_workers=2, multiprocessing_context=method, collate_fn=as_they_are)
    found = [batch[0] for batch in loader]
    assert [sample[:4] for sample in found] == [(i, i % 2, 0, 2) for i in range(6)]
    assert len({sample[4] for sample in found}) == (1 if method is None else 2)
    assert get_worker_info() is None


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_persistent_workers(method):
    loader = DataLoader(Parts(), 2, num_workers=2, persistent_workers=True, multiprocessing_context=method)
    expected = [[0, 2], [1, 3], [4, 6], [5, 7], [8], [9, 11]]
    for _ in range(3):
        assert [batch.tolist() for batch in loader] == expected
        for _ in loader:
            break  # what is under way does not show up in the next pass


def test_batches_come_in_order_or_when_they_are_ready():
    class Slow(Dataset[int]):
        def __init__(self) -> None:
            self.gate = threading.Event()

        def __len__(self) -> int:
            return 6

        def __getitem__(self, index: int) -> int:
            if index == 0:
                self.gate.wait(60)
            if index == 5:
                self.gate.set()
            return index

    assert [int(b) for b in DataLoader(Slow(), num_workers=2, prefetch_factor=5)] == list(range(6))
    unordered = [int(b) for b in DataLoader(Slow(), num_workers=2, prefetch_factor=5, in_order=False)]
    assert sorted(unordered) == list(range(6))
    assert unordered[0] != 0


def test_workers_have_datasets_of_their_own_with_the_same_tensors():
    class Counting(Dataset[Any]):
        def __init__(self) -> None:
            self.tensor = ng.arange(8)
            self.calls = 0

        def __len__(self) -> int:
            return 8

        def __getitem__(self, index: int) -> Any:
            self.calls += 1
            return self.calls, self.tensor.data_ptr()

    inner = Counting()
    dataset = Subset(ConcatDataset([inner]), range(8))
    found = list(DataLoader(dataset, num_workers=2, collate_fn=as_they_are))
    assert [batch[0][0] for batch in found] == [1, 1, 2, 2, 3, 3, 4, 4]
    assert {batch[0][1] for batch in found} == {inner.tensor.data_ptr()}
    assert inner.calls == 0


def test_tensors_come_out_of_processes_as_they_were():
    halves = ng.arange(6, dtype=ng.bfloat16).reshape(3, 2)
    data = TensorDataset(halves, ng.tensor([1 + 2j, 0, 1]), ng.tensor([True, False, True]))
    here = list(DataLoader(data, 2))
    there = list(DataLoader(data, 2, num_workers=1, multiprocessing_context="fork"))
    for ours, theirs in zip(here, there, strict=True):
        for x, y in zip(ours, theirs, strict=True):
            ng.testing.assert_close(x, y, rtol=0, atol=0)


# ---------------------------------------------------------------------------------------------------- errors
@pytest.mark.parametrize("method", [None, "fork"], ids=str)
def test_errors_of_workers(method):
    told = r"(?s)Caught ValueError in DataLoader worker process 1.\nOriginal Traceback.*at index 1"
    with pytest.raises(ValueError, match=told):
        list(DataLoader(Faults("raise"), num_workers=2, multiprocessing_context=method))
    with pytest.raises(RuntimeError, match=r"(?s)Caught LocalError in .*LocalError: \(1, 2\)") as caught:
        list(DataLoader(Faults("other"), num_workers=1, multiprocessing_context=method))
    assert caught.type is not LocalError
    with pytest.raises(AssertionError, match="prefetch_factor must be greater than 0"):
        iter(DataLoader(Faults("raise"), num_workers=1, prefetch_factor=0, multiprocessing_context=method))


def test_a_worker_that_takes_too_long(monkeypatch):
    monkeypatch.setattr(crews, "PATIENCE", 0.1)
    with pytest.raises(RuntimeError, match=r"DataLoader timed out after 0\.2 seconds"):
        next(iter(DataLoader(Faults("sleep"), sampler=[1], num_workers=1, timeout=0.2, multiprocessing_context="fork")))


def test_errors_at_the_start_of_a_worker():
    def start(worker: int) -> None:
        raise OSError("at start")

    iterator = iter(DataLoader(range(3), num_workers=1, worker_init_fn=start))
    for _ in range(3):
        with pytest.raises(OSError, match=r"(?s)Caught OSError in DataLoader worker process 0.*at start"):
            next(iterator)
    with pytest.raises(StopIteration):
        next(iterator)


def test_a_thread_that_wants_to_exit_is_heard_of():
    with pytest.raises(SystemExit, match="Caught SystemExit"):
        list(DataLoader(Faults("exit"), num_workers=1))


def test_processes_that_die_and_batches_that_cannot_be_sent():
    loader = DataLoader(Faults("kill"), num_workers=1, multiprocessing_context="fork")
    with pytest.raises(RuntimeError, match=r"DataLoader worker \(pid\(s\) \d+\) exited unexpectedly") as caught:
        list(loader)
    assert "-9" in caught.value.__notes__[0]
    with pytest.raises(RuntimeError, match="cannot be sent to the main process"):
        list(DataLoader(Faults("lambda"), None, num_workers=1, multiprocessing_context="fork"))


def test_what_spawned_processes_cannot_have():
    with pytest.raises((AttributeError, TypeError)) as caught:
        iter(DataLoader(Draws(), num_workers=1, worker_init_fn=lambda i: None, multiprocessing_context="spawn"))
    assert "the workers are threads" in caught.value.__notes__[0]


# ---------------------------------------------------------------------------------------------------- ends
@pytest.mark.parametrize("method", [None, "fork"], ids=str)
def test_a_loop_that_is_left_stops_its_workers(method):
    """The fixture sees that none is left."""
    for _ in DataLoader(Draws(1000), num_workers=2, multiprocessing_context=method):
        break
    iterator = iter(DataLoader(Draws(1000), num_workers=2, multiprocessing_context=method))
    next(iterator)
    del iterator
    with pytest.raises(ZeroDivisionError):
        for _ in DataLoader(Draws(1000), num_workers=2, multiprocessing_context=method):
            raise ZeroDivisionError


PROGRAM = """
import sys
sys.path.insert(0, {folder!r})
from datasets import Draws, Faults
from numgrad.utils.data import DataLoader
iterators = [iter(DataLoader(Draws(100), num_workers=2, persistent_workers=p, multiprocessing_context=m))
             for m in (None, "fork") for p in (False, True)]
for iterator in iterators:
    next(iterator)
print("end")
"""


def test_the_interpreter_ends_with_workers_at_work():
    from pathlib import Path

    assert output(PROGRAM.format(folder=str(Path(__file__).parent))) == "end\n"


# ---------------------------------------------------------------------------------------------------- taking rows at once
def test_rows_are_taken_at_once_where_nobody_can_tell():
    """As sample by sample: values, dtypes and layouts of every kind of tensor."""
    count = 7
    tensors = [
        ng.randn(count, 3), ng.randn(3, count).t(), ng.arange(count), ng.ones(count, 0),
        ng.randn(count, 2, 2).to(ng.bfloat16), ng.randn(2 * count, 3)[::2], ng.randn(1, 3).expand(count, 3),
        ng.arange(count) > 3,
    ]  # fmt: skip
    dataset = TensorDataset(*tensors)
    for source in (dataset, Subset(dataset, [5, 1, 1, -1]), Subset(Subset(dataset, range(1, 6)), [0, 2])):
        samples = [source[i] for i in range(len(source))]
        taken = list(DataLoader(source, 2))
        stacked = list(DataLoader(samples, 2))
        for fast, slow in zip(taken, stacked, strict=True):
            for x, y in zip(fast, slow, strict=True):
                assert (x.dtype, x.shape, x.stride(), x.tolist()) == (y.dtype, y.shape, y.stride(), y.tolist())


def test_a_dataset_that_overrides_how_samples_are_got_is_asked():
    class Doubled(TensorDataset):
        def __getitem__(self, index: int) -> Any:
            return tuple(2 * x for x in super().__getitem__(index))

    (batch,) = DataLoader(Doubled(ng.arange(3)), 3)
    assert batch[0].tolist() == [0, 2, 4]
    (batch,) = DataLoader(Subset(Doubled(ng.arange(3)), [2]), 3)
    assert batch[0].tolist() == [4]


def test_a_batch_shares_no_memory_with_its_dataset():
    x = ng.arange(4.0)
    for (batch,) in DataLoader(TensorDataset(x), 2):
        batch.zero_()
    assert x.tolist() == [0, 1, 2, 3]


def test_gradients_flow_to_the_tensors_of_a_dataset():
    x = ng.arange(4.0).requires_grad_()
    sum((batch.sum() * (i + 1) for i, (batch,) in enumerate(DataLoader(TensorDataset(x), 2))), ng.tensor(0.0)).backward()
    assert x.grad.tolist() == [1, 1, 2, 2]


def test_rows_of_a_tensor_are_made_when_they_are_asked_for():
    """Behaviours, row 112: a loop over many rows does not begin by making them all."""
    rows = iter(ng.zeros(20_000, 2))
    seen = [weakref.ref(next(rows)) for _ in range(5)]
    assert all(row() is None for row in seen[:-1])
    assert sum(1 for _ in rows) == 20_000 - 5


def test_random_splits_repeat_by_seed():
    def split() -> list[list[int]]:
        return [list(part.indices) for part in random_split(range(20), [5, 15])]

    ng.manual_seed(5)
    first = split()
    ng.manual_seed(5)
    assert split() == first
    assert any(a > b for a, b in pairwise(first[1]))


def test_more_processes_than_cpus_warn_and_very_many_threads():
    with pytest.warns(UserWarning, match="This DataLoader will create 4096 worker processes in total"):
        DataLoader(range(2), num_workers=4096, multiprocessing_context="spawn")
    with pytest.warns(UserWarning, match=r"worker threads in total.*excessive worker creation"):
        DataLoader(range(2), num_workers=4096)
    DataLoader(range(2), num_workers=usable_cpus() + 1)


def test_an_iterable_dataset_that_knows_no_part_comes_once_for_each_worker():
    class Whole(IterableDataset[int]):
        def __iter__(self) -> Any:
            return iter(range(3))

    assert [int(b) for b in DataLoader(Whole(), num_workers=2)] == [0, 0, 1, 1, 2, 2]
