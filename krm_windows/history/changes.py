"""The changes of a branch: commits that touch some paths, with the change classes of what changed.

Manifests count as the commit has them, and not as kustomize would build them.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from krm_windows import patterns
from krm_windows.classes.model import Spec
from krm_windows.classes.partition import divide
from krm_windows.history.simulation import CommittedChange, instant
from krm_windows.krm import InputError, KubeObject, documents
from krm_windows.system.git_history import Changed, History
from krm_windows.system.git_objects import Commit
from krm_windows.system.reading import SUFFIXES

Progress: TypeAlias = Callable[[int, int], None]
"""Takes how many commits are done, and of how many."""
OTHER = "(none)"
"""Stands for the class of a change in which no object changed: a README, say."""
# Contents are asked for by so many commits at a time, so that few are held in memory.
_BATCH = 200
_Step: TypeAlias = tuple[Commit, tuple[Changed, ...]]


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
        yield from _plain(commits)
        return
    known = None
    if classes is not None:
        known = Classes(classes)
    done = 0
    for batch in _batches(history.changed(commits)):
        done += len(batch)
        report(done, len(commits))
        touched = list(_touching(batch, globs))
        if known is not None:
            yield from _classified(history, touched, known)
        else:
            asked_for = [commit for commit, _ in touched]
            yield from _plain(asked_for)


def _touching(steps: Iterable[_Step], globs: Sequence[str]) -> Iterator[_Step]:
    """Yield the commits that changed anything that is asked for, with that alone."""
    for commit, changed in steps:
        found = _touched(changed, globs)
        if found:
            yield commit, found


def _plain(commits: Iterable[Commit]) -> Iterator[CommittedChange]:
    for commit in commits:
        yield from _change(commit, ())


def _change(commit: Commit, classes: tuple[str, ...]) -> Iterator[CommittedChange]:
    at = instant(commit.committed)
    # A time that no date has is in no period.
    if at is not None:
        yield CommittedChange(
            commit=commit.name,
            at=at,
            author=commit.author,
            subject=commit.subject,
            classes=classes,
        )


def _touched(changed: Iterable[Changed], globs: Sequence[str]) -> tuple[Changed, ...]:
    if not globs:
        return tuple(changed)
    return tuple(each for each in changed if _matches(each.path, globs))


def _matches(path: str, globs: Sequence[str]) -> bool:
    for pattern in globs:
        # `apps` and `apps/` are a directory, too, as they are for `git log -- apps`.
        plain = pattern.rstrip("/")
        if patterns.matches(plain, path):
            return True
        if patterns.matches(f"{plain}/*", path):
            return True
    return False


def _batches(steps: Iterable[_Step]) -> Iterator[list[_Step]]:
    batch: list[_Step] = []
    for step in steps:
        batch.append(step)
        if len(batch) == _BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


class Classes:
    """Says of which change classes objects are; each text is read once, however often it is met.

    What an object was before a commit is what it became by an earlier one.
    """

    def __init__(self, spec: Spec) -> None:
        self._spec = spec
        self._known: dict[bytes, str | None] = {}

    def of(
        self,
        changed: Iterable[Changed],
        contents: Mapping[str, bytes],
    ) -> set[str]:
        """Return the classes of all objects that were made, changed or removed."""
        found: set[str] = set()
        for each in changed:
            # JSON is applied by few, and kustomize's own files have no object in them.
            if each.path.endswith(SUFFIXES):
                before = _texts(each.before, contents)
                after = _texts(each.after, contents)
                # One that was changed may have been of another class before.
                texts = before ^ after
                found.update(self._named(texts))
        return found

    def _named(self, texts: Iterable[bytes]) -> Iterator[str]:
        for text in texts:
            # By the text and not by the object that Git has: a file may hold many.
            if text not in self._known:
                self._known[text] = self._class(text)
            name = self._known[text]
            if name is not None:
                yield name

    def _class(self, text: bytes) -> str | None:
        """Return the class of the object that a text is, None where it is none or unreadable."""
        try:
            division = divide(self._spec, _items(text))
        except InputError:
            return None
        # One document is one object at most; local configuration is placed nowhere.
        for placement in division.placements:
            return placement.change_class
        return None


def _items(text: bytes) -> list[KubeObject]:
    return [item for item in documents(text) if item.kind]


def _texts(blob: str | None, contents: Mapping[str, bytes]) -> set[bytes]:
    """Return the documents of a content, without markers and white space around them."""
    # The file was made or removed by the commit.
    if blob is None:
        return set()
    # Git's object may be too large to be a manifest, and then its content is not there.
    content = contents.get(blob)
    if content is None:
        return set()
    try:
        spans = [item.span for item in documents(content)]
    except InputError:
        # Not UTF-8, or too much in it: nobody could apply it.
        return set()
    # To move an object within its file changes nothing.
    return {span.removeprefix(b"---").strip() for span in spans}


def _classified(
    history: History,
    steps: Sequence[_Step],
    classes: Classes,
) -> Iterator[CommittedChange]:
    """Yield the changes of some commits with the classes of the objects that they changed."""
    blobs: set[str] = set()
    for _, changed in steps:
        blobs.update(_blobs(changed))
    contents = history.contents(blobs)
    for commit, changed in steps:
        names = classes.of(changed, contents)
        in_order = tuple(sorted(names))
        yield from _change(commit, in_order or (OTHER,))


def _blobs(changed: Iterable[Changed]) -> Iterator[str]:
    for each in changed:
        if each.path.endswith(SUFFIXES):
            if each.before is not None:
                yield each.before
            if each.after is not None:
                yield each.after
