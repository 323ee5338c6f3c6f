"""What docs/reference/compatibility.md promises is there, name by name."""

import json

import promised
import pytest


@pytest.fixture(scope="module")
def now() -> dict[str, list[str]]:
    """All names of today."""
    return promised.current()


def test_no_name_that_was_promised_is_gone(now: dict[str, list[str]]) -> None:
    """A name that goes breaks somebody's file or script."""
    kept = json.loads(promised.FILE.read_text())
    broken = {what: gone for what in kept if (gone := promised.broken(what, kept, now))}
    assert broken == {}, "before a release `.venv/bin/python tests/promised.py` agrees to it"


def test_what_breaks_a_promise_is_found(now: dict[str, list[str]]) -> None:
    """A name less; and where nothing may be added to what is there, one more."""
    kept = json.loads(promised.FILE.read_text())
    assert now.keys() == kept.keys()
    for what, names in kept.items():
        assert names, what
        assert promised.broken(what, kept, {**kept, what: [*names, "new"]}) == [], what
        if what in promised.NO_MORE:
            other = next(name for name in kept[promised.NO_MORE[what]] if name not in names)
            assert promised.broken(what, kept, {**kept, what: [*names, other]}) == [other]
        else:
            assert promised.broken(what, kept, {**kept, what: names[1:]}) == names[:1]
