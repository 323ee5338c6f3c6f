"""Work shared among processes, whose results come in the order of the items.

A child stops when its parent is gone, and the parent says so when a child is.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context, parent_process
from signal import SIG_DFL, SIGHUP, SIGINT, SIGTERM, signal
from threading import Thread
from typing import TypeVar, cast

from krm_windows.system.errors import WorkspaceError

# More processes than any machine has cores for; nobody starts a million of them.
MOST = 256
Item = TypeVar("Item")
Outcome = TypeVar("Outcome")


def spread(
    work: Callable[[Item], Outcome],
    items: Sequence[Item],
    jobs: int,
) -> Iterator[Outcome]:
    """Yield what `work` makes of each item, in `jobs` processes.

    Raises what it raises, at its item.
    """
    jobs = min(jobs, len(items), MOST)
    if jobs < 2:  # noqa: PLR2004 - one process is this one
        yield from map(work, items)
        return
    # Forked, so that `work` need not be pickled: only items and outcomes go through pipes.
    with ProcessPoolExecutor(jobs, get_context("fork"), _begin, (work,)) as pool:
        try:
            yield from cast("Iterator[Outcome]", pool.map(_do, items))
        except BrokenProcessPool:
            raise WorkspaceError(
                "a process ended before its work was done; the files it wrote are complete, "
                "so run this again"
            ) from None


_work: list[Callable[..., object]] = []
"""What this process does, if it is a child."""


def _begin(work: Callable[..., object]) -> None:
    """Take the work of a child."""
    _work.append(work)
    # What ends the command is for the parent to report.
    for number in (SIGINT, SIGTERM, SIGHUP):
        signal(number, SIG_DFL)
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """End this child once its parent is gone: nobody else would let it know."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _do(item: object) -> object:
    return _work[-1](item)
