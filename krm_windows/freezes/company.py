"""The events of a company's calendar (RFC 5545), read with the packages of the extra `ics`."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date, datetime, timedelta

import icalendar
import recurring_ical_events  # type: ignore[import-untyped]

from krm_windows.freezes import budget, recurrences
from krm_windows.freezes.entries import Entry

LARGEST = 1_000_000
_DAY = timedelta(days=1)


def entries(content: bytes, years: Sequence[int]) -> Iterator[Entry]:
    """Yield the events that begin in some years, repeated ones each time; raises ValueError for what is no calendar."""
    if len(content) > LARGEST:
        raise ValueError(f"it has {len(content)} bytes, and may have {LARGEST}")
    begin, end = date(min(years), 1, 1), date(max(years) + 1, 1, 1)
    with _stumbling():
        calendar = icalendar.Calendar.from_ical(content)
    recurrences.check(calendar)
    with _stumbling(), budget.limited():
        events = recurring_ical_events.of(calendar).between(begin, end)
    for event in events:
        with _stumbling():
            starts, ends = event.start, event.end
        if starts.year in years and ends > starts and str(event.get("STATUS", "")) != "CANCELLED":
            yield Entry(*_within(starts, ends), str(event.get("SUMMARY", "")).strip() or "Company calendar")


@contextmanager
def _stumbling() -> Iterator[None]:
    """Turn whatever the packages stumble over into ValueError; around their calls alone, not around code of ours.

    They raise KeyError where a field is missing, TypeError where it is there twice, AttributeError where it is another.
    """
    try:
        yield
    except ValueError:
        raise
    except Exception as error:
        raise ValueError(f"{type(error).__name__}: {error}") from error


def _within(starts: date, ends: date) -> tuple[date, date]:
    """Return whole days with the last one included (in iCalendar it is not), or times of whole minutes around all."""
    if isinstance(starts, datetime) and isinstance(ends, datetime):
        up = -ends.second % 60
        return starts.replace(second=0, microsecond=0), (ends + timedelta(seconds=up)).replace(microsecond=0)
    return starts, ends - _DAY
