"""The annotations by which gates say that a suspension is their own, and when one is believed.

Anybody who may edit an object may write an annotation on it, and Flux writes what is in Git.
So an annotation is evidence only as far as it can be checked
(docs/decisions/0018-when-closed-by-counts.md): it says what a gate's says, names the policy
whose name its key is a digest of, and nobody but the gate wrote it.
"""

from datetime import datetime, timedelta
from enum import Enum, StrEnum, auto
from functools import lru_cache
from typing import NamedTuple

from krm_windows.gate.objects import HOLDER, MANAGER, dig, parse

# hashlib loads OpenSSL, a sixth of the memory of a build. Python's own SHA-256 is without it, as
# its module `random` takes it; a Python that was built without one has hashlib.
try:
    from _sha2 import sha256  # type: ignore[import-not-found]  # from Python 3.12 on
except ImportError:
    try:
        from _sha256 import sha256  # type: ignore[import-not-found]
    except ImportError:
        from hashlib import sha256

HOLD = "krm-windows.dev/hold"
CLOSED_BY, HOOKS = "closed-by.krm-windows.dev/", "hooks.krm-windows.dev/"
CAUSE = "cause"
GENERATION = "generation"
DIGITS = 16  # 64 bits: fewer were made to collide within seconds
AHEAD = timedelta(minutes=10)  # the clock of another node, at most

# The names under which the API server itself keeps who wrote a field, for writers that it does
# not distinguish any more (k8s.io/apimachinery, util/managedfields: capmanagers.go,
# skipnonapplied.go).
_JOINED = ("ancient-changes", "before-first-apply")

# What reading a text from the cluster raises where it is no JSON, or another thing than expected.
UNREADABLE = (LookupError, TypeError, ValueError, OverflowError, RecursionError)

# The reason in the annotation while `clocks.Clocks.are_apart`, in words.
APART = "the clocks of a node and the API server differ by more than 60 s"


class Cause(StrEnum):
    """What else than the calendar keeps a target closed; `status` and alerts search for it."""

    HOOK_FAILED = "HookFailed"
    CLOCK_SKEW = "ClockSkew"


class Writer(Enum):
    """Who wrote a field of an object, by its `managedFields`."""

    GATE = auto()
    HOLD = auto()  # `krm-windows hold`, for a person
    OTHER = auto()
    UNKNOWN = auto()  # nobody is recorded


def digest(text: str) -> str:
    """Return the digits that stand for a text in a name."""
    digits: str = sha256(text.encode()).hexdigest()
    return digits[:DIGITS]


@lru_cache(256)
def annotation(policy: str, prefix: str = CLOSED_BY) -> str:
    """Name the annotation by which the policy `namespace/name` says that it has suspended."""
    return prefix + digest(policy)


class ClosedBy(NamedTuple):
    """What such an annotation says: who closed, why, since and until when by its calendar, in UTC.

    `adopted`: the target had been suspended by somebody else, which the policy has taken for
    its own. `cause`: what else than the calendar has closed, None where it was that.
    """

    policy: str
    reason: str
    since: datetime | None
    until: datetime | None
    adopted: bool = False
    cause: Cause | None = None


@lru_cache(8)  # a run writes the same on all targets, and another one finds it there
def read(text: str) -> ClosedBy | None:
    """Read a `closed-by` annotation; None for any other text.

    Keys that a later version may add are passed over.
    """
    try:
        said = parse(text)
        if not isinstance(said, dict):
            return None
        found = ClosedBy(
            _text(said["policy"]),
            _text(said["reason"]),
            read_instant(said["since"]),
            read_instant(said["until"]),
            said.get("adopted", False) is True,
            _cause(said.get(CAUSE)),
        )
    except UNREADABLE:
        return None
    if found.since and found.until and found.since >= found.until:
        return None
    return found


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not a string")
    value.encode()  # a half of a surrogate pair is a ValueError
    return value


def _cause(value: object) -> Cause | None:
    """Read a cause; one that a later version may add is passed over."""
    try:
        return Cause(_text(value))
    except (TypeError, ValueError):
        return None


def read_instant(value: object) -> datetime | None:
    """Read an instant, or None for none.

    Raises `TypeError` or `ValueError` for anything else, so for one of no time zone.
    """
    if value is None:
        return None
    found = datetime.fromisoformat(_text(value))
    if found.tzinfo is None:
        raise ValueError(f"{found} has no time zone")
    return found


def is_believed(
    key: str,
    said: ClosedBy,
    written_by: Writer,
    suspended_by: Writer,
    now: datetime,
) -> bool:
    """Say whether an annotation is a gate's: by its key, its words, and who wrote it and suspended.

    Where nobody is recorded as the writer, its time has to fit, too: no gate closes for what is yet
    to begin. One that the gate wrote may be of a clock that was wrong, and `until` may be long
    over: the cluster was off.
    """
    if key != annotation(said.policy) or written_by in (Writer.HOLD, Writer.OTHER):
        return False
    if suspended_by is Writer.OTHER and not said.adopted:
        return False
    return written_by is Writer.GATE or said.since is None or said.since <= now + AHEAD


def writer(live: object, *path: str) -> Writer:
    """Say who wrote the field at `path`, as the API server records it in `managedFields`.

    UNKNOWN: nobody is recorded. That is so where a served version was dropped, or somebody who may
    write the object has emptied the list; Git cannot (an apply with managedFields is refused). What
    cannot be read is of another writer.
    """
    metadata = dig(live, "metadata")
    if not isinstance(metadata, dict) or "managedFields" not in metadata:
        return Writer.UNKNOWN
    entries = metadata["managedFields"]
    if not isinstance(entries, list):
        return Writer.OTHER
    keys = [f"f:{key}" for key in path]
    found = Writer.UNKNOWN
    for entry in entries:
        if not isinstance(entry, dict):
            found = Writer.OTHER
        elif _owns(entry.get("fieldsV1"), keys):
            by = _writer_of(entry)
            # It counts before any other: Flux may own the same field with the same value.
            if by is Writer.GATE:
                return by
            if found is not Writer.OTHER:
                found = by
    return found


def _writer_of(entry: dict[str, object]) -> Writer:
    """Say whose an entry is; `Update` is what a patch is recorded as, `Apply` is Flux's way."""
    if entry.get("operation") != "Update":
        return Writer.OTHER
    if entry.get("manager") == HOLDER:
        return Writer.HOLD
    return Writer.GATE if entry.get("manager") in (MANAGER, *_JOINED) else Writer.OTHER


def _owns(fields: object, keys: list[str]) -> bool:
    """Say whether `fieldsV1` holds a path; what is no map may hold anything."""
    for key in keys:
        if not isinstance(fields, dict):
            return True
        if key not in fields:
            return False
        fields = fields[key]
    return True
