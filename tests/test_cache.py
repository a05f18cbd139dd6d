"""Compiled kernels on disk: what is found again, what is never trusted, and what happens where nothing can be kept."""

from __future__ import annotations

import contextlib
import errno
import os
import pickle
import shutil
import signal
import stat
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest
from processes import COUNTING, HANG, MODES_HOLD, checked, count, environment, obey_modes, output, run

from numgrad.kernels import cache
from numgrad.kernels.cache import entries, place

ROOT = hasattr(os, "getuid") and os.getuid() == 0
NEEDS_ROOT = pytest.mark.skipif(not ROOT, reason="only root can give a directory to another user")
NOBODY = 65534
REPAIRED = "numgrad: a damaged entry of the kernel cache was compiled again"
NOT_KEPT = "numgrad: compiled kernels cannot be kept on disk"
NO_PLACE = "numgrad: there is no directory for compiled kernels"


def constant(value: int) -> str:
    """A kernel that returns a constant; different ones have all else alike."""
    return f"from numba import njit\n@njit\ndef kernel(x):\n    return x + {value}\n"


def compiled(value: int):
    from numba import types

    return cache.compiled(constant(value), "kernel", (types.int64,))


def forget() -> None:
    """As if a new process began."""
    cache._compiled.clear()
    cache._warned.clear()
    place.directory.cache_clear()


@pytest.fixture
def root(tmp_path, monkeypatch) -> Path:
    """An empty place for kernels of this process."""
    monkeypatch.setenv("NUMGRAD_CACHE_DIR", str(tmp_path / "cache"))
    forget()
    yield tmp_path / "cache"
    monkeypatch.undo()
    forget()


@pytest.fixture
def compilations(monkeypatch) -> list[str]:
    """The texts that are compiled from here on."""
    texts = []
    original = cache._run
    monkeypatch.setattr(cache, "_run", lambda name, text: texts.append(text) or original(name, text))
    return texts


def files(root: Path, suffix: str = entries.SUFFIX) -> dict[str, int]:
    """The entries under a place, and when they were written."""
    return {str(p.relative_to(root)): p.stat().st_mtime_ns for p in root.rglob(f"*{suffix}")}


@contextlib.contextmanager
def one_warning(start: str):
    """Expect exactly one warning."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    assert [str(w.message)[: len(start)] for w in caught] == [start]
    assert caught[0].category is RuntimeWarning


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
        assert output(code, NUMGRAD_CACHE_DIR=str(tmp_path / "cache")) == expected
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


@contextlib.contextmanager
def modes(paths, mode):
    for path in paths:
        path.chmod(mode)
    try:
        yield
    finally:
        for path in reversed(paths):
            path.chmod(0o700)


def test_the_directory_may_be_deleted_at_any_time(root):
    compiled(5)
    shutil.rmtree(root)
    compiled(7)
    assert len(files(root)) == 1
    forget()
    assert [compiled(5)(1), compiled(7)(1)] == [6, 8]


# ---------------------------------------------------------------------------------------------------- which place
@pytest.fixture
def home(tmp_path, monkeypatch):
    for name in ("NUMGRAD_CACHE_DIR", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


POSIX = pytest.mark.skipif(os.name == "nt", reason="Windows has other places and no modes")


@POSIX
def test_the_place_follows_the_variables(home, monkeypatch):
    assert place.root() == home / ".cache" / "numgrad"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")  # to be ignored, says its specification
    assert place.root() == home / ".cache" / "numgrad"
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / "xdg"))
    assert place.root() == home / "xdg" / "numgrad"
    monkeypatch.setenv("NUMGRAD_CACHE_DIR", "")
    assert place.root() == home / "xdg" / "numgrad"
    monkeypatch.setenv("NUMGRAD_CACHE_DIR", "~/own")
    assert place.root() == home / "own"
    monkeypatch.chdir(home)
    monkeypatch.setenv("NUMGRAD_CACHE_DIR", "own")
    assert place.root() == home / "own", "the place stays when the program changes its directory"
    monkeypatch.setenv("NUMGRAD_CACHE_DIR", "~nosuchuser/own")
    assert place.root() == home / "~nosuchuser" / "own"


@POSIX
@pytest.mark.parametrize("where", ["/", "/nonexistent", "/dev/null", "/proc/self"])
def test_without_a_home_kernels_live_in_the_process(home, monkeypatch, where):
    monkeypatch.setenv("HOME", where)
    forget()
    with one_warning(NO_PLACE):
        assert compiled(5)(1) == 6
    assert not os.path.exists("/nonexistent"), "nobody's home is made"
    forget()


@pytest.mark.parametrize("name", ["with space", "line\nbreak", "quote'\"", "ünïcödé", os.fsdecode(b"\xff\xfe"), "%d{}"])
def test_odd_names_of_directories(tmp_path, monkeypatch, name):
    monkeypatch.setenv("NUMGRAD_CACHE_DIR", str(tmp_path / name))
    forget()
    for _ in range(2):
        assert compiled(5)(1) == 6
        forget()
    assert len(files(tmp_path / name)) == 1


def test_a_file_is_in_the_way(root):
    root.write_text("")
    with one_warning(NO_PLACE):
        assert [compiled(value)(1) for value in (5, 7)] == [6, 8]


# ---------------------------------------------------------------------------------------------------- whom it trusts
@POSIX
def test_the_cache_is_private_whatever_the_umask(tmp_path):
    before = os.umask(0)
    try:
        place.opened(tmp_path / "a" / "b" / "c")
    finally:
        os.umask(before)
    assert [stat.S_IMODE(p.stat().st_mode) for p in (tmp_path / "a", tmp_path / "a" / "b")] == [0o700] * 2
    assert stat.S_IMODE((tmp_path / "a" / "b" / "c").stat().st_mode) == 0o700


@POSIX
@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o770, 0o720, 0o702])
def test_a_directory_that_others_can_write_to_is_refused(root, mode):
    compiled(5)
    (directory,) = root.iterdir()
    directory.chmod(mode)
    forget()
    with one_warning(NO_PLACE):
        assert compiled(5)(1) == 6


@pytest.fixture
def exposed(tmp_path):
    """A directory that everybody can reach: pytest's own lie in one that only its user can enter."""
    import tempfile

    with tempfile.TemporaryDirectory() as name:
        found = Path(os.path.realpath(name))
        found.chmod(0o755)
        yield found


@POSIX
def test_a_directory_that_others_could_replace_is_refused(exposed):
    inner = exposed / "others" / "cache"
    place.opened(inner)
    for mode, safe in ((0o755, True), (0o777, False), (0o1777, True), (0o702, False), (0o1770, True)):
        (exposed / "others").chmod(mode)
        if safe:
            place.opened(inner)
        else:
            with pytest.raises(PermissionError, match="others can be written by other users"):
                place.opened(inner)
    (exposed / "others").chmod(0o777)
    exposed.chmod(0o700)
    place.opened(inner)  # out of reach


@POSIX
def test_a_group_of_ones_own_is_no_other_user(exposed, monkeypatch):
    import grp
    import pwd

    (exposed / "group").mkdir()
    (exposed / "group").chmod(0o775)
    inner = exposed / "group" / "cache"
    name = pwd.getpwuid(os.getuid()).pw_name
    for group, members, safe in ((name, [], True), (name, [name], True), (name, ["eve"], False), ("staff", [], False)):
        monkeypatch.setattr(grp, "getgrgid", lambda gid, g=group, m=members: grp.struct_group((g, "x", gid, m)))
        if safe:
            place.opened(inner)
        else:
            with pytest.raises(PermissionError):
                place.opened(inner)


@NEEDS_ROOT
def test_another_users_directories_are_refused(exposed):
    inner = exposed / "theirs" / "cache"
    place.opened(inner)
    for theirs in (inner, inner.parent):
        os.chown(theirs, NOBODY, NOBODY)
        with pytest.raises(PermissionError, match="belongs to another user"):
            place.opened(inner)
        os.chown(theirs, 0, 0)
    os.chown(exposed, NOBODY, NOBODY)
    with pytest.raises(PermissionError, match="belongs to another user"):
        place.opened(inner)


@NEEDS_ROOT
def test_nothing_is_made_in_another_users_directory(exposed):
    (exposed / "theirs").mkdir()
    os.chown(exposed / "theirs", NOBODY, NOBODY)
    with pytest.raises(PermissionError, match="belongs to another user"):
        place.opened(exposed / "theirs" / "cache")
    assert list((exposed / "theirs").iterdir()) == []


@NEEDS_ROOT
def test_a_link_to_another_users_directory_is_refused(exposed, monkeypatch):
    (exposed / "theirs").mkdir()
    os.chown(exposed / "theirs", NOBODY, NOBODY)
    (exposed / "cache").symlink_to(exposed / "theirs")
    monkeypatch.setenv("NUMGRAD_CACHE_DIR", str(exposed / "cache"))
    forget()
    with one_warning(NO_PLACE):
        assert compiled(5)(1) == 6
    forget()


@POSIX
def test_a_link_to_ones_own_directory(exposed, monkeypatch):
    (exposed / "large disk").mkdir()
    (exposed / "cache").symlink_to(exposed / "large disk")
    monkeypatch.setenv("NUMGRAD_CACHE_DIR", str(exposed / "cache"))
    forget()
    compiled(5)
    assert len(files(exposed / "large disk")) == 1
    forget()


# ---------------------------------------------------------------------------------------------------- environments
def key() -> str:
    return place.environment.__wrapped__().key


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("numba.__version__", "0.99.0"),
        ("llvmlite.__version__", "0.99.0"),
        ("numpy.__version__", "9.9.9"),
        ("sys.version", "4.0.0 (somewhere)"),
        ("numba.core.codegen.CPUCodegen.magic_tuple", lambda self: ("x86_64-unknown-linux-gnu", "other", "+sse2")),
        ("numba.config.BOUNDSCHECK", 1),
        ("numba.config.OPT", 0),
        ("numba.config.LOOP_VECTORIZE", 0),
        ("numba.config.DEBUGINFO_DEFAULT", 1),
        ("numba.config.ENABLE_AVX", "unheard of"),
        ("numba.config.DUMP_ASSEMBLY", 1),  # who asks for a dump wants a compilation
    ],
)
def test_what_decides_the_machine_code_names_the_directory(monkeypatch, name, value):
    before = key()
    assert key() == before
    monkeypatch.setattr(name, value)
    assert key() != before


@pytest.mark.parametrize("name", ["NUMBA_NUM_THREADS", "CACHE_DIR", "THREADING_LAYER", "ENABLE_CUDASIM", "DISABLE_JIT"])
def test_what_does_not_decide_it_is_left_out(monkeypatch, name):
    before = key()
    monkeypatch.setattr(f"numba.config.{name}", "another")
    assert key() == before


def test_every_source_names_the_directory(tmp_path, monkeypatch):
    sources = shutil.copytree(place.SOURCES, tmp_path / "kernels", ignore=shutil.ignore_patterns("__pycache__"))
    before = key()
    monkeypatch.setattr(place, "SOURCES", sources)
    assert key() == before, "where they lie does not matter"
    for name in ("cpu.py", "vector_math/exponential.py"):
        with open(sources / name, "a") as file:
            file.write("\n")
        before, last = key(), before
        assert before != last
    monkeypatch.setattr(place, "SOURCES", tmp_path / "archive.zip")
    with pytest.raises(FileNotFoundError, match="holds no sources"):
        key()


def test_variables_of_numba_name_the_directory():
    code = "from numgrad.kernels.cache import place; print(place.environment().key)"
    keys = [output(code, NUMBA_CPU_NAME=name, NUMBA_CPU_FEATURES=f) for name, f in ((None, None), ("generic", ""))]
    assert keys[0] != keys[1]


def test_an_environment_out_of_use_is_deleted_when_a_new_one_comes(root):
    old, recent, foreign = (root / name for name in ("0" * 16, "1" * 16, "2" * 16))
    for path in (old, recent):
        place.opened(path)
        (path / f"a{entries.SUFFIX}").write_bytes(b"")
    foreign.mkdir()  # without a tag
    (foreign / f"a{entries.SUFFIX}").write_bytes(b"")
    for path in (old, foreign):
        long_ago = time.time() - (place.UNUSED_DAYS + 1) * 86400
        os.utime(path, (long_ago, long_ago))
    compiled(5)
    assert not old.exists()
    assert recent.exists()
    assert list(foreign.iterdir())


def test_use_keeps_an_environment(root):
    compiled(5)
    (path,) = root.iterdir()
    long_ago = time.time() - (place.UNUSED_DAYS + 1) * 86400
    os.utime(path, (long_ago, long_ago))
    forget()
    compiled(5)
    place.opened(root / ("0" * 16))
    assert path.exists()


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


# ---------------------------------------------------------------------------------------------------- the command
def command(*arguments: str, root: Path, code: int = 0) -> str:
    """What the command prints, errors last; the interpreter may not complain of how it is started either."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "numgrad.kernels.cache", *arguments],
        env=environment(NUMGRAD_CACHE_DIR=str(root), COLUMNS="120"),
        capture_output=True,
        text=True,
        timeout=HANG,
    )
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr


def test_the_command_shows_what_is_there(warm, tmp_path):
    root = tmp_path / "cache"
    shutil.copytree(warm, root)
    shutil.copytree(next(root.iterdir()), root / ("0" * 16))
    (root / "photographs").mkdir()
    text = command(root=root)
    number = len(files(warm))
    assert f"place: {root}\n" in text
    assert text.count(f" {number} kernels") == 2
    assert f" {2 * number} kernels" in text
    assert text.count("(this environment)") == text.count("(last used ") == 1
    assert place.environment().description in text
    size = sum(p.stat().st_size for p in root.rglob("*") if p.is_file())
    assert f"{size / 1e6:.1f} MB  in all" in text


def test_the_command_clears_what_numgrad_made_and_nothing_else(warm, tmp_path):
    root = tmp_path / "cache"
    shutil.copytree(warm, root)
    shutil.copytree(next(root.iterdir()), root / ("0" * 16))
    (root / "notes.txt").write_text("mine")
    (root / ("0" * 16) / "notes.txt").write_text("mine")
    (root / ("1" * 16)).mkdir()  # a name like ours, but without a tag
    (root / ("1" * 16) / f"a{entries.SUFFIX}").write_text("mine")
    text = command("--clear", root=root)
    assert f"deleted {2 * len(files(warm))} kernels" in text
    assert "there are other files in it" in text
    assert {p.name for p in root.rglob("*") if p.is_file()} == {"notes.txt", f"a{entries.SUFFIX}"}
    assert len([p for p in root.rglob("*") if p.is_file()]) == 3
    text = command("--clear", root=root, code=1)
    assert "holds nothing that numgrad made, so nothing was deleted" in text
    assert "deleted 0 kernels" in command("--clear", root=tmp_path / "missing")


def test_the_command_compiles_ahead(tmp_path):
    from numgrad.kernels.cache import warm as ahead

    ops = ("exp", "mul", "sum", "add")  # `add` for the two gradients of x
    text = command("--warm", "--ops", *ops, root=tmp_path)
    assert f"{len(ahead.tasks(['float32'], ops))}/" in text, "the progress"
    number = len(files(tmp_path))
    assert f"compiled {number} kernels" in text
    report = count(NUMGRAD_CACHE_DIR=str(tmp_path))
    assert (report["compiled"], report["warnings"]) == ([], [])
    assert "compiled 0 kernels" in command("--warm", "--dtype", "float32", "--ops", *ops, root=tmp_path)


def test_progress_without_tqdm(capsys, monkeypatch):
    from numgrad.kernels.cache import __main__ as cli

    monkeypatch.setitem(sys.modules, "tqdm", None)  # as if it were not installed
    tasks = [("one", int), ("two", int)]
    assert list(cli._with_progress(tasks)) == tasks
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "1/2 one"
    assert lines[1].startswith("2/2 two, ")
    assert lines[1].endswith(" s left")


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (("--help",), 0, "--dtype DTYPE"),
        (("--dtype", "float32"), 2, "go with --warm"),
        (("--warm", "--dtype", "float128"), 2, "invalid choice"),
        (("--warm", "--ops", "nothing"), 1, "there is no op 'nothing'"),
        (("--warm", "--clear"), 2, "not allowed with"),
    ],
)
def test_what_the_command_answers(root, capsys, arguments, code, text):
    from numgrad.kernels.cache import __main__ as cli

    try:
        found = cli.main(arguments)
    except SystemExit as end:
        found = end.code
    assert found == code
    captured = capsys.readouterr()
    assert text in captured.out + captured.err


@POSIX
def test_the_command_says_why_a_place_is_not_used(root, capsys):
    from numgrad.kernels.cache import __main__ as cli

    compiled(5)
    (directory,) = root.iterdir()
    directory.chmod(0o777)
    assert cli.main([]) == cli.main(["--warm"]) == 1
    assert capsys.readouterr().err.count("can be written by other users") == 2


def test_the_tasks_cover_the_table():
    from numgrad.kernels import OPS
    from numgrad.kernels.cache import warm as ahead

    for dtype in ahead.DTYPES:
        labels = [label for label, _ in ahead.tasks([dtype])]
        assert len(set(labels)) == len(labels)
    labels = [label for label, _ in ahead.tasks(["float64"])]
    for name, op in OPS.items():
        if op.elementwise:
            assert any(label.startswith(f"{name} float64") for label in labels)
    assert "mul gradient of input, other float64 vvv" in labels
    assert "mul gradient of input float64 vn" in labels


@pytest.mark.slow
def test_every_task_runs(root):
    """All of the table in all dtypes: a few minutes."""
    from numgrad.kernels.cache import warm as ahead

    for _, call in ahead.tasks(ahead.DTYPES):
        call()
    assert len(files(root)) > 100
