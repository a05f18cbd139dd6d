"""The tests of CUDA kernels are sharp: a kernel without one of its barriers, or with a slip in an index, is noticed."""

from __future__ import annotations

import numpy as np
import pytest
import simt
from simt_runtime import SimulatedRuntime, installed

from numgrad.kernels import cuda, cuda_kernels
from numgrad.kernels.lower import lower

F32 = np.dtype(np.float32)


def numbers(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(F32)


def relu(x):
    return x if x > 0 else 0.0


class EditedRuntime(SimulatedRuntime):
    """Replaces one occurrence of a piece of the kernels' text."""

    def __init__(self, old: str, new: str, occurrence: int, order: str | int = "forward") -> None:
        super().__init__(order=order)
        self.old, self.new, self.occurrence = old, new, occurrence
        self.edits = 0

    def kernel(self, source, signature):
        pieces = source.split(self.old)
        if len(pieces) > self.occurrence + 1:
            self.edits += 1
            head, tail = pieces[: self.occurrence + 1], pieces[self.occurrence + 1 :]
            source = self.old.join(head) + self.new + self.old.join(tail)
        return super().kernel(source, signature)


def sum_once() -> bool:
    x = numbers(3, 70)
    out = cuda.empty((3,), F32)
    cuda.reduce_sum(cuda.from_host(x), (1,), out)
    return np.allclose(cuda.to_host(out), x.sum(1), rtol=1e-4)


def multiply_once() -> bool:
    a, b = numbers(5, 9), numbers(9, 6, seed=1)
    out = cuda.empty((5, 6), F32)
    cuda.matmul(cuda.from_host(a), cuda.from_host(b), out)
    return np.allclose(cuda.to_host(out), a @ b, rtol=1e-4)


def map_once() -> bool:
    x = numbers(3, 7)
    out = cuda.empty((7, 3), F32)
    cuda.map(lower(relu), F32, [cuda.from_host(x).view((7, 3), (1, 7), 0)], [out])
    return np.array_equal(cuda.to_host(out), np.maximum(x.T, 0))


BARRIERS = [
    (case, k)
    for case, text in (
        (sum_once, cuda_kernels.reduce_sum_source(F32, F32, 8)[0]),
        (multiply_once, cuda_kernels.matmul_source(F32, F32, 4)[0]),
    )
    for k in range(text.count("cuda.syncthreads()"))
]


@pytest.mark.parametrize("order", ["forward", "reverse", 1])
@pytest.mark.parametrize(("case", "occurrence"), BARRIERS)
def test_every_missing_barrier_is_found(case, occurrence, order):
    with installed(EditedRuntime("cuda.syncthreads()", "pass", occurrence, order)) as runtime:
        with pytest.raises((simt.DataRace, simt.UninitialisedRead)):
            case()
        assert runtime.edits == 1


def test_there_are_barriers_to_miss():
    assert len(BARRIERS) == 4
    for case in (sum_once, multiply_once, map_once):
        with installed(SimulatedRuntime()):
            assert case()


@pytest.mark.parametrize(
    ("case", "old", "new"),
    [
        (sum_once, "column < stop", "column <= stop"),
        (sum_once, "column += BLOCK", "column += BLOCK + 1"),
        (sum_once, "half = BLOCK // 2", "half = BLOCK // 4"),
        (sum_once, "if thread == 0", "if True"),
        (sum_once, "row * row_stride", "row * column_stride"),
        (multiply_once, "row < rows and start + x < inner", "row < rows"),
        (multiply_once, "column < columns and start + y < inner", "column < columns"),
        (multiply_once, "if row < rows and column < columns", "if True"),
        (multiply_once, "range(TILE)", "range(TILE - 1)"),
        (multiply_once, "tile_row * TILE", "tile_row"),
        (map_once, "while i < n", "while i <= n"),
        (map_once, "i += step", "i += step + 1"),
        (map_once, "x0_strides[1]", "x0_strides[0]"),
        (map_once, "// _I(shape[1])", "// _I(shape[0])"),
    ],
)
def test_broken_kernels_are_noticed(case, old, new):
    with installed(EditedRuntime(old, new, 0)) as runtime:
        try:
            is_right = case()
        except simt.SimulationError:
            is_right = False
        assert runtime.edits == 1
        assert not is_right
