"""The calendar's picture in a page: tracks of SVG whose places are shares of the width.

The pages' Content Security Policy allows no style in an element, so nothing is placed by one.
"""

from collections.abc import Sequence
from datetime import datetime

from markupsafe import Markup

from krm_windows.preview.calendar import Calendar
from krm_windows.preview.picture import draw
from krm_windows.service.pages.rendering import environment


def drawn(every: Sequence[Calendar], now: datetime) -> dict[str, Markup]:
    """Draw some calendars: the `picture`, and every fact of it in `words`."""
    values = {"picture": draw(every, now)}
    templates = {"picture": "picture.html", "words": "described.html"}
    return {
        # Every text in it was escaped by the template.
        name: Markup(environment().get_template(template).render(values))  # noqa: S704
        for name, template in templates.items()
    }
