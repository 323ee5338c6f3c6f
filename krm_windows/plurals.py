"""Numbers with what they count: `1 day`, `2 days`, `3 policies`."""

_PLURALS = {"policy": "policies", "class": "classes"}


def counted(count: int, noun: str) -> str:
    """Return a number and what it counts, in singular or plural."""
    return f"{count} {noun}" if count == 1 else f"{count} {plural(noun)}"


def plural(noun: str) -> str:
    """Return the plural of a noun that this program counts."""
    return _PLURALS.get(noun, f"{noun}s")
