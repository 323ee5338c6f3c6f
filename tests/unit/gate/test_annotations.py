"""When an annotation is believed.

By what it says, whose key it has, and whom the API server recorded as its writer.
"""

import hashlib
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest
import zoned
from api_server import Api, Json, closed_by, edited, kustomization, managed, path_of

from krm_windows.gate.annotations import (
    DIGITS,
    HOLD,
    Cause,
    ClosedBy,
    Writer,
    annotation,
    digest,
    is_believed,
    read,
    writer,
)
from krm_windows.gate.kubernetes import Cluster
from krm_windows.gate.objects import HOLDER, dig
from krm_windows.gate.run import Gate
from krm_windows.plan.timetable import shipped
from krm_windows.schedule.timeline import decide
from krm_windows.schedule.timetable import Kind, Rule, Timetable

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
APPS = kustomization("apps", "v1")
SHUT = zoned.timetable(policy="flux-system/p", time_zone="UTC", targets=(APPS,))
ALWAYS = SHUT._replace(outside_windows="Open")
MORNING = SHUT._replace(windows=(Rule(Kind.WINDOW, "morning", NOON - 4 * HOUR, NOON),))
OURS, THEIRS = (
    annotation("flux-system/p"),
    annotation("flux-system/q"),
)
APPLIED: Json = {"lastAppliedRevision": "1"}
RunOnce = Callable[..., bool]
FLUX, GATE = "kustomize-controller", "krm-windows"


@pytest.fixture
def run_once(port: int, account: Path) -> RunOnce:
    """One run at eleven."""

    def once(timetable: Timetable, around: RunOnce = Gate.run) -> bool:
        gate = Gate(shipped(timetable), partial(decide, timetable), lambda: NOON - HOUR, dict)
        return around(gate, Cluster("127.0.0.1", str(port), account), allow_missing=False)

    return once


def suspended(api: Api) -> object:
    """What the field holds."""
    return dig(api.object("apps"), "spec", "suspend")


def put(api: Api, annotations: Json, *, entries: list[Json] | None) -> None:
    """Put a suspended target there, whose fields these hands wrote; None: nobody is recorded."""
    api.add("apps", {"suspend": True}, annotations=annotations, status=APPLIED)
    if entries is not None:
        metadata = api.object("apps")["metadata"]
        assert isinstance(metadata, dict)
        metadata["managedFields"] = entries


def wrote(
    manager: str, *annotations: str, suspend: bool = False, operation: str = "Update"
) -> Json:
    """Record that a manager wrote some annotations, and the suspend field."""
    fields: Json = {"metadata": {"annotations": dict.fromkeys(annotations, "")}}
    return managed(manager, fields | ({"spec": {"suspend": True}} if suspend else {}), operation)


@pytest.mark.parametrize(
    ("reason", "entries", "opens"),
    [
        ("the gate wrote both", [wrote(GATE, OURS, suspend=True)], True),
        ("nobody is recorded", None, True),
        ("the list was emptied", [], True),
        ("others wrote other things", [wrote(FLUX, "team")], True),
        (
            "its entry was of a version that is gone",
            [wrote("kubectl-edit", "team"), wrote(FLUX, "a")],
            True,
        ),
        (
            "the API server has joined it with others",
            [wrote("ancient-changes", OURS, suspend=True)],
            True,
        ),
        ("tracking began after it", [wrote("before-first-apply", OURS, suspend=True)], True),
        (
            "Git says the same as the gate",
            [wrote(GATE, OURS, suspend=True), wrote(FLUX, OURS)],
            True,
        ),
        (
            "Git says the same suspension",
            [wrote(GATE, OURS, suspend=True), wrote(FLUX, suspend=True)],
            True,
        ),
        ("Flux wrote both", [wrote(FLUX, OURS, suspend=True, operation="Apply")], False),
        (
            "Flux wrote the annotation, a person suspended",
            [wrote(FLUX, OURS), wrote("flux", suspend=True)],
            False,
        ),
        (
            "a person wrote the annotation",
            [wrote("kubectl-annotate", OURS), wrote(GATE, suspend=True)],
            False,
        ),
        (
            "a person resumed and suspended again",
            [wrote(GATE, OURS), wrote("flux", suspend=True)],
            False,
        ),
        ("a hold suspended, and is over", [wrote(GATE, OURS), wrote(HOLDER, suspend=True)], True),
        ("a hold suspended alone, and is over", [wrote(HOLDER, suspend=True)], True),
        ("a hold in Git's words", [wrote(HOLDER, suspend=True, operation="Apply")], False),
        (
            "Git says the same suspension as a hold that is over",
            [wrote(FLUX, suspend=True, operation="Apply"), wrote(HOLDER, suspend=True)],
            False,
        ),
        (
            "an apply in the gate's name",
            [wrote(GATE, OURS, suspend=True, operation="Apply")],
            False,
        ),
        ("a name that begins as the gate's", [wrote("krm-windows-x", OURS, suspend=True)], False),
        ("a name without a text", [wrote(GATE, OURS, suspend=True) | {"manager": [GATE]}], False),
        (
            "fields that cannot be read",
            [{"manager": FLUX, "operation": "Update", "fieldsV1": "all"}],
            False,
        ),
        ("an entry that cannot be read", ["all"], False),
    ],
)
def test_whose_writing_counts(
    api: Api,
    run_once: RunOnce,
    reason: str,
    entries: list[Json] | None,
    opens: bool,  # noqa: FBT001
) -> None:
    """An annotation by another writer is no annotation."""
    put(api, {OURS: closed_by("flux-system/p")}, entries=entries)
    assert run_once(ALWAYS), reason
    assert (suspended(api) is False) == opens, reason


@pytest.mark.parametrize("policy", [SHUT, ALWAYS], ids=["closed", "open"])
def test_a_hold_of_an_open_target(api: Api, run_once: RunOnce, policy: Timetable) -> None:
    """It is shut by the hold itself, whatever the calendar says, and is the policy's afterwards."""
    hold = wrote(HOLDER, HOLD, suspend=True)
    put(api, {HOLD: "ann, 2026-11-20T10:00:00Z: looking"}, entries=[hold])
    assert run_once(policy)
    assert suspended(api) is True
    release: Json = {"metadata": {"annotations": {HOLD: None}}, "spec": {}}
    api.merge(path_of("apps"), release, "kubectl-annotate")
    assert run_once(SHUT)
    assert suspended(api) is True
    assert run_once(ALWAYS)
    assert suspended(api) is False


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "{}",
        "[]",
        "null",
        "[" * 100_000,
        closed_by("flux-system/q"),
        closed_by(""),
        closed_by("flux-system/p", reason=None),
        closed_by("flux-system/p", reason=7),
        closed_by("flux-system/p", since=1),
        closed_by("flux-system/p", since="2026-11-20T08:00:00"),
        closed_by("flux-system/p", since="yesterday"),
        closed_by("flux-system/p", until={}),
        closed_by("flux-system/p", since="2026-11-20T08:00:00Z", until="2026-11-20T08:00:00Z"),
        closed_by("flux-system/p", since="2026-11-20T08:00:00Z", until="2020-01-01T00:00:00Z"),
        closed_by("flux-system/p", since="2026-11-20T11:11:00Z"),
        closed_by("flux-system/p", since="9999-12-31T23:59:59-23:59"),
        closed_by("flux-system/p\ud800"),
        '{"policy": "flux-system/p", "since": null, "until": null}',
    ],
)
def test_what_a_closed_by_annotation_has_to_say(api: Api, run_once: RunOnce, text: str) -> None:
    """What is no annotation of this policy, or is of a time to come, counts for nothing."""
    put(api, {OURS: text}, entries=None)
    assert run_once(ALWAYS)
    assert suspended(api) is True
    assert api.writes() == []


@pytest.mark.parametrize(
    "said",
    [
        {"since": "2020-01-01T00:00:00Z", "until": "2020-02-01T00:00:00Z"},
        {"since": "2026-11-20T11:09:00Z", "until": None},
        {"since": None, "until": "2020-01-01T00:00:00Z"},
        {"reason": "", "a key of": "a later version"},
    ],
)
def test_honest_annotations(api: Api, run_once: RunOnce, said: Json) -> None:
    """An annotation of before a long outage, or of a clock that is ahead, is one."""
    put(api, {OURS: closed_by("flux-system/p", **said)}, entries=None)
    assert run_once(ALWAYS)
    assert suspended(api) is False


def test_a_clock_that_was_years_ahead(api: Api, run_once: RunOnce) -> None:
    """The gate itself has written it: it does not keep shut until that time has come."""
    put(
        api,
        {OURS: closed_by("flux-system/p", since="2031-01-01T00:00:00Z")},
        entries=[wrote(GATE, OURS, suspend=True)],
    )
    assert run_once(ALWAYS)
    assert suspended(api) is False


def test_a_forged_annotation_opens_nothing(api: Api, run_once: RunOnce) -> None:
    """Git brings the very annotation that the gate wrote in the last window."""
    api.add("apps", {}, by=FLUX, status=APPLIED)
    assert run_once(SHUT)
    [text] = [dig(body, "metadata", "annotations", OURS) for body in api.bodies]
    assert run_once(ALWAYS)
    assert suspended(api) is False
    put(
        api,
        {OURS: text},
        entries=[wrote(FLUX, OURS, operation="Apply"), wrote("flux", suspend=True)],
    )
    for timetable in (ALWAYS, SHUT, ALWAYS):
        assert run_once(timetable)
        assert suspended(api) is True
    assert dig(api.object("apps"), "metadata", "annotations") == {OURS: text}


def test_an_annotation_in_git_while_it_closes(api: Api, run_once: RunOnce) -> None:
    """The gate writes its own in its place, and opens again."""
    api.add("apps", {}, annotations={OURS: "from Git"}, by=FLUX, status=APPLIED)
    assert run_once(SHUT)
    assert writer(api.object("apps"), "metadata", "annotations", OURS) is Writer.GATE
    assert run_once(ALWAYS)
    assert suspended(api) is False


@pytest.mark.parametrize("text", ["{}", closed_by("flux-system/r"), closed_by("flux-system/q")])
def test_a_forged_annotation_keeps_nothing_shut(api: Api, run_once: RunOnce, text: str) -> None:
    """In the name of a policy that need not exist: ours opens what it closed."""
    entries = [wrote(GATE, OURS, suspend=True), wrote(FLUX, THEIRS)]
    put(api, {OURS: closed_by("flux-system/p"), THEIRS: text}, entries=entries)
    assert run_once(ALWAYS)
    assert suspended(api) is False


def test_an_honest_annotation_of_another_policy_keeps_shut(api: Api, run_once: RunOnce) -> None:
    """Written by its gate, which has the same name."""
    put(
        api,
        {OURS: closed_by("flux-system/p"), THEIRS: closed_by("flux-system/q")},
        entries=[wrote(GATE, OURS, THEIRS, suspend=True)],
    )
    assert run_once(ALWAYS)
    assert suspended(api) is True


@pytest.mark.parametrize(
    "timetable", [SHUT._replace(adopt_until=NOON), SHUT._replace(first_apply="Wait")]
)
def test_what_was_adopted_is_opened(api: Api, run_once: RunOnce, timetable: Timetable) -> None:
    """The suspension is another writer's, and the annotation says that the policy adopts it."""
    put(api, {}, entries=[wrote("kubectl-patch", suspend=True)])
    if timetable.first_apply == "Wait":
        api.object("apps")["status"] = {}
    assert run_once(timetable)
    api.object("apps")["status"] = APPLIED
    freeze = SHUT._replace(freezes=(Rule(Kind.FREEZE, "f", NOON - 2 * HOUR, NOON, "why"),))
    assert run_once(freeze)
    text = str(dig(api.object("apps"), "metadata", "annotations", OURS))
    assert json.loads(text)["adopted"] is True
    assert json.loads(text)["reason"] == "freezes.f: why"
    assert run_once(ALWAYS)
    assert suspended(api) is False


def test_a_person_comes_between_two_runs(api: Api, run_once: RunOnce) -> None:
    """Resumed and suspended again while it was closed: the suspension is that person's now."""
    api.add("apps", {}, by=FLUX, status=APPLIED)
    assert run_once(SHUT)
    metadata = api.object("apps")["metadata"]
    assert isinstance(metadata, dict)
    metadata["managedFields"] = [wrote(GATE, OURS), wrote("flux", suspend=True)]
    assert run_once(ALWAYS)
    assert suspended(api) is True


def test_what_is_changed_between_reading_and_writing(api: Api, run_once: RunOnce) -> None:
    """A patch is made for the version that was read."""
    put(api, {OURS: closed_by("flux-system/p")}, entries=None)
    api.fault("PATCH", "apps", edited("apps", {"metadata": {"annotations": {OURS: "forged"}}}))
    assert run_once(ALWAYS)
    assert suspended(api) is True


def test_digests_have_64_bits() -> None:
    """Fewer were made to collide within seconds."""
    assert DIGITS >= 16
    assert len(digest("flux-system/p")) == len(OURS.rpartition("/")[2]) == DIGITS


def test_digests_are_those_of_sha256() -> None:
    """Names and annotations in clusters have them."""
    for text in ("", "flux-system/p", "p" * 1000, "ä€😀"):
        assert digest(text) == hashlib.sha256(text.encode()).hexdigest()[:DIGITS]


def test_an_annotation_is_read_as_it_was_written(api: Api, run_once: RunOnce) -> None:
    """By the gate, of a freeze."""
    frozen = SHUT._replace(freezes=(Rule(Kind.FREEZE, "f", NOON - 2 * HOUR, NOON, "why"),))
    assert run_once(frozen)
    said = read(str(dig(api.object("apps"), "metadata", "annotations", OURS)))
    assert said is not None
    assert (said.policy, said.reason, said.since) == ("flux-system/p", "freezes.f: why", None)


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ("", (False,)),
        (', "adopted": true, "zoneData": "differs"', (True,)),
        (', "generation": 4', (False,)),
        (', "cause": "HookFailed"', (False, Cause.HOOK_FAILED)),
        (', "cause": "ClockSkew", "adopted": true', (True, Cause.CLOCK_SKEW)),
        (', "cause": "OfALaterRelease"', (False,)),
        (', "cause": ["HookFailed"]', (False,)),
        (', "ofALaterRelease": {"a": [1]}', (False,)),
    ],
)
def test_what_is_in_clusters_stays_readable(more: str, expected: tuple[object, ...]) -> None:
    """Targets are closed while the gate is updated: neither the key nor the text may change."""
    assert annotation("flux-system/week") == "closed-by.krm-windows.dev/2f2fa8c96fc69227"
    text = (
        '{"policy": "flux-system/week", "reason": "outside the windows", '
        f'"since": "2026-11-19T16:00:00Z", "until": "2026-11-23T07:00:00Z"{more}}}'
    )
    since, until = datetime(2026, 11, 19, 16, tzinfo=UTC), datetime(2026, 11, 23, 7, tzinfo=UTC)
    words = ("flux-system/week", "outside the windows")
    said = ClosedBy(*words, since, until, *expected)  # type: ignore[arg-type]
    assert read(text) == said


@pytest.mark.parametrize(("seconds", "believed"), [(0, True), (600, True), (601, False)])
def test_a_clock_of_another_node_may_be_ten_minutes_ahead(seconds: int, *, believed: bool) -> None:
    """And no more, where nobody is recorded as the writer."""
    said = ClosedBy("flux-system/p", "r", NOON + timedelta(seconds=seconds), None)
    assert is_believed(OURS, said, Writer.UNKNOWN, Writer.UNKNOWN, NOON) is believed
    # The clock of the gate that wrote it may have been wrong.
    assert is_believed(OURS, said, Writer.GATE, Writer.UNKNOWN, NOON)


def test_what_somebody_else_suspended_counts_only_if_it_was_adopted() -> None:
    """An annotation that does not say so says that it was not."""
    said = ClosedBy("flux-system/p", "r", NOON, None)
    assert not is_believed(OURS, said, Writer.GATE, Writer.OTHER, NOON)
    adopted = said._replace(adopted=True)
    assert is_believed(OURS, adopted, Writer.GATE, Writer.OTHER, NOON)


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ({}, Writer.UNKNOWN),
        ({"managedFields": []}, Writer.UNKNOWN),
        # What cannot be read is not the gate's.
        ({"managedFields": ["krm-windows"]}, Writer.OTHER),
    ],
)
def test_who_wrote_a_field_of_which_nobody_is_recorded(metadata: Json, expected: Writer) -> None:
    """Nobody is unknown, and an entry that says nothing is somebody else's."""
    assert writer({"metadata": metadata}, "spec", "suspend") is expected
