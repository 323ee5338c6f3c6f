"""Calendars as one page of HTML: the picture, and every fact of it in words.

Nothing is loaded from anywhere.
"""

import base64
import hashlib
from collections.abc import Sequence
from datetime import datetime

from krm_windows.preview import templating
from krm_windows.preview.calendar import Calendar
from krm_windows.preview.picture import draw
from krm_windows.preview.templating import asset

_SCRIPT = asset("calendar.js")
_DIGEST = base64.b64encode(hashlib.sha256(_SCRIPT.encode()).digest()).decode()
# The page carries all it needs and loads nothing. No script runs but its own, which is known by its
# hash (Content Security Policy Level 3, 8.3).
POLICY = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{_DIGEST}'"


def render(every: Sequence[Calendar], now: datetime | None = None) -> str:
    """Return the page, with a mark at `now` if it is among the days."""
    return templating.render(
        "calendar.html",
        picture=draw(every, now),
        policy=POLICY,
        style_sheet=asset("calendar.css"),
        script=_SCRIPT,
    )
