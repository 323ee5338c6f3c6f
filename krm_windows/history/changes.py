"""The changes of a branch: commits of a period that touch some paths."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import product

from krm_windows import patterns
from krm_windows.history.simulation import CommittedChange
from krm_windows.preview.clock import instant
from krm_windows.system.git_history import History


def changes(
    history: History, begins: datetime, ends: datetime, globs: Sequence[str]
) -> Iterator[CommittedChange]:
    """Yield the changes in a half-open UTC interval, the oldest first.

    With globs only those that change such a path, or what is below it; `*` matches any characters,
    `/` included.
    """
    # A time that no date has is in no period.
    commits = [
        commit
        for commit in reversed(history.commits)
        if begins <= (instant(commit.committed) or ends) < ends
    ]
    # Of all of the repository Git need not compare any trees.
    if globs or history.prefix:
        steps = history.changed(commits)
        commits = [commit for commit, paths in steps if _touch(paths, globs)]
    # As `git log --date-order` has it; two of one second stay as the branch has them.
    for commit in sorted(commits, key=lambda each: each.committed):
        at = datetime.fromtimestamp(commit.committed, UTC)
        yield CommittedChange(commit.name, at, commit.author, commit.subject)


def _touch(paths: Sequence[str], globs: Sequence[str]) -> bool:
    # `apps` and `apps/` are a directory, too, as they are for `git log -- apps`.
    plain = [pattern.rstrip("/") for pattern in globs]
    every = (*plain, *(f"{each}/*" for each in plain))
    pairs = product(every, paths)
    return any(patterns.matches(*pair) for pair in pairs) if globs else bool(paths)
