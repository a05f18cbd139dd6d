"""Imports run one way: nn, optim -> ops, tensor -> autograd -> kernels -> numba, numpy. Read from the sources."""

from __future__ import annotations

import ast
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
KERNELS = sorted((ROOT / "kernels").rglob("*.py"))
NUMGRAD = sorted((ROOT / "numgrad").rglob("*.py"))
NAMES_NUMPY = {"device.py", "dtype.py", "interop.py", "nested_lists.py", "serialization.py"}  # directly under numgrad/
KERNEL_IMPORTS = {"numpy", "numba", "llvmlite", "ml_dtypes", "scipy", "tqdm"}  # tqdm for the cache's command, if there

# What each part of numgrad/ may not import: modules of numgrad, relative to it.
ABOVE_AUTOGRAD = {
    "tensor", "ops", "nn", "optim", "dispatch", "elementwise", "testing", "creation", "random", "interop", "nested_lists",
    "operands",
}  # fmt: skip
FORBIDDEN = {
    "autograd": ABOVE_AUTOGRAD,
    "dispatch.py": {"elementwise", "tensor", "ops", "nn", "optim", "creation", "random", "testing"},
    "operands.py": {"dispatch", "elementwise", "tensor", "ops", "nn", "optim", "creation", "random", "testing"},
    "elementwise.py": {"tensor", "ops", "nn", "optim", "creation", "random", "testing"},
    "ops": {"elementwise", "nn", "optim", "testing"},
    "tensor.py": {"elementwise", "nn", "optim", "testing"},
    "creation.py": {"nn", "optim", "testing"},
    "random.py": {"nn", "optim", "testing"},
    "nn": {"optim", "testing"},
    "optim": {"testing"},
    "burn": {"testing"},
}
SECOND_DOOR = "burn"  # nothing but the package itself imports the other front door


def imports(path: Path, root: Path = ROOT) -> Iterator[tuple[str, int]]:
    """Absolute names of the modules that a file imports anywhere, those inside functions too, and their lines.

    `from . import x` counts as an import of both the package and `x`.
    """
    package = path.relative_to(root).with_suffix("").parts[:-1]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node.lineno
        elif isinstance(node, ast.ImportFrom):
            start = list(package[: len(package) - node.level + 1]) if node.level else []
            module = ".".join([*start, *(node.module or "").split(".")]).rstrip(".")
            yield module, node.lineno
            for alias in node.names:
                yield f"{module}.{alias.name}", node.lineno


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_there_is_something_to_read():
    assert len(KERNELS) > 10
    assert len(NUMGRAD) > 20


@pytest.mark.parametrize("path", KERNELS, ids=relative)
def test_kernels_know_no_graph(path):
    """Relative imports within the package, and the few libraries below it."""
    depth = len(path.relative_to(ROOT).parts) - 1
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level <= depth, f"{relative(path)}:{node.lineno} reaches above kernels/"
    for module, line in imports(path):
        top = module.split(".")[0]
        allowed = top == "kernels" or top in KERNEL_IMPORTS or top in sys.stdlib_module_names
        assert allowed, f"{relative(path)}:{line} imports {module}"


def test_every_folder_of_kernels_is_packaged():
    """Only an explicit entry renames a package, so one that is missing would not be shipped."""
    packages = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]["package-dir"]
    folders = {relative(path.parent) for path in KERNELS}
    assert packages == {"numgrad." + folder.replace("/", "."): folder for folder in folders}


@pytest.mark.parametrize("path", KERNELS, ids=relative)
def test_kernels_name_themselves_relatively(path):
    """An absolute import of `kernels` would make a second op table, one of `numgrad` a circle."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = [node.module or ""]
        for name in names:
            assert name.split(".")[0] not in ("kernels", "numgrad"), f"{relative(path)}:{node.lineno} imports {name}"


@pytest.mark.parametrize("path", NUMGRAD, ids=relative)
def test_array_libraries_are_named_in_few_files_only(path):
    if path.parent == ROOT / "numgrad" and path.name in NAMES_NUMPY:
        return
    for module, line in imports(path):
        assert module.split(".")[0] not in ("numpy", "numba", "llvmlite", "scipy", "ml_dtypes"), (
            f"{relative(path)}:{line} imports {module}"
        )


@pytest.mark.parametrize("path", NUMGRAD, ids=relative)
def test_no_layer_imports_one_above(path):
    """Late imports in functions count as well."""
    part = path.relative_to(ROOT / "numgrad").parts[0]
    for module, line in imports(path):
        names = module.split(".")
        if names[0] == "numgrad" and len(names) > 1:
            assert names[1] not in FORBIDDEN.get(part, ()), f"{relative(path)}:{line} imports {module}"
            assert names[1] != SECOND_DOOR or part in (SECOND_DOOR, "__init__.py"), f"{relative(path)}:{line}"


def test_a_breach_is_found(tmp_path):
    package = tmp_path / "numgrad" / "autograd"
    package.mkdir(parents=True)
    breach = package / "node.py"
    breach.write_text("def f():\n    from ..tensor import Tensor\n    import numpy as np\n    from .. import ops\n")
    found = {module for module, _ in imports(breach, tmp_path)}
    assert {"numgrad.tensor", "numpy", "numgrad.ops"} <= found
