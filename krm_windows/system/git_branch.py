"""One branch of a clone that a service writes to: its commits read, and new ones made.

Commits are made of objects, and a ref is moved in one step: there is no working tree, and no hook
has a part in that. The clone is the service's own; its remotes and its credentials are used as they
are set up.
"""

import os
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from operator import itemgetter
from pathlib import Path, PurePosixPath
from typing import cast

from krm_windows.system.errors import WorkspaceError
from krm_windows.system.git_objects import Commit, Node, Objects
from krm_windows.system.git_program import Git, MovedError

MOST_FILES = 1_000_000
# Commits among which one is looked for that has the patch of another.
_MOST_LATER = 100
# Seconds after which a lock of a ref is a dead one: it is held for a write of forty bytes.
_STALE = 5.0
# Without what would end the name or the address in a commit (git-commit-tree(1)).
_PERSON = re.compile(r"([^<>]+)<([^<>\s]+)>")
PLAIN = "100644"
"""The mode of a new file."""


@dataclass(frozen=True, slots=True)
class Person:
    """Who is named in a commit."""

    name: str
    email: str

    @classmethod
    def read(cls, text: str) -> "Person | None":
        """Read `Ada Lovelace <ada@example.com>`; return None where a text has another form."""
        found = _PERSON.fullmatch(text.strip())
        if found is None or not found[1].strip() or not text.isprintable():
            return None
        return cls(found[1].strip(), found[2])


@dataclass(frozen=True, slots=True)
class File:
    """A plain file of a commit: its path from the top, its mode, and the object of its content."""

    path: str
    mode: str
    blob: str
    size: int


@dataclass(frozen=True, slots=True)
class Edit:
    """A file as it is to be; `content` is None for one that is to be removed."""

    path: str
    content: bytes | None
    mode: str = PLAIN


@contextmanager
def _failing(kind: type[WorkspaceError], words: str) -> Iterator[None]:
    """Say in words what libgit2 could not do, such as on a disk that is full."""
    import pygit2  # noqa: PLC0415 - the extra `git`

    try:
        yield
    except (pygit2.GitError, OSError, LookupError, ValueError) as error:
        raise kind(f"{words}: {error}") from None


class Branch:
    """A branch of the repository that a directory is in; `ref` is its full name."""

    def __init__(self, directory: Path, name: str | None) -> None:
        """Open a branch, or the one that is checked out; raises WorkspaceError without one."""
        import pygit2  # noqa: PLC0415 - the extra `git`

        # On the disk before a ref leads to it.
        pygit2.settings.enable_fsync_gitdir(True)  # noqa: FBT003 - its only argument
        self.objects = Objects(directory, trusted=True)
        self.layout = self.objects.layout
        self.git = Git.of(self.layout)
        if name is None:
            name = self.objects.head()
            if name is None:
                raise WorkspaceError(f"{self.layout.top}: HEAD is detached: name a branch")
        self.name, self.ref = name, f"refs/heads/{name}"
        found = self.objects.repository.branches.local.get(name)
        if found is None or self.tip() is None:
            raise WorkspaceError(
                f"{self.layout.top}: branch {name!r} not found, or it has no commit"
            )
        if found.is_checked_out():
            raise WorkspaceError(
                f"{self.layout.top}: the branch {name!r} is checked out, and files would stay "
                f"behind: give the service a clone of its own (git clone --bare {self.layout.top})"
            )

    def tip(self) -> str | None:
        """Return the commit of the branch; None where it has none."""
        return self.objects.target(self.ref)

    def files(self, commit: str, below: str) -> list[File]:
        """Return the plain files of a commit below a directory (empty: all), links left out."""
        tree = self.objects.tree(commit, below)
        prefix = f"{below}/" if below else ""
        found = self.objects.files(tree, MOST_FILES, prefix) if tree else ()
        return sorted(
            (self._file(path, node) for path, node in found if node.is_file),
            key=lambda file: os.fsencode(file.path),
        )

    def file(self, commit: str, path: str) -> File | None:
        """Return one plain file of a commit; None where there is none, or something else."""
        found = self.objects.found(commit, path)
        return self._file(path, found) if found is not None and found.is_file else None

    def is_taken(self, commit: str, path: str) -> bool:
        """Say whether a commit has anything at a path, or a file where a directory has to be."""
        above = PurePosixPath(path)
        while above.name:
            found = self.objects.found(commit, str(above))
            if found is not None:
                return str(above) == path or not found.is_tree
            above = above.parent
        return False

    def contents(self, blobs: Sequence[str], most: int) -> dict[str, bytes]:
        """Return the contents of objects; together they may have `most` bytes."""
        found = {}
        for blob in blobs:
            found[blob] = self.objects.content(blob, most=most)
            most -= len(found[blob])
        return found

    def commit(
        self,
        parent: str,
        edits: Sequence[Edit],
        message: str,
        author: Person,
        committer: Person,
    ) -> str:
        """Make a commit of some files on top of another, which no branch leads to yet."""
        import pygit2  # noqa: PLC0415 - the extra `git`

        with _failing(WorkspaceError, "the commit cannot be made"):
            repository = self.objects.repository
            index = pygit2.Index()
            tree = repository[self.objects.commit(parent).tree]
            index.read_tree(cast("pygit2.Tree", tree))
            for edit in edits:
                if edit.content is None:
                    index.remove(edit.path)
                else:
                    blob = repository.create_blob(edit.content)
                    mode = pygit2.enums.FileMode(int(edit.mode, 8))
                    index.add(pygit2.IndexEntry(edit.path, blob, mode))
            now = int(time.time())
            by, made_by = (
                pygit2.Signature(each.name, each.email, now) for each in (author, committer)
            )
            made = index.write_tree(repository)
            return str(repository.create_commit(None, by, made_by, message, made, [parent]))

    def move(self, new: str, old: str) -> None:
        """Let the branch lead to another commit; raises MovedError where it is not at `old`."""
        # Whoever was killed while they moved it has left a lock, which nobody holds for long.
        lock = self.layout.common / f"{self.ref}.lock"
        with suppress(FileNotFoundError):
            if time.time() - lock.stat().st_mtime > _STALE:
                lock.unlink()
        with _failing(MovedError, f"the branch {self.name} cannot be moved"):
            reference = self.objects.repository.lookup_reference(self.ref)
            # libgit2 compares once more, under the lock of the ref.
            if str(reference.target) == old:
                reference.set_target(new, "krm-windows")
                return
        raise MovedError(f"the branch {self.name} has moved in the meantime")

    def is_ancestor(self, older: str, newer: str) -> bool:
        """Say whether one commit is in the history of another, or the same."""
        if older == newer:
            return True
        known = all(self.objects.kind(each)[0] == "commit" for each in (older, newer))
        return known and self.objects.repository.descendant_of(newer, older)

    def merged_as(self, commit: Commit, tip: str, path: str) -> str | None:
        """Return the commit by which a branch has what another one changed; None where it has not.

        That is itself, or one of the last that changed a path with its patch (git-patch-id(1)).
        """
        if self.is_ancestor(commit.name, tip):
            return commit.name
        # Nothing was merged before it was written.
        last = self.log(tip, _MOST_LATER, path)
        later = (each for each in last if each.committed >= commit.committed)
        return next((each.name for each in later if self._patch(each) == self._patch(commit)), None)

    def applies(self, commit: str, tip: str) -> bool:
        """Say whether a commit can be merged without a conflict."""
        return self.objects.repository.merge_commits(tip, commit).conflicts is None

    def _patch(self, commit: Commit) -> str:
        if commit.parent is None:
            return commit.name
        return str(self.objects.repository.diff(commit.parent, commit.name).patchid)

    def fetch(self, remote: str) -> str:
        """Fetch the branch from a remote; return the commit that it has there."""
        kept = f"refs/krm-windows/{self.name}"
        self.git.fetch(remote, f"+{self.ref}:{kept}")
        return self.objects.commit_of(kept)

    def proposed(self, remote: str, prefix: str) -> list[Commit]:
        """Fetch the branches of a remote below a prefix; return the latest commit of each."""
        kept = f"refs/krm-windows/{prefix}"
        self.git.fetch(remote, f"+refs/heads/{prefix}/*:{kept}/*", "--prune")
        every = self.objects.repository.listall_references()
        names = sorted(name for name in every if name.startswith(f"{kept}/"))
        return [self.objects.commit(self.objects.commit_of(name)) for name in names]

    def log(self, commit: str, count: int, path: str = "") -> list[Commit]:
        """Return the latest commits that changed a path, or any, newest first."""
        import pygit2  # noqa: PLC0415 - the extra `git`

        found: list[Commit] = []
        for each in self.objects.repository.walk(commit, pygit2.enums.SortMode.TIME):
            name = str(each.id)
            here = self.objects.found(name, path)
            # What was before the first commit had nothing.
            parents = map(str, each.parent_ids)
            before = [self.objects.found(parent, path) for parent in parents] or [None]
            if not path or here not in before:
                found.append(self.objects.commit(name))
            if len(found) == count:
                break
        return found

    def steps(self, commit: Commit) -> list[Iterator[tuple[str, Node | None, Node | None]]]:
        """Return for each parent the paths at which a commit differs, what was and what is there.

        The first commit has one step, from nothing.
        """
        new, *old = (self.objects.tree(each) for each in (commit.name, *commit.parents))
        return [self.objects.differences(each, new, MOST_FILES) for each in old or [None]]

    def changed(self, commit: Commit) -> set[str]:
        """Return the paths at which a commit has something else than each of its parents."""
        paths = (map(itemgetter(0), each) for each in self.steps(commit))
        return set(next(paths)).intersection(*paths)

    def first_parents(self, commit: str, count: int) -> list[Commit]:
        """Return a commit and those before it on the way of first parents, newest first."""
        return list(islice(self.objects.first_parents(commit), count))

    def person(self) -> Person | None:
        """Return whom Git itself would name in a commit; None where that is nobody, or `<b>`."""
        try:
            found = self.objects.repository.default_signature
        except (KeyError, ValueError):
            return None
        return Person(found.name, found.email)

    def _file(self, path: str, node: Node) -> File:
        return File(path, f"{node.mode:06o}", node.name, self.objects.kind(node.name)[1])
