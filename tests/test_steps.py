"""The steps of optimizers against their references: on all parameters at once, alone, in halves, on CUDA, recorded."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np
import op_sweep as sweep
import pytest
from simt_runtime import SimulatedRuntime, installed

import numgrad as ng
from numgrad.kernels import many, threads
from numgrad.kernels.optimizers import STEPS
from numgrad.stepping import step
from numgrad.testing import gradcheck

NAMES = sorted(STEPS)
SIZES = (12, 1, 0, 7)


@pytest.fixture
def cuda_device() -> Any:
    with installed(SimulatedRuntime(check=False)) as runtime:
        yield runtime


def arrays_and_numbers(op: Any) -> tuple[int, list[float]]:
    """How many tensors a step takes, and numbers for the rest."""
    case = sweep.elementwise_case(op, [()] * len(op.inputs))
    count = max(op.targets) + 1 if len(op.inputs) == 1 else max(1, *op.targets) + 1
    return count, [float(a) for a in case.arrays[count:]]


def drawn(op: Any, shape: tuple[int, ...], count: int) -> list[np.ndarray]:
    return [np.array(a) for a in sweep.elementwise_case(op, [shape] * len(op.inputs)).arrays[:count]]


def expected(op: Any, arrays: list[np.ndarray], numbers: list[float]) -> list[np.ndarray]:
    found = op.reference(*[a.astype(np.float64) for a in arrays], *numbers)
    return list(found) if isinstance(found, tuple) else [found]


def check(op: Any, rows: list[Any], before: list[Any], numbers: list[float], tolerance: float) -> None:
    for row, arrays in zip(rows, before, strict=True):
        for i, want in zip(op.targets, expected(op, arrays, numbers), strict=True):
            np.testing.assert_allclose(sweep.host(row[i].double()), want, rtol=tolerance, atol=tolerance)
            assert row[i]._version == 1
        for i in set(range(len(row))) - set(op.targets):
            np.testing.assert_array_equal(sweep.host(row[i].double()), arrays[i])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", NAMES)
def test_many_at_once(name: str, dtype: Any) -> None:
    op = STEPS[name]
    count, numbers = arrays_and_numbers(op)
    before = [[a.astype(dtype) for a in drawn(op, (n,), count)] for n in SIZES]
    rows = [tuple(ng.from_numpy(a.copy()) for a in arrays) for arrays in before]
    step(op, rows, tuple(numbers))
    check(op, rows, before, numbers, 1e-5 if dtype is np.float32 else 1e-13)


@pytest.mark.parametrize("dtype", [ng.float16, ng.bfloat16, ng.float32], ids=str)
@pytest.mark.parametrize("name", ["adam_step", "rprop_step", "sgd_step"])
def test_alone(name: str, dtype: Any) -> None:
    """Halves, and a transposed parameter beside others."""
    op = STEPS[name]
    count, numbers = arrays_and_numbers(op)
    made = [[ng.from_numpy(a).to(dtype) for a in drawn(op, (3, 4), count)] for _ in range(2)]
    rows = [tuple(made[0]), (made[1][0].t().contiguous().t(), *made[1][1:])]
    rows = [tuple(x.clone() for x in row) for row in rows]
    before = [[sweep.host(x.double()) for x in row] for row in rows]
    step(op, rows, tuple(numbers))
    check(op, rows, before, numbers, {ng.float16: 2e-3, ng.bfloat16: 1e-2, ng.float32: 1e-5}[dtype])


@pytest.mark.parametrize("name", NAMES)
def test_on_cuda(cuda_device: Any, name: str) -> None:
    op = STEPS[name]
    count, numbers = arrays_and_numbers(op)
    before = [[a.astype(np.float32) for a in drawn(op, (2, 3), count)]]
    rows = [tuple(ng.from_numpy(a).to("cuda") for a in before[0])]
    step(op, rows, tuple(numbers))
    check(op, rows, before, numbers, 1e-5)


@pytest.mark.parametrize("name", ["SGD", "Adam", "RMSprop"])
def test_an_optimizer_on_cuda(cuda_device: Any, name: str) -> None:
    """Its parameter, state and steps are those of the CPU; the number of steps stays there."""
    found = []
    for device in ("cpu", "cuda"):
        p = ng.arange(4, dtype=ng.float32).to(device).requires_grad_()
        optimizer = getattr(ng.optim, name)([p], lr=0.1, weight_decay=0.1)
        for _ in range(3):
            p.grad = ng.ones(4).to(device)
            optimizer.step()
        state = {k: (str(v.device), v.cpu().tolist()) for k, v in optimizer.state[p].items() if k == "step"}
        found.append((p.detach().cpu().numpy(), state))
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-6)
    assert found[0][1] == found[1][1]


def test_chunks_on_several_threads() -> None:
    op = STEPS["sgd_step"]
    sizes = [many.CHUNK * 9 + 5, 3, many.CHUNK]
    before = [[np.arange(n, dtype=np.float64), np.full(n, 2.0)] for n in sizes]
    rows = [tuple(ng.from_numpy(a.copy()) for a in arrays) for arrays in before]
    assert sum(sizes) > threads.THRESHOLD
    step(op, rows, (0.5, 0.0, 1.0))
    check(op, rows, before, [0.5, 0.0, 1.0], 0.0)


@pytest.mark.parametrize("name", ["adam_step", "rprop_step"])
def test_gradients_of_recorded_steps(name: str) -> None:
    """By finite differences, for all tensors and two of the numbers."""
    op = STEPS[name]
    count, numbers = arrays_and_numbers(op)
    inputs = [ng.from_numpy(a).requires_grad_() for a in drawn(op, (3,), count)]
    two = [ng.tensor(value, dtype=ng.float64, requires_grad=True) for value in numbers[:2]]

    def function(*xs: Any) -> Any:  # of all results together: a kernel is compiled for each set that has gradients
        return sum((result * weight).sum() for weight, result in enumerate(op(*xs, *numbers[2:]), 1))

    assert gradcheck(function, [*inputs, *two], eps=1e-5, atol=1e-7)


def test_what_a_profile_shows() -> None:
    model = ng.nn.Linear(3, 2)
    optimizer = ng.optim.Adam(model.parameters())
    model(ng.ones(1, 3)).sum().backward()
    with ng.profiler.profile() as profile:
        optimizer.step()
        optimizer.zero_grad()
    events = [event.name for event in profile.events()]
    assert [name for name in events if "#" in name] == ["Optimizer.step#Adam.step", "Optimizer.zero_grad#Adam.zero_grad"]
    assert events.count("aten::adam_step_") == 1


def test_a_parameter_that_a_hook_has_saved_is_written() -> None:
    """`allow_mutation_on_saved_tensors` keeps what it was."""
    p = ng.ones(2, requires_grad=True)
    with ng.autograd.graph.allow_mutation_on_saved_tensors():
        y = (p * p).sum()
        p.grad = ng.ones(2)
        ng.optim.SGD([p], lr=0.5).step()
        p.grad = None
        y.backward()
    assert p.tolist() == [0.5, 0.5]
    assert p.grad.tolist() == [2.0, 2.0]


def test_steps_run_as_plain_python() -> None:
    program = (
        "import numgrad as ng; p = ng.ones(2, requires_grad=True); p.grad = ng.ones(2); "
        "ng.optim.Adam([p], lr=0.25, eps=0.0).step(); print(p.tolist())"
    )
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, env=environment)
    assert result.stdout == "[0.75, 0.75]\n", result.stderr
