"""Calendars as a picture of SVG: what the page of HTML shows.

A title on each part says its facts in words.
"""

from collections.abc import Sequence
from datetime import datetime

from krm_windows.preview import templating
from krm_windows.preview.calendar import Calendar
from krm_windows.preview.picture import draw
from krm_windows.preview.templating import asset

WIDTH = 960
"""In pixels; a viewer scales the whole."""


def render(
    every: Sequence[Calendar],
    now: datetime | None = None,
    width: int = WIDTH,
) -> str:
    """Return the picture, with a mark at `now` if it is among the days."""
    return templating.render(
        "calendar.svg",
        picture=draw(every, now),
        width=width,
        # In the file itself, as a picture in a README can load nothing beside it.
        style_sheet=asset("calendar.svg.css"),
    ).lstrip()
