"""Globs of `ChangeClasses`: what they match, and what that costs."""

import re

from hypothesis import given
from hypothesis import strategies as st
from work import steps

from krm_windows.patterns import glob

TEXTS = st.text("ab", max_size=8)
GLOBS = st.text("ab*", max_size=6)


def meant(pattern: str, text: str) -> bool:
    """What a glob means, in the words of `re`: fit for the short texts of a test alone."""
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), text, re.DOTALL) is not None


@given(GLOBS, TEXTS)
def test_a_star_stands_for_any_characters(pattern: str, text: str) -> None:
    """As it always has."""
    assert glob.matches(pattern, text) == meant(pattern, text)


def test_no_glob_is_tried_twice() -> None:
    """Stars that overlap cost a step each; `re` would take years for these."""
    for pattern, text in (
        ("*a" * 100 + "b", "a" * 253),
        ("a*" * 126, "a" * 252 + "b"),
        ("*" * 253, "a" * 253),
    ):
        assert steps(lambda pattern=pattern, text=text: glob.matches(pattern, text)) < 50 * len(
            pattern
        )
