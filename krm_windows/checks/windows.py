"""Windows that do not do what they seem to.

Never or always open, uneven, or too short to be of use.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

from krm_windows import rules
from krm_windows.checks import findings
from krm_windows.checks.facts import Facts, Interval, Span, span_of
from krm_windows.policy.phrases import duration
from krm_windows.results import Result
from krm_windows.schedule import wallclock
from krm_windows.schedule.recurrence import Recurrence
from krm_windows.schedule.timeline import timeline
from krm_windows.schedule.timetable import Rule

# How long a Pod takes until the program in it looks: scheduling, pulling from the node's cache,
# starting.
START_UP = timedelta(seconds=60)
_MINUTE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Delays:
    """What may pass from an edge until its targets are open.

    `interval` lies between two runs, None without a gate.
    """

    interval: timedelta | None
    before_open: timedelta = timedelta()

    @property
    def longest(self) -> timedelta:
        """The time that passes if the run at the edge is lost and the hook takes its timeout."""
        if not self.interval:
            return self.before_open
        return self.interval + START_UP + self.before_open

    def __str__(self) -> str:
        """Say it in words."""
        parts: list[str] = []
        if self.interval:
            parts.append(
                "if the run at the opening fails, the next one follows within "
                f"{duration(self.interval)} and takes up to a minute to start"
            )
        if self.before_open:
            parts.append(f"`beforeOpen` may take {duration(self.before_open)}")
        return ", and ".join(parts)


def unsound(facts: Facts, delays: Delays) -> Iterator[Result]:
    """Yield what is to be said of each window alone, and of all together."""
    windows = facts.timetable.windows
    looked = facts.looked_at
    endless = False
    for window in windows:
        occurrences = facts.occurrences(window)
        if not occurrences:
            yield from _absent(facts, window)
            continue
        yield from _never(facts, window, occurrences)
        # What touches an end of the audit may be cut there.
        first, last = looked
        whole = [each for each in occurrences if first < each[0] and each[1] < last]
        if occurrences == [looked]:
            endless = True
            yield from _always(facts, window)
        elif whole:
            shortest = span_of(min(whole, key=_length))
            # Of equal ones the last.
            longest = span_of(max(reversed(whole), key=_length))
            yield from _lengths(facts, window, shortest, longest, delays)
    # One by one none is endless, but together they may be.
    if windows and not endless and facts.is_endless(*windows):
        message = (
            "together are never closed: shorten one, or remove the policy if nothing should wait"
        )
        yield findings.at(rules.WINDOW_ALWAYS_OPEN, "windows", message, facts.first)


def _length(occurrence: Interval) -> int:
    begins, ends = occurrence
    return ends - begins


def _always(facts: Facts, window: Rule) -> Iterator[Result]:
    message = (
        f"is open without end from {facts.first} on: each occurrence lasts until the next; end "
        "it earlier, or remove the policy if nothing should wait"
    )
    yield findings.at(rules.WINDOW_ALWAYS_OPEN, window.name, message, facts.first)


def _absent(facts: Facts, window: Rule) -> Iterator[Result]:
    """Report a window that recurs and does not come once.

    One that is dated is over, or only begins later.
    """
    if isinstance(window.begins, Recurrence) and not facts.is_opening(window.name):
        message = (
            f"never occurs from {facts.first} to {facts.last}: change `opens`, or check "
            "more years (--years)"
        )
        yield findings.at(rules.WINDOW_NEVER_OPENS, window.name, message, facts.first)


def _never(
    facts: Facts,
    window: Rule,
    occurrences: list[Interval],
) -> Iterator[Result]:
    """Report a window that comes and is not open once."""
    if facts.is_opening(window.name):
        return
    # That is said in `_lengths`.
    if max(map(_length, occurrences)) * _MINUTE <= facts.timetable.closes_early:
        return
    # By an override, which is reported in its place.
    if facts.is_open_in(window):
        return
    begins = span_of(occurrences[0]).begins
    closed_by = _closed_by(facts, window) or "a clock change"
    message = (
        f"is never open from {facts.first} to {facts.last}; on {findings.moment(begins)} "
        f"{closed_by} keeps it closed: move it, or remove it"
    )
    yield findings.at(rules.WINDOW_NEVER_OPENS, window.name, message, begins)


def _closed_by(facts: Facts, window: Rule) -> str:
    """Name the rules that close a window at its first occurrence.

    Empty where the clock skips all of it.
    """
    for each in map(span_of, facts.occurrences(window)):
        begins, ends = map(facts.instant, each.edges)
        # The first part of the first occurrence that is there at all.
        for part in timeline(facts.timetable, begins, ends):
            return ", ".join(part.rules)
    return ""


def _lengths(
    facts: Facts,
    window: Rule,
    shortest: Span,
    longest: Span,
    delays: Delays,
) -> Iterator[Result]:
    """Compare the whole occurrences of a window with each other and with what a run takes."""
    # Twice as long: a window by weekday and one by date are hardly meant as one.
    if longest.length > 2 * shortest.length:
        message = (
            f"is open for {duration(longest.length)} from {findings.moment(longest.begins)} on, "
            f"more than twice the {duration(shortest.length)} of its shortest occurrence; if that "
            "is not intended, end it with a time of day or a duration, which count from its own "
            "beginning"
        )
        yield findings.at(rules.WINDOW_UNEQUAL, window.name, message, longest.begins)
    early = facts.timetable.closes_early
    least = delays.longest
    # Even where no run is lost, a minute is the least that a CronJob knows.
    if shortest.length - early >= max(least, _MINUTE):
        return
    if _is_prolonged(facts, shortest, early + least):
        return
    when = findings.moment(shortest.begins)
    rule = rules.WINDOW_SHORT
    message = (
        f"is open for only {duration(shortest.length - early)} on {when}: {delays}; make the "
        f"window at least {duration(early + least)} long, or `interval` shorter"
    )
    if shortest.length <= early:
        rule = rules.WINDOW_CLOSES_EARLY
        message = (
            f"is {duration(shortest.length)} long on {when}, so `closesEarly` ({duration(early)}) "
            "leaves no time in it: make the window longer, or `closesEarly` shorter"
        )
    yield findings.at(rule, window.name, message, shortest.begins)


def _is_prolonged(
    facts: Facts,
    occurrence: Span,
    least: timedelta,
) -> bool:
    """Whether other windows prolong this one, so that together they are long enough."""
    # Of all windows together: where two touch or overlap, they are one time.
    at = wallclock.minute_of(occurrence.begins)
    around = (each for each in facts.union if each[0] <= at < each[1])
    return _length(next(around)) * _MINUTE >= least
