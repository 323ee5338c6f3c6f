"""Names for policies and windows, made of the words that the CronJobs' names share and of those they do not."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from krm_windows.migrate.gating import Gated

_LONGEST = 40
WINDOW, POLICY = "window", "reconciliation-window"


class Named(Protocol):
    """Anything with a name and a namespace."""

    @property
    def name(self) -> str:
        """The name."""


def policy(
    pairs: Iterable[tuple[str, str]], targets: Iterable[Gated], others: Sequence[Named]
) -> str:
    """Name a policy after what the names of all its CronJobs share; where that is taken, with its first target."""
    names = [name for pair in pairs for name in pair]
    stem = "-".join(_shared(names))[:_LONGEST].strip("-.") or POLICY
    taken = {other.name for other in others}
    first = min(targets).name
    tried = [stem, f"{stem}-{first}", *(f"{stem}-{first}-{n}" for n in range(2, 1000))]
    return next(name for name in tried if name not in taken)


def windows(pairs: Sequence[tuple[str, str]]) -> Mapping[tuple[str, str], str]:
    """Name windows after the words of their own CronJobs that not all CronJobs have."""
    everywhere = set(_shared([name for pair in pairs for name in pair]))
    names: dict[tuple[str, str], str] = {}
    for pair in pairs:
        own = [word for word in _shared(pair) if word not in everywhere]
        close = [word for word in pair[1].split("-") if word not in everywhere]
        tried = ["-".join(own), "-".join(close) if len(pairs) > 1 else "", WINDOW]
        name = next(name for name in tried if name)
        numbered = (name if n == 1 else f"{name}-{n}" for n in range(1, 1000))
        names[pair] = next(each for each in numbered if each not in names.values())
    return names


def _shared(names: Sequence[str]) -> list[str]:
    """Return the words that all names have, in the order of the first."""
    words = [set(name.replace(".", "-").split("-")) for name in names]
    return [
        word
        for word in names[0].replace(".", "-").split("-")
        if all(word in held for held in words)
    ]
