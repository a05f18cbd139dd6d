"""The text of tensors. Every expected string was printed by PyTorch 2.13, except those on a CUDA device."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from simt_runtime import SimulatedRuntime, installed

import numgrad as ng
from numgrad import printing

KINDS = {"f": "float", "c": "complex", "i": "int", "u": "int", "b": "bool"}
NAN, INF = math.nan, math.inf


@pytest.fixture(autouse=True)
def default_options() -> Iterator[None]:
    before = printing.get_printoptions()
    yield
    printing.set_printoptions(**before)


def show(values: object, dtype: str | None = None, **keywords: object) -> str:
    array = np.asarray(values, dtype=dtype)
    if dtype is None and array.dtype == np.float64:
        array = array.astype(np.float32)
    return printing.tensor_repr(
        lambda index: array[index].tolist(),
        shape=array.shape,
        dtype_name=array.dtype.name,
        kind=KINDS[array.dtype.kind],
        **keywords,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1.0, 2.5], "tensor([1.0000, 2.5000])"),
        ([1.0, 2.0], "tensor([1., 2.])"),
        (3.25, "tensor(3.2500)"),
        ([-0.0, 0.0], "tensor([-0., 0.])"),
        ([1e-5, 1.0], "tensor([1.0000e-05, 1.0000e+00])"),
        ([1e9, 1.0], "tensor([1.0000e+09, 1.0000e+00])"),
        ([1e10, NAN], "tensor([1.0000e+10,        nan])"),
        ([NAN, 0.0, INF], "tensor([nan, 0., inf])"),
        ([1.5, NAN, -INF], "tensor([1.5000,    nan,   -inf])"),
    ],
)
def test_floats_choose_one_notation_together(values: object, expected: str) -> None:
    assert show(values) == expected


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1.0, 1000.0], "[   1., 1000.]"),
        ([1.0, 1001.0], "[1.0000e+00, 1.0010e+03]"),
        ([1e8, 1e8], "[100000000., 100000000.]"),
        ([1e8 + 1, 1e8], "[1.0000e+08, 1.0000e+08]"),
        ([1e-4, 1e-3], "[0.0001, 0.0010]"),
        ([9e-5, 1e-4], "[9.0000e-05, 1.0000e-04]"),
    ],
)
def test_where_scientific_notation_begins(values: list[float], expected: str) -> None:
    assert show(values, "float64") == f"tensor({expected}, dtype=torch.float64)"


@pytest.mark.parametrize(
    ("values", "dtype", "expected"),
    [
        ([[1, -20], [3, 4]], None, "tensor([[  1, -20],\n        [  3,   4]])"),
        ([True, False], None, "tensor([ True, False])"),
        (5, "int32", "tensor(5, dtype=torch.int32)"),
        ([1.5], "float64", "tensor([1.5000], dtype=torch.float64)"),
        ([1.0, 2.0], "float16", "tensor([1., 2.], dtype=torch.float16)"),
        ([1 + 2j, -1.5 - 0.25j], "complex64", "tensor([ 1.0000+2.0000j, -1.5000-0.2500j])"),
    ],
)
def test_other_dtypes(values: object, dtype: str | None, expected: str) -> None:
    assert show(values, dtype) == expected


def test_the_default_dtype_is_silent() -> None:
    assert show([1.5], "float64", default_dtype_name="float64") == "tensor([1.5000])"
    assert show([1j], "complex128", default_dtype_name="float64") == "tensor([0.+1.j])"
    assert show([1.5], "float32", default_dtype_name="float64") == "tensor([1.5000], dtype=torch.float32)"


@pytest.mark.parametrize(
    ("shape", "dtype", "expected"),
    [
        ((0,), "float32", "tensor([])"),
        ((0, 3), "float32", "tensor([], size=(0, 3))"),
        ((0,), "int64", "tensor([], dtype=torch.int64)"),
        ((2, 0), "bool", "tensor([], size=(2, 0), dtype=torch.bool)"),
    ],
)
def test_empty_tensors_say_what_cannot_be_seen(shape: tuple[int, ...], dtype: str, expected: str) -> None:
    assert show(np.zeros(shape, dtype), dtype) == expected


def test_lines_break_at_the_line_width() -> None:
    assert show(np.arange(40)) == (
        "tensor([ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16, 17,\n"
        "        18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35,\n"
        "        36, 37, 38, 39])"
    )


def test_an_empty_line_parts_matrices() -> None:
    assert show(np.zeros((2, 2, 2))) == (
        "tensor([[[0., 0.],\n         [0., 0.]],\n\n        [[0., 0.],\n         [0., 0.]]])"
    )


def test_large_tensors_are_summarised() -> None:
    assert show(np.arange(1001)) == "tensor([   0,    1,    2,  ...,  998,  999, 1000])"
    matrix = "        [[0., 0., 0.,  ..., 0., 0., 0.],\n         [0., 0., 0.,  ..., 0., 0., 0.]]"
    expected = ",\n\n".join([matrix] * 3 + ["        ..."] + [matrix] * 3)
    assert show(np.zeros((1001, 2, 7))) == "tensor([" + expected.lstrip() + "])"


def test_summaries_begin_above_the_threshold() -> None:
    with printing.printoptions(threshold=4, edgeitems=1):
        assert show(np.arange(4)) == "tensor([0, 1, 2, 3])"
        assert show(np.arange(5)) == "tensor([0,  ..., 4])"


def test_only_the_shown_corners_of_a_large_tensor_are_read() -> None:
    read = 0

    def fetch(index: tuple[slice, ...]) -> list[list[int]]:
        nonlocal read
        rows, columns = (range(10**9)[axis] for axis in index)
        read += len(rows) * len(columns)
        return [[row + column for column in columns] for row in rows]

    with printing.printoptions(edgeitems=1):
        text = printing.tensor_repr(fetch, shape=(10**9, 10**9), dtype_name="int64", kind="int")
    assert read == 4
    assert text == "tensor([[         0,  ...,  999999999],\n        ...,\n        [ 999999999,  ..., 1999999998]])"


def test_suffixes_follow_in_order_and_wrap() -> None:
    assert show([6.0], grad_fn_name="MulBackward0", requires_grad=True) == "tensor([6.], grad_fn=<MulBackward0>)"
    assert show([[2.5]], requires_grad=True) == "tensor([[2.5000]], requires_grad=True)"
    assert show(np.ones(9), "float64", grad_fn_name="ExpBackward0") == (
        "tensor([1., 1., 1., 1., 1., 1., 1., 1., 1.], dtype=torch.float64,\n       grad_fn=<ExpBackward0>)"
    )
    assert show(np.zeros((0, 2)), "float64", device="cuda:0", requires_grad=True) == (
        "tensor([], device='cuda:0', size=(0, 2), dtype=torch.float64,\n       requires_grad=True)"
    )


def test_the_last_line_of_the_prefix_sets_the_indentation() -> None:
    assert show([[1.0, 2.0], [3.0, 4.0]], requires_grad=True, prefix="Parameter containing:\ntensor(") == (
        "Parameter containing:\ntensor([[1., 2.],\n        [3., 4.]], requires_grad=True)"
    )


def test_print_options() -> None:
    defaults = {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80, "sci_mode": None, "shape": False}
    assert printing.get_printoptions() == defaults
    printing.set_printoptions(profile="short", sci_mode=True)
    assert printing.get_printoptions() == {**defaults, "precision": 2, "edgeitems": 2, "sci_mode": True}
    assert show([1.0, 22.125]) == "tensor([1.00e+00, 2.21e+01])"

    printing.set_printoptions(linewidth=20)  # leaves precision alone, and takes sci_mode back, as in PyTorch
    assert printing.get_printoptions() == {**defaults, "precision": 2, "edgeitems": 2, "linewidth": 20}
    assert show([1.0, 22.125]) == "tensor([ 1.00,\n        22.12])"

    printing.set_printoptions(profile="full")
    assert printing.get_printoptions()["threshold"] == INF

    printing.set_printoptions(profile="default", threshold=1, edgeitems=0)
    assert show(np.zeros((2, 2))) == "tensor([...], size=(2, 2))"


def test_printoptions_are_restored_after_an_error() -> None:
    with pytest.raises(ZeroDivisionError), printing.printoptions(precision=1):
        assert show([0.25]) == "tensor([0.2])"
        raise ZeroDivisionError
    assert show([0.25]) == "tensor([0.2500])"


def test_the_shape_is_shown_where_it_is_asked_for() -> None:
    printing.set_printoptions(shape=True)
    assert show([[1.0], [2.0]]) == "tensor([[1.],\n        [2.]], size=(2, 1))"
    assert show(3) == "tensor(3, size=())"
    assert show([2.5], "float64", requires_grad=True) == (
        "tensor([2.5000], size=(1,), dtype=torch.float64, requires_grad=True)"
    )
    printing.set_printoptions(precision=2)  # it stays until it is taken back
    assert show([2.5]) == "tensor([2.50], size=(1,))"
    printing.set_printoptions(shape=False)
    assert show([2.5]) == "tensor([2.50])"


def test_of_a_large_tensor_on_a_device_the_corners_alone_are_fetched() -> None:
    class Counting(SimulatedRuntime):
        fetched = 0

        def to_host(self, buffer: Any, dtype: Any, count: int, offset: int) -> Any:
            self.fetched += count
            return super().to_host(buffer, dtype, count, offset)

    expected = repr(ng.arange(10000).view(100, 100))[:-1] + ", device='cuda:0')"
    with installed(Counting()) as runtime:
        x = ng.arange(10000).view(100, 100).to("cuda")
        assert repr(x) == expected
        assert runtime.fetched < 3000  # four corners of 3 x 3, each read with the rows' gaps
