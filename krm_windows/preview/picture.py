"""What a picture of calendars shows and where.

Rows of facts along bands of time, for any writer to draw.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import accumulate, chain, groupby, islice
from operator import attrgetter
from typing import TypeVar
from zoneinfo import ZoneInfo

from krm_windows.checks.clock_changes import ClockChange
from krm_windows.gate.timetable import Target
from krm_windows.plurals import some
from krm_windows.preview import clock, exceptions
from krm_windows.preview.axis import Band, Quiet, last_day, split
from krm_windows.preview.calendar import Calendar, alike, gated
from krm_windows.preview.folding import Run, fold
from krm_windows.preview.text import span
from krm_windows.schedule import wallclock
from krm_windows.schedule.timeline import Segment
from krm_windows.schedule.zones import zone as zone_of

KINDS = {
    "open": "open",
    "often": "opens and closes often",
    "freeze": "freeze",
    "override-open": "override that opens",
    "override-closed": "override that closes",
    "clock": "clocks change",
}
# So many names fit the title of a row.
_FEW = 2
# So many targets are named before "and 12 more".
_SOME = 4
_CLOSING = ("freeze", "override-closed")
_begins = attrgetter("begins")
_number = attrgetter("number")
_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing in a row during the UTC interval [`begins`, `ends`).

    A clock change is an instant. `kind` is `open` (`often` where many are drawn as one), `freeze`,
    `override-open`, `override-closed` or `clock`; lane 0 is what results, others what was asked
    for. `rules` are paths in the spec; `reason` is the user's. What `goes_back` was so before these
    days, and what `goes_on` is so after them.
    """

    kind: str
    begins: datetime
    ends: datetime
    rules: tuple[str, ...]
    label: str
    words: str
    reason: str = ""
    lane: int = 0
    goes_back: bool = False
    goes_on: bool = False

    @property
    def grouping_key(self) -> tuple[str, ...]:
        """What it says beside its time."""
        return self.rules


@dataclass(frozen=True, slots=True)
class Line:
    """What is said in one line of words: a fact, or many that recur.

    `number` is the place of the first among the row's facts.
    """

    number: int
    run: Run[Fact]


@dataclass(frozen=True, slots=True)
class Row:
    """All calendars that are alike: their names, and the facts of each, by their beginning.

    `latest` is the last end of each fact and those before it. `gated` says what is gated, by names
    where they differ. `descriptions` are paths of windows with what is written there about them.
    """

    names: tuple[str, ...]
    zone: ZoneInfo
    begins: datetime
    ends: datetime
    facts: tuple[Fact, ...]
    latest: tuple[datetime, ...]
    lines: tuple[Line, ...]
    gated: tuple[str, ...]
    descriptions: tuple[tuple[str, str], ...]

    def within(self, band: Band) -> Iterator[tuple[int, Fact]]:
        """Yield the facts that are seen in a band, each with its number."""
        # The ends are in no order, but the last of them so far is: a year has thousands of facts.
        first = bisect_left(self.latest, band.begins)
        behind = bisect_left(self.facts, band.ends, key=_begins)
        for number in range(first, behind):
            fact = self.facts[number]
            if band.place(fact.begins, fact.ends) is not None:
                yield number, fact

    def lanes_in(self, band: Band) -> int:
        """Return how many lanes below the first are in use in a band."""
        # 0 is the first lane alone, which is always drawn.
        return max((fact.lane for _, fact in self.within(band)), default=0)

    def line_of(self, number: int) -> int:
        """Return the number of the line that a fact is said in."""
        place = bisect_right(self.lines, number, key=_number)
        fact = self.facts[number]
        # What recurs may go on while a freeze begins, which has a line of its own.
        for line in reversed(self.lines[:place]):
            if line.run.first.kind == fact.kind and line.run.last.begins >= fact.begins:
                return line.number
        return number

    def hover(self, fact: Fact) -> str:
        """Say a fact with its cluster, its zone and its exact instants, if it has them.

        What is written about its windows comes last.
        """
        if fact.kind == "clock":
            return f"{self.title}: {fact.words}; {clock.stamp(fact.begins, self.zone)}"
        since = "before" if fact.goes_back else clock.stamp(fact.begins, self.zone)
        until = "after" if fact.goes_on else clock.stamp(fact.ends, self.zone)
        said = [f"{self.title}: {fact.words}", f"{since} to {until} ({self.zone.key})"]
        said += (text for rule, text in self.descriptions if rule in fact.rules)
        return "; ".join(said)

    def edges(self) -> Iterator[datetime]:
        """Yield every instant at which something changes."""
        for fact in self.facts:
            if not fact.goes_back:
                yield fact.begins
            if not fact.goes_on:
                yield fact.ends

    def state(self, at: datetime) -> str:
        """Say what holds at an instant: `closed (freezes.christmas)`."""
        # In another zone the row's own days may begin later.
        at = min(max(at, self.begins), self.ends - timedelta.resolution)
        holding = [fact for fact in self.facts if fact.begins <= at < fact.ends]
        opened = next((fact.rules for fact in holding if fact.kind == "open"), ())
        closing = chain.from_iterable(fact.rules for fact in holding if fact.kind in _CLOSING)
        rules = ", ".join(opened or closing)
        return f"{'open' if opened else 'closed'}{f' ({rules})' if rules else ''}"

    @property
    def has_more(self) -> bool:
        """Whether there are too many names for a title."""
        return len(self.names) > _FEW

    @property
    def title(self) -> str:
        """The names, or the first and how many there are beside it."""
        if self.has_more:
            return f"{self.names[0]} and {len(self.names) - 1} more"
        return ", ".join(self.names)


@dataclass(frozen=True, slots=True)
class Picture:
    """Rows and what of the axis is drawn; `policy` is that of all rows, empty where they differ.

    `zone` is the axis's: UTC where rows have several, each of which is on its own clock then.
    `gates` says what all gate, empty where they differ. `now` is an instant that is marked, if it
    is among the days.
    """

    policy: str
    zone: ZoneInfo
    rows: tuple[Row, ...]
    parts: tuple[Band | Quiet, ...]
    gates: str = ""
    now: datetime | None = None
    several_zones: bool = False

    @property
    def subject(self) -> str:
        """What the picture is about."""
        return self.policy or "Reconciliation windows"

    @property
    def days(self) -> str:
        """The first and the last day, on the clocks of the first row."""
        row = self.rows[0]
        first = row.begins.astimezone(row.zone).date()
        return clock.days(first, last_day(row.ends, row.zone))

    @property
    def title(self) -> str:
        """Both in one line."""
        return f"{self.subject}, {self.days}"

    @property
    def count(self) -> str:
        """How many policies and clusters it shows; the name of the only one, unless `policy`."""
        # Rows of what is alike stand for many clusters.
        number = sum(len(row.names) for row in self.rows)
        if number == 1:
            name = self.rows[0].names[0]
            # A policy that is for every cluster is in the title already.
            return "" if name == self.subject else name
        what = "clusters" if self.policy else "policies and clusters"
        if number == len(self.rows):
            return f"{number} {what}"
        return f"{number} {what}, grouped in {len(self.rows)} rows"

    @property
    def clocks(self) -> str:
        """Whose clocks the hours are of, in a sentence."""
        if self.several_zones:
            return "Each row is in its own time zone."
        return f"Days and hours are in {self.zone.key}."

    @property
    def time_of_now(self) -> str:
        """The time of `now` in words, in UTC where rows have several zones."""
        if self.now is None:
            return ""
        words = clock.shown(self.now, self.zone)
        if self.several_zones:
            words += f" {self.zone.key}"
        return words

    def band_of(self, row: Row, band: Band) -> Band:
        """Return a band as it is for a row: in several zones its days are those of its clock."""
        if self.several_zones:
            return band.on(row.zone)
        return band

    def months(self) -> Iterator[tuple[str, Band | Quiet]]:
        """Yield the parts, each with its month where it is another than before, else with none."""
        before = ""
        for part in self.parts:
            month = ""
            if isinstance(part, Band) and part.month != before:
                month = before = part.month
            yield month, part


def draw(every: Sequence[Calendar], now: datetime | None = None) -> Picture:
    """Arrange calendars by the clock of their time zone, or each by its own where they differ."""
    # A title says what all rows have in common, and each row the rest.
    policy = _shared({one.timetable.policy for one in every}, "")
    zones = {one.zone for one in every}
    zone = _shared(zones, zone_of("UTC"))
    if now is not None and not any(one.begins <= now < one.ends for one in every):
        now = None
    rows = [_row(group, same_policy=bool(policy)) for group in alike(every)]
    gates = some([str(target) for target in gated(every)], _SOME)
    picture = Picture(policy, zone, tuple(rows), (), gates, now, len(zones) > 1)
    return replace(picture, parts=tuple(_parts(picture)))


def _axis(picture: Picture) -> list[Band]:
    """Return what the rows are drawn along, in full."""
    rows = picture.rows
    if not picture.several_zones:
        begins = min(row.begins for row in rows)
        return list(split(begins, max(row.ends for row in rows), picture.zone))
    # Monday 08:00 is below Monday 08:00: what clocks show is taken for UTC, whose days are alike.
    begins = min(_as_utc(row.begins, row.zone) for row in rows)
    return list(split(begins, max(_as_utc(row.ends, row.zone) for row in rows), picture.zone))


def _as_utc(at: datetime, zone: ZoneInfo) -> datetime:
    return wallclock.wall(at, zone).replace(tzinfo=UTC)


def _shared(found: set[_Value], otherwise: _Value) -> _Value:
    """Return what is the same in all; another value where they differ."""
    return otherwise if len(found) > 1 else next(iter(found))


def _parts(picture: Picture) -> Iterator[Band | Quiet]:
    """Yield the bands, but one line for all weeks in a row in which no row changes."""
    bands = _axis(picture)
    # All that was asked for is looked at, however little happens in it.
    if len(bands) == 1:
        yield from bands
        return
    # One row of each zone, and the edges of all.
    zones: dict[ZoneInfo, Row] = {}
    edges: dict[ZoneInfo, set[datetime]] = {}
    for row in picture.rows:
        zones.setdefault(row.zone, row)
        edges.setdefault(row.zone, set()).update(row.edges())
        if picture.now is not None:
            edges[row.zone].add(picture.now)
    in_order = {zone: sorted(found) for zone, found in edges.items()}

    def changes(band: Band) -> bool:
        for zone, row in zones.items():
            own = picture.band_of(row, band)
            # Where the row's own days begin or end within, not all of it is known.
            if own.begins < row.begins or row.ends < own.ends:
                return True
            if bisect_left(in_order[zone], own.begins) < bisect_left(in_order[zone], own.ends):
                return True
        return False

    for is_drawn, group in groupby(bands, changes):
        found = list(group)
        if is_drawn:
            yield from found
        else:
            yield _quiet(found, picture)


def _quiet(weeks: Sequence[Band], picture: Picture) -> Quiet:
    # Nothing changes in them, so their beginning says what holds in all.
    names: dict[str, list[str]] = {}
    for row in picture.rows:
        begins = picture.band_of(row, weeks[0]).begins
        names.setdefault(row.state(begins), []).extend(row.names)
    states = "".join(names)
    if len(names) > 1:
        states = "; ".join(f"{some(found, _FEW)} {state}" for state, found in names.items())
    return Quiet(weeks[0].first, weeks[-1].last, weeks[0].begins, weeks[-1].ends, states)


def _row(group: Sequence[Calendar], *, same_policy: bool) -> Row:
    calendar = group[0]
    # The policy is in the title of a picture of one; a row then needs the cluster alone.
    names = [(same_policy and one.timetable.cluster) or one.name for one in group]
    facts = sorted(_facts(calendar), key=lambda fact: (fact.begins, fact.lane))
    return Row(
        names=tuple(names),
        zone=calendar.zone,
        begins=calendar.begins,
        ends=calendar.ends,
        facts=tuple(facts),
        latest=tuple(accumulate((fact.ends for fact in facts), max)),
        lines=tuple(_lines(facts)),
        gated=tuple(_gated(names, group)),
        descriptions=tuple(dict.fromkeys(chain.from_iterable(one.descriptions for one in group))),
    )


def _gated(names: Sequence[str], group: Sequence[Calendar]) -> Iterator[str]:
    """Say what is gated, by what the calendars have in common; nothing of what is by label."""
    found: dict[tuple[Target, ...], list[str]] = {}
    for name, calendar in zip(names, group, strict=True):
        found.setdefault(calendar.timetable.targets, []).append(name)
    for targets, of in found.items():
        if targets:
            whose = f"{some(of, _SOME)}: " if len(found) > 1 else ""
            yield f"{whose}gates {some([str(target) for target in targets], _SOME)}"


def _lines(facts: Sequence[Fact]) -> list[Line]:
    """Fold what is open and recurs; freezes, overrides and clock changes stay as they are."""
    lines: list[Line] = []
    opened: list[int] = []
    for number, fact in enumerate(facts):
        if fact.kind == "open":
            opened.append(number)
        else:
            lines.append(Line(number, Run(fact, fact)))
    # A run stands for so many of them, in their order.
    numbers = iter(opened)
    for run in fold(facts[number] for number in opened):
        first, *_ = islice(numbers, run.count)
        lines.append(Line(first, run))
    return sorted(lines, key=_number)


def _facts(calendar: Calendar) -> Iterator[Fact]:
    """Yield what was open, then what was asked for, then the changes of the clock."""
    for segment in calendar.intervals:
        yield _open(calendar, segment)
    # Until when each lane below the first is taken; what overlaps is in another.
    lanes: list[datetime] = []
    for found in exceptions.spans(calendar.timetable, calendar.begins, calendar.ends):
        free = (i for i, until in enumerate(lanes) if until <= found.begins)
        lane = next(free, len(lanes))
        # Past the end of the list a slice appends: one lane more.
        lanes[lane : lane + 1] = [found.ends]
        yield _exception(calendar, found, lane + 1)
    for change in clock.changes(calendar.zone, calendar.begins, calendar.ends):
        words = clock.words(change, calendar.zone)
        yield Fact("clock", change.at, change.at, (), _shift(change), words)


def _shift(change: ClockChange) -> str:
    """Return by how much clocks go, as it is written on a picture: `+1 h`."""
    # `:g` leaves out a fraction of zero: Lord Howe Island goes by half an hour, `+0.5 h`.
    hours = (change.after - change.before) / timedelta(hours=1)
    return f"{hours:+g} h".replace("-", "\N{MINUS SIGN}")


def _open(calendar: Calendar, segment: Segment) -> Fact:
    goes_back = segment.begins <= calendar.begins and calendar.is_open_before
    goes_on = segment.ends >= calendar.ends and calendar.is_open_after
    when = _when(calendar, segment, goes_back=goes_back, goes_on=goes_on)
    return Fact(
        kind="open",
        begins=segment.begins,
        ends=segment.ends,
        rules=segment.rules,
        # `windows.working-week` is `working-week` on a bar; `state` is in no map.
        label=", ".join(rule.partition(".")[2] or rule for rule in segment.rules),
        words=f"open {when}, by {', '.join(segment.rules)}",
        goes_back=goes_back,
        goes_on=goes_on,
    )


def _exception(calendar: Calendar, found: exceptions.Span, lane: int) -> Fact:
    at_first, at_last = found.begins <= calendar.begins, found.ends >= calendar.ends
    goes_back = at_first and exceptions.goes_back(calendar.timetable, found)
    goes_on = at_last and exceptions.goes_on(calendar.timetable, found)
    when = _when(calendar, found, goes_back=goes_back, goes_on=goes_on)
    return Fact(
        kind=found.kind,
        begins=found.begins,
        ends=found.ends,
        rules=(found.rule.name,),
        label=found.rule.key,
        words=f"{KINDS[found.kind]} {found.rule.key}, {when}: {found.rule.reason}",
        reason=found.rule.reason,
        lane=lane,
        goes_back=goes_back,
        goes_on=goes_on,
    )


def _when(
    calendar: Calendar, of: Segment | exceptions.Span, *, goes_back: bool, goes_on: bool
) -> str:
    """Say from when to when, as far as that is within these days."""
    since = "from before" if goes_back else clock.shown(of.begins, calendar.zone)
    until = "after these days" if goes_on else clock.shown(of.ends, calendar.zone)
    return f"{since} to {until} ({span(of.ends - of.begins)})"
