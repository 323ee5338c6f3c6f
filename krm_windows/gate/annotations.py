"""The annotations by which gates say that a suspension is their own, and when one is believed.

Anybody who may edit an object may write one. So one counts only if it names the policy that its key
is a digest of, and nobody but the gate wrote it (ADR 18).
"""

import json
from datetime import datetime, timedelta
from enum import IntEnum, StrEnum, auto
from hashlib import sha256
from typing import Any, NamedTuple

from krm_windows.gate.objects import HOLDER, MANAGER, dig

HOLD = "krm-windows.dev/hold"
CLOSED_BY = "closed-by.krm-windows.dev/"
CAUSE = "cause"
GENERATION = "generation"
DIGITS = 16  # 64 bits: fewer were made to collide within seconds
AHEAD = timedelta(minutes=10)  # the clock of another node, at most

# Writers that the API server does not distinguish any more (k8s.io/apimachinery, managedfields).
_JOINED = ("ancient-changes", "before-first-apply")

# What reading a text from the cluster may raise.
UNREADABLE = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)

APART = "the clocks of a node and the API server differ by more than 60 s"


class Cause(StrEnum):
    """What else than the calendar keeps a target closed; `status` and alerts search for it."""

    HOOK_FAILED = "HookFailed"
    CLOCK_SKEW = "ClockSkew"


class Writer(IntEnum):
    """Who wrote a field of an object, by its `managedFields`; of several, the first counts."""

    GATE = auto()  # before Flux, which may own the same field with the same value
    OTHER = auto()
    HOLD = auto()  # a person, by kubectl
    UNKNOWN = auto()  # nobody is recorded


_WRITERS = dict.fromkeys((MANAGER, *_JOINED), Writer.GATE) | {HOLDER: Writer.HOLD}


def digest(text: str) -> str:
    """Return what stands for a text in a name."""
    return sha256(text.encode()).hexdigest()[:DIGITS]


def annotation(policy: str) -> str:
    """Name the closed-by annotation of the policy `namespace/name`."""
    return CLOSED_BY + digest(policy)


class ClosedBy(NamedTuple):
    """What such an annotation says; since and until when by the policy's calendar.

    `adopted`: what somebody else had suspended, the policy has taken for its own.
    """

    policy: str
    reason: str
    since: datetime | None
    until: datetime | None
    adopted: bool = False
    cause: Cause | None = None


def read(text: str) -> ClosedBy | None:
    """Read a `closed-by` annotation; None for any other text. Other keys are passed over."""
    try:
        said = json.loads(text)
        policy, reason = said["policy"], said["reason"]
        (policy + reason).encode()  # what is no text, or half of a surrogate pair, is an error
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
    """Say whether an annotation is a gate's; without a writer, its time has to fit.

    No gate closes for what is yet to begin; `until` may be over, as the cluster may have been off.
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

    Nobody is recorded where a served version was dropped, or somebody has emptied the list.
    """
    keys = [f"f:{key}" for key in path]
    entries = dig(live, "metadata", "managedFields") or ()
    writers = [_writer_of(entry) for entry in entries if _owns(dig(entry, "fieldsV1"), keys)]
    return min(writers, default=Writer.UNKNOWN)


def _writer_of(entry: object) -> Writer:
    # `Update` is what a patch is recorded as, `Apply` is Flux's way.
    is_update = dig(entry, "operation") == "Update"
    return _WRITERS.get(str(dig(entry, "manager")), Writer.OTHER) if is_update else Writer.OTHER


def _owns(fields: object, keys: list[str]) -> bool:
    """Say whether `fieldsV1` holds a path; what is no map may hold anything."""
    for key in keys:
        if not isinstance(fields, dict):
            return True
        if key not in fields:
            return False
        fields = fields[key]
    return True
