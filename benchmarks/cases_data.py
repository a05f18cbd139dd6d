"""Datasets, loops over rows, checkpoints."""

import io
from typing import Any

from benchmarks.case import Case, Step


def loader(library: Any) -> Step:
    """A pass over 10,000 rows of 64 in shuffled batches of 128."""
    data = library.utils.data
    rows = data.TensorDataset(library.randn(10_000, 64), library.arange(10_000))
    batches = data.DataLoader(rows, batch_size=128, shuffle=True)
    return lambda: list(batches)


def own_dataset(library: Any) -> Step:
    """A pass over a dataset with a `__getitem__` of its own."""

    class Rows(library.utils.data.Dataset):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            self.inputs = library.randn(2000, 64)

        def __len__(self) -> int:
            return 2000

        def __getitem__(self, index: int) -> Any:
            return self.inputs[index], index % 10

    batches = library.utils.data.DataLoader(Rows(), batch_size=128)
    return lambda: list(batches)


def iterate(library: Any) -> Step:
    """A loop over the 20,000 rows of a tensor."""
    x = library.randn(20_000, 8)

    def step() -> None:
        for _ in x:
            pass

    return step


def checkpoint(library: Any) -> Step:
    """The state of a network of 40 tensors, written to memory and read again."""
    state = library.nn.Sequential(*[library.nn.Linear(64, 64) for _ in range(20)]).state_dict()

    def step() -> None:
        file = io.BytesIO()
        library.save(state, file)
        file.seek(0)
        library.load(file)

    return step


CASES = [
    Case("TensorDataset, 10,000 rows", loader, 1.0),
    Case("own dataset, 2,000 rows", own_dataset),
    Case("iterate 20,000 rows", iterate),
    Case("save and load 40 tensors", checkpoint),
]
