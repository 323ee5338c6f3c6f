"""The history of a branch, read as it is: its commits, what each changed, and contents of files.

The history is that of first parents (git-log(1), `--first-parent`): what a merge brought is one
change, which came when the merge did.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

from krm_windows.system.errors import WorkspaceError
from krm_windows.system.git_objects import Commit, Objects

# What one commit may have changed.
_CHANGED = 1_000_000
_LARGEST = 4 << 20
"""No manifest has more bytes; what has is not read."""
# By Git's own measure, a file was renamed if half of its content is the same (git-diff(1),
# --find-renames).
_SAME = 0.5


@dataclass(frozen=True, slots=True)
class History:
    """The history of a branch as a directory of the repository has it.

    `top` is that of the working tree, `prefix` the path of the directory from there, empty for the
    top. `commits` are the newest first. `is_cut`: the clone is shallow, and what came before is
    missing.
    """

    objects: Objects
    directory: Path
    top: Path
    prefix: str
    commits: tuple[Commit, ...]
    is_cut: bool

    def changed(self, commits: Iterable[Commit]) -> Iterator[tuple[Commit, tuple[str, ...]]]:
        """Yield some commits, each with the paths below the directory that it changed."""
        for commit in commits:
            before = self.objects.tree(commit.parent, self.prefix) if commit.parent else None
            after = self.objects.tree(commit.name, self.prefix)
            found = self.objects.differences(before, after, _CHANGED)
            yield commit, tuple(path for path, _, _ in found)

    def between(self, old: str, new: str) -> list[Commit]:
        """Return the commits that `new` has and `old` has not, the newest first.

        Those of merged branches are among them, the merges themselves are not: who wrote what is
        asked for here, and not when it came. Raises WorkspaceError where one names no commit.
        """
        every = [self.objects.commit(name) for name in self._fresh(old, new)]
        # Those of one second stay as they were found.
        every.sort(key=lambda each: each.committed, reverse=True)
        return [each for each in every if len(each.parents) < _MERGE]

    def lacks_between(self, old: str, new: str) -> bool:
        """Whether `new` may have commits that `old` has not, and a shallow clone does not have."""
        return not self.objects.shallow.isdisjoint(self._fresh(old, new))

    def touching(self, path: str, start: str) -> list[str]:
        """Return the names of the commits from one on back that changed a path, newest first."""
        found = []
        for each in self.objects.first_parents(start):
            before = self.objects.found(each.parent, path) if each.parent else None
            if before != self.objects.found(each.name, path):
                found.append(each.name)
        return found

    def source(self, path: str, commit: Commit) -> str | None:
        """Return the path that a path had before a commit renamed it, None where it did not."""
        made = self.objects.found(commit.name, path)
        # The first commit has nothing to have renamed it from.
        if (
            commit.parent is None
            or made is None
            or self.objects.found(commit.parent, path) is not None
        ):
            return None
        trees = self.objects.tree(commit.parent), self.objects.tree(commit.name)
        gone = {
            there: was.name
            for there, was, now in self.objects.differences(*trees, _CHANGED)
            if was is not None and was.is_file and now is None
        }
        contents = self.contents([made.name, *gone.values()])
        alike = {
            there: _likeness(contents[name], contents[made.name])
            for there, name in gone.items()
            if name in contents and made.name in contents
        }
        best = max(sorted(alike), key=lambda there: alike[there], default=None)
        return best if best is not None and alike[best] >= _SAME else None

    def blobs(self, places: Iterable[tuple[str, str]]) -> list[str | None]:
        """Return the objects of files at commits (commit, path from the top), None for no file."""
        found = [self.objects.found(commit, path) if commit else None for commit, path in places]
        return [node.name if node is not None and node.is_blob else None for node in found]

    def contents(self, blobs: Iterable[str]) -> Mapping[str, bytes]:
        """Return contents by their objects, but of those that are too large for a manifest."""
        found = {}
        for blob in set(blobs):
            kind, size = self.objects.kind(blob)
            if kind == "blob" and size <= _LARGEST:
                found[blob] = self.objects.content(blob)
        return found

    def _fresh(self, old: str, new: str) -> list[str]:
        newest, known = (self.objects.reached(self.objects.commit_of(ref)) for ref in (new, old))
        return [name for name in newest if name not in known]


# A commit with so many parents brings together what others wrote.
_MERGE = 2


@contextmanager
def opened(directory: Path, ref: str = "HEAD") -> Iterator[History]:
    """Open the history of a branch, of which the directory is in a checkout.

    Raises WorkspaceError where there is none.
    """
    objects = Objects(directory)
    layout = objects.layout
    # Nothing that a commit changes is below it, so that its history would be empty.
    if Path(os.path.realpath(directory)).is_relative_to(layout.own):
        raise WorkspaceError(
            f"{directory}: is a .git directory: give the directory that contains it"
        )
    newest = objects.commit_of(ref)
    commits = tuple(objects.first_parents(newest))
    is_cut = commits[-1].name in objects.shallow
    yield History(objects, directory, layout.top, objects.prefix, commits, is_cut)


def _likeness(old: bytes, new: bytes) -> float:
    """Return how many lines of two contents are the same, 1 for all of them."""
    # How often each line is there, and not where: that takes no time to speak of.
    return SequenceMatcher(None, old.splitlines(), new.splitlines()).quick_ratio()
