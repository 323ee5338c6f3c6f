"""Walking directories: no link is followed, each is visited once, and there is an end."""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from krm_windows import patterns
from krm_windows.system.errors import WorkspaceError

# A large monorepo has that many files; a tree made to wear a program down has more.
MOST_ENTRIES = 500_000
MOST_STEPS = 64
_ANY_DEPTH = "**"


def walk(
    root: str | Path,
    *,
    hidden: bool = True,
    most: int = MOST_ENTRIES,
) -> Iterator[tuple[str, list[str]]]:
    """Yield each directory below one, itself first, with its files sorted.

    Links to files are among them. Raises WorkspaceError where there are more than `most` entries.
    """
    counter = _Counter(str(root), most)
    waiting = [str(root)]
    while waiting:
        # Depth first, in the order of names: the one added last is visited next.
        folder = waiting.pop()
        folders, files = counter.listed(folder)
        kept = [name for name in folders if hidden or not name.startswith(".")]
        waiting += [f"{folder}/{name}" for name in reversed(kept)]
        yield folder, files


def entries(folder: Path, *, most: int = MOST_ENTRIES) -> Iterator[Path]:
    """Yield what is directly in a directory, links included.

    Raises WorkspaceError where that is more than `most`.
    """
    counter = _Counter(str(folder), most)
    with os.scandir(folder) as found:
        for entry in found:
            counter.count()
            yield folder / entry.name


def directories(
    root: str,
    pattern: str,
    *,
    most: int = MOST_ENTRIES,
) -> Iterator[str]:
    """Yield the directories below an existing one that a glob matches, by relative paths.

    Each comes once. In a pattern, `**` matches any number of directories, none included; what
    begins with a dot is matched by a dot only (as Python's `glob` has it). Raises WorkspaceError
    where there are more than `most` entries to look at.
    """
    steps = [step for step in pattern.split("/") if step not in ("", ".")]
    if len(steps) > MOST_STEPS:
        raise WorkspaceError(
            f"the pattern {pattern[:80]!r} has {len(steps)} parts; at most {MOST_STEPS} are allowed"
        )
    counter = _Counter(root, most)
    # A directory, and which parts of the pattern may match what is in it: so none is visited twice.
    waiting = [("", _onward({0}, steps))]
    while waiting:
        path, active = waiting.pop()
        # The end of the pattern is reached; the root itself is matched by an empty one only.
        if len(steps) in active and (path or not steps):
            yield path or "."
        if active != {len(steps)}:
            waiting += _below(counter, path, active, steps)


def _below(
    counter: "_Counter",
    path: str,
    active: frozenset[int],
    steps: Sequence[str],
) -> Iterator[tuple[str, frozenset[int]]]:
    """Yield the directories in one that a pattern may lead to, with the parts that apply there."""
    folders, _ = counter.listed(f"{counter.root}/{path}" if path else counter.root)
    for name in folders:
        after = _step(active, name, steps)
        if after:
            yield (f"{path}/{name}" if path else name), after


def _onward(active: set[int], steps: Sequence[str]) -> frozenset[int]:
    """Add what `**` lets follow at once, as it may match no directory at all."""
    reached = set(active)
    for index in range(len(steps)):
        if index in reached and steps[index] == _ANY_DEPTH:
            reached.add(index + 1)
    return frozenset(reached)


def _step(
    active: frozenset[int],
    name: str,
    steps: Sequence[str],
) -> frozenset[int]:
    """Return which parts of a pattern may match what is in a directory of this name."""
    after: set[int] = set()
    for index in active - {len(steps)}:
        step = steps[index]
        if step != _ANY_DEPTH and _is_named(step, name):
            after.add(index + 1)
        elif step == _ANY_DEPTH and not name.startswith("."):
            # `**` goes on below, for any number of directories.
            after.add(index)
    return _onward(after, steps)


def _is_named(step: str, name: str) -> bool:
    return name.startswith(".") == step.startswith(".") and patterns.is_named(step, name)


class _Counter:
    """Lists directories, and counts what is in them."""

    def __init__(self, root: str, most: int) -> None:
        self.root, self._most, self._left = root, most, most

    def listed(self, folder: str) -> tuple[list[str], list[str]]:
        """Return the names of directories, and of everything else but links to directories.

        Both sorted.
        """
        folders: list[str] = []
        files: list[str] = []
        # One that may not be read, or has gone, as far as it is read; that may show only on the
        # way (/proc/1/map_files).
        with suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                self.count()
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.name)
                elif not _leads_to_directory(entry):
                    files.append(entry.name)
        return sorted(folders), sorted(files)

    def count(self) -> None:
        """Count one entry more; raises WorkspaceError where that is too many."""
        self._left -= 1
        if self._left < 0:
            raise WorkspaceError(
                f"{self.root}: contains more than {self._most} files and directories"
            )


def _leads_to_directory(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_symlink() and entry.is_dir()
    except OSError:  # it leads round
        return False
