"""How far a policy's hooks are: a note on every target, by which any run goes on.

An occurrence of the calendar takes its targets through a cycle of stages, from the first hook to
the last. The latest note on any target counts. One is written only in place of that which the run
has read, and the first target decides: of two runs that would go different ways, the second finds
that it is too late.
"""

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from enum import Enum, StrEnum, auto
from http import HTTPStatus
from operator import attrgetter

from krm_windows.gate.annotations import AHEAD, HOOKS, UNREADABLE, Writer, annotation, read_instant
from krm_windows.gate.kubernetes import ApiError, Cluster
from krm_windows.gate.objects import parse
from krm_windows.gate.run import Gate, words_of
from krm_windows.gate.target import Observed, observe
from krm_windows.gate.timetable import Target


class Stage(StrEnum):
    """How far a cycle is; each is later than the one before."""

    OPEN = "Open"  # targets were found open, and no hook was due
    OPENING = "Opening"  # the hook before opening is due, its Job named
    MAY_OPEN = "MayOpen"  # targets may be opened
    ROLLING_BACK = "RollingBack"  # what was begun is to be taken back
    ABORTED = "Aborted"  # it was
    CHECKING = "Checking"  # the targets were closed: what was applied last is to be checked
    # What was applied is not well: all is closed, and what the hook did is taken back.
    CLOSING_AFTER_FAILURE = "ClosingAfterFailure"
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


class When(Enum):
    """What has to be so before a cycle goes on to its end."""

    OVER = auto()  # its occurrence is over, or another one has begun
    ALL_CLOSED = auto()  # the targets are closed, by the same run


@dataclass(frozen=True)
class Transition:
    """The stage that is next, when, and the hook that runs before."""

    to: Stage
    when: When
    hook: HookName | None = None
    failed: Stage | None = None  # where a failure of the hook leads, if elsewhere
    calms: bool = False  # the hook waits until nothing reconciles any more
    finishes: HookName | None = None  # one that may not have ended yet: it ends before the hook


# How a cycle comes to its end, from any stage. How it begins is more than a table can say, as it
# depends on the targets: `Hooks._before`.
ENDING = {
    Stage.OPEN: Transition(Stage.CLOSING, When.OVER),
    Stage.OPENING: Transition(Stage.ROLLING_BACK, When.OVER),
    Stage.MAY_OPEN: Transition(Stage.CLOSING, When.OVER),
    Stage.ROLLING_BACK: Transition(
        Stage.ABORTED,
        When.ALL_CLOSED,
        HookName.ROLLBACK,
        finishes=HookName.BEFORE_OPEN,
    ),
    Stage.ABORTED: Transition(Stage.CLOSED, When.OVER),
    Stage.CHECKING: Transition(
        Stage.CLOSING,
        When.ALL_CLOSED,
        HookName.AFTER_APPLY,
        failed=Stage.CLOSING_AFTER_FAILURE,
        calms=True,
    ),
    Stage.CLOSING_AFTER_FAILURE: Transition(
        Stage.FAILED, When.ALL_CLOSED, HookName.AFTER_APPLY_ROLLBACK
    ),
    Stage.FAILED: Transition(Stage.CLOSING, When.OVER),
    Stage.CLOSING: Transition(Stage.CLOSED, When.ALL_CLOSED, HookName.AFTER_CLOSE, calms=True),
}
# What is begun in these has to be ended, whichever occurrence it is of.
UNENDED = frozenset(stage for stage, then in ENDING.items() if then.when is When.ALL_CLOSED)

_ORDER = list(Stage)
_JOB = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?|")  # a name of Kubernetes, or none
_TRIES = 5
_PROGRESS = attrgetter("progress")
Found = dict[Target, Observed | None]


class Written(Enum):
    """What came of writing a note on a target."""

    YES = auto()  # it has the note, or the same of another instant
    NO = auto()  # another run has written a different or a later one
    CONFLICT = auto()  # somebody has changed the target meanwhile, so it is to be read again
    UNKNOWN = auto()  # it cannot be read or written, or was changed again and again


@dataclass(frozen=True)
class Note:
    """The `stage` of an `occurrence` (its UTC beginning, None: always), in a numbered `cycle`.

    `job` is that of the hook before opening, which was last begun `at` that instant. `skipped`:
    hooks are left out, as nothing had to be applied. `applied` and `changed` are digests of the
    revisions of all targets that were found well last, and that the Job `check` is about.
    """

    occurrence: str | None = None
    cycle: int = 0
    stage: Stage = Stage.CLOSED
    job: str = ""
    at: str = "2000-01-01T00:00:00+00:00"
    skipped: bool = False
    applied: str = ""
    changed: str = ""
    check: str = ""

    @property
    def progress(self) -> tuple[int, int, datetime]:
        """Greater is later."""
        return self.cycle, _ORDER.index(self.stage), datetime.fromisoformat(self.at)


@dataclass(frozen=True)
class Notes:
    """The notes of a gate's policy, and of its former names, on its targets in a cluster.

    `names_its_job` says whether a note names a Job such as the hook before opening has.
    """

    gate: Gate
    cluster: Cluster
    names_its_job: Callable[[Note], bool]

    @property
    def _keys(self) -> list[str]:
        return [annotation(name, HOOKS) for name in self.gate.timetable.own_names]

    def find(self) -> Found:
        """Read every target.

        One that does not exist is left out, one that cannot be read is None.
        """
        targets = self.gate.timetable.targets
        self.cluster.renew(len(targets))
        found: Found = {}
        for target, (observed, error) in self.cluster.each(targets, _observed):
            if isinstance(error, ApiError) and error.status == HTTPStatus.NOT_FOUND:
                continue
            if error:
                self.gate.log(target=str(target), error=words_of(error))
            found[target] = observed
        return found

    def latest(self, found: Found) -> Note:
        """Give the latest note of all; one of its own kind if there is none."""
        notes = [self._read(observed) for observed in found.values() if observed]
        return max(notes, key=_PROGRESS, default=Note())

    def _read(self, observed: Observed) -> Note:
        notes = [Note()]
        for key in self._keys:
            note = _parse(observed.annotations.get(key, ""))
            if note and self._believes(note, observed.writers[key]):
                notes.append(note)
        return max(notes, key=_PROGRESS)

    def _believes(self, note: Note, by: Writer) -> bool:
        """Say whether the gate wrote a note.

        Where nobody is recorded as its writer, what it says has to fit: it is then of an occurrence
        that has begun, of a cycle that can have been, and names a Job of the hook.
        """
        if by is not Writer.UNKNOWN:
            return by is Writer.GATE
        latest = self.gate.now() + AHEAD
        begun = read_instant(note.occurrence)
        if begun and begun > latest:
            return False
        if note.cycle > latest.timestamp():  # no number of a cycle is ahead of its time
            return False
        return self.names_its_job(note)

    def write(self, note: Note, after: Note) -> bool:
        """Write a note where none is later than `after`; say whether a run may go on by it.

        It may where the first target has the note, and no other target has a different one that is
        later than `after`. A target that cannot be read or written does not count, unless it is the
        first.
        """
        found = self.find()
        if not found:
            return False
        self.cluster.renew(len(found))

        def write(cluster: Cluster, target: Target) -> tuple[Written, str]:
            return self._write(cluster, target, found[target], note, after)

        first, *others = found
        on_first = self._logged(self.cluster.each([first], write))
        if on_first != [Written.YES]:
            return False
        on_others = self._logged(self.cluster.each(others, write))
        return Written.NO not in on_others

    def _logged(self, written: Iterable[tuple[Target, tuple[Written, str]]]) -> list[Written]:
        """Log what went wrong, and give what came of each."""
        outcomes = []
        for target, (outcome, error) in written:
            if error:
                self.gate.log(target=str(target), error=error)
            outcomes.append(outcome)
        return outcomes

    def _write(
        self,
        cluster: Cluster,
        target: Target,
        observed: Observed | None,
        note: Note,
        after: Note,
    ) -> tuple[Written, str]:
        """Write a note on a target, which was read as `observed` (None: it is yet to be read).

        Gives what came of it, and what went wrong.
        """
        for _ in range(_TRIES):
            outcome, error = self._try_write(cluster, target, observed, note, after)
            if outcome is not Written.CONFLICT:
                return outcome, error
            observed = None
        return Written.UNKNOWN, ""

    def _try_write(
        self,
        cluster: Cluster,
        target: Target,
        observed: Observed | None,
        note: Note,
        after: Note,
    ) -> tuple[Written, str]:
        """Write a note on a target once, unless it has that or a later one."""
        try:
            if observed is None:
                observed = cluster.get(target, observe)
            found = self._read(observed)
            if found == note or found.progress > after.progress:
                return _outcome(found, note), ""
            cluster.patch(target, self._patch(observed, note), observe)
        except Exception as error:  # noqa: BLE001 - as in `_observed`
            if isinstance(error, ApiError) and error.status == HTTPStatus.CONFLICT:
                return Written.CONFLICT, ""
            return Written.UNKNOWN, words_of(error)
        return Written.YES, ""

    def _patch(self, observed: Observed, note: Note) -> dict[str, object]:
        """Write a note in place of what is there under all names."""
        annotations: dict[str, str | None] = {}
        for key in self._keys:
            if key in observed.annotations:
                annotations[key] = None
        annotations[self._keys[0]] = json.dumps(asdict(note))
        return {"metadata": {"resourceVersion": observed.version, "annotations": annotations}}


def _outcome(found: Note, note: Note) -> Written:
    """Give what came of a note where there is one: another run may have written the same.

    The two may differ in their instant.
    """
    if replace(found, at=note.at) == note:
        return Written.YES
    return Written.NO


def _observed(cluster: Cluster, target: Target) -> tuple[Observed | None, Exception | None]:
    """Read a target, or say why it cannot be read."""
    try:
        return cluster.get(target, observe), None
    except Exception as error:  # noqa: BLE001 - the next target may be well
        return None, error


def _parse(text: str) -> Note | None:
    """Read a note; None for what another version has written, and this one cannot read."""
    try:
        said = parse(text)
        if not isinstance(said, dict):
            return None
        return _note({**asdict(Note()), **said})
    except UNREADABLE:
        return None


def _is_name(value: object) -> bool:
    return isinstance(value, str) and _JOB.fullmatch(value) is not None


def _note(said: dict[str, object]) -> Note | None:
    """Make a note of what is one.

    None for anything else, or one of `UNREADABLE` is raised.
    """
    cycle = said["cycle"]
    if not isinstance(cycle, int) or isinstance(cycle, bool) or cycle <= 0:
        return None
    if not all(map(_is_name, (said["job"], said["applied"], said["changed"], said["check"]))):
        return None
    began = read_instant(said["occurrence"])
    if began is not None and began.year == 1:  # of which no clock can be asked
        return None
    if read_instant(said["at"]) is None or not isinstance(said["skipped"], bool):
        return None
    stage = Stage(str(said["stage"]))
    make: Callable[..., Note] = Note
    return make(**{**said, "stage": stage})
