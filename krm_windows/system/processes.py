"""Work shared among processes: each takes every n-th item, and the results come in the order of the items.

A child stops when its parent is gone, and the parent says so when a child is.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import ForkProcess
from typing import TypeAlias, TypeVar, cast

from krm_windows.system.errors import WorkspaceError

# More processes than any machine has cores for; nobody starts a million of them.
MOST = 256
Item = TypeVar("Item")
Outcome = TypeVar("Outcome")
Channel: TypeAlias = "Connection[object, object]"


def spread(work: Callable[[Item], Outcome], items: Sequence[Item], jobs: int) -> Iterator[Outcome]:
    """Yield what `work` makes of each item, in `jobs` processes; raises what it raises, at its item."""
    jobs = min(jobs, len(items), MOST)
    if jobs < 2:  # noqa: PLR2004 - one process is this one
        yield from map(work, items)
        return
    children = [_begin(work, items[first::jobs]) for first in range(jobs)]
    try:
        for index in range(len(items)):
            yield cast("Outcome", _received(children[index % jobs][1]))
    finally:
        for child, _ in children:
            child.terminate()
            child.join()


def _begin(work: Callable[[Item], object], items: Sequence[Item]) -> tuple[ForkProcess, Channel]:
    """Start a child with its share of the items; return it and the pipe on which it reports."""
    context = get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_share, args=(work, items, sender, os.getpid()), daemon=True)
    child.start()
    sender.close()
    return child, receiver


def _share(
    work: Callable[[Item], object], items: Sequence[Item], sender: Channel, parent: int
) -> None:
    for item in items:
        if os.getppid() != parent:
            return
        try:
            sender.send(work(item))
        except KeyboardInterrupt:
            return
        except Exception as error:  # noqa: BLE001 - raised again in the parent
            sender.send(error)


def _received(pipe: Channel) -> object:
    try:
        outcome = pipe.recv()
    except EOFError:
        raise WorkspaceError(
            "a process ended before its work was done; what it wrote is whole, run it again"
        ) from None
    if isinstance(outcome, Exception):
        raise outcome
    return outcome
