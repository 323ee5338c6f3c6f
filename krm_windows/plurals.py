"""Numbers with what they count: `1 day`, `3 policies`; and the first names of many."""

from collections.abc import Sequence

_PLURALS = {"policy": "policies", "class": "classes"}
# So many clusters that are alike are named in a line.
_FEW = 3


def counted(count: int, noun: str) -> str:
    """Return a number and what it counts, in singular or plural."""
    return f"{count} {noun}" if count == 1 else f"{count} {plural(noun)}"


def plural(noun: str) -> str:
    """Return the plural of a noun that this program counts."""
    return _PLURALS.get(noun, f"{noun}s")


def some(names: Sequence[str], few: int) -> str:
    """Name the first few of many, and say how many more there are."""
    listed = ", ".join(names[:few])
    if len(names) > few:
        return f"{listed} and {len(names) - few} more"
    return listed


def clusters(names: Sequence[str]) -> str:
    """Name clusters that are alike: a few of them all, of more the first: `9 clusters like a`."""
    return ", ".join(names) if len(names) <= _FEW else f"{len(names)} clusters like {names[0]}"


def on(what: str, names: Sequence[str]) -> str:
    """Say on which clusters something is; alone where it is for none in particular."""
    return f"{what} on {clusters(names)}" if names else what
