"""The rules that a change of a policy is about: how far they reach, and why they move no hour."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import chain, starmap

from krm_windows.policy import phrases
from krm_windows.preview.calendar import Period
from krm_windows.preview.clock import shown
from krm_windows.preview.difference import Difference, compare
from krm_windows.preview.exceptions import touching
from krm_windows.preview.sentences import because
from krm_windows.schedule import wallclock
from krm_windows.schedule.timeline import timeline
from krm_windows.schedule.timetable import Kind, Rule, Timetable

_YEAR = timedelta(days=366)
_WEEKS = timedelta(days=28)


def _rules(old: Timetable, new: Timetable) -> list[tuple[Timetable, Rule]]:
    """Return the rules that only one of two timetables has, with that one, the newer first."""
    found = []
    for this, other in ((new, old), (old, new)):
        others = {each._replace(reason="") for each in _all(other)}
        found += [(this, each) for each in _all(this) if each._replace(reason="") not in others]
    return found


def _all(timetable: Timetable) -> tuple[Rule, ...]:
    return (*timetable.windows, *timetable.freezes, *timetable.overrides)


def period(every: Iterable[tuple[Timetable, Timetable]], at: datetime) -> Period:
    """Return the days from a minute on that hold all that a change does in their first four weeks.

    Of a rule that is not in force in them it is the next time that it is, within a year.
    """
    # Windows know no seconds.
    begins = at.replace(second=0, microsecond=0)
    ends = begins + _WEEKS
    for timetable, rule in chain.from_iterable(starmap(_rules, every)):
        found = touching(rule, timetable.zone, begins, begins + _YEAR)
        # What comes every week is the same in each.
        if found and not rule.is_weekly:
            ends = max(ends, found[0][1], *(last for first, last in found if first < ends))
    return Period(begins, -((begins - min(ends, begins + _YEAR)) // timedelta(days=1)))


def differences(
    every: Sequence[tuple[Timetable, Timetable]], at: datetime, days: Period | None = None
) -> list[Difference]:
    """Return the hours that a change moves within some days, else within those that it reaches."""
    begins = days or period(every, at)
    found = [compare(*each, begins) for each in every]
    if days or any(each.changes for each in found):
        return found
    # What moves no hour the first time may do so later, such as a freeze of every month.
    later = [compare(*each, replace(begins, days=_YEAR.days)) for each in every]
    return later if any(each.changes for each in later) else found


def unmoved(old: Timetable, new: Timetable, begins: datetime) -> Iterator[str]:
    """Yield why rules that a change makes or takes out move no hour: what decides all the same."""
    for timetable, rule in _rules(old, new):
        subject = phrases.rules([rule.name], timetable.reasons)
        subject = f"{subject[:1].upper()}{subject[1:]}"
        found = touching(rule, timetable.zone, begins, begins + _YEAR)
        if not found:
            at = begins
            if isinstance(rule.begins, datetime):
                at = max(at, wallclock.utc(rule.begins, timetable.zone))
            # What comes on a 29 February alone comes within eight years.
            later = touching(rule, timetable.zone, at, at + 9 * _YEAR)
            first = f"first holds on {shown(later[0][0], timetable.zone)}" if later else "is over"
            yield f"{subject} {first}"
            continue
        at, ends = max(found[0][0], begins), found[0][1]
        opens = rule.kind is Kind.WINDOW or rule.state == "Open"
        before, after = (next(iter(timeline(each, at, ends))) for each in (old, new))
        decides, segment, word = new, after, "still"
        if timetable is new and before.open is opens:
            decides, segment, word = old, before, "already"
        state = "open" if segment.open else "closed"
        when = shown(at, timetable.zone)
        # One that closes wins over all that opens.
        wins = opens and not segment.open and segment.rules[0].startswith("overrides.")
        why = because(decides, segment.rules) + (", which wins until it ends" if wins else "")
        yield f"{word} {state} then ({when}), {why}"
