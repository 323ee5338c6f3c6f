"""The annotations by which gates say that a suspension is their own, and when one is believed.

Anybody who may edit an object may write one, and Flux writes what is in Git. So one counts only if
it names the policy whose name its key is a digest of, and nobody but the gate wrote it
(docs/decisions/0018-when-closed-by-counts.md).
"""

from datetime import datetime, timedelta
from enum import IntEnum, StrEnum, auto
from hashlib import sha256
from typing import Any, NamedTuple

from krm_windows.gate.objects import HOLDER, MANAGER, dig, parse

HOLD = "krm-windows.dev/hold"
CLOSED_BY, HOOKS = "closed-by.krm-windows.dev/", "hooks.krm-windows.dev/"
CAUSE = "cause"
GENERATION = "generation"
DIGITS = 16  # 64 bits: fewer were made to collide within seconds
AHEAD = timedelta(minutes=10)  # the clock of another node, at most

# Under these the API server keeps writers that it does not distinguish any more
# (k8s.io/apimachinery, util/managedfields: capmanagers.go, skipnonapplied.go).
_JOINED = ("ancient-changes", "before-first-apply")

# What reading a text from the cluster raises where it is no JSON, or another thing than expected.
UNREADABLE = (
    AttributeError,
    LookupError,
    TypeError,
    ValueError,
    OverflowError,
    RecursionError,
)

# The reason in the annotation while `clocks.Clocks.are_apart`, in words.
APART = "the clocks of a node and the API server differ by more than 60 s"


class Cause(StrEnum):
    """What else than the calendar keeps a target closed; `status` and alerts search for it."""

    HOOK_FAILED = "HookFailed"
    CLOCK_SKEW = "ClockSkew"


class Writer(IntEnum):
    """Who wrote a field of an object, by its `managedFields`; of several, the first counts."""

    GATE = auto()  # before Flux, which may own the same field with the same value
    OTHER = auto()
    HOLD = auto()  # `krm-windows hold`, for a person
    UNKNOWN = auto()  # nobody is recorded


def digest(text: str) -> str:
    """Return the digits that stand for a text in a name."""
    return sha256(text.encode()).hexdigest()[:DIGITS]


def annotation(policy: str, prefix: str = CLOSED_BY) -> str:
    """Name the annotation by which the policy `namespace/name` says that it has suspended."""
    return prefix + digest(policy)


class ClosedBy(NamedTuple):
    """What such an annotation says: who closed, why, since and until when by its calendar, in UTC.

    `adopted`: somebody else had suspended the target, which the policy has taken for its own.
    """

    policy: str
    reason: str
    since: datetime | None
    until: datetime | None
    adopted: bool = False
    cause: Cause | None = None


def read(text: str) -> ClosedBy | None:
    """Read a `closed-by` annotation; None for any other text.

    Keys and causes that a later version may add are passed over.
    """
    try:
        said = parse(text)
        policy, reason = said["policy"], said["reason"]
        for words in (policy, reason):
            words.encode()  # what is no text, or half of a surrogate pair, is an error
        since, until = read_instant(said["since"]), read_instant(said["until"])
        if since and until and since >= until:
            return None
        adopted = said.get("adopted") is True
        cause = next((cause for cause in Cause if cause == said.get(CAUSE)), None)
    except UNREADABLE:
        return None
    return ClosedBy(policy, reason, since, until, adopted, cause)


def read_instant(value: Any) -> datetime | None:  # noqa: ANN401 - as JSON has it
    """Read an instant, or None for none; raise one of `UNREADABLE` for anything else."""
    if value is None:
        return None
    found = datetime.fromisoformat(value)
    if found.tzinfo is None:
        raise ValueError(f"{found} has no time zone")
    return found


def is_believed(
    key: str, said: ClosedBy, written_by: Writer, suspended_by: Writer, now: datetime
) -> bool:
    """Say whether an annotation is a gate's: by its key, its words, and who wrote it and suspended.

    Where nobody is recorded as its writer, its time has to fit, too: no gate closes for what is yet
    to begin. `until` may be long over: the cluster was off.
    """
    if key != annotation(said.policy):
        return False
    if suspended_by is Writer.OTHER and not said.adopted:
        return False
    if written_by is Writer.UNKNOWN:
        return said.since is None or said.since <= now + AHEAD
    return written_by is Writer.GATE


def writer(live: object, *path: str) -> Writer:
    """Say who wrote the field at `path`, as the API server records it in `managedFields`.

    Nobody is recorded where a served version was dropped, or somebody who may write the object has
    emptied the list; Git cannot (an apply with managedFields is refused).
    """
    keys = [f"f:{key}" for key in path]
    entries = dig(live, "metadata", "managedFields") or ()
    writers = [_writer_of(entry) for entry in entries if _owns(dig(entry, "fieldsV1"), keys)]
    return min(writers, default=Writer.UNKNOWN)


def _writer_of(entry: object) -> Writer:
    """Say whose an entry is; `Update` is what a patch is recorded as, `Apply` is Flux's way."""
    manager = dig(entry, "manager")
    if dig(entry, "operation") != "Update":
        return Writer.OTHER
    if manager == HOLDER:
        return Writer.HOLD
    return Writer.GATE if manager in (MANAGER, *_JOINED) else Writer.OTHER


def _owns(fields: object, keys: list[str]) -> bool:
    """Say whether `fieldsV1` holds a path; what is no map may hold anything."""
    for key in keys:
        if not isinstance(fields, dict):
            return True
        if key not in fields:
            return False
        fields = fields[key]
    return True
