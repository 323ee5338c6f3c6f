"""The notes on the targets: which of several runs at the same time goes on."""

import json
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

import pytest
from api_server import Api
from hook_runs import BOTH, NOON, NOTE, Clock

from krm_windows.gate.decide import decide
from krm_windows.gate.kubernetes import Cluster
from krm_windows.gate.notes import Note, Notes, Stage
from krm_windows.gate.run import Gate

OURS = Note("2026-11-20T08:00:00+00:00", cycle=2, stage=Stage.OPENING, job="p-before-open-1")
LATER = "2026-11-20T11:00:00+00:00"


@pytest.fixture
def notes(port: int, account: Path) -> Notes:
    """The notes of a policy with two targets."""
    gate = Gate(BOTH, partial(decide, BOTH), Clock(NOON), lambda **_: None)
    return Notes(gate, Cluster("127.0.0.1", str(port), account, 5), lambda _: True)


@pytest.mark.parametrize("name", ["apps", "infra"])
@pytest.mark.parametrize(
    ("there", "is_ours"),
    [
        (replace(OURS, cycle=1), True),
        (OURS, True),
        (replace(OURS, at=LATER), True),
        (replace(OURS, at=LATER, job="p-before-open-2"), False),
        (replace(OURS, stage=Stage.PASSED), False),
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
