"""What a change of a policy changes: the hours that open through it, and those that close."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import pairwise
from zoneinfo import ZoneInfo

from krm_windows.policy import phrases
from krm_windows.preview.calendar import Period
from krm_windows.schedule import zones
from krm_windows.schedule.table import rules_of
from krm_windows.schedule.timeline import Followed, openings, timeline
from krm_windows.schedule.timetable import Timetable

_MINUTE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class ChangedPeriod:
    """The UTC interval [`begins`, `ends`) that opens or closes.

    `was` and `now` are the rules that decided it, and `reason` says so in words. What `goes_on` is
    so after the days that were compared, too.
    """

    begins: datetime
    ends: datetime
    opens: bool
    was: tuple[str, ...]
    now: tuple[str, ...]
    reason: str
    goes_on: bool = False

    @property
    def grouping_key(self) -> tuple[bool, tuple[str, ...], tuple[str, ...]]:
        """What it says beside its time."""
        return self.opens, self.was, self.now


@dataclass(frozen=True, slots=True)
class Difference:
    """The changes of a policy for one cluster within [`begins`, `ends`), in order.

    The cluster is None where they are for none in particular.
    """

    policy: str
    cluster: str | None
    zone: ZoneInfo
    begins: datetime
    ends: datetime
    changes: tuple[ChangedPeriod, ...]

    @property
    def days(self) -> int:
        """How many days are compared."""
        return round((self.ends - self.begins) / timedelta(days=1))

    def length(self, *, opens: bool) -> timedelta:
        """Return how much opens, or closes, in all."""
        lengths = (change.ends - change.begins for change in self.changes if change.opens is opens)
        return sum(lengths, timedelta())


def compare(
    old: Followed,
    new: Followed,
    period: Period,
) -> Difference:
    """Compare two timetables, over days of the newer one's time zone."""
    # Of the newer one: the reader is about to merge that.
    zone = zones.zone(new.time_zone)
    begins, ends = period.bounds(zone)
    return Difference(
        policy=new.policy,
        cluster=new.cluster,
        zone=zone,
        begins=begins,
        ends=ends,
        changes=_changes_of(old, new, begins, ends),
    )


def alike(every: Sequence[Difference]) -> list[list[Difference]]:
    """Group the differences of clusters that are the same, in the order of their first.

    Those in which nothing changes are the same in whichever time zone.
    """
    groups: dict[object, list[Difference]] = {}
    for one in every:
        # Equal but for the cluster they are for.
        same = replace(one, cluster=None) if one.changes else one.policy
        groups.setdefault(same, []).append(one)
    return list(groups.values())


def _changes_of(
    old: Followed, new: Followed, begins: datetime, ends: datetime
) -> tuple[ChangedPeriod, ...]:
    if isinstance(old, Timetable) and isinstance(new, Timetable):
        return _changes(rules_of(old), rules_of(new), begins, ends)
    # What was rendered has its days with it.
    return tuple(_swept(old, new, begins, ends))


# As many as a fleet has clusters that differ.
@lru_cache(maxsize=2048)
def _changes(
    old: Timetable,
    new: Timetable,
    begins: datetime,
    ends: datetime,
) -> tuple[ChangedPeriod, ...]:
    if old == new:
        return ()
    return tuple(_swept(old, new, begins, ends))


def _swept(
    old: Followed,
    new: Followed,
    begins: datetime,
    ends: datetime,
) -> Iterator[ChangedPeriod]:
    """Sweep over the edges of both: between one and the next, neither changes."""
    # A minute more says what goes on after the period.
    last = ends + _MINUTE
    states = [_states(timetable, begins, last) for timetable in (old, new)]
    # Also the rims of the period, so that the first and last part are compared, too.
    edges = sorted({*states[0], *states[1], last})
    was_open = is_open = False
    for start, end in pairwise(edges):
        # Where one of them has no edge, it goes on as before.
        was_open = states[0].get(start, was_open)
        is_open = states[1].get(start, is_open)
        # Another rule that decides the same changes nothing for who waits for a window.
        if was_open != is_open and start < ends:
            # Without an edge in between each has one segment, with the rules of just this time.
            [was], [now] = (timeline(each, start, min(end, ends)) for each in (old, new))
            yield ChangedPeriod(
                start,
                min(end, ends),
                is_open,
                was.rules,
                now.rules,
                _reason(
                    phrases.rules(was.rules, old.reasons), phrases.rules(now.rules, new.reasons)
                ),
                goes_on=end > ends,
            )


def _reason(was: str, now: str) -> str:
    if was and now:
        return f"{now} instead of {was}"
    # What closes because a window is gone has no rule that closes it.
    return now or f"no longer {was}"


def _states(
    timetable: Followed,
    begins: datetime,
    ends: datetime,
) -> dict[datetime, bool]:
    """Return whether it is open from each of its edges on; to name the rules would take longer."""
    found = {begins: False}
    for opens, closes in openings(timetable, begins, ends):
        found[opens] = True
        # At the rim of the period nothing is known to change.
        if closes < ends:
            found[closes] = False
    return found
