"""Whose suspension is it: the table of 'wanted', 'found' and whose annotations."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
import zoned
from api_server import closed_by

from krm_windows.gate.annotations import HOLD, annotation
from krm_windows.gate.objects import dig
from krm_windows.gate.target import due_change, observe
from krm_windows.gate.timetable import Decision, Target
from krm_windows.plan.timetable import shipped
from krm_windows.schedule.timetable import Timetable

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
OPEN = Decision(open=True, rules=("windows.week",), reason="windows.week", since=None, until=None)
CLOSED = Decision(
    open=False, rules=(), reason="no window is open", since=NOW - timedelta(hours=1), until=None
)
POLICY = zoned.timetable(policy="flux-system/p", time_zone="UTC", former_names=("flux-system/old",))
APPS = Target(
    group="g",
    resource="rs",
    kind="K",
    namespace="n",
    name="apps",
    applied=("lastAppliedRevision", "history"),
)

OURS, FORMER, OTHER = (
    annotation("flux-system/p"),
    annotation("flux-system/old"),
    annotation("flux-system/other"),
)
VALUE = json.dumps(
    {
        "policy": "flux-system/p",
        "reason": "no window is open",
        "since": "2026-11-20T11:00:00+00:00",
        "until": None,
    }
)
ANNOTATED = {OURS: VALUE}


STALE, OLD, THEIRS = (
    {OURS: closed_by("flux-system/p")},
    {FORMER: closed_by("flux-system/old")},
    {OTHER: closed_by("flux-system/other")},
)
HELD = {HOLD: "ann, looking into it"}

Notes = dict[str, str]
Annotations = dict[str, str | None]


def found(
    notes: Notes,
    *,
    suspended: bool | None,
    age: timedelta = timedelta(days=9),
    applied: bool = True,
) -> object:
    created = (NOW - age).strftime("%Y-%m-%dT%H:%M:%SZ")
    annotations = {"team": "blue", **notes}
    return {
        "metadata": {
            "resourceVersion": "7",
            "creationTimestamp": created,
            "annotations": annotations,
        },
        "spec": {} if suspended is None else {"suspend": suspended},
        "status": {"history": [{"digest": "sha256:1"}] if applied else [], "conditions": []},
    }


def due(
    policy: Timetable, target: Target, live: object, decision: Decision, now: datetime
) -> tuple[object, str]:
    change = due_change(shipped(policy), target, observe(target, live), decision, now)
    return change.patch, change.words


def patch(annotations: Annotations, *, suspend: bool | None = None) -> dict[str, object]:
    noted: dict[str, object] = {"annotations": annotations} if annotations else {}
    spec: dict[str, object] = {} if suspend is None else {"spec": {"suspend": suspend}}
    return {"metadata": {"resourceVersion": "7"} | noted} | spec


RESUMED = ": a person had resumed it"
SHUTS = patch({**ANNOTATED}, suspend=True)


@pytest.mark.parametrize(
    ("decision", "suspended", "notes", "want", "words"),
    [
        (CLOSED, None, {}, SHUTS, "closed"),
        (CLOSED, False, {}, SHUTS, "closed"),
        (CLOSED, False, ANNOTATED, patch({}, suspend=True), f"closed again{RESUMED}"),
        (CLOSED, False, STALE, SHUTS, f"closed again{RESUMED}"),
        (CLOSED, False, HELD, SHUTS, "closed"),
        (CLOSED, False, THEIRS, patch({**ANNOTATED, OTHER: None}, suspend=True), "closed"),
        (CLOSED, True, ANNOTATED, {}, ""),
        (CLOSED, True, STALE, patch({**ANNOTATED}), "annotation updated"),
        (CLOSED, True, OLD, patch({**ANNOTATED, FORMER: None}), "annotation updated"),
        (CLOSED, True, ANNOTATED | OLD, patch({FORMER: None}), "annotation updated"),
        (CLOSED, True, THEIRS, patch({**ANNOTATED}), "annotation updated"),
        (CLOSED, True, {}, {}, "left closed by a person"),
        (CLOSED, True, HELD, {}, "left closed by a person"),
        (OPEN, None, {}, {}, ""),
        (OPEN, False, {}, {}, ""),
        (OPEN, False, ANNOTATED, patch({OURS: None}), f"annotation updated{RESUMED}"),
        (OPEN, False, OLD, patch({FORMER: None}), f"annotation updated{RESUMED}"),
        (OPEN, False, THEIRS, {}, ""),
        (OPEN, True, ANNOTATED, patch({OURS: None}, suspend=False), "opened"),
        (OPEN, True, OLD, patch({FORMER: None}, suspend=False), "opened"),
        (OPEN, True, ANNOTATED | THEIRS, patch({OURS: None}), "annotation updated"),
        (OPEN, True, THEIRS, {}, "left closed by another policy"),
        (OPEN, True, {}, {}, "left closed by a person"),
        (OPEN, True, ANNOTATED | HELD, {}, "left closed, held: 'ann, looking into it'"),
        (OPEN, True, HELD, {}, "left closed, held: 'ann, looking into it'"),
    ],
)
def test_whose_suspension_it_is(
    decision: Decision,
    suspended: bool | None,  # noqa: FBT001
    notes: Notes,
    want: dict[str, object],
    words: str,
) -> None:
    assert due(POLICY, APPS, found(notes, suspended=suspended), decision, NOW) == (want, words)


ADOPTS = POLICY._replace(adopt_until=NOW + timedelta(days=1))
WAITS = POLICY._replace(first_apply="Wait")
BERLIN = zoned.moved(POLICY, "Europe/Berlin")
UP, LEFT = (BERLIN._replace(adopt_until=datetime(2026, 11, 20, 13, of)) for of in (0, 1))
SUSPENDED, OPENS = found({}, suspended=True), patch({}, suspend=False)
NEW = found({}, suspended=True, applied=False)


@pytest.mark.parametrize(
    ("reason", "policy", "decision", "live", "want"),
    [
        ("unannotated counts as ours: opened", ADOPTS, OPEN, SUSPENDED, OPENS),
        ("unannotated counts as ours: annotated", ADOPTS, CLOSED, SUSPENDED, patch({**ANNOTATED})),
        ("an annotation is no such", ADOPTS, OPEN, found(THEIRS, suspended=True), {}),
        ("a hold outranks adoption", ADOPTS, OPEN, found(HELD, suspended=True), {}),
        ("the time is up", POLICY._replace(adopt_until=NOW), OPEN, SUSPENDED, {}),
        ("the wall clock says the time is up", UP, OPEN, SUSPENDED, {}),
        ("the wall clock says there is a minute left", LEFT, OPEN, SUSPENDED, OPENS),
        ("Wait, not applied: opened", WAITS, OPEN, NEW, OPENS),
        ("Wait, not applied: annotated", WAITS, CLOSED, NEW, patch({**ANNOTATED})),
        ("Wait, applied: a person's", WAITS, OPEN, SUSPENDED, {}),
        (
            "Wait does not hold open",
            WAITS,
            CLOSED,
            found({}, suspended=False, applied=False, age=timedelta(0)),
            SHUTS,
        ),
    ],
)
def test_what_counts_as_ours(
    reason: str, policy: Timetable, decision: Decision, live: object, want: dict[str, object]
) -> None:
    assert due(policy, APPS, live, decision, NOW)[0] == want, reason


YOUNG, OLDER, UNBORN = timedelta(minutes=59), timedelta(hours=1), timedelta(seconds=-1)


@pytest.mark.parametrize(
    ("reason", "notes", "suspended", "age", "want"),
    [
        ("open until it was applied", {}, False, YOUNG, {}),
        ("created this moment", {}, False, timedelta(0), {}),
        ("yet to be created, so it has no such time", {}, False, UNBORN, SHUTS),
        ("for an hour", {}, False, OLDER, SHUTS),
        ("a person's suspension stays", {}, True, YOUNG, {}),
        ("our own is lifted", ANNOTATED, True, YOUNG, patch({OURS: None}, suspend=False)),
        ("a hold keeps shut", ANNOTATED | HELD, True, YOUNG, {}),
    ],
)
def test_first_apply(
    reason: str, notes: Notes, age: timedelta, want: dict[str, object], *, suspended: bool
) -> None:
    live = found(notes, suspended=suspended, applied=False, age=age)
    assert due(POLICY, APPS, live, CLOSED, NOW)[0] == want, reason
    applied = found({}, suspended=False, age=age)
    assert due(POLICY, APPS, applied, CLOSED, NOW)[0] == SHUTS
    says_nothing = found({}, suspended=False, applied=False, age=age)
    assert due(POLICY, APPS._replace(applied=()), says_nothing, CLOSED, NOW)[0] == SHUTS


@pytest.mark.parametrize(
    "created",
    [
        "2099-01-01T00:00:00Z",
        "9999-12-31T23:59:59-23:59",
        "0001-01-01T00:00:00+23:59",
        "2026-11-20T11:30:00",
        "2026-11-20",
        "soon",
        1_763_638_200,
        None,
        [],
    ],
)
def test_what_is_not_young(created: object) -> None:
    live = found({}, suspended=False, applied=False)
    live["metadata"]["creationTimestamp"] = created  # type: ignore[index]
    assert due(POLICY, APPS, live, CLOSED, NOW)[0] == SHUTS


def test_a_released_target_is_only_opened() -> None:
    released = POLICY._replace(released=(APPS,))
    assert due(released, APPS, found(ANNOTATED, suspended=True), CLOSED, NOW) == (
        patch({OURS: None}, suspend=False),
        "opened",
    )
    assert due(released, APPS, found({}, suspended=False), CLOSED, NOW) == ({}, "")


def test_another_field() -> None:
    """Some kinds are paused, and a custom one may keep its switch anywhere."""
    deep = APPS._replace(field=("spec", "sync", "paused"))
    live = {"metadata": {"resourceVersion": "7"}, "spec": {"sync": {"interval": "1m"}}}
    assert dig(due(POLICY, deep, live, CLOSED, NOW)[0], "spec") == {"sync": {"paused": True}}


@pytest.mark.parametrize(
    ("hold", "said"),
    [
        ("x" * 198, "'" + "x" * 198 + "'"),
        ("x" * 199, "'" + "x" * 198 + "…"),
        ("\n" * 262_144, "'" + r"\n" * 99 + "…"),
        (
            "ann\nlöft\r\t\x1b[31m \u2028\u202e\x85\0\x7f\ud800.",
            r"'ann\nlöft\r\t\x1b[31m \u2028\u202e\x85\x00\x7f\ud800.'",
        ),
    ],
)
def test_the_words_of_a_hold_are_one_short_line(hold: str, said: str) -> None:
    """They are somebody else's, up to 256 KiB, and are repeated in each run's log and Events."""
    live = found({HOLD: hold}, suspended=True)
    assert due(POLICY, APPS, live, OPEN, NOW) == ({}, f"left closed, held: {said}")


@pytest.mark.parametrize("reason", ["x" * 1024, "x" * 1025, "ä" * 300_000])
def test_a_long_reason_is_cut(reason: str) -> None:
    """All annotations of an object have 256 KiB together."""
    change, _ = due(POLICY, APPS, found({}, suspended=False), replace(CLOSED, reason=reason), NOW)
    text = dig(change, "metadata", "annotations", OURS)
    assert isinstance(text, str)
    said = json.loads(text)["reason"]
    assert said == (reason if len(reason) <= 1024 else f"{reason[:1023]}…")
    shut = found({OURS: text}, suspended=True)
    assert due(POLICY, APPS, shut, replace(CLOSED, reason=reason), NOW) == ({}, "")
