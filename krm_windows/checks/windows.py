"""Windows that do not do what they seem to: never or always open, uneven, or too short to be of use."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from krm_windows import rules
from krm_windows.checks import findings
from krm_windows.checks.facts import Facts, Span
from krm_windows.gate.recurrence import Recurrence
from krm_windows.gate.timetable import Rule
from krm_windows.policy.phrases import duration
from krm_windows.results import Result
from krm_windows.schedule.timeline import timeline

# How long a Pod takes until the program in it looks: scheduling, pulling from the node's cache, starting.
START_UP = timedelta(seconds=60)
_MINUTE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Delays:
    """What may pass from an edge until its targets are open: `interval` lies between two looks, None without looks."""

    interval: timedelta | None
    before_open: timedelta = timedelta()

    @property
    def longest(self) -> timedelta:
        """The time that passes if the look at the edge is lost, and the hook takes as long as it may."""
        return (self.interval + START_UP if self.interval else timedelta()) + self.before_open

    def __str__(self) -> str:
        """Say it in words."""
        looks = self.interval and (
            f"if the look at its beginning is lost, the next comes at most {duration(self.interval)} later and takes "
            "up to a minute to start"
        )
        hook = self.before_open and f"`beforeOpen` may take {duration(self.before_open)}"
        return ", and ".join(part for part in (looks, hook) if part)


def check(facts: Facts, delays: Delays) -> Iterator[Result]:
    """Yield what is to be said of each window alone, and of all together."""
    windows = facts.timetable.windows
    endless = False
    for window in windows:
        # Looked for once: to find the occurrences is what an audit spends its time on.
        occurrences = tuple(facts.occurrences(window))
        yield from _never(facts, window, occurrences)
        if occurrences == (facts.looked_at(window),):
            endless = True
            yield from _always(facts, window)
        else:
            yield from _lengths(facts, window, occurrences, delays)
    if windows and not endless and facts.is_endless(*windows):
        message = "leave no minute closed between them: shorten one, or remove the policy if it is to hold nothing back"
        yield findings.at(rules.WINDOW_ALWAYS_OPEN, "windows", message, facts.first)


def _always(facts: Facts, window: Rule) -> Iterator[Result]:
    message = (
        f"is open from {facts.first} on without an end: each occurrence lasts until the next; let it end earlier, or "
        "remove the policy if it is to hold nothing back"
    )
    yield findings.at(rules.WINDOW_ALWAYS_OPEN, window.name, message, facts.first)


def _never(facts: Facts, window: Rule, occurrences: Sequence[Span]) -> Iterator[Result]:
    """Report a window that is not open once, unless it is over, or only begins after the audited years."""
    if window.name in facts.opening:
        return
    if not occurrences and not isinstance(window.begins, Recurrence):
        return
    if all(each.length <= facts.timetable.closes_early for each in occurrences) and occurrences:
        return  # which is said in `_lengths`
    if not occurrences:
        message = f"does not come once from {facts.first} to {facts.last}: change `opens`, or audit more years"
        yield findings.at(rules.WINDOW_NEVER_OPENS, window.name, message, facts.first)
        return
    parts = [
        part
        for each in occurrences
        for part in timeline(facts.timetable, *map(facts.instant, each.edges))
    ]
    if any(part.open for part in parts):
        return  # by an override, which is told in its place
    shut = ", ".join(parts[0].rules) if parts else ""
    message = (
        f"is never open from {facts.first} to {facts.last}; on {findings.moment(occurrences[0].begins)} "
        f"{shut or 'a clock change'} keeps it shut: move it, or remove it"
    )
    yield findings.at(rules.WINDOW_NEVER_OPENS, window.name, message, occurrences[0].begins)


def _lengths(
    facts: Facts, window: Rule, occurrences: Sequence[Span], delays: Delays
) -> Iterator[Result]:
    """Compare the whole occurrences of a window with each other and with what a look takes."""
    looked = facts.looked_at(window)
    whole = sorted(
        (each for each in occurrences if each.begins > looked.begins and each.ends < looked.ends),
        key=lambda each: each.length,
    )
    if not whole:
        return
    shortest, longest = whole[0], whole[-1]
    early, least = facts.timetable.closes_early, delays.longest
    if longest.length > 2 * shortest.length:
        yield _unequal(window, longest.begins, longest.length, shortest.length)
    if shortest.length - early < max(least, _MINUTE) and not _is_prolonged(
        facts, shortest, early + least
    ):
        yield (
            _early(window, shortest, early)
            if shortest.length <= early
            else _short(window, shortest, early, delays)
        )


def _is_prolonged(facts: Facts, occurrence: Span, least: timedelta) -> bool:
    """Whether other windows go on where this one begins or ends, so that all of them together are long enough."""
    # The one that begins last before it, or with it.
    index = bisect_right(facts.union, occurrence.begins, key=lambda each: each.begins) - 1
    if index < 0:
        return False
    around = facts.union[index]
    return occurrence.begins < around.ends and around.length >= least


def _early(window: Rule, shortest: Span, early: timedelta) -> Result:
    message = (
        f"is {duration(shortest.length)} long on {findings.moment(shortest.begins)}, and closesEarly, "
        f"{duration(early)}, leaves nothing of it: make the window longer, or closesEarly shorter"
    )
    return findings.at(rules.WINDOW_CLOSES_EARLY, window.name, message, shortest.begins)


def _short(window: Rule, shortest: Span, early: timedelta, delays: Delays) -> Result:
    message = (
        f"is open for {duration(shortest.length - early)} only, on {findings.moment(shortest.begins)}: {delays}; make "
        f"the window at least {duration(early + delays.longest)} long, or `interval` shorter"
    )
    return findings.at(rules.WINDOW_SHORT, window.name, message, shortest.begins)


def _unequal(window: Rule, begins: datetime, length: timedelta, shortest: timedelta) -> Result:
    message = (
        f"is open for {duration(length)} from {findings.moment(begins)} on, more than twice the {duration(shortest)} "
        "of its shortest occurrence; if that is not meant, end it by a time of day or a duration, which count from "
        "its own beginning"
    )
    return findings.at(rules.WINDOW_UNEQUAL, window.name, message, begins)
