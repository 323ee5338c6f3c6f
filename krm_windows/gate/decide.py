"""The one evaluator: when a policy is open, by which rule, since when and until when."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from functools import cached_property

from krm_windows.gate import bits, coverage
from krm_windows.gate.coverage import NEVER
from krm_windows.gate.recurrence import Recurrence
from krm_windows.gate.timetable import Rule, Timetable
from krm_windows.gate.wallclock import pieces

_MINUTE = timedelta(minutes=1)
_FAR = timedelta(days=400)


@dataclass(frozen=True)
class Decision:
    """What holds at an instant, by which rules; `since` and `until` are UTC, None if over 400 days away."""

    open: bool
    rules: tuple[str, ...]
    reason: str
    since: datetime | None
    until: datetime | None


def decide(timetable: Timetable, at: datetime) -> Decision:
    """Say whether `timetable` is open at the aware instant `at`; raise `LookupError` without the rules of its zone."""
    return Decider(timetable).decide(at)


class Decider:
    """A timetable, prepared once to be asked many times; days that were worked out are kept."""

    def __init__(self, timetable: Timetable) -> None:
        """Prepare a timetable; raise `LookupError` without the rules of its zone."""
        self._timetable = timetable
        self._days = Days(timetable, timetable.zone)
        self._last: tuple[int, Decision] | None = None

    def decide(self, at: datetime) -> Decision:
        """Say whether the timetable is open at the aware instant `at`: within a minute nothing changes.

        Raises `ValueError` for a naive one.
        """
        if at.tzinfo is None:
            raise ValueError(f"{at.isoformat()} is no instant: it has no offset from UTC")
        now, last = coverage.minute(at), self._last
        if last is None or last[0] != now:
            last = self._last = now, self._decide(now)
        return last[1]  # never `self._last`, which another thread may have set for another minute

    def _decide(self, now: int) -> Decision:
        if self._timetable.state != "Scheduled":
            return Decision(self._timetable.state == "Open", ("state",), "state", None, None)
        day, now_alone = now // bits.DAY, 1 << now % bits.DAY
        is_open = self._days.open(day) & now_alone != 0
        rules = self._days.deciding(day, now_alone)
        since, until = self._days.since(now), self._days.until(now)
        return Decision(is_open, rules, self._reason(rules), since, until)

    def _reason(self, rules: tuple[str, ...]) -> str:
        held = self._timetable
        reasons = {
            rule.name: rule.reason for rule in (*held.overrides, *held.freezes, *held.windows)
        }
        words = (f"{name}: {reasons[name]}" if reasons.get(name) else name for name in rules)
        return "; ".join(words) or "no window is open"


class _Rank:
    """Rules of one kind: where one of them is in force, those of the ranks below have no say."""

    def __init__(self, rules: tuple[Rule, ...], tz: tzinfo, *, opens: bool) -> None:
        self.rules, self.opens = rules, opens
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
        """Return the minutes of a UTC day that each rule covers alone, with its name; of those that cover any."""
        once = zip(self._intervals, self._once, strict=True)
        found = [(coverage.of_interval(interval, day), rule.name) for interval, rule in once]
        if not self._recurring:
            return found
        parts = pieces(day, self._tz)
        walls = range(
            parts[0].shown // bits.DAY, (parts[-1].shown + parts[-1].minutes) // bits.DAY + 1
        )
        by_rule: dict[int, dict[int, int]] = {}
        for wall in walls:
            for number, minutes in self._around(wall).of_rules(wall).items():
                by_rule.setdefault(number, dict.fromkeys(walls, 0))[wall] = minutes
        for number, on_days in by_rule.items():
            covered = 0
            for piece in parts:
                covered |= piece.in_utc(on_days.__getitem__)
            found.append((covered, self._recurring[number].name))
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
    """The UTC days of a timetable, each worked out when it is asked for: the minutes of a day as `bits`."""

    def __init__(self, timetable: Timetable, tz: tzinfo) -> None:
        closing = tuple(rule for rule in timetable.overrides if rule.state != "Open")
        opening = tuple(rule for rule in timetable.overrides if rule.state == "Open")
        self._overrides = _Rank(opening, tz, opens=True)
        ranks = (
            _Rank(closing, tz, opens=False),
            self._overrides,
            _Rank(timetable.freezes, tz, opens=False),
            _Rank(timetable.windows, tz, opens=True),
        )
        self._ranks = [rank for rank in ranks if rank.rules]
        self._state = timetable.state
        self._open_outside = timetable.outside_windows == "Open"
        self._early = -(
            -timetable.closes_early // _MINUTE
        )  # what is no whole minute closes a little earlier
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
        """Return when rules open, `closesEarly` left out, and when overrides do: the first rank in force decides."""
        if day not in self._by_rules:
            left, opened, overridden = bits.FULL, 0, 0
            for rank in self._ranks:
                if not left:
                    break
                covered = rank.on_day(day) & left
                left &= ~covered
                if rank.opens:
                    opened |= covered
                if rank is self._overrides:
                    overridden = covered
            if self._open_outside:
                opened |= left
            self._by_rules[day] = opened, overridden
        return self._by_rules[day]

    def deciding(self, day: int, part: int) -> tuple[str, ...]:
        """Name what decides in a part of a day, first what does so first; `part` is open or closed throughout."""
        if self._state != "Scheduled":
            return ("state",)
        found = [(minutes & part, name) for minutes, name in self._decisive(day)]
        ordered = sorted((bits.first(minutes), name) for minutes, name in found if minutes)
        return tuple(dict.fromkeys(name for _, name in ordered))

    def _decisive(self, day: int) -> list[tuple[int, str]]:
        """Return the minutes of a day in which each rule decides, alone or with others of its rank, and its name."""
        if day not in self._decisive_on:
            opened = self.by_rules(day)[0]
            early = opened & ~self.open(day)
            found, left = [(early, "closesEarly")], bits.FULL & ~early
            for rank in self._ranks:
                decided = left & rank.on_day(day)
                if decided:
                    found += [(minutes & decided, name) for minutes, name in rank.named(day)]
                    left &= ~decided
            found.append((left & opened, "outsideWindows"))
            self._decisive_on[day] = [each for each in found if each[0]]
        return self._decisive_on[day]

    def since(self, now: int) -> datetime | None:
        """Find the last change up to a UTC minute."""
        today, held = now // bits.DAY, self._held(now)
        for day in range(today, today - _FAR.days - 2, -1):
            other = self.open(day) ^ held
            if day == today:
                other &= bits.below(now % bits.DAY)
            if other:
                return _instant(day * bits.DAY + bits.last(other) + 1, now)
        return None

    def until(self, now: int) -> datetime | None:
        """Find the first change after a UTC minute."""
        today, held = now // bits.DAY, self._held(now)
        for day in range(today, today + _FAR.days + 2):
            other = self.open(day) ^ held
            if day == today:
                other &= ~bits.below(now % bits.DAY)
            if other:
                return _instant(day * bits.DAY + bits.first(other), now)
        return None

    def _held(self, now: int) -> int:
        """Return a day that is throughout what it is at a UTC minute."""
        return bits.FULL if self.open(now // bits.DAY) >> now % bits.DAY & 1 else 0

    def _shortened(self, day: int, opened: int) -> int:
        """Close each run of a day early: open is only what stays so for all of the margin, and a minute more."""
        left = min(self._next_closed(day + 1) - day * bits.DAY - self._early, bits.DAY)
        closing = bits.leading(bits.FULL & ~opened, min(self._early, bits.DAY) + 1)
        return opened & bits.below(left) & ~closing

    def _next_closed(self, day: int) -> int:
        """Find the first minute from a midnight on that rules close, as far as the margin looks ahead.

        Days that were open throughout when it was last asked are passed over.
        """
        each, last = day, day + self._early // bits.DAY + 1
        while each <= last and (each in self._clear or self.by_rules(each)[0] == bits.FULL):
            each = self._clear.stop if each in self._clear else each + 1
        self._clear = range(day, each)
        if each > last:
            return NEVER
        return each * bits.DAY + bits.first(bits.FULL & ~self.by_rules(each)[0])


def _instant(minute: int, now: int) -> datetime | None:
    """Give the instant of a UTC minute; None if it is far from `now`, or beyond the calendar's ends."""
    day = minute // bits.DAY
    if (
        abs(minute - now) >= _FAR // _MINUTE
        or not date.min.toordinal() <= day <= date.max.toordinal()
    ):
        return None
    at = time(minute % bits.DAY // 60, minute % 60, tzinfo=UTC)
    return datetime.combine(date.fromordinal(day), at)
