"""Compiled kernels on disk: what is found again, what is never trusted, and what happens where nothing can be kept."""

from __future__ import annotations

import errno
import os
import pickle
import shutil
import signal
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from kernel_cache import (
    NO_PLACE,
    NOT_KEPT,
    REPAIRED,
    compiled,
    constant,
    empty_place,
    files,
    forget,
    modes,
    one_warning,
)
from processes import COUNTING, HANG, MODES_HOLD, checked, count, environment, obey_modes, output, run

from numgrad.kernels import cache
from numgrad.kernels.cache import entries, place


@pytest.fixture
def root(tmp_path, monkeypatch):
    with empty_place(tmp_path, monkeypatch) as found:
        yield found


@pytest.fixture
def compilations(monkeypatch) -> list[str]:
    """The texts that are compiled from here on."""
    texts = []
    original = cache._run
    monkeypatch.setattr(cache, "_run", lambda name, text: texts.append(text) or original(name, text))
    return texts


# ---------------------------------------------------------------------------------------------------- found again
@pytest.fixture(scope="module")
def warm(tmp_path_factory) -> Path:
    """A place that one process has filled."""
    root = tmp_path_factory.mktemp("cache")
    report = count(NUMGRAD_CACHE_DIR=str(root))
    assert report["import"] == 0, "nothing is compiled at import"
    assert report["compiled"]
    assert report["warnings"] == []
    return root


def test_a_second_process_compiles_nothing_and_writes_nothing(warm):
    before = files(warm, "")
    report = count(NUMGRAD_CACHE_DIR=str(warm))
    assert (report["compiled"], report["warnings"]) == ([], [])
    assert files(warm, "") == before


HELPER = """
import numpy as np
from helper import scale
from numgrad.kernels import cpu, lower
def scaled(x):
    return scale(x) + 1
x, out = cpu.from_host(np.array([1.0, 2.0])), cpu.from_host(np.empty(2))
cpu.map(lower.lower(scaled), np.dtype(np.float64), [x], [out])
print(out.ndarray.tolist())
"""


def test_a_helper_in_another_file_is_edited_between_two_processes(tmp_path):
    """Numba's own cache looks at the file of the kernel alone, and would give the old result."""
    (tmp_path / "program.py").write_text(HELPER)
    for factor, expected in ((3, "[4.0, 7.0]\n"), (5, "[6.0, 11.0]\n"), (3, "[4.0, 7.0]\n")):
        (tmp_path / "helper.py").write_text(f"def scale(x):\n    return x * {factor}\n")
        os.utime(tmp_path / "helper.py", (0, 0))  # neither time nor size of the file tells the two apart
        code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import program"
        # Python's own bytecode would be the old one's: it goes by time and size.
        assert output(code, NUMGRAD_CACHE_DIR=str(tmp_path / "cache"), PYTHONDONTWRITEBYTECODE="1") == expected
    assert len(files(tmp_path / "cache")) == 2


def test_two_kernels_of_one_name_with_different_constants(root, compilations):
    for _ in range(2):  # in one process, and across two
        assert [compiled(value)(1) for value in (5, 7)] == [6, 8]
        assert [compiled(value)(1) for value in (5, 7)] == [6, 8]
        forget()
    assert compilations == [constant(5), constant(7)]


def test_two_signatures_of_one_text(root, compilations):
    from numba import types

    for _ in range(2):
        found = [cache.compiled(constant(1), "kernel", (t,))(2.5) for t in (types.float64, types.int64)]
        assert found == [3.5, 3]
        forget()
    assert len(compilations) == 2


def test_numbers_and_shapes_are_no_part_of_a_kernel(root, compilations):
    """One kernel for each dtype: a learning rate or a batch size that varies compiles nothing."""
    import numgrad as ng

    op, dtype = ng.kernels.OPS["mul"], np.dtype(np.float32)
    for shape in ((3,), (2, 5), (1,), (4, 3, 2)):
        for number in (2.0, 0.5, -7.25):
            out = ng.kernels.cpu.empty(shape, dtype)
            ng.kernels.cpu.map(op.scalar, dtype, [ng.kernels.cpu.from_host(np.ones(shape, dtype)), number], [out])
            assert (out.ndarray == number).all()
    assert len(compilations) <= 1


def test_a_kernel_with_addresses_of_this_process_is_not_kept(root):
    from numba import types

    text = "import ctypes\nfrom numba import njit\nabs_ = ctypes.CDLL(None).abs\n"
    text += "abs_.argtypes, abs_.restype = (ctypes.c_int,), ctypes.c_int\n@njit\ndef kernel(x):\n    return abs_(x)\n"
    assert cache.compiled(text, "kernel", (types.int32,))(-3) == 3
    assert files(root) == {}


def test_an_error_of_the_compiler_leaves_nothing_behind(root):
    from numba import types
    from numba.core.errors import TypingError

    text = "from numba import njit\n@njit\ndef kernel(x):\n    return x + 'a'\n"
    for _ in range(2):
        with pytest.raises(TypingError):
            cache.compiled(text, "kernel", (types.int64,))
    with pytest.raises(ZeroDivisionError):
        cache.compiled("1 / 0", "kernel", ())
    assert files(root) == {}
    assert compiled(1)(1) == 2


# ---------------------------------------------------------------------------------------------------- damaged entries
def flipped(data: bytes, _: bytes) -> bytes:
    """One bit of the machine code."""
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]


DAMAGES = {
    "truncated": lambda data, other: data[: len(data) // 2],
    "empty": lambda data, other: b"",
    "noise": lambda data, other: b"x" * len(data),
    "longer": lambda data, other: data + b"\0",
    "one bit": flipped,
    "of another kernel": lambda data, other: other,
    "another pickle": lambda data, other: pickle.dumps({"a": 1}),
    "of another format": lambda data, other: data.replace(b"kernel 1", b"kernel 0", 1),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_a_damaged_entry_is_compiled_again_with_one_warning(root, compilations, damage):
    compiled(5)
    (path,) = root.rglob(f"*{entries.SUFFIX}")
    compiled(7)
    (other,) = set(root.rglob(f"*{entries.SUFFIX}")) - {path}
    good = path.read_bytes()
    path.write_bytes(damage(good, other.read_bytes()))
    assert path.read_bytes() != good
    forget()
    with one_warning(REPAIRED):
        assert compiled(5)(1) == 6
    assert compilations == [constant(5), constant(7), constant(5)]
    forget()
    assert compiled(5)(1) == 6  # mended: no warning now, which would be an error here
    assert len(compilations) == 3


def test_a_whole_entry_that_cannot_be_linked(root):
    """The digest is right, but what was written is nothing that this Numba knows: as if its format had changed."""
    compiled(5)
    (path,) = root.rglob(f"*{entries.SUFFIX}")
    key, payload = path.stem, pickle.dumps(("no", "compile", "result"))
    path.write_bytes(entries._MAGIC + entries._digest(key, payload) + payload)
    forget()
    with one_warning(REPAIRED):
        assert compiled(5)(1) == 6


def test_many_damaged_entries_give_one_warning(root):
    for value in range(3):
        compiled(value)
    for path in root.rglob(f"*{entries.SUFFIX}"):
        path.write_bytes(b"")
    forget()
    with one_warning(REPAIRED):
        assert [compiled(value)(1) for value in range(3)] == [1, 2, 3]


def test_a_directory_in_the_place_of_an_entry(root):
    compiled(5)
    (path,) = root.rglob(f"*{entries.SUFFIX}")
    path.unlink()
    path.mkdir()
    forget()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert compiled(5)(1) == 6
    assert any(str(w.message).startswith(NOT_KEPT) for w in caught)  # what it cannot replace, it says
    assert not files(root, entries.UNFINISHED)


def test_a_process_meets_a_damaged_cache(warm, tmp_path):
    """The same from end to end."""
    root = tmp_path / "cache"
    shutil.copytree(warm, root)
    for path in root.rglob(f"*{entries.SUFFIX}"):
        path.write_bytes(path.read_bytes()[:1000])
    report = count(NUMGRAD_CACHE_DIR=str(root))
    assert [w[:14] for w in report["warnings"]] == ["RuntimeWarning"]
    again = count(NUMGRAD_CACHE_DIR=str(root))
    assert (again["compiled"], again["warnings"]) == ([], [])


# ---------------------------------------------------------------------------------------------------- nowhere to write
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EDQUOT])
@pytest.mark.parametrize("call", ["tempfile.mkstemp", "os.replace"])
def test_kernels_work_where_none_can_be_written(root, monkeypatch, call, number):
    def fail(*args, **kwargs):
        raise OSError(number, os.strerror(number))

    compiled(5)
    forget()
    monkeypatch.setattr(call, fail)
    assert compiled(5)(1) == 6  # reading needs no writing
    with one_warning(NOT_KEPT):
        assert [compiled(value)(1) for value in (7, 8)] == [8, 9]
    assert len(files(root)) == 1
    assert not files(root, entries.UNFINISHED)


def test_a_file_that_is_in_use_on_windows(root, monkeypatch):
    """There a file cannot be replaced while another process reads it. It says the same, so nothing is lost."""

    def refuse(source, target):
        shutil.copy(source, target)  # another process was first
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(os, "replace", refuse)
    assert compiled(5)(1) == 6
    assert (len(files(root)), files(root, entries.UNFINISHED)) == (1, {})


def test_a_disk_that_fills_up_while_a_kernel_is_written(root, monkeypatch):
    class Full:
        def __init__(self, file):
            self.file = file

        def __enter__(self):
            return self

        def __exit__(self, *exception):
            self.file.close()

        def write(self, data):
            self.file.write(data[:100])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    assert place.directory() is not None
    original = os.fdopen
    monkeypatch.setattr(os, "fdopen", lambda *args: Full(original(*args)))
    with one_warning(NOT_KEPT):
        assert compiled(5)(1) == 6
    assert files(root) == files(root, entries.UNFINISHED) == {}


@MODES_HOLD
def test_a_filled_place_that_can_only_be_read(warm, tmp_path):
    """As in the image of a container: what is there is used; what is not is compiled, with one warning."""
    root = tmp_path / "cache"
    shutil.copytree(warm, root)
    read_only = {"popen": {"preexec_fn": obey_modes}, "NUMGRAD_CACHE_DIR": str(root)}
    with modes([*root.iterdir(), root], 0o500):
        report = count(**read_only)
        assert (report["compiled"], report["warnings"]) == ([], [])
        done = run("import numgrad as ng; assert (ng.ones(2) / 2).tolist() == [0.5, 0.5]", **read_only)
        assert (done.returncode, done.stderr.count(NOT_KEPT)) == (0, 1), done.stderr


@MODES_HOLD
@pytest.mark.parametrize("what", ["NUMGRAD_CACHE_DIR", "XDG_CACHE_HOME", "HOME"])
def test_a_home_that_cannot_be_written(tmp_path, what):
    variables = {"NUMGRAD_CACHE_DIR": None, "XDG_CACHE_HOME": None, what: str(tmp_path)}
    with modes([tmp_path], 0o500):
        report = count(popen={"preexec_fn": obey_modes}, **variables)
    assert len(report["warnings"]) == 1
    assert NO_PLACE in report["warnings"][0]
    assert list(tmp_path.iterdir()) == []


def test_the_directory_may_be_deleted_at_any_time(root):
    compiled(5)
    shutil.rmtree(root)
    compiled(7)
    assert len(files(root)) == 1
    forget()
    assert [compiled(5)(1), compiled(7)(1)] == [6, 8]


# ---------------------------------------------------------------------------------------------------- processes at once
def start(root: Path, **popen) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-c", COUNTING],
        env=environment(NUMGRAD_CACHE_DIR=str(root)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **popen,
    )


@pytest.mark.parametrize("rounds", [1, pytest.param(20, marks=pytest.mark.slow)])
def test_eight_cold_processes_at_once_all_succeed(tmp_path, rounds):
    """They write the same files at the same time."""
    for number in range(rounds):
        root = tmp_path / str(number)
        processes = [start(root) for _ in range(8)]
        for process in processes:
            out, error = process.communicate(timeout=HANG)
            assert process.returncode == 0, error
            assert checked(out)["warnings"] == []
        assert not files(root, entries.UNFINISHED)
    report = count(NUMGRAD_CACHE_DIR=str(root))
    assert (report["compiled"], report["warnings"]) == ([], [])


KILLED = """
import os, signal
from numgrad.kernels.cache import entries
original = os.{call}
def call(*args, **kwargs):
    if str(args[0]).endswith(entries.UNFINISHED) or isinstance(args[0], int):
        os.kill(os.getpid(), signal.SIGKILL)
    return original(*args, **kwargs)
os.{call} = call
import numgrad as ng
ng.ones(2) + 1
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no SIGKILL")
@pytest.mark.parametrize("call", ["fdopen", "replace"])
def test_a_process_is_killed_while_it_writes(tmp_path, call):
    done = run(KILLED.format(call=call), NUMGRAD_CACHE_DIR=str(tmp_path))
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert len(files(tmp_path, entries.UNFINISHED)) == 1
    assert files(tmp_path) == {}
    report = count(NUMGRAD_CACHE_DIR=str(tmp_path))
    assert report["warnings"] == []
    (listing,) = place.listings(tmp_path)
    assert len(listing.others) == 2  # the tag, and the unfinished file, which `--clear` deletes
    listing.clear()
    assert list(tmp_path.iterdir()) == []
