"""The history of a branch, read as it is: its commits, what each changed, and contents of files.

The history is that of first parents (git-log(1), `--first-parent`): what a merge brought is one
change, which came when the merge did.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from krm_windows.system import git_layout, git_program
from krm_windows.system.errors import WorkspaceError
from krm_windows.system.git import batches, commit_of, contents
from krm_windows.system.git_program import Git
from krm_windows.system.git_trees import Entry
from krm_windows.system.programs import Ended, LimitError

# A million commits whose subjects are long; and what some hundred commits may have changed.
_LOG = 512 << 20
_CHANGED = 512 << 20
_SHALLOW = 1 << 20
_FIELDS = ("%H", "%P", "%ct", "%an", "%ae", "%s")
FORMAT = f"--format={'%x00'.join(_FIELDS)}"
"""How `git log` is to print commits for `read`."""
# Of commits whose changes are asked for at a time: enough for few processes, and for a bar that
# moves.
_BATCH = 500
_FILE = "100"
"""How the mode of a plain file begins; a link is 120000, a submodule 160000 (git-ls-tree(1))."""
_LARGEST = 4 << 20
"""No manifest has more bytes; what has is not read."""


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit on the way of first parents; `parent` is None for the first one.

    `committed` is the committer's time, in seconds since 1970.
    """

    name: str
    parent: str | None
    committed: int
    author: str
    subject: str


@dataclass(frozen=True, slots=True)
class Changed:
    """A path that a commit changed, from the directory that was opened.

    `before` and `after` are the objects of its content, None where it was no plain file.
    """

    path: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class History:
    """The history of a branch as a directory of the repository has it.

    `top` is that of the working tree, `prefix` the path of the directory from there, empty for the
    top. `commits` are the newest first. `is_cut`: the clone is shallow, and what came before is
    missing; `shallow` are the commits at which it ends, on any way.
    """

    git: Git
    directory: Path
    top: Path
    prefix: str
    commits: tuple[Commit, ...]
    is_cut: bool
    shallow: frozenset[str] = frozenset()

    def changed(self, commits: Sequence[Commit]) -> Iterator[tuple[Commit, tuple[Changed, ...]]]:
        """Yield some commits, each with the paths below the directory that it changed."""
        for start in range(0, len(commits), _BATCH):
            batch = commits[start : start + _BATCH]
            # Git leaves out a commit that changed nothing.
            found = _changes(self._differences(batch), self.prefix)
            for commit in batch:
                yield commit, tuple(found.get(commit.name, ()))

    def between(self, old: str, new: str) -> list[Commit]:
        """Return the commits that `new` has and `old` has not, the newest first.

        Those of merged branches are among them, the merges themselves are not: who wrote what is
        asked for here, and not when it came. Raises WorkspaceError where one names no commit.
        """
        newest, known = (commit_of(self.git, self.directory, ref) for ref in (new, old))
        # Not by `^known`: Git looks only a few commits past those that are older than what it has
        # (revision.c, SLOP), so a clock that was wrong would make it say too much.
        has = set(self._names(known))
        # `--date-order` gives no parent before its child, whatever their times are.
        names = self._names(newest, "--no-merges", "--date-order")
        fresh = [each for each in names if each not in has]
        if not fresh:
            return []
        request = "".join(f"{each}\n" for each in fresh).encode()
        selection = ("--no-walk=unsorted", "--stdin")
        return [*_commits(self.git, self.directory, selection, request)]

    def lacks_between(self, old: str, new: str) -> bool:
        """Whether `new` may have commits that `old` has not, and a shallow clone does not have."""
        if not self.shallow:
            return False
        newest, known = (commit_of(self.git, self.directory, ref) for ref in (new, old))
        return not self.shallow.isdisjoint({*self._names(newest)} - {*self._names(known)})

    def touching(self, path: str, start: str) -> list[str]:
        """Return the names of the commits from one on back that changed a path, newest first."""
        # After `--` everything is a path, and none is a pattern (GIT_LITERAL_PATHSPECS).
        ended = self.git.run(
            "log", "--first-parent", "-m", "-z", "--format=%H", start, "--", path, output=_LOG
        )
        # A merge is compared with its first parent alone, as `-m --first-parent` has it.
        names = _output(ended, self.directory).decode().split("\0")
        return [name for name in names if git_layout.is_object_name(name)]

    def source(self, path: str, commit: Commit) -> str | None:
        """Return the path that a path had before a commit renamed it, None where it did not."""
        # The first commit has nothing to have renamed it from.
        if commit.parent is None:
            return None
        # By Git's own measure: half of the content is the same (git-diff(1), --find-renames).
        ended = self.git.run(
            *("diff-tree", "-r", "-z", "--name-status", "--diff-filter=R", "--find-renames"),
            *(commit.parent, commit.name),
            output=_CHANGED,
        )
        words = _output(ended, self.directory).decode(errors="surrogateescape").split("\0")
        # `R087`, the old path, the new one.
        for source, target in zip(words[1::3], words[2::3], strict=False):
            # A line end in it would begin a second request to `cat-file --batch-check`.
            if target == path and "\n" not in source:
                return source
        return None

    def blobs(self, places: Iterable[tuple[str, str]]) -> list[str | None]:
        """Return the objects of files at commits (commit, path from the top), None for no file."""
        # `COMMIT:PATH` is a path from the top, whatever the directory (gitrevisions(7)).
        asked = [f"{commit}:{path}" for commit, path in places]
        found = self._described(asked)
        return [name if kind == "blob" else None for name, kind, _ in found]

    def contents(self, blobs: Iterable[str]) -> Mapping[str, bytes]:
        """Return contents by their objects, but of those that are too large for a manifest."""
        # Sorted, so that two runs ask alike; a content that is asked for twice is read once.
        wanted = sorted(set(blobs))
        described = self._described(wanted)
        entries = []
        for name, kind, size in described:
            if kind == "blob" and size <= _LARGEST:
                entries.append(Entry(name, name, size, is_link=False))
        found: dict[str, bytes] = {}
        for batch in batches(entries):
            for entry, content in zip(batch, contents(self.git, batch), strict=True):
                found[entry.blob] = content
        return found

    def _names(self, newest: str, *options: str) -> list[str]:
        """Return the names of a commit and of all before it."""
        try:
            ended = self.git.run("rev-list", *options, newest, output=_LOG)
        except LimitError as error:
            raise WorkspaceError(f"{self.directory}: the history is too long: {error}") from None
        return _output(ended, self.directory).decode().split()

    def _described(self, asked: Iterable[str]) -> list[tuple[str, str, int]]:
        """Return name, type and size of objects; the type is `missing` where there is none."""
        # What has a line end would be two requests, and no answer would belong to its request.
        lines = ["" if "\n" in each else each for each in asked]
        request = os.fsencode("".join(f"{line}\n" for line in lines))
        # Such as `8baef1b… blob 12`, or what was asked for and `missing` (git-cat-file(1)).
        ended = self.git.run("cat-file", "--batch-check", stdin=request, output=_LOG)
        found = []
        # Not `splitlines`, which also ends a line at U+2028 and its like: a path may have them.
        for line in _output(ended, self.directory).decode(errors="replace").split("\n")[:-1]:
            words = line.rsplit(" ", 2)
            # `missing` has two words, and `ambiguous` other ones: only a size ends in a number.
            if len(words) == len(("name", "type", "size")) and words[2].isdecimal():
                found.append((words[0], words[1], int(words[2])))
            else:
                found.append(("", "missing", 0))
        return found

    def _differences(self, commits: Sequence[Commit]) -> bytes:
        """Compare each commit with its first parent, as `git diff-tree --raw -z` prints it."""
        # With its one parent named: of a merge, the other ones are no matter here.
        lines = [f"{commit.name} {commit.parent or ''}".rstrip() for commit in commits]
        try:
            ended = self.git.run(
                *("diff-tree", "--stdin", "--root", "-r", "-z", "--raw", "--no-abbrev"),
                "--no-renames",
                stdin="".join(f"{line}\n" for line in lines).encode(),
                output=_CHANGED,
            )
        except LimitError as error:
            raise WorkspaceError(
                f"{self.directory}: its commits change too many files: {error}"
            ) from None
        return _output(ended, self.directory)


@contextmanager
def opened(directory: Path, ref: str = "HEAD") -> Iterator[History]:
    """Open the history of a branch, of which the directory is in a checkout.

    Raises WorkspaceError where there is none.
    """
    layout = git_layout.find(directory)
    real = Path(os.path.realpath(directory))
    # Nothing that a commit changes is below either, so that its history would be empty.
    if not real.is_dir():
        raise WorkspaceError(f"{directory}: is not a directory: give that of the clone")
    if real.is_relative_to(layout.own):
        raise WorkspaceError(
            f"{directory}: is a .git directory: give the directory that contains it"
        )
    prefix = os.path.relpath(real, layout.top)
    if "\n" in prefix:
        raise WorkspaceError(
            f"{prefix!r}: a directory with a line break in its name is not supported"
        )
    with git_program.opened(layout) as git:
        # Where a clone ends: data, a name of an object a line (gitformat-shallow).
        shallow = _shallow(layout.common)
        if shallow:
            lines = "".join(f"{name}\n" for name in sorted(shallow))
            Path(git.private, "shallow").write_text(lines, encoding="ascii")
        # A commit with no parents here that has some elsewhere is then no fault for Git.
        newest = commit_of(git, directory, ref)
        commits = tuple(_commits(git, directory, ("--first-parent", newest)))
        is_cut = commits[-1].name in shallow
        below = "" if prefix == "." else prefix
        yield History(git, directory, layout.top, below, commits, is_cut, shallow)


def _shallow(common: Path) -> frozenset[str]:
    # Read as text and written again: Git gets only what is the name of an object.
    content = git_layout.small(common / "shallow", _SHALLOW) or b""
    names = content.decode("ascii", errors="replace").split()
    return frozenset(name for name in names if git_layout.is_object_name(name))


def _commits(
    git: Git, directory: Path, selection: Sequence[str], stdin: bytes = b""
) -> Iterator[Commit]:
    """Yield the commits that `git log` selects."""
    arguments = ("log", "-z", "--no-show-signature", FORMAT, *selection)
    try:
        printed = _output(git.run(*arguments, stdin=stdin, output=_LOG), directory)
    except LimitError as error:
        raise WorkspaceError(f"{directory}: the history is too long: {error}") from None
    try:
        yield from read(printed)
    except ValueError:
        raise WorkspaceError(f"{directory}: the history cannot be read") from None


def read(printed: bytes) -> Iterator[Commit]:
    """Read what `git log -z` prints in this FORMAT; raises ValueError where it is none."""
    # Each field ends with a NUL, which no part of a commit can have.
    words = printed.decode(errors="replace").split("\0")[:-1]
    for start in range(0, len(words), len(_FIELDS)):
        # Six words are a commit: a field of the format each.
        record = words[start : start + len(_FIELDS)]
        if len(record) != len(_FIELDS) or not git_layout.is_object_name(record[0]):
            raise ValueError("no commits")
        name, parents, committed, author, address, subject = record
        parent = parents.split(" ")[0] or None
        # Of a commit that was made by hand, the time may be anything.
        seconds = int(committed) if committed.isascii() and committed.isdecimal() else 0
        yield Commit(name, parent, seconds, f"{author} <{address}>", subject)


def _changes(printed: bytes, prefix: str) -> dict[str, list[Changed]]:
    """Read what `git diff-tree --raw -z` prints, by commit."""
    found: dict[str, list[Changed]] = {}
    # `apps/` and not `apps`, which is the beginning of `apps-old/` too.
    below = f"{prefix}/" if prefix else ""
    # What stands before the first commit would belong to none; Git prints nothing there.
    commit = ""
    words = iter(printed.decode(errors="surrogateescape").split("\0"))
    for word in words:
        # `:100644 100644 8baef1b… 5716ca5… M`, and the path as a word of its own.
        if not word.startswith(":"):
            commit = word
            continue
        path = next(words, "")
        if path.startswith(below):
            modes = word[1:].split(" ")
            before = modes[2] if modes[0].startswith(_FILE) else None
            after = modes[3] if modes[1].startswith(_FILE) else None
            changed = Changed(path.removeprefix(below), before, after)
            found.setdefault(commit, []).append(changed)
    return found


def _output(ended: Ended, directory: Path) -> bytes:
    if ended.code != 0:
        said = ended.last_line or f"it exited with {ended.code}"
        raise WorkspaceError(f"{directory}: git cannot read the history: {said}")
    return ended.output
