"""How far a policy's hooks are: a note in a ConfigMap of its own, by which any run goes on.

How a hook's Job ended, the Job itself says, as any run finds it by its name. The note has what that
name is made of, and what is due next. It replaces only the one that a run has read: of two runs
that would go different ways, the second finds that it is too late.
"""

import json
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from http import HTTPStatus

from krm_windows.gate.kubernetes import ApiError, Cluster
from krm_windows.gate.objects import MANAGER, Json, dig


class Stage(StrEnum):
    """How far a cycle is, which takes the targets through an occurrence of the calendar."""

    OPENING = "Opening"  # the hook before opening is due, its Job named
    MAY_OPEN = "MayOpen"  # targets may be opened, or were found open
    ROLLING_BACK = "RollingBack"  # what was begun is to be taken back
    ABORTED = "Aborted"  # it was
    CLOSING_AFTER_FAILURE = "ClosingAfterFailure"  # what the check did is to be taken back
    FAILED = "Failed"  # it was
    CLOSING = "Closing"  # the hook after closing is due
    CLOSED = "Closed"


class HookName(StrEnum):
    """A hook of a policy: its key in `hooks.json`, and its name in the log."""

    BEFORE_OPEN = "beforeOpen"
    ROLLBACK = "rollback"
    AFTER_APPLY = "afterApply"
    AFTER_APPLY_ROLLBACK = "afterApply.rollback"
    AFTER_CLOSE = "afterClose"


# How a cycle comes to its end, from any stage: which one is next, and the hook that runs before,
# once all targets are closed. Where there is none, the occurrence has to be over.
ENDING: dict[Stage, tuple[Stage, HookName | None]] = {
    Stage.OPENING: (Stage.ROLLING_BACK, None),
    Stage.MAY_OPEN: (Stage.CLOSING, None),
    Stage.ROLLING_BACK: (Stage.ABORTED, HookName.ROLLBACK),
    Stage.ABORTED: (Stage.CLOSED, None),
    Stage.CLOSING_AFTER_FAILURE: (Stage.FAILED, HookName.AFTER_APPLY_ROLLBACK),
    Stage.FAILED: (Stage.CLOSING, None),
    Stage.CLOSING: (Stage.CLOSED, HookName.AFTER_CLOSE),
}


@dataclass(frozen=True)
class Note:
    """The `stage` of an `occurrence` (its UTC beginning, None: always).

    `cycle` is the second in which it began. `job` is that of the hook before opening, if it was
    due, or of the hook that has failed. `skipped`: hooks are left out, as nothing had to be
    applied. `applied` and `changed` are digests of revisions: of those that were found well last,
    and that a hook has failed for. `version` is that of the ConfigMap that it was read from.
    """

    occurrence: str | None = None
    cycle: int = 0
    stage: Stage = Stage.CLOSED
    job: str = ""
    skipped: bool = False
    applied: str = ""
    changed: str = ""
    version: str = field(default="", compare=False)


def read(cluster: Cluster, path: str) -> Note:
    """Read the note of the ConfigMap at a path; raise whatever it cannot be read for."""
    cluster.renew(0)  # a hook may take longer than a run has
    live = cluster.ask("GET", path)
    version = dig(live, "metadata", "resourceVersion")
    if not isinstance(version, str):  # a note without one would undo what others have written
        raise ApiError(f"no resourceVersion in the response to GET {path}")
    said = json.loads(dig(live, "data", "note") or "{}")
    known = {key: said[key] for key in asdict(Note()) if key in said}
    stage = Stage(known.pop("stage", Stage.CLOSED))
    return Note(**known | {"stage": stage, "version": version})


def write(cluster: Cluster, path: str, note: Note) -> bool:
    """Write a note in place of the one that it was made of; say False if another run was faster."""
    said = asdict(replace(note, version=""))
    metadata = {"resourceVersion": note.version}
    body: Json = {"metadata": metadata, "data": {"note": json.dumps(said)}}
    cluster.renew(0)
    try:
        cluster.ask("PATCH", f"{path}?fieldManager={MANAGER}", body)
    except ApiError as error:
        if error.status == HTTPStatus.CONFLICT:
            return False
        raise
    return True
