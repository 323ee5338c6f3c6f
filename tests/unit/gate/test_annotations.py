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
OURS, THEIRS = (annotation("flux-system/p"), annotation("flux-system/q"))
APPLIED: Json = {"lastAppliedRevision": "1"}
RunOnce = Callable[..., bool]
FLUX, GATE = "kustomize-controller", "krm-windows"


@pytest.fixture
def run_once(port: int, account: Path) -> RunOnce:
    def once(timetable: Timetable, around: RunOnce = Gate.run) -> bool:
        gate = Gate(shipped(timetable), partial(decide, timetable), lambda: NOON - HOUR, dict)
        return around(gate, Cluster("127.0.0.1", str(port), account), allow_missing=False)

    return once


def suspended(api: Api) -> object:
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
    fields: Json = {"metadata": {"annotations": dict.fromkeys(annotations, "")}}
    return managed(manager, fields | ({"spec": {"suspend": True}} if suspend else {}), operation)


# Who is recorded, as a person finds it, where the suspension is the policy's, and where it is not.
OPENED = {
    "the gate wrote both": [wrote(GATE, OURS, suspend=True)],
    "nobody is recorded": None,
    "the list was emptied": [],
    "others wrote other things": [wrote(FLUX, "team")],
    "its entry was of a version that is gone": [wrote("kubectl-edit", "team"), wrote(FLUX, "a")],
    "the API server has joined it with others": [wrote("ancient-changes", OURS, suspend=True)],
    "tracking began after it": [wrote("before-first-apply", OURS, suspend=True)],
    "Git says the same as the gate": [wrote(GATE, OURS, suspend=True), wrote(FLUX, OURS)],
    "Git says that it is suspended": [wrote(GATE, OURS, suspend=True), wrote(FLUX, suspend=True)],
    "a hold suspended, and is over": [wrote(GATE, OURS), wrote(HOLDER, suspend=True)],
    "a hold suspended alone, and is over": [wrote(HOLDER, suspend=True)],
}
LEFT = {
    "Flux wrote both": [wrote(FLUX, OURS, suspend=True, operation="Apply")],
    "a person suspended": [wrote(FLUX, OURS), wrote("flux", suspend=True)],
    "a person wrote it": [wrote("kubectl-annotate", OURS), wrote(GATE, suspend=True)],
    "resumed and suspended again": [wrote(GATE, OURS), wrote("flux", suspend=True)],
    "a hold in Git's words": [wrote(HOLDER, suspend=True, operation="Apply")],
    "Git, and a hold that is over": [
        wrote(FLUX, suspend=True, operation="Apply"),
        wrote(HOLDER, suspend=True),
    ],
    "an apply in the gate's name": [wrote(GATE, OURS, suspend=True, operation="Apply")],
    "a name that begins as the gate's": [wrote("krm-windows-x", OURS, suspend=True)],
    "a name without a text": [wrote(GATE, OURS, suspend=True) | {"manager": [GATE]}],
    "fields that are no map": [{"manager": FLUX, "operation": "Update", "fieldsV1": "all"}],
    "an entry that is none": ["all"],
}


@pytest.mark.parametrize("reason", [*OPENED, *LEFT])
def test_whose_writing_counts(api: Api, run_once: RunOnce, reason: str) -> None:
    entries: list[Json] | None = (OPENED | LEFT)[reason]  # type: ignore[operator]
    put(api, {OURS: closed_by("flux-system/p")}, entries=entries)
    assert run_once(ALWAYS)
    assert (suspended(api) is False) == (reason in OPENED)


@pytest.mark.parametrize("policy", [SHUT, ALWAYS], ids=["closed", "open"])
def test_a_hold_of_an_open_target(api: Api, run_once: RunOnce, policy: Timetable) -> None:
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
        "{}",
        "[]",
        "[" * 100_000,
        closed_by("flux-system/q"),
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
    put(api, {OURS: closed_by("flux-system/p", **said)}, entries=None)
    assert run_once(ALWAYS)
    assert suspended(api) is False


def test_a_clock_that_was_years_ahead(api: Api, run_once: RunOnce) -> None:
    """The gate itself has written it: it does not keep shut until that time has come."""
    text = closed_by("flux-system/p", since="2031-01-01T00:00:00Z")
    put(api, {OURS: text}, entries=[wrote(GATE, OURS, suspend=True)])
    assert run_once(ALWAYS)
    assert suspended(api) is False


def test_a_forged_annotation_opens_nothing(api: Api, run_once: RunOnce) -> None:
    """Git brings the very annotation that the gate wrote in the last window."""
    api.add("apps", {}, by=FLUX, status=APPLIED)
    assert run_once(SHUT)
    [text] = [dig(body, "metadata", "annotations", OURS) for body in api.bodies]
    assert run_once(ALWAYS)
    assert suspended(api) is False
    entries = [wrote(FLUX, OURS, operation="Apply"), wrote("flux", suspend=True)]
    put(api, {OURS: text}, entries=entries)
    for timetable in (ALWAYS, SHUT, ALWAYS):
        assert run_once(timetable)
        assert suspended(api) is True
    assert dig(api.object("apps"), "metadata", "annotations") == {OURS: text}


def test_an_annotation_in_git_while_it_closes(api: Api, run_once: RunOnce) -> None:
    api.add("apps", {}, annotations={OURS: "from Git"}, by=FLUX, status=APPLIED)
    assert run_once(SHUT)
    assert writer(api.object("apps"), "metadata", "annotations", OURS) is Writer.GATE
    assert run_once(ALWAYS)
    assert suspended(api) is False


@pytest.mark.parametrize(
    ("text", "by", "opens"),
    [
        ("{}", FLUX, True),
        (closed_by("flux-system/r"), FLUX, True),
        (closed_by("flux-system/q"), FLUX, True),
        (closed_by("flux-system/q"), GATE, False),
    ],
)
def test_an_annotation_of_another_policy(
    api: Api, run_once: RunOnce, text: str, by: str, *, opens: bool
) -> None:
    """Forged, as that policy need not exist, it keeps nothing shut; its gate has the same name."""
    entries = [wrote(GATE, OURS, suspend=True), wrote(by, THEIRS)]
    put(api, {OURS: closed_by("flux-system/p"), THEIRS: text}, entries=entries)
    assert run_once(ALWAYS)
    assert (suspended(api) is False) == opens


@pytest.mark.parametrize(
    "timetable", [SHUT._replace(adopt_until=NOON), SHUT._replace(first_apply="Wait")]
)
def test_what_was_adopted_is_opened(api: Api, run_once: RunOnce, timetable: Timetable) -> None:
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


def test_what_is_changed_between_reading_and_writing(api: Api, run_once: RunOnce) -> None:
    put(api, {OURS: closed_by("flux-system/p")}, entries=None)
    api.fault("PATCH", "apps", edited("apps", {"metadata": {"annotations": {OURS: "forged"}}}))
    assert run_once(ALWAYS)
    assert suspended(api) is True


def test_digests_are_of_64_bits() -> None:
    """Names and annotations in clusters have them; fewer were made to collide within seconds."""
    assert len(digest("flux-system/p")) == len(OURS.rpartition("/")[2]) == DIGITS == 16
    for text in ("", "p" * 1000, "ä€😀"):
        assert digest(text) == hashlib.sha256(text.encode()).hexdigest()[:DIGITS]


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
    said = ClosedBy("flux-system/p", "r", NOON, None)
    assert not is_believed(OURS, said, Writer.GATE, Writer.OTHER, NOON)
    adopted = said._replace(adopted=True)
    assert is_believed(OURS, adopted, Writer.GATE, Writer.OTHER, NOON)
