"""Public holidays, from the `holidays` package (the extra of that name, and part of `server`)."""

from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from itertools import filterfalse
from operator import itemgetter
from pkgutil import get_data

import holidays

from krm_windows.edit.entries import DatedEntry

ENGLISH = "en_US"
_CHRISTMAS_EVE, _NEW_YEAR = (12, 24), (1, 1)
_YEAR = timedelta(days=365)


def entries(
    country: str,
    subdivision: str | None,
    years: Sequence[int],
    language: str | None,
) -> Iterator[DatedEntry]:
    """Yield a country's public holidays, in a language where the package has it.

    Countries are ISO 3166 codes. Raises ValueError for a place that is not known.
    """
    known = holidays.list_supported_countries()
    if country not in known:
        raise ValueError(f'unknown country "{country}"; must be an ISO 3166 code such as DE')
    if subdivision is not None and subdivision not in known[country]:
        subdivisions = ", ".join(known[country])
        raise ValueError(
            f'unknown subdivision "{subdivision}" of {country}; must be one of {subdivisions}'
        )
    found = holidays.country_holidays(
        country,
        subdiv=subdivision,
        years=years,
        language=language,
    )
    for day, reason in sorted(found.items()):
        # A New Year's Day on a Saturday may be observed in the year before.
        if day.year in years:
            yield DatedEntry(day, day, reason)


def coming(country: str, region: str | None, today: date) -> list[DatedEntry]:
    """Return the public holidays of a year from today on, and the turn of the year as one entry.

    Raises ValueError for a place that is not known.
    """
    last = today + _YEAR
    every = entries(country, region, (today.year, last.year), ENGLISH)
    found = [each for each in every if today <= each.starts < last]
    for day in [each.starts for each in found if (each.starts.month, each.starts.day) == _NEW_YEAR]:
        # What most plants mean by Christmas.
        eve = date(day.year - 1, *_CHRISTMAS_EVE)
        found.append(DatedEntry(eve, day, "Christmas to New Year"))
    return sorted(found, key=lambda each: (each.starts, each.ends))


def countries() -> dict[str, str]:
    """Return the names of the countries whose holidays are known, by their codes."""
    known = holidays.list_supported_countries()
    rows = (each.split("\t") for each in _zone_data("iso3166.tab"))
    return {code: name for code, name in sorted(rows, key=lambda row: row[1]) if code in known}


def regions(country: str) -> dict[str, str]:
    """Return the names of the states or provinces of a country, by their codes."""
    found = holidays.country_holidays(country).get_subdivision_aliases()
    # Some have other codes before their names.
    named = {code: next(filterfalse(str.isupper, names), code) for code, names in found.items()}
    return dict(sorted(named.items(), key=itemgetter(1)))


def country_of(time_zone: str) -> str:
    """Return the code of the country that a time zone is in; empty where it is in none."""
    rows = (each.split("\t") for each in _zone_data("zone.tab"))
    return next((row[0] for row in rows if row[2] == time_zone), "")


def _zone_data(name: str) -> list[str]:
    content = (get_data("tzdata", f"zoneinfo/{name}") or b"").decode()
    return [each for each in content.splitlines() if each and not each.startswith("#")]
