"""One target: what is read of its object, and what makes it what it should be."""

import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from functools import cached_property, lru_cache
from typing import NamedTuple, TypeVar

from krm_windows.gate.annotations import (
    CAUSE,
    CLOSED_BY,
    GENERATION,
    HOLD,
    HOOKS,
    ClosedBy,
    Writer,
    annotation,
    is_believed,
    read,
    read_instant,
    writer,
)
from krm_windows.gate.objects import cut, dig
from krm_windows.gate.timetable import Decision, Target, Timetable

_FIRST_APPLY = timedelta(hours=1)  # after its creation, for `firstApply: Allow`
_LONGEST_HOLD = 200  # characters, in words: an annotation may have 256 KiB
_ANNOTATIONS = ("metadata", "annotations")
T = TypeVar("T")


class Action(StrEnum):
    """What is done to a target, or why it is left as it is, by its word in the log."""

    NONE = "None"
    CLOSED = "Closed"
    OPENED = "Opened"
    ANNOTATED = "Annotated"
    HELD = "Held"  # by the annotation `hold`
    LEFT_TO_PERSON = "LeftToPerson"  # who has suspended it
    LEFT_TO_POLICY = "LeftToPolicy"  # another one, which keeps it closed
    NOT_OPENED = "NotOpened"  # as clocks are apart
    TAKEN_OVER = "TakenOver"  # from a policy that no longer gates it


_WORDS = {
    Action.CLOSED: "closed",
    Action.OPENED: "opened",
    Action.ANNOTATED: "annotation updated",
}


class Observed(NamedTuple):
    """What an object says that counts here.

    `annotations` are those that mean something to gates, `writers` says who wrote them, and
    `suspended_by` who wrote the suspend field; `conditions` are the reasons of those that hold, by
    type. `generation` is what the closed-by annotation is to note, if that is asked for.
    """

    version: str
    suspended: bool
    suspended_by: Writer
    applied: bool
    created: datetime | None
    annotations: dict[str, str]
    writers: dict[str, Writer]
    conditions: dict[str, str]
    api_version: str
    uid: str
    generation: int | None = None


class Change(NamedTuple):
    """A JSON merge patch (RFC 7386), empty if none is due; what it does, or why there is none.

    `words` say that to a person; `suspend` is what is written into the target's field, None if that
    is left alone.
    """

    patch: dict[str, object]
    action: Action = Action.NONE
    words: str = ""
    suspend: bool | None = None


def observe(target: Target, live: object) -> Observed:
    """Read the object of `target` as the API server gives it; raise `ValueError` for what is none.

    It is read strictly, as what is not understood must not be changed. Only the time of its
    creation may be anything: one that cannot be read keeps nothing open.
    """
    for key, wanted in (("name", target.name), ("namespace", target.namespace)):
        found = dig(live, "metadata", key)
        if found not in (None, wanted):
            raise ValueError(f"is another object: its {key} is {found!r}")
    annotations = _annotations(live)
    filled = [_is_filled(live, key) for key in target.applied]  # each is to be understood
    return Observed(
        version=_find(live, str, "metadata", "resourceVersion") or "",
        suspended=bool(_find(live, bool, *target.field)),
        suspended_by=writer(live, *target.field),
        applied=any(filled),
        created=_created(live),
        annotations=annotations,
        writers={key: writer(live, *_ANNOTATIONS, key) for key in annotations},
        conditions={kind: str(dig(each, "reason")) for kind, each in true_of(live).items()},
        api_version=str(dig(live, "apiVersion") or ""),
        uid=str(dig(live, "metadata", "uid") or ""),
    )


def _find(value: object, kind: type[T], *path: str) -> T | None:
    """Give what lies at `path`, None where there is nothing.

    Raises `ValueError` where that is of another kind, or something else is on the way.
    """
    for key in path:
        if value is None:
            return None
        if not isinstance(value, dict):
            raise ValueError(f"has no map above {'.'.join(path)}")  # noqa: TRY004 - it is wrong
        value = value.get(key)
    if value is not None and not isinstance(value, kind):
        raise ValueError(f"has {value!r} in {'.'.join(path)}")
    return value


def _annotations(live: object) -> dict[str, str]:
    every = _find(live, dict, *_ANNOTATIONS) or {}
    found = {}
    for key, text in every.items():
        if key == HOLD or key.startswith((CLOSED_BY, HOOKS)):  # of any policy
            if not isinstance(text, str):
                raise ValueError("has annotations that are not strings")
            found[key] = text
    return found


def _is_filled(live: object, key: str) -> bool:
    """Say whether a status field says that something was applied: a text, or what has entries."""
    found = _find(live, object, "status", key)
    if found is not None and not isinstance(found, str | list | dict):
        raise ValueError(f"has {found!r} in status.{key}")
    return bool(found)


def _created(live: object) -> datetime | None:
    try:
        return read_instant(dig(live, "metadata", "creationTimestamp"))
    except (TypeError, ValueError, OverflowError):
        return None


def true_of(live: object) -> dict[str, object]:
    """Give the conditions of an object that are `True`, by type."""
    conditions = dig(live, "status", "conditions")
    if not isinstance(conditions, list):
        return {}
    found = {}
    for each in conditions:
        if dig(each, "status") == "True":
            kind = str(dig(each, "type"))
            found[kind] = each
    return found


def believed_annotations(observed: Observed, now: datetime) -> list[ClosedBy]:
    """Give what the `closed-by` annotations say that are believed, in the order of their keys."""
    suspended_by = Writer.UNKNOWN  # who lifted a suspension says nothing of who had set it
    if observed.suspended:
        suspended_by = observed.suspended_by
    found = []
    for key in _closed_by_keys(observed):
        said = read(observed.annotations[key])
        if said and is_believed(key, said, observed.writers[key], suspended_by, now):
            found.append(said)
    return found


def closed_by_others(timetable: Timetable, observed: Observed, now: datetime) -> set[str]:
    """Name the other policies that keep a target closed, by annotations that are believed."""
    if not observed.suspended:
        return set()
    policies = {said.policy for said in believed_annotations(observed, now)}
    return policies.difference(timetable.own_names)


def _closed_by_keys(observed: Observed) -> list[str]:
    return sorted(key for key in observed.annotations if key.startswith(CLOSED_BY))


def due_change(
    timetable: Timetable,
    target: Target,
    observed: Observed,
    decision: Decision,
    now: datetime,
) -> Change:
    """Say what makes `target`, `observed` as it is, what it should be at the instant `now`."""
    case = _Case(timetable, target, observed, decision, now)
    return case.left_alone() or case.change()


@dataclass(frozen=True)
class _Case:
    """A target, and all by which it is decided what becomes of it."""

    timetable: Timetable
    target: Target
    observed: Observed
    decision: Decision
    now: datetime

    @cached_property
    def opens(self) -> bool:
        """Whether it should be open."""
        return self.decision.open or self._is_released or self._may_start

    @property
    def _is_released(self) -> bool:
        return self.target in self.timetable.released

    @property
    def _may_start(self) -> bool:
        """Whether it stays open to be applied for the first time.

        At most for an hour: what is yet to be created, by the clocks of two machines or by a lie,
        is not young.
        """
        created = self.observed.created
        if self.timetable.first_apply != "Allow" or not self._is_new or created is None:
            return False
        return timedelta(0) <= self.now - created < _FIRST_APPLY

    @property
    def _is_new(self) -> bool:
        """Whether it was never applied; of a kind that does not say, none is new."""
        return bool(self.target.applied) and not self.observed.applied

    @cached_property
    def _policies(self) -> set[str]:
        """The policies that have closed it, by annotations that are believed."""
        return {said.policy for said in believed_annotations(self.observed, self.now)}

    @property
    def _is_ours(self) -> bool:
        return not self._policies.isdisjoint(self.timetable.own_names)

    @property
    def _is_of_others(self) -> bool:
        return not self._policies.issubset(self.timetable.own_names)

    @property
    def _adopts(self) -> bool:
        """Whether a suspension without an annotation counts as ours."""
        # What a hold has suspended is the policy's again as soon as nobody holds it.
        if self.observed.suspended_by is Writer.HOLD:
            return True
        if self.timetable.first_apply == "Wait" and self._is_new:
            return True
        until = self.timetable.adopt_until
        return until is not None and self.now < until

    def left_alone(self) -> Change | None:
        """Say why it is left suspended as it is, if it is."""
        if not self.observed.suspended:
            return None
        # A hold counts before all else, but it closes nothing.
        if self.opens and HOLD in self.observed.annotations:
            held = self.observed.annotations[HOLD]  # "ann, until the audit is over"
            shown = "".join(sign if sign.isprintable() else " " for sign in held)
            words = f"left closed, held: {cut(shown, _LONGEST_HOLD)}"
            return Change({}, Action.HELD, words)
        if self._is_ours:
            return None
        if self._is_of_others:
            return self._left_to_policy()
        # No gate says that it has suspended it.
        if self._adopts:
            return None
        return self._left_to_person()

    def _left_to_policy(self) -> Change | None:
        """Leave to another policy what it keeps closed; while ours is closed, too, both say so."""
        if self.opens:
            return Change({}, Action.LEFT_TO_POLICY, "left closed by another policy")
        return None

    def _left_to_person(self) -> Change:
        words = "left closed by a person"
        keys = map(annotation, self.timetable.own_names)
        if not self.observed.annotations.keys().isdisjoint(keys):
            words += ", because its closed-by annotation was not written by the gate"
        return Change({}, Action.LEFT_TO_PERSON, words)

    def change(self) -> Change:
        """Write what differs, for the version that was read."""
        there = self.observed.annotations
        wanted = self._wanted_annotations().items()
        changed = {key: text for key, text in wanted if there.get(key) != text}
        suspend = self._wanted_suspend()
        action = self._action(suspend=suspend, annotates=bool(changed))
        if action is Action.NONE:
            return Change({})
        # With its version the API server refuses the patch if somebody was faster (409).
        metadata: dict[str, object] = {"resourceVersion": self.observed.version}
        if changed:
            metadata["annotations"] = changed
        words = _WORDS[action]
        # Our annotation on what is not suspended: somebody lifted the suspension alone.
        if self._is_ours and not self.observed.suspended:
            if action is Action.CLOSED:
                words = "closed again"
            words += ": a person had resumed it"
        if action is Action.ANNOTATED:
            return Change({"metadata": metadata}, action, words)
        patch = {"metadata": metadata, **_nested(self.target.field, suspend)}
        return Change(patch, action, words, suspend)

    def _wanted_suspend(self) -> bool:
        """Say what the field should hold: another policy opens what it has closed."""
        is_kept = self.observed.suspended and self._is_of_others
        return is_kept or not self.opens

    def _action(self, *, suspend: bool, annotates: bool) -> Action:
        if suspend and not self.observed.suspended:
            return Action.CLOSED
        if self.observed.suspended and not suspend:
            return Action.OPENED
        if annotates:
            return Action.ANNOTATED
        return Action.NONE

    def _wanted_annotations(self) -> dict[str, str | None]:
        """Give the annotations that it should have; None for those that it should not have."""
        names = self.timetable.own_names
        wanted: dict[str, str | None] = dict.fromkeys(map(annotation, names))  # none of ours
        if not self.opens:
            adopts = self.observed.suspended and self.observed.suspended_by is Writer.OTHER
            wanted[annotation(names[0])] = _closed_by(
                names[0],
                self.decision,
                ("adopted", adopts),  # so that later runs open what somebody else has suspended
                (GENERATION, self.observed.generation),  # for hooks with `onlyIf: Pending`
            )
        if not self.opens and not self.observed.suspended:
            # On what nobody closes those of other policies are stale: they may be gone.
            for key in _closed_by_keys(self.observed):
                wanted.setdefault(key, None)
        if self._is_released:  # so that nothing of us is left on it
            wanted |= dict.fromkeys(annotation(name, HOOKS) for name in names)
        return wanted


@lru_cache(8)  # the same for many targets
def _closed_by(policy: str, decision: Decision, *more: tuple[str, object]) -> str:
    """Write our own annotation, as `annotations.read` reads it, with what there is of more."""
    said: dict[str, object] = {
        "policy": policy,
        # All annotations of an object have 256 KiB together, and ours must never be refused.
        "reason": cut(decision.reason),
        "since": decision.since,
        "until": decision.until,
    }
    # For `status` and the alerts, which must not read it out of the reason.
    said |= {key: value for key, value in ((CAUSE, decision.cause), *more) if value}
    return json.dumps(said, default=datetime.isoformat)


def _nested(path: tuple[str, ...], value: object) -> dict[str, object]:
    """Put a value at a path: `("spec", "suspend")` and true are `{"spec": {"suspend": true}}`."""
    nested = {path[-1]: value}
    for key in reversed(path[:-1]):
        nested = {key: nested}
    return nested
