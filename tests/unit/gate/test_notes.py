"""The notes on the targets: which of several runs at the same time goes on."""

import json
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

import pytest
from api_server import Api
from hook_runs import BOTH, NOON, NOTE, Clock

from krm_windows.gate.kubernetes import Cluster
from krm_windows.gate.notes import ENDING, UNENDED, Note, Notes, Stage, Transition
from krm_windows.gate.run import Gate
from krm_windows.gate.verification import CHECKED_ENDING
from krm_windows.plan.timetable import shipped
from krm_windows.schedule.timeline import decide

OURS = Note("2026-11-20T08:00:00+00:00", cycle=2, stage=Stage.OPENING, job="p-before-open-1")
LATER = "2026-11-20T11:00:00+00:00"


@pytest.fixture
def notes(port: int, account: Path) -> Notes:
    """The notes of a policy with two targets."""
    gate = Gate(shipped(BOTH), partial(decide, BOTH), Clock(NOON), lambda **_: None)
    return Notes(gate, Cluster("127.0.0.1", str(port), account, 5), lambda _: True)


@pytest.mark.parametrize("name", ["apps", "infra"])
@pytest.mark.parametrize(
    ("there", "is_ours"),
    [
        (replace(OURS, cycle=1), True),
        (OURS, True),
        (replace(OURS, at=LATER), True),
        (replace(OURS, at=LATER, job="p-before-open-2"), False),
        (replace(OURS, stage=Stage.MAY_OPEN), False),
        (replace(OURS, cycle=3), False),
    ],
)
def test_a_note_that_is_there_already(
    name: str,
    there: Note,
    is_ours: bool,  # noqa: FBT001
    api: Api,
    notes: Notes,
) -> None:
    """Another run has the say, on whichever target, unless it wrote the same at another instant."""
    api.add(name, {}, annotations={NOTE: json.dumps(asdict(there))}, by="krm-windows")
    assert notes.write(OURS, after=replace(OURS, cycle=1)) is is_ours


@pytest.mark.parametrize("ending", [ENDING, CHECKED_ENDING])
def test_any_stage_ends(ending: dict[Stage, Transition]) -> None:
    """Each leads to a later one, as runs tell by that which of two notes counts."""
    order = list(Stage)
    assert set(ending) == set(Stage) - {Stage.CLOSED}
    for stage, transition in ending.items():
        for later in (transition.to, transition.failed or transition.to):
            assert order.index(later) > order.index(stage)


@pytest.mark.parametrize("ending", [ENDING, CHECKED_ENDING])
def test_what_has_begun_something_is_ended(ending: dict[Stage, Transition]) -> None:
    """Whatever has a hook on its way to the end has to come there before anything is opened."""
    assert {stage for stage, transition in ending.items() if transition.hook} == UNENDED
