"""The sweep of the op table on the "cuda" device, for which an interpreter of the kernels stands; it finds broken ones."""

from __future__ import annotations

from typing import Any

import op_sweep as sweep
import pytest
import simt
from op_sweep import F32, Case
from simt_runtime import SimulatedRuntime, installed

import numgrad as ng
from numgrad.kernels import OPS

ALL = sorted(OPS)
ELEMENTWISE = [name for name in ALL if OPS[name].elementwise]
VIEWS = [name for name in ALL if OPS[name].is_view]
DTYPE_VIEWS = {name for name in VIEWS if OPS[name].dtype is not None}  # of complex numbers, which are on the CPU alone
ON_CUDA = [n for n in ALL if n not in DTYPE_VIEWS and (n in VIEWS or OPS[n].elementwise or "cuda" in OPS[n].kernels)]
NOT_ON_CUDA = {"as_strided", "as_strided_", "unfold"}  # the gradient has no CUDA kernel
MADE_ON_HOST = {  # the results move to the device
    *("arange", "draw", "dropout_noise", "eye", "linspace", "logspace", "multinomial", "permutation", "poisson_counts"),
    "triangle_indices",
}
SECOND_ON_CUDA = ["mul", "div", "sigmoid", "tanh", "where", "sum.dim", "mm", "bmm", "expand", "select"]


def op(name: str) -> Any:
    return OPS[name]


@pytest.fixture
def cuda_device():
    with installed(SimulatedRuntime(check=False)) as runtime:
        yield runtime


def cuda_cases(name: str) -> list[Case]:
    if not op(name).elementwise:
        return [c for c in sweep.cases(op(name)) if all(a.size < 50 for a in c.arrays)]
    inputs = len(op(name).inputs)
    return [sweep.elementwise_case(op(name), [(2, 3)] * inputs)]


def test_there_is_something_to_sweep():
    assert {"sum", "sum.dim", "mm", "bmm", "full", "arange", "to_copy", "select_backward"} <= set(ON_CUDA)


@pytest.mark.parametrize("name", [name for name in ON_CUDA if name not in NOT_ON_CUDA])
def test_cuda(cuda_device, name):
    for case in cuda_cases(name):
        sweep.check_on_cuda(case, second=name in SECOND_ON_CUDA)
    assert name in {*VIEWS, *MADE_ON_HOST} or cuda_device.launches


@pytest.mark.parametrize("name", ["add", "div", "where"])
def test_cuda_broadcasting(cuda_device, name):
    for shapes in ([(2, 3), (3,)], [(2, 1), (1, 3)], [(), (2, 3)]):
        sweep.check_on_cuda(sweep.elementwise_case(op(name), [*shapes, (2, 3)][: len(op(name).inputs)]))


@pytest.mark.parametrize("dtype", [ng.float16, ng.bfloat16], ids=repr)
def test_cuda_halves(cuda_device, dtype):
    x = ng.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], dtype=dtype).cuda().requires_grad_()
    y = ng.tensor([0.5, 1.0, 2.0], dtype=dtype).cuda().requires_grad_()
    out = (x * y + 1).sum(1)
    out.sum().backward()
    assert [t.dtype for t in (out, x.grad, y.grad)] == [dtype] * 3
    assert [t.tolist() for t in (out, y.grad, x.double().cpu())] == [[11.5, 22.0], [5.0, 7.0, 9.0], x.tolist()]


def test_cuda_takes_no_complex_numbers(cuda_device):
    z = ng.tensor([1 + 2j, 3.0]).cuda()
    assert z.real.tolist() == [1.0, 3.0]
    assert (z.cpu().tolist(), ng.full((2,), 1j, device="cuda").tolist()) == ([1 + 2j, 3.0], [1j, 1j])
    for call in (lambda: z + 1, z.abs, z.sum, z.clone, lambda: z.fill_(1), lambda: z.real.cfloat() @ z):
        with pytest.raises(NotImplementedError, match=r"complex tensors on the CPU alone|no cuda kernel"):
            call()


@pytest.mark.parametrize("name", sorted(NOT_ON_CUDA))
def test_cuda_forward_alone(cuda_device, name):
    for case in cuda_cases(name):
        sweep.check_values(case, F32, device="cuda")
        with pytest.raises(NotImplementedError, match=r"has no cuda kernel yet: move its operands with \.to\('cpu'\)"):
            sweep.gradients(case, case.cast(F32), [0], "cuda")


def test_cuda_keeps_its_device(cuda_device):
    for name in ON_CUDA:
        case = cuda_cases(name)[0]
        for out in sweep.call(op(name), sweep.tensors(case.cast(F32), "cuda"), case.attributes, "cuda"):
            assert name == "to_copy" or str(out.device) == "cuda:0"


# ---------------------------------------------------------------------------------------------------- faults
class BrokenRuntime(SimulatedRuntime):
    """Replaces a piece of the kernels' texts."""

    def __init__(self, old: str, new: str) -> None:
        super().__init__(check=False)
        self.old, self.new = old, new
        self.edits = 0

    def kernel(self, source, signature):
        self.edits += source.count(self.old)
        return super().kernel(source.replace(self.old, self.new), signature)


def fails_on_cuda(name: str, old: str, new: str) -> bool:
    with installed(BrokenRuntime(old, new)) as runtime:
        try:
            for case in cuda_cases(name):
                sweep.check_on_cuda(case)
        except (AssertionError, simt.SimulationError, TypeError):
            return runtime.edits > 0
    return False


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_a_wrong_elementwise_cuda_kernel_is_caught(name):
    assert fails_on_cuda(name, " = _function(", " = 1 - _function(")


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("add", "input + other", "input - other"),
        ("mul", "while i < n", "while i < n - 1"),
        ("mul", "g * other", "g + other"),
        ("sigmoid", "_T(1.0) - out", "_T(1.0) + out"),
        ("transpose", "x0_strides[1]", "x0_strides[0]"),
        ("sum", "column < stop", "column + 1 < stop"),
        ("sum.dim", "row * row_stride", "row * column_stride"),
        ("mm", "range(TILE)", "range(TILE - 1)"),
        ("bmm", "b_tile[k, x]", "b_tile[x, k]"),
    ],
)
def test_a_broken_cuda_kernel_is_caught(name, old, new):
    assert fails_on_cuda(name, old, new)
