"""What a repository was at a commit, as files.

No hook, no filter, no setting and no attribute has a part in that.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Self

from krm_windows.system import git_layout, git_program, git_trees, temporary
from krm_windows.system.directories import Directory
from krm_windows.system.errors import WorkspaceError
from krm_windows.system.git_program import Git
from krm_windows.system.git_trees import Entry, Links, Most
from krm_windows.system.programs import Ended, LimitError

_BATCH = 32 << 20
"""So many bytes of contents are asked for at a time, unless one file alone has more."""
# Far longer than any name of a branch.
_REF = 1000
_HEAD = 200  # more than the line before a content has: an object's name, its type, its size
MOST = Most()


@contextmanager
def snapshot(
    directory: Path,
    ref: str,
    most: Most = MOST,
) -> Iterator[Path]:
    """Give a temporary directory with what was below `directory` at a commit.

    Raises WorkspaceError without one.
    """
    layout = git_layout.find(directory)
    with git_program.opened(layout) as git:
        commit = commit_of(git, directory, ref)
        # `--repo` may name a directory inside the repository: its path from the top.
        tree = _tree(git, commit, os.path.relpath(os.path.realpath(directory), layout.top))
        listed = b""
        if tree is not None:
            listed = _listed(git, directory, tree, most)
        entries = git_trees.entries(listed, most)
        with temporary.directory("krm-windows-since-") as place:
            with Directory.at(place) as root:
                _write(root, git, entries, most)
            yield place


@contextmanager
def merged(
    directory: Path,
    base: str,
    head: str,
    most: Most = MOST,
) -> Iterator[tuple[Path, frozenset[str]]]:
    """Give what is below a directory once a commit is merged, and the paths that this changes.

    A file that the commit has changed since it left the branch is taken from it, any other from
    the branch; paths are from the top of the repository. Raises WorkspaceError.
    """
    layout = git_layout.find(directory)
    prefix = os.path.relpath(os.path.realpath(directory), layout.top)
    with git_program.opened(layout) as git:
        commits = [commit_of(git, directory, ref) for ref in (base, head)]
        fork = _fork(git, directory, commits)
        listed = [_listed(git, directory, f"{each}^{{tree}}", most) for each in (fork, *commits)]
        if _submodules(listed[0]) != _submodules(listed[2]):
            raise WorkspaceError(
                f"{directory}: {head[:12]} changes a submodule, whose content is not here"
            )
        was, ours, theirs = (_by_path(git_trees.entries(each, most)) for each in listed)
        changed = {path for path in was.keys() | theirs.keys() if was.get(path) != theirs.get(path)}
        kept = {path: entry for path, entry in ours.items() if path not in changed}
        kept.update((path, theirs[path]) for path in changed if path in theirs)
        unclear = next(_unclear(changed, was, ours, theirs), None)
        if unclear is not None:
            raise WorkspaceError(
                f"{directory}: {head[:12]} changes {unclear}, and so has its base since: update it"
            )
        if not kept.keys().isdisjoint(_above(kept)):
            raise WorkspaceError(f"{directory}: {head[:12]} conflicts with its base")
        entries = _below(kept, prefix)
        with temporary.directory("krm-windows-merged-") as place:
            with Directory.at(place) as root:
                _write(root, git, entries, most)
            yield place, frozenset(changed)


def _fork(git: Git, directory: Path, commits: Sequence[str]) -> str:
    """Return the commit from which two have parted; raises WorkspaceError where it is not one."""
    ended = git.run("merge-base", "--all", *commits)
    found = ended.output.decode(errors="replace").split()
    # Git would merge them first (git-merge(1), ort), and what is changed since is another thing.
    if len(found) > 1:
        raise WorkspaceError(
            f"{directory}: {commits[1][:12]} and its base have several latest commits in common: "
            "rebase it"
        )
    if ended.code != 0 or not found or not git_layout.is_object_name(found[0]):
        raise WorkspaceError(
            f"{directory}: {commits[1][:12]} and its base have no commit in common here: fetch the "
            "whole history (fetch-depth: 0)"
        )
    return found[0]


def _unclear(
    changed: Iterable[str],
    was: Mapping[str, Entry],
    ours: Mapping[str, Entry],
    theirs: Mapping[str, Entry],
) -> Iterator[str]:
    """Yield the paths of a change that Git may merge in ways of its own.

    Into a file that the branch has changed, too, by attributes of the repository; and into another
    file where the branch has moved one, or the directory of one (git-merge(1), renames).
    """
    # What is new may follow the others of its directory.
    were, are = was.keys() | _above(was), ours.keys() | _above(ours)
    for path in sorted(changed):
        mine, its = ours.get(path), theirs.get(path)
        place = path if path in was else path.rpartition("/")[0]
        is_moved = its is not None and place in were and place not in are
        if is_moved or (mine != was.get(path) and mine != its):
            yield path


def _above(paths: Iterable[str]) -> set[str]:
    """Return the directories that some files are in."""
    return set(chain.from_iterable(map(git_trees.directories_above, paths)))


def _by_path(entries: Iterable[Entry]) -> dict[str, Entry]:
    return {entry.path: entry for entry in entries}


def _submodules(listed: bytes) -> list[bytes]:
    """Return the lines of a tree that name commits of other repositories (git-ls-tree(1))."""
    return [line for line in listed.split(b"\0") if line.startswith(b"160000 ")]


def _below(entries: Mapping[str, Entry], prefix: str) -> list[Entry]:
    """Return the entries below a directory, as paths in it and in their order."""
    if prefix == ".":
        return sorted(entries.values(), key=lambda each: each.path)
    start = f"{prefix}/"
    inside = (each for each in entries.values() if each.path.startswith(start))
    found = (replace(each, path=each.path.removeprefix(start)) for each in inside)
    return sorted(found, key=lambda each: each.path)


def changed(directory: Path, older: str, newer: str) -> frozenset[str]:
    """Return the paths in which two commits differ, from the top of the repository.

    What is renamed is there under both names. Raises WorkspaceError where one is no commit.
    """
    layout = git_layout.find(directory)
    with git_program.opened(layout) as git:
        commits = [commit_of(git, directory, ref) for ref in (older, newer)]
        for commit in commits:
            _check_number(git, directory, f"{commit}^{{tree}}", MOST)
        # Without renames a file that has moved is one that is gone and one that is new.
        arguments = ("diff-tree", "-r", "-z", "--name-only", "--no-renames", *commits)
        listed = _output(git.run(*arguments, output=MOST.listing), directory)
    return frozenset(os.fsdecode(each) for each in listed.split(b"\0") if each)


def name_of(directory: Path, ref: str) -> str:
    """Return the name of a commit of the repository that a directory is in.

    Raises WorkspaceError where a ref names none.
    """
    with git_program.opened(git_layout.find(directory)) as git:
        return commit_of(git, directory, ref)


def commit_of(git: Git, directory: Path, ref: str) -> str:
    """Return the name of the object of a commit; raises WorkspaceError where a ref names none."""
    unknown = WorkspaceError(
        f"{directory}: {ref[:_REF]!r} is not a commit in this repository (was it fetched?)"
    )
    # A line end would begin a second request to `cat-file --batch`.
    if not ref or len(ref) > _REF or "\n" in ref:
        raise unknown
    # `^{commit}` follows an annotated tag to what it names; a ref such as `--all` is no option
    # here.
    ended = git.run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")
    found = ended.output.decode(errors="replace").strip()
    if ended.code != 0 or not git_layout.is_object_name(found):
        raise unknown
    return found


def _tree(git: Git, commit: str, prefix: str) -> str | None:
    """Return the name of the object of a directory at a commit.

    None where it was no directory then.
    """
    if "\n" in prefix:
        raise WorkspaceError(
            f"{prefix!r}: --base does not support a directory with a line break in its name"
        )
    place = "" if prefix == "." else prefix
    # Such as `4b825dc…:clusters/prod`; Git answers `OBJECT tree SIZE`, or `… missing`.
    ended = git.run("cat-file", "--batch-check", stdin=os.fsencode(f"{commit}:{place}\n"))
    words = ended.output.split()
    if ended.code != 0 or words[1:2] != [b"tree"]:
        return None
    found = words[0].decode(errors="replace")
    return found if git_layout.is_object_name(found) else None


def _listed(git: Git, directory: Path, tree: str, most: Most) -> bytes:
    """Return the entries of a tree."""
    _check_number(git, directory, tree, most)
    # `-z` gives names as they are, without quotes; `-l` the sizes, by which requests are bounded.
    arguments = ("ls-tree", "-r", "-l", "-z", "--full-tree", "--end-of-options", tree)
    return _output(git.run(*arguments, output=most.listing), directory)


def _check_number(git: Git, directory: Path, tree: str, most: Most) -> None:
    """Refuse a tree that has more files than are read.

    Five small trees in each other have ten thousand million. Their names alone are printed quickly,
    and end with the limit; sizes take minutes, and a comparison takes all memory.
    """
    arguments = ("ls-tree", "-r", "-z", "--name-only", "--full-tree", "--end-of-options", tree)
    try:
        names = _output(git.run(*arguments, output=most.listing), directory)
    except LimitError as error:
        raise WorkspaceError(
            f"{directory}: the commit has too many files: {error}; give a directory with fewer"
        ) from None
    if names.count(b"\0") > most.entries:
        raise WorkspaceError(
            f"{directory}: the commit has more than {most.entries} files; give a directory with "
            "fewer"
        )


def _write(
    root: Directory,
    git: Git,
    entries: Sequence[Entry],
    most: Most,
) -> None:
    """Write the entries: first all files, then those links that lead to something inside.

    Nothing is written below a link: no entry is below another one, and while files are written
    there is no link yet.
    """
    targets: dict[str, str] = {}
    with _Writer(root) as writer:
        for batch in batches(entries):
            for entry, content in zip(batch, contents(git, batch), strict=True):
                if entry.is_link:
                    # The path of a link is the content of its object.
                    targets[entry.path] = os.fsdecode(content)
                else:
                    writer.directory(entry.path).create(entry.path.rpartition("/")[2], content)
    links = Links(targets, most.steps)
    with _Writer(root) as writer:
        for path, target in targets.items():
            # For whoever reads a tree here, what a link leads to outside does not exist: nor does
            # the link then.
            if links.stays(path):
                writer.directory(path).link(path.rpartition("/")[2], target)


def batches(entries: Iterable[Entry]) -> Iterator[list[Entry]]:
    """Yield entries, together as many as are read at a time."""
    batch: list[Entry] = []
    size = 0
    for entry in entries:
        # At least one: a single file may be larger than a batch.
        if batch and size + entry.size > _BATCH:
            yield batch
            batch, size = [], 0
        batch.append(entry)
        size += entry.size + _HEAD
    if batch:
        yield batch


def contents(git: Git, batch: Sequence[Entry]) -> Iterator[bytes]:
    """Yield the contents of objects, as `git cat-file --batch` prints them.

    Each is behind a line with its size.
    """
    expected = sum(entry.size + _HEAD for entry in batch)
    asked = "".join(f"{entry.blob}\n" for entry in batch).encode()
    printed = _output(git.run("cat-file", "--batch", stdin=asked, output=expected), None)
    place = 0
    for entry in batch:
        head, found, _ = printed[place : place + _HEAD].partition(b"\n")
        # `OBJECT blob SIZE`; anything else, as `OBJECT missing`, has no content to read.
        if not found or head.split() != [entry.blob.encode(), b"blob", str(entry.size).encode()]:
            raise WorkspaceError(f"git cannot read the content of {entry.path!r} in the commit")
        # Past the end of that line; and below past the line end that Git adds behind each content.
        place += len(head) + 1
        yield printed[place : place + entry.size]
        place += entry.size + 1


def _output(ended: Ended, directory: Path | None) -> bytes:
    if ended.code != 0:
        where = f"{directory}: " if directory else ""
        raise WorkspaceError(
            f"{where}git cannot read the commit: "
            f"{ended.last_line or f'it exited with {ended.code}'}"
        )
    return ended.output


class _Writer:
    """The directories of a tree, opened one below the other.

    They are kept open from one file to the next beside it.
    """

    def __init__(self, root: Directory) -> None:
        self._root = root
        self._open: list[tuple[str, Directory]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._leave(0)

    def directory(self, path: str) -> Directory:
        """Return the directory that a path is in, made where it is missing."""
        # Entries come in the order of paths, so most directories are those of the entry before.
        names = path.split("/")[:-1]
        shared = 0
        while shared < min(len(names), len(self._open)) and names[shared] == self._open[shared][0]:
            shared += 1
        self._leave(shared)
        for name in names[shared:]:
            above = self._open[-1][1] if self._open else self._root
            self._open.append((name, above.below([name], make=True)))
        return self._open[-1][1] if self._open else self._root

    def _leave(self, depth: int) -> None:
        while len(self._open) > depth:
            self._open.pop()[1].close()
