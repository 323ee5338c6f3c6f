"""Each golden case comes out as its folder says."""

import pytest
from cases import CASES, FIXTURES, outcome


@pytest.mark.parametrize("case", CASES)
def test_case(case: str) -> None:
    """The items that come out and what is said are those of the folder, and no others."""
    names = ("expected.yaml", "errors.txt")
    expected = {
        name: (FIXTURES / case / name).read_text()
        for name in names
        if (FIXTURES / case / name).exists()
    }
    assert outcome(case) == expected
