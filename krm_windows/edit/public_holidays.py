"""Public holidays, from the `holidays` package (the extra of that name)."""

from collections.abc import Iterator, Sequence

import holidays

from krm_windows.edit.entries import DatedEntry


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
