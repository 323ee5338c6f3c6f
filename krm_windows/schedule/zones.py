"""The names of the IANA time zones, as the `tzdata` package has them and never as the host does."""

from functools import cache
from pkgutil import get_data


@cache
def names() -> frozenset[str]:
    """Return every zone name of the `tzdata` package."""
    return frozenset((get_data("tzdata", "zones") or b"").decode("ascii").split())
