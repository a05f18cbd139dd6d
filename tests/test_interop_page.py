"""The examples of docs/interop.md."""

import doctest
from pathlib import Path

PAGE = Path(__file__).resolve().parent.parent / "docs" / "interop.md"


def test_the_examples_of_the_page():
    failed, tried = doctest.testfile(str(PAGE), module_relative=False)
    assert tried > 15
    assert not failed
