"""Files of PyTorch's: states that `torch.save` wrote are read here, and what PyTorch refuses is refused, too."""

from __future__ import annotations

import collections
import contextlib
import datetime
import io
import os
import pickle
import re
import warnings
import zipfile
from collections import OrderedDict
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import safetensors.torch  # noqa: E402  # needs PyTorch

import numgrad as ng  # noqa: E402

FORMATS = {"zip": True, "legacy": False}
every_format = pytest.mark.parametrize("is_zip", FORMATS.values(), ids=FORMATS)
NAMES = [str(dtype).removeprefix("torch.") for dtype in (
    ng.float16, ng.bfloat16, ng.float32, ng.float64, ng.complex64, ng.complex128, ng.int8, ng.int16, ng.int32, ng.int64, ng.uint8,
    ng.bool,
)]  # fmt: skip


def saved(state: Any, is_zip: bool = True, **options: Any) -> bytes:
    file = io.BytesIO()
    torch.save(state, file, _use_new_zipfile_serialization=is_zip, **options)
    return file.getvalue()


def loaded(content: bytes, **options: Any) -> Any:
    return ng.load(io.BytesIO(content), **options)


def assert_same(found: Any, expected: Any) -> None:
    """A value that was read here, and PyTorch's."""
    if isinstance(expected, torch.Tensor):
        assert type(found).__name__ == type(expected).__name__
        assert (repr(found.dtype), tuple(found.shape), found.stride(), found.storage_offset(), found.requires_grad) == (
            repr(expected.dtype), tuple(expected.shape), expected.stride(), expected.storage_offset(), expected.requires_grad,
        )  # fmt: skip
        np.testing.assert_array_equal(found.tolist(), expected.tolist())
    elif isinstance(expected, dict):
        assert (type(found), list(found)) == (type(expected), list(expected))
        for name, value in expected.items():
            assert_same(found[name], value)
    elif isinstance(expected, list | tuple) and not isinstance(expected, torch.Size):
        assert (type(found), len(found)) == (type(expected), len(expected))
        for one, other in zip(found, expected, strict=True):
            assert_same(one, other)
    else:
        assert repr(found) == repr(expected)


@every_format
@pytest.mark.parametrize("name", NAMES)
def test_tensors(name, is_zip):
    x = torch.arange(24).reshape(2, 3, 4).to(getattr(torch, name))
    state = {
        "whole": x, "view": x[1, :, ::2], "transposed": x.permute(2, 0, 1), "number": x[1, 2, 3], "empty": x[:0],
        "expanded": x[0].expand(5, 3, 4), "own": x.clone()[1],
    }  # fmt: skip
    if x.is_floating_point():
        leaf = x.clone().requires_grad_()
        state |= {"leaf": leaf, "parameter": torch.nn.Parameter(x.clone()), "result": leaf * 2}
    found = loaded(saved(state, is_zip))
    assert_same(found, state)
    found["whole"].zero_()
    assert not found["view"].any()
    assert found["own"].any()


@every_format
def test_containers(is_zip):
    state = [
        None, True, False, 0, -1, 255, 70_000, -(2**31), 2**40, 2**200, 1.5, float("inf"), 1 + 2j, "text ä", "", b"", b"\0\xff", bytearray(b"ab"),
        [], {}, (), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4), {1, 2}, {"a": [1, {"b": (2,)}]}, {1: 2, (1, "a"): 3}, OrderedDict(a=1),
        collections.Counter("aab"), torch.Size([2, 3]), torch.device("cpu"), torch.device("cuda:1"), torch.float32, torch.bool, set(),
    ]  # fmt: skip
    shared = [1]
    state += [shared, shared]
    found = loaded(saved(state, is_zip))
    assert_same(found, state)
    assert found[-1] is found[-2]


def models() -> dict[str, Any]:
    torch.manual_seed(0)
    nn = torch.nn
    return {
        "mlp": nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)),
        "norms": nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2)),
        "lstm": nn.LSTM(3, 5, 2),
        "half": nn.Linear(3, 3).to(torch.bfloat16),
    }


@every_format
@pytest.mark.parametrize("name", models())
def test_state_dicts_of_models(name, is_zip):
    state = models()[name].state_dict()
    found = loaded(saved(state, is_zip), weights_only=True, map_location="cpu")
    assert_same(found, state)
    assert found._metadata == state._metadata


@every_format
@pytest.mark.parametrize("name", ["SGD", "Adam"])
def test_a_training_goes_on_here(name, is_zip):
    """Three steps in PyTorch, saved, and three more in either library."""

    def parts(library: Any) -> Any:
        model = library.nn.Sequential(library.nn.Linear(3, 4), library.nn.ReLU(), library.nn.Linear(4, 1)).double()
        options = {"momentum": 0.9} if name == "SGD" else {"betas": (0.8, 0.9)}
        return model, getattr(library.optim, name)(model.parameters(), lr=0.05, **options)

    def train(library: Any, model: Any, optimizer: Any) -> list[float]:
        losses = []
        for step in range(3):
            x = library.tensor(np.random.RandomState(step).randn(5, 3))
            loss = ((model(x) - x.sum(1, keepdim=True)) ** 2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses

    torch.manual_seed(0)
    theirs, ours = parts(torch), parts(ng)
    train(torch, *theirs)
    checkpoint = loaded(saved({"model": theirs[0].state_dict(), "optimizer": theirs[1].state_dict()}, is_zip))
    ours[0].load_state_dict(checkpoint["model"])
    ours[1].load_state_dict(checkpoint["optimizer"])
    assert train(ng, *ours) == pytest.approx(train(torch, *theirs), rel=1e-12)


SCHEDULERS: dict[str, dict[str, Any]] = {
    "StepLR": {"step_size": 2}, "MultiStepLR": {"milestones": [2, 4, 4]}, "ExponentialLR": {"gamma": 0.9}, "LinearLR": {},
    "CosineAnnealingLR": {"T_max": 5}, "OneCycleLR": {"max_lr": 1.0, "total_steps": 20}, "LambdaLR": {"lr_lambda": lambda e: 0.9**e},
    "ReduceLROnPlateau": {"patience": 0},
}  # fmt: skip


@pytest.mark.parametrize("name", SCHEDULERS)
def test_states_of_schedulers(name):
    """Of both libraries, after some steps: what is read is what was saved."""
    for library in (torch, ng):
        optimizer = library.optim.SGD([library.nn.Parameter(library.ones(2))], lr=0.1, momentum=0.9)
        scheduler = getattr(library.optim.lr_scheduler, name)(optimizer, **SCHEDULERS[name])
        for _ in range(3):
            optimizer.step()
            scheduler.step(*[1.0] * (name == "ReduceLROnPlateau"))
        state = scheduler.state_dict()
        file = io.BytesIO()
        library.save(state, file)
        found = loaded(file.getvalue())
        assert repr(found) == repr(state)
        scheduler.load_state_dict(found)
        assert repr(scheduler.state_dict()) == repr(state)


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta", "LBFGS"])
def test_states_of_optimizers(name):
    """Saved by either library after a step, loaded here, and saved again."""
    states = []
    for library in (torch, ng):
        p = library.nn.Parameter(library.arange(3.0))
        optimizer = getattr(library.optim, name)([p], lr=0.1)

        def closure(library: Any = library, p: Any = p, optimizer: Any = optimizer) -> Any:
            optimizer.zero_grad()
            loss = (p * p).sum()
            loss.backward()
            return loss

        optimizer.step(closure)
        file = io.BytesIO()
        library.save(optimizer.state_dict(), file)
        states.append(loaded(file.getvalue()))
        assert repr(states[-1]) == repr(optimizer.state_dict())
    again = getattr(ng.optim, name)([ng.nn.Parameter(ng.ones(3))], lr=0.2)
    again.load_state_dict(states[0])
    assert again.param_groups[0]["lr"] == 0.1
    for key, value in again.state_dict()["state"].get(0, {}).items():
        assert repr(value) == repr(states[0]["state"][0][key]), key


def test_parameters_with_attributes_and_tied_weights():
    weight = torch.nn.Parameter(torch.ones(2))
    weight.note = {"a": 1}
    x = torch.zeros(3)
    x.mark = "here"
    found = loaded(saved([weight, weight, weight.detach(), x]))
    assert found[0].note == {"a": 1}
    assert found[0] is found[1]
    assert found[3].mark == "here"
    assert found[2].data_ptr() == found[0].data_ptr()


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_protocols_of_pickles(protocol):
    state = {"x": torch.arange(3), "y": [1, b"ab", {2}, frozenset({3}), "t" * 300, bytearray(b"c"), 2**70, (1,) * 5]}
    assert_same(loaded(saved(state, pickle_protocol=protocol)), state)


def test_mapped_files(tmp_path):
    state = {"x": torch.arange(1000.0), "y": torch.ones(3, dtype=torch.bfloat16)}
    torch.save(state, tmp_path / "a.pt")
    before = (tmp_path / "a.pt").read_bytes()
    found = ng.load(tmp_path / "a.pt", mmap=True)
    assert_same(found, state)
    found["x"].zero_()
    assert (tmp_path / "a.pt").read_bytes() == before


def test_safetensors_in_both_directions(tmp_path):
    state = {name: torch.arange(6).reshape(2, 3).to(getattr(torch, name)) for name in NAMES if name != "complex128"}
    safetensors.torch.save_file(state, tmp_path / "a.safetensors", {"note": "theirs"})
    ours = ng.load(tmp_path / "a.safetensors")
    assert_same({name: ours[name] for name in state}, state)
    ng.save(ours, tmp_path / "b.safetensors")
    again = safetensors.torch.load_file(tmp_path / "b.safetensors")
    assert {name: again[name].tolist() for name in state} == {name: x.tolist() for name, x in state.items()}
    assert all(again[name].dtype == x.dtype for name, x in state.items())


# ---------------------------------------------------------------------------------------------------- refusals
class Runs:
    """What runs code when it is unpickled."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        self.call = function, arguments

    def __reduce__(self) -> Any:
        return self.call


class Sets:
    """Whose attributes are set when it is unpickled."""

    def __reduce__(self) -> Any:
        return collections.Counter, (), (None, {"update": len})


def typed_storage(x: Any) -> Any:
    """A tensor's storage as pickles name it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return x.storage()


HARMFUL = {
    "a shell": Runs(os.system, "touch harm"),
    "eval": Runs(eval, "open('harm', 'w')"),
    "a module": torch.nn.Linear(2, 2),
    "an optimizer": torch.optim.SGD([torch.zeros(1)]),
    "getattr": Runs(getattr, "text", "upper"),
    "an import": Runs(__import__, "os"),
    "an array": np.ones(3),
    "a date": datetime.date(2020, 1, 1),
    "memory": Runs(bytearray, 1 << 40),
    "attributes of a class": Sets(),
    "a class": collections.Counter,
    "an own class": Runs(Runs, print),
    "a tensor of nothing": Runs(torch._utils._rebuild_tensor_v2, 1, 0, (1,), (1,), False, None),
    "a view beyond its memory": Runs(torch._utils._rebuild_tensor_v2, typed_storage(torch.zeros(2)), 0, (10**9,), (1,), False, None),
    "a negative stride": Runs(torch._utils._rebuild_tensor_v2, typed_storage(torch.zeros(9)), 5, (2,), (-3,), False, None),
    "a negative offset": Runs(torch._utils._rebuild_tensor_v2, typed_storage(torch.zeros(9)), -1, (2,), (1,), False, None),
}


@every_format
@pytest.mark.parametrize("name", HARMFUL)
def test_harmful_files_are_refused(name, is_zip, tmp_path, monkeypatch):
    """PyTorch refuses most of these also, with `weights_only`. Nothing is called."""
    monkeypatch.chdir(tmp_path)
    content = saved({"x": torch.ones(2), "y": HARMFUL[name]}, is_zip)
    for weights_only in (None, True, False):
        with pytest.raises(pickle.UnpicklingError, match="holds more than tensors"):
            loaded(content, weights_only=weights_only)
    assert os.listdir(tmp_path) == []
    assert collections.Counter.update is not len


@pytest.mark.parametrize("content", [b"cos\nsystem\n(S'touch harm'\ntR.", pickle.dumps(print), pickle.dumps(Runs(os.getpid))])
def test_plain_pickles_are_refused(content, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises((pickle.UnpicklingError, RuntimeError)):
        loaded(content)
    with pytest.raises(RuntimeError, match=re.escape("Invalid magic number; corrupt file?")):
        loaded(pickle.dumps([1, 2], 2))
    assert os.listdir(tmp_path) == []


@every_format
def test_truncated_files(is_zip):
    content = saved({"x": torch.arange(50.0), "y": torch.ones(2, 2)}, is_zip)
    for size in range(1, len(content), 7 if is_zip else 1):
        with pytest.raises((RuntimeError, pickle.UnpicklingError)):
            loaded(content[:size])


@every_format
def test_changed_files(is_zip):
    content = saved({"x": torch.arange(20.0), "y": [1, {"z": torch.ones(2)}]}, is_zip)
    g = np.random.default_rng(0)
    for position in range(0, len(content), 3):
        changed = bytearray(content)
        changed[position] = g.integers(256)
        with contextlib.suppress(RuntimeError, pickle.UnpicklingError):
            loaded(bytes(changed))


def rewritten(content: bytes, **members: bytes) -> bytes:
    """An archive with other content in some members."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(file, "w") as new:
        for name in old.namelist():
            new.writestr(name, members.get(name.split("/", 1)[1].replace("/", "_"), old.read(name)))
    return file.getvalue()


def test_archives_that_contradict_themselves():
    content = saved({"x": torch.arange(20.0)})
    assert loaded(rewritten(content))["x"].sum() == 190
    for members in ({"data_0": bytes(8)}, {"byteorder": b"big"}, {"data_0": bytes(81)}):
        with pytest.raises(RuntimeError, match="damaged"):
            loaded(rewritten(content, **members))


def test_errors_of_arguments(tmp_path):
    """As PyTorch's."""
    content = saved([torch.ones(1)])
    cases = {
        "torch.load(io.BytesIO(content), pickle_module=pickle, weights_only=True)",
        "torch.load(io.BytesIO(content), mmap=True)",
        "torch.load(io.BytesIO(content), map_location='cuda')",
        "torch.load(io.BytesIO(content), map_location='abc')",
        "torch.load('/nonexistent/x.pt')",
        "torch.save([], '/nonexistent/x.pt')",
        "torch.save([], 5)",
        "torch.load(5)",
        "torch.load(io.BytesIO(content), map_location=lambda storage, location: storage)[0].device",
        "torch.load(io.BytesIO(content), map_location=lambda storage, location: None)[0].device",
    }
    for case in cases:
        texts = []
        for library in (ng, torch):
            try:
                texts.append(repr(eval(case, {"torch": library, "io": io, "pickle": pickle, "content": content})))
            except Exception as error:
                texts.append(f"{type(error).__name__}: {error}")
        assert texts[0] == texts[1], case
