"""PyTorch's own table of optimizers, run in both libraries: six steps of every input, resumed in the middle, each
library's state in the other, and what its wrong inputs raise."""

from __future__ import annotations

import copy
import re
import warnings
from types import ModuleType
from typing import Any

import pytest

import numgrad

torch = pytest.importorskip("torch")
common_optimizers = pytest.importorskip("torch.testing._internal.common_optimizers")

STEPS = 6
START = ([[1.0, -2.0, 0.5], [0.25, 3.0, -0.125]], [[0.75, -1.5]])
INFOS = {info.name: info for info in common_optimizers.optim_db}
CASES = [
    (name, case)
    for name, info in INFOS.items()
    if name != "SparseAdam"  # its gradients are sparse
    for case in info.optim_inputs_func(device="cpu")
]
TOLERANCE = {"float64": 1e-12, "float32": 2e-5}


def converted(value: Any, known: dict[int, Any] | None = None) -> Any:
    """PyTorch's tensors as numgrad's, with their gradients; one that is there twice stays one."""
    known = {} if known is None else known
    if isinstance(value, torch.Tensor):
        if id(value) not in known:
            known[id(value)] = _converted_tensor(value)
        return known[id(value)]
    if isinstance(value, dict):
        return {key: converted(v, known) for key, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(converted(v, known) for v in value)
    return value


def _converted_tensor(value: Any) -> Any:
    made = numgrad.tensor(value.detach().numpy().copy()).requires_grad_(value.requires_grad)
    if isinstance(value, torch.nn.Parameter):
        made = numgrad.nn.Parameter(made)
    if value.grad is not None:
        made.grad = numgrad.tensor(value.grad.numpy().copy())
    return made


def backed(value: Any) -> Any:
    """numgrad's tensors as PyTorch's."""
    if isinstance(value, numgrad.Tensor):
        return torch.tensor(value.detach().numpy().copy())
    if isinstance(value, dict):
        return {key: backed(v) for key, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(backed(v) for v in value)
    return value


def leaves(library: ModuleType, dtype: str) -> list[Any]:
    return [library.tensor(values, dtype=getattr(library, dtype), requires_grad=True) for values in START]


def made(library: ModuleType, name: str, params: list[Any], kwargs: dict[str, Any]) -> Any:
    kwargs = kwargs if library is torch else converted(kwargs)
    return getattr(library.optim, name)(params, **copy.deepcopy(kwargs))


def train(params: list[Any], optimizer: Any, steps: int) -> list[list[float]]:
    """The parameters after each step."""
    seen = []

    def closure() -> Any:
        optimizer.zero_grad()
        loss = (params[0] ** 4).sum() * 0.1 + (params[0].sum() * (params[1] ** 3).sum()) * 0.1 + (params[1] ** 2).sum()
        loss.backward()
        return loss

    for _ in range(steps):
        optimizer.step(closure)
        seen.append([x for p in params for x in p.detach().double().reshape(-1).tolist()])
    return seen


def close(ours: Any, theirs: Any, tolerance: float) -> None:
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        assert a == pytest.approx(b, rel=tolerance, abs=tolerance)


def ids(case: Any) -> str:
    return case if isinstance(case, str) else case.desc


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize(("name", "case"), CASES, ids=ids)
def test_six_steps(name: str, case: Any, dtype: str) -> None:
    tolerance = 2e-2 if name == "Muon" else TOLERANCE[dtype]  # Muon computes in bfloat16
    results, optimizers = [], []
    for library in (numgrad, torch):
        params = leaves(library, dtype)
        optimizers.append(made(library, name, params, case.kwargs))
        results.append(train(params, optimizers[-1], STEPS))
    close(*results, tolerance)
    ours, theirs = (optimizer.state_dict() for optimizer in optimizers)
    assert repr(optimizers[0]) == repr(optimizers[1])
    assert [list(group) for group in ours["param_groups"]] == [list(group) for group in theirs["param_groups"]]
    assert list(ours["state"]) == list(theirs["state"])
    for number, values in theirs["state"].items():
        assert set(ours["state"][number]) == set(values)
        for key, value in values.items():
            if isinstance(value, torch.Tensor):
                found = ours["state"][number][key]
                assert str(found.dtype) == str(value.dtype)
                assert tuple(found.shape) == tuple(value.shape)
                flat, wanted = (x.double().reshape(-1).tolist() for x in (found, value))
                assert flat == pytest.approx(wanted, rel=10 * tolerance, abs=10 * tolerance)


@pytest.mark.parametrize("origin", ["numgrad", "torch"])
@pytest.mark.parametrize(("name", "case"), [c for c in CASES if c[0] != "Muon"], ids=ids)
def test_each_library_goes_on_from_the_state_of_the_other(name: str, case: Any, origin: str) -> None:
    whole = leaves(torch, "float64")
    expected = train(whole, made(torch, name, whole, case.kwargs), STEPS)[3:]
    first, second = (numgrad, torch) if origin == "numgrad" else (torch, numgrad)
    if second is torch:  # it casts some numbers to the parameters' dtype, and so goes on a little otherwise
        expected = resumed(name, case, torch, torch)
    close(resumed(name, case, first, second), expected, 1e-12)


@pytest.mark.parametrize("name", ["NAdam", "ASGD", "Adam", "LBFGS", "Adafactor", "Muon"])
def test_going_on_is_exact(name: str) -> None:
    case = next(case for n, case in CASES if n == name)
    whole = leaves(numgrad, "float64")
    expected = train(whole, made(numgrad, name, whole, case.kwargs), STEPS)[3:]
    assert resumed(name, case, numgrad, numgrad) == expected


def resumed(name: str, case: Any, first: ModuleType, second: ModuleType) -> list[list[float]]:
    """Three steps in one library, then three in another."""
    params = leaves(first, "float64")
    optimizer = made(first, name, params, case.kwargs)
    train(params, optimizer, 3)
    change = (lambda x: x) if first is second else backed if first is numgrad else converted
    others = [change(p.detach().clone()).requires_grad_() for p in params]
    following = getattr(second.optim, name)(others)
    following.load_state_dict(change(copy.deepcopy(optimizer.state_dict())))
    return train(others, following, 3)


@pytest.mark.parametrize("name", [n for n, info in INFOS.items() if info.supports_complex and n != "SparseAdam"])
def test_complex_parameters(name: str) -> None:
    """Behaviour 94: as PyTorch's, which are those of the two real numbers."""
    results = []
    for library in (numgrad, torch):
        p = library.tensor([1 + 2j, -0.5 + 0.25j], dtype=library.complex128, requires_grad=True)
        optimizer = getattr(library.optim, name)([p])

        def closure(optimizer: Any = optimizer, p: Any = p) -> Any:
            optimizer.zero_grad()
            loss = ((p - (0.3 - 0.1j)).abs() ** 2).sum() + (p.real * p.imag).sum()
            loss.backward()
            return loss

        for _ in range(4):
            optimizer.step(closure)
        results.append([part for z in p.tolist() for part in (z.real, z.imag)])
    assert results[0] == pytest.approx(results[1], rel=1e-11, abs=1e-12)


ERRORS = [
    (name, error)
    for name, info in INFOS.items()
    for error in info.optim_error_inputs_func("cpu", torch.float32)
    if error.error_regex != "SparseAdam requires dense parameter tensors"  # there are no sparse tensors to give it
]


def outcome(library: ModuleType, name: str, error: Any) -> str:
    given = error.optimizer_error_input
    params, kwargs = (given.params, given.kwargs) if library is torch else converted((given.params, given.kwargs))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            optimizer = getattr(library.optim, name)(params, **kwargs)
            optimizer.step()
        except (Exception, UserWarning) as caught:
            return f"{type(caught).__name__}: {caught}"
    return "nothing"


def copied(error: Any) -> Any:
    """Constructors write into the groups that they are given."""
    found = copy.copy(error)
    found.optimizer_error_input = copy.copy(error.optimizer_error_input)
    params = found.optimizer_error_input.params
    if isinstance(params, list):
        params = [dict(group) if isinstance(group, dict) else group for group in params]
        found.optimizer_error_input.params = params
    return found


@pytest.mark.parametrize(
    ("name", "error"), ERRORS, ids=[re.sub(r"\W+", "-", f"{n} {e.error_regex}") for n, e in ERRORS]
)
def test_wrong_inputs(name: str, error: Any) -> None:
    ours, theirs = (outcome(library, name, copied(error)) for library in (numgrad, torch))
    assert ours == theirs
    assert ours.startswith(error.error_type.__name__)
