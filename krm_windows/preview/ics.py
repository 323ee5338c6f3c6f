"""Calendars as iCalendar (RFC 5545).

An event for each freeze and override, and for each time that a policy is open without an override,
for the calendars people look at.
"""

import hashlib
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from krm_windows.escape.icalendar import page, text
from krm_windows.plurals import some
from krm_windows.preview import exceptions
from krm_windows.preview.calendar import Calendar, gated_by
from krm_windows.preview.exceptions import RuleInForce
from krm_windows.schedule.timeline import Segment, decide, timeline

_FEW = 4
# Of a freeze, which has no state, and of an override.
_SUMMARIES = {None: "Freeze", "Open": "Open by override", "Closed": "Closed by override"}


def render(every: Sequence[Calendar]) -> str:
    """Return one calendar with the events of all.

    Times are UTC, so that no reader needs to know a zone. An event that a rim of the range would
    cut is given in full, so that it has the same UID and the same times whatever range is asked
    for.
    """
    name = text(some(sorted({one.name for one in every}), _FEW))
    # A calendar has to have VERSION and PRODID (RFC 5545, 3.6).
    lines = [
        "BEGIN:VCALENDAR",
        "VERSION:2.0",
        "PRODID:-//krm-windows//calendar//EN",
        # The default, written out (RFC 5545, 3.7.1).
        "CALSCALE:GREGORIAN",
        # What programs call a calendar that is subscribed to (RFC 7986, 5.1), and what they did
        # before there was a standard, which all know.
        f"NAME:{name}",
        f"X-WR-CALNAME:{name}",
    ]
    for calendar in every:
        for span in exceptions.spans(calendar.timetable, calendar.begins, calendar.ends):
            lines += _exception(calendar, span)
        for segment in _openings(calendar):
            lines += _opening(calendar, segment)
    # Lines end in CRLF, and long ones are folded (RFC 5545, 3.1).
    return page([*lines, "END:VCALENDAR"])


def _exception(calendar: Calendar, span: RuleInForce) -> list[str]:
    """Return the event of a freeze or an override."""
    words = f"By {span.rule.name}."
    if span.rule.reason:
        words += f"\n{span.rule.reason}"
    what = _SUMMARIES[span.rule.state]
    return _event(calendar, (span.begins, span.ends), what, words, span.rule.name)


def _openings(calendar: Calendar) -> Iterator[Segment]:
    """Yield what is open, whole, without the time of overrides: they have events of their own."""
    overrides = frozenset(override.name for override in calendar.timetable.overrides)
    for segment in calendar.intervals:
        for part in timeline(calendar.timetable, *_whole(calendar, segment), apart=overrides):
            is_near = part.begins < calendar.ends and part.ends > calendar.begins
            if is_near and overrides.isdisjoint(part.rules):
                yield part


def _opening(calendar: Calendar, segment: Segment) -> list[str]:
    begins, ends = segment.begins, segment.ends
    words = f"By {', '.join(segment.rules)}.\nChanges may reach {gated_by(calendar.timetable)}."
    # An event has an end, however far away that of the opening is.
    if ends == calendar.ends and calendar.is_open_after:
        words += "\nIt stays open after this, for more than 400 days."
    return _event(calendar, (begins, ends), "Open", words)


def _event(
    calendar: Calendar, edges: tuple[datetime, datetime], what: str, words: str, *rule: str
) -> list[str]:
    begins, ends = map(_stamp, edges)
    # A name that depends on the policy, the cluster and the beginning alone. Without the end: a
    # window that grows is the same event. A reader that has it already replaces it by one with the
    # same UID (RFC 5545, 3.8.4.7).
    timetable = calendar.timetable
    identity = "\n".join((timetable.policy, timetable.cluster or "", begins, *rule))
    return [
        "BEGIN:VEVENT",
        f"UID:{hashlib.sha256(identity.encode()).hexdigest()[:32]}@krm-windows.dev",
        # The range's beginning and not now, so that the same call writes the same bytes.
        f"DTSTAMP:{_stamp(calendar.begins)}",
        f"DTSTART:{begins}",
        f"DTEND:{ends}",
        f"SUMMARY:{text(f'{what}: {calendar.name}')}",
        f"DESCRIPTION:{text(words)}",
        # It says when changes may come, and keeps nobody busy (RFC 5545, 3.8.2.7).
        "TRANSP:TRANSPARENT",
        "END:VEVENT",
    ]


def _whole(calendar: Calendar, segment: Segment) -> tuple[datetime, datetime]:
    """Return an interval as it is without the range, at most 400 days beyond it."""
    begins = segment.begins
    ends = segment.ends
    # Only what touches the range may be cut by it; the gate's evaluator knows where it goes on.
    if begins == calendar.begins:
        begins = decide(calendar.timetable, begins).since or begins
    if ends == calendar.ends:
        # Asked for the segment's beginning: at its end something else holds already.
        ends = decide(calendar.timetable, segment.begins).until or ends
    return begins, ends


def _stamp(at: datetime) -> str:
    # `20261214T070000Z`, a date with UTC time (RFC 5545, 3.3.5).
    return f"{at.astimezone(UTC):%Y%m%dT%H%M%SZ}"
