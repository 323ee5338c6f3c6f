"""Walking directories: no link is followed, each is visited once, and there is an end."""

import os
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from krm_windows import patterns
from krm_windows.system.errors import WorkspaceError

# A large monorepo has that many files; a tree made to wear a program down has more.
MOST_ENTRIES = 500_000
DEEPEST = 200
"""So many directories in directories no repository of a person has; what is deeper is not read."""
_MOST_STEPS = 64
_ANY_DEPTH = "**"


def walk(
    root: str | Path, *, hidden: bool = True, most: int = MOST_ENTRIES, depth: int = DEEPEST
) -> Iterator[tuple[str, list[str]]]:
    """Yield each directory below one, itself first, with its files sorted.

    Links to files are among them; what cannot be listed is left out. Raises WorkspaceError where
    there are more than `most` entries.
    """
    left = most
    start = str(root).count(os.sep)
    for folder, folders, files in os.walk(root):
        left -= len(folders) + len(files)
        if left < 0:
            raise WorkspaceError(f"{root}: contains more than {most} files and directories")
        kept = [name for name in folders if hidden or not name.startswith(".")]
        folders[:] = sorted(kept) if folder.count(os.sep) - start < depth else []
        yield folder, sorted(files)


def directories(root: str, pattern: str, *, most: int = MOST_ENTRIES) -> Iterator[str]:
    """Yield the directories below an existing one that a glob matches, by relative paths.

    In a pattern, `**` matches any number of directories, none included; what begins with a dot is
    matched by a dot only (as Python's `glob` has it). Raises WorkspaceError where there are more
    than `most` entries to look at.
    """
    steps = [step for step in pattern.split("/") if step not in ("", ".")]
    if len(steps) > _MOST_STEPS:
        raise WorkspaceError(
            f"the pattern {pattern[:80]!r} has {len(steps)} parts; at most {_MOST_STEPS} are "
            "allowed"
        )
    depth = DEEPEST if _ANY_DEPTH in steps else len(steps)
    hidden = any(step.startswith(".") for step in steps)
    for folder, _ in walk(root, hidden=hidden, most=most, depth=depth):
        path = os.path.relpath(folder, root)
        # The root itself is matched by an empty pattern only.
        names = [] if path == "." else path.split("/")
        if bool(names) == bool(steps) and _matches(steps, names):
            yield path


def _matches(steps: Sequence[str], names: Sequence[str]) -> bool:
    """Whether a pattern matches a path, in the time that one takes times that of the other."""
    # Which steps of the pattern may match what follows.
    reached = _onward({0}, steps)
    for name in names:
        after: set[int] = set()
        for index in reached - {len(steps)}:
            if steps[index] != _ANY_DEPTH:
                if _is_named(steps[index], name):
                    after.add(index + 1)
            elif not name.startswith("."):
                after.add(index)
        reached = _onward(after, steps)
    return len(steps) in reached


def _onward(reached: Collection[int], steps: Sequence[str]) -> set[int]:
    """Add what `**` lets follow at once, as it may match no directory at all."""
    found = set(reached)
    for index, step in enumerate(steps):
        if index in found and step == _ANY_DEPTH:
            found.add(index + 1)
    return found


def _is_named(step: str, name: str) -> bool:
    return name.startswith(".") == step.startswith(".") and patterns.is_named(step, name)
