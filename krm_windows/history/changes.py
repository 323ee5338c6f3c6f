"""The changes of a branch: commits that touch some paths, with the change classes of what changed.

Manifests count as the commit has them, and not as kustomize would build them.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeAlias

from krm_windows import patterns
from krm_windows.classes.model import Spec
from krm_windows.classes.partition import divide
from krm_windows.history.simulation import CommittedChange
from krm_windows.krm import InputError, documents
from krm_windows.preview.clock import instant
from krm_windows.system.git_history import Changed, History
from krm_windows.system.git_objects import Commit
from krm_windows.system.reading import SUFFIXES

Progress: TypeAlias = Callable[[int, int], None]
"""Takes how many commits are done, and of how many."""
OTHER = "(none)"
"""Stands for the class of a change in which no object changed: a README, say."""
# Contents are asked for by so many commits at a time, so that few are held in memory.
_BATCH = 200


def changes(
    history: History,
    within: Callable[[int], bool],
    globs: Sequence[str],
    classes: Spec | None,
    report: Progress,
) -> Iterator[CommittedChange]:
    """Yield the changes whose seconds since 1970 are `within` what is asked for, the oldest first.

    With globs only those that change such a path, or what is below it; `*` matches any characters,
    `/` included.
    """
    commits = [commit for commit in reversed(history.commits) if within(commit.committed)]
    # All of the repository, and nobody asks what of it: Git need not compare any trees.
    if not globs and classes is None and not history.prefix:
        yield from _dated((commit, ()) for commit in commits)
        return
    known = None if classes is None else Classes(classes)
    steps = history.changed(commits)
    done = 0
    while batch := list(islice(steps, _BATCH)):
        done += len(batch)
        report(done, len(commits))
        # Of each commit what is asked for, if it is anything.
        found = ((commit, _touched(changed, globs)) for commit, changed in batch)
        touched = [(commit, changed) for commit, changed in found if changed]
        if known is None:
            yield from _dated((commit, ()) for commit, _ in touched)
        else:
            yield from _dated(known.of(history, touched))


def _dated(commits: Iterable[tuple[Commit, tuple[str, ...]]]) -> Iterator[CommittedChange]:
    for commit, classes in commits:
        at = instant(commit.committed)
        # A time that no date has is in no period.
        if at is not None:
            yield CommittedChange(commit.name, at, commit.author, commit.subject, classes)


def _touched(changed: Iterable[Changed], globs: Sequence[str]) -> list[Changed]:
    return [each for each in changed if not globs or _matches(each.path, globs)]


def _matches(path: str, globs: Sequence[str]) -> bool:
    for pattern in globs:
        # `apps` and `apps/` are a directory, too, as they are for `git log -- apps`.
        plain = pattern.rstrip("/")
        if patterns.matches(plain, path) or patterns.matches(f"{plain}/*", path):
            return True
    return False


class Classes:
    """Says of which change classes objects are; each text is read once, however often it is met.

    What an object was before a commit is what it became by an earlier one.
    """

    def __init__(self, spec: Spec) -> None:
        self._spec = spec
        self._known: dict[bytes, str | None] = {}

    def of(
        self, history: History, steps: Sequence[tuple[Commit, list[Changed]]]
    ) -> Iterator[tuple[Commit, tuple[str, ...]]]:
        """Yield commits with the classes of all objects that they made, changed or removed."""
        blobs: set[str] = set()
        for _, changed in steps:
            for each in changed:
                # JSON is applied by few, and kustomize's own files have no object in them.
                if each.path.endswith(SUFFIXES):
                    blobs.update(filter(None, (each.before, each.after)))
        # Git's object may be too large to be a manifest, and then its content is not there.
        contents = history.contents(blobs)
        for commit, changed in steps:
            found: set[str] = set()
            for each in changed:
                before, after = (contents.get(blob or "") for blob in (each.before, each.after))
                # One that was changed may have been of another class before.
                found.update(filter(None, map(self._named, _texts(before) ^ _texts(after))))
            yield commit, tuple(sorted(found)) or (OTHER,)

    def _named(self, text: bytes) -> str | None:
        # By the text and not by the object that Git has: a file may hold many.
        if text not in self._known:
            self._known[text] = self._class(text)
        return self._known[text]

    def _class(self, text: bytes) -> str | None:
        """Return the class of the object that a text is, None where it is none or unreadable."""
        try:
            items = [item for item in documents(text) if item.kind]
            placements = divide(self._spec, items).placements
        except InputError:
            return None
        # One document is one object at most; local configuration is placed nowhere.
        return next((placement.change_class for placement in placements), None)


def _texts(content: bytes | None) -> set[bytes]:
    """Return the documents of a content, without markers and white space around them."""
    try:
        spans = [item.span for item in documents(content or b"")]
    except InputError:
        # Not UTF-8, or too much in it: nobody could apply it.
        return set()
    # To move an object within its file changes nothing.
    return {span.removeprefix(b"---").strip() for span in spans}
