"""`python -m numgrad.kernels.cache`: shows, clears, and compiles ahead of need."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from kernel_cache import POSIX, compiled, empty_place, files, modes
from processes import HANG, MODES_HOLD, count, environment, obey_modes

from numgrad.kernels import OPS
from numgrad.kernels.cache import __main__ as cli
from numgrad.kernels.cache import entries, place
from numgrad.kernels.cache import warm as ahead


@pytest.fixture
def root(tmp_path, monkeypatch):
    with empty_place(tmp_path, monkeypatch) as found:
        yield found


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


def filled(root) -> int:
    """Put some kernels there; how many."""
    for value in range(3):
        compiled(value)
    return len(files(root))


def test_the_command_shows_what_is_there(root):
    number = filled(root)
    shutil.copytree(next(root.iterdir()), root / ("0" * 16))
    (root / "photographs").mkdir()
    text = command(root=root)
    assert f"place: {root}\n" in text
    assert text.count(f" {number} kernels") == 2
    assert f" {2 * number} kernels" in text
    assert text.count("(this environment)") == text.count("(last used ") == 1
    assert place.environment().description in text
    size = sum(p.stat().st_size for p in root.rglob("*") if p.is_file())
    assert f"{size / 1e6:.1f} MB  in all" in text


def test_the_command_clears_what_numgrad_made_and_nothing_else(root, tmp_path):
    number = filled(root)
    shutil.copytree(next(root.iterdir()), root / ("0" * 16))
    (root / "notes.txt").write_text("mine")
    (root / ("0" * 16) / "notes.txt").write_text("mine")
    (root / ("1" * 16)).mkdir()  # a name like ours, but without a tag
    (root / ("1" * 16) / f"a{entries.SUFFIX}").write_text("mine")
    text = command("--clear", root=root)
    assert f"deleted {2 * number} kernels" in text
    assert "there are other files in it" in text
    assert {p.name for p in root.rglob("*") if p.is_file()} == {"notes.txt", f"a{entries.SUFFIX}"}
    assert len([p for p in root.rglob("*") if p.is_file()]) == 3
    text = command("--clear", root=root, code=1)
    assert "holds nothing that numgrad made, so nothing was deleted" in text
    assert "deleted 0 kernels" in command("--clear", root=tmp_path / "missing")


def test_the_command_compiles_ahead(tmp_path):
    ops = ("exp", "mul", "sum", "add")  # `add` for the two gradients of x
    text = command("--warm", "--ops", *ops, root=tmp_path)
    assert f"{len(ahead.tasks(['float32'], ops))}/" in text, "the progress"
    number = len(files(tmp_path))
    assert f"compiled {number} kernels" in text
    report = count(NUMGRAD_CACHE_DIR=str(tmp_path))
    assert (report["compiled"], report["warnings"]) == ([], [])
    assert "compiled 0 kernels" in command("--warm", "--dtype", "float32", "--ops", *ops, root=tmp_path)


def test_progress_without_tqdm(capsys, monkeypatch):
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
    try:
        found = cli.main(arguments)
    except SystemExit as end:
        found = end.code
    assert found == code
    captured = capsys.readouterr()
    assert text in captured.out + captured.err


@POSIX
def test_the_command_says_why_a_place_is_not_used(root, capsys):
    compiled(5)
    (directory,) = root.iterdir()
    directory.chmod(0o777)
    assert cli.main([]) == cli.main(["--warm"]) == 1
    assert capsys.readouterr().err.count("can be written by other users") == 2


@MODES_HOLD
def test_nothing_is_compiled_ahead_where_it_cannot_be_kept(root):
    place.opened(root / place.environment().key)
    with modes([*root.iterdir(), root], 0o500):
        done = subprocess.run(
            [sys.executable, "-m", "numgrad.kernels.cache", "--warm", "--ops", "exp"],
            env=environment(NUMGRAD_CACHE_DIR=str(root)),
            capture_output=True,
            text=True,
            timeout=HANG,
            preexec_fn=obey_modes,
        )
    assert (done.returncode, done.stdout) == (1, "")
    assert "cannot be written" in done.stderr


def test_the_tasks_cover_the_table():
    for dtype in ahead.DTYPES:
        labels = [label for label, _ in ahead.tasks([dtype])]
        assert len(set(labels)) == len(labels)
    labels = [label for label, _ in ahead.tasks(["float64"])]
    for name, op in OPS.items():
        if op.elementwise and not op.integers_only:
            assert any(label.startswith(f"{name} float64") for label in labels)
    assert "mul gradient of input, other float64 vvv" in labels
    assert "mul gradient of input float64 vn" in labels


@pytest.mark.slow
def test_every_task_runs(root):
    """All of the table in all dtypes: a few minutes."""
    for _, call in ahead.tasks(ahead.DTYPES):
        call()
    assert len(files(root)) > 100
