"""Saving and loading: states of every kind, shared memory, files that are replaced as a whole, and files that do harm."""

from __future__ import annotations

import io
import json
import os
import pickle
import re
import signal
import struct
import subprocess
import sys
import zipfile
from collections import Counter, OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy
from processes import HANG, environment
from simt_runtime import SimulatedRuntime, installed

import numgrad as ng
from numgrad import nn
from numgrad.utils.data import TensorDataset

FORMATS = ["npz", "safetensors"]
DTYPES = [
    ng.float16, ng.bfloat16, ng.float32, ng.float64, ng.complex64, ng.complex128, ng.int8, ng.int16, ng.int32, ng.int64,
    ng.uint8, ng.bool,
]  # fmt: skip

every_format = pytest.mark.parametrize("format", FORMATS)


def saved(state: Any, format: str = "npz") -> bytes:
    file = io.BytesIO()
    ng.save(state, file, format=format)
    return file.getvalue()


def loaded(content: bytes, **options: Any) -> Any:
    return ng.load(io.BytesIO(content), **options)


def again(state: Any, format: str = "npz") -> Any:
    return loaded(saved(state, format))


def assert_same(found: Any, expected: Any) -> None:
    assert (type(found), found.dtype, found.shape, found.requires_grad) == (
        type(expected), expected.dtype, expected.shape, expected.requires_grad,
    )  # fmt: skip
    ng.testing.assert_close(found, expected, rtol=0, atol=0, equal_nan=True)


# ---------------------------------------------------------------------------------------------------- states
class Point(tuple):
    pass


NESTED = {
    "numbers": [None, True, False, 0, -3, 2**63 - 1, 2**200, -(2**64), 1.5, -0.0, 1e-308, float("inf"), 1 - 2j],
    "texts": ["", "ä\n\0", "\ud800", b"", b"\0\xff", bytearray(b"ab")],
    "containers": [[], (), {}, set(), (1, [2, (3,)]), {1, "a"}, frozenset({2.5}), OrderedDict(b=1, a=2), Counter("aab")],
    "keys": {0: "int", 1.5: "float", None: "none", ("a", 1): "tuple", True and "a": 1, "": {"": 2}},
    "ours": [ng.float16, ng.bool, ng.device("cuda:1"), ng.Size([2, 3])],
}


@every_format
@pytest.mark.parametrize("name", NESTED)
def test_nested_states(name, format):
    found = again(NESTED[name], format)
    assert repr(found) == repr(NESTED[name])
    assert found == NESTED[name]


@every_format
def test_numpy_in_states(format):
    values = [
        np.float64(1.5), np.float32(2.5), np.int64(3), np.bool_(True), np.uint16(7), np.complex64(1j),
        np.arange(6).reshape(2, 3), np.arange(6, dtype=np.uint32).reshape(2, 3).T, np.array(2.0), np.zeros((0, 2)),
        np.array([1, 2], dtype=">i4"),
    ]  # fmt: skip
    for found, value in zip(again(values, format), values, strict=True):
        assert type(found) is type(value)
        assert found.dtype == value.dtype
        np.testing.assert_array_equal(found, value)


@every_format
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_tensors_of_every_dtype(dtype, format):
    base = ng.arange(24).reshape(2, 3, 4).to(dtype)
    tensors = {
        "whole": base.clone(), "number": base[1, 2, 3].clone(),
        "empty": ng.empty(2, 0, dtype=dtype), "none": ng.empty(0, dtype=dtype),
        "transposed": base.clone().permute(2, 0, 1), "every other": base.clone()[:, ::2], "part": base.clone()[1],
        "repeated": base[0, 0].clone().expand(5, 4), "channels": base.clone().transpose(1, 2),
    }  # fmt: skip
    found = again(tensors, format)
    for name, tensor in tensors.items():
        assert_same(found[name], tensor)
        if name != "every other":
            assert found[name].stride() == tensor.stride()
    alone = again(tensors["transposed"], format)
    assert_same(alone, tensors["transposed"])


@every_format
def test_special_values(format):
    values = ng.tensor([float("nan"), float("inf"), -float("inf"), -0.0, 1e-45, 3.4e38])
    found = again(values, format)
    assert found.view(ng.int32).tolist() == values.view(ng.int32).tolist()


@every_format
def test_whether_gradients_are_wanted(format):
    leaf = ng.ones(2, requires_grad=True)
    state = {
        "leaf": leaf, "result": leaf * 2, "parameter": nn.Parameter(ng.ones(2)),
        "frozen": nn.Parameter(ng.ones(2), requires_grad=False), "detached": leaf.detach(),
    }  # fmt: skip
    (leaf * leaf).sum().backward()
    found = again(state, format)
    for name, tensor in state.items():
        assert_same(found[name], tensor.detach().requires_grad_() if name == "result" else tensor)
        assert found[name].is_leaf
        assert found[name].grad is None


def test_attributes_of_tensors():
    x = nn.Parameter(ng.ones(2))
    x.sharding = ("a", {"b": 1})
    assert again([x])[0].sharding == ("a", {"b": 1})


# ---------------------------------------------------------------------------------------------------- shared memory
@every_format
def test_shared_memory_is_written_once_and_shared_again(format):
    """Behaviours, row 110: tied weights, views and the whole, in any order."""
    base = ng.arange(10_000, dtype=ng.float64)
    state = {"rows": base[10:9000].reshape(-1, 10), "base": base, "tied": base, "data": base.data, "even": base[::2]}
    content = saved(state, format)
    assert len(content) < 2 * base.nbytes
    found = loaded(content)
    for name, tensor in state.items():
        assert_same(found[name], tensor)
        assert found[name].stride() == tensor.stride()
    version = found["base"]._version
    found["rows"].zero_()
    assert found["base"][10:9000].abs().sum() == 0
    assert found["tied"].data_ptr() == found["base"].data_ptr() == found["data"].data_ptr() == found["even"].data_ptr()
    assert found["base"]._version == version + 1


@every_format
def test_parts_of_a_large_tensor_are_small(format):
    large = ng.zeros(1_000_000)
    assert len(saved([large[5:10]], format)) < 3000
    parts = again([large[5:10], large[7:20]], format)
    parts[0].fill_(1)
    assert parts[1].tolist() == [1.0] * 3 + [0.0] * 10
    assert len(saved([large[5:10], large[7:20]], format)) < 3000


@every_format
def test_views_as_other_dtypes_share(format):
    z = ng.tensor([1 + 2j, 3 + 4j, 5 + 6j])
    x = ng.arange(4.0)
    found = again([z[1:], ng.view_as_real(z), x, x.view(ng.int32)[1:3], x.view(ng.uint8)], format)
    found[1].zero_()
    assert found[0].tolist() == [0, 0]
    found[2].fill_(1)
    assert found[3].tolist() == [0x3F800000] * 2
    assert_same(found[4], ng.ones(4).view(ng.uint8))


@every_format
def test_tied_weights_of_a_model(format, tmp_path):
    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.Linear(4, 4)
            self.second = nn.Linear(4, 4)
            self.second.weight = self.first.weight

    model, other = Tied(), Tied()
    path = tmp_path / f"model.{format}"
    ng.save(model.state_dict(), path)
    state = ng.load(path)
    assert state["first.weight"].data_ptr() == state["second.weight"].data_ptr()
    other.load_state_dict(state)
    assert other.second.weight is other.first.weight
    assert_same(other.second.weight, model.first.weight)


def test_tensors_of_another_device():
    with installed(SimulatedRuntime()):
        weight = ng.arange(12.0).reshape(3, 4).to("cuda")
        content = saved({"weight": weight, "tied": weight, "row": weight[1], "transposed": weight.clone().t()})
        found = loaded(content)
        assert found["row"].device == ng.device("cuda:0")
        assert found["transposed"].cpu().tolist() == weight.cpu().t().tolist()
        here = loaded(content, map_location="cpu")
        assert here["row"].device == ng.device("cpu")
        here["weight"].zero_()
        assert here["row"].tolist() == here["tied"][1].tolist() == [0.0] * 4
        there = loaded(saved(ng.ones(2)), map_location={"cpu": "cuda:0"})
        assert there.device == ng.device("cuda:0")
    with pytest.raises(RuntimeError, match="Attempting to deserialize object on a CUDA device"):
        loaded(content)
    assert loaded(content, map_location=lambda storage, location: storage)["row"].tolist() == [4, 5, 6, 7]
    assert loaded(content, map_location={"cuda:0": "cpu"})["row"].tolist() == [4, 5, 6, 7]
    assert loaded(content, map_location=ng.device("cpu"))["row"].tolist() == [4, 5, 6, 7]


# ---------------------------------------------------------------------------------------------------- scripts
@pytest.mark.parametrize("suffix", ["pt", "pth", "bin", "npz", "safetensors"])
def test_a_training_goes_on_where_it_was(suffix, tmp_path):
    """Model, optimizer, scheduler and generator: the next losses are those of a training that never stopped."""

    def parts() -> Any:
        ng.manual_seed(0)
        model = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1))
        optimizer = ng.optim.Adam(model.parameters(), lr=0.1, amsgrad=False)
        return model, optimizer

    def train(model: Any, optimizer: Any, steps: int) -> list[float]:
        losses = []
        for _ in range(steps):
            x = ng.randn(4, 3)
            loss = ((model(x) - x.sum(1, keepdim=True)) ** 2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses

    path = tmp_path / f"checkpoint.{suffix}"
    model, optimizer = parts()
    train(model, optimizer, 3)
    ng.save(
        {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3, "rng": ng.get_rng_state()}, str(path)
    )
    expected = train(model, optimizer, 3)
    other, other_optimizer = parts()
    checkpoint = ng.load(path, weights_only=True, map_location="cpu")
    assert other.load_state_dict(checkpoint["model"]).missing_keys == []
    other_optimizer.load_state_dict(checkpoint["optimizer"])
    ng.set_rng_state(checkpoint["rng"])
    assert checkpoint["epoch"] == 3
    assert train(other, other_optimizer, 3) == expected
    assert checkpoint["model"]._metadata == model.state_dict()._metadata


def test_files_by_path_and_open_files(tmp_path):
    state = {"x": ng.ones(3)}
    for path in (tmp_path / "a.pt", str(tmp_path / "b.pt"), os.fsencode(tmp_path) and str(tmp_path / "c.safetensors")):
        ng.save(state, path)
        assert ng.load(path)["x"].tolist() == [1, 1, 1]
        assert ng.load(path, mmap=True)["x"].tolist() == [1, 1, 1]
    assert (tmp_path / "c.safetensors").read_bytes()[8:9] == b"{"
    with open(tmp_path / "d", "wb") as file:
        file.write(b"before")
        ng.save(state, file)
    with open(tmp_path / "d", "rb") as file:
        file.seek(6)
        assert ng.load(file)["x"].tolist() == [1, 1, 1]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.pt", "b.pt", "c.safetensors", "d"]
    assert (tmp_path / "a.pt").read_bytes() == (tmp_path / "b.pt").read_bytes()  # a state is always the same file


@every_format
def test_mapped_files(format, tmp_path):
    path = tmp_path / "state"
    state = {"half": ng.ones(3).to(ng.bfloat16), "x": ng.arange(100_000.0), "number": ng.tensor(2), "empty": ng.empty(0)}
    ng.save(state, path, format=format)
    before = path.read_bytes()
    mapped = ng.load(path, mmap=True)
    for name, tensor in state.items():
        assert_same(mapped[name], tensor)
    mapped["x"].add_(1)
    assert mapped["x"][:3].tolist() == [1, 2, 3]
    assert path.read_bytes() == before
    with pytest.raises(ValueError, match="f must be a file path in order to use the mmap argument"):
        ng.load(io.BytesIO(before), mmap=True)


def test_what_cannot_be_saved():
    class Own:
        pass

    model = nn.Linear(2, 2)
    with pytest.raises(TypeError, match=re.escape("the state is a numgrad.nn.")) as caught:
        saved(model)
    assert "Save its state_dict()" in str(caught.value)
    with pytest.raises(TypeError, match=r"'a\.optimizer\.1' in the state is a numgrad.optim.*state_dict"):
        saved({"a": {"optimizer": [1, ng.optim.SGD(model.parameters())]}})
    data = TensorDataset(ng.ones(1))
    for value in (Own(), Own, lambda: 0, Point((1,)), range(3), object(), slice(2), data, np.array(["a"])):
        with pytest.raises(TypeError, match="only pickle can write"):
            saved([value])
    circle: list[Any] = []
    circle.append(circle)
    with pytest.raises(ValueError, match="contains itself"):
        saved(circle)
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(ValueError, match="nested too deeply"):
        saved(deep)
    with pytest.raises(ValueError, match="no pickles"):
        ng.save([], io.BytesIO(), pickle_module=pickle)
    with pytest.raises(RuntimeError, match="explicit pickle_module"):
        ng.load(io.BytesIO(b""), pickle_module=pickle)
    with pytest.raises(ValueError, match="format should be 'npz' or 'safetensors'"):
        ng.save([], io.BytesIO(), format="pickle")


# ---------------------------------------------------------------------------------------------------- replacing
class Stop(Exception):
    pass


@every_format
def test_a_save_that_fails_leaves_the_old_file(format, tmp_path, monkeypatch):
    path = tmp_path / "state"
    ng.save([1], path, format=format)
    with pytest.raises(TypeError):
        ng.save([object()], path, format=format)
    monkeypatch.setattr(os, "fsync", lambda descriptor: (_ for _ in ()).throw(Stop))
    with pytest.raises(Stop):
        ng.save([2], path, format=format)
    assert ng.load(path) == [1]
    assert os.listdir(tmp_path) == ["state"]


KILLED = """
import os, signal, sys
import numgrad as ng
from numgrad.saving import files
written = 0
class Killing:
    def __init__(self, file): self.file = file
    def __getattr__(self, name): return getattr(self.file, name)
    def write(self, content):
        global written
        self.file.write(content)
        written += len(memoryview(content).cast("B")) if not isinstance(content, bytes) else len(content)
        if written > 100_000:
            self.file.flush()
            os.kill(os.getpid(), signal.SIGKILL)
import contextlib, numgrad.serialization as s
whole = files.replacing
@contextlib.contextmanager
def replacing(path):
    with whole(path) as file: yield Killing(file)
s.replacing = replacing
ng.save({"x": [ng.full((50_000,), 2.0) for _ in range(9)]}, sys.argv[1])
"""


@pytest.mark.parametrize("name", ["state.pt", "state.safetensors"])
def test_a_save_that_is_killed_leaves_the_old_file(name, tmp_path):
    path = tmp_path / name
    ng.save({"x": ng.ones(3)}, path)
    done = subprocess.run([sys.executable, "-c", KILLED, str(path)], env=environment(), timeout=HANG)
    assert done.returncode == -signal.SIGKILL
    assert ng.load(path)["x"].tolist() == [1, 1, 1]
    assert len(list(tmp_path.iterdir())) == 2  # what the killed process had written has another name
    ng.save({"x": ng.zeros(3)}, path)
    assert ng.load(path)["x"].tolist() == [0, 0, 0]


def test_modes_links_and_devices(tmp_path):
    path, link = tmp_path / "state", tmp_path / "link"
    ng.save([1], path)
    assert path.stat().st_mode & 0o777 == 0o666 & ~_umask()
    path.chmod(0o640)
    link.symlink_to(path)
    ng.save([2], link)
    assert link.is_symlink()
    assert ng.load(path) == [2]
    assert path.stat().st_mode & 0o777 == 0o640
    ng.save([3], "/dev/null")
    with pytest.raises(RuntimeError, match=r"Parent directory .* does not exist"):
        ng.save([4], tmp_path / "nowhere" / "state")
    with pytest.raises(FileNotFoundError):
        ng.load(tmp_path / "nowhere")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


# ---------------------------------------------------------------------------------------------------- other libraries
def test_numpy_reads_and_writes_npz(tmp_path):
    """Behaviours, row 109: a transposed array is not taken for one in C order, in either direction."""
    state = {"layer.weight": ng.arange(6.0).reshape(2, 3).t(), "ids": ng.arange(3), "half": ng.ones(2, dtype=ng.float16)}
    with np.load(io.BytesIO(saved(state))) as found:
        for name, tensor in state.items():
            np.testing.assert_array_equal(found[name], tensor.numpy())
    arrays = {"f": np.asfortranarray(np.arange(12.0).reshape(3, 4)), "c": np.arange(3), "n": np.float32(2)}
    arrays["b"] = np.array([1, 2], ">i4")
    for write in (np.savez, np.savez_compressed):
        write(tmp_path / "a.npz", **arrays)
        found = ng.load(tmp_path / "a.npz")
        assert list(found) == list(arrays)
        for name, array in arrays.items():
            assert found[name].tolist() == array.tolist()
        assert found["f"].stride() == (1, 3)
    np.savez(tmp_path / "a.npz", np.array([object()], dtype=object))
    with pytest.raises(RuntimeError, match="only numbers are loaded"):
        ng.load(tmp_path / "a.npz")


def test_safetensors_package_reads_and_writes(tmp_path):
    state = {str(dtype): ng.arange(6).reshape(2, 3).to(dtype) for dtype in DTYPES if dtype is not ng.complex128}
    state["transposed"] = ng.arange(6.0).reshape(2, 3).t()
    ng.save(state, tmp_path / "a.safetensors")
    found = safetensors.numpy.load_file(tmp_path / "a.safetensors")
    assert set(found) == set(state)
    for name, tensor in state.items():
        np.testing.assert_array_equal(found[name].astype(complex), tensor.to(ng.complex128).numpy())
    with safetensors.safe_open(tmp_path / "a.safetensors", "np") as file:
        assert file.metadata()["format"] == "pt"
    safetensors.numpy.save_file(found, tmp_path / "b.safetensors", {"note": "theirs"})
    for name, tensor in ng.load(tmp_path / "b.safetensors").items():
        assert tensor.dtype is state[name].dtype
        assert tensor.tolist() == state[name].tolist()


# ---------------------------------------------------------------------------------------------------- damaged files
@every_format
def test_truncated_files(format):
    content = saved({"x": ng.arange(50.0), "y": [1, 2, {"z": ng.ones(2, 2)}]}, format)
    for size in range(1, len(content)):
        with pytest.raises(RuntimeError, match="damaged"):
            loaded(content[:size])
    with pytest.raises(EOFError):
        loaded(b"")


@every_format
def test_changed_files(format):
    """Whatever byte is changed: an error that says so, or a state, but nothing else, and never much memory."""
    content = saved({"x": ng.arange(20.0), "y": [1, {"z": ng.ones(2)}], "t": ng.ones(2, 3).t()}, format)
    g = np.random.default_rng(0)
    for position in range(len(content)):
        changed = bytearray(content)
        changed[position] = g.integers(256)
        try:
            loaded(bytes(changed))
        except RuntimeError as error:
            assert "damaged" in str(error) or "restore data location" in str(error)


def safetensors_file(header: Any, items: bytes = b"", length: int | None = None) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + items


def tensor_facts(**changes: Any) -> dict[str, Any]:
    return {"dtype": "F32", "shape": [2], "data_offsets": [0, 8], **changes}


HOSTILE_SAFETENSORS = {
    "a header longer than the file": safetensors_file({"a": tensor_facts()}, bytes(8), 2**60),
    "no JSON": safetensors_file(b"{nothing", bytes(8)),
    "deep JSON": safetensors_file(b'{"a":' + b"[" * 100_000, bytes(8)),
    "a list": b"\x02" + bytes(7) + b"[]",
    "another dtype": safetensors_file({"a": tensor_facts(dtype="F128")}, bytes(8)),
    "a large shape": safetensors_file({"a": tensor_facts(shape=[2**40, 2**40])}, bytes(8)),
    "a negative shape": safetensors_file({"a": tensor_facts(shape=[-2, -1])}, bytes(8)),
    "a shape of floats": safetensors_file({"a": tensor_facts(shape=[2.0])}, bytes(8)),
    "offsets beyond the end": safetensors_file({"a": tensor_facts(data_offsets=[8, 16])}, bytes(8)),
    "offsets in reverse": safetensors_file({"a": tensor_facts(data_offsets=[8, 0])}, bytes(8)),
    "overlapping tensors": safetensors_file({"a": tensor_facts(), "b": tensor_facts()}, bytes(8)),
    "a name twice": safetensors_file(b'{"a":{},"a":{}}', bytes(8)),
    "bytes that belong to nothing": safetensors_file({"a": tensor_facts()}, bytes(16)),
    "unknown facts": safetensors_file({"a": tensor_facts(more=1)}, bytes(8)),
}


def with_tree(tree: Any, **members: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("numgrad.json", tree if isinstance(tree, str) else json.dumps(tree))
        buffer = io.BytesIO()
        np.save(buffer, np.arange(4.0, dtype=np.float32))
        archive.writestr("x.npy", buffer.getvalue())
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    return file.getvalue()


def npy(header: str, items: bytes = b"") -> bytes:
    text = header.encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + items


def expanding(size: int, method: int) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        archive.writestr("x.npy", npy(f"{{'descr': '|u1', 'fortran_order': False, 'shape': ({size},)}}", bytes(size)))
    return file.getvalue()


HOSTILE_NPZ = {
    "no JSON": with_tree("{"),
    "deep JSON": with_tree("[" * 100_000),
    "an unknown tag": with_tree({"eval": "1"}),
    "an empty object": with_tree({}),
    "a missing entry": with_tree({"tensor": "y"}),
    "an entry by number": with_tree({"tensor": 3}),
    "a view beyond its memory": with_tree({"tensor": "x", "view": [[5], [1], 0]}),
    "a large stride": with_tree({"tensor": "x", "view": [[2], [2**62], 0]}),
    "a negative stride": with_tree({"tensor": "x", "view": [[2], [-1], 2]}),
    "a negative offset": with_tree({"tensor": "x", "view": [[2], [1], -1]}),
    "an offset of no number": with_tree({"tensor": "x", "view": [[2], [1], "a"]}),
    "strides that do not fit": with_tree({"tensor": "x", "strides": [2**40]}),
    "a dtype of objects": with_tree({"array": {"tensor": "x"}, "dtype": "O", "shape": [4]}),
    "an unknown dtype": with_tree({"dtype": "float8"}),
    "an attribute that hides a method": with_tree({"tensor": "x", "attributes": {"dict": {"backward": 1}}}),
    "keys that cannot be": with_tree({"items": [[[1], 2]]}),
    "a class": with_tree({"OrderedDict": [], "attributes": {"tensor": "x"}}),
    "a pickle": with_tree([], y=npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", pickle.dumps(print))),
    "a header that is code": with_tree([], y=npy("__import__('os').system('false')")),
    "a shape that is too large": with_tree([], y=npy("{'descr': '<f4', 'fortran_order': False, 'shape': (10**15,)}")),
    "a negative shape": with_tree([], y=npy("{'descr': '<f4', 'fortran_order': False, 'shape': (-1, -1)}", bytes(4))),
    "a bomb": expanding(1 << 26, zipfile.ZIP_DEFLATED),
    "a worse bomb": expanding(1 << 25, zipfile.ZIP_LZMA),
}  # fmt: skip


HOSTILE = {f"npz: {name}": content for name, content in HOSTILE_NPZ.items()} | HOSTILE_SAFETENSORS


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files(name):
    with pytest.raises(RuntimeError, match="damaged"):
        loaded(HOSTILE[name])


def test_names_of_entries_lead_nowhere(tmp_path, monkeypatch):
    """Nothing is unpacked to files, and what numgrad writes names no place outside a folder."""
    monkeypatch.chdir(tmp_path)
    names = ["../../a", "/b", "c\\..\\d", "", "x\0y", "a", "a.b", "__metadata__"]
    state: dict[str, Any] = {name: ng.ones(length) for length, name in enumerate(names, 1)}
    state["a"] = {"b": ng.ones(6)}
    for format in FORMATS:
        content = saved(state, format)
        found = loaded(content)
        assert [len(x) if isinstance(x, ng.Tensor) else 0 for x in found.values()] == [1, 2, 3, 4, 5, 0, 7, 8]
        assert len(found["a"]["b"]) == 6
    names = zipfile.ZipFile(io.BytesIO(saved(state))).namelist()
    assert all(not name.startswith("/") and ".." not in name.split("/") for name in names)
    assert not list(Path(tmp_path).iterdir())
