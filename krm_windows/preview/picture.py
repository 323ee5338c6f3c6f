"""What a picture of calendars shows and where: rows of facts along bands of time, for any writer to draw."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from krm_windows.gate import wallclock
from krm_windows.gate.zones import Zone
from krm_windows.plan.zone_rules import zone_of
from krm_windows.preview import clock, exceptions
from krm_windows.preview.calendar import Calendar, alike
from krm_windows.preview.text import span
from krm_windows.schedule.timeline import Segment

KINDS = {
    "open": "open",
    "often": "opens and closes often",
    "freeze": "freeze",
    "override-open": "override that opens",
    "override-closed": "override that closes",
    "clock": "clocks change",
}
_DAY = timedelta(days=1)
_ONE_BAND = 35
_HOURLY = 4
_FEW = 2
_QUARTER = timedelta(hours=6)


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing in a row during the UTC interval [`begins`, `ends`), an instant if it is a clock change.

    `kind` is `open` (`often` where many are drawn as one), `freeze`, `override-open`, `override-closed` or `clock`;
    lane 0 is what results, others what was asked for. `rules` are paths in the spec; `reason` is the user's.
    """

    kind: str
    begins: datetime
    ends: datetime
    rules: tuple[str, ...]
    label: str
    words: str
    reason: str = ""
    lane: int = 0


@dataclass(frozen=True, slots=True)
class Tick:
    """The beginning of a day, or of a quarter of one, on the axis."""

    at: datetime
    label: str
    weekday: str
    major: bool


@dataclass(frozen=True, slots=True)
class Band:
    """A stretch of the axis that is drawn side by side: a month, or all of a short range."""

    title: str
    begins: datetime
    ends: datetime
    ticks: tuple[Tick, ...]

    def place(self, begins: datetime, ends: datetime) -> tuple[float, float] | None:
        """Return where an interval lies as fractions of the width, left edge and width; None outside of the band."""
        left, right = max(begins, self.begins), min(ends, self.ends)
        whole = self.ends - self.begins
        if (
            left > right
            or left >= self.ends
            or right < self.begins
            or (left == right and begins != ends)
        ):
            return None
        return (left - self.begins) / whole, (right - left) / whole


@dataclass(frozen=True, slots=True)
class Row:
    """All calendars that are alike: their names, and the facts of each, by their beginning."""

    names: tuple[str, ...]
    zone: Zone
    begins: datetime
    ends: datetime
    facts: tuple[Fact, ...]

    def lanes_in(self, band: Band) -> int:
        """Return how many lanes below the first are in use in a band."""
        return max(
            (fact.lane for fact in self.facts if band.place(fact.begins, fact.ends)), default=0
        )

    @property
    def has_more(self) -> bool:
        """Whether there are too many names for a title."""
        return len(self.names) > _FEW

    @property
    def title(self) -> str:
        """The names, or the first and how many there are beside it."""
        return (
            f"{self.names[0]} and {len(self.names) - 1} more"
            if self.has_more
            else ", ".join(self.names)
        )


@dataclass(frozen=True, slots=True)
class Picture:
    """Rows and bands; `policy` is the one that all rows are of, empty where they differ; `zone` is the axis's."""

    policy: str
    zone: Zone
    rows: tuple[Row, ...]
    bands: tuple[Band, ...]

    @property
    def subject(self) -> str:
        """What the picture is about."""
        return self.policy or "Reconciliation windows"

    @property
    def days(self) -> str:
        """The first and the last day, on the clocks of the first row."""
        row = self.rows[0]
        first, last = (
            at.astimezone(row.zone) for at in (row.begins, row.ends - timedelta.resolution)
        )
        return f"{first:%Y-%m-%d} to {last:%Y-%m-%d}"

    @property
    def title(self) -> str:
        """Both in one line."""
        return f"{self.subject}, {self.days}"


def draw(every: Sequence[Calendar]) -> Picture:
    """Arrange calendars; the axis is in their time zone, or in UTC where they have several."""
    policies, zones = {one.timetable.policy for one in every}, {one.zone for one in every}
    zone = every[0].zone if len(zones) == 1 else zone_of("UTC")
    policy = every[0].timetable.policy if len(policies) == 1 else ""
    begins, ends = min(one.begins for one in every), max(one.ends for one in every)
    rows = tuple(_row(group, named=not policy) for group in alike(every))
    return Picture(policy, zone, rows, tuple(_bands(begins, ends, zone)))


def _row(group: Sequence[Calendar], *, named: bool) -> Row:
    calendar = group[0]
    names = tuple(
        one.name if named or not one.timetable.cluster else one.timetable.cluster for one in group
    )
    facts = sorted(_facts(calendar), key=lambda fact: (fact.begins, fact.lane))
    return Row(names, calendar.zone, calendar.begins, calendar.ends, tuple(facts))


def _facts(calendar: Calendar) -> Iterator[Fact]:
    yield from (_open(calendar, segment) for segment in calendar.intervals)
    lanes: list[datetime] = []
    for found in exceptions.spans(calendar.timetable, calendar.begins, calendar.ends):
        lane = next((i for i, until in enumerate(lanes) if until <= found.begins), len(lanes))
        lanes[lane : lane + 1] = [found.ends]
        yield _exception(calendar, found, lane + 1)
    for change in clock.changes(calendar.zone, calendar.begins, calendar.ends):
        hours = f"{(change.after - change.before) / timedelta(hours=1):+g} h".replace(
            "-", "\N{MINUS SIGN}"
        )
        yield Fact("clock", change.at, change.at, (), hours, clock.words(change, calendar.zone))


def _open(calendar: Calendar, segment: Segment) -> Fact:
    label = ", ".join(rule.partition(".")[2] or rule for rule in segment.rules)
    words = f"open {_when(calendar, segment.begins, segment.ends)}, by {', '.join(segment.rules)}"
    return Fact("open", segment.begins, segment.ends, segment.rules, label, words)


def _exception(calendar: Calendar, found: exceptions.Span, lane: int) -> Fact:
    name, when = found.rule.key, _when(calendar, found.begins, found.ends)
    words = f"{KINDS[found.kind]} {name}, {when}: {found.rule.reason}"
    return Fact(
        found.kind,
        found.begins,
        found.ends,
        (found.rule.name,),
        name,
        words,
        found.rule.reason,
        lane,
    )


def _when(calendar: Calendar, begins: datetime, ends: datetime) -> str:
    """Say from when to when; the rims of the calendar are no edges."""
    since = f"{clock.shown(begins, calendar.zone)} " if begins > calendar.begins else "from before "
    until = clock.shown(ends, calendar.zone) if ends < calendar.ends else "after these days"
    return f"{since}to {until} ({span(ends - begins)})"


def _bands(begins: datetime, ends: datetime, zone: tzinfo) -> Iterator[Band]:
    first = begins.astimezone(zone).date()
    last = (ends - timedelta.resolution).astimezone(zone).date()
    if last - first < _ONE_BAND * _DAY:
        yield _band("", begins, ends, zone)
        return
    while first <= last:
        following = (first.replace(day=1) + 31 * _DAY).replace(day=1)
        month = first.replace(day=1)
        yield _band(f"{month:%B %Y}", _midnight(month, zone), _midnight(following, zone), zone)
        first = following


def _band(title: str, begins: datetime, ends: datetime, zone: tzinfo) -> Band:
    return Band(title, begins, ends, tuple(_ticks(begins, ends, zone)))


def _ticks(begins: datetime, ends: datetime, zone: tzinfo) -> Iterator[Tick]:
    """Yield every day that begins in an interval, in a short one every quarter; the last has words if there is room."""
    step = _QUARTER if ends - begins <= _HOURLY * _DAY else _DAY
    wall = datetime.combine(begins.astimezone(zone).date(), time())
    while (at := wallclock.instant(wall, zone)) < ends:
        if at >= begins:
            midnight = wall.time() == time()
            label = (
                (f"{wall:%d}" if step == _DAY else f"{wall:%a %d}") if midnight else f"{wall:%H:%M}"
            )
            words = (label, f"{wall:%a}") if ends - at >= step / 2 else ("", "")
            yield Tick(
                at.astimezone(UTC), *words, major=midnight and (step != _DAY or wall.weekday() == 0)
            )
        wall += step


def _midnight(day: date, zone: tzinfo) -> datetime:
    return wallclock.instant(datetime.combine(day, time()), zone)
