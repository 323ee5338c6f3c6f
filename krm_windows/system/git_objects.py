"""What a repository has in its commits, read with libgit2.

libgit2 starts no program, and no hook, filter or attribute has a part in what is read. Of the
repository's settings, only the form of its objects and refs counts. Objects are taken one by one,
so that no replacement, graft or commit graph says otherwise.
"""

import os
import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple, cast

from krm_windows.system import git_layout
from krm_windows.system.errors import WorkspaceError

# Far longer than any name of a branch.
_REF = 1000
# A tree or a commit that has more bytes was made to wear a program down.
_LARGEST = 64 << 20
# Longer than any path of a filesystem.
_LONGEST = 5000
MOST_COMMITS = 1_000_000
"""No history that is read has more."""
_ENTRY = re.compile(rb"([0-7]{5,6}) ([^\0]+)\0(.{20})", re.DOTALL)
_MISSING = (
    "has no content in this clone, and nothing is fetched: clone the repository without --filter, "
    "or fetch the rest (git fetch --refetch --no-filter)"
)

# What libgit2 says of a repository that it does not read; what that is, and what to do.
_UNREAD = (
    (
        "is not owned by",
        "belongs to another user",
        "if you trust it: git config --global --add safe.directory {top}",
    ),
    (
        "object format",
        "names its objects by SHA-256, which libgit2 does not read",
        "convert it to SHA-1, the format of every forge, as by git fast-export",
    ),
    (
        "refstorage",
        "has its refs in the format reftable, which libgit2 does not read",
        "git refs migrate --ref-format=files",
    ),
    (
        "unsupported extension",
        "has an extension that libgit2 does not read",
        "see git config --get-regexp extensions, or use a plain clone of it",
    ),
)


class Node(NamedTuple):
    """What a tree has under a name: its mode (`stat.st_mode`), and the name of its object."""

    mode: int
    name: str

    @property
    def is_tree(self) -> bool:
        """Whether it is a directory."""
        return stat.S_ISDIR(self.mode)

    @property
    def is_file(self) -> bool:
        """Whether it is a plain file: no link, directory or submodule."""
        return stat.S_ISREG(self.mode)

    @property
    def is_blob(self) -> bool:
        """Whether its object is a content: that of a file, or the path of a link."""
        return self.is_file or stat.S_ISLNK(self.mode)

    @property
    def is_submodule(self) -> bool:
        """Whether it is a commit of another repository."""
        return stat.S_IFMT(self.mode) == _SUBMODULE


# The mode of a submodule, 160000 (git-ls-tree(1)).
_SUBMODULE = 0o160000


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit with what it leads to; `by` is who wrote it, by name and address.

    `committed` is the committer's time, `written` the author's, in seconds since 1970.
    """

    name: str
    committed: int
    by: tuple[str, str]
    message: str
    written: int = 0
    tree: str = ""
    parents: tuple[str, ...] = ()

    @property
    def parent(self) -> str | None:
        """The commit before it on the way of first parents, None for the first one."""
        return self.parents[0] if self.parents else None

    @property
    def author(self) -> str:
        """Who wrote it, as `Ada Lovelace <ada@example.com>`."""
        return "{} <{}>".format(*self.by)

    @property
    def subject(self) -> str:
        """The first paragraph of its message, in one line."""
        return " ".join(takewhile(str.strip, self.message.strip().split("\n")))


class Objects:
    """The objects of the repository that a directory is in; raises WorkspaceError without one."""

    def __init__(self, directory: Path, *, trusted: bool = False) -> None:
        """Open the repository; one of somebody else, or without a working tree, if `trusted`."""
        import pygit2  # noqa: PLC0415 - the extra `git`

        self.directory = directory
        self.layout = git_layout.find(directory, bare=trusted)
        git_layout.check(self.layout)
        flags = pygit2.enums.RepositoryOpenFlag.NO_SEARCH
        pygit2.settings.owner_validation = not trusted
        try:
            self.repository = pygit2.Repository(str(self.layout.top), flags)
        except (pygit2.GitError, ValueError) as error:
            raise WorkspaceError(_refusal(self.layout.top, str(error))) from None
        finally:
            pygit2.settings.owner_validation = True
        self._odb: pygit2.Odb = self.repository.odb
        self.shallow = self.layout.shallow()
        # A tree of one commit is that of the next one, but for what was changed.
        self.entries = lru_cache(1 << 14)(self._entries)
        self.commit = lru_cache(1 << 14)(self._commit)

    @property
    def prefix(self) -> str:
        """The path of the directory from the top of the repository, empty for the top."""
        found = os.path.relpath(os.path.realpath(self.directory), self.layout.top)
        return "" if found == "." else found

    def commit_of(self, ref: str) -> str:
        """Return the name of a commit; raises WorkspaceError where a ref names none."""
        if ref and len(ref) <= _REF and "\0" not in ref:
            try:
                # `^{commit}` follows an annotated tag to what it names.
                return str(self.repository.revparse_single(f"{ref}^{{commit}}").id)
            except (LookupError, ValueError, OSError):
                pass
        raise WorkspaceError(
            f"{self.directory}: {ref[:_REF]!r} is not a commit in this repository (was it fetched?)"
        )

    def head(self) -> str | None:
        """Return the branch that is checked out; None where HEAD is a commit."""
        found = self.repository.lookup_reference("HEAD").target
        return found.removeprefix("refs/heads/") if isinstance(found, str) else None

    def target(self, ref: str) -> str | None:
        """Return the commit of a branch by its full name; None where there is none."""
        try:
            return str(self.repository.lookup_reference(ref).target)
        except (LookupError, ValueError):
            return None

    def kind(self, name: str) -> tuple[str, int]:
        """Return the type of an object, such as `blob`, and its size; `missing` without one."""
        try:
            kind, size = self._odb.read_header(name)
        except (LookupError, ValueError):
            return "missing", 0
        return kind.name.lower(), size

    def content(
        self, name: str, kind: str = "blob", most: int = _LARGEST, what: str | None = None
    ) -> bytes:
        """Return what an object holds; raises WorkspaceError where it has more than `most`."""
        self._check(name, kind, most, what)
        try:
            return self._odb.read(name)[1]
        except (LookupError, ValueError) as error:
            raise WorkspaceError(
                f"{self.directory}: the {kind} {name[:12]} cannot be read: {error}"
            ) from None

    def _check(self, name: str, kind: str, most: int, what: str | None = None) -> None:
        """Raise WorkspaceError where an object is none of a kind, or has more than `most` bytes."""
        what = what or f"{self.directory}: the {kind} {name[:12]}"
        found, size = self.kind(name)
        if found == "missing":
            raise WorkspaceError(f"{what} {_MISSING}")
        if found != kind:
            raise WorkspaceError(f"{what} is a {found}, not a {kind}")
        # The size is known before anything is read: packed, an object may be of any size.
        if size > most:
            raise WorkspaceError(f"{what} has {size} bytes; at most {most} are read")

    def _entries(self, tree: str) -> Mapping[str, Node]:
        """Return what a tree has; Git makes none in which a name is twice, or no name."""
        content = self.content(tree, "tree")
        found: dict[str, Node] = {}
        end = 0
        while match := _ENTRY.match(content, end):
            mode, name, blob = match.groups()
            if b"/" in name or (text := os.fsdecode(name)) in found:
                break
            found[text] = Node(int(mode, 8), blob.hex())
            end = match.end()
        if end != len(content):
            raise WorkspaceError(f"{self.directory}: the tree {tree[:12]} is damaged: git fsck")
        return found

    def _commit(self, name: str) -> Commit:
        import pygit2  # noqa: PLC0415 - the extra `git`

        self._check(name, "commit", _LARGEST)
        try:
            found = cast("pygit2.Commit", self.repository[name])
            author, tree = found.author, str(found.tree_id)
        except (pygit2.GitError, ValueError) as error:
            raise WorkspaceError(
                f"{self.directory}: the commit {name[:12]} is damaged: git fsck ({error})"
            ) from None
        return Commit(
            name,
            # A commit that was made by hand may say any time.
            max(found.commit_time, 0),
            (author.raw_name.decode(errors="replace"), author.raw_email.decode(errors="replace")),
            found.raw_message.decode(errors="replace"),
            max(author.time, 0),
            tree,
            # One at which a shallow clone ends has none.
            () if name in self.shallow else tuple(map(str, found.parent_ids)),
        )

    def at(self, tree: str, path: str) -> Node | None:
        """Return what a tree has at a path; None where it has nothing. `` is the tree itself."""
        found = Node(stat.S_IFDIR, tree)
        for step in filter(None, path.split("/")):
            if not found.is_tree:
                return None
            below = self.entries(found.name).get(step)
            if below is None:
                return None
            found = below
        return found

    def found(self, commit: str, path: str) -> Node | None:
        """Return what a commit has at a path; None where it has nothing."""
        return self.at(self.commit(commit).tree, path)

    def tree(self, commit: str, path: str = "") -> str | None:
        """Return the tree of a directory at a commit; None where it was no directory then."""
        found = self.found(commit, path)
        return found.name if found is not None and found.is_tree else None

    def files(self, tree: str, most: int, prefix: str = "") -> Iterator[tuple[str, Node]]:
        """Yield all that is below a tree and is no tree, with its path below `prefix`."""
        found = self.differences(None, tree, most, prefix)
        return ((path, node) for path, _, node in found if node is not None)

    def differences(
        self, old: str | None, new: str | None, most: int, prefix: str = ""
    ) -> Iterator[tuple[str, Node | None, Node | None]]:
        """Yield each path at which two trees differ, with what was and what is there.

        What is renamed is there under both names. Raises WorkspaceError for more than `most`
        entries: some small trees in each other may have ten thousand million.
        """
        waiting = [(old, new, prefix)]
        while waiting:
            *trees, above = waiting.pop()
            was, now = (self.entries(tree) if tree else {} for tree in trees)
            same = was.items() & now.items()
            most -= len(was) + len(now) - 2 * len(same)
            if most < 0 or len(above) > _LONGEST:
                raise WorkspaceError(
                    f"{self.directory}: the commit has too many files, or too deep directories; "
                    "give a directory with fewer"
                )
            before, after = (dict(entries.items() - same) for entries in (was, now))
            for name in before.keys() | after.keys():
                path = f"{above}{name}"
                pair = before.get(name), after.get(name)
                below = [node.name if node and node.is_tree else None for node in pair]
                if any(below):
                    waiting.append((below[0], below[1], f"{path}/"))
                left = [None if node and node.is_tree else node for node in pair]
                if any(left):
                    yield path, left[0], left[1]

    def reached(self, newest: str) -> dict[str, None]:
        """Return the names of a commit and of all before it, on one line the newest first."""
        found = {newest: None}
        waiting = [newest]
        while waiting:
            for parent in self.commit(waiting.pop()).parents:
                if parent not in found:
                    found[parent] = None
                    waiting.append(parent)
            if len(found) > MOST_COMMITS:
                raise WorkspaceError(f"{self.directory}: the history has too many commits")
        return found

    def first_parents(self, newest: str) -> Iterator[Commit]:
        """Yield a commit and those before it on the way of first parents."""
        name: str | None = newest
        for _ in range(MOST_COMMITS):
            if name is None:
                return
            commit = self.commit(name)
            yield commit
            name = commit.parent
        raise WorkspaceError(f"{self.directory}: the history has too many commits")


def _refusal(top: Path, said: str) -> str:
    """Return why a repository is not read, and what to do."""
    for words, form, advice in _UNREAD:
        if words in said:
            return f"{top}: {form}: {advice.format(top=top)}"
    return f"{top}: cannot be read: {said.removeprefix(f'{top}: ')}"
