"""Suggestions for what was misspelt, and what they cost."""

import pytest
from work import steps

from krm_windows.policy import moments
from krm_windows.policy.findings import RefusedError, closest
from krm_windows.policy.moments import Role


def test_a_misspelt_word_is_recognised() -> None:
    assert closest("windws", ["windows", "freezes"]) == "windows"


def test_long_words_and_long_lists_are_not_compared() -> None:
    assert closest("a" * 100_000, ["a" * 100_000]) is None
    assert closest("windws", ["windows", *map(str, range(100_000))]) is None


@pytest.mark.parametrize("part", ["mondy ", "1,", "a-", "12.30 ", " ", ":"])
def test_a_moment_that_is_none_costs_its_length(part: str) -> None:
    def read(text: str) -> None:
        for role in Role:
            with pytest.raises(RefusedError):
                moments.parse(text, role)

    read(part * 100)
    assert steps(lambda: read(part * 20_000)) < 3 * steps(lambda: read(part * 10_000))
