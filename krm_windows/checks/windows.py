"""Windows that do not do what they seem to.

Never or always open, uneven, or too short to be of use.
"""

from collections.abc import Iterator
from datetime import timedelta
from itertools import chain

from krm_windows import rules
from krm_windows.checks import findings
from krm_windows.checks.facts import Facts, Interval
from krm_windows.policy.phrases import duration
from krm_windows.results import Result
from krm_windows.schedule import table, wallclock
from krm_windows.schedule.recurrence import Recurrence
from krm_windows.schedule.timeline import timeline
from krm_windows.schedule.timetable import Rule

# How long a Pod takes until the program in it looks: scheduling, pulling from the node's cache,
# starting.
START_UP = timedelta(seconds=60)
_MINUTE = timedelta(minutes=1)


def unsound(facts: Facts, delay: timedelta) -> Iterator[Result]:
    """Yield what is to be said of each window alone, and of all together.

    So much may pass from an edge until targets are open: the run at the edge is lost, and the hook
    before opening takes its time.
    """
    first, last = facts.looked_at
    endless = False
    for window in facts.timetable.windows:
        occurrences = facts.occurrences(window)
        yield from _never(facts, window, occurrences)
        # What touches an end of the audit may be cut there.
        whole = [each for each in occurrences if first < each[0] and each[1] < last]
        if occurrences == [facts.looked_at]:
            endless = True
            message = (
                f"is open without end from {facts.first} on: each occurrence lasts until the next; "
                "end it earlier, or remove the policy if nothing should wait"
            )
            yield findings.at(rules.WINDOW_ALWAYS_OPEN, window.name, message, facts.first)
        elif whole:
            yield from _lengths(facts, window, whole, delay)
    # One by one none is endless, but together they may be.
    if facts.union == [facts.looked_at] and not endless:
        message = (
            "together are never closed: shorten one, or remove the policy if nothing should wait"
        )
        yield findings.at(rules.WINDOW_ALWAYS_OPEN, "windows", message, facts.first)


def _length(occurrence: Interval) -> timedelta:
    begins, ends = occurrence
    return (ends - begins) * _MINUTE


def _never(facts: Facts, window: Rule, occurrences: list[Interval]) -> Iterator[Result]:
    """Report a window that recurs and does not come once, or comes and is not open once."""
    if window.name in facts.opening:
        return
    message = f"is never open from {facts.first} to {facts.last}"
    when = facts.first
    if not occurrences:
        # One that is dated is over, or only begins later.
        if not isinstance(window.begins, Recurrence):
            return
        message += ", as it never occurs: change `opens`, or check more years (--years)"
    else:
        # That it closes too early is said of its length; what an override opens, of that.
        longest = max(map(_length, occurrences))
        if longest <= facts.timetable.closes_early or _is_open_in(facts, window):
            return
        when = wallclock.at(occurrences[0][0])
        message += (
            f"; on {findings.moment(when)} a freeze, an override or a clock change keeps it "
            "closed: move it, or remove it"
        )
    yield findings.at(rules.WINDOW_NEVER_OPENS, window.name, message, when)


def _is_open_in(facts: Facts, window: Rule) -> bool:
    """Whether anything is open while a window holds, by whatever rule."""
    begins, ends = facts.years
    days = range(begins.toordinal(), ends.toordinal())
    held = table.intervals((window,), facts.timetable.zone, days)
    parts = (timeline(facts.timetable, *map(wallclock.at, interval)) for interval in held)
    return any(part.open for part in chain.from_iterable(parts))


def _lengths(
    facts: Facts, window: Rule, occurrences: list[Interval], delay: timedelta
) -> Iterator[Result]:
    """Compare the whole occurrences of a window with each other and with what a run takes."""
    shortest = min(occurrences, key=_length)
    # Of equal ones the last.
    longest = max(reversed(occurrences), key=_length)
    least, most = _length(shortest), _length(longest)
    # Twice as long: a window by weekday and one by date are hardly meant as one.
    if most > 2 * least:
        when = wallclock.at(longest[0])
        message = (
            f"is open for {duration(most)} from {findings.moment(when)} on, more than twice the "
            f"{duration(least)} of its shortest occurrence; if that is not intended, end it with a "
            "time of day or a duration, which count from its own beginning"
        )
        yield findings.at(rules.WINDOW_UNEQUAL, window.name, message, when)
    early = facts.timetable.closes_early
    # Other windows may prolong it: where two touch or overlap, they are one time.
    around = (each for each in facts.union if each[0] <= shortest[0] < each[1])
    # Even where no run is lost, a minute is the least that a CronJob knows.
    if least - early >= max(delay, _MINUTE) or _length(next(around)) >= early + delay:
        return
    when = wallclock.at(shortest[0])
    rule = rules.WINDOW_SHORT
    message = (
        f"is open for only {duration(least - early)} on {findings.moment(when)}, and its targets "
        f"may open as much as {duration(delay)} late (`interval`, as a run may fail, and "
        f"`beforeOpen`); make the window at least {duration(early + delay)} long, or `interval` "
        "shorter"
    )
    if least <= early:
        rule = rules.WINDOW_CLOSES_EARLY
        message = (
            f"is {duration(least)} long on {findings.moment(when)}, so `closesEarly` "
            f"({duration(early)}) leaves no time in it: make the window longer, or `closesEarly` "
            "shorter"
        )
    yield findings.at(rule, window.name, message, when)
