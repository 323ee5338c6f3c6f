"""The one evaluator: when a policy is open, by which rule, since when and until when."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from enum import Enum, auto
from functools import cached_property

from krm_windows.gate import bits, coverage
from krm_windows.gate.annotations import Cause
from krm_windows.gate.bits import DAY, FIRST_DAY, FULL, LAST_DAY
from krm_windows.gate.coverage import NEVER
from krm_windows.gate.recurrence import Recurrence
from krm_windows.gate.timetable import Rule, Timetable
from krm_windows.gate.wallclock import Piece, pieces
from krm_windows.gate.zones import Zone

_MINUTE = timedelta(minutes=1)
_FAR = timedelta(days=400)  # how far a change is searched for, either way
_FAR_MINUTES = _FAR // _MINUTE
_SEARCHED_DAYS = _FAR.days + 2  # the first and the last of them in part


@dataclass(frozen=True)
class Decision:
    """What holds at an instant, and by which rules.

    `since` and `until` are UTC, None if they are 400 days away or more. `cause`: what else than the
    calendar keeps closed, None if nothing does.
    """

    open: bool
    rules: tuple[str, ...]
    reason: str
    since: datetime | None
    until: datetime | None
    cause: Cause | None = None


def decide(timetable: Timetable, at: datetime) -> Decision:
    """Say whether `timetable` is open at the aware instant `at`.

    Raises `LookupError` without the rules of its zone.
    """
    return Decider(timetable).decide(at)


class Decider:
    """A timetable, prepared once to be asked many times; days that were worked out are kept."""

    def __init__(self, timetable: Timetable) -> None:
        """Prepare a timetable; raise `LookupError` without the rules of its zone."""
        self._timetable = timetable
        self._days = Days(timetable, timetable.zone)
        # A minute and its decision: each target asks again, immediately before it is written.
        self._last: tuple[int, Decision] | None = None

    def decide(self, at: datetime) -> Decision:
        """Say whether the timetable is open at the aware instant `at`; within a minute it lasts.

        Raises `ValueError` for a naive one.
        """
        if at.tzinfo is None:
            raise ValueError(f"{at.isoformat()} is not an instant: it has no UTC offset")
        now = coverage.minute(at)
        # Read once, and not again: another thread may set it for another minute meanwhile.
        last = self._last
        if last is None or last[0] != now:
            last = now, self._decide(now)
            self._last = last
        return last[1]

    def _decide(self, now: int) -> Decision:
        state = self._timetable.state
        if state != "Scheduled":
            return Decision(state == "Open", ("state",), "state", since=None, until=None)
        day, of_day = divmod(now, DAY)
        now_alone = 1 << of_day  # the set of this minute
        rules = self._days.deciding(day, now_alone)
        is_open = self._days.open(day) & now_alone != 0
        return Decision(
            open=is_open,
            rules=rules,
            reason=self._reason(rules),
            since=self._days.since(now),
            until=self._days.until(now),
        )

    def _reason(self, rules: tuple[str, ...]) -> str:
        """Say by which rules, and why each is there, if it says so."""
        if not rules:
            return "no window is open"
        timetable = self._timetable
        reasons = {}
        for rule in (*timetable.overrides, *timetable.freezes, *timetable.windows):
            if rule.reason:
                reasons[rule.name] = f"{rule.name}: {rule.reason}"
        named = [reasons.get(name, name) for name in rules]
        return "; ".join(named)


class Rank(Enum):
    """The ranks of rules, the strongest first.

    Where a rule of one rank is in force, those of the ranks below have no say.
    """

    CLOSING_OVERRIDES = auto()
    OPENING_OVERRIDES = auto()
    FREEZES = auto()
    WINDOWS = auto()

    @property
    def opens(self) -> bool:
        """Whether its rules open what they cover; else they close it."""
        return self in (Rank.OPENING_OVERRIDES, Rank.WINDOWS)


def _ranked(timetable: Timetable) -> Iterator[tuple[Rank, tuple[Rule, ...]]]:
    """Give the rules of each rank, the strongest rank first."""
    opening = []
    closing = []
    for rule in timetable.overrides:
        if rule.state == "Open":
            opening.append(rule)
        else:
            closing.append(rule)
    # Two overrides that contradict each other close, as doubt always does here.
    yield Rank.CLOSING_OVERRIDES, tuple(closing)
    yield Rank.OPENING_OVERRIDES, tuple(opening)
    yield Rank.FREEZES, timetable.freezes
    yield Rank.WINDOWS, timetable.windows


class _RulesOfRank:
    """The rules of one rank, and what they cover of the days that were asked for."""

    def __init__(
        self,
        rank: Rank,
        rules: tuple[Rule, ...],
        tz: Zone,
    ) -> None:
        self.rank = rank
        self._tz = tz
        self._recurring: list[Rule] = []
        self._once: list[Rule] = []
        for rule in rules:
            if isinstance(rule.begins, Recurrence):
                self._recurring.append(rule)
            else:
                self._once.append(rule)
        # What was worked out, of years and of wall-clock days.
        self._years: list[coverage.Years] = []
        self._walls: dict[int, int] = {}

    # Only when a day is asked for: `state: Open` decides without them.
    @cached_property
    def _intervals(self) -> list[tuple[int, int]]:
        return [coverage.interval(rule, self._tz) for rule in self._once]

    @cached_property
    def _dated(self) -> coverage.Dated:
        return coverage.Dated.of(self._intervals)

    def on_day(self, day: int) -> int:
        """Return the minutes of a UTC day that are covered, as bits."""
        covered = self._dated.on_day(day)
        if not self._recurring or covered == FULL:
            return covered
        for piece in pieces(day, self._tz):
            covered |= piece.in_utc(self._on_wall_day)
        return covered

    def by_rule(self, day: int) -> Iterator[tuple[int, Rule]]:
        """Yield the minutes of a UTC day that each rule covers alone; some rules cover none."""
        for interval, rule in zip(self._intervals, self._once, strict=True):
            yield coverage.of_interval(interval, day), rule
        if not self._recurring:
            return
        cut = pieces(day, self._tz)
        for number, on_wall_days in self._recurring_by_rule(cut).items():
            covered = 0
            for piece in cut:
                covered |= piece.in_utc(on_wall_days.__getitem__)
            yield covered, self._recurring[number]

    def _recurring_by_rule(self, cut: tuple[Piece, ...]) -> dict[int, dict[int, int]]:
        """Return what each rule that recurs covers of the wall-clock days that a UTC day shows."""
        first = cut[0].shown // DAY
        last = (cut[-1].shown + cut[-1].minutes) // DAY
        days = range(first, last + 1)
        found: dict[int, dict[int, int]] = {}
        for day in days:  # one or two, three at most
            of_rules = self._around(day).of_rules(day)
            for number, minutes in of_rules.items():
                on_days = found.setdefault(number, dict.fromkeys(days, 0))
                on_days[day] = minutes
        return found

    def _on_wall_day(self, day: int) -> int:
        if day not in self._walls:
            self._walls[day] = self._around(day).on_day(day)
        return self._walls[day]

    def _around(self, day: int) -> coverage.Years:
        known = min(max(day, FIRST_DAY), LAST_DAY)
        for years in self._years:
            if known in years.days:
                return years
        years = coverage.Years(self._recurring, date.fromordinal(known).year)
        self._years.append(years)
        return years


class Days:
    """The UTC days of a timetable, each worked out when it is asked for.

    The minutes of a day are `bits`; a day is the ordinal of a date.
    """

    def __init__(self, timetable: Timetable, tz: Zone) -> None:
        self._ranks = [_RulesOfRank(rank, rules, tz) for rank, rules in _ranked(timetable) if rules]
        self._state = timetable.state
        self._open_outside = timetable.outside_windows == "Open"
        # In minutes, rounded up: what is no whole minute closes a little earlier.
        self._early = -(-timetable.closes_early // _MINUTE)
        # What was worked out of days, and those found open throughout by `_next_closed`.
        self._by_rules: dict[int, tuple[int, int]] = {}
        self._open: dict[int, int] = {}
        self._decisive_on: dict[int, list[tuple[int, str]]] = {}
        self._clear = range(0)

    def open(self, day: int) -> int:
        """Return the minutes of a UTC day at which it is open, as bits."""
        if self._state == "Open":
            return FULL
        if self._state != "Scheduled":
            return 0
        if day not in self._open:
            opened, overridden = self._opened_by_rules(day)
            # An override is not shortened: it says itself until when.
            if self._early:
                opened = self._shortened(day, opened) | overridden
            self._open[day] = opened
        return self._open[day]

    def _opened_by_rules(self, day: int) -> tuple[int, int]:
        """Return when on a UTC day rules open, `closesEarly` left out; and when overrides alone do.

        Both in minutes, as bits.
        """
        if day in self._by_rules:
            return self._by_rules[day]
        left = FULL  # each minute is that of the first rank that is in force in it
        opened = 0
        overridden = 0
        for rules in self._ranks:
            if not left:
                break  # the ranks below have no say on this day
            covered = rules.on_day(day) & left
            left &= ~covered
            if rules.rank.opens:
                opened |= covered
            if rules.rank is Rank.OPENING_OVERRIDES:
                overridden = covered
        if self._open_outside:
            opened |= left
        self._by_rules[day] = opened, overridden
        return opened, overridden

    def deciding(self, day: int, part: int) -> tuple[str, ...]:
        """Name what decides in a `part` of a UTC day, such as `windows.week`, in order of time.

        The part, minutes as bits, is open or closed throughout.
        """
        if self._state != "Scheduled":
            return ("state",)
        found = []
        for minutes, name in self._decisive(day):
            decided = minutes & part
            if decided:  # by when it first decides
                found.append((bits.first(decided), name))
        # Of rules that begin in the same minute, by name; each once.
        in_order = dict.fromkeys(name for _, name in sorted(found))
        return tuple(in_order)

    def _decisive(self, day: int) -> list[tuple[int, str]]:
        """Return the minutes of a day in which each rule decides, with its name."""
        if day not in self._decisive_on:
            self._decisive_on[day] = [each for each in self._deciders(day) if each[0]]
        return self._decisive_on[day]

    def _deciders(self, day: int) -> Iterator[tuple[int, str]]:
        """Yield what decides, alone or with others of its rank; some for no minute at all."""
        opened, _ = self._opened_by_rules(day)
        early = opened & ~self.open(day)  # what rules open, but not for the margin
        yield early, "closesEarly"
        left = FULL & ~early
        for rules in self._ranks:
            decided = left & rules.on_day(day)
            if decided:  # by one or several of this rank
                for minutes, rule in rules.by_rule(day):
                    if minutes & decided:  # only then its name is made
                        yield minutes & decided, rule.name
                left &= ~decided
        yield left & opened, "outsideWindows"

    def since(self, now: int) -> datetime | None:
        """Find the last change up to a UTC minute, numbered as by `coverage.minute`.

        The instant is in UTC, None where it is 400 days away or more.
        """
        for day, other in self._otherwise(now, -1):
            before = other & bits.below(now - day * DAY)  # what is later today does not count
            if before:
                changed = day * DAY + bits.last(before) + 1
                return _instant(changed, now)
        return None

    def until(self, now: int) -> datetime | None:
        """Find the first change after a UTC minute; both are as those of `since`."""
        for day, other in self._otherwise(now, 1):
            after = other & ~bits.below(now - day * DAY)  # what is over does not count
            if after:
                changes = day * DAY + bits.first(after)
                return _instant(changes, now)
        return None

    def _otherwise(self, now: int, step: int) -> Iterator[tuple[int, int]]:
        """Yield the days from a UTC minute's on, with the minutes that are otherwise than it."""
        today, of_day = divmod(now, DAY)
        is_open = (self.open(today) >> of_day) & 1
        for day in range(today, today + step * _SEARCHED_DAYS, step):
            other = self.open(day)
            if is_open:
                other ^= FULL
            if other:
                yield day, other

    def _shortened(self, day: int, opened: int) -> int:
        """Close early: open is only what stays so for all of the margin, and a minute more.

        What is open of a UTC day, before and after, in minutes as bits.
        """
        # What is closed on this day, with the margin before it; and what is closed on a later one.
        margin = min(self._early, DAY)
        closing = bits.leading(FULL & ~opened, margin + 1)
        closes_later = self._next_closed(day + 1) - day * DAY
        still_open = bits.below(min(closes_later - self._early, DAY))
        return opened & still_open & ~closing

    def _next_closed(self, day: int) -> int:
        """Find the first UTC minute that rules close, from a day on, within the margin; or `NEVER`.

        Days that were open throughout when it was last asked are passed over.
        """
        last = day + self._early // DAY
        # Read once, and not again: another thread may set it for other days meanwhile.
        clear = self._clear
        each = day
        closed = 0
        while each <= last:
            if each in clear:  # days are asked for in order, mostly
                each = clear.stop
                continue
            opened, _ = self._opened_by_rules(each)
            closed = FULL & ~opened
            if closed:
                break
            each += 1
        self._clear = range(day, each)
        if each > last:
            return NEVER
        return each * DAY + bits.first(closed)


def _instant(minute: int, now: int) -> datetime | None:
    """Give the instant of a UTC minute; None if it is far from `now`, or has no date."""
    if abs(minute - now) >= _FAR_MINUTES:
        return None
    day, of_day = divmod(minute, DAY)
    if not FIRST_DAY <= day <= LAST_DAY:
        return None
    return bits.moment(day, of_day).replace(tzinfo=UTC)
