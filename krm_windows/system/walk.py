"""Walking directories: no link is followed, each is visited once, and there is an end."""

import os
from collections.abc import Iterator
from pathlib import Path

from krm_windows import patterns
from krm_windows.system.errors import WorkspaceError

# A large monorepo has that many files; a tree made to wear a program down has more.
MOST_ENTRIES = 500_000
DEEPEST = 200
"""So many directories in directories no repository of a person has; what is deeper is not read."""


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

    What begins with a dot is matched by a dot only (as Python's `glob` has it). Raises
    WorkspaceError for `**`, and where there are more than `most` entries to look at.
    """
    steps = [step for step in pattern.split("/") if step not in ("", ".")]
    if "**" in steps:
        raise WorkspaceError(
            f"the pattern {pattern[:80]!r} has a part `**`, which is not supported: use `*` for "
            "each directory, as in `fleet/*/prod`"
        )
    hidden = any(step.startswith(".") for step in steps)
    for folder, _ in walk(root, hidden=hidden, most=most, depth=min(len(steps), DEEPEST)):
        names = Path(folder).relative_to(root).parts
        # The root itself is matched by an empty pattern only.
        if len(names) == len(steps) and all(map(_is_named, steps, names)):
            yield "/".join(names) or "."


def _is_named(step: str, name: str) -> bool:
    return name.startswith(".") == step.startswith(".") and patterns.is_named(step, name)
