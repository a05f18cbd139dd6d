"""The examples run, shortened, and learn something.

What their first steps compute is compared with PyTorch's in tests/oracle/test_oracle_examples.py.
"""

import ast
import re
import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"
FOR_BOTH = ["char_gpt", "digits_conv", "fit_curve", "lorenz", "lstm", "vae"]  # PyTorch runs them with the import replaced


def run(name: str, capsys: pytest.CaptureFixture, **arguments: int) -> str:
    """What an example prints."""
    runpy.run_path(str(EXAMPLES / f"{name}.py"))["main"](**arguments)
    return capsys.readouterr().out


def losses(text: str) -> list[float]:
    """The first and the last of `... 1.23 -> 0.45 in 20 steps`."""
    return [float(x) for x in re.search(r"(\S+) -> (\S+) in \d+ steps", text).groups()]


@pytest.mark.parametrize("name", FOR_BOTH)
def test_examples_are_short_and_import_one_library(name):
    source = (EXAMPLES / f"{name}.py").read_text(encoding="utf-8")
    assert len(source.splitlines()) < 150
    own = [n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Import) for n in n.names if n.name == "numgrad"]
    assert [n.asname for n in own] == ["torch"]


def test_digits_conv(capsys, tmp_path):
    example = runpy.run_path(str(EXAMPLES / "digits_conv.py"))
    example["main"].__globals__["FILE"] = tmp_path / "output" / "digits_conv.npz"
    example["main"](epochs=3)
    shown = capsys.readouterr().out
    assert float(re.search(r"loaded: (\S+)%", shown)[1]) > 60
    assert (tmp_path / "output" / "digits_conv.npz").exists()


def test_char_gpt(capsys):
    shown = run("char_gpt", capsys, steps=100, layers=1, letters=40)
    assert float(re.search(r"step 100: loss (\S+)", shown)[1]) < 3.7  # that of letters by chance is 4.3
    assert len(shown.partition("The President ")[2]) == 40 + len("\n")


def test_lstm(capsys):
    first, last = losses(run("lstm", capsys, steps=60))
    assert last < 0.5 * first


def test_vae(capsys):
    first, last = losses(run("vae", capsys, epochs=4))
    assert last < 0.75 * first


def test_lorenz(capsys):
    shown = run("lorenz", capsys, steps=60)
    first, last = losses(shown)
    assert last < 0.1 * first
    assert abs(float(re.search(r"rho   = (\S+)", shown)[1]) - 28) < 1


def test_fit_curve():
    """Bates and Watts (1988), table 2.2 and appendix A1: Vm 212.7 (6.947), K 0.0641 (0.00828), s 10.93."""
    (v_max, k), (v_error, k_error), squares = runpy.run_path(str(EXAMPLES / "fit_curve.py"))["fit"]()
    assert v_max == pytest.approx(212.7, abs=0.05)
    assert v_error == pytest.approx(6.947, abs=0.01)
    assert k == pytest.approx(0.06412, abs=1e-5)
    assert k_error == pytest.approx(0.00828, abs=1e-5)
    assert (squares / 10) ** 0.5 == pytest.approx(10.93, abs=0.01)
