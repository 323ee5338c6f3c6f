"""The IANA time zones, as the `tzdata` package has them and never as the host does."""

from functools import cache
from pathlib import Path
from zoneinfo import ZoneInfo

import tzdata  # type: ignore[import-untyped]  # it holds data only

_ROOT = Path(tzdata.__file__).parent


@cache
def names() -> frozenset[str]:
    """Return every zone name of the `tzdata` package."""
    return frozenset(_ROOT.joinpath("zones").read_text(encoding="ascii").split())


@cache
def zone(name: str) -> ZoneInfo:
    """Return the rules of a zone; raises `KeyError` for a name that the `tzdata` package does not have."""
    if name not in names():
        raise KeyError(name)
    with _ROOT.joinpath("zoneinfo", name).open("rb") as rules:
        return ZoneInfo.from_file(rules, key=name)
