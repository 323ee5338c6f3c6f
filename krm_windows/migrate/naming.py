"""Names for policies and windows.

They are made of the words that the CronJobs' names share, and of those they do not.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import Protocol

from krm_windows.flux.model import ObjectIdentity

# Kubernetes takes 253 characters, and the CronJobs of a policy need some of them.
_LONGEST = 40
WINDOW = "window"
POLICY = "reconciliation-window"


class Named(Protocol):
    """Anything with a name and a namespace."""

    @property
    def name(self) -> str:
        """The name."""


def policy(
    pairs: Iterable[tuple[str, str]],
    targets: Iterable[ObjectIdentity],
    others: Sequence[Named],
) -> str:
    """Name a policy after what the names of all its CronJobs share.

    Where that name is taken, the name of its first target follows, and then a number.
    """
    names: list[str] = []
    for pair in pairs:
        names += pair
    # `suspend-apps`, `resume-apps`: `apps`.
    stem = "-".join(_shared(names))[:_LONGEST].strip("-.") or POLICY
    taken = {other.name for other in others}
    if stem not in taken:
        return stem
    return _numbered(f"{stem}-{min(targets).name}", taken)


def windows(pairs: Sequence[tuple[str, str]]) -> Mapping[tuple[str, str], str]:
    """Name windows after the words of their own CronJobs that not all CronJobs have."""
    every: list[str] = []
    for pair in pairs:
        every += pair
    everywhere = frozenset(_shared(every))
    names: dict[tuple[str, str], str] = {}
    for pair in pairs:
        # A name may be taken by another window of the same policy.
        name = next(_candidates(pair, everywhere, is_only=len(pairs) == 1))
        names[pair] = _numbered(name, names.values())
    return names


def _candidates(
    pair: tuple[str, str],
    everywhere: Collection[str],
    *,
    is_only: bool,
) -> Iterator[str]:
    """Yield the names that a window may have, the best one first."""
    # `open-night`, `close-night` of several windows: `night`.
    own = "-".join(word for word in _shared(pair) if word not in everywhere)
    if own:
        yield own
    # `suspend-friday` closes what `resume-monday` opens, the only name that says it.
    closing = "-".join(word for word in pair[1].split("-") if word not in everywhere)
    if closing and not is_only:
        yield closing
    yield WINDOW


def _numbered(name: str, taken: Collection[str]) -> str:
    """Return a name, with a number behind it where it is taken."""
    if name not in taken:
        return name
    # From 2 on: the one without a number is the first.
    numbered = (f"{name}-{number}" for number in count(2))
    return next(each for each in numbered if each not in taken)


def _shared(names: Sequence[str]) -> list[str]:
    """Return the words that all names have, in the order of the first."""
    split = [_words(name) for name in names]
    # A word counts however often it stands in a name, and wherever.
    everywhere = set(split[0]).intersection(*split)
    return [word for word in split[0] if word in everywhere]


def _words(name: str) -> list[str]:
    """Return the words of a name, which may have dots as well (RFC 1123, subdomain)."""
    return name.replace(".", "-").split("-")
