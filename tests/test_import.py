"""Fresh processes: what importing numgrad does, and what it leaves alone."""

from __future__ import annotations

import shutil
from pathlib import Path

from processes import COUNTING, MODES_HOLD, checked, obey_modes, output, run

ROOT = Path(__file__).resolve().parent.parent


def test_import_makes_no_directory(tmp_path):
    place = tmp_path / "cache"
    assert output("import numgrad; print(numgrad.zeros(2) is not None)", NUMGRAD_CACHE_DIR=str(place)) == "True\n"
    assert not place.exists()


def test_import_loads_neither_torch_nor_the_cuda_kernels():
    code = "import sys, numgrad; print([m for m in ('torch', 'scipy', 'matplotlib', 'tqdm') if m in sys.modules])"
    assert output(code) == "[]\n"


def test_no_module_hides_a_name_of_pytorch():
    """A module that is imported late would take the place of a function or class of its name."""
    code = """
import types, numgrad
late = [getattr(numgrad, name) for name in sorted(numgrad._LATE)]
import numgrad.autograd.function, numgrad.autograd.gradcheck, numgrad.memory_format, numgrad.elementwise
names = ("tensor", "dtype", "device", "Size", "memory_format", "elementwise", "custom_vjp", "graph", "vmap")
print([name for name in names if isinstance(getattr(numgrad, name), types.ModuleType)])
print([name for name in ("gradcheck", "grad", "Function") if isinstance(getattr(numgrad.autograd, name), types.ModuleType)])
"""
    assert output(code) == "[]\n[]\n"


def test_without_the_variables_of_a_home():
    """Without HOME the user's entry in the password file says where home is; wherever that leads, kernels run."""
    done = run("import numgrad", NUMGRAD_CACHE_DIR=None, XDG_CACHE_HOME=None, HOME=None)
    assert done.returncode == 0, done.stderr


@MODES_HOLD
def test_an_installation_that_cannot_be_written(tmp_path):
    package = tmp_path / "site-packages" / "numgrad"
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "numgrad", package, ignore=ignore)
    shutil.copytree(ROOT / "kernels", package / "kernels", ignore=ignore)
    places = [package.parent, package, *(p for p in package.rglob("*") if p.is_dir())]
    for place in places:
        place.chmod(0o500)
    try:
        done = run(
            f"import numgrad; assert numgrad.__file__.startswith({str(package)!r})\n{COUNTING}",
            popen={"preexec_fn": obey_modes, "cwd": tmp_path},
            PYTHONPATH=str(package.parent),
            PYTHONDONTWRITEBYTECODE=None,
            NUMGRAD_CACHE_DIR=str(tmp_path / "cache"),
        )
    finally:
        for place in places:
            place.chmod(0o700)
    assert done.returncode == 0, done.stderr
    assert checked(done.stdout)["warnings"] == []
    assert not list(package.rglob("*.pyc"))
