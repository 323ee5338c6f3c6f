"""What a picture of calendars shows and where.

Rows of facts along bands of time, for any writer to draw.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from krm_windows.checks.clock_changes import ClockChange
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
# A range of fewer days is one band, a longer one has a band for each month.
_ONE_BAND = 35
# Up to so many days there is room for a tick at every quarter of a day.
_HOURLY = 4
_QUARTER = timedelta(hours=6)
# So many names fit the title of a row.
_FEW = 2


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing in a row during the UTC interval [`begins`, `ends`).

    A clock change is an instant. `kind` is `open` (`often` where many are drawn as one), `freeze`,
    `override-open`, `override-closed` or `clock`; lane 0 is what results, others what was asked
    for. `rules` are paths in the spec; `reason` is the user's.
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

    def place(
        self,
        begins: datetime,
        ends: datetime,
    ) -> tuple[float, float] | None:
        """Return where an interval lies as fractions of the width, left edge and width.

        None outside of the band.
        """
        left = max(begins, self.begins)
        right = min(ends, self.ends)
        whole = self.ends - self.begins
        # What begins where the band ends is in the next one, as is a clock change there.
        if left > right or left >= self.ends or right < self.begins:
            return None
        # An interval that only touches the band has no part in it, an instant at its beginning has.
        if left == right and begins != ends:
            return None
        return (left - self.begins) / whole, (right - left) / whole

    def left(self, at: datetime) -> float:
        """Return where an instant lies, 0 outside of the band."""
        place = self.place(at, at)
        if place is None:
            return 0
        return place[0]


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
        seen = (fact.lane for fact in self.facts if band.place(fact.begins, fact.ends))
        # 0 is the first lane alone, which is always drawn.
        return max(seen, default=0)

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
    """Rows and bands; `policy` is the one that all rows are of, empty where they differ.

    `zone` is the axis's.
    """

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
        first = row.begins.astimezone(row.zone)
        # The end is the midnight after the last day, so a moment before it is asked for its date.
        last = (row.ends - timedelta.resolution).astimezone(row.zone)
        return f"{first:%Y-%m-%d} to {last:%Y-%m-%d}"

    @property
    def title(self) -> str:
        """Both in one line."""
        return f"{self.subject}, {self.days}"


def draw(every: Sequence[Calendar]) -> Picture:
    """Arrange calendars; the axis is in their time zone, or in UTC where they have several."""
    # A title says what all rows have in common, and each row the rest.
    policy = ""
    policies = {one.timetable.policy for one in every}
    if len(policies) == 1:
        policy = policies.pop()
    zone = zone_of("UTC")
    zones = {one.zone for one in every}
    if len(zones) == 1:
        zone = zones.pop()
    # In several zones days begin at several instants: the axis has them all.
    begins = min(one.begins for one in every)
    ends = max(one.ends for one in every)
    rows = [_row(group, same_policy=bool(policy)) for group in alike(every)]
    return Picture(policy, zone, tuple(rows), tuple(_bands(begins, ends, zone)))


def _row(group: Sequence[Calendar], *, same_policy: bool) -> Row:
    calendar = group[0]
    names: list[str] = []
    for one in group:
        name = one.name
        # The policy is in the title of a picture of one; a row then needs the cluster alone.
        if same_policy and one.timetable.cluster:
            name = one.timetable.cluster
        names.append(name)
    facts = sorted(_facts(calendar), key=lambda fact: (fact.begins, fact.lane))
    return Row(tuple(names), calendar.zone, calendar.begins, calendar.ends, tuple(facts))


def _facts(calendar: Calendar) -> Iterator[Fact]:
    """Yield what was open, then what was asked for, then the changes of the clock."""
    for segment in calendar.intervals:
        yield _open(calendar, segment)
    # Until when each lane below the first is taken; what overlaps lies in another.
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
    # `windows.working-week` is `working-week` on a bar; `state` is in no map.
    label = ", ".join(rule.partition(".")[2] or rule for rule in segment.rules)
    when = _when(calendar, segment.begins, segment.ends)
    words = f"open {when}, by {', '.join(segment.rules)}"
    return Fact("open", segment.begins, segment.ends, segment.rules, label, words)


def _exception(
    calendar: Calendar,
    found: exceptions.Span,
    lane: int,
) -> Fact:
    name = found.rule.key
    when = _when(calendar, found.begins, found.ends)
    return Fact(
        kind=found.kind,
        begins=found.begins,
        ends=found.ends,
        rules=(found.rule.name,),
        label=name,
        words=f"{KINDS[found.kind]} {name}, {when}: {found.rule.reason}",
        reason=found.rule.reason,
        lane=lane,
    )


def _when(calendar: Calendar, begins: datetime, ends: datetime) -> str:
    """Say from when to when; the rims of the calendar are no edges."""
    since, until = "from before", "after these days"
    if begins > calendar.begins:
        since = clock.shown(begins, calendar.zone)
    if ends < calendar.ends:
        until = clock.shown(ends, calendar.zone)
    return f"{since} to {until} ({span(ends - begins)})"


def _bands(
    begins: datetime,
    ends: datetime,
    zone: tzinfo,
) -> Iterator[Band]:
    first = begins.astimezone(zone).date()
    # The end is exclusive, so a moment before it is asked for its date.
    last = (ends - timedelta.resolution).astimezone(zone).date()
    if last - first < _ONE_BAND * _DAY:
        yield _band("", begins, ends, zone)
        return
    month = first.replace(day=1)
    while month <= last:
        # 31 days from the first of a month are always in the next one.
        following = (month + 31 * _DAY).replace(day=1)
        title = f"{month:%B %Y}"
        yield _band(title, _midnight(month, zone), _midnight(following, zone), zone)
        month = following


def _band(
    title: str,
    begins: datetime,
    ends: datetime,
    zone: tzinfo,
) -> Band:
    return Band(title, begins, ends, tuple(_ticks(begins, ends, zone)))


def _ticks(
    begins: datetime,
    ends: datetime,
    zone: tzinfo,
) -> Iterator[Tick]:
    """Yield every day that begins in an interval, in a short one every quarter.

    The last has words if there is room.
    """
    step = _DAY
    if ends - begins <= _HOURLY * _DAY:
        step = _QUARTER
    # On the wall clock: after a clock change the next day still begins at 00:00.
    wall = datetime.combine(begins.astimezone(zone).date(), time())
    at = wallclock.instant(wall, zone)
    while at < ends:
        if at >= begins:
            # Half of a step is about as wide as the words.
            has_room = ends - at >= step / 2
            yield _tick(wall, at, step, has_room=has_room)
        wall += step
        at = wallclock.instant(wall, zone)


def _tick(
    wall: datetime,
    at: datetime,
    step: timedelta,
    *,
    has_room: bool,
) -> Tick:
    """Return the tick at a wall-clock time; one without room for words is a line alone."""
    if step == _DAY:
        # Among days, Mondays stand out; among quarters, midnights.
        label = f"{wall:%d}"
        major = wall.weekday() == 0
    elif wall.time() == time():
        label = f"{wall:%a %d}"
        major = True
    else:
        label = f"{wall:%H:%M}"
        major = False
    weekday = f"{wall:%a}"
    if not has_room:
        label = weekday = ""
    return Tick(at.astimezone(UTC), label, weekday, major)


def _midnight(day: date, zone: tzinfo) -> datetime:
    return wallclock.instant(datetime.combine(day, time()), zone)
