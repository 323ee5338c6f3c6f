"""Whether policies are open, and their calendars: each worked out once for its text and cluster.

What is kept is bounded by number and by bytes, whatever callers ask for.
"""

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from enum import Enum
from http import HTTPStatus
from typing import Generic, TypeVar

from krm_windows.gate.decide import Decider, Decision
from krm_windows.gate.timetable import Timetable
from krm_windows.krm import InputError
from krm_windows.policy import load
from krm_windows.policy.model import WindowPolicy
from krm_windows.preview import html, ics, records
from krm_windows.preview.calendar import Calendar, Period, calendars
from krm_windows.preview.versions import Source
from krm_windows.results import Result, fails
from krm_windows.service.policies import Stored
from krm_windows.service.problems import Problem, findings, json_body

_Kept = TypeVar("_Kept")
# Decisions are small; a calendar of a year as a page has some 100 KB.
_MOST_DECIDED = 200_000
_MOST_SOURCES = 5_000
_MOST_TIMETABLES = 20_000
_MOST_BYTES = 64 << 20
# An answer for now is kept until the next edge, and no longer than this: `since` and `until` are
# only known within 400 days.
_LONGEST = timedelta(hours=6)


class Format(Enum):
    """The forms of a calendar, with their media types."""

    JSON = "application/json"
    ICS = "text/calendar"
    HTML = "text/html"


class Recent(Generic[_Kept]):
    """What was asked for most recently, up to a number of entries and a sum of their sizes."""

    def __init__(self, most: int, *, size: Callable[[_Kept], int] | None = None) -> None:
        """Keep so many entries, or as many as have so much size in all."""
        self._most = most
        self._size = size
        self._sum = 0
        self._kept: OrderedDict[Hashable, _Kept] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> _Kept | None:
        """Return an entry, which then is the most recent one."""
        with self._lock:
            found = self._kept.get(key)
            # At the end are those that were asked for last.
            if found is not None:
                self._kept.move_to_end(key)
            return found

    def put(self, key: Hashable, entry: _Kept) -> None:
        """Keep an entry, and let go of those that nobody has asked for in the longest time."""
        with self._lock:
            before = self._kept.pop(key, None)
            if before is not None:
                self._sum -= self._weight(before)
            self._kept[key] = entry
            self._sum += self._weight(entry)
            while self._sum > self._most and len(self._kept) > 1:
                _, gone = self._kept.popitem(last=False)
                self._sum -= self._weight(gone)

    def _weight(self, entry: _Kept) -> int:
        if self._size is None:
            return 1
        return self._size(entry)


@dataclass(frozen=True, slots=True)
class Version:
    """A policy as a cluster has it, ready to be asked; or why it cannot be."""

    timetable: Timetable | None
    decider: Decider | None
    results: tuple[Result, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """A body with what tells it from others, until an instant."""

    body: bytes
    tag: str
    until: datetime


class Evaluator:
    """Decides, and draws calendars, for any number of threads."""

    def __init__(self) -> None:
        """Begin with nothing worked out."""
        self._sources: Recent[load.Source] = Recent(_MOST_SOURCES)
        self._versions: Recent[Version] = Recent(_MOST_TIMETABLES)
        self._states: Recent[Answer] = Recent(_MOST_DECIDED)
        self._calendars: Recent[Answer] = Recent(_MOST_BYTES, size=_length)

    def clusters(self, stored: Stored) -> tuple[str, ...]:
        """Return the clusters that a policy names."""
        return tuple(self._source(stored).patches)

    def policy(self, stored: Stored, cluster: str | None) -> WindowPolicy:
        """Return a policy as a cluster has it; raises Problem where it is wrong."""
        found, _ = self._source(stored).version(cluster)
        if found is None:
            raise _wrong(self.version(stored, cluster), stored)
        return found

    def version(self, stored: Stored, cluster: str | None) -> Version:
        """Return a policy for a cluster, or for that which it is built for.

        Raises Problem for a cluster that it does not name.
        """
        source = self._source(stored)
        name = cluster
        if name is None:
            name = source.build_for
        if cluster is not None and cluster not in source.patches:
            _refuse(stored, cluster, source)
        key = (stored.identity, name)
        found = self._versions.get(key)
        if found is None:
            found = _version(stored, source, name)
            self._versions.put(key, found)
        return found

    def decide(self, stored: Stored, cluster: str | None, at: datetime) -> Decision:
        """Say what holds at an instant; raises Problem where the policy is wrong."""
        return _decider(self.version(stored, cluster), stored).decide(at)

    def timetable(self, stored: Stored, cluster: str | None) -> Timetable:
        """Return when a policy is open; raises Problem where it is wrong."""
        version = self.version(stored, cluster)
        if version.timetable is None:
            raise _wrong(version, stored)
        return version.timetable

    def state_now(self, stored: Stored, cluster: str | None, now: datetime) -> Answer | None:
        """Return the state as it was worked out before, if it still holds; None if it is not."""
        found = self._states.get((stored.identity, cluster))
        if found is None or found.until <= now:
            return None
        return found

    def state(
        self,
        stored: Stored,
        cluster: str | None,
        at: datetime,
        *,
        is_now: bool,
    ) -> Answer:
        """Work the state out; that of now is kept up to the next edge."""
        version = self.version(stored, cluster)
        decision = _decider(version, stored).decide(at)
        record = state_record(stored, version, decision)
        # It holds up to the next edge, and is then worked out anew.
        until = at + _LONGEST
        if decision.until is not None:
            until = min(until, decision.until)
        answer = _answer(json_body(record), until)
        if is_now:
            self._states.put((stored.identity, cluster), answer)
        return answer

    def is_ready(self, stored: Stored, cluster: str | None) -> bool:
        """Say whether a policy has been read for a cluster, so that `today` takes no time."""
        source = self._sources.get(stored.identity)
        if source is None:
            return False
        if cluster is None:
            cluster = source.build_for
        return self._versions.get((stored.identity, cluster)) is not None

    def calendar_known(
        self,
        stored: Stored,
        cluster: str | None,
        period: Period,
        form: Format,
    ) -> Answer | None:
        """Return a calendar that was drawn before; None if it was not."""
        return self._calendars.get((stored.identity, cluster, period, form))

    def calendar(
        self,
        stored: Stored,
        cluster: str | None,
        period: Period,
        form: Format,
    ) -> Answer:
        """Return the calendar of some days, in a form."""
        key = (stored.identity, cluster, period, form)
        found = self._calendars.get(key)
        if found is None:
            [drawn] = calendars([self.timetable(stored, cluster)], period)
            found = _answer(_written(drawn, form), datetime.max.replace(tzinfo=UTC))
            self._calendars.put(key, found)
        return found

    def today(self, stored: Stored, cluster: str | None, now: datetime) -> date:
        """Return the day that it is where the policy is at home."""
        return now.astimezone(self.timetable(stored, cluster).zone).date()

    def _source(self, stored: Stored) -> load.Source:
        found = self._sources.get(stored.identity)
        if found is None:
            found = _read(stored)
            self._sources.put(stored.identity, found)
        return found


def _read(stored: Stored) -> load.Source:
    try:
        # As it was read: the nodes, which take most of the memory, are not kept with the policy.
        return load.read(stored.config.as_read().node)
    except InputError as error:
        raise Problem(HTTPStatus.CONFLICT, f"{stored.file}: {error}") from error


def state_record(stored: Stored, version: Version, decision: Decision) -> dict[str, object]:
    """Return what holds as JSON says it, with the policy and the cluster."""
    timetable = version.timetable
    if timetable is None:
        raise _wrong(version, stored)
    return {
        "policy": stored.title,
        "cluster": timetable.cluster,
        "timeZone": timetable.zone.key,
        **records.state(decision, timetable.zone),
    }


def _refuse(stored: Stored, cluster: str, source: load.Source) -> None:
    named = ", ".join(source.patches) or "none"
    raise Problem(
        HTTPStatus.NOT_FOUND,
        f"{stored.title} names no cluster {cluster!r} (it names {named})",
    )


def _version(stored: Stored, source: load.Source, cluster: str | None) -> Version:
    policy, found = source.version(cluster)
    whole = Source(stored.config, [])
    versions, results = whole.compile([(cluster, policy, found)], planned=False)
    if not versions:
        return Version(None, None, tuple(results))
    timetable = versions[0].timetable
    return Version(timetable, Decider(timetable), tuple(results))


def _decider(version: Version, stored: Stored) -> Decider:
    if version.decider is None:
        raise _wrong(version, stored)
    return version.decider


def _wrong(version: Version, stored: Stored) -> Problem:
    errors = [result for result in version.results if fails([result])]
    detail = f"{stored.title} has errors in {stored.file}, so its hours are not known"
    return Problem(HTTPStatus.CONFLICT, detail, findings(errors, stored.config, stored.file))


def _written(drawn: Calendar, form: Format) -> bytes:
    if form is Format.ICS:
        return ics.render([drawn]).encode()
    if form is Format.HTML:
        return html.render([drawn]).encode()
    return json_body(records.calendar(drawn))


def _answer(body: bytes, until: datetime) -> Answer:
    return Answer(body, tag(body), until)


def tag(body: bytes) -> str:
    """Return a strong entity tag of a body (RFC 9110, 8.8.3)."""
    # Short: it tells versions of one thing apart, and keeps nobody from forging one.

    return f'"{hashlib.sha256(body).hexdigest()[:32]}"'


def _length(answer: Answer) -> int:
    return len(answer.body)
