"""What a repository was at a commit, as files.

No hook, no filter, no setting and no attribute has a part in that.
"""

import os
import re
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from pathlib import Path, PurePosixPath

from krm_windows.system import temporary
from krm_windows.system.errors import WorkspaceError
from krm_windows.system.git_objects import Node, Objects

# Enough for any path that stays inside.
_TARGET = 1000
# Nobody nests that deep.
_DEPTH = 100
# What leads out, what some systems take for a slash, and Git's own directory as Windows knows it:
# without case, and what is behind dots, spaces or the name of a stream (Git's verify_path and
# is_ntfs_dotgit).
_REFUSED = re.compile(r"\.\.?|[^\\]*\\.*|(\.git|git~1)[ .]*(:.*)?", re.IGNORECASE | re.DOTALL)
Files = Mapping[str, Node]
"""What is at each path of a tree, but for directories."""


# What a tree may have at most: entries, bytes in one file, and bytes in all files.
MOST_ENTRIES = 500_000
MOST_IN_FILE = 128 << 20
MOST_IN_ALL = 2 << 30


@contextmanager
def snapshot(directory: Path, ref: str) -> Iterator[Path]:
    """Give a temporary directory with what was below `directory` at a commit.

    Raises WorkspaceError without one.
    """
    objects = Objects(directory)
    # `--repo` may name a directory inside the repository, which was perhaps none then.
    tree = objects.tree(objects.commit_of(ref), objects.prefix)
    files = dict(objects.files(tree, MOST_ENTRIES)) if tree else {}
    with temporary.directory("krm-windows-since-") as place:
        _write(place, objects, files)
        yield place


@contextmanager
def merged(directory: Path, base: str, head: str) -> Iterator[tuple[Path, frozenset[str]]]:
    """Give what is below a directory once a commit is merged, and the paths that this changes.

    A file that the commit has changed since it left the branch is taken from it, any other from
    the branch; paths are from the top of the repository. Raises WorkspaceError.
    """
    objects = Objects(directory)
    commits = [objects.commit_of(ref) for ref in (base, head)]
    commits.insert(0, _fork(objects, *commits))
    trees = [objects.commit(each).tree for each in commits]
    was, ours, theirs = (dict(objects.files(each, MOST_ENTRIES)) for each in trees)
    changed = {path for path in was.keys() | theirs.keys() if was.get(path) != theirs.get(path)}
    problem = _problem(changed, was, ours, theirs)
    if problem is not None:
        raise WorkspaceError(f"{directory}: {head[:12]} {problem}")
    kept = {path: node for path, node in ours.items() if path not in changed}
    kept.update((path, theirs[path]) for path in changed if path in theirs)
    start = f"{objects.prefix}/" if objects.prefix else ""
    inside = {path[len(start) :]: node for path, node in kept.items() if path.startswith(start)}
    with temporary.directory("krm-windows-merged-") as place:
        _write(place, objects, inside)
        yield place, frozenset(changed)


def _fork(objects: Objects, base: str, head: str) -> str:
    """Return the commit from which two have parted; raises WorkspaceError where it is not one."""
    shared = objects.reached(base).keys() & objects.reached(head).keys()
    # The latest of them: those that are before no other one.
    found = shared.difference(*(objects.commit(each).parents for each in shared))
    if not found:
        raise WorkspaceError(
            f"{objects.directory}: {head[:12]} and its base have no commit in common here: fetch "
            "the whole history (fetch-depth: 0)"
        )
    # Git would merge them first (git-merge(1), ort), and what is changed since is another thing.
    if len(found) > 1:
        raise WorkspaceError(
            f"{objects.directory}: {head[:12]} and its base have several latest commits in "
            "common: rebase it"
        )
    return found.pop()


def _problem(changed: Collection[str], was: Files, ours: Files, theirs: Files) -> str | None:
    """Say why it is not known what a merge comes to; None where it is.

    Git may merge in ways of its own: into a file that the branch has changed, too, by attributes
    of the repository; and into another file where the branch has moved one, or the directory of
    one (git-merge(1), renames).
    """
    # What is new may follow the others of its directory.
    were, are = was.keys() | _above(was), ours.keys() | _above(ours)
    for path in sorted(changed):
        sides = was.get(path), theirs.get(path)
        if any(node is not None and node.is_submodule for node in sides):
            return "changes a submodule, whose content is not here"
        place = path if path in was else path.rpartition("/")[0]
        is_moved = path in theirs and place in were and place not in are
        if is_moved or ours.get(path) not in sides:
            return f"changes {path}, and so has its base since: update it"
    new = changed & theirs.keys()
    old = ours.keys() - changed
    if not (new | old).isdisjoint(_above(new | old)):
        return "conflicts with its base"
    return None


def _above(paths: Iterable[str]) -> set[str]:
    """Return the directories that some files are in."""
    return set(map(str, chain.from_iterable(PurePosixPath(path).parents for path in paths)))


def changed(directory: Path, base: str, head: str) -> frozenset[str]:
    """Return the paths that a commit changes since it left another, from the repository's top.

    What is renamed is there under both names. Raises WorkspaceError where one is no commit.
    """
    objects = Objects(directory)
    new = objects.commit_of(head)
    old = _fork(objects, objects.commit_of(base), new)
    found = objects.differences(objects.tree(old), objects.tree(new), MOST_ENTRIES)
    return frozenset(path for path, _, _ in found)


def name_of(directory: Path, ref: str) -> str:
    """Return the name of a commit of the repository that a directory is in.

    Raises WorkspaceError where a ref names none.
    """
    return Objects(directory).commit_of(ref)


def _write(place: Path, objects: Objects, files: Files) -> None:
    """Write files into an empty directory of our own, then the links that stay inside.

    No path of a tree is below another one, so that nothing is written through a link.
    """
    links: list[Path] = []
    left = MOST_IN_ALL
    for path, node in sorted(files.items(), key=lambda each: (stat.S_ISLNK(each[1].mode), each)):
        what = f"the entry {path[:200]!r} of the commit"
        names = path.split("/")
        if len(names) > _DEPTH or any(map(_REFUSED.fullmatch, names)):
            raise WorkspaceError(f"{what} has a path that is not written")
        # The content of a submodule is not in this repository.
        if node.is_submodule:
            continue
        if not node.is_blob:
            raise WorkspaceError(f"{what} is neither a file nor a link (mode {node.mode:o})")
        content = objects.content(
            node.name, most=MOST_IN_FILE if node.is_file else _TARGET, what=what
        )
        left -= len(content)
        if left < 0:
            raise WorkspaceError(
                f"the commit has more than {MOST_IN_ALL} bytes of files; give a directory with "
                "fewer"
            )
        file = place / path
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            if node.is_file:
                file.write_bytes(content)
            elif content and b"\0" not in content:
                file.symlink_to(os.fsdecode(content))
                links.append(file)
        except OSError as error:
            raise WorkspaceError(f"{what} cannot be written: {error.strerror}") from error
    # For whoever reads a tree here, what a link leads to outside does not exist: nor does the link
    # then. All are there before the first one goes, as one may lead through another.
    outside = [file for file in links if not Path(os.path.realpath(file)).is_relative_to(place)]
    for file in outside:
        file.unlink()
