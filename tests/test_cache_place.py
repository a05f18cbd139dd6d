"""Where compiled kernels lie, whom that place is kept from, and what names it."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import time
from pathlib import Path

import pytest
from kernel_cache import NO_PLACE, POSIX, REPAIRED, compiled, empty_place, files, forget, modes, one_warning
from processes import MODES_HOLD, obey_modes, output

from numgrad.kernels.cache import entries, place

ROOT = hasattr(os, "getuid") and os.getuid() == 0
NEEDS_ROOT = pytest.mark.skipif(not ROOT, reason="only root can give a directory to another user")
NOBODY = 65534


@pytest.fixture
def root(tmp_path, monkeypatch):
    with empty_place(tmp_path, monkeypatch) as found:
        yield found


# ---------------------------------------------------------------------------------------------------- which place
@pytest.fixture
def home(tmp_path, monkeypatch):
    for name in ("NUMGRAD_CACHE_DIR", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


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


@POSIX
@pytest.mark.parametrize("where", ["", "relative", "~"])
def test_a_home_is_no_part_of_the_working_directory(home, monkeypatch, where):
    monkeypatch.chdir(home)
    monkeypatch.setenv("HOME", where)
    (home / (where or "empty")).mkdir()
    with pytest.raises(FileNotFoundError, match="no home directory"):
        place.root()


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


@POSIX
def test_a_link_that_comes_while_the_way_is_checked_is_refused(exposed, monkeypatch):
    """Whoever can make it can change it later, when the directory that it led to has been found safe."""
    (exposed / "own").mkdir(mode=0o700)
    (exposed / "cache").symlink_to(exposed / "own")
    monkeypatch.setattr(os.path, "realpath", lambda path: path)  # as if it came right after the links were followed
    with pytest.raises(PermissionError, match="a link"):
        place.opened(exposed / "cache" / "inner")


@NEEDS_ROOT
def test_an_entry_that_another_user_has_put_there_is_not_read(root, monkeypatch):
    """It may lie there since a time when the directory's modes let them."""
    compiled(5)
    (path,) = root.rglob(f"*{entries.SUFFIX}")
    os.chown(path, NOBODY, NOBODY)
    monkeypatch.setattr(entries, "_linked", None)  # nothing of it is run
    forget()
    with one_warning(REPAIRED):
        assert compiled(5)(1) == 6
    assert path.stat().st_uid == 0


@NEEDS_ROOT
def test_who_one_is_is_who_one_acts_as(exposed, monkeypatch):
    """A program that was started by one user and acts as another (setuid) trusts the latter."""
    place.opened(exposed / "cache")
    os.chown(exposed / "cache", NOBODY, NOBODY)
    monkeypatch.setattr(os, "getuid", lambda: NOBODY)
    with pytest.raises(PermissionError, match="belongs to another user"):
        place.opened(exposed / "cache")


@POSIX
def test_no_link_is_followed_twice(exposed):
    (exposed / "real").mkdir(mode=0o700)
    (exposed / "link").symlink_to(exposed / "real")
    for path in (exposed / "link", exposed / "link" / "inner"):
        found = place.opened(path)
        assert (found, "real" in found.parts) == (Path(os.path.realpath(path)), True)


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


def test_a_disk_that_is_full_when_the_directory_is_made(root, monkeypatch):
    """It must not leave a directory behind that `--clear` does not know again."""
    original = os.fdopen

    def full(*args, **kwargs):
        original(*args, **kwargs).close()
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fdopen", full)
        with one_warning(NO_PLACE):
            assert compiled(5)(1) == 6
    assert not [path for path in root.rglob("*") if path.is_file()]
    forget()
    compiled(5)
    (listing,) = place.listings(root)
    assert len(listing.kernels) == 1


@pytest.mark.parametrize("text", [b"", b"Signature: 8a477f5", b"\xff\xfe"])
def test_a_damaged_tag_is_mended(root, text):
    compiled(5)
    (path,) = root.iterdir()
    (path / place.TAG).write_bytes(text)
    assert not list(place.listings(root))
    forget()
    compiled(5)
    assert [listing.description for listing in place.listings(root)] == [place.environment().description]


def test_clearing_may_be_stopped_at_any_point(root, monkeypatch):
    for value in range(2):
        compiled(value)
    (listing,) = place.listings(root)
    (listing.path / f"a{entries.UNFINISHED}").write_bytes(b"")
    unlink = Path.unlink
    for allowed in (0, 1, 1, 1):
        (listing,) = place.listings(root)  # what is left is known as ours
        budget = iter(range(allowed))

        def stopped(path, missing_ok=False, budget=budget):
            if next(budget, None) is None:
                raise KeyboardInterrupt
            unlink(path, missing_ok)

        with monkeypatch.context() as patch:
            patch.setattr(Path, "unlink", stopped)
            with pytest.raises(KeyboardInterrupt):
                listing.clear()
    (listing,) = place.listings(root)
    listing.clear()
    assert list(root.iterdir()) == []


def test_an_environment_that_cannot_be_deleted_is_no_obstacle(root, monkeypatch):
    """Such as one that root has made, in a container that had this place mounted."""
    old = root / ("0" * 16)
    place.opened(old)
    long_ago = time.time() - (place.UNUSED_DAYS + 1) * 86400
    os.utime(old, (long_ago, long_ago))

    def refuse(path, missing_ok=False):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(Path, "unlink", refuse)
    assert compiled(5)(1) == 6
    assert len(files(root)) == 1


@MODES_HOLD
def test_an_environment_that_cannot_be_looked_at_is_no_obstacle(root):
    place.opened(root / ("0" * 16))
    code = "import numgrad as ng; assert (ng.ones(2) / 2).tolist() == [0.5, 0.5]"
    code += "; from numgrad.kernels.cache import __main__; print(__main__.main(['--clear']), __main__.main([]))"
    with modes([root / ("0" * 16)], 0):
        printed = output(code, popen={"preexec_fn": obey_modes})
    assert "deleted     1 kernels" in printed.replace("deleted 1", "deleted     1")
    assert printed.endswith("0 0\n")


def test_use_keeps_an_environment(root):
    compiled(5)
    (path,) = root.iterdir()
    long_ago = time.time() - (place.UNUSED_DAYS + 1) * 86400
    os.utime(path, (long_ago, long_ago))
    forget()
    compiled(5)
    place.opened(root / ("0" * 16))
    assert path.exists()
