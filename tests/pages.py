"""Programs in pages of docs/: what they print must be what the page says."""

from __future__ import annotations

import contextlib
import io
import linecache
import re
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent.parent / "docs"


class Page:
    """A page's programs, each with what it prints; "" where the page does not say."""

    def __init__(self, name: str) -> None:
        self.name = name
        text = (DOCS / name).read_text(encoding="utf-8")
        self.programs = re.findall(r"```python\n(.*?)```\n\n(?:```text\n(.*?)```)?", text, re.DOTALL)
        self.count = text.count("```python\n")

    def named(self, part: str) -> tuple[str, str]:
        """The program with these words in it."""
        (found,) = [program for program in self.programs if part in program[0]]
        return found

    def run(self, source: str) -> tuple[dict[str, Any], str]:
        """The names that a program leaves, and what it prints."""
        file = f"<docs/{self.name} {hash(source)}>"
        linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
        scope: dict[str, Any] = {"__name__": "page"}
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(compile(source, file, "exec"), scope)
        return scope, printed.getvalue()
