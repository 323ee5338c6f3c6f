"""Calendars as iCalendar (RFC 5545).

An event for each freeze and override, and for each time that a policy is open without an override,
for the calendars people look at. Clusters that are alike share their events.
"""

import hashlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import chain, groupby

from krm_windows.escape import cut
from krm_windows.escape.icalendar import page, text
from krm_windows.plurals import clusters, some
from krm_windows.preview import exceptions
from krm_windows.preview.calendar import Calendar, gated_by, titles
from krm_windows.schedule.timeline import Segment, decide, openings, timeline

_FEW = 4
_MINUTE = timedelta(minutes=1)
# So many openings of one day are one event: nobody reads a day of more.
_OFTEN = 6
# Signs of a reason in a summary: a calendar shows fewer.
_LONGEST = 100
# Of a freeze, which has no state, and of an override.
_SUMMARIES = {None: "Freeze", "Open": "Opened by override", "Closed": "Closed by override"}
_GOES_ON = "It stays open after this, for more than 400 days."
_HEAD = (
    "BEGIN:VCALENDAR",
    # A calendar has to have VERSION and PRODID (RFC 5545, 3.6).
    "VERSION:2.0",
    "PRODID:-//krm-windows//calendar//EN",
    # The default, written out (RFC 5545, 3.7.1).
    "CALSCALE:GREGORIAN",
    # How often to ask for it again (RFC 7986, 5.7), and how that was said before.
    "REFRESH-INTERVAL;VALUE=DURATION:PT15M",
    "X-PUBLISHED-TTL:PT15M",
)


@dataclass(frozen=True, slots=True)
class _Event:
    """What an event says; `words` are lines, of which some may be empty.

    `identity` is what its UID is made of, beside the policy and its cluster: not its end, so that
    a window that grows is the same event, and of an override not when it begins either.
    """

    begins: datetime
    ends: datetime
    summary: str
    words: tuple[str, ...]
    identity: tuple[str, ...]


def render(groups: Collection[Sequence[Calendar]], differing: Sequence[str] = ()) -> str:
    """Return one calendar with the events of groups that are `alike`.

    Clusters that are `differing` may have other hours, and it says so.
    Times are UTC, so that no reader needs to know a zone. An event that a rim of the range would
    cut is given in full, so that it has the same UID and the same times whatever range is asked
    for.
    """
    every = list(chain(*groups))
    policies = sorted({one.timetable.policy for one in every})
    name = text(every[0].name if len(every) == 1 else some(policies, _FEW))
    # What programs call a calendar that is subscribed to (RFC 7986, 5.1), and what they did before
    # there was a standard, which all know.
    lines = [*_HEAD, f"NAME:{name}", f"X-WR-CALNAME:{name}"]
    if differing:
        said = f"Shown as it is without a cluster; {some(differing, _FEW)} may differ."
        lines.append(f"X-WR-CALDESC:{text(said)}")
    # What several have alike is one event: a freeze of all clusters, wherever else they differ.
    events: dict[_Event, list[Calendar]] = {}
    for group in groups:
        targets = some(list(dict.fromkeys(gated_by(one.timetable) for one in group)), _FEW)
        for event in chain(_exceptions(group[0]), _openings(group[0], targets)):
            events.setdefault(event, []).extend(group)
    for event, of in events.items():
        # What all have needs no names: the calendar has one.
        names = clusters([one.timetable.cluster or "" for one in of])
        if len(policies) > 1:
            names = some(titles(of), _FEW)
        lines += _written(of[0], event, "" if len(of) == len(every) else f" ({names})")
    # Lines end in CRLF, and long ones are folded (RFC 5545, 3.1).
    return page([*lines, "END:VCALENDAR"])


def _exceptions(calendar: Calendar) -> Iterator[_Event]:
    """Yield the freezes and overrides, without what has no effect."""
    timetable = calendar.timetable
    # It wins, whatever else the policy says.
    if timetable.state != "Scheduled":
        return
    requesters = dict(calendar.requesters)
    for span in exceptions.spans(timetable, calendar.begins, calendar.ends):
        rule = span.rule
        parts = [(span.begins, span.ends)]
        if rule.state == "Open":
            # As far as no override closes, which is stronger.
            parts = list(openings(timetable, *parts[0]))
        called = cut(rule.reason.partition("\n")[0], _LONGEST) or rule.key
        words = (rule.reason, requesters.get(rule.name, ""), f"By {rule.name}.")
        for number, (begins, ends) in enumerate(parts):
            # What begins before all that is looked at would begin later each day.
            moment = _stamp(begins) if begins > calendar.begins - exceptions.FAR else ""
            # An override may be moved; a freeze may come again.
            identity = (str(number) if rule.state else moment, rule.name)
            yield _Event(begins, ends, f"{_SUMMARIES[rule.state]}: {called}", words, identity)


def _openings(calendar: Calendar, targets: str) -> Iterator[_Event]:
    """Yield what is open; what opens often on a day is one event of that day."""
    descriptions = dict(calendar.descriptions)
    for _, group in groupby(
        _segments(calendar), lambda each: each.begins.astimezone(calendar.zone).date()
    ):
        segments = list(group)
        state, count = "Open", ""
        if len(segments) >= _OFTEN:
            state, count = "Opens and closes often", f"{len(segments)} times on this day."
            segments = [replace(segments[0], ends=segments[-1].ends)]
        for segment in segments:
            # `windows.working-week` is `working-week`; `state` is in no map.
            names = [rule.partition(".")[2] for rule in segment.rules if "." in rule]
            words = (
                *(descriptions.get(rule, "") for rule in segment.rules),
                count,
                f"By {', '.join(segment.rules)}.",
                f"Changes may reach {targets}.",
                # An event has an end, however far away that of the opening is.
                _GOES_ON if segment.ends == calendar.ends and calendar.is_open_after else "",
            )
            moment = _stamp(segment.begins) if segment.begins != calendar.begins else ""
            summary = ": ".join(filter(None, (state, some(names, _FEW))))
            yield _Event(segment.begins, segment.ends, summary, words, (moment,))


def _segments(calendar: Calendar) -> Iterator[Segment]:
    """Yield what is open, whole, without the time of overrides: they have events of their own."""
    timetable = calendar.timetable
    overrides = frozenset(override.name for override in timetable.overrides)
    # At most 400 days beyond the range.
    begins = decide(timetable, calendar.begins).since or calendar.begins
    ends = decide(timetable, calendar.ends - _MINUTE).until or calendar.ends
    for part in timeline(timetable, begins, ends, apart=overrides):
        is_near = part.begins < calendar.ends and part.ends > calendar.begins
        if part.open and is_near and overrides.isdisjoint(part.rules):
            yield part


def _written(calendar: Calendar, event: _Event, where: str) -> list[str]:
    """Write an event; `where` are the clusters that it is about."""
    timetable = calendar.timetable
    identity = "\n".join((timetable.policy, timetable.cluster or "", *event.identity))
    return [
        "BEGIN:VEVENT",
        # A reader that has it already replaces it (RFC 5545, 3.8.4.7).
        f"UID:{hashlib.sha256(identity.encode()).hexdigest()[:32]}@krm-windows.dev",
        # The range's beginning and not now, so that the same call writes the same bytes.
        f"DTSTAMP:{_stamp(calendar.begins)}",
        f"DTSTART:{_stamp(event.begins)}",
        f"DTEND:{_stamp(event.ends)}",
        f"SUMMARY:{text(event.summary + where)}",
        f"DESCRIPTION:{text(chr(10).join(filter(None, event.words)))}",
        # It says when changes may come, and keeps nobody busy (RFC 5545, 3.8.2.7).
        "TRANSP:TRANSPARENT",
        "END:VEVENT",
    ]


def _stamp(at: datetime) -> str:
    # `20261214T070000Z`, a date with UTC time (RFC 5545, 3.3.5).
    return f"{at.astimezone(UTC):%Y%m%dT%H%M%SZ}"
