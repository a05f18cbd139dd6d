"""Programs in fresh interpreters."""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import pytest

HANG = 120  # seconds that only bound a hang: nothing here takes a tenth of it

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


def environment(**changes: str | None) -> dict[str, str]:
    """This process's variables with some set, and those that are None taken out."""
    changed = {**os.environ, **changes}
    return {name: value for name, value in changed.items() if value is not None}


def run(code: str, *, options: Sequence[str] = (), popen: Any = (), **changes: str | None) -> Any:
    """Run a program to its end: a `CompletedProcess` with its texts. `popen` holds further arguments of `subprocess`."""
    command = [sys.executable, *options, "-c", code]
    environ = environment(**changes)
    return subprocess.run(command, env=environ, capture_output=True, text=True, timeout=HANG, **dict(popen))


def output(code: str, **arguments: Any) -> str:
    """What a program prints; it must end well and complain of nothing."""
    done = run(code, **arguments)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout


def checked(text: str) -> dict[str, Any]:
    """The report in the output of `COUNTING`, whose gradients must be right."""
    report = json.loads(text.splitlines()[-1])
    for row, expected in zip(report["grad"], GRAD, strict=True):
        assert row == pytest.approx(expected, rel=1e-6)
    return report


def count(**changes: Any) -> dict[str, Any]:
    """The report of `COUNTING` in a fresh interpreter."""
    done = run(COUNTING, **changes)
    assert done.returncode == 0, done.stderr
    return checked(done.stdout)


def obey_modes() -> None:
    """For `preexec_fn`: the program cannot write where files' modes forbid it, not even when root runs the tests."""
    if os.getuid():
        return
    libc = ctypes.CDLL(None, use_errno=True)
    drop_from_bounding_set, override, read_search = 24, 1, 2  # PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
    for capability in (override, read_search):
        if libc.prctl(drop_from_bounding_set, capability, 0, 0, 0):
            raise OSError(ctypes.get_errno(), "prctl")


MODES_HOLD = pytest.mark.skipif(
    not sys.platform.startswith("linux") and not (hasattr(os, "getuid") and os.getuid()),
    reason="modes bind no root, and only on Linux can it give that up",
)
