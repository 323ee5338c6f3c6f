"""What a repository was at a commit, as files.

No hook, no filter, no setting and no attribute has a part in that.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from pathlib import Path, PurePosixPath

from krm_windows.system import git_trees, temporary
from krm_windows.system.errors import WorkspaceError
from krm_windows.system.git_objects import Node, Objects
from krm_windows.system.git_trees import Links, Most

# Enough for any path that stays inside.
_TARGET = 1000
MOST = Most()
Files = Mapping[str, Node]
"""What is at each path of a tree, but for directories."""


@contextmanager
def snapshot(directory: Path, ref: str, most: Most = MOST) -> Iterator[Path]:
    """Give a temporary directory with what was below `directory` at a commit.

    Raises WorkspaceError without one.
    """
    objects = Objects(directory)
    # `--repo` may name a directory inside the repository, which was perhaps none then.
    tree = objects.tree(objects.commit_of(ref), objects.prefix)
    files = dict(objects.files(tree, most.entries)) if tree else {}
    with temporary.directory("krm-windows-since-") as place:
        _write(place, objects, files, most)
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
    objects = Objects(directory)
    commits = [objects.commit_of(ref) for ref in (base, head)]
    commits.insert(0, _fork(objects, *commits))
    trees = [objects.whole(each).tree for each in commits]
    was, ours, theirs = (dict(objects.files(each, most.entries)) for each in trees)
    changed = {path for path in was.keys() | theirs.keys() if was.get(path) != theirs.get(path)}
    sides = chain(map(was.get, changed), map(theirs.get, changed))
    if any(node is not None and node.is_submodule for node in sides):
        raise WorkspaceError(
            f"{directory}: {head[:12]} changes a submodule, whose content is not here"
        )
    unclear = next(_unclear(changed, was, ours, theirs), None)
    if unclear is not None:
        raise WorkspaceError(
            f"{directory}: {head[:12]} changes {unclear}, and so has its base since: update it"
        )
    kept = {path: node for path, node in ours.items() if path not in changed}
    kept.update((path, theirs[path]) for path in changed if path in theirs)
    if not kept.keys().isdisjoint(_above(kept)):
        raise WorkspaceError(f"{directory}: {head[:12]} conflicts with its base")
    start = f"{objects.prefix}/" if objects.prefix else ""
    inside = {path[len(start) :]: node for path, node in kept.items() if path.startswith(start)}
    with temporary.directory("krm-windows-merged-") as place:
        _write(place, objects, inside, most)
        yield place, frozenset(changed)


def _fork(objects: Objects, base: str, head: str) -> str:
    """Return the commit from which two have parted; raises WorkspaceError where it is not one."""
    shared = objects.reached(base) & objects.reached(head)
    # The latest of them: those that are before no other one.
    found = shared.difference(*(objects.whole(each).parents for each in shared))
    # Git would merge them first (git-merge(1), ort), and what is changed since is another thing.
    if len(found) > 1:
        raise WorkspaceError(
            f"{objects.directory}: {head[:12]} and its base have several latest commits in "
            "common: rebase it"
        )
    for each in found:
        return each
    raise WorkspaceError(
        f"{objects.directory}: {head[:12]} and its base have no commit in common here: fetch the "
        "whole history (fetch-depth: 0)"
    )


def _unclear(
    changed: Iterable[str],
    was: Files,
    ours: Files,
    theirs: Files,
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
    return set(map(str, chain.from_iterable(PurePosixPath(path).parents for path in paths)))


def changed(directory: Path, older: str, newer: str) -> frozenset[str]:
    """Return the paths in which two commits differ, from the top of the repository.

    What is renamed is there under both names. Raises WorkspaceError where one is no commit.
    """
    objects = Objects(directory)
    old, new = (objects.tree(objects.commit_of(ref)) for ref in (older, newer))
    return frozenset(path for path, _, _ in objects.differences(old, new, MOST.entries))


def name_of(directory: Path, ref: str) -> str:
    """Return the name of a commit of the repository that a directory is in.

    Raises WorkspaceError where a ref names none.
    """
    return Objects(directory).commit_of(ref)


def _write(place: Path, objects: Objects, files: Files, most: Most) -> None:
    """Write files into an empty directory of our own, then the links that stay inside.

    No path of a tree is below another one, so that nothing is written through a link.
    """
    targets: dict[str, str] = {}
    left = most.total
    for path, node in sorted(files.items()):
        git_trees.check(path)
        # The content of a submodule is not in this repository.
        if node.is_submodule:
            continue
        if not node.is_blob:
            raise git_trees.refused(path, f"is neither a file nor a link (mode {node.mode:o})")
        size = most.file if node.is_file else _TARGET
        content = objects.content(node.name, most=size, what=f"the entry {path!r} of the commit")
        left -= len(content)
        if left < 0:
            raise WorkspaceError(
                f"the commit has more than {most.total} bytes of files; give a directory with fewer"
            )
        file = place / path
        file.parent.mkdir(parents=True, exist_ok=True)
        if node.is_file:
            file.write_bytes(content)
        else:
            # The path of a link is the content of its object.
            targets[path] = os.fsdecode(content)
    links = Links(targets, most.steps)
    for path, target in targets.items():
        # For whoever reads a tree here, what a link leads to outside does not exist: nor does the
        # link then.
        if links.stays(path):
            (place / path).symlink_to(target)
