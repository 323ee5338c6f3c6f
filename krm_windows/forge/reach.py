"""Which changes a policy gates: those that affect its targets, or that touch named paths."""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import product

from krm_windows import patterns
from krm_windows.pending.effect import Effect, Key


@dataclass(frozen=True, slots=True)
class Change:
    """What a commit changes: its files, and what that does to targets.

    `files` are paths from the top of the repository. `unknown` says why nothing is known of the one
    or the other.
    """

    files: frozenset[str] | None
    effect: Effect = field(default_factory=lambda: Effect({}))
    unknown: str = ""


Changes = Callable[[str, str], Change]
"""Looks at what a commit changes in a branch."""


@dataclass(frozen=True, slots=True)
class Reach:
    """The paths that some globs match; `*` matches any characters, `/` included."""

    globs: tuple[str, ...] = ()

    def why(self, change: Change) -> str | None:
        """Gate what touches any of the paths, and what may."""
        if change.files is None:
            return change.unknown
        pairs = product(self.globs, change.files)
        return change.unknown if any(patterns.matches(*pair) for pair in pairs) else None


@dataclass(frozen=True, slots=True)
class Targets:
    """The targets of a policy in a cluster."""

    key: Key

    def why(self, change: Change) -> str | None:
        """Gate what affects a target, and what may."""
        return change.unknown or change.effect.reasons.get(self.key)
