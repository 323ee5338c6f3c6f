"""Patterns that match at every place."""

import re

from krm_windows.krm.lines import end_of


def test_the_end_of_a_match_is_given_wherever_it_begins() -> None:
    blanks = re.compile(" *")
    assert end_of(blanks, "a  b", 1) == 3
    assert end_of(blanks, "a  b", 0) == 0
    assert end_of(blanks, "a  b", 1, 2) == 2
    assert end_of(re.compile(b" *"), b"a  ", 1) == 3
