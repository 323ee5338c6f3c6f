"""What docs/reference/compatibility.md promises is there, name by name."""

import json

import promised
import pytest

LISTS = tuple(json.loads(promised.FILE.read_text()))


@pytest.fixture(scope="module")
def now() -> dict[str, list[str]]:
    """All names of today."""
    return promised.current()


@pytest.mark.parametrize("what", LISTS)
def test_no_name_that_was_promised_is_gone(what: str, now: dict[str, list[str]]) -> None:
    """A name that goes breaks somebody's file or script; before a release it may, see below."""
    kept = json.loads(promised.FILE.read_text())
    broken = promised.broken(what, kept, now)
    assert broken == [], (
        f"{what}: before the first release `.venv/bin/python tests/promised.py` agrees to it"
    )


def test_a_name_that_goes_would_be_seen(now: dict[str, list[str]]) -> None:
    """Each list has what is known to be in it, fields of entries and of maps too."""
    known = {
        "commands and options": ["calendar --days", "check --output sarif", "state --wait open"],
        "exit codes": ["1 ERROR"],
        "fields": ["WindowPolicy.spec.windows.*.opens", "WindowPolicy.spec.targets[].names"],
        "types and values of fields": [
            "WindowPolicy.spec.timeZone: string",
            'WindowPolicy.spec.state: "Closed"',
        ],
        "required fields": ["WindowPolicy.spec.targets"],
        "names of the objects": [
            "CronJob flux-system/week-close-office",
            "Job flux-system/week-apply-*",
        ],
        "labels and annotations": [
            "krm-windows.dev/hold",
            "CronJob krm-windows.dev/policy: flux-system.week",
        ],
        "metrics, events": [
            "krm_windows_requests_total",
            "krm_windows_target_closed_by_info",
            "alert KrmWindowsNotClosed",
            "event WindowOpened",
        ],
        "rules": ["image-tag"],
        "rules that are errors": ["moment-syntax"],
        "rules that are not only information": ["annotation-in-git"],
        "HTTP API": [
            "GET /policies/{namespace}/{name}/state query at",
            "POST /policies/{namespace}/{name}/overrides 409",
            "State.open: boolean",
        ],
        "JSON that a command prints": ["state .open", "calendar .intervals[].opens"],
    }
    assert known.keys() == now.keys() == set(LISTS)
    for what, names in known.items():
        assert set(names) <= set(now[what]), what


@pytest.mark.parametrize("what", LISTS)
def test_what_breaks_a_promise_is_found(what: str) -> None:
    """A name less; and where nothing may be added to what is there, one more."""
    kept = json.loads(promised.FILE.read_text())
    if what in promised.NO_MORE:
        other = next(name for name in kept[promised.NO_MORE[what]] if name not in kept[what])
        assert promised.broken(what, kept, {**kept, what: [*kept[what], other]}) == [other]
        # What is new may be required, or an error.
        assert promised.broken(what, kept, {**kept, what: [*kept[what], "new"]}) == []
    else:
        assert promised.broken(what, kept, {**kept, what: kept[what][1:]}) == kept[what][:1]
        assert promised.broken(what, kept, {**kept, what: [*kept[what], "new"]}) == []
