"""Each golden case comes out as its folder says."""

import pytest
from cases import CASES, FIXTURES, outcome
from differences import assert_same_files


@pytest.mark.parametrize("case", CASES)
def test_case(case: str) -> None:
    names = ("expected.yaml", "errors.txt")
    expected = {
        f"{case}/{name}": (FIXTURES / case / name).read_text()
        for name in names
        if (FIXTURES / case / name).exists()
    }
    found = {f"{case}/{name}": text for name, text in outcome(case).items()}
    assert_same_files(found, expected, ".venv/bin/python tests/function/cases.py")
