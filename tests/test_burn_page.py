"""The programs of docs/burn.md run and print what the page says."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = (Path(__file__).resolve().parent.parent / "docs" / "burn.md").read_text(encoding="utf-8")
PROGRAMS = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", PAGE, re.DOTALL)


def test_every_program_is_found():
    assert len(PROGRAMS) == PAGE.count("```python\n") == 3


@pytest.mark.parametrize(("source", "printed"), PROGRAMS, ids=["gradients", "tape", "modules"])
def test_programs_print_what_the_page_says(source, printed):
    result = subprocess.run([sys.executable, "-W", "error", "-c", source], capture_output=True, text=True, timeout=300)
    assert (result.stdout, result.stderr) == (printed, "")
