"""When a mark is believed: what it says, whose key it has, and whose hand the API server has recorded."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest
import zoned
from api_server import Api, Json, edited, hand, kustomization, marked

from krm_windows.gate import hooks
from krm_windows.gate.__main__ import Gate
from krm_windows.gate.annotations import DIGITS, HOOKS, Writer, annotation, digest, read, writer
from krm_windows.gate.decide import decide
from krm_windows.gate.kubernetes import Cluster, dig
from krm_windows.gate.timetable import Kind, Rule, Timetable

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
APPS = kustomization("apps", "v1")
SHUT = zoned.timetable(policy="flux-system/p", time_zone="UTC", targets=(APPS,))
ALWAYS = replace(SHUT, outside_windows="Open")
MORNING = replace(SHUT, windows=(Rule(Kind.WINDOW, "morning", NOON - 4 * HOUR, NOON),))
OURS, THEIRS, NOTE = (
    annotation("flux-system/p"),
    annotation("flux-system/q"),
    annotation("flux-system/p", HOOKS),
)
APPLIED: Json = {"lastAppliedRevision": "1"}
Look = Callable[..., bool]
FLUX, GATE = "kustomize-controller", "krm-windows"


@pytest.fixture
def look(port: int, account: Path) -> Look:
    """One look at eleven."""

    def once(timetable: Timetable, around: Look = Gate.run) -> bool:
        gate = Gate(timetable, partial(decide, timetable), lambda: NOON - HOUR, dict)
        return around(gate, Cluster("127.0.0.1", str(port), account), allow_missing=False)

    return once


def suspended(api: Api) -> object:
    """What the field holds."""
    return dig(api.object("apps"), "spec", "suspend")


def put(api: Api, annotations: Json, *, hands: list[Json] | None) -> None:
    """Put a suspended target there, whose fields these hands wrote; None: nobody is recorded."""
    api.add("apps", {"suspend": True}, annotations=annotations, status=APPLIED)
    if hands is not None:
        metadata = api.object("apps")["metadata"]
        assert isinstance(metadata, dict)
        metadata["managedFields"] = hands


def wrote(
    manager: str, *annotations: str, suspend: bool = False, operation: str = "Update"
) -> Json:
    """Record that a manager wrote some annotations, and the suspend field."""
    fields: Json = {"metadata": {"annotations": dict.fromkeys(annotations, "")}}
    return hand(manager, fields | ({"spec": {"suspend": True}} if suspend else {}), operation)


@pytest.mark.parametrize(
    ("reason", "hands", "opens"),
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
            "Flux wrote the mark, a person suspended",
            [wrote(FLUX, OURS), wrote("flux", suspend=True)],
            False,
        ),
        (
            "a person wrote the mark",
            [wrote("kubectl-annotate", OURS), wrote(GATE, suspend=True)],
            False,
        ),
        (
            "a person resumed and suspended again",
            [wrote(GATE, OURS), wrote("flux", suspend=True)],
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
def test_whose_hand_counts(
    api: Api,
    look: Look,
    reason: str,
    hands: list[Json] | None,
    opens: bool,  # noqa: FBT001
) -> None:
    """A mark by another hand is no mark, and a suspension by another hand is not the gate's."""
    put(api, {OURS: marked("flux-system/p")}, hands=hands)
    assert look(ALWAYS), reason
    assert (suspended(api) is False) == opens, reason


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "{}",
        "[]",
        "null",
        "[" * 100_000,
        marked("flux-system/q"),
        marked(""),
        marked("flux-system/p", reason=None),
        marked("flux-system/p", reason=7),
        marked("flux-system/p", since=1),
        marked("flux-system/p", since="2026-11-20T08:00:00"),
        marked("flux-system/p", since="yesterday"),
        marked("flux-system/p", until={}),
        marked("flux-system/p", since="2026-11-20T08:00:00Z", until="2026-11-20T08:00:00Z"),
        marked("flux-system/p", since="2026-11-20T08:00:00Z", until="2020-01-01T00:00:00Z"),
        marked("flux-system/p", since="2026-11-20T11:11:00Z"),
        marked("flux-system/p", since="9999-12-31T23:59:59-23:59"),
        marked("flux-system/p\ud800"),
        marked("flux-system/p")[:-1] + ', "policy": "flux-system/p"}',
        '{"policy": "flux-system/p", "since": null, "until": null}',
    ],
)
def test_what_a_mark_has_to_say(api: Api, look: Look, text: str) -> None:
    """What is no mark of this policy, or is of a time to come, is nobody's word: a person has suspended it."""
    put(api, {OURS: text}, hands=None)
    assert look(ALWAYS)
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
def test_honest_marks(api: Api, look: Look, said: Json) -> None:
    """One of before a long outage, of a clock that is ahead, or of a later version is a mark."""
    put(api, {OURS: marked("flux-system/p", **said)}, hands=None)
    assert look(ALWAYS)
    assert suspended(api) is False


def test_a_clock_that_was_years_ahead(api: Api, look: Look) -> None:
    """The gate's own hand has written it: it does not keep shut until that time has come."""
    put(
        api,
        {OURS: marked("flux-system/p", since="2031-01-01T00:00:00Z")},
        hands=[wrote(GATE, OURS, suspend=True)],
    )
    assert look(ALWAYS)
    assert suspended(api) is False


def test_a_forged_mark_opens_nothing(api: Api, look: Look) -> None:
    """Git brings the very mark that the gate wrote in the last window: what a person suspends stays suspended."""
    api.add("apps", {}, by=FLUX, status=APPLIED)
    assert look(SHUT)
    [text] = [dig(body, "metadata", "annotations", OURS) for body in api.bodies]
    assert look(ALWAYS)
    assert suspended(api) is False
    put(
        api, {OURS: text}, hands=[wrote(FLUX, OURS, operation="Apply"), wrote("flux", suspend=True)]
    )
    for timetable in (ALWAYS, SHUT, ALWAYS):
        assert look(timetable)
        assert suspended(api) is True
    assert dig(api.object("apps"), "metadata", "annotations") == {OURS: text}


def test_a_mark_in_git_while_it_closes(api: Api, look: Look) -> None:
    """The gate writes its own in its place, and opens again."""
    api.add("apps", {}, annotations={OURS: "from Git"}, by=FLUX, status=APPLIED)
    assert look(SHUT)
    assert writer(api.object("apps"), "metadata", "annotations", OURS) is Writer.GATE
    assert look(ALWAYS)
    assert suspended(api) is False


@pytest.mark.parametrize("text", ["{}", marked("flux-system/r"), marked("flux-system/q")])
def test_a_forged_mark_keeps_nothing_shut(api: Api, look: Look, text: str) -> None:
    """In the name of a policy that need not exist: ours opens what it closed."""
    hands = [wrote(GATE, OURS, suspend=True), wrote(FLUX, THEIRS)]
    put(api, {OURS: marked("flux-system/p"), THEIRS: text}, hands=hands)
    assert look(ALWAYS)
    assert suspended(api) is False


def test_an_honest_mark_of_another_policy_keeps_shut(api: Api, look: Look) -> None:
    """Written by its gate, which has the same name."""
    put(
        api,
        {OURS: marked("flux-system/p"), THEIRS: marked("flux-system/q")},
        hands=[wrote(GATE, OURS, THEIRS, suspend=True)],
    )
    assert look(ALWAYS)
    assert suspended(api) is True


@pytest.mark.parametrize(
    "timetable", [replace(SHUT, adopt_until=NOON), replace(SHUT, first_apply="Wait")]
)
def test_what_was_adopted_is_opened(api: Api, look: Look, timetable: Timetable) -> None:
    """The suspension is another hand's, and the mark says that the gate was told to take it over: also later on."""
    put(api, {}, hands=[wrote("kubectl-patch", suspend=True)])
    if timetable.first_apply == "Wait":
        api.object("apps")["status"] = {}
    assert look(timetable)
    api.object("apps")["status"] = APPLIED
    freeze = replace(SHUT, freezes=(Rule(Kind.FREEZE, "f", NOON - 2 * HOUR, NOON, "why"),))
    assert look(freeze)
    text = str(dig(api.object("apps"), "metadata", "annotations", OURS))
    assert json.loads(text)["adopted"] is True
    assert json.loads(text)["reason"] == "freezes.f: why"
    assert look(ALWAYS)
    assert suspended(api) is False


HOOK = {"name": "p-before-open", "seconds": 5, "aborts": True, "metadata": {}, "spec": {}}
AROUND = partial(
    hooks.run,
    text=json.dumps({"namespace": "line", "hooks": {"beforeOpen": HOOK}}),
    pause=0.01,
    grace=0,
)
SINCE = "2026-11-20T08:00:00+00:00"
JOB = "p-before-open-202611200800-0123456789abcdef"


@pytest.mark.parametrize(
    ("note", "by"),
    [
        ({"occurrence": SINCE, "cycle": 5, "stage": "Passed", "job": JOB}, FLUX),
        ({"occurrence": SINCE, "cycle": 5, "stage": "Passed", "job": JOB}, "kubectl-annotate"),
        ({"occurrence": SINCE, "cycle": 5, "stage": "Passed", "job": ""}, None),
        ({"occurrence": SINCE, "cycle": 5, "stage": "Passed", "job": "another-job"}, None),
        ({"occurrence": SINCE, "cycle": 5, "stage": "Passed", "job": JOB[:-6]}, None),
        ({"occurrence": SINCE, "cycle": 10**12, "stage": "Passed", "job": JOB}, None),
        ({"occurrence": SINCE, "cycle": 5, "stage": "Opening", "job": "there-already"}, None),
        ({"occurrence": SINCE, "cycle": True, "stage": "Passed", "job": JOB}, GATE),
        ({"occurrence": SINCE, "cycle": "5", "stage": "Passed", "job": JOB}, GATE),
        ({"occurrence": SINCE, "cycle": 0, "stage": "Passed", "job": JOB}, GATE),
        ({"occurrence": SINCE, "cycle": 5, "stage": "Passed", "job": "../../secrets/a"}, GATE),
        ({"occurrence": SINCE, "cycle": 5, "stage": "Passed", "job": JOB, "at": None}, GATE),
        ({"occurrence": "", "cycle": 5, "stage": "Passed", "job": JOB}, GATE),
        ({"occurrence": SINCE, "cycle": 5, "stage": ["Passed"], "job": JOB}, GATE),
    ],
)
def test_a_forged_note_opens_nothing(api: Api, look: Look, note: Json, by: str | None) -> None:
    """The hook runs first; while it does not end well, nothing is opened."""
    hands = None if by is None else [wrote(GATE, OURS, suspend=True), wrote(by, NOTE)]
    put(api, {OURS: marked("flux-system/p"), NOTE: json.dumps(note)}, hands=hands)
    api.store(
        "/apis/batch/v1/namespaces/line/jobs/there-already",
        {"kind": "Job", "metadata": {"name": "there-already"}},
    )
    api.end("there-already", "Complete")
    api.ends["p-before-open"] = "Failed"
    assert not look(MORNING, AROUND)
    assert suspended(api) is True
    assert [name for name in api.jobs() if name.startswith("p-before-open")]


def test_a_note_by_the_gate_is_believed(api: Api, look: Look) -> None:
    """The hook has run, maybe as it was before somebody mended it: it does not run again."""
    note = {"occurrence": SINCE, "cycle": 5, "stage": "Passed", "job": JOB}
    put(
        api,
        {OURS: marked("flux-system/p"), NOTE: json.dumps(note)},
        hands=[wrote(GATE, OURS, NOTE, suspend=True)],
    )
    assert look(MORNING, AROUND)
    assert (suspended(api), api.jobs()) == (False, [])


def test_a_person_comes_between_two_looks(api: Api, look: Look) -> None:
    """Resumed and suspended again while it was closed: the suspension is that person's now."""
    api.add("apps", {}, by=FLUX, status=APPLIED)
    assert look(SHUT)
    metadata = api.object("apps")["metadata"]
    assert isinstance(metadata, dict)
    metadata["managedFields"] = [wrote(GATE, OURS), wrote("flux", suspend=True)]
    assert look(ALWAYS)
    assert suspended(api) is True


def test_what_is_changed_between_reading_and_writing(api: Api, look: Look) -> None:
    """A patch is made for the version that was read."""
    put(api, {OURS: marked("flux-system/p")}, hands=None)
    api.fault("PATCH", "apps", edited("apps", {"metadata": {"annotations": {OURS: "forged"}}}))
    assert look(ALWAYS)
    assert suspended(api) is True


def test_digests_have_64_bits() -> None:
    """Fewer were made to collide within seconds."""
    assert DIGITS >= 16
    assert len(digest("flux-system/p")) == len(OURS.rpartition("/")[2]) == DIGITS


def test_a_mark_is_read_as_it_was_written(api: Api, look: Look) -> None:
    """By the gate, of a freeze."""
    frozen = replace(SHUT, freezes=(Rule(Kind.FREEZE, "f", NOON - 2 * HOUR, NOON, "why"),))
    assert look(frozen)
    said = read(str(dig(api.object("apps"), "metadata", "annotations", OURS)))
    assert said is not None
    assert (said.policy, said.reason, said.since) == ("flux-system/p", "freezes.f: why", None)
