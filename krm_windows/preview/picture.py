"""What a picture of calendars shows and where: rows of facts along weeks, for any writer to draw.

Each row is on its own wall clock, so that 08:00 is below 08:00 in every zone, and each day as wide
as any other; what clocks repeat has no width, and what they skip is empty. Each change is marked.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta, tzinfo
from itertools import chain
from zoneinfo import ZoneInfo

from krm_windows.checks.clock_changes import ClockChange
from krm_windows.preview import clock, exceptions
from krm_windows.preview.calendar import Calendar, alike, gates
from krm_windows.preview.clock import span
from krm_windows.preview.folding import fold, recurring
from krm_windows.schedule import wallclock
from krm_windows.schedule.timetable import Timetable
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
_DAY = timedelta(days=1)
_WEEK = 7
# So many dates are side by side: a week of 168 hours touches eight, and weeks in two zones nine.
_ONE_WEEK = 9
# Half a day of a week: on a narrower bar no hours can be read.
_SHORT = 1 / 14

Place = tuple[float, float]
"""Where something begins and how wide it is, in shares of the width of a week."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing in a row during the UTC interval [`begins`, `ends`), or what recurs in it.

    A clock change is an instant. `hours` are those of the clock in short. `length` is that of each
    time, and `often` says how often it recurs. `kind` is one of `KINDS`; lane 0 is what results,
    others what was asked for. `rules` are paths in the spec; `reason` is the user's, or what clocks
    do. What `goes_back` was so before these days, and what `goes_on` is so after them.
    """

    kind: str
    begins: datetime
    ends: datetime
    label: str
    hours: tuple[str, str] = ("", "")
    rules: tuple[str, ...] = ()
    length: timedelta = timedelta()
    often: str = ""
    reason: str = ""
    lane: int = 0
    goes_back: bool = False
    goes_on: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """All calendars that are alike: their names, and the facts of each, by their beginning.

    `gated` says what is gated, by names where they differ. `descriptions` are paths of windows with
    what is written there about them.
    """

    names: tuple[str, ...]
    zone: ZoneInfo
    begins: datetime
    ends: datetime
    facts: tuple[Fact, ...]
    gated: tuple[str, ...]
    descriptions: tuple[tuple[str, str], ...]

    @property
    def days(self) -> tuple[date, date]:
        """The first day and the last."""
        return self.begins.astimezone(self.zone).date(), clock.last_day(self.ends, self.zone)

    def words(self, fact: Fact) -> str:
        """Say a fact: from when to when, as far as that is within these days."""
        if fact.kind == "clock":
            return fact.reason
        since = "from before" if fact.goes_back else clock.shown(fact.begins, self.zone)
        until = "after these days" if fact.goes_on else clock.shown(fact.ends, self.zone)
        said = f"{KINDS[fact.kind]} {since} to {until} ({span(fact.length)}{fact.often})"
        reason = f": {fact.reason}" if fact.reason else ""
        return f"{said}, by {', '.join(fact.rules)}{reason}"

    @property
    def title(self) -> str:
        """The names, or how many there are and the first: `841 like site-0001`."""
        if len(self.names) > _FEW:
            return f"{len(self.names)} like {self.names[0]}"
        return ", ".join(self.names)


@dataclass(frozen=True, slots=True)
class Tick:
    """A day of a week, and where it is."""

    day: date
    place: Place


@dataclass(frozen=True, slots=True)
class Week:
    """The days from `first` to `last` side by side, on any clock; there is room for `length`."""

    first: date
    last: date
    length: int

    @property
    def rims(self) -> tuple[datetime, datetime]:
        """Between which it is, on the clock."""
        begins = datetime.combine(self.first, time())
        return begins, begins + self.length * _DAY

    @property
    def days(self) -> str:
        """The first and the last day: `Mon 2026-12-14 to Sun 2026-12-20`."""
        if self.first == self.last:
            return f"{self.first:%a %Y-%m-%d}"
        return f"{self.first:%a %Y-%m-%d} to {self.last:%a %Y-%m-%d}"

    def place(self, begins: datetime, ends: datetime) -> Place | None:
        """Return where an interval of the clock, or an instant, is; None outside of the week."""
        first, behind = self.rims
        left, right = max(begins, first), min(ends, behind)
        # What only touches a rim is in the other week; an instant is in that which it begins.
        if left > right or left == behind or (left == right and begins != ends):
            return None
        whole = behind - first
        return (left - first) / whole, (right - left) / whole

    def ticks(self) -> Iterator[Tick]:
        """Yield the days."""
        for number in range((self.last - self.first).days + 1):
            yield Tick(self.first + number * _DAY, (number / self.length, 1 / self.length))


@dataclass(frozen=True, slots=True)
class Bar:
    """A fact in a week; `number` is its place among those of the row.

    `room` is for its words, where they are not at its left: between one that is too short and what
    is next to it, or behind what marks now.
    """

    fact: Fact
    number: int
    place: Place
    room: Place | None = None


@dataclass(frozen=True, slots=True)
class Track:
    """A row in a week: its bars in the order of time, and `outside`, where its days are not.

    `lanes` are those below the first; `now` is where the instant that is marked is, if it is here.
    """

    row: Row
    bars: tuple[Bar, ...]
    lanes: int
    outside: tuple[Place, ...]
    now: float | None


@dataclass(frozen=True, slots=True)
class Picture:
    """Rows and the weeks to draw; `policy` is that of all rows, empty where they differ.

    `zone` is the rows', UTC where they have several. `now` is an instant that is marked, if it is
    among the days.
    """

    policy: str
    zone: ZoneInfo
    rows: tuple[Row, ...]
    now: datetime | None = None

    @property
    def several_zones(self) -> bool:
        """Whether each row has to say its zone."""
        return len({row.zone for row in self.rows}) > 1

    @property
    def subject(self) -> str:
        """What the picture is about."""
        return self.policy or "Reconciliation windows"

    @property
    def days(self) -> str:
        """The first and the last day, on the clocks of the first row."""
        return clock.days(*self.rows[0].days)

    @property
    def clocks(self) -> str:
        """Whose clocks the hours are of, in a sentence."""
        if self.several_zones:
            return "Each row is in its own time zone."
        return f"Days and hours are in {self.zone.key}."

    @property
    def kinds(self) -> set[str]:
        """Those of `KINDS` that are in any row."""
        found: set[str] = set()
        for row in self.rows:
            found.update(fact.kind for fact in row.facts)
        return found

    @property
    def today(self) -> set[date]:
        """The date of `now` in each zone, if it is among the days."""
        return {self.now.astimezone(row.zone).date() for row in self.rows if self.now is not None}

    def weeks(self) -> Iterator[tuple[str, Week]]:
        """Yield the weeks, each with its month where it is another than before, else with none.

        They begin with the weekday of the first day, so that seven days from any are one.
        """
        first = min(row.days[0] for row in self.rows)
        last = max(row.days[1] for row in self.rows)
        length = (last - first).days + 1
        if length > _ONE_WEEK:
            length = _WEEK
        before = ""
        for number in range(first.toordinal(), last.toordinal() + 1, length):
            begins = date.fromordinal(number)
            month = f"{begins:%B %Y}"
            # As long as the others even where the days end: all have one scale.
            ends = min(begins + (length - 1) * _DAY, last)
            yield "" if month == before else month, Week(begins, ends, length)
            before = month

    def tracks(self, week: Week) -> Iterator[Track]:
        """Yield every row as it is drawn in a week."""
        return (self.track(week, number) for number in range(len(self.rows)))

    def track(self, week: Week, number: int) -> Track:
        """Return a row as it is drawn in a week."""
        row, (first, behind) = self.rows[number], week.rims
        begins, ends = _shown(row.begins, row.ends, row.zone)
        bars: list[Bar] = []
        for place_in_row, fact in enumerate(row.facts):
            # A freeze may go on where nothing is known of windows.
            shown = _shown(fact.begins, fact.ends, row.zone)
            place = week.place(max(shown[0], begins), min(shown[1], ends))
            if place is not None:
                bars.append(Bar(fact, place_in_row, place))
        # The row's own days begin at its own midnight, the week has those of all rows.
        rims = [week.place(*rim) for rim in ((first, begins), (ends, behind)) if rim[0] < rim[1]]
        now = None
        if self.now is not None and row.begins <= self.now < row.ends:
            now = week.place(*_shown(self.now, self.now, row.zone))
        return Track(
            row=row,
            bars=tuple(_with_room(bars, now[0] if now else -1))[::-1],
            lanes=max((bar.fact.lane for bar in bars), default=0),
            outside=tuple(filter(None, rims)),
            now=now and now[0],
        )


def _with_room(bars: Sequence[Bar], now: float) -> Iterator[Bar]:
    # Where the next bar of each lane begins.
    rims: dict[int, float] = {}
    for bar in reversed(bars):
        left, width = bar.place
        begins, rim = left + width, rims.get(bar.fact.lane, 1)
        if width >= _SHORT:
            begins, rim = left, begins
        # Words that now would strike through are behind it.
        if begins <= now < begins + 2 * _SHORT:
            begins = now
        has_room = bar.fact.kind != "clock" and left < begins < rim
        yield replace(bar, room=(begins, rim - begins)) if has_room else bar
        rims[bar.fact.lane] = left


def _shown(begins: datetime, ends: datetime, zone: tzinfo) -> tuple[datetime, datetime]:
    # By the clock that never runs backwards: what ends in a repeated hour does not end before it
    # begins.
    return wallclock.wall(begins, zone), wallclock.wall(ends, zone)


def draw(every: Sequence[Calendar], now: datetime | None = None) -> Picture:
    """Arrange calendars in rows, one for all that are alike."""
    # A title says what all rows have in common, and each row the rest.
    policies = {one.timetable.policy for one in every}
    policy = policies.pop() if len(policies) == 1 else ""
    zones = {one.zone for one in every}
    zone = zones.pop() if len(zones) == 1 else zone_of("UTC")
    if now is not None and not any(one.begins <= now < one.ends for one in every):
        now = None
    rows = tuple(_row(group, same_policy=bool(policy)) for group in alike(every))
    return Picture(policy, zone, rows, now)


def _row(group: Sequence[Calendar], *, same_policy: bool) -> Row:
    calendar = group[0]
    # The policy is in the title of a picture of one; a row then needs the cluster alone.
    names = [(same_policy and one.timetable.cluster) or one.name for one in group]
    return Row(
        names=tuple(names),
        zone=calendar.zone,
        begins=calendar.begins,
        ends=calendar.ends,
        facts=tuple(sorted(_facts(calendar), key=lambda fact: (fact.begins, fact.lane))),
        gated=tuple(gates(names, group)),
        descriptions=tuple(dict.fromkeys(chain.from_iterable(one.descriptions for one in group))),
    )


def _facts(calendar: Calendar) -> Iterator[Fact]:
    """Yield what was open, then what was asked for, then the changes of the clock."""
    for run in fold(calendar.intervals):
        names = [_label(calendar.timetable, rule) for rule in run.first.rules]
        clocks = (each.astimezone(calendar.zone) for each in (run.first.begins, run.last.ends))
        yield Fact(
            kind="often" if run.is_folded else "open",
            begins=run.first.begins,
            ends=run.last.ends,
            label=", ".join(names) + recurring(run),
            hours=clock.edges(*clocks),
            rules=run.first.rules,
            length=run.first.ends - run.first.begins,
            often=recurring(run),
            goes_back=run.first.begins <= calendar.begins and calendar.is_open_before,
            goes_on=run.last.ends >= calendar.ends and calendar.is_open_after,
        )
    # Until when each lane below the first is taken; what overlaps is in another.
    lanes: list[datetime] = []
    for found in exceptions.spans(calendar.timetable, calendar.begins, calendar.ends):
        free = (i for i, until in enumerate(lanes) if until <= found.begins)
        lane = next(free, len(lanes))
        # Past the end of the list a slice appends: one lane more.
        lanes[lane : lane + 1] = [found.ends]
        yield Fact(
            kind=found.kind,
            begins=found.begins,
            ends=found.ends,
            label=_label(calendar.timetable, found.rule.name),
            rules=(found.rule.name,),
            length=found.ends - found.begins,
            reason=found.rule.reason,
            lane=lane + 1,
            goes_back=found.begins <= calendar.begins - exceptions.FAR,
            goes_on=found.ends >= calendar.ends + exceptions.FAR,
        )
    for change in clock.changes(calendar.zone, calendar.begins, calendar.ends):
        words = clock.words(change, calendar.zone)
        yield Fact("clock", change.at, change.at, _shift(change), reason=words)


def _label(timetable: Timetable, rule: str) -> str:
    """Return a rule as it is on a bar: `windows.night` is `night`; of an override, it is why."""
    reason = timetable.reasons.get(rule)
    # Its name was most often made of the moment.
    if rule.startswith("overrides.") and reason:
        return f"Override: {reason}"
    # `state` is in no map.
    return rule.partition(".")[2] or rule


def _shift(change: ClockChange) -> str:
    """Return by how much clocks go, as it is written on a picture: `+1 h`."""
    # `:g` leaves out a fraction of zero: Lord Howe Island goes by half an hour, `+0.5 h`.
    hours = (change.after - change.before) / timedelta(hours=1)
    return f"{hours:+g} h".replace("-", "\N{MINUS SIGN}")
