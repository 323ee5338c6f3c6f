"""The one evaluator: when a policy is open, by which rule, since when and until when."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from enum import Enum, auto
from functools import cached_property

from krm_windows.gate import bits, coverage
from krm_windows.gate.coverage import NEVER
from krm_windows.gate.recurrence import Recurrence
from krm_windows.gate.timetable import Rule, Timetable
from krm_windows.gate.wallclock import Piece, pieces

_MINUTE = timedelta(minutes=1)
_FAR = timedelta(days=400)


@dataclass(frozen=True)
class Decision:
    """What holds at an instant, and by which rules.

    `since` and `until` are UTC, None if they are 400 days away or more.
    """

    open: bool
    rules: tuple[str, ...]
    reason: str
    since: datetime | None
    until: datetime | None


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
        self._last: tuple[int, Decision] | None = None

    def decide(self, at: datetime) -> Decision:
        """Say whether the timetable is open at the aware instant `at`; within a minute it lasts.

        Raises `ValueError` for a naive one.
        """
        if at.tzinfo is None:
            raise ValueError(f"{at.isoformat()} is no instant: it has no offset from UTC")
        now = coverage.minute(at)
        # Read once, and not again: another thread may set it for another minute meanwhile.
        last = self._last
        if last is None or last[0] != now:
            last = now, self._decide(now)
            self._last = last
        return last[1]

    def _decide(self, now: int) -> Decision:
        if self._timetable.state != "Scheduled":
            return Decision(self._timetable.state == "Open", ("state",), "state", None, None)
        day = now // bits.DAY
        now_alone = 1 << now % bits.DAY
        rules = self._days.deciding(day, now_alone)
        return Decision(
            open=self._days.open(day) & now_alone != 0,
            rules=rules,
            reason=self._reason(rules),
            since=self._days.since(now),
            until=self._days.until(now),
        )

    def _reason(self, rules: tuple[str, ...]) -> str:
        """Say by which rules, and why each is there, if it says so."""
        if not rules:
            return "no window is open"
        held = self._timetable
        reasons = {}
        for rule in (*held.overrides, *held.freezes, *held.windows):
            if rule.reason:
                reasons[rule.name] = f"{rule.name}: {rule.reason}"
        return "; ".join(reasons.get(name, name) for name in rules)


class Rank(Enum):
    """The ranks of rules, the strongest first.

    Where a rule of one rank is in force, those of the ranks below have no say.
    """

    CLOSING_OVERRIDES = auto()
    OPENING_OVERRIDES = auto()
    FREEZES = auto()
    WINDOWS = auto()


_OPENING = (Rank.OPENING_OVERRIDES, Rank.WINDOWS)


def _ranked(timetable: Timetable) -> Iterator[tuple[Rank, tuple[Rule, ...]]]:
    """Give the rules of each rank, the strongest rank first."""
    overrides = timetable.overrides
    yield Rank.CLOSING_OVERRIDES, tuple(rule for rule in overrides if rule.state != "Open")
    yield Rank.OPENING_OVERRIDES, tuple(rule for rule in overrides if rule.state == "Open")
    yield Rank.FREEZES, timetable.freezes
    yield Rank.WINDOWS, timetable.windows


class _Ranked:
    """The rules of one rank, and what they cover of the days that were asked for."""

    def __init__(
        self,
        rank: Rank,
        rules: tuple[Rule, ...],
        tz: tzinfo,
    ) -> None:
        self.rank = rank
        self.opens = rank in _OPENING
        self._tz = tz
        self._recurring = [rule for rule in rules if isinstance(rule.begins, Recurrence)]
        self._once = [rule for rule in rules if not isinstance(rule.begins, Recurrence)]
        self._years: dict[int, coverage.Years] = {}
        self._walls: dict[int, int] = {}
        self._days: dict[int, int] = {}

    @cached_property
    def _intervals(self) -> list[tuple[int, int]]:
        return [coverage.interval(rule, self._tz) for rule in self._once]

    @cached_property
    def _dated(self) -> coverage.Dated:
        return coverage.Dated.of(self._intervals)

    def on_day(self, day: int) -> int:
        """Return the minutes of a UTC day that are covered, as bits."""
        if day not in self._days:
            covered = self._dated.on_day(day)
            if self._recurring and covered != bits.FULL:
                for piece in pieces(day, self._tz):
                    covered |= piece.in_utc(self._on_wall_day)
            self._days[day] = covered
        return self._days[day]

    def named(self, day: int) -> list[tuple[int, str]]:
        """Return the minutes of a UTC day that each rule covers alone, with its name.

        Only of those that cover any.
        """
        found = []
        for interval, rule in zip(self._intervals, self._once, strict=True):
            found.append((coverage.of_interval(interval, day), rule.name))
        if not self._recurring:
            return found
        parts = pieces(day, self._tz)
        for number, on_wall_days in self._by_rule(parts).items():
            covered = 0
            for piece in parts:
                covered |= piece.in_utc(on_wall_days.__getitem__)
            found.append((covered, self._recurring[number].name))
        return found

    def _by_rule(self, parts: tuple[Piece, ...]) -> dict[int, dict[int, int]]:
        """Return what each rule that recurs covers of the wall-clock days shown by some pieces."""
        first, last = parts[0], parts[-1]
        days = range(first.shown // bits.DAY, (last.shown + last.minutes) // bits.DAY + 1)
        found: dict[int, dict[int, int]] = {}
        for day in days:
            for number, minutes in self._around(day).of_rules(day).items():
                found.setdefault(number, dict.fromkeys(days, 0))[day] = minutes
        return found

    def _on_wall_day(self, day: int) -> int:
        if day not in self._walls:
            self._walls[day] = self._around(day).on_day(day)
        return self._walls[day]

    def _around(self, day: int) -> coverage.Years:
        number = coverage.Years.number(day)
        if number not in self._years:
            self._years[number] = coverage.Years(self._recurring, number)
        return self._years[number]


class Days:
    """The UTC days of a timetable, each worked out when it is asked for.

    The minutes of a day are `bits`; a day is the ordinal of a date.
    """

    def __init__(self, timetable: Timetable, tz: tzinfo) -> None:
        self._ranks = [_Ranked(rank, rules, tz) for rank, rules in _ranked(timetable) if rules]
        self._state = timetable.state
        self._open_outside = timetable.outside_windows == "Open"
        # Rounded up: what is no whole minute closes a little earlier.
        self._early = -(-timetable.closes_early // _MINUTE)
        self._by_rules: dict[int, tuple[int, int]] = {}
        self._open: dict[int, int] = {}
        self._decisive_on: dict[int, list[tuple[int, str]]] = {}
        self._clear = range(0)

    def open(self, day: int) -> int:
        """Return when it is open."""
        if self._state != "Scheduled":
            return bits.FULL if self._state == "Open" else 0
        if day not in self._open:
            opened, overridden = self.by_rules(day)
            if self._early:
                opened = self._shortened(day, opened) | overridden
            self._open[day] = opened
        return self._open[day]

    def by_rules(self, day: int) -> tuple[int, int]:
        """Return when rules open, `closesEarly` left out, and when overrides alone do."""
        if day not in self._by_rules:
            self._by_rules[day] = self._ruled(day)
        return self._by_rules[day]

    def _ruled(self, day: int) -> tuple[int, int]:
        """Give each minute to the first rank that is in force in it."""
        left = bits.FULL
        opened = overridden = 0
        for ranked in self._ranks:
            if not left:
                break
            covered = ranked.on_day(day) & left
            left &= ~covered
            if ranked.opens:
                opened |= covered
            if ranked.rank is Rank.OPENING_OVERRIDES:
                overridden = covered
        if self._open_outside:
            opened |= left
        return opened, overridden

    def deciding(self, day: int, part: int) -> tuple[str, ...]:
        """Name what decides in a part of a day, first what does so first.

        The part, as bits, is open or closed throughout.
        """
        if self._state != "Scheduled":
            return ("state",)
        found = []
        for minutes, name in self._decisive(day):
            if minutes & part:
                found.append((bits.first(minutes & part), name))
        return tuple(dict.fromkeys(name for _, name in sorted(found)))

    def _decisive(self, day: int) -> list[tuple[int, str]]:
        """Return the minutes of a day in which each rule decides, with its name."""
        if day not in self._decisive_on:
            self._decisive_on[day] = [each for each in self._deciders(day) if each[0]]
        return self._decisive_on[day]

    def _deciders(self, day: int) -> Iterator[tuple[int, str]]:
        """Yield what decides, alone or with others of its rank; some for no minute at all."""
        opened, _ = self.by_rules(day)
        early = opened & ~self.open(day)
        yield early, "closesEarly"
        left = bits.FULL & ~early
        for ranked in self._ranks:
            decided = left & ranked.on_day(day)
            if decided:
                for minutes, name in ranked.named(day):
                    yield minutes & decided, name
                left &= ~decided
        yield left & opened, "outsideWindows"

    def since(self, now: int) -> datetime | None:
        """Find the last change up to a UTC minute."""
        today = now // bits.DAY
        held = self._held(now)
        for day in range(today, today - _FAR.days - 2, -1):
            other = self.open(day) ^ held
            if day == today:
                other &= bits.below(now % bits.DAY)
            if other:
                return _instant(day * bits.DAY + bits.last(other) + 1, now)
        return None

    def until(self, now: int) -> datetime | None:
        """Find the first change after a UTC minute."""
        today = now // bits.DAY
        held = self._held(now)
        for day in range(today, today + _FAR.days + 2):
            other = self.open(day) ^ held
            if day == today:
                other &= ~bits.below(now % bits.DAY)
            if other:
                return _instant(day * bits.DAY + bits.first(other), now)
        return None

    def _held(self, now: int) -> int:
        """Return a day that is throughout what it is at a UTC minute."""
        is_open = self.open(now // bits.DAY) >> now % bits.DAY & 1
        return bits.FULL if is_open else 0

    def _shortened(self, day: int, opened: int) -> int:
        """Close early: open is only what stays so for all of the margin, and a minute more."""
        # What is closed on this day, with the margin before it; and what is closed on a later one.
        closing = bits.leading(bits.FULL & ~opened, min(self._early, bits.DAY) + 1)
        later = self._next_closed(day + 1) - day * bits.DAY - self._early
        return opened & bits.below(min(later, bits.DAY)) & ~closing

    def _next_closed(self, day: int) -> int:
        """Find the first minute from a midnight on that rules close, within the margin.

        Days that were open throughout when it was last asked are passed over.
        """
        each = day
        last = day + self._early // bits.DAY + 1
        closed = 0
        while each <= last:
            if each in self._clear:
                each = self._clear.stop
                continue
            closed = bits.FULL & ~self.by_rules(each)[0]
            if closed:
                break
            each += 1
        self._clear = range(day, each)
        if each > last:
            return NEVER
        return each * bits.DAY + bits.first(closed)


def _instant(minute: int, now: int) -> datetime | None:
    """Give the instant of a UTC minute; None if it is far from `now`, or has no date."""
    if abs(minute - now) >= _FAR // _MINUTE:
        return None
    day, of_day = divmod(minute, bits.DAY)
    if not date.min.toordinal() <= day <= date.max.toordinal():
        return None
    at = time(of_day // 60, of_day % 60, tzinfo=UTC)
    return datetime.combine(date.fromordinal(day), at)
