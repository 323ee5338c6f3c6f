"""Globs: what they match, and that no text keeps them busy."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from krm_windows import patterns

TEXTS = st.text("ab[?]\n", max_size=8)
GLOBS = st.text("ab*[?]", max_size=6)


def meant(pattern: str, text: str) -> bool:
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), text, re.DOTALL) is not None


@given(GLOBS, TEXTS)
def test_a_star_stands_for_any_characters(pattern: str, text: str) -> None:
    """It is the only sign: paths may have brackets."""
    assert patterns.matches(pattern, text) == meant(pattern, text)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [("*a" * 100 + "b", "a" * 4096), ("*a" * 2000, "a" * 4000), ("*" * 4000 + "b", "a" * 4096)],
)
def test_no_glob_is_tried_twice(pattern: str, text: str) -> None:
    """Stars that overlap; with a matcher that goes back, these would take years."""
    began = time.process_time()
    assert patterns.matches(pattern, text) == (pattern == "*a" * 2000)
    assert time.process_time() - began < 10


def test_a_glob_that_is_longer_than_any_path_matches_nothing() -> None:
    assert patterns.matches("*" * patterns.LONGEST, "a")
    assert not patterns.matches("*" * (patterns.LONGEST + 1), "a")


@pytest.mark.parametrize(
    ("pattern", "name", "expected"),
    [
        ("[!a]", "b", True),
        ("[]]", "]", True),
        ("[a-c]?", "bx", True),
        ("[a-c]?", "b", False),
        ("[", "[", True),
        ("[z-a]", "m", False),
    ],
)
def test_names_are_matched_as_in_a_shell(pattern: str, name: str, *, expected: bool) -> None:
    assert patterns.is_named(pattern, name) == expected
