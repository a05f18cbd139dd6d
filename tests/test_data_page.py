"""The programs of docs/data_and_saving.md."""

import pytest
from pages import Page

PAGE = Page("data_and_saving.md")


def test_every_program_is_found():
    assert len(PAGE.programs) == PAGE.count > 3


@pytest.mark.parametrize("number", range(PAGE.count))
def test_the_programs_print_what_the_page_says(number):
    source, printed = PAGE.programs[number]
    assert printed
    assert PAGE.run(source)[1] == printed
