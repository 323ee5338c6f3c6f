"""The calendar's picture in a page: tracks of SVG whose places are shares of the width.

The pages' Content Security Policy allows no style in an element, so nothing is placed by one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from markupsafe import Markup

from krm_windows.preview.calendar import Calendar
from krm_windows.preview.picture import draw
from krm_windows.service.pages.rendering import environment


@dataclass(frozen=True, slots=True)
class Drawn:
    """The picture of some calendars, and every fact of it in words."""

    picture: Markup
    words: Markup


def drawn(every: Sequence[Calendar], now: datetime) -> Drawn:
    """Draw some calendars."""
    values = {"picture": draw(every, now)}
    made = (
        # Every text in it was escaped by the template.
        Markup(environment().get_template(name).render(values))  # noqa: S704
        for name in ("picture.html", "described.html")
    )
    return Drawn(*made)
