"""Fresh processes: what importing numgrad does, and where compiled kernels come from."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

# Runs a few kernels, and says what was compiled and what came from disk.
COUNTING = """
import json, sys, warnings
from numba.core import event
compiled = []
class Listener(event.Listener):
    def on_start(self, e):
        compiled.append(str(e.data["dispatcher"].py_func.__name__))
    def on_end(self, e):
        pass
event.register("numba:compile", Listener())
warnings.simplefilter("always")
with warnings.catch_warnings(record=True) as caught:
    import numgrad as ng
    at_import = len(compiled)
    x = ng.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    y = (x.exp() * x).sum()
    y.backward()
    report = {
        "import": at_import,
        "compiled": compiled,
        "warnings": [f"{w.category.__name__}: {w.message}" for w in caught],
        "grad": x.grad.tolist(),
    }
print(json.dumps(report))
"""
GRAD = [[5.43656, 22.16717], [80.34215, 272.99075]]  # exp(x) * (x + 1)


def run(code: str, **environment: str | None) -> subprocess.CompletedProcess[str]:
    """A fresh interpreter; None takes a variable out of its environment."""
    full = {**os.environ, **{k: v for k, v in environment.items() if v is not None}}
    for name in [name for name, value in environment.items() if value is None]:
        full.pop(name, None)
    return subprocess.run([sys.executable, "-c", code], env=full, capture_output=True, text=True, check=False)


def count(**environment: str | None) -> dict:
    done = run(COUNTING, **environment)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout.splitlines()[-1])
    for row, expected in zip(report["grad"], GRAD, strict=True):
        assert row == pytest.approx(expected, rel=1e-6)
    return report


def entries(place: Path) -> dict[str, int]:
    """The files of a cache directory, and when they were written."""
    files = [p for p in place.rglob("*") if p.suffix in (".py", ".nbi", ".nbc")]
    return {str(p.relative_to(place)): p.stat().st_mtime_ns for p in files}


@pytest.fixture(scope="module")
def warm(tmp_path_factory) -> Path:
    """A cache directory that one process has filled."""
    place = tmp_path_factory.mktemp("cache")
    report = count(NUMGRAD_CACHE_DIR=str(place))
    assert report["import"] == 0, "nothing is compiled at import"
    assert report["compiled"]
    assert report["warnings"] == []
    return place


def test_a_second_process_compiles_nothing_and_writes_nothing(warm):
    before = entries(warm)
    assert before
    report = count(NUMGRAD_CACHE_DIR=str(warm))
    assert report["compiled"] == []
    assert report["warnings"] == []
    assert entries(warm) == before


def test_import_makes_no_directory(tmp_path):
    place = tmp_path / "cache"
    done = run("import numgrad; print(numgrad.zeros(2) is not None)", NUMGRAD_CACHE_DIR=str(place))
    assert done.returncode == 0, done.stderr
    assert not place.exists()


def test_import_loads_neither_torch_nor_the_cuda_kernels(tmp_path):
    done = run("import sys, numgrad; print(sorted(m for m in ('torch', 'scipy', 'matplotlib') if m in sys.modules))")
    assert done.stdout.strip() == "[]", done.stderr


def half(data: bytes) -> bytes:
    return data[: len(data) // 2]


def nothing(data: bytes) -> bytes:
    return b""


def noise(data: bytes) -> bytes:
    return b"x" * len(data)


@pytest.mark.parametrize(("suffix", "damage"), [(".nbi", half), (".nbi", nothing), (".nbc", half), (".nbc", noise)])
def test_a_damaged_entry_is_compiled_again_with_one_warning(warm, tmp_path, suffix, damage):
    place = tmp_path / "cache"
    shutil.copytree(warm, place)  # keeps the times of the module files, by which Numba knows its entries
    victim = sorted(place.rglob(f"*{suffix}"))[0]
    victim.write_bytes(damage(victim.read_bytes()))
    report = count(NUMGRAD_CACHE_DIR=str(place))
    assert len(report["warnings"]) == 1
    assert report["warnings"][0].startswith("RuntimeWarning: numgrad: a damaged kernel cache entry was discarded")
    again = count(NUMGRAD_CACHE_DIR=str(place))
    assert again["compiled"] == []
    assert again["warnings"] == []


def test_an_edited_module_is_written_again(warm, tmp_path):
    """A generated file that does not hold the text of its name is never run."""
    place = tmp_path / "cache"
    shutil.copytree(warm, place)
    for module in place.rglob("_numgrad_kernel_*.py"):
        module.write_text("raise SystemExit('an edited file was run')\n")
    count(NUMGRAD_CACHE_DIR=str(place))
    assert not any("SystemExit" in module.read_text() for module in place.rglob("_numgrad_kernel_*.py"))


def test_without_a_home_kernels_are_temporary(tmp_path):
    report = count(NUMGRAD_CACHE_DIR=None, XDG_CACHE_HOME=None, HOME="/", TMPDIR=str(tmp_path))
    assert len(report["warnings"]) == 1
    assert "RuntimeWarning: numgrad: compiled kernels are kept in a temporary directory" in report["warnings"][0]
    assert list(tmp_path.glob("numgrad-*")) == [], "the temporary directory goes with its process"


def test_an_unset_home_is_looked_up(tmp_path):
    """Without HOME the user's entry in the password file says where home is; wherever that leads, kernels run."""
    done = run("import numgrad", NUMGRAD_CACHE_DIR=None, XDG_CACHE_HOME=None, HOME=None)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("problem", ["a file is in the way", "others may write"])
def test_an_unusable_place_falls_back_with_one_warning(tmp_path, problem):
    place = tmp_path / "cache"
    if problem == "a file is in the way":  # no process may make a directory there, root neither
        place.write_text("")
    else:
        run("from numgrad.kernels import cache; cache.directory().chmod(0o777)", NUMGRAD_CACHE_DIR=str(place))
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    report = count(NUMGRAD_CACHE_DIR=str(place), TMPDIR=str(temporary))
    assert len(report["warnings"]) == 1
    assert "RuntimeWarning: numgrad: compiled kernels are kept in a temporary directory" in report["warnings"][0]
    assert "NUMGRAD_CACHE_DIR" in report["warnings"][0]


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() == 0, reason="root may write anywhere")
def test_a_read_only_place_falls_back_with_one_warning(tmp_path):
    tmp_path.chmod(0o500)
    try:
        report = count(NUMGRAD_CACHE_DIR=str(tmp_path / "cache"))
    finally:
        tmp_path.chmod(0o700)
    assert len(report["warnings"]) == 1


def test_the_cache_is_private(warm):
    for directory in warm.iterdir():
        assert directory.stat().st_mode & 0o777 == 0o700


def test_cold_processes_at_once_all_succeed(tmp_path):
    """They write the same files at the same time."""
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", COUNTING],
            env={**os.environ, "NUMGRAD_CACHE_DIR": str(tmp_path)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    for process in processes:
        out, error = process.communicate()
        assert process.returncode == 0, error
        assert json.loads(out.splitlines()[-1])["warnings"] == []
    assert count(NUMGRAD_CACHE_DIR=str(tmp_path))["compiled"] == []
