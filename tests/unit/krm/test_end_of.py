"""Patterns that match at every place."""

import re

import pytest

from krm_windows.krm.lines import end_of


def test_the_end_of_a_match_is_given_wherever_it_begins() -> None:
    """The place itself where nothing is matched; nothing behind the stop is."""
    blanks = re.compile(" *")
    assert end_of(blanks, "a  b", 1) == 3
    assert end_of(blanks, "a  b", 0) == 0
    assert end_of(blanks, "a  b", 1, 2) == 2
    assert end_of(re.compile(b" *"), b"a  ", 1) == 3


def test_a_pattern_that_does_not_match_at_every_place_is_refused() -> None:
    """It is a mistake of this program, and no property of the text."""
    with pytest.raises(TypeError, match="does not match the empty text"):
        end_of(re.compile(" +"), "a", 0)
