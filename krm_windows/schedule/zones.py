"""The IANA time zones as the `tzdata` package has them, and never as the host does."""

from functools import cache
from pathlib import Path
from zoneinfo import ZoneInfo

import tzdata  # type: ignore[import-untyped]

_PACKAGE = Path(tzdata.__file__).parent


@cache
def names() -> frozenset[str]:
    """Return every zone name of the `tzdata` package."""
    return frozenset((_PACKAGE / "zones").read_text("ascii").split())


@cache
def release() -> str:
    """Return the release of the IANA zone data in use, such as `2026f`."""
    return str(tzdata.IANA_VERSION)


@cache
def zone(name: str) -> ZoneInfo:
    """Return the IANA zone `name` with all its past; raise `LookupError` for an unknown one.

    Only what the package has is read, so that no build depends on its host's zones.
    """
    if name not in names():
        raise LookupError(f'unknown time zone "{name}"')
    try:
        with (_PACKAGE / "zoneinfo" / name).open("rb") as content:
            return ZoneInfo.from_file(content, name)
    except FileNotFoundError:
        lacks = f'the package tzdata lacks the time zone "{name}", which it lists'
        raise LookupError(lacks) from None
