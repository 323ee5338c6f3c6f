"""What docs/reference/compatibility.md promises is there, name by name."""

import json
import re
from pathlib import Path

import promised
import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs/reference/compatibility.md"


@pytest.mark.parametrize("what", promised.current())
def test_no_name_that_was_promised_is_gone(what: str) -> None:
    """A name that goes breaks somebody's file or script; before a release it may, see below."""
    kept = json.loads(promised.FILE.read_text())
    gone = sorted(set(kept[what]) - set(promised.current()[what]))
    assert gone == [], f"{what}: before the first release `python tests/promised.py` agrees to it"


def test_a_name_that_goes_would_be_seen() -> None:
    """Each list has what is known to be in it, fields of entries and of maps too."""
    found = promised.current()
    assert "calendar --days" in found["commands and options"]
    assert "1 ERROR" in found["exit codes"]
    assert "WindowPolicy.spec.windows.*.opens" in found["fields"]
    assert "WindowPolicy.spec.targets[].names" in found["fields"]
    assert "krm-windows.dev/hold" in found["labels and annotations"]
    assert "image-tag" in found["rules"]


def test_the_page_is_about_each_of_them() -> None:
    """A row of its table for each list."""
    rows = re.findall(r"^\| ([^|]+) \|", PAGE.read_text(), re.MULTILINE)
    for what in promised.current():
        assert any(what in row for row in rows), what
