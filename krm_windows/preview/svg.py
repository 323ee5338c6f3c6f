"""Calendars as a picture of SVG: what the page of HTML shows.

A title on each part says its facts in words.
"""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from krm_windows.preview import templating
from krm_windows.preview.calendar import Calendar
from krm_windows.preview.picture import Picture, draw
from krm_windows.preview.templating import asset, characters, fitting
from krm_windows.preview.tracks import tracks

WIDTH = 960
"""In pixels; a viewer scales the whole."""
# Up to so many pixels names are above the tracks, as on a phone.
_NARROW = 640
_NAMES = 200
_MARGIN = 12
# The mean width of a character, and of one in a title.
_CHARACTER = 7
_OF_TITLE = 10.5


@dataclass(frozen=True, slots=True)
class Canvas:
    """A picture's width in pixels, and what lies where in it: names are beside or above tracks."""

    picture: Picture
    width: int

    @property
    def is_narrow(self) -> bool:
        """Whether names are above the tracks."""
        return self.width < _NARROW

    @property
    def left(self) -> int:
        """Where tracks begin."""
        return _MARGIN if self.is_narrow else _NAMES

    @property
    def track(self) -> int:
        """How wide a track is."""
        return self.width - self.left - _MARGIN

    @property
    def inner(self) -> int:
        """How wide words may be that are beside nothing."""
        return self.width - 2 * _MARGIN

    def x(self, fraction: float) -> float:
        """Return where a fraction of a track is."""
        # Hundredths of a pixel are finer than any screen, and keep the file small.
        return round(self.left + self.track * fraction, 2)

    def length(self, fraction: float) -> float:
        """Return how long a fraction of a track is."""
        return round(self.track * fraction, 2)

    def lines(self, words: str) -> list[str]:
        """Return words in two lines at most; the second says by a mark that there are more."""
        room = self.inner // _CHARACTER
        lines = textwrap.wrap(words, room, break_on_hyphens=False)
        rest = fitting(" ".join(lines[1:]), room)
        return [each for each in (*lines[:1], rest) if each]

    @property
    def titles(self) -> list[str]:
        """The title, in two lines where one is too short for it: its days are always seen."""
        room = self.inner / _OF_TITLE
        if characters(self.picture.title) <= room:
            return [self.picture.title]
        return [fitting(f"{self.picture.subject},", room), self.picture.days]


def render(
    every: Sequence[Calendar],
    now: datetime | None = None,
    width: int = WIDTH,
) -> str:
    """Return the picture, with a mark at `now` if it is among the days."""
    picture = draw(every, now)
    return templating.render(
        "calendar.svg",
        picture=picture,
        canvas=Canvas(picture, width),
        tracks=tracks,
        # In the file itself, as a picture in a README can load nothing beside it.
        style_sheet=asset("calendar.svg.css"),
    ).lstrip()
