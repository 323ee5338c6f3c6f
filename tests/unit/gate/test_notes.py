"""The note of a policy's hooks: which of several runs at the same time goes on, and by which."""

import json
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

import pytest
from api_server import Api
from hook_runs import BOTH, NOON, NOTE, Clock

from krm_windows.gate import notes
from krm_windows.gate.kubernetes import Cluster
from krm_windows.gate.notes import ENDING, Note, Stage
from krm_windows.gate.run import Gate
from krm_windows.plan.timetable import shipped
from krm_windows.schedule.timeline import decide

OURS = Note("2026-11-20T08:00:00+00:00", cycle=2, stage=Stage.OPENING, job="p-before-open-1")
GATE = Gate(shipped(BOTH), partial(decide, BOTH), Clock(NOON), lambda **_: None)
EARLIER = {
    "occurrence": "2026-11-20T08:00:00+00:00",
    "cycle": 7,
    "job": "p-before-open-1",
    "at": "2026-11-20T08:00:03+00:00",
    "skipped": False,
    "applied": "",
    "changed": "",
    "check": "",
}


@pytest.mark.parametrize(
    ("there", "goes_on"),
    [
        (replace(OURS, number=1), True),
        (replace(OURS, number=2), True),
        (replace(OURS, number=3), True),  # the same, which another run has written
        (replace(OURS, number=3, job="p-before-open-2"), False),
        (replace(OURS, number=3, stage=Stage.MAY_OPEN), False),
        (replace(OURS, number=3, cycle=3), False),
    ],
)
def test_a_note_that_is_there_already(
    there: Note,
    goes_on: bool,  # noqa: FBT001
    api: Api,
    port: int,
    account: Path,
) -> None:
    """Another run has the say if it has written a later one, unless that is the same."""
    api.add("apps", {}, annotations={NOTE: json.dumps(asdict(there))}, by="krm-windows")
    cluster = Cluster("127.0.0.1", str(port), account, 5)
    found = notes.find(GATE, cluster)
    written = notes.write(GATE, cluster, found, OURS, replace(OURS, number=2))
    assert (written is not None) is goes_on
    assert notes.latest(GATE, notes.find(GATE, cluster)).number >= there.number


def test_the_latest_note_counts(api: Api, port: int, account: Path) -> None:
    """Another target was the first before, and has one as well."""
    for number, name in enumerate(("infra", "apps"), 5):
        note = replace(OURS, number=number)
        api.add(name, {}, annotations={NOTE: json.dumps(asdict(note))}, by="krm-windows")
    cluster = Cluster("127.0.0.1", str(port), account, 5)
    assert notes.latest(GATE, notes.find(GATE, cluster)).number == 6


@pytest.mark.parametrize(
    ("stage", "read_as"), [("Open", "MayOpen"), ("Checking", "Closing"), ("Aborted", "Aborted")]
)
def test_a_note_of_an_earlier_release(
    stage: str, read_as: str, api: Api, port: int, account: Path
) -> None:
    """What it had begun is ended."""
    annotations = {NOTE: json.dumps({**EARLIER, "stage": stage})}
    api.add("apps", {}, annotations=annotations, by="krm-windows")
    found = notes.find(GATE, Cluster("127.0.0.1", str(port), account, 5))
    note = notes.latest(GATE, found)
    assert (note.stage, note.cycle, note.number, note.job) == (read_as, 7, 7, "p-before-open-1")


def test_any_stage_ends() -> None:
    """From each a cycle comes to its end."""
    assert set(ENDING) == set(Stage) - {Stage.CLOSED}
    for stage in ENDING:
        passed = [stage]
        while passed[-1] is not Stage.CLOSED:
            passed.append(ENDING[passed[-1]][0])
            assert len(passed) <= len(Stage)
